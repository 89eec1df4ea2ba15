//! Who worked and who waited for whom, in seconds of each stage over all of its threads.

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// An account of time that any thread adds to.
#[derive(Debug, Default)]
pub(crate) struct Account(AtomicU64);

impl Account {
    pub(crate) fn add(&self, time: Duration) {
        self.0.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    /// Runs `work` and adds the time that it took.
    pub(crate) fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(start.elapsed());
        result
    }

    fn seconds(&self) -> f64 {
        self.0.load(Relaxed) as f64 / 1e9
    }
}

/// The accounts of one sort. Busy times and waits of threads add up over threads.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Reading stood still because no area was free: reading waits for sorting and spilling.
    pub(crate) read_waits_for_areas: Account,
    pub(crate) sort_waits_for_read: Account,
    pub(crate) checksum_busy: Account,
    pub(crate) sort_busy: Account,
    pub(crate) gather_busy: Account,
    pub(crate) gather_waits_for_write: Account,
    /// Merging threads without a segment: merging waits for reading (or for cutting).
    pub(crate) merge_waits_for_read: Account,
    pub(crate) merge_busy: Account,
    pub(crate) merge_waits_for_write: Account,
    pub(crate) cut_busy: Account,
}

/// Seconds by stage, over all threads of the stage.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "each field is the account of that name")]
pub struct Waits {
    pub read_waits_for_areas: f64,
    pub sort_waits_for_read: f64,
    pub checksum_busy: f64,
    pub sort_busy: f64,
    pub gather_busy: f64,
    pub gather_waits_for_write: f64,
    pub merge_waits_for_read: f64,
    pub merge_busy: f64,
    pub merge_waits_for_write: f64,
    pub cut_busy: f64,
}

impl Ledger {
    pub(crate) fn seconds(&self) -> Waits {
        Waits {
            read_waits_for_areas: self.read_waits_for_areas.seconds(),
            sort_waits_for_read: self.sort_waits_for_read.seconds(),
            checksum_busy: self.checksum_busy.seconds(),
            sort_busy: self.sort_busy.seconds(),
            gather_busy: self.gather_busy.seconds(),
            gather_waits_for_write: self.gather_waits_for_write.seconds(),
            merge_waits_for_read: self.merge_waits_for_read.seconds(),
            merge_busy: self.merge_busy.seconds(),
            merge_waits_for_write: self.merge_waits_for_write.seconds(),
            cut_busy: self.cut_busy.seconds(),
        }
    }
}
