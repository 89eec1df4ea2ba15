//! A flag that cuts waiting short, of threads and of requests under way.

use std::sync::LazyLock;
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
pub struct Stop(watch::Sender<bool>);

impl Default for Stop {
    fn default() -> Stop {
        Stop(watch::Sender::new(false))
    }
}

impl Stop {
    /// Ends all waiting, now and later.
    pub fn set(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was set.
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Until it is set.
    pub(crate) async fn wait(&self) {
        // The sender is ours, so it is there.
        let _ = self.0.subscribe().wait_for(|is_set| *is_set).await;
    }
}
