//! The memory that kept batches use, and the division of the budget.
//!
//! ```text
//!  in memory:  | batches, their keys, their order           | batches on their way out |
//!  spilling:   | what those were | the engine               | rows on their way        |
//! ```
//!
//! When the engine takes over, the memory of freed batches doesn't return to the system at once:
//! the allocators that it came from (pyarrow's, Polars') keep it for new batches. So the engine
//! gets only what is left.

use crate::encode::encoder;
use crate::rows::shares_values;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::ArrowError;
use std::collections::HashMap;

/// Bytes per row for its position in the order, while the order is being computed.
const ORDER_BYTES: usize = 64;
/// Bytes that describe an array, in addition to its buffers.
const ARRAY_BYTES: usize = 512;
/// One in `WAY_SHARE` bytes of the budget is for rows and batches in transit.
const WAY_SHARE: u64 = 8;
/// The engine gets at least one in `ENGINE_SHARE_MIN` bytes of the spilling budget,
const ENGINE_SHARE_MIN: u64 = 5;
/// and at least `ENGINE_BYTES_MIN` bytes.
const ENGINE_BYTES_MIN: u64 = 4 << 20;
/// Maximum number of bytes of rows that become a batch. More would leave the processor's cache.
const CHUNK_BYTES_MAX: u64 = 4 << 20;
/// Minimum number of bytes of rows that become a batch.
const CHUNK_BYTES_MIN: u64 = 32 << 10;

/// The division of a budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    /// Maximum number of bytes of kept batches, including the memory for sorting them.
    pub(crate) resident: u64,
    /// The budget of the engine and of the batches kept before it took over.
    spilling: u64,
    /// Number of bytes of rows that become a batch.
    pub(crate) chunk: usize,
}

impl Shares {
    /// Divides a budget. Batches that can't be gathered from their columns are not kept.
    pub(crate) fn new(budget: u64, threads: usize, is_gathered: bool) -> Shares {
        let way = budget / WAY_SHARE;
        // Each chunk exists as rows and as columns. `threads + 2` chunks wait or are worked on.
        let chunk = way / (2 * (threads as u64 + 2));
        Shares {
            resident: if is_gathered { budget / 16 * 11 } else { 0 },
            spilling: budget - way,
            chunk: chunk.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX) as usize,
        }
    }

    /// Returns the engine's budget, if batches of `kept` bytes were kept before it took over. A
    /// batch may be larger than the whole budget: that is its owner's memory, and no reason for
    /// tiny runs.
    pub(crate) fn engine(&self, kept: u64) -> u64 {
        let left = self.spilling.saturating_sub(kept);
        left.max(self.spilling / ENGINE_SHARE_MIN).max(ENGINE_BYTES_MIN)
    }
}

/// Returns the bytes of a batch's values, not of the arrays that it is a slice of.
pub(crate) fn slice_bytes(batch: &RecordBatch) -> usize {
    let bytes = |column: &ArrayRef| {
        let data = column.to_data();
        data.get_slice_memory_size().unwrap_or_else(|_| data.get_array_memory_size())
    };
    batch.columns().iter().map(bytes).sum()
}

/// The memory of batches, several of which may share buffers.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// The counted bytes of each buffer, by its address.
    buffers: HashMap<usize, usize>,
    /// Bytes of the batches themselves.
    batches: u64,
    /// Bytes of the batches, and of sorting or spilling them.
    bytes: u64,
}

impl Held {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the bytes of the batches themselves.
    pub(crate) fn batch_bytes(&self) -> u64 {
        self.batches
    }

    /// Counts a kept batch with keys of `key_bytes` bytes.
    pub(crate) fn add(&mut self, batch: &RecordBatch, key_bytes: usize) -> Result<(), ArrowError> {
        let before = self.batches;
        for column in batch.columns() {
            self.add_data(&column.to_data());
        }
        let own = self.batches - before;
        // Shared values count with their size when they are not shared: if all is spilled later,
        // the memory is there.
        let spilled = spilled_bytes(batch)?;
        self.bytes += own.max(spilled) + (key_bytes + batch.num_rows() * ORDER_BYTES) as u64;
        Ok(())
    }

    fn add_data(&mut self, data: &ArrayData) {
        self.batches += ARRAY_BYTES as u64;
        let nulls = data.nulls().map(NullBuffer::buffer);
        for buffer in data.buffers().iter().chain(nulls) {
            // Several buffers may be parts of one allocation: a message, a page.
            let used = self.buffers.entry(buffer.data_ptr().as_ptr() as usize).or_default();
            // The allocated size may be far more than the used size.
            let more = buffer.capacity().max(buffer.len()).saturating_sub(*used);
            *used += more;
            self.batches += more as u64;
        }
        data.child_data().iter().for_each(|child| self.add_data(child));
    }
}

/// Returns the size of the rows of columns that share values, in bytes.
fn spilled_bytes(batch: &RecordBatch) -> Result<u64, ArrowError> {
    let (mut bytes, mut row) = (0, Vec::new());
    for column in batch.columns().iter().filter(|column| shares_values(column.data_type())) {
        let encoder = encoder(column)?;
        for at in 0..batch.num_rows() {
            row.clear();
            encoder.push(at, &mut row);
            bytes += row.len() as u64;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_and_the_engine_stay_within_the_budget() {
        for budget in (20..40).map(|bit| (1_u64 << bit) + 12_345).filter(|&bytes| bytes > 32 << 20)
        {
            let shares = Shares::new(budget, 2, true);
            for kept in (0..=100).map(|percent| shares.resident / 100 * percent) {
                let all = kept + shares.engine(kept) + budget / WAY_SHARE;
                assert!(all <= budget, "{all} of {budget}, {kept} of them kept");
            }
        }
    }
}
