//! The format of files of columns, by an option, their names or their first bytes.

use super::table_format::table_format_of_name;
use crate::args::{TableArgs, TableFormat};
use crate::exit::Failure;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use xsort_disk::{DisplayPath, is_url};

/// The format of the inputs if they are files of columns: by the option, by their names, or by
/// their first bytes where the names say nothing.
pub(super) fn format_of(
    format: Option<TableFormat>,
    files: &[PathBuf],
) -> Result<Option<TableFormat>, Failure> {
    if let Some(format) = format {
        return Ok(columns_of(format));
    }
    let of_file = |path: &PathBuf| match table_format_of_name(path) {
        Some(format) => columns_of(format),
        None => format_of_begin(path),
    };
    let Some(first) = files.first() else { return Ok(None) };
    let format = of_file(first);
    let Some(other) = files.iter().find(|path| of_file(path) != format) else {
        return Ok(format);
    };
    Err(Failure::Usage(format!(
        "{} is of another format than {}: sort files of one format together",
        DisplayPath(other),
        DisplayPath(first)
    )))
}

/// The formats of the inputs and of the output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Formats {
    pub(super) input: TableFormat,
    pub(super) output: TableFormat,
}

impl Formats {
    /// True if the output is of another format than the inputs.
    pub(super) fn is_conversion(self) -> bool {
        self.input != self.output
    }
}

fn columns_of(format: TableFormat) -> Option<TableFormat> {
    Some(format).filter(|format| !matches!(format, TableFormat::Rows(_)))
}

/// The format that the first bytes of a regular file are of.
fn format_of_begin(path: &Path) -> Option<TableFormat> {
    // Opening a pipe or a device may wait, or have effects.
    if is_url(path) || !path.metadata().is_ok_and(|found| found.is_file()) {
        return None;
    }
    let mut begin = [0; 6];
    File::open(path).and_then(|mut file| file.read_exact(&mut begin)).ok()?;
    match &begin {
        [b'P', b'A', b'R', b'1', ..] => Some(TableFormat::Parquet),
        b"ARROW1" => Some(TableFormat::Arrow),
        _ => None,
    }
}

/// Refuses options of columns where rows are text.
pub(super) fn refuse_for_rows(args: &TableArgs) -> Result<(), Failure> {
    let refuse = |what: &str| Err(Failure::Usage(what.into()));
    if args.compression.is_some() || args.row_group_size.is_some() {
        return refuse(
            "--compression and --row-group-size are for Parquet and Arrow: a name in .gz, .lz4 or \
             .zst compresses rows of text",
        );
    }
    match args.schema.is_some() || args.infer {
        false => Ok(()),
        true => refuse(
            "--schema and --infer are for an output of another format than the inputs: else rows \
             of text keep their bytes",
        ),
    }
}
