//! A sort that can be resumed: which files it keeps, what their journal says at its beginning, and
//! whether a later process may resume it.
//!
//! ```text
//! SCRATCH/.NAME.xsort-TAG.journal      what is finished                   in the first scratch directory
//! SCRATCH/.NAME.xsort-TAG.scratch-N    blocks of runs, or pieces of bins  in scratch directory N
//! OUTPUT/.NAME.xsort-TAG.output        the output until it has its name   beside the output
//! ```
//!
//! NAME is the output's (the beginning of it, if it is long), TAG a hash of its path: so the output
//! is what a sort is found by, and each has files of its own. The journal's lock is the sort's: who
//! holds it may open, write and remove the other files, and nobody else.
//!
//! Nothing that comes from an earlier process is believed because a file has the right name. The
//! journal's frames are chained by their hashes. Blocks of scratch have seals in the journal. What
//! the journal says of the output is compared with all of its bytes, before it is written behind,
//! or said to be finished. The inputs have to be what they were.

use crate::store::journal::{InputMark, Journal, Step, encoded, mark};
use crate::store::open_files::OpenFiles;
use crate::store::output_prefix::{OutputPrefix, crc_of};
use crate::{Error, Observer};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xsort_disk::{Disk, DisplayPath, FileId, hidden_name};

/// How a sort keeps what is finished.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint {
    /// What to do with what an interrupted sort to the same output has kept.
    pub begin: Begin,
    /// How often it is kept at most.
    pub every: Duration,
}

/// What to do with what an interrupted sort has kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Refuse if there is any.
    New,
    /// Resume it; begin if there is none.
    Resume,
    /// Throw it away, and begin.
    Restart,
}

/// Changes when journals of older versions mean something else.
const FORMAT: u32 = 2;

/// The names of what is kept.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// The end of the output's hidden name.
    output_tag: String,
    journal: PathBuf,
    scratch: Vec<PathBuf>,
}

impl Names {
    pub(crate) fn of(output: &Path, scratch_directories: &[PathBuf]) -> Names {
        let absolute = std::path::absolute(output).unwrap_or_else(|_| output.to_path_buf());
        let tag =
            format!(".xsort-{:016x}", xxhash_rust::xxh3::xxh3_64(absolute.as_os_str().as_bytes()));
        let name = output.file_name().unwrap_or_default();
        let hidden = |suffix: &str| hidden_name(name, &format!("{tag}.{suffix}"));
        let number = |(number, directory): (usize, &PathBuf)| {
            directory.join(hidden(&format!("scratch-{number}")))
        };
        let scratch = scratch_directories.iter().enumerate().map(number);
        Names {
            journal: scratch_directories[0].join(hidden("journal")),
            scratch: scratch.map(|path| std::path::absolute(&path).unwrap_or(path)).collect(),
            output_tag: format!("{tag}.output"),
        }
    }

    /// The names of the scratch files as a journal has them.
    fn scratch_bytes(&self) -> Vec<Vec<u8>> {
        self.scratch.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect()
    }
}

/// What a journal begins with.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// [`FORMAT`]. First: of another, nothing else can be read.
    format: u32,
    /// What the arguments mean, as far as the output depends on it.
    meaning: String,
    /// The plan, as JSON: it describes itself.
    plan: String,
    /// Bytes of memory that it takes.
    budget_bytes: u64,
    inputs: u64,
    /// Whether the inputs are removed before the output is written.
    inputs_go_early: bool,
    /// The absolute paths of the scratch files, as bytes.
    scratch: Vec<Vec<u8>>,
}

/// The output, complete and on its way to its name.
#[derive(Debug, Serialize, Deserialize)]
struct Publishing {
    bytes: u64,
    /// CRC-32 of all of them.
    crc: u32,
    /// What the job wants to know of it.
    result: (u64, u128),
}

/// What a later process must be asked for, too, to resume a sort.
pub(crate) struct Task<'t> {
    pub(crate) output: &'t Path,
    pub(crate) meaning: &'t str,
    pub(crate) budget_bytes: u64,
    pub(crate) inputs: usize,
}

/// What is there for an output.
pub(crate) enum Opened<'a> {
    /// What an earlier process has kept, to be resumed.
    Saved(Box<SavedCheckpoint<'a>>),
    /// Nothing that counts: a sort can begin.
    Fresh(Box<FreshCheckpoint<'a>>),
}

/// Looks for what an earlier process has kept, and at whether to resume it. What is there belongs
/// to this process from now on; a sort to the same output that is under way is an error.
pub(crate) fn open_checkpoint<'a>(
    checkpoint: Checkpoint,
    names: Names,
    task: &Task<'_>,
    disk: &'a dyn Disk,
    observer: &dyn Observer,
) -> Result<Opened<'a>, Error> {
    let (journal, is_new) = Journal::open(disk, &names.journal, checkpoint.every)
        .map_err(|error| under_way(error, task.output))?;
    let head = recall_head(&journal);
    let is_empty = is_new || matches!(head, Ok(None));
    if is_empty && checkpoint.begin == Begin::Resume {
        observer
            .notice(&format!("{}: there is none, so the sort begins", DisplayPath(&names.journal)));
    }
    if is_empty || checkpoint.begin == Begin::Restart {
        let old = head.ok().flatten().map(|head| head.scratch).unwrap_or_default();
        return Ok(Opened::Fresh(FreshCheckpoint::boxed(journal, names, disk, is_empty, old)));
    }
    if checkpoint.begin == Begin::New {
        return Err(Error::Settings(format!(
            "{}: a sort to this output was interrupted: go on with it (--resume), or begin anew (--restart)",
            DisplayPath(&names.journal)
        )));
    }
    let head = head?.expect("an empty journal was dealt with");
    if let Some(reason) = head.refusal(task, &names) {
        return Err(Error::Settings(format!(
            "{}: {reason}; begin anew with --restart, or give the arguments of then",
            DisplayPath(&names.journal)
        )));
    }
    let mut inputs = Vec::with_capacity(task.inputs);
    for number in 0..head.inputs {
        match journal.recall(Step::Input(number))? {
            Some(mark) => inputs.push(mark),
            // They are written with the beginning, so it isn't there in a whole.
            None => {
                return Ok(Opened::Fresh(FreshCheckpoint::boxed(
                    journal,
                    names,
                    disk,
                    true,
                    head.scratch,
                )));
            }
        }
    }
    let Head { plan, inputs_go_early, .. } = head;
    Ok(Opened::Saved(Box::new(SavedCheckpoint {
        journal,
        names,
        disk,
        plan,
        inputs,
        inputs_go_early,
    })))
}

/// The beginning of a journal, if it has one. One of another format can't be read further than
/// that.
fn recall_head(journal: &Journal<'_>) -> Result<Option<Head>, Error> {
    match journal.peek::<u32>(Step::Begin)? {
        Some(FORMAT) => journal.recall(Step::Begin),
        Some(_) => Err(Error::Settings(
            "what the interrupted sort has kept is another version's: begin anew with --restart, or resume it with \
             that version"
                .into(),
        )),
        None => Ok(None),
    }
}

/// Says of a file that another process has who that must be.
fn under_way(error: Error, output: &Path) -> Error {
    match error {
        Error::Disk(error) if error.source.kind() == ErrorKind::WouldBlock => {
            Error::Settings(format!(
                "{}: another sort to this output is under way, or was a moment ago ({}): wait for its end, or give \
             another output (-o)",
                DisplayPath(output),
                DisplayPath(&error.path)
            ))
        }
        error => error,
    }
}

impl Head {
    /// Why a sort that is asked for can't go on with this one.
    fn refusal(&self, task: &Task<'_>, names: &Names) -> Option<String> {
        if self.meaning != task.meaning {
            Some("the interrupted sort had another order of other records".into())
        } else if self.budget_bytes > task.budget_bytes {
            Some(format!(
                "the interrupted sort has planned with {} bytes of memory",
                self.budget_bytes
            ))
        } else if self.inputs != task.inputs as u64 {
            Some(format!("the interrupted sort had {} inputs", self.inputs))
        } else if self.scratch != names.scratch_bytes() {
            let paths = self
                .scratch
                .iter()
                .map(|path| DisplayPath(Path::new(OsStr::from_bytes(path))).to_string());
            let paths = paths.collect::<Vec<_>>().join(", ");
            Some(format!("the interrupted sort had its scratch elsewhere (-T): {paths}"))
        } else {
            None
        }
    }
}

/// The right to begin a sort: its journal, still without a word.
pub(crate) struct FreshCheckpoint<'a> {
    /// None once the sort has begun.
    journal: Option<Journal<'a>>,
    names: Names,
    disk: &'a dyn Disk,
    /// There is nothing in the journal that a refused sort should leave.
    is_empty: bool,
    /// Scratch files of a sort that is thrown away.
    old: Vec<Vec<u8>>,
}

impl<'a> FreshCheckpoint<'a> {
    fn boxed(
        journal: Journal<'a>,
        names: Names,
        disk: &'a dyn Disk,
        is_empty: bool,
        old: Vec<Vec<u8>>,
    ) -> Box<FreshCheckpoint<'a>> {
        Box::new(FreshCheckpoint { journal: Some(journal), names, disk, is_empty, old })
    }

    /// Begins: creates the files, instead of any that are left of another sort, and the journal's
    /// first steps. Returns the output, too, empty and under its hidden name.
    pub(crate) fn begin<P: Serialize>(
        mut self,
        task: &Task<'_>,
        plan: &P,
        inputs: &[InputMark],
        inputs_go_early: bool,
    ) -> Result<(CheckpointFiles<'a>, FileId), Error> {
        let head = Head {
            format: FORMAT,
            meaning: task.meaning.to_owned(),
            plan: serde_json::to_string(plan).expect("a plan is numbers and names"),
            budget_bytes: task.budget_bytes,
            inputs: inputs.len() as u64,
            inputs_go_early,
            scratch: self.names.scratch_bytes(),
        };
        let journal = self.journal.take().expect("it begins once");
        let disk = self.disk;
        let mut files = CheckpointFiles { journal, disk, scratch: Vec::new(), is_begun: false };
        // Whatever it was that an earlier sort kept: from here on nobody can resume that.
        files.journal.clear()?;
        for path in self.old.iter().map(|path| Path::new(OsStr::from_bytes(path))) {
            remove(disk, path).map_err(|error| under_way(error, task.output))?;
        }
        for path in &self.names.scratch {
            files.scratch.push(replace(disk, path).map_err(|error| under_way(error, task.output))?);
        }
        let output = disk
            .create_persistent_output(task.output, &self.names.output_tag)
            .map_err(|error| under_way(error.into(), task.output))?;
        let marks = (0..).zip(inputs).map(|(number, mark)| (Step::Input(number), encoded(mark)));
        let first = std::iter::once((Step::Begin, encoded(&head))).chain(marks);
        if let Err(error) = files.journal.begin(first) {
            // What its own error would say is less.
            let _ = disk.remove_persistent(output);
            disk.close(output);
            return Err(error);
        }
        files.is_begun = true;
        Ok((files, output))
    }
}

impl Drop for FreshCheckpoint<'_> {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take().filter(|_| self.is_empty) {
            // Why there was no sort has been said; an empty journal does no harm.
            let _ = journal.remove();
        }
    }
}

/// Creates a kept file; one of that name goes, unless another process has it.
fn replace(disk: &dyn Disk, path: &Path) -> Result<FileId, Error> {
    remove(disk, path)?;
    Ok(disk.create_persistent(path)?)
}

/// Removes a kept file, if there is one that no other process has.
fn remove(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    let old = match disk.open_persistent(path) {
        Err(error) if error.source.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let _guard = OpenFiles::one(disk, old);
    Ok(disk.remove_persistent(old)?)
}

/// What an earlier process has kept.
pub(crate) struct SavedCheckpoint<'a> {
    journal: Journal<'a>,
    names: Names,
    disk: &'a dyn Disk,
    /// The plan as it was kept.
    plan: String,
    pub(crate) inputs: Vec<InputMark>,
    pub(crate) inputs_go_early: bool,
}

/// How an input is found again.
pub(crate) enum Found {
    /// As it was.
    Same(FileId),
    /// With another size, time or content.
    Changed,
    /// There is none of that name.
    Missing(xsort_disk::Error),
}

/// How far an interrupted sort has come.
pub(crate) enum Reopened<'a> {
    /// The output has its name, and is what the sort has made: only its files have to go.
    Published {
        files: CheckpointFiles<'a>,
        /// What the job wanted to know of it.
        result: (u64, u128),
    },
    /// There is work to do. The output is under its hidden name.
    Unfinished { files: CheckpointFiles<'a>, output: FileId },
}

impl<'a> SavedCheckpoint<'a> {
    /// The plan, if it can be read.
    pub(crate) fn plan<P: DeserializeOwned>(&self) -> Result<P, Error> {
        serde_json::from_str(&self.plan).map_err(|error| {
            Error::Settings(format!(
                "{}: the plan of the interrupted sort can't be read ({error}): begin anew with --restart",
                DisplayPath(&self.names.journal)
            ))
        })
    }

    /// Whether the inputs have been read.
    pub(crate) fn is_input_read(&self) -> bool {
        self.journal.has(Step::InputRead)
    }

    /// Whether an input that was opened again is what it was.
    pub(crate) fn find(&self, number: usize, file: FileId) -> Result<Found, Error> {
        let bytes = self.disk.file_bytes(file)?;
        let now = mark(self.disk, file, bytes)?;
        Ok(if now.is_as(&self.inputs[number]) { Found::Same(file) } else { Found::Changed })
    }

    /// Whether the first `chunks` chunks are on scratch.
    pub(crate) fn has_chunks(&self, chunks: usize) -> bool {
        (0..chunks as u64).all(|number| self.journal.has(Step::Chunk(number)))
    }

    /// Whether chunks may be gone from scratch, because what came of merging or splitting them is
    /// there.
    pub(crate) fn has_reduced(&self) -> bool {
        self.journal.has(Step::IntermediatePass(0))
    }

    /// What to say of a journal that no sort can have written.
    pub(crate) fn contradiction(&self) -> Error {
        let journal = DisplayPath(&self.names.journal);
        Error::Settings(format!("{journal}: it contradicts itself: begin anew with --restart"))
    }

    /// Whether the output may have its name already: the interrupted sort was about to give it.
    pub(crate) fn may_be_published(&self) -> bool {
        self.journal.has(Step::Publish)
    }

    /// Opens the files, and compares what the journal says of the output with what is there. What
    /// isn't there is to be written again from scratch; `memory_bytes` are for reading it.
    ///
    /// # Errors
    /// If scratch isn't there, or another process has one of the files.
    pub(crate) fn reopen(
        self,
        output: &Path,
        memory_bytes: u64,
        observer: &dyn Observer,
    ) -> Result<Reopened<'a>, Error> {
        let SavedCheckpoint { journal, names, disk, .. } = self;
        let mut files = CheckpointFiles { journal, disk, scratch: Vec::new(), is_begun: true };
        let hidden = match disk.open_persistent_output(output, &names.output_tag) {
            Ok(hidden) => Some(hidden),
            Err(error) if error.source.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(under_way(error.into(), output)),
        };
        let mut guard = OpenFiles::none(disk);
        hidden.into_iter().for_each(|hidden| guard.add(hidden));
        let publishing = files.journal.recall::<Publishing>(Step::Publish)?;
        let published = match &publishing {
            Some(publishing) if hidden.is_none() => {
                publishing.is_at(output, memory_bytes, disk, observer)?
            }
            _ => false,
        };
        let missing = files.open_scratch(&names)?;
        match (missing, publishing) {
            (_, Some(Publishing { result, .. })) if published => {
                // It has its name, but the process that gave it that may not have come to this.
                disk.sync_name(output)?;
                return Ok(Reopened::Published { files, result });
            }
            (Some(path), publishing) => {
                return Err(Error::Settings(lost_scratch(&path, output, publishing.is_some())));
            }
            (None, _) => {}
        }
        let file = match hidden {
            Some(hidden) => hidden,
            None => {
                let created = disk.create_persistent_output(output, &names.output_tag)?;
                guard.add(created);
                created
            }
        };
        let prefix: OutputPrefix = files.journal.peek(Step::Written)?.unwrap_or_default();
        if !prefix.is_in(file, memory_bytes, disk, observer)? {
            observer.notice(&format!(
                "{}: what the interrupted sort had written of the output is not there any more: it is written again",
                DisplayPath(output)
            ));
            files.journal.forget(Step::Written);
        }
        guard.release(file);
        Ok(Reopened::Unfinished { files, output: file })
    }
}

/// What to say if there is nothing to resume from.
fn lost_scratch(path: &Path, output: &Path, was_complete: bool) -> String {
    let what = if was_complete {
        format!(
            "{} isn't the output any more that the interrupted sort had completed, and its scratch ({}) is gone",
            DisplayPath(output),
            DisplayPath(path)
        )
    } else {
        format!("{}: the scratch of the interrupted sort is gone", DisplayPath(path))
    };
    format!("{what}: begin anew with --restart")
}

impl Publishing {
    /// Whether this is what the output's path leads to.
    fn is_at(
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

/// What a sort keeps, while it runs. The scratch files are closed with it.
pub(crate) struct CheckpointFiles<'a> {
    pub(crate) journal: Journal<'a>,
    disk: &'a dyn Disk,
    /// One for each scratch directory; of a sort that is published only those that are still there.
    pub(crate) scratch: Vec<FileId>,
    /// The journal says what the sort is: from here on everything stays.
    is_begun: bool,
}

impl CheckpointFiles<'_> {
    /// Opens the scratch files; returns the first name that isn't there.
    fn open_scratch(&mut self, names: &Names) -> Result<Option<PathBuf>, Error> {
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

    /// Records that the output is complete and about to be put in place; `result` is what the job
    /// wants to know of it.
    pub(crate) fn publish(&self, whole: &OutputPrefix, result: (u64, u128)) {
        self.journal
            .keep(Step::Publish, &Publishing { bytes: whole.bytes, crc: whole.crc, result });
    }

    /// Removes all that is kept: the output has its name. The journal goes last, so that a later
    /// process can do the rest.
    pub(crate) fn end(&self) -> Result<(), Error> {
        for &file in &self.scratch {
            self.disk.remove_persistent(file)?;
        }
        self.journal.remove()
    }
}

impl Drop for CheckpointFiles<'_> {
    fn drop(&mut self) {
        if !self.is_begun {
            // Why it didn't begin has been said; the next sort to this output removes what stays.
            let _ = self.end();
        }
        self.scratch.iter().for_each(|&file| self.disk.close(file));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;
    use xsort_disk::{SimDisk, SimOptions};

    /// Its other fields can't be read, which was called damage by a failing drive.
    #[test]
    fn a_journal_of_another_format_is_called_that_and_can_be_thrown_away() {
        let disk = SimDisk::new(SimOptions::default());
        let names = Names::of("/out/sorted".as_ref(), &["/scratch".into()]);
        let (journal, _) = Journal::open(&disk, &names.journal, Duration::ZERO).unwrap();
        let head = encoded(&(FORMAT - 1, "meaning", "plan", 1u64, 0u64, false));
        journal.begin([(Step::Begin, head)]).unwrap();
        drop(journal);
        let task =
            Task { output: "/out/sorted".as_ref(), meaning: "meaning", budget_bytes: 1, inputs: 0 };
        let open = |begin| {
            let checkpoint = Checkpoint { begin, every: Duration::ZERO };
            open_checkpoint(checkpoint, names.clone(), &task, &disk, &Unobserved)
        };
        let Err(Error::Settings(text)) = open(Begin::Resume) else { panic!("it was resumed") };
        assert!(text.contains("another version") && text.contains("--restart"), "{text}");
        assert!(matches!(open(Begin::New), Err(Error::Settings(_))));
        assert!(matches!(open(Begin::Restart), Ok(Opened::Fresh(_))));
    }
}
