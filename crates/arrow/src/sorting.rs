//! The half that takes batches.

use crate::Error;
use crate::memory::slice_bytes;
use crate::resident::Resident;
use crate::settings::Settings;
use crate::sorted::SortedBatches;
use crate::spill::Spill;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{FieldRef, SchemaRef};
use arrow_select::concat::concat_batches;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Batches with fewer rows are concatenated first.
const SMALL_ROWS: usize = 8 << 10;

/// A sort to which batches are pushed. Dropping it leaves nothing in memory or on scratch.
pub struct BatchSorting {
    settings: Settings,
    state: State,
    /// Small batches that wait for others; the next fields have their numbers of rows and bytes.
    small: Vec<RecordBatch>,
    small_rows: usize,
    small_bytes: usize,
    rows: u64,
    began: Option<Instant>,
}

enum State {
    Resident(Box<Resident>),
    Spilling(Box<Spill>),
}

impl BatchSorting {
    pub(crate) fn new(settings: Settings) -> BatchSorting {
        BatchSorting {
            settings,
            state: State::Resident(Box::default()),
            small: Vec::new(),
            small_rows: 0,
            small_bytes: 0,
            rows: 0,
            began: None,
        }
    }

    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.settings.schema
    }

    /// Pushes a batch. Waits while the engine is busy.
    ///
    /// # Errors
    /// [`Error::Schema`] if its columns aren't those of the schema, or one has a null that the
    /// schema says it can't have; [`Error::Sort`] with
    /// [`xsort::Error::LongRecord`] for a row that the memory can't carry, and with what the sort
    /// has failed of.
    pub fn push(&mut self, batch: RecordBatch) -> Result<(), Error> {
        self.began.get_or_insert_with(Instant::now);
        check(&batch.schema(), &self.settings.schema)?;
        check_nulls(&batch, &self.settings.schema)?;
        self.check_cancel()?;
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        self.rows += rows as u64;
        if rows >= SMALL_ROWS {
            self.push_small()?;
            return self.push_large(batch);
        }
        self.small_bytes += slice_bytes(&batch);
        self.small_rows += rows;
        self.small.push(batch);
        if self.small_rows >= SMALL_ROWS || self.small_bytes >= self.settings.shares.chunk {
            self.push_small()?;
        }
        Ok(())
    }

    /// Ends pushing, and returns the sorted batches.
    ///
    /// # Errors
    /// The error that made the sort fail; [`xsort::Error::Cancelled`] if it was stopped.
    pub fn finish(mut self) -> Result<SortedBatches, Error> {
        self.push_small()?;
        self.check_cancel()?;
        let BatchSorting { mut settings, state, rows, began, .. } = self;
        match state {
            State::Resident(resident) => {
                let bytes = resident.held.batch_bytes();
                settings.progress.begin("sort", bytes);
                let order = resident.sort(settings.threads, &settings.cancel)?;
                settings.progress.done(bytes);
                settings.progress.begin("gather", bytes);
                // A batch of long rows has fewer: as many bytes as one that was spilled, about.
                let rows_max = settings.shares.chunk as u64 * rows / bytes.max(1);
                settings.batch_rows = settings.batch_rows.min(rows_max.max(1) as usize);
                SortedBatches::of_order(settings, order, rows, began)
            }
            State::Spilling(spill) => {
                let sorted = spill.finish()?;
                SortedBatches::of_engine(settings, sorted, rows, began)
            }
        }
    }

    fn check_cancel(&self) -> Result<(), Error> {
        match self.settings.cancel.is_cancelled() {
            true => Err(xsort::Error::Cancelled.into()),
            false => Ok(()),
        }
    }

    fn push_small(&mut self) -> Result<(), Error> {
        (self.small_rows, self.small_bytes) = (0, 0);
        let small = std::mem::take(&mut self.small);
        match concat_batches(&self.settings.schema, &small) {
            _ if small.len() < 2 => small.into_iter().try_for_each(|batch| self.push_large(batch)),
            Ok(batch) => self.push_large(batch),
            // Together their dictionaries have more values than keys.
            Err(_) => small.into_iter().try_for_each(|batch| self.push_large(batch)),
        }
    }

    fn push_large(&mut self, batch: RecordBatch) -> Result<(), Error> {
        match &mut self.state {
            State::Spilling(spill) => spill.push(&batch),
            State::Resident(resident) => {
                let keys = self.settings.keys.keys(&batch)?;
                resident.push(batch, keys)?;
                self.settings.progress.done(resident.held.batch_bytes());
                if resident.held.bytes() > self.settings.shares.resident {
                    self.spill()?;
                }
                Ok(())
            }
        }
    }

    /// Passes the kept batches to the engine, in their order.
    fn spill(&mut self) -> Result<(), Error> {
        let State::Resident(resident) = &mut self.state else { return Ok(()) };
        let mut spill = Box::new(Spill::start(&self.settings, resident.held.batch_bytes())?);
        resident.keys.clear();
        for batch in std::mem::take(&mut resident.batches) {
            spill.push(&batch)?;
        }
        self.state = State::Spilling(spill);
        Ok(())
    }
}

/// Fails if a batch has another schema: columns of other names or types, or in another order.
/// Metadata and nullability may differ.
pub(crate) fn check(own: &SchemaRef, schema: &SchemaRef) -> Result<(), Error> {
    let is_same = |(own, field): (&FieldRef, &FieldRef)| {
        own.name() == field.name() && own.data_type() == field.data_type()
    };
    let (fields, others) = (own.fields(), schema.fields());
    let are_same = || fields.len() == others.len() && fields.iter().zip(others).all(is_same);
    if Arc::ptr_eq(own, schema) || are_same() {
        return Ok(());
    }
    let text = "a batch has other columns than the schema says: all batches of a sort have the \
                same names and types in the same order";
    Err(Error::Schema(text.into()))
}

/// Refuses nulls in columns that have none by the schema: no sorted batch could hold them.
fn check_nulls(batch: &RecordBatch, schema: &SchemaRef) -> Result<(), Error> {
    for (column, field) in batch.columns().iter().zip(schema.fields()) {
        let row = match column.nulls() {
            Some(nulls) if !field.is_nullable() => nulls.iter().position(|is_valid| !is_valid),
            _ => None,
        };
        if let Some(row) = row {
            return Err(Error::Schema(format!(
                "column '{}' has no nulls by the schema of the sort, and row {row} of a batch has \
                 one there: give a schema in which it is nullable",
                field.name()
            )));
        }
    }
    Ok(())
}

impl fmt::Debug for BatchSorting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchSorting").field("rows", &self.rows).finish_non_exhaustive()
    }
}
