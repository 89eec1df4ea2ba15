//! The files of one prefix: their names, how they are opened, who may be their writer, and how they
//! go away.
//!
//! The writer holds two locks as long as it lives: one on `P.state`, and one on its directory, at a
//! place that the name gives. The second stays when the files are removed and made anew, so that
//! there is never a second writer. Readers create, resize and remove nothing.
//!
//! State and slot_table are made under other names ([`Spare`]) and get theirs when they are
//! complete. Whose files are believed is asked of the open file, never of its name.

use crate::error::{Error, Result};
use crate::protocol::BUFFERS_MAX;
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
    /// Absolute: files are opened as long as a reader or writer lives, wherever its process goes
    /// meanwhile.
    prefix: PathBuf,
}

/// Never follows a planted symbolic link, never waits for the other end of a planted pipe.
const WARY: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;

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

    /// The folder of the files, and what their names begin with: nothing, if the prefix ends in a
    /// slash. (`Path::parent` would take such a folder's name for the beginning of names in the
    /// folder above.)
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

    /// The names of buffers that exist, whoever made them, and whatever they are: their indexes.
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
            // Also "007" is a number, but no writer writes it so.
            let is_own = |index: &usize| {
                *index < BUFFERS_MAX && digits.is_some_and(|text| text == index.to_string())
            };
            indexes.extend(index.filter(is_own));
        }
        Ok(indexes)
    }
}

/// Whose files a reader believes. A file set is made by its writer's user, and who made a file can
/// change it and cut it at any time, whatever its mode says now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// Those of this process's user and of root, if nobody else may write to them.
    #[default]
    Own,
    /// Those of this user, too: the one that the writer runs as.
    User(u32),
    /// Whoever made them, and whoever else may write to them: for files in a directory where only
    /// the right ones can make any.
    Anyone,
}

impl Owner {
    pub(crate) fn check_user(self, path: &Path, metadata: &Metadata) -> Result<()> {
        let user = metadata.uid();
        let is_believed =
            self == Owner::Anyone || self == Owner::User(user) || user == 0 || user == own_user();
        let remedy = "a reader believes its own user and root; if the writer runs as this one, \
                      name it in ReaderOptions::owner";
        if is_believed { Ok(()) } else { Err(stranger(path, user, remedy)) }
    }

    pub(crate) fn check_mode(self, path: &Path, metadata: &Metadata) -> Result<()> {
        if self == Owner::Anyone || others_write(metadata) == 0 {
            return Ok(());
        }
        Err(Error::Foreign { path: path.to_owned(), what: "others than its owner may write to it" })
    }
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whose a name is, if it is another user's.
fn other_user(path: &Path) -> Option<u32> {
    let user = fs::symlink_metadata(path).ok()?.uid();
    (user != own_user()).then_some(user)
}

/// What the system refused to a writer, or whose file is the reason.
fn refused(operation: &'static str, path: &Path, error: io::Error) -> Error {
    match other_user(path) {
        Some(user) if error.kind() == io::ErrorKind::PermissionDenied => {
            stranger(path, user, NOT_TAKEN_OVER)
        }
        _ => Error::io(operation, path)(error),
    }
}

const NOT_TAKEN_OVER: &str =
    "a writer takes over only files of its own user; remove it, or choose another path";

fn stranger(path: &Path, owner: u32, remedy: &'static str) -> Error {
    Error::Stranger { path: path.to_owned(), owner, remedy }
}

/// The bits of a mode that let others than the owner write.
pub(crate) const WRITE_BY_OTHERS: u32 = 0o022;

/// Those bits of a file that is open: its name may lead to another one by now.
pub(crate) fn others_write(metadata: &Metadata) -> u32 {
    metadata.mode() & WRITE_BY_OTHERS
}

/// Opens a regular file for reading, or for reading and writing; follows links only for reading, as
/// a reader's view may be made of them.
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

/// A new file of `length` bytes with space for all of them, in place of whatever has its name;
/// nobody else can open it before [`allow`].
pub(crate) fn create(path: &Path, length: usize) -> Result<File> {
    remove_if_there(path)?;
    let file = create_new(path).map_err(Error::io("creating", path))?;
    if let Err(error) = sys::reserve(&file, length) {
        // Nobody knows of it yet; the error is that there was no space.
        let _ = fs::remove_file(path);
        return Err(Error::io("reserving space for", path)(error));
    }
    Ok(file)
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(WARY)
        .open(path)
}

/// Sets the permissions of a file that is complete, whatever the process's umask.
pub(crate) fn allow(file: &File, path: &Path, mode: u32) -> Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
        .map_err(Error::io("setting the permissions of", path))
}

/// Removes a name, if it exists; says whether it did.
fn remove_if_there(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("removing", path)(error)),
    }
}

/// The same, but for a name that can't be had.
pub(crate) fn remove_unless_taken(path: &Path) -> Result<bool> {
    remove_if_there(path).or_else(|error| if is_taken(&error) { Ok(false) } else { Err(error) })
}

/// Whether a name can't be had: a directory has it, somebody else's file where only its owner may
/// remove it, or a file that came between removing the old one and making the new one.
pub(crate) fn is_taken(error: &Error) -> bool {
    let Error::Io { path, source, .. } = error else { return false };
    match source.raw_os_error() {
        Some(libc::EISDIR | libc::EEXIST) => true,
        // The system says the same of a file of one's own that nobody may change.
        Some(libc::EPERM) => other_user(path).is_some(),
        _ => false,
    }
}

/// A file that is being made, under the name of a buffer that there is not, until it is put in
/// place. So what a kill leaves goes as buffers do: with the next writer's trim, or [`remove`].
pub(crate) struct Spare {
    pub index: usize,
    path: PathBuf,
    is_placed: bool,
}

impl Spare {
    /// Makes a file of `length` bytes with space for all of them, that will be the one at `path`.
    pub(crate) fn new(names: &Names, length: usize, path: &Path) -> Result<(File, Spare)> {
        let mut refused = io::ErrorKind::AlreadyExists.into();
        for index in 0..BUFFERS_MAX {
            let name = names.buffer(index);
            match create_new(&name) {
                Ok(file) => {
                    let spare = Spare { index, path: name, is_placed: false };
                    sys::reserve(&file, length).map_err(Error::io("reserving space for", path))?;
                    return Ok((file, spare));
                }
                Err(error) => refused = error,
            }
            if refused.kind() != io::ErrorKind::AlreadyExists {
                break;
            }
        }
        Err(Error::io("creating", path)(refused))
    }

    /// Gives it its name, in place of whatever has that.
    pub(crate) fn place(mut self, path: &Path) -> Result<()> {
        fs::rename(&self.path, path).map_err(|error| refused("putting in place", path, error))?;
        self.is_placed = true;
        Ok(())
    }

    /// It is a buffer, and has its name already.
    pub(crate) fn keep(mut self) {
        self.is_placed = true;
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        if !self.is_placed {
            // What stays goes with the next trim.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The right to write under a prefix, as long as it lives. It ends with the process, however that
/// ends.
pub(crate) struct Claim {
    /// `P.state`, locked; made if there was none.
    pub state: File,
    /// Whether it was made.
    is_new: bool,
    /// Keeps the lock that does not go with the files.
    directory: File,
    place: u64,
    /// A child inherits the descriptors, but not the claim.
    mark: ForkMark,
}

/// Attempts to lock a file that another process replaces at the same time.
const TRIES: usize = 100;

impl Claim {
    /// Becomes the writer of this prefix, or says that there is one, or that the state is not this
    /// user's.
    pub(crate) fn take(names: &Names) -> Result<Claim> {
        Claim::take_of(names, Some(own_user()))
    }

    /// The same for files of whatever user, if `owner` is `None`: only to remove them.
    fn take_of(names: &Names, owner: Option<u32>) -> Result<Claim> {
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
            let Some((state, is_new)) = open_state(&path, owner)? else { continue };
            if !sys::lock(&state, 0, Lock::Exclusive).map_err(Error::io("locking", &path))? {
                return Err(busy());
            }
            // The name may have gone to another file between opening and locking.
            if !is_named(&state, &path)? {
                continue;
            }
            // A directory can't be opened for writing, so its lock is a shared one, and being alone
            // with it is asked afterwards. Two that ask at once both hear no; but that takes two
            // files that had the name of P.state at the same time.
            if !sys::lock(&directory, place, Lock::Shared).map_err(locking())?
                || sys::is_locked(&directory, place).map_err(locking())?
            {
                return Err(busy());
            }
            return Ok(Claim { state, is_new, directory, place, mark });
        }
        Err(busy())
    }

    /// Puts a complete state in place of the one that is there. Who has that one mapped keeps it.
    pub(crate) fn replace(&mut self, names: &Names, state: File, spare: Spare) -> Result<()> {
        let path = names.state();
        // Before it has the name: there is no moment without a lock.
        if !sys::lock(&state, 0, Lock::Exclusive).map_err(Error::io("locking", &path))? {
            return Err(Error::Busy { path: names.prefix().to_owned() });
        }
        spare.place(&path)?;
        (self.state, self.is_new) = (state, false);
        Ok(())
    }

    /// Takes an empty state away again, for a writer that could not make it whole.
    pub(crate) fn retract(&self, names: &Names) {
        let path = names.state();
        if self.is_new && is_named(&self.state, &path).unwrap_or(false) {
            // What stays is what a kill leaves.
            let _ = fs::remove_file(&path);
        }
    }

    /// Whether this process made the claim: not so in the child of a fork.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.mark.is_here()
    }
}

/// Opens `P.state`, or makes it; `None` if it came or went meanwhile. Without the flag for "or make
/// it", with which some systems refuse files of strangers to root, and so hide whose they are.
fn open_state(path: &Path, owner: Option<u32>) -> Result<Option<(File, bool)>> {
    let (state, metadata) = match open(path, true) {
        Err(error) if error.is_missing() => {
            return match create_new(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
                created => Ok(Some((created.map_err(Error::io("creating", path))?, true))),
            };
        }
        Err(Error::Io { operation, source, .. }) => return Err(refused(operation, path, source)),
        opened => opened?,
    };
    if let Some(owner) = owner {
        if metadata.uid() != owner {
            return Err(stranger(path, metadata.uid(), NOT_TAKEN_OVER));
        }
        // Else a link that somebody planted makes it write to a file with another name.
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
        if self.is_here() {
            // What can't be given back goes with the descriptors.
            let _ = sys::unlock(&self.directory, self.place);
            let _ = sys::unlock(&self.state, 0);
        }
    }
}

/// Removes the files of a prefix whose writer is gone, whatever state they are in. Readers that are
/// attached keep what they have.
///
/// `false` if there was nothing to remove. What nobody but its owner may remove stays, and so do
/// directories.
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

/// Whether a writer lives under a prefix, whatever its files hold: nothing, what another version of
/// this crate wrote, or what this user may not read.
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

/// Keeps a prefix free of writers as long as it lives, so that what a dead one left can be removed
/// file by file.
///
/// [`remove`] lists the folder. Who clears a folder of many prefixes lists it once, and takes one
/// of these for each of them.
pub struct Vacancy {
    _claim: Claim,
}

impl Vacancy {
    /// Keeps writers away from a prefix. Makes an empty `P.state` if there is none: remove it last.
    ///
    /// # Errors
    /// As [`remove`].
    pub fn take(path: impl AsRef<Path>) -> Result<Vacancy> {
        Ok(Vacancy { _claim: Claim::take_of(&Names::new(path.as_ref())?, None)? })
    }
}

impl fmt::Debug for Vacancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vacancy").finish_non_exhaustive()
    }
}

/// Removes the files of a prefix on behalf of its writer; `P.state` last, so that a kill on the way
/// leaves something that [`remove`] finds.
pub(crate) fn remove_claimed(names: &Names, claim: &Claim) -> Result<bool> {
    let mut was_there = false;
    for index in names.buffers()? {
        was_there |= remove_unless_taken(&names.buffer(index))?;
    }
    was_there |= remove_unless_taken(&names.readers())?;
    was_there |= remove_if_there(&names.state())? && !claim.is_new;
    Ok(was_there)
}
