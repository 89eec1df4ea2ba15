//! Several inputs read one after the other, as whole lines: where an input ends without a
//! delimiter, one is added.

use super::{Content, InputBytes, LinesInput};
use crate::Error;
use crate::store::read_ahead::ReadAhead;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{BlockPool, Disk, is_url};

/// Files from this size on are read past the page cache, where that is possible. Those at URLs are
/// read so whatever their size.
const DIRECT_BYTES_MIN: u64 = 16 << 20;
/// Bytes read at once to skip what can't be seeked over.
const SKIP_BYTES: u64 = 256 << 10;

/// What it takes to read past the page cache.
pub(crate) struct Bypass<'j> {
    pub(crate) disk: &'j dyn Disk,
    /// Blocks to read into.
    pub(crate) block_pool: Arc<BlockPool>,
}

/// Reads inputs one after the other. An input is opened when it is first read, and closed at its
/// end.
pub(crate) struct InputReader<'j> {
    rest: std::vec::IntoIter<LinesInput>,
    /// The input that is being read.
    current: Option<Bytes<'j>>,
    /// Its path, or that of the one before.
    path: PathBuf,
    bypass: Option<Bypass<'j>>,
    delimiter: u8,
    /// Whether the last byte of the current input, if there was one, ended a line.
    is_line_whole: bool,
}

enum Bytes<'j> {
    /// Past the page cache.
    Direct(ReadAhead<&'j dyn Disk>),
    Plain(InputBytes<'j>),
}

impl<'j> InputReader<'j> {
    pub(crate) fn new(inputs: Vec<LinesInput>, delimiter: u8, bypass: Option<Bypass<'j>>) -> Self {
        let rest = inputs.into_iter();
        InputReader {
            rest,
            current: None,
            path: PathBuf::new(),
            bypass,
            delimiter,
            is_line_whole: true,
        }
    }

    /// Skips the first `bytes` bytes, counted as [`read`](InputReader::read) returns them. To be
    /// called before the first read. Files that are skipped whole are not read.
    pub(crate) fn skip(&mut self, mut bytes: u64) -> Result<(), Error> {
        while bytes > 0 {
            if self.current.is_none() {
                let next = self.rest.as_slice().first();
                let whole = next.and_then(|next| whole_lines_bytes(next, self.delimiter, bytes));
                if let Some(whole) = whole {
                    bytes -= whole;
                    self.rest.next();
                    continue;
                }
                if !self.open_next() {
                    break;
                }
            }
            if let Some(Bytes::Direct(ahead)) = &mut self.current {
                bytes -= ahead.skip(bytes);
            }
            let mut skipped = vec![0; bytes.min(SKIP_BYTES) as usize];
            match self.read(&mut skipped)? {
                0 => break,
                read => bytes -= read as u64,
            }
        }
        Ok(())
    }

    /// The path of the input that was read last.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads up to `buffer.len()` bytes, of one input; 0 at the end of all.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        loop {
            let Some(current) = &mut self.current else {
                if self.open_next() {
                    continue;
                }
                return Ok(0);
            };
            let result = match current {
                Bytes::Direct(ahead) => ahead.read(buffer),
                Bytes::Plain(bytes) => bytes.read(buffer),
            };
            match result {
                Ok(0) => {
                    self.current = None;
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
                    return Err(xsort_disk::Error::of_read(&self.path, error).into());
                }
            }
        }
    }

    /// Goes to the next input; false if there is none.
    fn open_next(&mut self) -> bool {
        let Some(LinesInput { path, bytes, content }) = self.rest.next() else { return false };
        let file_bytes = match content {
            Content::File(_) | Content::Url(_) => bytes,
            Content::Mapped { file_bytes, .. } => Some(file_bytes),
            Content::Stream(_) => None,
        };
        let is_direct = file_bytes.is_some_and(|bytes| bytes >= DIRECT_BYTES_MIN || is_url(&path));
        let direct = match &self.bypass {
            Some(Bypass { disk, block_pool }) if is_direct => {
                // If this fails, the plain reader opens the file, or says why it can't.
                ReadAhead::open(*disk, &path, Arc::clone(block_pool)).ok()
            }
            _ => None,
        };
        self.current = Some(match (direct, content) {
            (Some(ahead), Content::Mapped { map, .. }) => Bytes::Plain(map(Box::new(ahead))),
            (Some(ahead), _) => Bytes::Direct(ahead),
            (None, content) => Bytes::Plain(content.into_bytes()),
        });
        self.path = path;
        true
    }
}

/// Bytes of a regular file with the delimiter that may be missing at its end, if these are at most
/// `bytes_max`; `None` also if that can't be known.
fn whole_lines_bytes(input: &LinesInput, delimiter: u8, bytes_max: u64) -> Option<u64> {
    let bytes = input.bytes.filter(|&bytes| bytes > 0 && bytes <= bytes_max)?;
    let last = match &input.content {
        Content::File(_) => {
            let mut last = [0];
            File::open(&input.path).ok()?.read_exact_at(&mut last, bytes - 1).ok()?;
            last[0]
        }
        Content::Url(file) => file.last_byte().ok()??,
        Content::Mapped { .. } | Content::Stream(_) => return None,
    };
    Some(bytes + u64::from(last != delimiter)).filter(|&whole| whole <= bytes_max)
}
