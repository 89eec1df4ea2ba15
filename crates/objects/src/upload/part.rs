//! A part of an output while it is filled: its memory, and which of its pages have arrived.

use bytes::Bytes;
use std::ops::Range;
use xsort_disk::{ALIGNMENT, Lease};

/// The bytes of a write that belong to one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The number of the part, from 0.
    pub(super) part: u64,
    /// The offset in the part, in bytes.
    pub(super) start: usize,
    /// The range of the write's bytes.
    pub(super) bytes: Range<usize>,
}

/// Divides a write at the boundaries of parts.
pub(super) fn pieces(part_bytes: u64, offset: u64, bytes: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut done = 0;
    while done < bytes {
        let at = offset + done as u64;
        let left_in_part = part_bytes - at % part_bytes;
        let end = bytes.min(done + usize::try_from(left_in_part).unwrap_or(usize::MAX));
        let start = (at % part_bytes) as usize;
        pieces.push(Piece { part: at / part_bytes, start, bytes: done..end });
        done = end;
    }
    pieces
}

/// A part that has not been sent yet.
pub(super) struct PartBuffer {
    memory: Lease,
    /// One bit for each page that has arrived.
    pages: Vec<u64>,
    /// Number of missing pages.
    missing: usize,
    /// The first expected page: earlier pages are in the store, and not here.
    first: usize,
}

impl PartBuffer {
    /// Creates a buffer. `start` is the offset in the part of the first byte that will arrive.
    pub(super) fn new(memory: Lease, part_bytes: usize, start: usize) -> PartBuffer {
        let (pages, first) = (part_bytes / ALIGNMENT, start / ALIGNMENT);
        PartBuffer { memory, pages: vec![0; pages.div_ceil(64)], missing: pages - first, first }
    }

    /// Copies whole pages.
    pub(super) fn fill(&mut self, start: usize, bytes: &[u8]) {
        self.memory[start..start + bytes.len()].copy_from_slice(bytes);
        for page in start / ALIGNMENT..(start + bytes.len()) / ALIGNMENT {
            let (word, bit) = (&mut self.pages[page / 64], 1 << (page % 64));
            self.missing -= usize::from(*word & bit == 0);
            *word |= bit;
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.missing == 0
    }

    /// Returns the first missing page of the first `bytes` bytes.
    pub(super) fn first_missing(&self, bytes: usize) -> Option<usize> {
        let pages = self.first..bytes.div_ceil(ALIGNMENT);
        pages.into_iter().find(|page| self.pages[page / 64] & (1 << (page % 64)) == 0)
    }

    /// Returns the first `bytes` bytes. When the last reference to them is dropped, the memory
    /// returns to its pool, and `when_free` is called.
    pub(super) fn into_bytes(self, bytes: usize, when_free: WhenFree) -> Bytes {
        Bytes::from_owner(Sent { memory: Some(self.memory), bytes, when_free })
    }
}

/// Called when a part's memory is free again, on the thread that drops it.
pub(super) type WhenFree = Box<dyn Fn() + Send + Sync>;

/// Memory that is being sent.
struct Sent {
    memory: Option<Lease>,
    bytes: usize,
    when_free: WhenFree,
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |memory| &memory[..self.bytes])
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.memory = None;
        (self.when_free)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use xsort_disk::BlockPool;

    #[test]
    fn a_write_is_cut_where_parts_meet() {
        let piece = |part, start, bytes| Piece { part, start, bytes };
        assert_eq!(pieces(100, 250, 30), [piece(2, 50, 0..30)]);
        let all = [piece(1, 90, 0..10), piece(2, 0, 10..110), piece(3, 0, 110..115)];
        assert_eq!(pieces(100, 190, 115), all);
        assert_eq!(pieces(100, 200, 100), [piece(2, 0, 0..100)]);
        assert_eq!(pieces(100, 200, 0), []);
    }

    #[test]
    fn a_part_is_full_once_every_page_came_and_its_memory_returns() {
        let pool = BlockPool::map(1, 70 * ALIGNMENT).unwrap();
        let mut part = PartBuffer::new(pool.take().unwrap(), 70 * ALIGNMENT, 0);
        for page in (0..70).rev().filter(|page| *page != 66) {
            part.fill(page * ALIGNMENT, &[page as u8; ALIGNMENT]);
            part.fill(page * ALIGNMENT, &[page as u8; ALIGNMENT]);
        }
        assert!(!part.is_full());
        let missing = |bytes| part.first_missing(bytes);
        assert_eq!((missing(66 * ALIGNMENT), missing(66 * ALIGNMENT + 1)), (None, Some(66)));
        part.fill(66 * ALIGNMENT, &[66; ALIGNMENT]);
        assert!(part.is_full());
        let is_free = Arc::new(AtomicBool::new(false));
        let when_free = Arc::clone(&is_free);
        let sent = part.into_bytes(
            69 * ALIGNMENT + 1,
            Box::new(move || when_free.store(true, Ordering::Relaxed)),
        );
        assert_eq!((sent.len(), sent[66 * ALIGNMENT]), (69 * ALIGNMENT + 1, 66));
        let clone = sent.clone();
        drop(sent);
        assert!(pool.try_take().is_none() && !is_free.load(Ordering::Relaxed));
        drop(clone);
        assert!(pool.try_take().is_some() && is_free.load(Ordering::Relaxed));
    }
}
