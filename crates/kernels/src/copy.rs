//! Copying one record, of a size that the compiler does not know.

/// Copies `from` to `to`, which is as long.
#[inline(always)]
pub(crate) fn record(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
}
