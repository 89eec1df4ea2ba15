//! A guard that closes open files.

use xsort_disk::{Disk, FileId};

/// Closes its files when it is dropped.
pub(crate) struct OpenFiles<'a> {
    disk: &'a dyn Disk,
    files: Vec<FileId>,
}

impl<'a> OpenFiles<'a> {
    /// A guard without files.
    pub(crate) fn none(disk: &'a dyn Disk) -> Self {
        OpenFiles { disk, files: Vec::new() }
    }

    /// A guard of one file.
    pub(crate) fn one(disk: &'a dyn Disk, file: FileId) -> Self {
        OpenFiles { disk, files: vec![file] }
    }

    /// Adds a file.
    pub(crate) fn add(&mut self, file: FileId) {
        self.files.push(file);
    }

    /// Takes over the files of another guard.
    pub(crate) fn adopt(&mut self, mut other: OpenFiles<'a>) {
        self.files.append(&mut other.files);
    }

    /// Removes a file from the guard: the caller closes it.
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
