//! Open files that are closed whatever happens.

use xsort_disk::{Disk, FileId};

/// Closes its files when it is dropped.
pub(crate) struct OpenFiles<'a> {
    disk: &'a dyn Disk,
    files: Vec<FileId>,
}

impl<'a> OpenFiles<'a> {
    /// Guards no file yet.
    pub(crate) fn none(disk: &'a dyn Disk) -> Self {
        OpenFiles { disk, files: Vec::new() }
    }

    /// Guards one file.
    pub(crate) fn one(disk: &'a dyn Disk, file: FileId) -> Self {
        OpenFiles { disk, files: vec![file] }
    }

    /// Guards one more file.
    pub(crate) fn add(&mut self, file: FileId) {
        self.files.push(file);
    }

    /// Guards the files of another guard as well.
    pub(crate) fn adopt(&mut self, mut other: OpenFiles<'a>) {
        self.files.append(&mut other.files);
    }

    /// Leaves closing a file to somebody else.
    pub(crate) fn release(&mut self, file: FileId) {
        self.files.retain(|&open| open != file);
    }
}

impl Drop for OpenFiles<'_> {
    fn drop(&mut self) {
        for &file in &self.files {
            self.disk.close(file);
        }
    }
}
