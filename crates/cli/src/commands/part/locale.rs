//! Which locale the environment names: a job keeps it, so that all its steps have the same.

use crate::exit::Failure;
use std::env;

/// What a sort of text takes of a locale.
const CATEGORIES: [&str; 4] = ["LC_COLLATE", "LC_CTYPE", "LC_NUMERIC", "LC_TIME"];

/// The name of the locale.
///
/// # Errors
/// If it has a different one for each of several things.
pub(super) fn locale_name() -> Result<String, Failure> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let of = |category| {
        let named = variable("LC_ALL").or_else(|| variable(category)).or_else(|| variable("LANG"));
        named.unwrap_or_else(|| "C".to_owned())
    };
    let [first, others @ ..] = CATEGORIES.map(of);
    match others.iter().all(|other| *other == first) {
        true => Ok(first),
        false => Err(Failure::Usage(format!(
            "the environment names several locales ({first} for LC_COLLATE, others for {}): name \
             one by LC_ALL, which a job can keep",
            CATEGORIES[1..].join(", ")
        ))),
    }
}
