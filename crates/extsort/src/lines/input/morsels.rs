//! Files cut into morsels: parts of whole lines that threads read in parallel, as in "Morsel-driven
//! parallelism" (Leis, Boncz, Kemper and Neumann, SIGMOD 2014).
//!
//! ```text
//!  file      one line\nanother\nthe third line\nand so on\n
//!  cut at            ^           ^          any byte
//!  morsels   |-----------------|---------------|-------...
//! ```
//!
//! A line belongs to the part in which it begins. Each part searches for its first line, which is
//! also the end of the part before it. Both searches must agree. If they don't, the file was
//! written to in between, and is read once more from its beginning.
//!
//! Each part opens its file, so each has its own position and its own read-ahead.

use super::{Content, InputBytes, LinesInput, MapLines};
use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use xsort_disk::is_cached;

/// Most files that are cut. More files are read one after the other.
const FILES_MAX: usize = 64;
/// Bytes per read in the search for the end of a line.
const LOOK_BYTES: usize = 4 << 10;
/// Most bytes searched for the first line of a part. Longer lines are unsuitable for parts.
const LOOKED_AT_MAX: u64 = 1 << 20;

/// A file that is read in parts.
struct MorselFile {
    path: PathBuf,
    /// Kept open so that no other file gets its inode.
    _open: File,
    /// The file's device and inode.
    identity: (u64, u64),
    /// The byte that ends a line.
    delimiter: u8,
    lines: Option<MapLines>,
    /// The parts that were read.
    read: Mutex<Vec<ReadPart>>,
}

/// A part of a file: the lines that begin in it.
#[derive(Clone, Copy)]
struct Part {
    file: usize,
    from: u64,
    bytes: u64,
    /// True if it ends with the file, even if the file has grown by then.
    is_last: bool,
}

/// The offsets at which a part began and ended.
#[derive(Clone, Copy)]
struct ReadPart {
    from: u64,
    begin: u64,
    end: u64,
}

/// All inputs of a sort, cut into morsels.
pub(crate) struct Morsels {
    files: Vec<Arc<MorselFile>>,
    /// Each has one part, or several adjacent ones.
    morsels: Vec<Vec<Part>>,
    file_bytes: u64,
}

impl Morsels {
    /// Cuts `inputs`, whose lines end with `delimiter`, into morsels for `threads` threads. The
    /// next morsel has about `morsel_bytes(bytes still to be cut)` bytes. `None` if the inputs
    /// should be read one after the other: if one isn't a file that threads may open, or isn't in
    /// the page cache.
    pub(crate) fn cut(
        inputs: &[LinesInput],
        delimiter: u8,
        threads: usize,
        morsel_bytes: impl Fn(u64) -> u64,
    ) -> Option<Morsels> {
        let files = inputs.iter().map(|input| MorselFile::new(input, delimiter, threads));
        let files = if inputs.len() <= FILES_MAX { files.collect() } else { None };
        let files: Vec<(MorselFile, u64)> = files?;
        let file_bytes = files.iter().map(|(_, bytes)| bytes).sum();
        let (mut morsels, mut left) = (Vec::new(), file_bytes);
        let (mut morsel, mut missing) = (Vec::new(), morsel_bytes(left).max(1));
        for (file, &(_, bytes)) in files.iter().enumerate() {
            let (mut from, mut is_last) = (0, false);
            while !is_last {
                let own = missing.min(bytes - from);
                is_last = from + own == bytes;
                morsel.push(Part { file, from, bytes: own, is_last });
                from += own;
                left -= own;
                missing -= own;
                if missing == 0 {
                    morsels.push(std::mem::take(&mut morsel));
                    missing = morsel_bytes(left).max(1);
                }
            }
        }
        morsels.extend(Some(morsel).filter(|morsel| !morsel.is_empty()));
        let files = files.into_iter().map(|(file, _)| Arc::new(file)).collect();
        Some(Morsels { files, morsels, file_bytes })
    }

    /// Bytes of all files.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Returns the inputs that form a morsel, and their approximate size in their files in bytes.
    /// `None` after the last morsel.
    pub(crate) fn open(&self, number: usize) -> Option<(Vec<LinesInput>, u64)> {
        let parts = self.morsels.get(number)?;
        let input = |&part: &Part| {
            let file = &self.files[part.file];
            let bytes: InputBytes<'static> = Box::new(PartRead::new(Arc::clone(file), part));
            let content = Content::Stream(match &file.lines {
                Some(lines) => (lines.map)()(bytes),
                None => bytes,
            });
            LinesInput { path: file.path.clone(), bytes: None, content }
        };
        let bytes = parts.iter().map(|part| part.bytes).sum();
        Some((parts.iter().map(input).collect(), bytes))
    }

    /// True if all lines were read exactly once: every part ended where the next one began.
    pub(crate) fn are_whole(&self) -> bool {
        let are_whole = |(number, file): (usize, &Arc<MorselFile>)| {
            let parts = self.morsels.iter().flatten().filter(|part| part.file == number);
            let mut read = file.read.lock().clone();
            read.sort_unstable_by_key(|part| part.from);
            read.len() == parts.count()
                && read.first().is_none_or(|first| first.begin == 0)
                && read.windows(2).all(|parts| parts[0].end == parts[1].begin)
        };
        self.files.iter().enumerate().all(are_whole)
    }

    /// Reports that the results of the morsels don't count.
    pub(crate) fn forget(&self) {
        self.files.iter().filter_map(|file| file.lines.as_ref()).for_each(|lines| (lines.forget)());
    }
}

impl MorselFile {
    /// The file of an input, and its size in bytes; `None` if it can't or shouldn't be read in
    /// parts.
    fn new(input: &LinesInput, delimiter: u8, threads: usize) -> Option<(MorselFile, u64)> {
        let (open, bytes, lines) = match &input.content {
            Content::File(open) => (open, input.bytes?, None),
            Content::Mapped { open, file_bytes, lines, .. } => {
                (open, *file_bytes, Some(lines.clone().filter(|lines| lines.parts_max >= threads)?))
            }
            Content::Url(_) | Content::Stream(_) => return None,
        };
        let file = if open.is_plain { File::open(&input.path).ok()? } else { return None };
        let found = file.metadata().ok()?;
        if !found.is_file() || found.len() != bytes || !is_cached(&file, bytes) {
            return None;
        }
        let file = MorselFile {
            path: input.path.clone(),
            _open: file,
            identity: (found.dev(), found.ino()),
            delimiter: lines.as_ref().map_or(delimiter, |lines| lines.delimiter),
            lines,
            read: Mutex::new(Vec::new()),
        };
        Some((file, bytes))
    }
}

/// Reads the lines of a part. After any error the file must be read whole instead.
struct PartRead {
    file: Arc<MorselFile>,
    part: Part,
    open: Option<File>,
    /// Offset of its first line.
    begin: u64,
    /// Offset of the next read.
    at: u64,
    /// True if the next read follows a delimiter, or nothing was read.
    is_line_whole: bool,
    /// True if the file ended before a line began in the part. Bytes appended now belong to a line
    /// of an earlier part.
    is_behind_end: bool,
    is_over: bool,
}

impl PartRead {
    fn new(file: Arc<MorselFile>, part: Part) -> PartRead {
        let (open, begin, at) = (None, 0, 0);
        let (is_line_whole, is_behind_end, is_over) = (true, false, false);
        PartRead { file, part, open, begin, at, is_line_whole, is_behind_end, is_over }
    }

    /// Opens the file, and finds the first line that begins in the part or after it.
    fn open(&mut self) -> io::Result<File> {
        let file = File::open(&self.file.path)?;
        let found = file.metadata()?;
        if (found.dev(), found.ino()) != self.file.identity {
            return Err(io::Error::other("it is another file"));
        }
        if self.part.from > 0 {
            let (begin, has_end) = behind_line(&file, self.part.from - 1, self.file.delimiter)?;
            (self.begin, self.at) = (begin, begin);
            self.is_behind_end = !has_end;
        }
        Ok(file)
    }

    fn end(&mut self) -> usize {
        self.is_over = true;
        let part = ReadPart { from: self.part.from, begin: self.begin, end: self.at };
        self.file.read.lock().push(part);
        0
    }
}

impl Read for PartRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_over || buffer.is_empty() {
            return Ok(0);
        }
        let file = match self.open.take() {
            Some(file) => file,
            None => self.open()?,
        };
        let file = self.open.insert(file);
        let Part { from, bytes, is_last, .. } = self.part;
        let left = if is_last { u64::MAX } else { (from + bytes).saturating_sub(self.at) };
        let delimiter = self.file.delimiter;
        let bytes = if self.is_behind_end {
            0
        } else if left > 0 {
            let most = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
            file.read_at(&mut buffer[..most], self.at)?
        } else if self.is_line_whole {
            0
        } else {
            // The rest of the last line.
            let most = LOOK_BYTES.min(buffer.len());
            let bytes = file.read_at(&mut buffer[..most], self.at)?;
            memchr::memchr(delimiter, &buffer[..bytes]).map_or(bytes, |end| end + 1)
        };
        if bytes == 0 {
            return Ok(self.end());
        }
        self.at += bytes as u64;
        self.is_line_whole = buffer[bytes - 1] == delimiter;
        Ok(bytes)
    }
}

/// Returns the offset after the first delimiter from `from` on, or the end of the file, and true if
/// there is a delimiter.
fn behind_line(file: &File, from: u64, delimiter: u8) -> io::Result<(u64, bool)> {
    let (mut at, mut looked_at) = (from, [0; LOOK_BYTES]);
    while at - from < LOOKED_AT_MAX {
        let bytes = file.read_at(&mut looked_at, at)?;
        if let Some(end) = memchr::memchr(delimiter, &looked_at[..bytes]) {
            return Ok((at + end as u64 + 1, true));
        }
        if bytes == 0 {
            return Ok((at, false));
        }
        at += bytes as u64;
    }
    Err(io::Error::other("a long line"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::fs;
    use std::path::Path;
    use std::slice;
    use tempfile::TempDir;

    type Change = fn(&Path);

    /// `None` where the kernel doesn't tell what is cached.
    fn cut(paths: &[PathBuf], step: u64) -> Option<Morsels> {
        let inputs: Vec<_> = paths.iter().map(|path| LinesInput::at(path)).collect();
        let morsels = Morsels::cut(&inputs, b'\n', 2, |_| step);
        if morsels.is_none() {
            eprintln!("SKIPPED: cachestat(2) doesn't tell here");
        }
        morsels
    }

    /// A directory with a file of `text`.
    fn file(text: &str) -> (TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, text).unwrap();
        (directory, path)
    }

    /// The contents of the parts of each morsel.
    fn read(morsels: &Morsels) -> io::Result<Vec<Vec<Vec<u8>>>> {
        let whole = |input: LinesInput| {
            let mut bytes = Vec::new();
            input.into_bytes().read_to_end(&mut bytes).map(|_| bytes)
        };
        let morsel = |(inputs, _): (Vec<LinesInput>, u64)| inputs.into_iter().map(whole).collect();
        (0..).map_while(|number| morsels.open(number)).map(morsel).collect()
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(b'\n'), Just(b'a'), Just(b'b'), Just(b'c')];
        let long = (0..30_000usize).prop_map(|length| vec![b'x'; length]);
        let line = prop_oneof![8 => vec(byte, 1..40), 1 => long];
        vec(line, 0..12).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn the_parts_are_the_files(texts in vec(text(), 1..4), step in 1..9_000u64) {
            let directory = tempfile::tempdir().unwrap();
            let path = |(number, text): (usize, &Vec<u8>)| {
                let path = directory.path().join(number.to_string());
                fs::write(&path, text).unwrap();
                path
            };
            let paths: Vec<_> = texts.iter().enumerate().map(path).collect();
            if let Some(morsels) = cut(&paths, step) {
                prop_assert!(!morsels.are_whole());
                let parts = read(&morsels).unwrap();
                prop_assert!(morsels.are_whole());
                prop_assert_eq!(parts.iter().flatten().flatten().count(), texts.concat().len());
                prop_assert!(parts.concat().concat() == texts.concat());
                for part in parts.iter().flatten().filter(|part| part.last() != Some(&b'\n')) {
                    prop_assert!(part.is_empty() || texts.iter().any(|text| text.ends_with(part)));
                }
            }
        }
    }

    #[test]
    fn a_file_that_changes_is_noticed() {
        let (_directory, path) = file("");
        let changes: [(&str, Change); 5] = [
            ("nothing", |_| {}),
            ("a line is longer", |path| fs::write(path, "12345678\n".repeat(2000)).unwrap()),
            ("it is shorter", |path| fs::write(path, "123456789\n".repeat(700)).unwrap()),
            ("it is gone", |path| fs::remove_file(path).unwrap()),
            ("it is another", |path| {
                let other = path.with_extension("other");
                fs::copy(path, &other).unwrap();
                fs::rename(other, path).unwrap();
            }),
        ];
        for (name, change) in changes {
            fs::write(&path, "123456789\n".repeat(2000)).unwrap();
            let Some(morsels) = cut(slice::from_ref(&path), 9_999) else { return };
            let (mut inputs, _) = morsels.open(0).unwrap();
            inputs.pop().unwrap().into_bytes().read_to_end(&mut Vec::new()).unwrap();
            change(&path);
            let rest = (1..3).try_for_each(|number| {
                let (mut inputs, _) = morsels.open(number).unwrap();
                inputs.pop().unwrap().into_bytes().read_to_end(&mut Vec::new()).map(|_| ())
            });
            assert_eq!(rest.is_ok() && morsels.are_whole(), name == "nothing", "{name}");
        }
    }

    #[test]
    fn what_is_appended_to_the_last_line_is_no_line_of_its_own() {
        let (_directory, path) = file("a long line without an end");
        let Some(morsels) = cut(slice::from_ref(&path), 9) else { return };
        let open = |number| morsels.open(number).unwrap().0.pop().unwrap().into_bytes();
        let (mut first, mut last) = (open(0), open(2));
        first.read_to_end(&mut Vec::new()).unwrap();
        let nothing = last.read(&mut [0; 100]).unwrap();
        fs::write(&path, "a long line without an end until now\n").unwrap();
        assert_eq!((nothing, last.read(&mut [0; 100]).unwrap()), (0, 0));
    }

    #[test]
    fn a_file_that_is_empty_at_first_is_read() {
        let (_directory, path) = file("");
        let Some(morsels) = cut(slice::from_ref(&path), 9) else { return };
        fs::write(&path, "now\n").unwrap();
        assert_eq!(read(&morsels).unwrap().concat().concat(), b"now\n");
        assert!(morsels.are_whole());
    }

    #[test]
    fn what_is_no_file_of_lines_is_not_cut() {
        let (directory, path) = file("a\nb\n");
        let input = LinesInput::at(&path);
        let slowed = LinesInput::at(&path).read_through(|bytes| bytes);
        let keyed = LinesInput::at(&path).mapped(None, Box::new(|bytes| bytes));
        let larger = LinesInput { bytes: Some(5), ..LinesInput::at(&path) };
        for input in [slowed, keyed, larger, LinesInput::at(directory.path())] {
            assert!(Morsels::cut(&[input], b'\n', 2, |_| 2).is_none());
        }
        let is_known = is_cached(File::open(&path).unwrap(), 4);
        assert_eq!(Morsels::cut(&[input], b'\n', 2, |_| 2).is_some(), is_known);
    }
}
