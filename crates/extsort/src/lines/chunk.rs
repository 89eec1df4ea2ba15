//! Lines in memory: text at the front of an area, and perhaps entries after it.
//!
//! ```text
//!  lines in their order  | text, each line with its delimiter | ...free... |
//!  lines as they came    | text, each line with its delimiter | entries, one a line | ...free... |
//! ```
//!
//! Lines in sorted order need no entries: a merge reads such a text like a block of a run. Reading
//! lines in sequence is also faster, because each line elsewhere is a TLB miss.

use super::options::LinesOptions;
use std::ops::Range;
use xsort_disk::{Lease, align_up};
use xsort_kernels::lines::{
    Arranged, Bound, Deduplicated, Entries, Entry, Gathered, LineComparer, LineKernels, Lines,
    SameBytes, SortSettings, Sorted, arrange_entries, gather_entries, gather_text, last_line,
    line_end,
};

/// Lines of this many bytes take longer to copy than to find.
const ARRANGED_BYTES_MAX: usize = 1024;

/// Where the order of a sorted chunk is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// The lines are in sorted order. Their entries are in the sort buffer during the sort.
    Arranged,
    /// Entries, in the order of their lines, of this many bytes each.
    Entries(usize),
}

impl Layout {
    /// Chooses the layout of `lines` lines, `text_bytes` bytes in all, for a sort buffer of
    /// `buffer_bytes` bytes.
    pub(super) fn new(
        order: &dyn LineKernels,
        text_bytes: usize,
        lines: usize,
        buffer_bytes: usize,
    ) -> Layout {
        let entry_bytes = order.entry_bytes();
        let line_bytes = text_bytes / lines.max(1);
        let is_arranged = order.arranged_from().is_some_and(|least| line_bytes >= least)
            && line_bytes < ARRANGED_BYTES_MAX
            && arranging_bytes(text_bytes, lines * entry_bytes) <= buffer_bytes;
        if is_arranged { Layout::Arranged } else { Layout::Entries(entry_bytes) }
    }

    /// Bytes of an area that a text of `text_bytes` bytes and `lines` lines needs.
    pub(super) fn area_bytes(self, text_bytes: usize, lines: usize) -> usize {
        align_up(match self {
            Layout::Arranged => text_bytes,
            Layout::Entries(entry_bytes) => entries_from(text_bytes) + lines * entry_bytes,
        } as u64) as usize
    }
}

/// Bytes of a sort buffer that holds the entries, and room to sort them or to move the text.
fn arranging_bytes(text_bytes: usize, entries_bytes: usize) -> usize {
    entries_bytes + text_bytes.max(entries_bytes)
}

/// Whole lines in an area.
#[derive(Debug)]
pub(super) struct Chunk {
    area: Lease,
    layout: Layout,
    /// Bytes and lines that were read.
    text_bytes: usize,
    lines: usize,
    /// Bytes of the text after the sort, without dropped lines in an arranged chunk, and the number
    /// of lines left. Both are 0 until the chunk is sorted.
    sorted_bytes: usize,
    sorted_lines: usize,
    /// Bytes that all keys share, if words without them are better.
    same: Option<SameBytes>,
}

/// Lines of a sorted chunk, in order.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChunkSlice<'a> {
    /// A text of lines in order. It is an array because a merge takes several texts.
    Arranged([&'a [u8]; 1]),
    /// A text, and the entries of some of its lines in order.
    Entries { text: &'a [u8], entries: Entries<'a> },
}

impl<'a> ChunkSlice<'a> {
    /// The lines in the form that a merge takes.
    pub(super) fn lines(&self) -> Lines<'_> {
        match self {
            ChunkSlice::Arranged(texts) => Lines::Blocks(texts),
            &ChunkSlice::Entries { text, entries } => Lines::Ordered { text, entries },
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            ChunkSlice::Arranged([text]) => text.is_empty(),
            ChunkSlice::Entries { entries, .. } => entries.is_empty(),
        }
    }

    /// Moves the first lines to `out`, as many whole lines as fit.
    pub(super) fn gather(&mut self, delimiter: u8, out: &mut [u8]) -> Gathered {
        match self {
            ChunkSlice::Arranged([text]) => {
                let gathered = gather_text(text, delimiter, out);
                *text = &text[gathered.bytes..];
                gathered
            }
            ChunkSlice::Entries { text, entries } => {
                let gathered = gather_entries(text, delimiter, *entries, out);
                *entries = entries.slice(gathered.lines..entries.len());
                gathered
            }
        }
    }

    /// Removes and returns the first line.
    pub(super) fn take_line(&mut self, delimiter: u8) -> Option<&'a [u8]> {
        match self {
            ChunkSlice::Arranged([text]) => {
                let (line, _) = text.split_at_checked(line_end(text, delimiter))?;
                *text = text.get(line.len() + 1..)?;
                Some(line)
            }
            ChunkSlice::Entries { text, entries } => {
                let line = (!entries.is_empty()).then(|| entries.line(0, text, delimiter))?;
                *entries = entries.slice(1..entries.len());
                Some(line)
            }
        }
    }
}

impl Chunk {
    /// A chunk of the first `text_bytes` bytes of an area, which are `lines` lines. The area must
    /// have enough bytes for its layout.
    pub(super) fn new(area: Lease, layout: Layout, text_bytes: usize, lines: usize) -> Chunk {
        debug_assert!(layout.area_bytes(text_bytes, lines) <= area.len());
        Chunk { area, layout, text_bytes, lines, sorted_bytes: 0, sorted_lines: 0, same: None }
    }

    /// Bytes that were read.
    pub(super) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Lines that were read.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Bytes of an area that the chunk needs until it is sorted.
    pub(super) fn needed_bytes(&self) -> usize {
        self.layout.area_bytes(self.text_bytes, self.lines)
    }

    /// Number of lines left after the sort, without dropped duplicates.
    pub(super) fn sorted_lines(&self) -> usize {
        self.sorted_lines
    }

    /// Sorts the lines. With `is_unique` it keeps only the first line of each key. The sums of the
    /// lines' hashes are valid only with `needs_hashes`. `sort_buffer` must be as large as the
    /// layout needs. `to` is memory of [`arranged_bytes`](Chunk::arranged_bytes): lines may move
    /// there, and `to` then receives their old memory. The returned flag is true if they moved.
    pub(super) fn sort(
        &mut self,
        order: &dyn LineKernels,
        options: &LinesOptions,
        needs_hashes: bool,
        sort_buffer: &mut Lease,
        mut to: Option<&mut Lease>,
    ) -> (HashSums, bool) {
        let LinesOptions { delimiter, is_unique, caches, .. } = *options;
        let bytes = self.lines * order.entry_bytes();
        let own = entries_from(self.text_bytes);
        match self.layout {
            Layout::Arranged => {
                let moved_bytes = if to.is_some() { 0 } else { self.text_bytes };
                sort_buffer.populate(0..arranging_bytes(moved_bytes, bytes));
            }
            Layout::Entries(_) => {
                self.area.populate(own..own + bytes);
                sort_buffer.populate(0..bytes);
            }
        }
        let (text, behind) = self.area.split_at_mut(self.text_bytes);
        let (entries, buffer) = match self.layout {
            Layout::Arranged => sort_buffer.split_at_mut(bytes),
            Layout::Entries(_) => (&mut behind[own - text.len()..][..bytes], &mut sort_buffer[..]),
        };
        let keeps_words = self.layout != Layout::Arranged;
        let settings = SortSettings { delimiter, caches, needs_hashes, keeps_words };
        let Sorted { sum: read, same } = order.sort(text, entries, &mut buffer[..bytes], settings);
        self.same = same;
        let Deduplicated { lines, dropped_sum } = if is_unique {
            order.dedup(text, delimiter, entries)
        } else {
            Deduplicated { lines: self.lines, dropped_sum: 0 }
        };
        self.sorted_lines = lines;
        let (sorted_bytes, has_moved) = match self.layout {
            Layout::Arranged => {
                let entry_bytes = order.entry_bytes();
                let entries = Entries::from_bytes(&entries[..lines * entry_bytes], entry_bytes);
                put_in_order(text, delimiter, entries, buffer, to.as_deref_mut())
            }
            Layout::Entries(_) => (self.text_bytes, false),
        };
        self.sorted_bytes = sorted_bytes;
        if has_moved && let Some(to) = to {
            std::mem::swap(&mut self.area, to);
        }
        (HashSums { read, dropped: dropped_sum }, has_moved)
    }

    /// Bytes of memory to which the sort can move the lines; 0 if they stay.
    pub(super) fn arranged_bytes(&self) -> usize {
        match self.layout {
            Layout::Arranged => align_up(self.text_bytes as u64) as usize,
            Layout::Entries(_) => 0,
        }
    }

    /// The bytes that all keys of these chunks share, if the chunks are sorted and the bytes are
    /// known.
    pub(super) fn same_bytes<'c>(mut chunks: impl Iterator<Item = &'c Chunk>) -> Option<SameBytes> {
        let first = chunks.next()?.same.clone()?;
        chunks.try_fold(first, |same, chunk| Some(same.and(chunk.same.as_ref()?)))
    }

    /// Returns the memory of dropped lines. Call it after the sort.
    pub(super) fn trim(&mut self) -> Lease {
        let needed = self.layout.area_bytes(self.sorted_bytes, self.sorted_lines);
        let own = self.area.split_off_front(needed);
        std::mem::replace(&mut self.area, own)
    }

    /// Bytes of its area.
    pub(super) fn area_bytes(&self) -> usize {
        self.area.len()
    }

    /// Returns the area for other use.
    pub(super) fn into_area(self) -> Lease {
        self.area
    }
}

/// Positions between the lines of a sorted chunk, from 0: in bytes if its lines are in sorted
/// order, else in lines.
impl Chunk {
    /// The position after the last line.
    pub(super) fn end(&self) -> usize {
        match self.layout {
            Layout::Arranged => self.sorted_bytes,
            Layout::Entries(_) => self.sorted_lines,
        }
    }

    /// Bytes of the lines between two positions, or an estimate.
    pub(super) fn bytes_between(&self, from: usize, to: usize) -> usize {
        (to - from) * self.position_bytes()
    }

    /// The position about `bytes` bytes after `from`, but at least one line after it, or the end.
    pub(super) fn ahead(&self, from: usize, bytes: usize, delimiter: u8) -> usize {
        let at = from + (bytes / self.position_bytes()).max(1);
        match self.layout {
            Layout::Arranged => {
                let rest = self.text().get(at - 1..).unwrap_or_default();
                memchr::memchr(delimiter, rest).map_or(self.end(), |end| at + end)
            }
            Layout::Entries(_) => at.min(self.end()),
        }
    }

    /// The position of a bound that isn't before `from`. `expected` is its estimated distance from
    /// `from` in bytes.
    pub(super) fn find(
        &self,
        comparer: &mut dyn LineComparer,
        delimiter: u8,
        from: usize,
        bound: Bound<'_>,
        expected: usize,
    ) -> usize {
        from + match self.slice(from..self.end()) {
            ChunkSlice::Arranged([text]) => {
                comparer.bound_in_text(text, delimiter, bound, expected)
            }
            ChunkSlice::Entries { text, entries } => {
                comparer.bound_in_entries(text, delimiter, entries, bound)
            }
        }
    }

    /// The line before a position, which isn't 0.
    pub(super) fn line_before(&self, position: usize, delimiter: u8) -> &[u8] {
        match self.slice(0..position) {
            ChunkSlice::Arranged([text]) => &text[last_line(text, delimiter)],
            ChunkSlice::Entries { text, entries } => entries.line(position - 1, text, delimiter),
        }
    }

    /// The first line of a sorted chunk.
    pub(super) fn first_line(&self, delimiter: u8) -> &[u8] {
        self.slice(0..self.end()).take_line(delimiter).unwrap_or_default()
    }

    /// The last line of a sorted chunk.
    pub(super) fn last_line(&self, delimiter: u8) -> &[u8] {
        match self.end() {
            0 => &[],
            end => self.line_before(end, delimiter),
        }
    }

    /// The lines between two positions.
    pub(super) fn slice(&self, range: Range<usize>) -> ChunkSlice<'_> {
        let text = self.text();
        match self.layout {
            Layout::Arranged => ChunkSlice::Arranged([&text[range]]),
            Layout::Entries(entry_bytes) => {
                let from = entries_from(text.len());
                let bytes = range.start * entry_bytes..range.end * entry_bytes;
                let entries = Entries::from_bytes(&self.area[from..][bytes], entry_bytes);
                ChunkSlice::Entries { text, entries }
            }
        }
    }

    fn text(&self) -> &[u8] {
        &self.area[..self.sorted_bytes]
    }

    /// Average bytes per line, or 1 if positions are in bytes.
    fn position_bytes(&self) -> usize {
        match self.layout {
            Layout::Arranged => 1,
            Layout::Entries(_) => (self.text_bytes / self.sorted_lines.max(1)).max(1),
        }
    }
}

/// Writes the lines of `entries` in order: to `to` if given, else to `text` through `buffer`, which
/// is as large. Returns their length in bytes, and true if they are in `to`.
fn put_in_order(
    text: &mut [u8],
    delimiter: u8,
    entries: Entries<'_>,
    buffer: &mut [u8],
    to: Option<&mut Lease>,
) -> (usize, bool) {
    let arranged = match to {
        None => arrange_entries(text, delimiter, entries, buffer),
        Some(to) => {
            to.populate(0..to.len());
            let arranged = arrange_entries(text, delimiter, entries, to);
            return (arranged.bytes(), matches!(arranged, Arranged::Moved(_)));
        }
    };
    if let Arranged::Moved(bytes) = arranged {
        text[..bytes].copy_from_slice(&buffer[..bytes]);
    }
    (arranged.bytes(), false)
}

/// Sums of the hashes of lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct HashSums {
    /// Sum over all lines of a chunk.
    pub(super) read: u64,
    /// Sum over the lines dropped as duplicates.
    pub(super) dropped: u64,
}

/// Offset of the entries after a text.
fn entries_from(text_bytes: usize) -> usize {
    text_bytes.next_multiple_of(align_of::<Entry>())
}
