//! The plain merge: always the smallest head, of equal ones that of the first source.
//!
//! One thread, no cuts. So it is the merge that also says what comes of sources that are not in order, which is what GNU sort makes of them:
//! a line that is smaller than the one before it follows at once. And it starts without any plan, so it is the faster one for little.

use super::input::{Input, Source};
use super::options::LinesOptions;
use super::plan::Plan;
use super::report::LinesReport;
use crate::{Error, Observer};
use std::cmp::Ordering;
use std::io::Write;
use std::time::Instant;
use xsort_kernels::lines::LineOrder;

/// Bytes of a source's buffer, unless a line is longer, or memory is scarce.
const BUFFER_BYTES_MAX: u64 = 64 << 10;
const BUFFER_BYTES_MIN: u64 = 4 << 10;
/// Merged lines that are collected before they are written.
const OUT_BYTES: usize = 64 << 10;

/// Merges `sources` by their heads, and writes them to `output`. Lines that compare equal come in the order of the
/// sources. Memory grows with the number of sources and with their longest lines.
///
/// # Errors
/// If a source or the output fails.
pub fn merge_heads<O: LineOrder>(
    options: &LinesOptions,
    order: &O,
    sources: Vec<Source>,
    output: &mut (dyn Write + Send),
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let begun = Instant::now();
    let runs = sources.len();
    observer.phase("merge", sources.iter().map(|source| source.bytes).sum::<Option<u64>>().unwrap_or(0));
    let each = options.budget_bytes / 2 / sources.len().max(1) as u64;
    let buffer_bytes = each.clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX) as usize;
    let lane = |source| Lane::new(source, options.delimiter, buffer_bytes);
    let mut heads = Heads { order, scratch: O::Scratch::default(), lanes: Vec::new(), heap: Vec::new() };
    for lane in sources.into_iter().map(lane) {
        heads.lanes.push(lane);
        let number = heads.lanes.len() - 1;
        if heads.read_line(number)? {
            heads.heap.push(number);
        }
    }
    (0..heads.heap.len()).rev().for_each(|at| heads.sift_down(at));
    let mut out = Vec::with_capacity(OUT_BYTES);
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
        if is_wanted {
            out.extend_from_slice(line);
            out.push(options.delimiter);
            written_bytes += line.len() as u64 + 1;
        }
        if out.len() >= OUT_BYTES {
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

    /// Reads until there is a line at `from`; false at the end.
    fn read_line(&mut self) -> Result<bool, Error> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.from..self.to];
            if let Some(end) = memchr::memchr(self.delimiter, &unread[searched..]) {
                self.bytes = searched + end;
                return Ok(true);
            }
            searched = unread.len();
            if self.from > 0 {
                self.buffer.copy_within(self.from..self.to, 0);
                (self.from, self.to) = (0, searched);
            }
            if self.to == self.buffer.len() {
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
            match self.input.read(&mut self.buffer[self.to..])? {
                0 => return Ok(false),
                bytes => self.to += bytes,
            }
        }
    }
}

/// The heads of all lanes that have one, as a heap: none is before the one at half its place.
struct Heads<'a, O: LineOrder> {
    order: &'a O,
    scratch: O::Scratch,
    lanes: Vec<Lane>,
    heap: Vec<usize>,
}

impl<O: LineOrder> Heads<'_, O> {
    /// Brings the next line of a lane to its front; false if there is none.
    fn read_line(&mut self, number: usize) -> Result<bool, Error> {
        let lane = &mut self.lanes[number];
        if lane.read_line()? {
            lane.word = self.order.word(lane.line(), 0, &mut self.scratch);
            return Ok(true);
        }
        lane.buffer = Vec::new();
        Ok(false)
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
