//! Where lines come from: files and streams, opened once and read once.
//!
//! | file | idea |
//! |---|---|
//! | `reader` | inputs one after the other, as whole lines |
//! | `morsels` | parts of files that threads read side by side |
//! | `range` | a part of a file |
//! | `url` | files that only the disk can read |
//! | `sorted` | one input whose lines are in order, a block at a time |
//! | `recognise` | which inputs are compressed, before anything is planned |
//! | `decompress` | inputs that are compressed, by their first bytes |
//! | `packing_error` | why one that is compressed can't be read |
//! | `header` | lines that stay at the top |
//! | `long_line` | the refusal of a line that doesn't fit the budget |

mod decompress;
mod header;
mod long_line;
mod morsels;
mod packing_error;
mod range;
mod reader;
mod recognise;
mod sorted;
mod url;

pub use decompress::Decoders;
pub use header::{Header, take_header};
pub(crate) use long_line::rest_of_line;
pub(super) use long_line::too_long;
pub(super) use morsels::Morsels;
pub use packing_error::{PackingError, unreadable};
pub use range::RangeRead;
pub(super) use reader::{Bypass, InputReader};
pub use recognise::{Recognised, recognise};
pub(super) use sorted::{SortedInput, SortedRead};
pub use url::UrlFile;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{Disk, is_url};

/// The bytes of an input, in order.
pub type InputBytes<'d> = Box<dyn Read + Send + 'd>;

/// Opens a file from its beginning when its turn comes, so that there may be more inputs than files
/// may be open.
#[derive(Clone)]
pub struct OpenInput {
    open: Arc<dyn Fn() -> io::Result<InputBytes<'static>> + Send + Sync>,
    is_plain: bool,
}

impl OpenInput {
    /// Opens it by `open`, which may do more than that, such as slow its reads down.
    pub fn new(
        open: impl Fn() -> io::Result<InputBytes<'static>> + Send + Sync + 'static,
    ) -> OpenInput {
        OpenInput { open: Arc::new(open), is_plain: false }
    }

    /// The same of an `open` that does no more: threads may open the file at the input's path
    /// themselves, and read parts of it side by side.
    pub fn plain(
        open: impl Fn() -> io::Result<InputBytes<'static>> + Send + Sync + 'static,
    ) -> OpenInput {
        OpenInput { is_plain: true, ..OpenInput::new(open) }
    }

    /// The same, its bytes read through `wrap`.
    fn through(
        self,
        wrap: impl Fn(InputBytes<'static>) -> InputBytes<'static> + Send + Sync + 'static,
    ) -> OpenInput {
        OpenInput::new(move || self.open().map(&wrap))
    }

    fn open(&self) -> io::Result<InputBytes<'static>> {
        (self.open)()
    }
}

/// Makes other bytes of those of an input, such as its records with keys before them.
pub type MapInput = Box<dyn for<'d> FnOnce(InputBytes<'d>) -> InputBytes<'d> + Send>;

/// Makes of any whole lines of an input what [`MapInput`] makes of all of them, so that threads can
/// read parts of it side by side.
#[derive(Clone)]
pub struct MapLines {
    /// What ends a line.
    pub delimiter: u8,
    /// So many parts may be read at the same time, by the memory that is counted for it.
    pub parts_max: usize,
    /// Maps one part.
    pub map: Arc<dyn Fn() -> MapInput + Send + Sync>,
    /// Called if the parts that were mapped don't count: the input is read once more, as a whole.
    pub forget: Arc<dyn Fn() + Send + Sync>,
}

impl MapLines {
    /// What `then` makes of what this one makes. This one leaves lines as long as they are.
    fn and_then(self, then: MapLines) -> MapLines {
        let (map, then_map) = (self.map, then.map);
        let (forget, then_forget) = (self.forget, then.forget);
        MapLines {
            delimiter: self.delimiter,
            parts_max: self.parts_max.min(then.parts_max),
            map: Arc::new(move || one_map(map(), then_map())),
            forget: Arc::new(move || {
                forget();
                then_forget();
            }),
        }
    }
}

/// One map after the other.
fn one_map(first: MapInput, then: MapInput) -> MapInput {
    Box::new(move |bytes| then(first(bytes)))
}

/// An input of lines.
#[derive(Debug)]
pub struct LinesInput {
    /// Its name in errors; of a [`Content::File`] and a [`Content::Url`] also where the file is.
    pub path: PathBuf,
    /// How many bytes it has, if that is known.
    pub bytes: Option<u64>,
    /// The bytes.
    pub content: Content,
}

/// How the bytes of an input are read.
pub enum Content {
    /// The whole regular file at the input's path. A sort opens it once: by the disk where it pays
    /// to read past the page cache, with this function otherwise.
    File(OpenInput),
    /// The same at a URL. Only the disk reads it.
    Url(UrlFile),
    /// One of both with what becomes of the file's bytes. The input has other bytes than the file.
    Mapped {
        /// Bytes of the file.
        file_bytes: u64,
        /// Opens the file.
        open: OpenInput,
        /// Gets the file's bytes, however they are read.
        map: MapInput,
        /// The same for a part of the file, if that is possible.
        lines: Option<MapLines>,
    },
    /// Bytes that can be read only from here.
    Stream(InputBytes<'static>),
}

impl LinesInput {
    /// What is at a path, opened when its turn comes.
    #[must_use]
    pub fn at(path: &Path) -> LinesInput {
        let file = path.to_owned();
        let open = move || File::open(&file).map(|file| Box::new(file) as InputBytes<'static>);
        let bytes = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|found| found.len());
        let content = Content::File(OpenInput::plain(open));
        let content = match bytes {
            Some(_) => content,
            // A pipe, or nothing that can be opened, which the first read says.
            None => Content::Stream(content.into_bytes()),
        };
        LinesInput { path: path.to_owned(), bytes, content }
    }

    /// What is at a path: as [`at`](LinesInput::at), but a URL is looked up on the disk, and read
    /// by it.
    ///
    /// # Errors
    /// If there is no file at a URL, or the disk can't tell.
    pub fn on(disk: &Arc<dyn Disk>, path: &Path) -> Result<LinesInput, xsort_disk::Error> {
        match is_url(path) {
            true => Ok(LinesInput::of_url(path, UrlFile::find(disk, path)?)),
            false => Ok(LinesInput::at(path)),
        }
    }

    /// What is at several paths, of which URLs are looked up at once.
    ///
    /// # Errors
    /// As [`on`](LinesInput::on).
    pub fn all_on(
        disk: &Arc<dyn Disk>,
        paths: &[PathBuf],
    ) -> Result<Vec<LinesInput>, xsort_disk::Error> {
        disk.announce(&mut paths.iter().map(|path| &**path));
        paths.iter().map(|path| LinesInput::on(disk, path)).collect()
    }

    /// The file of `bytes` bytes at a URL, read by the disk.
    #[must_use]
    pub fn at_url(disk: &Arc<dyn Disk>, url: &Path, bytes: u64) -> LinesInput {
        LinesInput::of_url(url, UrlFile::new(disk, url, bytes))
    }

    fn of_url(url: &Path, file: UrlFile) -> LinesInput {
        let path = url.to_owned();
        LinesInput { path, bytes: Some(file.bytes), content: Content::Url(file) }
    }

    /// The same input, which at a URL takes little memory then: others are read at the same time.
    #[must_use]
    pub fn beside_others(self) -> LinesInput {
        match self.content {
            Content::Url(file) => {
                LinesInput { content: Content::Url(file.beside_others()), ..self }
            }
            _ => self,
        }
    }

    /// The same input, its bytes read through `wrap` where the disk doesn't read them. They stay
    /// the same. Nothing is opened yet.
    #[must_use]
    pub fn read_through(
        self,
        wrap: impl Fn(InputBytes<'static>) -> InputBytes<'static> + Send + Sync + 'static,
    ) -> LinesInput {
        let content = match self.content {
            Content::File(open) => Content::File(open.through(wrap)),
            Content::Mapped { file_bytes, open, map, lines } if !is_url(&self.path) => {
                Content::Mapped { file_bytes, open: open.through(wrap), map, lines }
            }
            by_the_disk @ (Content::Url(_) | Content::Mapped { .. }) => by_the_disk,
            Content::Stream(bytes) => Content::Stream(wrap(bytes)),
        };
        LinesInput { content, ..self }
    }

    /// The input of what `map` makes of this one's bytes: `bytes` of them, if that is known. One
    /// that is mapped already has both maps, one after the other. Nothing is opened yet.
    #[must_use]
    pub fn mapped(self, bytes: Option<u64>, map: MapInput) -> LinesInput {
        self.mapped_by_lines(bytes, map, None)
    }

    /// The same where `lines` makes the same of any whole lines of it.
    #[must_use]
    pub fn mapped_by_lines(
        self,
        bytes: Option<u64>,
        map: MapInput,
        lines: Option<MapLines>,
    ) -> LinesInput {
        let content = match (self.content, self.bytes) {
            (Content::File(open), Some(file_bytes)) => {
                Content::Mapped { file_bytes, open, map, lines }
            }
            (Content::Url(file), Some(file_bytes)) => {
                let open = OpenInput::new(move || open_url(&file));
                Content::Mapped { file_bytes, open, map, lines }
            }
            (Content::Mapped { file_bytes, open, map: first, lines: of_first }, _) => {
                let lines = of_first.zip(lines).map(|(first, then)| first.and_then(then));
                Content::Mapped { file_bytes, open, map: one_map(first, map), lines }
            }
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
            Content::Url(file) => read(&mut file.open_beginning()?).map(|(_, said)| Some(said)),
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

    /// Its bytes, for a read from the beginning before the one of all; `None` if they can be read
    /// only once. A file is opened by the first read.
    #[must_use]
    pub fn first_read(&self) -> Option<InputBytes<'static>> {
        match &self.content {
            Content::File(_) if self.bytes.is_some() => {
                Some(LinesInput::at(&self.path).into_bytes())
            }
            Content::Url(file) => Some(Content::Url(file.clone()).into_bytes()),
            _ => None,
        }
    }

    /// The same input, to be read once more; `None` if its bytes can be read only once.
    #[must_use]
    pub fn again(&self) -> Option<LinesInput> {
        let content = match &self.content {
            Content::File(open) => Content::File(open.clone()),
            Content::Url(file) => Content::Url(file.clone()),
            Content::Mapped { .. } | Content::Stream(_) => return None,
        };
        Some(LinesInput { path: self.path.clone(), bytes: self.bytes, content })
    }

    /// Whether only the disk can read its bytes.
    pub(super) fn needs_bypass(&self) -> bool {
        match self.content {
            Content::Url(_) => true,
            Content::Mapped { .. } => is_url(&self.path),
            Content::File(_) | Content::Stream(_) => false,
        }
    }

    /// Bytes that it has or is made of; 0 if neither is known.
    pub(super) fn known_bytes(&self) -> u64 {
        match (self.bytes, &self.content) {
            (Some(bytes), _) | (None, &Content::Mapped { file_bytes: bytes, .. }) => bytes,
            (None, _) => 0,
        }
    }

    /// Bytes of the file that it is made of; 0 if there is none or that isn't known.
    pub(super) fn file_bytes(&self) -> u64 {
        match self.content {
            Content::Mapped { file_bytes, .. } => file_bytes,
            Content::File(_) | Content::Url(_) | Content::Stream(_) => self.bytes.unwrap_or(0),
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
            Content::Url(file) => {
                Box::new(OpenedLate::Closed(OpenInput::new(move || open_url(&file))))
            }
            Content::Mapped { open, map, .. } => map(Box::new(OpenedLate::Closed(open))),
            Content::Stream(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Content::File(_) => "File",
            Content::Url(_) => "Url",
            Content::Mapped { .. } => "Mapped",
            Content::Stream(_) => "Stream",
        })
    }
}

fn open_url(file: &UrlFile) -> io::Result<InputBytes<'static>> {
    Ok(Box::new(file.open()?))
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
            *self = OpenedLate::Open(open.open()?);
        }
        match self {
            OpenedLate::Open(bytes) => bytes.read(buffer),
            OpenedLate::Closed(_) | OpenedLate::Broken => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Inputs at URLs that are read at the same time: how many of `inputs` may be, and the bytes of the
/// budget that they take. That is half of it at most, but there may always be two. The budget is
/// asked for only if there are URLs.
pub fn urls_at_once(inputs: &[LinesInput], budget_bytes: impl FnOnce() -> u64) -> (usize, u64) {
    let urls = inputs.iter().filter(|input| matches!(input.content, Content::Url(_))).count();
    if urls == 0 {
        return (usize::MAX, 0);
    }
    let fitting = budget_bytes() / 2 / UrlFile::SHARED_BYTES;
    let most = usize::try_from(fitting).unwrap_or(usize::MAX).max(2);
    let taken_bytes = urls.min(most) as u64 * UrlFile::SHARED_BYTES;
    (if urls <= most { usize::MAX } else { most }, taken_bytes)
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
        let mut missing = input(Content::File(OpenInput::new(open)));
        assert_eq!(missing.peek(two_bytes).unwrap(), None);
    }
}
