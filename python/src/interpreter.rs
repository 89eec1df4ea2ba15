//! Only one interpreter of a process may use the module. PyO3 keeps classes and imported objects
//! for the whole process: a second interpreter would use them, even after the first one is gone.
#![allow(unsafe_code, reason = "asks which interpreter this is")]

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

/// Raises ImportError in all interpreters except the first one that calls this.
pub(crate) fn refuse_others(_py: Python<'_>) -> PyResult<()> {
    /// A number that no interpreter has.
    const NONE: i64 = -1;
    static FIRST: AtomicI64 = AtomicI64::new(NONE);
    // SAFETY: this thread is attached to an interpreter, which is alive.
    let this = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    match FIRST.compare_exchange(NONE, this, SeqCst, SeqCst) {
        Err(first) if first != this => Err(PyImportError::new_err(
            "xsort works in one interpreter of a process, and another one has it: do without \
             subinterpreters, or start a process",
        )),
        _ => Ok(()),
    }
}
