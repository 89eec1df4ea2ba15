//! The bytes that a Python object lends by the buffer protocol, for other threads: as long as they
//! are lent, the object neither moves nor resizes them.
#![allow(unsafe_code, reason = "lends the bytes of buffers to threads")]

use crate::errors::Failure;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use std::ptr::NonNull;
use std::slice;

/// Bytes that are lent.
///
/// Python's code can't be kept from writing to them meanwhile, as it can't with NumPy's own
/// functions. What comes out is wrong then, and no other memory is touched (see
/// `xsort_kernels`).
pub(crate) struct Exported(PyUntypedBuffer);

impl Exported {
    /// Of an object in one piece; `what` it is, for the error.
    pub(crate) fn new(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Exported> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            let text = format!("{what} has gaps: numpy.ascontiguousarray makes one without");
            return Err(Failure::of_argument(text).into());
        }
        Ok(Exported(buffer))
    }

    /// How its elements are laid out.
    pub(crate) fn buffer(&self) -> &PyUntypedBuffer {
        &self.0
    }

    fn begin(&self) -> NonNull<u8> {
        // Without bytes there may be no address.
        NonNull::new(self.0.buf_ptr().cast()).unwrap_or(NonNull::<u64>::dangling().cast())
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes from there on are lent until the buffer is released, by `drop`.
        unsafe { slice::from_raw_parts(self.begin().as_ptr(), self.0.len_bytes()) }
    }

    /// Whether some byte of the other one is one of these.
    pub(crate) fn overlaps(&self, other: &Exported) -> bool {
        let (a, b) = (self.bytes().as_ptr_range(), other.bytes().as_ptr_range());
        a.start < b.end && b.start < a.end
    }

    /// Whether the other one has the same bytes.
    pub(crate) fn is_same(&self, other: &Exported) -> bool {
        self.bytes().as_ptr_range() == other.bytes().as_ptr_range()
    }

    /// The same for writing.
    ///
    /// Raises xsort.Unsuitable if they are for reading only.
    pub(crate) fn writable(self) -> PyResult<WritableBytes> {
        if self.0.readonly() {
            let text = "the output can't be written to: it is read-only";
            return Err(Failure::of_argument(text).into());
        }
        Ok(WritableBytes(self))
    }
}

/// Bytes that are lent for writing. Nothing else here has them: who makes two of the same object
/// compares them before ([`Exported::overlaps`]).
pub(crate) struct WritableBytes(Exported);

impl WritableBytes {
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: as in `Exported::bytes`; the object says that they may be written to.
        unsafe { slice::from_raw_parts_mut(self.0.begin().as_ptr(), self.0.0.len_bytes()) }
    }

    /// The bytes as numbers; `None` if they are no whole ones or aren't aligned.
    pub(crate) fn numbers(&mut self) -> Option<&mut [u64]> {
        let begin = self.0.begin().cast::<u64>();
        let bytes = self.0.0.len_bytes();
        if !begin.is_aligned() || !bytes.is_multiple_of(size_of::<u64>()) {
            return None;
        }
        // SAFETY: as in `bytes`; any bytes are numbers, and these are aligned and whole.
        Some(unsafe { slice::from_raw_parts_mut(begin.as_ptr(), bytes / size_of::<u64>()) })
    }
}
