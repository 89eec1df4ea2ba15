//! The output. An old file keeps its content until the first line is written, or until it is clear
//! that there is none: it may be an input.
//!
//! The last bytes are held back until the end, as the C library does for GNU sort: it decides
//! whether a write fails or the flush at the end, and the two have messages of their own.
//!
//! An object at a URL is no such file, and neither is one that may replace nothing: these appear
//! whole when all is done, or not at all.

use super::failure::{self, Failure};
use super::lines_disk::LinesDisk;
use crate::gnu_commands::write_all;
use crate::inputs::tree::identity;
use crate::signals::abandon_outputs_when_killed;
use rustix::fs::{FileType, OFlags, SeekFrom, fcntl_getfl, fstat, seek, tell};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Stdout, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use xsort_disk::inherited;
use xsort_extsort::variable::FileOutput;
use xsort_usage::Identity;

/// Bytes of the C library's buffer: a block of nearly every file system. Between one byte and so
/// many are held back.
const HELD_BYTES: usize = 4096;

/// Where the kernel shows files by their descriptors.
const OPEN_FILES: &str = "/proc/self/fd/";

/// A file that is opened at once and emptied late.
pub(super) struct Target<'d> {
    sink: Sink<'d>,
    name: OsString,
    /// What must be done before the first line is written.
    due: Option<Due>,
    held: Vec<u8>,
    /// Bytes that were put in, but for those that the engine writes by the path.
    written_bytes: u64,
    /// Whether all was written and only what is held back failed.
    is_flushing: bool,
}

enum Sink<'d> {
    /// Standard output as it is, without another descriptor for it.
    Standard,
    /// Standard output was closed when the process was started.
    Closed,
    File(File),
    /// An object, or a file that may replace nothing, that is written and not in place yet; `None`
    /// once it is.
    Whole(Option<Box<FileOutput<'d>>>),
}

struct Due {
    is_emptied: bool,
    header: Vec<u8>,
}

impl<'d> Target<'d> {
    /// The file of `-o`, made if it isn't there; without one, standard output.
    pub(super) fn open(
        name: Option<&OsStr>,
        disk: &'d LinesDisk<'_>,
    ) -> Result<Target<'d>, Failure> {
        let Some(name) = name else { return Ok(Target::standard()) };
        if let Some(disk) = disk.of_whole(name) {
            abandon_outputs_when_killed().map_err(|error| Failure::said("signals", &error))?;
            let whole = FileOutput::create(&**disk, Path::new(name), 0);
            let whole = whole.map_err(|error| failure::of_engine(&error))?;
            return Ok(Target::new(Sink::Whole(Some(Box::new(whole))), name.to_owned()));
        }
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(name);
        let file = file.map_err(|error| Failure::of_file("open failed", name, &error))?;
        Ok(Target::new(Sink::File(file), name.to_owned()))
    }

    /// Standard output, as it is: not looked at line by line.
    pub(super) fn standard() -> Target<'d> {
        let sink = if inherited().is_open[1] { Sink::Standard } else { Sink::Closed };
        Target::new(sink, "standard output".into())
    }

    fn new(sink: Sink<'d>, name: OsString) -> Target<'d> {
        let is_emptied = matches!(sink, Sink::File(_));
        let due = Some(Due { is_emptied, header: Vec::new() });
        Target {
            sink,
            name,
            due,
            held: Vec::with_capacity(HELD_BYTES),
            written_bytes: 0,
            is_flushing: false,
        }
    }

    /// A path to the open file, if it is a regular one and will hold nothing but lines. The engine
    /// opens it once more by this path, because a descriptor of its own can be switched past the
    /// page cache without a change to that of whoever else has standard output.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let output = io::stdout();
        let file = self.sink.descriptor(&output)?;
        let status = fstat(file).ok()?;
        let is_regular = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        // What other processes wrote to standard output, or will append, must stay.
        let is_own = match &self.sink {
            Sink::File(_) => true,
            Sink::Standard => {
                let appends =
                    fcntl_getfl(file).map_or(true, |flags| flags.contains(OFlags::APPEND));
                status.st_size == 0 && !appends && tell(file) == Ok(0)
            }
            Sink::Closed | Sink::Whole(_) => false,
        };
        let has_no_header = self.due.as_ref().is_some_and(|due| due.header.is_empty());
        (is_regular && is_own && has_no_header).then(|| path_of(file))
    }

    /// Whether this is the path that [`path`](Target::path) returned.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.sink.descriptor(&io::stdout()).is_some_and(|file| path == path_of(file))
    }

    /// Moves the position of standard output behind what was written by its path, for other
    /// processes that have it.
    pub(super) fn go_to_end(&self) -> io::Result<()> {
        if let Sink::Standard = self.sink {
            seek(io::stdout(), SeekFrom::End(0))?;
        }
        Ok(())
    }

    /// Bytes of the budget that it takes.
    pub(super) fn taken_bytes(&self) -> u64 {
        match self.sink {
            Sink::Whole(_) => FileOutput::MEMORY_BYTES,
            Sink::Standard | Sink::Closed | Sink::File(_) => 0,
        }
    }

    /// Puts what appears whole in place, once all is written and flushed.
    pub(super) fn publish(&mut self) -> Result<(), Failure> {
        if let Sink::Whole(whole) = &mut self.sink
            && let Some(whole) = whole.take()
        {
            whole.publish(true).map_err(|error| failure::of_engine(&error))?;
        }
        Ok(())
    }

    /// Lines that come before all others.
    pub(super) fn begin_with(&mut self, header: Vec<u8>) {
        let due = self.due.as_mut().expect("nothing is written yet");
        due.header = header;
    }

    /// Identifies the file that will be written, if it is a regular one.
    pub(super) fn identity(&self) -> Option<Identity> {
        let status = fstat(self.sink.descriptor(&io::stdout())?).ok()?;
        let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        is_file.then_some(Identity { device: status.st_dev, inode: status.st_ino })
    }

    /// Bytes that were put in, but for those that the engine has written by the path.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// A write that failed.
    pub(super) fn failed(&self, error: &io::Error) -> Failure {
        let what = if self.is_flushing { "fflush failed" } else { "write failed" };
        Failure::unwritten(what, &self.name, error)
    }

    /// The same for help and version. GNU sort checks these only at its end, when the reason why a
    /// long text failed is lost.
    pub(super) fn failed_at_exit(&self, error: &io::Error, is_long: bool) -> Failure {
        if is_long && !matches!(self.sink, Sink::Closed) {
            return Failure::Message(b"write error".to_vec());
        }
        Failure::said("write error", error)
    }

    /// Empties the file, and writes the header.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        let Some(due) = self.due.take() else { return Ok(()) };
        // Pipes and devices can't be emptied. An empty file isn't, because ext4 writes a file that
        // was truncated to the drive when it is closed, and close waits for that.
        if let Sink::File(file) = &self.sink
            && due.is_emptied
            && file.metadata().map(|metadata| metadata.is_file() && metadata.len() > 0)?
        {
            file.set_len(0)?;
        }
        self.put(&due.header)
    }

    /// Holds back the end of `bytes`, writes what comes before it.
    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.written_bytes += bytes.len() as u64;
        if self.held.len() + bytes.len() > HELD_BYTES {
            let (first, rest) = bytes.split_at(HELD_BYTES - self.held.len());
            self.held.extend_from_slice(first);
            self.write_held()?;
            let held = (rest.len() - 1) % HELD_BYTES + 1;
            let (whole, rest) = rest.split_at(rest.len() - held);
            self.sink.write_all(whole)?;
            bytes = rest;
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    fn write_held(&mut self) -> io::Result<()> {
        let result = self.sink.write_all(&self.held);
        self.held.clear();
        result
    }
}

/// Identifies the file of this name, or standard output, if it exists already and is a regular one.
pub(super) fn present(name: Option<&OsStr>) -> Option<Identity> {
    match name {
        Some(name) => fs::metadata(name).ok().filter(Metadata::is_file).map(|file| identity(&file)),
        None => Target::standard().identity(),
    }
}

/// A path to an open file, wherever its name leads by now.
fn path_of(file: BorrowedFd<'_>) -> PathBuf {
    format!("{OPEN_FILES}{}", file.as_raw_fd()).into()
}

impl Write for Target<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begin()?;
        self.is_flushing = false;
        self.put(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begin()?;
        self.is_flushing = true;
        self.write_held()?;
        // What fails after this is written past it.
        self.is_flushing = false;
        Ok(())
    }
}

impl Sink<'_> {
    fn descriptor<'f>(&'f self, output: &'f Stdout) -> Option<BorrowedFd<'f>> {
        match self {
            Sink::Standard => Some(output.as_fd()),
            Sink::Closed | Sink::Whole(_) => None,
            Sink::File(file) => Some(file.as_fd()),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Sink::Whole(Some(whole)) = self {
            return whole.write_all(bytes);
        }
        let output = io::stdout();
        let Some(to) = self.descriptor(&output) else {
            return if bytes.is_empty() { Ok(()) } else { Err(Errno::BADF.into()) };
        };
        write_all(to, bytes)
    }
}
