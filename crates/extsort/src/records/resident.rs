//! A chunk that stays in memory, either in order or with a separate order of its records.

use xsort_disk::Lease;

/// A chunk in its area.
#[derive(Debug)]
pub(crate) struct ResidentChunk {
    pub(crate) records: Lease,
    /// Offset of the first record in `records`.
    pub(crate) first_byte: usize,
    /// Number of records.
    pub(crate) count: usize,
    /// The order, one word for each record; `None` if the records themselves are in order.
    pub(crate) order: Option<Lease>,
}

impl ResidentChunk {
    /// All records: in order if `order` is `None`, otherwise in the order of the input.
    pub(crate) fn records(&self, record_bytes: usize) -> &[u8] {
        &self.records[self.first_byte..][..self.count * record_bytes]
    }

    /// The numbers of the records in order; `None` if the records themselves are in order.
    pub(crate) fn order(&self) -> Option<&[u64]> {
        let order = self.order.as_ref()?;
        Some(&bytemuck::cast_slice(order)[..self.count])
    }
}
