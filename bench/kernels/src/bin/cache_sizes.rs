//! What pieces made for the caches bring: xsort's sort, told of caches of many sizes, by one thread
//! and by two at once.
//!
//! `cargo run --release --bin cache_sizes -- [ROUNDS [RECORDS]]` prints two tables for the given
//! number of records. All sizes take turns in each round. Ten-byte keys, uniform, in records of 16
//! and of 100 bytes; Two threads need 250 bytes a record.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use xsort_kernels::{Caches, sort};
use xsort_records::{Format, GenerateSpec, Generator, Pattern, PlainKey};

const KEY: PlainKey = PlainKey::new(0, 10);
const KIB: usize = 1 << 10;
/// One size for both levels, as if there were one cache.
const SIZES: [usize; 9] =
    [16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 512 * KIB, 2 << 20, 8 << 20, 64 << 20, usize::MAX];
/// Two levels, each with its use.
const LEVELS: [Caches; 2] = [
    Caches { l1_bytes: 32 * KIB, l2_bytes: 1 << 20 },
    Caches { l1_bytes: 48 * KIB, l2_bytes: 2 << 20 },
];

fn main() {
    let mut arguments =
        std::env::args().skip(1).map(|argument| argument.parse().expect("a number"));
    let rounds: usize = arguments.next().unwrap_or(5);
    let count = arguments.next().unwrap_or(1_342_177);
    let one_level = SIZES.map(|bytes| Caches { l1_bytes: bytes, l2_bytes: bytes });
    let caches: Vec<Caches> = one_level.into_iter().chain(LEVELS).collect();
    println!(
        "| caches | 16 bytes, 1 thread | 16, 2 threads | 100, 1 | 100, 2 |\n|---|---|---|---|---|"
    );
    let columns: Vec<Vec<Duration>> = [16, 100]
        .into_iter()
        .flat_map(|record_bytes| {
            let mut tables = [0, 1].map(|seed| Table::new(count, record_bytes, seed));
            [1, 2].map(|threads| least(&mut tables[..threads], &caches, rounds))
        })
        .collect();
    for (row, caches) in caches.iter().enumerate() {
        print!("| {} |", name(caches));
        for column in &columns {
            print!(" {:.1} |", column[row].as_secs_f64() * 1e9 / count as f64);
        }
        println!();
    }
}

fn name(caches: &Caches) -> String {
    let size = |bytes: usize| match bytes {
        usize::MAX => "unlimited".to_owned(),
        bytes if bytes < 1 << 20 => format!("{} KiB", bytes >> 10),
        bytes => format!("{} MiB", bytes >> 20),
    };
    match caches {
        Caches { l1_bytes, l2_bytes } if l1_bytes == l2_bytes => size(*l1_bytes),
        Caches { l1_bytes, l2_bytes } => format!("{} and {}", size(*l1_bytes), size(*l2_bytes)),
    }
}

/// The least processor time of a thread for each of `caches`; each table is sorted by a thread of
/// its own, all at once.
fn least(tables: &mut [Table], caches: &[Caches], rounds: usize) -> Vec<Duration> {
    let mut least = vec![Duration::MAX; caches.len()];
    for _ in 0..rounds {
        for (&caches, least) in caches.iter().zip(&mut least) {
            std::thread::scope(|scope| {
                let threads: Vec<_> = tables
                    .iter_mut()
                    .map(|table| scope.spawn(move || table.sort(caches)))
                    .collect();
                let times = threads.into_iter().map(|thread| thread.join().expect("a sort"));
                *least = (*least).min(times.max().expect("a thread"));
            });
        }
    }
    least
}

/// Records and the memory to sort them.
struct Table {
    record_bytes: usize,
    records: Vec<u8>,
    order: Vec<u64>,
    spare: Vec<u64>,
    /// The order, proven once.
    expected: Vec<u64>,
}

impl Table {
    fn new(count: usize, record_bytes: usize, seed: u64) -> Table {
        let (format, pattern) = (Format::Gensort, Pattern::Uniform);
        let spec =
            GenerateSpec { format, skewed: false, pattern, start: 0, seed, total: count as u64 };
        let generator = Generator::new(spec).expect("a format with keys of its own");
        let mut records = vec![0; count * record_bytes];
        let mut whole = [0; 100];
        for (record, number) in records.chunks_exact_mut(record_bytes).zip(0..) {
            generator.fill(number, &mut whole);
            record.copy_from_slice(&whole[..record_bytes]);
        }
        let (order, spare, expected) = (vec![0; count], vec![0; count], vec![0; count]);
        let mut table = Table { record_bytes, records, order, spare, expected };
        sort(
            KEY,
            &table.records,
            record_bytes,
            &mut table.expected,
            &mut table.spare,
            Caches::default(),
        );
        let key = |index: u64| &table.records[index as usize * record_bytes..][..KEY.length()];
        let ranks = table.expected.iter().map(|&index| (key(index), index));
        assert!(ranks.is_sorted_by(|a, b| a < b), "not the stable order");
        table
    }

    /// Returns the processor time of this thread.
    fn sort(&mut self, caches: Caches) -> Duration {
        let now = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        };
        let begin = now();
        sort(KEY, &self.records, self.record_bytes, &mut self.order, &mut self.spare, caches);
        let time = now() - begin;
        assert!(self.order == self.expected, "not the same order with {caches:?}");
        time
    }
}
