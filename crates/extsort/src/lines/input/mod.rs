//! Inputs of lines: files and streams, opened once and read once.
//!
//! | file | idea |
//! |---|---|
//! | `reader` | inputs one after the other, as whole lines |
//! | `morsels` | parts of files that threads read in parallel |
//! | `range` | a part of a file |
//! | `sample` | whether inputs look sorted already |
//! | `sampled_file` | lines of a file that are read here and there |
//! | `stretches` | sorted stretches of inputs, each as an input of its own |
//! | `file_part` | a part of a file, read beside other parts |
//! | `url` | files that only the disk can read |
//! | `sorted` | one input whose lines are in order, a block at a time |
//! | `recognise` | finds compressed inputs, before anything is planned |
//! | `decompress` | compressed inputs, recognised by their first bytes |
//! | `gzip`, `bgzf_input` | gzip; gzip in blocks, inflated by several threads |
//! | `packing_error` | why a compressed input can't be read |
//! | `header` | lines that stay at the top |
//! | `long_line` | the error for a line that doesn't fit the budget |

mod bgzf_input;
mod decompress;
mod file_part;
mod gzip;
mod header;
mod long_line;
mod morsels;
mod packing_error;
mod range;
mod reader;
mod recognise;
mod sample;
mod sampled_file;
mod sorted;
mod stretches;
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
pub(super) use sample::{Looks, look};
pub(super) use sorted::{ReadLines, SortedInput, SortedRead, UncheckedBlock};
pub(super) use stretches::Stretches;
pub use url::UrlFile;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{Disk, is_url};

/// The bytes of an input, in order.
pub type InputBytes<'d> = Box<dyn Read + Send + 'd>;

/// Opens a file from its beginning when its turn comes, so that inputs may outnumber the limit of
/// open files.
#[derive(Clone)]
pub struct OpenInput {
    open: Arc<dyn Fn() -> io::Result<InputBytes<'static>> + Send + Sync>,
    is_plain: bool,
}

impl OpenInput {
    /// An input opened by `open`, which may do more than open a file, for example throttle its
    /// reads.
    pub fn new(
        open: impl Fn() -> io::Result<InputBytes<'static>> + Send + Sync + 'static,
    ) -> OpenInput {
        OpenInput { open: Arc::new(open), is_plain: false }
    }

    /// An input whose `open` only opens the file at the input's path. Threads may open that file
    /// themselves, and read parts of it in parallel.
    pub fn plain(
        open: impl Fn() -> io::Result<InputBytes<'static>> + Send + Sync + 'static,
    ) -> OpenInput {
        OpenInput { is_plain: true, ..OpenInput::new(open) }
    }

    /// Passes the input's bytes through `wrap`.
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

/// Transforms the bytes of an input, for example into its records with keys before them.
pub type MapInput = Box<dyn for<'d> FnOnce(InputBytes<'d>) -> InputBytes<'d> + Send>;

/// Transforms any whole lines of an input as [`MapInput`] transforms all of them, so that threads
/// can read parts of it in parallel.
#[derive(Clone)]
pub struct MapLines {
    /// The byte that ends a line.
    pub delimiter: u8,
    /// Most parts that may be read at the same time. Their memory is counted.
    pub parts_max: usize,
    /// Maps one part.
    pub map: Arc<dyn Fn() -> MapInput + Send + Sync>,
    /// Called if the mapped parts don't count, because the input is read once more as a whole.
    pub forget: Arc<dyn Fn() + Send + Sync>,
}

/// Returns the transformation of this number of parts of an input, which begin with a line and are
/// read at the same time, in the memory of one. `None` if that is too little.
pub type MapParts = Arc<dyn Fn(usize) -> Option<MapPart> + Send + Sync>;

/// Creates the transformation of a part of an input: of the first one, or of another.
pub type MapPart = Box<dyn Fn(bool) -> MapInput + Send + Sync>;

/// Creates the transformation of an input any number of times, so that the input can be read more
/// than once.
#[derive(Clone)]
pub struct MapAgain {
    /// Transforms the whole input.
    pub whole: Arc<dyn Fn() -> MapInput + Send + Sync>,
    /// The byte that ends a line of the input before it is transformed.
    pub delimiter: u8,
    /// Transforms some whole lines of the input, for a sample.
    pub sample: Arc<dyn Fn() -> MapInput + Send + Sync>,
    /// Transforms parts of the input that are read at the same time.
    pub parts: MapParts,
    /// Called if what was transformed doesn't count, because it is read once more.
    pub forget: Arc<dyn Fn() + Send + Sync>,
}

impl MapLines {
    /// Applies `then` after this map, which must not change the length of lines.
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

/// Applies one map after the other.
fn one_map(first: MapInput, then: MapInput) -> MapInput {
    Box::new(move |bytes| then(first(bytes)))
}

/// An input of lines.
#[derive(Debug)]
pub struct LinesInput {
    /// The input's name in errors. For [`Content::File`] and [`Content::Url`], also the file's
    /// place.
    pub path: PathBuf,
    /// Size in bytes, if known.
    pub bytes: Option<u64>,
    /// The source of the bytes.
    pub content: Content,
}

/// How the bytes of an input are read.
pub enum Content {
    /// The whole regular file at the input's path. A sort opens it once: through the disk where
    /// bypassing the page cache pays, else with this function.
    File(OpenInput),
    /// A whole file at a URL. Only the disk reads it.
    Url(UrlFile),
    /// A file, or a file at a URL, whose bytes are transformed. The input's bytes differ from the
    /// file's.
    Mapped {
        /// Size of the file in bytes.
        file_bytes: u64,
        /// Opens the file.
        open: OpenInput,
        /// Transforms the file's bytes, however they are read.
        map: MapInput,
        /// Transforms a part of the file, if that is possible.
        lines: Option<MapLines>,
        /// Transforms the file once more, if that is possible.
        again: Option<MapAgain>,
    },
    /// Bytes that can be read only from this reader.
    Stream(InputBytes<'static>),
}

impl LinesInput {
    /// The input at a path, opened when its turn comes.
    #[must_use]
    pub fn at(path: &Path) -> LinesInput {
        let file = path.to_owned();
        let open = move || File::open(&file).map(|file| Box::new(file) as InputBytes<'static>);
        let bytes = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|found| found.len());
        let content = Content::File(OpenInput::plain(open));
        let content = match bytes {
            Some(_) => content,
            // A pipe, or a file that can't be opened, which the first read reports.
            None => Content::Stream(content.into_bytes()),
        };
        LinesInput { path: path.to_owned(), bytes, content }
    }

    /// The input at a path. A URL is looked up on the disk, and read through it; any other path is
    /// opened by [`at`](LinesInput::at).
    ///
    /// # Errors
    ///
    /// If there is no file at a URL, or the disk can't tell.
    pub fn on(disk: &Arc<dyn Disk>, path: &Path) -> Result<LinesInput, xsort_disk::Error> {
        match is_url(path) {
            true => Ok(LinesInput::of_url(path, UrlFile::find(disk, path)?)),
            false => Ok(LinesInput::at(path)),
        }
    }

    /// The inputs at several paths. URLs are looked up in parallel.
    ///
    /// # Errors
    ///
    /// The errors of [`on`](LinesInput::on).
    pub fn all_on(
        disk: &Arc<dyn Disk>,
        paths: &[PathBuf],
    ) -> Result<Vec<LinesInput>, xsort_disk::Error> {
        disk.announce(&mut paths.iter().map(|path| &**path));
        paths.iter().map(|path| LinesInput::on(disk, path)).collect()
    }

    /// The file of `bytes` bytes at a URL, read through the disk.
    #[must_use]
    pub fn at_url(disk: &Arc<dyn Disk>, url: &Path, bytes: u64) -> LinesInput {
        LinesInput::of_url(url, UrlFile::new(disk, url, bytes))
    }

    fn of_url(url: &Path, file: UrlFile) -> LinesInput {
        let path = url.to_owned();
        LinesInput { path, bytes: Some(file.bytes), content: Content::Url(file) }
    }

    /// Reduces the memory of an input at a URL, because other inputs are read at the same time.
    #[must_use]
    pub fn beside_others(self) -> LinesInput {
        match self.content {
            Content::Url(file) => {
                LinesInput { content: Content::Url(file.beside_others()), ..self }
            }
            _ => self,
        }
    }

    /// Passes the bytes through `wrap` where the disk doesn't read them. `wrap` must not change
    /// them. Nothing is opened yet.
    #[must_use]
    pub fn read_through(
        self,
        wrap: impl Fn(InputBytes<'static>) -> InputBytes<'static> + Send + Sync + 'static,
    ) -> LinesInput {
        let content = match self.content {
            Content::File(open) => Content::File(open.through(wrap)),
            Content::Mapped { file_bytes, open, map, lines, again } if !is_url(&self.path) => {
                Content::Mapped { file_bytes, open: open.through(wrap), map, lines, again }
            }
            by_the_disk @ (Content::Url(_) | Content::Mapped { .. }) => by_the_disk,
            Content::Stream(bytes) => Content::Stream(wrap(bytes)),
        };
        LinesInput { content, ..self }
    }

    /// Transforms this input's bytes by `map` to `bytes` bytes, if that is known. An input that is
    /// mapped already gets both maps, one after the other. Nothing is opened yet.
    #[must_use]
    pub fn mapped(self, bytes: Option<u64>, map: MapInput) -> LinesInput {
        self.mapped_by_lines(bytes, map, None)
    }

    /// Transforms this input's bytes by `map`, and any whole lines of it by `lines`, which must
    /// agree with `map`. `bytes` is the size of the result, if known.
    #[must_use]
    pub fn mapped_by_lines(
        self,
        bytes: Option<u64>,
        map: MapInput,
        lines: Option<MapLines>,
    ) -> LinesInput {
        let content = match (self.content, self.bytes) {
            (Content::File(open), Some(file_bytes)) => {
                Content::Mapped { file_bytes, open, map, lines, again: None }
            }
            (Content::Url(file), Some(file_bytes)) => {
                let open = OpenInput::new(move || open_url(&file));
                Content::Mapped { file_bytes, open, map, lines, again: None }
            }
            (Content::Mapped { file_bytes, open, map: first, lines: of_first, .. }, _) => {
                let lines = of_first.zip(lines).map(|(first, then)| first.and_then(then));
                let map = one_map(first, map);
                Content::Mapped { file_bytes, open, map, lines, again: None }
            }
            (content, _) => Content::Stream(map(content.into_bytes())),
        };
        LinesInput { path: self.path, bytes, content }
    }

    /// Lets a file that was just mapped be read and mapped more than once.
    #[must_use]
    pub fn mapped_again_by(mut self, by: MapAgain) -> LinesInput {
        if let Content::Mapped { again, .. } = &mut self.content {
            *again = Some(by);
        }
        self
    }

    /// Reads the beginning of the input by `read`, which returns the bytes that it took and a
    /// result. The input can still be read whole. `None` if a file can't be opened; the later read
    /// reports why.
    ///
    /// # Errors
    ///
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

    /// A reader from the beginning, besides the later read of all bytes; `None` if the bytes can be
    /// read only once. A file is opened by the first read.
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

    /// A copy of the input for a second reading; `None` if its bytes can be read only once.
    #[must_use]
    pub fn again(&self) -> Option<LinesInput> {
        let content = match &self.content {
            Content::File(open) => Content::File(open.clone()),
            Content::Url(file) => Content::Url(file.clone()),
            Content::Mapped { file_bytes, open, lines, again, .. } => {
                let again = again.clone()?;
                Content::Mapped {
                    file_bytes: *file_bytes,
                    open: open.clone(),
                    map: (again.whole)(),
                    lines: lines.clone(),
                    again: Some(again),
                }
            }
            Content::Stream(_) => return None,
        };
        Some(LinesInput { path: self.path.clone(), bytes: self.bytes, content })
    }

    /// Reports that what was read doesn't count, because the input is read once more.
    pub(super) fn forget(&self) {
        if let Content::Mapped { again: Some(again), .. } = &self.content {
            (again.forget)();
        }
    }

    /// True if only the disk can read its bytes.
    pub(super) fn needs_bypass(&self) -> bool {
        match self.content {
            Content::Url(_) => true,
            Content::Mapped { .. } => is_url(&self.path),
            Content::File(_) | Content::Stream(_) => false,
        }
    }

    /// Size of the input, or of the file it comes from, in bytes; 0 if neither is known.
    pub(super) fn known_bytes(&self) -> u64 {
        match (self.bytes, &self.content) {
            (Some(bytes), _) | (None, &Content::Mapped { file_bytes: bytes, .. }) => bytes,
            (None, _) => 0,
        }
    }

    /// Size of the file that the input comes from, in bytes; 0 if there is none or it is unknown.
    pub(super) fn file_bytes(&self) -> u64 {
        match self.content {
            Content::Mapped { file_bytes, .. } => file_bytes,
            Content::File(_) | Content::Url(_) | Content::Stream(_) => self.bytes.unwrap_or(0),
        }
    }

    /// Returns a reader of its bytes. A file is opened by the first read.
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

/// A file that is opened by the first read.
enum OpenedLate {
    Closed(OpenInput),
    Open(InputBytes<'static>),
    /// It couldn't be opened, which was reported.
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

/// Returns how many inputs may be read at the same time, and the bytes of the budget for those at
/// URLs. These take at most half of it, but two are always allowed. `budget_bytes` is called only
/// if there are URLs.
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

/// Size of all inputs in bytes, if known.
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
