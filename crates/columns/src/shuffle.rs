//! A random order: each row gets a random number, by which it is sorted.

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::sync::Arc;
use xsort_records::split_mix;

/// Adds random numbers to batches, as their last column.
#[derive(Clone, Debug)]
pub(crate) struct Shuffle {
    seed: u64,
    schema: SchemaRef,
    rows: u64,
}

impl Shuffle {
    /// Shuffles batches of a schema. The seed decides the order.
    pub(crate) fn new(seed: u64, schema: &Schema) -> Shuffle {
        let number = Arc::new(Field::new("random", DataType::UInt64, false));
        let fields = schema.fields().iter().cloned().chain([number]);
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Shuffle { seed: split_mix(seed), schema, rows: 0 }
    }

    /// The schema of batches with their numbers.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds a number to each row: that of its place in the input, mixed with the seed.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let first = self.rows;
        self.rows += batch.num_rows() as u64;
        let numbers = (first..self.rows).map(|row| split_mix(self.seed ^ split_mix(row)));
        let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(numbers));
        let columns = batch.columns().iter().cloned().chain([numbers]).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

/// Removes the last column.
pub(crate) fn without_numbers(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns()[..schema.fields().len()].to_vec();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}
