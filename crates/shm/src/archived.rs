//! Values of Rust types: archives of `rkyv`, read in place.
//!
//! Each thread checks the bytes once for each version that it pins. After that, reading a value is
//! as fast as reading bytes.
#![allow(unsafe_code, reason = "takes an archive from bytes that were checked to be one")]

use crate::error::{Error, Result};
use crate::local::{LocalReader, View};
use crate::reader::{Reader, Version};
use crate::writer::Writer;
use rkyv::api::high::{HighSerializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::util::AlignedVec;
use rkyv::{Archive, Portable, Serialize};
use std::any::{TypeId, type_name};
use std::hash::Hasher;
use std::marker::PhantomData;
use std::ops::Deref;

/// Types that can be written. All types that derive `rkyv::Archive` and `rkyv::Serialize` implement
/// it.
pub trait Archivable:
    for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, rancor::Error>>
{
}

impl<T> Archivable for T where
    T: for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, rancor::Error>> + ?Sized
{
}

/// Types that can be read with a check. All types that derive `rkyv::Archive` with `rkyv`'s feature
/// `bytecheck`, which is on by default, implement it.
pub trait Checkable:
    Archive<Archived: 'static + Portable + for<'a> CheckBytes<HighValidator<'a, rancor::Error>>>
{
}

impl<T> Checkable for T where
    T: Archive<Archived: 'static + Portable + for<'a> CheckBytes<HighValidator<'a, rancor::Error>>>
{
}

impl<H: Hasher + Default> Writer<H> {
    /// Publishes a value as the next version, and returns its number. The memory of the archive is
    /// kept for the next value.
    ///
    /// # Errors
    /// [`Error::NotArchived`] if `rkyv` can't archive the value, and the errors of
    /// [`Writer::write_with`].
    pub fn write_archived<T: Archivable>(&mut self, value: &T) -> Result<u64> {
        self.archive(value)?;
        let scratch = std::mem::take(&mut self.scratch);
        let written = self.write(&scratch);
        self.scratch = scratch;
        written
    }

    /// Archives a value in `scratch`.
    fn archive<T: Archivable>(&mut self, value: &T) -> Result<()> {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        self.scratch =
            rkyv::api::high::to_bytes_in::<_, rancor::Error>(value, bytes).map_err(|error| {
                Error::NotArchived { type_name: type_name::<T>(), what: error.to_string() }
            })?;
        Ok(())
    }

    /// Returns the length in bytes of the last archived value.
    pub(crate) fn archived_bytes(&self) -> usize {
        self.scratch.len()
    }
}

impl<H: Hasher + Default> Reader<H> {
    /// Reads the current version as a `T`: a value written with [`Writer::write_archived`], or any
    /// bytes that are an archive of a `T`. The bytes are checked when this thread first reads the
    /// version, and only lent after that.
    ///
    /// # Errors
    /// [`Error::NotThatType`] if the check fails, and the errors of [`Reader::read`].
    #[inline]
    pub fn read_archived<T: Checkable>(&self) -> Result<Archived<'_, T>> {
        let version = self.read()?;
        if !version.is_checked(TypeId::of::<T::Archived>()) {
            check::<T>(version.sequence(), &version)?;
            version.set_checked(TypeId::of::<T::Archived>());
        }
        // SAFETY: the version was checked, just now or earlier. It is held, so its bytes have not
        // changed since.
        Ok(unsafe { Archived::new(version) })
    }

    /// Reads the current version as a `T` without checking its bytes.
    ///
    /// # Safety
    /// The bytes of the version that is current when this is called are an archive of a `T`.
    ///
    /// # Errors
    /// The errors of [`Reader::read`].
    ///
    /// # Panics
    /// If the version is shorter than any archive of a `T`.
    #[inline]
    pub unsafe fn read_archived_unchecked<T: Archive<Archived: Portable>>(
        &self,
    ) -> Result<Archived<'_, T>> {
        let version = self.read()?;
        assert!(version.len() >= size_of::<T::Archived>(), "a version shorter than its type");
        // SAFETY: guaranteed by the caller.
        Ok(unsafe { Archived::new(version) })
    }
}

impl<H: Hasher + Default> LocalReader<H> {
    /// Reads the current version as a `T`, checked once like [`Reader::read_archived`].
    ///
    /// # Errors
    /// The errors of [`Reader::read_archived`].
    #[inline]
    pub fn read_archived<T: Checkable>(&mut self) -> Result<View<'_, T::Archived>> {
        let read = self.refresh()?;
        if !self.is_checked(TypeId::of::<T::Archived>()) {
            check::<T>(self.lend(read).sequence(), &self.lend(read))?;
            self.set_checked(TypeId::of::<T::Archived>());
        }
        // SAFETY: the version was checked, just now or earlier. It is pinned, so its bytes have not
        // changed since.
        Ok(self.lend(read).map(|bytes| unsafe { rkyv::access_unchecked::<T::Archived>(bytes) }))
    }

    /// Reads the current version as a `T` without checking its bytes.
    ///
    /// # Safety
    /// The bytes of the version that is current when this is called are an archive of a `T`.
    ///
    /// # Errors
    /// The errors of [`Reader::read`].
    ///
    /// # Panics
    /// If the version is shorter than any archive of a `T`.
    #[inline]
    pub unsafe fn read_archived_unchecked<T: Archive<Archived: Portable>>(
        &mut self,
    ) -> Result<View<'_, T::Archived>> {
        let read = self.refresh()?;
        Ok(self.lend(read).map(|bytes| {
            assert!(bytes.len() >= size_of::<T::Archived>(), "a version shorter than its type");
            // SAFETY: guaranteed by the caller.
            unsafe { rkyv::access_unchecked::<T::Archived>(bytes) }
        }))
    }
}

#[cold]
fn check<T: Checkable>(sequence: u64, bytes: &[u8]) -> Result<()> {
    match rkyv::access::<T::Archived, rancor::Error>(bytes) {
        Ok(_) => Ok(()),
        Err(error) => {
            let (type_name, what) = (type_name::<T>(), error.to_string());
            Err(Error::NotThatType { sequence, type_name, what })
        }
    }
}

/// A held version as a value. It dereferences to `T::Archived`, the form in which `rkyv` stores a
/// `T`.
pub struct Archived<'a, T> {
    version: Version<'a>,
    /// The `Send` and `Sync` impls below decide whether it may move to other threads.
    value: PhantomData<*const T>,
}

// SAFETY: a Version may move to other threads; this only lends a shared reference to the archived
// value.
unsafe impl<T: Archive<Archived: Sync>> Send for Archived<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Archive<Archived: Sync>> Sync for Archived<'_, T> {}

impl<'a, T: Archive<Archived: Portable>> Archived<'a, T> {
    /// Wraps a version.
    ///
    /// # Safety
    /// The version's bytes are an archive of a `T`.
    #[inline]
    unsafe fn new(version: Version<'a>) -> Archived<'a, T> {
        Archived { version, value: PhantomData }
    }
}

impl<T> Archived<'_, T> {
    /// Returns the version's number. Numbers only grow.
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.version.sequence()
    }

    /// Returns whether this version differs from the one that this thread read last.
    #[inline]
    pub fn is_new(&self) -> bool {
        self.version.is_new()
    }

    /// Returns the bytes of the archive.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.version
    }
}

impl<T: Archive<Archived: Portable>> Deref for Archived<'_, T> {
    type Target = T::Archived;

    #[inline]
    fn deref(&self) -> &T::Archived {
        // SAFETY: the bytes are an archive of a T (`new`), and don't change while the version is
        // held.
        unsafe { rkyv::access_unchecked::<T::Archived>(&self.version) }
    }
}
