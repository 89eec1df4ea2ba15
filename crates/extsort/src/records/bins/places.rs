//! The place of each bin in the output's own file: a little after its records' position in the
//! output, as predicted from a sample.

use crate::records::plan::{Plan, lead_bytes};

/// The place of each bin in the output's file.
pub(super) struct BinPlaces {
    starts: Vec<u64>,
}

impl BinPlaces {
    /// Computes the places from the number of sampled keys in each bin.
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

    /// The offset at which a bin's blocks begin.
    pub(super) fn start(&self, bin: usize) -> u64 {
        self.starts[bin]
    }
}
