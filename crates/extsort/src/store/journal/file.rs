//! The file of a journal: steps, appended durably.

use super::frames::Frames;
use super::step::{StepDecoder, Steps, encode_steps};
use crate::Error;
use parking_lot::Mutex;
use std::path::Path;
use xsort_disk::{Disk, FileId};

/// An open journal file, locked against other processes. Dropping this closes it.
pub(super) struct JournalFile<'a> {
    pub(super) disk: &'a dyn Disk,
    pub(super) file: FileId,
    frames: Mutex<Frames>,
}

impl<'a> JournalFile<'a> {
    /// Opens the file at `path`, or creates it. Returns its steps, and true if it is new.
    pub(super) fn open(disk: &'a dyn Disk, path: &Path) -> Result<(Self, Steps, bool), Error> {
        let (file, is_new) = disk.open_or_create_persistent(path)?;
        let journal_file = JournalFile { disk, file, frames: Mutex::new(Frames::empty()) };
        let mut decoder = StepDecoder::default();
        let frames = Frames::read(disk, file, |payload| decoder.take(payload))?;
        *journal_file.frames.lock() = frames;
        Ok((journal_file, decoder.steps, is_new))
    }

    /// Syncs the `data` files, which hold the bytes that the steps refer to, then appends the
    /// steps. All are durable when this returns.
    pub(super) fn append(&self, data: &[FileId], steps: &Steps) -> Result<(), Error> {
        for &file in data {
            self.disk.sync(file)?;
        }
        self.frames.lock().append(self.disk, self.file, &encode_steps(steps))?;
        Ok(self.disk.sync(self.file)?)
    }

    /// Empties the file durably, so that no old frame can follow a new one.
    pub(super) fn clear(&self) -> Result<(), Error> {
        self.disk.set_bytes(self.file, 0)?;
        self.disk.sync(self.file)?;
        *self.frames.lock() = Frames::empty();
        Ok(())
    }
}

impl Drop for JournalFile<'_> {
    fn drop(&mut self) {
        self.disk.close(self.file);
    }
}
