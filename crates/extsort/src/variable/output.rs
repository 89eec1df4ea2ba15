//! Where sorted lines go.

use super::file_output::FileOutput;
use crate::Error;
use std::io::Write;
use std::path::Path;
use xsort_disk::{Disk, FileId};

/// Where what a sort writes goes.
pub enum SortedOutput<'o> {
    /// A new file, which appears whole or not at all, as [`Disk::create_output`] and
    /// [`Disk::publish`] have it. It may be one of the inputs.
    File {
        /// Where it will be.
        path: &'o Path,
        /// Whether to wait until it is safe against a power cut.
        sync: bool,
    },
    /// Anything that can be written to.
    Stream(&'o mut (dyn Write + Send)),
}

impl SortedOutput<'_> {
    /// The same output for a shorter time.
    pub(crate) fn reborrow(&mut self) -> SortedOutput<'_> {
        match self {
            &mut SortedOutput::File { path, sync } => SortedOutput::File { path, sync },
            SortedOutput::Stream(to) => SortedOutput::Stream(*to),
        }
    }

    /// Opens it for whoever changes what the sort writes, has `work` write about `expected_bytes`
    /// bytes, and puts a file in place if that succeeds.
    ///
    /// # Errors
    /// That of `work`, in which a file that can't be written is named; or if the disk can't create
    /// it or put it in place.
    pub fn write<R>(
        self,
        expected_bytes: u64,
        disk: &dyn Disk,
        work: impl FnOnce(&mut (dyn Write + Send)) -> Result<R, Error>,
    ) -> Result<R, Error> {
        match self {
            SortedOutput::Stream(to) => work(to),
            SortedOutput::File { path, sync } => {
                let mut file = FileOutput::create(disk, path, expected_bytes)?;
                let done = work(&mut file).map_err(|error| error.of_output(path))?;
                file.publish(sync).map_err(|error| error.of_output(path))?;
                Ok(done)
            }
        }
    }
}

/// Where the engine writes.
pub(super) enum LinesOutput<'a> {
    /// Somebody else's writer.
    Stream(&'a mut (dyn Write + Send)),
    /// An output of the disk that has no name, or a hidden one, until it is published. It is
    /// written past the page cache.
    Unpublished(FileId),
}

impl LinesOutput<'_> {
    /// Whether it can be written only past the page cache.
    pub(super) fn needs_bypass(&self) -> bool {
        matches!(self, LinesOutput::Unpublished(_))
    }
}
