//! Whose fault it is that an input can't be sorted.

use crate::bad_row::BadRow;
use std::io;
use std::path::Path;
use xsort_extsort::{Error, Observer, keyed};

/// The error of an input that can't be read, or is no table.
pub(crate) fn of_read(path: &Path, error: io::Error, observer: &dyn Observer) -> Error {
    of_input(xsort_disk::Error::of_read(path, error).into(), observer)
}

/// A row that can't be sorted is the input's fault.
pub(crate) fn of_input(error: Error, observer: &dyn Observer) -> Error {
    keyed::of_input::<BadRow>(error, observer)
}
