//! The thread of a sort of pushed records: it takes batches from Python's threads, and returns
//! sorted ones. So a thread that must handle signals never waits inside the library.
//!
//! ```text
//! push --> batch --> channel --> pump: Sorting, then Sorted --> channel --> batch --> next
//! ```

use crate::batch::Batch;
use crate::channel::{self, SIGNAL_INTERVAL};
use crate::errors::Failure;
use crate::job;
use crossbeam_channel::{Receiver, SendTimeoutError, Sender, bounded};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use xsort::{Cancel, Error, Sorter, SorterReport, Sorting};

/// The capacity in batches of the channel in each direction.
const BATCHES: usize = 2;

/// A message from Python's threads.
enum Message {
    Batch(Batch),
    /// A batch with a long record. The pump answers at once whether it was accepted.
    Long(Batch, Sender<Result<(), Error>>),
    End,
}

/// The result of a sort, once it has ended.
type Outcome = Arc<Mutex<Option<Result<SorterReport, Failure>>>>;

/// Python's ends of both channels.
pub(crate) struct Pump {
    /// `None` once all records were pushed, or the sort was cancelled.
    to: Option<Sender<Message>>,
    from: Option<Receiver<Batch>>,
    outcome: Outcome,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
    process: u32,
}

impl Pump {
    /// Starts the thread for a sort, which `cancel` stops.
    pub(crate) fn start(sorter: Sorter, cancel: Cancel) -> PyResult<Pump> {
        let (to, pushed) = bounded(BATCHES);
        let (sorted, from) = bounded(BATCHES);
        let outcome = Outcome::default();
        let ended = Arc::clone(&outcome);
        let work = move || {
            let result = job::caught(|| pump(&sorter, &pushed, &sorted));
            *ended.lock() = Some(result);
            // The channels close only after the outcome is set.
        };
        let thread = thread::Builder::new().name("xsort-pump".into()).spawn(work)?;
        let process = std::process::id();
        let (to, from, thread) = (Some(to), Some(from), Some(thread));
        Ok(Pump { to, from, outcome, cancel, thread, process })
    }

    /// Returns an error in a forked process, which has none of the sort's threads.
    pub(crate) fn check_process(&self) -> Result<(), Failure> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let text = "this sort belongs to the process that began it: a forked one has none of its \
                    threads; begin a Sorter of its own there";
        Err(Failure::of_argument(text))
    }

    /// Sends a batch.
    pub(crate) fn send(&mut self, py: Python<'_>, batch: Batch) -> PyResult<()> {
        self.send_message(py, Message::Batch(batch))
    }

    /// Sends a batch with a long record, and waits until it is accepted.
    pub(crate) fn send_long(&mut self, py: Python<'_>, batch: Batch) -> PyResult<()> {
        let (to, from) = bounded(1);
        self.send_message(py, Message::Long(batch, to))?;
        match self.receive(py, &from)? {
            Some(taken) => Ok(taken.map_err(Failure::from)?),
            None => Err(self.end(py)),
        }
    }

    /// Tells the pump that all records were pushed.
    pub(crate) fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        self.send_message(py, Message::End)?;
        self.to = None;
        Ok(())
    }

    /// The next sorted batch; `Err` with the report after the last one.
    pub(crate) fn next(&mut self, py: Python<'_>) -> PyResult<Result<Batch, SorterReport>> {
        self.check_process()?;
        let Some(from) = self.from.clone() else { return Err(self.end(py)) };
        if let Some(batch) = self.receive(py, &from)? {
            return Ok(Ok(batch));
        }
        self.join(py);
        match self.outcome.lock().take() {
            Some(Ok(report)) => Ok(Err(report)),
            Some(Err(failure)) => Err(failure.into()),
            None => Err(Failure::lost_thread().into()),
        }
    }

    fn send_message(&mut self, py: Python<'_>, mut message: Message) -> PyResult<()> {
        self.check_process()?;
        loop {
            let Some(to) = &self.to else { return Err(self.end(py)) };
            match to.try_send(message) {
                Ok(()) => return Ok(()),
                Err(error) => message = error.into_inner(),
            }
            match py.detach(|| to.send_timeout(message, SIGNAL_INTERVAL)) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(back)) => message = back,
                Err(SendTimeoutError::Disconnected(_)) => return Err(self.end(py)),
            }
            py.check_signals().inspect_err(|_| self.give_up(py))?;
        }
    }

    fn receive<T: Send>(&mut self, py: Python<'_>, from: &Receiver<T>) -> PyResult<Option<T>> {
        channel::receive(py, from, || Ok(())).inspect_err(|_| self.give_up(py))
    }

    /// The error of a sort that accepts or returns no more records.
    fn end(&mut self, py: Python<'_>) -> PyErr {
        self.join(py);
        match self.outcome.lock().take() {
            Some(Err(failure)) => failure.into(),
            _ => Failure::of_argument("the sort has ended: begin another Sorter").into(),
        }
    }

    fn join(&mut self, py: Python<'_>) {
        (self.to, self.from) = (None, None);
        if let Some(thread) = self.thread.take() {
            py.detach(|| thread.join()).ok();
        }
    }

    /// Cancels the sort. Its memory and scratch are released at once or within a moment.
    pub(crate) fn give_up(&mut self, py: Python<'_>) {
        self.cancel.cancel();
        (self.to, self.from) = (None, None);
        if let Some(thread) = self.thread.take() {
            job::leave(py, thread);
        }
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            Python::attach(|py| self.give_up(py));
        } else {
            // Its locks may be held by threads that don't exist in this process.
            std::mem::forget((self.to.take(), self.from.take(), self.thread.take()));
        }
    }
}

/// The work of the thread: sorts what is pushed, then sends it.
fn pump(
    sorter: &Sorter,
    pushed: &Receiver<Message>,
    to: &Sender<Batch>,
) -> Result<SorterReport, Failure> {
    let mut sorting = sorter.start()?;
    loop {
        match pushed.recv() {
            Ok(Message::Batch(batch)) => push(&mut sorting, &batch)?,
            Ok(Message::Long(batch, taken)) => {
                // The thread that pushes may have been interrupted meanwhile.
                taken.send(push(&mut sorting, &batch)).ok();
            }
            Ok(Message::End) => break,
            Err(_) => return Err(Error::Cancelled.into()),
        }
    }
    let mut sorted = sorting.finish()?;
    let mut batch = Batch::default();
    while let Some((key, record)) = sorted.next()? {
        batch.push(key, record);
        if batch.is_full() && to.send(std::mem::take(&mut batch)).is_err() {
            return Err(Error::Cancelled.into());
        }
    }
    if !batch.is_empty() && to.send(batch).is_err() {
        return Err(Error::Cancelled.into());
    }
    Ok(sorted.report().cloned().expect("there is one behind the last record"))
}

fn push(sorting: &mut Sorting, batch: &Batch) -> Result<(), Error> {
    batch.iter().try_for_each(|(key, record)| sorting.push(key, record))
}
