//! What holds for the rows of all formats on their way in.

use crate::bad_row::BadRow;
use crate::key::Place;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use xsort_extsort::keyed::{Cut, Piece, end_key, push_record};

/// What becomes of a value that isn't of its column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBad {
    /// The sort fails.
    Refuse,
    /// Its row goes to this end.
    Put(Place),
}

impl OnBad {
    /// The end to which such a row goes, if the sort doesn't fail.
    pub(crate) fn place(self) -> Place {
        match self {
            OnBad::Put(place) => place,
            OnBad::Refuse => Place::Last,
        }
    }
}

/// What holds for all rows of a sort, and how many there were.
#[derive(Debug)]
pub(crate) struct RowRules {
    pub(crate) on_bad: OnBad,
    /// What a last row gets that lacks its line end.
    pub(crate) line_end: Box<str>,
    /// Longest row in bytes.
    pub(crate) row_bytes_max: usize,
    /// Rows that were read.
    pub(crate) rows: AtomicU64,
    /// Their bytes, with the line ends that were missing.
    pub(crate) bytes: AtomicU64,
}

impl RowRules {
    /// What a cut is whose first row isn't whole yet.
    pub(crate) fn part(&self, bytes: &[u8], at: Piece) -> io::Result<Cut> {
        let Piece { record: row, offset } = at;
        match bytes.len() > self.row_bytes_max {
            true => Err(BadRow::TooLong { row, offset, bytes_max: self.row_bytes_max }.into()),
            false => Ok(Cut::Part),
        }
    }

    /// Ends the key of a row, and appends the row.
    pub(crate) fn push_row(&self, keyed: &mut Vec<u8>, row: &[u8]) {
        let missing = if row.ends_with(b"\n") { "" } else { &*self.line_end };
        end_key(keyed);
        push_record(keyed, row, missing.as_bytes());
    }

    /// Counts the rows of a piece that have their keys.
    pub(crate) fn count(&self, rows: u64, bytes: &[u8]) {
        let missing = if bytes.ends_with(b"\n") { 0 } else { self.line_end.len() };
        self.rows.fetch_add(rows, Relaxed);
        self.bytes.fetch_add((bytes.len() + missing) as u64, Relaxed);
    }
}
