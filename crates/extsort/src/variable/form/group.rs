//! Neighbouring chunks that become one run on scratch.
//!
//! ```text
//!  chunk 4 |-----|--------|----|------|
//!  chunk 5 |---|-------|--------|-----|      cut at the same keys
//!  chunk 6 |------|-----|-----|-------|
//!             |      |       |     |
//!           part   part    part  part  --> merged by any thread, each into blocks of its own
//! ```
//!
//! The parts one after the other are the run. Cuts come from a sample, and equal lines are on one
//! side of a cut: so parts may differ in size, but never in order.

use super::super::chunk::Chunk;
use xsort_kernels::lines::{Bound, LineOrder, bound_in_entries};

/// Lines of each chunk from which cuts are chosen, for each part.
const SAMPLES_PER_PART: usize = 4;

/// Sorted chunks that are neighbours in the input.
pub(crate) struct ChunkGroup {
    chunks: Vec<Chunk>,
    /// For each cut, the ends included, how many entries of each chunk are before it.
    cuts: Vec<Vec<usize>>,
}

impl ChunkGroup {
    /// Cuts `chunks` into at most `parts` parts.
    pub(crate) fn new<O: LineOrder>(
        order: &O,
        delimiter: u8,
        chunks: Vec<Chunk>,
        parts: usize,
    ) -> ChunkGroup {
        let mut scratch = O::Scratch::default();
        let mut sample: Vec<&[u8]> = Vec::new();
        for chunk in chunks.iter().filter(|_| parts > 1) {
            let (entries, samples) = (chunk.entries::<O::Words>(), SAMPLES_PER_PART * parts);
            let lines = (1..samples).filter_map(|at| entries.get(at * entries.len() / samples));
            sample.extend(lines.map(|entry| entry.line(chunk.text(), delimiter)));
        }
        sample.sort_unstable_by(|a, b| order.compare(a, b, &mut scratch));
        let mut cuts = vec![vec![0; chunks.len()]];
        for part in 1..parts {
            let Some(line) = sample.get(part * sample.len() / parts) else { break };
            let bound = Bound { line, include_equal: true };
            let before = |chunk: &Chunk| {
                let entries = chunk.entries::<O::Words>();
                bound_in_entries(order, chunk.text(), delimiter, entries, bound, &mut scratch)
            };
            cuts.push(chunks.iter().map(before).collect());
        }
        cuts.push(chunks.iter().map(Chunk::entries_count).collect());
        ChunkGroup { chunks, cuts }
    }

    /// How many parts there are.
    pub(crate) fn parts(&self) -> usize {
        self.cuts.len() - 1
    }

    /// For each chunk that has entries in a part, the chunk and the range of these.
    pub(crate) fn part(
        &self,
        part: usize,
    ) -> impl Iterator<Item = (&Chunk, std::ops::Range<usize>)> {
        let ranges = self.cuts[part].iter().zip(&self.cuts[part + 1]).map(|(&from, &to)| from..to);
        self.chunks.iter().zip(ranges).filter(|(_, range)| !range.is_empty())
    }

    pub(crate) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    pub(crate) fn into_chunks(self) -> Vec<Chunk> {
        self.chunks
    }
}
