//! The steps for rows of tables: of CSV and TSV by whole files, of NDJSON by lines.
//!
//! Sorted data are rows behind their keys, as the engine of tables sorts them, so that a merge
//! parses nothing. A key in samples and splitters is such a key. Each part begins with the header,
//! which the job has from its first input, and which every other input must have.

mod sample;
mod steps;

use crate::error::Error;
use crate::hex::Hex;
use crate::job::Job;
use crate::means::Means;
use std::io::{Cursor, Read};
use std::path::Path;
use xsort_extsort::Reservation;
use xsort_extsort::variable::{Content, LinesInput, Recognised, recognise, unreadable};
use xsort_table::{KeyedRows, RowFormat, TableOptions, keyed_rows};

/// What ends a record is decided where its key is made.
const NO_DELIMITER: u8 = 0;

/// Rows, in the order of their columns.
pub struct Tables {
    options: TableOptions,
}

impl Tables {
    /// Rows as these options order them. They want all rows, and no random order.
    #[must_use]
    pub fn new(options: TableOptions) -> Tables {
        let TableOptions { unique, shuffle, rows_max, compression, .. } = &options;
        let is_whole = unique.is_none() && shuffle.is_none() && rows_max.is_none();
        assert!(is_whole && compression.is_none(), "parts have all rows, as they are");
        Tables { options }
    }

    /// Whether a row is a line, so that a file may be cut at any.
    fn has_lines(&self) -> bool {
        self.options.format == RowFormat::Ndjson
    }

    /// The header of an input, which must have the columns to sort by.
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
        let Recognised { inputs, reservation, .. } =
            recognise(vec![input], false, || means.budget_bytes)
                .map_err(|(path, error)| unreadable(path, error))?;
        let engine = means.engine(NO_DELIMITER, reservation, path);
        Ok(keyed_rows(&self.options, &engine, inputs, false, means.observer)?)
    }

    /// The rows of inputs behind the job's header, with their keys.
    fn keyed(
        &self,
        job: &Job,
        inputs: Vec<LinesInput>,
        (reservation, output): (Reservation, &Path),
        means: &Means<'_>,
    ) -> Result<KeyedRows, Error> {
        let Hex(header) = job.header.clone().unwrap_or_default();
        let head = LinesInput {
            path: "the job's header".into(),
            bytes: Some(header.len() as u64),
            content: Content::Stream(Box::new(Cursor::new(header))),
        };
        let inputs = std::iter::once(head).chain(inputs).collect();
        let engine = means.engine(NO_DELIMITER, reservation, output);
        Ok(keyed_rows(&self.options, &engine, inputs, true, means.observer)?)
    }
}

/// Whether these inputs have no rows.
fn has_none(inputs: Vec<LinesInput>) -> bool {
    inputs.into_iter().all(|input| matches!(input.into_bytes().read(&mut [0]), Ok(0)))
}
