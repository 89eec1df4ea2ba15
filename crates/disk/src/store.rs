//! The interface of a disk: files by role (input, output, scratch), transfers, and what is known
//! of a drive.

use crate::{Error, FileId, Found, ListedFile, Request};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// What is known of the drive (file system) that holds a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drive {
    /// The device number: equal for two paths that share their free space.
    pub id: u64,
    /// Free space that this user may fill, in bytes.
    pub free_bytes: u64,
    /// The file system keeps its files in memory (tmpfs, ramfs).
    pub is_memory: bool,
    /// A write over bytes of a file goes where these are, and takes no other space meanwhile.
    pub overwrites: bool,
    /// How many bytes a second are read and written together at most, if the job has a limit.
    pub limit_bytes_per_second: Option<u64>,
    /// Name of the file system's type if known ("ext4", "tmpfs").
    pub kind: String,
}

/// What identifies a file, whatever names it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// [`Drive::id`] of its drive.
    pub drive: u64,
    /// Its inode number.
    pub number: u64,
    /// How many hard links it has.
    pub links: u64,
    /// When its bytes were last changed: seconds since 1970, and nanoseconds.
    pub modified: (i64, u64),
    /// A hash of what a store calls its content; 0 for files, whose content has no name.
    pub content: u64,
}

/// A part of an output that is in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPart {
    /// Its length.
    pub bytes: u64,
    /// Its CRC-32.
    pub crc: u32,
    /// What the store calls its content.
    pub tag: String,
}

/// A store of files: the operating system's, or a simulation. Object-safe; one virtual call a
/// block.
///
/// All methods may be called from any thread.
pub trait Disk: Send + Sync {
    /// What a path leads to, links followed. What isn't there is [`Found::Missing`], no error. At a
    /// URL that ends in a slash there is a [`Found::Directory`].
    fn find(&self, path: &Path) -> Result<Found, Error>;

    /// Passes every regular file whose path begins with the bytes of `prefix` to `found`, at any
    /// depth and in any order, until that returns `Break`: with `data/` all below the directory
    /// `data`, with `data/part-` those of them that begin with `part-`. Names that end in a slash,
    /// which some stores have for directories, are left out.
    ///
    /// No such file is no error, but a directory that isn't there may be one.
    fn list(
        &self,
        prefix: &Path,
        found: &mut dyn FnMut(ListedFile) -> ControlFlow<()>,
    ) -> Result<(), Error>;

    /// Says which files will be opened soon, in this order. A disk that takes long to open a file
    /// begins with that; any other does nothing. May be left out.
    fn announce(&self, _paths: &mut dyn Iterator<Item = &Path>) {}

    /// Opens a regular file for reading.
    fn open_input(&self, path: &Path) -> Result<FileId, Error>;

    /// Length of an open file, in bytes.
    fn file_bytes(&self, file: FileId) -> Result<u64, Error>;

    /// How many bytes of an open file are best read at once, where all of it is read: whole pages,
    /// and so many that what a read costs beside its bytes doesn't count.
    fn read_bytes(&self, _file: FileId) -> u64 {
        1 << 20
    }

    /// Creates the file that is to become `path`: without a name where the file system can do that,
    /// else under a hidden one in the same directory. What `path` names now is untouched. Fails
    /// early if the directory can't be written.
    ///
    /// A symbolic link is followed: what it leads to is replaced. A new file gets mode 0666 less
    /// the umask, a replaced one keeps its mode and, where the system allows, its owner. What
    /// exists and is no regular file, or may not be written, is an error.
    ///
    /// [`STANDARD_OUTPUT`](crate::STANDARD_OUTPUT) is written directly: the caller sets its bytes
    /// (`set_bytes`) and submits its writes by ascending offsets, without gaps.
    fn create_output(&self, path: &Path) -> Result<FileId, Error>;

    /// As `create_output`, but under a hidden name in the same directory that ends in `tag` and
    /// stays until the output is published, even if the output is closed before or the process
    /// ends. A file that already has that name is replaced, unless another process has it open
    /// (`WouldBlock`).
    ///
    /// Returns also the tag by which it is opened again: this one, or that of a store, which names
    /// what is under way itself.
    fn create_persistent_output(&self, path: &Path, tag: &str) -> Result<(FileId, String), Error>;

    /// Opens what `create_persistent_output` has made, as `open_persistent` does, by the tag that
    /// it returned. The caller has to check its contents. `parts` are those that `stored_parts` has
    /// named, from the first one on; any that isn't in the store as it was counts as not written.
    fn open_persistent_output(
        &self,
        path: &Path,
        tag: &str,
        parts: &[StoredPart],
    ) -> Result<FileId, Error>;

    /// The parts of a persistent output that a store has taken, without a gap from the first one
    /// on, less the first `known`: only they are durable, whatever `sync` says. `None` for files,
    /// which `sync` makes durable.
    fn stored_parts(&self, output: FileId, known: usize) -> Option<Vec<StoredPart>> {
        let _ = (output, known);
        None
    }

    /// Whether a persistent output that was opened again begins with so many bytes, whole pages, of
    /// this CRC-32, as far as that is known without reading them. After `Some(true)` the caller
    /// writes behind them only; what the parts there are found to differ in fails its writes.
    /// `None`: what is there can be read.
    fn begins_with(&self, output: FileId, bytes: u64, crc: u32) -> Option<bool> {
        let _ = (output, bytes, crc);
        None
    }

    /// Gives the output its exact length, makes it durable (fsync), renames it over its path
    /// atomically, and makes that durable too (fsync of the directory). `sync: false` skips both
    /// fsyncs. The file is closed, whether or not this succeeds.
    ///
    /// # Panics
    /// If `output` is not an open output, or transfers to it have not completed.
    fn publish(&self, output: FileId, bytes: u64, sync: bool) -> Result<(), Error>;

    /// Makes the name of a published output durable: the last step of `publish`, which an earlier
    /// process may not have reached.
    fn sync_name(&self, output: &Path) -> Result<(), Error>;

    /// Opens a regular file to be overwritten in place: what is written is visible under its names
    /// at once.
    fn open_in_place(&self, path: &Path) -> Result<FileId, Error>;

    /// Gives a file that is open for writing its exact length. No transfers to it may be under way.
    fn set_bytes(&self, file: FileId, bytes: u64) -> Result<(), Error>;

    /// Creates a nameless scratch file in `directory`. Its space is freed once it is closed or the
    /// process ends, however it ends.
    fn create_scratch(&self, directory: &Path) -> Result<FileId, Error>;

    /// Creates a nameless file in memory, written and read like a scratch file. It takes as much
    /// memory as was written to it and not discarded; no lease covers that memory. Fails where the
    /// system doesn't offer it.
    fn create_memory(&self) -> Result<FileId, Error>;

    /// Creates a scratch file that has a name and stays when it is closed or the process ends,
    /// however it ends. Fails if the name is taken; the name is durable when this returns. Mode
    /// 0600.
    fn create_persistent(&self, path: &Path) -> Result<FileId, Error>;

    /// Opens what `create_persistent` has made. Refuses a link or another user's file; and, with
    /// `WouldBlock`, a file that another process has open, has just renamed or removed, or whose
    /// last transfers go on although the process has ended.
    fn open_persistent(&self, path: &Path) -> Result<FileId, Error>;

    /// Opens such a file, or creates it; `true` if it was created. Of several concurrent callers
    /// only one succeeds.
    fn open_or_create_persistent(&self, path: &Path) -> Result<(FileId, bool), Error>;

    /// Removes the name of such a file, or the hidden name of a persistent output, durably. The
    /// file stays open. A name that leads to another file stays.
    fn remove_persistent(&self, file: FileId) -> Result<(), Error>;

    /// Makes durable what completed transfers have written to a file. If this fails, nobody knows
    /// which of it is durable: a later call that succeeds proves nothing.
    fn sync(&self, file: FileId) -> Result<(), Error>;

    /// Reserves space so that the file is at least `bytes` long without writing it. A file system
    /// that can't reserve succeeds silently.
    ///
    /// Worth it before writing: on ext4 a write beyond the file's end takes the file's lock
    /// exclusively, and a kernel thread under io_uring; within reserved space it costs a third of
    /// the CPU. It waits for the file's direct transfers, so reserve in large steps.
    fn reserve(&self, file: FileId, bytes: u64) -> Result<(), Error>;

    /// Gives the space of a range back to the file system, where that can be done; the range must
    /// not be read again.
    ///
    /// It waits for the file's direct transfers, so every call interrupts them: ranges of 64 MiB
    /// and more cost nothing measurable, single MiBs a third of the rate.
    fn discard(&self, file: FileId, offset: u64, bytes: u64) -> Result<(), Error>;

    /// Closes a file. An output that was not published vanishes. Transfers in flight keep the file
    /// alive until they end.
    fn close(&self, file: FileId);

    /// What identifies an open file.
    fn identity(&self, file: FileId) -> Result<FileIdentity, Error>;

    /// Fails if an input was written to since it was opened, as far as its size and time tell: what
    /// was read of it may be a mixture of old and new.
    fn check_unchanged(&self, input: FileId) -> Result<(), Error>;

    /// Whether all that was read of an open file is known to be of one version of it, whatever has
    /// become of it since.
    fn is_of_one_version(&self, _input: FileId) -> bool {
        false
    }

    /// The same of several inputs, at once where a disk takes long for each.
    fn check_all_unchanged(&self, inputs: &[FileId]) -> Result<(), Error> {
        inputs.iter().try_for_each(|&input| self.check_unchanged(input))
    }

    /// Removes the name that an input was opened under, and the file that a symbolic link there
    /// leads to. Its space is freed once the file is closed too, unless others have it open.
    ///
    /// Refuses if the path names another file by now, or if the file was changed since it was
    /// opened: what is removed is what was read.
    fn remove_input(&self, input: FileId) -> Result<(), Error>;

    /// Starts a transfer. Never blocks on the drive and never fails here: errors arrive with the
    /// completion.
    ///
    /// # Panics
    /// If the request breaks its contract (see [`Request`]) or its file is not open.
    fn submit(&self, request: Request);

    /// The drive that holds `path`, or that would hold it if it were created.
    fn drive(&self, path: &Path) -> Result<Drive, Error>;

    /// The path that a file was opened under, for messages; a scratch file's directory.
    fn path(&self, file: FileId) -> PathBuf;

    /// How bytes are moved, for reports: "io_uring, direct".
    fn describe(&self) -> String;

    /// Messages that the user should see once, such as that io_uring is forbidden here. Each is
    /// returned by one call only.
    fn notices(&self) -> Vec<String>;
}
