//! What is decided before columns are read: the inputs, the columns to sort by, the memory.

use crate::errors::of_arrow;
use crate::groups::{COUNT, counted};
use crate::inputs::{Decoder, Inputs};
use crate::keys::FoundKeys;
use crate::options::ColumnsOptions;
use crate::order_check::OrderCheck;
use crate::plan::MemoryPlan;
use crate::reading::Reading;
use arrow_schema::{Schema, SchemaRef};
use std::path::PathBuf;
use std::sync::Arc;
use xsort::Job;
use xsort_arrow::{BatchDigester, SortColumn};
use xsort_extsort::Error;

/// The decisions.
pub(crate) struct SortPlan {
    pub(crate) options: ColumnsOptions,
    pub(crate) inputs: Inputs,
    pub(crate) keys: FoundKeys,
    pub(crate) memory: MemoryPlan,
    pub(crate) decoders: Vec<Decoder>,
    /// The schema of the batches, and the columns to sort by in it.
    pub(crate) schema: SchemaRef,
    pub(crate) by: Vec<SortColumn>,
}

impl SortPlan {
    pub(crate) fn new(
        paths: &[PathBuf],
        options: &ColumnsOptions,
        job: &Job,
    ) -> Result<SortPlan, Error> {
        if options.keys.0.is_empty() && options.shuffle.is_none() {
            return Err(Error::Settings("there is no key to sort by".into()));
        }
        let inputs = Inputs::open(paths, job)?;
        if options.counts && inputs.schema.fields().iter().any(|field| field.name() == COUNT) {
            let what = "the inputs have a column 'count': rename it, or leave --count out";
            return Err(Error::Settings(what.into()));
        }
        let keys = FoundKeys::find(&options.keys, &inputs)?;
        let memory = MemoryPlan::new(&inputs, job.data_bytes(), job.threads())
            .map_err(|error| job.total_from_data(error))?;
        let decoders = inputs.decoders(&keys.leaves)?;
        let schema = Arc::new(decoders[0].schema().clone());
        let by = keys.of_batches(&schema)?;
        Ok(SortPlan { options: options.clone(), inputs, keys, memory, decoders, schema, by })
    }

    /// Starts the threads that decode.
    pub(crate) fn start_reading(&self) -> Result<Reading, Error> {
        Reading::start(self.decoders.clone(), self.inputs.groups(), self.memory.read.clone())
    }

    /// Returns what builds the keys of batches.
    pub(crate) fn digester(&self) -> Result<BatchDigester, Error> {
        BatchDigester::by_columns(Arc::clone(&self.schema), self.by.clone()).map_err(of_arrow)
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
