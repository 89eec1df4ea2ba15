//! Threads that check windows of the input. Their results are taken in the order of the input, so
//! the first line out of order is found with any number of threads.

use super::piece::LineCheck;
use crate::Error;
use crate::job::threads::spawn_up_to;
use crossbeam_channel::{Receiver, Sender};
use std::collections::BTreeMap;
use std::io;
use std::thread::Scope;
use xsort_kernels::lines::CheckedLines;

/// A window to be checked.
pub(super) struct Task {
    number: usize,
    text: Vec<u8>,
    /// Bytes of its whole lines.
    bytes: usize,
}

/// A checked window with its text.
pub(super) type Outcome = Result<(usize, CheckedLines, Vec<u8>), Error>;

/// Both ends of the channel for results.
pub(super) type Outcomes = (Sender<Outcome>, Receiver<Outcome>);

/// Windows that threads are checking.
pub(super) struct WindowThreads<'s> {
    tasks: Sender<Task>,
    outcomes: &'s Receiver<Outcome>,
    threads: usize,
    /// Number of windows given to threads.
    given: usize,
    taken: usize,
    /// Results that arrived early, by window number.
    later: BTreeMap<usize, (CheckedLines, Vec<u8>)>,
    /// Memory for windows.
    free: Vec<Vec<u8>>,
}

impl<'s> WindowThreads<'s> {
    /// Starts up to `threads` threads; `None` if the system allows none.
    pub(super) fn start<'e: 's>(
        scope: &'s Scope<'s, 'e>,
        threads: usize,
        check: LineCheck<'e>,
        (done, outcomes): &'s Outcomes,
    ) -> Option<Self> {
        let (tasks, tasks_from) = crossbeam_channel::unbounded::<Task>();
        let work = |_| {
            let tasks_from = tasks_from.clone();
            move || {
                let mut comparer = check.order.comparer();
                for Task { number, text, bytes } in tasks_from {
                    let checked = check.check(&text[..bytes], &mut *comparer);
                    // The reading thread may have given up.
                    drop(done.send(Ok((number, checked, text))));
                }
            }
        };
        let threads =
            spawn_up_to(scope, threads, |error| drop(done.send(Err(error))), work).ok()?;
        let (later, free) = (BTreeMap::new(), Vec::new());
        Some(WindowThreads { tasks, outcomes, threads, given: 0, taken: 0, later, free })
    }

    /// Returns memory for the next window, `bytes` bytes.
    pub(super) fn memory(&mut self, bytes: usize) -> Vec<u8> {
        self.free.pop().unwrap_or_else(|| vec![0; bytes])
    }

    /// Sends the first `bytes` bytes of `text` to a thread to be checked.
    pub(super) fn give(&mut self, text: Vec<u8>, bytes: usize) {
        let task = Task { number: self.given, text, bytes };
        self.tasks.send(task).expect("the threads live as long as the scope");
        self.given += 1;
    }

    /// Returns the result of the next window in the order of the input, if it has arrived. Waits
    /// for it with `waits`, or if enough windows are in flight.
    pub(super) fn take(&mut self, waits: bool) -> io::Result<Option<(CheckedLines, Vec<u8>)>> {
        let waits = waits || self.given - self.taken >= 2 * self.threads;
        while self.given > self.taken && !self.later.contains_key(&self.taken) {
            let outcome = match waits {
                true => self.outcomes.recv().expect("the caller holds a sender"),
                false => match self.outcomes.try_recv() {
                    Ok(outcome) => outcome,
                    Err(_) => return Ok(None),
                },
            };
            let (number, checked, text) = outcome.map_err(io::Error::other)?;
            self.later.insert(number, (checked, text));
        }
        let next = self.later.remove(&self.taken);
        self.taken += usize::from(next.is_some());
        Ok(next)
    }

    /// Keeps a window's memory for reuse.
    pub(super) fn recycle(&mut self, text: Vec<u8>) {
        self.free.push(text);
    }
}
