//! Bytes of several sources as one: whole lines, also where a source ends without a delimiter.

use crate::Error;
use crate::store::read_ahead::ReadAhead;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use xsort_disk::{BlockPool, Disk};

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
    /// Whether they are the bytes of the regular file at `path`, all of them, so that they may be
    /// read past the page cache instead.
    pub is_file: bool,
}

/// Bytes of a source that can't be skipped, read at once to be passed over.
const SKIP_BYTES: u64 = 256 << 10;

/// Bytes of a regular file with the delimiter that is missing at its end; `None` if that can't be
/// told.
fn whole_lines_bytes(source: &Source, delimiter: u8) -> Option<u64> {
    let bytes = source.bytes.filter(|bytes| source.is_file && *bytes > 0)?;
    let file = File::open(&source.path).ok()?;
    let mut last = [0];
    file.read_exact_at(&mut last, bytes - 1).ok()?;
    Some(bytes + u64::from(last[0] != delimiter))
}

/// What it takes to pass the page cache.
pub(super) struct Bypass<'j> {
    pub(super) disk: &'j dyn Disk,
    /// Blocks to read into.
    pub(super) block_pool: Arc<BlockPool>,
}

/// Several sources, one after the other.
pub(super) struct Input<'j> {
    rest: std::vec::IntoIter<Source>,
    current: Option<Source>,
    bypass: Option<Bypass<'j>>,
    /// The current source, where it is read past the page cache.
    ahead: Option<ReadAhead<'j>>,
    delimiter: u8,
    /// Whether the last byte of the current source, if there was one, ended a line.
    is_line_whole: bool,
}

impl<'j> Input<'j> {
    pub(super) fn new(sources: Vec<Source>, delimiter: u8, bypass: Option<Bypass<'j>>) -> Self {
        let rest = sources.into_iter();
        let mut input =
            Input { rest, current: None, bypass, ahead: None, delimiter, is_line_whole: true };
        input.go_on();
        input
    }

    /// OrderedWriter to the next source.
    fn go_on(&mut self) {
        self.current = self.rest.next();
        let is_large = |source: &&Source| source.is_file && source.bytes >= Some(DIRECT_BYTES_MIN);
        // A file that can't be opened is read as others are, and tells why it can't.
        self.ahead = match (&self.bypass, self.current.as_ref().filter(is_large)) {
            (Some(Bypass { disk, block_pool }), Some(source)) => {
                ReadAhead::open(*disk, &source.path, Arc::clone(block_pool)).ok()
            }
            _ => None,
        };
    }

    /// Passes over the first `bytes` bytes, counted as `read` gives them. Whole files aren't read
    /// for that.
    pub(super) fn skip(&mut self, mut bytes: u64) -> Result<(), Error> {
        while bytes > 0 {
            let whole =
                self.current.as_ref().and_then(|source| whole_lines_bytes(source, self.delimiter));
            if let Some(whole) = whole.filter(|whole| *whole <= bytes) {
                bytes -= whole;
                self.go_on();
                continue;
            }
            if let Some(ahead) = &mut self.ahead {
                bytes -= ahead.skip(bytes);
            }
            let mut passed = vec![0; bytes.min(SKIP_BYTES) as usize];
            match self.read(&mut passed)? {
                0 => break,
                read => bytes -= read as u64,
            }
        }
        Ok(())
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
