//! Writing a stream to a file whose place isn't known in advance: first in memory, then in scratch.

use crate::job::failure::STOP_INTERVAL;
use crate::store::open_files::OpenFiles;
use crate::store::reserve::{ReservedSpace, is_full};
use crate::{Error, Observer};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use std::path::PathBuf;
use xsort_disk::{Completion, Direction, Disk, FileId, Lease, Request};

/// Number of blocks in flight: 8 MiB keep a drive busy.
pub(super) const BLOCKS: u64 = 8;
/// The name of memory in messages, in place of a directory.
const MEMORY: &str = "(memory)";

/// Writes consecutive blocks to the spool's file, several at a time.
pub(super) struct Spooler<'a> {
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
    directories: Vec<PathBuf>,
    /// The scratch directory of the file; `None` if it is in memory.
    pub(super) directory: Option<PathBuf>,
    pub(super) file: FileId,
    pub(super) guard: OpenFiles<'a>,
    reserved: ReservedSpace,
    free: Vec<Lease>,
    in_flight: usize,
    reply: Sender<Completion>,
    completions: Receiver<Completion>,
}

impl<'a> Spooler<'a> {
    /// An empty spool, in memory if the system has files there.
    pub(super) fn new(
        disk: &'a dyn Disk,
        observer: &'a dyn Observer,
        directories: &[PathBuf],
        block_bytes: u64,
    ) -> Result<Self, Error> {
        let mut pool = Lease::map((BLOCKS * block_bytes) as usize)?;
        let free = (0..BLOCKS).map(|_| pool.split_off_front(block_bytes as usize)).collect();
        // If the system has no files in memory, use scratch.
        let (file, directory) = match disk.create_memory() {
            Ok(file) => (file, None),
            Err(_) => {
                let directory = directory_with_most_space(disk, directories)?;
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

    /// Waits until all blocks are written.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        while self.in_flight > 0 {
            self.wait()?;
        }
        Ok(())
    }

    /// Waits for a write to complete.
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

    /// Takes a free block.
    pub(super) fn take(&mut self) -> Result<Lease, Error> {
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

    /// Starts the write of a block.
    pub(super) fn write(&mut self, block: Lease, offset: u64) -> Result<(), Error> {
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

    /// Moves the file's `bytes` bytes from memory to a file in scratch.
    pub(super) fn move_to_scratch(&mut self, bytes: u64) -> Result<(), Error> {
        self.flush()?;
        let directory = directory_with_most_space(self.disk, &self.directories)?;
        let memory = self.file;
        self.file = self.disk.create_scratch(&directory)?;
        self.directory = Some(directory);
        let _memory = std::mem::replace(&mut self.guard, OpenFiles::one(self.disk, self.file));
        let mut offset = 0;
        while offset < bytes {
            let block = self.take()?;
            self.flush()?;
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
fn directory_with_most_space(disk: &dyn Disk, directories: &[PathBuf]) -> Result<PathBuf, Error> {
    let mut best: Option<(u64, &PathBuf)> = None;
    for directory in directories {
        let free_bytes = disk.drive(directory)?.free_bytes;
        if best.is_none_or(|(most, _)| free_bytes > most) {
            best = Some((free_bytes, directory));
        }
    }
    Ok(best.expect("there is a scratch directory").1.clone())
}
