//! The progress of a job, passed to Python's callable on the calling thread, ten times a second.
//! The library's threads only store their latest figures.

use parking_lot::Mutex;
use pyo3::prelude::*;

/// How far a job is.
#[pyclass(frozen, get_all, module = "xsort")]
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// What it does now: "form runs", "merge", "generate", "verify" and the like.
    phase: String,
    /// Bytes of the phase that are done.
    done_bytes: u64,
    /// Bytes of the phase, or None if that isn't known.
    bytes: Option<u64>,
    /// Seconds since the job began.
    seconds: f64,
    /// Bytes a second, of this phase.
    bytes_per_second: f64,
    /// Seconds that the whole job still takes, or None if that isn't known.
    seconds_left: Option<f64>,
}

#[pymethods]
impl Progress {
    fn __repr__(&self) -> String {
        let Progress { phase, done_bytes, bytes, seconds, bytes_per_second, seconds_left } = self;
        let left = seconds_left.map_or("None".to_owned(), |left| format!("{left:.1}"));
        let bytes = bytes.map_or("None".to_owned(), |bytes| bytes.to_string());
        format!(
            "Progress(phase={phase:?}, done_bytes={done_bytes}, bytes={bytes}, \
             seconds={seconds:.1}, bytes_per_second={bytes_per_second:.0}, seconds_left={left})"
        )
    }
}

impl From<&xsort::Progress<'_>> for Progress {
    fn from(now: &xsort::Progress<'_>) -> Progress {
        let bytes = Some(now.bytes).filter(|&bytes| bytes > 0);
        let figures = xsort_status::Progress {
            done_bytes: now.earlier_bytes + now.done_bytes,
            phase_done_bytes: now.done_bytes,
            phase_bytes: bytes,
            to_come_bytes: Some(now.to_come_bytes),
            phase_seconds: now.phase_seconds,
            seconds: now.seconds,
        };
        Progress {
            phase: now.phase.to_owned(),
            done_bytes: now.done_bytes,
            bytes,
            seconds: now.seconds,
            bytes_per_second: now.done_bytes as f64 / now.phase_seconds.max(1e-3),
            seconds_left: figures.seconds_left(),
        }
    }
}

/// The latest figures of a job.
#[derive(Debug, Default)]
pub(crate) struct Latest(Mutex<Option<Progress>>);

impl Latest {
    pub(crate) fn set(&self, progress: &xsort::Progress<'_>) {
        *self.0.lock() = Some(progress.into());
    }

    pub(crate) fn get(&self) -> Option<Progress> {
        self.0.lock().clone()
    }
}

/// Python's progress callable.
pub(crate) struct Watcher {
    callable: Py<PyAny>,
    /// True if it is xsort's own bar, which must be closed.
    is_bar: bool,
}

impl Watcher {
    /// Takes the callable, or creates a bar for `True`. Returns `None` for `False` and `None`.
    pub(crate) fn new(progress: Bound<'_, PyAny>) -> PyResult<Option<Watcher>> {
        let is_bar = progress.extract::<bool>().ok();
        if progress.is_none() || is_bar == Some(false) {
            return Ok(None);
        }
        let callable = match is_bar {
            Some(_) => progress.py().import("xsort._progress")?.getattr("Bar")?.call0()?,
            None => progress,
        };
        let is_bar = is_bar.is_some();
        Ok(Some(Watcher { callable: callable.unbind(), is_bar }))
    }

    pub(crate) fn tell(&mut self, py: Python<'_>, progress: Progress) -> PyResult<()> {
        self.callable.call1(py, (progress,)).map(drop)
    }

    pub(crate) fn close(self, py: Python<'_>) {
        if self.is_bar
            && let Err(error) = self.callable.call_method0(py, "close")
        {
            error.write_unraisable(py, None);
        }
    }
}
