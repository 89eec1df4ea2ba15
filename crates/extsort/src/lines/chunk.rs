//! Lines in memory: text from the front of an area, entries behind it.
//!
//! ```text
//!  | text, each line with its delimiter | entries, one a line | room to sort them, as large | ...free... |
//! ```

use super::plan::LINE_BYTES;
use xsort_disk::{Lease, align_up};
use xsort_kernels::Caches;
use xsort_kernels::lines::{Entry, LineOrder, dedup, sort};

/// Whole lines in an area.
#[derive(Debug)]
pub(super) struct Chunk {
    area: Lease,
    text_bytes: usize,
    lines: usize,
    /// How many of them are in order at the front of the entries; 0 until they are sorted.
    entries: usize,
}

impl Chunk {
    /// Bytes of an area that a text of so many bytes and lines needs.
    pub(super) fn bytes_needed(text_bytes: usize, lines: usize) -> usize {
        align_up((entries_from(text_bytes) + lines * LINE_BYTES) as u64) as usize
    }

    /// Whether a text of so many bytes and lines fits an area of so many bytes.
    pub(super) fn fits(area_bytes: usize, text_bytes: usize, lines: usize) -> bool {
        Chunk::bytes_needed(text_bytes, lines) <= area_bytes
    }

    /// Of the first `text_bytes` bytes of an area, which are so many lines.
    pub(super) fn new(area: Lease, text_bytes: usize, lines: usize) -> Chunk {
        debug_assert!(Chunk::fits(area.len(), text_bytes, lines));
        Chunk { area, text_bytes, lines, entries: 0 }
    }

    pub(super) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// All lines as they came.
    pub(super) fn text(&self) -> &[u8] {
        &self.area[..self.text_bytes]
    }

    /// The entries of the lines that are wanted, in order.
    pub(super) fn entries(&self) -> &[Entry] {
        let bytes = self.entries * size_of::<Entry>();
        bytemuck::cast_slice(&self.area[entries_from(self.text_bytes)..][..bytes])
    }

    /// Sorts, and leaves only the first of lines with the same key if that is wanted.
    pub(super) fn sort<O: LineOrder>(&mut self, order: &O, delimiter: u8, is_unique: bool, caches: Caches) {
        let (text, behind) = self.area.split_at_mut(entries_from(self.text_bytes));
        let text = &text[..self.text_bytes];
        let entries: &mut [Entry] = bytemuck::cast_slice_mut(&mut behind[..self.lines * LINE_BYTES]);
        let (entries, spare) = entries.split_at_mut(self.lines);
        sort(order, text, delimiter, entries, spare, caches);
        self.entries = if is_unique { dedup(order, text, delimiter, entries) } else { self.lines };
    }

    /// Gives back what only sorting needs. To be called when it is sorted.
    pub(super) fn trim(&mut self) -> Lease {
        let needed = align_up((entries_from(self.text_bytes) + self.entries * size_of::<Entry>()) as u64);
        let own = self.area.split_off_front(needed as usize);
        std::mem::replace(&mut self.area, own)
    }

    /// The area, for other use.
    pub(super) fn into_area(self) -> Lease {
        self.area
    }
}

/// Where entries begin behind a text.
fn entries_from(text_bytes: usize) -> usize {
    text_bytes.next_multiple_of(size_of::<Entry>())
}
