//! Where a merge can be cut into segments that threads merge on their own.
//!
//! A cut is a line with a run: what comes before it in the order of (line, run) is on one side. It
//! may lie anywhere before the first line that isn't in memory, which no line can be before that is
//! larger than the last line in memory of a run that has more. Within that bound it is chosen so
//! that segments have a good size.

use super::read::{Front, Loaded};
use super::run::Run;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use xsort_kernels::lines::{Entry, LineOrder, Lines, Words, bound_in_entries, bound_in_text};

/// One run's part of a segment.
pub(super) enum Part<'r, W> {
    /// Blocks, with the range of bytes that belong to the segment.
    Blocks(Vec<(Arc<Loaded>, usize, usize)>),
    /// Lines in memory.
    Ordered { text: &'r [u8], entries: &'r [Entry<W>] },
}

/// What lies between two cuts.
pub(super) struct Segment<'r, W> {
    /// Segments are numbered from 0 in the order of the output.
    pub(super) number: usize,
    /// In the order of the runs.
    pub(super) parts: Vec<Part<'r, W>>,
    /// Where each run stands behind it, if that is kept.
    pub(super) behind: Vec<(usize, usize)>,
    /// Lines between which all of its lines lie; none where it is the first.
    ends: Option<(Anchor<'r>, Anchor<'r>)>,
}

/// The line of a cut, where it is: it may be too long for a copy.
#[derive(Clone)]
enum Anchor<'r> {
    InMemory(&'r [u8]),
    /// A block, and where in it.
    Block(Arc<Loaded>, Range<usize>),
}

impl Anchor<'_> {
    fn line(&self) -> &[u8] {
        match self {
            Anchor::InMemory(line) => line,
            Anchor::Block(loaded, range) => &loaded.text()[range.clone()],
        }
    }
}

impl<W: Words> Segment<'_, W> {
    /// The slices of each part's blocks.
    pub(super) fn slices(&self) -> Vec<Vec<&[u8]>> {
        fn slices<'s, W>(part: &'s Part<'_, W>) -> Vec<&'s [u8]> {
            match part {
                Part::Blocks(blocks) => {
                    blocks.iter().map(|(loaded, from, to)| &loaded.text()[*from..*to]).collect()
                }
                Part::Ordered { .. } => Vec::new(),
            }
        }
        self.parts.iter().map(slices).collect()
    }

    pub(super) fn ends(&self) -> Option<(&[u8], &[u8])> {
        self.ends.as_ref().map(|(low, high)| (low.line(), high.line()))
    }

    /// As the kernel takes them.
    pub(super) fn lines<'s>(&'s self, slices: &'s [Vec<&'s [u8]>]) -> Vec<Lines<'s, W>> {
        let lines = |(part, slices): (&'s Part<'_, W>, &'s Vec<&'s [u8]>)| match part {
            Part::Blocks(_) => Lines::Blocks(slices),
            Part::Ordered { text, entries } => Lines::Ordered { text, entries },
        };
        self.parts.iter().zip(slices).map(lines).collect()
    }
}

/// Where a cut falls in a run.
#[derive(Clone, Copy)]
struct Place {
    /// Blocks that are used up.
    blocks: usize,
    /// What of the next one comes before the cut, in bytes; of a run in memory, in entries.
    offset: usize,
}

/// Cuts.
pub(super) struct Cutter<'j, 'r, O: LineOrder> {
    order: &'j O,
    delimiter: u8,
    is_unique: bool,
    segment_bytes: usize,
    keeps_positions: bool,
    segments: usize,
    scratch: O::Scratch,
    /// The line of the last cut.
    anchor: Option<Anchor<'r>>,
}

impl<'j, 'r, O: LineOrder> Cutter<'j, 'r, O> {
    pub(super) fn new(
        order: &'j O,
        delimiter: u8,
        is_unique: bool,
        segment_bytes: usize,
        keeps_positions: bool,
    ) -> Self {
        Cutter {
            order,
            delimiter,
            is_unique,
            segment_bytes,
            keeps_positions,
            segments: 0,
            scratch: O::Scratch::default(),
            anchor: None,
        }
    }

    /// How many segments there were.
    pub(super) fn segments(&self) -> usize {
        self.segments
    }

    /// The next segment; `None` if a block has to come first, or if there is nothing left.
    pub(super) fn next(&mut self, fronts: &mut [Front<'r>]) -> Option<Segment<'r, O::Words>> {
        let bound = self.bound(fronts)?;
        let wish = self.wish(fronts)?;
        let (run, place) = match bound {
            Some(bound) if self.is_before(fronts, bound, wish) => bound,
            _ => wish,
        };
        let anchor = anchor::<O::Words>(&fronts[run], place, self.delimiter);
        let mut parts = Vec::with_capacity(fronts.len());
        for (number, front) in fronts.iter_mut().enumerate() {
            let place = match number == run {
                true => place,
                // Equal lines of earlier runs come before the cut, those of later ones after it.
                false => self.place(front, anchor.line(), self.is_unique || number < run),
            };
            parts.extend(take(front, place));
        }
        let low = self.anchor.replace(anchor.clone());
        self.segments += 1;
        let positions = fronts.iter().filter(|_| self.keeps_positions).map(Front::position);
        let behind = positions.collect();
        Some(Segment {
            number: self.segments - 1,
            parts,
            behind,
            ends: low.map(|low| (low, anchor)),
        })
    }

    /// The last line in memory of all runs that have more, the smallest of them; `None` if one of
    /// them has no line in memory.
    #[allow(clippy::option_option, reason = "nothing bounds the cut, or nothing is known")]
    fn bound(&mut self, fronts: &[Front<'_>]) -> Option<Option<(usize, Place)>> {
        let mut least: Option<(usize, Place)> = None;
        for (number, front) in fronts.iter().enumerate().filter(|(_, front)| front.has_more()) {
            if front.loaded.is_empty() {
                return None;
            }
            let last = (number, Place { blocks: front.loaded.len(), offset: 0 });
            if least.is_none_or(|least| self.is_before(fronts, last, least)) {
                least = Some(last);
            }
        }
        Some(least)
    }

    /// A line of the run that has most in memory, so far from where the merge stands that a segment
    /// up to it has a good size.
    fn wish(&self, fronts: &[Front<'_>]) -> Option<(usize, Place)> {
        let left = |front: &Front<'_>| match front.run {
            Run::InMemory(chunk) => {
                let lines = chunk.entries_count();
                (lines - front.offset) * (chunk.text_bytes() / lines.max(1)).max(1)
            }
            Run::OnScratch(_) | Run::Sorted(_) => {
                front.loaded.iter().map(|loaded| loaded.text().len()).sum::<usize>() - front.offset
            }
        };
        let (mut live, mut most) = (0, (0, 0));
        for (number, front) in fronts.iter().enumerate() {
            let left = left(front);
            live += usize::from(left > 0);
            most = most.max((left, number));
        }
        let (left_bytes, number) = most;
        if left_bytes == 0 {
            return None;
        }
        let front = &fronts[number];
        let step = (self.segment_bytes / live).max(1);
        let place = match front.run {
            Run::InMemory(chunk) => {
                let lines = chunk.entries_count();
                let step = (step / (chunk.text_bytes() / lines.max(1)).max(1)).max(1);
                Place { blocks: 0, offset: (front.offset + step).min(lines) }
            }
            Run::OnScratch(_) | Run::Sorted(_) => {
                let text = front.loaded[0].text();
                let from = front.offset + step;
                match text.get(from..).and_then(|rest| memchr::memchr(self.delimiter, rest)) {
                    Some(end) if from + end + 1 < text.len() => {
                        Place { blocks: 0, offset: from + end + 1 }
                    }
                    _ => Place { blocks: 1, offset: 0 },
                }
            }
        };
        Some((number, place))
    }

    /// Whether the line before a place comes before the one before another.
    fn is_before(&mut self, fronts: &[Front<'_>], a: (usize, Place), b: (usize, Place)) -> bool {
        let line = |(run, place): (usize, Place)| {
            last_line::<O::Words>(&fronts[run], place, self.delimiter)
        };
        let order = self.order.compare(line(a), line(b), &mut self.scratch);
        order.then(a.0.cmp(&b.0)) == Ordering::Less
    }

    /// Where a line would go in a run.
    fn place(&mut self, front: &Front<'_>, line: &[u8], include_equal: bool) -> Place {
        match front.run {
            Run::InMemory(chunk) => {
                let rest = &chunk.entries::<O::Words>()[front.offset..];
                let bound = bound_in_entries(
                    self.order,
                    chunk.text(),
                    self.delimiter,
                    rest,
                    line,
                    include_equal,
                    &mut self.scratch,
                );
                Place { blocks: 0, offset: front.offset + bound }
            }
            Run::OnScratch(_) | Run::Sorted(_) => {
                let mut from = front.offset;
                for (blocks, loaded) in front.loaded.iter().enumerate() {
                    let text = &loaded.text()[from..];
                    let order = self.order.compare(loaded.last_line(), line, &mut self.scratch);
                    if order == Ordering::Greater || order == Ordering::Equal && !include_equal {
                        let bound = bound_in_text(
                            self.order,
                            text,
                            self.delimiter,
                            line,
                            include_equal,
                            &mut self.scratch,
                        );
                        return Place { blocks, offset: from + bound };
                    }
                    from = 0;
                }
                Place { blocks: front.loaded.len(), offset: 0 }
            }
        }
    }
}

/// The line that ends at a place, which is in a block that is there.
fn anchor<'r, W: Words>(front: &Front<'r>, place: Place, delimiter: u8) -> Anchor<'r> {
    if let Run::InMemory(chunk) = front.run {
        return Anchor::InMemory(
            chunk.entries::<W>()[place.offset - 1].line(chunk.text(), delimiter),
        );
    }
    let line = last_line::<W>(front, place, delimiter).len();
    let (blocks, end) = match place.offset {
        0 => (place.blocks - 1, front.loaded[place.blocks - 1].text().len() - 1),
        offset => (place.blocks, offset - 1),
    };
    Anchor::Block(Arc::clone(&front.loaded[blocks]), end - line..end)
}

/// The line that ends at a place.
fn last_line<'f, W: Words>(front: &'f Front<'_>, place: Place, delimiter: u8) -> &'f [u8] {
    match front.run {
        Run::InMemory(chunk) => {
            chunk.entries::<W>()[place.offset - 1].line(chunk.text(), delimiter)
        }
        Run::OnScratch(_) | Run::Sorted(_) if place.offset == 0 => {
            front.loaded[place.blocks - 1].last_line()
        }
        Run::OnScratch(_) | Run::Sorted(_) => {
            let text = &front.loaded[place.blocks].text()[..place.offset - 1];
            &text[memchr::memrchr(delimiter, text).map_or(0, |end| end + 1)..]
        }
    }
}

/// Moves a run's front to a place, and returns what lies between.
fn take<'r, W: Words>(front: &mut Front<'r>, place: Place) -> Option<Part<'r, W>> {
    match front.run {
        Run::InMemory(chunk) => {
            let entries = &chunk.entries::<W>()[front.offset..place.offset];
            front.offset = place.offset;
            (!entries.is_empty()).then_some(Part::Ordered { text: chunk.text(), entries })
        }
        Run::OnScratch(_) | Run::Sorted(_) => {
            let mut blocks = Vec::new();
            let mut from = std::mem::take(&mut front.offset);
            for loaded in front.pass(place.blocks) {
                let bytes = loaded.text().len();
                blocks.push((loaded, std::mem::take(&mut from), bytes));
            }
            front.offset = from;
            if place.offset > front.offset {
                blocks.push((Arc::clone(&front.loaded[0]), front.offset, place.offset));
                front.offset = place.offset;
            }
            (!blocks.is_empty()).then_some(Part::Blocks(blocks))
        }
    }
}
