//! Generating a file of records at the speed of the drive. The memory doesn't grow with the file or
//! with the number of threads.
//!
//! ```text
//! worker: take memory --> take a block number --> generate --> checksum --> submit the write --+
//!             ^                                                                                |
//!             +---------- the memory returns to the pool when the write completes -------------+
//! ```
//!
//! The number of a block determines its bytes. So any worker can generate any block, and the file
//! is the same for any number of threads and any memory. A worker takes memory before it takes a
//! number, so the blocks in flight are always the next ones of the file, and the drive sees one
//! ascending sequence. A record that straddles two blocks is generated twice, and each block takes
//! its part: that is cheaper than any communication between workers. Its checksum is counted in the
//! block where it starts.
//!
//! The generator defines the content of records.

use crate::job::failure::STOP_INTERVAL;
use crate::job::threads::spawn_up_to;
use crate::{Error, Gauges, JobInfo, Observer};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use xsort_disk::{
    ALIGNMENT, BlockPool, Completion, Direction, Disk, DisplayPath, FileId, Lease, Request,
    align_down, align_up, is_standard_output, is_url, parent_directory,
};
use xsort_records::{Checksum, Generator};

/// Size of a block in bytes if the budget allows it. Measured with io_uring on a virtual disk: 1
/// MiB at a depth of 4-16 reaches the drive's rate. Smaller blocks cost system calls; larger ones
/// only cost memory.
const BLOCK_BYTES_MAX: usize = 1 << 20;

/// Number of blocks in flight or queued, in addition to the blocks being filled. On a drive that
/// answers in batches, 12 took a fifth to a quarter longer, 28 a tenth longer, and 124 the same
/// time (docs/experiments/2026-11-26-batches.md).
const IN_FLIGHT_BLOCKS: usize = 60;

/// Bytes that are generated and then hashed at once.
const STRIP_BYTES: usize = 16 << 10;

/// Maximum size of a file in bytes; the kernel's offsets are signed.
const FILE_BYTES_MAX: u64 = align_down(i64::MAX as u64);

const _: () = assert!(BLOCK_BYTES_MAX.is_multiple_of(ALIGNMENT));

/// The options of [`generate`].
#[derive(Clone, Debug)]
pub struct GenerateOptions {
    /// Generates the records; its specification's `total` is their number.
    pub generator: Generator,
    /// Path of the file. An existing file of this name stays until the new one is complete. May be
    /// [`STANDARD_OUTPUT`](xsort_disk::STANDARD_OUTPUT).
    pub output: PathBuf,
    /// Memory for blocks in bytes; at least the size of a record and at least 4,096.
    pub budget_bytes: u64,
    /// Number of worker threads, at least one. At most one is started for each block.
    pub threads: usize,
    /// Make the file durable before it gets its name.
    pub sync: bool,
}

/// The result of [`generate`].
#[derive(Clone, Debug)]
pub struct GenerateReport {
    /// Number of records written.
    pub records: u64,
    /// Number of bytes written.
    pub bytes: u64,
    /// Checksum of the records.
    pub checksum: Checksum,
    /// Number of worker threads used.
    pub threads: usize,
    /// Memory held for blocks, in bytes.
    pub memory_bytes: u64,
}

/// Generates and writes the file. After any error, the output path is unchanged.
///
/// # Errors
/// [`Error::Memory`] if the budget is less than a record or a page, [`Error::Space`] if the drive
/// has too little space (checked before anything is written), [`Error::Disk`] if a transfer fails,
/// [`Error::Cancelled`] if the observer cancels.
pub fn generate(
    options: &GenerateOptions,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<GenerateReport, Error> {
    let record_bytes = options.generator.record_bytes();
    let records = options.generator.spec().total;
    let bytes = records.checked_mul(record_bytes as u64).filter(|bytes| *bytes <= FILE_BYTES_MAX);
    let bytes = bytes.ok_or_else(|| {
        Error::Settings(format!(
            "{records} records of {record_bytes} bytes are more than any file can hold"
        ))
    })?;
    let is_stream = is_standard_output(&options.output);
    // A stream takes blocks in order, so only one thread generates them.
    let threads = if is_stream { 1 } else { options.threads };
    let memory = MemoryPlan::fit(options.budget_bytes, threads, record_bytes)?.for_bytes(bytes);
    let block_pool = BlockPool::new([Lease::map(memory.memory_bytes())?], memory.block_bytes);
    // This comes before the space is measured, so that the error for an unwritable directory says
    // so.
    let file = disk.create_output(&options.output)?;
    for line in disk.notices() {
        observer.notice(&line);
    }
    let frame = JobInfo {
        record_bytes: Some(record_bytes as u64),
        budget_bytes: options.budget_bytes,
        threads: memory.threads,
        chunks: None,
    };
    let gauges = Gauges::new(frame, observer.spans());
    observer.show(gauges.clone());
    observer.phase("generate", bytes);
    let generation = Generation {
        generator: &options.generator,
        bytes,
        disk,
        file,
        is_stream,
        observer,
        gauges,
        block_pool,
        next_block: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    };
    let prepared = if is_stream {
        disk.set_bytes(file, bytes).map_err(Error::from)
    } else {
        check_space(disk, &options.output, bytes).and_then(|()| Ok(disk.reserve(file, bytes)?))
    };
    let written = prepared.and_then(|()| generation.run(memory.threads));
    let checksum = match written {
        Ok(checksum) => checksum,
        Err(error) => {
            disk.close(file);
            return Err(match is_stream {
                true => Error::Streamed { cause: Box::new(error) },
                false => error,
            });
        }
    };
    disk.publish(file, bytes, options.sync)?;
    Ok(GenerateReport {
        records,
        bytes,
        checksum,
        threads: memory.threads,
        memory_bytes: memory.memory_bytes() as u64,
    })
}

/// The budget, divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MemoryPlan {
    block_bytes: usize,
    blocks: usize,
    threads: usize,
}

impl MemoryPlan {
    /// At least two blocks for each thread, as large as that allows. At most as many blocks as the
    /// drive can use.
    fn fit(budget_bytes: u64, threads: usize, record_bytes: usize) -> Result<MemoryPlan, Error> {
        let needed_bytes = record_bytes.max(ALIGNMENT) as u64;
        if budget_bytes < needed_bytes {
            return Err(Error::Memory { budget_bytes, needed_bytes });
        }
        let threads = threads.max(1);
        let budget = usize::try_from(budget_bytes).unwrap_or(usize::MAX);
        let share = budget / (2 * threads);
        let block_bytes = (share - share % ALIGNMENT).clamp(ALIGNMENT, BLOCK_BYTES_MAX);
        let blocks = (budget / block_bytes).min(threads + IN_FLIGHT_BLOCKS);
        assert!(blocks >= 1 && blocks * block_bytes <= budget);
        Ok(MemoryPlan { block_bytes, blocks, threads: threads.min(blocks) })
    }

    /// Limits blocks and threads to the work in a file of `bytes` bytes.
    fn for_bytes(self, bytes: u64) -> MemoryPlan {
        let most = bytes.div_ceil(self.block_bytes as u64).max(1);
        let blocks = usize::try_from(most).unwrap_or(usize::MAX).min(self.blocks);
        MemoryPlan { blocks, threads: self.threads.min(blocks), ..self }
    }

    fn memory_bytes(self) -> usize {
        self.block_bytes * self.blocks
    }
}

/// Refuses to start if the drive lacks space. Unlike `ENOSPC`, the error has figures. Object stores
/// don't report free space.
fn check_space(disk: &dyn Disk, output: &Path, bytes: u64) -> Result<(), Error> {
    if is_url(output) {
        return Ok(());
    }
    let drive = disk.drive(output)?;
    if drive.free_bytes >= align_up(bytes) {
        return Ok(());
    }
    Err(Error::Space {
        directory: parent_directory(output),
        purpose: format!("{} (a file it replaces stays until then)", DisplayPath(output)),
        needed_bytes: align_up(bytes),
        free_bytes: drive.free_bytes,
        way_out: "free some space, write elsewhere, or make less".into(),
    })
}

/// A file that is being generated. The workers share it.
struct Generation<'a> {
    generator: &'a Generator,
    bytes: u64,
    disk: &'a dyn Disk,
    file: FileId,
    is_stream: bool,
    observer: &'a dyn Observer,
    gauges: Gauges,
    block_pool: Arc<BlockPool>,
    next_block: AtomicU64,
    stop: AtomicBool,
}

impl Generation<'_> {
    /// Generates and writes everything. Always returns only after all writes have completed.
    fn run(&self, threads: usize) -> Result<Checksum, Error> {
        let (reply, completions) = crossbeam_channel::unbounded();
        let checksum = Mutex::new(Checksum::default());
        let panicked = OnceLock::new();
        let panic = |error| {
            let _ = panicked.set(error);
            self.give_up();
        };
        let failure = thread::scope(|scope| {
            let started = spawn_up_to(scope, threads, panic, |_| {
                let (reply, checksum) = (reply.clone(), &checksum);
                move || {
                    let part = self.work(&reply);
                    checksum.lock().merge(part);
                }
            });
            drop(reply);
            self.collect(&completions).or(started.err())
        });
        let checksum = checksum.into_inner();
        match failure.or(panicked.into_inner()) {
            Some(error) => Err(error),
            None if self.observer.is_cancelled() => Err(Error::Cancelled),
            None => Ok(checksum),
        }
    }

    /// Handles completions until the last worker and the last write are done. The first error stops
    /// the workers and is returned.
    fn collect(&self, completions: &Receiver<Completion>) -> Option<Error> {
        let mut failure = None;
        loop {
            let completion = match completions.recv_timeout(STOP_INTERVAL) {
                Ok(completion) => completion,
                Err(RecvTimeoutError::Disconnected) => return failure,
                Err(RecvTimeoutError::Timeout) => {
                    if self.observer.is_cancelled() {
                        self.give_up();
                        // The reader of a stream may never read the rest.
                        if self.is_stream {
                            return failure;
                        }
                    }
                    continue;
                }
            };
            self.gauges.traffic.finish(&completion);
            match completion.result {
                Ok(()) => {
                    let bytes = (completion.bytes as u64).min(self.bytes - completion.offset);
                    self.observer.advance(bytes);
                }
                Err(error) => {
                    failure.get_or_insert(Error::Disk(error));
                    self.give_up();
                }
            }
        }
    }

    /// Stops the workers.
    fn give_up(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.block_pool.close();
    }

    /// A worker: generates blocks until none is left. Returns the checksum of the records that
    /// start in them.
    fn work(&self, reply: &Sender<Completion>) -> Checksum {
        let block_bytes = self.block_pool.block_bytes() as u64;
        let mut straddler = vec![0; self.generator.record_bytes()];
        let mut checksum = Checksum::default();
        let Gauges { stage_times, traffic, .. } = &self.gauges;
        while let Some(mut lease) =
            stage_times.output_waits_for_write.time(|| self.block_pool.take())
        {
            let begin = self.next_block.fetch_add(1, Ordering::Relaxed).saturating_mul(block_bytes);
            if begin >= self.bytes
                || self.stop.load(Ordering::Relaxed)
                || self.observer.is_cancelled()
            {
                break;
            }
            let filled = block_bytes.min(self.bytes - begin) as usize;
            let (out, rest) = (&mut lease[..filled], (&mut straddler, &mut checksum));
            stage_times.make_busy.time(|| fill_block(self.generator, begin, out, rest.0, rest.1));
            let padded = align_up(filled as u64) as usize;
            lease[filled..padded].fill(0);
            let request = Request {
                direction: Direction::Write,
                file: self.file,
                offset: begin,
                bytes: padded,
                bytes_needed: padded,
                lease,
                tag: begin,
                reply: reply.clone(),
            };
            traffic.submit(self.disk, request);
        }
        checksum
    }
}

/// Generates the bytes of the file from `begin` on, and adds the records that start there to
/// `checksum`. `straddler` is a buffer for one record.
fn fill_block(
    generator: &Generator,
    begin: u64,
    out: &mut [u8],
    straddler: &mut [u8],
    checksum: &mut Checksum,
) {
    let record_bytes = straddler.len();
    let first = begin.div_ceil(record_bytes as u64);
    let within = (begin % record_bytes as u64) as usize;

    let head = if within == 0 { 0 } else { (record_bytes - within).min(out.len()) };
    if head > 0 {
        generator.fill(first - 1, straddler);
        out[..head].copy_from_slice(&straddler[within..within + head]);
    }
    let body = &mut out[head..];
    let (whole, tail) = body.split_at_mut(body.len() - body.len() % record_bytes);
    // Hash the records while they are in the first-level cache.
    let strip_records = (STRIP_BYTES / record_bytes).max(1);
    for (number, strip) in
        (first..).step_by(strip_records).zip(whole.chunks_mut(strip_records * record_bytes))
    {
        generator.fill(number, strip);
        checksum.add_records(strip, record_bytes);
    }
    if !tail.is_empty() {
        generator.fill(first + (whole.len() / record_bytes) as u64, straddler);
        checksum.add_records(straddler, record_bytes);
        tail.copy_from_slice(&straddler[..tail.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_holds_whatever_the_threads() {
        for threads in [0, 1, 2, 3, 7, 64, 1000] {
            for budget in [4096, 4097, 8192, 100_000, 1 << 20, 3 << 20, 1 << 30, u64::MAX] {
                let memory = MemoryPlan::fit(budget, threads, 100).unwrap();
                assert!(memory.memory_bytes() as u64 <= budget, "{memory:?} in {budget}");
                assert!(memory.threads >= 1 && memory.threads <= memory.blocks);
                assert!(memory.block_bytes.is_multiple_of(ALIGNMENT));
            }
        }
    }

    #[test]
    fn less_than_a_page_or_a_record_is_refused() {
        assert!(matches!(
            MemoryPlan::fit(4095, 1, 100),
            Err(Error::Memory { needed_bytes: 4096, .. })
        ));
        assert!(matches!(
            MemoryPlan::fit(8191, 1, 8192),
            Err(Error::Memory { needed_bytes: 8192, .. })
        ));
    }
}
