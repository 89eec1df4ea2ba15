//! Beginning a checkpoint: there is nothing to resume, and all files are created.

use super::files::CheckpointFiles;
use super::fingerprint::InputFingerprint;
use super::header::{FORMAT, Header, SortRequest};
use super::names::{CheckpointNames, explain_locked};
use crate::Error;
use crate::store::journal::{Journal, Step, Steps, encoded};
use crate::store::open_files::OpenFiles;
use serde::Serialize;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use xsort_disk::{Disk, FileId};

/// The right to begin a sort: its locked journal.
pub(crate) struct FreshCheckpoint<'a> {
    /// `None` once the sort has begun.
    journal: Option<Journal<'a>>,
    names: CheckpointNames,
    disk: &'a dyn Disk,
    /// True if the journal has no step. If the sort is refused, an empty journal is removed.
    is_empty: bool,
    old: OldFiles,
}

/// The leftovers of an earlier sort, which this one removes.
#[derive(Debug, Default)]
pub(super) struct OldFiles {
    /// Paths of the earlier sort's scratch files.
    pub(super) scratch: Vec<Vec<u8>>,
    /// The tag of the earlier sort's output.
    pub(super) output_tag: Option<String>,
}

impl<'a> FreshCheckpoint<'a> {
    pub(super) fn new(
        journal: Journal<'a>,
        names: CheckpointNames,
        disk: &'a dyn Disk,
        is_empty: bool,
        old: OldFiles,
    ) -> FreshCheckpoint<'a> {
        FreshCheckpoint { journal: Some(journal), names, disk, is_empty, old }
    }

    /// Begins the sort: replaces the files that an earlier sort left, and writes the journal's
    /// first steps. Also returns the output, which is empty and hidden.
    pub(crate) fn begin<P: Serialize>(
        mut self,
        request: &SortRequest<'_>,
        plan: &P,
        inputs: &[InputFingerprint],
        inputs_go_early: bool,
    ) -> Result<(CheckpointFiles<'a>, FileId), Error> {
        let header = Header {
            format: FORMAT,
            meaning: request.meaning.to_owned(),
            plan: serde_json::to_string(plan).expect("a plan is numbers and names"),
            budget_bytes: request.budget_bytes,
            inputs: inputs.len() as u64,
            inputs_go_early,
            scratch: self.names.scratch_bytes(),
        };
        let journal = self.journal.take().expect("it begins once");
        let disk = self.disk;
        let mut files = CheckpointFiles { journal, disk, scratch: Vec::new(), is_begun: false };
        self.remove_old_output(request.output)
            .map_err(|error| explain_locked(error, request.output))?;
        // From here on the earlier sort can't be resumed.
        files.journal.clear()?;
        let (output, tag) = self
            .create_files(&mut files, request.output)
            .map_err(|error| explain_locked(error, request.output))?;
        let fingerprints = (0..).zip(inputs).map(|(n, input)| (Step::Input(n), encoded(input)));
        let mut steps: Steps = fingerprints.collect();
        steps.insert(Step::Begin, encoded(&header));
        steps.insert(Step::Output, encoded(&tag));
        if let Err(error) = files.journal.begin(steps) {
            // The journal's error says more than an error of the removal would.
            let _ = disk.remove_persistent(output);
            disk.close(output);
            return Err(error);
        }
        files.is_begun = true;
        Ok((files, output))
    }

    /// Removes the output that the earlier sort has begun. A new hidden file replaces an old one of
    /// the same name anyway. But an upload has an identifier that only the journal knows, so this
    /// must happen before the journal is cleared.
    fn remove_old_output(&self, output: &Path) -> Result<(), Error> {
        match &self.old.output_tag {
            Some(tag) if *tag != self.names.output_tag => {
                remove_opened(self.disk, self.disk.open_persistent_output(output, tag, &[]))
            }
            _ => Ok(()),
        }
    }

    /// Creates the scratch files and the output. Returns the output with its tag.
    fn create_files(
        &self,
        files: &mut CheckpointFiles<'a>,
        output: &Path,
    ) -> Result<(FileId, String), Error> {
        for path in self.old.scratch.iter().map(|path| Path::new(OsStr::from_bytes(path))) {
            remove(self.disk, path)?;
        }
        for path in &self.names.scratch {
            remove(self.disk, path)?;
            files.scratch.push(self.disk.create_persistent(path)?);
        }
        Ok(self.disk.create_persistent_output(output, &self.names.output_tag)?)
    }
}

impl Drop for FreshCheckpoint<'_> {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take().filter(|_| self.is_empty) {
            // The caller reports why there was no sort; an empty journal does no harm.
            let _ = journal.remove();
        }
    }
}

/// Removes a checkpoint's file if it exists and no other process has locked it.
fn remove(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    remove_opened(disk, disk.open_persistent(path))
}

/// Removes an opened file. Does nothing if opening failed because there is no such file.
fn remove_opened(disk: &dyn Disk, opened: Result<FileId, xsort_disk::Error>) -> Result<(), Error> {
    let old = match opened {
        Err(error) if error.source.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let _guard = OpenFiles::one(disk, old);
    Ok(disk.remove_persistent(old)?)
}
