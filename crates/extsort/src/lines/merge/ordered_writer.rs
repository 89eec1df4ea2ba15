//! Lets threads write to one sink, in the order of the segments that they merge.

use crate::Error;
use crate::job::failure::{Failure, STOP_INTERVAL};
use parking_lot::{Condvar, Mutex};

/// A sink that takes one segment after the other.
pub(crate) struct OrderedWriter<S> {
    turn: Mutex<Turn<S>>,
    changed: Condvar,
}

struct Turn<S> {
    /// The segment that may write.
    segment: usize,
    sink: S,
}

impl<S> OrderedWriter<S> {
    pub(crate) fn new(sink: S) -> Self {
        OrderedWriter { turn: Mutex::new(Turn { segment: 0, sink }), changed: Condvar::new() }
    }

    /// Waits until all segments before `segment` are written, and writes. With `is_last` the next
    /// segment's turn follows.
    pub(crate) fn write(
        &self,
        segment: usize,
        is_last: bool,
        failure: &Failure,
        write: impl FnOnce(&mut S) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut turn = self.turn.lock();
        while turn.segment != segment {
            if failure.is_set() {
                return Err(Error::Cancelled);
            }
            self.changed.wait_for(&mut turn, STOP_INTERVAL);
        }
        write(&mut turn.sink)?;
        if is_last {
            turn.segment += 1;
            self.changed.notify_all();
        }
        Ok(())
    }

    pub(crate) fn into_sink(self) -> S {
        self.turn.into_inner().sink
    }
}
