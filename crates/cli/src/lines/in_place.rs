//! Rewrites a file in place, for outputs that a new file can't replace.
//!
//! ```text
//!  old content --> copied to a file without a name --> the copy gets a hidden name
//!    --> the old content is cut off, the new one written --> copy removed
//!                                           \--(an error)--> copied back
//! ```
//!
//! If no copy can be kept, nothing is written. A file that was empty needs no copy: an error leaves
//! it empty. GNU sort keeps no copy, so a command that was called by its name keeps none. While the
//! file is rewritten, a first signal doesn't end the process. Only SIGKILL and a power failure do:
//! then the copy stays, under a name that was printed.
//!
//! The file and its copy are read and written by their descriptors. Another process may rename
//! either meanwhile. What another process appends to the file is neither lost nor taken for sorted:
//! before the old content is cut off, nothing is written; after that, each write goes to the end of
//! the file, whose length tells in the end.

use super::failure::Failure;
use super::names;
use crate::gnu_commands::{reason, say};
use crate::inputs::tree::identity;
use crate::signals::{Rewriting, clean_up_when_killed};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File, Metadata, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort::Limited;
use xsort_disk::{DisplayPath, NewFile, RateLimit, hidden_name, parent_directory};
use xsort_usage::Identity;

/// Settings for the copy of the old content.
pub(super) struct Keeping {
    /// Directories for the copy, besides the file's own directory.
    pub(super) scratch: Vec<PathBuf>,
    /// True if the user named the directories (`-T`). Then they come first: the file's own drive
    /// may be full.
    pub(super) is_scratch_given: bool,
    /// The limit in bytes per second.
    pub(super) rate: Option<Arc<RateLimit>>,
    /// True if no notes are printed.
    pub(super) is_quiet: bool,
    /// True if the new content is made durable before the copy is removed.
    pub(super) sync: bool,
}

/// A copy of the old content, under a hidden name.
struct OldContent {
    file: File,
    path: PathBuf,
}

/// A file that exists, open for writing.
pub(super) struct InPlace {
    pub(super) file: File,
    /// The file's name as the user wrote it.
    name: OsString,
    /// The directory that holds the file.
    directory: Option<PathBuf>,
    program: String,
    /// `None`: no copy is kept, as with GNU sort.
    keeping: Option<Keeping>,
    /// Set while the file holds neither the old content nor the complete new content.
    rewriting: Option<Rewriting>,
    copy: Option<OldContent>,
    /// True if something may have been written, and the new content is incomplete.
    is_begun: bool,
    /// What the file was before it was read, if it is an input, too.
    read: Option<FileVersion>,
}

impl InPlace {
    pub(super) fn new(
        file: File,
        name: &OsStr,
        program: &str,
        keeping: Option<Keeping>,
    ) -> InPlace {
        let directory = fs::canonicalize(name).ok().map(|path| parent_directory(&path));
        let (name, program) = (name.to_owned(), program.to_owned());
        let (rewriting, copy, is_begun, read) = (None, None, false, None);
        InPlace { file, name, directory, program, keeping, rewriting, copy, is_begun, read }
    }

    /// Says that the file is an input, too, of which nothing was read yet.
    pub(super) fn will_be_read(&mut self) {
        self.read = self.keeping.as_ref().and(FileVersion::of(&self.file.metadata()));
    }

    /// Whether all of it is written through the descriptor: then nothing that another process
    /// appends is overwritten.
    pub(super) fn is_appended_to(&self) -> bool {
        self.keeping.is_some()
    }

    /// Keeps a copy of the old content, then truncates the file.
    ///
    /// # Errors
    /// If there can't be a copy, or another process rewrites it, or has written to it since it was
    /// read. Then the file is as it was.
    pub(super) fn empty(&mut self) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        // Pipes and devices can't be truncated.
        if !metadata.is_file() {
            return Ok(());
        }
        let is_empty = metadata.len() == 0;
        if is_empty && self.keeping.is_none() {
            return Ok(());
        }
        // Two processes that rewrite one file would mix their lines. Some file systems have no
        // locks.
        if self.keeping.is_some() && matches!(self.file.try_lock(), Err(TryLockError::WouldBlock)) {
            let what = "another process rewrites it at this moment: nothing was written";
            return Err(io::Error::other(what));
        }
        // If the system refuses a thread for signals, they kill as they kill GNU sort.
        let _ = clean_up_when_killed();
        let copy = match &self.keeping {
            Some(keeping) if !is_empty => Some(self.copied(keeping)?),
            _ => None,
        };
        // Before the copy has a name: otherwise a signal could end the process and leave the copy.
        self.hold_signals();
        if let Some((new, path)) = copy {
            let named = self.name_copy(new, path);
            self.copy = Some(named.inspect_err(|_| self.rewriting = None)?);
        }
        if self.is_changed() {
            let removed = self.copy.take().map_or(Ok(()), |copy| copy.remove());
            self.rewriting = None;
            return removed.and(Err(changed("nothing was written")));
        }
        self.append_only(true)?;
        self.is_begun = true;
        // An empty file isn't truncated: when a truncated file is closed, ext4 writes it to the
        // drive, and close waits for that.
        if is_empty { Ok(()) } else { self.file.set_len(0) }
    }

    /// Whether another process has written to it since it was read.
    fn is_changed(&self) -> bool {
        self.read.is_some() && self.read != FileVersion::of(&self.file.metadata())
    }

    /// Whether each write goes to the end of the file.
    fn append_only(&self, is_on: bool) -> io::Result<()> {
        if self.keeping.is_some() {
            let mut flags = fcntl_getfl(&self.file)?;
            flags.set(OFlags::APPEND, is_on);
            fcntl_setfl(&self.file, flags)?;
        }
        Ok(())
    }

    /// From now on the first signal waits until the file is whole.
    fn hold_signals(&mut self) {
        let (program, name) = (self.program.clone(), names::shown(&self.name));
        self.rewriting = Some(Rewriting::begin(move || {
            let text = b": note: a last moment, to end the rewriting of ";
            let way_out = b" (a second signal ends it at once, and loses content)\n";
            say(&[program.as_bytes(), text, &name, way_out].concat());
        }));
    }

    /// Copies the old content to the first directory that accepts it. The copy has no name yet, or
    /// a name that is removed when a signal ends the process.
    fn copied(&self, keeping: &Keeping) -> io::Result<(NewFile, PathBuf)> {
        let mut directories: Vec<&Path> = keeping.scratch.iter().map(PathBuf::as_path).collect();
        let own = if keeping.is_scratch_given { directories.len() } else { 0 };
        directories.splice(own..own, self.directory.as_deref());
        let mut refusals: Vec<String> = Vec::new();
        for directory in directories {
            match self.copied_to(directory, keeping) {
                Ok(copy) => return Ok(copy),
                Err(error) => {
                    let refusal = format!("{}: {}", DisplayPath(directory), reason(&error));
                    if !refusals.contains(&refusal) {
                        refusals.push(refusal);
                    }
                }
            }
        }
        Err(no_copy(&refusals.join("; ")))
    }

    fn copied_to(&self, directory: &Path, keeping: &Keeping) -> io::Result<(NewFile, PathBuf)> {
        let stem = Path::new(&self.name).file_name().unwrap_or_default();
        let random = RandomState::new().build_hasher().finish();
        let name = hidden_name(stem, &format!(".xsort-old-{random:016x}"));
        let path = fs::canonicalize(directory)?.join(name);
        let copy = NewFile::create_private(&path).map_err(|error| error.source)?;
        let copied = copy_bytes(&self.file, copy.file(), keeping);
        copied.map_err(|error| match error.raw_os_error() == Some(Errno::BADF.raw_os_error()) {
            true => io::Error::other("the old content may not be read"),
            false => error,
        })?;
        // Some file systems report only here that there is no space.
        copy.file().sync_all()?;
        (&self.file).rewind()?;
        Ok((copy, path))
    }

    /// Makes the copy durable under its name, and prints where it is.
    fn name_copy(&self, new: NewFile, path: PathBuf) -> io::Result<OldContent> {
        let file = new.file().try_clone()?;
        new.publish(true)
            .map_err(|error| no_copy(&format!("{}: {}", DisplayPath(&path), error.source)))?;
        if self.keeping.as_ref().is_some_and(|keeping| !keeping.is_quiet) {
            let (copied, until) = (b"its old content is in ", b" until it is rewritten");
            let text = [&copied[..], &names::shown(path.as_os_str()), until].concat();
            self.say(b"note: ", &text);
        }
        Ok(OldContent { file, path })
    }

    /// Ends the rewriting. The new content is whole: `written_bytes` bytes.
    ///
    /// # Errors
    /// If the content can't be made durable: then the old content is put back when this value is
    /// dropped. If another process has written to the file: then that stays there, and the copy,
    /// too. If the file lost its name, or its copy can't be removed: then the new content is whole,
    /// and the failure says so.
    pub(super) fn finish(&mut self, written_bytes: u64) -> Result<(), Failure> {
        self.refuse_foreign(written_bytes)?;
        if self.keeping.as_ref().is_some_and(|keeping| keeping.sync) {
            let synced = self.file.sync_all();
            synced.map_err(|error| Failure::unwritten("fsync failed", &self.name, &error))?;
        }
        self.is_begun = false;
        // Before signals are let through again: they would leave the copy.
        let copy = self.copy.take().map(|copy| (copy.remove(), copy));
        let has_its_name = self.keeping.is_none() || self.has_its_name();
        self.rewriting = None;
        let name = names::shown(&self.name);
        if !has_its_name {
            let what = b": it was renamed or removed while it was rewritten: the sorted lines are \
                         whole, in the file that had this name";
            return Err(Failure::Message([&name[..], what].concat()));
        }
        match copy {
            Some((Err(error), copy)) => {
                let what = format!(
                    ": it is whole and new, but its old content's copy can't be removed ({}): ",
                    reason(&error)
                );
                let place = names::shown(copy.path.as_os_str());
                Err(Failure::Message([&name[..], what.as_bytes(), &place].concat()))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a file that has not as many bytes as were written to it.
    fn refuse_foreign(&mut self, written_bytes: u64) -> Result<(), Failure> {
        let metadata = self.file.metadata();
        let found = metadata.ok().filter(Metadata::is_file).map(|file| file.len());
        let Some(found) = found.filter(|&found| found != written_bytes) else { return Ok(()) };
        if !self.is_begun || self.keeping.is_none() {
            return Ok(());
        }
        self.is_begun = false;
        let old = match self.copy.take() {
            Some(copy) => format!("its old content is kept in {copy}"),
            None => "it was empty before".to_owned(),
        };
        self.rewriting = None;
        let text = format!(
            ": another process wrote to it while it was rewritten: it has {found} bytes, of which \
             {written_bytes} are the sorted lines and the rest is unsorted among them, and {old}: \
             sort it again once no other process writes to it"
        );
        Err(Failure::Message([&names::shown(&self.name)[..], text.as_bytes()].concat()))
    }

    /// Whether the file still has the name by which it was opened.
    fn has_its_name(&self) -> bool {
        fs::metadata(&self.name).is_ok_and(|named| is_same(&self.file, &named))
    }

    /// Restores the old content after an error, and prints what the file holds now. It prints this
    /// even if notes are off, as part of the error.
    fn restore(&self) {
        let Some(keeping) = self.keeping.as_ref().filter(|_| self.is_begun) else { return };
        let Some(copy) = &self.copy else {
            match self.file.set_len(0) {
                Ok(()) => self.say(b"", b"it is empty again"),
                Err(error) => {
                    let text = format!("it was empty, and can't be emptied ({})", reason(&error));
                    self.say(b"", text.as_bytes());
                }
            }
            return;
        };
        let text = match self.put_back(copy, keeping) {
            Ok(()) if copy.remove().is_ok() => "its old content was put back".to_owned(),
            Ok(()) => format!("its old content was put back, and is also in {copy}"),
            Err(error) if copy.has_its_name() => {
                let reason = reason(&error);
                format!("its old content can't be put back ({reason}), and is in {copy}")
            }
            Err(error) => {
                let reason = reason(&error);
                format!(
                    "its old content is lost: it can't be put back ({reason}), and another \
                     process removed its copy {copy}"
                )
            }
        };
        self.say(b"", text.as_bytes());
    }

    fn put_back(&self, copy: &OldContent, keeping: &Keeping) -> io::Result<()> {
        self.append_only(false)?;
        self.file.set_len(0)?;
        copy_bytes(&copy.file, &self.file, keeping)?;
        self.file.sync_all()
    }

    /// Prints a line about the file.
    fn say(&self, before: &[u8], text: &[u8]) {
        let (program, name) = (self.program.as_bytes(), names::shown(&self.name));
        say(&[program, b": ", before, &name, b": ", text, b"\n"].concat());
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        self.restore();
    }
}

impl OldContent {
    /// True if the copy's name still refers to it.
    fn has_its_name(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|named| is_same(&self.file, &named))
    }

    /// Removes the copy, if no other process has removed it.
    fn remove(&self) -> io::Result<()> {
        if self.has_its_name() { fs::remove_file(&self.path) } else { Ok(()) }
    }
}

impl fmt::Display for OldContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DisplayPath(&self.path).fmt(f)
    }
}

/// What tells that a file was written to: its length and the time of the last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileVersion {
    identity: Identity,
    bytes: u64,
    modified: (i64, i64),
}

impl FileVersion {
    /// That of a regular file, as far as it can be inspected.
    pub(super) fn of(metadata: &io::Result<Metadata>) -> Option<FileVersion> {
        let file = metadata.as_ref().ok().filter(|file| file.is_file())?;
        let modified = (file.mtime(), file.mtime_nsec());
        Some(FileVersion { identity: identity(file), bytes: file.len(), modified })
    }
}

/// Why what was sorted doesn't replace its input, and what was done.
pub(super) fn changed(what: &str) -> io::Error {
    io::Error::other(format!(
        "another process wrote to it since it was read: {what}; sort it again once no other \
         process writes to it"
    ))
}

/// Whether an open file is the one with these properties.
fn is_same(file: &File, named: &Metadata) -> bool {
    file.metadata().is_ok_and(|opened| identity(&opened) == identity(named))
}

/// Copies all of one file to another, both from the beginning, at most at the rate limit.
fn copy_bytes(mut from: &File, mut to: &File, keeping: &Keeping) -> io::Result<u64> {
    from.rewind()?;
    to.rewind()?;
    match &keeping.rate {
        None => io::copy(&mut from, &mut to),
        Some(rate) => {
            let mut from = Limited::new(from, Arc::clone(rate));
            io::copy(&mut from, &mut Limited::new(to, Arc::clone(rate)))
        }
    }
}

/// The error of a file for which no copy can be kept.
fn no_copy(reason: &str) -> io::Error {
    io::Error::other(format!(
        "it is as it was, because no copy of its old content can be kept while it is rewritten \
         ({reason}): name a directory that has space for one (-T)"
    ))
}
