//! `xsort.generate`.

use crate::amounts::{Size, Whole};
use crate::arguments::{named, path};
use crate::job::Job;
use crate::reports::GenerateReport;
use crate::resources::resources;
use pyo3::prelude::*;
use xsort::{Format, Generate, Pattern, Resources};

/// Writes a file of so many records of the Sort Benchmark or another format ("gensort",
/// "gensort-ascii", "kv128", "block4k").
///
/// `pattern` says how keys are distributed: "uniform", "sorted", "reversed", "equal", "few", "zipf"
/// or "heavy". Other seeds give other records; 0 gives those of gensort. The other arguments are
/// those of `sort`. The file appears whole or not at all.
///
/// Raises xsort.Error.
#[pyfunction]
#[pyo3(signature = (records, output, *, format="gensort", pattern="uniform", seed=0, memory=None,
    threads=None, bandwidth_limit=None, verify_output=false, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn generate(
    py: Python<'_>,
    records: u64,
    output: &Bound<'_, PyAny>,
    format: &str,
    pattern: &str,
    seed: u64,
    memory: Option<Size>,
    threads: Option<Whole>,
    bandwidth_limit: Option<Size>,
    verify_output: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<GenerateReport> {
    let output = path(output)?;
    let generate = Generate::records(records)
        .format(named::<Format>(format)?)
        .pattern(named::<Pattern>(pattern)?)
        .seed(seed);
    let job = Job::new(progress)?;
    let resources = resources(memory, threads, bandwidth_limit)?;
    let generate = generate
        .resources(Resources { verify_output, ..resources })
        .cancel(job.cancel())
        .callbacks(job.callbacks());
    let (report, notices) = job.run(py, move || generate.run(&output))?;
    Ok(GenerateReport::new(&report, notices))
}
