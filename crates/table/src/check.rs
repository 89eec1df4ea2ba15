//! Finds the first row that is out of order.

use crate::input_error::of_read;
use crate::open::Table;
use crate::options::TableOptions;
use crate::top_lines::Opening;
use std::io::{self, Read, Write};
use xsort_extsort::keyed::{ByKey, RECORD_END, RestoredOutput};
use xsort_extsort::lines::{InputBytes, LinesInput, first_disorder};
use xsort_extsort::{Error, LinesOptions, Observer};

/// A row that is out of order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disorder {
    /// Its number in the file, from 1, counting the header.
    pub row: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Finds the first row of `input` that sorts before its predecessor, or with `unique` is equal to
/// it. `engine` sets memory and threads.
///
/// # Errors
///
/// The errors of [`sort_table`](crate::sort_table).
pub fn check_table(
    options: &TableOptions,
    engine: &LinesOptions,
    input: LinesInput,
    observer: &dyn Observer,
) -> Result<Option<Disorder>, Error> {
    if let Some(curve) = options.keys.curve() {
        return Err(Error::Settings(curve.only_for_sorts()));
    }
    let path = input.path.clone();
    observer.phase("check", input.bytes.unwrap_or(0));
    options.check()?;
    let (opening, inputs) = Opening::new(options, engine, vec![input], observer)?;
    let mut table = Table::open(&opening, inputs, false, observer)?;
    let Some(rows) = table.inputs.pop() else { return Ok(None) };
    let observed = ObservedRows { rows: rows.into_bytes(), observer };
    let found = first_disorder(&ByKey, observed, RECORD_END, options.unique.is_some(), || 1);
    let found = found.map_err(|error| of_read(&path, error, observer))?;
    let Some((number, keyed)) = found else { return Ok(None) };
    Ok(Some(Disorder { row: number + opening.lines_above(&path), bytes: row_of(&keyed) }))
}

/// The bytes of a row, of which `keyed` is the row with its key.
pub(crate) fn row_of(keyed: &[u8]) -> Vec<u8> {
    let mut row = Vec::new();
    RestoredOutput::new(&mut row, 1).write_all(keyed).expect("memory takes all writes");
    row
}

/// Keyed rows. Reading them reports progress and can be cancelled.
struct ObservedRows<'o> {
    rows: InputBytes<'static>,
    observer: &'o dyn Observer,
}

impl Read for ObservedRows<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.observer.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        let bytes = self.rows.read(out)?;
        self.observer.advance(bytes as u64);
        Ok(bytes)
    }
}
