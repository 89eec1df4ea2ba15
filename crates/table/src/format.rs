//! The format of an input's rows.

use crate::split::Dialect;
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
