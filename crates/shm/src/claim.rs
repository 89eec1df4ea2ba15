//! The right to write under a prefix, and the operations that need it.
//!
//! The writer holds two locks for its whole life: one on `P.state`, and one on its directory, at an
//! offset derived from the name. The second lock survives the removal of the files, so that there
//! is never a second writer.

use crate::error::{Error, Result};
use crate::files::{self, Names, StagedFile};
use crate::owner::{NOT_TAKEN_OVER, own_user, refused, wrong_owner};
use crate::sys::{self, ForkMark, Lock};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The right to write under a prefix. It ends when this is dropped, or when the process ends in any
/// way.
pub(crate) struct Claim {
    /// `P.state`, locked; created if it didn't exist.
    pub state: File,
    /// Whether `P.state` was created.
    is_new: bool,
    /// The descriptor with the lock that survives the files.
    directory: File,
    lock_offset: u64,
    /// Detects a fork: a child inherits the descriptors, but not the claim.
    mark: ForkMark,
}

/// Maximum number of attempts to lock a file that another process replaces at the same time.
const TRIES: usize = 100;

impl Claim {
    /// Becomes the writer of this prefix. Fails if it has a writer, or if another user owns the
    /// state.
    pub(crate) fn take(names: &Names) -> Result<Claim> {
        Claim::take_of(names, Some(own_user()))
    }

    /// Takes the claim for files of user `owner`, or of any user if that is `None`, to remove them
    /// only.
    fn take_of(names: &Names, owner: Option<u32>) -> Result<Claim> {
        let busy = || Error::Busy { path: names.prefix().to_owned() };
        let (directory_path, path) = (names.parts().0, names.state());
        let lock_offset = names.lock_offset();
        let mark = ForkMark::new().map_err(Error::io("marking the process for", names.prefix()))?;
        let directory = File::open(directory_path).map_err(Error::io("opening", directory_path))?;
        let locking = || Error::io("locking", directory_path);
        for _ in 0..TRIES {
            // Checked before anything is created: a writer whose files were removed is still the
            // writer.
            if sys::is_locked(&directory, lock_offset).map_err(locking())? {
                return Err(busy());
            }
            let Some((state, is_new)) = open_state(&path, owner)? else { continue };
            if !sys::lock(&state, 0, Lock::Exclusive).map_err(Error::io("locking", &path))? {
                return Err(busy());
            }
            // Between opening and locking, the name may have moved to another file.
            if !is_named(&state, &path)? {
                continue;
            }
            // A directory can't be opened for writing, so its lock is shared, and other holders are
            // looked for afterwards. Two processes at the same time would both fail, but that takes
            // two files that both had the name P.state.
            if !sys::lock(&directory, lock_offset, Lock::Shared).map_err(locking())?
                || sys::is_locked(&directory, lock_offset).map_err(locking())?
            {
                return Err(busy());
            }
            return Ok(Claim { state, is_new, directory, lock_offset, mark });
        }
        Err(busy())
    }

    /// Replaces the state by a complete one. Processes that have mapped the old state keep it.
    pub(crate) fn replace(&mut self, names: &Names, state: File, staged: StagedFile) -> Result<()> {
        let path = names.state();
        // Locked before it gets the name, so that there is no moment without a lock.
        if !sys::lock(&state, 0, Lock::Exclusive).map_err(Error::io("locking", &path))? {
            return Err(Error::Busy { path: names.prefix().to_owned() });
        }
        staged.rename_to(&path)?;
        (self.state, self.is_new) = (state, false);
        Ok(())
    }

    /// Removes the empty state that this claim created, for a writer that could not complete it.
    pub(crate) fn retract(&self, names: &Names) {
        let path = names.state();
        if self.is_new && is_named(&self.state, &path).unwrap_or(false) {
            // If it stays, that is also what a killed writer leaves.
            let _ = fs::remove_file(&path);
        }
    }

    /// Returns whether this process took the claim; false in the child of a fork.
    #[inline]
    pub(crate) fn is_original_process(&self) -> bool {
        self.mark.is_original_process()
    }
}

/// Opens `P.state`, or creates it. Returns `None` if it appeared or vanished in the meantime. It
/// doesn't use O_CREAT: some systems then refuse other users' files even to root, which would hide
/// their owner.
fn open_state(path: &Path, owner: Option<u32>) -> Result<Option<(File, bool)>> {
    let (state, metadata) = match files::open(path, true) {
        Err(error) if error.is_missing() => {
            return match files::create_new(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
                created => Ok(Some((created.map_err(Error::io("creating", path))?, true))),
            };
        }
        Err(Error::Io { operation, source, .. }) => return Err(refused(operation, path, source)),
        opened => opened?,
    };
    if let Some(owner) = owner {
        if metadata.uid() != owner {
            return Err(wrong_owner(path, metadata.uid(), NOT_TAKEN_OVER));
        }
        // Otherwise a planted hard link would make the writer change a file with another name.
        if metadata.nlink() > 1 {
            let what = "it has another name, too (a hard link)";
            return Err(Error::Foreign { path: path.to_owned(), what });
        }
    }
    Ok(Some((state, false)))
}

/// Returns whether `path` still leads to `file`.
fn is_named(file: &File, path: &Path) -> Result<bool> {
    let metadata = file.metadata().map_err(Error::io("inspecting", path))?;
    Ok(fs::symlink_metadata(path)
        .is_ok_and(|named| (named.dev(), named.ino()) == (metadata.dev(), metadata.ino())))
}

impl Drop for Claim {
    /// Releases the locks at once, because a child that is being started may hold the descriptors
    /// for a moment longer.
    fn drop(&mut self) {
        if self.is_original_process() {
            // Locks that can't be released here end with the descriptors.
            let _ = sys::unlock(&self.directory, self.lock_offset);
            let _ = sys::unlock(&self.state, 0);
        }
    }
}

/// Removes the files of a prefix whose writer is gone, whatever state they are in. Attached readers
/// keep what they have mapped.
///
/// Returns `false` if there was nothing to remove. Directories stay, and so do files that only
/// another user may remove.
///
/// # Errors
/// [`Error::Busy`] while a writer lives; [`Error::Io`] if a file can't be opened, locked or
/// removed.
pub fn remove(path: impl AsRef<Path>) -> Result<bool> {
    let names = Names::new(path.as_ref())?;
    let has = |path: PathBuf| fs::symlink_metadata(path).is_ok();
    if !has(names.state()) && !has(names.readers()) && names.buffers()?.is_empty() {
        return Ok(false);
    }
    let claim = Claim::take_of(&names, None)?;
    remove_claimed(&names, &claim)
}

/// Returns whether a prefix has a living writer, whatever its files contain: even if they are
/// empty, of another version of this crate, or unreadable for this user.
///
/// # Errors
/// [`Error::Io`] if the folder can't be opened, or the system can't tell.
pub fn has_writer(path: impl AsRef<Path>) -> Result<bool> {
    let names = Names::new(path.as_ref())?;
    let directory_path = names.parts().0;
    let directory = File::open(directory_path).map_err(Error::io("opening", directory_path))?;
    sys::is_locked(&directory, names.lock_offset())
        .map_err(Error::io("asking for the lock of", directory_path))
}

/// Holds the writer's locks of a prefix without being a writer. No writer can start until it is
/// dropped, so the files of a dead writer can be removed one by one.
///
/// [`remove`] lists the directory each time. To clear a directory of many prefixes, list it once
/// and take one of these locks for each prefix.
pub struct WriterLock {
    _claim: Claim,
}

impl WriterLock {
    /// Locks a prefix. Creates an empty `P.state` if there is none: remove it last.
    ///
    /// # Errors
    /// The errors of [`remove`].
    pub fn acquire(path: impl AsRef<Path>) -> Result<WriterLock> {
        Ok(WriterLock { _claim: Claim::take_of(&Names::new(path.as_ref())?, None)? })
    }
}

impl fmt::Debug for WriterLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterLock").finish_non_exhaustive()
    }
}

/// Removes a prefix's files for the holder of its claim. `P.state` is last, so that after a kill in
/// between [`remove`] still finds something.
pub(crate) fn remove_claimed(names: &Names, claim: &Claim) -> Result<bool> {
    let mut was_there = false;
    for index in names.buffers()? {
        was_there |= files::remove_if_possible(&names.buffer(index))?;
    }
    was_there |= files::remove_if_possible(&names.readers())?;
    was_there |= files::remove_if_there(&names.state())? && !claim.is_new;
    Ok(was_there)
}
