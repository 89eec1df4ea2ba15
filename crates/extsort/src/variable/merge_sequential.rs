//! The plain merge: always the smallest head, of equal ones that of the first source.
//!
//! One thread, no cuts. So it is the merge that also says what comes of sources that are not in
//! order, which is what GNU sort makes of them: a line that is smaller than the one before it
//! follows at once. And it starts without any plan, so it is the faster one for little.

use super::input::{Input, Source};
use super::options::LinesOptions;
use super::plan::Plan;
use super::report::LinesReport;
use super::too_long::too_long;
use crate::{Error, Observer};
use std::cmp::Ordering;
use std::io::Write;
use std::time::Instant;
use xsort_kernels::lines::LineOrder;

/// Bytes of a source's buffer, unless a line is longer, or memory is scarce.
const BUFFER_BYTES_MAX: u64 = 64 << 10;
const BUFFER_BYTES_MIN: u64 = 4 << 10;
/// What a source takes beside its buffer: itself, and the names of its file.
const SOURCE_BYTES: u64 = 1 << 10;
/// So much is taken in any case.
const BUDGET_BYTES_MIN: u64 = 2 << 20;
/// Merged lines that are collected before they are written.
const OUT_BYTES: usize = 64 << 10;

/// How many sources [`merge_sequential`] has memory for at once, at least two. Half of the memory
/// is for long lines.
///
/// To merge more, merge neighbours first, all lines of them: the result is the same, also if a
/// source is not in order. For what follows a line that is larger than it goes along with it, in
/// each of the merges.
pub fn sequential_inputs_max(options: &LinesOptions) -> usize {
    ((budget_bytes(options) / 2 / (BUFFER_BYTES_MIN + SOURCE_BYTES)) as usize).max(2)
}

fn budget_bytes(options: &LinesOptions) -> u64 {
    options.budget_bytes.saturating_sub(options.taken_bytes).max(BUDGET_BYTES_MIN)
}

/// Merges `sources`, at most [`sequential_inputs_max`], by their heads, and writes them to
/// `output`. Lines that compare equal come in the order of the sources.
///
/// # Errors
/// If a source or the output fails, or if the lines at the heads are too long for the budget.
pub fn merge_sequential<O: LineOrder>(
    options: &LinesOptions,
    order: &O,
    sources: Vec<Source>,
    output: &mut (dyn Write + Send),
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let begun = Instant::now();
    let runs = sources.len();
    observer.phase(
        "merge",
        sources.iter().map(|source| source.bytes).sum::<Option<u64>>().unwrap_or(0),
    );
    let each =
        (budget_bytes(options) / 2 / sources.len().max(1) as u64).saturating_sub(SOURCE_BYTES);
    let buffer_bytes = each.clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX) as usize;
    let lane = |source| Lane::new(source, options.delimiter, buffer_bytes);
    let taken_bytes = sources.len() as u64 * (buffer_bytes as u64 + SOURCE_BYTES);
    let mut heads = Heads {
        order,
        options,
        scratch: O::Scratch::default(),
        room: budget_bytes(options).saturating_sub(taken_bytes) as usize,
        buffer_bytes,
        lanes: Vec::new(),
        heap: Vec::new(),
    };
    for lane in sources.into_iter().map(lane) {
        heads.lanes.push(lane);
        let number = heads.lanes.len() - 1;
        if heads.read_line(number)? {
            heads.heap.push(number);
        }
    }
    (0..heads.heap.len()).rev().for_each(|at| heads.sift_down(at));
    let mut out = Vec::with_capacity(2 * OUT_BYTES);
    let mut last: Option<Vec<u8>> = None;
    let (mut lines, mut bytes, mut written_bytes) = (0, 0, 0);
    while let Some(&first) = heads.heap.first() {
        let line = heads.lanes[first].line();
        let is_wanted = match &mut last {
            _ if !options.is_unique => true,
            Some(last) if order.compare(last, line, &mut heads.scratch) == Ordering::Equal => false,
            last => {
                let last = last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(line);
                true
            }
        };
        lines += 1;
        bytes += line.len() as u64 + 1;
        let is_long = line.len() >= OUT_BYTES;
        if is_wanted {
            if is_long {
                output
                    .write_all(&out)
                    .and_then(|()| output.write_all(line))
                    .map_err(Error::Output)?;
                observer.advance((out.len() + line.len()) as u64);
                out.clear();
            } else {
                out.extend_from_slice(line);
            }
            out.push(options.delimiter);
            written_bytes += line.len() as u64 + 1;
        }
        if is_long || out.len() >= OUT_BYTES {
            output.write_all(&out).map_err(Error::Output)?;
            observer.advance(out.len() as u64);
            out.clear();
            if observer.is_cancelled() {
                return Err(Error::Cancelled);
            }
        }
        heads.take_first()?;
    }
    output.write_all(&out).and_then(|()| output.flush()).map_err(Error::Output)?;
    Ok(LinesReport {
        lines,
        bytes,
        written_bytes,
        checksum: None,
        runs,
        spilled_bytes: 0,
        scratch_bytes: 0,
        seconds: begun.elapsed().as_secs_f64(),
        plan: plan(buffer_bytes),
    })
}

/// Nothing but a buffer for each source, and one for the output.
fn plan(block_bytes: usize) -> Plan {
    Plan {
        threads: 1,
        entry_bytes: 0,
        areas: 0,
        area_bytes: 0,
        spare_bytes: 0,
        desk_bytes: OUT_BYTES,
        bypass_block_bytes: 0,
        block_bytes,
        index_bytes: 0,
        chunk_bytes: None,
    }
}

/// A source, and the line at which it stands.
struct Lane {
    input: Input<'static>,
    delimiter: u8,
    buffer: Vec<u8>,
    /// What of the buffer is read and not yet merged. The head is in front.
    from: usize,
    to: usize,
    /// Length of the head.
    bytes: usize,
    /// The first word of its key.
    word: u64,
}

impl Lane {
    fn new(source: Source, delimiter: u8, buffer_bytes: usize) -> Lane {
        let input = Input::new(vec![source], delimiter, None);
        Lane { input, delimiter, buffer: vec![0; buffer_bytes], from: 0, to: 0, bytes: 0, word: 0 }
    }

    fn line(&self) -> &[u8] {
        &self.buffer[self.from..][..self.bytes]
    }

    /// Reads until there is a line at `from`, or no room for more of it.
    fn read_line(&mut self) -> Result<Next, Error> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.from..self.to];
            if let Some(end) = memchr::memchr(self.delimiter, &unread[searched..]) {
                self.bytes = searched + end;
                return Ok(Next::Line);
            }
            searched = unread.len();
            if self.from > 0 {
                self.buffer.copy_within(self.from..self.to, 0);
                (self.from, self.to) = (0, searched);
            }
            if self.to == self.buffer.len() {
                return Ok(Next::Full);
            }
            match self.input.read(&mut self.buffer[self.to..])? {
                0 => return Ok(Next::End),
                bytes => self.to += bytes,
            }
        }
    }

    /// Gives back what of the buffer isn't needed for what is in it, and returns how much that is.
    fn shrink(&mut self, buffer_bytes: usize) -> usize {
        let before = self.buffer.len();
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        self.buffer.truncate(self.to.max(buffer_bytes));
        self.buffer.shrink_to_fit();
        before - self.buffer.len()
    }
}

/// What there is at the front of a lane.
enum Next {
    Line,
    /// The beginning of a line that is longer than the buffer.
    Full,
    End,
}

/// The heads of all lanes that have one, as a heap: none is before the one at half its place.
struct Heads<'a, O: LineOrder> {
    order: &'a O,
    options: &'a LinesOptions,
    scratch: O::Scratch,
    /// Bytes of the budget that are left for long lines.
    room: usize,
    /// Bytes of a lane's buffer without such.
    buffer_bytes: usize,
    lanes: Vec<Lane>,
    heap: Vec<usize>,
}

impl<O: LineOrder> Heads<'_, O> {
    /// Brings the next line of a lane to its front; false if there is none.
    fn read_line(&mut self, number: usize) -> Result<bool, Error> {
        loop {
            let lane = &mut self.lanes[number];
            match lane.read_line()? {
                Next::Line => {
                    lane.word = self.order.word(lane.line(), 0, &mut self.scratch);
                    return Ok(true);
                }
                Next::End => {
                    let given = std::mem::take(&mut lane.buffer).len();
                    self.room += self.cost() * given;
                    return Ok(false);
                }
                Next::Full => self.grow(number)?,
            }
        }
    }

    /// Makes a lane's buffer larger, as far as there is room.
    fn grow(&mut self, number: usize) -> Result<(), Error> {
        let (cost, bytes) = (self.cost(), self.lanes[number].buffer.len());
        if self.room / cost < bytes {
            let given: usize =
                self.lanes.iter_mut().map(|lane| lane.shrink(self.buffer_bytes)).sum();
            self.room += cost * given;
        }
        let more = bytes.min(self.room / cost);
        let lane = &mut self.lanes[number];
        if more < bytes.min(BUFFER_BYTES_MAX as usize) {
            let budget_bytes = self.options.budget_bytes.max(BUDGET_BYTES_MIN);
            let longest = |budget: u64| bytes + budget.saturating_sub(budget_bytes) as usize / cost;
            return Err(too_long(&mut lane.input, bytes as u64, self.options, longest));
        }
        lane.buffer.reserve_exact(more);
        lane.buffer.resize(bytes + more, 0);
        self.room -= cost * more;
        Ok(())
    }

    /// How often a long line is in memory: where equal ones are dropped, the last one is kept as
    /// well.
    fn cost(&self) -> usize {
        if self.options.is_unique { 2 } else { 1 }
    }

    /// Goes on to the line behind the first head.
    fn take_first(&mut self) -> Result<(), Error> {
        let first = self.heap[0];
        self.lanes[first].from += self.lanes[first].bytes + 1;
        if !self.read_line(first)? {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    fn is_before(&mut self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.lanes[a], &self.lanes[b]);
        let by_word = first.word.cmp(&second.word);
        by_word
            .then_with(|| self.order.compare(first.line(), second.line(), &mut self.scratch))
            .then(a.cmp(&b))
            == Ordering::Less
    }
}
