//! Bytes of several sources as one: whole lines, also where a source ends without a delimiter.

use super::ahead::Ahead;
use crate::Error;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::sync::Arc;
use xsort_disk::{Disk, Shelf};

/// Files of so many bytes are read past the page cache, where that is possible.
const DIRECT_BYTES_MIN: u64 = 16 << 20;

/// Where lines come from.
pub struct Source {
    /// Names it in errors.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes_from: Box<dyn Read + Send>,
    /// How many, if that is known.
    pub bytes: Option<u64>,
    /// Whether they are the bytes of the regular file at `path`, all of them, so that they may be read past the page cache instead.
    pub is_file: bool,
}

/// What it takes to pass the page cache.
pub(super) struct Bypass<'j> {
    pub(super) disk: &'j dyn Disk,
    /// Blocks to read into.
    pub(super) shelf: Arc<Shelf>,
}

/// Several sources, one after the other.
pub(super) struct Input<'j> {
    rest: std::vec::IntoIter<Source>,
    current: Option<Source>,
    bypass: Option<Bypass<'j>>,
    /// The current source, where it is read past the page cache.
    ahead: Option<Ahead<'j>>,
    delimiter: u8,
    /// Whether the last byte of the current source, if there was one, ended a line.
    is_line_whole: bool,
}

impl<'j> Input<'j> {
    pub(super) fn new(sources: Vec<Source>, delimiter: u8, bypass: Option<Bypass<'j>>) -> Self {
        let rest = sources.into_iter();
        let mut input = Input { rest, current: None, bypass, ahead: None, delimiter, is_line_whole: true };
        input.go_on();
        input
    }

    /// Turns to the next source.
    fn go_on(&mut self) {
        self.current = self.rest.next();
        let is_large = |source: &&Source| source.is_file && source.bytes >= Some(DIRECT_BYTES_MIN);
        // A file that can't be opened is read as others are, and tells why it can't.
        self.ahead = match (&self.bypass, self.current.as_ref().filter(is_large)) {
            (Some(Bypass { disk, shelf }), Some(source)) => {
                Ahead::open(*disk, &source.path, Arc::clone(shelf)).ok()
            }
            _ => None,
        };
    }

    /// The source that is being read.
    pub(super) fn path(&self) -> PathBuf {
        self.current.as_ref().map_or_else(PathBuf::new, |source| source.path.clone())
    }

    /// Reads up to `buffer.len()` bytes, of one source; 0 at the end of all.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        while let Some(source) = &mut self.current {
            let result = match &mut self.ahead {
                Some(ahead) => Ok(ahead.read(buffer)?),
                None => source.bytes_from.read(buffer),
            };
            match result {
                Ok(0) => {
                    self.go_on();
                    if !self.is_line_whole {
                        self.is_line_whole = true;
                        buffer[0] = self.delimiter;
                        return Ok(1);
                    }
                }
                Ok(bytes) => {
                    self.is_line_whole = buffer[bytes - 1] == self.delimiter;
                    return Ok(bytes);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(xsort_disk::Error::new(
                        xsort_disk::Operation::Read,
                        source.path.clone(),
                        error,
                    )
                    .into());
                }
            }
        }
        Ok(0)
    }
}
