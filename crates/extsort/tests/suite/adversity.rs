//! Randomly chosen troubles for simulations: faults, a changing load, and a user who cancels.

use std::sync::atomic::{AtomicU64, Ordering};
use xsort_disk::{Corruption, Damage, Fault, FaultSite, FileRole, Operation, SimOptions};
use xsort_extsort::{Codec, Load, Measure, Observer};
use xsort_testing::Random;

/// A disk that is rough or smooth.
pub(crate) fn smooth_or_rough(random: &mut Random, seed: u64) -> SimOptions {
    let options =
        if random.between(0, 1) == 0 { SimOptions::rough(seed) } else { SimOptions::default() };
    SimOptions { seed, ..options }
}

/// Chooses a site in files of up to `bytes` bytes.
pub(crate) fn place(random: &mut Random, bytes: u64) -> FaultSite {
    match random.between(0, 2) {
        0 => FaultSite::Byte(random.between(0, bytes.max(1))),
        1 => FaultSite::Chance(0.02),
        _ => FaultSite::Everywhere,
    }
}

/// Returns a permanent failure of one of the operations, on any file or on files of one role.
pub(crate) fn fault(random: &mut Random, operations: &[Operation], site: FaultSite) -> Fault {
    let operation = random.one_of(operations);
    let role = random.one_of(&[
        None,
        Some(FileRole::Input),
        Some(FileRole::Scratch),
        Some(FileRole::Output),
    ]);
    Fault { operation, role, site, errno: random.one_of(&[5, 28]) }
}

/// Returns a corruption: scratch data changes between write and read.
pub(crate) fn corruption(random: &mut Random, site: FaultSite) -> Corruption {
    let damage = random.one_of(&[Damage::FlipBit, Damage::LoseWrite]);
    Corruption { role: FileRole::Scratch, site, damage }
}

/// Returns a corruption of the output that no sort can notice, so the test's own check must.
pub(crate) fn canary() -> Corruption {
    Corruption { role: FileRole::Output, site: FaultSite::Everywhere, damage: Damage::FlipBit }
}

/// Compresses some blocks with one codec, some with the other and some not at all. Doesn't depend
/// on measured times.
pub(crate) const NOW_AND_THEN: Codec = Codec::Auto(Measure::Given(changing_load));

/// Two dozen windows, with spare time of none, then some, then much, then none.
fn changing_load(reading: u64) -> Load {
    let (cycles, rest) = (reading / 24, reading % 24);
    let some = |from: u64| rest.saturating_sub(from).min(6);
    let windows = |of_a_cycle: u64, now: u64| (of_a_cycle * cycles + now) as f64;
    // At 10 MB in a window LZ4 is all that can be done, at 1 MB Zstandard is.
    let megabytes =
        windows(10 * 6 + 6 + 5 * 12, 10 * some(6) + some(12) + 5 * (some(0) + some(18)));
    let progress = some(0) + 3 * some(6) + 9 * some(12) + some(18);
    Load {
        clock: 0.05 * reading as f64,
        blocked: 0.04 * windows(12, some(6) + some(12)),
        idle: 0.0,
        processor: 0.0,
        spilled_bytes: 1e6 * megabytes,
        progress_bytes: 1e7 * windows(12 + 3 * 6 + 9 * 6, progress),
    }
}

/// Cancels once this many bytes are processed.
pub(crate) struct Impatient {
    pub(crate) patience: u64,
    pub(crate) done: AtomicU64,
}

impl Impatient {
    pub(crate) fn after(patience: u64) -> Impatient {
        Impatient { patience, done: AtomicU64::new(0) }
    }
}

impl Observer for Impatient {
    fn phase(&self, _name: &str, _bytes: u64) {}
    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }
    fn notice(&self, _line: &str) {}
    fn is_cancelled(&self) -> bool {
        self.done.load(Ordering::Relaxed) >= self.patience
    }
}
