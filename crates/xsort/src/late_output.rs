//! The file of the lines or rows that come too late.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use xsort_disk::{Disk, Operation};
use xsort_extsort::Error;
use xsort_extsort::lines::FileOutput;

/// A file that takes late lines or rows. A new file appears whole or not at all, as an output does.
/// A pipe or a device is written directly.
pub struct LateOutput<'d> {
    path: PathBuf,
    sink: Sink<'d>,
}

enum Sink<'d> {
    New(Box<FileOutput<'d>>),
    Special(File),
}

impl<'d> LateOutput<'d> {
    /// Bytes of memory that a new file takes while it is written.
    pub const MEMORY_BYTES: u64 = FileOutput::MEMORY_BYTES;

    /// Opens the file at `path`. `output` is that of the sort.
    ///
    /// # Errors
    ///
    /// If both are the same, or the file can't be created or opened.
    pub fn open(disk: &'d dyn Disk, path: &Path, output: &Path) -> Result<LateOutput<'d>, Error> {
        let same = || Some(fs::canonicalize(path).ok()? == fs::canonicalize(output).ok()?);
        let is_special = fs::metadata(path).is_ok_and(|found| !found.is_file());
        if path == output || (!is_special && same() == Some(true)) {
            let what = "late lines and those in order go to different files: name another with \
                        --late";
            return Err(Error::Settings(what.into()));
        }
        let sink = if is_special {
            let opened = OpenOptions::new().write(true).open(path);
            let of_path = |error| xsort_disk::Error::new(Operation::Open, path, error);
            Sink::Special(opened.map_err(of_path)?)
        } else {
            Sink::New(Box::new(FileOutput::create(disk, path, 0)?))
        };
        Ok(LateOutput { path: path.to_owned(), sink })
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Publishes the file, once everything is written. With `sync` it is durable.
    ///
    /// # Errors
    ///
    /// If a write fails, or the disk can't publish the file.
    pub fn publish(self, sync: bool) -> Result<(), Error> {
        match self.sink {
            Sink::New(file) => file.publish(sync).map_err(|error| error.of_output(&self.path)),
            Sink::Special(_) => Ok(()),
        }
    }
}

impl Write for LateOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::New(file) => file.write(bytes),
            Sink::Special(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::New(file) => file.flush(),
            Sink::Special(file) => file.flush(),
        }
    }
}
