//! Of rows with equal keys only one, and how many there were: `--unique` and `--count`.
//!
//! A group may go on in the next batch. So of the last group of a batch a row is held back, until
//! its end is known.

use crate::derived::without_derived;
use crate::errors::of_arrow;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use arrow_select::take::take_record_batch;
use std::sync::Arc;
use xsort_arrow::BatchDigester;
use xsort_extsort::Error;
use xsort_table::Keep;

/// The name of the column of counts.
pub(crate) const COUNT: &str = "count";

/// Takes sorted rows, and returns one of each group.
pub(crate) struct Groups {
    digester: BatchDigester,
    keep: Keep,
    /// The schema of rows without columns that are derived.
    schema: SchemaRef,
    /// The schema of what is returned, if it has a column of counts.
    counted: Option<SchemaRef>,
    open: Option<OpenGroup>,
}

/// A group that may go on.
struct OpenGroup {
    row: RecordBatch,
    key: Vec<u8>,
    rows: i64,
}

/// Rows of a batch that groups are left with, and the numbers of rows of these groups.
#[derive(Default)]
struct Kept {
    rows: Vec<u32>,
    counts: Vec<i64>,
}

impl Groups {
    /// Finds groups by a digester's keys. `schema` is that of rows without columns that are
    /// derived, `counted` has a column of counts.
    pub(crate) fn new(
        digester: BatchDigester,
        keep: Keep,
        (schema, counted): (SchemaRef, Option<SchemaRef>),
    ) -> Groups {
        Groups { digester, keep, schema, counted, open: None }
    }

    /// Returns the rows of groups that have ended.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>, Error> {
        let keys = self.digester.keys(batch).map_err(of_arrow)?;
        let (mut out, mut kept) = (Vec::new(), Kept::default());
        let (mut begin, all) = (0, batch.num_rows());
        while begin < all {
            let key = keys.value(begin);
            let end = (begin + 1..all).find(|&row| keys.value(row) != key).unwrap_or(all);
            let (rows, first) = ((end - begin) as i64, begin);
            let row = if self.keep == Keep::First { first } else { end - 1 };
            begin = end;
            // Only the first group of a batch finds one that is open.
            if self.open.as_ref().is_none_or(|open| open.key != key) {
                out.extend(self.end()?);
                if end < all {
                    kept.add(row, rows);
                    continue;
                }
            }
            self.extend(key, rows, batch, row)?;
            if end < all {
                out.extend(self.end()?);
            }
        }
        // The groups that are kept come after an open one that has ended, and before a new one.
        if !kept.rows.is_empty() {
            let rows = take_record_batch(batch, &UInt32Array::from(kept.rows)).map_err(failed)?;
            out.push(self.counted(rows, kept.counts)?);
        }
        Ok(out)
    }

    /// Returns the row of the last group.
    pub(crate) fn end(&mut self) -> Result<Option<RecordBatch>, Error> {
        self.open.take().map(|open| self.closed(open)).transpose()
    }

    /// Adds rows to the open group; of these, `row` may be the one to keep. Without an open group
    /// they begin one.
    fn extend(
        &mut self,
        key: &[u8],
        rows: i64,
        batch: &RecordBatch,
        row: usize,
    ) -> Result<(), Error> {
        match &mut self.open {
            None => {
                let row = row_of(batch, row).map_err(failed)?;
                self.open = Some(OpenGroup { row, key: key.to_vec(), rows });
            }
            Some(open) => {
                open.rows += rows;
                if self.keep == Keep::Last {
                    open.row = row_of(batch, row).map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    fn closed(&self, open: OpenGroup) -> Result<RecordBatch, Error> {
        self.counted(open.row, vec![open.rows])
    }

    fn counted(&self, rows: RecordBatch, counts: Vec<i64>) -> Result<RecordBatch, Error> {
        let rows = without_derived(rows, &self.schema).map_err(failed)?;
        let Some(schema) = &self.counted else { return Ok(rows) };
        let counts: ArrayRef = Arc::new(Int64Array::from(counts));
        let columns = std::iter::once(counts).chain(rows.columns().iter().cloned()).collect();
        RecordBatch::try_new(Arc::clone(schema), columns).map_err(failed)
    }
}

impl Kept {
    fn add(&mut self, row: usize, rows: i64) {
        self.rows.push(row as u32);
        self.counts.push(rows);
    }
}

/// Returns the schema with a first column of counts.
pub(crate) fn counted(schema: &Schema) -> Schema {
    let count = Arc::new(Field::new(COUNT, arrow_schema::DataType::Int64, false));
    Schema::new(std::iter::once(count).chain(schema.fields().iter().cloned()).collect::<Vec<_>>())
}

/// Copies a row, so that it doesn't keep the batch.
fn row_of(batch: &RecordBatch, row: usize) -> Result<RecordBatch, ArrowError> {
    take_record_batch(batch, &UInt32Array::from(vec![row as u32]))
}

fn failed(error: ArrowError) -> Error {
    Error::Settings(error.to_string())
}
