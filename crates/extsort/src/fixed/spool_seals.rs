//! The seals of a spool: the checksum of every block that was written, kept in memory until it has
//! come back.
//!
//! What is read are chunks, which begin and end anywhere in blocks and come in any order. CRC-32 is
//! a checksum whose parts can be put together (`crc32fast`'s `combine`, after zlib), so each chunk
//! adds its part of a block, and the last one closes it.

use crc32fast::Hasher;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Checksums of the blocks of a file, but for the last one of the same size.
#[derive(Debug, Default)]
pub(crate) struct Seals {
    block_bytes: u64,
    /// Of all blocks.
    bytes: u64,
    sums: Vec<u32>,
    coming_back: Mutex<ComingBack>,
}

#[derive(Debug, Default)]
struct ComingBack {
    bytes: u64,
    /// By the number of the block, what has come of it.
    begun: BTreeMap<u64, Vec<Part>>,
}

/// A part of a block: where it begins in the file, and its checksum, which knows its length.
#[derive(Debug)]
struct Part {
    offset: u64,
    bytes: u64,
    sum: Hasher,
}

/// A block that came back other than it was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Where it begins, in bytes.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) written: u32,
    pub(crate) read: u32,
}

impl Seals {
    pub(crate) fn new(block_bytes: u64) -> Seals {
        Seals { block_bytes, ..Seals::default() }
    }

    /// The next block is written. Only the last one may be shorter.
    pub(crate) fn push(&mut self, block: &[u8]) {
        assert_eq!(
            self.bytes,
            self.sums.len() as u64 * self.block_bytes,
            "a short block is the last one"
        );
        self.bytes += block.len() as u64;
        self.sums.push(crc32fast::hash(block));
    }

    /// These bytes, from `offset` on, have come back: every byte once, in any order. Says which
    /// blocks they complete that are not what they were.
    pub(crate) fn come_back(&self, offset: u64, mut bytes: &[u8]) -> Result<(), Broken> {
        let mut from = offset;
        while !bytes.is_empty() {
            let block = from / self.block_bytes;
            let length = ((block + 1) * self.block_bytes - from).min(bytes.len() as u64);
            let (part, rest) = bytes.split_at(length as usize);
            let mut sum = Hasher::new();
            sum.update(part);
            self.add(block, Part { offset: from, bytes: length, sum })?;
            (from, bytes) = (from + length, rest);
        }
        Ok(())
    }

    fn add(&self, block: u64, part: Part) -> Result<(), Broken> {
        let offset = block * self.block_bytes;
        let bytes = self.block_bytes.min(self.bytes - offset);
        let mut coming_back = self.coming_back();
        coming_back.bytes += part.bytes;
        let parts = coming_back.begun.entry(block).or_default();
        parts.push(part);
        if parts.iter().map(|part| part.bytes).sum::<u64>() < bytes {
            return Ok(());
        }
        let mut parts = coming_back.begun.remove(&block).expect("it was just added to");
        drop(coming_back);
        parts.sort_unstable_by_key(|part| part.offset);
        let mut sum = Hasher::new();
        parts.iter().for_each(|part| sum.combine(&part.sum));
        let (written, read) = (self.sums[block as usize], sum.finalize());
        if written == read { Ok(()) } else { Err(Broken { offset, bytes, written, read }) }
    }

    /// Whether every byte has come back.
    pub(crate) fn is_all_back(&self) -> bool {
        self.coming_back().bytes == self.bytes
    }

    fn coming_back(&self) -> MutexGuard<'_, ComingBack> {
        self.coming_back.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_is_found_in_its_block_however_the_bytes_come_back() {
        let bytes: Vec<u8> = (0..1000u32).map(|n| (n * n / 7) as u8).collect();
        for flipped in (0..8 * bytes.len()).step_by(37).map(Some).chain([None]) {
            let mut seals = Seals::new(128);
            bytes.chunks(128).for_each(|block| seals.push(block));
            let mut read = bytes.clone();
            if let Some(bit) = flipped {
                read[bit / 8] ^= 1 << (bit % 8);
            }
            // Pieces of 90 bytes, the odd ones first.
            let pieces =
                || read.chunks(90).enumerate().map(|(number, piece)| (number as u64 * 90, piece));
            let odd = pieces().skip(1).step_by(2);
            let broken: Vec<Broken> = odd
                .chain(pieces().step_by(2))
                .filter_map(|(at, piece)| seals.come_back(at, piece).err())
                .collect();
            assert!(flipped.is_some() || seals.is_all_back());
            let found: Vec<u64> = broken.iter().map(|broken| broken.offset).collect();
            let expected: Vec<u64> =
                flipped.map(|bit| (bit / 8 / 128 * 128) as u64).into_iter().collect();
            assert_eq!(found, expected);
        }
    }
}
