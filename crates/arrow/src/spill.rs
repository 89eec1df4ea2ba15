//! Batches that don't fit in memory: other threads encode them as rows, which this thread pushes to
//! the engine in order.

use crate::Error;
use crate::memory::slice_bytes;
use crate::ordered::Ordered;
use crate::rows::KeyedRows;
use crate::settings::Settings;
use arrow_array::RecordBatch;
use std::sync::Arc;
use xsort::{Sorted, Sorting};

/// Batches on their way to an engine.
pub(crate) struct Spill {
    pool: Ordered<(RecordBatch, usize), KeyedRows>,
    sorting: Sorting,
    /// Maximum number of parts of batches on their way.
    waiting_max: usize,
    chunk: usize,
}

impl Spill {
    /// Starts an engine after batches of `kept` bytes were kept.
    pub(crate) fn start(settings: &Settings, kept: u64) -> Result<Spill, Error> {
        let keys = Arc::clone(&settings.keys);
        let encode = move |(batch, bytes): (RecordBatch, usize)| {
            Ok(KeyedRows::encode(&batch, bytes, &keys)?)
        };
        let pool = Ordered::new(settings.threads, encode)?;
        let waiting_max = settings.threads + 1;
        let sorting = settings.sorter.clone().memory(settings.shares.engine(kept)).start()?;
        Ok(Spill { pool, sorting, waiting_max, chunk: settings.shares.chunk })
    }

    /// Pushes the rows of a batch, in parts.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let rows = batch.num_rows();
        let bytes = slice_bytes(batch).div_ceil(rows.max(1));
        let part = (self.chunk / bytes.max(1)).clamp(1, 64 << 10);
        for from in (0..rows).step_by(part) {
            if self.pool.waiting() >= self.waiting_max {
                self.push_rows()?;
            }
            let own = part.min(rows - from);
            self.pool.send((batch.slice(from, own), own * bytes));
        }
        Ok(())
    }

    /// Ends pushing.
    pub(crate) fn finish(mut self: Box<Self>) -> Result<Sorted, Error> {
        while self.pool.waiting() > 0 {
            self.push_rows()?;
        }
        Ok(self.sorting.finish()?)
    }

    fn push_rows(&mut self) -> Result<(), Error> {
        let Some(rows) = self.pool.wait() else { return Ok(()) };
        Ok(self.sorting.push_batch(rows?.iter())?)
    }
}
