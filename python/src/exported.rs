//! The bytes that a Python object lends through the buffer protocol, for use in other threads.
//! While they are lent, the object neither moves nor resizes them.
//!
//! Another thread may write to them at any time: Python code, or NumPy without the interpreter's
//! lock. So they are never borrowed as a slice, whose bytes must not change. They are copied by
//! atomic words, and the library works on the copy.
#![allow(unsafe_code, reason = "copies the bytes of buffers from threads")]

use crate::errors::Failure;
use parking_lot::Mutex;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::{slice, thread};
use xsort::{Cancel, Error};

/// Bytes of a word.
const WORD: usize = size_of::<u64>();
/// Bytes that a thread copies before it checks whether to stop. Fewer bytes aren't worth a thread.
const BLOCK: usize = 1 << 20;

/// The bytes that an object lends.
pub(crate) struct Exported {
    buffer: PyUntypedBuffer,
    /// True if no code can write to the bytes, because the object is a `bytes`.
    is_constant: bool,
}

impl Exported {
    /// Borrows the bytes of an object, which must be contiguous. `what` names it in errors.
    pub(crate) fn new(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Exported> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            let text = format!("{what} has gaps: numpy.ascontiguousarray makes one without");
            return Err(Failure::of_argument(text).into());
        }
        Ok(Exported { buffer, is_constant: object.is_exact_instance_of::<PyBytes>() })
    }

    /// The buffer, with the layout of its elements.
    pub(crate) fn buffer(&self) -> &PyUntypedBuffer {
        &self.buffer
    }

    fn begin(&self) -> NonNull<u8> {
        // Without bytes there may be no address.
        NonNull::new(self.buffer.buf_ptr().cast()).unwrap_or(NonNull::<u64>::dangling().cast())
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len_bytes()
    }

    fn addresses(&self) -> Range<usize> {
        let begin = self.begin().as_ptr().addr();
        begin..begin + self.len()
    }

    /// True if the two ranges of bytes overlap.
    pub(crate) fn overlaps(&self, other: &Exported) -> bool {
        let (a, b) = (self.addresses(), other.addresses());
        a.start < b.end && b.start < a.end
    }

    /// True if the two ranges of bytes are the same.
    pub(crate) fn is_same(&self, other: &Exported) -> bool {
        self.addresses() == other.addresses()
    }

    /// The bytes without a copy, if no code can write to them.
    pub(crate) fn constant(&self) -> Option<&[u8]> {
        // SAFETY: `len` bytes from `begin` are lent until `drop` releases the buffer, and those of
        // a `bytes` object never change.
        self.is_constant
            .then(|| unsafe { slice::from_raw_parts(self.begin().as_ptr(), self.len()) })
    }

    /// Copies all bytes, with several threads.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if `cancel` was set; MemoryError if there is no memory for the copy.
    pub(crate) fn copied(&self, threads: usize, cancel: &Cancel) -> Result<Vec<u8>, Failure> {
        let mut copy = room(self.len())?;
        let from = Shared(self.begin());
        let blocks = copy.spare_capacity_mut()[..self.len()].chunks_mut(BLOCK).enumerate();
        in_threads(threads, cancel, blocks, |(number, block)| {
            // SAFETY: the block lies within the bytes that are lent.
            unsafe { from.at(number * BLOCK).read(block) };
        })?;
        // SAFETY: `in_threads` returned no error, so all blocks were written.
        unsafe { copy.set_len(self.len()) };
        Ok(copy)
    }

    /// Fills `place`, which must have the same length, with a copy of all bytes.
    pub(crate) fn copy_to(&self, place: &mut [u8]) {
        assert_eq!(place.len(), self.len(), "one place for each byte");
        // SAFETY: `read` only writes initialised bytes, so `place` stays initialised. Its source
        // has the same length.
        unsafe {
            let place = slice::from_raw_parts_mut(place.as_mut_ptr().cast(), place.len());
            Shared(self.begin()).read(place);
        }
    }

    /// Converts to bytes that are lent for writing.
    ///
    /// Raises xsort.Unsuitable if they are read-only.
    pub(crate) fn writable(self) -> PyResult<WritableBytes> {
        if self.buffer.readonly() {
            let text = "the output can't be written to: it is read-only";
            return Err(Failure::of_argument(text).into());
        }
        Ok(WritableBytes(self))
    }
}

/// Bytes that are lent for writing.
pub(crate) struct WritableBytes(Exported);

impl WritableBytes {
    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Writes `bytes`, which must have the same length, with several threads.
    pub(crate) fn write(&mut self, bytes: &[u8], threads: usize) {
        assert_eq!(bytes.len(), self.len(), "one byte for each place");
        let to = Shared(self.0.begin());
        let blocks = bytes.chunks(BLOCK).enumerate();
        let written = in_threads(threads, &Cancel::new(), blocks, |(number, block)| {
            // SAFETY: the block lies within the bytes that are lent, which the object allows to be
            // written to.
            unsafe { to.at(number * BLOCK).write(block) };
        });
        written.expect("nobody cancels it");
    }

    /// Writes numbers in the machine's byte order as [`write`](WritableBytes::write) writes bytes.
    pub(crate) fn write_numbers(&mut self, numbers: &[u64], threads: usize) {
        // SAFETY: these are the bytes of the numbers, and any byte is a valid `u8`.
        let bytes = unsafe { slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) };
        self.write(bytes, threads);
    }

    /// The bytes as a mutable slice, without a copy.
    ///
    /// # Safety
    /// No other code has the object: the caller created it, and returns it later.
    pub(crate) unsafe fn exclusive(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes from `begin` are lent until `drop` releases the buffer. The object
        // allows writes, and the caller promises that no other code has it.
        unsafe { slice::from_raw_parts_mut(self.0.begin().as_ptr(), self.len()) }
    }

    /// The bytes as a mutable slice of numbers, without a copy.
    ///
    /// # Safety
    /// As for [`exclusive`](WritableBytes::exclusive).
    ///
    /// # Panics
    /// If they aren't aligned, or their length isn't a multiple of a number's.
    pub(crate) unsafe fn exclusive_numbers(&mut self) -> &mut [u64] {
        let begin = self.0.begin().cast::<u64>();
        assert!(begin.is_aligned() && self.len().is_multiple_of(WORD), "an array of numbers");
        // SAFETY: as in `exclusive`. Any bytes are valid numbers, and these are aligned and
        // complete.
        unsafe { slice::from_raw_parts_mut(begin.as_ptr(), self.len() / WORD) }
    }
}

/// An empty vector with room for `count` values. A failed allocation is an error, and doesn't end
/// the process.
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>, Failure> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| {
        let bytes = count.saturating_mul(size_of::<T>());
        let text = format!("there is no memory for a copy of the array ({bytes} bytes)");
        PyMemoryError::new_err(text)
    })?;
    Ok(room)
}

/// Calls `work` for each block, on several threads.
///
/// # Errors
/// [`Error::Cancelled`] if `cancel` was set before all blocks were done.
fn in_threads<B: Send>(
    threads: usize,
    cancel: &Cancel,
    blocks: impl ExactSizeIterator<Item = B> + Send,
    work: impl Fn(B) + Sync,
) -> Result<(), Error> {
    let others = threads.min(blocks.len()).saturating_sub(1);
    let blocks = Mutex::new(blocks);
    let next = || blocks.lock().next();
    let some = || {
        while !cancel.is_cancelled()
            && let Some(block) = next()
        {
            work(block);
        }
    };
    thread::scope(|scope| {
        // If no thread can be started, this one does all the work.
        let start = |_| thread::Builder::new().spawn_scoped(scope, some).is_ok();
        (0..others).all(start);
        some();
    });
    if next().is_some() { Err(Error::Cancelled) } else { Ok(()) }
}

/// The address of bytes that other threads may read and write meanwhile.
#[derive(Clone, Copy)]
struct Shared(NonNull<u8>);

// SAFETY: it is only an address, and all accesses to its bytes are atomic.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// The address `offset` bytes further on.
    ///
    /// # Safety
    /// The address is within the bytes that are lent.
    unsafe fn at(self, offset: usize) -> Shared {
        // SAFETY: the caller promises that it is within them.
        Shared(unsafe { self.0.add(offset) })
    }

    /// For `length` bytes from here: the bytes before the first aligned word, and the bytes of all
    /// aligned words.
    fn parts(self, length: usize) -> (usize, usize) {
        let head = self.0.as_ptr().addr().wrapping_neg() % WORD;
        if head >= length { (length, 0) } else { (head, (length - head) / WORD * WORD) }
    }

    /// The byte at an offset.
    ///
    /// # Safety
    /// As for [`at`](Shared::at). The byte is lent for writing, or is only loaded.
    unsafe fn byte(&self, offset: usize) -> &AtomicU8 {
        // SAFETY: the caller promises that the byte is lent. Any address is aligned for a byte.
        // Relaxed loads of up to a word don't write, so the memory may be read-only.
        unsafe { AtomicU8::from_ptr(self.0.as_ptr().add(offset)) }
    }

    /// The word at an offset.
    ///
    /// # Safety
    /// As for [`byte`](Shared::byte), for all bytes of the word. The word is aligned.
    unsafe fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: as in `byte`; the caller promises that the word is aligned.
        unsafe { AtomicU64::from_ptr(self.0.as_ptr().add(offset).cast()) }
    }

    /// Copies the bytes from here to `to`.
    ///
    /// # Safety
    /// `to.len()` bytes are lent from here.
    unsafe fn read(self, to: &mut [MaybeUninit<u8>]) {
        let (head, words) = self.parts(to.len());
        let (first, rest) = to.split_at_mut(head);
        let (middle, last) = rest.split_at_mut(words);
        for (at, place) in first.iter_mut().enumerate() {
            // SAFETY: within `to.len()`, as are all below.
            place.write(unsafe { self.byte(at) }.load(Relaxed));
        }
        for (number, place) in middle.chunks_exact_mut(WORD).enumerate() {
            // SAFETY: `parts` returned complete, aligned words there.
            let word = unsafe { self.word(head + number * WORD) }.load(Relaxed);
            for (place, byte) in place.iter_mut().zip(word.to_ne_bytes()) {
                place.write(byte);
            }
        }
        for (at, place) in last.iter_mut().enumerate() {
            // SAFETY: as above.
            place.write(unsafe { self.byte(head + words + at) }.load(Relaxed));
        }
    }

    /// Copies `from` to here.
    ///
    /// # Safety
    /// `from.len()` bytes are lent for writing from here.
    unsafe fn write(self, from: &[u8]) {
        let (head, words) = self.parts(from.len());
        let (first, rest) = from.split_at(head);
        let (middle, last) = rest.split_at(words);
        for (at, &byte) in first.iter().enumerate() {
            // SAFETY: within `from.len()`, as are all below.
            unsafe { self.byte(at) }.store(byte, Relaxed);
        }
        for (number, word) in middle.chunks_exact(WORD).enumerate() {
            let word = u64::from_ne_bytes(word.try_into().expect("a word"));
            // SAFETY: `parts` returned complete, aligned words there.
            unsafe { self.word(head + number * WORD) }.store(word, Relaxed);
        }
        for (at, &byte) in last.iter().enumerate() {
            // SAFETY: as above.
            unsafe { self.byte(head + words + at) }.store(byte, Relaxed);
        }
    }
}
