//! A gate that every transfer passes before it starts. While it is closed, drives get no new
//! transfers, and the threads that would start them wait.
//!
//! It lets hot drives cool down. Transfers in flight continue.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A gate, open at first. The thread that closes it must open it again, otherwise the job never
/// ends.
#[derive(Debug, Default)]
pub struct Gate {
    /// A hint, so that passing an open gate costs one load.
    may_be_closed: AtomicBool,
    is_closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// Closes the gate: no transfer passes until [`open`](Gate::open) is called.
    pub fn close(&self) {
        *self.is_closed.lock() = true;
        self.may_be_closed.store(true, Relaxed);
    }

    /// Opens the gate and wakes all waiting threads.
    pub fn open(&self) {
        *self.is_closed.lock() = false;
        self.may_be_closed.store(false, Relaxed);
        self.opened.notify_all();
    }

    /// Waits while the gate is closed.
    pub(crate) fn pass(&self) {
        if !self.may_be_closed.load(Relaxed) {
            return;
        }
        let mut is_closed = self.is_closed.lock();
        while *is_closed {
            self.opened.wait(&mut is_closed);
        }
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
