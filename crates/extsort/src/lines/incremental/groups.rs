//! Lines that are in the order of the first keys: groups of lines whose first keys are equal.
//!
//! ```text
//!  | group | group | ... | the last group, which may go on | the beginning of a line |
//!  '--- leave together --'
//! ```
//!
//! The whole order compares the first keys first. So groups that are sorted together come out in
//! their order, and only the last one has to wait for a line of the next.

use super::super::input::ReadLines;
use super::super::options::LinesOptions;
use super::arrivals::{Arrival, Arrivals, Block, line_bytes};
use super::batches::{Batches, Pieces};
use super::memory::IncrementalMemory;
use super::waiting::Waiting;
use crate::{Error, Observer};
use crossbeam_channel::{Sender, bounded};
use std::io;
use std::thread;
use xsort_kernels::lines::{Bound, LineComparer, LineKernels, last_line};

/// The groups that haven't left yet. The last line that was read is always one of them.
pub(super) struct Groups<'a> {
    options: &'a LinesOptions,
    memory: IncrementalMemory,
    observer: &'a dyn Observer,
    first_keys: Box<dyn LineComparer + 'a>,
    pub(super) waiting: Waiting,
    /// Where the last whole line begins.
    last: usize,
}

impl<'a> Groups<'a> {
    pub(super) fn new(
        options: &'a LinesOptions,
        memory: IncrementalMemory,
        first_keys: &'a dyn LineKernels,
        observer: &'a dyn Observer,
    ) -> Groups<'a> {
        let waiting = Waiting::new(options.delimiter, memory.collected_bytes);
        let first_keys = first_keys.comparer();
        Groups { options, memory, observer, first_keys, waiting, last: 0 }
    }

    /// Takes a block, and checks that its lines are in order.
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`] with the first line that isn't.
    pub(super) fn take(&mut self, block: &Block) -> Result<(), Error> {
        let lines_before = match block.path {
            Some(_) => 0,
            None => self.waiting.lines_of_input,
        };
        let new = self.waiting.append(block);
        if new.is_empty() {
            return Ok(());
        }
        let Waiting { path, text, delimiter, .. } = &self.waiting;
        let last = (new.start > 0).then(|| &text[self.last..new.start - 1]);
        let (text, delimiter) = (&text[new], *delimiter);
        let lines = ReadLines { path, text, delimiter, lines_before, last };
        lines.check_order(&mut *self.first_keys)?;
        self.last = last_line(self.waiting.lines(), delimiter).start;
        Ok(())
    }

    /// True if no further block fits.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.text.len() + self.memory.block_bytes > self.memory.collected_bytes
    }

    /// Sorts all groups but the last, or that, too, if it leaves no room for a further block.
    pub(super) fn release(
        &mut self,
        arrivals: &mut Arrivals,
        batches: &mut Batches<'_>,
    ) -> Result<(), Error> {
        let closed = self.bound(self.last, false);
        self.sort_front(closed, batches)?;
        if self.is_full() { self.sort_long_group(arrivals, batches) } else { Ok(()) }
    }

    /// Sorts all groups.
    pub(super) fn end(&mut self, batches: &mut Batches<'_>) -> Result<(), Error> {
        self.sort_front(self.waiting.whole, batches)
    }

    fn sort_front(&mut self, bytes: usize, batches: &mut Batches<'_>) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        let leaving = self.waiting.take_front(bytes, self.memory.collected_bytes);
        self.last = self.last.saturating_sub(bytes);
        batches.sort(&self.waiting.path, leaving)
    }

    /// Bytes of the lines whose first keys are less than those of the line at `at`, or with
    /// `include_equal` not greater.
    fn bound(&mut self, at: usize, include_equal: bool) -> usize {
        let text = self.waiting.lines();
        let Some(end) = memchr::memchr(self.waiting.delimiter, &text[at..]) else { return 0 };
        let bound = Bound { line: &text[at..at + end], include_equal };
        self.first_keys.bound_in_text(text, self.waiting.delimiter, bound, at)
    }

    /// Sorts the only group that is there by a sort of its own, which reads it to its end.
    fn sort_long_group(
        &mut self,
        arrivals: &mut Arrivals,
        batches: &mut Batches<'_>,
    ) -> Result<(), Error> {
        let (to, from) = bounded(1);
        let path = self.waiting.path.clone();
        thread::scope(|scope| {
            let sort = || batches.sort_pieces(&path, Pieces::new(from));
            let sorting = thread::Builder::new().name("xsort-group".into());
            let sorting = sorting.spawn_scoped(scope, sort).map_err(|error| {
                Error::Settings(format!("no thread can be started to sort a group: {error}"))
            })?;
            let passed = self.pass_group(arrivals, &to);
            if passed.is_err() {
                // Without this, the sort would take the end of the channel for that of the group.
                let _ = to.send(Err(io::Error::other("its end wasn't read")));
            }
            drop(to);
            let sorted = sorting.join().unwrap_or(Err(Error::Panicked));
            passed.and_then(|is_wanted| match (is_wanted, sorted) {
                (false, Ok(())) => Err(Error::Panicked),
                (_, sorted) => sorted,
            })
        })
    }

    /// Passes on the lines of the first group up to its end. Returns false if nobody takes them.
    fn pass_group(
        &mut self,
        arrivals: &mut Arrivals,
        to: &Sender<io::Result<Vec<u8>>>,
    ) -> Result<bool, Error> {
        loop {
            let group = self.bound(0, true);
            // The last line stays, because the next one is compared with it.
            let is_over = group < self.waiting.whole;
            let bytes = if is_over { group } else { self.last };
            if bytes > 0 {
                let lines = self.waiting.take_front(bytes, self.memory.collected_bytes);
                self.last = self.last.saturating_sub(bytes);
                if to.send(Ok(lines)).is_err() {
                    return Ok(false);
                }
            }
            if is_over {
                return Ok(true);
            }
            if self.waiting.text.len() + self.memory.block_bytes > self.memory.window_bytes {
                return Err(self.too_long(arrivals));
            }
            match arrivals.next(None, self.observer)? {
                Arrival::Block(block) => self.take(&block)?,
                Arrival::Pause => {}
                Arrival::End => {
                    let rest = self.waiting.take_front(self.waiting.whole, 0);
                    self.last = 0;
                    return Ok(to.send(Ok(rest)).is_ok());
                }
            }
        }
    }

    /// The error for one or two lines that leave no room for a further block.
    fn too_long(&mut self, arrivals: &mut Arrivals) -> Error {
        let Waiting { delimiter, whole, .. } = self.waiting;
        let begun = self.waiting.text.len() - whole;
        let next = match line_bytes(begun, delimiter, arrivals, self.observer) {
            Ok(next) => next,
            Err(error) => return error,
        };
        let (bytes, budget_bytes) = (next.max(whole as u64), self.options.budget_bytes);
        // The next line may be as long.
        let needed_bytes = IncrementalMemory::budget_for(self.options, 2 * bytes);
        let path = self.waiting.path.clone();
        Error::LongLine {
            path,
            bytes,
            is_whole: true,
            is_record: false,
            budget_bytes,
            needed_bytes,
        }
    }
}
