//! Measuring a drive: the speed of writing, of reading, and of both at the same time.
//!
//! A plan's expected time, and the share of the drive's speed that a job reached, need figures from
//! the same drive at about the same time: a drive's rate varies with its temperature, its cache and
//! other load. So this transfers data as the pipelines do: direct, sequential, 1 MiB at a time, 16
//! in flight, in a nameless scratch file.
//!
//! This is not a benchmark of drives. The file has at most 512 MiB and is read and written
//! repeatedly, so a cache inside the device (or below a virtual one) makes reads look faster. The
//! result is the speed that a sort can expect, not the speed that the flash sustains for an hour.

use crate::Error;
use crate::job::units::Rate;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xsort_disk::{ALIGNMENT, BlockPool, Direction, Disk, FileId, Lease, Request, align_down};

/// Size of a transfer in bytes, as in the pipelines.
const BLOCK_BYTES_MAX: u64 = 1 << 20;

/// Transfers in flight.
const DEPTH_MAX: u64 = 16;

/// Maximum size of the scratch file in bytes.
const FILE_BYTES_MAX: u64 = 512 << 20;

/// The scratch file takes at most one in `FREE_SHARE` free bytes.
const FREE_SHARE: u64 = 8;

/// The rates of a drive in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct DriveRates {
    /// Reading alone.
    pub read_bytes_per_second: f64,
    /// Writing alone.
    pub write_bytes_per_second: f64,
    /// The read rate while reading and writing at once.
    pub mixed_read_bytes_per_second: f64,
    /// The write rate while reading and writing at once.
    pub mixed_write_bytes_per_second: f64,
}

impl fmt::Display for DriveRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "reads {}, writes {}, both at once {} + {}",
            Rate(self.read_bytes_per_second),
            Rate(self.write_bytes_per_second),
            Rate(self.mixed_read_bytes_per_second),
            Rate(self.mixed_write_bytes_per_second),
        )
    }
}

/// Measures the drive that holds `directory`: writing, then reading, then both, for about `time`
/// each, with at most `budget_bytes` of memory. The scratch file is always removed.
///
/// # Errors
/// [`Error::Memory`] if the budget is less than a page, [`Error::Space`] if less than 32 KiB are
/// free, [`Error::Disk`] if the directory can't be written or a transfer fails.
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
    let probe_file = ProbeFile {
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
        .and_then(|()| measure(probe_file, &block_pool));
    disk.close(file);
    rates
}

/// Size of the scratch file in bytes: whole blocks, and at most 1/[`FREE_SHARE`] of the free space.
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

fn measure(
    mut probe_file: ProbeFile<'_>,
    block_pool: &Arc<BlockPool>,
) -> Result<DriveRates, Error> {
    // Writing comes first because reserved blocks that were never written read as zeros without
    // touching the drive. On a slow drive only the beginning of the file gets written in time; the
    // rest is not used.
    let writing = probe_file.run(block_pool, |_| Direction::Write)?;
    probe_file.blocks = probe_file.blocks.min(writing.write_bytes / probe_file.block_bytes);
    let reading = probe_file.run(block_pool, |_| Direction::Read)?;
    // Reads and writes are half a file apart and never touch the same place.
    probe_file.write_lead_blocks = probe_file.blocks / 2;
    let mixed = probe_file.run(block_pool, |n| {
        if n.is_multiple_of(2) { Direction::Read } else { Direction::Write }
    })?;
    Ok(DriveRates {
        read_bytes_per_second: reading.read_bytes as f64 / reading.seconds,
        write_bytes_per_second: writing.write_bytes as f64 / writing.seconds,
        mixed_read_bytes_per_second: mixed.read_bytes as f64 / mixed.seconds,
        mixed_write_bytes_per_second: mixed.write_bytes as f64 / mixed.seconds,
    })
}

/// Bytes and seconds of one measurement.
#[derive(Clone, Copy, Debug, Default)]
struct Measurement {
    read_bytes: u64,
    write_bytes: u64,
    seconds: f64,
}

/// The scratch file, and the duration of each measurement.
struct ProbeFile<'a> {
    disk: &'a dyn Disk,
    file: FileId,
    blocks: u64,
    block_bytes: u64,
    /// Distance in blocks by which writes are ahead of reads.
    write_lead_blocks: u64,
    time: Duration,
}

impl ProbeFile<'_> {
    /// Reads or writes the file in a circle until the time is over, with at least two transfers.
    /// `direction` returns the direction of transfer `n`.
    fn run(
        &self,
        block_pool: &Arc<BlockPool>,
        direction: impl Fn(u64) -> Direction,
    ) -> Result<Measurement, Error> {
        let (reply, completions) = crossbeam_channel::unbounded();
        let begin = Instant::now();
        let mut measured = Measurement::default();
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
                (Ok(()), Direction::Read) => measured.read_bytes += self.block_bytes,
                (Ok(()), Direction::Write) => measured.write_bytes += self.block_bytes,
            }
        }
        measured.seconds = begin.elapsed().as_secs_f64().max(1e-9);
        failure.map_or(Ok(measured), |error| Err(error.into()))
    }
}
