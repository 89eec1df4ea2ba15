//! An input file, read at positions by any number of threads.
//!
//! Parquet's reader asks for single pages, of several columns in turn. The kernel's own reading
//! ahead is made for one stream, so each read asks for the bytes that follow it, which belong to
//! the same column.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use rustix::fs::{Advice, fadvise};
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{Operation, RateLimit};
use xsort_extsort::Error;

/// Bytes that are read of a page's header at once.
const HEADER_BYTES: usize = 1 << 10;
/// Least number of bytes that are read ahead.
const AHEAD_BYTES: u64 = 512 << 10;

/// A regular file, which must stay as it was when it was first opened.
#[derive(Clone, Debug)]
pub(crate) struct InputFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    state: FileState,
    rate: Option<Arc<RateLimit>>,
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
    /// Finds the file at a path.
    pub(crate) fn find(path: &Path, rate: Option<&Arc<RateLimit>>) -> Result<InputFile, Error> {
        let found = open(path)?.metadata().map_err(|error| open_error(path, error))?;
        if !found.is_file() {
            let reason = "columns are read from regular files, because a file's last bytes say \
                          where they are: write it to a file first"
                .into();
            return Err(Error::Input { path: path.to_owned(), reason });
        }
        let (path, state) = (path.to_owned(), FileState::of(&found));
        Ok(InputFile { path, bytes: found.len(), state, rate: rate.cloned() })
    }

    /// Opens the file.
    pub(crate) fn open(&self) -> Result<OpenInput, Error> {
        let file = open(&self.path)?;
        let found = file.metadata().map_err(|error| open_error(&self.path, error))?;
        if FileState::of(&found) != self.state {
            let reason = "it has changed since the sort began: sort it again when no program \
                          writes to it"
                .into();
            return Err(Error::Input { path: self.path.clone(), reason });
        }
        Ok(OpenInput { file: Arc::new(file), bytes: self.bytes, rate: self.rate.clone() })
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
    file: Arc<File>,
    bytes: u64,
    rate: Option<Arc<RateLimit>>,
}

impl OpenInput {
    /// Asks the kernel to read bytes that will be needed soon. A refusal has no consequence.
    fn read_ahead(&self, from: u64, bytes: u64) {
        if let Some(bytes) = NonZeroU64::new(bytes.min(self.bytes.saturating_sub(from))) {
            let _ = fadvise(&*self.file, from, Some(bytes), Advice::WillNeed);
        }
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
        Ok(BufReader::with_capacity(HEADER_BYTES, ReadAt { input: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // A damaged length must not allocate more than the file has.
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at offset {start} reach beyond the end of the file"
            )));
        }
        self.read_ahead(start + length as u64, (length as u64).max(AHEAD_BYTES));
        let mut bytes = Vec::with_capacity(length);
        ReadAt { input: self.clone(), at: start }.take(length as u64).read_to_end(&mut bytes)?;
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
        let bytes = self.input.file.read_at(buffer, self.at)?;
        if let Some(rate) = &self.input.rate {
            rate.pass(bytes as u64);
        }
        self.at += bytes as u64;
        Ok(bytes)
    }
}
