//! Measuring a drive: how fast it writes, how fast it reads, and how fast it does both at once.
//!
//! A plan's expected time, and the share of the drive's speed that a job reached, need figures from
//! the same drive in the same minutes: the rate of one drive swings with its heat, its cache and
//! its neighbours. So this measures what the pipelines do: direct, sequential, 1 MiB at a time, 16
//! in flight, over a nameless scratch file that is gone afterwards.
//!
//! It is no benchmark of drives. The file is at most 512 MiB and is passed over again and again, so
//! that a cache inside the device (or below a virtual one) flatters the reads; it says what the
//! sort can hope for, not what the flash can hold for an hour.

use crate::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xsort_disk::{ALIGNMENT, BlockPool, Direction, Disk, FileId, Lease, Request, align_down};

/// Size in bytes of a transfer; that of the pipelines.
const BLOCK_BYTES_MAX: u64 = 1 << 20;

/// Transfers in flight.
const DEPTH_MAX: u64 = 16;

/// Largest scratch file in bytes.
const FILE_BYTES_MAX: u64 = 512 << 20;

/// The scratch file takes at most one in so many of the free bytes.
const FREE_SHARE: u64 = 8;

/// What a drive does, in bytes a second.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct DriveRates {
    /// Reading alone.
    pub read_bytes_per_second: f64,
    /// Writing alone.
    pub write_bytes_per_second: f64,
    /// The reading half of reading and writing at once.
    pub mixed_read_bytes_per_second: f64,
    /// The writing half of reading and writing at once.
    pub mixed_write_bytes_per_second: f64,
}

/// Measures the drive that holds `directory`: writes, then reads, then does both, for about `time`
/// each, with at most `budget_bytes` of memory.
///
/// # Errors
/// [`Error::Memory`] below a page of budget, [`Error::Space`] if there are no 32 KiB free,
/// [`Error::Disk`] if the directory can't be written or a transfer fails. The scratch file is gone
/// in any case.
pub fn probe(
    disk: &dyn Disk,
    directory: &Path,
    budget_bytes: u64,
    time: Duration,
) -> Result<DriveRates, Error> {
    if budget_bytes < ALIGNMENT as u64 {
        return Err(Error::Memory { budget_bytes, needed_bytes: ALIGNMENT as u64 });
    }
    let block_bytes = align_down(budget_bytes / DEPTH_MAX).clamp(ALIGNMENT as u64, BLOCK_BYTES_MAX);
    let depth = (budget_bytes / block_bytes).min(DEPTH_MAX);
    let file_bytes = file_bytes(disk, directory, block_bytes)?;

    let memory = Lease::map((depth * block_bytes) as usize)?;
    let block_pool = BlockPool::new([memory], block_bytes as usize);
    let file = disk.create_scratch(directory)?;
    let track = Track {
        disk,
        file,
        blocks: file_bytes / block_bytes,
        block_bytes,
        write_lead_blocks: 0,
        time,
    };
    let rates = disk
        .reserve(file, file_bytes)
        .map_err(Error::from)
        .and_then(|()| measure(track, &block_pool));
    disk.close(file);
    rates
}

/// Size of the scratch file: whole blocks, and little beside the free space.
fn file_bytes(disk: &dyn Disk, directory: &Path, block_bytes: u64) -> Result<u64, Error> {
    let free_bytes = disk.drive(directory)?.free_bytes;
    let bytes = (free_bytes / FREE_SHARE).min(FILE_BYTES_MAX) / block_bytes * block_bytes;
    if bytes == 0 {
        return Err(Error::Space {
            directory: directory.to_path_buf(),
            purpose: "measuring the drive".into(),
            needed_bytes: block_bytes * FREE_SHARE,
            free_bytes,
            way_out: "free some space, or name another scratch directory with -T".into(),
        });
    }
    Ok(bytes)
}

fn measure(mut track: Track<'_>, block_pool: &Arc<BlockPool>) -> Result<DriveRates, Error> {
    // Writing comes first because blocks that were only reserved read as zeros without touching the
    // drive. On a slow drive only the beginning of the file gets written in the time; the rest is
    // not used.
    let writing = track.run(block_pool, |_| Direction::Write)?;
    track.blocks = track.blocks.min(writing.write_bytes / track.block_bytes);
    let reading = track.run(block_pool, |_| Direction::Read)?;
    // The two ends of a pipeline never touch the same place.
    track.write_lead_blocks = track.blocks / 2;
    let mixed = track.run(block_pool, |n| {
        if n.is_multiple_of(2) { Direction::Read } else { Direction::Write }
    })?;
    Ok(DriveRates {
        read_bytes_per_second: reading.read_bytes as f64 / reading.seconds,
        write_bytes_per_second: writing.write_bytes as f64 / writing.seconds,
        mixed_read_bytes_per_second: mixed.read_bytes as f64 / mixed.seconds,
        mixed_write_bytes_per_second: mixed.write_bytes as f64 / mixed.seconds,
    })
}

/// What was moved in one go, and in which time.
#[derive(Clone, Copy, Debug, Default)]
struct Lap {
    read_bytes: u64,
    write_bytes: u64,
    seconds: f64,
}

/// The scratch file and how long to go round it.
struct Track<'a> {
    disk: &'a dyn Disk,
    file: FileId,
    blocks: u64,
    block_bytes: u64,
    /// How far writes are ahead of reads.
    write_lead_blocks: u64,
    time: Duration,
}

impl Track<'_> {
    /// Goes round the file until the time is over, for two transfers at least. Transfer `n` goes
    /// the way that `direction` says.
    fn run(
        &self,
        block_pool: &Arc<BlockPool>,
        direction: impl Fn(u64) -> Direction,
    ) -> Result<Lap, Error> {
        let (reply, completions) = crossbeam_channel::unbounded();
        let begin = Instant::now();
        let mut lap = Lap::default();
        let (mut submitted, mut in_flight) = (0u64, 0u64);
        let mut failure = None;
        loop {
            let more = failure.is_none() && (submitted < 2 || begin.elapsed() < self.time);
            if let Some(lease) = more.then(|| block_pool.try_take()).flatten() {
                let direction = direction(submitted);
                let lead_blocks =
                    if direction == Direction::Write { self.write_lead_blocks } else { 0 };
                self.disk.submit(Request {
                    direction,
                    file: self.file,
                    offset: (submitted + lead_blocks) % self.blocks * self.block_bytes,
                    bytes: self.block_bytes as usize,
                    bytes_needed: self.block_bytes as usize,
                    lease,
                    tag: submitted,
                    reply: reply.clone(),
                });
                submitted += 1;
                in_flight += 1;
                continue;
            }
            if in_flight == 0 {
                break;
            }
            let completion = completions.recv().expect("the sender is in this function");
            in_flight -= 1;
            match (completion.result, completion.direction) {
                (Err(error), _) => failure = failure.or(Some(error)),
                (Ok(()), Direction::Read) => lap.read_bytes += self.block_bytes,
                (Ok(()), Direction::Write) => lap.write_bytes += self.block_bytes,
            }
        }
        lap.seconds = begin.elapsed().as_secs_f64().max(1e-9);
        failure.map_or(Ok(lap), |error| Err(error.into()))
    }
}
