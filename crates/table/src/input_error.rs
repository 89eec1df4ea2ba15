//! Tells errors of an input's content from errors of the drive.

use crate::bad_row::BadRow;
use std::io;
use std::path::Path;
use xsort_extsort::{Error, Observer, keyed};

/// Returns the error for an input that can't be read, or isn't a table.
pub(crate) fn of_read(path: &Path, error: io::Error, observer: &dyn Observer) -> Error {
    of_input(xsort_disk::Error::of_read(path, error).into(), observer)
}

/// Converts the error of a row that can't be sorted into an input error.
pub(crate) fn of_input(error: Error, observer: &dyn Observer) -> Error {
    keyed::of_input::<BadRow>(error, observer)
}
