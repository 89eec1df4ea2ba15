//! Messages that the user should see once: which preferred kernel feature is unavailable, why, and
//! what is used instead.
//!
//! Not a log: each message waits until it is taken, and a disk never gives out the same one twice.

use parking_lot::Mutex;

/// The notices of one disk, from any thread.
#[derive(Debug, Default)]
pub struct Notices {
    messages: Mutex<Messages>,
}

#[derive(Debug, Default)]
struct Messages {
    /// Every message so far, in order.
    all: Vec<String>,
    /// How many of them were taken.
    taken: usize,
}

impl Notices {
    /// Adds a message, unless it was added before.
    pub fn add(&self, message: String) {
        let mut messages = self.messages.lock();
        if !messages.all.contains(&message) {
            messages.all.push(message);
        }
    }

    /// The messages since the last call.
    pub fn take(&self) -> Vec<String> {
        let mut messages = self.messages.lock();
        let newer = messages.all[messages.taken..].to_vec();
        messages.taken = messages.all.len();
        newer
    }
}
