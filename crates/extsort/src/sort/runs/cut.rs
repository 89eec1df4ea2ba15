//! Cutting a merge into segments that threads merge on their own.
//!
//! The records of a merge have a total order: (key, run, place in the run). A cut is a point in that order, chosen where a block begins:
//! everything before the block's first record on one side, the record and everything after on the other. In every other run its place is
//! found by a binary search in a single block, the one that straddles it. So segments have exact bounds and exact places in the output,
//! and one key that fills the whole input is cut as easily as any other: records with equal keys are told apart by run and place.
//!
//! ```text
//! run 0  [  a..............|...b ][ c ....            a segment: what lies between two cuts. The block in
//! run 1      [ b ..........|........ ][ d...          which a cut falls belongs to the segments on both
//! run 2  [ a ..][ b .......|.][ c                     sides of it, and stays until both are merged.
//!                         cut
//! ```

use super::run::{Resident, Run};
use std::collections::VecDeque;
use std::sync::Arc;
use xsort_disk::Lease;
use xsort_kernels::{bound_in_block, bound_in_order};
use xsort_records::Key;

/// A spilled block in memory again.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Its number in the run.
    pub(crate) block: u32,
    /// Its bytes; records from the first byte on.
    pub(crate) lease: Lease,
}

/// One run's share of a segment.
pub(crate) enum Part {
    /// Blocks with the range of records that belong to the segment.
    Blocks { run: u32, blocks: Vec<(Arc<Loaded>, usize, usize)> },
    /// A range of a resident run's order.
    Ordered { run: u32, from: usize, to: usize },
}

/// What lies between two cuts, with all that is needed to merge it.
pub(crate) struct Segment {
    /// Segments are numbered from 0 in the order of the output.
    pub(crate) number: usize,
    /// How many records come before it.
    pub(crate) first_record: u64,
    /// How many records it has.
    pub(crate) records: u64,
    /// Length of a key prefix that all of its records share.
    pub(crate) shared_bytes: usize,
    /// In the order of the runs; runs without a share are left out.
    pub(crate) parts: Vec<Part>,
}

/// Where the last cut fell in one run, and the blocks from there on.
struct Front {
    /// The block in which the cut falls, or which begins at it.
    block: usize,
    /// Records of that block before the cut.
    offset: usize,
    /// How many blocks of this run the forecast had before the point that was reached.
    begun: usize,
    /// The blocks in memory from `block` on. Empty for a resident run.
    loaded: VecDeque<Arc<Loaded>>,
}

/// Cuts a merge, segment by segment.
pub(crate) struct Cutter<'a, K> {
    key: K,
    record_bytes: usize,
    block_records: usize,
    runs: &'a [Run],
    fronts: Vec<Front>,
    segments: usize,
    records: u64,
}

impl<'a, K: Key> Cutter<'a, K> {
    pub(crate) fn new(key: K, record_bytes: usize, block_records: usize, runs: &'a [Run]) -> Self {
        let front = |_| Front { block: 0, offset: 0, begun: 0, loaded: VecDeque::new() };
        Cutter {
            key,
            record_bytes,
            block_records,
            runs,
            fronts: runs.iter().map(front).collect(),
            segments: 0,
            records: 0,
        }
    }

    /// Takes in the next block of the forecast. `loaded` is its memory, unless its run is resident.
    pub(crate) fn push(&mut self, run: u32, loaded: Option<Arc<Loaded>>) {
        let front = &mut self.fronts[run as usize];
        front.begun += 1;
        front.loaded.extend(loaded);
    }

    /// Cuts off everything before the block `(run, block)`, the next one of the forecast, or everything that is left if `None`.
    ///
    /// `low` is a key that no record of the segment is below.
    pub(crate) fn cut(&mut self, next: Option<(u32, u32)>, low: &[u8]) -> Segment {
        let high = match next {
            Some((run, block)) => self.runs[run as usize].index.key(block as usize),
            None => self.runs.iter().map(|run| run.index.largest()).max().unwrap_or(low),
        };
        let mut parts = Vec::new();
        let mut records = 0;
        for run in 0..self.runs.len() {
            let (block, offset) = match next {
                None => (self.runs[run].index.blocks().len(), 0),
                Some((of, block)) if of as usize == run => (block as usize, 0),
                // Equal keys of earlier runs come before the cut, those of later runs after it.
                Some((of, _)) => self.place(run, high, run < of as usize),
            };
            if let Some((part, taken)) = self.part(run, block, offset) {
                parts.push(part);
                records += taken;
            }
        }
        let segment = Segment {
            number: self.segments,
            first_record: self.records,
            records,
            shared_bytes: xsort_kernels::shared_prefix(low, high),
            parts,
        };
        self.segments += 1;
        self.records += records;
        segment
    }

    /// The place of a key in a run, as a block and the number of the block's records before the key.
    fn place(&self, run: usize, key: &[u8], include_equal: bool) -> (usize, usize) {
        let front = &self.fronts[run];
        // Blocks that the forecast has after the cut begin at or after it. So it falls in the last one before, or at that one's end.
        if front.begun == 0 {
            return (0, 0);
        }
        let block = front.begun - 1;
        if block < front.block {
            return (front.block, front.offset);
        }
        let Run { index, resident } = &self.runs[run];
        let records = index.blocks()[block].records as usize;
        let offset = match resident {
            Some(resident) => {
                let order = &resident.order()[block * self.block_records..][..records];
                let all = resident.records(self.record_bytes);
                bound_in_order(self.key, all, self.record_bytes, order, key, include_equal)
            }
            None => {
                let loaded = &front.loaded[block - front.block];
                debug_assert_eq!(loaded.block as usize, block);
                let all = &loaded.lease[..records * self.record_bytes];
                bound_in_block(self.key, all, self.record_bytes, key, include_equal)
            }
        };
        let place = if offset == records { (block + 1, 0) } else { (block, offset) };
        // Only a damaged block can say that the cut lies before the last one. Its checksum will tell; here it must not do harm.
        place.max((front.block, front.offset))
    }

    /// Moves a run's front to a place, and returns what lies between, with its number of records.
    fn part(&mut self, run: usize, block: usize, offset: usize) -> Option<(Part, u64)> {
        let front = &mut self.fronts[run];
        if (block, offset) == (front.block, front.offset) {
            return None;
        }
        let Run { index, resident } = &self.runs[run];
        let result = if let Some(Resident { .. }) = resident {
            let from = front.block * self.block_records + front.offset;
            let count = resident.as_ref().map_or(0, |resident| resident.count);
            let to = (block * self.block_records + offset).min(count);
            (Part::Ordered { run: run as u32, from, to }, (to - from) as u64)
        } else {
            let mut blocks = Vec::with_capacity(block - front.block + 1);
            let mut records = 0;
            let mut from = front.offset;
            for number in front.block..block {
                let loaded = front.loaded.pop_front().expect("blocks before a cut are loaded");
                let to = index.blocks()[number].records as usize;
                records += to - from;
                blocks.push((loaded, from, to));
                from = 0;
            }
            if offset > from {
                let loaded = front.loaded.front().expect("the block of a cut is loaded");
                records += offset - from;
                blocks.push((Arc::clone(loaded), from, offset));
            }
            (Part::Blocks { run: run as u32, blocks }, records as u64)
        };
        (front.block, front.offset) = (block, offset);
        Some(result)
    }
}
