//! A new file as a writer, for stages that change lines after the merge.

use crate::Error;
use crate::store::open_files::OpenFiles;
use crate::store::output_prefix::OutputPrefix;
use crate::store::write_behind::WriteBehind;
use std::io::{self, Write};
use std::path::Path;
use xsort_disk::{BlockPool, Disk, FileId, Lease};

/// Most blocks in flight to the drive.
const BLOCKS: usize = 8;
/// Bytes of a block.
const BLOCK_BYTES: usize = 256 << 10;

/// A file that appears whole or not at all, by
/// [`create_output`](xsort_disk::OutputFiles::create_output) and
/// [`publish`](xsort_disk::OutputFiles::publish). Writes bypass the page cache.
pub struct FileOutput<'d> {
    behind: WriteBehind<'d>,
    disk: &'d dyn Disk,
    file: FileId,
    guard: OpenFiles<'d>,
    written_bytes: u64,
}

impl<'d> FileOutput<'d> {
    /// Bytes of memory that a file takes while it is written.
    pub const MEMORY_BYTES: u64 = (BLOCKS * BLOCK_BYTES) as u64;

    /// Creates the file for `path`, with an expected size of `expected_bytes` bytes.
    ///
    /// # Errors
    ///
    /// If the disk can't create it.
    pub fn create(
        disk: &'d dyn Disk,
        path: &Path,
        expected_bytes: u64,
    ) -> Result<FileOutput<'d>, Error> {
        let file = disk.create_output(path)?;
        let guard = OpenFiles::one(disk, file);
        let pool = BlockPool::new([Lease::map(BLOCKS * BLOCK_BYTES)?], BLOCK_BYTES);
        let nothing = OutputPrefix::default();
        let behind = WriteBehind::resume(disk, file, pool, expected_bytes, &nothing)?;
        Ok(FileOutput { behind, disk, file, guard, written_bytes: 0 })
    }

    /// Bytes written so far.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Writes the remaining bytes, and frees the memory.
    ///
    /// # Errors
    ///
    /// If a write fails.
    pub fn finish(self) -> Result<FinishedOutput<'d>, Error> {
        let FileOutput { behind, disk, file, guard, written_bytes } = self;
        behind.end()?;
        Ok(FinishedOutput { disk, file, guard, written_bytes })
    }

    /// Publishes the file, and with `sync` makes it durable.
    ///
    /// # Errors
    ///
    /// If a write fails, or the disk can't publish the file. An earlier file at the path then
    /// remains.
    pub fn publish(self, sync: bool) -> Result<(), Error> {
        self.finish()?.publish(sync)
    }
}

/// A completely written file that isn't published yet. Dropping it removes it.
pub struct FinishedOutput<'d> {
    disk: &'d dyn Disk,
    file: FileId,
    guard: OpenFiles<'d>,
    written_bytes: u64,
}

impl FinishedOutput<'_> {
    /// Publishes the file, and with `sync` makes it durable.
    ///
    /// # Errors
    ///
    /// If the disk can't publish the file. An earlier file at the path then remains.
    pub fn publish(self, sync: bool) -> Result<(), Error> {
        let FinishedOutput { disk, file, mut guard, written_bytes } = self;
        guard.release(file);
        Ok(disk.publish(file, written_bytes, sync)?)
    }
}

impl Write for FileOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.behind.write(bytes);
        written.map_err(|error| match error {
            Error::Output(source) => source,
            other => io::Error::other(other.to_string()),
        })?;
        self.written_bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    /// Does nothing. The data counts once it is published.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
