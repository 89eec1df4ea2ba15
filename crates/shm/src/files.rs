//! The files of one prefix: their names, and how they are opened, created and removed.
//!
//! State and slot table are created under other names ([`StagedFile`]) and get their own names when
//! they are complete. Readers create, resize and remove nothing. Checks use the open file, never
//! its name, which may lead to another file by then.

use crate::error::{Error, Result};
use crate::owner::{other_user, refused};
use crate::protocol::BUFFERS_MAX;
use crate::sys;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The prefix and the names derived from it.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Absolute, because a reader or writer opens files throughout its life, while its process may
    /// change its working directory.
    prefix: PathBuf,
}

/// Flags for opening a file that another user may have planted: don't follow a symbolic link, and
/// don't wait for the other end of a pipe.
const SAFE_OPEN_FLAGS: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;

impl Names {
    pub(crate) fn new(prefix: &Path) -> Result<Names> {
        let absolute =
            std::path::absolute(prefix).map_err(Error::io("finding the folder of", prefix))?;
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

    /// Returns the folder of the files and the beginning of their names, which is empty if the
    /// prefix ends in a slash. (`Path::parent` would treat the name of such a folder as the
    /// beginning of names in its parent folder.)
    pub(crate) fn parts(&self) -> (&Path, &OsStr) {
        let bytes = self.prefix.as_os_str().as_bytes();
        let stem = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (directory, stem) = bytes.split_at(stem);
        (Path::new(OsStr::from_bytes(directory)), OsStr::from_bytes(stem))
    }

    /// Returns the offset in the directory for this prefix's lock: a hash of the name. Two names
    /// share an offset with a probability of 2^-63.
    pub(crate) fn lock_offset(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(self.parts().1.as_bytes()) >> 1
    }

    /// Returns the indexes of all existing names of buffers, whatever those files are.
    pub(crate) fn buffers(&self) -> Result<Vec<usize>> {
        let (directory, stem) = self.parts();
        let listing = |error| Error::io("listing", directory)(error);
        let mut stem = stem.to_owned();
        stem.push(".buffer-");
        let mut indexes = Vec::new();
        for entry in fs::read_dir(directory).map_err(listing)? {
            let name = entry.map_err(listing)?.file_name();
            let digits = name
                .as_bytes()
                .strip_prefix(stem.as_bytes())
                .and_then(|rest| std::str::from_utf8(rest).ok());
            let index = digits.and_then(|text| text.parse::<usize>().ok());
            // "007" is a number, too, but no writer uses it in a buffer's name.
            let is_own = |index: &usize| {
                *index < BUFFERS_MAX && digits.is_some_and(|text| text == index.to_string())
            };
            indexes.extend(index.filter(is_own));
        }
        Ok(indexes)
    }
}

/// Opens a regular file for reading, or for reading and writing. Follows symbolic links only for
/// reading, because a reader's directory may consist of them.
pub(crate) fn open(path: &Path, is_writable: bool) -> Result<(File, Metadata)> {
    let flags = if is_writable { SAFE_OPEN_FLAGS } else { libc::O_NONBLOCK };
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

/// Creates a file of `length` bytes with all its space reserved, replacing any file of that name.
/// No other user can open it before [`allow`].
pub(crate) fn create(path: &Path, length: usize) -> Result<File> {
    remove_if_there(path)?;
    let file = create_new(path).map_err(Error::io("creating", path))?;
    if let Err(error) = sys::reserve(&file, length) {
        // No other process knows the file yet; the error to report is the missing space.
        let _ = fs::remove_file(path);
        return Err(Error::io("reserving space for", path)(error));
    }
    Ok(file)
}

pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(SAFE_OPEN_FLAGS)
        .open(path)
}

/// Sets the permissions of a complete file, whatever the process's umask.
pub(crate) fn allow(file: &File, path: &Path, mode: u32) -> Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
        .map_err(Error::io("setting the permissions of", path))
}

/// Removes a name if it exists. Returns whether it existed.
pub(crate) fn remove_if_there(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("removing", path)(error)),
    }
}

/// Removes a name if it exists and this user can remove it. Returns whether it did.
pub(crate) fn remove_if_possible(path: &Path) -> Result<bool> {
    remove_if_there(path)
        .or_else(|error| if is_name_unavailable(&error) { Ok(false) } else { Err(error) })
}

/// Returns whether a name is unavailable: it is a directory, or another user's file that only its
/// owner may remove, or a file that appeared after the old one was removed.
pub(crate) fn is_name_unavailable(error: &Error) -> bool {
    let Error::Io { path, source, .. } = error else { return false };
    match source.raw_os_error() {
        Some(libc::EISDIR | libc::EEXIST) => true,
        // The system gives the same error for one's own immutable file.
        Some(libc::EPERM) => other_user(path).is_some(),
        _ => false,
    }
}

/// An incomplete file under a buffer's unused name. If the process is killed, the file is removed
/// like an unused buffer: by the next writer's trim, or by [`remove`](crate::remove).
pub(crate) struct StagedFile {
    pub index: usize,
    path: PathBuf,
    is_placed: bool,
}

impl StagedFile {
    /// Creates a file of `length` bytes with all its space reserved, which will be renamed to
    /// `path`.
    pub(crate) fn new(names: &Names, length: usize, path: &Path) -> Result<(File, StagedFile)> {
        let mut refused = io::ErrorKind::AlreadyExists.into();
        for index in 0..BUFFERS_MAX {
            let name = names.buffer(index);
            match create_new(&name) {
                Ok(file) => {
                    let staged = StagedFile { index, path: name, is_placed: false };
                    sys::reserve(&file, length).map_err(Error::io("reserving space for", path))?;
                    return Ok((file, staged));
                }
                Err(error) => refused = error,
            }
            if refused.kind() != io::ErrorKind::AlreadyExists {
                break;
            }
        }
        Err(Error::io("creating", path)(refused))
    }

    /// Renames the file to `path`, replacing any file of that name.
    pub(crate) fn rename_to(mut self, path: &Path) -> Result<()> {
        fs::rename(&self.path, path).map_err(|error| refused("putting in place", path, error))?;
        self.is_placed = true;
        Ok(())
    }

    /// Keeps the file under its current name, as a buffer.
    pub(crate) fn keep_as_buffer(mut self) {
        self.is_placed = true;
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if !self.is_placed {
            // A file that can't be removed now goes with the next trim.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns a file's length as a `usize`.
pub(crate) fn length_of(metadata: &Metadata) -> usize {
    usize::try_from(metadata.len()).unwrap_or(usize::MAX)
}
