//! Destinations of sorted lines.

use super::file_output::FileOutput;
use crate::Error;
use std::io::Write;
use std::path::Path;
use xsort_disk::{Disk, FileId};

/// The destination of a sort's output.
pub enum SortedOutput<'o> {
    /// A new file, which appears whole or not at all, by
    /// [`create_output`](xsort_disk::OutputFiles::create_output) and
    /// [`publish`](xsort_disk::OutputFiles::publish). It may be one of the inputs.
    File {
        /// The path at which the file will appear.
        path: &'o Path,
        /// True to wait until the file is durable.
        sync: bool,
    },
    /// Any writer.
    Stream(&'o mut (dyn Write + Send)),
}

impl SortedOutput<'_> {
    /// Borrows the output for a shorter time.
    pub(crate) fn reborrow(&mut self) -> SortedOutput<'_> {
        match self {
            &mut SortedOutput::File { path, sync } => SortedOutput::File { path, sync },
            SortedOutput::Stream(to) => SortedOutput::Stream(*to),
        }
    }

    /// Opens the output and passes it to `work`, which writes about `expected_bytes` bytes.
    /// Publishes a file if `work` succeeds.
    ///
    /// # Errors
    ///
    /// The error of `work`, which names a file that can't be written; or if the disk can't create
    /// or publish the file.
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

/// The destination of the engine's output.
pub(super) enum LinesOutput<'a> {
    /// The caller's writer.
    Stream(&'a mut (dyn Write + Send)),
    /// An output of the disk without a name, or with a hidden one, until it is published. Writes
    /// bypass the page cache.
    Unpublished(FileId),
}

impl LinesOutput<'_> {
    /// Borrows the output for a shorter time.
    pub(super) fn reborrow(&mut self) -> LinesOutput<'_> {
        match self {
            LinesOutput::Stream(stream) => LinesOutput::Stream(*stream),
            &mut LinesOutput::Unpublished(file) => LinesOutput::Unpublished(file),
        }
    }

    /// True if writes must bypass the page cache.
    pub(super) fn needs_bypass(&self) -> bool {
        matches!(self, LinesOutput::Unpublished(_))
    }
}
