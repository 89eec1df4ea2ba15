//! Standard input as an input: a file that can be opened again, or a stream.

use crate::exit::Failure;
use crate::signals::Stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, SeekFrom, fstat, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Stdin};
use std::path::PathBuf;
use xsort_disk::inherited;
use xsort_extsort::{Error, Stream};

/// The name of standard input in messages.
pub(crate) const NAME: &str = "standard input";
/// The path by which the kernel lets standard input be opened again.
const PATH: &str = "/dev/stdin";
/// How often a wait checks whether the job should stop: 50 ms.
const STOP_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The kind of standard input.
pub(crate) enum StandardInput {
    /// A file that can be opened by this path, and of which nothing was read yet.
    File(PathBuf),
    /// Anything else.
    Stream(Box<dyn Read + Send>),
}

impl StandardInput {
    /// Opens standard input. Stopping the job ends its waits.
    ///
    /// # Errors
    /// If it is closed or a terminal.
    pub(crate) fn open(stop: &Stop) -> Result<StandardInput, Failure> {
        if !inherited().is_open[0] {
            return Err(unreadable("it is closed: name the files, or pipe the records in"));
        }
        if io::stdin().is_terminal() {
            return Err(Failure::Usage(
                "standard input is a terminal: \
                 name the files, or pipe the records in (see --help)"
                    .into(),
            ));
        }
        if is_file_from_its_beginning() {
            return Ok(StandardInput::File(PATH.into()));
        }
        let read = InterruptibleStdin { stdin: io::stdin(), stop: stop.clone() };
        Ok(StandardInput::Stream(Box::new(read)))
    }
}

/// Moves the position of standard input, a file, to its end, for processes that share it.
pub(crate) fn go_to_end() {
    // A failure does no harm.
    let _ = seek(io::stdin(), SeekFrom::End(0));
}

/// Replaces `-` in the inputs: by a path if standard input is a file, otherwise by a stream. For a
/// dry run, standard input stays as it is.
///
/// # Errors
/// If `-` is there twice, or standard input can't be read.
pub(crate) fn replace_stdin(
    mut inputs: Vec<PathBuf>,
    is_dry_run: bool,
    stop: &Stop,
) -> Result<(Vec<PathBuf>, Option<Stream>), Failure> {
    let Some(index) = index_of_stdin(&inputs)? else { return Ok((inputs, None)) };
    match StandardInput::open(stop)? {
        StandardInput::File(path) => {
            inputs[index] = path;
            if !is_dry_run {
                go_to_end();
            }
            Ok((inputs, None))
        }
        StandardInput::Stream(_) if is_dry_run => Err(Failure::Usage(
            "--dry-run: the size of a stream is known only when it has been read, \
             so that there is no plan before; name a file of that size"
                .into(),
        )),
        StandardInput::Stream(read) => {
            inputs[index] = NAME.into();
            Ok((inputs, Some(Stream { input: index, read })))
        }
    }
}

/// The index of `-` among the inputs.
///
/// # Errors
/// If it is there twice.
pub(crate) fn index_of_stdin(inputs: &[PathBuf]) -> Result<Option<usize>, Failure> {
    let mut indices = (0..inputs.len()).filter(|&index| inputs[index].as_os_str() == "-");
    let (first, second) = (indices.next(), indices.next());
    if second.is_some() {
        let reason = "standard input (-) is named twice: it can be read once only";
        return Err(Failure::Usage(reason.into()));
    }
    Ok(first)
}

/// Refuses standard input next to other files of a sequence, because it can only be checked alone.
/// Also refuses it if it is named twice.
///
/// # Errors
/// If `-` is there twice, or not alone in its sequence.
pub(crate) fn refuse_shared(sequences: [&[PathBuf]; 2]) -> Result<(), Failure> {
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    let is_shared = |paths: &[PathBuf]| paths.len() > 1 && paths.iter().any(is_stdin);
    if sequences.iter().any(|paths| is_shared(paths)) {
        return Err(Failure::Usage(
            "standard input (-) can be checked alone, not among other files; \
             write it to a file first"
                .into(),
        ));
    }
    if sequences.iter().copied().flatten().filter(|path| is_stdin(path)).count() > 1 {
        return Err(Failure::Usage(
            "standard input (-) is named twice: it can be read once only".into(),
        ));
    }
    Ok(())
}

fn unreadable(reason: &str) -> Failure {
    Failure::Job(Error::Input { path: NAME.into(), reason: reason.into() })
}

/// True if standard input is a file that can be opened again and of which nothing was read.
fn is_file_from_its_beginning() -> bool {
    let stdin = io::stdin();
    // Files of /proc and the like hide their length, so they are read as streams.
    let has_length = |bytes: i64| bytes > 0 || rustix::io::pread(&stdin, &mut [0; 1], 0) == Ok(0);
    let is_file = fstat(&stdin).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && has_length(stat.st_size)
    });
    is_file && seek(&stdin, SeekFrom::Current(0)) == Ok(0) && File::open(PATH).is_ok()
}

/// Standard input. Stopping the job ends its waits. It has no buffer, because blocks are large.
struct InterruptibleStdin {
    stdin: Stdin,
    stop: Stop,
}

impl Read for InterruptibleStdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.is_set() {
                return Err(io::Error::other("stopped on request"));
            }
            match poll(&mut [PollFd::new(&self.stdin, PollFlags::IN)], Some(&STOP_INTERVAL)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(rustix::io::read(&self.stdin, buffer)?),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}
