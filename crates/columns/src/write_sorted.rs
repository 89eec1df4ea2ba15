//! The second half: sorted rows become a file.

use crate::copied::CopiedGroup;
use crate::derived::without_derived;
use crate::errors::of_arrow;
use crate::groups::{COUNT, Groups};
use crate::inputs::{Group, Inputs};
use crate::options::{ColumnsOptions, OutputFormat};
use crate::output_files::{OutputFile, OutputFiles};
use crate::physical::with_count;
use crate::properties::{OutputForm, properties, properties_of_arrow};
use crate::sink::{ArrowForm, Form, Sink};
use crate::sort_plan::{AnyInputs, SortPlan};
use crate::text_reading::TextForm;
use crate::text_sink::TextOutput;
use arrow_array::RecordBatch;
use parquet::arrow::ArrowSchemaConverter;
use parquet::errors::ParquetError;
use std::collections::VecDeque;
use std::sync::Arc;
use xsort_arrow::{BatchReport, SortedBatches};
use xsort_extsort::lines::{CompressionThreads, FileOutput};
use xsort_extsort::{Error, Observer};

/// Least number of rows in a full row group, unless the memory has room for fewer: as DuckDB has.
const GROUP_ROWS_MIN: usize = 122_880;

/// Writes all rows, and returns the report of their sort.
pub(crate) fn write_sorted(
    mut sorted: SortedBatches,
    plan: &SortPlan,
    threads: usize,
    observer: &dyn Observer,
    files: &mut OutputFiles<'_>,
) -> Result<BatchReport, Error> {
    let (all, bytes) = (sorted.rows(), plan.sorted_bytes());
    let mut rows = RowsOut::new(plan, threads, files)?;
    for batch in &mut sorted {
        if observer.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let batch = batch.map_err(of_arrow)?;
        observer.advance(bytes * batch.num_rows() as u64 / all.max(1));
        let batch = rows.copy_before(batch, plan, observer)?;
        rows.push(batch, plan)?;
        if rows.left == 0 {
            break;
        }
    }
    while rows.copy_next(observer)? {}
    let (taken, given, rows_in_file) = rows.end()?;
    let report = sorted.report().cloned().unwrap_or_default();
    let is_short = plan.options.rows_max.is_some();
    // Each row that was read is in a group, and each row that was given is in the file.
    if given != rows_in_file || (taken != all && !is_short) {
        let what = format!(
            "{all} rows were sorted, {taken} of them came out, and {rows_in_file} of {given} would \
             be written"
        );
        return Err(Error::Lost { what });
    }
    Ok(report)
}

/// Rows on their way to the files.
struct RowsOut<'f, 'a> {
    form: Form,
    files: &'f mut OutputFiles<'a>,
    /// The file that is being written.
    open: Option<(Sink<OutputFile<'a>>, OutputFile<'a>)>,
    groups: Option<Groups>,
    /// Row groups that are still to be copied.
    copies: VecDeque<CopiedGroup>,
    /// Rows that may still be written.
    left: u64,
    /// Rows that came, rows that were given to files, and rows that ended files state.
    taken: u64,
    given: u64,
    stated: u64,
}

impl<'f, 'a> RowsOut<'f, 'a> {
    fn new(
        plan: &SortPlan,
        threads: usize,
        files: &'f mut OutputFiles<'a>,
    ) -> Result<RowsOut<'f, 'a>, Error> {
        let ColumnsOptions { unique, counts, rows_max, .. } = plan.options;
        let schemas = (Arc::clone(&plan.schema), counts.then(|| plan.written_schema()));
        let groups =
            unique.map(|keep| Ok::<_, Error>(Groups::new(plan.group_digester()?, keep, schemas)));
        let mut rows = RowsOut {
            form: form(plan, threads, files.part_bytes())?,
            files,
            open: None,
            groups: groups.transpose()?,
            copies: plan.copies.all.iter().cloned().collect(),
            left: rows_max.unwrap_or(u64::MAX),
            taken: 0,
            given: 0,
            stated: 0,
        };
        // There is a file also of no rows.
        rows.begin_file()?;
        Ok(rows)
    }

    fn begin_file(&mut self) -> Result<(), Error> {
        let file = self.files.begin()?;
        self.open = Some((Sink::begin(file.clone(), self.form.clone())?, file));
        Ok(())
    }

    fn end_file(&mut self) -> Result<(), Error> {
        if let Some((sink, file)) = self.open.take() {
            self.stated += sink.end()?;
            drop(file);
            self.files.end()?;
        }
        Ok(())
    }

    fn push(&mut self, batch: RecordBatch, plan: &SortPlan) -> Result<(), Error> {
        self.taken += batch.num_rows() as u64;
        match &mut self.groups {
            None => {
                let batch = without_derived(batch, &plan.schema);
                self.give(&batch.map_err(|error| Error::Settings(error.to_string()))?)
            }
            Some(groups) => {
                let ended = groups.push(&batch)?;
                ended.iter().try_for_each(|batch| self.give(batch))
            }
        }
    }

    /// Copies the row groups that come before the last row of a batch. Returns the rows after them.
    fn copy_before(
        &mut self,
        mut batch: RecordBatch,
        plan: &SortPlan,
        observer: &dyn Observer,
    ) -> Result<RecordBatch, Error> {
        while let Some(next) = self.copies.front() {
            let rows = next.sorted_rows_before - self.taken;
            if rows >= batch.num_rows() as u64 {
                break;
            }
            self.push(batch.slice(0, rows as usize), plan)?;
            batch = batch.slice(rows as usize, batch.num_rows() - rows as usize);
            self.copy_next(observer)?;
        }
        Ok(batch)
    }

    /// Copies the next row group. Returns whether there was one.
    fn copy_next(&mut self, observer: &dyn Observer) -> Result<bool, Error> {
        let Some(copied) = self.copies.pop_front() else { return Ok(false) };
        if observer.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let Group { bytes, rows, .. } = copied.group;
        if self.open.as_ref().is_some_and(|(sink, _)| !sink.has_room(bytes)) {
            self.end_file()?;
        }
        if self.open.is_none() {
            self.begin_file()?;
        }
        let Some((sink, file)) = &mut self.open else { return Ok(false) };
        sink.copy(&copied)?;
        self.given += rows as u64;
        if sink.is_full(file.bytes(), self.files.part_bytes()) {
            self.end_file()?;
        }
        observer.advance(bytes);
        Ok(true)
    }

    fn give(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let rows = self.left.min(batch.num_rows() as u64);
        self.left -= rows;
        self.given += rows;
        let mut batch = batch.slice(0, rows as usize);
        while batch.num_rows() > 0 {
            if self.open.is_none() {
                self.begin_file()?;
            }
            let Some((sink, file)) = &mut self.open else { break };
            let rows = sink.push(&batch)?;
            batch = batch.slice(rows, batch.num_rows() - rows);
            if sink.is_full(file.bytes(), self.files.part_bytes()) {
                self.end_file()?;
            }
        }
        Ok(())
    }

    /// Returns the numbers of rows that came, that were given to files, and that these state.
    fn end(mut self) -> Result<(u64, u64, u64), Error> {
        if let Some(last) = self.groups.as_mut().map(Groups::end).transpose()?.flatten() {
            self.give(&last)?;
        }
        self.end_file()?;
        Ok((self.taken, self.given, self.stated))
    }
}

/// Returns the number of rows of a full row group, if the inputs are Parquet.
pub(crate) fn full_group_rows(options: &ColumnsOptions, inputs: &Inputs) -> usize {
    let largest = || inputs.groups().iter().map(|group| group.rows).max().unwrap_or(0);
    options.group_rows.unwrap_or_else(|| largest().max(GROUP_ROWS_MIN))
}

fn form(plan: &SortPlan, threads: usize, file_bytes: Option<u64>) -> Result<Form, Error> {
    let schema = plan.written_schema();
    let (format, codec) = (plan.options.output_format, plan.options.codec);
    match format {
        OutputFormat::Parquet => {}
        OutputFormat::ArrowFile | OutputFormat::ArrowStream => {
            return Ok(Form::Arrow(ArrowForm { format, schema, codec }));
        }
        OutputFormat::Rows(format, codec) => {
            let form = TextForm { format, has_header: plan.options.has_header, schema };
            let packing = CompressionThreads::of_budget(plan.memory.write_bytes, threads);
            return Ok(Form::Text(TextOutput {
                form,
                codec,
                threads,
                compression_threads: packing.threads,
            }));
        }
    }
    let not_written = |error: ParquetError| {
        Error::Settings(format!("the output can't be Parquet: {}", crate::inputs::words(&error)))
    };
    let (written, properties, group_rows) = match &plan.inputs {
        AnyInputs::Parquet(inputs, _) => {
            let written = inputs.written_schema(&plan.keys.leaves)?;
            let written = match plan.options.counts {
                true => with_count(&written, COUNT).map_err(not_written)?,
                false => written,
            };
            (written, properties(plan, inputs), full_group_rows(&plan.options, inputs))
        }
        AnyInputs::Arrow(_) | AnyInputs::Text(_) => {
            let group_rows = plan.options.group_rows.unwrap_or(GROUP_ROWS_MIN);
            let converted = ArrowSchemaConverter::new().convert(&schema).map_err(not_written)?;
            (converted.root_schema_ptr(), properties_of_arrow(plan, &schema), group_rows)
        }
    };
    Ok(Form::Parquet(OutputForm {
        written,
        schema,
        properties: Arc::new(properties),
        group_rows: group_rows.max(1),
        group_bytes: plan.memory.write_bytes - FileOutput::MEMORY_BYTES,
        file_bytes,
        threads,
    }))
}
