//! What an observer can read of a running job: the times of its stages, the bytes that its drives
//! moved, the scratch space in use.
//!
//! The pipelines keep these figures anyway, for their reports, or at the cost of one more addition
//! per block. Observers read them whenever they like, which costs the job nothing.

use crate::job::stage_times::{Stage, StageTimes};
use crate::job::traffic::{Moved, Traffic};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The live figures of one job. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    pub(crate) frame: JobInfo,
    pub(crate) stage_times: Arc<StageTimes>,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) scratch: Arc<ScratchUse>,
    pub(crate) counts: Arc<Counts>,
}

/// What doesn't change while a job runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobInfo {
    /// Bytes of a record; `None` if the records are lines.
    pub record_bytes: Option<u64>,
    /// Memory for data, in bytes.
    pub budget_bytes: u64,
    /// Threads that work.
    pub threads: usize,
    /// Chunks that the input is cut into; `None` if nobody knows before its end.
    pub chunks: Option<u64>,
}

/// How many units of work are finished.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) chunks: AtomicU64,
    /// Bins gathered into the output, or segments of a merge.
    pub(crate) parts: AtomicU64,
}

/// Bytes in use on scratch, by directory; empty until the job creates scratch.
#[derive(Debug, Default)]
pub(crate) struct ScratchUse(OnceLock<Vec<(PathBuf, AtomicU64)>>);

/// The figures of a job at one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// What doesn't change.
    pub frame: JobInfo,
    /// Stages that have done anything so far, in the order in which bytes pass through them.
    pub stages: Vec<Stage>,
    /// Bytes that were moved; zeros if the job doesn't count them.
    pub moved: Moved,
    /// Bytes on scratch that are needed, by directory.
    pub scratch: Vec<(PathBuf, u64)>,
    /// Chunks of the input that were sorted or scattered.
    pub chunks: u64,
    /// Bins or segments that went to the output.
    pub parts: u64,
}

impl Gauges {
    /// The figures of a job that has done nothing yet.
    pub(crate) fn new(frame: JobInfo) -> Gauges {
        Gauges { frame, ..Gauges::default() }
    }

    /// Reads all figures. They are not a consistent snapshot: some may be a moment older than
    /// others.
    pub fn read(&self) -> Reading {
        Reading {
            frame: self.frame,
            stages: self.stage_times.stages(),
            moved: self.traffic.moved(),
            scratch: self.scratch.read(),
            chunks: self.counts.chunks.load(Relaxed),
            parts: self.counts.parts.load(Relaxed),
        }
    }
}

impl ScratchUse {
    /// Starts counting: scratch is in these directories, and empty.
    pub(crate) fn start(&self, directories: &[PathBuf]) {
        self.0.get_or_init(|| {
            directories.iter().map(|path| (path.clone(), AtomicU64::new(0))).collect()
        });
    }

    pub(crate) fn add(&self, drive: usize, bytes: u64) {
        self.of(drive).fetch_add(bytes, Relaxed);
    }

    pub(crate) fn subtract(&self, drive: usize, bytes: u64) {
        self.of(drive).fetch_sub(bytes, Relaxed);
    }

    fn of(&self, drive: usize) -> &AtomicU64 {
        &self.0.get().expect("scratch is counted from its creation on")[drive].1
    }

    fn read(&self) -> Vec<(PathBuf, u64)> {
        let drives = self.0.get().into_iter().flatten();
        drives.map(|(path, bytes)| (path.clone(), bytes.load(Relaxed))).collect()
    }
}
