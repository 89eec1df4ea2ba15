//! GNU sort's order of lines, as the engine wants it.

use std::cmp::Ordering;
use xsort_extsort::lines::LineOrder;
use xsort_text::{Order, Scratch};

/// Any order. That of the lines' bytes is faster as the engine's own.
pub(super) struct ByText<'a>(pub(super) &'a Order);

impl LineOrder for ByText<'_> {
    type Scratch = Scratch;

    fn word(&self, line: &[u8], skip: usize, scratch: &mut Scratch) -> u64 {
        self.0.word(line, skip, scratch)
    }

    fn compare(&self, a: &[u8], b: &[u8], scratch: &mut Scratch) -> Ordering {
        self.0.compare(a, b, scratch)
    }

    fn same(&self, a: &[u8], b: &[u8], scratch: &mut Scratch) -> bool {
        self.0.same(a, b, scratch)
    }

    fn is_exact(&self) -> bool {
        self.0.is_exact()
    }
}
