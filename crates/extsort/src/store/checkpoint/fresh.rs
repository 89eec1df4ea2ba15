//! The beginning of a checkpoint: nothing to resume, and all files to create.

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
    /// None once the sort has begun.
    journal: Option<Journal<'a>>,
    names: CheckpointNames,
    disk: &'a dyn Disk,
    /// The journal has no step, so a sort that is refused removes it.
    is_empty: bool,
    /// Paths of the scratch files of an earlier sort, which are to be removed.
    old_scratch: Vec<Vec<u8>>,
}

impl<'a> FreshCheckpoint<'a> {
    pub(super) fn new(
        journal: Journal<'a>,
        names: CheckpointNames,
        disk: &'a dyn Disk,
        is_empty: bool,
        old_scratch: Vec<Vec<u8>>,
    ) -> FreshCheckpoint<'a> {
        FreshCheckpoint { journal: Some(journal), names, disk, is_empty, old_scratch }
    }

    /// Begins the sort: creates the files, in place of any that another sort has left, and writes
    /// the journal's first steps. Returns the output as well, empty and under its hidden name.
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
        // From here on nobody can resume the earlier sort.
        files.journal.clear()?;
        let output = self
            .create_files(&mut files, request.output)
            .map_err(|error| explain_locked(error, request.output))?;
        let fingerprints = (0..).zip(inputs).map(|(n, input)| (Step::Input(n), encoded(input)));
        let mut steps: Steps = fingerprints.collect();
        steps.insert(Step::Begin, encoded(&header));
        if let Err(error) = files.journal.begin(steps) {
            // The journal's error says more than one of the removal would.
            let _ = disk.remove_persistent(output);
            disk.close(output);
            return Err(error);
        }
        files.is_begun = true;
        Ok((files, output))
    }

    /// Creates the scratch files and the output, which it returns.
    fn create_files(
        &self,
        files: &mut CheckpointFiles<'a>,
        output: &Path,
    ) -> Result<FileId, Error> {
        for path in self.old_scratch.iter().map(|path| Path::new(OsStr::from_bytes(path))) {
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

/// Removes a file of a checkpoint, if there is one that no other process has.
fn remove(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    let old = match disk.open_persistent(path) {
        Err(error) if error.source.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let _guard = OpenFiles::one(disk, old);
    Ok(disk.remove_persistent(old)?)
}
