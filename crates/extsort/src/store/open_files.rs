//! Open files that somebody has to close.

use xsort_disk::{Disk, FileId};

/// Files that are closed when this is dropped, whatever happens.
pub(crate) struct OpenFiles<'a> {
    disk: &'a dyn Disk,
    files: Vec<FileId>,
}

impl<'a> OpenFiles<'a> {
    /// Guards no files yet.
    pub(crate) fn none(disk: &'a dyn Disk) -> Self {
        OpenFiles { disk, files: Vec::new() }
    }

    /// Guards one file.
    pub(crate) fn one(disk: &'a dyn Disk, file: FileId) -> Self {
        OpenFiles { disk, files: vec![file] }
    }

    /// Guards a file too.
    pub(crate) fn add(&mut self, file: FileId) {
        self.files.push(file);
    }

    /// Guards the files of another guard too.
    pub(crate) fn adopt(&mut self, mut other: OpenFiles<'a>) {
        self.files.append(&mut other.files);
    }

    /// Leaves a file to someone else.
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
