//! The output.
//!
//! | what `-o` names | how it is written |
//! |---|---|
//! | nothing, or a file | a new file, which takes the name once it is complete ([`NewFile`]) |
//! | an object | parts, which become the object once all are uploaded |
//! | a file that no new one can replace without a loss, or with `--in-place` | in place |
//! | any file, if called `sort` | in place, as GNU sort does: a script may rely on the inode |
//! | a pipe or a device | directly |
//!
//! A file that is rewritten in place may be an input. So it keeps its content until the first line
//! is written, or until it is clear that there is none.
//!
//! The last bytes are held back until the end, as the C library does for GNU sort. This decides
//! whether a write fails or the flush at the end; the two have different messages.

use super::command::LinesCommand;
use super::failure::{self, Failure};
use super::in_place::{FileVersion, InPlace, Keeping, changed};
use super::session::LinesSession;
use super::{names, resources};
use crate::gnu_commands::{is_called_as_gnu, say, write_all};
use crate::inputs::tree::identity;
use crate::signals::clean_up_when_killed;
use rustix::fs::{FileType, OFlags, SeekFrom, fcntl_getfl, fstat, seek, tell};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io::{self, Stdout, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use xsort_disk::{Creation, NewFile, inherited, open_in_place};
use xsort_extsort::lines::FileOutput;
use xsort_usage::Identity;

/// The size of the C library's buffer: a block of nearly every file system. Between 1 and
/// `HELD_BYTES` bytes are held back.
const HELD_BYTES: usize = 4096;

/// The directory in which the kernel shows open files by their descriptors.
const OPEN_FILES: &str = "/proc/self/fd/";

/// The destination of sorted lines. It is opened before anything is read, and unchanged until there
/// is something to write.
pub(super) struct Target<'d> {
    sink: Sink<'d>,
    name: OsString,
    /// The header, until it is written with the first line; `None` after that.
    due: Option<Vec<u8>>,
    /// True if a new file is made durable before it gets its name.
    sync: bool,
    held: Vec<u8>,
    /// Bytes written to this target, without those that the engine writes by the path.
    written_bytes: u64,
    /// True if all bytes were written, and only the write of those held back failed.
    is_flushing: bool,
    /// What a file that is to be replaced was before it was read, if it is an input, too.
    read: Option<FileVersion>,
}

enum Sink<'d> {
    /// Standard output itself, without another descriptor for it.
    Standard,
    /// Standard output was closed when the process started.
    Closed,
    /// A new file that has not replaced the old one yet.
    New(NewFile),
    /// A file, a pipe or a device that is written in place.
    InPlace(InPlace),
    /// An object whose upload isn't complete yet.
    Object(Box<FileOutput<'d>>),
    /// A file or an object that is published.
    Published,
}

impl<'d> Target<'d> {
    /// Opens the file of `-o`; without it, standard output.
    pub(super) fn open(
        lines: &LinesCommand<'_>,
        session: &'d LinesSession,
    ) -> Result<Target<'d>, Failure> {
        let command = &lines.command;
        let Some(name) = command.output.as_deref() else { return Ok(Target::standard()) };
        let sink = match session.disk_of_url(name) {
            Some(disk) => {
                clean_up_when_killed().map_err(|error| Failure::said("signals", &error))?;
                let object = FileOutput::create(&**disk, Path::new(name), 0);
                Sink::Object(Box::new(object.map_err(|error| failure::of_engine(&error))?))
            }
            None => open_file(lines, name, session)?,
        };
        let sync = !command.extras.no_sync;
        Ok(Target { sync, ..Target::new(sink, name.to_owned()) })
    }

    /// Standard output, without a look at the lines.
    pub(super) fn standard() -> Target<'d> {
        let sink = if inherited().is_open[1] { Sink::Standard } else { Sink::Closed };
        Target::new(sink, "standard output".into())
    }

    fn new(sink: Sink<'d>, name: OsString) -> Target<'d> {
        Target {
            sink,
            name,
            due: Some(Vec::new()),
            sync: false,
            held: Vec::with_capacity(HELD_BYTES),
            written_bytes: 0,
            is_flushing: false,
            read: None,
        }
    }

    /// Says that the output is an input, too, of which nothing was read yet: what another process
    /// writes to it meanwhile would be lost.
    pub(super) fn will_be_read(&mut self) {
        match &mut self.sink {
            Sink::New(_) => self.read = FileVersion::of(&fs::metadata(&self.name)),
            Sink::InPlace(file) => file.will_be_read(),
            Sink::Standard | Sink::Closed | Sink::Object(_) | Sink::Published => {}
        }
    }

    /// A path to the open file, if it is a regular file and will hold nothing but lines. The engine
    /// opens the file again by this path. It can set direct I/O on its own descriptor, without
    /// changing it for other processes that share standard output.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let output = io::stdout();
        let file = self.sink.descriptor(&output)?;
        let status = fstat(file).ok()?;
        let is_regular = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        // Data that other processes wrote to standard output, or will append, must stay.
        let is_own = match &self.sink {
            Sink::New(_) => true,
            Sink::InPlace(file) => !file.is_appended_to(),
            Sink::Standard => {
                let appends =
                    fcntl_getfl(file).map_or(true, |flags| flags.contains(OFlags::APPEND));
                status.st_size == 0 && !appends && tell(file) == Ok(0)
            }
            Sink::Closed | Sink::Object(_) | Sink::Published => false,
        };
        let has_no_header = self.due.as_ref().is_some_and(Vec::is_empty);
        (is_regular && is_own && has_no_header).then(|| path_of(file))
    }

    /// True if the output appears once it is whole.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.sink, Sink::New(_) | Sink::Object(_))
    }

    /// True if `path` is the one that [`path`](Target::path) returned.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.sink.descriptor(&io::stdout()).is_some_and(|file| path == path_of(file))
    }

    /// Moves the position of standard output to the end of what was written by its path, for other
    /// processes that share it.
    pub(super) fn go_to_end(&self) -> io::Result<()> {
        if let Sink::Standard = self.sink {
            seek(io::stdout(), SeekFrom::End(0))?;
        }
        Ok(())
    }

    /// Bytes of the budget reserved for an object.
    pub(super) fn block_bytes(&self) -> u64 {
        match self.sink {
            Sink::Object(_) => FileOutput::MEMORY_BYTES,
            _ => 0,
        }
    }

    /// Publishes a new file or object, or ends a rewriting, once everything is written and flushed.
    pub(super) fn publish(&mut self) -> Result<(), Failure> {
        match std::mem::replace(&mut self.sink, Sink::Published) {
            Sink::Object(object) => {
                object.publish(true).map_err(|error| failure::of_engine(&error))
            }
            Sink::New(file) => {
                let found = self.read.and(FileVersion::of(&fs::metadata(&self.name)));
                if found != self.read {
                    let error = changed("the sorted lines were not put in its place");
                    return Err(Failure::unwritten("write failed", &self.name, &error));
                }
                // To replace a file, the new one has a hidden name for a moment.
                if fs::symlink_metadata(&self.name).is_ok() {
                    let _ = clean_up_when_killed();
                }
                file.publish(self.sync).map_err(|error| failure::of_disk(&error))
            }
            Sink::InPlace(mut file) => file.finish(self.written_bytes),
            sink => {
                self.sink = sink;
                Ok(())
            }
        }
    }

    /// Sets the lines that precede all others.
    pub(super) fn begin_with(&mut self, header: Vec<u8>) {
        self.due = Some(header);
    }

    /// Identifies the file to be written, if it is a regular file.
    pub(super) fn identity(&self) -> Option<Identity> {
        let status = fstat(self.sink.descriptor(&io::stdout())?).ok()?;
        let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        is_file.then_some(Identity { device: status.st_dev as u64, inode: status.st_ino })
    }

    /// Bytes written to this target, without those that the engine wrote by the path.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// The failure of a write.
    pub(super) fn failed(&self, error: &io::Error) -> Failure {
        let what = if self.is_flushing { "fflush failed" } else { "write failed" };
        let failure = Failure::unwritten(what, &self.name, error).with_limit_hint(error);
        let is_full = error.raw_os_error() == Some(Errno::NOSPC.raw_os_error());
        if !is_full || !matches!(self.sink, Sink::New(_)) || !Path::new(&self.name).exists() {
            return failure;
        }
        let name = String::from_utf8_lossy(&names::shown(&self.name)).into_owned();
        let hint = format!(
            "{name} is as it was; with --in-place -T DIRECTORY, of another drive, its space is \
             used for the new content, and the old one is kept in that directory meanwhile"
        );
        Failure::Hinted(Box::new(failure), hint)
    }

    /// The failure of a write of help or version. GNU sort checks these only at its end, when the
    /// reason for the failure of a long text is lost.
    pub(super) fn failed_at_exit(&self, error: &io::Error, is_long: bool) -> Failure {
        if is_long && !matches!(self.sink, Sink::Closed) {
            return Failure::Message(b"write error".to_vec());
        }
        Failure::said("write error", error)
    }

    /// Empties a file that is rewritten in place, and writes the header.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        let Some(header) = self.due.take() else { return Ok(()) };
        if let Sink::InPlace(file) = &mut self.sink {
            file.empty()?;
        }
        self.put(&header)
    }

    /// Holds back the end of `bytes`, and writes the rest.
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

/// Opens the file, pipe or device `name` as the output.
fn open_file(
    lines: &LinesCommand<'_>,
    name: &OsStr,
    session: &LinesSession,
) -> Result<Sink<'static>, Failure> {
    let extras = &lines.command.extras;
    let fail = |error: &io::Error| Failure::of_file("open failed", name, error);
    let old = fs::metadata(name).ok();
    let is_special = old.as_ref().is_some_and(|old| !old.is_file());
    let is_gnu = is_called_as_gnu(lines.program);
    let is_in_place = is_special || is_gnu || (extras.in_place && old.is_some());
    if !is_in_place || extras.no_clobber {
        match NewFile::create(Path::new(name), extras.no_clobber) {
            Ok(Creation::Created(file)) => {
                if file.has_hidden_name() {
                    clean_up_when_killed().map_err(|error| Failure::said("signals", &error))?;
                }
                return Ok(Sink::New(file));
            }
            Ok(Creation::Obstructed(obstacle)) => {
                if !extras.quiet && old.is_some_and(|old| old.len() > 0) {
                    let (program, shown) = (lines.program.as_bytes(), names::shown(name));
                    let reason = format!("it will be rewritten in place, because {obstacle}");
                    let parts = [program, b": note: ", &shown, b": ", reason.as_bytes(), b"\n"];
                    say(&parts.concat());
                }
            }
            Err(error) if extras.no_clobber => return Err(failure::of_disk(&error)),
            Err(error) => return Err(fail(&error.source)),
        }
    }
    let keeping = (!is_gnu && !is_special).then(|| Keeping {
        scratch: resources::scratch(&lines.command),
        is_scratch_given: !lines.command.temporary_directories.is_empty(),
        rate: session.job.rate().cloned(),
        is_quiet: extras.quiet,
        sync: !extras.no_sync,
    });
    let file = open_in_place(Path::new(name), keeping.is_some());
    let file = file.map_err(|error| fail(&error.source))?;
    Ok(Sink::InPlace(InPlace::new(file, name, lines.program, keeping)))
}

/// Identifies the file `name`, or standard output, if it exists and is a regular file.
pub(super) fn present(name: Option<&OsStr>) -> Option<Identity> {
    match name {
        Some(name) => fs::metadata(name).ok().filter(Metadata::is_file).map(|file| identity(&file)),
        None => Target::standard().identity(),
    }
}

/// A path to an open file that is valid even if the file was renamed.
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
        // A write that fails later is not part of the flush.
        self.is_flushing = false;
        Ok(())
    }
}

impl Sink<'_> {
    fn descriptor<'f>(&'f self, output: &'f Stdout) -> Option<BorrowedFd<'f>> {
        match self {
            Sink::Standard => Some(output.as_fd()),
            Sink::Closed | Sink::Object(_) | Sink::Published => None,
            Sink::New(file) => Some(file.file().as_fd()),
            Sink::InPlace(file) => Some(file.file.as_fd()),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Sink::Object(object) = self {
            return object.write_all(bytes);
        }
        let output = io::stdout();
        let Some(to) = self.descriptor(&output) else {
            return if bytes.is_empty() { Ok(()) } else { Err(Errno::BADF.into()) };
        };
        write_all(to, bytes)
    }
}
