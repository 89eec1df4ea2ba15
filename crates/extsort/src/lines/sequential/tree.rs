//! The inputs of a plain merge as a loser tree, by their next lines. Each line takes a number of
//! comparisons logarithmic in the number of inputs.

use super::super::input::{LinesInput, too_long};
use super::super::options::LinesOptions;
use super::cursor::{InputCursor, Standing};
use crate::Error;
use std::cmp::Ordering;
use xsort_kernels::lines::{ByBytes, LineComparer, LineKernels, LineOrder};

/// Bytes of an input's buffer, unless a line is longer or memory is scarce.
pub(crate) const BUFFER_BYTES_MAX: u64 = 64 << 10;
/// Least bytes of an input's buffer. A small file's buffer is no larger than the file, because the
/// system takes longer to provide memory than the merge takes.
pub(crate) const BUFFER_BYTES_MIN: u64 = 4 << 10;

/// Keys are built only for lines up to this length in bytes. Longer ones would exceed the memory
/// counted for an input.
const KEYED_LINE_BYTES_MAX: usize = 256;

/// The inputs of a merge before its passes. A larger budget would merge them at once.
pub(crate) struct WholeMerge {
    /// Bytes of each input, if known.
    pub(crate) sizes: Vec<Option<u64>>,
    pub(crate) is_unique: bool,
}

impl WholeMerge {
    pub(crate) fn new(options: &LinesOptions, inputs: &[LinesInput]) -> WholeMerge {
        let sizes = inputs.iter().map(|input| input.bytes).collect();
        WholeMerge { sizes, is_unique: options.is_unique }
    }
}

/// All inputs. Two of them meet at each node: the smaller one advances to the node at half its
/// number, the other stays.
pub(crate) struct InputTree<'a> {
    comparer: Box<dyn LineComparer + 'a>,
    options: &'a LinesOptions,
    whole: &'a WholeMerge,
    /// Bytes of the budget that are left for long lines.
    free_bytes: usize,
    /// Bytes of a buffer without a long line.
    buffer_bytes: usize,
    inputs: Vec<InputCursor>,
    /// True if key words are computed. Where a language's rules decide after them, they cost more
    /// than comparisons, except for keys that begin with a number.
    has_words: bool,
    /// True if the key of each line is built once.
    has_keys: bool,
    /// The input with the smallest line at 0, and the loser at each node from 1 on.
    nodes: Vec<usize>,
}

impl<'a> InputTree<'a> {
    /// Reads the first line of each input.
    pub(crate) fn new(
        order: &'a dyn LineKernels,
        (options, whole): (&'a LinesOptions, &'a WholeMerge),
        inputs: Vec<LinesInput>,
        buffer_bytes: usize,
        free_bytes: usize,
    ) -> Result<Self, Error> {
        let mut tree = InputTree {
            comparer: order.comparer(),
            options,
            whole,
            free_bytes,
            buffer_bytes,
            inputs: Vec::new(),
            has_words: order.has_cheap_words(),
            has_keys: order.has_costly_keys(),
            nodes: Vec::new(),
        };
        for (number, input) in inputs.into_iter().enumerate() {
            let bytes = input.bytes.map_or(buffer_bytes, |bytes| {
                (bytes + 1).clamp(BUFFER_BYTES_MIN, buffer_bytes as u64) as usize
            });
            tree.inputs.push(InputCursor::new(input, options.delimiter, bytes));
            tree.read_line(number)?;
        }
        tree.build();
        Ok(tree)
    }

    /// Returns the key word of the smallest line (0 without words) and the line; of equal lines
    /// that of the first input. `None` when all are merged.
    #[inline]
    pub(crate) fn first(&self) -> Option<(u64, &[u8])> {
        let first = self.inputs.get(*self.nodes.first()?)?;
        first.is_live.then(|| (first.word, first.line()))
    }

    /// Moves past the smallest line.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<(), Error> {
        let mut winner = self.nodes[0];
        self.inputs[winner].pass_line();
        self.read_line(winner)?;
        let mut node = (self.inputs.len() + winner) / 2;
        while node > 0 {
            if self.is_before(self.nodes[node], winner) {
                std::mem::swap(&mut self.nodes[node], &mut winner);
            }
            node /= 2;
        }
        self.nodes[0] = winner;
        Ok(())
    }

    /// Runs the first tournament of all inputs.
    fn build(&mut self) {
        let inputs = self.inputs.len();
        self.nodes = vec![0; inputs];
        // The winner at each node; the leaves follow the nodes.
        let mut winners: Vec<usize> = (0..2 * inputs).map(|at| at.wrapping_sub(inputs)).collect();
        for node in (1..inputs).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            let is_before = self.is_before(a, b);
            (winners[node], self.nodes[node]) = if is_before { (a, b) } else { (b, a) };
        }
        if inputs > 0 {
            self.nodes[0] = winners[1];
        }
    }

    /// Moves an input to its next line, or ends it.
    fn read_line(&mut self, number: usize) -> Result<(), Error> {
        loop {
            let input = &mut self.inputs[number];
            match input.read_line()? {
                Standing::Line => {
                    self.make_key(number);
                    return Ok(());
                }
                Standing::End => {
                    let freed = input.end();
                    self.free_bytes += self.copies() * freed;
                    return Ok(());
                }
                Standing::LongLine => self.grow(number)?,
            }
        }
    }

    /// Builds the key of an input's line, or a word of it, if that saves more than it costs.
    #[inline]
    fn make_key(&mut self, number: usize) {
        let input = &mut self.inputs[number];
        input.key.clear();
        if self.has_keys && input.line().len() <= KEYED_LINE_BYTES_MAX {
            let mut key = std::mem::take(&mut input.key);
            self.comparer.push_key(input.line(), &mut key);
            input.word = ByBytes.word(&key, 0, &mut ());
            input.key = key;
        } else if self.has_words {
            let line = input.line();
            input.word = self.comparer.word(line, line.len(), 0);
        }
    }

    /// Enlarges an input's buffer, at most to twice its size, as far as there is memory.
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
            return Err(self.refuse_long_line(number));
        }
        input.grow(more);
        self.free_bytes -= copies * more;
        Ok(())
    }

    /// Returns the error for an input's current line, which is too long. The budget it names is
    /// enough if all inputs that are large enough have lines of this length at the same time.
    fn refuse_long_line(&mut self, number: usize) -> Error {
        let WholeMerge { sizes, is_unique } = self.whole;
        let copies = copies(*is_unique) as u64;
        let (options, begun) = (self.options, self.inputs[number].buffer_bytes() as u64);
        let is_reserved_more =
            options.reservation.of(options.budget_bytes) > 0 || sizes.contains(&None);
        let line_bytes_max = |budget: u64| {
            // Decoders and stores take more of a larger budget, up to half of it.
            let reserved = if is_reserved_more { budget / 2 } else { 0 };
            // The other half of the rest may be buffers.
            let room =
                budget.saturating_sub(reserved.max(options.reservation.of(budget))) / 2 / copies;
            longest_in_all(sizes, room)
        };
        too_long(&mut self.inputs[number].reader, begun, options, line_bytes_max)
    }

    fn copies(&self) -> usize {
        copies(self.options.is_unique)
    }

    /// True if the line of input `a` comes before that of `b`. An input at its end comes last.
    fn is_before(&mut self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.inputs[a], &self.inputs[b]);
        if !(first.is_live && second.is_live) {
            return first.is_live;
        }
        let by_word = first.word.cmp(&second.word);
        by_word
            .then_with(|| match (&first.key[..], &second.key[..]) {
                ([], _) | (_, []) => self.comparer.compare(first.line(), second.line()),
                (first, second) => first.cmp(second),
            })
            .then(a.cmp(&b))
            == Ordering::Less
    }
}

/// Number of copies of a long line in memory: the last line is kept, too, if duplicates are
/// dropped.
fn copies(is_unique: bool) -> usize {
    if is_unique { 2 } else { 1 }
}

/// Length in bytes of the longest line that inputs of these sizes may all have at once in `room`
/// bytes. A buffer grows to twice the line, or to the size of its input if that is smaller.
fn longest_in_all(sizes: &[Option<u64>], room: u64) -> usize {
    let taken = |line_bytes: u64| -> u64 {
        let of_input = |bytes: &Option<u64>| bytes.unwrap_or(u64::MAX).min(2 * line_bytes);
        sizes.iter().map(of_input).fold(0, u64::saturating_add)
    };
    // Bisection: no line is longer than the room.
    let (mut fits, mut too_long) = (0, room + 1);
    while too_long - fits > 1 {
        let middle = fits + (too_long - fits) / 2;
        if taken(middle) <= room {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    fits as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_inputs_have_no_long_lines() {
        assert_eq!(longest_in_all(&[None], 100), 50);
        assert_eq!(longest_in_all(&[None, None], 100), 25);
        assert_eq!(longest_in_all(&[None, Some(4), Some(6)], 100), 45);
        assert_eq!(longest_in_all(&[Some(60), Some(40)], 100), 100);
        assert_eq!(longest_in_all(&[], 100), 100);
        assert_eq!(longest_in_all(&[Some(200), Some(200)], 0), 0);
    }
}
