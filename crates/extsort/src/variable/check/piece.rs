//! What is out of order, as every thread of a check knows it.

use xsort_kernels::lines::{CheckedLines, LineComparer, LineKernels};

#[derive(Clone, Copy)]
pub(super) struct LineCheck<'o> {
    pub(super) order: &'o dyn LineKernels,
    pub(super) delimiter: u8,
    /// Whether a line that is equal to the one before is out of order.
    pub(super) is_unique: bool,
}

impl LineCheck<'_> {
    /// Checks whole lines with a thread's own comparer.
    pub(super) fn check(self, text: &[u8], comparer: &mut dyn LineComparer) -> CheckedLines {
        comparer.check(text, self.delimiter, self.is_unique)
    }
}
