//! Transfers of all sizes from any thread return the right bytes, and nothing is lost when the disk
//! is dropped.

use crate::bench::{Flight, on_each_disk, pattern, simulated};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use xsort_disk::{
    BlockPool, Direction, Disk, DiskOptions, IoChoice, Lease, OsDisk, SimDisk, SimOptions,
};

const MIB: usize = 1 << 20;

#[test]
fn what_was_written_is_read_at_many_sizes() {
    on_each_disk(|bench| {
        for bytes in
            [0, 1, 511, 4095, 4096, 4097, 8192, 65_535, MIB - 1, MIB, MIB + 1, 3 * MIB + 5000]
        {
            for block_bytes in [4096, 12_288, 64 << 10, MIB] {
                if bytes / block_bytes > 300 {
                    continue;
                }
                let expected = pattern(bytes, bytes as u64);
                let path = bench.path("file");
                let output = bench.disk.create_output(&path).unwrap();
                bench.write(output, &expected, block_bytes).unwrap();
                bench.disk.publish(output, bytes as u64, false).unwrap();
                // Open it before other readers, which load it into the page cache.
                let input = bench.disk.open_input(&path).unwrap();
                assert_eq!(bench.disk.file_bytes(input).unwrap(), bytes as u64);
                assert!(
                    bench.read(input, bytes, block_bytes).unwrap() == expected,
                    "{bytes} in {block_bytes}"
                );
                bench.disk.close(input);
                assert!(
                    bench.contents(&path).unwrap() == expected,
                    "{bytes} bytes in blocks of {block_bytes}"
                );
            }
        }
    });
}

#[test]
fn scratch_is_written_and_read_back() {
    on_each_disk(|bench| {
        let expected = pattern(2 * MIB, 3);
        let scratch = bench.disk.create_scratch(&bench.directory).unwrap();
        bench.disk.reserve(scratch, 2 * MIB as u64).unwrap();
        assert_eq!(bench.disk.file_bytes(scratch).unwrap(), 2 * MIB as u64);
        bench.write(scratch, &expected, 64 << 10).unwrap();
        assert!(bench.read(scratch, 2 * MIB, MIB).unwrap() == expected);
        assert_eq!(bench.names(), [] as [&Path; 0], "scratch has no name");
        bench.disk.close(scratch);
        if let Some(sim) = &bench.sim {
            assert_eq!((sim.open_files(), sim.space_bytes()), (0, 0));
        }
    });
}

#[test]
fn a_range_that_was_reserved_but_not_written_reads_as_zeroes() {
    on_each_disk(|bench| {
        let scratch = bench.disk.create_scratch(&bench.directory).unwrap();
        bench.disk.reserve(scratch, 64 << 10).unwrap();
        // Reserving less than before changes nothing.
        bench.disk.reserve(scratch, 4096).unwrap();
        assert_eq!(bench.disk.file_bytes(scratch).unwrap(), 64 << 10);
        assert!(bench.read(scratch, 64 << 10, 16 << 10).unwrap().iter().all(|&byte| byte == 0));
    });
}

#[test]
fn a_discarded_range_leaves_the_rest_alone() {
    on_each_disk(|bench| {
        let expected = pattern(MIB, 5);
        let scratch = bench.disk.create_scratch(&bench.directory).unwrap();
        bench.write(scratch, &expected, 64 << 10).unwrap();
        bench.disk.discard(scratch, 0, 256 << 10).unwrap();
        let mut flight = Flight::new();
        let lease = Lease::map(768 << 10).unwrap();
        flight.read(&*bench.disk, scratch, 256 << 10, lease);
        assert!(flight.one().unwrap().lease[..] == expected[256 << 10..]);
        if let Some(sim) = &bench.sim {
            assert_eq!(sim.scratch_bytes(), 768 << 10);
        }
    });
}

#[test]
fn the_end_of_a_file_is_an_error_only_where_bytes_are_needed() {
    on_each_disk(|bench| {
        let path = bench.path("short");
        let expected = pattern(5000, 1);
        bench.put(&path, &expected);
        let input = bench.disk.open_input(&path).unwrap();
        let block_pool = BlockPool::map(1, 16 << 10).unwrap();
        let read = |offset: u64, needed: usize| {
            let mut flight = Flight::new();
            flight.submit(
                &*bench.disk,
                Direction::Read,
                input,
                offset,
                16 << 10,
                needed,
                block_pool.take().unwrap(),
            );
            flight.one()
        };
        assert!(read(0, 5000).unwrap().lease[..5000] == expected[..]);
        assert!(read(4096, 904).unwrap().lease[..904] == expected[4096..]);
        read(0, 0).unwrap();
        read(1 << 20, 0).unwrap();
        for (offset, needed, at) in
            [(0, 5001, 5000), (0, 16 << 10, 5000), (4096, 905, 5000), (8192, 1, 8192)]
        {
            let error = read(offset, needed).unwrap_err();
            assert_eq!(error.source.kind(), io::ErrorKind::UnexpectedEof, "{error}");
            assert_eq!(error.offset, Some(at), "{error}");
            assert!(error.to_string().contains("shorter than it was"), "{error}");
        }
    });
}

#[test]
fn a_request_of_no_bytes_completes() {
    on_each_disk(|bench| {
        let scratch = bench.disk.create_scratch(&bench.directory).unwrap();
        let mut flight = Flight::new();
        flight.submit(&*bench.disk, Direction::Write, scratch, 0, 0, 0, Lease::map(4096).unwrap());
        assert_eq!(flight.one().unwrap().lease.len(), 4096);
    });
}

#[test]
fn many_threads_submit_at_once() {
    const THREADS: usize = 8;
    const BLOCKS: usize = 60;
    const BLOCK: usize = 16 << 10;
    on_each_disk(|bench| {
        let expected = pattern(THREADS * BLOCKS * BLOCK, 9);
        let block_pool = BlockPool::map(6, BLOCK).unwrap();
        let files = [(); 2].map(|()| bench.disk.create_scratch(&bench.directory).unwrap());
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (block_pool, expected) = (&block_pool, &expected);
                scope.spawn(move || {
                    for block in (number..THREADS * BLOCKS).step_by(THREADS) {
                        // One transfer at a time, because eight threads share six leases.
                        let mut flight = Flight::new();
                        let mut lease = block_pool.take().unwrap();
                        let place = block * BLOCK..(block + 1) * BLOCK;
                        lease.copy_from_slice(&expected[place.clone()]);
                        let file = files[block % 2];
                        flight.write(&*bench.disk, file, place.start as u64, lease);
                        let mut lease = flight.one().unwrap().lease;
                        lease.fill(0);
                        flight.read(&*bench.disk, file, place.start as u64, lease);
                        assert!(flight.one().unwrap().lease[..] == expected[place]);
                    }
                });
            }
        });
        assert_eq!(block_pool.available(), 6);
    });
}

fn disks() -> Vec<(&'static str, Box<dyn Disk>)> {
    let os = |io| {
        OsDisk::new(DiskOptions { io, depth: 2, rings: 2, ..DiskOptions::default() })
            .ok()
            .map(|disk| Box::new(disk) as Box<dyn Disk>)
    };
    let cached = OsDisk::new(DiskOptions { is_cached: true, ..DiskOptions::default() });
    let cached = cached.ok().map(|disk| Box::new(disk) as Box<dyn Disk>);
    let sim = SimOptions { delay_max: Duration::from_millis(1), ..SimOptions::rough(3) };
    [
        ("uring", os(IoChoice::Uring)),
        ("sync", os(IoChoice::Sync)),
        ("cached", cached),
        ("simulated", Some(Box::new(SimDisk::new(sim)))),
    ]
    .into_iter()
    .filter_map(|(name, disk)| disk.map(|disk| (name, disk)))
    .collect()
}

#[test]
fn dropping_the_disk_finishes_what_is_in_flight() {
    for (name, disk) in disks() {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let scratch = disk.create_scratch(directory.path()).unwrap();
        let block_pool = BlockPool::map(40, 64 << 10).unwrap();
        let mut flight = Flight::new();
        for block in 0..40 {
            let lease = block_pool.take().unwrap();
            flight.write(&*disk, scratch, block * (64 << 10), lease);
        }
        // Closing a file during its transfers is harmless, too.
        disk.close(scratch);
        drop(disk);
        assert_eq!(flight.completions.len(), 40, "{name}");
        flight.land(|_| ()).unwrap();
        assert_eq!(block_pool.available(), 40, "{name}");
    }
}

#[test]
fn leases_come_home_when_nobody_waits_for_the_completion() {
    for (name, disk) in disks() {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let scratch = disk.create_scratch(directory.path()).unwrap();
        let block_pool = BlockPool::map(20, 64 << 10).unwrap();
        let mut flight = Flight::new();
        for block in 0..20 {
            let lease = block_pool.take().unwrap();
            flight.write(&*disk, scratch, block * (64 << 10), lease);
        }
        drop(flight);
        // `take` waits for the transfers; no completion is ever received.
        let all: Vec<Lease> = (0..20).map(|_| block_pool.take().unwrap()).collect();
        drop((all, disk));
        assert_eq!(block_pool.available(), 20, "{name}");
    }
}

#[test]
fn requests_that_break_the_contract_panic_at_the_caller() {
    let broken = |what: &str, offset: u64, bytes: usize, needed: usize, direction: Direction| {
        let panicked = AtomicUsize::new(0);
        let runs = AtomicUsize::new(0);
        on_each_disk(|bench| {
            let scratch = bench.disk.create_scratch(&bench.directory).unwrap();
            let lease = Lease::map(8192).unwrap();
            let submit = || {
                Flight::new().submit(
                    &*bench.disk,
                    direction,
                    scratch,
                    offset,
                    bytes,
                    needed,
                    lease,
                );
            };
            panicked.fetch_add(
                usize::from(catch_unwind(AssertUnwindSafe(submit)).is_err()),
                Ordering::Relaxed,
            );
            runs.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(panicked.into_inner(), runs.into_inner(), "{what}");
    };
    broken("offset", 512, 4096, 4096, Direction::Read);
    broken("length", 0, 5000, 5000, Direction::Write);
    broken("longer than the lease", 0, 12_288, 12_288, Direction::Write);
    broken("needs more than it asks for", 0, 4096, 4097, Direction::Read);
    broken("a write that needs less", 0, 8192, 4096, Direction::Write);
}

#[test]
fn a_closed_file_is_not_mistaken_for_a_new_one() {
    on_each_disk(|bench| {
        let old = bench.disk.create_scratch(&bench.directory).unwrap();
        bench.disk.close(old);
        bench.disk.close(old);
        let new = bench.disk.create_scratch(&bench.directory).unwrap();
        assert_ne!(old, new);
        assert!(catch_unwind(AssertUnwindSafe(|| bench.disk.file_bytes(old))).is_err());
    });
}

#[test]
fn publishing_under_transfers_panics() {
    let bench = simulated(
        "slow",
        SimOptions { delay_max: Duration::from_millis(300), ..SimOptions::default() },
    );
    let output = bench.disk.create_output(&bench.path("out")).unwrap();
    let mut flight = Flight::new();
    for block in 0..8 {
        let lease = Lease::map(4096).unwrap();
        flight.write(&*bench.disk, output, block * 4096, lease);
    }
    assert!(catch_unwind(AssertUnwindSafe(|| bench.disk.publish(output, 4096, true))).is_err());
    flight.land(|_| ()).unwrap();
}
