//! What the steps print.

use serde::Serialize;
use std::fmt;

/// The outcome of a step: fields for JSON, and a line for people.
#[derive(Serialize)]
pub(super) struct Outcome<T> {
    #[serde(flatten)]
    pub(super) fields: T,
    #[serde(skip)]
    pub(super) line: String,
}

impl<T> fmt::Display for Outcome<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}
