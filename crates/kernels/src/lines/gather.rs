//! Copying lines together in a new order.

use super::{Entry, Words};
use crate::prefetch;

/// How many lines ahead are prefetched.
const AHEAD: usize = 12;
/// Lines up to this length are copied as a block of so many bytes, where that fits.
const SHORT: usize = 32;
/// Bytes between two lines that are likely to be on two pages.
const PAGE_BYTES: usize = 4 << 10;
/// So many lines tell whether most of them are scattered: more than one in [`SCATTERED_SHARE`].
const SAMPLED_LINES: usize = 64;
const SCATTERED_SHARE: usize = 4;

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Number of lines.
    pub lines: usize,
    /// Their bytes, each with its delimiter.
    pub bytes: usize,
    /// Where the last one begins.
    pub last_line: usize,
}

/// Copies lines to `out`, in the order of `entries`, each with its delimiter: as many as fit whole.
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

/// Moves the lines of `entries` to the front of `text`, in their order, by way of `buffer`, which
/// is at least as large. What else the text has is lost. Nothing is moved if most lines lie near
/// the one before them anyway.
pub fn arrange<W: Words>(
    text: &mut [u8],
    delimiter: u8,
    entries: &mut [Entry<W>],
    buffer: &mut [u8],
) {
    if !is_scattered(entries) {
        return;
    }
    let Gathered { lines, bytes, .. } = gather(text, delimiter, entries, buffer);
    assert_eq!(lines, entries.len(), "all lines of a text fit where it fits");
    let mut from = 0;
    for entry in entries {
        let line_bytes = entry.bytes(text, delimiter);
        *entry = entry.moved_to(from);
        from += line_bytes + 1;
    }
    text[..bytes].copy_from_slice(&buffer[..bytes]);
}

/// Whether a line is often on another page than the one before it, as far as a sample tells.
fn is_scattered<W: Words>(entries: &[Entry<W>]) -> bool {
    let step = (entries.len() / SAMPLED_LINES).max(1);
    let pairs = entries.windows(2).step_by(step);
    let is_far = |pair: &&[Entry<W>]| pair[0].offset().abs_diff(pair[1].offset()) >= PAGE_BYTES;
    let count = pairs.len();
    SCATTERED_SHARE * pairs.filter(is_far).count() > count
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
            // Some are dropped.
            entries.retain(|entry| entry.offset() % 3 != 1);
            let of = |text: &[u8], entries: &[Entry]| -> Vec<Vec<u8>> {
                entries.iter().map(|entry| entry.line(text, b'\n').to_vec()).collect()
            };
            let before = of(&text, &entries);
            let mut buffer = vec![0; text.len()];
            arrange(&mut text, b'\n', &mut entries, &mut buffer);
            assert_eq!(of(&text, &entries), before);
            if lines > 700 {
                assert!(entries.is_sorted_by_key(|entry| entry.offset()), "they were moved");
            }
        }
    }
}
