//! Where in the output's own file each bin is to be: a little behind the place of its records in
//! the output, as far as a sample tells.

use crate::fixed::plan::{Plan, lead_bytes};

/// Where the blocks of each bin are to be in the output's file.
pub(super) struct BinPlaces {
    starts: Vec<u64>,
}

impl BinPlaces {
    /// By how many keys of a sample are in each bin.
    pub(super) fn new(plan: &Plan, sampled: &[usize]) -> BinPlaces {
        let lead_bytes = lead_bytes(plan.bytes, plan.block_bytes);
        let sum = sampled.iter().sum::<usize>().max(1) as u128;
        let starts = sampled.iter().scan(0, |before, &count| {
            let start = (u128::from(plan.bytes) * *before / sum) as u64;
            *before += count as u128;
            Some(lead_bytes + start)
        });
        BinPlaces { starts: starts.collect() }
    }

    /// Where those of a bin begin.
    pub(super) fn start(&self, bin: usize) -> u64 {
        self.starts[bin]
    }
}
