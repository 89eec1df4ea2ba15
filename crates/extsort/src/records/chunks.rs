//! Cutting the input into chunks: whole records that one worker sorts or scatters together.
//!
//! A chunk may cover the end of one file and the beginning of the next, so that many small files
//! don't become many small runs.

use xsort_disk::{ALIGNMENT, align_down, align_up};

/// A contiguous range of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Number of the file.
    pub(crate) file: usize,
    /// Offset of the first byte.
    pub(crate) offset: u64,
    /// Length in bytes.
    pub(crate) bytes: u64,
}

impl Extent {
    /// The aligned range of the file that contains the extent.
    pub(crate) fn aligned(&self) -> std::ops::Range<u64> {
        align_down(self.offset)..align_up(self.offset + self.bytes)
    }
}

/// Maximum number of extents in a chunk: each costs up to two pages of slack in its area.
pub(crate) const EXTENTS_MAX: usize = 16;

/// Bytes that an area needs, in addition to its records, for each extent: an extent may begin and
/// end inside a page.
pub(crate) const SLACK_BYTES: u64 = 2 * ALIGNMENT as u64;

/// Cuts files of `input_bytes` bytes into chunks of at most `chunk_bytes` (a multiple of the
/// record's size) and `extents_max` extents.
pub(crate) fn chunks(
    input_bytes: &[u64],
    chunk_bytes: u64,
    extents_max: usize,
) -> impl Iterator<Item = Vec<Extent>> {
    let mut rest = input_bytes
        .iter()
        .enumerate()
        .filter(|&(_, &bytes)| bytes > 0)
        .map(|(file, &bytes)| Extent { file, offset: 0, bytes })
        .peekable();
    std::iter::from_fn(move || {
        let mut chunk = Vec::new();
        let mut left = chunk_bytes;
        while left > 0 && chunk.len() < extents_max {
            let Some(next) = rest.peek_mut() else { break };
            let taken = next.bytes.min(left);
            chunk.push(Extent { bytes: taken, ..*next });
            left -= taken;
            next.offset += taken;
            next.bytes -= taken;
            if next.bytes == 0 {
                rest.next();
            }
        }
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// The number of chunks that [`chunks`] returns.
pub(crate) fn chunk_count(input_bytes: &[u64], chunk_bytes: u64, extents_max: usize) -> u64 {
    match input_bytes {
        [bytes] => bytes.div_ceil(chunk_bytes),
        _ => chunks(input_bytes, chunk_bytes, extents_max).count() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_every_byte_once_and_in_order() {
        for (inputs, chunk_bytes, extents_max) in [
            (vec![1000, 0, 300, 7 * 100], 400, 16),
            (vec![100; 50], 1000, 4),
            (vec![], 100, 1),
            (vec![100], 100, 1),
            (vec![12_300], 100, 1),
        ] {
            let mut position = inputs.iter().map(|_| 0).collect::<Vec<u64>>();
            let mut last = 0;
            let counted = chunks(&inputs, chunk_bytes, extents_max).count() as u64;
            assert_eq!(chunk_count(&inputs, chunk_bytes, extents_max), counted);
            for chunk in chunks(&inputs, chunk_bytes, extents_max) {
                assert!(chunk.len() <= extents_max);
                assert!(chunk.iter().map(|extent| extent.bytes).sum::<u64>() <= chunk_bytes);
                for extent in chunk {
                    assert!(extent.bytes > 0 && extent.file >= last);
                    assert_eq!(position[extent.file], extent.offset);
                    position[extent.file] += extent.bytes;
                    last = extent.file;
                }
            }
            assert_eq!(position, inputs);
        }
    }
}
