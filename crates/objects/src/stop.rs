//! A flag that ends waiting, of threads and of requests under way.

use std::sync::LazyLock;
use std::time::Duration;
use tokio::sync::watch;

/// The flag for requests that inspect stores before the work begins.
static LOOKING: LazyLock<Stop> = LazyLock::new(Stop::default);

/// Ends all inspection of stores, for a process that was asked to end: waiting callers get an error
/// at once. Other transfers end as their owners decide.
pub fn stop_looking() {
    LOOKING.set();
}

/// Returns the flag of [`stop_looking`].
pub(crate) fn looking() -> &'static Stop {
    &LOOKING
}

/// A flag that is set once, when the work under way is no longer needed.
#[derive(Clone, Debug)]
pub struct Stop {
    is_set: watch::Sender<bool>,
    /// How long to wait for an answer after that.
    patience: Duration,
}

impl Default for Stop {
    fn default() -> Stop {
        Stop { is_set: watch::Sender::new(false), patience: Duration::ZERO }
    }
}

impl Stop {
    /// Ends all waiting, now and later.
    pub fn set(&self) {
        self.is_set.send_replace(true);
    }

    /// Returns whether it was set.
    pub fn is_set(&self) -> bool {
        *self.is_set.borrow()
    }

    /// Returns the same flag with a delay, for a request that the store may carry out even if its
    /// answer isn't awaited: the answer is awaited for `patience` longer.
    pub(crate) fn patient(&self, patience: Duration) -> Stop {
        Stop { is_set: self.is_set.clone(), patience }
    }

    /// Waits until the flag is set and its delay is over.
    pub(crate) async fn wait(&self) {
        // The sender is in `self`, so it exists.
        let _ = self.is_set.subscribe().wait_for(|is_set| *is_set).await;
        if !self.patience.is_zero() {
            tokio::time::sleep(self.patience).await;
        }
    }
}
