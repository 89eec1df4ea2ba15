//! What can be read of a running job while it runs: the accounts of its stages, what its drives
//! moved, how much scratch it takes.
//!
//! The pipelines write these anyway, for their reports, or with one more addition a block. Whoever
//! watches reads them when it likes, so that it costs the job nothing how often that is.

use crate::job::stage_times::{Stage, StageTimes};
use crate::job::traffic::{Moved, Traffic};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The instruments of one job; a clone shows the same.
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
    /// Bytes of a record; `None` of lines.
    pub record_bytes: Option<u64>,
    /// Memory for data, in bytes.
    pub budget_bytes: u64,
    /// Threads that work.
    pub threads: usize,
    /// Chunks that the input is cut into; `None` if nobody knows before its end.
    pub chunks: Option<u64>,
}

/// How often something was done.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) chunks: AtomicU64,
    /// Bins gathered into the output, or segments of a merge.
    pub(crate) parts: AtomicU64,
}

/// Bytes on scratch by directory, known once there is any.
#[derive(Debug, Default)]
pub(crate) struct ScratchUse(OnceLock<Vec<(PathBuf, AtomicU64)>>);

/// The instruments at one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// What doesn't change.
    pub frame: JobInfo,
    /// Stages that had anything to do so far, in the order in which bytes pass through them.
    pub stages: Vec<Stage>,
    /// Bytes that were moved; zeros of jobs that don't count them.
    pub moved: Moved,
    /// Bytes on scratch that are needed, by directory.
    pub scratch: Vec<(PathBuf, u64)>,
    /// Chunks of the input that were sorted or scattered.
    pub chunks: u64,
    /// Bins or segments that went to the output.
    pub parts: u64,
}

impl Gauges {
    /// Of a job with this frame, and nothing done.
    pub(crate) fn new(frame: JobInfo) -> Gauges {
        Gauges { frame, ..Gauges::default() }
    }

    /// What they show now. Figures of different instruments may be a moment apart.
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
    /// Scratch is in these directories, and empty.
    pub(crate) fn begin(&self, directories: &[PathBuf]) {
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
        &self.0.get().expect("scratch was begun before it was used")[drive].1
    }

    fn read(&self) -> Vec<(PathBuf, u64)> {
        let drives = self.0.get().into_iter().flatten();
        drives.map(|(path, bytes)| (path.clone(), bytes.load(Relaxed))).collect()
    }
}
