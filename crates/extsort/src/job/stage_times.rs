//! How long each stage worked and how long it waited for another, in seconds over all its threads.

use crate::job::process::thread_cpu_time;
use serde::{Serialize, Serializer};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A sum of times that any thread adds to.
///
/// Work in progress counts too. `open` packs the number of timed sections in progress (upper 12
/// bits) and the sum of the microseconds at which they began (lower 52 bits, enough for a thousand
/// threads and 50 days). Their time so far is that number times now, less that sum.
#[derive(Debug, Default)]
pub(crate) struct StageTimer {
    /// Nanoseconds of all finished sections.
    finished: AtomicU64,
    open: AtomicU64,
}

const ONE_OPEN: u64 = 1 << 52;

/// The zero of the microseconds in `open`: when this was first read.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

impl StageTimer {
    /// Adds a finished section.
    pub(crate) fn add(&self, time: Duration) {
        self.finished.fetch_add(time.as_nanos() as u64, Relaxed);
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

    /// Seconds of all finished sections.
    pub(crate) fn seconds(&self) -> f64 {
        self.finished.load(Relaxed) as f64 / 1e9
    }

    /// Seconds up to now, sections in progress included.
    pub(crate) fn seconds_now(&self) -> f64 {
        let open = self.open.load(Relaxed);
        let (sections, begun) = (open / ONE_OPEN, open % ONE_OPEN);
        let micros = (sections * EPOCH.elapsed().as_micros() as u64).saturating_sub(begun);
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
    /// Its name, in one word.
    pub name: &'static str,
    /// Seconds of work.
    pub busy_seconds: f64,
    /// Seconds in which it waited, by what it waited for.
    pub waits: Vec<(&'static str, f64)>,
}

/// Seconds by stage, over all threads of the stage.
#[derive(Debug, Default, Serialize)]
pub struct StageTimes {
    /// Reading stood still because no area was free: it waited for sorting and spilling.
    pub(crate) read_waits_for_areas: StageTimer,
    /// Workers of a pass had no chunk: they waited for reading.
    pub(crate) work_waits_for_read: StageTimer,
    /// Hashing what was read from the inputs.
    pub(crate) checksum_busy: StageTimer,
    /// Sorting chunks or bins.
    pub(crate) sort_busy: StageTimer,
    /// Finding the bin of each record.
    pub(crate) scatter_busy: StageTimer,
    /// Reading lines, which come from streams and not by transfers.
    #[serde(skip)]
    pub(crate) read_busy: StageTimer,
    /// Generating records.
    #[serde(skip)]
    pub(crate) make_busy: StageTimer,
    /// Gathering records into blocks for scratch, and sealing them.
    pub(crate) spill_busy: StageTimer,
    /// Compressing blocks for scratch.
    pub(crate) compress_busy: StageTimer,
    pub(crate) spill_waits_for_write: StageTimer,
    /// Checking bins read back from scratch, and moving their records together.
    pub(crate) load_busy: StageTimer,
    /// Finding the cuts between the segments of a merge.
    pub(crate) cut_busy: StageTimer,
    /// Workers of a merge had no segment: they waited for reading.
    pub(crate) merge_waits_for_read: StageTimer,
    /// Merging or gathering records into blocks for the output, and hashing them.
    pub(crate) output_busy: StageTimer,
    pub(crate) output_waits_for_write: StageTimer,
    /// Processor time of the coordinator, the one thread that starts transfers and handles their
    /// completions: what no number of threads makes faster.
    pub(crate) coordinator_busy: StageTimer,
    /// The part of it that goes into the forecast, before a merge starts to read.
    pub(crate) forecast_busy: StageTimer,
    /// The part of it that goes into handing out the segments of a merge: a few instructions per
    /// run each.
    pub(crate) hand_out_busy: StageTimer,
}

impl StageTimes {
    /// The stages that have done anything up to now, in the order in which bytes pass through them.
    pub(crate) fn stages(&self) -> Vec<Stage> {
        let stage = |name, busy: &[&StageTimer], waits: &[(&'static str, &StageTimer)]| Stage {
            name,
            busy_seconds: busy.iter().map(|timer| timer.seconds_now()).sum(),
            waits: waits.iter().map(|(what, timer)| (*what, timer.seconds_now())).collect(),
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
            stage(
                "spill",
                &[&self.spill_busy, &self.compress_busy],
                &[("write", &self.spill_waits_for_write)],
            ),
            stage("cut", &[&self.cut_busy], &[]),
            stage(
                "output",
                &[&self.output_busy],
                &[("read", &self.merge_waits_for_read), ("write", &self.output_waits_for_write)],
            ),
        ];
        let has_worked = |stage: &Stage| {
            stage.busy_seconds + stage.waits.iter().map(|(_, seconds)| seconds).sum::<f64>() > 0.0
        };
        stages.into_iter().filter(has_worked).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_in_progress_counts() {
        let timer = StageTimer::default();
        timer.time(|| {
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(timer.seconds(), 0.0);
            assert!(timer.seconds_now() >= 0.02, "{timer:?}");
        });
        assert!(timer.seconds() >= 0.02);
        assert_eq!(timer.seconds_now(), timer.seconds());
    }
}
