//! Who worked and who waited for whom, in seconds of each stage over all of its threads.

use crate::job::process::thread_cpu_time;
use serde::{Serialize, Serializer};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// An account of time that any thread adds to.
///
/// What is being done counts as it goes on: work is open while it is done, and `open` holds how
/// many such works there are (upper 12 bits) and the sum of the microseconds at which they began
/// (lower 52, enough for a thousand threads and 50 days). So many times now, less that sum, is the
/// time that they have taken.
#[derive(Debug, Default)]
pub(crate) struct StageTimer {
    /// Nanoseconds of what is over.
    over: AtomicU64,
    open: AtomicU64,
}

const ONE_OPEN: u64 = 1 << 52;

/// When the process first asked: what the microseconds of open work count from.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

impl StageTimer {
    pub(crate) fn add(&self, time: Duration) {
        self.over.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    /// Runs `work` and adds the time that it took.
    pub(crate) fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let epoch = *EPOCH;
        let start = Instant::now();
        let open = ONE_OPEN + start.duration_since(epoch).as_micros() as u64;
        self.open.fetch_add(open, Relaxed);
        let result = work();
        self.open.fetch_sub(open, Relaxed);
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

    /// What it comes to, of what is over.
    pub(crate) fn seconds(&self) -> f64 {
        self.over.load(Relaxed) as f64 / 1e9
    }

    /// What it comes to now, with what is being done.
    fn seconds_now(&self) -> f64 {
        let open = self.open.load(Relaxed);
        let (works, begun) = (open / ONE_OPEN, open % ONE_OPEN);
        let micros = (works * EPOCH.elapsed().as_micros() as u64).saturating_sub(begun);
        self.seconds() + micros as f64 / 1e6
    }
}

impl Serialize for StageTimer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.seconds())
    }
}

/// A stage of a running job: seconds so far, over all of its threads.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    /// What it does, in a word.
    pub name: &'static str,
    /// Seconds of work.
    pub busy_seconds: f64,
    /// Seconds in which it could do nothing, and what for.
    pub waits: Vec<(&'static str, f64)>,
}

/// Seconds by stage, over all threads of the stage.
#[derive(Debug, Default, Serialize)]
pub struct StageTimes {
    /// Reading stood still because no area was free: reading waits for sorting and spilling.
    pub(crate) read_waits_for_areas: StageTimer,
    /// Threads of a pass without a chunk: they wait for reading.
    pub(crate) work_waits_for_read: StageTimer,
    /// Hashing what was read from the inputs.
    pub(crate) checksum_busy: StageTimer,
    /// Sorting chunks or bins.
    pub(crate) sort_busy: StageTimer,
    /// Finding the bin of each record.
    pub(crate) scatter_busy: StageTimer,
    /// Reading what has no transfers of its own: lines.
    #[serde(skip)]
    pub(crate) read_busy: StageTimer,
    /// Making records that weren't there.
    #[serde(skip)]
    pub(crate) make_busy: StageTimer,
    /// Gathering records into blocks for scratch, and sealing them.
    pub(crate) spill_busy: StageTimer,
    pub(crate) spill_waits_for_write: StageTimer,
    /// Checking bins that came back from scratch, and moving their records together.
    pub(crate) load_busy: StageTimer,
    /// Finding the cuts between the segments of a merge.
    pub(crate) cut_busy: StageTimer,
    /// Merging threads without a segment: merging waits for reading.
    pub(crate) merge_waits_for_read: StageTimer,
    /// Merging or gathering records into blocks for the output, and hashing them.
    pub(crate) output_busy: StageTimer,
    pub(crate) output_waits_for_write: StageTimer,
    /// Processor time of the one thread that starts transfers and takes their ends in: what no
    /// number of threads makes faster.
    pub(crate) coordinator_busy: StageTimer,
    /// Of that, the forecast of a merge, which begins only then.
    pub(crate) forecast_busy: StageTimer,
    /// Of that, handing out the segments of a merge, a few instructions a run for each.
    pub(crate) hand_out_busy: StageTimer,
}

impl StageTimes {
    /// The stages that had anything to do, in the order in which bytes pass through them, up to
    /// now.
    pub(crate) fn stages(&self) -> Vec<Stage> {
        let stage = |name, busy: &[&StageTimer], waits: &[(&'static str, &StageTimer)]| Stage {
            name,
            busy_seconds: busy.iter().map(|account| account.seconds_now()).sum(),
            waits: waits.iter().map(|(what, account)| (*what, account.seconds_now())).collect(),
        };
        let stages = [
            stage("read", &[&self.read_busy], &[("memory", &self.read_waits_for_areas)]),
            stage("make", &[&self.make_busy], &[]),
            stage(
                "sort",
                &[&self.checksum_busy, &self.sort_busy],
                &[("read", &self.work_waits_for_read)],
            ),
            stage("scatter", &[&self.load_busy, &self.scatter_busy], &[]),
            stage("spill", &[&self.spill_busy], &[("write", &self.spill_waits_for_write)]),
            stage("cut", &[&self.cut_busy], &[]),
            stage(
                "output",
                &[&self.output_busy],
                &[("read", &self.merge_waits_for_read), ("write", &self.output_waits_for_write)],
            ),
        ];
        let is_known = |stage: &Stage| {
            stage.busy_seconds + stage.waits.iter().map(|(_, seconds)| seconds).sum::<f64>() > 0.0
        };
        stages.into_iter().filter(is_known).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_done_counts() {
        let account = StageTimer::default();
        account.time(|| {
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(account.seconds(), 0.0);
            assert!(account.seconds_now() >= 0.02, "{account:?}");
        });
        assert!(account.seconds() >= 0.02);
        assert_eq!(account.seconds_now(), account.seconds());
    }
}
