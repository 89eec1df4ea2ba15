//! System calls: mappings and locks that end with their owner. What differs between systems is
//! beside it: `linux` has futexes and memory that the kernel clears on fork, and `portable` does
//! without. Built with `--cfg portable`, Linux gets the latter, so that tests run on it.
//!
//! A [`Mapping`] gives out references to atomics within its bounds, which it checks, and raw
//! pointers to bytes; `writer` and `reader` know who may read these, and when. Nothing here depends
//! on the protocol.
#![allow(unsafe_code, reason = "the crate's system calls")]

#[cfg(all(target_os = "linux", not(portable)))]
mod linux;
#[cfg(not(all(target_os = "linux", not(portable))))]
mod portable;

#[cfg(all(target_os = "linux", not(portable)))]
use linux as system;
#[cfg(not(all(target_os = "linux", not(portable))))]
use portable as system;

pub(crate) use system::{ForkMark, random, sleep_on, wake_all};

use crate::layout::Plain;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;
use std::mem::{align_of, size_of};
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// How a mapping may be accessed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protection {
    Read,
    Write,
}

/// A file's bytes in this process's memory, shared with all processes that map it. Unmapped on
/// drop.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    length: usize,
    protection: Protection,
}

// SAFETY: a Mapping is an address range of the process, not tied to a thread; `&Mapping` only gives
// access to atomics and raw pointers.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// Files up to this length in bytes are mapped with all of their pages: as many as one page fault
/// provides.
const POPULATED_BYTES: usize = 64 << 10;

impl Mapping {
    /// Maps the first `length` bytes of `file`, which must be that long: an access beyond a file's
    /// end is a SIGBUS.
    ///
    /// Page tables of memory to be written, and of small files, are filled at once, so that the
    /// first access to a page is no fault. A reader of a large file gets pages on first access: it
    /// may need only a few, and in a sparse file on a tmpfs each page takes space.
    pub(crate) fn new(file: &File, length: usize, protection: Protection) -> io::Result<Mapping> {
        let length = NonZeroUsize::new(length).ok_or(io::ErrorKind::UnexpectedEof)?.get();
        let page_protection = match protection {
            Protection::Read => ProtFlags::READ,
            Protection::Write => ProtFlags::READ | ProtFlags::WRITE,
        };
        let flags = match protection {
            Protection::Read if length > POPULATED_BYTES => MapFlags::SHARED,
            _ => MapFlags::SHARED | system::POPULATE,
        };
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe { mmap(std::ptr::null_mut(), length, page_protection, flags, file, 0)? };
        let base = NonNull::new(base.cast()).expect("the kernel never maps address 0 unasked");
        Ok(Mapping { base, length, protection })
    }

    /// Removes the mapping from children of forks: they have other memory, or none, at its address.
    ///
    /// # Safety
    /// Children neither use nor drop the mapping.
    pub(crate) unsafe fn keep_from_children(&self) -> io::Result<()> {
        // SAFETY: the range is this mapping; children don't use it (guaranteed by the caller).
        unsafe { system::keep_from_children(self.base.as_ptr(), self.length) }
    }

    /// Returns the number of mapped bytes.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Returns the atomics at `offset`.
    ///
    /// # Panics
    /// If they are not within the mapping, or not aligned.
    #[inline]
    pub(crate) fn at<T: Plain>(&self, offset: usize) -> &T {
        assert!(offset.is_multiple_of(align_of::<T>()));
        assert!(offset <= self.length && size_of::<T>() <= self.length - offset);
        // SAFETY: within the mapping and aligned (checked above; a mapping begins at a page),
        // mapped as long as `self` lives, and any bytes are a T that other processes may change
        // (Plain). Stores through a read-only mapping are a bug that ends in a signal, not in a
        // wrong value.
        unsafe { self.base.add(offset).cast::<T>().as_ref() }
    }

    /// Returns the `count` words at `offset`.
    ///
    /// # Panics
    /// If they are not within the mapping, or not aligned.
    pub(crate) fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        assert!(offset.is_multiple_of(align_of::<AtomicU64>()) && offset <= self.length);
        assert!(count <= (self.length - offset) / size_of::<AtomicU64>());
        // SAFETY: as in `at`.
        unsafe { std::slice::from_raw_parts(self.base.add(offset).cast().as_ptr(), count) }
    }

    /// Returns a pointer to the `length` bytes at `offset`.
    ///
    /// # Panics
    /// If they are not within the mapping.
    #[inline]
    pub(crate) fn bytes(&self, offset: usize, length: usize) -> NonNull<[u8]> {
        assert!(offset <= self.length && length <= self.length - offset);
        // SAFETY: within the mapping (checked above).
        NonNull::slice_from_raw_parts(unsafe { self.base.add(offset) }, length)
    }

    /// Returns the `length` bytes at `offset`, to be written.
    ///
    /// # Safety
    /// Until the slice is dropped, this process doesn't read or write these bytes in any other way.
    /// (Other processes may read them: they know that bytes may change which they have not pinned.)
    ///
    /// # Panics
    /// If they are not within the mapping, or it was not created for writing.
    #[allow(clippy::mut_from_ref, reason = "the caller promises that it is the only one")]
    pub(crate) unsafe fn bytes_mut(&self, offset: usize, length: usize) -> &mut [u8] {
        assert!(self.protection == Protection::Write);
        // SAFETY: within the mapping, which allows writing (checked), and exclusive (guaranteed by
        // the caller).
        unsafe { self.bytes(offset, length).as_mut() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `new` created; every reference into it borrows from
        // `self` or is kept by a holder of it.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.length) };
        debug_assert!(unmapped.is_ok());
    }
}

/// Extends `file` to at least `length` bytes and reserves space for all of them, holes included.
/// Then a later store can't fail for lack of space, which would be a signal.
pub(crate) fn reserve(file: &File, length: usize) -> io::Result<()> {
    if system::allocate(file, length)? {
        return Ok(());
    }
    // The system can't reserve: write the missing zeros.
    let zeros = [0; 1 << 14];
    let mut at = file.metadata()?.len();
    while at < length as u64 {
        let count = zeros.len().min((length as u64 - at) as usize);
        file.write_all_at(&zeros[..count], at)?;
        at += count as u64;
    }
    Ok(())
}

/// The kind of a lock on a byte. The locks belong to the open file description (fcntl(2), "open
/// file description locks"): the kernel drops them when its last descriptor is closed, however the
/// process ends. They don't depend on threads, on closing other descriptors of the file, or on
/// process IDs.
#[derive(Clone, Copy)]
pub(crate) enum Lock {
    /// Needs a descriptor for reading; also works on a directory.
    Shared = libc::F_RDLCK as isize,
    /// Needs a descriptor for writing.
    Exclusive = libc::F_WRLCK as isize,
}

/// The kind of no lock.
#[allow(clippy::unnecessary_cast, reason = "the type differs between systems")]
const UNLOCKED: i32 = libc::F_UNLCK as i32;

/// Takes the lock on one byte if it is free. Returns whether it did; never waits.
pub(crate) fn lock(file: &File, byte: u64, lock: Lock) -> io::Result<bool> {
    match lock_command(file, libc::F_OFD_SETLK, lock as i32, byte) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Releases the lock on one byte.
pub(crate) fn unlock(file: &File, byte: u64) -> io::Result<()> {
    lock_command(file, libc::F_OFD_SETLK, UNLOCKED, byte).map(drop)
}

/// Returns whether another open file description has a lock on the byte.
pub(crate) fn is_locked(file: &File, byte: u64) -> io::Result<bool> {
    Ok(lock_command(file, libc::F_OFD_GETLK, Lock::Exclusive as i32, byte)? != UNLOCKED)
}

fn lock_command(file: &File, command: i32, kind: i32, byte: u64) -> io::Result<i32> {
    let start = i64::try_from(byte).map_err(|_| io::ErrorKind::InvalidInput)?;
    loop {
        let mut lock = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: start,
            l_len: 1,
            l_pid: 0,
        };
        // SAFETY: the descriptor is open as long as `file` lives, and the lock structure outlives
        // the call.
        if unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) } != -1 {
            return Ok(i32::from(lock.l_type));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
