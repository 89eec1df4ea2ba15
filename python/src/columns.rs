//! `xsort.sort_table` of files of columns: Parquet and Arrow.

use crate::errors::Failure;
use crate::output::Output;
use std::path::{Path, PathBuf};
use xsort_columns::{Columns, ColumnsOptions, InputFormat, OutputFormat};
use xsort_table::Keys;

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

/// Refuses arguments that only rows of text have: whether each was given, and its name.
pub(crate) fn refuse(arguments: &[(bool, &str)]) -> Result<(), Failure> {
    match arguments.iter().find(|&&(is_given, _)| is_given) {
        None => Ok(()),
        Some((_, name)) => {
            let text = format!("{name} is for rows of text, not for Parquet and Arrow");
            Err(Failure::of_argument(text))
        }
    }
}
