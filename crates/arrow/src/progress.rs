//! The progress of a sort while its batches are in memory. If they don't fit, the engine reports
//! the rest itself.
//!
//! ```text
//!  read (the size isn't known) --> sort --> gather
//! ```

use std::fmt;
use std::time::Instant;
use xsort::{OnProgress, Progress};

/// Reports the progress of a sort in memory.
pub(crate) struct MemoryProgress {
    tell: Option<OnProgress>,
    began: Instant,
    phase: &'static str,
    phase_began: Instant,
    /// Completed bytes of this phase; the next field has those of all earlier phases.
    done_bytes: u64,
    earlier_bytes: u64,
    /// Bytes of all batches; 0 while they are read.
    bytes: u64,
}

impl MemoryProgress {
    /// Creates the progress of a sort that begins to read.
    pub(crate) fn new(tell: Option<OnProgress>) -> MemoryProgress {
        let now = Instant::now();
        MemoryProgress {
            tell,
            began: now,
            phase: "read",
            phase_began: now,
            done_bytes: 0,
            earlier_bytes: 0,
            bytes: 0,
        }
    }

    /// Reports that `bytes` bytes of this phase are done.
    pub(crate) fn done(&mut self, bytes: u64) {
        self.done_bytes = bytes;
        self.tell();
    }

    /// Begins a phase over all batches, which have `bytes` bytes.
    pub(crate) fn begin(&mut self, phase: &'static str, bytes: u64) {
        self.earlier_bytes += self.done_bytes;
        (self.phase, self.phase_began) = (phase, Instant::now());
        (self.done_bytes, self.bytes) = (0, bytes);
        self.tell();
    }

    /// Reports that `rows` of the `of` rows are done in this phase.
    pub(crate) fn done_rows(&mut self, rows: u64, of: u64) {
        let share = u128::from(self.bytes) * u128::from(rows) / u128::from(of.max(1));
        self.done(share as u64);
    }

    fn tell(&self) {
        let Some(tell) = &self.tell else { return };
        tell(Progress {
            phase: self.phase,
            done_bytes: self.done_bytes,
            bytes: self.bytes,
            phase_seconds: self.phase_began.elapsed().as_secs_f64(),
            earlier_bytes: self.earlier_bytes,
            to_come_bytes: if self.phase == "sort" { self.bytes } else { 0 },
            seconds: self.began.elapsed().as_secs_f64(),
        });
    }
}

impl fmt::Debug for MemoryProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("MemoryProgress");
        shown.field("phase", &self.phase).field("done_bytes", &self.done_bytes);
        shown.finish_non_exhaustive()
    }
}
