//! Records of BAM in an index: where they begin and end in the text, and in the genome.

use super::columns::Position;
use crate::job::error::Unindexed;
use std::io;

/// Bytes of a record before its name, with the number of its bytes.
const FIXED_BYTES: usize = 36;
/// Most bytes of a record that say where it is: with its name and its CIGAR string.
const HEAD_BYTES_MAX: usize = FIXED_BYTES + 256 + 4 * u16::MAX as usize;
/// Flags of a record.
const UNMAPPED: u16 = 4;

/// The records in the text of a BAM file, which comes in blocks.
#[derive(Debug)]
pub(super) struct Alignments {
    /// Sequences of the header.
    pub(super) sequences: u32,
    /// Records without a place so far.
    pub(super) unplaced: u64,
    /// Bytes of the header that are still to come.
    header_left: u64,
    /// The beginning of a record whose end is still to come, and all of its bytes that were seen.
    begun: Vec<u8>,
    seen: usize,
    /// Where the next record begins.
    begin: u64,
}

/// Where a record is in the genome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alignment {
    /// The number of its sequence; `None` without one.
    pub(super) sequence: Option<u32>,
    begin: u64,
    end: u64,
    pub(super) is_unmapped: bool,
}

impl Alignment {
    /// The same, with the name of the sequence.
    pub(super) fn position<'n>(&self, name: &'n [u8]) -> Position<'n> {
        Position { sequence: name, begin: self.begin, end: self.end }
    }
}

impl Alignments {
    pub(super) fn new(sequences: u32, header_bytes: u64) -> Alignments {
        Alignments {
            sequences,
            unplaced: 0,
            header_left: header_bytes,
            begun: Vec::new(),
            seen: 0,
            begin: 0,
        }
    }

    /// Calls `take` with each record that ends in the text of the next block, and with the places
    /// where it begins and ends. `block` is the place of the text.
    pub(super) fn add(
        &mut self,
        text: &[u8],
        block: u64,
        mut take: impl FnMut(Alignment, (u64, u64)) -> io::Result<()>,
    ) -> io::Result<()> {
        let place = |at: usize| if at < text.len() { block + at as u64 } else { block + (1 << 16) };
        let mut at = self.header_left.min(text.len() as u64) as usize;
        if self.header_left > 0 {
            self.header_left -= at as u64;
            self.begin = place(at);
        }
        while at < text.len() {
            let rest = &text[at..];
            // The number of a record's bytes may be in two blocks, too.
            if self.begun.len() < 4 && (self.seen > 0 || rest.len() < 4) {
                let taken = rest.len().min(4 - self.begun.len());
                self.keep(&rest[..taken]);
                at += taken;
                continue;
            }
            let head = if self.begun.is_empty() { rest } else { &self.begun[..] };
            let bytes = 4 + u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
            let taken = rest.len().min(bytes - self.seen);
            at += taken;
            if self.seen + taken < bytes {
                self.keep(&rest[..taken]);
                continue;
            }
            let found = if self.seen == 0 {
                alignment(&rest[..bytes])
            } else {
                self.keep(&rest[..taken]);
                alignment(&self.begun)
            };
            self.begun.clear();
            self.seen = 0;
            let begin = std::mem::replace(&mut self.begin, place(at));
            let found =
                found.ok_or_else(|| io::Error::other(Unindexed("a record is cut".into())))?;
            self.unplaced += u64::from(found.sequence.is_none());
            take(found, (begin, self.begin))?;
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(HEAD_BYTES_MAX - self.begun.len());
        self.begun.extend_from_slice(&bytes[..kept]);
        self.seen += bytes.len();
    }
}

/// Reads where a record is. `None` if it is too short.
fn alignment(record: &[u8]) -> Option<Alignment> {
    let four = |at: usize| Some(i32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let two = |at: usize| Some(u16::from_le_bytes(record.get(at..at + 2)?.try_into().ok()?));
    let (sequence, position) = (four(4)?, four(8)?);
    let (name_bytes, operations) = (usize::from(*record.get(12)?), usize::from(two(16)?));
    let is_unmapped = two(18)? & UNMAPPED != 0;
    let begin = u64::try_from(position).unwrap_or(0);
    let cigar_begin = FIXED_BYTES + name_bytes;
    let cigar = record.get(cigar_begin..cigar_begin + 4 * operations)?;
    let bases = if is_unmapped { 0 } else { bases_of_cigar(cigar) };
    let sequence = u32::try_from(sequence).ok();
    Some(Alignment { sequence, begin, end: begin + bases.max(1), is_unmapped })
}

/// Bases of the sequence that operations of a CIGAR string cover: M, D, N, = and X. A string of
/// more than 65,535 operations is stood for by two, S and N, which cover as many.
fn bases_of_cigar(cigar: &[u8]) -> u64 {
    let covers = |operation: u32| matches!(operation & 0xf, 0 | 2 | 3 | 7 | 8);
    cigar
        .chunks_exact(4)
        .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .filter(|&operation| covers(operation))
        .map(|operation| u64::from(operation >> 4))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of this sequence and position, with flags, a CIGAR string, and more bytes after it.
    fn record(sequence: i32, position: i32, flags: u16, cigar: &[u32], more: usize) -> Vec<u8> {
        let mut body = [sequence.to_le_bytes(), position.to_le_bytes()].concat();
        body.extend([2, 60, 0, 0]);
        body.extend((cigar.len() as u16).to_le_bytes());
        body.extend(flags.to_le_bytes());
        body.extend([0; 16]);
        body.extend(*b"r\0");
        body.extend(cigar.iter().flat_map(|operation| operation.to_le_bytes()));
        body.extend(vec![7; more]);
        [&(body.len() as u32).to_le_bytes()[..], &body].concat()
    }

    #[test]
    fn a_record_ends_where_its_cigar_string_says() {
        // 5S10M2I3D4N6=1X7H, and an unmapped one.
        let cigar =
            [5 << 4 | 4, 10 << 4, 2 << 4 | 1, 3 << 4 | 2, 4 << 4 | 3, 6 << 4 | 7, 1 << 4 | 8];
        let end = |flags| alignment(&record(3, 100, flags, &cigar, 5)).unwrap().end;
        assert_eq!([end(0), end(UNMAPPED)], [100 + 10 + 3 + 4 + 6 + 1, 101]);
        assert_eq!(alignment(&record(-1, -1, 4, &[], 0)).unwrap().sequence, None);
        assert_eq!(alignment(&record(3, 100, 0, &cigar, 0)[..50]), None);
    }

    /// Records and their lengths may be in two blocks, or in many.
    #[test]
    fn blocks_may_end_anywhere() {
        let mut text = vec![9; 100];
        for number in 0..60 {
            let (sequence, flags) = (number / 20, if number % 7 == 0 { UNMAPPED } else { 0 });
            text.extend(record(sequence, 50 * number, flags, &[70 << 4], number as usize * 3));
        }
        text.extend(record(-1, -1, UNMAPPED, &[], 0));
        for block in [1, 2, 3, 5, 36, 99, 101, 1000, text.len()] {
            let (mut all, mut found) = (Alignments::new(4, 100), Vec::new());
            for (number, part) in (0..).zip(text.chunks(block)) {
                let mut take = |alignment: Alignment, place: (u64, u64)| {
                    found.push((alignment.sequence, alignment.begin, place));
                    Ok(())
                };
                all.add(part, number << 16, &mut take).unwrap();
            }
            assert_eq!((found.len(), all.unplaced, all.begun.len()), (61, 1, 0), "{block}");
            // Places are those of the text, by blocks; its end is that of the last one.
            let place = |at: usize| match at == text.len() {
                true => (at.div_ceil(block) << 16) as u64,
                false => (((at / block) << 16) | (at % block)) as u64,
            };
            let mut at = 100;
            for (number, (sequence, begin, places)) in found.into_iter().enumerate() {
                let bytes = 4 + u32::from_le_bytes(text[at..at + 4].try_into().unwrap()) as usize;
                assert_eq!(places, (place(at), place(at + bytes)), "{block} {number}");
                at += bytes;
                let expected = (number < 60).then_some(number as u32 / 20);
                assert_eq!(sequence, expected);
                assert!(number == 60 || begin == 50 * number as u64);
            }
        }
    }
}
