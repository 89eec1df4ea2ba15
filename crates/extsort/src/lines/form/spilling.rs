//! Sorted chunks in memory, and the runs that are being spilled.
//!
//! The oldest chunks are spilled first, in the order of the input. So a run's chunks are adjacent,
//! and there is never a gap between two runs.

use super::super::block::SpilledBlock;
use super::super::chunk::Chunk;
use super::group::ChunkGroup;
use super::worker::{FormTask, SpillPart, SpilledPart};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sorted chunks that are in no run yet.
#[derive(Default)]
pub(crate) struct SortedChunks {
    /// The chunks by number.
    chunks: BTreeMap<usize, Chunk>,
    /// The number of the oldest chunk that is in no run, sorted or not.
    next: usize,
}

impl SortedChunks {
    /// No chunks, where all before number `next` are in runs.
    pub(crate) fn from(next: usize) -> SortedChunks {
        SortedChunks { chunks: BTreeMap::new(), next }
    }

    pub(crate) fn insert(&mut self, number: usize, chunk: Chunk) {
        self.chunks.insert(number, chunk);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Bytes of the chunks that can become a run: the oldest ones, up to the first that isn't
    /// sorted.
    pub(crate) fn ready_bytes(&self) -> usize {
        self.ready().map(Chunk::area_bytes).sum()
    }

    /// Takes the oldest chunks, until they have at least `bytes` bytes of memory. Returns the
    /// number of the first chunk, and the chunks. There are none if the oldest isn't sorted.
    pub(crate) fn take(&mut self, bytes: usize) -> (usize, Vec<Chunk>) {
        let (mut count, mut taken) = (0, 0);
        for chunk in self.ready() {
            if taken >= bytes.max(1) {
                break;
            }
            taken += chunk.area_bytes();
            count += 1;
        }
        let first = self.next;
        self.next += count;
        let later = self.chunks.split_off(&self.next);
        (first, std::mem::replace(&mut self.chunks, later).into_values().collect())
    }

    /// All sorted chunks that are in no run.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Chunk> {
        self.chunks.values()
    }

    pub(crate) fn into_chunks(self) -> impl Iterator<Item = (usize, Chunk)> {
        self.chunks.into_iter()
    }

    fn ready(&self) -> impl Iterator<Item = &Chunk> {
        let in_order = |&(at, (&number, _)): &(usize, (&usize, &Chunk))| number == self.next + at;
        self.chunks.iter().enumerate().take_while(in_order).map(|(_, (_, chunk))| chunk)
    }
}

/// A run that is being spilled.
pub(crate) struct Spill {
    /// The number of its first chunk, and its number of chunks.
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// Bytes of its chunks' memory; 0 once all parts are on scratch.
    pub(crate) memory_bytes: usize,
    /// Sum of the hashes of lines dropped so far.
    pub(crate) dropped_sum: u64,
    /// The first of the output's segments that its parts become; `None` if they go to scratch.
    pub(crate) first_segment: Option<usize>,
    group: Option<Arc<ChunkGroup>>,
    parts: Vec<Vec<SpilledBlock>>,
    parts_left: usize,
}

impl Spill {
    /// A spill of `group`, whose first chunk has number `first`. With `first_segment` its parts
    /// are written to the output.
    pub(crate) fn new(first: usize, group: ChunkGroup, first_segment: Option<usize>) -> Spill {
        let parts_left = group.parts();
        Spill {
            first,
            count: group.chunks().len(),
            memory_bytes: group.chunks().iter().map(Chunk::area_bytes).sum(),
            dropped_sum: 0,
            first_segment,
            group: Some(Arc::new(group)),
            parts: vec![Vec::new(); parts_left],
            parts_left,
        }
    }

    /// Tasks to spill the run's parts.
    pub(crate) fn tasks(&self) -> Vec<FormTask> {
        let parts = |group: &Arc<ChunkGroup>| {
            (0..group.parts())
                .map(|part| {
                    let (run, group) = (self.first, Arc::clone(group));
                    let segment = self.first_segment.map(|first| first + part);
                    FormTask::Spill(SpillPart { run, group, part, segment })
                })
                .collect()
        };
        self.group.as_ref().map(parts).unwrap_or_default()
    }

    /// Takes a part that is on scratch. Returns the chunks after the last part.
    pub(crate) fn finish(&mut self, part: SpilledPart) -> Option<Vec<Chunk>> {
        let SpilledPart { part, blocks, dropped_sum, .. } = part;
        self.parts[part] = blocks;
        self.dropped_sum = self.dropped_sum.wrapping_add(dropped_sum);
        self.parts_left -= 1;
        if self.parts_left > 0 {
            return None;
        }
        self.memory_bytes = 0;
        let group = self.group.take().and_then(Arc::into_inner);
        Some(group.expect("parts that are done have returned it").into_chunks())
    }

    /// True if all parts are on scratch.
    pub(crate) fn is_done(&self) -> bool {
        self.parts_left == 0
    }

    /// The run's blocks.
    pub(crate) fn into_blocks(self) -> Vec<SpilledBlock> {
        self.parts.concat()
    }
}
