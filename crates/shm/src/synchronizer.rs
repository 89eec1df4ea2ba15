//! One object that writes or reads, with the operations of mmap-sync's `Synchronizer`, for programs
//! that come from there. MOVING.md says what changes.
//!
//! A thin layer: a [`Writer`] and a [`LocalReader`] that are opened when they are first needed.
#![allow(unsafe_code, reason = "passes on the caller's promise about unchecked archives")]

use crate::archived::{Archivable, Checkable};
use crate::checksum::Xxh3;
use crate::error::{Error, Result};
use crate::local::{LocalReader, View};
use crate::options::{ReaderOptions, WriterOptions};
use crate::writer::Writer;
use rkyv::{Archive, Portable};
use std::ffi::OsStr;
use std::hash::Hasher;
use std::path::PathBuf;

/// What a [`Synchronizer`]'s read returns.
pub type ReadResult<'a, T> = View<'a, <T as Archive>::Archived>;

/// Writes or reads values under a path prefix. It is the writer from its first write on, and there
/// is only one.
pub struct Synchronizer<H = Xxh3> {
    prefix: PathBuf,
    options: (WriterOptions, ReaderOptions),
    writer: Option<Writer<H>>,
    reader: Option<LocalReader<H>>,
}

impl Synchronizer {
    /// A synchronizer under `path_prefix` with the default checksum. Opens and creates nothing yet.
    pub fn new(path_prefix: &OsStr) -> Synchronizer {
        Synchronizer::with_params(path_prefix)
    }
}

impl<H: Hasher + Default> Synchronizer<H> {
    /// A synchronizer under `path_prefix` with the checksum `H`. Opens and creates nothing yet.
    pub fn with_params(path_prefix: &OsStr) -> Synchronizer<H> {
        Synchronizer::with_options(path_prefix, Default::default(), Default::default())
    }

    /// The same with other than the default options, for when it writes and for when it reads.
    pub fn with_options(
        path_prefix: &OsStr,
        writer: WriterOptions,
        reader: ReaderOptions,
    ) -> Synchronizer<H> {
        let (prefix, options) = (path_prefix.into(), (writer, reader));
        Synchronizer { prefix, options, writer: None, reader: None }
    }

    /// Publishes `entity` as the next version and returns the number of its bytes. Never waits for
    /// readers, so there is no grace period.
    ///
    /// # Errors
    /// [`Error::Busy`] while another writer lives, and those of [`Writer::with_options`] and
    /// [`Writer::write_archived`].
    pub fn write<T: Archivable>(&mut self, entity: &T) -> Result<usize> {
        let writer = self.writer()?;
        writer.write_archived(entity)?;
        Ok(writer.archived_bytes())
    }

    /// Publishes `data`, an archive of a `T`, as the next version and returns the number of its
    /// bytes. Whether it is one is looked at by who reads it.
    ///
    /// # Errors
    /// [`Error::Busy`] while another writer lives, and those of [`Writer::with_options`] and
    /// [`Writer::write_with`].
    pub fn write_raw<T: Archive>(&mut self, data: &[u8]) -> Result<usize> {
        self.writer()?.write(data)?;
        Ok(data.len())
    }

    /// The current version, checked when it is first read.
    ///
    /// # Errors
    /// Those of [`LocalReader::with_options`] and [`LocalReader::read_archived`].
    #[inline]
    pub fn read<T: Checkable>(&mut self) -> Result<ReadResult<'_, T>> {
        self.reader()?.read_archived::<T>()
    }

    /// The current version, not checked.
    ///
    /// # Safety
    /// As [`LocalReader::read_archived_unchecked`].
    ///
    /// # Errors
    /// Those of [`LocalReader::with_options`] and [`LocalReader::read`].
    #[inline]
    pub unsafe fn read_unchecked<T: Archive<Archived: Portable>>(
        &mut self,
    ) -> Result<ReadResult<'_, T>> {
        let reader = self.reader()?;
        // SAFETY: the caller's promise.
        unsafe { reader.read_archived_unchecked::<T>() }
    }

    /// The bytes of the current version, whatever they are an archive of.
    ///
    /// # Errors
    /// Those of [`LocalReader::with_options`] and [`LocalReader::read`].
    #[inline]
    pub fn read_raw(&mut self) -> Result<View<'_>> {
        self.reader()?.read()
    }

    /// The number of the current version. Numbers only grow.
    ///
    /// # Errors
    /// Those of [`LocalReader::with_options`], and [`Error::NotReady`] before the first version.
    pub fn version(&mut self) -> Result<u64> {
        let version = self.reader()?.version();
        version.ok_or_else(|| Error::NotReady { path: self.prefix.clone() })
    }

    /// Whether the files were removed or made anew since this synchronizer first read: its reads
    /// see no new version then, until it [reopens](Synchronizer::reopen).
    ///
    /// # Errors
    /// Those of [`LocalReader::with_options`] and [`LocalReader::is_orphaned`].
    pub fn is_orphaned(&mut self) -> Result<bool> {
        self.reader()?.is_orphaned()
    }

    /// Reads from the files that have the prefix's names now. If that fails, reads go on where they
    /// were.
    ///
    /// # Errors
    /// Those of [`LocalReader::with_options`].
    pub fn reopen(&mut self) -> Result<()> {
        self.attach()
    }

    fn writer(&mut self) -> Result<&mut Writer<H>> {
        if self.writer.is_none() {
            self.writer = Some(Writer::with_options(&self.prefix, self.options.0.clone())?);
        }
        Ok(self.writer.as_mut().expect("just opened"))
    }

    #[inline]
    fn reader(&mut self) -> Result<&mut LocalReader<H>> {
        if self.reader.is_none() {
            self.attach()?;
        }
        Ok(self.reader.as_mut().expect("just opened"))
    }

    #[cold]
    fn attach(&mut self) -> Result<()> {
        self.reader = Some(LocalReader::with_options(&self.prefix, self.options.1.clone())?);
        Ok(())
    }
}
