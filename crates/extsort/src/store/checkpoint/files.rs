//! The files of a checkpoint while its sort runs, and their removal when it is done.

use super::names::CheckpointNames;
use crate::store::journal::{Journal, Step};
use crate::store::open_files::OpenFiles;
use crate::store::output_prefix::{OutputPrefix, crc_of};
use crate::{Error, Observer};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use xsort_disk::{Disk, FileId};

/// The open files of a checkpoint: the journal and the scratch files. Dropping this closes the
/// scratch files.
pub(crate) struct CheckpointFiles<'a> {
    pub(crate) journal: Journal<'a>,
    pub(super) disk: &'a dyn Disk,
    /// One file for each scratch directory. For a published sort, only the files that still exist.
    pub(crate) scratch: Vec<FileId>,
    /// True once the journal has its header. From then on the files are kept even if the sort
    /// fails.
    pub(super) is_begun: bool,
}

/// The result of [`Step::Publish`]: the output is complete and about to get its name.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Publishing {
    /// Size of the output in bytes.
    pub(super) bytes: u64,
    /// CRC-32 of the whole output.
    crc: u32,
    /// Figures that the sort's report needs.
    pub(super) result: (u64, u128),
}

impl CheckpointFiles<'_> {
    /// Opens the scratch files. Returns the path of the first missing file, if any.
    pub(super) fn open_scratch(
        &mut self,
        names: &CheckpointNames,
    ) -> Result<Option<PathBuf>, Error> {
        let mut missing = None;
        for path in &names.scratch {
            match self.disk.open_persistent(path) {
                Ok(file) => self.scratch.push(file),
                Err(error) if error.source.kind() == ErrorKind::NotFound => {
                    missing.get_or_insert_with(|| path.clone());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(missing)
    }

    /// Records that the output is complete and about to get its name. A process that resumes here
    /// needs `result` for its report.
    pub(crate) fn publish(&self, whole: &OutputPrefix, result: (u64, u128)) {
        let publishing = Publishing { bytes: whole.bytes, crc: whole.crc, result };
        self.journal.record(Step::Publish, &publishing);
    }

    /// Removes all files once the output has its name. The journal goes last, so that a later
    /// process can finish an interrupted removal.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        for &file in &self.scratch {
            self.disk.remove_persistent(file)?;
        }
        self.journal.remove()
    }
}

impl Drop for CheckpointFiles<'_> {
    fn drop(&mut self) {
        if !self.is_begun {
            // The caller reports why the sort didn't begin. The next sort to this output removes
            // any files that stay.
            let _ = self.remove();
        }
        self.scratch.iter().for_each(|&file| self.disk.close(file));
    }
}

impl Publishing {
    /// True if the file at the output's path is this output.
    pub(super) fn is_at(
        &self,
        output: &Path,
        memory_bytes: u64,
        disk: &dyn Disk,
        observer: &dyn Observer,
    ) -> Result<bool, Error> {
        let file = match disk.open_input(output) {
            Ok(file) => file,
            Err(error) if error.source.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let _guard = OpenFiles::one(disk, file);
        if disk.file_bytes(file)? != self.bytes {
            return Ok(false);
        }
        let crc = crc_of(file, self.bytes, memory_bytes, disk, observer)?;
        disk.check_unchanged(file)?;
        Ok(crc.is_some_and(|crc| crc.finalize() == self.crc))
    }
}
