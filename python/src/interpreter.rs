//! One interpreter of a process has the module. PyO3 keeps classes and what it has imported for the
//! process: a second interpreter would use them, and the first one after that has gone.
#![allow(unsafe_code, reason = "asks which interpreter this is")]

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

/// Refuses all interpreters but the first one that asks.
pub(crate) fn refuse_others(_py: Python<'_>) -> PyResult<()> {
    /// No interpreter has this number.
    const NONE: i64 = -1;
    static FIRST: AtomicI64 = AtomicI64::new(NONE);
    // SAFETY: this thread is attached to an interpreter, which lives.
    let this = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    match FIRST.compare_exchange(NONE, this, SeqCst, SeqCst) {
        Err(first) if first != this => Err(PyImportError::new_err(
            "xsort works in one interpreter of a process, and another one has it: do without \
             subinterpreters, or start a process",
        )),
        _ => Ok(()),
    }
}
