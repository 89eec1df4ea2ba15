//! The output. What it held stays until the first line is written, or until it is clear that there is none: it may be an input.

use super::failure::Failure;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

/// A file that is opened at once and emptied late.
pub(super) struct Target {
    file: File,
    name: OsString,
    /// What must be done before the first line is written.
    due: Option<Due>,
}

struct Due {
    is_emptied: bool,
    header: Vec<u8>,
}

impl Target {
    /// The file of `-o`, made if it isn't there; without one, standard output.
    pub(super) fn open(name: Option<&OsStr>) -> Result<Target, Failure> {
        let Some(name) = name else { return Target::standard() };
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(name);
        let file = file.map_err(|error| Failure::of_file("open failed", name, &error))?;
        Ok(Target { file, name: name.to_owned(), due: Some(Due { is_emptied: true, header: Vec::new() }) })
    }

    /// Standard output, as it is: neither buffered nor looked at line by line.
    pub(super) fn standard() -> Result<Target, Failure> {
        let name = OsString::from("standard output");
        let file = io::stdout().as_fd().try_clone_to_owned();
        let file = file.map_err(|error| Failure::of_file("open failed", &name, &error))?.into();
        Ok(Target { file, name, due: Some(Due { is_emptied: false, header: Vec::new() }) })
    }

    /// A path to the file, if it is a regular one and lines are all that it will hold.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let is_own = self.due.as_ref().is_some_and(|due| due.is_emptied && due.header.is_empty());
        let is_regular = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        // Whatever its name means by then.
        (is_own && is_regular).then(|| format!("/proc/self/fd/{}", self.file.as_raw_fd()).into())
    }

    /// Lines that come before all others.
    pub(super) fn begin_with(&mut self, header: Vec<u8>) {
        let due = self.due.as_mut().expect("nothing is written yet");
        due.header = header;
    }

    pub(super) fn metadata(&self) -> Result<Metadata, Failure> {
        self.file.metadata().map_err(|error| Failure::of_file("stat failed", &self.name, &error))
    }

    /// A write that failed.
    pub(super) fn failed(&self, error: &io::Error) -> Failure {
        Failure::of_file("write failed", &self.name, error)
    }

    fn begin(&mut self) -> io::Result<()> {
        let Some(due) = self.due.take() else { return Ok(()) };
        // Pipes and devices can't be emptied, and what is empty need not be: ext4 writes a file that was cut back to the drive when it is closed,
        // and has its closer wait.
        let metadata = self.file.metadata()?;
        if due.is_emptied && metadata.is_file() && metadata.len() > 0 {
            self.file.set_len(0)?;
        }
        self.file.write_all(&due.header)
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begin()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begin()
    }
}
