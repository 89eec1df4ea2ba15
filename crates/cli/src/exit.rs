//! How the program ends: one line on standard error, and a documented status.

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::io;
use xsort_disk::{Operation, is_standard_output};
use xsort_extsort::Error;

/// Exit statuses; `xsort --help` documents the same list.
pub(crate) const SUCCESS: u8 = 0;
pub(crate) const DISORDER: u8 = 1;
pub(crate) const USAGE: u8 = 2;
const INPUT: u8 = 3;
pub(crate) const SPACE: u8 = 4;
const TRANSFER: u8 = 5;
const CORRUPT: u8 = 6;
/// The status after SIGPIPE: 128 plus 13.
const CLOSED_PIPE: u8 = 141;
/// The status after a panic, including one in the main thread.
const BUG: u8 = 101;

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The pipeline failed.
    #[error(transparent)]
    Job(#[from] Error),

    /// A step of a sort in parts failed.
    #[error(transparent)]
    Part(#[from] xsort_parts::Error),

    /// The arguments don't fit together.
    #[error("{0}")]
    Usage(String),

    /// Access to a file other than the data (a summary, a man page), or to standard output.
    #[error("{what}: {source}")]
    File {
        /// The operation and the file.
        what: String,
        /// The system's reason.
        source: io::Error,
    },

    /// A signal ended a command that has no output file.
    #[error("stopped on request{so_far}")]
    Stopped {
        /// What is done so far, worded as the end of the sentence.
        so_far: &'static str,
    },

    /// The records are out of order, or not the expected ones. The verdict is printed already.
    #[error("the verdict is printed")]
    Disorder,
}

impl From<xsort_disk::Error> for Failure {
    fn from(error: xsort_disk::Error) -> Failure {
        Failure::Job(Error::Disk(error))
    }
}

impl Failure {
    /// True if standard output is a pipe that its reader has closed.
    fn is_closed_pipe(&self) -> bool {
        let Failure::Job(Error::Streamed { cause }) = self else { return false };
        let Error::Disk(error) = &**cause else { return false };
        let is_pipe = Errno::from_io_error(&error.source) == Some(Errno::PIPE);
        is_pipe && is_standard_output(&error.path)
    }

    /// The status to exit with. `stopped` is the status for the signal that came.
    pub(crate) fn code(&self, stopped: u8) -> u8 {
        match self {
            Failure::Disorder => DISORDER,
            _ if self.is_closed_pipe() => CLOSED_PIPE,
            Failure::Usage(_) => USAGE,
            Failure::Stopped { .. } => stopped,
            Failure::File { source, .. } => system_code(source, None),
            Failure::Job(error) => job_code(error, stopped),
            Failure::Part(error) => part_code(error, stopped),
        }
    }

    /// The line for standard error, or none if the failure was reported already.
    pub(crate) fn line(&self) -> Option<String> {
        match self {
            Failure::Disorder => None,
            _ if self.is_closed_pipe() => None,
            other => Some(other.to_string()),
        }
    }
}

/// The status for a failed job.
fn job_code(error: &Error, stopped: u8) -> u8 {
    match error {
        Error::Cancelled => stopped,
        Error::Settings(_) => USAGE,
        Error::Input { .. } | Error::Unordered { .. } | Error::LongLine { .. } => INPUT,
        Error::Memory { .. } | Error::Space { .. } | Error::ScratchFull { .. } => SPACE,
        Error::Corrupt { .. } | Error::Lost { .. } => CORRUPT,
        Error::Panicked => BUG,
        // A request to a store was abandoned because a signal came.
        Error::Disk(error) if error.source.kind() == io::ErrorKind::ConnectionAborted => stopped,
        Error::Disk(error) => system_code(&error.source, Some(error.operation)),
        Error::InputsRemoved { cause }
        | Error::Resumable { cause }
        | Error::Streamed { cause }
        | Error::InPlace { cause } => job_code(cause, stopped),
        _ => TRANSFER,
    }
}

/// The status for a failed step of a sort in parts.
fn part_code(error: &xsort_parts::Error, stopped: u8) -> u8 {
    match error {
        xsort_parts::Error::Engine(error) => job_code(error, stopped),
        xsort_parts::Error::MissingSlices { .. } => INPUT,
        xsort_parts::Error::DamagedSlice { .. } => CORRUPT,
        xsort_parts::Error::Invalid(_) => DISORDER,
        _ => TRANSFER,
    }
}

/// The status for an error of the system. It depends on the operation: a missing file is a bad
/// input when it is opened, and a bad setting when it is to be created. An operation that begins
/// and fails later is the drive's fault.
fn system_code(source: &io::Error, operation: Option<Operation>) -> u8 {
    use io::ErrorKind as Kind;
    let errno = Errno::from_io_error(source);
    match (source.kind(), operation) {
        (Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge | Kind::OutOfMemory, _) => {
            SPACE
        }
        // For any operation: the drive fails, or too few files may be open.
        _ if errno == Some(Errno::IO) => TRANSFER,
        _ if matches!(errno, Some(Errno::MFILE | Errno::NFILE)) => USAGE,
        // The store can't answer now, or can't be reached.
        (
            Kind::ResourceBusy | Kind::HostUnreachable | Kind::TimedOut | Kind::ConnectionReset,
            _,
        ) if errno.is_none() => TRANSFER,
        // The program itself lacks the feature; the system was not asked.
        (Kind::Unsupported, _) if errno.is_none() => USAGE,
        (_, Some(Operation::Map)) => SPACE,
        // A thread's stack needs addresses.
        (Kind::WouldBlock, Some(Operation::Start)) if getrlimit(Resource::As).current.is_some() => {
            SPACE
        }
        (_, Some(Operation::Open)) => INPUT,
        (_, Some(Operation::Create | Operation::Persist | Operation::Start)) => USAGE,
        (
            Kind::NotFound | Kind::PermissionDenied | Kind::NotADirectory,
            Some(Operation::Inspect),
        ) => USAGE,
        // Meanwhile another process created a directory of that name, or withdrew permissions.
        (
            Kind::PermissionDenied | Kind::IsADirectory,
            Some(Operation::Rename | Operation::Remove),
        ) => USAGE,
        // The file could be created at the beginning; now it is gone or can't be written to.
        (_, Some(_)) => TRANSFER,
        (
            Kind::NotFound | Kind::PermissionDenied | Kind::NotADirectory | Kind::IsADirectory,
            None,
        ) => USAGE,
        (Kind::ReadOnlyFilesystem, None) => USAGE,
        (_, None) => TRANSFER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_failure_has_its_status() {
        let disk = |operation, kind: io::ErrorKind| {
            let path = "file".into();
            Failure::from(xsort_disk::Error { operation, path, offset: None, source: kind.into() })
                .code(130)
        };
        assert_eq!(disk(Operation::Open, io::ErrorKind::NotFound), INPUT);
        assert_eq!(disk(Operation::Open, io::ErrorKind::PermissionDenied), INPUT);
        assert_eq!(disk(Operation::Create, io::ErrorKind::NotFound), USAGE);
        assert_eq!(disk(Operation::Create, io::ErrorKind::StorageFull), SPACE);
        assert_eq!(disk(Operation::Write, io::ErrorKind::StorageFull), SPACE);
        assert_eq!(disk(Operation::Write, io::ErrorKind::Other), TRANSFER);
        assert_eq!(disk(Operation::Rename, io::ErrorKind::IsADirectory), USAGE);
        assert_eq!(disk(Operation::Rename, io::ErrorKind::NotFound), TRANSFER);
        assert_eq!(disk(Operation::Write, io::ErrorKind::PermissionDenied), TRANSFER);
        assert_eq!(disk(Operation::Read, io::ErrorKind::NotFound), TRANSFER);
        assert_eq!(disk(Operation::Persist, io::ErrorKind::PermissionDenied), USAGE);
        assert_eq!(disk(Operation::SyncName, io::ErrorKind::PermissionDenied), TRANSFER);
        assert_eq!(disk(Operation::SyncName, io::ErrorKind::StorageFull), SPACE);
        assert_eq!(disk(Operation::Create, io::ErrorKind::ReadOnlyFilesystem), USAGE);
        assert_eq!(disk(Operation::Write, io::ErrorKind::ReadOnlyFilesystem), TRANSFER);
        let failing = |operation| {
            Failure::from(xsort_disk::Error::new(operation, "file", Errno::IO)).code(130)
        };
        assert_eq!((failing(Operation::Open), failing(Operation::Create)), (TRANSFER, TRANSFER));
        let refused = xsort_disk::Error::new(Operation::Open, "file", Errno::MFILE);
        assert_eq!(Failure::from(refused).code(130), USAGE);
        // A URL that no store serves.
        for operation in [Operation::Open, Operation::Create, Operation::Inspect] {
            assert_eq!(disk(operation, io::ErrorKind::Unsupported), USAGE);
        }
        for operation in [Operation::Open, Operation::Create, Operation::Inspect] {
            assert_eq!(disk(operation, io::ErrorKind::ResourceBusy), TRANSFER);
            assert_eq!(disk(operation, io::ErrorKind::ConnectionAborted), 130);
        }
        assert_eq!(disk(Operation::Inspect, io::ErrorKind::NotFound), USAGE);
        assert_eq!(disk(Operation::Inspect, io::ErrorKind::StaleNetworkFileHandle), TRANSFER);
        assert_eq!(Failure::Job(Error::Panicked).code(130), BUG);
        assert_eq!(Failure::Job(Error::Cancelled).code(143), 143);
        assert_eq!(Failure::Job(Error::Settings(String::new())).code(130), USAGE);
        assert_eq!(
            Failure::Job(Error::Memory { budget_bytes: 1, needed_bytes: 2 }).code(130),
            SPACE
        );
        assert_eq!(Failure::Job(Error::Lost { what: String::new() }).code(130), CORRUPT);
    }
}
