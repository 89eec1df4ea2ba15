//! Lines in memory: text from the front of an area, entries behind it.
//!
//! ```text
//!  | text, each line with its delimiter | entries, one a line | ...free... |
//! ```

use xsort_disk::{Lease, align_up};
use xsort_kernels::Caches;
use xsort_kernels::lines::{Deduplicated, Entry, LineOrder, Words, arrange, dedup, sort};

/// Lines of so many bytes are worth moving. Of shorter ones the entries hold most, and longer ones
/// take longer to copy than to find.
const ARRANGED_LINE_BYTES: std::ops::Range<usize> = 16..1024;

/// Whole lines in an area.
#[derive(Debug)]
pub(super) struct Chunk {
    area: Lease,
    text_bytes: usize,
    lines: usize,
    /// Bytes of an entry.
    entry_bytes: usize,
    /// How many entries are in order, at the front of all; 0 until the chunk is sorted.
    entries: usize,
}

impl Chunk {
    /// Bytes of an area that a text of so many bytes and lines needs.
    pub(super) fn bytes_needed(text_bytes: usize, lines: usize, entry_bytes: usize) -> usize {
        align_up((entries_from(text_bytes) + lines * entry_bytes) as u64) as usize
    }

    /// A chunk of the first `text_bytes` bytes of an area, which are `lines` lines. The area has
    /// enough bytes for their entries.
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

    /// All lines; once it is sorted, perhaps only those that entries have.
    pub(super) fn text(&self) -> &[u8] {
        &self.area[..self.text_bytes]
    }

    /// How many lines are left without duplicates, once the chunk is sorted.
    pub(super) fn entries_count(&self) -> usize {
        self.entries
    }

    /// The entries of these lines, in order. `W` is that of the order that the chunk was sorted by.
    pub(super) fn entries<W: Words>(&self) -> &[Entry<W>] {
        let bytes = self.entries * self.entry_bytes;
        bytemuck::cast_slice(&self.area[entries_from(self.text_bytes)..][..bytes])
    }

    /// Sorts the lines, and with `is_unique` drops all but the first of those with the same key.
    /// Only if it `needs_hashes` are there sums of all lines.
    /// `sort_buffer` is as large as the entries of all lines. If it is as large as the text, lines
    /// may be moved to where their order has them, so that a merge reads them one after the other:
    /// a miss of the TLB for each line takes longer than two copies.
    pub(super) fn sort<O: LineOrder>(
        &mut self,
        order: &O,
        delimiter: u8,
        is_unique: bool,
        needs_hashes: bool,
        caches: Caches,
        sort_buffer: &mut Lease,
    ) -> HashSums {
        let bytes = self.lines * self.entry_bytes;
        let from = entries_from(self.text_bytes);
        self.area.populate(from..from + bytes);
        sort_buffer.populate(0..bytes);
        let (text, behind) = self.area.split_at_mut(from);
        let text = &mut text[..self.text_bytes];
        let entries: &mut [Entry<O::Words>] = bytemuck::cast_slice_mut(&mut behind[..bytes]);
        let entry_buffer: &mut [Entry<O::Words>] =
            bytemuck::cast_slice_mut(&mut sort_buffer[..bytes]);
        let read = sort(order, text, delimiter, entries, entry_buffer, caches, needs_hashes);
        let Deduplicated { lines, dropped_sum } = if is_unique {
            dedup(order, text, delimiter, entries)
        } else {
            Deduplicated { lines: self.lines, dropped_sum: 0 }
        };
        let entries = &mut entries[..lines];
        let line_bytes = text.len() / lines.max(1);
        if ARRANGED_LINE_BYTES.contains(&line_bytes) && text.len() <= sort_buffer.len() {
            sort_buffer.populate(bytes..text.len());
            arrange(text, delimiter, entries, sort_buffer);
        }
        self.entries = lines;
        HashSums { read, dropped: dropped_sum }
    }

    /// Gives back what the entries of dropped lines took. To be called once the chunk is sorted.
    pub(super) fn trim(&mut self) -> Lease {
        let needed =
            align_up((entries_from(self.text_bytes) + self.entries * self.entry_bytes) as u64);
        let own = self.area.split_off_front(needed as usize);
        std::mem::replace(&mut self.area, own)
    }

    /// Bytes of its area.
    pub(super) fn area_bytes(&self) -> usize {
        self.area.len()
    }

    /// The area, for other use.
    pub(super) fn into_area(self) -> Lease {
        self.area
    }
}

/// Sums of the hashes of lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct HashSums {
    /// Of all lines of a chunk.
    pub(super) read: u64,
    /// Of those that were dropped as duplicates.
    pub(super) dropped: u64,
}

/// Where entries begin behind a text.
fn entries_from(text_bytes: usize) -> usize {
    text_bytes.next_multiple_of(align_of::<Entry>())
}
