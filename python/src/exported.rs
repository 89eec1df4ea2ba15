//! The bytes that a Python object lends by the buffer protocol, for other threads: as long as they
//! are lent, the object neither moves nor resizes them.
//!
//! Another thread may write to them at any time: Python's code, or NumPy without the interpreter's
//! lock. So they are never borrowed as a slice, whose bytes must not change. They are copied by
//! atomic words, and what is worked on is the copy.
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
/// Bytes that one thread copies before it looks whether it should stop. Fewer aren't worth a
/// thread.
const BLOCK: usize = 1 << 20;

/// Bytes that are lent.
pub(crate) struct Exported {
    buffer: PyUntypedBuffer,
    /// Whether no code can write to them: they are those of `bytes`.
    is_constant: bool,
}

impl Exported {
    /// Of an object in one piece; `what` it is, for the error.
    pub(crate) fn new(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Exported> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            let text = format!("{what} has gaps: numpy.ascontiguousarray makes one without");
            return Err(Failure::of_argument(text).into());
        }
        Ok(Exported { buffer, is_constant: object.is_exact_instance_of::<PyBytes>() })
    }

    /// How its elements are laid out.
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

    /// Whether some byte of the other one is one of these.
    pub(crate) fn overlaps(&self, other: &Exported) -> bool {
        let (a, b) = (self.addresses(), other.addresses());
        a.start < b.end && b.start < a.end
    }

    /// Whether the other one has the same bytes.
    pub(crate) fn is_same(&self, other: &Exported) -> bool {
        self.addresses() == other.addresses()
    }

    /// The bytes themselves, if no code can write to them.
    pub(crate) fn constant(&self) -> Option<&[u8]> {
        // SAFETY: so many bytes from there on are lent until the buffer is released, by `drop`,
        // and those of a `bytes` object never change.
        self.is_constant
            .then(|| unsafe { slice::from_raw_parts(self.begin().as_ptr(), self.len()) })
    }

    /// A copy of all bytes, made by several threads.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the flag was set; MemoryError if there is no memory for it.
    pub(crate) fn copied(&self, threads: usize, cancel: &Cancel) -> Result<Vec<u8>, Failure> {
        let mut copy = room(self.len())?;
        let from = Shared(self.begin());
        let blocks = copy.spare_capacity_mut()[..self.len()].chunks_mut(BLOCK).enumerate();
        in_threads(threads, cancel, blocks, |(number, block)| {
            // SAFETY: the block's place is within the bytes that are lent.
            unsafe { from.at(number * BLOCK).read(block) };
        })?;
        // SAFETY: all blocks were written, or it had returned.
        unsafe { copy.set_len(self.len()) };
        Ok(copy)
    }

    /// Fills `place`, which is as long, with a copy of all bytes.
    pub(crate) fn copy_to(&self, place: &mut [u8]) {
        assert_eq!(place.len(), self.len(), "one place for each byte");
        // SAFETY: bytes that are initialised stay so: `read` writes nothing else. Its source has
        // as many.
        unsafe {
            let place = slice::from_raw_parts_mut(place.as_mut_ptr().cast(), place.len());
            Shared(self.begin()).read(place);
        }
    }

    /// The same for writing.
    ///
    /// Raises xsort.Unsuitable if they are for reading only.
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

    /// Writes `bytes`, which are as many, by several threads.
    pub(crate) fn write(&mut self, bytes: &[u8], threads: usize) {
        assert_eq!(bytes.len(), self.len(), "one byte for each place");
        let to = Shared(self.0.begin());
        let blocks = bytes.chunks(BLOCK).enumerate();
        let written = in_threads(threads, &Cancel::new(), blocks, |(number, block)| {
            // SAFETY: the block's place is within the bytes that are lent, which the object says
            // may be written to.
            unsafe { to.at(number * BLOCK).write(block) };
        });
        written.expect("nobody cancels it");
    }

    /// As [`write`](WritableBytes::write), of numbers in the machine's byte order.
    pub(crate) fn write_numbers(&mut self, numbers: &[u64], threads: usize) {
        // SAFETY: these are the bytes of these numbers, and any byte is one.
        let bytes = unsafe { slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) };
        self.write(bytes, threads);
    }

    /// The bytes themselves.
    ///
    /// # Safety
    /// No other code has the object: this call has made it, and returns it later.
    pub(crate) unsafe fn exclusive(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes from there on are lent until the buffer is released, by `drop`;
        // the object says that they may be written to, and the caller that nobody else has it.
        unsafe { slice::from_raw_parts_mut(self.0.begin().as_ptr(), self.len()) }
    }

    /// The bytes themselves as numbers.
    ///
    /// # Safety
    /// As for [`exclusive`](WritableBytes::exclusive).
    ///
    /// # Panics
    /// If they aren't aligned, or no whole numbers.
    pub(crate) unsafe fn exclusive_numbers(&mut self) -> &mut [u64] {
        let begin = self.0.begin().cast::<u64>();
        assert!(begin.is_aligned() && self.len().is_multiple_of(WORD), "an array of numbers");
        // SAFETY: as in `exclusive`; any bytes are numbers, and these are aligned and whole.
        unsafe { slice::from_raw_parts_mut(begin.as_ptr(), self.len() / WORD) }
    }
}

/// Memory for so many values. A failed allocation is an error, and doesn't end the process.
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>, Failure> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| {
        let bytes = count.saturating_mul(size_of::<T>());
        let text = format!("there is no memory for a copy of the array ({bytes} bytes)");
        PyMemoryError::new_err(text)
    })?;
    Ok(room)
}

/// Does `work` for each block, by several threads.
///
/// # Errors
/// [`Error::Cancelled`] if blocks are left since the flag was set.
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
        // Without threads this one does it all.
        let start = |_| thread::Builder::new().spawn_scoped(scope, some).is_ok();
        (0..others).all(start);
        some();
    });
    if next().is_some() { Err(Error::Cancelled) } else { Ok(()) }
}

/// Where bytes begin that other threads may read and write meanwhile.
#[derive(Clone, Copy)]
struct Shared(NonNull<u8>);

// SAFETY: it is only an address. What is done there is atomic.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// The place so many bytes behind it.
    ///
    /// # Safety
    /// It is within the bytes that are lent.
    unsafe fn at(self, offset: usize) -> Shared {
        // SAFETY: the caller says that it is within them.
        Shared(unsafe { self.0.add(offset) })
    }

    /// Bytes up to the first whole word, and bytes of whole words, of so many.
    fn parts(self, length: usize) -> (usize, usize) {
        let head = self.0.as_ptr().addr().wrapping_neg() % WORD;
        if head >= length { (length, 0) } else { (head, (length - head) / WORD * WORD) }
    }

    /// The byte at an offset.
    ///
    /// # Safety
    /// As for [`at`](Shared::at); it is lent for writing, or only loaded.
    unsafe fn byte(&self, offset: usize) -> &AtomicU8 {
        // SAFETY: the caller says that the place is lent. Any address is aligned for a byte.
        // Relaxed loads of up to a word don't write, so they may be of read-only memory.
        unsafe { AtomicU8::from_ptr(self.0.as_ptr().add(offset)) }
    }

    /// The word at an offset.
    ///
    /// # Safety
    /// As for [`byte`](Shared::byte), for all bytes of the word, and it is aligned.
    unsafe fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: as in `byte`; the caller says that it is aligned.
        unsafe { AtomicU64::from_ptr(self.0.as_ptr().add(offset).cast()) }
    }

    /// Copies the bytes here to `to`.
    ///
    /// # Safety
    /// There are as many.
    unsafe fn read(self, to: &mut [MaybeUninit<u8>]) {
        let (head, words) = self.parts(to.len());
        let (first, rest) = to.split_at_mut(head);
        let (middle, last) = rest.split_at_mut(words);
        for (at, place) in first.iter_mut().enumerate() {
            // SAFETY: within `to.len()`, as all below.
            place.write(unsafe { self.byte(at) }.load(Relaxed));
        }
        for (number, place) in middle.chunks_exact_mut(WORD).enumerate() {
            // SAFETY: `parts` has put whole, aligned words there.
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
    /// There is room for as many bytes, which may be written to.
    unsafe fn write(self, from: &[u8]) {
        let (head, words) = self.parts(from.len());
        let (first, rest) = from.split_at(head);
        let (middle, last) = rest.split_at(words);
        for (at, &byte) in first.iter().enumerate() {
            // SAFETY: within `from.len()`, as all below.
            unsafe { self.byte(at) }.store(byte, Relaxed);
        }
        for (number, word) in middle.chunks_exact(WORD).enumerate() {
            let word = u64::from_ne_bytes(word.try_into().expect("a word"));
            // SAFETY: `parts` has put whole, aligned words there.
            unsafe { self.word(head + number * WORD) }.store(word, Relaxed);
        }
        for (at, &byte) in last.iter().enumerate() {
            // SAFETY: as above.
            unsafe { self.byte(head + words + at) }.store(byte, Relaxed);
        }
    }
}
