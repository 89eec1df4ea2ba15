//! The file for verify's summary. It appears complete or not at all, and is never one of the files
//! that are read.
//!
//! It is created before the data is read, so that a "permission denied" doesn't appear after an
//! hour of reading. A pipe or a device is written directly, since it can't be replaced.

use crate::exit::Failure;
use crate::output::write_data_to_stdout;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use xsort_disk::{
    ALIGNMENT, Direction, Disk, DisplayPath, FileId, Lease, Request, align_up, is_standard_output,
    is_url,
};
use xsort_extsort::Error;

/// A file for a summary. If it is dropped before it is written, no file remains.
pub(super) struct SummaryFile<'a> {
    disk: &'a dyn Disk,
    path: &'a Path,
    /// The new file, which has no name yet; `None` for a pipe or a device.
    file: Option<FileId>,
}

impl<'a> SummaryFile<'a> {
    /// Creates the file for `path`, without a name.
    ///
    /// # Errors
    /// If the path leads to one of the files in `read`, or if no file can be created there.
    pub(super) fn create<'r>(
        path: &'a Path,
        read: impl IntoIterator<Item = &'r PathBuf>,
        disk: &'a dyn Disk,
    ) -> Result<SummaryFile<'a>, Failure> {
        let old = if is_url(path) { None } else { fs::metadata(path).ok() };
        let is_read = |other: &&PathBuf| match &old {
            Some(old) => !is_url(other) && is_same(old, other),
            None => is_url(path) && *other == path,
        };
        if let Some(same) = read.into_iter().find(is_read) {
            return Err(Failure::Usage(format!(
                "{} is {}, which is read: the summary would replace it; write it elsewhere (-o)",
                DisplayPath(path),
                if path == same {
                    "one of the files".into()
                } else {
                    DisplayPath(same).to_string()
                },
            )));
        }
        let is_stream =
            is_standard_output(path) || old.is_some_and(|old| !old.is_file() && !old.is_dir());
        let file = if is_stream { None } else { Some(disk.create_output(path)?) };
        Ok(SummaryFile { disk, path, file })
    }

    /// Writes the summary, then gives the file its name.
    pub(super) fn write(mut self, summary: &[u8]) -> Result<(), Failure> {
        if is_standard_output(self.path) {
            return write_data_to_stdout(summary);
        }
        let Some(file) = self.file else {
            return fs::write(self.path, summary).map_err(|source| self.failed(source));
        };
        let bytes = align_up(summary.len() as u64) as usize;
        assert!(bytes.is_multiple_of(ALIGNMENT) && bytes >= summary.len());
        let mut lease = Lease::map(bytes)?;
        lease[..summary.len()].copy_from_slice(summary);
        lease[summary.len()..].fill(0);
        let (reply, completions) = crossbeam_channel::bounded(1);
        self.disk.submit(Request {
            direction: Direction::Write,
            file,
            offset: 0,
            bytes,
            bytes_needed: bytes,
            lease,
            tag: 0,
            reply,
        });
        let lost = || self.failed(io::Error::other("the write was never answered"));
        completions.recv().map_err(|_| lost())?.result.map_err(Error::Disk)?;
        self.file = None;
        Ok(self.disk.publish(file, summary.len() as u64, true)?)
    }

    fn failed(&self, source: io::Error) -> Failure {
        Failure::File { what: format!("writing {}", DisplayPath(&self.path)), source }
    }
}

impl Drop for SummaryFile<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            self.disk.close(file);
        }
    }
}

/// True if the path `other` leads to the file with the metadata `one`.
fn is_same(one: &Metadata, other: &Path) -> bool {
    fs::metadata(other).is_ok_and(|other| (one.dev(), one.ino()) == (other.dev(), other.ino()))
}
