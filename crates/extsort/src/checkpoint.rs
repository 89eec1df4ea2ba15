//! A sort that can be resumed: which files it keeps, what their journal says at its beginning, and whether a later process may go on with them.
//!
//! ```text
//! SCRATCH/.NAME.xsort-TAG.journal      what is finished                  in the first scratch directory
//! SCRATCH/.NAME.xsort-TAG.scratch-N    blocks of runs, or pieces of bins  in scratch directory N
//! OUTPUT/.NAME.xsort-TAG.output        the output until it has its name   beside the output
//! ```
//!
//! NAME is the output's (the beginning of it, if it is long), TAG a hash of its path: so the output is what a sort is found by, and each has files of its own. The plan is taken from the
//! journal, for what is finished only means something with it; the inputs have to be what they were.

use crate::journal::{InputMark, Journal, Step, encoded, mark};
use crate::{Error, Observer};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xsort_disk::{Disk, FileId, Shown, hidden_name};

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
    /// Go on with it; begin if there is none.
    Resume,
    /// Throw it away, and begin.
    Restart,
}

/// Changes when journals of older versions mean something else.
const FORMAT: u32 = 1;

/// The names of what is kept.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// The end of the output's hidden name.
    pub(crate) output_tag: String,
    journal: PathBuf,
    scratch: Vec<PathBuf>,
}

impl Names {
    pub(crate) fn of(output: &Path, scratch_directories: &[PathBuf]) -> Names {
        let absolute = std::path::absolute(output).unwrap_or_else(|_| output.to_path_buf());
        let tag = format!(".xsort-{:016x}", xxhash_rust::xxh3::xxh3_64(absolute.as_os_str().as_bytes()));
        let name = output.file_name().unwrap_or_default();
        let hidden = |suffix: &str| hidden_name(name, &format!("{tag}.{suffix}"));
        let number =
            |(number, directory): (usize, &PathBuf)| directory.join(hidden(&format!("scratch-{number}")));
        Names {
            journal: scratch_directories[0].join(hidden("journal")),
            scratch: scratch_directories.iter().enumerate().map(number).collect(),
            output_tag: format!("{tag}.output"),
        }
    }
}

/// What a journal begins with.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
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
}

/// The output, complete and on its way to its name.
#[derive(Debug, Serialize, Deserialize)]
struct Publishing {
    drive: u64,
    number: u64,
    /// What the job wants to know of it.
    result: (u64, u128),
}

/// What a later process must be asked for, too, to go on.
pub(crate) struct Task<'t> {
    pub(crate) meaning: &'t str,
    pub(crate) budget_bytes: u64,
    pub(crate) inputs: usize,
}

/// What an earlier process has left.
pub(crate) struct Left<'a> {
    pub(crate) journal: Journal<'a>,
    /// The plan as it was kept.
    plan: String,
    pub(crate) inputs: Vec<InputMark>,
    pub(crate) inputs_go_early: bool,
}

/// What a sort keeps, while it runs.
pub(crate) struct Kept<'a> {
    pub(crate) journal: Journal<'a>,
    names: Names,
    disk: &'a dyn Disk,
}

/// Looks for what an earlier process has left, and at whether to go on with it.
pub(crate) fn look<'a>(
    checkpoint: Checkpoint,
    names: &Names,
    task: &Task<'_>,
    disk: &'a dyn Disk,
    observer: &dyn Observer,
) -> Result<Option<Left<'a>>, Error> {
    let journal = match Journal::open(disk, &names.journal, checkpoint.every) {
        Ok(journal) => journal,
        Err(Error::Disk(error)) if error.source.kind() == ErrorKind::NotFound => {
            if checkpoint.begin == Begin::Resume {
                observer.notice(&format!("{}: there is none, so the sort begins", Shown(&names.journal)));
            }
            return Ok(None);
        }
        Err(Error::Disk(error)) if error.source.kind() == ErrorKind::WouldBlock => {
            return Err(Error::Settings(error.to_string()));
        }
        Err(error) => return Err(error),
    };
    let Some(head) = journal.recall::<Head>(Step::Begin)? else { return Ok(None) };
    match checkpoint.begin {
        Begin::Restart => return Ok(None),
        Begin::New => {
            return Err(Error::Settings(format!(
                "{}: a sort to this output was interrupted: go on with it (--resume), or begin anew (--restart)",
                Shown(&names.journal)
            )));
        }
        Begin::Resume => {}
    }
    let refuse = |what: &str| {
        Err(Error::Settings(format!(
            "{}: {what}; begin anew with --restart, or give the arguments of then",
            Shown(&names.journal)
        )))
    };
    if head.format != FORMAT {
        return refuse("it is another version's");
    }
    if head.meaning != task.meaning {
        return refuse("the interrupted sort had another order of other records");
    }
    if head.budget_bytes > task.budget_bytes {
        return refuse(&format!(
            "the interrupted sort has planned with {} bytes of memory",
            head.budget_bytes
        ));
    }
    if head.inputs != task.inputs as u64 {
        return refuse(&format!("the interrupted sort had {} inputs", head.inputs));
    }
    let mut inputs = Vec::with_capacity(task.inputs);
    for number in 0..head.inputs {
        match journal.recall(Step::Input(number))? {
            Some(mark) => inputs.push(mark),
            None => return Ok(None),
        }
    }
    let Head { plan, inputs_go_early, .. } = head;
    Ok(Some(Left { journal, plan, inputs, inputs_go_early }))
}

impl Left<'_> {
    /// The plan, if it can be read.
    pub(crate) fn plan<P: DeserializeOwned>(&self) -> Result<P, Error> {
        serde_json::from_str(&self.plan).map_err(|error| {
            Error::Settings(format!(
                "the plan of the interrupted sort can't be read ({error}): begin anew with --restart"
            ))
        })
    }

    /// Whether the inputs have been read.
    pub(crate) fn is_input_read(&self) -> bool {
        self.journal.has(Step::InputRead)
    }

    /// Whether an input that was opened again is what it was.
    pub(crate) fn check(&self, disk: &dyn Disk, number: usize, file: FileId) -> Result<(), Error> {
        let was = &self.inputs[number];
        let bytes = disk.file_bytes(file)?;
        let now = mark(disk, file, bytes)?;
        if now.is_as(was) {
            return Ok(());
        }
        Err(Error::Input {
            path: disk.path(file),
            reason: "it was changed since the sort was interrupted (size, time or content): begin anew with --restart".into(),
        })
    }

    /// What was to be known of the output if it has its name: then all that is left to do is to clean up.
    pub(crate) fn published(&self, disk: &dyn Disk, output: &Path) -> Result<Option<(u64, u128)>, Error> {
        let Some(Publishing { drive, number, result }) = self.journal.recall(Step::Publish)? else {
            return Ok(None);
        };
        let file = match disk.open_input(output) {
            Ok(file) => file,
            Err(error) if error.source.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let identity = disk.identity(file);
        disk.close(file);
        let identity = identity?;
        let is_it = (identity.drive, identity.number) == (drive, number);
        Ok(is_it.then_some(result))
    }
}

impl<'a> Kept<'a> {
    /// Begins a journal, and removes what is left of any other to this output.
    pub(crate) fn begin<P: Serialize>(
        disk: &'a dyn Disk,
        names: Names,
        checkpoint: Checkpoint,
        task: &Task<'_>,
        plan: &P,
        inputs: &[InputMark],
        inputs_go_early: bool,
    ) -> Result<Self, Error> {
        disk.remove_kept(&names.journal)?;
        for path in &names.scratch {
            disk.remove_kept(path)?;
        }
        let journal = Journal::create(disk, &names.journal, checkpoint.every)?;
        let head = Head {
            format: FORMAT,
            meaning: task.meaning.to_owned(),
            plan: serde_json::to_string(plan).expect("a plan is numbers and names"),
            budget_bytes: task.budget_bytes,
            inputs: inputs.len() as u64,
            inputs_go_early,
        };
        let marks = (0..).zip(inputs).map(|(number, mark)| (Step::Input(number), encoded(mark)));
        journal.begin(std::iter::once((Step::Begin, encoded(&head))).chain(marks))?;
        Ok(Kept { journal, names, disk })
    }

    /// Goes on with a journal.
    pub(crate) fn resume(disk: &'a dyn Disk, names: Names, journal: Journal<'a>) -> Self {
        Kept { journal, names, disk }
    }

    /// The end of the output's hidden name.
    pub(crate) fn output_tag(&self) -> String {
        self.names.output_tag.clone()
    }

    /// The scratch files, those of an earlier process if they are there.
    pub(crate) fn open_scratch(&self) -> Result<Vec<FileId>, Error> {
        let mut files = Vec::new();
        for path in &self.names.scratch {
            let opened = match self.disk.open_kept(path) {
                Err(error) if error.source.kind() == ErrorKind::NotFound => self.disk.create_kept(path),
                result => result,
            };
            match opened {
                Ok(file) => files.push(file),
                Err(error) => {
                    files.into_iter().for_each(|file| self.disk.close(file));
                    return Err(error.into());
                }
            }
        }
        Ok(files)
    }

    /// Notes that the output is complete and about to be put in place.
    pub(crate) fn publish(&self, output: FileId, result: (u64, u128)) -> Result<(), Error> {
        let identity = self.disk.identity(output)?;
        let publishing = Publishing { drive: identity.drive, number: identity.number, result };
        self.journal.keep(Step::Publish, &publishing);
        Ok(())
    }

    /// Removes all that is kept: the output has its name. The journal goes last, so that a later process can do the rest of it.
    pub(crate) fn end(&self) -> Result<(), Error> {
        for path in &self.names.scratch {
            self.disk.remove_kept(path)?;
        }
        self.disk.remove_kept(&self.names.journal)?;
        Ok(())
    }
}
