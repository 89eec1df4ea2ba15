//! Runs a job on a thread of its own. Meanwhile the calling thread waits with the interpreter
//! released, handles Python's signals, and calls the progress callable.
//!
//! Python's handlers of signals stay as they are, and run on the thread that calls. What they raise
//! (KeyboardInterrupt) stops the job, and leaves at once or a moment later: a job that takes longer
//! to clean up ends by itself. The next job waits for it, as does the interpreter's end. The
//! exception has a note that says what became of the job, since it may have been done already.

use crate::channel;
use crate::errors::Failure;
use crate::progress::{Latest, Watcher};
use crossbeam_channel::{Receiver, bounded};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use xsort::{Callbacks, Cancel, Error, OnProgress, Progress};

/// The interval at which the progress callable is called.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// How long an interrupted call waits for its job. Together with [`channel::SIGNAL_INTERVAL`] it is
/// less than a tenth of a second.
const PATIENCE: Duration = Duration::from_millis(60);

/// What became of a job that was interrupted: notes of the exception.
const DONE: &str = "xsort: the job was done at this moment: its output is new and whole";
const STOPPED: &str = "xsort: the job was stopped: its output was not put in place";
const STOPPING: &str = "xsort: the job is being stopped: the next call of xsort waits for it, and \
                        then the output is the old one or the new one, and whole";

/// Threads of jobs that were interrupted, and the process that they are in.
static INTERRUPTED: Mutex<Vec<(u32, JoinHandle<()>)>> = Mutex::new(Vec::new());

/// A job's flag to stop, notices and progress.
pub(crate) struct Job {
    cancel: Cancel,
    notices: Arc<Mutex<Vec<String>>>,
    latest: Option<Arc<Latest>>,
    watcher: Option<Watcher>,
    /// The time of the last progress report.
    shown: Instant,
}

impl Job {
    /// A job that reports progress to `progress`: a callable, or a bar for `True`.
    pub(crate) fn new(progress: Option<Bound<'_, PyAny>>) -> PyResult<Job> {
        let watcher = progress.map(Watcher::new).transpose()?.flatten();
        let latest = watcher.is_some().then(Arc::default);
        let (cancel, notices) = (Cancel::new(), Arc::default());
        Ok(Job { cancel, notices, latest, watcher, shown: Instant::now() })
    }

    /// The flag that stops the job.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// The functions that store notices for the user, and progress if the caller asked for it.
    pub(crate) fn callbacks(&self) -> Callbacks {
        let (notices, latest) = (Arc::clone(&self.notices), self.latest.clone());
        Callbacks {
            on_notice: Some(Arc::new(move |line| notices.lock().push(line.to_owned()))),
            on_progress: latest.map(|latest| {
                let tell = move |progress: Progress<'_>| latest.set(&progress);
                Arc::new(tell) as OnProgress
            }),
        }
    }

    /// The notices for the user so far.
    pub(crate) fn notices(&self) -> Vec<String> {
        self.notices.lock().clone()
    }

    /// Runs `work` on a new thread. Returns its result and the notices for the user.
    pub(crate) fn run<T: Send + 'static, E: Into<Failure> + Send + 'static>(
        mut self,
        py: Python<'_>,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> PyResult<(T, Vec<String>)> {
        let (to, from) = bounded(1);
        let work = move || {
            wait_for_interrupted();
            // If the call was interrupted, there is no receiver.
            drop(to.send(caught(work)));
        };
        let thread = thread::Builder::new().name("xsort".into()).spawn(work)?;
        let result = match self.receive(py, &from) {
            Ok(result) => result.unwrap_or_else(|| Err(Failure::lost_thread())),
            Err(interruption) => {
                self.cancel.cancel();
                leave(py, thread);
                self.close(py);
                add_note(py, &interruption, &state(from.try_recv().ok()));
                return Err(interruption);
            }
        };
        py.detach(|| thread.join()).ok();
        let last = if result.is_ok() { self.tell(py) } else { Ok(()) };
        self.close(py);
        let result = result?;
        last.inspect_err(|error| add_note(py, error, DONE))?;
        Ok((result, std::mem::take(&mut *self.notices.lock())))
    }

    /// The next value that a thread of this job sends; `None` if the thread has ended. Reports
    /// progress while waiting.
    pub(crate) fn receive<T: Send>(
        &mut self,
        py: Python<'_>,
        from: &Receiver<T>,
    ) -> PyResult<Option<T>> {
        let received = channel::receive(py, from, || self.tell_in_time(py))?;
        // Also if there was no wait.
        self.tell_in_time(py)?;
        Ok(received)
    }

    /// Reports progress if the interval has passed since the last report.
    fn tell_in_time(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.shown.elapsed() < PROGRESS_INTERVAL {
            return Ok(());
        }
        self.shown = Instant::now();
        self.tell(py)
    }

    /// Calls the progress callable, if there is one and progress to report.
    pub(crate) fn tell(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some((watcher, latest)) = self.watcher.as_mut().zip(self.latest.as_ref()) else {
            return Ok(());
        };
        latest.get().map_or(Ok(()), |progress| watcher.tell(py, progress))
    }

    /// Closes the bar, if there is one.
    pub(crate) fn close(&mut self, py: Python<'_>) {
        if let Some(watcher) = self.watcher.take() {
            watcher.close(py);
        }
    }
}

/// What became of a job that was interrupted, which has sent this.
fn state<T>(sent: Option<Result<T, Failure>>) -> Cow<'static, str> {
    match sent {
        Some(Ok(_)) => DONE.into(),
        Some(Err(Failure::Job(error))) if matches!(*error, Error::Cancelled) => STOPPED.into(),
        Some(Err(failure)) => {
            format!("xsort: the job failed at the same time: {}", PyErr::from(failure)).into()
        }
        None => STOPPING.into(),
    }
}

/// Adds a line to what an exception says.
fn add_note(py: Python<'_>, error: &PyErr, line: &str) {
    error.value(py).call_method1("add_note", (line,)).ok();
}

/// The result of `work`; of one that panics, an error.
pub(crate) fn caught<T, E: Into<Failure>>(
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, Failure> {
    // Unwind safety: nothing that the work has used is used again.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(Into::into),
        Err(panic) => Err(Failure::Panicked(reason(&*panic))),
    }
}

/// Waits a moment for a job that must stop, then lets it end by itself.
pub(crate) fn leave(py: Python<'_>, thread: JoinHandle<()>) {
    let patient_until = Instant::now() + PATIENCE;
    py.detach(|| {
        while !thread.is_finished() && Instant::now() < patient_until {
            thread::sleep(Duration::from_millis(1));
        }
    });
    if thread.is_finished() {
        thread.join().ok();
    } else {
        INTERRUPTED.lock().push((std::process::id(), thread));
    }
}

/// The message of a panic.
fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("a thread failed: {}", text.unwrap_or_default())
}

/// Waits until jobs that were interrupted have cleaned up. Called at the interpreter's end, too.
#[pyfunction]
#[pyo3(name = "_wait_for_interrupted_jobs")]
pub(crate) fn wait_for_interrupted_jobs(py: Python<'_>) {
    py.detach(wait_for_interrupted);
}

pub(crate) fn wait_for_interrupted() {
    let threads = std::mem::take(&mut *INTERRUPTED.lock());
    for (process, thread) in threads {
        // A forked process has none of its parent's threads.
        if process == std::process::id() {
            thread.join().ok();
        } else {
            std::mem::forget(thread);
        }
    }
}
