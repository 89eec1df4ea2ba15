//! `xsort.sort_table` of files of columns: Parquet and Arrow.

use crate::errors::Failure;
use crate::job::Job;
use crate::output::Output;
use crate::reports::TableReport;
use pyo3::prelude::*;
use std::path::PathBuf;
use xsort::{Dialect, Keys, RowFormat};
use xsort_columns::{Columns, ColumnsOptions, InputFormat, OutputFormat, parse_schema};

/// The format of the inputs, if they are files of columns, or rows of text that become columns by a
/// schema: by its name, or by that of the first input.
pub(crate) fn format_of(
    format: Option<&str>,
    inputs: &[PathBuf],
    (schema, output): (Option<&str>, &Output),
) -> Result<Option<InputFormat>, Failure> {
    let named = match format {
        Some("parquet") => Some(InputFormat::Parquet),
        Some("arrow") => Some(InputFormat::Arrow),
        Some(other) => other.parse().ok().map(InputFormat::Rows),
        None => inputs.first().and_then(|path| InputFormat::of_name(path)),
    };
    let Some(InputFormat::Rows(_)) = named else { return Ok(named) };
    let becomes_columns = !matches!(
        OutputFormat::of_name(output.path(), InputFormat::Rows(RowFormat::Ndjson)),
        OutputFormat::Rows(..)
    );
    match (schema, becomes_columns) {
        (Some(_), _) => Ok(named),
        (None, false) => Ok(None),
        (None, true) => {
            let what = "rows of text become Parquet and Arrow by a schema: schema=\"id:int64,...\"";
            Err(Failure::of_argument(what))
        }
    }
}

/// A sort of these inputs by these keys. Rows of text have a schema, and may have a delimiter and a
/// header.
pub(crate) fn columns(
    inputs: Vec<PathBuf>,
    format: InputFormat,
    output: &Output,
    by: &[String],
    (schema, delimiter, header): (Option<&str>, Option<&str>, bool),
) -> Result<Columns, Failure> {
    let input_format = match (format, delimiter.map(str::as_bytes)) {
        (InputFormat::Rows(RowFormat::Delimited(dialect)), Some(&[delimiter])) => {
            InputFormat::Rows(RowFormat::Delimited(Dialect { delimiter, ..dialect }))
        }
        (format, None) => format,
        _ => return Err(Failure::of_argument("a delimiter is one byte, and for csv and tsv")),
    };
    let options = ColumnsOptions {
        input_format,
        output_format: OutputFormat::of_name(output.path(), format),
        schema: schema.map(parse_schema).transpose().map_err(Failure::of_argument)?,
        has_header: header,
        ..ColumnsOptions::new(Keys(Vec::new()))
    };
    let mut columns = Columns::with_options(options, inputs);
    for keys in by {
        columns = columns.by(keys).map_err(Failure::of_argument)?;
    }
    Ok(columns)
}

/// Runs the sort, and returns its report.
pub(crate) fn run(
    py: Python<'_>,
    columns: Columns,
    output: Output,
    job: Job,
) -> PyResult<TableReport> {
    let (report, notices) = match output {
        Output::Path(path) => job.run(py, move || columns.run(&path))?,
        Output::Object(mut object) => job.run(py, move || columns.write_to(&mut object))?,
    };
    Ok(TableReport::new(report, notices))
}

/// Refuses arguments that only rows of text have: whether each was given, and its name.
pub(crate) fn refuse(arguments: &[(bool, &str)]) -> Result<(), Failure> {
    match arguments.iter().find(|&&(is_given, _)| is_given) {
        None => Ok(()),
        Some((_, name)) => {
            let text = format!("{name}: for rows of text, not for Parquet and Arrow");
            Err(Failure::of_argument(text))
        }
    }
}
