//! Lines that are nearly in order: each waits until no line that may still come belongs before it.
//!
//! ```text
//!  waiting, as they came   | a | d | b | f | e | c | g |       what leaves is sorted, and
//!  leave                   | a |   | b |   |   | c |           follows everything that has left
//!  stay                        | d |   | f | e |   | g |
//! ```
//!
//! Lines are sorted once, when they leave. Collected are at least as many as stay, so that a line
//! is looked at twice on average.

use super::super::options::LinesOptions;
use super::arrivals::{Arrival, Arrivals, Block};
use super::batches::Batches;
use super::late::Late;
use super::memory::IncrementalMemory;
use super::rule::{ByLines, BySpan, Mark, Verdict};
use super::waiting::{Counts, Waiting};
use crate::{Error, Observer};

/// Bytes of a mark.
const MARK_BYTES: usize = size_of::<Mark>();

/// The rule by which lines leave.
pub(super) enum Rule<'a> {
    Lines(ByLines<'a>),
    Span(BySpan<'a>),
}

/// The lines that wait.
pub(super) struct Window<'a> {
    options: &'a LinesOptions,
    memory: IncrementalMemory,
    observer: &'a dyn Observer,
    rule: Rule<'a>,
    late: Late<'a>,
    pub(super) waiting: Waiting,
    /// A mark for each whole line.
    marks: Vec<Mark>,
    /// Bytes that are collected before lines leave, with the marks.
    collected_bytes: usize,
    /// Lines that were dropped because they equal one that has left.
    dropped: Counts,
}

impl<'a> Window<'a> {
    pub(super) fn new(
        options: &'a LinesOptions,
        memory: IncrementalMemory,
        rule: Rule<'a>,
        late: Late<'a>,
        observer: &'a dyn Observer,
    ) -> Window<'a> {
        Window {
            options,
            memory,
            observer,
            rule,
            late,
            waiting: Waiting::new(options.delimiter, memory.collected_bytes),
            marks: Vec::new(),
            collected_bytes: memory.collected_bytes,
            dropped: Counts::default(),
        }
    }

    /// Takes a block.
    ///
    /// # Errors
    ///
    /// [`Error::Late`] for a line that is too late, unless such lines are written elsewhere.
    pub(super) fn take(&mut self, block: &Block) -> Result<(), Error> {
        let delimiter = self.waiting.delimiter;
        let lines_before = match block.path {
            Some(_) => 0,
            None => self.waiting.lines_of_input,
        };
        let new = self.waiting.append(block);
        let (mut from, mut to, mut number) = (new.start, new.start, lines_before);
        let text = &mut self.waiting.text;
        while from < new.end
            && let Some(bytes) = memchr::memchr(delimiter, &text[from..new.end])
        {
            let end = from + bytes;
            number += 1;
            let (before, line) = (&text[..to], &text[from..end]);
            let verdict = match &mut self.rule {
                Rule::Lines(rule) => rule.judge(line, before, delimiter, &self.marks),
                Rule::Span(rule) => rule.judge(line),
            };
            match verdict {
                Verdict::Waits(mark) => {
                    self.marks.push(mark);
                    if to < from {
                        text.copy_within(from..=end, to);
                    }
                    to += bytes + 1;
                }
                Verdict::Duplicate => self.dropped.add(&text[from..=end], delimiter),
                Verdict::TooLate if self.late.take(&text[from..=end], delimiter)? => {}
                Verdict::TooLate => {
                    let (path, line) = (self.waiting.path.clone(), line.to_vec());
                    let lag = self.lag(&line);
                    return Err(Error::Late { path, number, line, lag });
                }
            }
            from = end + 1;
        }
        self.waiting.cut_whole(to);
        Ok(())
    }

    /// Says by how much a line is too late.
    fn lag(&self, line: &[u8]) -> String {
        match &self.rule {
            Rule::Lines(_) => {
                "it belongs before one that came further ahead of it than --within allows".into()
            }
            Rule::Span(rule) => {
                let more = rule.limit() - rule.number(line);
                format!("its first key is {more} s further back than --within allows")
            }
        }
    }

    /// Bytes that wait, with the marks.
    fn bytes(&self) -> usize {
        self.waiting.text.len() + MARK_BYTES * self.marks.len()
    }

    /// True if no further block should be taken before lines leave.
    pub(super) fn is_full(&self) -> bool {
        self.bytes() + self.memory.block_bytes > self.collected_bytes
    }

    /// Sorts the lines that may leave.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] if those that stay are too many.
    pub(super) fn release(
        &mut self,
        arrivals: &mut Arrivals,
        batches: &mut Batches<'_>,
    ) -> Result<(), Error> {
        let leaving = self.take_leaving();
        batches.sort(&self.waiting.path, leaving)?;
        let staying = self.bytes() + self.memory.block_bytes;
        if staying > self.memory.kept_bytes_max() {
            return Err(self.too_many(arrivals));
        }
        while staying > self.collected_bytes / 2 && self.collected_bytes < self.memory.window_bytes
        {
            self.collected_bytes = (2 * self.collected_bytes).min(self.memory.window_bytes);
        }
        Ok(())
    }

    /// Sorts all lines. Returns the counts of those that didn't wait.
    pub(super) fn end(&mut self, batches: &mut Batches<'_>) -> Result<(), Error> {
        self.marks.clear();
        let leaving = self.waiting.take_front(self.waiting.whole, 0);
        batches.sort(&self.waiting.path, leaving)
    }

    /// Passes on late lines.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.late.flush()
    }

    /// The lines that didn't leave in order: late ones and dropped ones. The last value is the
    /// number of late ones, if they are no errors.
    pub(super) fn others(&self) -> ([Counts; 2], Option<u64>) {
        ([self.late.counts, self.dropped], self.late.lines())
    }

    /// Takes the lines that may leave, in the order in which they came.
    fn take_leaving(&mut self) -> Vec<u8> {
        let Waiting { delimiter, whole, .. } = self.waiting;
        let text = &mut self.waiting.text;
        let sure = match &mut self.rule {
            Rule::Lines(rule) => rule.begin(&text[..whole], delimiter, &self.marks),
            Rule::Span(_) => Some((0, 0)),
        };
        let Some((mut at, mut from)) = sure else { return Vec::new() };
        let mut leaving = Vec::with_capacity(whole);
        leaving.extend_from_slice(&text[..from]);
        let (mut to, mut marks_to) = (0, 0);
        while from < whole
            && let Some(bytes) = memchr::memchr(delimiter, &text[from..whole])
        {
            let (line, mark) = (from..from + bytes + 1, self.marks[at]);
            let may_leave = match &mut self.rule {
                Rule::Lines(rule) => rule.may_leave(&text[from..from + bytes], mark),
                Rule::Span(rule) => rule.may_leave(mark),
            };
            (at, from) = (at + 1, line.end);
            if may_leave {
                leaving.extend_from_slice(&text[line]);
            } else {
                self.marks[marks_to] = mark;
                marks_to += 1;
                text.copy_within(line, to);
                to += bytes + 1;
            }
        }
        self.marks.truncate(marks_to);
        self.waiting.cut_whole(to);
        leaving
    }

    /// The error for lines that wait and don't fit. Reads on until the first of them could leave,
    /// so that it names a budget that is enough for these.
    fn too_many(&mut self, arrivals: &mut Arrivals) -> Error {
        let budget_bytes = self.options.budget_bytes;
        let mut bytes = self.bytes() as u64;
        let least = match self.rule {
            Rule::Lines(_) => f64::MAX,
            Rule::Span(_) => self.marks.iter().map(|mark| mark.of_span()).fold(f64::MAX, f64::min),
        };
        let mut begun = self.waiting.text.split_off(self.waiting.whole);
        loop {
            match arrivals.next(None, self.observer) {
                Ok(Arrival::Block(block)) => {
                    begun.extend_from_slice(&block.bytes);
                    if self.count(&mut begun, least, &mut bytes) {
                        break;
                    }
                }
                Ok(Arrival::Pause) => {}
                Ok(Arrival::End) => break,
                Err(error) => return error,
            }
        }
        let needed_bytes = IncrementalMemory::budget_for(self.options, bytes + begun.len() as u64);
        Error::Memory { budget_bytes, needed_bytes: needed_bytes.unwrap_or(u64::MAX) }
    }

    /// Counts the whole lines of `text`, and drops them. Returns true once the first line that
    /// waits could leave, whose number is `least`.
    fn count(&mut self, text: &mut Vec<u8>, least: f64, bytes: &mut u64) -> bool {
        let mut from = 0;
        while let Some(own) = memchr::memchr(self.waiting.delimiter, &text[from..]) {
            *bytes += (own + 1 + MARK_BYTES) as u64;
            let is_over = match &mut self.rule {
                Rule::Lines(rule) => {
                    rule.skip();
                    self.marks.first().is_none_or(|first| rule.is_over(*first))
                }
                Rule::Span(rule) => {
                    let _ = rule.judge(&text[from..from + own]);
                    least < rule.limit()
                }
            };
            from += own + 1;
            if is_over {
                return true;
            }
        }
        text.drain(..from);
        false
    }
}
