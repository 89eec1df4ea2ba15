//! The state of a running job: a few figures that pipelines update without ever waiting.

use super::watched::{PhaseTimes, Sample, Samples, StageSums, Watched};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use xsort_extsort::{Gauges, Reading, Spans};
use xsort_status::Progress;

/// The number of notices kept, the latest ones.
const NOTICES_MAX: usize = 8;

/// The number of finished phases kept, the first ones.
const PHASES_MAX: usize = 64;

/// The state of one job.
#[derive(Debug)]
pub(crate) struct JobState {
    /// Bytes of the current phase that are done.
    done: AtomicU64,
    /// Files counted, if the job deals with files.
    files: AtomicU64,
    /// Microseconds in which hot drives held transfers up.
    paused_micros: AtomicU64,
    changing: Mutex<ChangingState>,
    /// Figures over time; `None` unless the job is recorded.
    samples: Option<Mutex<Samples>>,
    /// What each thread does; `None` unless the job is recorded.
    spans: Option<Arc<Spans>>,
    began: Instant,
}

#[derive(Debug)]
struct ChangingState {
    phase: CurrentPhase,
    /// Names and bytes of phases to come; `None` if the job never announced any.
    to_come: Option<Vec<(String, u64)>>,
    gauges: Option<Gauges>,
    /// The figures of earlier gauges.
    earlier: StageSums,
    finished_phases: Vec<PhaseTimes>,
    /// The temperature of the hottest drive.
    celsius: Option<f64>,
    notices: Vec<String>,
}

/// The phase that a job is in.
#[derive(Clone, Debug)]
pub(crate) struct CurrentPhase {
    pub(crate) name: String,
    /// Number of the phase, from 1 on; 0 before the first.
    pub(crate) number: u64,
    /// The size of the phase in bytes; 0 if unknown.
    pub(crate) bytes: u64,
    pub(crate) began: Instant,
    /// Bytes of all earlier phases.
    earlier_bytes: u64,
}

impl JobState {
    /// The state of a job that begins now. With `is_recorded` it keeps figures over time.
    pub(crate) fn new(is_recorded: bool) -> JobState {
        let began = Instant::now();
        let phase =
            CurrentPhase { name: String::new(), number: 0, bytes: 0, began, earlier_bytes: 0 };
        let changing = ChangingState {
            phase,
            to_come: None,
            gauges: None,
            earlier: StageSums::default(),
            finished_phases: Vec::new(),
            celsius: None,
            notices: Vec::new(),
        };
        JobState {
            done: AtomicU64::new(0),
            files: AtomicU64::new(0),
            paused_micros: AtomicU64::new(0),
            changing: Mutex::new(changing),
            samples: is_recorded.then(Mutex::default),
            spans: is_recorded.then(Spans::new),
            began,
        }
    }

    pub(crate) fn begin_phase(&self, name: &str, bytes: u64) {
        let mut state = self.changing.lock();
        let done = self.done.swap(0, Relaxed);
        let earlier_bytes = state.phase.earlier_bytes + done;
        state.finish_phase(self.began, done);
        let number = state.phase.number + 1;
        let began = Instant::now();
        state.phase = CurrentPhase { name: name.into(), number, bytes, began, earlier_bytes };
        if let Some(to_come) = &mut state.to_come
            && let Some(index) = to_come.iter().position(|(announced, _)| announced == name)
        {
            to_come.drain(..=index);
        }
    }

    pub(crate) fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn count_files(&self, files: u64) {
        self.files.fetch_add(files, Relaxed);
    }

    /// The number of files counted.
    pub(crate) fn files(&self) -> u64 {
        self.files.load(Relaxed)
    }

    /// Sets the phases to come, and their bytes.
    pub(crate) fn expect(&self, phases: &[(&str, u64)]) {
        let phases = phases.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes));
        self.changing.lock().to_come = Some(phases.collect());
    }

    /// Sets the figures to read. Those of earlier ones are added up.
    pub(crate) fn set_gauges(&self, gauges: Gauges) {
        let state = &mut *self.changing.lock();
        if let Some(earlier) = state.gauges.replace(gauges) {
            state.earlier.add(&earlier.read());
        }
    }

    /// Where the job's threads record what they do.
    pub(crate) fn spans(&self) -> Option<Arc<Spans>> {
        self.spans.clone()
    }

    /// Adds a time in which hot drives held transfers up.
    pub(crate) fn add_pause(&self, time: Duration) {
        self.paused_micros.fetch_add(time.as_micros() as u64, Relaxed);
    }

    pub(crate) fn set_celsius(&self, celsius: Option<f64>) {
        self.changing.lock().celsius = celsius;
    }

    /// True if the job is recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        self.samples.is_some()
    }

    /// Keeps the figures of this moment, if the job is recorded.
    pub(crate) fn sample(&self, resident_bytes: u64, is_paused: bool) {
        let Some(samples) = &self.samples else { return };
        let reading = self.read_gauges().unwrap_or_default();
        let (celsius, moved) = {
            let state = self.changing.lock();
            (state.celsius, state.earlier.moved_with(reading.moved))
        };
        samples.lock().add(Sample {
            seconds: self.began.elapsed().as_secs_f64(),
            done_bytes: self.progress().1.done_bytes,
            read_bytes: moved.read_bytes,
            written_bytes: moved.written_bytes,
            scratch_bytes: reading.scratch.iter().map(|(_, bytes)| bytes).sum(),
            resident_bytes,
            celsius,
            is_paused,
        });
    }

    /// All that is known about the job at its end.
    pub(crate) fn watched(&self) -> Watched {
        let mut state = self.changing.lock();
        state.finish_phase(self.began, self.done.load(Relaxed));
        let mut sums = std::mem::take(&mut state.earlier);
        if let Some(gauges) = &state.gauges {
            sums.add(&gauges.read());
        }
        Watched {
            phases: std::mem::take(&mut state.finished_phases),
            stages: sums.stages,
            moved: sums.moved,
            threads: sums.threads,
            paused_seconds: self.paused_micros.load(Relaxed) as f64 / 1e6,
            samples: self.samples.as_ref().map(|samples| samples.lock().list().to_vec()),
            spans: self.spans.clone(),
        }
    }

    pub(crate) fn add_notice(&self, line: &str) {
        let notices = &mut self.changing.lock().notices;
        if notices.len() == NOTICES_MAX {
            notices.remove(0);
        }
        notices.push(line.to_owned());
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        self.changing.lock().notices.clone()
    }

    pub(crate) fn phase(&self) -> CurrentPhase {
        self.changing.lock().phase.clone()
    }

    /// The current phase, and the progress at the same moment.
    pub(crate) fn progress(&self) -> (CurrentPhase, Progress) {
        let state = self.changing.lock();
        let (phase, done) = (state.phase.clone(), self.done.load(Relaxed));
        let to_come = |phases: &Vec<(String, u64)>| phases.iter().map(|(_, bytes)| bytes).sum();
        let progress = Progress {
            done_bytes: phase.earlier_bytes + done,
            phase_done_bytes: done,
            // A job that announces its phases, and this one without a size, knows that it is short.
            phase_bytes: (phase.bytes > 0 || state.to_come.is_some()).then_some(phase.bytes),
            // A job of one phase announces none.
            to_come_bytes: Some(state.to_come.as_ref().map_or(0, to_come)),
            phase_seconds: phase.began.elapsed().as_secs_f64(),
            seconds: self.began.elapsed().as_secs_f64(),
        };
        (phase, progress)
    }

    /// Figures from inside the pipeline, if it provides any.
    pub(crate) fn read_gauges(&self) -> Option<Reading> {
        let gauges = self.changing.lock().gauges.clone();
        gauges.map(|gauges| gauges.read())
    }
}

impl ChangingState {
    /// Keeps the times of the current phase, which has `bytes` bytes done.
    fn finish_phase(&mut self, job_began: Instant, bytes: u64) {
        let CurrentPhase { name, number, began, .. } = &self.phase;
        if *number > 0 && self.finished_phases.len() < PHASES_MAX {
            self.finished_phases.push(PhaseTimes {
                name: name.clone(),
                begin_seconds: began.duration_since(job_began).as_secs_f64(),
                seconds: began.elapsed().as_secs_f64(),
                bytes,
            });
        }
    }
}
