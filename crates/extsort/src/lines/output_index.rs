//! The index of an output as a file beside it, which appears right after the output.

use super::compressed_output::CompressedOutput;
use super::file_output::{FileOutput, FinishedOutput};
use super::output_codec::OutputCodec;
use super::position_index::PositionIndex;
use crate::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use xsort_disk::Disk;

/// A whole index, which isn't published yet. Dropping it removes it.
pub struct FinishedIndex<'d> {
    path: PathBuf,
    file: FinishedOutput<'d>,
}

impl PositionIndex {
    /// Bytes of a budget that are taken by the index and its file.
    #[must_use]
    pub fn taken_bytes(budget_bytes: u64) -> u64 {
        PositionIndex::budget_share(budget_bytes) + FileOutput::MEMORY_BYTES
    }

    /// Writes the index to a file for the path of the `output`, which is written, with the ending
    /// of its format.
    ///
    /// # Errors
    ///
    /// If the file can't be created or written.
    pub fn finish<'d>(
        mut self,
        disk: &'d dyn Disk,
        output: &Path,
    ) -> Result<FinishedIndex<'d>, Error> {
        let mut path = output.as_os_str().to_owned();
        path.push(self.extension());
        let path = PathBuf::from(path);
        let mut file = FileOutput::create(disk, &path, 0)?;
        let written = if self.is_compressed() {
            let mut to = CompressedOutput::new(&mut file, OutputCodec::Bgzf, 1, Vec::new());
            self.write(&mut to).and_then(|()| to.flush())
        } else {
            self.write(&mut file)
        };
        let file = written.map_err(Error::Output).and_then(|()| file.finish());
        match file {
            Ok(file) => Ok(FinishedIndex { path, file }),
            Err(error) => Err(error.of_output(&path)),
        }
    }
}

impl FinishedIndex<'_> {
    /// Publishes the index, and with `sync` makes it durable.
    ///
    /// # Errors
    ///
    /// If the disk can't publish it.
    pub fn publish(self, sync: bool) -> Result<(), Error> {
        self.file.publish(sync).map_err(|error| error.of_output(&self.path))
    }
}
