//! The settings of a check, copied to every thread.

use xsort_kernels::lines::{CheckedLines, LineComparer, LineKernels};

#[derive(Clone, Copy)]
pub(super) struct LineCheck<'o> {
    pub(super) order: &'o dyn LineKernels,
    pub(super) delimiter: u8,
    /// True if a line equal to the one before is out of order.
    pub(super) is_unique: bool,
}

impl LineCheck<'_> {
    /// Checks whole lines with a thread's own comparer.
    pub(super) fn check(self, text: &[u8], comparer: &mut dyn LineComparer) -> CheckedLines {
        comparer.check(text, self.delimiter, self.is_unique)
    }
}
