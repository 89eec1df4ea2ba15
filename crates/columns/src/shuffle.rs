//! A random order: each row gets a random number, by which it is sorted.

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

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
        Shuffle { seed: mixed(seed), schema, rows: 0 }
    }

    /// The schema of batches with their numbers.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds a number to each row: that of its place in the input, mixed with the seed.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let first = self.rows;
        self.rows += batch.num_rows() as u64;
        let numbers = (first..self.rows).map(|row| mixed(self.seed ^ mixed(row)));
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

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
/// OOPSLA 2014): a bijection of 64 bits that no simple test tells from chance.
fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
