//! In how far lines are in order before they are sorted.

use xsort_kernels::lines::LineKernels;

/// Returns the number that a line's first key stands for, in seconds where it is a time. It doesn't
/// fall in the order of the lines. Infinite for a line without one: the least where such a line
/// comes first.
pub type LineNumber<'a> = dyn Fn(&[u8]) -> f64 + Sync + 'a;

/// In how far the lines of the inputs, read one after the other, are in order.
#[derive(Clone, Copy)]
pub enum Presorted<'a> {
    /// They are in the order of the first keys, by which these kernels compare.
    ByFirstKeys(&'a dyn LineKernels),
    /// None comes more than this number of lines after one that belongs after it.
    WithinLines(u64),
    /// The number of none is more than `span` less than that of an earlier one.
    WithinSpan {
        /// The span, in the unit of the numbers.
        span: f64,
        /// The number of a line.
        number: &'a LineNumber<'a>,
    },
}
