//! The right to write under a prefix: who has it, and what only its holder may do.
//!
//! The writer holds two locks as long as it lives: one on `P.state`, and one on its directory, at
//! an offset that the name determines. The second one survives the removal of the files, so that
//! there is never a second writer.

use crate::error::{Error, Result};
use crate::files::{self, Names, StagedFile};
use crate::owner::{NOT_TAKEN_OVER, own_user, refused, wrong_owner};
use crate::sys::{self, ForkMark, Lock};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The right to write under a prefix. It ends when this is dropped, or with the process, however
/// that ends.
pub(crate) struct Claim {
    /// `P.state`, locked; created if there was none.
    pub state: File,
    /// Whether it was created.
    is_new: bool,
    /// Holds the lock that survives the files.
    directory: File,
    lock_offset: u64,
    /// A child inherits the descriptors, but not the claim.
    mark: ForkMark,
}

/// Attempts to lock a file that another process replaces at the same time.
const TRIES: usize = 100;

impl Claim {
    /// Becomes the writer of this prefix. Fails if there is one, or if the state is another user's.
    pub(crate) fn take(names: &Names) -> Result<Claim> {
        Claim::take_of(names, Some(own_user()))
    }

    /// The same; for files of any user, if `owner` is `None`, only to remove them.
    fn take_of(names: &Names, owner: Option<u32>) -> Result<Claim> {
        let busy = || Error::Busy { path: names.prefix().to_owned() };
        let (directory_path, path) = (names.parts().0, names.state());
        let lock_offset = names.lock_offset();
        let mark = ForkMark::new().map_err(Error::io("marking the process for", names.prefix()))?;
        let directory = File::open(directory_path).map_err(Error::io("opening", directory_path))?;
        let locking = || Error::io("locking", directory_path);
        for _ in 0..TRIES {
            // Before anything is created: a writer whose files were removed is still the writer.
            if sys::is_locked(&directory, lock_offset).map_err(locking())? {
                return Err(busy());
            }
            let Some((state, is_new)) = open_state(&path, owner)? else { continue };
            if !sys::lock(&state, 0, Lock::Exclusive).map_err(Error::io("locking", &path))? {
                return Err(busy());
            }
            // The name may have gone to another file between opening and locking.
            if !is_named(&state, &path)? {
                continue;
            }
            // A directory can't be opened for writing, so its lock is a shared one, and the check
            // that nobody else has it comes afterwards. Two processes at once would both fail; but
            // that takes two files that had the name of P.state at the same time.
            if !sys::lock(&directory, lock_offset, Lock::Shared).map_err(locking())?
                || sys::is_locked(&directory, lock_offset).map_err(locking())?
            {
                return Err(busy());
            }
            return Ok(Claim { state, is_new, directory, lock_offset, mark });
        }
        Err(busy())
    }

    /// Replaces the state by a complete one. Processes that have the old one mapped keep it.
    pub(crate) fn replace(&mut self, names: &Names, state: File, staged: StagedFile) -> Result<()> {
        let path = names.state();
        // Before it has the name: there is no moment without a lock.
        if !sys::lock(&state, 0, Lock::Exclusive).map_err(Error::io("locking", &path))? {
            return Err(Error::Busy { path: names.prefix().to_owned() });
        }
        staged.rename_to(&path)?;
        (self.state, self.is_new) = (state, false);
        Ok(())
    }

    /// Removes an empty state again, for a writer that could not complete it.
    pub(crate) fn retract(&self, names: &Names) {
        let path = names.state();
        if self.is_new && is_named(&self.state, &path).unwrap_or(false) {
            // If it stays, that is what a kill would leave, too.
            let _ = fs::remove_file(&path);
        }
    }

    /// Whether this process made the claim: not so in the child of a fork.
    #[inline]
    pub(crate) fn is_original_process(&self) -> bool {
        self.mark.is_original_process()
    }
}

/// Opens `P.state`, or creates it; `None` if it appeared or vanished meanwhile. Not with O_CREAT,
/// for which some systems refuse root other users' files, and so hide whose they are.
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

/// Whether `path` still leads to `file`.
fn is_named(file: &File, path: &Path) -> Result<bool> {
    let metadata = file.metadata().map_err(Error::io("inspecting", path))?;
    Ok(fs::symlink_metadata(path)
        .is_ok_and(|named| (named.dev(), named.ino()) == (metadata.dev(), metadata.ino())))
}

impl Drop for Claim {
    /// Gives the locks back at once: a child that is being started may hold the descriptors for a
    /// moment longer.
    fn drop(&mut self) {
        if self.is_original_process() {
            // What can't be given back goes with the descriptors.
            let _ = sys::unlock(&self.directory, self.lock_offset);
            let _ = sys::unlock(&self.state, 0);
        }
    }
}

/// Removes the files of a prefix whose writer is gone, whatever state they are in. Readers that are
/// attached keep what they have.
///
/// `false` if there was nothing to remove. Leaves directories, and files that only another user may
/// remove.
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

/// Whether a writer lives under a prefix, whatever its files hold: even if they are empty, of
/// another version of this crate, or unreadable to this user.
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

/// Holds the writer's locks of a prefix, without being a writer: no writer can start until it is
/// dropped, so that the files of a dead one can be removed one by one.
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
    /// As [`remove`].
    pub fn acquire(path: impl AsRef<Path>) -> Result<WriterLock> {
        Ok(WriterLock { _claim: Claim::take_of(&Names::new(path.as_ref())?, None)? })
    }
}

impl fmt::Debug for WriterLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterLock").finish_non_exhaustive()
    }
}

/// Removes the files of a prefix on behalf of its writer; `P.state` last, so that [`remove`] still
/// finds something after a kill on the way.
pub(crate) fn remove_claimed(names: &Names, claim: &Claim) -> Result<bool> {
    let mut was_there = false;
    for index in names.buffers()? {
        was_there |= files::remove_if_possible(&names.buffer(index))?;
    }
    was_there |= files::remove_if_possible(&names.readers())?;
    was_there |= files::remove_if_there(&names.state())? && !claim.is_new;
    Ok(was_there)
}
