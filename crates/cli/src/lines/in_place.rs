//! A file that is rewritten in place: the one way out where a new file can't take its place.
//!
//! ```text
//!  old content --> copied to a hidden name --> cut off, the new one written --> copy removed
//!                                                         \--(an error)--> copied back
//! ```
//!
//! GNU sort has no such copy, so a command that was called by its name makes none. While the file
//! is rewritten, a first signal doesn't end the process. What is left is SIGKILL and power: then
//! the copy stays, under a name that was printed.

use super::names;
use crate::gnu_commands::say;
use crate::settings::limited::Limited;
use crate::signals::{Rewriting, clean_up_when_killed, report_exceeded_sizes_as_errors};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;
use xsort_disk::{RateLimit, hidden_name, parent_directory};

/// What the old content's copy needs.
pub(super) struct Keeping {
    /// Where the copy goes if the file's own directory takes none.
    pub(super) scratch: PathBuf,
    /// The limit on bytes a second.
    pub(super) rate: Option<Arc<RateLimit>>,
    /// Whether notes are printed.
    pub(super) is_quiet: bool,
    /// Whether the new content is made durable before the copy is removed.
    pub(super) sync: bool,
}

/// A file that exists, open for writing.
pub(super) struct InPlace {
    pub(super) file: File,
    /// What the user called it.
    name: OsString,
    program: String,
    /// `None`: as GNU sort does it, without a copy.
    keeping: Option<Keeping>,
    /// Set while the file holds neither the old content nor the whole new one.
    rewriting: Option<Rewriting>,
    copy: Option<NamedTempFile>,
    /// Whether something may have been written, and the new content isn't whole.
    is_begun: bool,
}

impl InPlace {
    pub(super) fn new(
        file: File,
        name: &OsStr,
        program: &str,
        keeping: Option<Keeping>,
    ) -> InPlace {
        let (name, program) = (name.to_owned(), program.to_owned());
        InPlace { file, name, program, keeping, rewriting: None, copy: None, is_begun: false }
    }

    /// Cuts the old content off, once there is a copy of it.
    pub(super) fn empty(&mut self) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        // Pipes and devices can't be cut.
        if !metadata.is_file() {
            return Ok(());
        }
        self.is_begun = true;
        // An empty file isn't cut, because ext4 writes a file that was truncated to the drive when
        // it is closed, and close waits for that.
        if metadata.len() == 0 {
            return Ok(());
        }
        if let Some(keeping) = &self.keeping {
            self.copy = self.keep(keeping);
            // What fails can be undone.
            report_exceeded_sizes_as_errors()?;
        }
        // Where the system refuses a thread for signals, they kill as they kill GNU sort.
        let _ = clean_up_when_killed();
        let (program, name) = (self.program.clone(), names::shown(&self.name));
        self.rewriting = Some(Rewriting::begin(move || {
            let text = b": note: a last moment, to end the rewriting of ";
            let way_out = b" (a second signal ends it at once, and loses content)\n";
            say(&[program.as_bytes(), text, &name, way_out].concat());
        }));
        self.file.set_len(0)
    }

    /// Copies the old content, and says where it is; or that there is no copy, and why.
    fn keep(&self, keeping: &Keeping) -> Option<NamedTempFile> {
        let own = fs::canonicalize(&self.name).map(|path| parent_directory(&path));
        let directories = own.iter().map(PathBuf::as_path).chain([keeping.scratch.as_path()]);
        let mut refusal = None;
        for directory in directories {
            match self.copied_to(directory, keeping) {
                Ok(copy) => {
                    let copied = b"its old content is in ";
                    let until = b" until it is rewritten";
                    let path = names::shown(copy.path().as_os_str());
                    self.note(&[&copied[..], &path, until].concat());
                    return Some(copy);
                }
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        let reason = refusal.map_or_else(String::new, |error| error.to_string());
        let text = format!(
            "no copy of its old content can be kept ({reason}): SIGKILL or a power failure while \
             it is rewritten would lose lines"
        );
        self.note(text.as_bytes());
        None
    }

    fn copied_to(&self, directory: &Path, keeping: &Keeping) -> io::Result<NamedTempFile> {
        let stem = Path::new(&self.name).file_name().unwrap_or_default();
        let prefix = hidden_name(stem, ".xsort-old-");
        let copy = tempfile::Builder::new().prefix(&prefix).tempfile_in(directory)?;
        self.copy_bytes(&mut File::open(&self.name)?, &mut copy.as_file(), keeping)?;
        copy.as_file().sync_all()?;
        Ok(copy)
    }

    /// Copies all of one file to another, as fast as is allowed.
    fn copy_bytes(
        &self,
        from: &mut File,
        mut to: &mut &File,
        keeping: &Keeping,
    ) -> io::Result<u64> {
        match &keeping.rate {
            None => io::copy(from, &mut to),
            Some(rate) => {
                let mut from = Limited::new(from, Arc::clone(rate));
                io::copy(&mut from, &mut Limited::new(to, Arc::clone(rate)))
            }
        }
    }

    /// Ends the rewriting: the new content is whole.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if self.keeping.as_ref().is_some_and(|keeping| keeping.sync) {
            self.file.sync_all()?;
        }
        self.is_begun = false;
        // Before signals are let through again, which would leave the copy behind.
        let removed = self.copy.take().map_or(Ok(()), NamedTempFile::close);
        self.rewriting = None;
        removed
    }

    /// Puts the old content back, after an error. Says what is there now.
    fn restore(&mut self) {
        let Some(keeping) = self.keeping.as_ref().filter(|_| self.is_begun) else { return };
        let Some(mut copy) = self.copy.take() else {
            if self.rewriting.is_none() {
                // It was empty.
                let _ = self.file.set_len(0);
            }
            return;
        };
        let put_back = || {
            let mut from = copy.reopen()?;
            self.file.set_len(0)?;
            (&self.file).rewind()?;
            self.copy_bytes(&mut from, &mut &self.file, keeping)?;
            self.file.sync_all()
        };
        match put_back() {
            Ok(()) => self.note(b"its old content was put back"),
            Err(error) => {
                copy.disable_cleanup(true);
                let place = names::shown(copy.path().as_os_str());
                let reason = format!("its old content can't be put back ({error}), and is in ");
                self.note(&[reason.as_bytes(), &place].concat());
            }
        }
    }

    /// Prints a line about the file.
    fn note(&self, text: &[u8]) {
        if self.keeping.as_ref().is_none_or(|keeping| keeping.is_quiet) {
            return;
        }
        let (program, name) = (self.program.as_bytes(), names::shown(&self.name));
        say(&[program, b": note: ", &name, b": ", text, b"\n"].concat());
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        self.restore();
    }
}
