//! Inputs are opened by their first read. A failure to open is marked, because GNU sort has a
//! separate message for it.

use std::io;

/// Marks the error of a read that failed because the file couldn't be opened.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotOpened(io::Error);

impl NotOpened {
    pub(super) fn mark(error: io::Error) -> io::Error {
        io::Error::other(NotOpened(error))
    }
}

/// The reason why the file couldn't be opened, if that made the read fail.
pub(super) fn opening_error(error: &io::Error) -> Option<&io::Error> {
    error.get_ref()?.downcast_ref::<NotOpened>().map(|NotOpened(why)| why)
}
