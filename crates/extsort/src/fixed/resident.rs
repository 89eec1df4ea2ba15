//! A chunk that stays in memory, with the order in which to take its records, or in that order.

use xsort_disk::Lease;

/// A chunk in its area.
#[derive(Debug)]
pub(crate) struct ResidentChunk {
    pub(crate) records: Lease,
    /// Where the first record begins in `records`.
    pub(crate) first_byte: usize,
    /// Number of records.
    pub(crate) count: usize,
    /// One word for each record; `None` if they are in their order.
    pub(crate) order: Option<Lease>,
}

impl ResidentChunk {
    /// All records, in the order of the input if the chunk has an order of its own.
    pub(crate) fn records(&self, record_bytes: usize) -> &[u8] {
        &self.records[self.first_byte..][..self.count * record_bytes]
    }

    /// The numbers of the records, in the order in which to take them, unless that is theirs.
    pub(crate) fn order(&self) -> Option<&[u64]> {
        let order = self.order.as_ref()?;
        Some(&bytemuck::cast_slice(order)[..self.count])
    }
}
