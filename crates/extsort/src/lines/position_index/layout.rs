//! The bytes of TBI, CSI and GZI; docs/formats.md draws them. All numbers are little-endian.

use super::{Chunk, IndexForm, LEVELS_MAX, NO_ROW, PositionIndex, Sequence, TBI_DEPTH, first_bin};
use std::io::{self, Write};

/// Blocks after which an address is kept, to find those of the blocks between.
const ADDRESS_EVERY: usize = 256;
/// A bin whose rows are within this number of compressed bytes goes to the one above it, if that
/// has rows, too.
const SMALL_BIN_BYTES: u64 = 1 << 16;

impl PositionIndex {
    /// Writes the index, once all blocks are known.
    pub(in super::super) fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        if let Some(columns) = self.columns
            && !self.begun.is_empty()
        {
            let end = self.blocks << 16;
            self.end_line(columns, b"", end)?;
        }
        let addresses = Addresses::new(&self.block_bytes);
        let form = self.final_form();
        if form == IndexForm::Gzi {
            return self.write_gzi(to);
        }
        self.write_header(form, to)?;
        let depth = self.depth();
        let (mut chunks, mut windows) = (&mut self.chunks[..], &mut self.windows[..]);
        let mut ends = self.sequences.iter().skip(1).map(|next| Some(next.from));
        let mut from = (0, 0);
        let mut number = 0;
        for sequence in &self.sequences {
            if let Some(all) = &self.alignments {
                number = write_empty_before(sequence, number, form, to)?;
                debug_assert!(number <= all.sequences);
            }
            let (own, own_windows);
            let to_end = (from.0 + chunks.len(), from.1 + windows.len());
            let end = ends.next().flatten().unwrap_or(to_end);
            (own, chunks) = chunks.split_at_mut(end.0 - from.0);
            (own_windows, windows) = windows.split_at_mut(end.1 - from.1);
            from = end;
            resolve(own, own_windows, &addresses);
            join_small_bins(own, depth);
            let bins = Bins { sequence, chunks: own, windows: own_windows, depth };
            bins.write(form, &addresses, to)?;
        }
        let (sequences, unplaced) = match &self.alignments {
            Some(all) => (all.sequences, all.unplaced),
            None => (number, 0),
        };
        write_empty(sequences.saturating_sub(number), form, to)?;
        // Rows without a position.
        to.write_all(&unplaced.to_le_bytes())
    }

    fn write_header(&self, form: IndexForm, to: &mut dyn Write) -> io::Result<()> {
        if let Some(all) = &self.alignments {
            match form {
                IndexForm::Csi => {
                    to.write_all(b"CSI\x01")?;
                    put(to, &[self.min_shift, self.depth(), 0])?;
                }
                _ => to.write_all(b"BAI\x01")?,
            }
            return put(to, &[all.sequences]);
        }
        let columns = self.columns.expect("only GZI and BAM have none");
        let columns = columns.header(self.skipped_rows);
        let names_bytes: usize = self.sequences.iter().map(|one| one.name.len() + 1).sum();
        let sequences = self.sequences.len() as u32;
        if form == IndexForm::Csi {
            to.write_all(b"CSI\x01")?;
            // The header of TBI is what follows, as further data.
            let further_bytes = 4 * (columns.len() + 1) + names_bytes;
            put(to, &[self.min_shift, self.depth(), further_bytes as u32])?;
        } else {
            to.write_all(b"TBI\x01")?;
            put(to, &[sequences])?;
        }
        put(to, &columns)?;
        put(to, &[names_bytes as u32])?;
        for sequence in &self.sequences {
            to.write_all(&sequence.name)?;
            to.write_all(&[0])?;
        }
        if form == IndexForm::Csi { put(to, &[sequences]) } else { Ok(()) }
    }

    /// Writes the addresses of all blocks with text but the first one, and of their text.
    fn write_gzi(&self, to: &mut dyn Write) -> io::Result<()> {
        let blocks = || self.block_bytes.iter().zip(&self.text_bytes);
        let entries = blocks().skip(1).filter(|(_, text)| **text > 0).count();
        to.write_all(&(entries as u64).to_le_bytes())?;
        let (mut address, mut text) = (0, 0);
        for (number, (bytes, text_bytes)) in blocks().enumerate() {
            if number > 0 && *text_bytes > 0 {
                put_long(to, &[address, text])?;
            }
            address += u64::from(*bytes) + 1;
            text += u64::from(*text_bytes);
        }
        Ok(())
    }
}

/// Writes the sequences from `number` on that have no records and come before this one. Returns
/// the number of the next one.
fn write_empty_before(
    sequence: &Sequence,
    number: u32,
    form: IndexForm,
    to: &mut dyn Write,
) -> io::Result<u32> {
    let own = sequence.name.first_chunk().map_or(number, |own| u32::from_be_bytes(*own));
    write_empty(own.saturating_sub(number), form, to)?;
    Ok(own + 1)
}

/// Writes this number of sequences without records.
fn write_empty(sequences: u32, form: IndexForm, to: &mut dyn Write) -> io::Result<()> {
    let empty: &[u32] = if form == IndexForm::Csi { &[0] } else { &[0, 0] };
    (0..sequences).try_for_each(|_| put(to, empty))
}

/// Puts virtual offsets in the places of block numbers. A window without rows gets that of the next
/// one with rows.
fn resolve(chunks: &mut [Chunk], windows: &mut [u64], addresses: &Addresses<'_>) {
    for chunk in chunks {
        (chunk.begin, chunk.end) = (addresses.of(chunk.begin), addresses.of(chunk.end));
    }
    let mut next = 0;
    for window in windows.iter_mut().rev() {
        if *window != NO_ROW {
            next = addresses.of(*window);
        }
        *window = next;
    }
}

/// Sorts the chunks by their bins, and gives those of small bins to the bins above, as htslib does.
fn join_small_bins(chunks: &mut [Chunk], depth: u32) {
    chunks.sort_unstable_by_key(|chunk| (chunk.bin, chunk.begin));
    for level in (1..=depth).rev() {
        let from = chunks.partition_point(|chunk| chunk.bin < first_bin(level));
        let to = chunks.partition_point(|chunk| chunk.bin < first_bin(level + 1));
        let (above, rest) = chunks.split_at_mut(from);
        for bin in rest[..to - from].chunk_by_mut(|a, b| a.bin == b.bin) {
            let parent = (bin[0].bin - 1) / 8;
            let end = bin.iter().map(|chunk| chunk.end).max().unwrap_or(0);
            let is_small = (end >> 16) - (bin[0].begin >> 16) < SMALL_BIN_BYTES;
            if is_small && above.binary_search_by_key(&parent, |chunk| chunk.bin).is_ok() {
                bin.iter_mut().for_each(|chunk| chunk.bin = parent);
            }
        }
        chunks.sort_unstable_by_key(|chunk| (chunk.bin, chunk.begin));
    }
}

/// The bins and windows of one sequence.
struct Bins<'a> {
    sequence: &'a Sequence,
    chunks: &'a [Chunk],
    windows: &'a [u64],
    depth: u32,
}

impl Bins<'_> {
    fn write(&self, form: IndexForm, places: &Addresses<'_>, to: &mut dyn Write) -> io::Result<()> {
        let is_csi = form == IndexForm::Csi;
        let by_bin = || self.chunks.chunk_by(|a, b| a.bin == b.bin);
        // One more has figures of the sequence.
        put(to, &[by_bin().count() as u32 + 1])?;
        let mut joined = Vec::new();
        for chunks in by_bin() {
            join_touching(chunks, &mut joined);
            let bin = chunks[0].bin;
            put(to, &[if is_csi { bin } else { number_of_tbi(bin) }])?;
            if is_csi {
                put_long(to, &[self.first_row(bin)])?;
            }
            put(to, &[joined.len() as u32 / 2])?;
            put_long(to, &joined)?;
        }
        let figures_bin = first_bin(if is_csi { self.depth } else { TBI_DEPTH } + 1) + 1;
        put(to, &[figures_bin])?;
        if is_csi {
            put_long(to, &[0])?;
        }
        let Sequence { begin, end, rows, unmapped, .. } = *self.sequence;
        put(to, &[2])?;
        put_long(to, &[places.of(begin), places.of(end), rows - unmapped, unmapped])?;
        if is_csi {
            return Ok(());
        }
        put(to, &[self.windows.len() as u32])?;
        put_long(to, self.windows)
    }

    /// Where the first row is that overlaps the bin's first window, or a later one.
    fn first_row(&self, bin: u32) -> u64 {
        let level = level_of(bin);
        let window = u64::from(bin - first_bin(level)) << (3 * (self.depth - level));
        self.windows.get(window as usize).copied().unwrap_or(0)
    }
}

fn level_of(bin: u32) -> u32 {
    (0..LEVELS_MAX as u32).rfind(|level| first_bin(*level) <= bin).unwrap_or(0)
}

/// The number in TBI of a bin of CSI, which has one level more above all others: each level begins
/// later there, by the number of bins of the level above it.
fn number_of_tbi(bin: u32) -> u32 {
    bin - (1 << (3 * (level_of(bin) - 1)))
}

/// Joins chunks of a bin of which one begins in the block where another ends. Puts the ends of each
/// into `joined`.
fn join_touching(chunks: &[Chunk], joined: &mut Vec<u64>) {
    joined.clear();
    for chunk in chunks {
        match joined.last_mut() {
            Some(end) if *end >> 16 >= chunk.begin >> 16 => *end = chunk.end.max(*end),
            _ => joined.extend([chunk.begin, chunk.end]),
        }
    }
}

/// The addresses of blocks in the output.
struct Addresses<'a> {
    /// The addresses of some blocks.
    some: Vec<u64>,
    block_bytes: &'a [u16],
}

impl<'a> Addresses<'a> {
    fn new(block_bytes: &'a [u16]) -> Addresses<'a> {
        let mut address = 0;
        let some = block_bytes.chunks(ADDRESS_EVERY).map(|blocks| {
            let first = address;
            address += sum(blocks);
            first
        });
        Addresses { some: some.collect(), block_bytes }
    }

    /// The virtual offset of a place in the text.
    fn of(&self, place: u64) -> u64 {
        let block = (place >> 16) as usize;
        let known = block / ADDRESS_EVERY;
        let rest = &self.block_bytes[known * ADDRESS_EVERY..block];
        (self.some[known] + sum(rest)) << 16 | place & 0xffff
    }
}

/// Bytes of blocks in all.
fn sum(blocks: &[u16]) -> u64 {
    blocks.iter().map(|bytes| u64::from(*bytes) + 1).sum()
}

fn put(to: &mut dyn Write, numbers: &[u32]) -> io::Result<()> {
    numbers.iter().try_for_each(|number| to.write_all(&number.to_le_bytes()))
}

fn put_long(to: &mut dyn Write, numbers: &[u64]) -> io::Result<()> {
    numbers.iter().try_for_each(|number| to.write_all(&number.to_le_bytes()))
}
