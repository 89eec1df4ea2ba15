//! Tells errors of an input's content from errors of the drive.

use crate::lines::PackingError;
use crate::{Error, Observer};
use std::io::ErrorKind;
use xsort_disk::Operation;

/// Converts an error of reading an input into the one that the user sees. A `Bad` record and
/// invalid compressed bytes are errors of the input, not of the drive. A missing or forbidden file
/// becomes an open error, since its first read opens it. A stop on request ends a wait for more of
/// a stream.
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
