//! The inputs of a plain merge as a heap, by their next lines.

use super::super::input::{LinesInput, too_long};
use super::super::options::LinesOptions;
use super::super::plan::BUDGET_BYTES_MIN;
use super::cursor::{InputCursor, Standing};
use crate::Error;
use std::cmp::Ordering;
use xsort_kernels::lines::LineOrder;

/// Bytes of an input's buffer, unless a line is longer or memory is scarce.
pub(crate) const BUFFER_BYTES_MAX: u64 = 64 << 10;
/// Least bytes of an input's buffer. A small file gets no more than it has bytes, because the
/// system takes longer to provide the memory than the merge does.
pub(crate) const BUFFER_BYTES_MIN: u64 = 4 << 10;

/// All inputs. Those that have a line are a heap: none is before the one at half its place.
pub(crate) struct InputHeap<'a, O: LineOrder> {
    order: &'a O,
    options: &'a LinesOptions,
    scratch: O::Scratch,
    /// Bytes of the budget that are left for long lines.
    free_bytes: usize,
    /// Bytes of an input's buffer that holds no long line.
    buffer_bytes: usize,
    inputs: Vec<InputCursor>,
    heap: Vec<usize>,
}

impl<'a, O: LineOrder> InputHeap<'a, O> {
    /// Reads the first line of each input.
    pub(crate) fn new(
        order: &'a O,
        options: &'a LinesOptions,
        inputs: Vec<LinesInput>,
        buffer_bytes: usize,
        free_bytes: usize,
    ) -> Result<Self, Error> {
        let mut heap = InputHeap {
            order,
            options,
            scratch: O::Scratch::default(),
            free_bytes,
            buffer_bytes,
            inputs: Vec::new(),
            heap: Vec::new(),
        };
        for (number, input) in inputs.into_iter().enumerate() {
            let bytes = input.bytes.map_or(buffer_bytes, |bytes| {
                (bytes + 1).clamp(BUFFER_BYTES_MIN, buffer_bytes as u64) as usize
            });
            heap.inputs.push(InputCursor::new(input, options.delimiter, bytes));
            if heap.read_line(number)? {
                heap.heap.push(number);
            }
        }
        (0..heap.heap.len()).rev().for_each(|at| heap.sift_down(at));
        Ok(heap)
    }

    /// The smallest line, of equal ones that of the first input; `None` when all are merged.
    #[inline]
    pub(crate) fn first(&self) -> Option<&[u8]> {
        self.heap.first().map(|&first| self.inputs[first].line())
    }

    /// Goes on behind the smallest line.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<(), Error> {
        let first = self.heap[0];
        self.inputs[first].pass_line();
        if !self.read_line(first)? {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    /// Brings an input to its next line; false if there is none.
    fn read_line(&mut self, number: usize) -> Result<bool, Error> {
        loop {
            let input = &mut self.inputs[number];
            match input.read_line()? {
                Standing::Line => {
                    input.word = self.order.word(input.line(), 0, &mut self.scratch);
                    return Ok(true);
                }
                Standing::End => {
                    let freed = input.free();
                    self.free_bytes += self.copies() * freed;
                    return Ok(false);
                }
                Standing::LongLine => self.grow(number)?,
            }
        }
    }

    /// Makes an input's buffer larger, up to twice its size, as far as there is memory.
    fn grow(&mut self, number: usize) -> Result<(), Error> {
        let (copies, bytes) = (self.copies(), self.inputs[number].buffer_bytes());
        if self.free_bytes / copies < bytes {
            let shrink = |input: &mut InputCursor| input.shrink(self.buffer_bytes);
            let freed: usize = self.inputs.iter_mut().map(shrink).sum();
            self.free_bytes += copies * freed;
        }
        let more = bytes.min(self.free_bytes / copies);
        let input = &mut self.inputs[number];
        if more < bytes.min(BUFFER_BYTES_MAX as usize) {
            let budget_bytes = self.options.budget_bytes.max(BUDGET_BYTES_MIN);
            let line_bytes_max =
                |budget: u64| bytes + budget.saturating_sub(budget_bytes) as usize / copies;
            return Err(too_long(&mut input.reader, bytes as u64, self.options, line_bytes_max));
        }
        input.grow(more);
        self.free_bytes -= copies * more;
        Ok(())
    }

    /// How often a long line is in memory: where duplicates are dropped, the last line is kept,
    /// too.
    fn copies(&self) -> usize {
        if self.options.is_unique { 2 } else { 1 }
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
        let (first, second) = (&self.inputs[a], &self.inputs[b]);
        let by_word = first.word.cmp(&second.word);
        by_word
            .then_with(|| self.order.compare(first.line(), second.line(), &mut self.scratch))
            .then(a.cmp(&b))
            == Ordering::Less
    }
}
