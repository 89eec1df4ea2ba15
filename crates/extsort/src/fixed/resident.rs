//! A chunk that stays in memory, with the order in which to take its records.

use xsort_disk::Lease;

/// A chunk in its area.
#[derive(Debug)]
pub(crate) struct ResidentChunk {
    pub(crate) records: Lease,
    /// Where the first record begins in `records`.
    pub(crate) first_byte: usize,
    /// Number of records.
    pub(crate) count: usize,
    /// One word for each record.
    pub(crate) order: Lease,
}

impl ResidentChunk {
    /// All records, in the order of the input.
    pub(crate) fn records(&self, record_bytes: usize) -> &[u8] {
        &self.records[self.first_byte..][..self.count * record_bytes]
    }

    /// The numbers of the records, in the order in which to take them.
    pub(crate) fn order(&self) -> &[u64] {
        &bytemuck::cast_slice(&self.order)[..self.count]
    }
}
