//! A gate that every transfer passes before it starts: closed, drives get nothing new, and whoever
//! has something for them waits.
//!
//! For drives that have to cool down. What is in flight goes on; only the threads that start
//! transfers are held up, and all others as far as they wait for these.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Open until it is closed. Whoever closes it must open it again, or nothing ends.
#[derive(Debug, Default)]
pub struct Gate {
    /// A hint, so that an open gate costs a load.
    may_be_closed: AtomicBool,
    is_closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// Lets nothing through from now on.
    pub fn close(&self) {
        *self.state() = true;
        self.may_be_closed.store(true, Relaxed);
    }

    /// Lets everything through.
    pub fn open(&self) {
        *self.state() = false;
        self.may_be_closed.store(false, Relaxed);
        self.opened.notify_all();
    }

    /// Waits while it is closed.
    pub(crate) fn pass(&self) {
        if !self.may_be_closed.load(Relaxed) {
            return;
        }
        let mut is_closed = self.state();
        while *is_closed {
            is_closed = self.opened.wait(is_closed).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, bool> {
        self.is_closed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn nothing_passes_a_closed_gate_until_it_is_opened() {
        let (gate, passed) = (Gate::default(), AtomicUsize::new(0));
        gate.pass();
        gate.close();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    gate.pass();
                    passed.fetch_add(1, Relaxed);
                });
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert_eq!(passed.load(Relaxed), 0);
            gate.open();
        });
        assert_eq!(passed.load(Relaxed), 4);
    }
}
