//! The thread that draws, publishes and reads thermometers, ten times a second.
//!
//! The pipelines only add to counters, so they never wait for this thread. A stopped terminal
//! (Ctrl-S), a slow disk under the status and any number of watchers don't slow them down.
//!
//! A job that ends within a quarter of a second publishes nothing. After that time, a signal that
//! would end the process on the spot first has the published status removed.

use super::publication::{Publication, resident_bytes};
use super::state::JobState;
use super::thermostat::{PauseState, Thermostat};
use crate::signals::{FatalPipe, PositionRequest, clean_up_when_killed, die_of};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::os::fd::{IntoRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use xsort::machine::is_address_space_limited;

const PERIOD: Duration = Duration::from_millis(100);

/// Shorter jobs publish nothing.
const UNPUBLISHED: Duration = Duration::from_millis(250);

/// The thread formats and copies a few KiB. The default of 2 MiB matters where address space is
/// limited.
const STACK_BYTES: usize = 256 << 10;

/// The job's status. `None` once it was removed: at the end of the job, or before a signal ends it.
pub(super) type SharedPublication = Arc<Mutex<Option<Publication>>>;

/// Removes the job's status, if it was published.
pub(super) fn end_publication(publication: &SharedPublication) {
    if let Some(publication) = publication.lock().take() {
        publication.end();
    }
}

/// Removes the job's status in a process that ends at once. Gives up if a thread, perhaps this one,
/// holds the status for longer than `patience`.
pub(super) fn try_to_end_publication(publication: &SharedPublication, patience: Duration) {
    let publication = publication.try_lock_for(patience).and_then(|mut shared| shared.take());
    if let Some(publication) = publication {
        publication.end();
    }
}

/// What the reporter thread does.
pub(super) struct ReporterOptions {
    pub(super) state: Arc<JobState>,
    /// The period of drawing, and the function that draws progress.
    pub(super) draw: Option<(Duration, Box<dyn FnMut() + Send>)>,
    /// Prints one line on how far the job is.
    pub(super) print_position: Box<dyn Fn() + Send>,
    pub(super) print_notice: Box<dyn Fn(&str) + Send>,
    pub(super) publication: SharedPublication,
    pub(super) thermostat: Option<Thermostat>,
    /// True if SIGINT, SIGTERM and SIGHUP end the process on the spot instead of setting a flag.
    pub(super) are_signals_fatal: bool,
}

/// The handle of the reporter thread, which ends when the handle is dropped.
pub(super) struct Reporter {
    is_over: Arc<AtomicBool>,
    alarm: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl Reporter {
    /// Starts the thread. `None` if the system refuses it, or if the address space is limited and
    /// the thread has nothing to draw, to cool or to record. Then the job runs without a status.
    pub(super) fn start(options: ReporterOptions) -> Option<Reporter> {
        let is_needed =
            options.draw.is_some() || options.thermostat.is_some() || options.state.is_recorded();
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
            fatal_pipe: None,
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
    fatal_pipe: Option<FatalPipe>,
}

impl ReporterThread {
    fn run(mut self) {
        let began = Instant::now();
        let (mut drawn, mut updated) = (began, began);
        let is_recorded = self.options.state.is_recorded();
        while !self.is_over.load(Ordering::Acquire) {
            self.sleep();
            self.die_of_fatal_pipe();
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
            let is_paused = pause.is_some_and(|pause| pause.is_paused);
            if is_paused {
                state.add_pause(updated.elapsed());
            }
            updated = Instant::now();
            if is_recorded {
                state.sample(resident_bytes(), is_paused);
            }
            if began.elapsed() >= UNPUBLISHED {
                self.publish(pause);
            }
        }
        end_publication(&self.options.publication);
        self.die_of_fatal_pipe();
        if let Some(pipe) = self.fatal_pipe.take() {
            pipe.give_back();
        }
        // Signal handlers write to the other end as long as the process lives. If this end were
        // closed, each write would raise SIGPIPE.
        let _: RawFd = self.wake.into_raw_fd();
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
        // Take over the signals before there is a status that they would leave in place.
        if self.fatal_pipe.is_none() {
            match take_over_signals(&self.alarm, self.options.are_signals_fatal) {
                Ok(pipe) => self.fatal_pipe = Some(pipe),
                Err(_) => {
                    *shared = None;
                    return;
                }
            }
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

    /// Ends the process by SIGPIPE if that signal came, after cleaning up.
    fn die_of_fatal_pipe(&mut self) {
        if let Some(signal) = self.fatal_pipe.as_ref().and_then(FatalPipe::received) {
            end_publication(&self.options.publication);
            die_of(signal);
        }
    }
}

/// Has SIGPIPE remove the published status before it ends the process. With `all`, this also holds
/// for the signals that a [`Stop`](crate::signals::Stop) would obey.
fn take_over_signals(alarm: &UnixStream, all: bool) -> io::Result<FatalPipe> {
    if all {
        clean_up_when_killed()?;
    }
    FatalPipe::take_over(alarm)
}
