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
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

/// The bytes of an input, in order.
pub type InputBytes<'d> = Box<dyn Read + Send + 'd>;

/// Opens a file when its turn comes, so that there may be more inputs than files may be open.
pub type OpenInput = Box<dyn FnOnce() -> io::Result<InputBytes<'static>> + Send>;

/// Makes other bytes of those of an input, such as its records with keys before them.
pub type MapInput = Box<dyn for<'d> FnOnce(InputBytes<'d>) -> InputBytes<'d> + Send>;

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
    /// The same with what becomes of the file's bytes. The input has other bytes than the file.
    Mapped {
        /// Bytes of the file.
        file_bytes: u64,
        /// Opens the file.
        open: OpenInput,
        /// Gets the file's bytes, however they are read.
        map: MapInput,
    },
    /// Bytes that can be read only from here.
    Stream(InputBytes<'static>),
}

impl LinesInput {
    /// What is at a path, opened when its turn comes.
    #[must_use]
    pub fn at(path: &Path) -> LinesInput {
        let file = path.to_owned();
        let open = move || File::open(file).map(|file| Box::new(file) as InputBytes<'static>);
        let bytes = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|found| found.len());
        let content = Content::File(Box::new(open));
        let content = match bytes {
            Some(_) => content,
            // A pipe, or nothing that can be opened, which the first read says.
            None => Content::Stream(content.into_bytes()),
        };
        LinesInput { path: path.to_owned(), bytes, content }
    }

    /// The same input, its bytes read through `wrap` where the disk doesn't read them. They stay
    /// the same. Nothing is opened yet.
    #[must_use]
    pub fn read_through(
        self,
        wrap: impl FnOnce(InputBytes<'static>) -> InputBytes<'static> + Send + 'static,
    ) -> LinesInput {
        let content = match self.content {
            Content::File(open) => Content::File(Box::new(move || open().map(wrap))),
            Content::Mapped { file_bytes, open, map } => {
                let open = Box::new(move || open().map(wrap));
                Content::Mapped { file_bytes, open, map }
            }
            Content::Stream(bytes) => Content::Stream(wrap(bytes)),
        };
        LinesInput { content, ..self }
    }

    /// The input of what `map` makes of this one's bytes: `bytes` of them, if that is known.
    /// Nothing is opened yet.
    #[must_use]
    pub fn mapped(self, bytes: Option<u64>, map: MapInput) -> LinesInput {
        let content = match (self.content, self.bytes) {
            (Content::File(open), Some(file_bytes)) => Content::Mapped { file_bytes, open, map },
            (content, _) => Content::Stream(map(content.into_bytes())),
        };
        LinesInput { path: self.path, bytes, content }
    }

    /// Reads the beginning of the input by `read`, which returns the bytes that it took and what
    /// they say. The input can still be read whole. `None` of a file that can't be opened: whoever
    /// reads it says why.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn peek<T>(
        &mut self,
        read: impl FnOnce(&mut dyn Read) -> io::Result<(Vec<u8>, T)>,
    ) -> io::Result<Option<T>> {
        match &mut self.content {
            Content::File(_) => match File::open(&self.path) {
                Ok(mut file) => read(&mut file).map(|(_, said)| Some(said)),
                Err(_) => Ok(None),
            },
            content => {
                let nothing = Content::Stream(Box::new(io::empty()));
                let mut stream = std::mem::replace(content, nothing).into_bytes();
                let found = read(&mut *stream);
                let (stream, found) = match found {
                    Ok((head, said)) => {
                        (Box::new(Cursor::new(head).chain(stream)) as _, Ok(Some(said)))
                    }
                    Err(error) => (stream, Err(error)),
                };
                *content = Content::Stream(stream);
                found
            }
        }
    }

    /// Its bytes. A file is opened by the first read.
    pub fn into_bytes(self) -> InputBytes<'static> {
        self.content.into_bytes()
    }
}

impl Content {
    pub(super) fn into_bytes(self) -> InputBytes<'static> {
        match self {
            Content::File(open) => Box::new(OpenedLate::Closed(open)),
            Content::Mapped { open, map, .. } => map(Box::new(OpenedLate::Closed(open))),
            Content::Stream(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Content::File(_) => "File",
            Content::Mapped { .. } => "Mapped",
            Content::Stream(_) => "Stream",
        })
    }
}

/// A file that its first read opens.
enum OpenedLate {
    Closed(OpenInput),
    Open(InputBytes<'static>),
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
#[must_use]
pub fn total_bytes(inputs: &[LinesInput]) -> Option<u64> {
    inputs.iter().map(|input| input.bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(content: Content) -> LinesInput {
        LinesInput { path: "none of this name".into(), bytes: None, content }
    }

    fn two_bytes(input: &mut dyn Read) -> io::Result<(Vec<u8>, usize)> {
        let mut head = Vec::new();
        input.take(2).read_to_end(&mut head)?;
        let bytes = head.len();
        Ok((head, bytes))
    }

    struct Failing;

    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }

    #[test]
    fn what_was_looked_at_is_read_again() {
        let mut whole = input(Content::Stream(Box::new(Cursor::new(b"abcde".to_vec()))));
        assert_eq!(whole.peek(two_bytes).unwrap(), Some(2));
        assert_eq!(whole.peek(two_bytes).unwrap(), Some(2));
        let mut again = Vec::new();
        whole.into_bytes().read_to_end(&mut again).unwrap();
        assert_eq!(again, b"abcde");
    }

    #[test]
    fn an_error_is_returned_but_of_a_file_that_is_not_there() {
        let mut broken = input(Content::Stream(Box::new(Cursor::new(b"a").chain(Failing))));
        assert_eq!(broken.peek(two_bytes).unwrap_err().to_string(), "broken");
        let open = || -> io::Result<_> { Err(io::Error::other("it isn't opened")) };
        let mut missing = input(Content::File(Box::new(open)));
        assert_eq!(missing.peek(two_bytes).unwrap(), None);
    }
}
