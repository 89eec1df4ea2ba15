//! Where sorted records go.

use crate::Error;
use crate::variable::FileOutput;
use std::io::Write;
use std::path::Path;
use xsort_disk::Disk;

/// Where records go.
pub enum KeyedOutput<'o> {
    /// A new file, which appears whole or not at all.
    File {
        /// Where it will be.
        path: &'o Path,
        /// Whether to wait until it is safe against a power cut.
        sync: bool,
    },
    /// Anything that can be written to.
    Stream(&'o mut (dyn Write + Send)),
}

impl KeyedOutput<'_> {
    /// Bytes of memory that it takes.
    pub const MEMORY_BYTES: u64 = FileOutput::MEMORY_BYTES;

    /// Opens it, has `work` write about `expected_bytes` bytes, and puts a file in place if that
    /// succeeds.
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
            KeyedOutput::Stream(to) => work(to),
            KeyedOutput::File { path, sync } => {
                let mut file = FileOutput::create(disk, path, expected_bytes)?;
                let done = work(&mut file).map_err(|error| error.of_output(path))?;
                file.publish(sync).map_err(|error| error.of_output(path))?;
                Ok(done)
            }
        }
    }
}
