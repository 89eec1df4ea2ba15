//! The files of one prefix: their names, how they are opened, who may be their writer, and how they go away.
//!
//! The writer holds two locks as long as it lives: one on `P.state`, and one on its directory, at a place that the name gives. The second stays when
//! the files are removed and made anew, so that there is never a second writer. Readers create, resize and remove nothing.

use crate::error::{Error, Result};
use crate::sys::{self, ForkMark, Lock};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The prefix and the names that are made of it.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Absolute: files are opened as long as a reader or writer lives, wherever its process goes meanwhile.
    prefix: PathBuf,
}

/// Never follows a planted symbolic link, never waits for the other end of a planted pipe.
const WARY: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;

impl Names {
    pub(crate) fn new(prefix: &Path) -> Result<Names> {
        let absolute = std::path::absolute(prefix).map_err(Error::io("finding the folder of", prefix))?;
        Ok(Names { prefix: absolute })
    }

    pub(crate) fn prefix(&self) -> &Path {
        &self.prefix
    }

    fn with(&self, suffix: &str) -> PathBuf {
        let mut name = OsString::from(&self.prefix);
        name.push(suffix);
        name.into()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.with(".state")
    }

    pub(crate) fn readers(&self) -> PathBuf {
        self.with(".readers")
    }

    pub(crate) fn buffer(&self, index: usize) -> PathBuf {
        self.with(&format!(".buffer-{index}"))
    }

    /// The folder of the files, and what their names begin with: nothing, if the prefix ends in a slash. (`Path::parent` would take such a folder's name
    /// for the beginning of names in the folder above.)
    fn parts(&self) -> (&Path, &OsStr) {
        let bytes = self.prefix.as_os_str().as_bytes();
        let stem = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (directory, stem) = bytes.split_at(stem);
        (Path::new(OsStr::from_bytes(directory)), OsStr::from_bytes(stem))
    }

    /// Where in its directory the lock of this prefix is: two names meet in one of 2^63 cases.
    fn lock_place(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(self.parts().1.as_bytes()) >> 1
    }

    /// The buffers that exist, whoever made them: their indexes.
    pub(crate) fn buffers(&self) -> Result<Vec<usize>> {
        let (directory, stem) = self.parts();
        let listing = |error| Error::io("listing", directory)(error);
        let mut stem = stem.to_owned();
        stem.push(".buffer-");
        let mut indexes = Vec::new();
        for entry in fs::read_dir(directory).map_err(listing)? {
            let name = entry.map_err(listing)?.file_name();
            let digits =
                name.as_bytes().strip_prefix(stem.as_bytes()).and_then(|rest| std::str::from_utf8(rest).ok());
            indexes.extend(
                digits
                    .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
                    .and_then(|text| text.parse::<usize>().ok()),
            );
        }
        Ok(indexes)
    }
}

/// Opens a regular file for reading, or for reading and writing; follows links only for reading, as a reader's view may be made of them.
pub(crate) fn open(path: &Path, is_writable: bool) -> Result<(File, Metadata)> {
    let flags = if is_writable { WARY } else { libc::O_NONBLOCK };
    let opened = OpenOptions::new().read(true).write(is_writable).custom_flags(flags).open(path);
    regular(opened.map_err(Error::io("opening", path))?, path)
}

fn regular(file: File, path: &Path) -> Result<(File, Metadata)> {
    let metadata = file.metadata().map_err(Error::io("inspecting", path))?;
    if !metadata.is_file() {
        return Err(Error::Foreign { path: path.to_owned(), what: "not a regular file" });
    }
    Ok((file, metadata))
}

/// A new file of `length` bytes with space for all of them, in place of whatever has its name; nobody else can open it before [`allow`].
pub(crate) fn create(path: &Path, length: usize) -> Result<File> {
    remove_if_there(path)?;
    let options =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).custom_flags(WARY).open(path);
    let file = options.map_err(Error::io("creating", path))?;
    if length > 0
        && let Err(error) = sys::reserve(&file, length)
    {
        // Nobody knows of it yet; the error is that there was no space.
        let _ = fs::remove_file(path);
        return Err(Error::io("reserving space for", path)(error));
    }
    Ok(file)
}

/// Sets the permissions of a file that is complete, whatever the process's umask.
pub(crate) fn allow(file: &File, path: &Path, mode: u32) -> Result<()> {
    file.set_permissions(Permissions::from_mode(mode)).map_err(Error::io("setting the permissions of", path))
}

/// Removes a name, if it exists.
pub(crate) fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("removing", path)(error)),
        _ => Ok(()),
    }
}

/// The right to write under a prefix, as long as it lives. It ends with the process, however that ends.
pub(crate) struct Claim {
    /// `P.state`, locked; made if there was none.
    pub state: File,
    /// Keeps the lock that does not go with the files.
    directory: File,
    place: u64,
    /// A child inherits the descriptors, but not the claim.
    mark: ForkMark,
}

/// Attempts to lock a file that another process replaces at the same time.
const TRIES: usize = 100;

impl Claim {
    /// Becomes the writer of this prefix, or says that there is one.
    pub(crate) fn take(names: &Names) -> Result<Claim> {
        let busy = || Error::Busy { path: names.prefix().to_owned() };
        let (directory_path, path) = (names.parts().0, names.state());
        let place = names.lock_place();
        let mark = ForkMark::new().map_err(Error::io("marking the process for", names.prefix()))?;
        let directory = File::open(directory_path).map_err(Error::io("opening", directory_path))?;
        let locking = || Error::io("locking", directory_path);
        for _ in 0..TRIES {
            // Before anything is made: a writer whose files were removed is still the writer.
            if sys::is_locked(&directory, place).map_err(locking())? {
                return Err(busy());
            }
            let opened = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(WARY)
                .open(&path);
            let (state, metadata) = regular(opened.map_err(Error::io("opening", &path))?, &path)?;
            if !sys::lock(&state, 0, Lock::Exclusive).map_err(Error::io("locking", &path))? {
                return Err(busy());
            }
            // The name may have gone to another file between opening and locking.
            let is_still = fs::symlink_metadata(&path)
                .is_ok_and(|named| (named.dev(), named.ino()) == (metadata.dev(), metadata.ino()));
            if !is_still {
                continue;
            }
            // A directory can't be opened for writing, so its lock is a shared one, and being alone with it is asked afterwards. Two that ask
            // at once both hear no; but that takes two files that had the name of P.state at the same time.
            if !sys::lock(&directory, place, Lock::Shared).map_err(locking())?
                || sys::is_locked(&directory, place).map_err(locking())?
            {
                return Err(busy());
            }
            return Ok(Claim { state, directory, place, mark });
        }
        Err(busy())
    }

    /// Puts an empty `P.state` in place of the one that is there. Who has that one mapped keeps it.
    pub(crate) fn renew(&mut self, names: &Names) -> Result<()> {
        let path = names.state();
        let state = create(&path, 0)?;
        if !sys::lock(&state, 0, Lock::Exclusive).map_err(Error::io("locking", &path))? {
            return Err(Error::Busy { path: names.prefix().to_owned() });
        }
        self.state = state;
        Ok(())
    }

    /// Whether this process made the claim: not so in the child of a fork.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.mark.is_here()
    }
}

impl Drop for Claim {
    /// Gives the locks back at once: a child that is being started may hold the descriptors for a moment longer.
    fn drop(&mut self) {
        if self.is_here() {
            // What can't be given back goes with the descriptors.
            let _ = sys::unlock(&self.directory, self.place);
            let _ = sys::unlock(&self.state, 0);
        }
    }
}

/// Removes the files of a prefix whose writer is gone, whatever state they are in. Readers that are attached keep what they have.
///
/// `false` if there was nothing to remove.
///
/// # Errors
/// [`Error::Busy`] while a writer lives; [`Error::Io`] if a file can't be opened, locked or removed.
pub fn remove(path: impl AsRef<Path>) -> Result<bool> {
    let names = Names::new(path.as_ref())?;
    let has = |path: PathBuf| fs::symlink_metadata(path).is_ok();
    if !has(names.state()) && !has(names.readers()) && names.buffers()?.is_empty() {
        return Ok(false);
    }
    let claim = Claim::take(&names)?;
    remove_claimed(&names, &claim)?;
    Ok(true)
}

/// Whether a writer lives under a prefix, whatever its files hold: nothing, what another version of this crate wrote, or what this user may not read.
///
/// # Errors
/// [`Error::Io`] if the folder can't be opened, or the system can't tell.
pub fn has_writer(path: impl AsRef<Path>) -> Result<bool> {
    let names = Names::new(path.as_ref())?;
    let directory_path = names.parts().0;
    let directory = File::open(directory_path).map_err(Error::io("opening", directory_path))?;
    sys::is_locked(&directory, names.lock_place())
        .map_err(Error::io("asking for the lock of", directory_path))
}

/// Keeps a prefix free of writers as long as it lives, so that what a dead one left can be removed file by file.
///
/// [`remove`] lists the folder. Who clears a folder of many prefixes lists it once, and takes one of these for each of them.
pub struct Vacancy {
    _claim: Claim,
}

impl Vacancy {
    /// Keeps writers away from a prefix. Makes an empty `P.state` if there is none: remove it last.
    ///
    /// # Errors
    /// As [`remove`].
    pub fn take(path: impl AsRef<Path>) -> Result<Vacancy> {
        Ok(Vacancy { _claim: Claim::take(&Names::new(path.as_ref())?)? })
    }
}

impl fmt::Debug for Vacancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vacancy").finish_non_exhaustive()
    }
}

/// Removes the files of a prefix on behalf of its writer; `P.state` last, so that a kill on the way leaves something that [`remove`] finds.
pub(crate) fn remove_claimed(names: &Names, _claim: &Claim) -> Result<()> {
    for index in names.buffers()? {
        remove_if_there(&names.buffer(index))?;
    }
    remove_if_there(&names.readers())?;
    remove_if_there(&names.state())
}
