//! Sorted runs: on scratch or in an input as blocks with an index, or in memory as a chunk with its
//! order.

use super::sorted_input::SortedInput;
use crate::Error;
use crate::records::compression::CompressedBytes;
use crate::records::job::SortJob;
use crate::records::resident::ResidentChunk;
use crate::store::scratch::BlockAddress;
use crate::store::seal::SealedBlock;
use crossbeam_channel::Sender;
use serde::{Deserialize, Serialize};
use xsort_disk::{Completion, Direction, Lease, Request, align_up};
use xsort_kernels::RecordKernels;

/// A block of a run, without its smallest key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Block {
    /// The block's address on scratch.
    pub(crate) address: BlockAddress,
    /// Number of records. They, or their compressed form, begin at the block's first byte. The rest
    /// of its last page is zero.
    pub(crate) records: u32,
    /// The codec and size of the compressed records, if they are compressed.
    pub(crate) compressed: Option<CompressedBytes>,
    /// XXH3 of the block's pages as written.
    pub(crate) seal: u64,
}

impl Block {
    /// The block's address, size and seal on scratch.
    pub(crate) fn sealed(&self, record_bytes: usize) -> SealedBlock {
        let plain_bytes = self.records as usize * record_bytes;
        let bytes = self.compressed.map_or(plain_bytes, |compressed| compressed.bytes as usize);
        let bytes = align_up(bytes as u64) as usize;
        SealedBlock { address: self.address, bytes, seal: self.seal }
    }
}

/// The blocks of a run in order, with the smallest normalised key of each.
///
/// This extends Knuth's forecasting (vol. 3, 5.4.9): with all smallest keys in memory, the order of
/// all reads of a merge is known before it starts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Index {
    key_bytes: usize,
    blocks: Vec<Block>,
    keys: Vec<u8>,
    /// The largest normalised key of the run; empty until it is set.
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

    /// The index of a run of `count` records that stays in memory: as for a spilled run, but blocks
    /// have no addresses. `record` returns a slice that begins with the record at a place in the
    /// order.
    pub(crate) fn of_resident<'r>(
        job: &SortJob<'_>,
        count: usize,
        record: impl Fn(usize) -> &'r [u8],
    ) -> Index {
        let SortJob { kernels, record_bytes, .. } = *job;
        let record = |place| &record(place)[..record_bytes];
        let block_records = job.block_records();
        let mut index = Index::with_capacity(kernels.key_bytes(), count.div_ceil(block_records));
        for first in (0..count).step_by(block_records) {
            let address = BlockAddress::NOT_ON_SCRATCH;
            let records = block_records.min(count - first) as u32;
            index.push_key(|out| kernels.encode(record(first), out));
            index.push(Block { address, records, compressed: None, seal: 0 });
        }
        index.set_largest(|out| kernels.encode(record(count - 1), out));
        index
    }

    /// Begins the next block: `encode` writes its smallest key. Call [`Index::push`] next.
    pub(crate) fn push_key(&mut self, encode: impl FnOnce(&mut [u8])) {
        let from = self.keys.len();
        self.keys.resize(from + self.key_bytes, 0);
        encode(&mut self.keys[from..]);
    }

    /// Adds the block whose key was pushed.
    pub(crate) fn push(&mut self, block: Block) {
        self.blocks.push(block);
    }

    /// Adds the blocks of `next`, whose keys must not be less than this run's.
    ///
    /// # Errors
    /// If they are less.
    pub(crate) fn append(&mut self, next: Index) -> Result<(), Error> {
        if next.blocks.is_empty() {
            return Ok(());
        }
        if *next.key(0) < *self.largest {
            return Err(Error::Lost { what: "the order of a merged run".into() });
        }
        self.blocks.extend(next.blocks);
        self.keys.extend(next.keys);
        self.largest = next.largest;
        Ok(())
    }

    /// Sets the largest key of the run, which `encode` writes.
    pub(crate) fn set_largest(&mut self, encode: impl FnOnce(&mut [u8])) {
        self.largest.resize(self.key_bytes, 0);
        encode(&mut self.largest);
    }

    /// The largest normalised key of the run.
    pub(crate) fn largest(&self) -> &[u8] {
        &self.largest
    }

    /// All blocks, in the order of their keys.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Compares the keys of a block's records with the index: the first record's, and in the last
    /// block also the last record's.
    ///
    /// # Errors
    /// If a key differs.
    pub(crate) fn check(
        &self,
        kernels: &dyn RecordKernels,
        block: usize,
        records: &[u8],
        record_bytes: usize,
    ) -> Result<(), Error> {
        let (first, last) = (&records[..record_bytes], &records[records.len() - record_bytes..]);
        let is_last = block + 1 == self.blocks.len();
        let is_first = kernels.compare_encoded(first, self.key(block)).is_eq();
        if is_first && (!is_last || kernels.compare_encoded(last, &self.largest).is_eq()) {
            return Ok(());
        }
        Err(Error::Lost { what: format!("the keys of block {block} of a run") })
    }

    /// The smallest normalised key of a block.
    pub(crate) fn key(&self, block: usize) -> &[u8] {
        &self.keys[block * self.key_bytes..][..self.key_bytes]
    }

    /// The largest key that a record of a block may have.
    pub(crate) fn limit(&self, block: usize) -> &[u8] {
        if block + 1 < self.blocks.len() { self.key(block + 1) } else { &self.largest }
    }

    /// Keeps the blocks, which an earlier process has written to scratch.
    ///
    /// # Errors
    /// A message, if this isn't a valid index of such blocks.
    pub(crate) fn claim(&self, job: &SortJob<'_>) -> Result<(), String> {
        let Index { key_bytes, blocks, keys, largest } = self;
        let has_keys = *key_bytes == job.kernels.key_bytes()
            && keys.len() == blocks.len() * key_bytes
            && largest.len() == *key_bytes;
        if !has_keys || blocks.is_empty() {
            return Err(format!("{} blocks, {} bytes of keys", blocks.len(), keys.len()));
        }
        let in_order = keys.chunks_exact((*key_bytes).max(1)).chain([&largest[..]]);
        if !in_order.is_sorted() {
            return Err("the keys of its blocks are not in order".into());
        }
        for block in blocks {
            let plain_bytes = block.records as usize * job.record_bytes;
            let is_less = |compressed: CompressedBytes| (compressed.bytes as usize) < plain_bytes;
            let fits = (1..=job.block_records()).contains(&(block.records as usize));
            if !fits || !block.compressed.is_none_or(is_less) {
                return Err(format!("a block has {} records", block.records));
            }
            let SealedBlock { address, bytes, .. } = block.sealed(job.record_bytes);
            job.scratch().claim(address, bytes as u64)?;
        }
        Ok(())
    }

    /// Number of records in the run.
    pub(crate) fn records(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.records)).sum()
    }
}

/// A sorted run. Runs are numbered in the order of the input, and equal keys keep that order.
#[derive(Debug)]
pub(crate) struct Run {
    /// The blocks of the run. For a resident run these are stretches of its order.
    pub(crate) index: Index,
    pub(crate) place: Place,
}

/// Where the records of a run are.
#[derive(Debug)]
pub(crate) enum Place {
    Scratch,
    Memory(ResidentChunk),
    Input(SortedInput),
}

impl Run {
    /// A run on scratch.
    pub(crate) fn spilled(index: Index) -> Run {
        Run { index, place: Place::Scratch }
    }

    /// The run's records, if it is in memory.
    pub(crate) fn resident(&self) -> Option<&ResidentChunk> {
        if let Place::Memory(chunk) = &self.place { Some(chunk) } else { None }
    }

    /// The run's file, if it is an input.
    pub(crate) fn input(&self) -> Option<&SortedInput> {
        if let Place::Input(input) = &self.place { Some(input) } else { None }
    }

    /// Offset of a block's first record in the memory that the block is read into.
    pub(crate) fn lead(&self, block: usize, record_bytes: usize) -> usize {
        let records = self.index.blocks()[block].records;
        self.input().map_or(0, |input| input.range(block, records, record_bytes).lead)
    }

    /// Starts reading a block into `lease`.
    pub(crate) fn read(
        &self,
        job: &SortJob<'_>,
        number: usize,
        (lease, tag): (Lease, u64),
        reply: &Sender<Completion>,
    ) {
        let block = &self.index.blocks()[number];
        let Some(input) = self.input() else {
            let SealedBlock { address, bytes, .. } = block.sealed(job.record_bytes);
            return job.submit(job.scratch().read(address, bytes, lease, tag, reply));
        };
        let pages = input.range(number, block.records, job.record_bytes).pages;
        job.submit(Request {
            direction: Direction::Read,
            file: pages.file,
            offset: pages.offset,
            bytes: align_up(pages.bytes as u64) as usize,
            bytes_needed: pages.bytes,
            lease,
            tag,
            reply: reply.clone(),
        });
    }

    /// The run's blocks on scratch.
    pub(crate) fn sealed_blocks(&self, record_bytes: usize) -> impl Iterator<Item = SealedBlock> {
        let is_on_scratch = matches!(self.place, Place::Scratch);
        let blocks = if is_on_scratch { self.index.blocks() } else { &[] };
        blocks.iter().map(move |block| block.sealed(record_bytes))
    }
}
