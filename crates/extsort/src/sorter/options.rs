//! Settings of a pushed sort, and how its budget is divided.
//!
//! ```text
//! | buffers of pushers | buffers on the way in | blocks on the way out | long record | engine |
//! ```

use crate::job::least_budget::least_budget;
use crate::keyed::{ByKey, RECORD_END};
use crate::lines::{LinesOptions, Reservation, stream_line_bytes_max};
use std::path::PathBuf;
use xsort_kernels::Caches;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The least budget in bytes. A smaller one is raised to this.
const BUDGET_BYTES_MIN: u64 = 4 * MIB;
/// Most bytes of a buffer on its way in, and of a block on its way out.
const BUFFER_BYTES_MAX: u64 = 256 * KIB;
/// Share of the budget for one buffer or block, as a divisor.
const BUFFER_SHARE: u64 = 128;
/// Least bytes of a pusher's buffer.
const PUSHER_BYTES_MIN: u64 = 4 * KIB;
/// Share of the budget for all pushers, as a divisor. Each still gets [`PUSHER_BYTES_MIN`].
const PUSHERS_SHARE: u64 = 16;
/// Buffers that wait for the engine.
pub(super) const BUFFERS_IN: usize = 4;
/// Blocks that wait for the reader of the records.
pub(super) const BLOCKS_OUT: usize = 4;
/// Share of the budget, as a divisor, for the longest record where its pieces are joined.
const LONG_SHARE: u64 = 8;

/// Settings of a pushed sort.
#[derive(Clone, Debug)]
pub struct SorterOptions {
    /// Memory for everything that grows with the data, in bytes. The minimum is 4 MiB.
    pub budget_bytes: u64,
    /// Threads that sort and merge.
    pub threads: usize,
    /// Sizes of the caches, which set the size of pieces for the sort in memory.
    pub caches: Caches,
    /// Directories for scratch files.
    pub scratch: Vec<PathBuf>,
}

/// How the budget is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    /// Bytes of a buffer on its way in, and of a block on its way out.
    pub(super) buffer_bytes: usize,
    /// Bytes of all pushers' buffers.
    pub(super) pushers_bytes: usize,
    /// Bytes of the longest keyed record.
    pub(super) keyed_bytes_max: usize,
}

impl Shares {
    pub(super) fn new(options: &SorterOptions) -> Shares {
        let [buffer, pushers, long] = shares_of(options.budget_bytes, options.threads);
        let engine = engine_options(options);
        Shares {
            buffer_bytes: buffer as usize,
            pushers_bytes: pushers as usize,
            keyed_bytes_max: stream_line_bytes_max(&engine, &ByKey).min(long as usize),
        }
    }

    /// Takes memory for a pusher's buffer from the `left` bytes.
    pub(super) fn take_pusher_bytes(&self, left: &mut usize) -> usize {
        let bytes = (*left / 4).clamp(PUSHER_BYTES_MIN as usize, self.buffer_bytes);
        *left = left.saturating_sub(bytes);
        bytes
    }
}

/// Bytes of a buffer, of all pushers' buffers, and of the longest record.
fn shares_of(budget_bytes: u64, threads: usize) -> [u64; 3] {
    let budget = budget_bytes.max(BUDGET_BYTES_MIN);
    let buffer = (budget / BUFFER_SHARE).min(BUFFER_BYTES_MAX);
    let pushers = (buffer * (threads as u64 + 4)).min(budget / PUSHERS_SHARE);
    [buffer, pushers, budget / LONG_SHARE]
}

/// Bytes of all of these.
fn reserved_bytes(budget_bytes: u64, threads: usize) -> u64 {
    let [buffer, pushers, long] = shares_of(budget_bytes, threads);
    // On each side one more is worked on, and one waits to be used again.
    let buffers = (BUFFERS_IN + 1 + BLOCKS_OUT + 2) as u64;
    buffers * buffer + pushers + long
}

/// Settings of the engine.
pub(super) fn engine_options(options: &SorterOptions) -> LinesOptions {
    let threads = options.threads;
    LinesOptions {
        delimiter: RECORD_END,
        reservation: Reservation::default()
            .with_share("records on their way in and out", move |budget| {
                reserved_bytes(budget, threads)
            }),
        caches: options.caches,
        scratch: options.scratch.clone(),
        ..LinesOptions::new(options.budget_bytes.max(BUDGET_BYTES_MIN), threads)
    }
}

/// The least budget in bytes that can sort a keyed record of `keyed_bytes` bytes.
pub(super) fn budget_of_record(options: &SorterOptions, keyed_bytes: usize) -> Option<u64> {
    let with = |budget_bytes| SorterOptions { budget_bytes, ..options.clone() };
    let is_enough = |budget| Shares::new(&with(budget)).keyed_bytes_max >= keyed_bytes;
    least_budget(options.budget_bytes, MIB, is_enough)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyed::KeyedPieces;

    #[test]
    fn every_budget_is_divided() {
        for mib in [0, 1, 4, 8, 16, 64, 1024, 64 << 10] {
            for threads in [1, 2, 64] {
                let options = SorterOptions {
                    budget_bytes: mib * MIB,
                    threads,
                    caches: Caches::default(),
                    scratch: Vec::new(),
                };
                let shares = Shares::new(&options);
                let budget = options.budget_bytes.max(BUDGET_BYTES_MIN);
                assert!(
                    reserved_bytes(budget, threads) <= 3 * budget / 8,
                    "{options:?} {shares:?}"
                );
                assert!(shares.keyed_bytes_max as u64 >= budget / 16, "{options:?} {shares:?}");
                let (mut left, mut taken) = (shares.pushers_bytes, 0);
                for _ in 0..100 {
                    let bytes = shares.take_pusher_bytes(&mut left);
                    assert!(bytes >= KeyedPieces::PIECE_BYTES_MIN);
                    taken += bytes;
                }
                let least = 100 * PUSHER_BYTES_MIN as usize;
                assert!(taken <= shares.pushers_bytes + least, "{options:?} {shares:?}");
                let enough = budget_of_record(&options, 10 << 20).unwrap();
                assert!(enough >= 80 * MIB && enough <= (160 * MIB).max(mib * MIB), "{enough}");
            }
        }
    }
}
