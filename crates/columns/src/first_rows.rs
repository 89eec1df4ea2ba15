//! The first rows of the order, while all rows are read: `--top`.
//!
//! A heap has the keys of the first rows so far. A row whose key doesn't come before the last of
//! them can't be among the first, and is dropped. Of `n` rows in random order, about `top * ln(n /
//! top)` are left to sort.

use crate::errors::of_arrow;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use std::collections::BinaryHeap;
use xsort_arrow::BatchDigester;
use xsort_extsort::Error;

/// Drops rows that can't be among the first.
pub(crate) struct FirstRows {
    digester: BatchDigester,
    rows_max: usize,
    keys: BinaryHeap<Box<[u8]>>,
}

impl FirstRows {
    /// Keeps the keys of `rows_max` rows.
    pub(crate) fn new(digester: BatchDigester, rows_max: usize) -> FirstRows {
        FirstRows { digester, rows_max, keys: BinaryHeap::new() }
    }

    /// Returns the rows of a batch that may be among the first.
    pub(crate) fn filter(&mut self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        let keys = self.digester.keys(batch).map_err(of_arrow)?;
        let is_kept: BooleanArray =
            (0..batch.num_rows()).map(|row| Some(self.add(keys.value(row)))).collect();
        filter_record_batch(batch, &is_kept).map_err(|error| Error::Settings(error.to_string()))
    }

    /// Adds a key. Returns false if it doesn't come before any of the first rows: of equal rows the
    /// earlier ones are first.
    fn add(&mut self, key: &[u8]) -> bool {
        if self.keys.len() < self.rows_max {
            self.keys.push(key.into());
            return true;
        }
        match self.keys.peek_mut() {
            Some(mut last) if key < &**last => {
                *last = key.into();
                true
            }
            _ => false,
        }
    }
}
