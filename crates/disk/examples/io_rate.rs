//! How fast bytes travel here, and what that costs: sequential write, read, and both at once, by
//! engine, block and depth.
//!
//! `cargo run --release -p xsort-disk --example io_rate -- DIRECTORY [gib=4] [io=uring,sync]
//! [block=1M,64K] [depth=4,8,16] [rings=0] [reserve=no,yes] [rounds=1] [input=none,clean,dirty]`
//!
//! `input` adds a file that was made through the page cache, dropped from it, written back, or not
//! yet: reading it alone, and while another file is written. Every block carries its number, which
//! the reader checks; the sum of what was read is printed. GB are 10^9 bytes, CPU seconds are those
//! of the whole process, the kernel's worker threads for its rings included. Drives vary from
//! minute to minute: rounds interleave the combinations, so compare within one run.
#![allow(clippy::print_stdout)]

use crossbeam_channel::unbounded;
use rustix::fs::{Advice, fadvise};
use rustix::time::{ClockId, clock_gettime};
use std::env;
use std::error::Error;
use std::io::{Seek, Write};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::{
    BlockPool, Completion, Direction, Disk, DiskOptions, FileId, InputFiles, IoChoice, Lease,
    OsDisk, Request, ScratchFiles,
};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args().nth(1).ok_or("name a directory on the drive to be measured")?;
    let bytes = (first::<f64>("gib", 4.0)? * (1u64 << 30) as f64) as u64;
    println!(
        "{:6} {:>8} {:>5} {:>7} {:>12} {:>6} {:>8}  sum",
        "io", "block", "depth", "reserve", "what", "GB/s", "CPU s/GB"
    );
    for _ in 0..first("rounds", 1)? {
        for io in list::<IoChoice>("io", "uring,sync")? {
            for block in list::<Size>("block", "1M,64K")? {
                for depth in list::<usize>("depth", "4,8,16")? {
                    for reserve in list::<String>("reserve", "no")? {
                        let rings = first("rings", 0)?;
                        let measurement = Measurement {
                            disk: OsDisk::new(DiskOptions {
                                io,
                                depth,
                                rings,
                                ..DiskOptions::default()
                            })?,
                            directory: Path::new(&directory),
                            block_pool: touched(2 * depth, block.0)?,
                            blocks: bytes / block.0 as u64,
                            depth,
                            reserves: reserve == "yes",
                            label: format!("{io:6} {:>8} {depth:>5} {reserve:>7}", block.0),
                        };
                        measurement.scratch()?;
                        for state in
                            list::<String>("input", "")?.iter().filter(|state| !state.is_empty())
                        {
                            measurement.input(state)?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// Leases whose memory is there before the clock runs.
fn touched(count: usize, bytes: usize) -> Result<Arc<BlockPool>, Box<dyn Error>> {
    let block_pool = BlockPool::map(count, bytes)?;
    let mut leases: Vec<Lease> = std::iter::from_fn(|| block_pool.try_take()).collect();
    leases.iter_mut().for_each(|lease| lease.fill(1));
    drop(leases);
    Ok(block_pool)
}

/// One combination.
struct Measurement<'a> {
    disk: OsDisk,
    directory: &'a Path,
    /// Twice as many leases as transfers in flight on one file.
    block_pool: Arc<BlockPool>,
    blocks: u64,
    depth: usize,
    reserves: bool,
    label: String,
}

impl Measurement<'_> {
    /// A row each for writing, reading and both.
    fn scratch(&self) -> Result<(), Box<dyn Error>> {
        let file = self.disk.create_scratch(self.directory)?;
        self.row("write", &[(Direction::Write, file)], Some(file))?;
        self.row("read", &[(Direction::Read, file)], None)?;
        let other = self.disk.create_scratch(self.directory)?;
        self.row("both", &[(Direction::Read, file), (Direction::Write, other)], Some(other))?;
        self.disk.close(file);
        self.disk.close(other);
        Ok(())
    }

    /// A row for reading an input in a state, and one for that and writing another file.
    fn input(&self, state: &str) -> Result<(), Box<dyn Error>> {
        let mut named = tempfile::NamedTempFile::new_in(self.directory)?;
        let other = self.disk.create_scratch(self.directory)?;
        for is_alone in [true, false] {
            named.rewind()?;
            for block in 0..self.blocks {
                let mut bytes = vec![1; self.block_pool.block_bytes()];
                bytes[..8].copy_from_slice(&block.to_le_bytes());
                named.write_all(&bytes)?;
            }
            if state != "dirty" {
                named.as_file().sync_all()?;
            }
            if state == "none" {
                fadvise(named.as_file(), 0, None, Advice::DontNeed)?;
            }
            let file = self.disk.open_input(named.path())?;
            match is_alone {
                true => self.row(state, &[(Direction::Read, file)], None)?,
                false => self.row(
                    &format!("{state}, both"),
                    &[(Direction::Read, file), (Direction::Write, other)],
                    Some(other),
                )?,
            }
            self.disk.close(file);
        }
        self.disk.close(other);
        Ok(())
    }

    fn row(
        &self,
        what: &str,
        ways: &[(Direction, FileId)],
        new: Option<FileId>,
    ) -> Result<(), Box<dyn Error>> {
        let (since, cpu) = (Instant::now(), cpu_seconds());
        if let (true, Some(file)) = (self.reserves, new) {
            self.disk.reserve(file, self.blocks * self.block_pool.block_bytes() as u64)?;
        }
        let sum = travel(&self.disk, &self.block_pool, self.blocks, ways.len() * self.depth, ways)?;
        let gigabytes =
            (ways.len() as u64 * self.blocks * self.block_pool.block_bytes() as u64) as f64 / 1e9;
        let (rate, cost) =
            (gigabytes / since.elapsed().as_secs_f64(), (cpu_seconds() - cpu) / gigabytes);
        println!("{} {what:>12} {rate:>6.2} {cost:>8.4}  {sum}", self.label);
        Ok(())
    }
}

/// Moves `blocks` blocks of each file, `in_flight` at once, and returns the sum of the numbers
/// read.
fn travel(
    disk: &OsDisk,
    block_pool: &Arc<BlockPool>,
    blocks: u64,
    in_flight: usize,
    ways: &[(Direction, FileId)],
) -> Result<u64, Box<dyn Error>> {
    let (reply, completions) = unbounded::<Completion>();
    let bytes = block_pool.block_bytes();
    let submit = |way: usize, block: u64, mut lease: Lease| {
        let (direction, file) = ways[way];
        if direction == Direction::Write {
            lease[..8].copy_from_slice(&block.to_le_bytes());
        }
        let (offset, reply) = (block * bytes as u64, reply.clone());
        disk.submit(Request {
            direction,
            file,
            offset,
            bytes,
            bytes_needed: bytes,
            lease,
            tag: way as u64,
            reply,
        });
    };
    // Each way has its own share of what is in flight, as stages of a pipeline do.
    let mut next = vec![0; ways.len()];
    let mut under_way = 0;
    for (way, next) in next.iter_mut().enumerate() {
        while *next < blocks.min((in_flight / ways.len()) as u64) {
            submit(way, *next, block_pool.try_take().ok_or("the block_pool holds enough")?);
            *next += 1;
            under_way += 1;
        }
    }
    let mut sum = 0;
    while under_way > 0 {
        let completion = completions.recv()?;
        completion.result?;
        let way = completion.tag as usize;
        if completion.direction == Direction::Read {
            let number = u64::from_le_bytes(completion.lease[..8].try_into()?);
            assert_eq!(number, completion.offset / bytes as u64, "a block came from elsewhere");
            sum += number;
        }
        if next[way] < blocks {
            submit(way, next[way], completion.lease);
            next[way] += 1;
        } else {
            under_way -= 1;
        }
    }
    Ok(sum)
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A size in bytes, with K or M.
struct Size(usize);

impl FromStr for Size {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Size, Self::Err> {
        let digits = text.trim_end_matches(['K', 'M']);
        let unit = match text.as_bytes().last() {
            Some(b'K') => 1 << 10,
            Some(b'M') => 1 << 20,
            _ => 1,
        };
        Ok(Size(digits.parse::<usize>()? * unit))
    }
}

/// The comma-separated values of `name=...`.
fn list<T: FromStr<Err: Error + 'static>>(
    name: &str,
    default: &str,
) -> Result<Vec<T>, Box<dyn Error>> {
    let given = env::args()
        .skip(2)
        .find_map(|argument| Some(argument.strip_prefix(name)?.strip_prefix('=')?.to_owned()));
    given.as_deref().unwrap_or(default).split(',').map(|text| Ok(text.parse()?)).collect()
}

fn first<T: FromStr<Err: Error + 'static>>(name: &str, default: T) -> Result<T, Box<dyn Error>> {
    let given = env::args()
        .skip(2)
        .find_map(|argument| Some(argument.strip_prefix(name)?.strip_prefix('=')?.to_owned()));
    given.map_or(Ok(default), |text| Ok(text.parse()?))
}
