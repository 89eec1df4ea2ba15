//! `xsort.sort_table`.

use crate::amounts::{Size, Whole};
use crate::arguments::{Merge, optional_paths, path, paths, texts, within_of};
use crate::columns;
use crate::errors::Failure;
use crate::job::Job;
use crate::output::Output;
use crate::reports::TableReport;
use crate::resources::resources;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use xsort::{BestRow, Dialect, Keep, OnBad, Place, Resources, Table};
use xsort_columns::{Columns, InputFormat};

/// Sorts the rows of CSV, TSV, NDJSON, Parquet or Arrow files by typed columns, stably.
///
/// `by` are keys, "COLUMN[:TYPE][:desc][:nulls-first]" each: "date:date:desc", "amount:num",
/// "#3:int", or a path of JSON, ".user.id:int". `format` is "csv", "tsv", "ndjson", "parquet" or
/// "arrow"; without it, the first input's name says it. `delimiter` is the byte between fields.
/// Without a `header` the first row is a row as any other, and columns have numbers only. `unique`
/// keeps the "first" or the "last" of rows with equal keys; `keep` keeps the one with the largest
/// or the smallest value in a column: "max:updated:datetime", "min:price:num". `top` is how many
/// rows are written. With `merge=True` each input is in order already: they are merged, and one
/// that isn't in order is an error. With `merge="any"` all are sorted then. `on_bad` says what
/// becomes of rows whose values aren't of their type: "error", or they come "first" or "last".
///
/// `sorted_by` says that the rows are in the order of the first keys, which it repeats. `within`
/// says that they are nearly in order: by how many rows one may come late (1000, "100k"), or by
/// which time its first key may be late: a time, a date or a number of seconds ("10m"). Rows then
/// leave as soon as no other can come before them. `late` is a path for rows that come later;
/// without it they are errors.
///
/// Parquet and Arrow are written as the first input is, in the format that the output's name says.
/// They have no `delimiter`, `header`, `on_bad`, `sorted_by`, `within` and `late`. Rows of text
/// become columns by a `schema`, "id:int64,ts:timestamp[us]".
///
/// Inputs may be compressed (gzip, Zstandard, LZ4); an output whose name ends in .gz, .zst or .lz4
/// is. `output` is a path, which appears whole or not at all and may be one of the inputs, or an
/// object with `write` that takes bytes. The other arguments are those of `sort`.
///
/// Raises xsort.Error; Unsuitable for keys and columns that there are not.
#[pyfunction]
#[pyo3(signature = (inputs, output, *, by, format=None, delimiter=None, header=true, unique=None,
    keep=None, schema=None, top=None, merge=None, on_bad="error", sorted_by=None, within=None,
    late=None, memory=None, threads=None, scratch=None, bandwidth_limit=None, verify_output=false,
    progress=None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn sort_table(
    py: Python<'_>,
    inputs: &Bound<'_, PyAny>,
    output: &Bound<'_, PyAny>,
    by: &Bound<'_, PyAny>,
    format: Option<&str>,
    delimiter: Option<&str>,
    header: bool,
    unique: Option<&str>,
    keep: Option<&str>,
    schema: Option<&str>,
    top: Option<u64>,
    merge: Option<Merge>,
    on_bad: &str,
    sorted_by: Option<&Bound<'_, PyAny>>,
    within: Option<&Bound<'_, PyAny>>,
    late: Option<&Bound<'_, PyAny>>,
    memory: Option<Size>,
    threads: Option<Whole>,
    scratch: Option<&Bound<'_, PyAny>>,
    bandwidth_limit: Option<Size>,
    verify_output: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<TableReport> {
    let (output, inputs, by) = (Output::new(output)?, paths(inputs)?, texts(by)?);
    let (unique, best) = kept(unique, keep)?;
    let merge = Merge::must_be_in_order(merge.as_ref())?;
    let (job, resources) = (Job::new(progress)?, resources(memory, threads, bandwidth_limit)?);
    let resources = Resources { verify_output, ..resources };
    let is_known = sorted_by.is_some() || within.is_some() || late.is_some();
    if let Some(format) = columns::format_of(format, &inputs, (schema, &output))? {
        let is_text = matches!(format, InputFormat::Rows(_));
        columns::refuse(&[
            (delimiter.is_some() && !is_text, "delimiter"),
            (!header && !is_text, "header"),
            (on_bad != "error", "on_bad"),
            (is_known, "sorted_by, within and late"),
            (verify_output, "verify_output"),
        ])?;
        let columns = columns::columns(inputs, format, &output, &by, (schema, delimiter, header))?
            .when(merge == Some(true), Columns::merge)
            .resources(resources)
            .scratch(optional_paths(scratch)?)
            .cancel(job.cancel())
            .callbacks(job.callbacks());
        let columns = unique.into_iter().fold(columns, Columns::unique);
        let columns = best.into_iter().fold(columns, Columns::keep);
        return columns::run(py, top.into_iter().fold(columns, Columns::top), output, job);
    }
    let mut table = of_format(inputs, format, delimiter)?;
    for keys in by {
        table = table.by(&keys).map_err(Failure::of_argument)?;
    }
    table = table.when(!header, Table::without_header);
    table = unique.into_iter().fold(table, Table::unique);
    table = best.into_iter().fold(table, Table::keep);
    table = top.into_iter().fold(table, Table::top);
    table = table.when(merge == Some(true), Table::merge);
    table = table.when(merge == Some(false), Table::merge_or_sort);
    table = as_it_comes(table.on_bad(on_bad_value(on_bad)?), sorted_by, within, late)?;
    table = table.scratch(optional_paths(scratch)?);
    let table = table.resources(resources).cancel(job.cancel()).callbacks(job.callbacks());
    let (report, notices) = match output {
        Output::Path(path) => job.run(py, move || table.run(&path))?,
        Output::Object(mut object) => job.run(py, move || table.write_to(&mut object))?,
    };
    Ok(TableReport::new(report, notices))
}

/// The table, with what is known of its order.
fn as_it_comes(
    mut table: Table,
    sorted_by: Option<&Bound<'_, PyAny>>,
    within: Option<&Bound<'_, PyAny>>,
    late: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    for keys in sorted_by.map_or_else(|| Ok(Vec::new()), texts)? {
        table = table.sorted_by(&keys).map_err(Failure::of_argument)?;
    }
    if let Some(within) = within {
        table = table.within(within_of(within)?);
    }
    Ok(match late {
        Some(file) => table.late(path(file)?),
        None => table,
    })
}

/// A table in this format, or in the format that the first input's name shows.
fn of_format(
    inputs: Vec<PathBuf>,
    format: Option<&str>,
    delimiter: Option<&str>,
) -> Result<Table, Failure> {
    let (table, dialect) = match format.unwrap_or_else(|| format_of(inputs.first())) {
        "csv" => (Table::csv(inputs), Some(Dialect::CSV)),
        "tsv" => (Table::tsv(inputs), Some(Dialect::TSV)),
        "ndjson" => (Table::ndjson(inputs), None),
        name => {
            let text =
                format!("there is no format '{name}': use csv, tsv, ndjson, parquet or arrow");
            return Err(Failure::of_argument(text));
        }
    };
    match (delimiter.map(str::as_bytes), dialect) {
        (None, _) => Ok(table),
        (Some(&[delimiter]), Some(dialect)) => Ok(table.dialect(Dialect { delimiter, ..dialect })),
        (Some(_), None) => Err(Failure::of_argument("values of JSON have no delimiter")),
        (Some(_), Some(_)) => Err(Failure::of_argument("a delimiter is one byte")),
    }
}

/// The format that a name ends in, after removing the ending of a compression; CSV by default.
fn format_of(input: Option<&PathBuf>) -> &'static str {
    let Some(name) = input.and_then(|path| path.file_name()) else { return "csv" };
    let mut name = Path::new(name);
    let ending = |name: &Path| name.extension().map(|ending| ending.to_string_lossy().into_owned());
    if matches!(ending(name).as_deref(), Some("gz" | "zst" | "lz4")) {
        name = Path::new(name.file_stem().unwrap_or_default());
    }
    match ending(name).as_deref() {
        Some("tsv" | "tab") => "tsv",
        Some("ndjson" | "jsonl") => "ndjson",
        _ => "csv",
    }
}

/// Which of several rows with equal keys is kept, by one argument or the other.
fn kept(
    unique: Option<&str>,
    keep: Option<&str>,
) -> Result<(Option<Keep>, Option<BestRow>), Failure> {
    let unique = unique.map(which).transpose()?;
    let best = keep.map(str::parse::<BestRow>).transpose().map_err(Failure::of_argument)?;
    match best.is_some() && unique.is_some() {
        false => Ok((unique, best)),
        true => Err(Failure::of_argument("keep says which row stays: leave unique out")),
    }
}

fn which(word: &str) -> Result<Keep, Failure> {
    match word {
        "first" => Ok(Keep::First),
        "last" => Ok(Keep::Last),
        _ => Err(Failure::of_argument("unique is \"first\" or \"last\"")),
    }
}

fn on_bad_value(word: &str) -> Result<OnBad, Failure> {
    match word {
        "error" => Ok(OnBad::Refuse),
        "first" => Ok(OnBad::Put(Place::First)),
        "last" => Ok(OnBad::Put(Place::Last)),
        _ => Err(Failure::of_argument("on_bad is \"error\", \"first\" or \"last\"")),
    }
}
