//! The steps for rows of tables: CSV and TSV are divided by whole files, NDJSON by lines.
//!
//! Sorted data are keyed records, as the engine of tables sorts them, so that a merge parses
//! nothing. A key in samples and splitters is such a key. Each part begins with the header, which
//! the job takes from its first input, and which every other input must have.

mod sample;
mod steps;

use crate::error::Error;
use crate::hex::Hex;
use crate::job::Job;
use crate::means::Means;
use std::io::{Cursor, Read};
use std::path::Path;
use xsort_extsort::Reserved;
use xsort_extsort::variable::{Content, LinesInput, Recognised, recognise, unreadable};
use xsort_table::{KeyedRows, RowFormat, TableOptions, keyed_rows};

/// The delimiter isn't used: the code that builds keys decides where a record ends.
const NO_DELIMITER: u8 = 0;

/// Rows, in the order of their columns.
pub struct Tables {
    options: TableOptions,
}

impl Tables {
    /// Creates the order of rows by these options, which must select all rows and no random order.
    #[must_use]
    pub fn new(options: TableOptions) -> Tables {
        let TableOptions { unique, shuffle, rows_max, compression, .. } = &options;
        let is_whole = unique.is_none() && shuffle.is_none() && rows_max.is_none();
        assert!(is_whole && compression.is_none(), "parts have all rows, as they are");
        Tables { options }
    }

    /// Returns whether a row is a line, so that a file may be cut at any line.
    fn has_lines(&self) -> bool {
        self.options.format == RowFormat::Ndjson
    }

    /// Returns the header of an input, which must have the columns to sort by.
    fn header_of(&self, path: &Path, means: &Means<'_>) -> Result<Vec<u8>, Error> {
        Ok(self.rows_of(path, means)?.header)
    }

    /// Sees that one of the inputs, which have no headers, has the columns to sort by in its first
    /// row.
    fn check_columns<'p>(
        &self,
        paths: impl Iterator<Item = &'p String>,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        let mut refusal = Ok(());
        for path in paths {
            match self.rows_of(Path::new(path), means) {
                // What is empty once it is decompressed says nothing.
                Ok(rows) => match has_none(rows.inputs) {
                    true => {}
                    false => return Ok(()),
                },
                // It lacks one. Another one may have all.
                Err(Error::Engine(lacks @ xsort_extsort::Error::Settings(_))) => {
                    refusal = refusal.and(Err(lacks.into()));
                }
                Err(error) => return Err(error),
            }
        }
        refusal
    }

    /// The rows of an input, which must have the columns to sort by.
    fn rows_of(&self, path: &Path, means: &Means<'_>) -> Result<KeyedRows, Error> {
        let input = LinesInput::on(&means.disk, path)?;
        let Recognised { inputs, taken_bytes, .. } =
            recognise(vec![input], false, || means.budget_bytes)
                .map_err(|(path, error)| unreadable(path, error))?;
        let reserved = Reserved::default().with("decoders", taken_bytes);
        let engine = means.engine(NO_DELIMITER, reserved, path);
        Ok(keyed_rows(&self.options, &engine, inputs, false, means.observer)?)
    }

    /// Returns the rows of inputs, preceded by the job's header, with their keys.
    fn keyed(
        &self,
        job: &Job,
        inputs: Vec<LinesInput>,
        (reserved, output): (Reserved, &Path),
        means: &Means<'_>,
    ) -> Result<KeyedRows, Error> {
        let Hex(header) = job.header.clone().unwrap_or_default();
        let head = LinesInput {
            path: "the job's header".into(),
            bytes: Some(header.len() as u64),
            content: Content::Stream(Box::new(Cursor::new(header))),
        };
        let inputs = std::iter::once(head).chain(inputs).collect();
        let engine = means.engine(NO_DELIMITER, reserved, output);
        Ok(keyed_rows(&self.options, &engine, inputs, true, means.observer)?)
    }
}

/// Whether these inputs have no rows.
fn has_none(inputs: Vec<LinesInput>) -> bool {
    inputs.into_iter().all(|input| matches!(input.into_bytes().read(&mut [0]), Ok(0)))
}
