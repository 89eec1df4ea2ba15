//! `xsort.du`.

use crate::amounts::{self, Whole};
use crate::arguments::paths;
use crate::errors::Failure;
use crate::job::Job;
use crate::reports::TreeUsage;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use xsort::Du;

/// Counts the disk usage of trees, with GNU du's figures, in parallel.
///
/// `top` also lists so many of the directories that take the most space. `one_file_system` leaves
/// out what lies on other file systems than the trees' roots. What can't be accessed is left out,
/// and listed in the result's `errors`.
#[pyfunction]
#[pyo3(signature = (trees, *, top=0, one_file_system=false, threads=None))]
pub(crate) fn du(
    py: Python<'_>,
    trees: &Bound<'_, PyAny>,
    top: usize,
    one_file_system: bool,
    threads: Option<Whole>,
) -> PyResult<TreeUsage> {
    let job = Job::new(None)?;
    let mut du = Du::trees(paths(trees)?).top(top).cancel(job.cancel());
    if one_file_system {
        du = du.one_file_system();
    }
    if let Some(threads) = amounts::threads(threads)?.and_then(NonZeroUsize::new) {
        du = du.threads(threads);
    }
    let (usage, _) = job.run(py, move || Ok::<_, Failure>(du.run()))?;
    Ok(TreeUsage::new(usage))
}
