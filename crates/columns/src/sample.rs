//! A sample of the rows of inputs, read before the sort: here and there in files, and at the
//! beginning of streams.

use crate::arrow_inputs::{ArrowFile, ArrowInputs, Form, read_block};
use crate::arrow_messages::caught;
use crate::curves::CurvePart;
use crate::inputs::{Decoder, Group, Inputs};
use crate::sort_plan::{AnyInputs, SortPlan};
use crate::source::{InputBatch, Source};
use crate::text_reading::TextReading;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_ipc::Block;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection, RowSelector};
use parquet::errors::ParquetError;
use xsort_extsort::Error;

/// Rows of a sample, about.
const ROWS: usize = 16 << 10;
/// Most row groups, or batches of a file, that rows are taken from.
const PLACES: usize = 64;
/// Stretches of rows in a row group.
const STRETCHES: usize = 8;

/// Some rows of the columns of curves.
#[derive(Default)]
pub(crate) struct Sample {
    /// The columns that the batches have, in ascending order.
    pub(crate) columns: Vec<usize>,
    pub(crate) batches: Vec<RecordBatch>,
}

impl Sample {
    /// Takes rows of all inputs, and starts their reading. Inputs that are damaged are left to
    /// that.
    pub(crate) fn take(plan: &SortPlan) -> Result<(Sample, Box<dyn Source>), Error> {
        let parts = plan.keys.curves().flat_map(|curve| &curve.parts);
        let mut columns: Vec<usize> = parts.map(|part: &CurvePart| part.path()[0]).collect();
        columns.sort_unstable();
        columns.dedup();
        let batches = match &plan.inputs {
            AnyInputs::Parquet(inputs, decoders) => of_groups(inputs, decoders, &columns)?,
            AnyInputs::Arrow(inputs) => match files(inputs) {
                Some(files) => of_files(&files, plan.memory.read.queue_bytes as u64, &columns)?,
                None => {
                    let (batches, reading) = of_beginning(plan.start_reading()?, &columns)?;
                    return Ok((Sample { columns, batches }, reading));
                }
            },
            AnyInputs::Text(inputs) => {
                let sample = inputs.sample()?;
                let reading = TextReading::start(&sample, plan.threads, plan.memory.pieces)?;
                of_text(reading, &columns)
            }
        };
        Ok((Sample { columns, batches }, plan.start_reading()?))
    }
}

/// Some of `all`, at equal distances.
fn some<T: Clone>(all: &[T]) -> Vec<T> {
    let count = all.len().min(PLACES);
    (0..count).map(|at| all[at * all.len() / count].clone()).collect()
}

fn of_groups(
    inputs: &Inputs,
    decoders: &[Decoder],
    columns: &[usize],
) -> Result<Vec<RecordBatch>, Error> {
    let groups = some(&inputs.groups());
    let mut batches = Vec::new();
    for group in &groups {
        let rows = ROWS.div_ceil(groups.len());
        let decoder = &decoders[group.input];
        match of_group(decoder, group, rows, columns)? {
            Ok(found) => batches.extend(found),
            // Its reader says what is damaged.
            Err(_) => continue,
        }
    }
    Ok(batches)
}

/// Reads stretches of a row group, of `rows` rows together.
fn of_group(
    decoder: &Decoder,
    group: &Group,
    rows: usize,
    columns: &[usize],
) -> Result<Result<Vec<RecordBatch>, ParquetError>, Error> {
    let (taken, stretch) = (rows.div_ceil(STRETCHES), group.rows / STRETCHES);
    let selection = match stretch > taken {
        false => RowSelection::from(vec![RowSelector::select(group.rows)]),
        true => {
            let pair = [RowSelector::select(taken), RowSelector::skip(stretch - taken)];
            RowSelection::from(pair.repeat(STRETCHES))
        }
    };
    let metadata = decoder.metadata.clone();
    let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.iter().copied());
    let file = decoder.file.open()?;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
        .with_row_groups(vec![group.index])
        .with_projection(mask)
        .with_row_selection(selection)
        .with_batch_size(rows.min(group.rows).max(1));
    Ok(builder.build().and_then(|batches| batches.map(|batch| Ok(batch?)).collect()))
}

/// The inputs, if none is a stream.
fn files(inputs: &ArrowInputs) -> Option<Vec<&ArrowFile>> {
    let file = |form: &'_ Form| matches!(form, Form::File(_));
    if !inputs.all.iter().all(|input| file(&input.form)) {
        return None;
    }
    let files = inputs.all.iter().filter_map(|input| match &input.form {
        Form::File(file) => Some(file),
        Form::Stream(_) => None,
    });
    Some(files.collect())
}

/// Reads batches of files, each of which takes at most `bytes_max` bytes.
fn of_files(
    files: &[&ArrowFile],
    bytes_max: u64,
    columns: &[usize],
) -> Result<Vec<RecordBatch>, Error> {
    let blocks = files.iter().enumerate();
    let blocks: Vec<(usize, Block)> =
        blocks.flat_map(|(at, file)| file.batches.iter().map(move |&block| (at, block))).collect();
    let blocks = some(&blocks);
    let mut batches = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let own: Vec<&Block> =
            blocks.iter().filter(|(of, _)| *of == at).map(|(_, block)| block).collect();
        if own.is_empty() {
            continue;
        }
        let (open, decoder) = file.decoder(bytes_max)?;
        for block in own {
            let read =
                caught(|| decoder.read_record_batch(block, &read_block(&open, block, bytes_max)?));
            // Its reader says what is damaged.
            let Ok(Some(batch)) = read else { continue };
            batches.extend(thinned(&batch, columns, ROWS.div_ceil(blocks.len())));
        }
    }
    Ok(batches)
}

/// Copies some rows of a batch, so that the others can go.
fn thinned(batch: &RecordBatch, columns: &[usize], rows: usize) -> Option<RecordBatch> {
    let (all, count) = (batch.num_rows(), batch.num_rows().min(rows));
    let taken = (0..count).map(|at| (at * all / count) as u32);
    let batch = batch.project(columns).ok()?;
    arrow_select::take::take_record_batch(&batch, &UInt32Array::from_iter_values(taken)).ok()
}

/// Reads the first batch of a stream. Also returns the reading from its beginning.
fn of_beginning(
    mut rest: Box<dyn Source>,
    columns: &[usize],
) -> Result<(Vec<RecordBatch>, Box<dyn Source>), Error> {
    let first = rest.next()?;
    let sample = first.as_ref().and_then(|first| thinned(&first.rows, columns, ROWS));
    Ok((sample.into_iter().collect(), Box::new(Begun { first, rest })))
}

/// A source of which the first batch was read.
struct Begun {
    first: Option<InputBatch>,
    rest: Box<dyn Source>,
}

impl Source for Begun {
    fn next(&mut self) -> Result<Option<InputBatch>, Error> {
        match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => self.rest.next(),
        }
    }
}

/// Rows of text, up to one that isn't of its types: that may be the end of another one.
fn of_text(mut reading: TextReading, columns: &[usize]) -> Vec<RecordBatch> {
    let mut batches = Vec::new();
    while let Ok(Some(batch)) = reading.next() {
        batches.extend(batch.rows.project(columns));
    }
    batches
}
