//! The flag that stops a job.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A flag that stops a job: clones share it. A job that was stopped cleans up and returns
/// [`Error::Cancelled`](crate::Error::Cancelled).
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicUsize>);

impl Cancel {
    /// A flag that isn't set.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// The flag that is set as long as this number isn't 0, which a signal handler may write.
    pub fn of_number(number: Arc<AtomicUsize>) -> Cancel {
        Cancel(number)
    }

    /// Stops all jobs that have this flag.
    pub fn cancel(&self) {
        self.0.store(1, Relaxed);
    }

    /// Whether it was set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}
