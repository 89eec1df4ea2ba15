//! The checkpoint of an interrupted sort, and how much of it still exists.

use super::files::{CheckpointFiles, Publishing};
use super::fingerprint::InputFingerprint;
use super::names::{CheckpointNames, explain_locked};
use crate::store::journal::{Journal, Step, encoded};
use crate::store::open_files::OpenFiles;
use crate::store::output_prefix::OutputPrefix;
use crate::{Error, Observer};
use serde::de::DeserializeOwned;
use std::io::ErrorKind;
use std::path::Path;
use xsort_disk::{Disk, DisplayPath, FileId, StoredPart};

/// The checkpoint that an earlier process left.
pub(crate) struct SavedCheckpoint<'a> {
    pub(super) journal: Journal<'a>,
    pub(super) names: CheckpointNames,
    pub(super) disk: &'a dyn Disk,
    /// The plan as JSON.
    pub(super) plan: String,
    pub(crate) inputs: Vec<InputFingerprint>,
    pub(crate) inputs_go_early: bool,
}

/// An input of an interrupted sort, opened again.
pub(crate) enum ReopenedInput {
    /// The input is unchanged.
    Unchanged(FileId),
    /// The input's size, time or content has changed.
    Changed,
    /// There is no input of this name.
    Missing(xsort_disk::Error),
}

/// How far an interrupted sort has come.
pub(crate) enum ReopenedSort<'a> {
    /// The output has its name and is the sort's result: only the checkpoint's files remain to be
    /// removed.
    Published {
        files: CheckpointFiles<'a>,
        /// Size of the output in bytes.
        bytes: u64,
        /// Figures that the sort's report needs.
        result: (u64, u128),
    },
    /// There is work to do. The output is hidden.
    Unfinished { files: CheckpointFiles<'a>, output: FileId },
}

impl<'a> SavedCheckpoint<'a> {
    /// The plan of the interrupted sort.
    pub(crate) fn plan<P: DeserializeOwned>(&self) -> Result<P, Error> {
        serde_json::from_str(&self.plan).map_err(|error| {
            Error::Settings(format!(
                "{}: the plan of the interrupted sort can't be read ({error}): \
                 begin anew with --restart",
                DisplayPath(&self.names.journal)
            ))
        })
    }

    /// True if all inputs have been read.
    pub(crate) fn is_input_read(&self) -> bool {
        self.journal.has(Step::InputRead)
    }

    /// Compares a reopened input with its recorded fingerprint.
    pub(crate) fn compare_input(
        &self,
        number: usize,
        file: FileId,
    ) -> Result<ReopenedInput, Error> {
        let bytes = self.disk.file_bytes(file)?;
        let now = InputFingerprint::take(self.disk, file, bytes)?;
        Ok(match now.matches(&self.inputs[number]) {
            true => ReopenedInput::Unchanged(file),
            false => ReopenedInput::Changed,
        })
    }

    /// True if the first `chunks` chunks are on scratch.
    pub(crate) fn has_chunks(&self, chunks: usize) -> bool {
        (0..chunks as u64).all(|number| self.journal.has(Step::Chunk(number)))
    }

    /// True if a merge pass or a split has begun. Its result on scratch may then have replaced some
    /// chunks.
    pub(crate) fn has_intermediate_pass(&self) -> bool {
        self.journal.has(Step::IntermediatePass(0))
    }

    /// The error for a journal that no sort can have written.
    pub(crate) fn contradiction(&self) -> Error {
        let journal = DisplayPath(&self.names.journal);
        Error::Settings(format!("{journal}: it contradicts itself: begin anew with --restart"))
    }

    /// True if the output may already have its name: the interrupted sort was about to publish it.
    pub(crate) fn may_be_published(&self) -> bool {
        self.journal.has(Step::Publish)
    }

    /// Opens the files, and compares the journal's record of the output with the output itself.
    /// Whatever is missing will be written again from scratch. Reading the output takes at most
    /// `memory_bytes` bytes.
    ///
    /// # Errors
    /// If scratch is missing, or if another process has locked one of the files.
    pub(crate) fn reopen(
        self,
        output: &Path,
        memory_bytes: u64,
        observer: &dyn Observer,
    ) -> Result<ReopenedSort<'a>, Error> {
        let SavedCheckpoint { journal, names, disk, .. } = self;
        let mut files = CheckpointFiles { journal, disk, scratch: Vec::new(), is_begun: true };
        let hidden = open_hidden_output(&files, output, &names)?;
        let mut guard = OpenFiles::none(disk);
        hidden.into_iter().for_each(|hidden| guard.add(hidden));
        let publishing = files.journal.replay::<Publishing>(Step::Publish)?;
        let was_complete = publishing.is_some();
        let published = match publishing {
            Some(publishing)
                if hidden.is_none()
                    && publishing.is_at(output, memory_bytes, disk, observer)? =>
            {
                Some((publishing.bytes, publishing.result))
            }
            _ => None,
        };
        let missing = files.open_scratch(&names)?;
        if let Some((bytes, result)) = published {
            // The process that published the output may have died before this.
            disk.sync_name(output)?;
            return Ok(ReopenedSort::Published { files, bytes, result });
        }
        if let Some(path) = missing {
            return Err(Error::Settings(lost_scratch(&path, output, was_complete)));
        }
        let file = match hidden {
            Some(hidden) => hidden,
            None => {
                let (created, tag) = disk.create_persistent_output(output, &names.output_tag)?;
                guard.add(created);
                files.journal.begin([(Step::Output, encoded(&tag))].into())?;
                created
            }
        };
        let prefix: OutputPrefix = files.journal.peek(Step::Written)?.unwrap_or_default();
        if !prefix.is_in(file, memory_bytes, disk, observer)? {
            observer.notice(&format!(
                "{}: what the interrupted sort had written of the output is not there any more: \
                 it is written again",
                DisplayPath(output)
            ));
            files.journal.forget(Step::Written);
        }
        guard.release(file);
        Ok(ReopenedSort::Unfinished { files, output: file })
    }
}

/// Opens the hidden output; `None` if it doesn't exist.
fn open_hidden_output(
    files: &CheckpointFiles<'_>,
    output: &Path,
    names: &CheckpointNames,
) -> Result<Option<FileId>, Error> {
    let recorded: Option<String> = files.journal.replay(Step::Output)?;
    let tag = recorded.unwrap_or_else(|| names.output_tag.clone());
    if !names.may_have_tag(output, &tag) {
        return Err(files.journal.refuse(Step::Output, "it is another output's tag"));
    }
    let mut parts = Vec::new();
    while let Some((bytes, crc, tag)) = files.journal.replay(Step::Part(parts.len() as u64))? {
        parts.push(StoredPart { bytes, crc, tag });
    }
    match files.disk.open_persistent_output(output, &tag, &parts) {
        Ok(hidden) => Ok(Some(hidden)),
        Err(error) if error.source.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(explain_locked(error.into(), output)),
    }
}

/// The message if there is nothing to resume from.
fn lost_scratch(path: &Path, output: &Path, was_complete: bool) -> String {
    let what = if was_complete {
        format!(
            "{} isn't the output any more that the interrupted sort had completed, \
             and its scratch ({}) is gone",
            DisplayPath(output),
            DisplayPath(path)
        )
    } else {
        format!("{}: the scratch of the interrupted sort is gone", DisplayPath(path))
    };
    format!("{what}: begin anew with --restart")
}
