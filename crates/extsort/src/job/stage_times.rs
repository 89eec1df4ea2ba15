//! The time that each stage worked and waited, in seconds summed over its threads.

use crate::job::process::thread_cpu_time;
use crate::job::spans::{SpanKind, Spans};
use serde::{Serialize, Serializer};
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A sum of times that any thread adds to.
/// Sections in progress count too. `open` packs their number (upper 12 bits) and the sum of the
/// microseconds at which they began (lower 52 bits, enough for a thousand threads and 50 days).
/// Their time so far is this number times the current time, minus this sum.
#[derive(Debug, Default)]
pub(crate) struct StageTimer {
    /// Nanoseconds of all finished sections.
    finished: AtomicU64,
    open: AtomicU64,
    /// Where sections are recorded, and as what; `None` if nothing asked for that.
    spans: Option<(Arc<Spans>, SpanKind)>,
}

const ONE_OPEN: u64 = 1 << 52;

/// The zero of the microseconds in `open`: the time at which this was first read.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

impl StageTimer {
    fn recorded(spans: Option<&Arc<Spans>>, kind: SpanKind) -> StageTimer {
        StageTimer { spans: spans.map(|spans| (Arc::clone(spans), kind)), ..StageTimer::default() }
    }

    /// Adds a finished section.
    pub(crate) fn add(&self, time: Duration) {
        self.finished.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    /// Adds a section of this thread that began at `begin` and ends now.
    pub(crate) fn add_since(&self, begin: Instant) {
        let end = Instant::now();
        self.add(end - begin);
        if let Some((spans, kind)) = &self.spans {
            spans.record(*kind, begin, end);
        }
    }

    /// Runs `work` and adds its wall-clock time.
    pub(crate) fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let epoch = *EPOCH;
        let start = Instant::now();
        let open = ONE_OPEN + start.duration_since(epoch).as_micros() as u64;
        self.open.fetch_add(open, Relaxed);
        let result = work();
        self.open.fetch_sub(open, Relaxed);
        self.add_since(start);
        result
    }

    /// Runs `work` and adds its processor time on this thread.
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

    /// Seconds so far, including sections in progress.
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

/// A stage of a running job. Times are in seconds so far, summed over its threads.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    /// Name of the stage, in one word.
    pub name: &'static str,
    /// Seconds of work.
    pub busy_seconds: f64,
    /// Seconds of waiting, by the stage waited for.
    pub waits: Vec<(&'static str, f64)>,
}

/// Seconds of each stage, summed over its threads.
#[derive(Debug, Default, Serialize)]
pub struct StageTimes {
    /// Reading was stalled because no area was free: it waited for sorting and spilling.
    pub(crate) read_waits_for_areas: StageTimer,
    /// Workers of a pass had no chunk: they waited for reading.
    pub(crate) work_waits_for_read: StageTimer,
    /// Hashing the records read from the inputs.
    pub(crate) checksum_busy: StageTimer,
    /// Sorting chunks or bins.
    pub(crate) sort_busy: StageTimer,
    /// Finding the bin of each record.
    pub(crate) scatter_busy: StageTimer,
    /// Reading lines, which come from streams and not from transfers.
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
    /// Checking bins read from scratch, and moving their records together.
    pub(crate) load_busy: StageTimer,
    /// Finding the cuts between the segments of a merge.
    pub(crate) cut_busy: StageTimer,
    /// Workers of a merge had no segment: they waited for reading.
    pub(crate) merge_waits_for_read: StageTimer,
    /// Merging or gathering records into blocks for the output, and hashing them.
    pub(crate) output_busy: StageTimer,
    pub(crate) output_waits_for_write: StageTimer,
    /// Processor time of the coordinator, the single thread that starts transfers and handles their
    /// completions. More threads don't reduce it.
    pub(crate) coordinator_busy: StageTimer,
    /// The coordinator's time for the forecast, before a merge starts to read.
    pub(crate) forecast_busy: StageTimer,
    /// The coordinator's time for handing out a merge's segments: a few instructions per run for
    /// each segment.
    pub(crate) hand_out_busy: StageTimer,
}

impl StageTimes {
    /// Timers that record their sections in `spans`.
    pub(crate) fn recorded(spans: Option<&Arc<Spans>>) -> StageTimes {
        let timer = |kind| StageTimer::recorded(spans, kind);
        StageTimes {
            read_waits_for_areas: timer(SpanKind::WaitForMemory),
            work_waits_for_read: timer(SpanKind::WaitForRead),
            checksum_busy: timer(SpanKind::Sort),
            sort_busy: timer(SpanKind::Sort),
            scatter_busy: timer(SpanKind::Scatter),
            read_busy: timer(SpanKind::Read),
            make_busy: timer(SpanKind::Make),
            spill_busy: timer(SpanKind::Spill),
            compress_busy: timer(SpanKind::Compress),
            spill_waits_for_write: timer(SpanKind::WaitForWrite),
            load_busy: timer(SpanKind::Scatter),
            cut_busy: timer(SpanKind::Cut),
            merge_waits_for_read: timer(SpanKind::WaitForRead),
            output_busy: timer(SpanKind::Output),
            output_waits_for_write: timer(SpanKind::WaitForWrite),
            // Processor time has no place in time.
            ..StageTimes::default()
        }
    }

    /// The stages that have been active so far, in the order in which bytes pass through them.
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
