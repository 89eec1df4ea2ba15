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
) -> Result<Option<ColumnFormat>, Failure> {
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

/// A format of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnFormat {
    Parquet,
    Arrow,
}

fn columns_of(format: TableFormat) -> Option<ColumnFormat> {
    match format {
        TableFormat::Rows(_) => None,
        TableFormat::Parquet => Some(ColumnFormat::Parquet),
        TableFormat::Arrow => Some(ColumnFormat::Arrow),
    }
}

/// The format that the first bytes of a regular file are of.
fn format_of_begin(path: &Path) -> Option<ColumnFormat> {
    // Opening a pipe or a device may wait, or have effects.
    if is_url(path) || !path.metadata().is_ok_and(|found| found.is_file()) {
        return None;
    }
    let mut begin = [0; 6];
    File::open(path).and_then(|mut file| file.read_exact(&mut begin)).ok()?;
    match &begin {
        [b'P', b'A', b'R', b'1', ..] => Some(ColumnFormat::Parquet),
        b"ARROW1" => Some(ColumnFormat::Arrow),
        _ => None,
    }
}

/// Refuses options of columns where rows are text.
pub(super) fn refuse_for_rows(args: &TableArgs) -> Result<(), Failure> {
    match args.compression.is_some() || args.row_group_size.is_some() {
        false => Ok(()),
        true => Err(Failure::Usage(
            "--compression and --row-group-size are for Parquet and Arrow: a name in .gz, .lz4 or \
             .zst compresses rows of text"
                .into(),
        )),
    }
}
