//! A sample of the rows of inputs, read before the sort: here and there in files, and at the
//! beginning of streams.

use crate::arrow_inputs::{ArrowFile, ArrowInputs, Form, read_block};
use crate::arrow_messages::caught;
use crate::curves::{CurveColumn, CurveSample};
use crate::inputs::{Decoder, Inputs};
use crate::reading::FIRST_ROWS;
use crate::sort_plan::{AnyInputs, SortPlan};
use crate::source::{InputBatch, Source};
use crate::text_reading::TextReading;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_ipc::Block;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use xsort_extsort::Error;

/// Rows of a sample, about.
const ROWS: usize = 16 << 10;
/// Most row groups, or batches of a file, that rows are taken from.
const PLACES: usize = 64;
/// Stretches of rows in a row group.
const STRETCHES: usize = 8;

/// Takes a sample for the curves of a plan, and starts the reading of its inputs. Inputs that are
/// damaged are left to that.
pub(crate) fn sampled_curves(
    plan: &SortPlan,
) -> Result<(Vec<CurveColumn>, Box<dyn Source>), Error> {
    let parts = plan.keys.curves().flat_map(|curve| &curve.parts);
    let mut columns: Vec<usize> = parts.map(|part| part.path[0]).collect();
    columns.sort_unstable();
    columns.dedup();
    let curves = plan.keys.curves().map(|curve| CurveSample::new(curve, &columns));
    let mut curves: Vec<CurveSample> = curves.collect();
    let mut add = |batch: &RecordBatch| curves.iter_mut().for_each(|curve| curve.add(batch));
    let reading = match &plan.inputs {
        AnyInputs::Parquet(inputs, decoders) => {
            of_groups(inputs, decoders, &columns, &mut add)?;
            plan.start_reading()?
        }
        AnyInputs::Arrow(inputs) => match files(inputs) {
            Some(files) => {
                of_files(&files, plan.memory.read.queue_bytes as u64, &columns, &mut add)?;
                plan.start_reading()?
            }
            None => of_beginning(plan.start_reading()?, &columns, &mut add)?,
        },
        AnyInputs::Text(inputs) => {
            let sample = inputs.sample()?;
            let sample = TextReading::start(&sample, plan.threads, plan.memory.pieces)?;
            of_text(sample, &columns, &mut add);
            plan.start_reading()?
        }
    };
    Ok((curves.into_iter().map(CurveSample::end).collect(), reading))
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
    add: &mut dyn FnMut(&RecordBatch),
) -> Result<(), Error> {
    let groups = some(&inputs.groups());
    let rows = ROWS.div_ceil(groups.len().max(1));
    for group in &groups {
        let decoder = &decoders[group.input];
        let file = decoder.file.open()?;
        let columns = columns.iter().copied();
        let reader = decoder.reader(file, group.index, columns, FIRST_ROWS.min(rows));
        let Ok(batches) = reader.with_row_selection(stretches(group.rows, rows)).build() else {
            continue;
        };
        // Its reader says what is damaged.
        batches.map_while(Result::ok).for_each(|batch| add(&batch));
    }
    Ok(())
}

/// Stretches of `all` rows, with `rows` rows together.
fn stretches(all: usize, rows: usize) -> RowSelection {
    let (taken, stretch) = (rows.div_ceil(STRETCHES), all / STRETCHES);
    if stretch <= taken {
        return vec![RowSelector::select(all)].into();
    }
    let pair = [RowSelector::select(taken), RowSelector::skip(stretch - taken)];
    pair.repeat(STRETCHES).into()
}

/// The inputs, if none is a stream.
fn files(inputs: &ArrowInputs) -> Option<Vec<&ArrowFile>> {
    let files = inputs.all.iter().map(|input| match &input.form {
        Form::File(file) => Some(file),
        Form::Stream(_) => None,
    });
    files.collect()
}

/// Reads batches of files, each of which takes at most `bytes_max` bytes.
fn of_files(
    files: &[&ArrowFile],
    bytes_max: u64,
    columns: &[usize],
    add: &mut dyn FnMut(&RecordBatch),
) -> Result<(), Error> {
    let blocks = files.iter().enumerate();
    let blocks: Vec<(usize, Block)> =
        blocks.flat_map(|(at, file)| file.batches.iter().map(move |&block| (at, block))).collect();
    let blocks = some(&blocks);
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
            thinned(&batch, columns, ROWS.div_ceil(blocks.len())).iter().for_each(&mut *add);
        }
    }
    Ok(())
}

/// Returns some rows of a batch.
fn thinned(batch: &RecordBatch, columns: &[usize], rows: usize) -> Option<RecordBatch> {
    let (all, count) = (batch.num_rows(), batch.num_rows().min(rows));
    let taken = (0..count).map(|at| (at * all / count) as u32);
    let batch = batch.project(columns).ok()?;
    arrow_select::take::take_record_batch(&batch, &UInt32Array::from_iter_values(taken)).ok()
}

/// Reads the first batch of a stream. Returns the reading from its beginning.
fn of_beginning(
    mut rest: Box<dyn Source>,
    columns: &[usize],
    add: &mut dyn FnMut(&RecordBatch),
) -> Result<Box<dyn Source>, Error> {
    let first = rest.next()?;
    let sample = first.as_ref().and_then(|first| thinned(&first.rows, columns, ROWS));
    sample.iter().for_each(add);
    Ok(Box::new(Begun { first, rest }))
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
fn of_text(mut sample: TextReading, columns: &[usize], add: &mut dyn FnMut(&RecordBatch)) {
    while let Ok(Some(batch)) = sample.next() {
        batch.rows.project(columns).iter().for_each(&mut *add);
    }
}
