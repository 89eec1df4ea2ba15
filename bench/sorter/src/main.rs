//! Sorts records beyond memory by xsort's `Sorter` and by the external sorts that Rust programs use
//! otherwise, and compares what comes out.
//! usage: rounds [RECORDS [MEBIBYTES [ROUNDS]]]
//!
//! Each sort is a process of its own, in turns, so that each has its own peak of memory. Every one
//! makes the records, pushes them, and hashes what comes out. xsort's budget is a limit of bytes;
//! the others count records, and get as many as fit in so many bytes by the size of their items.

use std::cmp::Ordering;
use std::error::Error;
use std::io::{self, Read, Write};
use std::process::Command;
use std::time::Instant;
use std::{env, fs};

const RECORD_BYTES: usize = 60;
const THREADS: usize = 2;
const RIVALS: [&str; 3] = ["xsort", "extsort", "ext-sort"];

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Record = [u8; RECORD_BYTES];

/// SplitMix64.
fn random(number: u64) -> u64 {
    let word = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn records(count: u64) -> impl Iterator<Item = (u64, Record)> + Send {
    (0..count).map(|number| {
        let mut record = [0; RECORD_BYTES];
        for (piece, bytes) in record.chunks_mut(8).enumerate() {
            let word = random(number * 8 + piece as u64 + (1 << 40)).to_le_bytes();
            bytes.copy_from_slice(&word[..bytes.len()]);
        }
        (random(number), record)
    })
}

/// A sum that depends on the order.
#[derive(Default)]
struct Sum(u64);

impl Sum {
    fn add(&mut self, key: u64, record: &[u8]) {
        let mut sum = self.0 ^ key;
        for piece in record.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            sum =
                (sum.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
        self.0 = sum;
    }
}

fn sort_by_xsort(count: u64, budget_bytes: u64) -> Result<u64> {
    let scratch = tempfile::tempdir_in(".")?;
    let sorter = xsort::Sorter::new().memory(budget_bytes).threads(THREADS);
    let mut sorting = sorter.scratch([scratch.path()]).start()?;
    for (key, record) in records(count) {
        sorting.push(key.to_be_bytes(), record)?;
    }
    let (mut sorted, mut sum) = (sorting.finish()?, Sum::default());
    while let Some((key, record)) = sorted.next()? {
        sum.add(u64::from_be_bytes(key.try_into()?), record);
    }
    eprintln!("{:?}", sorted.report());
    Ok(sum.0)
}

/// An item as `extsort` has it, which compares by its key.
struct Item(u64, Record);

impl extsort::Sortable for Item {
    fn encode<W: Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(&self.0.to_le_bytes())?;
        writer.write_all(&self.1)
    }

    fn decode<R: Read>(reader: &mut R) -> io::Result<Item> {
        let (mut key, mut record) = ([0; 8], [0; RECORD_BYTES]);
        reader.read_exact(&mut key)?;
        reader.read_exact(&mut record)?;
        Ok(Item(u64::from_le_bytes(key), record))
    }
}

fn sort_by_extsort(count: u64, budget_bytes: u64) -> Result<u64> {
    let scratch = tempfile::tempdir_in(".")?;
    let sorter = extsort::ExternalSorter::new()
        .with_segment_size(budget_bytes as usize / size_of::<Item>())
        .with_sort_dir(scratch.path().to_owned())
        .with_parallel_sort();
    let items = records(count).map(|(key, record)| Item(key, record));
    let mut sum = Sum::default();
    for item in sorter.sort_by(items, |a, b| a.0.cmp(&b.0))? {
        let Item(key, record) = item?;
        sum.add(key, &record);
    }
    Ok(sum.0)
}

/// An item as `ext-sort` has it.
#[derive(serde::Serialize, serde::Deserialize)]
struct SerdeItem(u64, #[serde(with = "serde_bytes")] Vec<u8>);

/// Bytes of an item with what its allocation takes.
const SERDE_ITEM_BYTES: usize = size_of::<SerdeItem>() + (RECORD_BYTES + 8).next_multiple_of(16);

fn sort_by_ext_sort(count: u64, budget_bytes: u64) -> Result<u64> {
    let scratch = tempfile::tempdir_in(".")?;
    let items_max = budget_bytes as usize / SERDE_ITEM_BYTES;
    let sorter: ext_sort::ExternalSorter<SerdeItem, io::Error, ext_sort::LimitedBufferBuilder> =
        ext_sort::ExternalSorterBuilder::new()
            .with_threads_number(THREADS)
            .with_tmp_dir(scratch.path())
            .with_buffer(ext_sort::LimitedBufferBuilder::new(items_max, true))
            .build()?;
    let items = records(count).map(|(key, record)| Ok(SerdeItem(key, record.to_vec())));
    let by_key = |a: &SerdeItem, b: &SerdeItem| -> Ordering { a.0.cmp(&b.0) };
    let mut sum = Sum::default();
    for item in sorter.sort_by(items, by_key)? {
        let SerdeItem(key, record) = item?;
        sum.add(key, &record);
    }
    Ok(sum.0)
}

fn peak_mebibytes() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
}

/// Sorts in this process, and prints what the parent reads.
fn sort_once(rival: &str, count: u64, budget_bytes: u64) -> Result<()> {
    let begun = Instant::now();
    let sum = match rival {
        "xsort" => sort_by_xsort(count, budget_bytes)?,
        "extsort" => sort_by_extsort(count, budget_bytes)?,
        _ => sort_by_ext_sort(count, budget_bytes)?,
    };
    println!("{} {} {sum:016x}", begun.elapsed().as_secs_f64(), peak_mebibytes()?);
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let mut next = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (count, mebibytes, rounds) = (next(5_000_000)?, next(64)?, next(5)?);
    if let Ok(rival) = env::var("SORTER_RIVAL") {
        return sort_once(&rival, count, mebibytes << 20);
    }
    let mut results = vec![Vec::new(); RIVALS.len()];
    let mut sums = Vec::new();
    for _ in 0..rounds {
        for (rival, results) in RIVALS.iter().zip(&mut results) {
            let program = Command::new(env::current_exe()?)
                .args([count.to_string(), mebibytes.to_string()])
                .env("SORTER_RIVAL", rival)
                .output()?;
            let text = String::from_utf8(program.stdout)?;
            let words: Vec<&str> = text.split_whitespace().collect();
            let [seconds, peak, sum] = words[..] else {
                return Err(format!("{rival} failed").into());
            };
            results.push((seconds.parse::<f64>()?, peak.parse::<u64>()?));
            sums.push(sum.to_owned());
        }
    }
    assert!(sums.iter().all(|sum| *sum == sums[0]), "they differ: {sums:?}");
    println!("{count} records of {RECORD_BYTES} bytes, {mebibytes} MiB, checksum {}", sums[0]);
    for (rival, mut results) in RIVALS.iter().zip(results) {
        results.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (seconds, peak) = results[results.len() / 2];
        println!("{rival:<10} {seconds:8.2} s  peak {peak:5} MiB");
    }
    Ok(())
}
