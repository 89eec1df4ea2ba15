//! Whose fault it is that an input can't be sorted.

use crate::bad_row::BadRow;
use std::io::{self, ErrorKind};
use std::path::Path;
use xsort_disk::Operation;
use xsort_extsort::{Error, Observer};

/// The error of an input that can't be read, or is no table.
pub(crate) fn of_read(path: &Path, error: io::Error, observer: &dyn Observer) -> Error {
    of_input(xsort_disk::Error::new(Operation::Read, path, error).into(), observer)
}

/// A row that can't be sorted is the input's fault, and not that of the drive that it is read from.
/// A file that can't be opened is opened by its first read. And a stop on request ends a wait for
/// more of a stream.
pub(crate) fn of_input(error: Error, observer: &dyn Observer) -> Error {
    let mut error = match error {
        Error::Disk(error) => error,
        Error::Resumable { cause } => {
            return Error::Resumable { cause: Box::new(of_input(*cause, observer)) };
        }
        other => return other,
    };
    if error.operation != Operation::Read {
        return error.into();
    }
    let source = &error.source;
    if observer.is_cancelled() {
        return Error::Cancelled;
    }
    if source.get_ref().and_then(|inner| inner.downcast_ref::<BadRow>()).is_some() {
        return Error::Input { reason: source.to_string(), path: error.path };
    }
    if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) {
        error.operation = Operation::Open;
    }
    error.into()
}
