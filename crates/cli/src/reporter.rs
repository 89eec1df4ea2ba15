//! The thread that tells of a running job: ten times a second it draws, publishes, and looks at
//! thermometers.
//!
//! The pipelines only add to counters. So a terminal that is stopped (Ctrl-S), a slow disk under
//! the status, and any number of watchers hold nobody up.
//!
//! Nothing is published of a job that is over in a quarter of a second. From then on this thread
//! also is who lets the process die of signals that would end it on the spot, so that it takes its
//! status along.

use crate::board::Board;
use crate::publish::Publication;
use crate::signals::{Asked, Fatal};
use crate::thermostat::Thermostat;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, getrlimit};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use xsort_disk::abandon_outputs;

/// Ten times a second.
const PERIOD: Duration = Duration::from_millis(100);

/// Jobs that are shorter than this publish nothing.
const UNPUBLISHED: Duration = Duration::from_millis(250);

/// It formats and copies a few KiB; the default of 2 MiB counts where address space is limited.
const STACK_BYTES: usize = 256 << 10;

/// The job's status, until it is over or who ends the process takes it away.
pub(crate) type SharedPublication = Arc<Mutex<Option<Publication>>>;

/// Takes the status away, if there is one.
pub(crate) fn end_publication(publication: &SharedPublication) {
    if let Some(publication) = lock(publication).take() {
        publication.end();
    }
}

fn lock(publication: &SharedPublication) -> MutexGuard<'_, Option<Publication>> {
    publication.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the thread does beside waiting.
pub(crate) struct Duties {
    /// Draws, and how often.
    pub(crate) paint: Option<(Duration, Box<dyn FnMut() + Send>)>,
    /// Says one line of where the job is.
    pub(crate) tell: Box<dyn Fn() + Send>,
    pub(crate) publication: SharedPublication,
    /// Says a line beside.
    pub(crate) say: Box<dyn Fn(&str) + Send>,
    pub(crate) thermostat: Option<Thermostat>,
    /// Whether SIGINT and the like end the process where it stands, or are dealt with by someone
    /// else.
    pub(crate) dies_of_signals: bool,
}

/// The thread; it ends when this is dropped.
pub(crate) struct Reporter {
    is_over: Arc<AtomicBool>,
    alarm: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl Reporter {
    /// Starts it. `None` where no thread can be had (a limit on processes), or where the address
    /// space is limited, of which the allocator sets 64 MiB aside for each thread: the job goes on
    /// unseen, unless it is to be drawn or cooled.
    pub(crate) fn start(board: &Arc<Board>, duties: Duties) -> Option<Reporter> {
        let is_wanted = duties.paint.is_some() || duties.thermostat.is_some();
        if !is_wanted && getrlimit(Resource::As).current.is_some() {
            return None;
        }
        let (wake, alarm) = UnixStream::pair().ok()?;
        wake.set_nonblocking(true).ok()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let asked = Asked::register(&alarm).ok()?;
        let work = Work {
            board: Arc::clone(board),
            duties,
            is_over: Arc::clone(&is_over),
            wake,
            alarm: alarm.try_clone().ok()?,
            asked,
            fatal: None,
        };
        let thread = thread::Builder::new()
            .name("reporter".into())
            .stack_size(STACK_BYTES)
            .spawn(move || work.run())
            .ok()?;
        Some(Reporter { is_over, alarm, thread: Some(thread) })
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // Where it is full the thread is awake.
        let _ = self.alarm.write(&[0]);
        if let Some(thread) = self.thread.take() {
            // One that panicked has nothing left to lose.
            let _ = thread.join();
        }
    }
}

struct Work {
    board: Arc<Board>,
    duties: Duties,
    is_over: Arc<AtomicBool>,
    wake: UnixStream,
    alarm: UnixStream,
    asked: Asked,
    fatal: Option<Fatal>,
}

impl Work {
    fn run(mut self) {
        let begun = Instant::now();
        let mut painted = begun;
        while !self.is_over.load(Ordering::Acquire) {
            self.sleep();
            self.die_if_asked();
            if self.asked.take() {
                (self.duties.tell)();
            }
            if self.is_over.load(Ordering::Acquire) {
                break;
            }
            if let Some((period, paint)) = &mut self.duties.paint
                && painted.elapsed() + PERIOD / 2 > *period
            {
                painted = Instant::now();
                paint();
            }
            let state =
                self.duties.thermostat.as_mut().map(|thermostat| thermostat.look(&self.board));
            if begun.elapsed() >= UNPUBLISHED {
                self.publish(state.flatten());
            }
        }
        end_publication(&self.duties.publication);
        self.die_if_asked();
        if let Some(fatal) = self.fatal {
            fatal.give_back();
        }
    }

    /// Until the next period, a signal, or the end.
    fn sleep(&mut self) {
        let timeout = Timespec { tv_sec: 0, tv_nsec: PERIOD.subsec_nanos().into() };
        let _ = poll(&mut [PollFd::new(&self.wake, PollFlags::IN)], Some(&timeout));
        let mut bytes = [0; 64];
        while matches!(self.wake.read(&mut bytes), Ok(64)) {}
    }

    fn publish(&mut self, pause: Option<crate::thermostat::Pause>) {
        let mut shared = lock(&self.duties.publication);
        let Some(publication) = &mut *shared else { return };
        // Before there is anything that a signal would leave behind.
        if self.fatal.is_none() {
            self.fatal = Fatal::take_over(&self.alarm, self.duties.dies_of_signals).ok();
        }
        if let Err(reason) = publication.publish(&self.board, pause) {
            // A job does well without.
            *shared = None;
            drop(shared);
            (self.duties.say)(&format!(
                "xsort status can't show this job, which goes on without: {reason} \
                 (XSORT_STATUS_DIR names another directory; XSORT_STATUS=off: nothing is tried)"
            ));
        }
    }

    /// Ends the process as the signal would have, if one came.
    fn die_if_asked(&mut self) {
        let Some(signal) = self.fatal.as_ref().and_then(Fatal::came) else { return };
        end_publication(&self.duties.publication);
        abandon_outputs();
        let _: io::Result<()> = signal_hook::low_level::emulate_default_handler(signal);
    }
}
