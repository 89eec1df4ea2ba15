//! Cuts a merge into segments that threads merge independently.
//!
//! A cut is a line and a run: the lines before it in the order of (line, run) are on one side. A
//! run with more lines to read limits the cut: its next lines may come right after its last line in
//! memory. So the smallest of these last lines is the latest possible cut. Before it, a cut is
//! chosen that gives the segment a good size, assuming all runs are alike: in the run with the most
//! bytes in memory. If the segment is then too large, because runs hardly overlap or many lines are
//! equal, the first of the places that are a step ahead in any run is used.

use super::super::run::Run;
use super::cursor::RunCursor;
use super::segment::{CutLine, RunSlice, Segment};
use std::cmp::Ordering;
use std::sync::Arc;
use xsort_kernels::lines::{Bound, LineComparer, LineKernels, last_line, line_end};

/// A segment may exceed its intended size by this factor: with all runs in memory, and with blocks.
/// The second is larger, since runs on scratch differ in length, and each cut searches all of them.
const SEGMENTS_MAX_IN_MEMORY: usize = 2;
const SEGMENTS_MAX: usize = 8;

/// The position of a cut in a run.
#[derive(Clone, Copy)]
struct CutPosition {
    /// Loaded blocks that end before the cut.
    blocks: usize,
    /// Bytes of the next block that come before the cut. In a run in memory, the position.
    offset: usize,
}

/// A cut: the run of its line, and the position right after this line.
type Cut = (usize, CutPosition);

/// Cuts a merge into segments.
pub(crate) struct Cutter<'j, 'r> {
    comparer: Box<dyn LineComparer + 'j>,
    delimiter: u8,
    is_unique: bool,
    segment_bytes: usize,
    /// True if segments have the positions of runs at their ends.
    needs_positions: bool,
    segments: usize,
    last_cut_line: Option<CutLine<'r>>,
}

impl<'j, 'r> Cutter<'j, 'r> {
    /// Cuts segments of about `segment_bytes` bytes. With `is_unique`, equal lines of all runs are
    /// in one segment.
    pub(crate) fn new(
        order: &'j dyn LineKernels,
        delimiter: u8,
        is_unique: bool,
        segment_bytes: usize,
        needs_positions: bool,
    ) -> Self {
        Cutter {
            comparer: order.comparer(),
            delimiter,
            is_unique,
            segment_bytes,
            needs_positions,
            segments: 0,
            last_cut_line: None,
        }
    }

    /// Number of segments cut so far.
    pub(crate) fn segments(&self) -> usize {
        self.segments
    }

    /// Cuts the next segment; `None` if a block must be read first, or if nothing is left.
    pub(crate) fn next(&mut self, cursors: &mut [RunCursor<'r>]) -> Option<Segment<'r>> {
        let latest = self.latest_cut(cursors)?;
        let mut cut = self.preferred_cut(cursors)?;
        if let Some(latest) = latest {
            cut = self.first(cursors, latest, cut);
        }
        let (mut line, mut positions) = self.positions(cursors, cut);
        let bytes = cursors.iter().zip(&positions).map(|(cursor, &to)| bytes_up_to(cursor, to));
        let segments_max = if latest.is_some() { SEGMENTS_MAX } else { SEGMENTS_MAX_IN_MEMORY };
        if bytes.sum::<usize>() > segments_max * self.segment_bytes {
            cut = self.first_ahead(cursors, cut);
            (line, positions) = self.positions(cursors, cut);
        }
        let slices = cursors.iter_mut().zip(positions);
        let slices = slices.filter_map(|(cursor, position)| advance(cursor, position)).collect();
        let before = self.last_cut_line.replace(line.clone());
        self.segments += 1;
        let positions = cursors.iter().filter(|_| self.needs_positions).map(RunCursor::position);
        Some(Segment {
            number: self.segments - 1,
            slices,
            positions: positions.collect(),
            cut_lines: before.map(|before| (before, line)),
        })
    }

    /// The latest possible cut: after the smallest of the last lines in memory of all runs that
    /// have more. `None` if one of these has no line in memory.
    #[allow(clippy::option_option, reason = "any cut is possible, or none is known")]
    fn latest_cut(&mut self, cursors: &[RunCursor<'_>]) -> Option<Option<Cut>> {
        let mut least: Option<Cut> = None;
        for (run, cursor) in cursors.iter().enumerate().filter(|(_, cursor)| cursor.has_more()) {
            if cursor.loaded.is_empty() {
                return None;
            }
            let last = (run, CutPosition { blocks: cursor.loaded.len(), offset: 0 });
            if least.is_none_or(|least| self.is_before(cursors, last, least)) {
                least = Some(last);
            }
        }
        Some(least)
    }

    /// A cut that gives the segment a good size if all runs are alike: in the run with the most
    /// bytes in memory, one share of a segment ahead. `None` if there is nothing in memory.
    fn preferred_cut(&self, cursors: &[RunCursor<'_>]) -> Option<Cut> {
        let (mut live, mut most) = (0, (0, 0));
        for (run, cursor) in cursors.iter().enumerate() {
            let bytes = loaded_bytes(cursor);
            live += usize::from(bytes > 0);
            most = most.max((bytes, run));
        }
        let (bytes, run) = most;
        if bytes == 0 {
            return None;
        }
        let step = (self.segment_bytes / live).max(1);
        Some((run, self.ahead(&cursors[run], step)))
    }

    /// The position about `step` bytes ahead in a run, or less if less is in memory.
    fn ahead(&self, cursor: &RunCursor<'_>, step: usize) -> CutPosition {
        match cursor.run {
            Run::InMemory(chunk) => {
                let offset = chunk.ahead(cursor.offset, step, self.delimiter);
                CutPosition { blocks: 0, offset }
            }
            Run::OnScratch(_) | Run::Sorted(_) => {
                let text = cursor.loaded[0].text();
                let from = cursor.offset + step;
                match text.get(from..).and_then(|rest| memchr::memchr(self.delimiter, rest)) {
                    Some(end) if from + end + 1 < text.len() => {
                        CutPosition { blocks: 0, offset: from + end + 1 }
                    }
                    _ => CutPosition { blocks: 1, offset: 0 },
                }
            }
        }
    }

    /// The first of `cut` and the cuts that are a segment ahead in any run.
    fn first_ahead(&mut self, cursors: &[RunCursor<'_>], mut cut: Cut) -> Cut {
        for (run, cursor) in cursors.iter().enumerate() {
            if loaded_bytes(cursor) > 0 {
                cut = self.first(cursors, cut, (run, self.ahead(cursor, self.segment_bytes)));
            }
        }
        cut
    }

    /// The line of a cut, and its positions in all runs.
    fn positions(
        &mut self,
        cursors: &[RunCursor<'r>],
        (run, position): Cut,
    ) -> (CutLine<'r>, Vec<CutPosition>) {
        let cut_line = cut_line(&cursors[run], position, self.delimiter);
        let line = cut_line.bytes();
        // Holds if all runs are alike.
        let expected = bytes_up_to(&cursors[run], position);
        let of_run = |(number, cursor): (usize, &RunCursor<'_>)| {
            if number == run {
                return position;
            }
            // Equal lines of earlier runs come before the cut, those of later runs after it.
            let include_equal = self.is_unique || number < run;
            self.find(cursor, Bound { line, include_equal }, expected)
        };
        let positions = cursors.iter().enumerate().map(of_run).collect();
        (cut_line, positions)
    }

    /// The first of two cuts.
    fn first(&mut self, cursors: &[RunCursor<'_>], a: Cut, b: Cut) -> Cut {
        if self.is_before(cursors, b, a) { b } else { a }
    }

    /// True if cut `a` comes before cut `b`.
    fn is_before(&mut self, cursors: &[RunCursor<'_>], a: Cut, b: Cut) -> bool {
        let line = |(run, position): Cut| line_before(&cursors[run], position, self.delimiter);
        let order = self.comparer.compare(line(a), line(b));
        order.then(a.0.cmp(&b.0)) == Ordering::Less
    }

    /// The position of a cut in a run, about `expected` bytes ahead.
    fn find(&mut self, cursor: &RunCursor<'_>, bound: Bound<'_>, expected: usize) -> CutPosition {
        let (comparer, delimiter) = (&mut *self.comparer, self.delimiter);
        if let Run::InMemory(chunk) = cursor.run {
            let offset = chunk.find(comparer, delimiter, cursor.offset, bound, expected);
            return CutPosition { blocks: 0, offset };
        }
        let (mut from, mut expected) = (cursor.offset, expected);
        if let Some(text) = cursor.loaded.front().map(|loaded| &loaded.text()[from..]) {
            // With many runs, most have no line before the cut.
            let next = &text[..line_end(text, delimiter)];
            if !bound.is_after(comparer.compare(next, bound.line)) {
                return CutPosition { blocks: 0, offset: from };
            }
        }
        for (blocks, loaded) in cursor.loaded.iter().enumerate() {
            if !bound.is_after(comparer.compare(loaded.last_line(), bound.line)) {
                let text = &loaded.text()[from..];
                let bytes = comparer.bound_in_text(text, delimiter, bound, expected);
                return CutPosition { blocks, offset: from + bytes };
            }
            expected = expected.saturating_sub(loaded.text().len() - from);
            from = 0;
        }
        CutPosition { blocks: cursor.loaded.len(), offset: 0 }
    }
}

/// Bytes of a run that are in memory and not merged; an estimate for a run in memory.
fn loaded_bytes(cursor: &RunCursor<'_>) -> usize {
    match cursor.run {
        Run::InMemory(chunk) => chunk.bytes_between(cursor.offset, chunk.end()),
        Run::OnScratch(_) | Run::Sorted(_) => {
            cursor.loaded.iter().map(|loaded| loaded.text().len()).sum::<usize>() - cursor.offset
        }
    }
}

/// Bytes from the merge's position to `position`; an estimate for a run in memory.
fn bytes_up_to(cursor: &RunCursor<'_>, position: CutPosition) -> usize {
    let CutPosition { blocks, offset } = position;
    match cursor.run {
        Run::InMemory(chunk) => chunk.bytes_between(cursor.offset, offset),
        Run::OnScratch(_) | Run::Sorted(_) => {
            let bytes = cursor.loaded.iter().take(blocks).map(|loaded| loaded.text().len());
            bytes.sum::<usize>() + offset - cursor.offset
        }
    }
}

/// The line that ends at a position.
fn cut_line<'r>(cursor: &RunCursor<'r>, position: CutPosition, delimiter: u8) -> CutLine<'r> {
    if let Run::InMemory(chunk) = cursor.run {
        return CutLine::InMemory(chunk.line_before(position.offset, delimiter));
    }
    let bytes = line_before(cursor, position, delimiter).len();
    let (block, end) = match position.offset {
        0 => (position.blocks - 1, cursor.loaded[position.blocks - 1].text().len() - 1),
        offset => (position.blocks, offset - 1),
    };
    CutLine::InBlock(Arc::clone(&cursor.loaded[block]), end - bytes..end)
}

/// The bytes of the line that ends at a position.
fn line_before<'c>(cursor: &'c RunCursor<'_>, position: CutPosition, delimiter: u8) -> &'c [u8] {
    match cursor.run {
        Run::InMemory(chunk) => chunk.line_before(position.offset, delimiter),
        Run::OnScratch(_) | Run::Sorted(_) if position.offset == 0 => {
            cursor.loaded[position.blocks - 1].last_line()
        }
        Run::OnScratch(_) | Run::Sorted(_) => {
            let text = &cursor.loaded[position.blocks].text()[..position.offset];
            &text[last_line(text, delimiter)]
        }
    }
}

/// Moves a run's cursor to a position, and returns the lines between, if there are any.
fn advance<'r>(cursor: &mut RunCursor<'r>, position: CutPosition) -> Option<RunSlice<'r>> {
    if let Run::InMemory(chunk) = cursor.run {
        let slice = chunk.slice(cursor.offset..position.offset);
        cursor.offset = position.offset;
        return (!slice.is_empty()).then_some(RunSlice::InMemory(slice));
    }
    let mut blocks = Vec::new();
    let mut from = std::mem::take(&mut cursor.offset);
    for loaded in cursor.take(position.blocks) {
        let bytes = loaded.text().len();
        blocks.push((loaded, std::mem::take(&mut from)..bytes));
    }
    cursor.offset = from;
    if position.offset > cursor.offset {
        blocks.push((Arc::clone(&cursor.loaded[0]), cursor.offset..position.offset));
        cursor.offset = position.offset;
    }
    (!blocks.is_empty()).then_some(RunSlice::Blocks(blocks))
}
