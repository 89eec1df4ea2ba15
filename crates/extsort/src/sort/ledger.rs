//! Who worked and who waited for whom, in seconds of each stage over all of its threads.

use crate::process::thread_cpu_time;
use serde::{Serialize, Serializer};
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

    /// Runs `work` and adds the processor time that it took of this thread.
    pub(crate) fn time_cpu<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = thread_cpu_time();
        let result = work();
        self.add(thread_cpu_time() - start);
        result
    }

    /// What it comes to.
    pub(crate) fn seconds(&self) -> f64 {
        self.0.load(Relaxed) as f64 / 1e9
    }
}

impl Serialize for Account {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.seconds())
    }
}

/// Seconds by stage, over all threads of the stage.
#[derive(Debug, Default, Serialize)]
pub struct Ledger {
    /// Reading stood still because no area was free: reading waits for sorting and spilling.
    pub(crate) read_waits_for_areas: Account,
    /// Threads of a pass without a chunk: they wait for reading.
    pub(crate) work_waits_for_read: Account,
    /// Hashing what was read from the inputs.
    pub(crate) checksum_busy: Account,
    /// Sorting chunks or bins.
    pub(crate) sort_busy: Account,
    /// Finding the bin of each record.
    pub(crate) scatter_busy: Account,
    /// Gathering records into blocks for scratch, and sealing them.
    pub(crate) spill_busy: Account,
    pub(crate) spill_waits_for_write: Account,
    /// Checking bins that came back from scratch, and moving their records together.
    pub(crate) load_busy: Account,
    /// Finding the cuts between the segments of a merge.
    pub(crate) cut_busy: Account,
    /// Merging threads without a segment: merging waits for reading.
    pub(crate) merge_waits_for_read: Account,
    /// Merging or gathering records into blocks for the output, and hashing them.
    pub(crate) output_busy: Account,
    pub(crate) output_waits_for_write: Account,
    /// Processor time of the one thread that starts transfers and takes their ends in: what no number of threads makes faster.
    pub(crate) coordinator_busy: Account,
    /// Of that, the forecast of a merge, which begins only then.
    pub(crate) forecast_busy: Account,
    /// Of that, handing out the segments of a merge, a few instructions a run for each.
    pub(crate) hand_out_busy: Account,
}
