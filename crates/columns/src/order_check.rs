//! Checks that rows are in order as they pass.

use crate::errors::of_arrow;
use arrow_array::RecordBatch;
use xsort_arrow::BatchDigester;
use xsort_extsort::Error;

/// Compares each row with the row before it.
pub(crate) struct OrderCheck {
    digester: BatchDigester,
    /// Whether a row may not be equal to the one before it.
    is_strict: bool,
    last: Option<Vec<u8>>,
    rows: u64,
}

impl OrderCheck {
    pub(crate) fn new(digester: BatchDigester, is_strict: bool) -> OrderCheck {
        OrderCheck { digester, is_strict, last: None, rows: 0 }
    }

    /// Returns the number, from 1, of the first row that belongs before the row before it.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<Option<u64>, Error> {
        let keys = self.digester.keys(batch).map_err(of_arrow)?;
        let mut last = self.last.as_deref();
        for row in 0..batch.num_rows() {
            let key = keys.value(row);
            let is_disorder = |last| last > key || (self.is_strict && last == key);
            if last.is_some_and(is_disorder) {
                return Ok(Some(self.rows + row as u64 + 1));
            }
            last = Some(key);
        }
        self.last = last.map(<[u8]>::to_vec);
        self.rows += batch.num_rows() as u64;
        Ok(None)
    }
}
