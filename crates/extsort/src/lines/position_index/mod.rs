//! The index of positions in an output of BGZF, built as its blocks are written: TBI and CSI as
//! tabix and bcftools write them, and GZI as bgzip does.
//!
//! | file | idea |
//! |---|---|
//! | `columns` | where a row says its position |
//! | `alignments` | where a record of BAM says it |
//! | `layout` | the bytes of the three formats |
//!
//! The text comes in blocks, in order, before they are compressed; their compressed lengths come
//! when they are written. Until the end, a place in the text is therefore the number of its block,
//! times 65,536, and the bytes before it in the block. With the block's address in place of the
//! number it is the virtual offset of BGZF. A position is put into the smallest of the nested bins
//! of the R-tree ("The Human Genome Browser at UCSC", 2002) that holds all of it. Positions are
//! ascending, and so are the bins of one level: one chunk of each level is open.
//!
//! Memory is counted. What is kept grows with the bins that have rows and with the blocks, not with
//! the rows: about 8 MiB for a human genome, and 64 MiB for each TiB of text.

mod alignments;
mod columns;
mod layout;

pub use columns::{BadIndexColumns, IndexColumns};

use super::output_codec::OutputCodec;
use crate::job::error::Unindexed;
use crate::units::Bytes;
use alignments::{Alignment, Alignments};
use columns::Position;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::str::FromStr;

/// Most bytes of the beginning of a row that are kept until its end comes.
const ROW_BYTES_MAX: usize = 1 << 20;
/// Share of the budget for an index, as a divisor, and what it may take beside it.
const BUDGET_SHARE: u64 = 8;
const FREE_BYTES: u64 = 8 << 20;
/// Logarithm of the positions in a window of TBI, and levels of bins below the whole.
const TBI_SHIFT: u32 = 14;
const TBI_DEPTH: u32 = 5;
/// Positions of a sequence in an index of TBI, and logarithm of those that CSI has at least.
const TBI_POSITIONS: u64 = 1 << 29;
const CSI_POSITIONS_LOG: u32 = 31;
/// Most levels of bins.
const LEVELS_MAX: usize = 12;
/// Bytes that a sequence takes beside its name.
const SEQUENCE_BYTES: u64 = 160;

/// The format of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexForm {
    /// TBI, or CSI if a position passes 512 Mbp.
    Auto,
    /// tabix's own, for positions to 512 Mbp.
    Tbi,
    /// CSI, for positions to 2 Gbp and more.
    Csi,
    /// The addresses of the blocks, without columns.
    Gzi,
}

/// There is no such format of an index.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("auto, tbi, csi or gzi is wanted")]
pub struct BadIndexForm;

impl FromStr for IndexForm {
    type Err = BadIndexForm;

    fn from_str(text: &str) -> Result<IndexForm, BadIndexForm> {
        match text {
            "auto" => Ok(IndexForm::Auto),
            "tbi" => Ok(IndexForm::Tbi),
            "csi" => Ok(IndexForm::Csi),
            "gzi" => Ok(IndexForm::Gzi),
            _ => Err(BadIndexForm),
        }
    }
}

/// The settings of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// The format.
    pub form: IndexForm,
    /// The columns of positions; `None` for those that the output's name tells, and for GZI.
    pub columns: Option<IndexColumns>,
    /// The logarithm of the smallest bins of CSI, from 1 to 30; `None` for 14.
    pub min_shift: Option<u32>,
}

impl IndexOptions {
    /// Completes the settings for the index of an `output` with this compression.
    ///
    /// # Errors
    ///
    /// If there can't be such an index: why, and what to do.
    pub fn for_output(
        self,
        output: Option<&Path>,
        codec: Option<OutputCodec>,
    ) -> Result<IndexOptions, &'static str> {
        let is_file = |path: &&Path| fs::metadata(path).map_or(true, |found| found.is_file());
        let output = output
            .filter(is_file)
            .ok_or("--write-index writes beside a file: name one with -o, such as out.bed.gz")?;
        if codec != Some(OutputCodec::Bgzf) {
            return Err("--write-index needs an output of BGZF: name it with .gz or .bgz at the \
                        end, or give --compress-output=bgzip");
        }
        let form = match (self.form, self.min_shift) {
            (IndexForm::Auto, Some(_)) => IndexForm::Csi,
            (IndexForm::Tbi | IndexForm::Gzi, Some(_)) => {
                return Err("--min-shift is for --write-index=csi");
            }
            (form, _) => form,
        };
        let columns = self.columns.or_else(|| IndexColumns::of_name(output));
        match (form, self.columns, columns) {
            (IndexForm::Gzi, Some(_), _) => {
                Err("an index of the form gzi has no positions: leave --index-columns out")
            }
            (IndexForm::Gzi, None, _) => Ok(IndexOptions { columns: None, ..self }),
            (_, _, Some(_)) => Ok(IndexOptions { form, columns, ..self }),
            (_, _, None) => Err("the output's name doesn't say where its rows have their \
                                 positions: name it .bed.gz, .gff.gz, .vcf.gz, .sam.gz or \
                                 .pairs.gz, or give --index-columns=SEQUENCE,BEGIN,END"),
        }
    }
}

/// An index that is being built.
#[derive(Debug)]
pub struct PositionIndex {
    form: IndexForm,
    columns: Option<IndexColumns>,
    /// What the index of a BAM file knows.
    alignments: Option<Alignments>,
    min_shift: u32,
    room: Room,
    /// Bytes of each block that was written, less one.
    block_bytes: Vec<u16>,
    /// Bytes of text of each block, for GZI.
    text_bytes: Vec<u16>,
    /// Blocks whose text is known.
    blocks: u64,
    /// Lines at the top that are no rows.
    skipped_rows: u32,
    /// Rows and other lines so far.
    lines: u64,
    /// The beginning of a line whose end is still to come, and where it begins.
    begun: Vec<u8>,
    line_begin: u64,
    names: HashSet<Vec<u8>>,
    sequences: Vec<Sequence>,
    /// The chunks and windows of all sequences, one after the other.
    chunks: Vec<Chunk>,
    windows: Vec<u64>,
    /// The chunk of each level that may grow.
    open: [Option<usize>; LEVELS_MAX],
    last_begin: u64,
    end_max: u64,
}

/// A sequence (a chromosome, a contig) and its part of the index.
#[derive(Debug)]
struct Sequence {
    /// Its name; in BAM its number, as four bytes, the most significant first.
    name: Vec<u8>,
    rows: u64,
    /// Of these records of BAM that have a place, but aren't aligned.
    unmapped: u64,
    /// Chunks and windows of the sequences before it.
    from: (usize, usize),
    /// Where its first row begins and its last one ends.
    begin: u64,
    end: u64,
}

/// Rows of one bin that follow each other, nearly.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    bin: u32,
    begin: u64,
    end: u64,
}

/// A window of the linear index that no row overlaps.
const NO_ROW: u64 = u64::MAX;

impl PositionIndex {
    /// An index within its share of a budget, of an output that begins with the lines of `header`.
    #[must_use]
    pub fn new(options: IndexOptions, header: &[u8], budget_bytes: u64) -> PositionIndex {
        let IndexOptions { form, columns, min_shift } = options;
        let min_shift = min_shift.unwrap_or(TBI_SHIFT);
        // Comments are no rows anyway.
        let is_comment = |line: &[u8]| line.first() == columns.map(|of| of.comment).as_ref();
        let lines = || header.split_inclusive(|byte| *byte == b'\n');
        let skipped_rows = if lines().all(is_comment) { 0 } else { lines().count() as u32 };
        let limit_bytes = PositionIndex::budget_share(budget_bytes) + FREE_BYTES;
        PositionIndex {
            form,
            columns,
            alignments: None,
            min_shift,
            room: Room { limit_bytes, left_bytes: limit_bytes },
            block_bytes: Vec::new(),
            text_bytes: Vec::new(),
            blocks: 0,
            skipped_rows,
            lines: 0,
            begun: Vec::new(),
            line_begin: 0,
            names: HashSet::new(),
            sequences: Vec::new(),
            chunks: Vec::new(),
            windows: Vec::new(),
            open: [None; LEVELS_MAX],
            last_begin: 0,
            end_max: 0,
        }
    }

    /// An index of a BAM file, BAI or CSI, within its share of a budget. The file's header has
    /// `header_bytes` bytes and this number of `sequences`. With [`IndexForm::Auto`] it is CSI if a
    /// position passes 512 Mbp, and with [`IndexForm::Tbi`] always BAI.
    #[must_use]
    pub fn of_bam(
        form: IndexForm,
        (header_bytes, sequences): (u64, u32),
        budget_bytes: u64,
    ) -> PositionIndex {
        let options = IndexOptions { form, columns: None, min_shift: None };
        let alignments = Some(Alignments::new(sequences, header_bytes));
        PositionIndex { alignments, ..PositionIndex::new(options, b"", budget_bytes) }
    }

    /// Bytes of a budget that an index may take.
    pub(super) fn budget_share(budget_bytes: u64) -> u64 {
        budget_bytes / BUDGET_SHARE
    }

    /// Adds the rows of the next block.
    ///
    /// # Errors
    ///
    /// A row without a position, or out of order, or an index that doesn't fit in its memory.
    pub(super) fn add_text(&mut self, text: &[u8]) -> io::Result<()> {
        if let Some(columns) = self.columns {
            let block = self.blocks << 16;
            let mut at = 0;
            while let Some(bytes) = memchr::memchr(b'\n', &text[at..]) {
                let line = &text[at..at + bytes];
                at += bytes + 1;
                let end = if at < text.len() { block + at as u64 } else { block + (1 << 16) };
                self.end_line(columns, line, end)?;
            }
            self.keep(&text[at..]);
        } else if let Some(mut all) = self.alignments.take() {
            let block = self.blocks << 16;
            let added = all.add(text, block, |found, places| self.add_alignment(&found, places));
            self.alignments = Some(all);
            added?;
        } else {
            self.room.reserve(&mut self.text_bytes, 1)?;
            // A full block of others' BGZF has 65,536 bytes, but none that is written here.
            self.text_bytes.push(text.len() as u16);
        }
        self.blocks += 1;
        Ok(())
    }

    /// Adds the length of the next block that was written.
    pub(super) fn add_block(&mut self, bytes: usize) -> io::Result<()> {
        self.room.reserve(&mut self.block_bytes, 1)?;
        self.block_bytes.push((bytes - 1) as u16);
        Ok(())
    }

    /// Adds a block without text, which was written.
    pub(super) fn add_empty_block(&mut self, bytes: usize) -> io::Result<()> {
        self.add_text(b"")?;
        self.add_block(bytes)
    }

    fn keep(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(ROW_BYTES_MAX - self.begun.len());
        self.begun.extend_from_slice(&bytes[..kept]);
    }

    /// Adds a line that ends before the place `end`.
    fn end_line(&mut self, columns: IndexColumns, line: &[u8], end: u64) -> io::Result<()> {
        if self.begun.is_empty() {
            return self.add_line(columns, line, end);
        }
        self.keep(line);
        let whole = std::mem::take(&mut self.begun);
        self.add_line(columns, &whole, end)?;
        self.begun = whole;
        self.begun.clear();
        Ok(())
    }

    fn add_line(&mut self, columns: IndexColumns, line: &[u8], end: u64) -> io::Result<()> {
        let begin = std::mem::replace(&mut self.line_begin, end);
        self.lines += 1;
        if self.lines <= u64::from(self.skipped_rows) || line.first() == Some(&columns.comment) {
            return Ok(());
        }
        let position = columns.position(line).map_err(|reason| self.refusal(&reason))?;
        self.add_position(&position, (begin, end))
    }

    /// Adds a record of BAM that is between two places. One without a sequence is in no bin.
    fn add_alignment(&mut self, found: &Alignment, places: (u64, u64)) -> io::Result<()> {
        self.lines += 1;
        let Some(number) = found.sequence else { return Ok(()) };
        self.add_position(&found.position(&number.to_be_bytes()), places)?;
        let sequence = self.sequences.last_mut().expect("it has begun");
        sequence.unmapped += u64::from(found.is_unmapped);
        Ok(())
    }

    /// Adds a row of this position, which is between two places.
    fn add_position(
        &mut self,
        position: &Position<'_>,
        (begin, end): (u64, u64),
    ) -> io::Result<()> {
        self.begin_sequence(position, begin)?;
        self.add_windows(position, begin)?;
        self.add_to_bin(position, begin, end)?;
        self.last_begin = position.begin;
        self.end_max = self.end_max.max(position.end);
        let sequence = self.sequences.last_mut().expect("it has begun");
        sequence.rows += 1;
        sequence.end = end;
        Ok(())
    }

    /// Begins another sequence if the row is of one, and checks the order of the rows.
    fn begin_sequence(&mut self, position: &Position<'_>, begin: u64) -> io::Result<()> {
        let Position { sequence: name, begin: first, end } = *position;
        let positions = self.positions();
        if end > positions {
            let other = match self.form {
                IndexForm::Tbi => "--write-index=csi takes larger ones",
                _ => "a larger --min-shift may take it",
            };
            let what = format!("its end {end} passes the {positions} positions of the index");
            return Err(self.refusal(&format!("{what}: {other}")));
        }
        if self.sequences.last().is_some_and(|last| last.name == name) {
            if first < self.last_begin {
                let last = self.last_begin;
                let what = format!("it begins at {first}, and the row before it at {last}");
                return Err(self.unordered(&what));
            }
            return Ok(());
        }
        if self.names.contains(name) {
            let what = "other sequences are between it and earlier rows of its sequence";
            return Err(self.unordered(what));
        }
        self.room.take(SEQUENCE_BYTES + 2 * name.len() as u64)?;
        self.names.insert(name.to_vec());
        self.sequences.push(Sequence {
            name: name.to_vec(),
            rows: 0,
            unmapped: 0,
            from: (self.chunks.len(), self.windows.len()),
            begin,
            end: begin,
        });
        self.open = [None; LEVELS_MAX];
        Ok(())
    }

    /// Adds the windows up to the row's last one.
    fn add_windows(&mut self, position: &Position<'_>, begin: u64) -> io::Result<()> {
        let shift = self.min_shift;
        let from = self.sequences.last().map_or(0, |sequence| sequence.from.1);
        let first = from + (position.begin >> shift) as usize;
        let last = from + ((position.end - 1) >> shift) as usize;
        if self.windows.len() <= last {
            self.room.reserve(&mut self.windows, last + 1 - from)?;
            let len = self.windows.len();
            self.windows.resize(first.max(len), NO_ROW);
            self.windows.resize(last + 1, begin);
        }
        Ok(())
    }

    /// Adds the row to the smallest bin that holds it.
    fn add_to_bin(&mut self, position: &Position<'_>, begin: u64, end: u64) -> io::Result<()> {
        let (level, bin) = bin_of(position, self.min_shift, self.depth());
        let open = &mut self.open[level];
        if let Some(chunk) = open.map(|at| &mut self.chunks[at])
            && chunk.bin == bin
            && chunk.end >> 16 >= begin >> 16
        {
            chunk.end = end;
            return Ok(());
        }
        self.room.reserve(&mut self.chunks, 1)?;
        *open = Some(self.chunks.len());
        self.chunks.push(Chunk { bin, begin, end });
        Ok(())
    }

    /// Levels of bins below the whole. TBI may become CSI, so it has one more until it is written.
    fn depth(&self) -> u32 {
        (CSI_POSITIONS_LOG - self.min_shift).div_ceil(3)
    }

    /// Positions of a sequence that the index has room for.
    fn positions(&self) -> u64 {
        match self.form {
            IndexForm::Tbi => TBI_POSITIONS,
            _ => 1 << (self.min_shift + 3 * self.depth()),
        }
    }

    /// The format that is written.
    fn final_form(&self) -> IndexForm {
        match self.form {
            IndexForm::Auto if self.end_max <= TBI_POSITIONS => IndexForm::Tbi,
            IndexForm::Auto => IndexForm::Csi,
            form => form,
        }
    }

    /// The end of the index's name, with its dot.
    pub(super) fn extension(&self) -> &'static str {
        match self.final_form() {
            IndexForm::Csi => ".csi",
            IndexForm::Gzi => ".gzi",
            IndexForm::Tbi | IndexForm::Auto if self.alignments.is_some() => ".bai",
            IndexForm::Tbi | IndexForm::Auto => ".tbi",
        }
    }

    /// True if the index is written as BGZF.
    pub(super) fn is_compressed(&self) -> bool {
        match self.final_form() {
            IndexForm::Csi => true,
            IndexForm::Gzi => false,
            IndexForm::Tbi | IndexForm::Auto => self.alignments.is_none(),
        }
    }

    fn unordered(&self, what: &str) -> io::Error {
        self.refusal(&format!(
            "{what}: an index needs the rows of a sequence together, in ascending order of their \
             begins: sort by both, such as -k1,1 -k2,2n, or leave the index out"
        ))
    }

    /// The error of the current line.
    fn refusal(&self, what: &str) -> io::Error {
        let what = format!("line {} of the output can't be in its index: {what}", self.lines);
        io::Error::other(Unindexed(what))
    }
}

/// The level and the number of the smallest bin that holds a position. The bins of a level follow
/// those of the one above it; a bin has eight below it.
fn bin_of(position: &Position<'_>, min_shift: u32, depth: u32) -> (usize, u32) {
    let (begin, last) = (position.begin, position.end - 1);
    let shift = |level| min_shift + 3 * (depth - level);
    let holds = |level: &u32| begin >> shift(*level) == last >> shift(*level);
    let level = (1..=depth).rfind(holds).unwrap_or(0);
    (level as usize, first_bin(level) + (begin >> shift(level)) as u32)
}

/// The number of a level's first bin.
fn first_bin(level: u32) -> u32 {
    ((1_u64 << (3 * level)) / 7) as u32
}

/// The memory that is left.
#[derive(Debug)]
struct Room {
    limit_bytes: u64,
    left_bytes: u64,
}

impl Room {
    fn take(&mut self, bytes: u64) -> io::Result<()> {
        self.left_bytes = self.left_bytes.checked_sub(bytes).ok_or_else(|| {
            let limit = Bytes(self.limit_bytes);
            io::Error::other(Unindexed(format!(
                "its index needs more than {limit}, about an eighth of the memory: give more \
                 memory, or leave the index out; are its columns the right ones?"
            )))
        })?;
        Ok(())
    }

    /// Makes place for further items.
    fn reserve<T>(&mut self, items: &mut Vec<T>, further: usize) -> io::Result<()> {
        let needed = items.len() + further;
        if needed > items.capacity() {
            let grown = needed.max(2 * items.capacity()).max(64);
            self.take(((grown - items.capacity()) * size_of::<T>()) as u64)?;
            items.reserve_exact(grown - items.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::compressed_output::CompressedOutput;
    use super::*;
    use std::collections::BTreeMap;
    use std::io::{Read, Write};

    /// Rows of one format and what is expected of their index.
    struct Case {
        text: Vec<u8>,
        output: &'static str,
        form: IndexForm,
        min_shift: Option<u32>,
    }

    /// The output and its index, as they are written.
    fn written(case: &Case, flushes: usize) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let options = IndexOptions { form: case.form, columns: None, min_shift: case.min_shift };
        let codec = OutputCodec::Bgzf;
        let options = options.for_output(Some(Path::new(case.output)), Some(codec)).unwrap();
        let mut index = PositionIndex::new(options, b"", 64 << 20);
        let (mut blocks, mut bytes) = (Vec::new(), Vec::new());
        let output = CompressedOutput::new(&mut blocks, codec, 2, Vec::new());
        let mut output = output.with_index(Some(&mut index));
        for part in case.text.chunks(case.text.len() / flushes + 1) {
            output.write_all(part)?;
            output.flush()?;
        }
        drop(output);
        index.write(&mut bytes)?;
        Ok((blocks, bytes))
    }

    /// An index as a reader of it sees it: for each sequence the chunks of its bins.
    struct Read32<'a>(&'a [u8]);

    impl Read32<'_> {
        fn number(&mut self) -> u32 {
            self.0
                .split_off(..4)
                .map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()))
                .unwrap()
        }
        fn long(&mut self) -> u64 {
            u64::from(self.number()) | u64::from(self.number()) << 32
        }
    }

    /// Bins with their chunks, and the windows.
    type Bins = (BTreeMap<u32, Vec<(u64, u64)>>, Vec<u64>);

    fn read(bytes: &[u8]) -> (u32, u32, BTreeMap<Vec<u8>, Bins>) {
        let mut from = Read32(&bytes[4..]);
        let is_csi = &bytes[..4] == b"CSI\x01";
        let (mut shift, mut depth, mut sequences) = (14, 5, 0);
        if is_csi {
            (shift, depth) = (from.number(), from.number());
            from.number();
        } else {
            sequences = from.number();
        }
        for _ in 0..6 {
            from.number();
        }
        let names_bytes = from.number() as usize;
        let names = from.0.split_off(..names_bytes).unwrap();
        if is_csi {
            sequences = from.number();
        }
        let names: Vec<&[u8]> = names.split(|byte| *byte == 0).collect();
        let all = (0..sequences as usize).map(|number| {
            let mut bins = BTreeMap::new();
            for _ in 0..from.number() {
                let bin = from.number();
                if is_csi {
                    from.long();
                }
                let chunks = (0..from.number()).map(|_| (from.long(), from.long())).collect();
                bins.insert(bin, chunks);
            }
            let windows = if is_csi { 0 } else { from.number() };
            (names[number].to_vec(), (bins, (0..windows).map(|_| from.long()).collect()))
        });
        let all = all.collect();
        assert_eq!((from.long(), from.0.len()), (0, 0), "the end");
        (shift, depth, all)
    }

    /// The places of the text, by their virtual offsets: of each block its address and where its
    /// text begins.
    fn text_of(blocks: &[u8]) -> (BTreeMap<u64, usize>, Vec<u8>) {
        let (mut places, mut text, mut at) = (BTreeMap::new(), Vec::new(), 0);
        for bytes in super::super::bgzf::lengths(blocks) {
            places.insert(at as u64, text.len());
            let mut member = flate2::read::GzDecoder::new(&blocks[at..at + bytes]);
            member.read_to_end(&mut text).unwrap();
            at += bytes;
        }
        (places, text)
    }

    /// The rows that overlap a region, found by the index as readers do.
    fn found(
        (shift, depth, sequences): &(u32, u32, BTreeMap<Vec<u8>, Bins>),
        (places, text): &(BTreeMap<u64, usize>, Vec<u8>),
        columns: IndexColumns,
        (name, begin, end): (&[u8], u64, u64),
    ) -> Vec<Vec<u8>> {
        let Some((bins, windows)) = sequences.get(name) else { return Vec::new() };
        let least = windows.get((begin >> shift) as usize).copied().unwrap_or(0);
        let place = |offset: u64| places[&(offset >> 16)] + (offset & 0xffff) as usize;
        let mut rows = BTreeMap::new();
        for level in 0..=*depth {
            let shift = shift + 3 * (depth - level);
            for bin in begin >> shift..=(end - 1) >> shift {
                let chunks = bins.get(&(first_bin(level) + bin as u32));
                for (from, to) in chunks.into_iter().flatten().filter(|(_, to)| *to > least) {
                    let mut at = place(*from);
                    for line in text[at..place(*to)].split_inclusive(|byte| *byte == b'\n') {
                        let row = columns.position(line.strip_suffix(b"\n").unwrap());
                        let Position { sequence, begin: first, end: last } = row.unwrap();
                        if sequence == name && first < end && last > begin {
                            rows.insert(at, line.to_vec());
                        }
                        at += line.len();
                    }
                }
            }
        }
        rows.into_values().collect()
    }

    /// Rows in order: long and short ones, near and far from each other, with long names at times.
    fn bed(rows: u64, step: u64) -> Vec<u8> {
        let mut text = Vec::new();
        for sequence in ["c1", "c10", "c2"] {
            let mut begin = 0;
            for row in 0..rows {
                let random = (row + 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
                begin += random % step;
                let bases = [1, 300, 20_000, 3_000_000][(random >> 7) as usize % 4];
                let name = "x".repeat(if random % 97 == 0 { 9000 } else { random as usize % 40 });
                writeln!(text, "{sequence}\t{begin}\t{}\t{name}", begin + bases).unwrap();
            }
        }
        text
    }

    /// Every region finds the rows that overlap it, whatever the form, the blocks and the windows.
    #[test]
    fn regions_find_their_rows() {
        let output = "a.bed.gz";
        let columns = IndexColumns::of_name(Path::new(output)).unwrap();
        for (form, min_shift, rows, step, flushes) in [
            (IndexForm::Auto, None, 3000, 100_000, 1),
            (IndexForm::Tbi, None, 3000, 10, 7),
            (IndexForm::Csi, None, 900, 2_000_000, 2),
            (IndexForm::Csi, Some(10), 900, 900_000, 1),
            (IndexForm::Auto, None, 900, 2_000_000, 1),
        ] {
            let case = Case { text: bed(rows, step), output, form, min_shift };
            let (blocks, bytes) = written(&case, flushes).unwrap();
            let passes = rows * step / 2 > TBI_POSITIONS;
            let magic = if form == IndexForm::Csi || passes { b"CSI\x01" } else { b"TBI\x01" };
            assert_eq!(&bytes[..4], magic, "{form:?}");
            let (index, text) = (read(&bytes), text_of(&blocks));
            assert!(text.1 == case.text);
            let lines = || case.text.split_inclusive(|byte| *byte == b'\n');
            for number in 0..60 {
                let begin = number * rows * step / 110;
                let end = begin + [1, 5000, 10_000_000][number as usize % 3];
                for name in ["c1", "c10", "c2", "c3"] {
                    let region = (name.as_bytes(), begin, end);
                    let overlaps = |line: &&[u8]| {
                        let row = columns.position(line.strip_suffix(b"\n").unwrap()).unwrap();
                        row.sequence == name.as_bytes() && row.begin < end && row.end > begin
                    };
                    let expected: Vec<&[u8]> = lines().filter(overlaps).collect();
                    assert!(found(&index, &text, columns, region) == expected, "{form:?} {begin}");
                }
            }
        }
    }

    #[test]
    fn rows_out_of_order_are_named() {
        for (text, expected) in [
            ("a\t5\t6\na\t4\t9\n", "line 2 of the output can't be in its index: it begins at 4"),
            ("a\t5\t6\nb\t5\t6\na\t7\t8\n", "line 3 of the output can't be in its index: other"),
            ("#x\na\t5\n", "line 2 of the output can't be in its index: it has no column 3"),
            ("a\t5\t536870913\n", "--write-index=csi takes larger ones"),
        ] {
            let text = text.as_bytes().to_vec();
            let case = Case { text, output: "a.bed.gz", form: IndexForm::Tbi, min_shift: None };
            let error = written(&case, 1).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// A block's address is known only once it is written, so its rows are counted by blocks.
    #[test]
    fn the_addresses_of_blocks_are_those_of_the_file() {
        let case =
            Case { text: bed(3000, 9), output: "a.x", form: IndexForm::Gzi, min_shift: None };
        let (blocks, bytes) = written(&case, 2).unwrap();
        let mut expected = Vec::new();
        let (mut at, mut text) = (0, 0);
        for bytes in super::super::bgzf::lengths(&blocks) {
            let size = u32::from_le_bytes(blocks[at + bytes - 4..at + bytes].try_into().unwrap());
            if at > 0 && size > 0 {
                expected.extend([at as u64, text]);
            }
            at += bytes;
            text += u64::from(size);
        }
        let mut from = Read32(&bytes);
        assert_eq!(from.long() * 2, expected.len() as u64);
        assert!(expected.iter().all(|number| from.long() == *number) && from.0.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut text = Vec::new();
        for sequence in 0..1000 {
            writeln!(text, "s{sequence}\t500000000\t500000001").unwrap();
        }
        let case = Case { text, output: "a.bed.gz", form: IndexForm::Auto, min_shift: None };
        let error = written(&case, 1).unwrap_err().to_string();
        assert!(error.contains("needs more than 16.0 MiB"), "{error}");
    }

    #[test]
    fn an_index_that_cannot_be_is_refused() {
        let of = |form, output: Option<&str>, codec, min_shift| {
            let options = IndexOptions { form, columns: None, min_shift };
            options.for_output(output.map(Path::new), codec).map(|options| options.form)
        };
        let (bgzf, auto) = (Some(OutputCodec::Bgzf), IndexForm::Auto);
        assert_eq!(of(auto, Some("a.bed.gz"), bgzf, None), Ok(auto));
        assert_eq!(of(auto, Some("a.bed.gz"), bgzf, Some(9)), Ok(IndexForm::Csi));
        assert_eq!(of(IndexForm::Gzi, Some("a"), bgzf, None), Ok(IndexForm::Gzi));
        for (refused, expected) in [
            (of(auto, None, bgzf, None), "name one with -o"),
            (of(auto, Some("/dev/null"), bgzf, None), "name one with -o"),
            (of(auto, Some("a.bed.gz"), Some(OutputCodec::Gzip), None), "bgzip"),
            (of(auto, Some("a.gz"), bgzf, None), "--index-columns"),
            (of(IndexForm::Tbi, Some("a.bed.gz"), bgzf, Some(9)), "--write-index=csi"),
        ] {
            assert!(refused.unwrap_err().contains(expected), "{expected}");
        }
    }
}
