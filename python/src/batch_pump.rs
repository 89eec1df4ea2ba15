//! The thread of a sort of batches: it reads the input, and hands sorted batches to Python's
//! threads. So a thread that must handle signals never waits inside the library.

use crate::arrow_input::ArrowInput;
use crate::errors::Failure;
use crate::job::{self, Job};
use arrow_array::RecordBatch;
use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use xsort::{Cancel, Error};
use xsort_arrow::{BatchReport, BatchSorting};

/// The result of a sort, once it has ended.
type Outcome = Arc<Mutex<Option<Result<BatchReport, Failure>>>>;

/// Python's side of a sort.
pub(crate) struct BatchPump {
    /// `None` after the last batch.
    from: Option<Receiver<RecordBatch>>,
    outcome: Outcome,
    report: Option<BatchReport>,
    cancel: Cancel,
    job: Job,
    thread: Option<JoinHandle<()>>,
    process: u32,
}

impl BatchPump {
    /// Starts the sort of `input`. Returns once all input is read.
    pub(crate) fn start(
        py: Python<'_>,
        input: ArrowInput,
        sorting: BatchSorting,
        job: Job,
    ) -> PyResult<BatchPump> {
        let (all_read, read) = bounded(1);
        // One batch waits in the channel while the thread builds the next one.
        let (to, from) = bounded(1);
        let outcome = Outcome::default();
        let ended = Arc::clone(&outcome);
        let work = move || {
            let result = job::caught(|| {
                job::wait_for_interrupted();
                work(input, sorting, &all_read, &to)
            });
            *ended.lock() = Some(result);
            // The channels close only after the outcome is set.
            drop((all_read, to));
        };
        let thread = thread::Builder::new().name("xsort-batches".into()).spawn(work)?;
        let mut pump = BatchPump {
            from: Some(from),
            outcome,
            report: None,
            cancel: job.cancel().clone(),
            job,
            thread: Some(thread),
            process: std::process::id(),
        };
        match pump.receive(py, &read)? {
            Some(()) => Ok(pump),
            None => {
                Err(pump.end(py).err().unwrap_or_else(|| Failure::of_argument("no end").into()))
            }
        }
    }

    /// The next batch; `None` after the last one.
    pub(crate) fn next(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        if self.process != std::process::id() {
            let text = "this sort belongs to the process that began it: a forked one has none of \
                        its threads; begin another one there";
            return Err(Failure::of_argument(text).into());
        }
        if self.report.is_some() {
            return Ok(None);
        }
        let Some(from) = self.from.clone() else {
            return Err(Failure::of_argument("this sort has ended: begin another one").into());
        };
        if let Some(batch) = self.receive(py, &from)? {
            return Ok(Some(batch));
        }
        self.end(py).map(|()| None)
    }

    /// The report, available after the last batch.
    pub(crate) fn report(&self) -> Option<&BatchReport> {
        self.report.as_ref()
    }

    /// Notices for the user.
    pub(crate) fn notices(&self) -> Vec<String> {
        self.job.notices()
    }

    fn receive<T: Send>(&mut self, py: Python<'_>, from: &Receiver<T>) -> PyResult<Option<T>> {
        self.job.receive(py, from).inspect_err(|_| self.give_up(py))
    }

    /// Joins the thread and stores the report, or returns the failure.
    fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        self.from = None;
        if let Some(thread) = self.thread.take() {
            py.detach(|| thread.join()).ok();
        }
        let outcome = self.outcome.lock().take();
        // A short sort may not have reported any progress yet.
        let last = if let Some(Ok(_)) = &outcome { self.job.tell(py) } else { Ok(()) };
        self.job.close(py);
        match outcome {
            Some(Ok(report)) => self.report = Some(report),
            Some(Err(failure)) => return Err(failure.into()),
            None => return Err(Failure::lost_thread().into()),
        }
        last
    }

    /// Cancels the sort. Its memory and scratch are released at once or within a moment.
    pub(crate) fn give_up(&mut self, py: Python<'_>) {
        self.cancel.cancel();
        self.from = None;
        if let Some(thread) = self.thread.take() {
            job::leave(py, thread);
        }
        self.job.close(py);
    }
}

impl Drop for BatchPump {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            Python::attach(|py| self.give_up(py));
        } else {
            // Its locks may be held by threads that don't exist in this process.
            std::mem::forget((self.from.take(), self.thread.take()));
        }
    }
}

/// The work of the thread: reads the input, sorts it and sends the batches.
fn work(
    mut input: ArrowInput,
    mut sorting: BatchSorting,
    all_read: &Sender<()>,
    to: &Sender<RecordBatch>,
) -> Result<BatchReport, Failure> {
    while let Some(batch) = input.next_batch()? {
        sorting.push(batch)?;
    }
    Python::attach(|_| drop(input));
    let mut sorted = sorting.finish()?;
    // If the call was interrupted, there is no receiver: the sends below end the work.
    all_read.send(()).ok();
    while let Some(batch) = sorted.next().transpose()? {
        if to.send(batch).is_err() {
            return Err(Error::Cancelled.into());
        }
    }
    Ok(sorted.report().cloned().expect("there is one behind the last batch"))
}
