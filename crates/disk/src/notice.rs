//! Lines that the user should see once: which preferred kernel feature is not to be had, why, and
//! what is used instead.
//!
//! Not a log: a line is kept until it is taken, and the same line is never given out twice by one
//! disk.

use std::sync::{Mutex, PoisonError};

/// Notices of one disk, from any thread.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    /// Every line so far, in order.
    all: Vec<String>,
    /// How many of them were taken.
    taken: usize,
}

impl Notices {
    /// Adds a line, unless it has been said before.
    pub(crate) fn add(&self, line: String) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if !lines.all.contains(&line) {
            lines.all.push(line);
        }
    }

    /// The lines since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let newer = lines.all[lines.taken..].to_vec();
        lines.taken = lines.all.len();
        newer
    }
}
