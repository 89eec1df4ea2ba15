//! Adjacent chunks that become one run on scratch.
//!
//! ```text
//!  chunk 4 |-----|--------|----|------|
//!  chunk 5 |---|-------|--------|-----|      cut at the same keys
//!  chunk 6 |------|-----|-----|-------|
//!             |      |       |     |
//!           part   part    part  part  --> merged by any thread, each into blocks of its own
//! ```
//!
//! The parts, one after the other, are the run. Cuts come from a sample, and equal lines are on one
//! side of a cut. So parts may differ in size, but never in order.

use super::super::chunk::{Chunk, ChunkSlice};
use xsort_kernels::lines::{Bound, LineKernels, SameBytes};

/// Lines sampled in each chunk, per part.
const SAMPLES_PER_PART: usize = 4;

/// Sorted chunks that are adjacent in the input.
pub(crate) struct ChunkGroup {
    chunks: Vec<Chunk>,
    /// For each cut, the ends included, its position in each chunk.
    cuts: Vec<Vec<usize>>,
}

impl ChunkGroup {
    /// Cuts `chunks` into at most `parts` parts.
    pub(crate) fn new(
        order: &dyn LineKernels,
        delimiter: u8,
        chunks: Vec<Chunk>,
        parts: usize,
    ) -> ChunkGroup {
        let mut comparer = order.comparer();
        let mut sample: Vec<&[u8]> = Vec::new();
        for chunk in chunks.iter().filter(|_| parts > 1) {
            let samples = SAMPLES_PER_PART * parts;
            let bytes = chunk.bytes_between(0, chunk.end());
            sample.extend((1..samples).map(|at| {
                let position = chunk.ahead(0, at * (bytes / samples), delimiter);
                chunk.line_before(position, delimiter)
            }));
        }
        sample.sort_unstable_by(|a, b| comparer.compare(a, b));
        let mut cuts = vec![vec![0; chunks.len()]];
        for part in 1..parts {
            let Some(line) = sample.get(part * sample.len() / parts) else { break };
            let bound = Bound { line, include_equal: true };
            let before = |chunk: &Chunk| {
                let expected = chunk.bytes_between(0, chunk.end()) / parts * part;
                chunk.find(&mut *comparer, delimiter, 0, bound, expected)
            };
            cuts.push(chunks.iter().map(before).collect());
        }
        cuts.push(chunks.iter().map(Chunk::end).collect());
        ChunkGroup { chunks, cuts }
    }

    /// Number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.cuts.len() - 1
    }

    /// The slices of all chunks that belong to a part, without empty ones.
    pub(crate) fn part(&self, part: usize) -> Vec<ChunkSlice<'_>> {
        let ranges = self.cuts[part].iter().zip(&self.cuts[part + 1]).map(|(&from, &to)| from..to);
        let slices = self.chunks.iter().zip(ranges).map(|(chunk, range)| chunk.slice(range));
        slices.filter(|slice| !slice.is_empty()).collect()
    }

    /// The bytes that all keys share, if known.
    pub(crate) fn same_bytes(&self) -> Option<SameBytes> {
        Chunk::same_bytes(self.chunks.iter())
    }

    pub(crate) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    pub(crate) fn into_chunks(self) -> Vec<Chunk> {
        self.chunks
    }
}
