//! Tells whether the running thread handles failed allocations. A program whose allocator ends the
//! process if the system refuses memory asks this first. (`xsort` has such an allocator; a library
//! can't have one.)

use std::cell::Cell;

thread_local! {
    static IS_ERROR: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work`, which handles failed allocations itself, as after `try_reserve`.
pub fn refusals_as_errors<T>(work: impl FnOnce() -> T) -> T {
    let before = IS_ERROR.replace(true);
    let result = work();
    IS_ERROR.set(before);
    result
}

/// Returns whether this thread is inside [`refusals_as_errors`].
pub fn is_refusal_an_error() -> bool {
    IS_ERROR.get()
}
