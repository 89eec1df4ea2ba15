//! Sorted runs: on scratch as blocks with an index, or in memory as a chunk with its order.

use crate::fixed::job::Job;
use crate::fixed::recheck::SealedBlock;
use crate::store::scratch::BlockAddress;
use crate::store::seal::paged_bytes;
use serde::{Deserialize, Serialize};
use xsort_disk::Lease;

/// What is remembered of each block of a run, beside its smallest key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Block {
    /// Where it is on scratch.
    pub(crate) place: BlockAddress,
    /// Records in it; they begin at its first byte, and the rest of its last page is zero.
    pub(crate) records: u32,
    /// XXH3 of its pages as written. Kept in memory, so that a block that was not written at all,
    /// or to another place, is noticed too.
    pub(crate) checksum: u64,
}

/// The blocks of a run in order, with the smallest normalised key of each.
///
/// This is what Knuth's forecasting needs (vol. 3, 5.4.9), taken further: with all smallest keys at
/// hand, the order of all reads of a merge is known before it starts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Index {
    key_bytes: usize,
    blocks: Vec<Block>,
    keys: Vec<u8>,
    /// The largest normalised key of the run, empty until it is set.
    largest: Vec<u8>,
}

impl Index {
    /// An empty index for keys of `key_bytes` bytes, with room for `blocks` blocks.
    pub(crate) fn with_capacity(key_bytes: usize, blocks: usize) -> Index {
        Index {
            key_bytes,
            blocks: Vec::with_capacity(blocks),
            keys: Vec::with_capacity(blocks * key_bytes),
            largest: Vec::new(),
        }
    }

    /// Adds a block; `encode` writes its smallest key.
    pub(crate) fn push(&mut self, block: Block, encode: impl FnOnce(&mut [u8])) {
        self.blocks.push(block);
        let from = self.keys.len();
        self.keys.resize(from + self.key_bytes, 0);
        encode(&mut self.keys[from..]);
    }

    /// Adds the blocks of `next`, whose keys all come after.
    pub(crate) fn append(&mut self, next: Index) {
        self.blocks.extend(next.blocks);
        self.keys.extend(next.keys);
        self.largest = next.largest;
    }

    /// JournalHandle the largest key.
    pub(crate) fn set_largest(&mut self, encode: impl FnOnce(&mut [u8])) {
        self.largest.resize(self.key_bytes, 0);
        encode(&mut self.largest);
    }

    pub(crate) fn largest(&self) -> &[u8] {
        &self.largest
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The smallest normalised key in a block.
    pub(crate) fn key(&self, block: usize) -> &[u8] {
        &self.keys[block * self.key_bytes..][..self.key_bytes]
    }

    /// Says to scratch that the blocks are there: an earlier process has written them.
    pub(crate) fn claim<K>(&self, job: &Job<'_, K>) {
        for block in &self.blocks {
            job.scratch()
                .claim(block.place, paged_bytes(block.records as usize, job.record_bytes) as u64);
        }
    }

    pub(crate) fn records(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.records)).sum()
    }
}

/// A run that stayed in memory: its chunk, and the order in which to take the records.
#[derive(Debug)]
pub(crate) struct Resident {
    /// The chunk's records begin at `first_byte` of this lease.
    pub(crate) records: Lease,
    /// Offset of the first record in bytes.
    pub(crate) first_byte: usize,
    /// Number of records.
    pub(crate) count: usize,
    /// One word a record.
    pub(crate) order: Lease,
}

impl Resident {
    pub(crate) fn records(&self, record_bytes: usize) -> &[u8] {
        &self.records[self.first_byte..][..self.count * record_bytes]
    }

    pub(crate) fn order(&self) -> &[u64] {
        &bytemuck::cast_slice(&self.order)[..self.count]
    }
}

/// A sorted run. Runs are numbered in the order of the input, and equal keys keep that order.
#[derive(Debug)]
pub(crate) struct Run {
    /// Blocks of the run. A resident run has them too, as stretches of its order without a place.
    pub(crate) index: Index,
    /// The run itself, if it is in memory.
    pub(crate) resident: Option<Resident>,
}

impl Run {
    /// Its blocks on scratch.
    pub(crate) fn sealed_blocks(&self, record_bytes: usize) -> impl Iterator<Item = SealedBlock> {
        let blocks = if self.resident.is_none() { self.index.blocks() } else { &[] };
        blocks.iter().map(move |block| SealedBlock {
            place: block.place,
            bytes: paged_bytes(block.records as usize, record_bytes),
            seal: block.checksum,
        })
    }
}
