//! `BatchDigester`: keys and sums of batches for sorts on many machines.

use crate::arguments::texts;
use crate::arrow_capsules::batch_of;
use crate::errors::Failure;
use crate::sorted_batches::Batch;
use arrow_array::RecordBatch;
use pyo3::prelude::*;
use std::sync::Arc;

/// Keys and sums of batches like this one, which may be empty, in the order of `by`.
#[pyclass(frozen, name = "_BatchDigester", module = "xsort")]
pub(crate) struct BatchDigester(xsort_arrow::BatchDigester);

fn batch(object: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    Ok(batch_of(object)?.ok_or_else(|| Failure::of_argument("no batch of Arrow's"))?)
}

#[pymethods]
impl BatchDigester {
    #[new]
    fn new(like: &Bound<'_, PyAny>, by: &Bound<'_, PyAny>) -> PyResult<BatchDigester> {
        let digester = xsort_arrow::BatchDigester::new(batch(like)?.schema(), texts(by)?);
        Ok(BatchDigester(digester.map_err(Failure::from)?))
    }

    /// The columns of keys, and what makes the same keys of batches that have only these.
    fn of_keys(&self) -> PyResult<(Vec<usize>, BatchDigester)> {
        let (columns, digester) = self.0.of_keys().map_err(Failure::from)?;
        Ok((columns, BatchDigester(digester)))
    }

    /// A batch of one column, with the keys; whether they ascend; the sum of all rows.
    fn digest(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<(Batch, bool, u128)> {
        let rows = batch(rows)?;
        let digest = py.detach(|| self.0.digest(&rows)).map_err(Failure::from)?;
        let keys = RecordBatch::try_from_iter([("key", Arc::new(digest.keys) as _)]);
        let keys = keys.map_err(Failure::of_argument)?;
        Ok((Batch(keys), digest.is_sorted, digest.sum))
    }
}
