//! `xsort.sorted_batches`: Arrow in, Arrow out.

use crate::amounts::{self, Size, Whole};
use crate::arguments::{optional_paths, texts};
use crate::arrow_capsules::{batch_capsules, schema_capsule, stream_capsule};
use crate::arrow_input::ArrowInput;
use crate::batch_pump::BatchPump;
use crate::errors::Failure;
use crate::job::Job;
use crate::reports::BatchesReport;
use crate::resources::resources;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use parking_lot::Mutex;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::sync::Arc;
use xsort_arrow::BatchSorter;

/// Sorts Arrow data by columns, stably: a stream in, a stream out, in any number of rows.
///
/// `batches` is anything with `__arrow_c_stream__` or `__arrow_c_array__` (a table, a reader or a
/// batch of pyarrow, a frame of Polars or pandas, a relation of DuckDB), or an iterable of such.
/// `by` are columns, "NAME[:desc][:nulls-first]" each, or "#1" for the first one; nulls are the
/// last unless something else is said. `batch_rows` is how many rows a batch of the result has at
/// most. The other arguments are those of `sort`; scratch is the system's temporary directory,
/// unless given.
///
/// All input is read before this returns. The result is an iterator of batches, and a stream of
/// Arrow's: `pyarrow.table(result)`, `polars.DataFrame(result)`, `duckdb.sql("from result")`.
///
/// Raises xsort.Error; Unsuitable for columns that there are not, or that have no order.
#[pyfunction]
#[pyo3(signature = (batches, *, by, batch_rows=Whole::Number(65536), memory=None, threads=None,
    scratch=None, bandwidth_limit=None, progress=None))]
#[pyo3(text_signature = "(batches, *, by, batch_rows=65536, memory=None, threads=None, \
    scratch=None, bandwidth_limit=None, progress=None)")]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn sorted_batches(
    py: Python<'_>,
    batches: &Bound<'_, PyAny>,
    by: &Bound<'_, PyAny>,
    batch_rows: Whole,
    memory: Option<Size>,
    threads: Option<Whole>,
    scratch: Option<&Bound<'_, PyAny>>,
    bandwidth_limit: Option<Size>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<SortedBatches> {
    let (by, resources) = (texts(by)?, resources(memory, threads, bandwidth_limit)?);
    let batch_rows = amounts::batch_rows(&batch_rows)?;
    let scratch = scratch.map(|scratch| optional_paths(Some(scratch))).transpose()?;
    let job = Job::new(progress)?;
    let input = ArrowInput::new(batches)?;
    let schema = Arc::clone(&input.schema);
    let sorter = BatchSorter::new(Arc::clone(&schema)).by(by).map_err(Failure::from)?;
    let mut sorter = sorter
        .batch_rows(batch_rows)
        .resources(resources)
        .cancel(job.cancel())
        .callbacks(job.callbacks());
    if let Some(directories) = scratch {
        sorter = sorter.scratch(directories);
    }
    let sorting = sorter.start().map_err(Failure::from)?;
    let pump = BatchPump::start(py, input, sorting, job)?;
    Ok(SortedBatches { schema, pump: Arc::new(Mutex::new(pump)) })
}

/// Sorted batches: an iterator of them, and a stream of Arrow's. Its end means that exactly those
/// rows came out that were read.
///
/// Used as a context, it leaves nothing in memory and on scratch at the end.
#[pyclass(frozen, module = "xsort")]
pub(crate) struct SortedBatches {
    schema: SchemaRef,
    pump: Arc<Mutex<BatchPump>>,
}

#[pymethods]
impl SortedBatches {
    fn __iter__(slf: Py<SortedBatches>) -> Py<SortedBatches> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        Ok(next(py, &self.pump)?.map(Batch))
    }

    /// The batches that are left, as a stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows this request to be ignored.
        drop(requested_schema);
        let (schema, pump) = (Arc::clone(&self.schema), Arc::clone(&self.pump));
        stream_capsule(py, Stream { schema, pump })
    }

    /// The schema of all batches.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    /// What the sort did, behind the last batch; None before.
    #[getter]
    fn report(&self) -> Option<BatchesReport> {
        let pump = self.pump.try_lock()?;
        pump.report().map(|report| BatchesReport::new(report, pump.notices()))
    }

    /// Gives the sort up, if it isn't done.
    fn close(&self, py: Python<'_>) {
        if let Some(mut pump) = self.pump.try_lock() {
            pump.give_up(py);
        }
    }

    fn __enter__(slf: Py<SortedBatches>) -> Py<SortedBatches> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

fn next(py: Python<'_>, pump: &Mutex<BatchPump>) -> PyResult<Option<RecordBatch>> {
    let Some(mut pump) = pump.try_lock() else {
        let text = "another thread takes batches of this sort: only one can";
        return Err(Failure::of_argument(text).into());
    };
    pump.next(py)
}

/// A batch of rows: what `pyarrow.record_batch`, `polars.DataFrame` and others take.
#[pyclass(frozen, module = "xsort", name = "Batch")]
pub(crate) struct Batch(pub(crate) RecordBatch);

#[pymethods]
impl Batch {
    /// How many rows it has.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    /// How many columns it has.
    #[getter]
    fn num_columns(&self) -> usize {
        self.0.num_columns()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("Batch(num_rows={}, num_columns={})", self.num_rows(), self.num_columns())
    }

    /// Its schema and its columns.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        batch_capsules(py, &self.0)
    }

    /// Its schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema())
    }
}

/// The remaining batches, for readers that don't use Python.
struct Stream {
    schema: SchemaRef,
    pump: Arc<Mutex<BatchPump>>,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        Python::attach(|py| {
            let batch = next(py, &self.pump).map_err(|error| {
                let text = error.value(py).to_string();
                if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                    // The reader turns this into its own error. So Python is interrupted again,
                    // once its code runs on.
                    if let Ok(thread) = py.import("_thread") {
                        drop(thread.call_method0("interrupt_main"));
                    }
                }
                ArrowError::ExternalError(text.into())
            });
            batch.transpose()
        })
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
