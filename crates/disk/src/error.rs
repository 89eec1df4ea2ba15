//! Errors of transfers between memory and a drive.
//!
//! One enum of operations, and one error with the place and the system's reason. The error's text
//! is one line that a user with only a terminal can act on: the operation, the file, the offset,
//! the reason, and the usual remedy if there is one.
//!
//! It doesn't classify errors for retries. Whatever can be retried (EINTR, EAGAIN, short transfers)
//! has been retried before an error is returned.

use crate::DisplayPath;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Opening a file.
    Open,
    /// Creating a file.
    Create,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Reserving space.
    Reserve,
    /// Making a file's content durable.
    Sync,
    /// Renaming into place.
    Rename,
    /// Making the name of an output durable. The output is already in place and complete.
    SyncName,
    /// Creating or reopening a file that outlives the process, under a name that xsort chose.
    Persist,
    /// Removing.
    Remove,
    /// Giving disk space back to the file system.
    Discard,
    /// Asking for a file's or a drive's properties.
    Inspect,
    /// Mapping memory.
    Map,
    /// Setting up the I/O engine.
    Start,
}

impl Operation {
    /// Returns a function for `map_err`, which wraps the system's reason in an error about all of a
    /// file, a directory or an engine.
    pub fn failed_on<E: Into<io::Error>>(self, path: impl AsRef<Path>) -> impl FnOnce(E) -> Error {
        move |source| Error::new(self, path.as_ref(), source)
    }
}

impl fmt::Display for Operation {
    /// Writes the beginning of a phrase whose object is the path: "reading".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Open => "opening",
            Operation::Create => "creating",
            Operation::Read => "reading",
            Operation::Write => "writing",
            Operation::Reserve => "reserving space for",
            Operation::Sync => "making durable",
            Operation::Rename => "putting into place",
            Operation::SyncName => "making durable the name of",
            Operation::Persist => "keeping what is finished in",
            Operation::Remove => "removing",
            Operation::Discard => "giving back space of",
            Operation::Inspect => "inspecting",
            Operation::Map => "mapping memory",
            Operation::Start => "starting",
        })
    }
}

/// A failed operation on a file: what, where and why. Its text is one line that ends with the
/// remedy if one is known: `reading /data/in at byte 1048576: Input/output error (os error 5): <way
/// out>`.
#[derive(Debug)]
pub struct Error {
    /// The operation that failed.
    pub operation: Operation,
    /// The file or directory; empty for memory; the engine's name for [`Operation::Start`].
    pub path: PathBuf,
    /// The offset in bytes, for transfers.
    pub offset: Option<u64>,
    /// The operating system's reason.
    pub source: io::Error,
}

impl Error {
    /// Returns an error about a whole file, directory or engine.
    pub fn new(
        operation: Operation,
        path: impl Into<PathBuf>,
        source: impl Into<io::Error>,
    ) -> Error {
        Error { operation, path: path.into(), offset: None, source: source.into() }
    }

    /// Returns an error about a file at `offset` bytes from its beginning.
    pub fn at(
        operation: Operation,
        path: impl Into<PathBuf>,
        offset: u64,
        source: impl Into<io::Error>,
    ) -> Error {
        Error { operation, path: path.into(), offset: Some(offset), source: source.into() }
    }

    /// Returns the error for a failed read of `path`. If `error` wraps an error of this type,
    /// returns that one unchanged.
    pub fn of_read(path: impl Into<PathBuf>, error: io::Error) -> Error {
        error.downcast().unwrap_or_else(|error| Error::new(Operation::Read, path, error))
    }

    /// Returns what the user can do about the error, if there is a usual answer. The error's text
    /// already includes it.
    pub fn way_out(&self) -> Option<&'static str> {
        if self.operation == Operation::SyncName {
            return Some(
                "the output is in place, new and whole, but a power cut may still undo that: \
                 see the kernel's log (dmesg), and keep a copy of it on another drive, or run \
                 sync when this one is well",
            );
        }
        let errno = Errno::from_io_error(&self.source)?;
        way_out_of_operation(errno, self.operation).or_else(|| way_out_of_any(errno))
    }
}

/// Returns the remedy for an error number in a particular operation.
fn way_out_of_operation(errno: Errno, operation: Operation) -> Option<&'static str> {
    use Operation::{
        Create, Discard, Inspect, Map, Open, Persist, Read, Remove, Rename, Reserve, Start, Sync,
        Write,
    };
    Some(match (errno, operation) {
        (Errno::EXIST, Create | Rename) => {
            "--no-clobber keeps it: choose another name, or remove it first"
        }
        (Errno::NOMEM, Map) => "use a smaller memory budget (-m), or raise the limit (ulimit -v)",
        (Errno::IO, Read | Write | Sync | Persist | Discard | Inspect) => {
            "the drive or its connection is failing; see the kernel's log (dmesg) and keep a \
             copy of what is still readable"
        }
        (Errno::ACCESS | Errno::PERM, Open | Inspect) => "you have no permission to read it",
        (
            Errno::EXIST | Errno::PERM | Errno::ACCESS | Errno::LOOP | Errno::ISDIR | Errno::NXIO,
            Persist,
        ) => {
            "this name is for what xsort keeps of a sort to this output, and something else has \
             it, or you may not write there: move that away, or choose another directory (-T \
             for scratch, -o for the output)"
        }
        (Errno::ISDIR, Remove) => {
            "a directory has this name, which is for what xsort keeps: move it away, or choose \
             another directory (-T for scratch)"
        }
        (Errno::ACCESS | Errno::PERM, Create | Rename | Remove) => {
            "you have no permission to write there; choose another directory, or change its \
             permissions"
        }
        (Errno::NOENT, Open | Inspect) => "there is no such file; check the name",
        (Errno::NOTDIR, Create | Persist) => {
            "a part of this path is a file, not a directory; choose another"
        }
        (Errno::NOENT, Create | Persist) => {
            "its directory does not exist; create it first, or choose another"
        }
        (Errno::NOENT, Rename) => "its directory has vanished since the start",
        (Errno::NODEV | Errno::NXIO, Read | Write | Sync) => {
            "the drive has vanished; was it unplugged?"
        }
        (Errno::AGAIN, Read | Write) => {
            "the system had no resources for the transfer for seconds; is it out of memory?"
        }
        (Errno::AGAIN, Open | Create | Persist) => {
            "another process has it (see xsort status), or had it a moment ago: try again when \
             that has ended"
        }
        (Errno::AGAIN | Errno::NOMEM, Start) if getrlimit(Resource::As).current.is_some() => {
            "there is no room for a thread's stack, or the system allows no more threads; raise \
             the limit on the address space (ulimit -v), or that on threads (ulimit -u)"
        }
        (Errno::AGAIN, Start) => {
            "the system allows no more threads, or has no memory for one; raise the limit \
             (ulimit -u)"
        }
        (Errno::OPNOTSUPP, Reserve) => "this file system can't reserve space",
        _ => return None,
    })
}

/// Returns the remedy for an error number in any operation without one of its own.
fn way_out_of_any(errno: Errno) -> Option<&'static str> {
    Some(match errno {
        Errno::NOMEM => "the system is out of memory for I/O; use a smaller memory budget (-m)",
        Errno::NOSPC => {
            "free some space there, or use another drive (-T for scratch, -o for the output)"
        }
        Errno::DQUOT => {
            "your disk quota is used up; free some space, or use another drive (-T for scratch, \
             -o for the output)"
        }
        Errno::FBIG => {
            "the file system or a limit (ulimit -f) allows no larger file; use another drive"
        }
        Errno::ROFS => "the file system is mounted read-only; choose another directory",
        Errno::MFILE => "this process may open no more files; raise the limit (ulimit -n)",
        Errno::NFILE => "the whole system may open no more files (sysctl fs.file-max)",
        Errno::LOOP => "its symbolic links lead in a circle",
        Errno::NAMETOOLONG => "choose a shorter name",
        Errno::STALE => "the network file system lost the file; was it replaced on the server?",
        _ => return None,
    })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.operation)?;
        if !self.path.as_os_str().is_empty() {
            write!(f, " {}", DisplayPath(&self.path))?;
        }
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {}", self.source)?;
        match self.way_out() {
            Some(way_out) => write!(f, ": {way_out}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    /// `None`: this error's text already contains the system's reason, and a printed chain would
    /// repeat it.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_operation_path_offset_reason_and_way_out() {
        let error = Error::at(Operation::Read, "/data/in", 1048576, Errno::IO);
        let text = error.to_string();
        assert!(
            text.starts_with(
                "reading /data/in at byte 1048576: Input/output error (os error 5): the drive"
            ),
            "{text}"
        );
        let text = Error::new(Operation::Write, "/scratch", Errno::NOSPC).to_string();
        assert!(text.contains("free some space") && text.contains("-T"), "{text}");
        let text = Error::new(Operation::Map, "", Errno::NOMEM).to_string();
        assert!(text.starts_with("mapping memory: Cannot allocate memory"), "{text}");
    }

    /// Otherwise the file and the operation would be named twice.
    #[test]
    fn the_disks_own_error_of_a_read_stays_as_it_is() {
        let own = Error::at(Operation::Read, "/data/in", 4096, Errno::IO);
        let text = own.to_string();
        let read = |error| Error::of_read("/other", error).to_string();
        assert_eq!(read(io::Error::other(own)), text);
        assert_eq!(read(io::Error::other("broken")), "reading /other: broken");
    }

    #[test]
    fn every_text_is_one_line() {
        let operations = [
            Operation::Open,
            Operation::Create,
            Operation::Read,
            Operation::Write,
            Operation::Sync,
            Operation::SyncName,
            Operation::Persist,
            Operation::Map,
        ];
        for errno in 1..134 {
            for operation in operations {
                let text =
                    Error::new(operation, "/x", io::Error::from_raw_os_error(errno)).to_string();
                assert!(!text.contains('\n') && text.contains("os error"), "{text}");
            }
        }
    }
}
