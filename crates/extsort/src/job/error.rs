//! Why a job ended without a result. Each message is one line, and ends with what to do about it if
//! anything can be done.

use super::units::{Bytes, Decimal, SizeOption, round_up};
use std::path::{Path, PathBuf};
use xsort_disk::{Disk, DisplayPath, FileId, Operation, device_name};
use xsort_records::Checksum;

const MIB: u64 = 1 << 20;

/// A job's failure. No scratch is left behind, and the old output is intact; except that after a
/// failed [`Operation::SyncName`](xsort_disk::Operation::SyncName) the new output is in place,
/// whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A transfer or file operation failed.
    #[error(transparent)]
    Disk(#[from] xsort_disk::Error),

    /// An input can't be what the arguments say it is.
    #[error("{}: {reason}", DisplayPath(path))]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },

    /// A line is longer than the budget has room for.
    #[error(
        "{}: {}",
        DisplayPath(path),
        long_line(*bytes, *is_whole, *budget_bytes, *needed_bytes)
    )]
    LongLine {
        /// The input that has it.
        path: PathBuf,
        /// Bytes of the line, its delimiter included, or as many as were looked at.
        bytes: u64,
        /// Whether its end was found.
        is_whole: bool,
        /// The budget in bytes.
        budget_bytes: u64,
        /// The smallest budget that is enough, in bytes; `None` if none is.
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
        /// The smallest budget that works, in bytes.
        needed_bytes: u64,
    },

    /// The drives of all scratch directories have become full.
    #[error(
        "{}: no free space is left after {} of scratch in {place}{}: free some, or add a \
         directory on another drive with -T",
        DisplayPath(directory),
        Decimal(*used_bytes as f64),
        of_expected(*expected_bytes)
    )]
    ScratchFull {
        /// The first directory.
        directory: PathBuf,
        /// All directories.
        place: String,
        /// Bytes of scratch there.
        used_bytes: u64,
        /// Bytes that scratch was expected to take at most, if that is known.
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
        /// What the space is for.
        purpose: String,
        /// Bytes needed.
        needed_bytes: u64,
        /// Bytes free.
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

    /// Bytes came back from a drive other than they were written.
    #[error(
        "{} at byte {offset}: {what}: the drive ({device}) or the memory is failing; \
         run again with -T on another drive",
        DisplayPath(path)
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The offset in bytes.
        offset: u64,
        /// The device that it is on, as [`xsort_disk::device_name`] has it.
        device: String,
        /// What is wrong with it.
        what: String,
    },

    /// What came out is not what went in.
    #[error(
        "{what}: the output was not put in place; \
         this is a fault of xsort or of the machine's memory, please report it"
    )]
    Lost {
        /// Counts and checksums of both sides.
        what: String,
    },

    /// Other lines were written than were read.
    #[error(
        "lines with checksum {read:016x} were read, and with {written:016x} written: \
         don't trust the output; \
         this is a fault of xsort or of the machine's memory, please report it"
    )]
    LostLines {
        /// The sum of the hashes of all lines read.
        read: u64,
        /// That of those written or dropped.
        written: u64,
    },

    /// A record that was pushed is longer than the budget can carry. It was not taken; shorter ones
    /// may follow.
    #[error("{}", long_record(*bytes, *budget_bytes, *needed_bytes))]
    LongRecord {
        /// Bytes of it and its key.
        bytes: u64,
        /// The budget in bytes.
        budget_bytes: u64,
        /// The smallest budget that is enough, in bytes; `None` if none is.
        needed_bytes: Option<u64>,
    },

    /// Other records came out of a sort than were pushed.
    #[error(
        "{pushed} records of {pushed_bytes} bytes were pushed, and {taken} of {taken_bytes} came \
         out: don't trust them; \
         this is a fault of xsort or of the machine's memory, please report it"
    )]
    LostRecords {
        /// Records that were pushed.
        pushed: u64,
        /// Bytes of them and their keys.
        pushed_bytes: u64,
        /// Records that came out.
        taken: u64,
        /// Bytes of them and their keys.
        taken_bytes: u64,
    },

    /// The job has failed before, and somebody has the error itself.
    #[error("the sort has failed: {cause}")]
    HasFailed {
        /// What that error said.
        cause: String,
    },

    /// The job failed after the inputs were removed on request.
    #[error(
        "{cause}; the inputs had been removed already (--remove-input): \
         without another copy their records are LOST"
    )]
    InputsRemoved {
        /// Why it failed.
        cause: Box<Error>,
    },

    /// The job failed, and a later process can resume it.
    #[error(
        "{}; what was finished is kept: go on with --resume, or begin anew with --restart",
        cause.resumable_cause()
    )]
    Resumable {
        /// Why it failed.
        cause: Box<Error>,
    },

    /// The job failed after it had begun to write to a stream.
    #[error("{}; standard output has only a part of the records", cause.streamed_cause())]
    Streamed {
        /// Why it failed.
        cause: Box<Error>,
    },

    /// The output is in place, but a step after that failed.
    #[error("{cause}; the output is in place, new and whole")]
    InPlace {
        /// What failed.
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

/// How much scratch was expected, if that is known.
fn of_expected(bytes: Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!(", of {} expected", Decimal(round_up(bytes))))
}

/// Why a line is too long, and what would be enough for it.
fn long_line(bytes: u64, is_whole: bool, budget_bytes: u64, needed_bytes: Option<u64>) -> String {
    let least = if is_whole { "" } else { "at least " };
    let way_out = match needed_bytes {
        _ if !is_whole => "are its lines ended otherwise (-z)?".to_owned(),
        Some(needed) => {
            format!("-S {}M is enough for this line, a longer one needs more", needed.div_ceil(MIB))
        }
        None => "no budget is enough".to_owned(),
    };
    let budget = Bytes(budget_bytes);
    format!("a line of {least}{bytes} bytes is too long for a memory budget of {budget}: {way_out}")
}

/// Why a record is too long, and what would be enough for it.
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

impl Error {
    /// Names the output in an error of writing to it.
    #[must_use]
    pub fn of_output(self, path: &Path) -> Error {
        match self {
            Error::Output(source) => xsort_disk::Error::new(Operation::Write, path, source).into(),
            error => error,
        }
    }

    /// Compares what was read with what would be written.
    ///
    /// # Errors
    /// [`Error::Lost`] if that isn't the same.
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

    /// The cause of a [`Error::Resumable`], which leaves scratch where it is.
    fn resumable_cause(&self) -> String {
        match self {
            Error::Cancelled => "stopped on request".to_owned(),
            cause => cause.to_string(),
        }
    }

    /// The cause of a [`Error::Streamed`], whose output has no place.
    fn streamed_cause(&self) -> String {
        match self {
            Error::Lost { what } => format!(
                "{what}; this is a fault of xsort or of the machine's memory, please report it"
            ),
            cause => cause.resumable_cause(),
        }
    }

    /// This error, once the new output is in place.
    pub(crate) fn after_publishing(self) -> Error {
        Error::InPlace { cause: Box::new(self) }
    }

    /// Damage in a file at a byte offset.
    pub(crate) fn corrupt(disk: &dyn Disk, file: FileId, offset: u64, what: String) -> Error {
        let device = disk
            .identity(file)
            .map_or_else(|_| "unknown".to_owned(), |file| device_name(file.drive));
        Error::Corrupt { path: disk.path(file), offset, device, what }
    }
}
