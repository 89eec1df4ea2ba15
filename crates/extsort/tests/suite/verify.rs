//! Parallel verdicts, compared with those of one thread that reads everything in order.

use std::path::PathBuf;
use xsort_disk::{Fault, FaultSite, FileRole, Operation, SimDisk, SimOptions};
use xsort_extsort::{Error, Observer, Unobserved, VerifyOptions, verify};
use xsort_records::{Layout, VerifySummary};
use xsort_testing::Random;

fn layout(record_bytes: usize, key: &str) -> Layout {
    Layout::new(record_bytes, vec![key.parse().unwrap()]).unwrap()
}

fn options(
    layout: &Layout,
    inputs: Vec<PathBuf>,
    budget_bytes: u64,
    threads: usize,
) -> VerifyOptions {
    VerifyOptions {
        inputs,
        layout: layout.clone(),
        format_is_assumed: false,
        budget_bytes,
        threads,
        order: true,
    }
}

/// Returns bytes that are partly in order, with repetitions: a slow random walk.
fn walk(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut level = 0u8;
    let step = |_| {
        level = level.wrapping_add(u8::from(random.one_in(4)));
        level
    };
    (0..bytes).map(step).collect()
}

/// Distributes `records` of `layout` over files of uneven sizes, some empty.
fn put(disk: &SimDisk, layout: &Layout, bytes: &[u8], files: usize) -> Vec<PathBuf> {
    let record_bytes = layout.record_bytes();
    let records = bytes.len() / record_bytes;
    let cut =
        |file: usize| if file == files { records } else { records * file * file / (files * files) };
    (0..files)
        .map(|file| {
            let path = PathBuf::from(format!("/d/{file}"));
            disk.put(&path, &bytes[cut(file) * record_bytes..cut(file + 1) * record_bytes]);
            path
        })
        .collect()
}

#[test]
fn the_verdict_is_that_of_one_thread() {
    let cases = [
        (100, "0:10", 1000),
        (100, "0:10", 1),
        (100, "0:10", 0),
        (128, "0:16:u128le", 800),
        (4096, "0:4096", 20),
        (1, "0:1", 60_000),
        (10, "3:4:i32be:desc", 5000),
        (5000, "0:2", 30),
    ];
    for (seed, (record_bytes, key, records)) in cases.into_iter().enumerate() {
        let layout = layout(record_bytes, key);
        let bytes = walk(record_bytes * records, seed as u64);
        let mut expected = VerifySummary::new(&layout);
        expected.extend(&bytes);
        for files in [1, 5] {
            let disk = SimDisk::new(SimOptions::rough(seed as u64));
            let inputs = put(&disk, &layout, &bytes, files);
            for (budget, threads) in [(16 << 10, 1), (16 << 10, 8), (100 << 10, 3), (64 << 20, 4)] {
                let mut options = options(&layout, inputs.clone(), budget, threads);
                let report = verify(&options, &disk, &Unobserved).unwrap();
                assert_eq!(
                    report.part.as_ref(),
                    Some(&expected),
                    "{record_bytes} {key} {files} {budget} {threads}"
                );
                assert_eq!((report.records, report.bytes), (records as u64, bytes.len() as u64));
                options.order = false;
                let report = verify(&options, &disk, &Unobserved).unwrap();
                assert_eq!((report.checksum, report.part), (expected.checksum(), None));
            }
            assert_eq!(disk.open_files(), 0);
        }
    }
}

#[test]
fn disorder_between_two_files_is_disorder() {
    let layout = layout(1, "0:1");
    let disk = SimDisk::new(SimOptions::default());
    disk.put("/a", "aac");
    disk.put("/b", "bcd");
    let run = |inputs: &[&str]| {
        let inputs = inputs.iter().map(PathBuf::from).collect();
        verify(&options(&layout, inputs, 1 << 20, 2), &disk, &Unobserved).unwrap().part.unwrap()
    };
    assert_eq!(run(&["/a", "/b"]).first_unordered(), Some(3));
    assert!(run(&["/a"]).is_sorted() && run(&["/b"]).is_sorted());
    assert_eq!(run(&["/a", "/a"]).unordered(), 1);
}

#[test]
fn a_partial_record_names_the_file_its_size_and_the_rest() {
    let disk = SimDisk::new(SimOptions::default());
    disk.put("/good", vec![0; 1000]);
    disk.put("/bad", vec![0; 250]);
    let inputs = vec!["/good".into(), "/bad".into()];
    let error =
        verify(&options(&layout(100, "0:10"), inputs, 1 << 20, 2), &disk, &Unobserved).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Input { .. }), "{text}");
    for part in ["/bad", "250 bytes", "2 records", "50 bytes more"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn too_little_memory_says_how_much_is_needed() {
    let disk = SimDisk::new(SimOptions::default());
    disk.put("/f", vec![0; 20_000]);
    let layout = layout(10_000, "0:10");
    let run = |budget| verify(&options(&layout, vec!["/f".into()], budget, 2), &disk, &Unobserved);
    let Err(Error::Memory { needed_bytes, .. }) = run(5000) else { panic!("5000 bytes can't do") };
    assert!(run(needed_bytes - 1).is_err());
    assert_eq!(run(needed_bytes).unwrap().records, 2);
}

#[test]
fn read_errors_arrive_and_nothing_stays_open() {
    for (operation, site) in [
        (Operation::Open, FaultSite::Everywhere),
        (Operation::Read, FaultSite::Byte(77_777)),
        (Operation::Read, FaultSite::Everywhere),
    ] {
        let fault = Fault { operation, role: Some(FileRole::Input), site, errno: 5 };
        let disk = SimDisk::new(SimOptions { faults: vec![fault], ..SimOptions::rough(3) });
        disk.put("/f", vec![0; 500_000]);
        let options = options(&layout(100, "0:10"), vec!["/f".into()], 64 << 10, 3);
        let error = verify(&options, &disk, &Unobserved).unwrap_err();
        assert!(matches!(&error, Error::Disk(error) if error.operation == operation), "{error:?}");
        assert_eq!(disk.open_files(), 0);
    }
}

/// Cancels from the start.
struct Gone;

impl Observer for Gone {
    fn phase(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn notice(&self, _: &str) {}
    fn is_cancelled(&self) -> bool {
        true
    }
}

#[test]
fn a_cancelled_verification_has_no_verdict() {
    let disk = SimDisk::new(SimOptions::default());
    disk.put("/f", vec![0; 500_000]);
    let options = options(&layout(100, "0:10"), vec!["/f".into()], 64 << 10, 3);
    assert!(matches!(verify(&options, &disk, &Gone), Err(Error::Cancelled)));
    assert_eq!(disk.open_files(), 0);
}
