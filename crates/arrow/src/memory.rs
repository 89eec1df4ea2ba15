//! How much memory batches take that are kept, and how a budget is divided.
//!
//! ```text
//!  in memory:  | batches, their keys, their order           | batches on their way out |
//!  spilling:   | what those were | the engine               | rows on their way        |
//! ```
//!
//! The memory of batches that are freed when the engine takes over doesn't go back to the system at
//! once: the allocators that it came from (pyarrow's, Polars') keep it for new ones. So the engine
//! has what is left.

use crate::encode::encoder;
use crate::rows::shares_values;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::ArrowError;
use std::collections::HashMap;

/// Bytes of a row's place in the order, while it is being made.
const ORDER_BYTES: usize = 64;
/// Bytes of what describes an array, beside its buffers.
const ARRAY_BYTES: usize = 512;
/// One in so many bytes of the budget is for rows and batches on their way.
const WAY_SHARE: u64 = 8;
/// The engine takes no less than one in so many bytes of what there is when it takes over,
const ENGINE_SHARE_MIN: u64 = 5;
/// and no less than so many bytes.
const ENGINE_BYTES_MIN: u64 = 4 << 20;
/// Most bytes of rows that become a batch. More leave the processor's cache.
const CHUNK_BYTES_MAX: u64 = 4 << 20;
/// Least ones.
const CHUNK_BYTES_MIN: u64 = 32 << 10;

/// How a budget is divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    /// Most bytes of batches that are kept, with all that sorting them takes.
    pub(crate) resident: u64,
    /// The budget of the engine and of what was kept before.
    spilling: u64,
    /// Bytes of rows that become a batch.
    pub(crate) chunk: usize,
}

impl Shares {
    /// Of a budget. Nothing is kept of batches that can't be gathered as they are.
    pub(crate) fn new(budget: u64, threads: usize, is_gathered: bool) -> Shares {
        let way = budget / WAY_SHARE;
        // Each is there as rows and as columns. As many as threads and two wait or are worked on.
        let chunk = way / (2 * (threads as u64 + 2));
        Shares {
            resident: if is_gathered { budget / 16 * 11 } else { 0 },
            spilling: budget - way,
            chunk: chunk.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX) as usize,
        }
    }

    /// The engine's budget, if batches of so many bytes were kept before it took over. A batch may
    /// be larger than the whole budget: that is its owner's memory, and no reason for tiny runs.
    pub(crate) fn engine(&self, kept: u64) -> u64 {
        let left = self.spilling.saturating_sub(kept);
        left.max(self.spilling / ENGINE_SHARE_MIN).max(ENGINE_BYTES_MIN)
    }
}

/// Bytes of the values of a batch, without those of the arrays that it is a slice of.
pub(crate) fn slice_bytes(batch: &RecordBatch) -> usize {
    let bytes = |column: &ArrayRef| {
        let data = column.to_data();
        data.get_slice_memory_size().unwrap_or_else(|_| data.get_array_memory_size())
    };
    batch.columns().iter().map(bytes).sum()
}

/// The memory of batches, of which several may share buffers.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// How far each buffer is used, by its address.
    buffers: HashMap<usize, usize>,
    /// Bytes of the batches themselves.
    batches: u64,
    /// Those, and what sorting or spilling them takes.
    bytes: u64,
}

impl Held {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the batches alone.
    pub(crate) fn batch_bytes(&self) -> u64 {
        self.batches
    }

    /// Counts a batch that is kept, with keys of so many bytes.
    pub(crate) fn add(&mut self, batch: &RecordBatch, key_bytes: usize) -> Result<(), ArrowError> {
        let before = self.batches;
        for column in batch.columns() {
            self.add_data(&column.to_data());
        }
        let own = self.batches - before;
        // Where values are shared, as many bytes as they take when they are not: if all is spilled
        // later, the memory is there.
        let spilled = spilled_bytes(batch)?;
        self.bytes += own.max(spilled) + (key_bytes + batch.num_rows() * ORDER_BYTES) as u64;
        Ok(())
    }

    fn add_data(&mut self, data: &ArrayData) {
        self.batches += ARRAY_BYTES as u64;
        let nulls = data.nulls().map(NullBuffer::buffer);
        for buffer in data.buffers().iter().chain(nulls) {
            let used = self.buffers.entry(buffer.as_ptr() as usize).or_default();
            // What was allocated may be far more than what is used.
            let more = buffer.capacity().max(buffer.len()).saturating_sub(*used);
            *used += more;
            self.batches += more as u64;
        }
        data.child_data().iter().for_each(|child| self.add_data(child));
    }
}

/// Bytes of the rows of columns that share values.
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
