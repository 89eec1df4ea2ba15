//! Messages that the user should see once: which preferred kernel feature is unavailable, why, and
//! what is used instead.
//!
//! It is not a log: each message waits until it is taken, and a disk never returns the same message
//! twice.

use parking_lot::Mutex;

/// The notices of one disk, added from any thread.
#[derive(Debug, Default)]
pub struct Notices {
    messages: Mutex<Messages>,
}

#[derive(Debug, Default)]
struct Messages {
    /// Every message so far, in order.
    all: Vec<String>,
    /// Number of messages taken so far.
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

    /// Takes the messages added since the last call.
    pub fn take(&self) -> Vec<String> {
        let mut messages = self.messages.lock();
        let newer = messages.all[messages.taken..].to_vec();
        messages.taken = messages.all.len();
        newer
    }
}
