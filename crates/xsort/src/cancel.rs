//! The flag that stops a job.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A flag that stops a job. Clones share the flag. A stopped job cleans up and returns
/// [`Error::Cancelled`](crate::Error::Cancelled).
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicUsize>);

impl Cancel {
    /// Creates a flag that isn't set.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Creates a flag that is set while `number` isn't 0. A signal handler may write the number.
    pub fn of_number(number: Arc<AtomicUsize>) -> Cancel {
        Cancel(number)
    }

    /// Stops all jobs that have this flag.
    pub fn cancel(&self) {
        self.0.store(1, Relaxed);
    }

    /// Returns whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}
