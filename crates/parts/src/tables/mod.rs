//! The steps for rows of tables: CSV and TSV are divided by whole files, NDJSON by lines.
//!
//! Sorted data are keyed records, as the engine of tables sorts them, so a merge parses nothing.
//! Samples and splitters contain the same keys. Each part begins with the header, which the job
//! takes from its first input; every other input must have the same header.

mod sample;
mod steps;

use crate::error::Error;
use crate::hex::Hex;
use crate::job::Job;
use crate::means::Means;
use std::io::{Cursor, Read};
use std::path::Path;
use xsort_extsort::lines::{Content, LinesInput, Recognised, recognise, unreadable};
use xsort_extsort::{LinesOptions, Observer};
use xsort_table::{KeyedRows, RowFormat, TableOptions, keyed_rows};

/// The delimiter isn't used: the code that builds keys decides where a record ends.
const NO_DELIMITER: u8 = 0;

/// A sort of rows by their columns.
pub struct Tables {
    options: TableOptions,
}

impl Tables {
    /// Creates a sort with these options, which must select all rows, and no random order.
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

    /// Returns the header of an input. Fails if the input lacks a column to sort by.
    fn header_of(&self, path: &Path, means: &Means<'_>) -> Result<Vec<u8>, Error> {
        Ok(self.rows_of(path, means)?.header)
    }

    /// Checks that the first row of at least one input has the columns to sort by. The inputs have
    /// no headers.
    fn check_columns<'p>(
        &self,
        paths: impl Iterator<Item = &'p String>,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        let mut refusal = Ok(());
        for path in paths {
            match self.rows_of(Path::new(path), means) {
                // An input without rows proves nothing.
                Ok(rows) => match has_none(rows.inputs) {
                    true => {}
                    false => return Ok(()),
                },
                // This input lacks a column, but another one may have all.
                Err(Error::Engine(lacks @ xsort_extsort::Error::Settings(_))) => {
                    refusal = refusal.and(Err(lacks.into()));
                }
                Err(error) => return Err(error),
            }
        }
        refusal
    }

    /// Opens the rows of an input. Fails if it lacks a column to sort by.
    fn rows_of(&self, path: &Path, means: &Means<'_>) -> Result<KeyedRows, Error> {
        let input = LinesInput::on(&means.job.disk, path)?;
        let Recognised { inputs, reservation, .. } =
            recognise(vec![input], false, || means.job.budget_and_threads())
                .map_err(|(path, error)| unreadable(path, error))?;
        let engine = means.engine(NO_DELIMITER, reservation, path);
        Ok(keyed_rows(&self.options, &engine, inputs, false, means.observer)?)
    }

    /// Returns the rows of inputs with their keys, preceded by the job's header.
    fn keyed(
        &self,
        job: &Job,
        inputs: Vec<LinesInput>,
        engine: &LinesOptions,
        observer: &dyn Observer,
    ) -> Result<KeyedRows, Error> {
        let Hex(header) = job.header.clone().unwrap_or_default();
        let head = LinesInput {
            path: "the job's header".into(),
            bytes: Some(header.len() as u64),
            content: Content::Stream(Box::new(Cursor::new(header))),
        };
        let inputs = std::iter::once(head).chain(inputs).collect();
        Ok(keyed_rows(&self.options, engine, inputs, true, observer)?)
    }
}

/// Returns whether these inputs have no rows.
fn has_none(inputs: Vec<LinesInput>) -> bool {
    inputs.into_iter().all(|input| matches!(input.into_bytes().read(&mut [0]), Ok(0)))
}
