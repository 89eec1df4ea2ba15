//! The first row that is out of order.

use crate::encode::ROW_END;
use crate::order::ByKey;
use crate::rows_output::RowsOutput;
use crate::sort::{Table, TableOptions, of_read};
use std::io::{self, Read, Write};
use xsort_extsort::variable::{InputBytes, LinesInput, first_disorder};
use xsort_extsort::{Error, Observer};

/// A row that is out of order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disorder {
    /// Its number in the file, from 1 on; the header is the first.
    pub row: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Finds the first row of `input` that comes before the one in front of it, or that is equal to it
/// if rows are to be unique.
///
/// # Errors
/// As [`sort_table`](crate::sort_table).
pub fn check_table(
    options: &TableOptions,
    budget_bytes: u64,
    input: LinesInput,
    observer: &dyn Observer,
) -> Result<Option<Disorder>, Error> {
    let path = input.path.clone();
    observer.phase("check", input.bytes.unwrap_or(0));
    let mut table = Table::open(options, budget_bytes, vec![input], observer)?;
    let Some(rows) = table.inputs.pop() else { return Ok(None) };
    let observed = ObservedRows { rows: rows.into_bytes(), observer };
    let found = first_disorder(&ByKey, observed, ROW_END, options.is_unique);
    let found = found.map_err(|error| of_read(&path, error, observer))?;
    let Some((number, keyed)) = found else { return Ok(None) };
    let mut bytes = Vec::new();
    let mut output = RowsOutput::new(&mut bytes, 1);
    output.write_all(&keyed).and_then(|()| output.flush()).map_err(Error::Output)?;
    Ok(Some(Disorder { row: number + u64::from(options.has_header), bytes }))
}

/// Keyed rows whose reading can be cancelled.
struct ObservedRows<'o> {
    rows: InputBytes,
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
