//! The seals of a spool: the checksum of every block written to it, kept in memory until the block
//! has been read.
//!
//! Chunks are read in any order, and begin and end anywhere in blocks. CRC-32s of neighbouring
//! bytes can be combined (`crc32fast`'s `combine`, after zlib). So each chunk adds its part of a
//! block, and the last part completes the checksum.

use crc32fast::Hasher;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Checksums of the blocks of a file. All blocks except the last have the same size.
#[derive(Debug, Default)]
pub(crate) struct Seals {
    block_bytes: u64,
    /// Total size of all blocks in bytes.
    bytes: u64,
    sums: Vec<u32>,
    checked: Mutex<CheckedBytes>,
}

#[derive(Debug, Default)]
struct CheckedBytes {
    bytes: u64,
    /// The fragments of partly read blocks, by block number.
    partial: BTreeMap<u64, Vec<Fragment>>,
}

/// A part of a block that was read, with its checksum.
#[derive(Debug)]
struct Fragment {
    offset: u64,
    bytes: u64,
    sum: Hasher,
}

/// A block whose checksum differs from when it was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DamagedBlock {
    /// Offset of the block in bytes.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) written: u32,
    pub(crate) read: u32,
}

impl Seals {
    pub(crate) fn new(block_bytes: u64) -> Seals {
        Seals { block_bytes, ..Seals::default() }
    }

    /// Adds the next block, when it is written. Only the last block may be shorter.
    pub(crate) fn push(&mut self, block: &[u8]) {
        assert_eq!(
            self.bytes,
            self.sums.len() as u64 * self.block_bytes,
            "a short block is the last one"
        );
        self.bytes += block.len() as u64;
        self.sums.push(crc32fast::hash(block));
    }

    /// Checks bytes read from `offset` on. Every byte must come once, in any order. Fails if they
    /// complete a block that differs from when it was written.
    pub(crate) fn check(&self, offset: u64, mut bytes: &[u8]) -> Result<(), DamagedBlock> {
        let mut from = offset;
        while !bytes.is_empty() {
            let block = from / self.block_bytes;
            let length = ((block + 1) * self.block_bytes - from).min(bytes.len() as u64);
            let (fragment, rest) = bytes.split_at(length as usize);
            let mut sum = Hasher::new();
            sum.update(fragment);
            self.add(block, Fragment { offset: from, bytes: length, sum })?;
            (from, bytes) = (from + length, rest);
        }
        Ok(())
    }

    fn add(&self, block: u64, fragment: Fragment) -> Result<(), DamagedBlock> {
        let offset = block * self.block_bytes;
        let bytes = self.block_bytes.min(self.bytes - offset);
        let mut checked = self.checked.lock();
        checked.bytes += fragment.bytes;
        let fragments = checked.partial.entry(block).or_default();
        fragments.push(fragment);
        if fragments.iter().map(|fragment| fragment.bytes).sum::<u64>() < bytes {
            return Ok(());
        }
        let mut fragments = checked.partial.remove(&block).expect("it was just added to");
        drop(checked);
        fragments.sort_unstable_by_key(|fragment| fragment.offset);
        let mut sum = Hasher::new();
        fragments.iter().for_each(|fragment| sum.combine(&fragment.sum));
        let (written, read) = (self.sums[block as usize], sum.finalize());
        if written == read { Ok(()) } else { Err(DamagedBlock { offset, bytes, written, read }) }
    }

    /// True if every byte has been read and checked.
    pub(crate) fn are_all_checked(&self) -> bool {
        self.checked.lock().bytes == self.bytes
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
            // Pieces of 90 bytes, odd ones first.
            let pieces =
                || read.chunks(90).enumerate().map(|(number, piece)| (number as u64 * 90, piece));
            let odd = pieces().skip(1).step_by(2);
            let damaged: Vec<DamagedBlock> = odd
                .chain(pieces().step_by(2))
                .filter_map(|(at, piece)| seals.check(at, piece).err())
                .collect();
            assert!(flipped.is_some() || seals.are_all_checked());
            let found: Vec<u64> = damaged.iter().map(|damaged| damaged.offset).collect();
            let expected: Vec<u64> =
                flipped.map(|bit| (bit / 8 / 128 * 128) as u64).into_iter().collect();
            assert_eq!(found, expected);
        }
    }
}
