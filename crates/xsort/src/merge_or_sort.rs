//! Inputs that are merged if they are in order, and else sorted.

use xsort_extsort::Error;

/// True if a merge ended because an input isn't in order, or because there are more inputs than the
/// memory has blocks for. A sort may do what the merge couldn't.
pub(crate) fn refuses_merge<R>(merged: &Result<R, Error>) -> bool {
    matches!(merged, Err(Error::Unordered { .. } | Error::Memory { .. }))
}
