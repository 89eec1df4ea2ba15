//! Turns lines, or records of several lines, into keyed records, on all threads.

use super::keying::{Cut, Keying, Piece};
use super::keying_threads::PIECE_BYTES;
use super::line_framing::{push_keyed_line, push_line_with_part};
use super::line_keys::LineKeys;
use super::record_rule::{RecordRule, Short};
use crate::lines::rest_of_line;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use xsort_kernels::lines::{count_lines, for_each_line, line_hash, whole_lines_bytes};

/// Cuts records of lines, mostly of one line, and puts keys before them.
pub(super) struct LineKeying<K> {
    pub(super) keys: Arc<K>,
    pub(super) delimiter: u8,
    /// Which lines are a record.
    pub(super) rule: RecordRule,
    /// Longest record in bytes, its last delimiter included.
    pub(super) line_bytes_max: usize,
    pub(super) keyed: Arc<KeyedLines>,
}

/// Counts the lines that have keys.
#[derive(Default)]
pub(super) struct KeyedLines {
    /// Bytes of the lines, delimiters included.
    pub(super) bytes: AtomicU64,
    /// Sum of the lines' hashes.
    pub(super) sum: AtomicU64,
}

impl KeyedLines {
    /// Sets the counts to zero.
    pub(super) fn forget(&self) {
        self.bytes.store(0, Relaxed);
        self.sum.store(0, Relaxed);
    }
}

impl<K> LineKeying<K> {
    /// Returns the keying for parts of an input that are read in parallel. It refuses long lines:
    /// the budget has memory for one long line only, so an input with long lines is read as a
    /// whole.
    pub(super) fn of_parts(&self) -> LineKeying<K> {
        LineKeying {
            keys: Arc::clone(&self.keys),
            delimiter: self.delimiter,
            rule: self.rule.clone(),
            line_bytes_max: self.line_bytes_max.min(PIECE_BYTES - 1),
            keyed: Arc::clone(&self.keyed),
        }
    }
}

/// A line that exceeds the room in the budget.
#[derive(Debug, thiserror::Error)]
#[error("a line of {bytes} bytes is too long")]
pub(super) struct TooLong {
    /// Bytes of the line, its delimiter included; a lower bound if `is_whole` is false.
    pub(super) bytes: u64,
    /// True if the line's end was found.
    pub(super) is_whole: bool,
}

/// A record that the end of its input cuts short.
#[derive(Debug, thiserror::Error)]
#[error(
    "record {record}, which begins at byte {offset}, has {lines} of {wanted} lines, where the \
     input ends: complete or remove it, or say how many lines a record has (--record-lines)"
)]
pub(super) struct CutShort {
    record: u64,
    offset: u64,
    lines: u64,
    wanted: u64,
}

impl<K> LineKeying<K> {
    /// The whole lines that `bytes` begins with.
    fn cut_lines(&self, bytes: &[u8], is_last: bool, records_max: usize) -> Cut {
        let mut own = whole_lines_bytes(bytes, self.delimiter);
        let mut records = count_lines(&bytes[..own], self.delimiter) as u64;
        if records > records_max as u64 {
            let mut ends = memchr::memchr_iter(self.delimiter, bytes);
            own = ends.nth(records_max - 1).map_or(own, |end| end + 1);
            records = records_max as u64;
        }
        if is_last && records < records_max as u64 && own < bytes.len() {
            (own, records) = (bytes.len(), records + 1);
        }
        match records {
            0 => Cut::Part { bytes_max: self.line_bytes_max },
            _ => Cut::Records { bytes: own, records },
        }
    }
}

impl<K: LineKeys> Keying for LineKeying<K> {
    type Index = ();

    fn cut(
        &self,
        bytes: &[u8],
        is_last: bool,
        records_max: usize,
        at: Piece,
        (): &mut (),
    ) -> io::Result<Cut> {
        if let RecordRule::Line = self.rule {
            return Ok(self.cut_lines(bytes, is_last, records_max));
        }
        match self.rule.whole(bytes, self.delimiter, is_last, records_max) {
            Ok(None) => Ok(Cut::Part { bytes_max: self.line_bytes_max }),
            Ok(Some(whole)) => Ok(Cut::Records { bytes: whole.bytes, records: whole.records }),
            Err(Short { lines, wanted }) => {
                let Piece { record, offset, .. } = at;
                Err(io::Error::other(CutShort { record, offset, lines, wanted }))
            }
        }
    }

    fn too_long(&self, begun: &[u8], rest: &mut dyn Read, _: Piece) -> io::Error {
        if !matches!(self.rule, RecordRule::Line) {
            return match self.rule.record_bytes(begun, rest, self.delimiter) {
                Ok((bytes, is_whole)) => io::Error::other(TooLong { bytes, is_whole }),
                Err(error) => error,
            };
        }
        let read = |buffer: &mut [u8]| loop {
            match rest.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        };
        match rest_of_line(read, self.delimiter) {
            Ok((rest, is_whole)) => {
                io::Error::other(TooLong { bytes: begun.len() as u64 + rest, is_whole })
            }
            Err(error) => error,
        }
    }

    fn key(&self, bytes: &[u8], (): &(), _: Piece, keyed: &mut Vec<u8>) -> io::Result<()> {
        let (mut scratch, mut sum, mut added) = (K::Scratch::default(), 0u64, 0);
        let place = self.keys.place();
        let mut push = |tail: &[u8], bytes: usize| {
            let line = &tail[..bytes];
            sum = sum.wrapping_add(line_hash(tail, bytes));
            match self.keys.part_of(line) {
                Some(key) => push_line_with_part(keyed, (tail, bytes), key, place),
                None => {
                    push_keyed_line(keyed, line, |out| {
                        self.keys.push_key(line, &mut scratch, out);
                    });
                }
            }
        };
        if let RecordRule::Line = self.rule {
            for_each_line(bytes, self.delimiter, |from, end| push(&bytes[from..], end - from));
        } else {
            self.rule.for_each_record(bytes, self.delimiter, |from, end| {
                match self.rule.missing(&bytes[from..end], self.delimiter) {
                    b"" => push(&bytes[from..], end - from),
                    missing => {
                        let whole = [&bytes[from..end], missing].concat();
                        push(&whole, whole.len());
                        added += missing.len();
                    }
                }
            });
        }
        let is_whole = bytes.last() == Some(&self.delimiter);
        let own_bytes = bytes.len() + usize::from(!is_whole) + added;
        self.keyed.bytes.fetch_add(own_bytes as u64, Relaxed);
        self.keyed.sum.fetch_add(sum, Relaxed);
        Ok(())
    }
}
