//! Whether the running thread handles an allocation that fails. A program whose allocator ends the
//! process where the system refuses memory asks this first. (`xsort` has such an allocator; a
//! library can't have one.)

use std::cell::Cell;

thread_local! {
    static IS_ERROR: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work`, whose allocations may fail: it handles the error, as after `try_reserve`.
pub fn refusals_as_errors<T>(work: impl FnOnce() -> T) -> T {
    let before = IS_ERROR.replace(true);
    let result = work();
    IS_ERROR.set(before);
    result
}

/// Whether this thread is within [`refusals_as_errors`].
pub fn is_refusal_an_error() -> bool {
    IS_ERROR.get()
}
