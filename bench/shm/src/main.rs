//! Tables of what readers and the writer pay when they are processes of their own: median, p99,
//! p99.9 and maximum for 1, 2 and 4 readers, ours of one owner, ours, and mmap-sync's. Every
//! version read is checked; a torn one ends the program.
//!
//! `tables crowd` is about many readers only, `tables changes` about reads after a change. `tables
//! [SECONDS]` starts itself again as readers (`reader KIND PREFIX`), which read at full speed until
//! their standard input ends.
#![allow(unsafe_code, reason = "mmap-sync reads are unsafe")]

use mmap_sync::synchronizer::Synchronizer;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xsort_shm::{LocalReader, Reader, ReaderOptions, Writer, Xxh3};

/// 64 bytes as both archive them: seven words that are alike, and what `rkyv` says of them.
type Value = [u64; 8];

/// Reads timed together, because the clock costs more than a read.
const BATCH: u32 = 256;

/// Write periods of the rhythm at which an operator's data changes.
const PERIOD: Duration = Duration::from_millis(1);

/// How long mmap-sync's writer waits for readers: longer than the program runs, so that it tears
/// nothing for want of patience.
const GRACE: Duration = Duration::from_secs(60);

const KINDS: [&str; 3] = ["xsort-shm, local", "xsort-shm", "mmap-sync"];

enum Writing {
    Ours(Box<Writer>),
    Rival(Synchronizer),
}

impl Writing {
    fn open(kind: &str, prefix: &Path) -> Writing {
        match kind {
            "mmap-sync" => Writing::Rival(Synchronizer::new(prefix.as_os_str())),
            _ => Writing::Ours(Box::new(Writer::open(prefix).unwrap())),
        }
    }

    fn write(&mut self, number: u64) {
        let value: Value = [number; 8];
        match self {
            Writing::Ours(writer) => {
                writer
                    .write_with(64, |bytes| {
                        bytes
                            .chunks_exact_mut(8)
                            .for_each(|word| word.copy_from_slice(&number.to_le_bytes()));
                    })
                    .unwrap();
            }
            Writing::Rival(writer) => {
                let bytes = value.map(u64::to_le_bytes);
                writer.write_raw::<Value>(bytes.as_flattened(), GRACE).unwrap();
            }
        }
    }
}

/// A way to read; each is compiled into a loop of its own, so that none pays for the others.
trait Reading {
    fn open(prefix: &Path) -> Self;

    /// The first word, and whether the version is another than the last.
    fn read(&mut self) -> (u64, bool);

    /// Whether the version is whole.
    fn is_whole(&mut self) -> bool;
}

fn first(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

fn is_alike(bytes: &[u8]) -> bool {
    bytes.len() == 64 && bytes.chunks_exact(8).all(|word| first(word) == first(bytes))
}

impl Reading for Reader {
    fn open(prefix: &Path) -> Reader {
        Reader::open(prefix).unwrap()
    }

    #[inline]
    fn read(&mut self) -> (u64, bool) {
        let version = Reader::read(self).unwrap();
        (first(&version), version.is_new())
    }

    fn is_whole(&mut self) -> bool {
        is_alike(&Reader::read(self).unwrap())
    }
}

impl Reading for LocalReader {
    fn open(prefix: &Path) -> LocalReader {
        LocalReader::open(prefix).unwrap()
    }

    #[inline]
    fn read(&mut self) -> (u64, bool) {
        let version = LocalReader::read(self).unwrap();
        (first(&version), version.is_new())
    }

    fn is_whole(&mut self) -> bool {
        is_alike(&LocalReader::read(self).unwrap())
    }
}

impl Reading for Synchronizer {
    fn open(prefix: &Path) -> Synchronizer {
        Synchronizer::new(prefix.as_os_str())
    }

    #[inline]
    fn read(&mut self) -> (u64, bool) {
        // SAFETY: the writer's grace period is longer than the program runs; what else mmap-sync
        // does to readers is its subject.
        let value = unsafe { Synchronizer::read::<Value>(self, false) }.unwrap();
        (value[0], value.is_switched())
    }

    fn is_whole(&mut self) -> bool {
        // SAFETY: as in `read`.
        let value = unsafe { Synchronizer::read::<Value>(self, false) }.unwrap();
        value.iter().all(|word| *word == value[0])
    }
}

/// Times in nanoseconds, to be sorted.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    /// Median, p99, p99.9, maximum, and the number, as the columns of a table.
    fn columns(&mut self) -> String {
        self.0.sort_by(f64::total_cmp);
        let at = |share: f64| {
            self.0
                .get(((self.0.len() as f64 * share) as usize).min(self.0.len().saturating_sub(1)))
                .copied()
        };
        let columns = [0.5, 0.99, 0.999, 1.0]
            .map(|share| at(share).map_or("-".into(), |time| format!("{time:.2}")));
        format!("{} | {}", columns.join(" | "), self.0.len())
    }
}

/// A reader process: says "ready", reads until its input ends, then says what reads cost (in
/// batches), and what the first read after a change cost (each by itself).
fn read<R: Reading>(prefix: &Path) {
    let mut reading = R::open(prefix);
    reading.read();
    println!("ready");
    let is_over = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let (mut all, mut changed, mut torn) = (Times::default(), Times::default(), 0u64);
    while !is_over.is_finished() {
        let started = Instant::now();
        for _ in 0..BATCH {
            black_box(reading.read().0);
        }
        all.0.push(started.elapsed().as_nanos() as f64 / f64::from(BATCH));
        for _ in 0..BATCH {
            let started = Instant::now();
            let (_, is_new) = black_box(reading.read());
            let time = started.elapsed();
            if is_new {
                changed.0.push(time.as_nanos() as f64);
            }
        }
        torn += u64::from(!reading.is_whole());
        if all.0.len() > 1 << 22 {
            all.0.clear();
        }
    }
    println!("{}\n{}\n{torn}", all.columns(), changed.columns());
}

fn readers(kind: &str, prefix: &Path, count: usize) -> Vec<Child> {
    let program = std::env::current_exe().unwrap();
    let start = |_| {
        let mut command = Command::new(&program);
        command.args(["reader", kind]).arg(prefix).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    (0..count).map(start).collect()
}

/// One table's rows: a writer in this process, `count` readers in others.
fn row(kind: &str, count: usize, period: Option<Duration>, seconds: f64) {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let prefix = folder.path().join("p");
    let mut writing = Writing::open(kind, &prefix);
    writing.write(1);
    let mut children = readers(kind, &prefix, count);
    let mut outputs: Vec<_> = children
        .iter_mut()
        .map(|child| BufReader::new(child.stdout.take().unwrap()).lines())
        .collect();
    for output in &mut outputs {
        assert_eq!(output.next().unwrap().unwrap(), "ready");
    }
    let (started, mut times, mut number) = (Instant::now(), Times::default(), 1);
    match period {
        Some(period) => {
            while started.elapsed().as_secs_f64() < seconds {
                number += 1;
                let before = Instant::now();
                writing.write(number);
                times.0.push(before.elapsed().as_nanos() as f64);
                std::thread::sleep(period.saturating_sub(before.elapsed()));
            }
        }
        None => std::thread::sleep(Duration::from_secs_f64(seconds)),
    }
    children.iter_mut().for_each(|child| drop(child.stdin.take()));
    let what = if period.is_some() { "1 kHz" } else { "none" };
    for (number, output) in outputs.iter_mut().enumerate() {
        let mut next = || output.next().unwrap().unwrap();
        let (all, changed, torn) = (next(), next(), next());
        println!("| {kind} | {count} | {what} | reader {}: a read | {all} |", number + 1);
        if period.is_some() {
            println!(
                "| {kind} | {count} | {what} | reader {}: the first after a change* | {changed} |",
                number + 1
            );
        }
        assert!(torn == "0" || kind == "mmap-sync", "torn reads");
    }
    if period.is_some() {
        println!("| {kind} | {count} | {what} | writer: a write* | {} |", times.columns());
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}

/// A version of a gibibyte: written in place, read by another process, and both again when the
/// memory is there.
fn gibibyte() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let prefix = folder.path().join("p");
    let mut writer = Writer::open(&prefix).unwrap();
    println!("\n| 1 GiB | write, s | read and check, s | read again, ns |\n|---|--:|--:|--:|");
    let reader = {
        writer.write(b"first").unwrap();
        Reader::open(&prefix).unwrap()
    };
    for round in 1..=4u8 {
        let started = Instant::now();
        writer.write_with(1 << 30, |bytes| bytes.fill(round)).unwrap();
        let written = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let version = reader.read().unwrap();
        let read = started.elapsed().as_secs_f64();
        assert!(version.len() == 1 << 30 && version[0] == round && version[(1 << 30) - 1] == round);
        let started = Instant::now();
        black_box(reader.read().unwrap()[0]);
        println!(
            "| version {round} | {written:.3} | {read:.3} | {} |",
            started.elapsed().as_nanos()
        );
    }
}

/// The least time of `step` over many short batches, in nanoseconds: what it costs when nobody
/// interrupts it.
fn least(mut step: impl FnMut()) -> f64 {
    const STEPS: u32 = 100;
    let batch = |_| {
        let started = Instant::now();
        (0..STEPS).for_each(|_| step());
        started.elapsed().as_nanos() as f64 / f64::from(STEPS)
    };
    (0..20_000).map(batch).fold(f64::INFINITY, f64::min)
}

/// A write and the read after it, less the write: the read of a version that has changed, on one
/// core.
fn changes() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let prefix = folder.path().join("p");
    println!("\n| a read after a change, one thread, 64 bytes | ns |\n|---|--:|");
    let row = |what: &str, write: f64, both: f64| println!("| {what} | {:.1} |", both - write);
    let mut number = 1;
    for kind in ["xsort-shm", "mmap-sync"] {
        let prefix = prefix.with_extension(kind);
        let mut writing = Writing::open(kind, &prefix);
        let mut write = move || {
            number += 1;
            writing.write(number);
        };
        write();
        let alone = least(&mut write);
        if kind == "mmap-sync" {
            let mut reader = <Synchronizer as Reading>::open(&prefix);
            let both = least(|| {
                write();
                black_box(Reading::read(&mut reader));
            });
            row("mmap-sync, unchecked", alone, both);
            continue;
        }
        let mut options = ReaderOptions::default();
        options.verify = false;
        let mut unchecked = LocalReader::<Xxh3>::with_options(&prefix, options).unwrap();
        Reading::read(&mut unchecked);
        let watched = least(&mut write);
        println!(
            "| (a write with a reader's slot to look at, beyond one without) | {:.1} |",
            watched - alone
        );
        let both = least(|| {
            write();
            black_box(Reading::read(&mut unchecked));
        });
        row("xsort-shm, local, unchecked", alone, both);
        let mut local = <LocalReader as Reading>::open(&prefix);
        drop(unchecked);
        let both = least(|| {
            write();
            black_box(Reading::read(&mut local));
        });
        row("xsort-shm, local", alone, both);
        let mut reader = <Reader as Reading>::open(&prefix);
        drop(local);
        let both = least(|| {
            write();
            black_box(Reading::read(&mut reader));
        });
        row("xsort-shm", alone, both);
        println!("| (a write: {alone:.1}) | |");
    }
}

/// What many readers cost: to attach them, a write while they are there and afterwards, one more
/// slot, and the first read of a few bytes in a large buffer.
fn crowd() {
    const READERS: usize = 1024;
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let prefix = folder.path().join("p");
    let mut writer = Writer::open(&prefix).unwrap();
    let mut written = |what: &str| {
        let started = Instant::now();
        for _ in 0..100_000 {
            writer.write(&[7; 64]).unwrap();
        }
        println!("| a write, {what} | {} ns |", started.elapsed().as_nanos() / 100_000);
    };
    println!("\n| many readers | |\n|---|--:|");
    written("nobody there yet");
    let started = Instant::now();
    let mut readers: Vec<_> = (1..READERS).map(|_| Reader::open(&prefix).unwrap()).collect();
    println!("| attaching 1,023 | {:.1} ms |", started.elapsed().as_secs_f64() * 1e3);
    written("1,023 there");
    let held = readers[0].read().unwrap();
    written("one of them holds a version");
    let started = Instant::now();
    black_box(readers[0].read().unwrap()[0]);
    println!("| that one's next read | {:.1} us |", started.elapsed().as_secs_f64() * 1e6);
    drop(held);
    readers.clear();
    written("all gone");
    writer.write(&vec![1; 256 << 20]).unwrap();
    writer.write(&vec![1; 256 << 20]).unwrap();
    writer.write(&[7; 4]).unwrap();
    let reader = Reader::open(&prefix).unwrap();
    let started = Instant::now();
    black_box(reader.read().unwrap()[0]);
    println!(
        "| first read of 4 bytes in a buffer of 256 MiB | {:.1} us |",
        started.elapsed().as_secs_f64() * 1e6
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, kind, prefix] = &arguments[..] {
        assert_eq!(role, "reader");
        let prefix = Path::new(prefix);
        return match kind.as_str() {
            "xsort-shm, local" => read::<LocalReader>(prefix),
            "xsort-shm" => read::<Reader>(prefix),
            _ => read::<Synchronizer>(prefix),
        };
    }
    if arguments == ["changes"] {
        return changes();
    }
    if arguments == ["crowd"] {
        return crowd();
    }
    let seconds = arguments.first().map_or(2.0, |text| text.parse().expect("tables [SECONDS]"));
    let mut clock =
        Times((0..100_000).map(|_| Instant::now().elapsed().as_nanos() as f64).collect());
    println!(
        "Nanoseconds. Starred: each timed by itself, with the clock's cost, which is (median, \
            p99, p99.9, maximum) {}.\n",
        clock.columns()
    );
    println!(
        "| | readers | writes | what | median | p99 | p99.9 | maximum | times \
            |\n|---|--:|---|---|--:|--:|--:|--:|--:|"
    );
    for count in [1, 2, 4] {
        for kind in KINDS {
            row(kind, count, None, seconds);
        }
    }
    for count in [1, 2, 4] {
        for kind in KINDS {
            row(kind, count, Some(PERIOD), seconds);
        }
    }
    changes();
    gibibyte();
    crowd();
}
