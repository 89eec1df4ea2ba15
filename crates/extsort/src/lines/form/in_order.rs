//! Output in phase one: chunks that come in order go to the output at once, and never to scratch.
//!
//! ```text
//!  output   | chunks 0 to 4 |                 written: no line of a later chunk was before them
//!  memory                   | 5 | 6 | 7 |     the next to be written, when memory is needed
//!  input    | read so far               | ...
//! ```
//!
//! An input that is sorted already is so read once and written once, as a copy would do. Chunks are
//! written when memory is needed for others, and only if no sorted chunk in memory has a line
//! before their last one. So lines that are a little out of place don't matter, as long as they
//! are in memory together.
//!
//! Chunks that don't go on in order become runs as usual. These may follow what is written, and are
//! then merged and appended. But if a line belongs before what is written, the guess that the input
//! is sorted was wrong: the sort begins again, and merges runs.

use super::super::chunk::Chunk;
use super::super::job::LinesJob;
use super::group::ChunkGroup;
use crate::Error;
use xsort_kernels::lines::LineComparer;

/// Most bytes of the copied last line. Longer lines end the output in phase one.
const LINE_BYTES_MAX: usize = 64 << 10;

/// What is written of the output in phase one.
pub(crate) struct InOrder<'j> {
    comparer: Box<dyn LineComparer + 'j>,
    delimiter: u8,
    /// The last line that is written, or about to be; `None` if nothing is.
    last: Option<Vec<u8>>,
    /// Number of segments that are written, or about to be.
    segments: usize,
    /// False once chunks became a run.
    is_open: bool,
}

impl<'j> InOrder<'j> {
    pub(crate) fn new(job: &'j LinesJob<'_>) -> InOrder<'j> {
        let (comparer, delimiter) = (job.order.comparer(), job.options.delimiter);
        InOrder { comparer, delimiter, last: None, segments: 0, is_open: true }
    }

    /// True if something is written.
    pub(crate) fn has_written(&self) -> bool {
        self.last.is_some()
    }

    /// Decides whether a group of chunks is written to the output. If so, returns the number of its
    /// first segment. `later` are the other sorted chunks in memory.
    ///
    /// # Errors
    ///
    /// [`Error::NotInOrder`] if a line of the group belongs before a line that is written.
    pub(crate) fn take<'c>(
        &mut self,
        group: &ChunkGroup,
        later: impl Iterator<Item = &'c Chunk>,
    ) -> Result<Option<usize>, Error> {
        self.check(group.chunks().iter())?;
        if !self.is_open {
            return Ok(None);
        }
        let lasts = group.chunks().iter().map(|chunk| chunk.last_line(self.delimiter));
        let last = lasts.reduce(|a, b| match self.comparer.compare(a, b).is_gt() {
            true => a,
            false => b,
        });
        let last = last.unwrap_or_default();
        let mut firsts = later.map(|chunk| chunk.first_line(self.delimiter));
        let is_before = |first: &[u8]| self.comparer.compare(first, last).is_lt();
        if last.len() > LINE_BYTES_MAX || firsts.any(is_before) {
            self.is_open = false;
            return Ok(None);
        }
        self.last = Some(last.to_vec());
        let first_segment = self.segments;
        self.segments += group.parts();
        Ok(Some(first_segment))
    }

    /// Checks that no line of `chunks` belongs before a line that is written.
    ///
    /// # Errors
    ///
    /// [`Error::NotInOrder`] if one does.
    pub(crate) fn check<'c>(
        &mut self,
        mut chunks: impl Iterator<Item = &'c Chunk>,
    ) -> Result<(), Error> {
        let Some(last) = &self.last else { return Ok(()) };
        let is_before =
            |chunk: &Chunk| self.comparer.compare(chunk.first_line(self.delimiter), last).is_lt();
        if chunks.any(is_before) { Err(Error::NotInOrder) } else { Ok(()) }
    }
}
