//! Values of Rust types: archives of `rkyv`, read where they lie.
//!
//! The bytes are checked once for each version that a thread pins; after that, reading a value is
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

/// Types that can be written: those that derive `rkyv::Archive` and `rkyv::Serialize`.
pub trait Archivable:
    for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, rancor::Error>>
{
}

impl<T> Archivable for T where
    T: for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, rancor::Error>> + ?Sized
{
}

/// Types that can be read with a check: those that derive `rkyv::Archive`, with `rkyv`'s feature
/// `bytecheck`, which is on by default.
pub trait Checkable:
    Archive<Archived: 'static + Portable + for<'a> CheckBytes<HighValidator<'a, rancor::Error>>>
{
}

impl<T> Checkable for T where
    T: Archive<Archived: 'static + Portable + for<'a> CheckBytes<HighValidator<'a, rancor::Error>>>
{
}

impl<H: Hasher + Default> Writer<H> {
    /// Publishes a value as the next version, and returns its number. The memory that it is
    /// archived in is kept for the next one.
    ///
    /// # Errors
    /// [`Error::NotArchived`] if `rkyv` can't, and those of [`Writer::write_with`].
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

    /// Bytes of the value that was archived last.
    pub(crate) fn archived_bytes(&self) -> usize {
        self.scratch.len()
    }
}

impl<H: Hasher + Default> Reader<H> {
    /// The current version as a value that was written with [`Writer::write_archived`], or any
    /// bytes that are an archive of a `T`. Checked when this thread first reads the version, and
    /// then only lent.
    ///
    /// # Errors
    /// [`Error::NotThatType`] if the check fails, and those of [`Reader::read`].
    #[inline]
    pub fn read_archived<T: Checkable>(&self) -> Result<Archived<'_, T>> {
        let version = self.read()?;
        if !version.is_checked(TypeId::of::<T::Archived>()) {
            check::<T>(version.sequence(), &version)?;
            version.set_checked(TypeId::of::<T::Archived>());
        }
        // SAFETY: it was checked, just now or before, and the bytes have not changed since, for the
        // version is held.
        Ok(unsafe { Archived::new(version) })
    }

    /// The same without the check.
    ///
    /// # Safety
    /// The current version's bytes are an archive of a `T`, whatever version is current by now.
    ///
    /// # Errors
    /// Those of [`Reader::read`].
    ///
    /// # Panics
    /// If the version is shorter than any archive of a `T`.
    #[inline]
    pub unsafe fn read_archived_unchecked<T: Archive<Archived: Portable>>(
        &self,
    ) -> Result<Archived<'_, T>> {
        let version = self.read()?;
        assert!(version.len() >= size_of::<T::Archived>(), "a version shorter than its type");
        // SAFETY: the caller's promise.
        Ok(unsafe { Archived::new(version) })
    }
}

impl<H: Hasher + Default> LocalReader<H> {
    /// As [`Reader::read_archived`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn read_archived<T: Checkable>(&mut self) -> Result<View<'_, T::Archived>> {
        let read = self.refresh()?;
        if !self.is_checked(TypeId::of::<T::Archived>()) {
            check::<T>(self.lend(read).sequence(), &self.lend(read))?;
            self.set_checked(TypeId::of::<T::Archived>());
        }
        // SAFETY: it was checked, just now or before, and the bytes have not changed since, for the
        // version is pinned.
        Ok(self.lend(read).map(|bytes| unsafe { rkyv::access_unchecked::<T::Archived>(bytes) }))
    }

    /// As [`Reader::read_archived_unchecked`].
    ///
    /// # Safety
    /// As there.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[inline]
    pub unsafe fn read_archived_unchecked<T: Archive<Archived: Portable>>(
        &mut self,
    ) -> Result<View<'_, T::Archived>> {
        let read = self.refresh()?;
        Ok(self.lend(read).map(|bytes| {
            assert!(bytes.len() >= size_of::<T::Archived>(), "a version shorter than its type");
            // SAFETY: the caller's promise.
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

/// A version that is held, as a value: dereferences to `T::Archived`, the form in which
/// `rkyv` stores a `T`.
pub struct Archived<'a, T> {
    version: Version<'a>,
    /// See below for whether it may move to other threads.
    value: PhantomData<*const T>,
}

// SAFETY: a Version may move to other threads; what this lends is a shared reference to the
// archived value.
unsafe impl<T: Archive<Archived: Sync>> Send for Archived<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Archive<Archived: Sync>> Sync for Archived<'_, T> {}

impl<'a, T: Archive<Archived: Portable>> Archived<'a, T> {
    /// # Safety
    /// The version's bytes are an archive of a `T`.
    #[inline]
    unsafe fn new(version: Version<'a>) -> Archived<'a, T> {
        Archived { version, value: PhantomData }
    }
}

impl<T> Archived<'_, T> {
    /// The version's number. Numbers only grow.
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.version.sequence()
    }

    /// Whether this is another version than the one that this thread read before.
    #[inline]
    pub fn is_new(&self) -> bool {
        self.version.is_new()
    }

    /// The bytes of the archive.
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
