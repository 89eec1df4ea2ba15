//! Columns that rows are sorted by and that no file has: random numbers, keys of texts, and places
//! on curves. They follow the columns of the inputs while rows are sorted.

use crate::curves::CurveColumn;
use crate::errors::of_arrow;
use crate::reading::memory;
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
    /// The input of each batch that the threads have, and its bytes in memory.
    held: VecDeque<(usize, usize)>,
    held_max: usize,
    bytes: usize,
    bytes_max: usize,
    /// The input that is read, and its next row.
    input: usize,
    next: FirstRow,
    is_read: bool,
}

impl Deriving {
    /// Starts `threads` threads, which take no more batches while they have `bytes_max` bytes.
    /// `paths` are those of the inputs.
    pub(crate) fn start(
        from: Box<dyn Source>,
        derived: Derived,
        paths: Vec<PathBuf>,
        (threads, bytes_max): (usize, usize),
    ) -> Result<Deriving, Error> {
        let add = move |(batch, first): (InputBatch, FirstRow)| {
            let rows = derived.add(&batch.rows, first)?;
            Ok(InputBatch { rows, ..batch })
        };
        Ok(Deriving {
            from,
            paths,
            pool: Ordered::new(threads, add).map_err(of_arrow)?,
            held: VecDeque::new(),
            held_max: threads + 1,
            bytes: 0,
            bytes_max,
            input: 0,
            next: FirstRow::default(),
            is_read: false,
        })
    }

    /// Returns whether another batch as large as those that the threads have would fit, or they
    /// have none.
    fn has_room(&self) -> bool {
        match self.held.len() {
            0 => true,
            count => self.bytes + self.bytes / count <= self.bytes_max,
        }
    }
}

impl Source for Deriving {
    fn next(&mut self) -> Result<Option<InputBatch>, Error> {
        while !self.is_read && self.held.len() < self.held_max && self.has_room() {
            let Some(batch) = self.from.next()? else {
                self.is_read = true;
                break;
            };
            if batch.input != self.input {
                (self.input, self.next.of_input) = (batch.input, 0);
            }
            let (first, rows) = (self.next, batch.rows.num_rows() as u64);
            self.next = FirstRow { of_all: first.of_all + rows, of_input: first.of_input + rows };
            let bytes = memory(&batch.rows);
            self.bytes += bytes;
            self.held.push_back((batch.input, bytes));
            self.pool.send((batch, first));
        }
        let (Some((input, bytes)), Some(batch)) = (self.held.pop_front(), self.pool.wait()) else {
            return Ok(None);
        };
        self.bytes -= bytes;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Batches of a thousand numbers, which are counted.
    struct Numbers(Arc<AtomicUsize>);

    impl Source for Numbers {
        fn next(&mut self) -> Result<Option<InputBatch>, Error> {
            if self.0.fetch_add(1, Relaxed) == 9 {
                return Ok(None);
            }
            let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![7; 1000]));
            let rows = RecordBatch::try_from_iter([("number", numbers)]).unwrap();
            Ok(Some(InputBatch { input: 0, bytes: 0, rows }))
        }
    }

    #[test]
    fn threads_have_no_more_bytes_than_they_may() {
        let number = Arc::new(Field::new("number", DataType::UInt64, false));
        let schema = Arc::new(Schema::new(vec![number]));
        let schema = with_columns(&schema, [DataType::UInt64]);
        for (bytes_max, ahead) in [(0, 1), (20_000, 2), (1 << 20, 4)] {
            let taken = Arc::new(AtomicUsize::new(0));
            let columns = vec![DerivedColumn::Random(1)];
            let derived = Derived { schema: Arc::clone(&schema), columns };
            let numbers = Box::new(Numbers(Arc::clone(&taken)));
            let paths = vec![PathBuf::from("in")];
            let mut deriving = Deriving::start(numbers, derived, paths, (3, bytes_max)).unwrap();
            let mut rows = 0;
            while let Some(batch) = deriving.next().unwrap() {
                rows += batch.rows.num_rows();
                assert_eq!(batch.rows.num_columns(), 2);
                let most = (rows / 1000 + ahead - 1).min(10);
                assert!(taken.load(Relaxed) <= most, "{bytes_max}, after {rows} rows");
            }
            assert_eq!(rows, 9000);
        }
    }
}
