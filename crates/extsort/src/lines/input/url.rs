//! A file at a URL, which only the disk can read.
//!
//! Each reading opens it anew, and the disk reads it ahead whatever its size: a store answers many
//! requests at once, and each of them late. A sort reads it with the blocks of its plan (`reader`).
//! Elsewhere it has a few blocks of its own while it is read.

use crate::store::read_ahead::ReadAhead;
use rustix::io::Errno;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{BlockPool, Disk, Error, Found, Operation, align_up};

/// Number of blocks to read with, and their size in bytes.
type Blocks = (u64, u64);

/// Blocks of a file that is read alone. They are beside the budget, because there is one such file
/// at a time.
const ALONE: Blocks = (8, 512 << 10);
/// Blocks of each of several files that are read at the same time.
const SHARED: Blocks = (2, 256 << 10);
/// Blocks to read the beginning.
const BEGINNING: Blocks = (1, 64 << 10);
/// Blocks to read the end.
const END: Blocks = (1, 4 << 10);

/// A file at a URL.
#[derive(Clone)]
pub struct UrlFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// Size in bytes when the file was found.
    pub(super) bytes: u64,
    blocks: Blocks,
}

impl UrlFile {
    /// Bytes of memory for each of several files that are read at the same time.
    pub(super) const SHARED_BYTES: u64 = SHARED.0 * SHARED.1;

    /// The file of `bytes` bytes at a URL.
    pub(super) fn new(disk: &Arc<dyn Disk>, url: &Path, bytes: u64) -> UrlFile {
        UrlFile { disk: Arc::clone(disk), path: url.to_owned(), bytes, blocks: ALONE }
    }

    /// Looks up the file at a URL.
    ///
    /// # Errors
    ///
    /// If there is none, or the disk can't tell.
    pub(super) fn find(disk: &Arc<dyn Disk>, url: &Path) -> Result<UrlFile, Error> {
        let errno = match disk.find(url)? {
            Found::File { bytes } => return Ok(UrlFile::new(disk, url, bytes)),
            Found::Missing => Errno::NOENT,
            Found::Directory => Errno::ISDIR,
            Found::Other => Errno::INVAL,
        };
        Err(Error::new(Operation::Open, url, errno))
    }

    /// Reduces its memory, because others are read at the same time.
    pub(super) fn beside_others(self) -> UrlFile {
        UrlFile { blocks: SHARED, ..self }
    }

    /// Opens the file to read all of it.
    pub(super) fn open(&self) -> io::Result<ReadAhead<Arc<dyn Disk>>> {
        self.open_with(self.blocks)
    }

    /// Opens the file to read its beginning.
    pub(super) fn open_beginning(&self) -> io::Result<ReadAhead<Arc<dyn Disk>>> {
        self.open_with(BEGINNING)
    }

    /// Opens the file to read its beginning, and submits the first read.
    pub(super) fn begin_look(&self) -> io::Result<ReadAhead<Arc<dyn Disk>>> {
        let mut beginning = self.open_beginning()?;
        beginning.begin();
        Ok(beginning)
    }

    /// Its last byte; `None` for an empty file.
    pub(super) fn last_byte(&self) -> io::Result<Option<u8>> {
        let mut ahead = self.open_with(END)?;
        ahead.skip(u64::MAX);
        let mut end = Vec::new();
        ahead.read_to_end(&mut end)?;
        Ok(end.last().copied())
    }

    /// Opens the file. Errors of the disk are wrapped in the returned error, as in reads.
    fn open_with(&self, (count, bytes): Blocks) -> io::Result<ReadAhead<Arc<dyn Disk>>> {
        // A small file needs little memory.
        let block_bytes = align_up(self.bytes).clamp(align_up(1), bytes);
        let count = self.bytes.div_ceil(block_bytes).clamp(1, count);
        let pool =
            BlockPool::map(count as usize, block_bytes as usize).map_err(io::Error::other)?;
        ReadAhead::open(Arc::clone(&self.disk), &self.path, pool).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bypass, InputReader};
    use super::*;
    use crate::lines::{Content, Header, LinesInput, recognise, take_header, urls_at_once};
    use xsort_disk::{SimDisk, SimOptions};

    const URL: &str = "s3://bucket/key";

    fn store(text: &[u8]) -> (Arc<SimDisk>, Arc<dyn Disk>) {
        let sim = Arc::new(SimDisk::new(SimOptions::rough(text.len() as u64)));
        sim.put(URL, text);
        let disk = Arc::clone(&sim) as Arc<dyn Disk>;
        (sim, disk)
    }

    fn on(disk: &Arc<dyn Disk>) -> LinesInput {
        LinesInput::on(disk, Path::new(URL)).unwrap()
    }

    fn read(input: LinesInput) -> Vec<u8> {
        let mut all = Vec::new();
        input.into_bytes().read_to_end(&mut all).unwrap();
        all
    }

    /// Files of any length: none, a page, all blocks, more than these.
    #[test]
    fn all_bytes_are_read_and_nothing_stays_open() {
        for bytes in [0, 1, 4095, 4096, 600_000, 9 << 20] {
            let text: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
            let (sim, disk) = store(&text);
            assert_eq!(on(&disk).bytes, Some(bytes as u64));
            assert!(read(on(&disk)) == text, "{bytes}");
            assert!(read(on(&disk).beside_others()) == text, "{bytes}");
            let Content::Url(file) = on(&disk).content else { panic!() };
            assert_eq!(file.last_byte().unwrap(), text.last().copied());
            assert_eq!(sim.open_files(), 0);
        }
    }

    /// Like a file: each look opens it anew, and it keeps its size.
    #[test]
    fn looks_at_the_beginning_leave_it_whole() {
        let (sim, disk) = store(b"#head\nb\na\n");
        let recognised = recognise(vec![on(&disk), on(&disk)], false, || (1 << 30, 2)).unwrap();
        for mut input in recognised.inputs {
            assert!(matches!(input.content, Content::Url(_)) && input.bytes == Some(10));
            assert_eq!(sim.open_files(), 0);
            let header = take_header(&mut input, Header::Prefix(b"#"), b'\n').unwrap();
            assert_eq!((header, input.bytes), (b"#head\n".to_vec(), Some(4)));
            assert_eq!(read(input), b"b\na\n");
        }
        let mut first = on(&disk).first_read().unwrap();
        let mut head = [0; 3];
        first.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"#he");
    }

    #[test]
    fn a_compressed_file_is_decompressed() {
        let text = b"some text\n".repeat(99_999);
        let (_, disk) = store(&zstd::stream::encode_all(&text[..], 1).unwrap());
        let recognised = recognise(vec![on(&disk)], false, || (1 << 30, 2)).unwrap();
        let input = recognised.inputs.into_iter().next().unwrap();
        assert_eq!(input.bytes, None);
        assert!(read(input) == text);
    }

    /// The bytes read may belong to neither the old file nor the new one.
    #[test]
    fn a_file_that_changes_while_it_is_read_is_an_error() {
        let (sim, disk) = store(&b"x".repeat(9 << 20));
        let mut bytes = on(&disk).into_bytes();
        bytes.read_exact(&mut [0; 9]).unwrap();
        sim.overwrite(URL, b"y".repeat(9 << 20));
        let error = bytes.read_to_end(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("written to since it was opened"), "{error}");
    }

    /// Each took a round trip of its own, one after the other.
    #[test]
    fn small_files_are_read_before_their_turn() {
        const BLOCKS: usize = 16;
        let sim = SimDisk::new(SimOptions::rough(5));
        let url = |number: usize| PathBuf::from(format!("s3://b/{number:02}"));
        let text = |number: usize| format!("{}\n", "x".repeat(number * 400)).into_bytes();
        (0..40).for_each(|number| sim.put(url(number), text(number)));
        let sim = Arc::new(sim);
        let disk = Arc::clone(&sim) as Arc<dyn Disk>;
        let urls: Vec<PathBuf> = (0..40).map(url).collect();
        let inputs = LinesInput::all_on(&disk, &urls).unwrap();
        let block_pool = BlockPool::map(BLOCKS, 4096).unwrap();
        let bypass = Bypass { disk: &*disk, block_pool };
        let mut reader = InputReader::new(inputs, b'\n', Some(bypass));
        let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
        let bytes = reader.read(&mut buffer).unwrap();
        all.extend_from_slice(&buffer[..bytes]);
        assert!(sim.open_files() > BLOCKS / 2, "{} are open", sim.open_files());
        loop {
            match reader.read(&mut buffer).unwrap() {
                0 => break,
                bytes => all.extend_from_slice(&buffer[..bytes]),
            }
        }
        assert!(all == (0..40).flat_map(text).collect::<Vec<_>>());
        drop(reader);
        assert_eq!(sim.open_files(), 0);
    }

    #[test]
    fn what_is_not_there_is_an_error_at_once() {
        let (_, disk) = store(b"");
        for (url, expected) in
            [("s3://bucket/none", "No such file"), ("s3://bucket/", "Is a directory")]
        {
            let error = LinesInput::on(&disk, Path::new(url)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn inputs_that_are_read_at_once_take_at_most_half_of_the_budget() {
        let (_, disk) = store(b"");
        let inputs = |urls| -> Vec<LinesInput> { (0..urls).map(|_| on(&disk)).collect() };
        let plain = || LinesInput { content: Content::Stream(Box::new(io::empty())), ..on(&disk) };
        const MIB: u64 = 1 << 20;
        assert_eq!(urls_at_once(&[plain()], || panic!("there is no URL")), (usize::MAX, 0));
        assert_eq!(urls_at_once(&inputs(3), || 64 * MIB), (usize::MAX, 3 * MIB / 2));
        assert_eq!(urls_at_once(&inputs(65), || 64 * MIB), (64, 32 * MIB));
        assert_eq!(urls_at_once(&inputs(3), || MIB), (2, MIB));
    }
}
