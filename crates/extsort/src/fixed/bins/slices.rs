//! Chunks that stayed in memory, and what of them belongs to which bin.

use crate::fixed::resident::ResidentChunk;

/// A resident chunk whose order is that of the bins.
pub(crate) struct BinnedChunk {
    pub(super) chunk: ResidentChunk,
    /// Where each bin ends in the order.
    pub(super) ends: Vec<usize>,
}

/// A bin's records in a resident chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BinSlice {
    /// Number of the resident chunk.
    pub(super) resident: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl BinSlice {
    /// How many they are.
    pub(super) fn records(&self) -> usize {
        self.to - self.from
    }

    /// Their numbers in the chunk.
    pub(super) fn order<'r>(&self, residents: &'r [BinnedChunk]) -> &'r [u64] {
        let order = residents[self.resident].chunk.order();
        &order.expect("a chunk of bins has an order")[self.from..self.to]
    }
}
