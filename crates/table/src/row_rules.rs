//! What holds for the rows of all formats on their way in.

use crate::bad_row::BadRow;
use crate::format::RowFormat;
use crate::key::Place;
use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use xsort_extsort::keyed::{Cut, KeyWriter, Piece, end_key, push_plain_record, push_record};
use xsort_gnu::Collator;

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

/// A row from this length on gets just the memory that it takes.
const LONG_BYTES: usize = 1 << 20;
/// Words of the generator that make a key.
const WORDS_PER_KEY: u128 = 2;

/// The random keys of rows, one after the other: that of a row depends on the seed, the input's
/// number and the row's, whoever makes it.
pub(crate) struct RandomKeys(Option<ChaCha12Rng>);

impl RandomKeys {
    /// Appends the key of the next row, if rows have random keys.
    pub(crate) fn push_key(&mut self, keyed: &mut Vec<u8>) {
        if let Some(random) = &mut self.0 {
            let key = random.next_u64().to_be_bytes();
            KeyWriter { out: keyed, is_descending: false }.fixed(&key);
        }
    }
}

/// What holds for all rows of a sort, and how many there were.
#[derive(Debug)]
pub(crate) struct RowRules {
    pub(crate) on_bad: OnBad,
    /// How text of the type `locale` is ordered.
    pub(crate) collator: Collator,
    /// What a last row gets that lacks its line end.
    pub(crate) line_end: Box<str>,
    /// Longest row in bytes.
    pub(crate) row_bytes_max: usize,
    /// Rows come in the random order of this number.
    pub(crate) shuffle: Option<u64>,
    /// Rows that were read.
    pub(crate) rows: AtomicU64,
    /// Their bytes, with the line ends that were missing.
    pub(crate) bytes: AtomicU64,
}

impl RowRules {
    /// What a cut is whose first row isn't whole yet.
    pub(crate) fn part(&self, bytes: &[u8], at: Piece) -> io::Result<Cut> {
        let Piece { record: row, offset, .. } = at;
        match bytes.len() > self.row_bytes_max {
            true => Err(BadRow::TooLong { row, offset, bytes_max: self.row_bytes_max }.into()),
            false => Ok(Cut::Part),
        }
    }

    /// The random keys of the rows of a piece, if there are any.
    pub(crate) fn random_keys(&self, at: Piece) -> RandomKeys {
        RandomKeys(self.shuffle.map(|seed| {
            let mut random = ChaCha12Rng::seed_from_u64(seed);
            random.set_stream(at.input.into());
            random.set_word_pos(u128::from(at.record) * WORDS_PER_KEY);
            random
        }))
    }

    /// Makes room for a row and its key. What isn't touched is no memory.
    pub(crate) fn make_room(keyed: &mut Vec<u8>, row: &[u8]) {
        if row.len() > LONG_BYTES {
            keyed.reserve_exact(2 * row.len() + LONG_BYTES);
        }
    }

    /// Ends the key of a row, and appends the row. `has_zeros`: it may have bytes 0.
    pub(crate) fn push_row(&self, keyed: &mut Vec<u8>, row: &[u8], has_zeros: bool) {
        let missing = if row.ends_with(b"\n") { "" } else { &*self.line_end };
        end_key(keyed);
        match has_zeros {
            true => push_record(keyed, row, missing.as_bytes()),
            false => push_plain_record(keyed, row, missing.as_bytes()),
        }
    }

    /// Counts the rows of a piece that have their keys.
    pub(crate) fn count(&self, rows: u64, bytes: &[u8]) {
        let missing = if bytes.ends_with(b"\n") { 0 } else { self.line_end.len() };
        self.rows.fetch_add(rows, Relaxed);
        self.bytes.fetch_add((bytes.len() + missing) as u64, Relaxed);
    }
}

/// Appends a row with how many there were: before its fields, or in an object of JSON around it. A
/// comment stays as it is.
pub(crate) fn push_counted(out: &mut Vec<u8>, format: RowFormat, count: u64, row: &[u8]) {
    let count = count.to_string();
    match format {
        RowFormat::Delimited(dialect) if dialect.is_comment(row) => {}
        RowFormat::Delimited(dialect) => {
            out.extend_from_slice(count.as_bytes());
            out.push(dialect.delimiter);
        }
        RowFormat::Ndjson => {
            let value = row.trim_ascii();
            let value = if value.is_empty() { b"null" } else { value };
            let parts = [b"{\"count\":", count.as_bytes(), b",\"row\":", value, b"}\n"];
            return out.extend(parts.concat());
        }
    }
    out.extend_from_slice(row);
}
