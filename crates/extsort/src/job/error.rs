//! Errors of jobs. Each message is one line, and ends with what to do, if anything can be done.

use super::units::{Bytes, Decimal, SizeOption, round_up};
use std::path::{Path, PathBuf};
use xsort_disk::{Disk, DisplayPath, FileId, Operation, device_name};
use xsort_records::Checksum;

const MIB: u64 = 1 << 20;

/// A job's failure. No scratch is left, and the old output is intact. The exception is a failed
/// [`Operation::SyncName`](xsort_disk::Operation::SyncName), after which the new output is
/// published and complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A transfer or file operation failed.
    #[error(transparent)]
    Disk(#[from] xsort_disk::Error),

    /// An input doesn't match the arguments.
    #[error("{}: {reason}", DisplayPath(path))]
    Input {
        /// Path of the input.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },

    /// An input of a merge is not in order.
    #[error("{}: {reason}", DisplayPath(path))]
    Unordered {
        /// Path of the input.
        path: PathBuf,
        /// The first record or row that belongs before the one before it, and what to do.
        reason: String,
    },

    /// A line, or a record of several lines, is too long for the budget.
    #[error(
        "{}: {}",
        DisplayPath(path),
        long_line(*bytes, [*is_whole, *is_record], *budget_bytes, *needed_bytes)
    )]
    LongLine {
        /// Path of the input with the line.
        path: PathBuf,
        /// Size of the line in bytes, including its delimiter; or the number of bytes examined.
        bytes: u64,
        /// True if the end of the line was found.
        is_whole: bool,
        /// True if it is a record of several lines.
        is_record: bool,
        /// The budget in bytes.
        budget_bytes: u64,
        /// The smallest sufficient budget in bytes; `None` if no budget is.
        needed_bytes: Option<u64>,
    },

    /// The arguments contradict each other or the machine.
    #[error("{0}")]
    Settings(String),

    /// The budget is too small for any plan.
    #[error(
        "a memory budget of {} is too small for this job: it needs at least {} (-m {})",
        Bytes(*budget_bytes),
        Bytes(*needed_bytes),
        SizeOption(*needed_bytes)
    )]
    Memory {
        /// The budget in bytes.
        budget_bytes: u64,
        /// The smallest sufficient budget in bytes.
        needed_bytes: u64,
    },

    /// Lines or records that looked sorted are not. The sort that assumed so begins again, so no
    /// caller gets this error.
    #[error("the input isn't in the order that a part of it is in")]
    NotInOrder,

    /// A line of a sorted input belongs before the line before it.
    #[error("{}: line {number} belongs before the line before it", DisplayPath(path))]
    NotSorted {
        /// Path of the input.
        path: PathBuf,
        /// Number of the line, from 1.
        number: u64,
        /// The line, in the form in which it is merged.
        line: Vec<u8>,
        /// The line before it.
        before: Vec<u8>,
    },

    /// A line of an incremental sort belongs before lines that have left.
    #[error(
        "{}: line {number} comes too late: {lag}: raise it, or write such lines to a file \
         (--late FILE)",
        DisplayPath(path)
    )]
    Late {
        /// Path of the input.
        path: PathBuf,
        /// Number of the line, from 1.
        number: u64,
        /// The line, in the form in which it is sorted.
        line: Vec<u8>,
        /// By how much it is too late.
        lag: String,
    },

    /// The output of late lines could not be written.
    #[error("write failed: late lines: {0}")]
    LateOutput(std::io::Error),

    /// All scratch drives are full.
    #[error(
        "{}: no free space is left after {} of scratch in {place}{}: free some, or add a \
         directory on another drive with -T",
        DisplayPath(directory),
        Decimal(*used_bytes as f64),
        of_expected(*expected_bytes)
    )]
    ScratchFull {
        /// The first scratch directory.
        directory: PathBuf,
        /// All scratch directories.
        place: String,
        /// Bytes of scratch in use.
        used_bytes: u64,
        /// Maximum bytes of scratch that were expected, if known.
        expected_bytes: Option<u64>,
    },

    /// A directory has too little free space.
    #[error(
        "{}: {} of free space needed for {purpose}, {} there: {way_out}",
        DisplayPath(directory),
        Decimal(round_up(*needed_bytes)),
        Decimal(*free_bytes as f64)
    )]
    Space {
        /// The directory.
        directory: PathBuf,
        /// The purpose of the space.
        purpose: String,
        /// Number of bytes needed.
        needed_bytes: u64,
        /// Number of bytes free.
        free_bytes: u64,
        /// What to do.
        way_out: String,
    },

    /// The output could not be written.
    #[error("write failed: {0}")]
    Output(std::io::Error),

    /// A compression library failed.
    #[error("compression failed: {0}")]
    Codec(std::io::Error),

    /// Bytes read from a drive differ from the bytes written.
    #[error(
        "{} at byte {offset}: {what}: the drive ({device}) or the memory is failing; \
         run again with -T on another drive",
        DisplayPath(path)
    )]
    Corrupt {
        /// Path of the file.
        path: PathBuf,
        /// Offset in bytes.
        offset: u64,
        /// The file's device, as returned by [`xsort_disk::device_name`].
        device: String,
        /// What is wrong with the file.
        what: String,
    },

    /// The output's records differ from the input's.
    #[error(
        "{what}: the output was not put in place; \
         this is a fault of xsort or of the machine's memory, please report it"
    )]
    Lost {
        /// Counts and checksums of both sides.
        what: String,
    },

    /// The lines written differ from the lines read.
    #[error(
        "lines with checksum {read:016x} were read, and with {written:016x} written: \
         don't trust the output; \
         this is a fault of xsort or of the machine's memory, please report it"
    )]
    LostLines {
        /// Sum of the hashes of all lines read.
        read: u64,
        /// Sum of the hashes of all lines written or dropped.
        written: u64,
    },

    /// A pushed record is too long for the budget. It was not accepted; shorter records may follow.
    #[error("{}", long_record(*bytes, *budget_bytes, *needed_bytes))]
    LongRecord {
        /// Size of the record and its key in bytes.
        bytes: u64,
        /// The budget in bytes.
        budget_bytes: u64,
        /// The smallest sufficient budget in bytes; `None` if no budget is.
        needed_bytes: Option<u64>,
    },

    /// The records that came out of a sort differ from the records pushed.
    #[error(
        "{pushed} records of {pushed_bytes} bytes were pushed, and {taken} of {taken_bytes} came \
         out: don't trust them; \
         this is a fault of xsort or of the machine's memory, please report it"
    )]
    LostRecords {
        /// Number of records pushed.
        pushed: u64,
        /// Size of these records and their keys in bytes.
        pushed_bytes: u64,
        /// Number of records that came out.
        taken: u64,
        /// Size of these records and their keys in bytes.
        taken_bytes: u64,
    },

    /// The job failed earlier, and another caller received its error.
    #[error("the sort has failed: {cause}")]
    HasFailed {
        /// The message of that error.
        cause: String,
    },

    /// The job failed after the inputs were removed on request.
    #[error(
        "{cause}; the inputs had been removed already (--remove-input): \
         without another copy their records are LOST"
    )]
    InputsRemoved {
        /// The cause of the failure.
        cause: Box<Error>,
    },

    /// The job failed, and a later process can resume it.
    #[error(
        "{}; what was finished is kept: go on with --resume, or begin anew with --restart",
        cause.resumable_cause()
    )]
    Resumable {
        /// The cause of the failure.
        cause: Box<Error>,
    },

    /// The job failed after it had begun to write to a stream.
    #[error("{}; standard output has only a part of the records", cause.streamed_cause())]
    Streamed {
        /// The cause of the failure.
        cause: Box<Error>,
    },

    /// The output is published, but a later step failed.
    #[error("{cause}; the output is in place, new and whole")]
    InPlace {
        /// The cause of the failure.
        cause: Box<Error>,
    },

    /// A thread panicked.
    #[error(
        "a thread failed, for the reason that it gave above: \
         this is a fault of xsort, please report it"
    )]
    Panicked,

    /// The observer asked to stop.
    #[error("stopped on request: the output was not put in place and scratch is gone")]
    Cancelled,
}

/// The part of a message that names the expected scratch, if known.
fn of_expected(bytes: Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!(", of {} expected", Decimal(round_up(bytes))))
}

/// Says why a line is too long, and which budget is sufficient.
fn long_line(
    bytes: u64,
    [is_whole, is_record]: [bool; 2],
    budget_bytes: u64,
    needed_bytes: Option<u64>,
) -> String {
    let least = if is_whole { "" } else { "at least " };
    let what = if is_record { "record" } else { "line" };
    let way_out = match needed_bytes {
        _ if !is_whole && is_record => "do records begin or end otherwise?".to_owned(),
        _ if !is_whole => "are its lines ended otherwise (-z)?".to_owned(),
        Some(needed) => {
            let enough = needed.div_ceil(MIB);
            format!("-S {enough}M is enough for this {what}, a longer one needs more")
        }
        None => "no budget is enough".to_owned(),
    };
    let budget = Bytes(budget_bytes);
    format!(
        "a {what} of {least}{bytes} bytes is too long for a memory budget of {budget}: {way_out}"
    )
}

/// Says why a record is too long, and which budget is sufficient.
fn long_record(bytes: u64, budget_bytes: u64, needed_bytes: Option<u64>) -> String {
    let way_out = match needed_bytes {
        Some(needed) => format!("{} of memory are enough for it", Bytes(needed)),
        None => "no budget is enough for it".to_owned(),
    };
    let budget = Bytes(budget_bytes);
    format!(
        "a record of {bytes} bytes with its key is too long for a memory budget of {budget}: \
         {way_out}, or push a reference to it in its place"
    )
}

/// Why an output can't have its index, as the cause of an error of a write.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unindexed(pub(crate) String);

impl Error {
    /// Adds the output's path to an error of writing the output.
    #[must_use]
    pub fn of_output(self, path: &Path) -> Error {
        match self.of_index(path) {
            Error::Output(source) => xsort_disk::Error::new(Operation::Write, path, source).into(),
            error => error,
        }
    }

    /// Makes an error of writing the output one of its content, if it can't be in an index.
    #[must_use]
    pub fn of_index(self, output: &Path) -> Error {
        let unindexed = |source: &std::io::Error| Some(source.get_ref()?.is::<Unindexed>());
        match self {
            Error::Output(source) if unindexed(&source) == Some(true) => {
                Error::Input { path: output.to_owned(), reason: source.to_string() }
            }
            error => error,
        }
    }

    /// Adds the path to an error of writing late lines.
    #[must_use]
    pub fn of_late_output(self, path: &Path) -> Error {
        match self {
            Error::LateOutput(source) => Error::Output(source).of_output(path),
            error => error,
        }
    }

    /// Compares the checksum of the records read with that of the records to be written.
    ///
    /// # Errors
    /// [`Error::Lost`] if they differ.
    pub fn check_balance(read: Checksum, written: Checksum) -> Result<(), Error> {
        if written == read {
            return Ok(());
        }
        let what = format!(
            "{} records with checksum {read} were read, and {} with {written} would be written",
            read.records(),
            written.records()
        );
        Err(Error::Lost { what })
    }

    /// The cause of an [`Error::Resumable`]. Unlike other errors, it doesn't say that scratch is
    /// gone.
    fn resumable_cause(&self) -> String {
        match self {
            Error::Cancelled => "stopped on request".to_owned(),
            cause => cause.to_string(),
        }
    }

    /// The cause of an [`Error::Streamed`]. Unlike other errors, it doesn't mention an output's
    /// place.
    fn streamed_cause(&self) -> String {
        match self {
            Error::Lost { what } => format!(
                "{what}; this is a fault of xsort or of the machine's memory, please report it"
            ),
            cause => cause.resumable_cause(),
        }
    }

    /// Wraps an error that occurred after the output was published.
    pub(crate) fn after_publishing(self) -> Error {
        Error::InPlace { cause: Box::new(self) }
    }

    /// The error for damage in a file at a byte offset.
    pub(crate) fn corrupt(disk: &dyn Disk, file: FileId, offset: u64, what: String) -> Error {
        let device = disk
            .identity(file)
            .map_or_else(|_| "unknown".to_owned(), |file| device_name(file.drive));
        Error::Corrupt { path: disk.path(file), offset, device, what }
    }
}
