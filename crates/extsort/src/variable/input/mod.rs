//! Where lines come from: files and streams, opened once and read once.
//!
//! | file | idea |
//! |---|---|
//! | `reader` | inputs one after the other, as whole lines |
//! | `sorted` | one input whose lines are in order, a block at a time |
//! | `recognise` | which inputs are compressed, before anything is planned |
//! | `decompress` | inputs that are compressed, by their first bytes |
//! | `header` | lines that stay at the top |
//! | `long_line` | the refusal of a line that doesn't fit the budget |

mod decompress;
mod header;
mod long_line;
mod reader;
mod recognise;
mod sorted;

pub use decompress::Decoders;
pub use header::{Header, take_header};
pub(super) use long_line::too_long;
pub(super) use reader::{Bypass, InputReader};
pub use recognise::{Recognised, recognise};
pub(super) use sorted::{SortedInput, SortedRead};

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The bytes of an input, in order.
pub type InputBytes = Box<dyn Read + Send>;

/// Opens a file when its turn comes, so that there may be more inputs than files may be open.
pub type OpenInput = Box<dyn FnOnce() -> io::Result<InputBytes> + Send>;

/// An input of lines.
#[derive(Debug)]
pub struct LinesInput {
    /// Its name in errors; of a [`Content::File`] also where the file is.
    pub path: PathBuf,
    /// How many bytes it has, if that is known.
    pub bytes: Option<u64>,
    /// The bytes.
    pub content: Content,
}

/// How the bytes of an input are read.
pub enum Content {
    /// The whole regular file at the input's path. It is opened once: by the disk where it pays to
    /// read past the page cache, with this function otherwise.
    File(OpenInput),
    /// Bytes that can be read only from here.
    Stream(InputBytes),
}

impl LinesInput {
    /// What is at a path, opened when its turn comes.
    #[must_use]
    pub fn at(path: &Path) -> LinesInput {
        let file = path.to_owned();
        let open = move || File::open(file).map(|file| Box::new(file) as InputBytes);
        let bytes = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|found| found.len());
        let content = Content::File(Box::new(open));
        let content = match bytes {
            Some(_) => content,
            // A pipe, or nothing that can be opened, which the first read says.
            None => Content::Stream(content.into_bytes()),
        };
        LinesInput { path: path.to_owned(), bytes, content }
    }

    /// The same input with its bytes read through `wrap`. Nothing is opened yet.
    #[must_use]
    pub fn map_bytes(
        self,
        wrap: impl FnOnce(InputBytes) -> InputBytes + Send + 'static,
    ) -> LinesInput {
        let content = match self.content {
            Content::File(open) => Content::File(Box::new(move || open().map(wrap))),
            Content::Stream(bytes) => Content::Stream(wrap(bytes)),
        };
        LinesInput { content, ..self }
    }

    /// Its bytes. A file is opened by the first read.
    pub fn into_bytes(self) -> InputBytes {
        self.content.into_bytes()
    }
}

impl Content {
    pub(super) fn into_bytes(self) -> InputBytes {
        match self {
            Content::File(open) => Box::new(OpenedLate::Closed(open)),
            Content::Stream(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Content::File(_) => "File",
            Content::Stream(_) => "Stream",
        })
    }
}

/// A file that its first read opens.
enum OpenedLate {
    Closed(OpenInput),
    Open(InputBytes),
    /// It couldn't be opened, which was said.
    Broken,
}

impl Read for OpenedLate {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let OpenedLate::Closed(_) = self
            && let OpenedLate::Closed(open) = std::mem::replace(self, OpenedLate::Broken)
        {
            *self = OpenedLate::Open(open()?);
        }
        match self {
            OpenedLate::Open(bytes) => bytes.read(buffer),
            OpenedLate::Closed(_) | OpenedLate::Broken => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Bytes of all inputs together, if that is known.
pub(super) fn total_bytes(inputs: &[LinesInput]) -> Option<u64> {
    inputs.iter().map(|input| input.bytes).sum()
}
