//! Whose fault it is that an input can't be sorted.

use crate::variable::PackingError;
use crate::{Error, Observer};
use std::io::ErrorKind;
use xsort_disk::Operation;

/// An error of reading an input as what it is to whoever ran the job. A `Bad` record is the
/// input's fault, as are compressed bytes that aren't valid, and not that of the drive that it is
/// read from. A file that can't be opened is
/// opened by its first read. And a stop on request ends a wait for more of a stream.
pub fn of_input<Bad>(error: Error, observer: &dyn Observer) -> Error
where
    Bad: std::error::Error + Send + Sync + 'static,
{
    let mut error = match error {
        Error::Disk(error) => error,
        Error::Resumable { cause } => {
            return Error::Resumable { cause: Box::new(of_input::<Bad>(*cause, observer)) };
        }
        other => return other,
    };
    if error.operation != Operation::Read {
        return error.into();
    }
    if observer.is_cancelled() {
        return Error::Cancelled;
    }
    let inner = error.source.get_ref();
    if inner.is_some_and(|inner| inner.is::<Bad>() || inner.is::<PackingError>()) {
        return Error::Input { reason: error.source.to_string(), path: error.path };
    }
    if matches!(error.source.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) {
        error.operation = Operation::Open;
    }
    error.into()
}
