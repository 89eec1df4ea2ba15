//! `xsort.verify`.

use crate::amounts::{Size, Whole};
use crate::arguments::{Record, key_fields, layout, named, optional_paths, paths};
use crate::errors::Failure;
use crate::job::Job;
use crate::reports::Verdict;
use crate::resources::resources;
use pyo3::prelude::*;
use xsort::{Prefix, Verify};

/// Checks files of records, as one sequence: order, duplicates, count and checksum; with `against`,
/// also whether those files have the same records.
///
/// The result is true if all is well. Disorder is a verdict, not an error. The other arguments are
/// those of `sort`.
///
/// Raises xsort.Error.
#[pyfunction]
#[pyo3(signature = (files, *, against=None, format=None, record=None, key=None, memory=None,
    threads=None, bandwidth_limit=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn verify(
    py: Python<'_>,
    files: &Bound<'_, PyAny>,
    against: Option<&Bound<'_, PyAny>>,
    format: Option<&str>,
    record: Option<Record>,
    key: Option<&Bound<'_, PyAny>>,
    memory: Option<Size>,
    threads: Option<Whole>,
    bandwidth_limit: Option<Size>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Verdict> {
    let mut verify = Verify::files(paths(files)?).against(optional_paths(against)?);
    let layout = match record {
        Some(Record::Prefixed(_)) if format.is_some() => {
            return Err(Failure::of_argument("format and record exclude each other").into());
        }
        Some(Record::Prefixed(prefix)) => {
            verify = verify.prefixed(named::<Prefix>(&prefix)?, key_fields(key)?);
            None
        }
        Some(Record::Bytes(bytes)) => layout(format, Some(bytes), key)?,
        None => layout(format, None, key)?,
    };
    if let Some(layout) = layout {
        verify = verify.layout(layout);
    }
    let job = Job::new(progress)?;
    let resources = resources(memory, threads, bandwidth_limit)?;
    let verify = verify.resources(resources).cancel(job.cancel()).callbacks(job.callbacks());
    let (verdict, notices) = job.run(py, move || verify.run())?;
    Ok(Verdict::new(&verdict, notices))
}
