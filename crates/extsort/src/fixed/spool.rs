//! What comes from a stream, kept until it is sorted: a stream can't be read by ranges, and its
//! size, from which all is planned, isn't known before its end.
//!
//! It is kept in a nameless file in memory as long as everything can be sorted in memory, and moved
//! to a nameless file in scratch, whole, once it is more than that: then it is written and read
//! once more than a file would be. The first pass gives the file's space back as it reads
//! (`filler.rs`), so that areas take over the memory, and runs the scratch. Every block is sealed
//! on its way in, and the seals are checked as chunks are read (`SortJob::checksum_of`).

use super::options::SortOptions;
use super::plan::{BLOCK_BYTES_MAX, PAGE};
use super::spool_seals::{DamagedBlock, Seals};
use crate::job::failure::STOP_INTERVAL;
use crate::store::content::check_content;
use crate::store::open_files::OpenFiles;
use crate::store::reserve::{ReservedSpace, is_full};
use crate::{Error, Observer};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use serde::Serialize;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;
use xsort_disk::{Completion, Direction, Disk, FileId, Lease, Request, align_down, align_up};

/// Blocks on their way to the file: 8 MiB keep a drive busy.
const BLOCKS: u64 = 8;
/// Space on a drive is given back in stretches of so many bytes; see [`Disk::discard`].
const GIVE_BACK_BYTES: u64 = 64 << 20;
/// What is named in messages where there is no directory.
const MEMORY: &str = "(memory)";

/// An input that is read from a stream.
pub struct Stream {
    /// Which of [`SortOptions::inputs`]; the path that stands there is only its name.
    pub input: usize,
    /// Where it comes from. A read that waits should look now and then whether the job was
    /// cancelled, and fail if so.
    pub read: Box<dyn Read + Send>,
}

/// How a stream was kept.
#[derive(Clone, Debug, Serialize)]
pub struct SpoolReport {
    /// Its length in bytes.
    pub bytes: u64,
    /// The scratch directory that it was written to; none if it stayed in memory.
    #[serde(serialize_with = "lossy_path")]
    pub directory: Option<PathBuf>,
    /// Seconds until its end, before the sort's own.
    pub seconds: f64,
}

fn lossy_path<S: serde::Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

/// A stream that has come to its end.
pub(crate) struct Spool {
    /// The file, which is not closed by this.
    pub(crate) file: FileId,
    /// Which of the inputs it is.
    pub(crate) input: usize,
    /// Of its blocks.
    pub(crate) seals: Seals,
    pub(crate) report: SpoolReport,
}

impl Spool {
    /// What to say of a block that came back other than it was kept.
    pub(crate) fn corrupt(&self, disk: &dyn Disk, damaged: &DamagedBlock) -> Error {
        let DamagedBlock { offset, bytes, written, read } = damaged;
        let what = format!(
            "{bytes} bytes of what came from a stream were kept with checksum {written:08x} \
             and read with {read:08x}"
        );
        Error::corrupt(disk, self.file, *offset, what)
    }

    /// How many bytes of it to give back at a time. Memory has no transfers that wait for it.
    pub(crate) fn give_back_bytes(&self) -> u64 {
        if self.report.directory.is_some() { GIVE_BACK_BYTES } else { 1 }
    }

    /// Bytes of scratch that are free again when it has been read, less what is always held up.
    pub(crate) fn returned_bytes(&self) -> u64 {
        self.report.bytes.saturating_sub(2 * GIVE_BACK_BYTES)
    }
}

/// Reads the stream to its end; up to `memory_bytes` stay in memory.
pub(crate) fn spool<'a>(
    stream: Stream,
    memory_bytes: u64,
    options: &SortOptions,
    directories: &[PathBuf],
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
) -> Result<(Spool, OpenFiles<'a>), Error> {
    let begun_at = Instant::now();
    let Stream { input, mut read } = stream;
    let name = &options.inputs[input];
    observer.phase("spool", 0);
    let block_bytes = align_down(options.budget_bytes / BLOCKS).clamp(PAGE, BLOCK_BYTES_MAX);
    let mut spooler = Spooler::new(disk, observer, directories, block_bytes)?;
    let mut seals = Seals::new(block_bytes);
    let mut bytes = 0;
    loop {
        let mut block = spooler.take()?;
        let filled = fill(&mut *read, &mut block, name, observer)?;
        if options.format_is_assumed && bytes == 0 {
            check_content(name, &block[..filled], filled < block.len())?;
        }
        if spooler.directory.is_none() && bytes + filled as u64 > memory_bytes {
            spooler.move_to_scratch(bytes)?;
        }
        let is_end = filled < block.len();
        if filled > 0 {
            seals.push(&block[..filled]);
            block[filled..].fill(0);
            spooler.write(block, bytes)?;
        }
        bytes += filled as u64;
        if is_end {
            break;
        }
    }
    while spooler.in_flight > 0 {
        spooler.wait()?;
    }
    // What was reserved and not needed is the runs' again.
    disk.set_bytes(spooler.file, align_up(bytes))?;
    let record_bytes = options.layout.record_bytes() as u64;
    let left_over = bytes % record_bytes;
    if left_over > 0 {
        return Err(Error::Input {
            path: name.clone(),
            reason: format!(
                "its {bytes} bytes are no multiple of the record's {record_bytes}: \
                 {left_over} bytes are left over; \
                 is the format right (-f, --record), and did who wrote them come to the end?"
            ),
        });
    }
    let Spooler { file, guard, directory, .. } = spooler;
    let report = SpoolReport { bytes, directory, seconds: begun_at.elapsed().as_secs_f64() };
    Ok((Spool { file, input, seals, report }, guard))
}

/// Reads until the block is full or the stream at its end; returns how many bytes came.
fn fill(
    read: &mut dyn Read,
    block: &mut [u8],
    name: &Path,
    observer: &dyn Observer,
) -> Result<usize, Error> {
    let mut filled = 0;
    while filled < block.len() {
        let result = read.read(&mut block[filled..]);
        if observer.is_cancelled() {
            return Err(Error::Cancelled);
        }
        match result {
            Ok(0) => break,
            Ok(bytes) => {
                filled += bytes;
                observer.advance(bytes as u64);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(Error::Input {
                    path: name.to_owned(),
                    reason: format!("reading failed: {error}"),
                });
            }
        }
    }
    Ok(filled)
}

/// Writes blocks, one behind the other, several at a time.
struct Spooler<'a> {
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
    directories: Vec<PathBuf>,
    /// Where it is; in memory if nowhere.
    directory: Option<PathBuf>,
    file: FileId,
    guard: OpenFiles<'a>,
    reserved: ReservedSpace,
    free: Vec<Lease>,
    in_flight: usize,
    reply: Sender<Completion>,
    completions: Receiver<Completion>,
}

impl<'a> Spooler<'a> {
    fn new(
        disk: &'a dyn Disk,
        observer: &'a dyn Observer,
        directories: &[PathBuf],
        block_bytes: u64,
    ) -> Result<Self, Error> {
        let mut pool = Lease::map((BLOCKS * block_bytes) as usize)?;
        let free = (0..BLOCKS).map(|_| pool.split_off_front(block_bytes as usize)).collect();
        // Where the system has no files in memory, scratch is as good.
        let (file, directory) = match disk.create_memory() {
            Ok(file) => (file, None),
            Err(_) => {
                let directory = roomiest(disk, directories)?;
                (disk.create_scratch(&directory)?, Some(directory))
            }
        };
        let (reply, completions) = unbounded();
        Ok(Spooler {
            disk,
            observer,
            directories: directories.to_vec(),
            directory,
            file,
            guard: OpenFiles::one(disk, file),
            reserved: ReservedSpace::up_to(0),
            free,
            in_flight: 0,
            reply,
            completions,
        })
    }

    /// Takes in the end of a transfer.
    fn wait(&mut self) -> Result<(), Error> {
        let completion = self.receive()?;
        self.free.push(completion.lease);
        match completion.result {
            Err(error) if is_full(&error) => Err(self.full(completion.bytes as u64)),
            result => Ok(result?),
        }
    }

    fn receive(&mut self) -> Result<Completion, Error> {
        loop {
            if self.observer.is_cancelled() {
                return Err(Error::Cancelled);
            }
            match self.completions.recv_timeout(STOP_INTERVAL) {
                Ok(completion) => {
                    self.in_flight -= 1;
                    return Ok(completion);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("this holds the sending side"),
            }
        }
    }

    /// A free block.
    fn take(&mut self) -> Result<Lease, Error> {
        loop {
            if let Some(block) = self.free.pop() {
                return Ok(block);
            }
            self.wait()?;
        }
    }

    fn submit(&mut self, direction: Direction, file: FileId, block: Lease, offset: u64) {
        self.in_flight += 1;
        self.disk.submit(Request {
            direction,
            file,
            offset,
            bytes: block.len(),
            bytes_needed: block.len(),
            lease: block,
            tag: 0,
            reply: self.reply.clone(),
        });
    }

    fn write(&mut self, block: Lease, offset: u64) -> Result<(), Error> {
        let end = offset + block.len() as u64;
        if self.directory.is_some() {
            match self.reserved.extend_to(end, u64::MAX, self.disk, self.file) {
                Err(error) if is_full(&error) => return Err(self.full(block.len() as u64)),
                reserved => reserved?,
            }
        }
        self.submit(Direction::Write, self.file, block, offset);
        Ok(())
    }

    /// Goes on in scratch, with what is in memory at its beginning.
    fn move_to_scratch(&mut self, bytes: u64) -> Result<(), Error> {
        while self.in_flight > 0 {
            self.wait()?;
        }
        let directory = roomiest(self.disk, &self.directories)?;
        let memory = self.file;
        self.file = self.disk.create_scratch(&directory)?;
        self.directory = Some(directory);
        let _memory = std::mem::replace(&mut self.guard, OpenFiles::one(self.disk, self.file));
        let mut offset = 0;
        while offset < bytes {
            let block = self.take()?;
            while self.in_flight > 0 {
                self.wait()?;
            }
            let length = block.len() as u64;
            self.submit(Direction::Read, memory, block, offset);
            let Completion { lease, result, .. } = self.receive()?;
            result?;
            self.disk.discard(memory, offset, length)?;
            self.write(lease, offset)?;
            offset += length;
        }
        Ok(())
    }

    fn full(&self, needed_bytes: u64) -> Error {
        Error::Space {
            directory: self.directory.clone().unwrap_or_else(|| MEMORY.into()),
            purpose: "what comes from a stream, which is more than can be sorted in memory \
                 and kept here first"
                .into(),
            needed_bytes,
            free_bytes: 0,
            way_out: "free some, name a directory on a larger drive with -T, \
                      or sort from a file"
                .into(),
        }
    }
}

/// The directory with the most free space.
fn roomiest(disk: &dyn Disk, directories: &[PathBuf]) -> Result<PathBuf, Error> {
    let mut best: Option<(u64, &PathBuf)> = None;
    for directory in directories {
        let free_bytes = disk.drive(directory)?.free_bytes;
        if best.is_none_or(|(most, _)| free_bytes > most) {
            best = Some((free_bytes, directory));
        }
    }
    Ok(best.expect("there is a scratch directory").1.clone())
}
