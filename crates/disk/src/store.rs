//! The interface of a disk: files by role (input, output, scratch), transfers, and the properties
//! of drives.

use crate::{Error, FileId, Found, ListedFile, Request};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Properties of the drive (file system) that holds a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drive {
    /// The device number: equal for two paths that share their free space.
    pub id: u64,
    /// Free space that this user may fill, in bytes.
    pub free_bytes: u64,
    /// True if the file system keeps its files in memory (tmpfs, ramfs).
    pub is_memory: bool,
    /// True if overwriting bytes of a file reuses their space and takes no other space in the
    /// meantime.
    pub overwrites: bool,
    /// The job's limit in bytes per second, for reads and writes together, if it has one.
    pub limit_bytes_per_second: Option<u64>,
    /// Name of the file system's type if known ("ext4", "tmpfs").
    pub kind: String,
}

/// The identity of a file, independent of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// [`Drive::id`] of its drive.
    pub drive: u64,
    /// Its inode number.
    pub number: u64,
    /// Number of its hard links.
    pub links: u64,
    /// When its bytes were last changed: seconds since 1970, and nanoseconds.
    pub modified: (i64, u64),
    /// A hash of the store's tag of its content; 0 for files, which have no tag.
    pub content: u64,
}

/// A part of an output that a store has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPart {
    /// Its length in bytes.
    pub bytes: u64,
    /// Its CRC-32.
    pub crc: u32,
    /// The store's tag of its content.
    pub tag: String,
}

/// Inputs: which files there are, and that they stay as they are while they are read.
pub trait InputFiles {
    /// Returns what a path leads to; links are followed. A missing file is [`Found::Missing`], not
    /// an error. A URL that ends in a slash is a [`Found::Directory`].
    fn find(&self, path: &Path) -> Result<Found, Error>;

    /// Passes every regular file whose path begins with the bytes of `prefix` to `found`, at any
    /// depth and in any order, until that returns `Break`. With `data/` these are all files below
    /// the directory `data`, with `data/part-` only those whose names begin with `part-`. Names
    /// that end in a slash, which some stores have for directories, are left out.
    ///
    /// Finding no file is no error, but a missing directory may be one.
    fn list(
        &self,
        prefix: &Path,
        found: &mut dyn FnMut(ListedFile) -> ControlFlow<()>,
    ) -> Result<(), Error>;

    /// Announces which files will be opened soon, in this order. A disk that takes long to open a
    /// file starts now; other disks do nothing. Optional.
    fn announce(&self, _paths: &mut dyn Iterator<Item = &Path>) {}

    /// Opens a regular file for reading.
    fn open_input(&self, path: &Path) -> Result<FileId, Error>;

    /// Returns the best read size in bytes for an open file that is read completely. It is a
    /// multiple of the page size, and so large that the fixed cost of a read is negligible.
    fn read_bytes(&self, _file: FileId) -> u64 {
        1 << 20
    }

    /// Fails if an input was written to since it was opened, according to its size and time. The
    /// data read may then be a mixture of old and new.
    fn check_unchanged(&self, input: FileId) -> Result<(), Error>;

    /// Fails if any of several inputs was written to since it was opened. A disk that takes long
    /// for each checks them concurrently.
    fn check_all_unchanged(&self, inputs: &[FileId]) -> Result<(), Error> {
        inputs.iter().try_for_each(|&input| self.check_unchanged(input))
    }

    /// Returns whether all data read from an open file is known to be of one version, whatever has
    /// happened to the file since.
    fn is_of_one_version(&self, _input: FileId) -> bool {
        false
    }

    /// Removes the name under which an input was opened, and the target if that name is a symbolic
    /// link. Its space is freed once all processes have closed the file.
    ///
    /// Fails if the path names another file now, or if the file was changed since it was opened:
    /// only the file that was read is removed.
    fn remove_input(&self, input: FileId) -> Result<(), Error>;
}

/// Scratch files, nameless or for a later process, and the space that files take.
pub trait ScratchFiles {
    /// Creates a nameless scratch file in `directory`. Its space is freed once it is closed or the
    /// process ends, however it ends.
    fn create_scratch(&self, directory: &Path) -> Result<FileId, Error>;

    /// Creates a nameless file in memory, written and read like a scratch file. It takes memory for
    /// all bytes written and not discarded; no lease covers that memory. Fails if the system
    /// doesn't support it.
    fn create_memory(&self) -> Result<FileId, Error>;

    /// Creates a scratch file with a name. It stays when it is closed or the process ends, however
    /// it ends. Fails if the name is taken. The name is durable when this returns. Mode 0600.
    fn create_persistent(&self, path: &Path) -> Result<FileId, Error>;

    /// Opens a file that `create_persistent` created. Refuses a link or another user's file.
    /// Refuses with `WouldBlock` a file that another process has open or has just renamed or
    /// removed, and a file of an ended process whose last transfers are still under way.
    fn open_persistent(&self, path: &Path) -> Result<FileId, Error>;

    /// Opens a file that `create_persistent` created, or creates it. Returns `true` if it was
    /// created. Of several concurrent callers only one succeeds.
    fn open_or_create_persistent(&self, path: &Path) -> Result<(FileId, bool), Error>;

    /// Durably removes the name of a persistent file, or the hidden name of a persistent output.
    /// The file stays open. A name that leads to another file stays.
    fn remove_persistent(&self, file: FileId) -> Result<(), Error>;

    /// Reserves space so that the file is at least `bytes` bytes long without writing it. On a file
    /// system that can't reserve space it succeeds silently.
    ///
    /// It pays off before writing: on ext4 a write beyond the file's end takes the file's lock
    /// exclusively and, under io_uring, a kernel thread; within reserved space it costs a third of
    /// the CPU. It waits for the file's direct transfers, so reserve in large steps.
    fn reserve(&self, file: FileId, bytes: u64) -> Result<(), Error>;

    /// Returns the space of a range to the file system, if that supports it. The range must not be
    /// read again.
    ///
    /// It waits for the file's direct transfers, so every call interrupts them: ranges of 64 MiB
    /// and more cost nothing measurable, single MiBs a third of the rate.
    fn discard(&self, file: FileId, offset: u64, bytes: u64) -> Result<(), Error>;
}

/// Outputs, which appear whole or not at all, and files that are overwritten in place.
pub trait OutputFiles {
    /// Creates the file that will become `path`: without a name if the file system supports that,
    /// otherwise under a hidden name in the same directory. The file at `path` stays untouched.
    /// Fails early if the directory can't be written.
    ///
    /// A symbolic link is followed, and its target is replaced. A new file gets mode 0666 minus the
    /// umask; a replacement keeps the old file's mode and, if the system allows, its owner. An
    /// existing file that is not regular or may not be written is an error.
    ///
    /// [`STANDARD_OUTPUT`](crate::STANDARD_OUTPUT) is written directly: the caller sets its length
    /// (`set_bytes`) and submits its writes by ascending offsets, without gaps.
    fn create_output(&self, path: &Path) -> Result<FileId, Error>;

    /// Creates an output under a hidden name in the same directory that ends in `tag`. Otherwise
    /// like `create_output`. The file stays until it is published, even if it is closed before or
    /// the process ends. An existing file with that name is replaced, unless another process has it
    /// open (`WouldBlock`).
    ///
    /// Also returns the tag with which it is opened again: `tag`, or one from a store that names
    /// its uploads itself.
    fn create_persistent_output(&self, path: &Path, tag: &str) -> Result<(FileId, String), Error>;

    /// Opens the output that `create_persistent_output` created, by the tag that it returned. Fails
    /// like `open_persistent`. The caller has to check the contents. `parts` are the first parts
    /// that `stored_parts` has returned; a part that the store no longer has unchanged counts as
    /// not written.
    fn open_persistent_output(
        &self,
        path: &Path,
        tag: &str,
        parts: &[StoredPart],
    ) -> Result<FileId, Error>;

    /// Returns the parts of a persistent output that a store has taken, without a gap from the
    /// first, but without the first `known`. Only they are durable, whatever `sync` returns. `None`
    /// for files, which `sync` makes durable.
    fn stored_parts(&self, output: FileId, known: usize) -> Option<Vec<StoredPart>> {
        let _ = (output, known);
        None
    }

    /// Returns whether a reopened persistent output begins with `bytes` bytes (whole pages) of this
    /// CRC-32, as far as that is known without reading them. After `Some(true)` the caller writes
    /// only after them; if the stored parts turn out to differ, its writes fail. `None` means that
    /// the caller can read and check them.
    fn begins_with(&self, output: FileId, bytes: u64, crc: u32) -> Option<bool> {
        let _ = (output, bytes, crc);
        None
    }

    /// Gives the output its exact length, makes it durable (fsync), renames it over its path
    /// atomically, and makes that durable too (fsync of the directory). `sync: false` skips both
    /// fsyncs. The file is closed even on failure.
    ///
    /// # Panics
    /// If `output` is not an open output, or transfers to it have not completed.
    fn publish(&self, output: FileId, bytes: u64, sync: bool) -> Result<(), Error>;

    /// Makes the name of a published output durable: the last step of `publish`, which an earlier
    /// process may not have reached.
    fn sync_name(&self, output: &Path) -> Result<(), Error>;

    /// Opens a regular file to be overwritten in place. Writes are visible under its names at once.
    fn open_in_place(&self, path: &Path) -> Result<FileId, Error>;

    /// Gives a file that is open for writing its exact length. No transfers to it may be under way.
    fn set_bytes(&self, file: FileId, bytes: u64) -> Result<(), Error>;
}

/// A store of files: the operating system's, or a simulation. Object-safe; one virtual call per
/// block.
///
/// Its own methods work on open files of all kinds, and tell about drives. All methods may be
/// called from any thread.
pub trait Disk: InputFiles + ScratchFiles + OutputFiles + Send + Sync {
    /// Starts a transfer. Never blocks on the drive and never fails here: errors arrive with the
    /// completion.
    ///
    /// # Panics
    /// If the request breaks its contract (see [`Request`]) or its file is not open.
    fn submit(&self, request: Request);

    /// Returns the length of an open file, in bytes.
    fn file_bytes(&self, file: FileId) -> Result<u64, Error>;

    /// Returns the identity of an open file.
    fn identity(&self, file: FileId) -> Result<FileIdentity, Error>;

    /// Makes the completed writes to a file durable. If this fails, it is unknown which of them are
    /// durable: a later call that succeeds proves nothing.
    fn sync(&self, file: FileId) -> Result<(), Error>;

    /// Closes a file. An unpublished output vanishes. Transfers in flight keep the file alive until
    /// they end.
    fn close(&self, file: FileId);

    /// Returns the drive that holds `path`, or that would hold it after creation.
    fn drive(&self, path: &Path) -> Result<Drive, Error>;

    /// Returns the path under which a file was opened, for messages; for a scratch file, its
    /// directory.
    fn path(&self, file: FileId) -> PathBuf;

    /// Returns how bytes are moved, for reports: "io_uring, direct".
    fn describe(&self) -> String;

    /// Returns messages that the user should see once, such as that io_uring is forbidden here.
    /// Each is returned by one call only.
    fn notices(&self) -> Vec<String>;
}
