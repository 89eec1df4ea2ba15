//! Records that are pushed and pulled, compared with the standard library's stable sort: any
//! lengths, any bytes, several pushers, failures, and cancellation at various times.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use xsort_disk::{
    Corruption, Damage, Disk, Fault, FaultSite, FileRole, Operation, SimDisk, SimOptions,
};
use xsort_extsort::sorter::{Sorted, SorterOptions, SorterReport, Sorting};
use xsort_extsort::{Caches, Error, Observer, Unobserved};
use xsort_testing::{Random, for_each_seed};

const MIB: u64 = 1 << 20;
/// Time limit for everything that stops, long enough for a busy machine.
const PROMPTLY: Duration = Duration::from_secs(5);

type Records = Vec<(Vec<u8>, Vec<u8>)>;

fn options(budget_mib: u64, threads: usize) -> SorterOptions {
    SorterOptions {
        budget_bytes: budget_mib * MIB,
        threads,
        caches: Caches::default(),
        scratch: vec!["/scratch".into()],
    }
}

fn start(options: SorterOptions, disk: &Arc<SimDisk>) -> Sorting {
    Sorting::start(options, Arc::clone(disk) as Arc<dyn Disk>, Arc::new(Unobserved))
}

fn sim_disk() -> Arc<SimDisk> {
    Arc::new(SimDisk::new(SimOptions::default()))
}

fn all(mut sorted: Sorted) -> Result<(Records, SorterReport), Error> {
    let mut records = Vec::new();
    while let Some((key, record)) = sorted.next()? {
        records.push((key.to_vec(), record.to_vec()));
    }
    assert_eq!(records.len() as u64, sorted.records());
    assert!(sorted.next()?.is_none(), "behind the end is the end");
    let report = sorted.report().expect("all came").clone();
    Ok((records, report))
}

/// Returns at most `most` bytes, of few values or of any.
fn bytes(random: &mut Random, most: usize) -> Vec<u8> {
    let length = random.below(most + 1);
    let mut bytes = random.bytes(length);
    match random.below(4) {
        0 => bytes.iter_mut().for_each(|byte| *byte %= 3),
        1 => bytes.fill(0),
        2 => bytes.fill(1),
        _ => {}
    }
    bytes
}

fn records(random: &mut Random, total_bytes: usize) -> Records {
    let (key_max, record_max) = (random.one_of(&[0, 1, 9, 40]), random.one_of(&[0, 20, 300, 9000]));
    let (mut records, mut left) = (Vec::new(), total_bytes);
    while left > 0 {
        let most = if random.one_in(1000) { 150_000 } else { record_max };
        let record = (bytes(random, key_max), bytes(random, most));
        left = left.saturating_sub(record.0.len() + record.1.len() + 8);
        records.push(record);
    }
    records
}

#[test]
fn what_is_pushed_comes_out_as_a_stable_sort_has_it() {
    for_each_seed("sorter", 12, |seed| {
        let mut random = Random::new(seed);
        let total_bytes = random.one_of(&[0, 1, 20_000, 300_000, 3_000_000, 12_000_000]);
        let mut expected = records(&mut random, total_bytes);
        let disk = Arc::new(SimDisk::new(SimOptions { seed, ..SimOptions::rough(seed) }));
        let threads = random.one_of(&[1, 2, 5]);
        let mut sorting = start(options(random.one_of(&[4, 8]), threads), &disk);
        sorting.push_batch(expected.iter().map(|(key, record)| (key, record))).unwrap();
        let (records, report) = all(sorting.finish().unwrap()).unwrap();
        let pushed_bytes = expected.iter().map(|(key, record)| (key.len() + record.len()) as u64);
        assert_eq!(report.bytes, pushed_bytes.sum::<u64>());
        expected.sort_by(|(a, _), (b, _)| a.cmp(b));
        assert!(records == expected, "they differ");
        assert!(total_bytes < 12_000_000 || report.spilled_bytes > 0, "{report:?}");
        assert_eq!(disk.open_files(), 0);
        Ok(())
    });
}

#[test]
fn each_pushers_equal_keys_stay_in_order() {
    const PUSHERS: u32 = 5;
    let disk = sim_disk();
    let sorting = start(options(4, 2), &disk);
    thread::scope(|scope| {
        for pusher_number in 0..PUSHERS {
            let mut pusher = sorting.pusher();
            scope.spawn(move || {
                for number in 0..20_000_u32 {
                    // Some records exceed the buffer. No other pusher's records may come between
                    // their bytes.
                    let length = if number % 4000 == 0 { 300_000 } else { 50 };
                    let mut record = vec![pusher_number as u8; length];
                    record[..4].copy_from_slice(&number.to_be_bytes());
                    pusher.push([(number % 7) as u8], record).unwrap();
                }
            });
        }
    });
    let (records, report) = all(sorting.finish().unwrap()).unwrap();
    assert_eq!(report.records, u64::from(PUSHERS) * 20_000);
    assert!(report.spilled_bytes > 0);
    let mut last = [(0, None); PUSHERS as usize];
    for (key, record) in records {
        let number = u32::from_be_bytes(record[..4].try_into().unwrap());
        let pusher = record[4];
        assert!(record[4..].iter().all(|&byte| byte == pusher));
        let last = &mut last[usize::from(pusher)];
        assert!(*last < (key[0], Some(number)), "{last:?}, then {key:?} {number}");
        *last = (key[0], Some(number));
    }
}

/// Records that were flushed before others were pushed come first.
#[test]
fn pushers_take_turns_by_flushing() {
    let disk = sim_disk();
    let mut sorting = start(options(4, 1), &disk);
    let mut other = sorting.pusher();
    for number in 0..10_u8 {
        sorting.push("", [2 * number]).unwrap();
        drop(std::mem::replace(&mut other, sorting.pusher()));
        other.push("", [2 * number]).unwrap();
        other.flush().unwrap();
    }
    drop(other);
    let (records, _) = all(sorting.finish().unwrap()).unwrap();
    let own: Vec<u8> = records.iter().map(|(_, record)| record[0]).collect();
    // The records of the sorting's own pusher were never flushed, and come last.
    let twice = |numbers: u8| (0..numbers).map(|number| 2 * number);
    assert_eq!(own, twice(10).chain(twice(10)).collect::<Vec<u8>>());
}

#[test]
fn a_sort_does_not_finish_before_its_pushers() {
    let disk = sim_disk();
    let mut sorting = start(options(4, 1), &disk);
    let mut pusher = sorting.pusher();
    pusher.push("key", "record").unwrap();
    sorting.push("key", "record").unwrap();
    let error = sorting.finish().unwrap_err();
    assert!(matches!(error, Error::Settings(_)), "{error}");
    let error = pusher.flush().unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");
}

#[test]
fn records_are_as_long_as_the_budget_carries() {
    for threads in [1, 3] {
        let disk = sim_disk();
        let mut sorting = start(options(16, threads), &disk);
        let error = sorting.push("key", vec![7; 3 << 20]).unwrap_err();
        let Error::LongRecord { bytes, needed_bytes: Some(needed), .. } = error else {
            panic!("{error}")
        };
        assert_eq!(bytes, (3 << 20) + 3);
        assert!(error.to_string().contains("MiB of memory are enough"), "{error}");
        // Later records are accepted as if there had been no error.
        let long: Vec<Vec<u8>> =
            (0..12).map(|number| vec![number; 1_900_000 + usize::from(number)]).collect();
        long.iter().rev().for_each(|record| sorting.push(&record[..3], record).unwrap());
        sorting.push(vec![0; 500_000], vec![0; 500_000]).unwrap();
        let (records, report) = all(sorting.finish().unwrap()).unwrap();
        assert_eq!(records.len(), 13);
        assert!(report.spilled_bytes > 0);
        let zeros = records.iter().position(|(key, _)| key.len() == 500_000).unwrap();
        assert!(records[zeros] == (vec![0; 500_000], vec![0; 500_000]));
        let (keys, texts): (Vec<_>, Vec<_>) =
            records.into_iter().filter(|(key, _)| key.len() == 3).unzip();
        assert!(keys.is_sorted() && texts == long);
        let mut sorting = start(options(needed / MIB, threads), &disk);
        sorting.push("key", vec![7; 3 << 20]).unwrap();
        assert_eq!(all(sorting.finish().unwrap()).unwrap().0.len(), 1);
    }
}

fn push_much(sorting: &mut Sorting, mebibytes: u64) -> Result<(), Error> {
    let mut random = Random::new(1);
    (0..mebibytes << 10)
        .try_for_each(|_| sorting.push(random.word().to_be_bytes(), random.bytes(1000)))
}

#[test]
fn what_is_dropped_early_leaves_nothing() {
    for threads in [1, 3] {
        let disk = sim_disk();
        drop(start(options(4, threads), &disk));
        let mut sorting = start(options(4, threads), &disk);
        push_much(&mut sorting, 20).unwrap();
        let mut pusher = sorting.pusher();
        // It sorts, and has data on scratch.
        let begun = Instant::now();
        drop(sorting);
        assert!(begun.elapsed() < PROMPTLY, "{:?}", begun.elapsed());
        assert_eq!(disk.open_files(), 0);
        let error = pusher.push("", vec![0; 200_000]).unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{error}");
        drop(pusher);
        for taken in [0, 1, 5000] {
            let mut sorting = start(options(4, threads), &disk);
            push_much(&mut sorting, 20).unwrap();
            let mut sorted = sorting.finish().unwrap();
            for _ in 0..taken {
                sorted.next().unwrap().unwrap();
            }
            assert!(taken == 0 || disk.open_files() > 0, "nothing was spilled");
            let begun = Instant::now();
            drop(sorted);
            assert!(begun.elapsed() < PROMPTLY, "{:?}", begun.elapsed());
            assert_eq!(disk.open_files(), 0);
        }
    }
}

/// Stops on request.
#[derive(Default)]
struct Flag(AtomicBool);

impl Observer for Flag {
    fn phase(&self, _name: &str, _bytes: u64) {}
    fn advance(&self, _bytes: u64) {}
    fn notice(&self, _line: &str) {}
    fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}

#[test]
fn a_flag_stops_whoever_pushes_and_whoever_takes() {
    for threads in [1, 3] {
        let (disk, flag) = (sim_disk(), Arc::new(Flag::default()));
        let start = || {
            let disk = Arc::clone(&disk) as Arc<dyn Disk>;
            Sorting::start(options(4, threads), disk, Arc::clone(&flag) as Arc<Flag>)
        };
        let mut sorting = start();
        push_much(&mut sorting, 10).unwrap();
        flag.0.store(true, Relaxed);
        let error = push_much(&mut sorting, 1000).unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{error}");
        let error = sorting.finish().unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{error}");
        flag.0.store(false, Relaxed);
        let mut sorting = start();
        push_much(&mut sorting, 20).unwrap();
        let mut sorted = sorting.finish().unwrap();
        sorted.next().unwrap().unwrap();
        flag.0.store(true, Relaxed);
        let error = all(sorted).unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{error}");
        assert_eq!(disk.open_files(), 0);
        flag.0.store(false, Relaxed);
    }
}

/// The first caller gets the error itself, all others its text.
#[test]
fn scratch_that_fails_is_named_to_all() {
    for operation in [Operation::Write, Operation::Read] {
        for threads in [1, 3] {
            let role = Some(FileRole::Scratch);
            let fault = Fault { operation, role, site: FaultSite::Everywhere, errno: 28 };
            let faults = vec![fault];
            let disk = Arc::new(SimDisk::new(SimOptions { faults, ..SimOptions::default() }));
            let mut sorting = start(options(4, threads), &disk);
            let mut pusher = sorting.pusher();
            let mut errors = Vec::new();
            errors.extend(push_much(&mut sorting, 20).err());
            if operation == Operation::Write {
                errors.extend((0..100).find_map(|_| pusher.push("", vec![0; 200_000]).err()));
            }
            drop(pusher);
            match sorting.finish() {
                Err(error) => errors.push(error),
                Ok(mut sorted) => {
                    let failed = |sorted: &mut Sorted| loop {
                        match sorted.next() {
                            Ok(Some(_)) => {}
                            Ok(None) => panic!("all came"),
                            Err(error) => return error,
                        }
                    };
                    errors.extend([failed(&mut sorted), failed(&mut sorted)]);
                }
            }
            assert!(errors.len() > 1, "{errors:?}");
            assert!(matches!(errors[0], Error::Disk(_)), "{errors:?}");
            let text = errors[0].to_string();
            assert!(text.contains("/scratch"), "{text}");
            for error in &errors[1..] {
                assert!(matches!(error, Error::HasFailed { cause } if *cause == text), "{error}");
            }
            assert_eq!(disk.open_files(), 0);
        }
    }
}

#[test]
fn scratch_that_comes_back_changed_is_an_error() {
    for damage in [Damage::FlipBit, Damage::LoseWrite] {
        let corruption =
            Corruption { role: FileRole::Scratch, site: FaultSite::Chance(0.1), damage };
        let corruptions = vec![corruption];
        let disk = Arc::new(SimDisk::new(SimOptions { corruptions, ..SimOptions::default() }));
        let mut sorting = start(options(4, 2), &disk);
        push_much(&mut sorting, 20).unwrap();
        let error = all(sorting.finish().unwrap()).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
}

#[test]
fn records_are_written_through_a_function() {
    let disk = sim_disk();
    let mut sorting = start(options(4, 2), &disk);
    sorting.push_batch([("b", "2"), ("a", "1"), ("b", "3")]).unwrap();
    let mut written = Vec::new();
    let report = sorting.finish().unwrap().write_to(&mut written, |key, record, out| {
        out.write_all(key)?;
        out.write_all(record)
    });
    assert_eq!((report.unwrap().records, &*written), (3, &b"a1b2b3"[..]));
    let mut sorting = start(options(4, 2), &disk);
    sorting.push("a", "").unwrap();
    let full = || std::io::Error::from_raw_os_error(28);
    let error = sorting.finish().unwrap().write_to(&mut Vec::new(), |_, _, _| Err(full()));
    assert!(matches!(error, Err(Error::Output(_))), "{error:?}");
}

/// A few records need neither threads nor the budget's memory.
#[test]
fn few_records_take_no_time() {
    let disk = sim_disk();
    let mut times: Vec<Duration> = (0..20)
        .map(|_| {
            let begun = Instant::now();
            let mut sorting = start(options(1 << 10, 16), &disk);
            (0..10_u8).for_each(|number| sorting.push([number % 5], [number]).unwrap());
            assert_eq!(all(sorting.finish().unwrap()).unwrap().0.len(), 10);
            begun.elapsed()
        })
        .collect();
    times.sort();
    assert!(times[10] < Duration::from_millis(20), "{times:?}");
}
