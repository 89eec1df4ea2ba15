//! Figures of a running job that an observer can read: the times of its stages, the bytes moved,
//! and the scratch space in use.
//!
//! The pipelines need most of these figures for their reports; the others cost one addition per
//! block. Observers may read them at any time, at no cost to the job.

use crate::job::spans::Spans;
use crate::job::stage_times::{Stage, StageTimes};
use crate::job::traffic::{Moved, Traffic};
use crate::job::units::Decimal;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, OnceLock};

/// The live figures of one job. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    pub(crate) frame: JobInfo,
    pub(crate) stage_times: Arc<StageTimes>,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) scratch: Arc<ScratchUse>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) spilled: Arc<SpillCounts>,
}

/// Facts about a job that don't change while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobInfo {
    /// Size of a record in bytes; `None` if the records are lines.
    pub record_bytes: Option<u64>,
    /// Memory for data, in bytes.
    pub budget_bytes: u64,
    /// Number of threads that work.
    pub threads: usize,
    /// Number of chunks of the input; `None` if it isn't known before the input's end.
    pub chunks: Option<u64>,
}

/// Numbers of finished units of work.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) chunks: AtomicU64,
    /// Number of bins gathered into the output, or of segments of a merge.
    pub(crate) parts: AtomicU64,
}

/// Bytes spilled so far; zeros if the job doesn't count them.
#[derive(Debug, Default)]
pub(crate) struct SpillCounts {
    pub(crate) bytes: AtomicU64,
    pub(crate) scratch_bytes: AtomicU64,
    pub(crate) lz4_bytes: AtomicU64,
    pub(crate) zstd_bytes: AtomicU64,
}

/// Bytes spilled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spilled {
    /// Bytes before compression.
    pub bytes: u64,
    /// Bytes written to scratch for them: whole pages.
    pub scratch_bytes: u64,
    /// How many of `bytes` each codec compressed.
    pub compressed: Compressed,
}

/// Bytes that were compressed on their way to scratch, measured before compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compressed {
    /// Bytes compressed by LZ4.
    pub lz4_bytes: u64,
    /// Bytes compressed by Zstandard.
    pub zstd_bytes: u64,
}

impl fmt::Display for Spilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spilled { bytes, scratch_bytes, compressed } = *self;
        write!(f, "{} of scratch", Decimal(scratch_bytes as f64))?;
        if compressed == Compressed::default() {
            return Ok(());
        }
        write!(f, " for {}", Decimal(bytes as f64))?;
        let percent = |part: u64| (100.0 * part as f64 / bytes.max(1) as f64).round();
        let Compressed { lz4_bytes, zstd_bytes } = compressed;
        let plain_bytes = bytes.saturating_sub(lz4_bytes).saturating_sub(zstd_bytes);
        let parts = [(zstd_bytes, "by Zstandard"), (lz4_bytes, "by LZ4"), (plain_bytes, "plain")];
        let parts = parts.iter().filter(|(part, _)| percent(*part) > 0.0);
        let parts: Vec<_> = parts.map(|(part, how)| format!("{}% {how}", percent(*part))).collect();
        write!(f, " ({})", parts.join(", "))
    }
}

/// Bytes in use on scratch for each directory; empty until the job creates scratch.
#[derive(Debug, Default)]
pub(crate) struct ScratchUse(OnceLock<Vec<(PathBuf, AtomicU64)>>);

/// The figures of a job at one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Facts that don't change.
    pub frame: JobInfo,
    /// Stages that have been active so far, in the order in which bytes pass through them.
    pub stages: Vec<Stage>,
    /// Bytes moved; zeros if the job doesn't count them.
    pub moved: Moved,
    /// Bytes in use on scratch, for each directory.
    pub scratch: Vec<(PathBuf, u64)>,
    /// Number of chunks of the input that were sorted or scattered.
    pub chunks: u64,
    /// Number of bins or segments written to the output.
    pub parts: u64,
    /// Bytes spilled; zeros if the job doesn't count them.
    pub spilled: Spilled,
}

impl Gauges {
    /// The figures of a job that has not begun. Its stages and transfers are recorded in `spans`.
    pub(crate) fn new(frame: JobInfo, spans: Option<Arc<Spans>>) -> Gauges {
        let stage_times = Arc::new(StageTimes::recorded(spans.as_ref()));
        let traffic = Arc::new(Traffic::recorded(spans));
        Gauges { frame, stage_times, traffic, ..Gauges::default() }
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
            spilled: self.spilled.read(),
        }
    }
}

impl SpillCounts {
    pub(crate) fn read(&self) -> Spilled {
        // The parts first: blocks counted in between must not make them exceed the total.
        let compressed = Compressed {
            lz4_bytes: self.lz4_bytes.load(Acquire),
            zstd_bytes: self.zstd_bytes.load(Acquire),
        };
        let scratch_bytes = self.scratch_bytes.load(Relaxed);
        Spilled { bytes: self.bytes.load(Relaxed), scratch_bytes, compressed }
    }
}

impl ScratchUse {
    /// Starts counting. Scratch is in these directories, and empty.
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
