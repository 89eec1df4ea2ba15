//! Scratch space on several drives: every block goes to the drive that will be done with it first.
//!
//! Each drive's rate is measured while the sort runs (bytes completed over time with something in
//! flight), so that a drive that is twice as fast gets twice the blocks, and one that throttles
//! gets fewer from then on. Files have no names, so that their space is free again whatever happens
//! to the process; but for those of a sort that can be resumed.

use crate::Error;
use crate::job::gauges::ScratchUse;
use crossbeam_channel::Sender;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use xsort_disk::{Completion, Direction, Disk, DisplayPath, FileId, Lease, Request};

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Index of the scratch directory.
    pub(crate) drive: u16,
    /// Offset in its file, in bytes.
    pub(crate) offset: u64,
}

/// The place of a block that is in memory.
pub(crate) const NOWHERE: Place = Place { drive: u16::MAX, offset: 0 };

/// The tag of a write for a part of the job.
pub(crate) fn tag(part: usize, drive: u16) -> u64 {
    (part as u64) << 16 | u64::from(drive)
}

/// The part that a write was for.
pub(crate) fn part_of(tag: u64) -> usize {
    (tag >> 16) as usize
}

/// Space is reserved in steps of this many bytes, so that a full drive is noticed before a write
/// fails, and files are laid out in long extents.
const RESERVE_BYTES: u64 = 256 << 20;

/// The scratch files of one sort.
pub(crate) struct Scratch<'a> {
    disk: &'a dyn Disk,
    drives: Vec<Mutex<Drive>>,
    directories: Vec<PathBuf>,
    files: Vec<FileId>,
    /// Bytes that all drives together are expected to hold at most: no more is reserved in advance.
    expected_bytes: u64,
    in_use: Arc<ScratchUse>,
    /// There may be something in the files that nobody needs.
    is_inherited: AtomicBool,
    reclaiming: Mutex<()>,
}

struct Drive {
    /// What an earlier process has written and this one needs, until the space between is given
    /// back.
    claimed: Vec<(u64, u64)>,
    end: u64,
    reserved: u64,
    /// Bytes to reserve at a time: less once so much isn't free any more, since tmpfs finds that
    /// out page by page.
    reserve_step: u64,
    full: bool,
    in_flight_bytes: u64,
    done_bytes: u64,
    busy: Duration,
    busy_since: Option<Instant>,
}

impl Drive {
    /// Expected seconds until `bytes` more bytes are done here.
    fn expected_seconds(&self, bytes: u64) -> f64 {
        let busy = self.busy + self.busy_since.map_or(Duration::ZERO, |since| since.elapsed());
        // Until something has been measured all drives count as equal, at a rate that no drive
        // exceeds.
        let rate = if self.done_bytes < 16 << 20 {
            1e11
        } else {
            self.done_bytes as f64 / busy.as_secs_f64().max(1e-9)
        };
        (self.in_flight_bytes + bytes) as f64 / rate
    }
}

impl<'a> Scratch<'a> {
    /// Creates one nameless file in each directory, and says in `in_use` how much is in them.
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

    /// Takes over open files, one for each directory. What is in them is in use as far as it is
    /// [claimed](Scratch::claim).
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
            expected_bytes,
            in_use,
            is_inherited: AtomicBool::new(false),
            reclaiming: Mutex::new(()),
        };
        scratch.in_use.begin(directories);
        for &file in &scratch.files {
            let reserved = disk.file_bytes(file)?;
            *scratch.is_inherited.get_mut() |= reserved > 0;
            scratch.drives.push(Mutex::new(Drive {
                claimed: Vec::new(),
                end: 0,
                reserved,
                reserve_step: RESERVE_BYTES,
                full: false,
                in_flight_bytes: 0,
                done_bytes: 0,
                busy: Duration::ZERO,
                busy_since: None,
            }));
        }
        Ok(scratch)
    }

    fn lock(&self, drive: usize) -> MutexGuard<'_, Drive> {
        self.drives[drive].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds a place for `bytes` bytes (a multiple of the alignment) that are about to be written.
    /// The caller writes them, and calls [`Scratch::written`] with the completion.
    pub(crate) fn place(&self, bytes: u64) -> Result<Place, Error> {
        self.reclaim()?;
        loop {
            let expected = |drive: usize| {
                let state = self.lock(drive);
                (!state.full).then(|| (drive, state.expected_seconds(bytes)))
            };
            let best =
                (0..self.drives.len()).filter_map(expected).min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((drive, _)) = best else {
                let shown =
                    self.directories.iter().map(|directory| DisplayPath(directory).to_string());
                return Err(Error::Space {
                    directory: self.directories[0].clone(),
                    purpose: format!("scratch in {}", shown.collect::<Vec<_>>().join(", ")),
                    needed_bytes: bytes,
                    free_bytes: 0,
                    way_out: "free some, or add a directory on another drive with -T".into(),
                });
            };
            let mut state = self.lock(drive);
            let end = state.end + bytes;
            if end > state.reserved {
                let share = self.expected_bytes / self.drives.len() as u64;
                let step = state
                    .reserve_step
                    .min(share.saturating_sub(state.reserved))
                    .max(end - state.reserved);
                let reserved = xsort_disk::align_up(state.reserved + step);
                let is_full = |error: &xsort_disk::Error| {
                    matches!(error.source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
                };
                let reserve = |bytes| self.disk.reserve(self.files[drive], bytes).map(|()| bytes);
                // The last step may be shorter.
                let reserved = match reserve(reserved) {
                    Err(error) if is_full(&error) && end < reserved => {
                        state.reserve_step /= 2;
                        reserve(end)
                    }
                    tried => tried,
                };
                let reserved = match reserved {
                    Ok(reserved) => reserved,
                    Err(error) if is_full(&error) => {
                        state.full = true;
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                state.reserved = reserved;
            }
            let place = Place { drive: drive as u16, offset: state.end };
            state.end = end;
            if state.in_flight_bytes == 0 {
                state.busy_since = Some(Instant::now());
            }
            state.in_flight_bytes += bytes;
            self.in_use.add(drive, bytes);
            return Ok(place);
        }
    }

    /// What is at this place stays: an earlier process has written it. All claims come before the
    /// first [`Scratch::place`] and [`Scratch::reclaim`].
    pub(crate) fn claim(&self, place: Place, bytes: u64) {
        let mut state = self.lock(usize::from(place.drive));
        state.claimed.push((place.offset, bytes));
        state.end = state.end.max(place.offset + bytes);
        self.in_use.add(usize::from(place.drive), bytes);
    }

    /// Gives back what an earlier process has written and nobody has claimed: the beginnings of
    /// what it didn't finish.
    pub(crate) fn reclaim(&self) -> Result<(), Error> {
        if !self.is_inherited.load(Ordering::Acquire) {
            return Ok(());
        }
        // Others wait until it is done.
        let _one = self.reclaiming.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_inherited.load(Ordering::Acquire) {
            return Ok(());
        }
        for (drive, &file) in self.files.iter().enumerate() {
            let mut state = self.lock(drive);
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
            state.reserved = state.end;
        }
        self.is_inherited.store(false, Ordering::Release);
        Ok(())
    }

    /// The write of a lease to its place, for a part of the job; its completion goes to
    /// [`Scratch::written`].
    pub(crate) fn write(
        &self,
        place: Place,
        bytes: usize,
        lease: Lease,
        part: usize,
        reply: &Sender<Completion>,
    ) -> Request {
        Request {
            direction: Direction::Write,
            file: self.file(place.drive),
            offset: place.offset,
            bytes,
            bytes_needed: bytes,
            lease,
            tag: tag(part, place.drive),
            reply: reply.clone(),
        }
    }

    /// Takes note of a finished write.
    pub(crate) fn written(&self, completion: &Completion) {
        let mut state = self.lock((completion.tag & 0xffff) as usize);
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

    /// Gives the space of blocks back, as far as the file system can. Neighbours are given back
    /// together: a hole of 1 MiB costs almost as much as one of 64 MiB.
    pub(crate) fn discard(&self, blocks: impl Iterator<Item = (Place, u64)>) -> Result<(), Error> {
        let mut blocks: Vec<(Place, u64)> = blocks.collect();
        blocks.sort_unstable_by_key(|(place, _)| (place.drive, place.offset));
        let are_neighbours = |a: &(Place, u64), b: &(Place, u64)| {
            a.0.drive == b.0.drive && a.0.offset + a.1 == b.0.offset
        };
        for stretch in blocks.chunk_by(are_neighbours) {
            let bytes = stretch.iter().map(|(_, bytes)| bytes).sum();
            let Place { drive, offset } = stretch[0].0;
            self.disk.discard(self.file(drive), offset, bytes)?;
            self.in_use.subtract(usize::from(drive), bytes);
        }
        Ok(())
    }

    /// Bytes placed on each drive so far.
    pub(crate) fn placed_bytes(&self) -> Vec<(PathBuf, u64)> {
        let placed = (0..self.drives.len()).map(|drive| self.lock(drive).end);
        self.directories.iter().cloned().zip(placed).collect()
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        for &file in &self.files {
            self.disk.close(file);
        }
    }
}
