//! What a running job says of itself, and whoever shows it reads: a few words that pipelines write
//! and never wait for.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use xsort_extsort::{Gauges, Reading};
use xsort_status::Progress;

/// Notices that are kept.
const NOTICES_MAX: usize = 8;

/// The board of one job.
#[derive(Debug)]
pub(crate) struct Board {
    /// Bytes of this phase that are done.
    done: AtomicU64,
    /// Files that were counted, if files are what the job deals with.
    files: AtomicU64,
    state: Mutex<State>,
    began: Instant,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Phases that are still to come, as far as the job knows; `None` if it never said.
    to_come: Option<Vec<(String, u64)>>,
    gauges: Option<Gauges>,
    notices: Vec<String>,
}

/// A phase of a job.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(crate) name: String,
    /// Which one it is, from 1 on; 0 before the first.
    pub(crate) number: u64,
    /// What it deals with; 0 if nobody knows.
    pub(crate) bytes: u64,
    pub(crate) began: Instant,
    /// Bytes of all phases before.
    before_bytes: u64,
}

impl Board {
    pub(crate) fn new() -> Board {
        let began = Instant::now();
        let phase = Phase { name: String::new(), number: 0, bytes: 0, began, before_bytes: 0 };
        let state = State { phase, to_come: None, gauges: None, notices: Vec::new() };
        Board { done: AtomicU64::new(0), files: AtomicU64::new(0), state: Mutex::new(state), began }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin_phase(&self, name: &str, bytes: u64) {
        let mut state = self.state();
        let before_bytes = state.phase.before_bytes + self.done.swap(0, Relaxed);
        let number = state.phase.number + 1;
        state.phase =
            Phase { name: name.into(), number, bytes, began: Instant::now(), before_bytes };
        if let Some(to_come) = &mut state.to_come
            && let Some(place) = to_come.iter().position(|(foreseen, _)| foreseen == name)
        {
            to_come.drain(..=place);
        }
    }

    pub(crate) fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn count_files(&self, files: u64) {
        self.files.fetch_add(files, Relaxed);
    }

    /// Files that were counted.
    pub(crate) fn files(&self) -> u64 {
        self.files.load(Relaxed)
    }

    pub(crate) fn expect(&self, phases: &[(&str, u64)]) {
        self.state().to_come =
            Some(phases.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect());
    }

    pub(crate) fn show(&self, gauges: Gauges) {
        self.state().gauges = Some(gauges);
    }

    pub(crate) fn notice(&self, line: &str) {
        let notices = &mut self.state().notices;
        if notices.len() == NOTICES_MAX {
            notices.remove(0);
        }
        notices.push(line.to_owned());
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        self.state().notices.clone()
    }

    pub(crate) fn phase(&self) -> Phase {
        self.state().phase.clone()
    }

    /// Bytes of this phase.
    pub(crate) fn done_bytes(&self) -> u64 {
        self.done.load(Relaxed)
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Phase and progress, of the same moment.
    pub(crate) fn progress(&self) -> (Phase, Progress) {
        let state = self.state();
        let (phase, done) = (state.phase.clone(), self.done.load(Relaxed));
        let to_come = |phases: &Vec<(String, u64)>| phases.iter().map(|(_, bytes)| bytes).sum();
        let progress = Progress {
            done_bytes: phase.before_bytes + done,
            phase_done_bytes: done,
            // Who knows what is to come, and has no size for this, is doing something short.
            phase_bytes: (phase.bytes > 0 || state.to_come.is_some()).then_some(phase.bytes),
            // A job of one phase needn't say that none is to come.
            to_come_bytes: Some(state.to_come.as_ref().map_or(0, to_come)),
            phase_seconds: phase.began.elapsed().as_secs_f64(),
            seconds: self.seconds(),
        };
        (phase, progress)
    }

    /// What the job's instruments show, if it has any.
    pub(crate) fn read(&self) -> Option<Reading> {
        let gauges = self.state().gauges.clone();
        gauges.map(|gauges| gauges.read())
    }
}
