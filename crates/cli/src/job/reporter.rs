//! The thread that draws, publishes and reads thermometers, ten times a second.
//!
//! The pipelines only add to counters. So nothing that this thread waits for holds them up: a
//! terminal that is stopped (Ctrl-S), a slow disk under the status, any number of watchers.
//!
//! A job that is over in a quarter of a second publishes nothing. From then on, signals that would
//! end the process on the spot go to this thread, which removes the published status first.

use super::publication::Publication;
use super::state::JobState;
use super::thermostat::{PauseState, Thermostat};
use crate::settings::is_address_space_limited;
use crate::signals::{FatalSignals, PositionRequest, abandon_all_outputs, is_rewriting};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_millis(100);

/// Jobs that are shorter than this publish nothing.
const UNPUBLISHED: Duration = Duration::from_millis(250);

/// The thread formats and copies a few KiB. The default of 2 MiB matters where address space is
/// limited.
const STACK_BYTES: usize = 256 << 10;

/// The job's status; `None` once it was removed, at the job's end or before a signal's.
pub(super) type SharedPublication = Arc<Mutex<Option<Publication>>>;

/// Removes the job's status, if it was published.
pub(super) fn end_publication(publication: &SharedPublication) {
    if let Some(publication) = publication.lock().take() {
        publication.end();
    }
}

/// What the thread does.
pub(super) struct ReporterOptions {
    pub(super) state: Arc<JobState>,
    /// Draws progress, and how often.
    pub(super) draw: Option<(Duration, Box<dyn FnMut() + Send>)>,
    /// Prints one line about where the job is.
    pub(super) print_position: Box<dyn Fn() + Send>,
    pub(super) print_notice: Box<dyn Fn(&str) + Send>,
    pub(super) publication: SharedPublication,
    pub(super) thermostat: Option<Thermostat>,
    /// Whether SIGINT and the like end the process on the spot, instead of setting a flag.
    pub(super) are_signals_fatal: bool,
}

/// The thread; it ends when this is dropped.
pub(super) struct Reporter {
    is_over: Arc<AtomicBool>,
    alarm: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl Reporter {
    /// Starts the thread. `None` if the system refuses it, or if the address space is limited and
    /// the thread has nothing to draw or to cool: then the job goes on without a status.
    pub(super) fn start(options: ReporterOptions) -> Option<Reporter> {
        let is_needed = options.draw.is_some() || options.thermostat.is_some();
        if !is_needed && is_address_space_limited() {
            return None;
        }
        let (wake, alarm) = UnixStream::pair().ok()?;
        wake.set_nonblocking(true).ok()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let position_request = PositionRequest::register(&alarm).ok()?;
        let reporter = ReporterThread {
            options,
            is_over: Arc::clone(&is_over),
            wake,
            alarm: alarm.try_clone().ok()?,
            position_request,
            fatal_signals: None,
        };
        let thread = thread::Builder::new()
            .name("reporter".into())
            .stack_size(STACK_BYTES)
            .spawn(move || reporter.run())
            .ok()?;
        Some(Reporter { is_over, alarm, thread: Some(thread) })
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // If the stream is full, the thread is awake.
        let _ = self.alarm.write(&[0]);
        if let Some(thread) = self.thread.take() {
            // If it panicked, only reports are lost.
            let _ = thread.join();
        }
    }
}

struct ReporterThread {
    options: ReporterOptions,
    is_over: Arc<AtomicBool>,
    wake: UnixStream,
    alarm: UnixStream,
    position_request: PositionRequest,
    fatal_signals: Option<FatalSignals>,
}

impl ReporterThread {
    fn run(mut self) {
        let began = Instant::now();
        let mut drawn = began;
        while !self.is_over.load(Ordering::Acquire) {
            self.sleep();
            self.die_of_fatal_signal();
            if self.position_request.take() {
                (self.options.print_position)();
            }
            if self.is_over.load(Ordering::Acquire) {
                break;
            }
            if let Some((period, draw)) = &mut self.options.draw
                && drawn.elapsed() + PERIOD / 2 > *period
            {
                drawn = Instant::now();
                draw();
            }
            let state = &self.options.state;
            let pause = self.options.thermostat.as_mut().map(|thermostat| thermostat.update(state));
            if began.elapsed() >= UNPUBLISHED {
                self.publish(pause);
            }
        }
        end_publication(&self.options.publication);
        self.die_of_fatal_signal();
        if let Some(signals) = self.fatal_signals {
            signals.give_back();
        }
    }

    /// Sleeps until the next period, a signal, or the end.
    fn sleep(&mut self) {
        let timeout = Timespec { tv_sec: 0, tv_nsec: PERIOD.subsec_nanos().into() };
        let _ = poll(&mut [PollFd::new(&self.wake, PollFlags::IN)], Some(&timeout));
        let mut bytes = [0; 64];
        while matches!(self.wake.read(&mut bytes), Ok(64)) {}
    }

    fn publish(&mut self, pause: Option<PauseState>) {
        let mut shared = self.options.publication.lock();
        let Some(publication) = &mut *shared else { return };
        // Before there is anything that a signal would leave behind.
        if self.fatal_signals.is_none() {
            let signals = FatalSignals::take_over(&self.alarm, self.options.are_signals_fatal);
            self.fatal_signals = signals.ok();
        }
        if let Err(reason) = publication.publish(&self.options.state, pause) {
            *shared = None;
            drop(shared);
            (self.options.print_notice)(&format!(
                "xsort status can't show this job, which goes on without: {reason} \
                 (XSORT_STATUS_DIR names another directory; XSORT_STATUS=off: nothing is tried)"
            ));
        }
    }

    /// If a fatal signal came, ends the process as the signal would have, unless a file is being
    /// rewritten in place: then that ends first.
    fn die_of_fatal_signal(&mut self) {
        let signal = self.fatal_signals.as_ref().and_then(FatalSignals::received);
        let Some(signal) = signal.filter(|_| !is_rewriting()) else { return };
        end_publication(&self.options.publication);
        abandon_all_outputs();
        let _: io::Result<()> = signal_hook::low_level::emulate_default_handler(signal);
    }
}
