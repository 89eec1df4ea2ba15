//! The format of an input's rows.

use crate::split::Dialect;
use std::ffi::OsStr;
use std::path::Path;
use std::str::FromStr;
use thiserror::Error;

/// The format of an input's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// Fields with delimiters between them.
    Delimited(Dialect),
    /// A JSON value in each line (NDJSON, also called JSON Lines).
    Ndjson,
}

/// Suffixes of compressed files. The suffix of the format precedes them.
const COMPRESSED: [&str; 4] = ["gz", "bgz", "zst", "lz4"];

impl RowFormat {
    /// The format that a file's name says.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<RowFormat> {
        let extension =
            |path: &Path| path.extension().and_then(OsStr::to_str).map(str::to_lowercase);
        let outer = extension(path)?;
        let name = match COMPRESSED.contains(&&*outer) {
            true => extension(Path::new(path.file_stem()?))?,
            false => outer,
        };
        match &*name {
            "csv" => Some(RowFormat::Delimited(Dialect::CSV)),
            "tsv" | "tab" => Some(RowFormat::Delimited(Dialect::TSV)),
            "ndjson" | "jsonl" => Some(RowFormat::Ndjson),
            _ => None,
        }
    }
}

/// There is no format of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("csv, tsv or ndjson is wanted")]
pub struct NoFormat;

impl FromStr for RowFormat {
    type Err = NoFormat;

    fn from_str(name: &str) -> Result<RowFormat, NoFormat> {
        match name {
            "csv" => Ok(RowFormat::Delimited(Dialect::CSV)),
            "tsv" => Ok(RowFormat::Delimited(Dialect::TSV)),
            "ndjson" => Ok(RowFormat::Ndjson),
            _ => Err(NoFormat),
        }
    }
}
