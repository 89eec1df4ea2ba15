//! Copying lines in a new order.

use super::{Entries, Entry, Words, count_lines, last_line, whole_lines_bytes};
use crate::prefetch;

/// Number of lines prefetched ahead.
const AHEAD: usize = 12;
/// Lines up to this length are copied as a block of this many bytes, if it fits.
const SHORT: usize = 32;

/// The result of copying lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Number of lines.
    pub lines: usize,
    /// Bytes of the lines, each with its delimiter.
    pub bytes: usize,
    /// Offset of the last line in the output.
    pub last_line: usize,
}

/// Copies lines to `out`, in the order of `entries`, each with its delimiter. Copies as many as fit
/// completely.
pub fn gather<W: Words>(
    text: &[u8],
    delimiter: u8,
    entries: &[Entry<W>],
    out: &mut [u8],
) -> Gathered {
    let mut gathered = Gathered::default();
    for (at, &entry) in entries.iter().enumerate() {
        if let Some(later) = entries.get(at + AHEAD) {
            prefetch::record(text.as_ptr().wrapping_add(later.offset()), later.stored_bytes() + 1);
        }
        let bytes = entry.bytes(text, delimiter);
        let from = gathered.bytes;
        let Some(to) = out.get_mut(from..).filter(|to| to.len() > bytes) else { break };
        match (text[entry.offset()..].first_chunk::<SHORT>(), to.first_chunk_mut::<SHORT>()) {
            (Some(line), Some(to)) if bytes <= SHORT => *to = *line,
            _ => to[..bytes].copy_from_slice(&text[entry.offset()..][..bytes]),
        }
        to[bytes] = delimiter;
        gathered = Gathered { lines: at + 1, bytes: from + bytes + 1, last_line: from };
    }
    gathered
}

/// Copies lines to `out` like [`gather`], for entries with any number of words.
pub fn gather_entries(
    text: &[u8],
    delimiter: u8,
    entries: Entries<'_>,
    out: &mut [u8],
) -> Gathered {
    match entries {
        Entries::OneWord(entries) => gather(text, delimiter, entries, out),
        Entries::TwoWords(entries) => gather(text, delimiter, entries, out),
    }
}

/// Copies the first lines of `text`, which are in order, to `out`. Copies as many as fit
/// completely.
pub fn gather_text(text: &[u8], delimiter: u8, out: &mut [u8]) -> Gathered {
    let bytes = whole_lines_bytes(&text[..text.len().min(out.len())], delimiter);
    let lines = &text[..bytes];
    out[..bytes].copy_from_slice(lines);
    let last_line = last_line(lines, delimiter).start;
    Gathered { lines: count_lines(lines, delimiter), bytes, last_line }
}

/// The result of [`arrange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arranged {
    /// The lines were already in order. The value is their size in bytes.
    InPlace(usize),
    /// The lines were copied to the other memory. The value is their size in bytes.
    Moved(usize),
}

impl Arranged {
    /// Size of the lines in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Arranged::InPlace(bytes) | Arranged::Moved(bytes) => bytes,
        }
    }
}

/// Copies the lines of `entries` in order to the front of `to`. Leaves them in place if they are
/// already in order in `text`. `to` must be at least as large as `text`.
pub fn arrange<W: Words>(
    text: &[u8],
    delimiter: u8,
    entries: &[Entry<W>],
    to: &mut [u8],
) -> Arranged {
    let mut bytes = 0;
    let is_in_place = entries.iter().all(|entry| {
        let is_next = entry.offset() == bytes;
        bytes += entry.bytes(text, delimiter) + 1;
        is_next
    });
    if is_in_place {
        return Arranged::InPlace(bytes);
    }
    let Gathered { lines, bytes, .. } = gather(text, delimiter, entries, to);
    assert_eq!(lines, entries.len(), "all lines of a text fit where it fits");
    Arranged::Moved(bytes)
}

/// Puts lines in order like [`arrange`], for entries with any number of words.
pub fn arrange_entries(
    text: &[u8],
    delimiter: u8,
    entries: Entries<'_>,
    to: &mut [u8],
) -> Arranged {
    match entries {
        Entries::OneWord(entries) => arrange(text, delimiter, entries, to),
        Entries::TwoWords(entries) => arrange(text, delimiter, entries, to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Caches;
    use crate::lines::{ByBytes, sort};

    #[test]
    fn arranged_lines_are_the_same_in_order() {
        let number = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        for lines in [1, 2, 700, 20_000] {
            let mut text: Vec<u8> = (0..lines)
                .flat_map(|at| {
                    format!("{:x}{}\n", number(at), "-".repeat(at as usize % 50)).into_bytes()
                })
                .collect();
            let mut entries = vec![Entry::<[u64; 1]>::default(); lines as usize];
            let buffer = &mut vec![Entry::default(); lines as usize];
            sort(&ByBytes, &text, b'\n', &mut entries, buffer, Caches::default(), true);
            // Some lines are dropped.
            entries.retain(|entry| entry.offset() % 3 != 1);
            let expected: Vec<&[u8]> =
                entries.iter().flat_map(|entry| [entry.line(&text, b'\n'), b"\n"]).collect();
            let expected = expected.concat();
            let mut buffer = vec![0; text.len()];
            let Arranged::Moved(bytes) = arrange(&text, b'\n', &entries, &mut buffer) else {
                assert_eq!(text[..expected.len()], expected);
                continue;
            };
            assert_eq!(buffer[..bytes], expected);
            text = buffer;
            let mut from = 0;
            for entry in &mut entries {
                *entry = entry.moved_to(from);
                from += entry.bytes(&text, b'\n') + 1;
            }
            let again = arrange(&text, b'\n', &entries, &mut []);
            assert_eq!(again, Arranged::InPlace(bytes));
        }
    }
}
