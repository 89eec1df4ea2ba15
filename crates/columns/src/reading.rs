//! Decodes row groups on several threads, and returns their batches in the order of the files.
//!
//! ```text
//!  row group 0   columns a c   thread 0 --.
//!                columns b d   thread 1 ---+--> batches of all columns, in order
//!  row group 1   columns a c   thread 2 ---|
//!                columns b d   thread 3 --'
//! ```
//!
//! A lane decodes every `lanes`-th row group. Where row groups are small, each thread is a lane;
//! where they are large, several threads share one lane and divide its columns, so that a row group
//! of any size streams with the pages of one row group in memory.

use crate::damage::find_damage;
use crate::errors::of_thread;
use crate::gate::Gate;
use crate::inputs::{Decoder, Group};
use crate::leaves;
use crate::old_times::check_old_times;
use crate::source::{InputBatch, Source};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use crossbeam_channel::{Receiver, Sender, unbounded};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::{ParquetError, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use xsort_extsort::Error;

/// Rows of the first batch of a thread, from which it learns how large a row is.
pub(crate) const FIRST_ROWS: usize = 256;
/// Maximum number of rows in a batch.
const ROWS_MAX: usize = 32 << 10;

/// How row groups are read.
#[derive(Clone, Debug)]
pub(crate) struct ReadPlan {
    /// Row groups that are decoded at once.
    pub(crate) lanes: usize,
    /// Columns that one thread decodes, for each thread of a lane.
    pub(crate) sets: Vec<Vec<usize>>,
    /// Bytes of batches that were decoded and not taken yet.
    pub(crate) queue_bytes: usize,
    /// Bytes that are read of an object at once, for each leaf.
    pub(crate) window_bytes: usize,
}

impl ReadPlan {
    /// For inputs whose batches are read whole, `lanes` at once.
    pub(crate) fn of_batches(lanes: usize, queue_bytes: usize) -> ReadPlan {
        ReadPlan { lanes, sets: Vec::new(), queue_bytes, window_bytes: 0 }
    }
}

/// What all threads share.
struct Shared {
    decoders: Vec<Decoder>,
    groups: Vec<Group>,
    plan: ReadPlan,
    gate: Gate,
}

/// Some rows of some columns, with their bytes in memory.
type Piece = Result<(RecordBatch, usize), Error>;

/// Batches of all columns, in the order of the files.
pub(crate) struct Reading {
    shared: Arc<Shared>,
    schema: SchemaRef,
    /// The pieces of each thread.
    pieces: Vec<Receiver<Piece>>,
    threads: Vec<JoinHandle<()>>,
    /// Pieces of the current row group of which rows are left, for each set of columns.
    held: Vec<Option<RecordBatch>>,
    /// For each column the set that has it, and its place there.
    places: Vec<(usize, usize)>,
    group: usize,
    row: usize,
}

impl Reading {
    pub(crate) fn start(
        decoders: Vec<Decoder>,
        groups: Vec<Group>,
        plan: ReadPlan,
    ) -> Result<Reading, Error> {
        let schema = Arc::clone(decoders[0].metadata.schema());
        let mut places = vec![(0, 0); schema.fields().len()];
        for (set, columns) in plan.sets.iter().enumerate() {
            columns.iter().enumerate().for_each(|(at, &column)| places[column] = (set, at));
        }
        let (held, count) = (vec![None; plan.sets.len()], plan.lanes * plan.sets.len());
        let gate = Gate::new(plan.queue_bytes, count);
        let shared = Arc::new(Shared { decoders, groups, plan, gate });
        let (mut pieces, mut threads) = (Vec::new(), Vec::new());
        for number in 0..count {
            let (to, from) = unbounded();
            let shared = Arc::clone(&shared);
            let thread = thread::Builder::new().name("xsort-decode".into());
            let thread = thread.spawn(move || Stream::new(&shared, number, to).run());
            threads.push(thread.map_err(of_thread)?);
            pieces.push(from);
        }
        Ok(Reading { shared, schema, pieces, threads, held, places, group: 0, row: 0 })
    }
}

impl Source for Reading {
    fn next(&mut self) -> Result<Option<InputBatch>, Error> {
        let group = loop {
            let Some(&group) = self.shared.groups.get(self.group) else { return Ok(None) };
            if self.row < group.rows {
                break group;
            }
            (self.group, self.row) = (self.group + 1, 0);
            self.shared.gate.take(self.group);
        };
        let sets = self.held.len();
        let lane = self.group % self.shared.plan.lanes;
        for set in 0..sets {
            if self.held[set].is_none() {
                let thread = lane * sets + set;
                let (piece, bytes) = self.pieces[thread].recv().map_err(|_| Error::Panicked)??;
                self.shared.gate.leave(thread, bytes);
                self.held[set] = Some(piece);
            }
        }
        let rows = self.held.iter().flatten().map(RecordBatch::num_rows).min().unwrap_or(0);
        let taken: Vec<RecordBatch> = self.held.iter_mut().map(|held| take(held, rows)).collect();
        let column = |&(set, at): &(usize, usize)| Arc::clone(taken[set].column(at));
        let columns: Vec<ArrayRef> = self.places.iter().map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
        let file = &self.shared.decoders[group.input].file;
        let batch =
            batch.map_err(|error| file.error(format!("row group {}: {error}", group.index)));
        self.row += rows;
        let bytes = group.bytes * rows as u64 / group.rows as u64;
        Ok(Some(InputBatch { input: group.input, bytes, rows: batch? }))
    }
}

/// Takes the first rows of a piece.
fn take(held: &mut Option<RecordBatch>, rows: usize) -> RecordBatch {
    let piece = held.take().expect("a piece was received");
    if piece.num_rows() > rows {
        *held = Some(piece.slice(rows, piece.num_rows() - rows));
    }
    piece.slice(0, rows)
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.shared.gate.close();
        self.pieces.clear();
        for thread in self.threads.drain(..) {
            // A panic was reported as a piece.
            drop(thread.join());
        }
    }
}

/// A thread: one set of columns of one lane.
struct Stream<'s> {
    shared: &'s Shared,
    number: usize,
    to: Sender<Piece>,
    columns: &'s [usize],
    /// Rows of a batch.
    rows: usize,
    /// Bytes that a batch should have.
    bytes_wanted: usize,
}

/// The reason why a thread ends.
enum End {
    /// Nothing is taken any more.
    Closed,
    Failed(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> End {
        End::Failed(error)
    }
}

impl<'s> Stream<'s> {
    fn new(shared: &'s Shared, number: usize, to: Sender<Piece>) -> Stream<'s> {
        let ReadPlan { lanes, sets, queue_bytes, .. } = &shared.plan;
        // Of each thread three batches: in the room, taken, and in the making.
        let bytes_wanted = queue_bytes / (lanes * sets.len() * 3);
        let columns = &sets[number % sets.len()];
        Stream { shared, number, to, columns, rows: FIRST_ROWS, bytes_wanted }
    }

    fn run(mut self) {
        let (lane, lanes) = (self.number / self.shared.plan.sets.len(), self.shared.plan.lanes);
        for group in (lane..self.shared.groups.len()).step_by(lanes) {
            // Unwind safety: everything that has been used is gone.
            let result = catch_unwind(AssertUnwindSafe(|| self.read(group)));
            let error = match result {
                Ok(Ok(())) => continue,
                Ok(Err(End::Closed)) => return,
                Ok(Err(End::Failed(error))) => error,
                Err(_) => self.damage(group, &ParquetError::General("it can't be read".into())),
            };
            // The receiver may be gone.
            drop(self.to.send(Err(error)));
            return;
        }
    }

    /// Reads a row group. Begins again at the row that it has come to when batches become too
    /// large, or could be much larger.
    fn read(&mut self, at: usize) -> Result<(), End> {
        let group = self.shared.groups[at];
        check_old_times(&self.shared.decoders[group.input], group.index, self.columns)?;
        let mut done = 0;
        while done < group.rows {
            let damaged = |error| End::Failed(self.damage(at, &error));
            let mut batches = self.open(group, done)?.build().map_err(damaged)?;
            loop {
                let batch = batches.next().transpose().map_err(|error| damaged(error.into()))?;
                let Some(batch) = batch else {
                    let what = format!("it ends after {done} of {} rows", group.rows);
                    return Err(damaged(ParquetError::General(what)));
                };
                let (rows, bytes) = (batch.num_rows(), memory(&batch));
                done += rows;
                let is_open = self.shared.gate.enter(self.number, at, bytes);
                if !is_open || self.to.send(Ok((batch, bytes))).is_err() {
                    return Err(End::Closed);
                }
                if done >= group.rows {
                    break;
                }
                let wanted = rows_wanted(rows, bytes, self.bytes_wanted);
                let is_first = self.rows == FIRST_ROWS && done == FIRST_ROWS;
                if wanted * 2 < self.rows || (is_first && wanted > 2 * self.rows) {
                    self.rows = wanted;
                    break;
                }
            }
        }
        Ok(())
    }

    fn open(
        &self,
        group: Group,
        offset: usize,
    ) -> Result<ParquetRecordBatchReaderBuilder<crate::file::OpenInput>, Error> {
        let decoder = &self.shared.decoders[group.input];
        let schema = decoder.metadata.schema();
        let leaves = |&root: &usize| leaves::count(schema.field(root).data_type());
        let leaves = self.columns.iter().map(leaves).sum();
        let file = decoder.file.open_with((leaves, self.shared.plan.window_bytes))?;
        let columns = self.columns.iter().copied();
        let builder = decoder.reader(file, group.index, columns, self.rows);
        Ok(if offset > 0 { builder.with_offset(offset) } else { builder })
    }

    /// Returns the error of a row group, with the column that can't be read.
    fn damage(&self, at: usize, error: &ParquetError) -> Error {
        let group = self.shared.groups[at];
        find_damage(&self.shared.decoders[group.input], group.index, self.columns, error)
    }
}

/// Returns the bytes that a batch takes in memory.
pub(crate) fn memory(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(Array::get_array_memory_size).sum()
}

/// Returns how many rows a batch should have, if `rows` rows take `bytes` bytes: a power of two, so
/// that the batches of several threads end at the same rows.
pub(crate) fn rows_wanted(rows: usize, bytes: usize, bytes_wanted: usize) -> usize {
    let wanted = (bytes_wanted as u128 * rows as u128 / bytes.max(1) as u128) as usize;
    let wanted = wanted.clamp(1, ROWS_MAX);
    1 << wanted.ilog2()
}
