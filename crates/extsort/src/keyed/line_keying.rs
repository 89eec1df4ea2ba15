//! Turns lines into keyed records, on all threads.

use super::keying::{Cut, Keying, Piece};
use super::keying_threads::PIECE_BYTES;
use super::line_framing::{push_keyed_line, push_line_with_part};
use super::line_keys::LineKeys;
use crate::lines::rest_of_line;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use xsort_kernels::lines::{count_lines, for_each_line, line_hash, whole_lines_bytes};

/// Cuts lines, and puts keys before them.
pub(super) struct LineKeying<K> {
    pub(super) keys: Arc<K>,
    pub(super) delimiter: u8,
    /// Longest line in bytes, its delimiter included.
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

impl<K: LineKeys> Keying for LineKeying<K> {
    type Index = ();

    fn cut(
        &self,
        bytes: &[u8],
        is_last: bool,
        records_max: usize,
        _: Piece,
        (): &mut (),
    ) -> io::Result<Cut> {
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
        Ok(match records {
            0 => Cut::Part { bytes_max: self.line_bytes_max },
            _ => Cut::Records { bytes: own, records },
        })
    }

    fn too_long(&self, begun: &[u8], rest: &mut dyn Read, _: Piece) -> io::Error {
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
        let (mut scratch, mut sum) = (K::Scratch::default(), 0u64);
        let place = self.keys.place();
        for_each_line(bytes, self.delimiter, |from, end| {
            let line = &bytes[from..end];
            sum = sum.wrapping_add(line_hash(&bytes[from..], line.len()));
            match self.keys.part_of(line) {
                Some(key) => push_line_with_part(keyed, (&bytes[from..], line.len()), key, place),
                None => {
                    push_keyed_line(keyed, line, |out| {
                        self.keys.push_key(line, &mut scratch, out);
                    });
                }
            }
        });
        let is_whole = bytes.last() == Some(&self.delimiter);
        self.keyed.bytes.fetch_add(bytes.len() as u64 + u64::from(!is_whole), Relaxed);
        self.keyed.sum.fetch_add(sum, Relaxed);
        Ok(())
    }
}
