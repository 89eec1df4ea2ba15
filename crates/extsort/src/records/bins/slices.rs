//! Resident chunks, and the records of each bin in them.

use crate::records::resident::ResidentChunk;

/// A resident chunk whose order is grouped by bin.
pub(crate) struct BinnedChunk {
    pub(super) chunk: ResidentChunk,
    /// The end of each bin in the order.
    pub(super) ends: Vec<usize>,
}

/// A bin's records in a resident chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BinSlice {
    /// Index of the resident chunk.
    pub(super) resident: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl BinSlice {
    /// Number of records.
    pub(super) fn records(&self) -> usize {
        self.to - self.from
    }

    /// The records' numbers in the chunk.
    pub(super) fn order<'r>(&self, residents: &'r [BinnedChunk]) -> &'r [u64] {
        let order = residents[self.resident].chunk.order();
        &order.expect("a chunk of bins has an order")[self.from..self.to]
    }
}
