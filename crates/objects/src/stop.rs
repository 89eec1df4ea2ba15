//! A flag that cuts waiting short, of threads and of requests under way.

use std::sync::LazyLock;
use std::time::Duration;
use tokio::sync::watch;

/// Of all who look what is there before they begin.
static LOOKING: LazyLock<Stop> = LazyLock::new(Stop::default);

/// For a process that was asked to end: nobody looks any more what is in stores, and who waits for
/// that gets an error at once. What is under way ends as its owner says.
pub fn stop_looking() {
    LOOKING.set();
}

/// The flag of [`stop_looking`].
pub(crate) fn looking() -> &'static Stop {
    &LOOKING
}

/// Set once, when what is under way is of no use any more.
#[derive(Clone, Debug)]
pub struct Stop {
    is_set: watch::Sender<bool>,
    /// How long an answer is waited for after that.
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

    /// Whether it was set.
    pub fn is_set(&self) -> bool {
        *self.is_set.borrow()
    }

    /// The same flag for a request that the store may carry out although nobody waits for the
    /// answer: it is waited for a little longer.
    pub(crate) fn patient(&self, patience: Duration) -> Stop {
        Stop { is_set: self.is_set.clone(), patience }
    }

    /// Until it is set, and its patience is over.
    pub(crate) async fn wait(&self) {
        // The sender is ours, so it is there.
        let _ = self.is_set.subscribe().wait_for(|is_set| *is_set).await;
        if !self.patience.is_zero() {
            tokio::time::sleep(self.patience).await;
        }
    }
}
