//! The files that sorted rows are written to: a single one, or one after the other.

use parking_lot::Mutex;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::Disk;
use xsort_extsort::Error;
use xsort_extsort::lines::{FileOutput, FinishedOutput};
use xsort_table::PartNames;

/// The files of an output.
pub(crate) struct OutputFiles<'a> {
    target: Target<'a>,
    /// The bytes of all files that were ended.
    written_bytes: u64,
}

enum Target<'a> {
    /// A stream or a file, once it was begun also the one that is written.
    One(OutputFile<'a>),
    Parts(Parts<'a>),
}

struct Parts<'a> {
    disk: &'a dyn Disk,
    names: PartNames,
    part_bytes: u64,
    current: Option<OutputFile<'a>>,
    finished: Vec<FinishedOutput<'a>>,
}

/// A file that is being written. Clones are the same file.
#[derive(Clone)]
pub(crate) struct OutputFile<'a>(Arc<Mutex<Counted<'a>>>);

/// A file or stream, and the bytes that it got.
struct Counted<'a> {
    to: To<'a>,
    bytes: u64,
}

enum To<'a> {
    Stream(&'a mut (dyn Write + Send)),
    File(Box<FileOutput<'a>>),
}

impl<'a> OutputFiles<'a> {
    /// A single file or stream, which the caller has begun and ends.
    pub(crate) fn one(to: &'a mut (dyn Write + Send)) -> OutputFiles<'a> {
        OutputFiles { target: Target::One(OutputFile::new(To::Stream(to))), written_bytes: 0 }
    }

    /// Files of about `part_bytes` bytes, with names that are derived from `path`.
    pub(crate) fn parts(disk: &'a dyn Disk, path: &Path, part_bytes: u64) -> OutputFiles<'a> {
        let (names, finished) = (PartNames::of(path), Vec::new());
        let parts = Parts { disk, names, part_bytes, current: None, finished };
        OutputFiles { target: Target::Parts(parts), written_bytes: 0 }
    }

    /// The size of a file, if there may be several.
    pub(crate) fn part_bytes(&self) -> Option<u64> {
        match &self.target {
            Target::One(_) => None,
            Target::Parts(parts) => Some(parts.part_bytes),
        }
    }

    /// Begins the next file.
    ///
    /// # Errors
    /// If it can't be created.
    pub(crate) fn begin(&mut self) -> Result<OutputFile<'a>, Error> {
        match &mut self.target {
            Target::One(file) => Ok(file.clone()),
            Target::Parts(parts) => {
                let file = FileOutput::create(parts.disk, &parts.path(), parts.part_bytes)?;
                Ok(parts.current.insert(OutputFile::new(To::File(Box::new(file)))).clone())
            }
        }
    }

    /// Ends the current file, which nobody writes to any more.
    ///
    /// # Errors
    /// If its last bytes can't be written.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        let parts = match &mut self.target {
            Target::One(file) => {
                self.written_bytes = file.bytes();
                return Ok(());
            }
            Target::Parts(parts) => parts,
        };
        let file = parts.current.take().and_then(|file| Arc::into_inner(file.0));
        if let Some(Counted { to: To::File(file), bytes }) = file.map(Mutex::into_inner) {
            self.written_bytes += bytes;
            parts.finished.push(file.finish()?);
        }
        Ok(())
    }

    /// The path of the current part, for errors.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match &self.target {
            Target::One(_) => None,
            Target::Parts(parts) => Some(parts.path()),
        }
    }

    /// Publishes all parts, one after the other. Returns the bytes that were written. With `sync`,
    /// each is durable first.
    ///
    /// # Errors
    /// If the disk can't publish a part.
    pub(crate) fn publish(self, sync: bool) -> Result<u64, Error> {
        if let Target::Parts(parts) = self.target {
            for (number, part) in (1..).zip(parts.finished) {
                let path = parts.names.path(number);
                part.publish(sync).map_err(|error| error.of_output(&path))?;
            }
        }
        Ok(self.written_bytes)
    }
}

impl Parts<'_> {
    fn path(&self) -> PathBuf {
        self.names.path(self.finished.len() as u64 + 1)
    }
}

impl<'a> OutputFile<'a> {
    fn new(to: To<'a>) -> OutputFile<'a> {
        OutputFile(Arc::new(Mutex::new(Counted { to, bytes: 0 })))
    }

    /// The bytes that were written.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.lock().bytes
    }
}

impl Write for OutputFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.0.lock();
        let written = match &mut file.to {
            To::Stream(to) => to.write(bytes)?,
            To::File(to) => to.write(bytes)?,
        };
        file.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0.lock().to {
            To::Stream(to) => to.flush(),
            To::File(to) => to.flush(),
        }
    }
}
