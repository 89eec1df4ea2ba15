//! Seeds of simulations: chance that comes of a number alone, and a watchdog that tells the number
//! of one that does not end.
//!
//! A failing seed is the bug report: `XSORT_SEED=1234 cargo test -p xsort-extsort simulation` runs
//! it alone, `XSORT_SEEDS=5000` runs more of them than the few of an ordinary test run.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Looks of the watchdog, a second apart, at a seed that takes milliseconds. Looks and not a time,
/// so that a machine that slept is no fault.
const LOOKS_MAX: u32 = 120;

/// Numbers from a seed (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number from `low` up to and including `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.between(0, choices.len() as u64 - 1) as usize]
    }
}

/// Seeds to try: `few`, or what the environment says.
fn seeds(few: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("XSORT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("XSORT_SEEDS").unwrap_or(few),
    }
}

/// Simulates `few` seeds or as many as are asked for; `simulate` says which promise was broken. One
/// that does not end ends the tests.
pub(crate) fn keep_their_promises(
    name: &str,
    few: u64,
    mut simulate: impl FnMut(u64) -> Result<(), String>,
) {
    let watchdog = watchdog(name.to_owned());
    for seed in seeds(few) {
        watchdog.send(seed).expect("the watchdog listens as long as this sender lives");
        let simulated = catch_unwind(AssertUnwindSafe(|| simulate(seed)));
        match simulated {
            Ok(Ok(())) => {}
            Ok(Err(broken)) => panic!("XSORT_SEED={seed} {name}: {broken}"),
            Err(_) => panic!("XSORT_SEED={seed} {name}: it panicked, as said above"),
        }
    }
}

/// Is told which seed begins; gone with the sender.
fn watchdog(name: String) -> Sender<u64> {
    let (begins, begun) = channel();
    let watch = move || {
        let (mut seed, mut looks) = (0, 0);
        loop {
            match begun.recv_timeout(Duration::from_secs(1)) {
                Ok(next) => (seed, looks) = (next, 0),
                Err(RecvTimeoutError::Timeout) if looks < LOOKS_MAX => looks += 1,
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
    begins
}
