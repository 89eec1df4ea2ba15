//! Generated files, compared with the generator itself, on a disk with ordinary misbehaviour and on
//! one that fails.

use crate::adversity::Impatient;
use xsort_disk::{Fault, FaultSite, FileRole, Operation, SimDisk, SimOptions};
use xsort_extsort::{Error, GenerateOptions, GenerateReport, Unobserved, generate};
use xsort_records::{Checksum, Format, GenerateSpec, Generator, Pattern};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn options(format: Format, records: u64, budget_bytes: u64, threads: usize) -> GenerateOptions {
    let spec = GenerateSpec {
        format,
        skewed: false,
        pattern: Pattern::Uniform,
        start: 3,
        seed: 1,
        total: records,
    };
    let generator = Generator::new(spec).unwrap();
    GenerateOptions { generator, output: "/d/out".into(), budget_bytes, threads, sync: true }
}

/// Returns the whole file, generated at once, and its checksum.
fn oracle(options: &GenerateOptions) -> (Vec<u8>, Checksum) {
    let record_bytes = options.generator.record_bytes();
    let mut bytes = vec![0; options.generator.spec().total as usize * record_bytes];
    options.generator.fill(0, &mut bytes);
    let mut checksum = Checksum::default();
    checksum.add_records(&bytes, record_bytes);
    (bytes, checksum)
}

fn check(disk: &SimDisk, options: &GenerateOptions) -> GenerateReport {
    let report = generate(options, disk, &Unobserved).unwrap();
    let (bytes, checksum) = oracle(options);
    assert!(disk.get("/d/out").unwrap() == bytes, "{options:?}");
    assert_eq!((report.checksum, report.bytes), (checksum, bytes.len() as u64), "{options:?}");
    assert_eq!(disk.open_files(), 0);
    report
}

#[test]
fn same_bytes_whatever_memory_and_threads() {
    for (seed, format) in Format::all().iter().enumerate() {
        let disk = SimDisk::new(SimOptions::rough(seed as u64));
        for records in [0, 1, 2, 40, 41, 300] {
            for (budget, threads) in [(4096, 1), (4096, 7), (8192, 2), (100_000, 3), (1 << 24, 4)] {
                let report = check(&disk, &options(*format, records, budget, threads));
                assert!(report.memory_bytes <= budget);
            }
        }
    }
}

#[test]
fn files_of_many_large_blocks() {
    let disk = SimDisk::new(SimOptions::default());
    check(&disk, &options(Format::Gensort, 200_001, 32 << 20, 4));
    check(&disk, &options(Format::Kv128, 200_001, 3 << 20, 1));
}

#[test]
fn less_than_a_page_of_memory_is_refused_before_anything_is_made() {
    let disk = SimDisk::new(SimOptions::default());
    let result = generate(&options(Format::Gensort, 10, 4095, 1), &disk, &Unobserved);
    assert!(matches!(result, Err(Error::Memory { needed_bytes: 4096, .. })), "{result:?}");
    assert!(disk.paths().is_empty());
}

/// Checks that after a failure only the old file exists, unchanged, and that no file is open.
fn check_intact(disk: &SimDisk) {
    assert_eq!(disk.get("/d/out").as_deref(), Some(&b"old"[..]));
    assert_eq!(disk.paths().len(), 1);
    assert_eq!((disk.open_files(), disk.space_bytes()), (0, 4096), "one page of the old file");
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    for (operation, errno) in [
        (Operation::Create, EIO),
        (Operation::Reserve, ENOSPC),
        (Operation::Write, EIO),
        (Operation::Write, ENOSPC),
        (Operation::Sync, EIO),
        (Operation::Rename, EIO),
    ] {
        for site in [FaultSite::Byte(123_456), FaultSite::Everywhere] {
            if site != FaultSite::Everywhere && operation != Operation::Write {
                continue;
            }
            let fault = Fault { operation, role: Some(FileRole::Output), site, errno };
            let disk = SimDisk::new(SimOptions { faults: vec![fault], ..SimOptions::rough(1) });
            disk.put("/d/out", "old");
            let error = generate(&options(Format::Gensort, 9999, 65536, 3), &disk, &Unobserved)
                .unwrap_err();
            let Error::Disk(error) = error else { panic!("{error:?}") };
            assert_eq!((error.operation, error.source.raw_os_error()), (operation, Some(errno)));
            check_intact(&disk);
        }
    }
}

#[test]
fn a_full_disk_is_found_before_anything_is_written() {
    let options = options(Format::Gensort, 10_000, 65536, 2);
    let disk = SimDisk::new(SimOptions { capacity_bytes: Some(900_000), ..SimOptions::default() });
    disk.put("/d/out", "old");
    let error = generate(&options, &disk, &Unobserved).unwrap_err();
    assert!(
        matches!(&error, Error::Space { free_bytes, .. } if *free_bytes < 900_000),
        "{error:?}"
    );
    assert!(error.to_string().starts_with("/d: "), "{error}");
    check_intact(&disk);
}

/// Cancels once this many bytes are done.
#[test]
fn cancelled_at_any_moment_it_leaves_the_old_file() {
    for patience in [0, 1, 300_000, 999_900] {
        let disk = SimDisk::new(SimOptions::rough(patience));
        disk.put("/d/out", "old");
        let observer = Impatient::after(patience);
        let result = generate(&options(Format::Gensort, 9999, 65536, 3), &disk, &observer);
        assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
        check_intact(&disk);
    }
}

#[test]
fn a_power_cut_leaves_the_old_file_or_the_whole_new_one() {
    let options = options(Format::Gensort, 2000, 65536, 2);
    let (new, _) = oracle(&options);
    let mut outcomes = [0, 0];
    for operations in 0..40 {
        let disk = SimDisk::new(SimOptions {
            power_goes_after: Some(operations),
            ..SimOptions::rough(operations)
        });
        disk.put("/d/out", "old");
        let result = generate(&options, &disk, &Unobserved);
        disk.power_cut();
        let found = disk.get("/d/out").unwrap();
        assert!(
            found == b"old" || found == new,
            "after {operations} operations: {} bytes",
            found.len()
        );
        assert!(
            result.is_err() || found == new,
            "said to be done after {operations} operations and is not"
        );
        outcomes[usize::from(found == new)] += 1;
    }
    assert!(outcomes[0] > 0 && outcomes[1] > 0, "both ends were seen: {outcomes:?}");
}
