//! Reads several inputs one after the other, as whole lines. Adds a missing delimiter at the end of
//! an input.
//!
//! Files at URLs are opened before their turn, and read ahead with the blocks that the current
//! input doesn't need. Each small file takes a round trip, but a store answers many requests at
//! once.

use super::{Content, InputBytes, LinesInput};
use crate::Error;
use crate::store::read_ahead::ReadAhead;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xsort_disk::{BlockPool, Disk, is_url};

/// Files of at least this size bypass the page cache, where possible. Files at URLs always do.
const DIRECT_BYTES_MIN: u64 = 16 << 20;
/// Maximum number of files at URLs that are opened before their turn.
const AHEAD_MAX: usize = 64;
/// Bytes per read for skipping where seeking is impossible.
const SKIP_BYTES: u64 = 256 << 10;

/// The disk and memory for reads that bypass the page cache.
pub(crate) struct Bypass<'j> {
    pub(crate) disk: &'j dyn Disk,
    /// Blocks to read into.
    pub(crate) block_pool: Arc<BlockPool>,
}

/// Reads inputs one after the other. Each is opened by its first read, and closed at its end.
pub(crate) struct InputReader<'j> {
    rest: std::vec::IntoIter<LinesInput>,
    /// Inputs that were opened before their turn. Only the last one may lack blocks.
    ahead: VecDeque<OpenedAhead<'j>>,
    /// The input that is being read.
    current: Option<Bytes<'j>>,
    /// Number of bytes read of the current input, 0 before it is open. `None` if they aren't bytes
    /// of its file.
    file_offset: Option<u64>,
    /// True once the current input needs no more blocks.
    needs_no_blocks: Arc<AtomicBool>,
    /// True if the next input couldn't be opened before its turn.
    is_next_refused: bool,
    /// Path of the current input, or of the last one.
    path: PathBuf,
    /// Inputs that were opened.
    opened: usize,
    bypass: Option<Bypass<'j>>,
    delimiter: u8,
    /// True if the last byte of the current input ended a line, or nothing was read of it.
    is_line_whole: bool,
}

/// A file at a URL that was opened before its turn.
struct OpenedAhead<'j> {
    path: PathBuf,
    content: Content,
    bytes: ReadAhead<&'j dyn Disk>,
}

enum Bytes<'j> {
    /// Bypasses the page cache.
    Direct(ReadAhead<&'j dyn Disk>),
    Plain(InputBytes<'j>),
}

impl<'j> InputReader<'j> {
    pub(crate) fn new(inputs: Vec<LinesInput>, delimiter: u8, bypass: Option<Bypass<'j>>) -> Self {
        let rest = inputs.into_iter();
        InputReader {
            rest,
            ahead: VecDeque::new(),
            current: None,
            file_offset: None,
            needs_no_blocks: Arc::default(),
            is_next_refused: false,
            path: PathBuf::new(),
            opened: 0,
            bypass,
            delimiter,
            is_line_whole: true,
        }
    }

    /// Skips the first `bytes` bytes, counted as [`read`](InputReader::read) returns them. Call it
    /// before the first read. Files that are skipped whole are not read.
    ///
    /// # Errors
    ///
    /// If an input can't be read, or if there are fewer bytes.
    pub(crate) fn skip(&mut self, mut bytes: u64) -> Result<(), Error> {
        while bytes > 0 {
            if self.current.is_none() {
                let next = self.rest.as_slice().first();
                let whole = next.and_then(|next| whole_lines_bytes(next, self.delimiter, bytes));
                if let Some(whole) = whole {
                    bytes -= whole;
                    self.path = self.rest.next().expect("it was looked at").path;
                    continue;
                }
                if !self.open_next() {
                    return Err(self.is_shorter());
                }
            }
            if let Some(Bytes::Direct(ahead)) = &mut self.current {
                bytes -= ahead.skip(bytes);
                if bytes == 0 {
                    break;
                }
            }
            let mut skipped = vec![0; bytes.min(SKIP_BYTES) as usize];
            match self.read_in_turn(&mut skipped)? {
                0 => return Err(self.is_shorter()),
                read => bytes -= read as u64,
            }
        }
        Ok(())
    }

    fn is_shorter(&self) -> Error {
        let reason = "it ends before what was read of it: begin anew with --restart";
        Error::Input { path: self.path.clone(), reason: reason.into() }
    }

    /// Returns the path of the input that was read last.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of inputs that were opened so far.
    pub(crate) fn opened(&self) -> usize {
        self.opened
    }

    /// Reads up to `buffer.len()` bytes of one input. Returns 0 at the end of all inputs.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let bytes = self.read_in_turn(buffer)?;
        self.read_on();
        Ok(bytes)
    }

    /// Reads bytes of the current input into `buffer`, which must not be empty: 0 bytes mean the
    /// end of an input.
    fn read_in_turn(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        assert!(!buffer.is_empty(), "the end of an input is told by no bytes");
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
                    self.file_offset = self.file_offset.map(|offset| offset + bytes as u64);
                    self.is_line_whole = buffer[bytes - 1] == self.delimiter;
                    return Ok(bytes);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let mut error = xsort_disk::Error::of_read(&self.path, error);
                    if error.path == self.path {
                        let offset = self.file_offset.filter(|offset| *offset > 0);
                        error.offset = error.offset.or(offset);
                    }
                    return Err(error.into());
                }
            }
        }
    }

    /// Goes to the next input. Returns `false` if there is none.
    fn open_next(&mut self) -> bool {
        let (path, content, direct) = match self.ahead.pop_front() {
            Some(OpenedAhead { path, content, bytes }) => (path, content, Some(bytes)),
            None => {
                let Some(input) = self.rest.next() else { return false };
                let direct = self.open_direct(&input);
                (input.path, input.content, direct)
            }
        };
        let is_plain = matches!(&content, Content::File(open) if open.is_plain);
        self.file_offset = (is_plain && direct.is_none()).then_some(0);
        self.needs_no_blocks = direct.as_ref().map(ReadAhead::all_submitted).unwrap_or_default();
        self.current = Some(match (direct, content) {
            (Some(ahead), Content::Mapped { map, .. }) => Bytes::Plain(map(Box::new(ahead))),
            (Some(ahead), _) => Bytes::Direct(ahead),
            (None, content) => Bytes::Plain(content.into_bytes()),
        });
        self.path = path;
        self.opened += 1;
        self.is_next_refused = false;
        true
    }

    /// Opens an input so that it bypasses the page cache, if it should and can.
    fn open_direct(&self, input: &LinesInput) -> Option<ReadAhead<&'j dyn Disk>> {
        let Bypass { disk, block_pool } = self.bypass.as_ref()?;
        let file_bytes = match input.content {
            Content::File(_) | Content::Url(_) => input.bytes?,
            Content::Mapped { file_bytes, .. } => file_bytes,
            Content::Stream(_) => return None,
        };
        if file_bytes < DIRECT_BYTES_MIN && !is_url(&input.path) {
            return None;
        }
        // If this fails, the plain reader opens the file or reports why it can't.
        ReadAhead::open(*disk, &input.path, Arc::clone(block_pool)).ok()
    }

    /// Starts reads in files at URLs before their turn, while blocks are free.
    fn read_on(&mut self) {
        let Some(Bypass { block_pool, .. }) = &self.bypass else { return };
        let mut has_all = Arc::clone(&self.needs_no_blocks);
        if let Some(last) = self.ahead.back_mut() {
            last.bytes.begin();
            has_all = last.bytes.all_submitted();
        }
        let block_pool = Arc::clone(block_pool);
        while has_all.load(Ordering::Relaxed)
            && self.ahead.len() < AHEAD_MAX
            && block_pool.available() > 0
            && !self.is_next_refused
            && let Some(next) = self.rest.as_slice().first().filter(|next| is_url(&next.path))
        {
            let Some(mut bytes) = self.open_direct(next) else {
                self.is_next_refused = true;
                return;
            };
            bytes.begin();
            has_all = bytes.all_submitted();
            let LinesInput { path, content, .. } = self.rest.next().expect("it was looked at");
            self.ahead.push_back(OpenedAhead { path, content, bytes });
        }
    }
}

/// Returns the size of a file in bytes, including a missing delimiter at its end. `None` if that
/// exceeds `bytes_max` or is unknown.
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

#[cfg(test)]
mod tests {
    use super::super::OpenInput;
    use super::*;
    use xsort_disk::{SimDisk, SimOptions};

    const BLOCK_BYTES: usize = 4096;
    const LINE_BYTES: usize = 64;

    /// A file that can't be read after its first bytes.
    struct Broken(&'static [u8]);

    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(std::io::Error::from_raw_os_error(5)),
                bytes => Ok(bytes),
            }
        }
    }

    #[test]
    fn an_error_names_the_byte_at_which_it_was() {
        let open = OpenInput::plain(|| Ok(Box::new(Broken(b"a\nb\n"))));
        let input =
            LinesInput { content: Content::File(open), ..LinesInput::at(Path::new("file")) };
        let mut reader = InputReader::new(vec![input], b'\n', None);
        assert_eq!(reader.read(&mut [0; 9]).unwrap(), 4);
        let Error::Disk(error) = reader.read(&mut [0; 9]).unwrap_err() else { panic!() };
        assert_eq!(error.offset, Some(4), "{error}");
    }

    /// A resumed sort may continue inside a block, or at the end of a block, a file or all files.
    /// When it began at a block, the rest of the file was lost.
    #[test]
    fn what_is_not_skipped_is_read_wherever_that_begins() {
        let sim = SimDisk::new(SimOptions::rough(7));
        let line = |number: usize| format!("{number:>0$}\n", LINE_BYTES - 1).into_bytes();
        let text: Vec<u8> = (0..700).flat_map(line).collect();
        // The second file has no delimiter at its end.
        let lines = [10, 250, 64, 376];
        let mut begin = 0;
        let urls = lines.map(|lines| {
            let end = begin + lines * LINE_BYTES;
            let url = PathBuf::from(format!("s3://b/{begin}"));
            sim.put(&url, &text[begin..end - usize::from(lines == 250)]);
            begin = end;
            url
        });
        assert_eq!(begin, text.len());
        let disk: Arc<dyn Disk> = Arc::new(sim);
        for at in (0..=text.len() + LINE_BYTES).step_by(LINE_BYTES) {
            let inputs = LinesInput::all_on(&disk, &urls).unwrap();
            let block_pool = BlockPool::map(3, BLOCK_BYTES).unwrap();
            let bypass = Bypass { disk: &*disk, block_pool };
            let mut reader = InputReader::new(inputs, b'\n', Some(bypass));
            let skipped = reader.skip(at as u64);
            let Some(expected) = text.get(at..) else {
                let error = skipped.unwrap_err().to_string();
                assert!(error.contains(&*urls[3].to_string_lossy()), "{error}");
                assert!(error.contains("it ends before what was read of it"), "{error}");
                continue;
            };
            skipped.unwrap();
            let (mut rest, mut buffer) = (Vec::new(), [0; 1000]);
            loop {
                match reader.read(&mut buffer).unwrap() {
                    0 => break,
                    bytes => rest.extend_from_slice(&buffer[..bytes]),
                }
            }
            assert!(rest == expected, "from {at} on: {} bytes", rest.len());
        }
    }
}
