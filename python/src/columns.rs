//! `xsort.sort_table` of files of columns: Parquet and Arrow.

use crate::errors::Failure;
use crate::job::Job;
use crate::output::Output;
use crate::reports::TableReport;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use xsort::Keys;
use xsort_columns::{Columns, ColumnsOptions, InputFormat, OutputFormat};

/// The format of the inputs, if they are files of columns: by its name, or by that of the first
/// input.
pub(crate) fn format_of(format: Option<&str>, inputs: &[PathBuf]) -> Option<InputFormat> {
    match format {
        Some("parquet") => Some(InputFormat::Parquet),
        Some("arrow") => Some(InputFormat::Arrow),
        Some(_) => None,
        None => inputs.first().and_then(|path| InputFormat::of_name(path)),
    }
}

/// A sort of files of columns by these keys.
pub(crate) fn columns(
    inputs: Vec<PathBuf>,
    format: InputFormat,
    output: &Output,
    by: &[String],
) -> Result<Columns, Failure> {
    let output = match output {
        Output::Path(path) => path,
        Output::Object(_) => Path::new(""),
    };
    let options = ColumnsOptions {
        input_format: format,
        output_format: OutputFormat::of_name(output, format),
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
