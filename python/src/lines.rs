//! `xsort.sort_lines`.

use crate::amounts::{Size, Whole};
use crate::arguments::{optional_paths, path, paths, texts, within_of, words};
use crate::job::Job;
use crate::output::Output;
use crate::reports::LinesReport;
use crate::resources::resources;
use pyo3::prelude::*;
use xsort::{Lines, Resources};

/// Sorts lines of text in GNU sort's orders.
///
/// `key` are GNU sort's options that say how lines compare and which are wanted, as one text
/// ("-t, -k2,2n -u") or as a list of words. Without it whole lines compare by their bytes. With
/// `locale=True` text compares by the rules of the environment's locale (LC_ALL and the like).
///
/// `sorted_by` says that the lines are in the order of the first keys, which it repeats (["1,1n"]).
/// `within` says that they are nearly in order: by how many lines one may come late (1000, "100k"),
/// or by which time its first key may be late, a number of seconds ("10m"). Lines then leave as
/// soon as no other can come before them. `late` is a path for lines that come later; without it
/// they are errors.
///
/// `inputs` is a path, an open file or pipe, or several of them. `output` is a path, which appears
/// whole or not at all and may be one of the inputs, or an object with `write` that takes bytes.
/// The other arguments are those of `sort`.
///
/// Raises xsort.Error; Unsuitable for an option that GNU sort refuses.
#[pyfunction]
#[pyo3(signature = (inputs, output, *, key=None, locale=false, sorted_by=None, within=None,
    late=None, memory=None, threads=None, scratch=None, bandwidth_limit=None, verify_output=false,
    progress=None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn sort_lines(
    py: Python<'_>,
    inputs: &Bound<'_, PyAny>,
    output: &Bound<'_, PyAny>,
    key: Option<&Bound<'_, PyAny>>,
    locale: bool,
    sorted_by: Option<&Bound<'_, PyAny>>,
    within: Option<&Bound<'_, PyAny>>,
    late: Option<&Bound<'_, PyAny>>,
    memory: Option<Size>,
    threads: Option<Whole>,
    scratch: Option<&Bound<'_, PyAny>>,
    bandwidth_limit: Option<Size>,
    verify_output: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<LinesReport> {
    let output = Output::new(output)?;
    let mut lines = Lines::files(paths(inputs)?);
    for word in key.map_or_else(|| Ok(Vec::new()), words)? {
        lines = lines.argument(word);
    }
    if locale {
        lines = lines.locale_of_environment();
    }
    for keys in sorted_by.map_or_else(|| Ok(Vec::new()), texts)? {
        lines = lines.sorted_by(&keys);
    }
    if let Some(within) = within {
        lines = lines.within(within_of(within)?);
    }
    if let Some(file) = late {
        lines = lines.late(path(file)?);
    }
    if scratch.is_some() {
        lines = lines.scratch(optional_paths(scratch)?);
    }
    let job = Job::new(progress)?;
    let resources = resources(memory, threads, bandwidth_limit)?;
    let lines = lines
        .resources(Resources { verify_output, ..resources })
        .cancel(job.cancel())
        .callbacks(job.callbacks());
    let (report, notices) = match output {
        Output::Path(path) => job.run(py, move || lines.run(&path))?,
        Output::Object(mut object) => job.run(py, move || lines.write_to(&mut object))?,
    };
    Ok(LinesReport::new(&report, notices))
}
