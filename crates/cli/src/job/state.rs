//! The state of a running job: a few figures that pipelines update without ever waiting.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use xsort_extsort::{Gauges, Reading};
use xsort_status::Progress;

/// The number of notices kept, the latest ones.
const NOTICES_MAX: usize = 8;

/// The state of one job.
#[derive(Debug)]
pub(crate) struct JobState {
    /// Bytes of the current phase that are done.
    done: AtomicU64,
    /// Files counted, if the job deals with files.
    files: AtomicU64,
    changing: Mutex<ChangingState>,
    began: Instant,
}

#[derive(Debug)]
struct ChangingState {
    phase: CurrentPhase,
    /// Names and bytes of phases to come; `None` if the job never announced any.
    to_come: Option<Vec<(String, u64)>>,
    gauges: Option<Gauges>,
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
    pub(crate) fn new() -> JobState {
        let began = Instant::now();
        let phase =
            CurrentPhase { name: String::new(), number: 0, bytes: 0, began, earlier_bytes: 0 };
        let changing = ChangingState { phase, to_come: None, gauges: None, notices: Vec::new() };
        JobState {
            done: AtomicU64::new(0),
            files: AtomicU64::new(0),
            changing: Mutex::new(changing),
            began,
        }
    }

    pub(crate) fn begin_phase(&self, name: &str, bytes: u64) {
        let mut state = self.changing.lock();
        let earlier_bytes = state.phase.earlier_bytes + self.done.swap(0, Relaxed);
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

    pub(crate) fn set_gauges(&self, gauges: Gauges) {
        self.changing.lock().gauges = Some(gauges);
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
