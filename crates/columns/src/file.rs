//! An input file, read at positions by any number of threads.
//!
//! Parquet's reader asks for single pages, of several columns in turn. The kernel's own reading
//! ahead is made for one stream, so each read asks for the bytes that follow it, which belong to
//! the same column. An object is read through the disk instead, in windows (`object.rs`).

use crate::object::{Object, WINDOWS, Windows};
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort::Job;
use xsort_disk::{Operation, RateLimit, is_url};
use xsort_extsort::Error;

/// Bytes that are read of a page's header at once.
const HEADER_BYTES: usize = 1 << 10;
/// Least number of bytes that are read ahead.
const AHEAD_BYTES: u64 = 512 << 10;

/// A regular file or an object, which must stay as it was when it was first opened.
#[derive(Clone, Debug)]
pub(crate) struct InputFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    place: Place,
}

/// Where the bytes of an input are.
#[derive(Clone, Debug)]
enum Place {
    Drive(FileState, Option<Arc<RateLimit>>),
    Store(Arc<Object>),
}

/// What changes when a file is replaced or written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl FileState {
    fn of(found: &Metadata) -> FileState {
        FileState {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }
}

impl InputFile {
    /// Finds the file at a path, or the object at a URL.
    pub(crate) fn find(path: &Path, job: &Job) -> Result<InputFile, Error> {
        if is_url(path) {
            let object = Object::open(&job.disk, path)?;
            let (bytes, place) = (object.bytes, Place::Store(Arc::new(object)));
            return Ok(InputFile { path: path.to_owned(), bytes, place });
        }
        let found = open(path)?.metadata().map_err(|error| open_error(path, error))?;
        if !found.is_file() {
            let reason = "columns are read from regular files, because a file's last bytes say \
                          where they are: write it to a file first"
                .into();
            return Err(Error::Input { path: path.to_owned(), reason });
        }
        let place = Place::Drive(FileState::of(&found), job.rate().cloned());
        Ok(InputFile { path: path.to_owned(), bytes: found.len(), place })
    }

    /// Returns whether it is an object, each read of which asks a store.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self.place, Place::Store(_))
    }

    /// Fails if an object has changed since it was found. Files are looked at when they are opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        match &self.place {
            Place::Store(object) => object.check_unchanged(),
            Place::Drive(..) => Ok(()),
        }
    }

    /// Opens the file, to read a few pages of it.
    pub(crate) fn open(&self) -> Result<OpenInput, Error> {
        self.open_with(WINDOWS)
    }

    /// Opens the file. Of an object, windows of this number and size in bytes are in memory.
    pub(crate) fn open_with(&self, windows: (usize, usize)) -> Result<OpenInput, Error> {
        let (state, rate) = match &self.place {
            Place::Store(object) => {
                let source = Source::Store(Arc::new(Windows::new(object, windows)));
                return Ok(OpenInput { source, bytes: self.bytes });
            }
            Place::Drive(state, rate) => (state, rate),
        };
        let file = open(&self.path)?;
        let found = file.metadata().map_err(|error| open_error(&self.path, error))?;
        if FileState::of(&found) != *state {
            let reason = "it has changed since the sort began: sort it again when no program \
                          writes to it"
                .into();
            return Err(Error::Input { path: self.path.clone(), reason });
        }
        let source = Source::Drive(Arc::new(file), rate.clone());
        Ok(OpenInput { source, bytes: self.bytes })
    }

    /// Returns the error of an input that is not as it should be.
    pub(crate) fn error(&self, reason: String) -> Error {
        Error::Input { path: self.path.clone(), reason }
    }
}

fn open(path: &Path) -> Result<File, Error> {
    File::open(path).map_err(|error| open_error(path, error))
}

fn open_error(path: &Path, error: io::Error) -> Error {
    xsort_disk::Error::new(Operation::Open, path, error).into()
}

/// An open input.
#[derive(Clone, Debug)]
pub(crate) struct OpenInput {
    source: Source,
    bytes: u64,
}

#[derive(Clone, Debug)]
enum Source {
    Drive(Arc<File>, Option<Arc<RateLimit>>),
    Store(Arc<Windows>),
}

impl OpenInput {
    /// Asks the kernel to read bytes that will be needed soon. A refusal has no consequence.
    pub(crate) fn read_ahead(&self, from: u64, bytes: u64) {
        if let Source::Drive(file, _) = &self.source
            && let Some(bytes) = NonZeroU64::new(bytes.min(self.bytes.saturating_sub(from)))
        {
            xsort_disk::read_ahead(&**file, from, bytes);
        }
    }

    /// Returns a reader that begins at an offset.
    pub(crate) fn read_from(&self, at: u64) -> ReadAt {
        ReadAt { input: self.clone(), at }
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let (file, rate) = match &self.source {
            Source::Store(windows) => return windows.read_at(buffer, at),
            Source::Drive(file, rate) => (file, rate),
        };
        let bytes = file.read_at(buffer, at)?;
        if let Some(rate) = rate {
            rate.pass(bytes as u64);
        }
        Ok(bytes)
    }
}

impl Length for OpenInput {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for OpenInput {
    type T = BufReader<ReadAt>;

    fn get_read(&self, start: u64) -> Result<BufReader<ReadAt>> {
        Ok(BufReader::with_capacity(HEADER_BYTES, self.read_from(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // A damaged length must not allocate more than the file has.
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at offset {start} reach beyond the end of the file"
            )));
        }
        if let Source::Store(windows) = &self.source {
            return Ok(windows.read_all(start, length)?.into());
        }
        self.read_ahead(start + length as u64, (length as u64).max(AHEAD_BYTES));
        let mut bytes = Vec::with_capacity(length);
        self.read_from(start).take(length as u64).read_to_end(&mut bytes)?;
        match bytes.len() == length {
            true => Ok(bytes.into()),
            false => Err(ParquetError::EOF(format!("the file ends within {length} bytes"))),
        }
    }
}

/// A reader that begins at an offset.
pub(crate) struct ReadAt {
    input: OpenInput,
    at: u64,
}

impl Read for ReadAt {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read_at(buffer, self.at)?;
        self.at += bytes as u64;
        Ok(bytes)
    }
}
