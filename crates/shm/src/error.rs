//! Errors of writers and readers and their files.
//!
//! One enum. Its text says which file, what is wrong with it, and the remedy if there is one.

use std::io;
use std::path::PathBuf;

/// A failure of a [`Writer`](crate::Writer), a [`Reader`](crate::Reader) or
/// [`remove`](crate::remove).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused an operation: no such file, no permission, no space.
    #[error("{operation} {}: {source}", path.display())]
    Io {
        /// The operation, as the beginning of a sentence.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// There is no version yet: the writer has not started, has not written, or died before it
    /// wrote.
    #[error(
        "{} has no version yet: no writer has been there, or it has not written any; wait for one, \
         or start it",
        path.display()
    )]
    NotReady {
        /// The file of the state.
        path: PathBuf,
    },
    /// Another writer lives.
    #[error("{} has another writer, which lives", path.display())]
    Busy {
        /// The prefix of the files.
        path: PathBuf,
    },
    /// The file is not from this version of this crate, or it is damaged. It is left unchanged.
    #[error(
        "{} is not what it should be: {what}; if it is no longer needed, remove it",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Another user owns the file, and could change it at any time. It is left unchanged.
    #[error("{} belongs to user {owner}: {remedy}", path.display())]
    WrongOwner {
        /// The file.
        path: PathBuf,
        /// The user ID of its owner.
        owner: u32,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The current version's word or buffer is inconsistent. The next version may be intact.
    #[error("{} is damaged: {what}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The bytes are not a value of the requested type.
    #[error("version {sequence} is not an archive of {type_name}: {what}")]
    NotThatType {
        /// The version's number.
        sequence: u64,
        /// The requested type.
        type_name: &'static str,
        /// The check's message.
        what: String,
    },
    /// The value can't be archived.
    #[error("archiving a {type_name}: {what}")]
    NotArchived {
        /// The value's type.
        type_name: &'static str,
        /// The archiver's message.
        what: String,
    },
    /// All slots are taken, by reading threads and by the versions that they hold.
    #[error(
        "{} has no slot left of its {capacity}: raise readers_max in the writer's options, or hold \
         fewer versions",
        path.display()
    )]
    TooManyReaders {
        /// The file of the slots.
        path: PathBuf,
        /// Number of slots.
        capacity: usize,
    },
    /// A reader without a slot could not complete a copy: versions were replaced faster each time.
    #[error(
        "{}: versions were replaced faster than they could be copied, {tries} times; a slot avoids \
         this: let this user write {}",
        path.display(),
        readers.display()
    )]
    Overtaken {
        /// The prefix of the files.
        path: PathBuf,
        /// The file of the slots.
        readers: PathBuf,
        /// Number of attempts.
        tries: u32,
    },
    /// This writer was inherited by a fork and belongs to the parent.
    #[error("{} is written by the parent of this process", path.display())]
    Forked {
        /// The prefix of the files.
        path: PathBuf,
    },
    /// The version number has reached its maximum.
    #[error("{} has had 2^52 versions; remove its files to begin again", path.display())]
    Exhausted {
        /// The prefix of the files.
        path: PathBuf,
    },
}

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns a function for `map_err` that adds operation and path to the system's error.
    pub(crate) fn io<P: Into<PathBuf>>(
        operation: &'static str,
        path: P,
    ) -> impl FnOnce(io::Error) -> Error + use<P> {
        move |source| Error::Io { operation, path: path.into(), source }
    }

    /// Returns whether the system denied permission.
    pub(crate) fn is_denial(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Returns whether the file doesn't exist.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}
