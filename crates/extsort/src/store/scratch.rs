//! Scratch space on several drives. Each block goes to the drive that is expected to finish its
//! write first.
//!
//! The rate of each drive is measured while the sort runs: bytes completed, divided by the time
//! with a transfer in flight. So a drive that is twice as fast gets twice as many blocks, and a
//! drive that throttles gets fewer from then on. The files have no names, so their space is freed
//! however the process ends. Only a sort that can be resumed has named scratch files.
//!
//! Scratch can also be in the output's own file, which the output then overwrites block by block.
//! Each block is placed near the position that the caller names ([`Scratch::allocate_behind`]).

use crate::Error;
use crate::job::gauges::ScratchUse;
use crate::store::places::Places;
use crate::store::reserve::{ReservedSpace, is_full};
use crossbeam_channel::Sender;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use xsort_disk::{ALIGNMENT, Completion, Direction, Disk, DisplayPath, FileId, Lease, Request};

/// The address of a block on scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockAddress {
    /// Index of the scratch directory.
    pub(crate) drive: u16,
    /// Offset in the drive's file, in bytes.
    pub(crate) offset: u64,
}

impl BlockAddress {
    /// The address of a block that is not on scratch: it stays in memory, or is in an input.
    pub(crate) const NOT_ON_SCRATCH: BlockAddress = BlockAddress { drive: u16::MAX, offset: 0 };
}

/// Returns the tag of a write: its unit of work (a chunk, segment or load), and its drive.
pub(crate) fn write_tag(unit: usize, drive: u16) -> u64 {
    (unit as u64) << 16 | u64::from(drive)
}

/// Returns the unit of work in a write's tag.
pub(crate) fn unit_of(tag: u64) -> usize {
    (tag >> 16) as usize
}

/// The scratch files of one sort.
pub(crate) struct Scratch<'a> {
    disk: &'a dyn Disk,
    drives: Vec<Mutex<ScratchDrive>>,
    directories: Vec<PathBuf>,
    files: Vec<FileId>,
    /// The free places in the output's file, if scratch is there.
    places: Option<Mutex<Places>>,
    /// Bytes that all drives together are expected to hold, or [`Scratch::UNKNOWN_BYTES`]. This
    /// limits the space reserved in advance.
    expected_bytes: u64,
    in_use: Arc<ScratchUse>,
    /// True while the files may hold blocks of an earlier process that this one doesn't need.
    is_inherited: AtomicBool,
    reclaiming: Mutex<()>,
}

struct ScratchDrive {
    /// Size of the file, in bytes, when the earlier process ended.
    inherited_bytes: u64,
    /// Ranges (offset, bytes) that an earlier process has written and this one needs. Used until
    /// the space between them is freed.
    claimed: Vec<(u64, u64)>,
    /// Where the next block goes.
    end: u64,
    reserved: ReservedSpace,
    is_full: bool,
    in_flight_bytes: u64,
    done_bytes: u64,
    busy: Duration,
    busy_since: Option<Instant>,
}

impl ScratchDrive {
    /// A drive whose file has `inherited_bytes` bytes.
    fn new(inherited_bytes: u64) -> ScratchDrive {
        ScratchDrive {
            inherited_bytes,
            claimed: Vec::new(),
            end: 0,
            reserved: ReservedSpace::up_to(inherited_bytes),
            is_full: false,
            in_flight_bytes: 0,
            done_bytes: 0,
            busy: Duration::ZERO,
            busy_since: None,
        }
    }

    /// Counts a write that is about to start.
    fn begin_write(&mut self, bytes: u64) {
        if self.in_flight_bytes == 0 {
            self.busy_since = Some(Instant::now());
        }
        self.in_flight_bytes += bytes;
    }

    /// Expected seconds until `bytes` more bytes are written here.
    fn expected_seconds(&self, bytes: u64) -> f64 {
        let busy = self.busy + self.busy_since.map_or(Duration::ZERO, |since| since.elapsed());
        // Until there is a measurement, all drives get the same rate, which no drive exceeds.
        let rate = if self.done_bytes < 16 << 20 {
            1e11
        } else {
            self.done_bytes as f64 / busy.as_secs_f64().max(1e-9)
        };
        (self.in_flight_bytes + bytes) as f64 / rate
    }
}

impl<'a> Scratch<'a> {
    /// The expected bytes if the input's size is unknown.
    pub(crate) const UNKNOWN_BYTES: u64 = u64::MAX;

    /// Creates one nameless file in each directory. `in_use` counts their bytes.
    pub(crate) fn create(
        disk: &'a dyn Disk,
        directories: &[PathBuf],
        expected_bytes: u64,
        in_use: Arc<ScratchUse>,
    ) -> Result<Self, Error> {
        let mut files = Vec::new();
        for directory in directories {
            match disk.create_scratch(directory) {
                Ok(file) => files.push(file),
                Err(error) => {
                    files.into_iter().for_each(|file| disk.close(file));
                    return Err(error.into());
                }
            }
        }
        Scratch::of(disk, files, directories, expected_bytes, in_use)
    }

    /// Takes over open files, one for each directory. Only their [claimed](Scratch::claim) blocks
    /// are in use.
    pub(crate) fn of(
        disk: &'a dyn Disk,
        files: Vec<FileId>,
        directories: &[PathBuf],
        expected_bytes: u64,
        in_use: Arc<ScratchUse>,
    ) -> Result<Self, Error> {
        let mut scratch = Scratch {
            disk,
            drives: Vec::new(),
            directories: directories.to_vec(),
            files,
            places: None,
            expected_bytes,
            in_use,
            is_inherited: AtomicBool::new(false),
            reclaiming: Mutex::new(()),
        };
        scratch.in_use.start(directories);
        for &file in &scratch.files {
            let bytes = disk.file_bytes(file)?;
            *scratch.is_inherited.get_mut() |= bytes > 0;
            scratch.drives.push(Mutex::new(ScratchDrive::new(bytes)));
        }
        Ok(scratch)
    }

    /// Scratch in the output's file, of which `file_bytes` bytes are reserved, for blocks of up to
    /// `block_bytes` bytes. The caller closes the file.
    pub(crate) fn in_output(
        disk: &'a dyn Disk,
        output: FileId,
        directory: PathBuf,
        (file_bytes, block_bytes): (u64, u64),
        in_use: Arc<ScratchUse>,
    ) -> Self {
        let directories = vec![directory];
        in_use.start(&directories);
        let mut drive = ScratchDrive::new(0);
        // A block without a place goes after all places.
        drive.end = file_bytes;
        drive.reserved = ReservedSpace::up_to(file_bytes);
        Scratch {
            disk,
            drives: vec![Mutex::new(drive)],
            directories,
            files: vec![output],
            places: Some(Mutex::new(Places::new(file_bytes, block_bytes))),
            // Bins may have to be split, after all places.
            expected_bytes: 2 * file_bytes,
            in_use,
            is_inherited: AtomicBool::new(false),
            reclaiming: Mutex::new(()),
        }
    }

    /// True if the blocks are in the output's file.
    pub(crate) fn is_in_output(&self) -> bool {
        self.places.is_some()
    }

    /// Finds space for a block. In the output's file this is the first free place at or after
    /// `offset`, if there is one. Otherwise calls [`Scratch::allocate`].
    pub(crate) fn allocate_behind(&self, offset: u64, bytes: u64) -> Result<BlockAddress, Error> {
        let place = self.places.as_ref().and_then(|places| places.lock().take(offset));
        let Some(offset) = place else { return self.allocate(bytes) };
        self.drives[0].lock().begin_write(bytes);
        self.in_use.add(0, bytes);
        Ok(BlockAddress { drive: 0, offset })
    }

    /// Finds space for a block of `bytes` bytes (a multiple of the alignment). The caller writes
    /// the block there, and passes the completion to [`Scratch::written`].
    pub(crate) fn allocate(&self, bytes: u64) -> Result<BlockAddress, Error> {
        self.reclaim()?;
        while let Some(drive) = self.fastest_drive(bytes) {
            if let Some(address) = self.allocate_on(drive, bytes)? {
                return Ok(address);
            }
        }
        let shown = self.directories.iter().map(|directory| DisplayPath(directory).to_string());
        let shown = shown.collect::<Vec<_>>().join(", ");
        let used_bytes: u64 = self.drives.iter().map(|drive| drive.lock().end).sum();
        let file = if self.is_in_output() { "the output's file in " } else { "" };
        let expected_bytes = self.expected_bytes;
        let is_expected = expected_bytes != Scratch::UNKNOWN_BYTES && expected_bytes > used_bytes;
        Err(Error::ScratchFull {
            directory: self.directories[0].clone(),
            place: format!("{file}{shown}"),
            used_bytes,
            expected_bytes: is_expected.then_some(expected_bytes),
        })
    }

    /// The drive that is expected to write `bytes` more bytes first; `None` if all are full.
    fn fastest_drive(&self, bytes: u64) -> Option<usize> {
        let expected = |drive: usize| {
            let state = self.drives[drive].lock();
            (!state.is_full).then(|| (drive, state.expected_seconds(bytes)))
        };
        let expected = (0..self.drives.len()).filter_map(expected);
        expected.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(drive, _)| drive)
    }

    /// Finds space on this drive; `None` if it is full.
    fn allocate_on(&self, drive: usize, bytes: u64) -> Result<Option<BlockAddress>, Error> {
        let mut state = self.drives[drive].lock();
        let end = state.end + bytes;
        let expected_end = self.expected_bytes / self.drives.len() as u64;
        match state.reserved.extend_to(end, expected_end, self.disk, self.files[drive]) {
            Ok(()) => {}
            Err(error) if is_full(&error) => {
                state.is_full = true;
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        }
        let address = BlockAddress { drive: drive as u16, offset: state.end };
        state.end = end;
        state.begin_write(bytes);
        self.in_use.add(drive, bytes);
        Ok(Some(address))
    }

    /// Keeps a block that an earlier process has written. All claims must come before the first
    /// [`Scratch::allocate`] and [`Scratch::reclaim`].
    ///
    /// # Errors
    /// A message, if the file has no such block.
    pub(crate) fn claim(&self, address: BlockAddress, bytes: u64) -> Result<(), String> {
        let (drive, offset) = (usize::from(address.drive), address.offset);
        let state = self.drives.get(drive);
        let state = state.ok_or_else(|| format!("there is no scratch directory {drive}"))?;
        let mut state = state.lock();
        let end = offset.checked_add(bytes).filter(|&end| end <= state.inherited_bytes);
        let end = end.filter(|_| bytes > 0 && offset.is_multiple_of(ALIGNMENT as u64));
        let Some(end) = end else {
            let path = DisplayPath(&self.directories[drive]);
            return Err(format!("the scratch in {path} has no block of {bytes} bytes at {offset}"));
        };
        state.claimed.push((offset, bytes));
        state.end = state.end.max(end);
        self.in_use.add(drive, bytes);
        Ok(())
    }

    /// Frees the space that an earlier process has written and this one has not claimed: the blocks
    /// of unfinished steps.
    pub(crate) fn reclaim(&self) -> Result<(), Error> {
        if !self.is_inherited.load(Ordering::Acquire) {
            return Ok(());
        }
        // Other threads wait here until the space is freed.
        let _guard = self.reclaiming.lock();
        if !self.is_inherited.load(Ordering::Acquire) {
            return Ok(());
        }
        for (drive, &file) in self.drives.iter().zip(&self.files) {
            let mut state = drive.lock();
            let mut claimed = std::mem::take(&mut state.claimed);
            claimed.sort_unstable();
            let mut from = 0;
            for (offset, bytes) in claimed {
                if offset > from {
                    self.disk.discard(file, from, offset - from)?;
                }
                from = from.max(offset + bytes);
            }
            self.disk.set_bytes(file, state.end)?;
            state.reserved = ReservedSpace::up_to(state.end);
        }
        self.is_inherited.store(false, Ordering::Release);
        Ok(())
    }

    /// A request that reads a block into `lease`.
    pub(crate) fn read(
        &self,
        address: BlockAddress,
        bytes: usize,
        lease: Lease,
        tag: u64,
        reply: &Sender<Completion>,
    ) -> Request {
        Request {
            direction: Direction::Read,
            file: self.file(address.drive),
            offset: address.offset,
            bytes,
            bytes_needed: bytes,
            lease,
            tag,
            reply: reply.clone(),
        }
    }

    /// A request that writes a block for a unit of work. The caller passes its completion to
    /// [`Scratch::written`].
    pub(crate) fn write(
        &self,
        address: BlockAddress,
        bytes: usize,
        lease: Lease,
        unit: usize,
        reply: &Sender<Completion>,
    ) -> Request {
        let tag = write_tag(unit, address.drive);
        Request { direction: Direction::Write, ..self.read(address, bytes, lease, tag, reply) }
    }

    /// Counts a completed write.
    pub(crate) fn written(&self, completion: &Completion) {
        let drive = (completion.tag & 0xffff) as usize;
        let mut state = self.drives[drive].lock();
        state.in_flight_bytes -= completion.bytes as u64;
        state.done_bytes += completion.bytes as u64;
        if state.in_flight_bytes == 0
            && let Some(since) = state.busy_since.take()
        {
            state.busy += since.elapsed();
        }
    }

    /// The files of all scratch directories.
    pub(crate) fn files(&self) -> &[FileId] {
        &self.files
    }

    /// The file of a scratch directory.
    pub(crate) fn file(&self, drive: u16) -> FileId {
        self.files[drive as usize]
    }

    /// Frees the space of blocks, as far as the file system can. Does nothing if scratch is in the
    /// output's file. Neighbouring blocks are freed together: punching a hole of 1 MiB costs almost
    /// as much as one of 64 MiB.
    pub(crate) fn discard(
        &self,
        blocks: impl Iterator<Item = (BlockAddress, u64)>,
    ) -> Result<(), Error> {
        if self.is_in_output() {
            return Ok(());
        }
        let mut blocks: Vec<(BlockAddress, u64)> = blocks.collect();
        blocks.sort_unstable_by_key(|(address, _)| (address.drive, address.offset));
        let are_neighbours = |a: &(BlockAddress, u64), b: &(BlockAddress, u64)| {
            a.0.drive == b.0.drive && a.0.offset + a.1 == b.0.offset
        };
        for neighbours in blocks.chunk_by(are_neighbours) {
            let bytes = neighbours.iter().map(|(_, bytes)| bytes).sum();
            let BlockAddress { drive, offset } = neighbours[0].0;
            self.disk.discard(self.file(drive), offset, bytes)?;
            self.in_use.subtract(usize::from(drive), bytes);
        }
        Ok(())
    }

    /// Bytes allocated on each drive so far.
    pub(crate) fn allocated_bytes(&self) -> Vec<(PathBuf, u64)> {
        let placed = self.places.as_ref().map(|places| places.lock());
        let placed = placed.map_or((0, 0), |places| (places.file_bytes(), places.taken_bytes()));
        let allocated = self.drives.iter().map(|drive| drive.lock().end - placed.0 + placed.1);
        self.directories.iter().cloned().zip(allocated).collect()
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if self.is_in_output() {
            return;
        }
        for &file in &self.files {
            self.disk.close(file);
        }
    }
}
