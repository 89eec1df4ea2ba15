//! In the place of `columns`, in a program that is built without that feature.

use super::column_format::Formats;
use crate::args::{TableArgs, VerifyArgs};
use crate::exit::Failure;
use crate::job::Session;
use crate::signals::Stop;
use std::path::PathBuf;

/// Says that this program was built without columns.
pub(super) fn run(
    _: &TableArgs,
    _: Vec<PathBuf>,
    _: (Formats, Option<u64>),
    _: Session<'_>,
) -> Result<(), Failure> {
    Err(refusal())
}

/// Says the same.
pub(super) fn verify(_: &VerifyArgs, _: &Stop) -> Result<(), Failure> {
    Err(refusal())
}

fn refusal() -> Failure {
    let what = "this xsort was built without columns and conversions: build it with the \
                feature columns";
    Failure::Usage(what.into())
}
