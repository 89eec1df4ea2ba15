//! A flag that cuts waiting short, of threads and of requests under way.

use tokio::sync::watch;

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
