//! Converts batches to rows of bytes with keys, and rows to batches.

use crate::decode::{Decode, decoder};
use crate::encode::encoder;
use crate::keys::{KeyMaker, Keys};
use crate::value::PADDING;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, SchemaRef};

/// Rows with their keys.
pub(crate) struct KeyedRows {
    keys: Keys,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyedRows {
    /// Encodes the rows of a batch, which take about `bytes` bytes.
    pub(crate) fn encode(
        batch: &RecordBatch,
        bytes: usize,
        keys: &KeyMaker,
    ) -> Result<KeyedRows, ArrowError> {
        let keys = keys.keys(batch)?;
        let columns = batch.columns().iter().map(encoder).collect::<Result<Vec<_>, _>>()?;
        let mut bytes = Vec::with_capacity(bytes);
        let mut ends = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            columns.iter().for_each(|column| column.push(row, &mut bytes));
            ends.push(bytes.len());
        }
        Ok(KeyedRows { keys, bytes, ends })
    }

    /// Returns the keys and rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut begin = 0;
        self.ends.iter().enumerate().map(move |(row, &end)| {
            let bytes = &self.bytes[begin..end];
            begin = end;
            (self.keys.key(row), bytes)
        })
    }
}

/// Rows that become a batch.
#[derive(Debug, Default)]
pub(crate) struct RowBytes {
    bytes: Vec<u8>,
    begins: Vec<usize>,
}

impl RowBytes {
    pub(crate) fn push(&mut self, row: &[u8]) {
        self.begins.push(self.bytes.len());
        self.bytes.extend_from_slice(row);
    }

    pub(crate) fn rows(&self) -> usize {
        self.begins.len()
    }

    /// Returns the bytes of the rows and of their offsets.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.begins)
    }

    /// Decodes the rows: to one batch, unless a column's type has too few keys or too short runs
    /// for all of them.
    pub(crate) fn decode(mut self, schema: &SchemaRef) -> Result<Vec<RecordBatch>, ArrowError> {
        self.bytes.extend_from_slice(&[0; PADDING]);
        let mut batches = Vec::new();
        split(0, self.begins.len(), &mut batches, &mut |from, to| {
            decode(&self.bytes, &mut self.begins[from..to].to_vec(), schema)
        })?;
        Ok(batches)
    }
}

/// Builds the batch of a range of rows. If that fails, divides the range into halves.
pub(crate) fn split(
    from: usize,
    to: usize,
    batches: &mut Vec<RecordBatch>,
    make: &mut dyn FnMut(usize, usize) -> Result<RecordBatch, ArrowError>,
) -> Result<(), ArrowError> {
    match make(from, to) {
        Ok(batch) => batches.push(batch),
        Err(error) if to - from < 2 => return Err(error),
        Err(_) => {
            let middle = from.midpoint(to);
            split(from, middle, batches, make)?;
            split(middle, to, batches, make)?;
        }
    }
    Ok(())
}

fn decode(
    bytes: &[u8],
    places: &mut [usize],
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let rows = places.len();
    let column = |data_type: &DataType| {
        let mut column: Box<dyn Decode> = decoder(data_type, rows);
        column.read_all(bytes, places);
        column.finish()
    };
    let columns = schema.fields().iter().map(|field| field.data_type()).map(column);
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
}

/// Returns whether rows of a type may take more bytes than its columns, because columns share
/// values.
pub(crate) fn shares_values(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Dictionary(..)
        | T::RunEndEncoded(..)
        | T::Utf8View
        | T::BinaryView
        | T::ListView(_)
        | T::LargeListView(_) => true,
        T::List(field) | T::LargeList(field) | T::FixedSizeList(field, _) | T::Map(field, _) => {
            shares_values(field.data_type())
        }
        T::Struct(fields) => fields.iter().any(|field| shares_values(field.data_type())),
        T::Union(fields, _) => fields.iter().any(|(_, field)| shares_values(field.data_type())),
        _ => false,
    }
}
