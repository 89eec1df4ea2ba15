//! One object that writes or reads, with the operations of mmap-sync's `Synchronizer`, for programs
//! that used it. MOVING.md lists the differences.
//!
//! A thin layer: a [`Writer`] and a [`LocalReader`] that are opened on first use.
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

/// The result of a [`Synchronizer`]'s read.
pub type ReadResult<'a, T> = View<'a, <T as Archive>::Archived>;

/// Writes or reads values under a path prefix. It becomes the prefix's only writer with its first
/// write.
pub struct Synchronizer<H = Xxh3> {
    prefix: PathBuf,
    options: (WriterOptions, ReaderOptions),
    writer: Option<Writer<H>>,
    reader: Option<LocalReader<H>>,
}

impl Synchronizer {
    /// Returns a synchronizer under `path_prefix` with the default checksum. Doesn't open or create
    /// files.
    pub fn new(path_prefix: &OsStr) -> Synchronizer {
        Synchronizer::with_params(path_prefix)
    }
}

impl<H: Hasher + Default> Synchronizer<H> {
    /// Returns a synchronizer under `path_prefix` with the checksum `H`. Doesn't open or create
    /// files.
    pub fn with_params(path_prefix: &OsStr) -> Synchronizer<H> {
        Synchronizer::with_options(path_prefix, Default::default(), Default::default())
    }

    /// Returns a synchronizer with these options for writing and for reading. Doesn't open or
    /// create files.
    pub fn with_options(
        path_prefix: &OsStr,
        writer: WriterOptions,
        reader: ReaderOptions,
    ) -> Synchronizer<H> {
        let (prefix, options) = (path_prefix.into(), (writer, reader));
        Synchronizer { prefix, options, writer: None, reader: None }
    }

    /// Publishes `entity` as the next version and returns its number of bytes. Never waits for
    /// readers, so there is no grace period.
    ///
    /// # Errors
    /// [`Error::Busy`] while another writer lives, and the errors of [`Writer::with_options`] and
    /// [`Writer::write_archived`].
    pub fn write<T: Archivable>(&mut self, entity: &T) -> Result<usize> {
        let writer = self.writer()?;
        writer.write_archived(entity)?;
        Ok(writer.archived_bytes())
    }

    /// Publishes `data`, an archive of a `T`, as the next version and returns its number of bytes.
    /// Only readers check whether it is one.
    ///
    /// # Errors
    /// [`Error::Busy`] while another writer lives, and the errors of [`Writer::with_options`] and
    /// [`Writer::write_with`].
    pub fn write_raw<T: Archive>(&mut self, data: &[u8]) -> Result<usize> {
        self.writer()?.write(data)?;
        Ok(data.len())
    }

    /// Returns the current version, checked when it is first read.
    ///
    /// # Errors
    /// The errors of [`LocalReader::with_options`] and [`LocalReader::read_archived`].
    #[inline]
    pub fn read<T: Checkable>(&mut self) -> Result<ReadResult<'_, T>> {
        self.reader()?.read_archived::<T>()
    }

    /// Returns the current version, not checked.
    ///
    /// # Safety
    /// The bytes of the version that is current when this is called are an archive of a `T`.
    ///
    /// # Errors
    /// The errors of [`LocalReader::with_options`] and [`LocalReader::read`].
    #[inline]
    pub unsafe fn read_unchecked<T: Archive<Archived: Portable>>(
        &mut self,
    ) -> Result<ReadResult<'_, T>> {
        let reader = self.reader()?;
        // SAFETY: guaranteed by the caller.
        unsafe { reader.read_archived_unchecked::<T>() }
    }

    /// Returns the bytes of the current version, whatever they are an archive of.
    ///
    /// # Errors
    /// The errors of [`LocalReader::with_options`] and [`LocalReader::read`].
    #[inline]
    pub fn read_raw(&mut self) -> Result<View<'_>> {
        self.reader()?.read()
    }

    /// Returns the number of the current version. Numbers only grow.
    ///
    /// # Errors
    /// The errors of [`LocalReader::with_options`], and [`Error::NotReady`] before the first
    /// version.
    pub fn version(&mut self) -> Result<u64> {
        let version = self.reader()?.version();
        version.ok_or_else(|| Error::NotReady { path: self.prefix.clone() })
    }

    /// Returns whether the files were removed or replaced since this synchronizer first read. Then
    /// its reads see no new version until it [reopens](Synchronizer::reopen).
    ///
    /// # Errors
    /// The errors of [`LocalReader::with_options`] and [`LocalReader::is_orphaned`].
    pub fn is_orphaned(&mut self) -> Result<bool> {
        self.reader()?.is_orphaned()
    }

    /// Switches to the files that have the prefix's names now. If that fails, it continues to read
    /// from the old files.
    ///
    /// # Errors
    /// The errors of [`LocalReader::with_options`].
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
