//! The shared failure of a job's threads: the first error of any thread ends all of them.

use crate::Error;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a waiting thread checks whether the job should stop.
pub(crate) const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// The first error of any thread. Later errors are consequences of it and are dropped.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    is_set: AtomicBool,
    first: Mutex<Option<Error>>,
}

impl Failure {
    /// Fails the job, unless it has failed already.
    pub(crate) fn set(&self, error: Error) {
        let mut first = self.first.lock();
        if !self.is_set.swap(true, Ordering::AcqRel) {
            *first = Some(error);
        }
    }

    /// True if any thread has failed.
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Returns the error, if there is one. Only the first call returns the error itself; later
    /// calls return [`Error::Cancelled`].
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !self.is_set() {
            return Ok(());
        }
        let mut first = self.first.lock();
        Err(first.take().unwrap_or(Error::Cancelled))
    }
}
