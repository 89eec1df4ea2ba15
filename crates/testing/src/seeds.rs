//! How much a test does: little in an ordinary run, more if the environment asks for it, and only
//! one seed after a failure.
//!
//! - `XSORT_LONG=1`, which `make test-long` sets: more seeds, bytes, sizes and thread counts.
//! - `XSORT_SEEDS=5000` tries that number of seeds instead of the test's own number.
//! - `XSORT_SEED=1234` tries only that seed; together with `XSORT_SEEDS`, that number of seeds
//!   starting from it.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Number of seconds for which the watchdog may see the same seed under way. It counts and reads no
/// clock, so that a suspended machine doesn't cause a failure.
const SECONDS_MAX: u32 = 120;

/// Returns a number from the environment; `None` if it isn't set. Panics if it is not a number.
pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Returns `quick` in an ordinary run and `long` in a long one. Both must lead to the same
/// assertions.
pub fn quick_or_long<T>(quick: T, long: T) -> T {
    if number("XSORT_LONG").is_some_and(|switch| switch != 0) { long } else { quick }
}

/// Returns the seeds to try: `few`, ten times as many in a long run, or those that the environment
/// selects.
pub fn seeds(few: u64) -> Range<u64> {
    let count = number("XSORT_SEEDS");
    match number("XSORT_SEED") {
        Some(seed) => seed..seed + count.unwrap_or(1),
        None => 0..count.unwrap_or(quick_or_long(few, few.saturating_mul(10))),
    }
}

/// Calls `check` with each of the [`seeds`]; its error says which guarantee was broken. Returns the
/// number of seeds: an event that only some seeds cause can't be expected from one.
///
/// # Panics
/// With the seed, if `check` fails or panics. A seed that takes minutes counts as a hang, and
/// aborts the process.
pub fn for_each_seed(
    name: &str,
    few: u64,
    mut check: impl FnMut(u64) -> Result<(), String>,
) -> u64 {
    let watchdog = watchdog(name.to_owned());
    let seeds = seeds(few);
    let tried = seeds.end - seeds.start;
    for seed in seeds {
        watchdog.send(seed).expect("the watchdog listens as long as this sender lives");
        match catch_unwind(AssertUnwindSafe(|| check(seed))) {
            Ok(Ok(())) => {}
            Ok(Err(broken)) => panic!("XSORT_SEED={seed} {name}: {broken}"),
            Err(_) => panic!("XSORT_SEED={seed} {name}: it panicked, as said above"),
        }
    }
    tried
}

/// Starts the watchdog thread. The sender tells it which seed begins; it ends when the sender is
/// dropped.
fn watchdog(name: String) -> Sender<u64> {
    let (sender, begun) = channel();
    let watch = move || {
        let (mut seed, mut seconds) = (0, 0);
        loop {
            match begun.recv_timeout(Duration::from_secs(1)) {
                Ok(next) => (seed, seconds) = (next, 0),
                Err(RecvTimeoutError::Timeout) if seconds < SECONDS_MAX => seconds += 1,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("XSORT_SEED={seed} {name}: no end");
                    std::process::abort();
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    };
    thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(watch)
        .expect("a test can start a thread");
    sender
}
