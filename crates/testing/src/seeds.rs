//! How much a test does: little in an ordinary run, more if the environment says so, and a failing
//! seed alone.
//!
//! - `XSORT_LONG=1`, which `make test-long` sets: more seeds, bytes, sizes and thread counts.
//! - `XSORT_SEEDS=5000` tries so many seeds, instead of the test's own number.
//! - `XSORT_SEED=1234` tries that one only; with `XSORT_SEEDS`, so many from that one on.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// How often the watchdog, once a second, finds the same seed under way before it gives up on it.
/// It counts and reads no clock, so that a machine that slept is no fault.
const SECONDS_MAX: u32 = 120;

/// A number in the environment; `None` if it isn't there. Panics if it is no number.
pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// What a test does in an ordinary run, or in a long one. Both make the same assertions.
pub fn quick_or_long<T>(quick: T, long: T) -> T {
    if number("XSORT_LONG").is_some_and(|switch| switch != 0) { long } else { quick }
}

/// The seeds to try: `few`, ten times as many in a long run, or what the environment says.
pub fn seeds(few: u64) -> Range<u64> {
    let count = number("XSORT_SEEDS");
    match number("XSORT_SEED") {
        Some(seed) => seed..seed + count.unwrap_or(1),
        None => 0..count.unwrap_or(quick_or_long(few, few.saturating_mul(10))),
    }
}

/// Checks the seeds of [`seeds`]; `check` says which promise was broken. Returns how many there
/// were: what only happens with some of them can't be expected of one.
///
/// # Panics
/// With the seed, if `check` fails or panics. A seed that takes minutes is taken for a hang, and
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

/// Starts the watchdog, a thread that learns from the sender which seed begins, and ends when the
/// sender is dropped.
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
