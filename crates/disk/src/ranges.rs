//! A disk on which names stand for ranges of another disk's files, so that a pipeline can read a
//! range of a file like a file.
//!
//! Offsets are translated: a request's before it goes to the disk below, its completion's by one
//! thread on the way back. Everything except these inputs is passed to the disk below.

use crate::{
    ALIGNMENT, Completion, Direction, Disk, Drive, Error, FileId, FileIdentity, Found, InputFiles,
    ListedFile, Operation, OutputFiles, Request, ScratchFiles, StoredPart,
};
use crossbeam_channel::{Receiver, Sender, unbounded};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// A range of a file, and the name under which it is an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRange {
    /// The name, which no other input has.
    pub name: PathBuf,
    /// The file on the disk below.
    pub path: PathBuf,
    /// The offset at which the range begins: a multiple of [`ALIGNMENT`].
    pub offset: u64,
    /// Its length in bytes, not necessarily aligned.
    pub bytes: u64,
}

/// Where a completion goes: its receiver, its tag, and the offset that was requested.
struct Waiting {
    reply: Sender<Completion>,
    tag: u64,
    offset: u64,
}

/// Reads of ranges under way, by their tags on the disk below.
#[derive(Default)]
struct Pending {
    waiting: HashMap<u64, Waiting>,
    next: u64,
}

/// A disk with some inputs that are ranges of files.
pub struct RangeDisk {
    below: Arc<dyn Disk>,
    ranges: HashMap<PathBuf, FileRange>,
    /// Offset and length of each open range.
    open: Mutex<HashMap<FileId, (u64, u64)>>,
    pending: Arc<Mutex<Pending>>,
    /// `Some` until the disk is dropped, as is `passing_on`.
    reply: Option<Sender<Completion>>,
    passing_on: Option<JoinHandle<()>>,
}

impl RangeDisk {
    /// Creates a disk that adds `ranges` to the disk `below`.
    ///
    /// # Errors
    /// If no thread can be started.
    ///
    /// # Panics
    /// If a range doesn't begin at a multiple of [`ALIGNMENT`].
    pub fn new(
        below: Arc<dyn Disk>,
        ranges: impl IntoIterator<Item = FileRange>,
    ) -> Result<RangeDisk, Error> {
        let ranges: HashMap<_, _> =
            ranges.into_iter().map(|range| (range.name.clone(), range)).collect();
        let is_aligned = |range: &FileRange| range.offset.is_multiple_of(ALIGNMENT as u64);
        assert!(ranges.values().all(is_aligned), "ranges begin at multiples of {ALIGNMENT}");
        let pending = Arc::<Mutex<Pending>>::default();
        let (reply, completions) = unbounded();
        let shared = Arc::clone(&pending);
        // The thread ends with the last sender: this disk, and the requests under way.
        let passing_on = thread::Builder::new()
            .name("ranges".into())
            .spawn(move || pass_on(&completions, &shared))
            .map_err(Operation::Start.failed_on("a thread for ranges"))?;
        let (reply, passing_on) = (Some(reply), Some(passing_on));
        Ok(RangeDisk { below, ranges, open: Mutex::default(), pending, reply, passing_on })
    }
}

impl Drop for RangeDisk {
    /// Waits for the reads that are under way.
    fn drop(&mut self) {
        drop(self.reply.take());
        let thread = self.passing_on.take().expect("it is dropped once");
        // A thread that panicked has already printed its message.
        let _ = thread.join();
    }
}

/// Passes completions on to the receivers of the original requests.
fn pass_on(completions: &Receiver<Completion>, pending: &Mutex<Pending>) {
    for completion in completions {
        let waiting = pending.lock().waiting.remove(&completion.tag);
        let Waiting { reply, tag, offset } = waiting.expect("every request was noted");
        // If the receiver is gone, the lease is dropped.
        let _ = reply.send(Completion { tag, offset, ..completion });
    }
}

/// Implements functions of a trait by passing them to the disk below.
macro_rules! pass_to_below {
    ($(fn $name:ident(&self $(, $argument:ident: $type:ty)* $(,)?) $(-> $result:ty)?;)*) => {
        $(fn $name(&self $(, $argument: $type)*) $(-> $result)? {
            self.below.$name($($argument),*)
        })*
    };
}

impl InputFiles for RangeDisk {
    fn find(&self, path: &Path) -> Result<Found, Error> {
        match self.ranges.get(path) {
            Some(range) => Ok(Found::File { bytes: range.bytes }),
            None => self.below.find(path),
        }
    }

    fn announce(&self, paths: &mut dyn Iterator<Item = &Path>) {
        let below = |path| self.ranges.get(path).map_or(path, |range| &*range.path);
        self.below.announce(&mut paths.map(below));
    }

    fn open_input(&self, path: &Path) -> Result<FileId, Error> {
        let Some(range) = self.ranges.get(path) else { return self.below.open_input(path) };
        let file = self.below.open_input(&range.path)?;
        let end = range.offset.saturating_add(range.bytes);
        match self.below.file_bytes(file) {
            Ok(bytes) if end <= bytes => {
                self.open.lock().insert(file, (range.offset, range.bytes));
                Ok(file)
            }
            found => {
                self.below.close(file);
                let short = io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    format!("a range that ends at byte {end} is wanted, and the file is shorter"),
                );
                Err(Error::at(Operation::Read, &range.path, found?, short))
            }
        }
    }

    pass_to_below! {
        fn list(
            &self,
            prefix: &Path,
            found: &mut dyn FnMut(ListedFile) -> ControlFlow<()>,
        ) -> Result<(), Error>;
        fn read_bytes(&self, file: FileId) -> u64;
        fn check_unchanged(&self, input: FileId) -> Result<(), Error>;
        fn check_all_unchanged(&self, inputs: &[FileId]) -> Result<(), Error>;
        fn is_of_one_version(&self, input: FileId) -> bool;
        fn remove_input(&self, input: FileId) -> Result<(), Error>;
    }
}

impl ScratchFiles for RangeDisk {
    pass_to_below! {
        fn create_scratch(&self, directory: &Path) -> Result<FileId, Error>;
        fn create_memory(&self) -> Result<FileId, Error>;
        fn create_persistent(&self, path: &Path) -> Result<FileId, Error>;
        fn open_persistent(&self, path: &Path) -> Result<FileId, Error>;
        fn open_or_create_persistent(&self, path: &Path) -> Result<(FileId, bool), Error>;
        fn remove_persistent(&self, file: FileId) -> Result<(), Error>;
        fn reserve(&self, file: FileId, bytes: u64) -> Result<(), Error>;
        fn discard(&self, file: FileId, offset: u64, bytes: u64) -> Result<(), Error>;
    }
}

impl OutputFiles for RangeDisk {
    pass_to_below! {
        fn create_output(&self, path: &Path) -> Result<FileId, Error>;
        fn create_persistent_output(
            &self,
            path: &Path,
            tag: &str,
        ) -> Result<(FileId, String), Error>;
        fn open_persistent_output(
            &self,
            path: &Path,
            tag: &str,
            parts: &[StoredPart],
        ) -> Result<FileId, Error>;
        fn stored_parts(&self, output: FileId, known: usize) -> Option<Vec<StoredPart>>;
        fn begins_with(&self, output: FileId, bytes: u64, crc: u32) -> Option<bool>;
        fn publish(&self, output: FileId, bytes: u64, sync: bool) -> Result<(), Error>;
        fn sync_name(&self, output: &Path) -> Result<(), Error>;
        fn open_in_place(&self, path: &Path) -> Result<FileId, Error>;
        fn set_bytes(&self, file: FileId, bytes: u64) -> Result<(), Error>;
    }
}

impl Disk for RangeDisk {
    fn submit(&self, mut request: Request) {
        let range = self.open.lock().get(&request.file).copied();
        if let Some((begin, _)) = range {
            assert_eq!(request.direction, Direction::Read, "a range is an input");
            let (offset, tag) = (request.offset, request.tag);
            let mut pending = self.pending.lock();
            let number = pending.next;
            pending.next += 1;
            request.offset += begin;
            request.tag = number;
            let own = self.reply.clone().expect("it is there until it is dropped");
            let reply = std::mem::replace(&mut request.reply, own);
            pending.waiting.insert(number, Waiting { reply, tag, offset });
        }
        self.below.submit(request);
    }

    fn file_bytes(&self, file: FileId) -> Result<u64, Error> {
        let range = self.open.lock().get(&file).copied();
        range.map_or_else(|| self.below.file_bytes(file), |(_, bytes)| Ok(bytes))
    }

    fn close(&self, file: FileId) {
        self.open.lock().remove(&file);
        self.below.close(file);
    }

    fn drive(&self, path: &Path) -> Result<Drive, Error> {
        let path = self.ranges.get(path).map_or(path, |range| &range.path);
        self.below.drive(path)
    }

    pass_to_below! {
        fn identity(&self, file: FileId) -> Result<FileIdentity, Error>;
        fn sync(&self, file: FileId) -> Result<(), Error>;
        fn path(&self, file: FileId) -> PathBuf;
        fn describe(&self) -> String;
        fn notices(&self) -> Vec<String>;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lease, SimDisk, SimOptions};

    fn disk(ranges: &[(&str, u64, u64)]) -> RangeDisk {
        let sim = SimDisk::new(SimOptions::rough(1));
        let content: Vec<u8> = (0..20_000_u32).map(|at| (at / 100) as u8).collect();
        sim.put("file", &content);
        let range = |&(name, offset, bytes): &(&str, u64, u64)| FileRange {
            name: name.into(),
            path: "file".into(),
            offset,
            bytes,
        };
        RangeDisk::new(Arc::new(sim), ranges.iter().map(range)).unwrap()
    }

    #[test]
    fn a_range_is_read_as_a_file() {
        let disk = disk(&[("a", 0, 5000), ("b", 4096, 15_904), ("none", 8192, 0)]);
        for (name, begin, length) in [("a", 0, 5000), ("b", 4096, 15_904), ("none", 8192, 0)] {
            let path = Path::new(name);
            assert_eq!(disk.find(path).unwrap(), Found::File { bytes: length });
            let file = disk.open_input(path).unwrap();
            assert_eq!(disk.file_bytes(file).unwrap(), length);
            let (reply, completions) = unbounded();
            for offset in (0..length).step_by(4096) {
                disk.submit(Request {
                    direction: Direction::Read,
                    file,
                    offset,
                    bytes: 4096,
                    bytes_needed: (length - offset).min(4096) as usize,
                    lease: Lease::map(4096).unwrap(),
                    tag: 7,
                    reply: reply.clone(),
                });
            }
            drop(reply);
            for completion in completions {
                completion.result.unwrap();
                assert_eq!(completion.tag, 7);
                let here = (length - completion.offset).min(4096);
                for at in 0..here {
                    let expected = ((begin + completion.offset + at) / 100) as u8;
                    assert_eq!(completion.lease[at as usize], expected);
                }
            }
            disk.check_unchanged(file).unwrap();
            disk.close(file);
        }
    }

    #[test]
    fn a_range_that_the_file_does_not_have_is_refused() {
        let disk = disk(&[("beyond", 16_384, 3617)]);
        let error = disk.open_input(Path::new("beyond")).unwrap_err().to_string();
        assert!(error.contains("file at byte 20000") && error.contains("20001"), "{error}");
    }
}
