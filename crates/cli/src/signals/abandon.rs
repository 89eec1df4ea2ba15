//! The end of a process that signals kill: what it would leave behind is removed first.

use super::rewriting::wait_for_whole_files;
use super::terminating::{after_echo, terminating_signals};
use crate::gnu_commands::reason;
use parking_lot::Mutex;
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;
use xsort_disk::{DisplayPath, Operation, abandon_outputs, try_to_abandon_outputs};
use xsort_objects::{abandon_uploads, uploads_left};

/// A thread that waits for signals makes a few system calls; one that abandons has requests made.
const STACK_BYTES: usize = 1 << 20;

/// What is done once before the process ends. It waits for a lock no longer than it is asked to.
type Cleanup = Box<dyn FnOnce(Duration) + Send>;

/// How long the clean-up of a process that a signal ends waits for another thread.
const PATIENCE: Duration = Duration::from_secs(60);

/// The same of a process that has no memory: its own thread may hold what it waits for.
const PATIENCE_WITHOUT_MEMORY: Duration = Duration::from_millis(500);

/// Removes the hidden names of all outputs under way, and has the stores drop what was sent.
pub(crate) fn abandon_all_outputs() {
    abandon_outputs();
    abandon_uploads();
    report_uploads_left();
}

/// Names the objects of which parts stay in a store that didn't drop them.
pub(crate) fn report_uploads_left() {
    for upload in uploads_left() {
        let object = upload.object;
        let note = format!(
            "note: the store did not drop the parts that it has of {object}: \
             'xsort status --clear --older-than 0s {object}' removes them once it can be asked"
        );
        let _ = io::stderr().write_all(format!("xsort: {}\n", DisplayPath(&note)).as_bytes());
    }
}

/// What else must be removed before a signal kills: the published status of the job.
static BEFORE_DEATH: Mutex<Option<Cleanup>> = Mutex::new(None);

/// Held by the thread that ends the process.
static DYING: Mutex<()> = Mutex::new(());

/// Has `cleanup` called before the process ends at once.
pub(crate) fn before_death(cleanup: impl FnOnce(Duration) + Send + 'static) {
    *BEFORE_DEATH.lock() = Some(Box::new(cleanup));
}

/// Does what [`before_death`] was given.
pub(super) fn clean_up() {
    let cleanup = BEFORE_DEATH.lock().take();
    if let Some(cleanup) = cleanup {
        cleanup(PATIENCE);
    }
}

/// Removes what can be removed where the system refuses memory, on the thread that asked for it.
/// Parts that stores have stay there: a request takes memory.
pub(crate) fn clean_up_without_memory() {
    try_to_abandon_outputs(PATIENCE_WITHOUT_MEMORY);
    let cleanup = BEFORE_DEATH.try_lock_for(PATIENCE_WITHOUT_MEMORY).and_then(|mut all| all.take());
    if let Some(cleanup) = cleanup {
        cleanup(PATIENCE_WITHOUT_MEMORY);
    }
}

/// Removes everything that the process would leave behind, then ends it as `signal` does.
///
/// Several threads may hear of signals at the same time. The first one that calls this cleans up
/// all there is; the others wait here until the process ends. If each of them removed only what it
/// knows of, the first one to be done would leave the rest behind.
pub(crate) fn die_of(signal: i32) {
    let dying = DYING.lock();
    abandon_all_outputs();
    // After the outputs: the status names uploads that a second signal may leave in a store.
    clean_up();
    let _: io::Result<()> = emulate_default_handler(signal);
    std::mem::forget(dying);
}

/// A refused thread with what can be done about it.
fn no_thread(refusal: io::Error) -> io::Error {
    let (kind, reason) = (refusal.kind(), reason(&refusal));
    let error = xsort_disk::Error::new(Operation::Start, "a thread", refusal);
    let way_out = error.way_out().unwrap_or("try again");
    io::Error::new(kind, format!("starting a thread: {reason}: {way_out}"))
}

/// For commands that signals kill wherever they are: from now on, signals that would end the
/// process start [`die_of`] in a thread of its own. A second request ends the process on the spot.
///
/// # Errors
/// If the system refuses a handler or a thread. Then the signals kill as before.
pub(crate) fn clean_up_when_killed() -> io::Result<()> {
    static IS_INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut is_installed = IS_INSTALLED.lock();
    if *is_installed {
        return Ok(());
    }
    let handled = terminating_signals();
    let mut signals = Signals::new(&handled)?;
    let kills_at_once = Arc::new(AtomicBool::new(false));
    for &signal in &handled {
        flag::register_conditional_default(signal, Arc::clone(&kills_at_once))?;
    }
    let kills_next = Arc::clone(&kills_at_once);
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            after_echo(move || kills_next.store(true, Relaxed));
            wait_for_whole_files();
            die_of(signal);
        }
    };
    let thread = thread::Builder::new().name("signals".into()).stack_size(STACK_BYTES);
    if let Err(refusal) = thread.spawn(wait) {
        kills_at_once.store(true, Relaxed);
        return Err(no_thread(refusal));
    }
    *is_installed = true;
    Ok(())
}
