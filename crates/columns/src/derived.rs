//! Columns that rows are sorted by and that no file has: random numbers, keys of texts, and places
//! on curves. They follow the columns of the inputs while rows are sorted.

use crate::curves::CurveColumn;
use crate::errors::of_arrow;
use crate::source::{InputBatch, Source};
use crate::text_columns::TextColumn;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use xsort_arrow::Ordered;
use xsort_extsort::Error;
use xsort_records::split_mix;
use xsort_table::Collator;

/// What is added to batches, which then have this schema.
pub(crate) struct Derived {
    pub(crate) schema: SchemaRef,
    pub(crate) columns: Vec<DerivedColumn>,
}

/// A column.
pub(crate) enum DerivedColumn {
    /// A number for each row, which this seed and its place among all rows decide.
    Random(u64),
    /// Keys of texts, and the order of a language.
    Text(TextColumn, Collator),
    /// Places on a curve.
    Curve(CurveColumn),
}

/// The number of a batch's first row, from 0.
#[derive(Clone, Copy, Default)]
struct FirstRow {
    /// Among all rows.
    of_all: u64,
    of_input: u64,
}

/// A source whose batches get more columns, on several threads.
pub(crate) struct Deriving {
    from: Box<dyn Source>,
    paths: Vec<PathBuf>,
    pool: Ordered<(InputBatch, FirstRow), InputBatch>,
    /// The input of each batch that the threads have.
    inputs: VecDeque<usize>,
    inputs_max: usize,
    /// The input that is read, and its next row.
    input: usize,
    next: FirstRow,
    is_read: bool,
}

impl Deriving {
    /// Starts the threads. `paths` are those of the inputs.
    pub(crate) fn start(
        from: Box<dyn Source>,
        derived: Derived,
        paths: Vec<PathBuf>,
        threads: usize,
    ) -> Result<Deriving, Error> {
        let add = move |(batch, first): (InputBatch, FirstRow)| {
            let rows = derived.add(&batch.rows, first)?;
            Ok(InputBatch { rows, ..batch })
        };
        Ok(Deriving {
            from,
            paths,
            pool: Ordered::new(threads, add).map_err(of_arrow)?,
            inputs: VecDeque::new(),
            inputs_max: threads + 1,
            input: 0,
            next: FirstRow::default(),
            is_read: false,
        })
    }
}

impl Source for Deriving {
    fn next(&mut self) -> Result<Option<InputBatch>, Error> {
        while !self.is_read && self.inputs.len() < self.inputs_max {
            let Some(batch) = self.from.next()? else {
                self.is_read = true;
                break;
            };
            if batch.input != self.input {
                (self.input, self.next.of_input) = (batch.input, 0);
            }
            let (first, rows) = (self.next, batch.rows.num_rows() as u64);
            self.next = FirstRow { of_all: first.of_all + rows, of_input: first.of_input + rows };
            self.inputs.push_back(batch.input);
            self.pool.send((batch, first));
        }
        let (Some(input), Some(batch)) = (self.inputs.pop_front(), self.pool.wait()) else {
            return Ok(None);
        };
        batch.map(Some).map_err(|error| match error {
            xsort_arrow::Error::Arrow(ArrowError::InvalidArgumentError(reason)) => {
                Error::Input { path: self.paths[input].clone(), reason }
            }
            error => of_arrow(error),
        })
    }
}

/// Returns a schema with more columns, whose values have these types.
pub(crate) fn with_columns(
    schema: &SchemaRef,
    types: impl IntoIterator<Item = DataType>,
) -> SchemaRef {
    let field = |data_type| Arc::new(Field::new("derived", data_type, true));
    let more: Vec<_> = types.into_iter().map(field).collect();
    if more.is_empty() {
        return Arc::clone(schema);
    }
    let fields: Vec<_> = schema.fields().iter().cloned().chain(more).collect();
    Arc::new(Schema::new(fields))
}

impl Derived {
    /// Returns a batch with all columns.
    ///
    /// # Errors
    /// [`ArrowError::InvalidArgumentError`] if a value isn't of its type, or has no place on a
    /// curve.
    fn add(&self, batch: &RecordBatch, first: FirstRow) -> Result<RecordBatch, ArrowError> {
        let mut columns = batch.columns().to_vec();
        for column in &self.columns {
            columns.push(match column {
                &DerivedColumn::Random(seed) => random(seed, first.of_all, batch.num_rows()),
                DerivedColumn::Text(text, collator) => {
                    text.keys(batch, first.of_input, collator)?
                }
                DerivedColumn::Curve(curve) => curve.places(batch)?,
            });
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

fn random(seed: u64, first: u64, count: usize) -> ArrayRef {
    let seed = split_mix(seed);
    let rows = first..first + count as u64;
    let numbers = rows.map(|row| split_mix(seed ^ split_mix(row)));
    Arc::new(UInt64Array::from_iter_values(numbers))
}

/// Returns a batch with the columns of `schema` only, which are the first ones.
pub(crate) fn without_derived(
    batch: RecordBatch,
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let count = schema.fields().len();
    if batch.num_columns() == count {
        return Ok(batch);
    }
    let columns = batch.columns()[..count].to_vec();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}
