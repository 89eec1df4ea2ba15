//! How the threads of a job end it together: the first error of any of them.

use crate::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often a waiting thread looks whether the job should stop.
pub(crate) const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// The first error of any thread. Later ones are its consequences and are dropped.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    is_set: AtomicBool,
    first: Mutex<Option<Error>>,
}

impl Failure {
    pub(crate) fn set(&self, error: Error) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_set.swap(true, Ordering::AcqRel) {
            *first = Some(error);
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// The error, if there was one. Once taken, a later call says `Cancelled`.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !self.is_set() {
            return Ok(());
        }
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        Err(first.take().unwrap_or(Error::Cancelled))
    }
}
