//! Lines in memory: text from the front of an area, entries behind it.
//!
//! ```text
//!  | text, each line with its delimiter | entries, one a line | ...free... |
//! ```

use xsort_disk::{Lease, align_up};
use xsort_kernels::Caches;
use xsort_kernels::lines::{Entry, Kept, LineOrder, Words, dedup, sort};

/// Whole lines in an area.
#[derive(Debug)]
pub(super) struct Chunk {
    area: Lease,
    text_bytes: usize,
    lines: usize,
    /// Bytes of an entry.
    entry_bytes: usize,
    /// How many of them are in order at the front of the entries; 0 until they are sorted.
    entries: usize,
}

impl Chunk {
    /// Bytes of an area that a text of so many bytes and lines needs.
    pub(super) fn bytes_needed(text_bytes: usize, lines: usize, entry_bytes: usize) -> usize {
        align_up((entries_from(text_bytes) + lines * entry_bytes) as u64) as usize
    }

    /// Of the first `text_bytes` bytes of an area, which are so many lines. The area has all the
    /// bytes that are needed for entries of so many.
    pub(super) fn new(area: Lease, text_bytes: usize, lines: usize, entry_bytes: usize) -> Chunk {
        debug_assert!(Chunk::bytes_needed(text_bytes, lines, entry_bytes) <= area.len());
        Chunk { area, text_bytes, lines, entry_bytes, entries: 0 }
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

    /// How many lines are wanted.
    pub(super) fn entries_count(&self) -> usize {
        self.entries
    }

    /// The entries of the lines that are wanted, in order. They are of the kind that the chunk was
    /// sorted with.
    pub(super) fn entries<W: Words>(&self) -> &[Entry<W>] {
        let bytes = self.entries * self.entry_bytes;
        bytemuck::cast_slice(&self.area[entries_from(self.text_bytes)..][..bytes])
    }

    /// Sorts, and leaves only the first of lines with the same key if that is wanted. Returns the
    /// sums of the hashes of all lines, and of those that were dropped. `spare` has room for as
    /// many entries as there are lines.
    pub(super) fn sort<O: LineOrder>(
        &mut self,
        order: &O,
        delimiter: u8,
        is_unique: bool,
        caches: Caches,
        spare: &mut Lease,
    ) -> (u64, u64) {
        let bytes = self.lines * self.entry_bytes;
        let from = entries_from(self.text_bytes);
        self.area.populate(from..from + bytes);
        spare.populate(0..bytes);
        let (text, behind) = self.area.split_at_mut(from);
        let text = &text[..self.text_bytes];
        let entries: &mut [Entry<O::Words>] = bytemuck::cast_slice_mut(&mut behind[..bytes]);
        let spare: &mut [Entry<O::Words>] = bytemuck::cast_slice_mut(&mut spare[..bytes]);
        let sum = sort(order, text, delimiter, entries, spare, caches);
        let all = || Kept { lines: self.lines, dropped_sum: 0 };
        let kept = if is_unique { dedup(order, text, delimiter, entries) } else { all() };
        self.entries = kept.lines;
        (sum, kept.dropped_sum)
    }

    /// Gives back what lines took that are not wanted. To be called when it is sorted.
    pub(super) fn trim(&mut self) -> Lease {
        let needed =
            align_up((entries_from(self.text_bytes) + self.entries * self.entry_bytes) as u64);
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
    text_bytes.next_multiple_of(align_of::<Entry>())
}
