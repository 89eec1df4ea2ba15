//! A segment: the lines between two cuts of a merge, in every run. One thread merges it
//! independently.

use super::super::block::LoadedBlock;
use super::super::chunk::ChunkSlice;
use super::cursor::RunPosition;
use std::ops::Range;
use std::sync::Arc;
use xsort_kernels::lines::Lines;

/// A segment's lines in one run.
pub(crate) enum RunSlice<'r> {
    /// Blocks, and the range of each that belongs to the segment.
    Blocks(Vec<(Arc<LoadedBlock>, Range<usize>)>),
    /// Lines of a run in memory.
    InMemory(ChunkSlice<'r>),
}

/// The lines between two cuts.
pub(crate) struct Segment<'r> {
    /// Segments are numbered from 0 in the order of the output.
    pub(crate) number: usize,
    /// In the order of the runs. Runs without lines in the segment are omitted.
    pub(crate) slices: Vec<RunSlice<'r>>,
    /// Position of each run at the end of the segment, if the journal records it.
    pub(crate) positions: Vec<RunPosition>,
    /// The lines of the cuts on both sides; `None` for the first segment.
    pub(crate) cut_lines: Option<(CutLine<'r>, CutLine<'r>)>,
}

/// The line before a cut. It is borrowed, since it may be too long for a copy.
#[derive(Clone)]
pub(crate) enum CutLine<'r> {
    InMemory(&'r [u8]),
    /// A range of a block.
    InBlock(Arc<LoadedBlock>, Range<usize>),
}

impl CutLine<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            CutLine::InMemory(line) => line,
            CutLine::InBlock(block, range) => &block.text()[range.clone()],
        }
    }
}

impl Segment<'_> {
    /// The lines that bound all lines of the segment, if both are known.
    pub(crate) fn ends(&self) -> Option<(&[u8], &[u8])> {
        self.cut_lines.as_ref().map(|(low, high)| (low.bytes(), high.bytes()))
    }

    /// The text of each run's blocks, which [`lines`](Segment::lines) borrows.
    pub(crate) fn texts(&self) -> Vec<Vec<&[u8]>> {
        fn texts<'s>(slice: &'s RunSlice<'_>) -> Vec<&'s [u8]> {
            match slice {
                RunSlice::Blocks(blocks) => {
                    blocks.iter().map(|(block, range)| &block.text()[range.clone()]).collect()
                }
                RunSlice::InMemory(_) => Vec::new(),
            }
        }
        self.slices.iter().map(texts).collect()
    }

    /// The slices in the form that the merge kernel takes.
    pub(crate) fn lines<'s>(&'s self, texts: &'s [Vec<&'s [u8]>]) -> Vec<Lines<'s>> {
        let lines = |(slice, texts): (&'s RunSlice<'_>, &'s Vec<&'s [u8]>)| match slice {
            RunSlice::Blocks(_) => Lines::Blocks(texts),
            RunSlice::InMemory(slice) => slice.lines(),
        };
        self.slices.iter().zip(texts).map(lines).collect()
    }
}
