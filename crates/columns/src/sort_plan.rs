//! What is decided before columns are read: the inputs, the columns to sort by, the memory.

use crate::arrow_inputs::{ArrowInputs, OpenStdin};
use crate::arrow_reading::ArrowReading;
use crate::copied::Copies;
use crate::curves::FoundCurve;
use crate::derived::with_columns;
use crate::errors::of_arrow;
use crate::groups::{COUNT, counted};
use crate::inputs::{Decoder, Inputs};
use crate::keys::FoundKeys;
use crate::leaves;
use crate::options::{ColumnsOptions, InputFormat, OutputFormat};
use crate::order_check::OrderCheck;
use crate::parquet_types::{batch_in_parquet, schema_in_parquet};
use crate::plan::MemoryPlan;
use crate::reading::Reading;
use crate::source::{InputBatch, Source};
use crate::text_reading::{TextForm, TextInputs, TextReading};
use crate::text_schema::refuse_deep;
use arrow_schema::{DataType, Schema, SchemaRef, SortOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort::Job;
use xsort_arrow::{BatchDigester, SortColumn};
use xsort_extsort::Error;
use xsort_extsort::lines::LinesInput;
use xsort_table::RowFormat;

/// The decisions.
pub(crate) struct SortPlan {
    pub(crate) options: ColumnsOptions,
    pub(crate) inputs: AnyInputs,
    pub(crate) keys: FoundKeys,
    pub(crate) memory: MemoryPlan,
    /// The schema of the batches that are read and written.
    pub(crate) schema: SchemaRef,
    /// The same with the columns that are derived, and the columns to sort by in it.
    pub(crate) sorted_schema: SchemaRef,
    pub(crate) by: Vec<SortColumn>,
    /// Row groups that are not sorted.
    pub(crate) copies: Copies,
    pub(crate) threads: usize,
}

/// Batches with the types that Parquet has.
struct InParquet {
    from: ArrowReading,
    schema: SchemaRef,
}

impl Source for InParquet {
    fn next(&mut self) -> Result<Option<InputBatch>, Error> {
        let Some(batch) = self.from.next()? else { return Ok(None) };
        let rows = batch_in_parquet(&batch.rows, &self.schema).map_err(Error::Settings)?;
        Ok(Some(InputBatch { rows, ..batch }))
    }
}

/// Inputs of one format.
pub(crate) enum AnyInputs {
    Parquet(Inputs, Vec<Decoder>),
    Arrow(ArrowInputs),
    Text(TextInputs),
}

/// What inputs are read from, where that isn't their paths.
pub(crate) struct Opened<'s> {
    pub(crate) stdin: OpenStdin<'s>,
    /// Rows of text.
    pub(crate) texts: Vec<LinesInput>,
}

impl SortPlan {
    pub(crate) fn new(
        paths: &[PathBuf],
        options: &ColumnsOptions,
        job: &Job,
        opened: Opened<'_>,
    ) -> Result<SortPlan, Error> {
        if options.keys.0.is_empty() && options.shuffle.is_none() {
            return Err(Error::Settings("there is no key to sort by".into()));
        }
        options.check()?;
        let plan = match options.input_format {
            InputFormat::Parquet => of_parquet(paths, options, job),
            InputFormat::Arrow => of_arrow_inputs(paths, options, job, opened.stdin),
            InputFormat::Rows(format) => of_text(paths, options, job, (format, opened.texts)),
        };
        plan.map_err(|error| job.total_from_data(error))
    }

    /// A plan with the columns that are derived.
    fn of(
        options: &ColumnsOptions,
        job: &Job,
        inputs: AnyInputs,
        (keys, mut memory, schema): (FoundKeys, MemoryPlan, SchemaRef),
    ) -> Result<SortPlan, Error> {
        let fields = schema.fields().len();
        let (sorted_schema, by) = match options.shuffle {
            Some(_) => {
                let sorted = with_columns(&schema, [DataType::UInt64]);
                let by = SortColumn::at(&sorted, &[fields], SortOptions::default());
                (sorted, vec![by.map_err(of_arrow)?])
            }
            None => {
                let sorted = with_columns(&schema, keys.derived_types());
                let by = keys.of_batches(&sorted, fields)?;
                (sorted, by)
            }
        };
        let ranks: u64 = keys.curves().map(FoundCurve::memory_bytes).sum();
        if sorted_schema.fields().len() > fields {
            // Batches that get more columns, and those that have them.
            memory.take_derived(ranks + memory.read.queue_bytes as u64)?;
        }
        let (options, threads) = (options.clone(), job.threads());
        let copies = Copies::default();
        Ok(SortPlan { options, inputs, keys, memory, schema, sorted_schema, by, copies, threads })
    }

    /// Starts the threads that decode.
    pub(crate) fn start_reading(&self) -> Result<Box<dyn Source>, Error> {
        let plan = &self.memory.read;
        Ok(match &self.inputs {
            AnyInputs::Parquet(inputs, decoders) => {
                let groups = self.copies.others(inputs.groups());
                Box::new(Reading::start(decoders.clone(), groups, plan.clone())?)
            }
            AnyInputs::Arrow(inputs) => {
                let reading = ArrowReading::start(inputs, self.threads, plan)?;
                match inputs.schema == self.schema {
                    true => Box::new(reading),
                    false => {
                        Box::new(InParquet { from: reading, schema: Arc::clone(&self.schema) })
                    }
                }
            }
            AnyInputs::Text(inputs) => {
                Box::new(TextReading::start(inputs, self.threads, self.memory.pieces)?)
            }
        })
    }

    /// Fails if an object has changed since its footer was read.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        match &self.inputs {
            AnyInputs::Parquet(inputs, _) => {
                inputs.all.iter().try_for_each(|input| input.file.check_unchanged())
            }
            AnyInputs::Arrow(inputs) => inputs.check_unchanged(),
            // Its reader does so itself.
            AnyInputs::Text(_) => Ok(()),
        }
    }

    /// Returns the number of bytes of all inputs; streams of unknown length have none.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.inputs {
            AnyInputs::Parquet(inputs, _) => inputs.bytes(),
            AnyInputs::Arrow(inputs) => inputs.all.iter().map(|input| input.bytes).sum(),
            AnyInputs::Text(inputs) => inputs.bytes,
        }
    }

    /// Returns the paths of all inputs.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let count = match &self.inputs {
            AnyInputs::Parquet(inputs, _) => inputs.all.len(),
            AnyInputs::Arrow(inputs) => inputs.all.len(),
            AnyInputs::Text(inputs) => inputs.paths.len(),
        };
        (0..count).map(|input| self.path(input).to_owned()).collect()
    }

    /// Returns the number of bytes that are not copied.
    pub(crate) fn sorted_bytes(&self) -> u64 {
        self.bytes().saturating_sub(self.copies.bytes())
    }

    /// Returns the path of an input.
    pub(crate) fn path(&self, input: usize) -> &Path {
        match &self.inputs {
            AnyInputs::Parquet(inputs, _) => &inputs.all[input].file.path,
            AnyInputs::Arrow(inputs) => &inputs.all[input].path,
            AnyInputs::Text(inputs) => &inputs.paths[input],
        }
    }

    /// Returns what builds the keys of batches.
    pub(crate) fn digester(&self) -> Result<BatchDigester, Error> {
        let schema = Arc::clone(&self.sorted_schema);
        BatchDigester::by_columns(schema, self.by.clone()).map_err(of_arrow)
    }

    /// Returns what builds the keys by which rows are equal.
    pub(crate) fn group_digester(&self) -> Result<BatchDigester, Error> {
        let count = self.options.unique_keys.unwrap_or(self.by.len());
        let by = self.by[..count].to_vec();
        BatchDigester::by_columns(Arc::clone(&self.sorted_schema), by).map_err(of_arrow)
    }

    /// Returns a check of the order of rows. If it is strict, no two may be equal.
    pub(crate) fn order_check(&self, is_strict: bool) -> Result<OrderCheck, Error> {
        Ok(OrderCheck::new(self.digester()?, is_strict))
    }

    /// Returns the schema of the batches that are written.
    pub(crate) fn written_schema(&self) -> SchemaRef {
        let schema: &Schema = &self.schema;
        if self.options.counts { Arc::new(counted(schema)) } else { Arc::clone(&self.schema) }
    }
}

fn of_parquet(paths: &[PathBuf], options: &ColumnsOptions, job: &Job) -> Result<SortPlan, Error> {
    let inputs = Inputs::open(paths, job)?;
    refuse_count(options, &inputs.schema)?;
    let keys = FoundKeys::find(&options.keys, &inputs.schema, Some(inputs.first().descriptor()))?;
    let memory = MemoryPlan::new(&inputs, job.data_bytes(), job.threads())?;
    let decoders = match options.output_format {
        OutputFormat::Parquet => inputs.decoders(&keys.leaves)?,
        OutputFormat::ArrowFile | OutputFormat::ArrowStream | OutputFormat::Rows(..) => {
            inputs.decoders_to_arrow()?
        }
    };
    let schema = Arc::clone(decoders[0].metadata.schema());
    SortPlan::of(options, job, AnyInputs::Parquet(inputs, decoders), (keys, memory, schema))
}

fn of_arrow_inputs(
    paths: &[PathBuf],
    options: &ColumnsOptions,
    job: &Job,
    stdin: OpenStdin<'_>,
) -> Result<SortPlan, Error> {
    let inputs = ArrowInputs::open(paths, job, stdin)?;
    let schema = match options.output_format {
        OutputFormat::Parquet => Arc::new(schema_in_parquet(&inputs.schema)),
        _ => Arc::clone(&inputs.schema),
    };
    refuse_count(options, &schema)?;
    let keys = FoundKeys::find(&options.keys, &schema, None)?;
    let leaves = leaves::range(schema.fields(), &[]).len();
    let (budget, threads) = (job.data_bytes(), job.threads());
    let memory = MemoryPlan::of_arrow(inputs.largest_batch(), leaves, budget, threads)?;
    SortPlan::of(options, job, AnyInputs::Arrow(inputs), (keys, memory, schema))
}

fn of_text(
    paths: &[PathBuf],
    options: &ColumnsOptions,
    job: &Job,
    (format, inputs): (RowFormat, Vec<LinesInput>),
) -> Result<SortPlan, Error> {
    let Some(schema) = options.schema.clone() else {
        return Err(Error::Settings("rows of text become columns by a schema: give one".into()));
    };
    refuse_count(options, &schema)?;
    refuse_deep(&schema)?;
    let nested = schema.fields().iter().find(|field| field.data_type().is_nested());
    if let (Some(field), RowFormat::Delimited(_)) = (nested, format) {
        let what =
            format!("column '{}': rows of csv and tsv have no lists and structs", field.name());
        return Err(Error::Settings(what));
    }
    let schema = match options.output_format {
        OutputFormat::Parquet => Arc::new(schema_in_parquet(&schema)),
        _ => schema,
    };
    let keys = FoundKeys::find(&options.keys, &schema, None)?;
    let leaves = leaves::range(schema.fields(), &[]).len();
    let threads = job.threads();
    let memory = MemoryPlan::of_text(leaves, job.data_bytes(), threads)?;
    let form = TextForm { format, has_header: options.has_header, schema: Arc::clone(&schema) };
    let inputs = AnyInputs::Text(TextInputs::new(inputs, paths, form));
    SortPlan::of(options, job, inputs, (keys, memory, schema))
}

fn refuse_count(options: &ColumnsOptions, schema: &Schema) -> Result<(), Error> {
    if options.counts && schema.fields().iter().any(|field| field.name() == COUNT) {
        let what = "the inputs have a column 'count': rename it, or leave --count out";
        return Err(Error::Settings(what.into()));
    }
    Ok(())
}
