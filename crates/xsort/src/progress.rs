//! Reports a job's progress to the caller of a builder.

use crate::cancel::Cancel;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use xsort_disk::Disk;
use xsort_extsort::Observer;

/// The progress of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress<'a> {
    /// The current phase: "form runs", "merge", "generate", "verify" and others.
    pub phase: &'a str,
    /// Bytes of the phase that are done.
    pub done_bytes: u64,
    /// Bytes of the phase; 0 if unknown.
    pub bytes: u64,
    /// Seconds since the phase began.
    pub phase_seconds: f64,
    /// Bytes of all earlier phases.
    pub earlier_bytes: u64,
    /// Bytes of later phases, as far as they were announced.
    pub to_come_bytes: u64,
    /// Seconds since the job began.
    pub seconds: f64,
}

/// A closure that is called with a job's progress, from any thread.
pub type OnProgress = Arc<dyn Fn(Progress<'_>) + Send + Sync>;
/// A closure that is called with each message for the user, from any thread.
pub type OnNotice = Arc<dyn Fn(&str) + Send + Sync>;

/// The closures that a builder's job calls.
#[derive(Clone, Default)]
pub struct Callbacks {
    /// Is called after every block. It must return quickly and not block.
    pub on_progress: Option<OnProgress>,
    /// Is called with less memory than requested, a missing feature of the kernel, and the like.
    pub on_notice: Option<OnNotice>,
}

impl Callbacks {
    pub(crate) fn notice(&self, line: &str) {
        if let Some(tell) = &self.on_notice {
            tell(line);
        }
    }
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callbacks").finish_non_exhaustive()
    }
}

/// The observer of a builder's job, which calls its closures.
pub struct ProgressObserver {
    callbacks: Callbacks,
    cancel: Cancel,
    /// The disk, whose notices are passed on when the job is over.
    disk: Option<Arc<dyn Disk>>,
    phase: Mutex<Phase>,
    /// Bytes of the phase that are done.
    done: AtomicU64,
    began: Instant,
}

/// The current phase of a job.
#[derive(Clone, Default)]
struct Phase {
    name: String,
    bytes: u64,
    /// `None` before the first phase.
    began: Option<Instant>,
    earlier_bytes: u64,
    /// Names and bytes of later phases.
    to_come: Vec<(String, u64)>,
}

impl ProgressObserver {
    pub(crate) fn new(
        callbacks: Callbacks,
        cancel: Cancel,
        disk: Option<Arc<dyn Disk>>,
    ) -> ProgressObserver {
        ProgressObserver {
            callbacks,
            cancel,
            disk,
            phase: Mutex::default(),
            done: AtomicU64::new(0),
            began: Instant::now(),
        }
    }

    fn tell(&self) {
        let Some(tell) = &self.callbacks.on_progress else { return };
        let Phase { name, bytes, began, earlier_bytes, to_come } = self.phase.lock().clone();
        tell(Progress {
            phase: &name,
            done_bytes: self.done.load(Relaxed),
            bytes,
            phase_seconds: began.map_or(0.0, |began| began.elapsed().as_secs_f64()),
            earlier_bytes,
            to_come_bytes: to_come.iter().map(|(_, bytes)| bytes).sum(),
            seconds: self.began.elapsed().as_secs_f64(),
        });
    }
}

impl Observer for ProgressObserver {
    fn phase(&self, name: &str, bytes: u64) {
        let mut phase = self.phase.lock();
        phase.earlier_bytes += self.done.swap(0, Relaxed);
        (phase.name, phase.bytes, phase.began) = (name.to_owned(), bytes, Some(Instant::now()));
        if let Some(index) = phase.to_come.iter().position(|(announced, _)| announced == name) {
            phase.to_come.drain(..=index);
        }
        drop(phase);
        self.tell();
    }

    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Relaxed);
        self.tell();
    }

    fn notice(&self, line: &str) {
        self.callbacks.notice(line);
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    fn expect(&self, phases: &[(&str, u64)]) {
        let phases = phases.iter().map(|&(name, bytes)| (name.to_owned(), bytes));
        self.phase.lock().to_come = phases.collect();
    }
}

impl Drop for ProgressObserver {
    fn drop(&mut self) {
        let notices = self.disk.as_ref().map(|disk| disk.notices()).unwrap_or_default();
        notices.iter().for_each(|line| self.callbacks.notice(line));
    }
}
