//! Bytes of several sources as one: whole lines, also where a source ends without a delimiter.

use crate::Error;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

/// Where lines come from.
pub struct Source {
    /// Names it in errors.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes_from: Box<dyn Read + Send>,
    /// How many, if that is known.
    pub bytes: Option<u64>,
}

/// Several sources, one after the other.
pub(super) struct Input {
    rest: std::vec::IntoIter<Source>,
    current: Option<Source>,
    delimiter: u8,
    /// Whether the last byte of the current source, if there was one, ended a line.
    is_line_whole: bool,
}

impl Input {
    pub(super) fn new(sources: Vec<Source>, delimiter: u8) -> Input {
        let mut rest = sources.into_iter();
        let current = rest.next();
        Input { rest, current, delimiter, is_line_whole: true }
    }

    /// The source that is being read.
    pub(super) fn name(&self) -> String {
        self.current.as_ref().map_or_else(String::new, |source| source.path.display().to_string())
    }

    /// Reads up to `buffer.len()` bytes, of one source; 0 at the end of all.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        while let Some(source) = &mut self.current {
            match source.bytes_from.read(buffer) {
                Ok(0) => {
                    self.current = self.rest.next();
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
