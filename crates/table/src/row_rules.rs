//! Rules for reading rows that hold for all formats.

use crate::bad_row::BadRow;
use crate::format::RowFormat;
use crate::on_bad::OnBad;
use crate::row_end::RowEnd;
use crate::row_room::RowRoom;
use crate::rows_read::RowsRead;
use crate::split::Dialect;
use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use std::io::{self, Read};
use xsort_extsort::keyed::{
    KeyWriter, MoreMemory, Piece, RecordRoom, end_key, push_plain_record, push_record,
};
use xsort_gnu::Collator;

/// Rows longer than this get exactly the memory that they need.
const LONG_BYTES: usize = 1 << 20;
/// Bytes searched for the end of a row that is too long: per read, and at most.
const SEARCH_BYTES: u64 = 1 << 20;
const SEARCH_BYTES_MAX: u64 = 4 << 30;
/// Words of the generator per key.
const WORDS_PER_KEY: u128 = 2;

/// The random keys of rows, in order. A row's key depends on the seed, the input's number and the
/// row's number, and not on the thread.
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

/// The rules for all rows of a sort, and their counts.
#[derive(Debug)]
pub(crate) struct RowRules {
    pub(crate) on_bad: OnBad,
    /// The order of text of the type `locale`.
    pub(crate) collator: Collator,
    /// The line end for a last row that lacks one.
    pub(crate) line_end: Box<str>,
    /// The limits on the length of rows, without and with their keys.
    pub(crate) room: RecordRoom,
    pub(crate) row_room: RowRoom,
    /// The seed of a random order, if rows are shuffled.
    pub(crate) shuffle: Option<u64>,
    /// Counts the rows that were read.
    pub(crate) read: RowsRead,
}

impl RowRules {
    /// Returns the error for a row that isn't complete after `begun`. `rest` reads the bytes after
    /// `begun`, in which the row's end is searched.
    pub(crate) fn too_long(
        &self,
        dialect: Dialect,
        begun: &[u8],
        rest: &mut dyn Read,
        at: Piece,
    ) -> io::Error {
        let Piece { record: row, offset, .. } = at;
        let bytes_max = self.room.record_bytes_max;
        let mut end = RowEnd::new(dialect);
        let (mut bytes, mut part) = (begun.len() as u64, Vec::new());
        let mut found = end.take(begun);
        while found.is_none() && bytes < SEARCH_BYTES_MAX {
            part.clear();
            match rest.take(SEARCH_BYTES).read_to_end(&mut part) {
                Err(error) => return error,
                Ok(0) => break,
                Ok(read) => {
                    found = end.take(&part);
                    bytes += found.unwrap_or(read) as u64;
                }
            }
        }
        match end.open_quote().filter(|_| found.is_none()) {
            _ if found.is_none() && bytes >= SEARCH_BYTES_MAX => {
                BadRow::Endless { row, offset, bytes, bytes_max }.into()
            }
            Some(quote) => BadRow::OpenQuote { row, offset: offset + quote }.into(),
            None => {
                let keyed_bytes = self.row_room.keyed_bytes_most(bytes);
                let more = MoreMemory(self.room.budget_of(bytes, keyed_bytes));
                BadRow::TooLong { row, offset, bytes, bytes_max, more }.into()
            }
        }
    }

    /// Refuses a row of `row_bytes` bytes that exceeds the limit with its key. `(row, offset)` is
    /// its number and its first byte.
    pub(crate) fn refuse_long(
        &self,
        keyed_bytes: usize,
        row_bytes: usize,
        (row, offset): (u64, usize),
    ) -> Result<(), BadRow> {
        let bytes_max = self.room.keyed_bytes_max;
        if keyed_bytes <= bytes_max {
            return Ok(());
        }
        let more = MoreMemory(self.room.budget_of(row_bytes as u64, keyed_bytes as u64));
        Err(BadRow::LongKey { row, offset: offset as u64, bytes: keyed_bytes, bytes_max, more })
    }

    /// The random keys of the rows of a piece, if rows have any.
    pub(crate) fn random_keys(&self, at: Piece) -> RandomKeys {
        RandomKeys(self.shuffle.map(|seed| {
            let mut random = ChaCha12Rng::seed_from_u64(seed);
            random.set_stream(at.input.into());
            random.set_word_pos(u128::from(at.record) * WORDS_PER_KEY);
            random
        }))
    }

    /// Reserves memory for a row and its key. Untouched memory costs nothing.
    pub(crate) fn make_room(keyed: &mut Vec<u8>, row: &[u8]) {
        if row.len() > LONG_BYTES {
            keyed.reserve_exact(2 * row.len() + LONG_BYTES);
        }
    }

    /// Ends the key of a row, and appends the row. `has_zeros` is true if the row may have bytes 0.
    pub(crate) fn push_row(&self, keyed: &mut Vec<u8>, row: &[u8], has_zeros: bool) {
        let missing = if row.ends_with(b"\n") { "" } else { &*self.line_end };
        end_key(keyed);
        match has_zeros {
            true => push_record(keyed, row, missing.as_bytes()),
            false => push_plain_record(keyed, row, missing.as_bytes()),
        }
    }
}

/// Appends a row with its count: before its fields, or in an object of JSON around it. Comments
/// stay unchanged.
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
            return parts.iter().for_each(|part| out.extend_from_slice(part));
        }
    }
    out.extend_from_slice(row);
}
