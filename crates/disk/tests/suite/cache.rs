//! Inputs that are completely or partly in the page cache: the bytes are right, wherever they come
//! from.

use crate::bench::{on_real_disks, pattern};
use rustix::fs::{Advice, fadvise};
use std::fs::{self, File};
use std::num::NonZeroU64;
use std::path::Path;

const MIB: usize = 1 << 20;

/// The file isn't written back yet, so it stays in the cache.
#[test]
fn an_input_that_was_just_made_comes_from_the_page_cache() {
    on_real_disks(|bench| {
        let expected = pattern(3 * MIB + 5000, 1);
        let path = bench.path("input");
        fs::write(&path, &expected).unwrap();
        let input = bench.disk.open_input(&path).unwrap();
        assert!(bench.read(input, expected.len(), 256 << 10).unwrap() == expected);
        let description = bench.disk.describe();
        if !description.contains("GB from the page cache") {
            // The crate's unit tests say where cachestat(2) is available.
            eprintln!("SKIPPED: {description} on {}", bench.disk.drive(&path).unwrap().kind);
        }
    });
}

#[test]
fn an_input_that_is_cached_in_part_is_read_right() {
    on_real_disks(|bench| {
        let expected = pattern(16 * MIB + 777, 2);
        let path = bench.path("input");
        fs::write(&path, &expected).unwrap();
        let file = File::open(&path).unwrap();
        file.sync_all().unwrap();
        for start in (MIB..16 * MIB).step_by(3 * MIB) {
            fadvise(&file, start as u64, NonZeroU64::new(MIB as u64 + 12_288), Advice::DontNeed)
                .unwrap();
        }
        let input = bench.disk.open_input(&path).unwrap();
        for block_bytes in [12_288, 64 << 10, MIB] {
            assert!(
                bench.read(input, expected.len(), block_bytes).unwrap() == expected,
                "{block_bytes}"
            );
        }
    });
}

#[test]
fn an_input_that_changes_is_read_as_it_is_by_then() {
    on_real_disks(|bench| {
        let path = bench.path("input");
        fs::write(&path, pattern(MIB, 3)).unwrap();
        let input = bench.disk.open_input(&path).unwrap();
        for seed in 4..8 {
            // In place: the same file, dirty in the cache, and finally without a name.
            let expected = pattern(MIB, seed);
            fs::write(&path, &expected).unwrap();
            if seed == 6 {
                File::open(&path).unwrap().sync_all().unwrap();
            }
            if seed == 7 {
                fs::remove_file(&path).unwrap();
            }
            assert!(bench.read(input, MIB, 64 << 10).unwrap() == expected, "{seed}");
        }
    });
}

#[test]
fn a_file_system_in_memory_has_no_second_copy() {
    on_real_disks(|bench| {
        let memory = Path::new("/dev/shm");
        if !bench.disk.drive(memory).is_ok_and(|drive| drive.is_memory) {
            eprintln!("SKIPPED: /dev/shm is not in memory");
            return;
        }
        let place = tempfile::tempdir_in(memory).unwrap();
        let expected = pattern(MIB + 1, 9);
        fs::write(place.path().join("input"), &expected).unwrap();
        let input = bench.disk.open_input(&place.path().join("input")).unwrap();
        assert!(bench.read(input, expected.len(), 64 << 10).unwrap() == expected);
        assert!(bench.disk.describe().ends_with(", buffered"), "{}", bench.disk.describe());
    });
}
