//! Digests of batches: the keys of the rows, and a sum of their contents that doesn't depend on
//! their order.
//!
//! A sort on several machines compares the keys with splitters, and the sums before and after.

use crate::Error;
use crate::by::SortColumn;
use crate::keys::KeyMaker;
use crate::memory::slice_bytes;
use crate::rows::KeyedRows;
use arrow_array::{LargeBinaryArray, RecordBatch};
use arrow_schema::SchemaRef;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Digests batches of one schema, with the same order as a [`BatchSorter`](crate::BatchSorter).
#[derive(Debug)]
pub struct BatchDigester {
    schema: SchemaRef,
    by: Vec<SortColumn>,
    keys: KeyMaker,
}

/// The digest of a batch.
#[derive(Debug)]
pub struct BatchDigest {
    /// The key of each row: bytes that compare as the rows do.
    pub keys: LargeBinaryArray,
    /// Whether the keys ascend.
    pub is_sorted: bool,
    /// The sum of the hashes of the rows' values. It doesn't depend on their layout in memory.
    pub sum: u128,
}

impl BatchDigester {
    /// Creates a digester for batches of this schema, sorted by these columns.
    ///
    /// # Errors
    /// [`Error::Column`] if there is no such column, or several, or its type has no order.
    pub fn new<T: AsRef<str>>(
        schema: SchemaRef,
        by: impl IntoIterator<Item = T>,
    ) -> Result<BatchDigester, Error> {
        let by = by.into_iter().map(|text| SortColumn::parse(text.as_ref(), &schema));
        let by = by.collect::<Result<Vec<_>, _>>()?;
        BatchDigester::by_columns(schema, by)
    }

    /// Creates a digester for batches of this schema, sorted by these columns.
    ///
    /// # Errors
    /// [`Error::Column`] if there is none.
    pub fn by_columns(schema: SchemaRef, by: Vec<SortColumn>) -> Result<BatchDigester, Error> {
        if by.is_empty() {
            return Err(Error::Column("name at least one column to sort by".into()));
        }
        let keys = KeyMaker::new(&by, &schema)?;
        Ok(BatchDigester { schema, by, keys })
    }

    /// Returns the columns that form the keys, in ascending order, and a digester that builds the
    /// same keys from batches with only these columns.
    ///
    /// # Errors
    /// No error is expected.
    pub fn of_keys(&self) -> Result<(Vec<usize>, BatchDigester), Error> {
        let mut columns: Vec<usize> = self.by.iter().map(|column| column.index).collect();
        columns.sort_unstable();
        columns.dedup();
        let schema = Arc::new(self.schema.project(&columns)?);
        let moved = |column: &SortColumn| SortColumn {
            index: columns.partition_point(|&index| index < column.index),
            ..column.clone()
        };
        let by: Vec<SortColumn> = self.by.iter().map(moved).collect();
        let keys = KeyMaker::new(&by, &schema)?;
        Ok((columns, BatchDigester { schema, by, keys }))
    }

    /// Returns the keys of a batch's rows: bytes that compare as the rows do.
    ///
    /// # Errors
    /// [`Error::Schema`] if the batch has another schema.
    pub fn keys(&self, batch: &RecordBatch) -> Result<LargeBinaryArray, Error> {
        crate::sorting::check(&batch.schema(), &self.schema)?;
        let keys = self.keys.keys(batch)?;
        Ok(LargeBinaryArray::from_iter_values((0..keys.rows()).map(|row| keys.key(row))))
    }

    /// Digests a batch.
    ///
    /// # Errors
    /// [`Error::Schema`] if the batch has another schema.
    pub fn digest(&self, batch: &RecordBatch) -> Result<BatchDigest, Error> {
        crate::sorting::check(&batch.schema(), &self.schema)?;
        let rows = KeyedRows::encode(batch, slice_bytes(batch), &self.keys)?;
        let (mut sum, mut is_sorted, mut last) = (0_u128, true, None);
        for (key, row) in rows.iter() {
            sum += u128::from(xxh3_64(row));
            is_sorted &= last.is_none_or(|last| last <= key);
            last = Some(key);
        }
        let keys = LargeBinaryArray::from_iter_values(rows.iter().map(|(key, _)| key));
        Ok(BatchDigest { keys, is_sorted, sum })
    }
}
