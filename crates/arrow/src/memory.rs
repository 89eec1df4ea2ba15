//! How much memory batches take that are kept, and how a budget is divided.
//!
//! ```text
//!  in memory:  | batches, their keys, their order           | batches on their way out |
//!  spilling:   | the engine                                 | rows on their way        |
//! ```

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
/// The engine takes no less.
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
    /// The engine's budget, once there is more.
    pub(crate) engine: u64,
    /// Bytes of rows that become a batch.
    pub(crate) chunk: usize,
}

impl Shares {
    pub(crate) fn new(budget: u64, threads: usize) -> Shares {
        let way = budget / WAY_SHARE;
        // Each is there as rows and as columns. As many as threads and two wait or are worked on.
        let chunk = way / (2 * (threads as u64 + 2));
        Shares {
            resident: budget / 16 * 11,
            engine: (budget - way).max(ENGINE_BYTES_MIN),
            chunk: chunk.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX) as usize,
        }
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
    bytes: u64,
}

impl Held {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts a batch that is kept, with keys of so many bytes.
    pub(crate) fn add(&mut self, batch: &RecordBatch, key_bytes: usize) -> Result<(), ArrowError> {
        let before = self.bytes;
        for column in batch.columns() {
            self.add_data(&column.to_data());
        }
        let own = self.bytes - before;
        // Where values are shared, as many bytes as they take when they are not: if all is spilled
        // later, the memory is there.
        let spilled = spilled_bytes(batch)?;
        self.bytes = before + own.max(spilled);
        self.bytes += (key_bytes + batch.num_rows() * ORDER_BYTES) as u64;
        Ok(())
    }

    fn add_data(&mut self, data: &ArrayData) {
        self.bytes += ARRAY_BYTES as u64;
        let nulls = data.nulls().map(NullBuffer::buffer);
        for buffer in data.buffers().iter().chain(nulls) {
            let used = self.buffers.entry(buffer.as_ptr() as usize).or_default();
            // What was allocated may be far more than what is used.
            let more = buffer.capacity().max(buffer.len()).saturating_sub(*used);
            *used += more;
            self.bytes += more as u64;
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
