//! Ends a process that a signal kills, after removing its hidden outputs, uploads and status.

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

/// The thread that waits for signals makes a few system calls. To abandon uploads it sends
/// requests, which need more stack.
const STACK_BYTES: usize = 1 << 20;

/// An action that runs once before the process ends. It waits for a lock at most as long as its
/// argument says.
type Cleanup = Box<dyn FnOnce(Duration) + Send>;

/// How long the clean-up waits for another thread when a signal ends the process.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the clean-up waits when memory is refused: the waiting thread may itself hold the lock.
const PATIENCE_WITHOUT_MEMORY: Duration = Duration::from_millis(500);

/// Removes the hidden names of all unfinished outputs, and has the stores drop their uploads.
pub(crate) fn abandon_all_outputs() {
    abandon_outputs();
    abandon_uploads();
    report_uploads_left();
}

/// Prints the objects whose uploaded parts remain because the store didn't drop them.
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

/// Another action to run before a signal kills the process: it removes the job's published status.
static BEFORE_DEATH: Mutex<Option<Cleanup>> = Mutex::new(None);

/// Held by the thread that ends the process.
static DYING: Mutex<()> = Mutex::new(());

/// Has `cleanup` called before a signal ends the process.
pub(crate) fn before_death(cleanup: impl FnOnce(Duration) + Send + 'static) {
    *BEFORE_DEATH.lock() = Some(Box::new(cleanup));
}

/// Runs the action that [`before_death`] was given.
pub(super) fn clean_up() {
    let cleanup = BEFORE_DEATH.lock().take();
    if let Some(cleanup) = cleanup {
        cleanup(PATIENCE);
    }
}

/// Removes hidden outputs and the status if the system refuses memory, on the thread that asked for
/// memory. Parts of uploads stay in their stores: a request takes memory.
pub(crate) fn clean_up_without_memory() {
    try_to_abandon_outputs(PATIENCE_WITHOUT_MEMORY);
    let cleanup = BEFORE_DEATH.try_lock_for(PATIENCE_WITHOUT_MEMORY).and_then(|mut all| all.take());
    if let Some(cleanup) = cleanup {
        cleanup(PATIENCE_WITHOUT_MEMORY);
    }
}

/// Removes everything that the process would leave in place, then ends it as `signal` does.
///
/// Several threads may learn of signals at the same time. The first one that calls this cleans up
/// everything; the others wait here until the process ends. If each removed only what it knows of,
/// the first to finish would end the process before the others were done.
pub(crate) fn die_of(signal: i32) {
    let dying = DYING.lock();
    abandon_all_outputs();
    // After the outputs: if a second signal leaves uploads in a store, the status still names them.
    clean_up();
    let _: io::Result<()> = emulate_default_handler(signal);
    std::mem::forget(dying);
}

/// The error of a thread that the system refused, with advice on what to do.
fn no_thread(refusal: io::Error) -> io::Error {
    let (kind, reason) = (refusal.kind(), reason(&refusal));
    let error = xsort_disk::Error::new(Operation::Start, "a thread", refusal);
    let way_out = error.way_out().unwrap_or("try again");
    io::Error::new(kind, format!("starting a thread: {reason}: {way_out}"))
}

/// Installs a thread that calls [`die_of`] when a signal would end the process. It is for commands
/// that signals kill at any point. A second request ends the process on the spot.
///
/// # Errors
/// If the system refuses a handler or a thread. Then signals kill the process as before.
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
