//! Copying lines together in a new order.

use super::{Entry, Words};
use crate::prefetch;

/// How many lines ahead are prefetched.
const AHEAD: usize = 12;
/// Lines up to this length are copied as a block of so many bytes, where that fits.
const SHORT: usize = 32;

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
