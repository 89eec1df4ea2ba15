//! Sorts on real files, compared byte for byte with the standard library's stable sort.

use crate::adversity::NOW_AND_THEN;
use std::fs;
use std::path::Path;
use xsort_disk::{DiskOptions, Fault, FaultSite, FileRole, Operation, OsDisk, SimDisk, SimOptions};
use xsort_extsort::records::{Method, Shape};
use xsort_extsort::{Codec, Compressed, Error, Plan, SortOptions, SortReport, Unobserved, sort};
use xsort_records::{Format, GenerateSpec, Generator, Key, KeyField, Layout, Pattern};
use xsort_testing::{Random, quick_or_long};

/// Returns data of a format and pattern.
pub(crate) fn generated(format: Format, pattern: Pattern, records: u64) -> Vec<u8> {
    let spec =
        GenerateSpec { format, skewed: false, pattern, start: 0, seed: 7, total: records.max(1) };
    let generator = Generator::new(spec).unwrap();
    let mut bytes = vec![0; records as usize * generator.record_bytes()];
    generator.fill(0, &mut bytes);
    bytes
}

/// Returns the bytes, sorted by the standard library.
pub(crate) fn oracle(layout: &Layout, bytes: &[u8]) -> Vec<u8> {
    let mut records: Vec<&[u8]> = bytes.chunks(layout.record_bytes()).collect();
    records.sort_by(|a, b| layout.rule().compare(a, b));
    records.concat()
}

/// Returns the number of passes of a merge over the data.
pub(crate) fn passes(plan: &Plan) -> usize {
    let Shape::Merge(shape) = &plan.shape else { panic!("no merge: {plan}") };
    shape.merge_passes
}

/// Returns the options of a merge from `in` to `out` in a directory.
pub(crate) fn options(
    layout: &Layout,
    directory: &Path,
    budget_bytes: u64,
    threads: usize,
) -> SortOptions {
    SortOptions {
        inputs: vec![directory.join("in")],
        output: directory.join("out"),
        method: Method::Merge,
        sync: false,
        ..SortOptions::new(layout.clone(), budget_bytes, threads)
    }
}

fn run(options: &SortOptions) -> Result<SortReport, Error> {
    let disk = OsDisk::new(DiskOptions::default())?;
    sort(options, &disk, &Unobserved)
}

/// Returns a directory on a drive that supports direct I/O, not in memory.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Sorts `bytes` by both methods and compares with the oracle. Returns the plan of the merge.
fn check(layout: &Layout, bytes: &[u8], budget_bytes: u64, threads: usize) -> Plan {
    let expected = oracle(layout, bytes);
    let by = |method| check_by(method, layout, bytes, &expected, budget_bytes, threads);
    let report = by(Method::Merge);
    by(Method::Scatter);
    report.plan
}

/// Sorts `bytes` by one method, with more memory if necessary.
fn check_by(
    method: Method,
    layout: &Layout,
    bytes: &[u8],
    expected: &[u8],
    budget_bytes: u64,
    threads: usize,
) -> SortReport {
    let directory = directory();
    fs::write(directory.path().join("in"), bytes).unwrap();
    let mut options = options(layout, directory.path(), budget_bytes, threads);
    options.method = method;
    let report = match run(&options) {
        Err(Error::Memory { needed_bytes, .. }) => {
            options.budget_bytes = needed_bytes;
            run(&options)
        }
        result => result,
    };
    let report = report.unwrap();
    let sorted = fs::read(directory.path().join("out")).unwrap();
    assert_eq!(report.records as usize, bytes.len() / layout.record_bytes());
    assert!(
        sorted == expected,
        "{method:?} differs from the oracle: {} bytes, -m {budget_bytes}, -j {threads}, {}",
        bytes.len(),
        report.plan
    );
    let names: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "leftovers: {names:?}");
    report
}

/// A merge of many runs reads small blocks. Several are written at a time, compressed or not.
#[test]
fn runs_of_small_blocks_are_written_by_larger_ones() {
    let layout = Format::Gensort.layout();
    let mut bytes = generated(Format::Gensort, Pattern::Uniform, 500_000);
    bytes.chunks_mut(100).step_by(2).for_each(|record| record[10..].fill(7));
    let expected = oracle(&layout, &bytes);
    for codec in [None, Some(Codec::Lz4)] {
        let directory = directory();
        fs::write(directory.path().join("in"), &bytes).unwrap();
        let mut options = options(&layout, directory.path(), 10 << 20, 16);
        options.codec = codec;
        let report = run(&options).unwrap();
        let plan = &report.plan;
        assert!(fs::read(directory.path().join("out")).unwrap() == expected, "{plan}");
        assert!(passes(plan) == 1 && plan.spill_block_bytes >= 2 * plan.block_bytes, "{plan}");
        let writes: usize = report.chunks.iter().map(|chunk| chunk.writes).sum();
        let blocks = report.spilled_bytes / plan.block_bytes;
        assert!((1..=blocks * 3 / 4).contains(&(writes as u64)), "{writes} writes: {plan}");
    }
}

/// With as few areas as threads, one is spilled while the others are filled.
#[test]
fn few_areas_are_emptied_and_filled_in_turns() {
    let layout = Format::Gensort.layout();
    let bytes = generated(Format::Gensort, Pattern::Uniform, 160_000);
    for (budget_kib, threads) in [(2500, 2), (2900, 3), (3400, 4)] {
        let plan = check(&layout, &bytes, budget_kib << 10, threads);
        assert_eq!((plan.threads, plan.areas), (threads, threads), "{plan}");
    }
}

/// Compressible and other blocks, in one merge and in several, with little memory and with chunks
/// that stay in memory.
#[test]
fn compressed_runs_are_merged_as_plain_ones() {
    let gensort = generated(Format::Gensort, Pattern::Uniform, 160_000);
    let alike: Vec<u8> = gensort
        .iter()
        .enumerate()
        .map(|(at, &byte)| if at % 100 < 10 { byte } else { (at / 100_000) as u8 })
        .collect();
    let noise = Random::new(3).bytes(16_000_000);
    let ways = [(Codec::Lz4, 3, [4, 8]), (Codec::Zstd, 2, [6, 8]), (NOW_AND_THEN, 1, [14, 15])];
    for (codec, threads, budgets_mib) in ways {
        for (bytes, shrinks) in [(&alike, true), (&noise, false)] {
            for budget_bytes in
                budgets_mib.map(|mib| mib << 20).into_iter().take(quick_or_long(1, 2))
            {
                let layout = Format::Gensort.layout();
                let directory = directory();
                fs::write(directory.path().join("in"), bytes).unwrap();
                let mut options = options(&layout, directory.path(), budget_bytes, threads);
                options.codec = Some(codec);
                let report = run(&options).unwrap();
                let sorted = fs::read(directory.path().join("out")).unwrap();
                assert!(sorted == oracle(&layout, bytes), "{codec:?}, {report}");
                let Compressed { lz4_bytes, zstd_bytes } = report.compressed;
                assert!(report.plan.compression_bytes > 0, "{codec:?}, {}", report.plan);
                assert_eq!(lz4_bytes + zstd_bytes > 0, shrinks, "{codec:?}, {report:#}");
                let saved = report.scratch_bytes + report.spilled_bytes / 8 < report.spilled_bytes;
                assert_eq!(saved, shrinks, "{codec:?}, {report:#}");
            }
        }
    }
}

#[test]
fn bins_are_not_compressed() {
    let directory = directory();
    fs::write(directory.path().join("in"), vec![0; 100_000]).unwrap();
    let layout = Format::Gensort.layout();
    let options = options(&layout, directory.path(), 1 << 20, 1);
    let options = SortOptions { method: Method::Scatter, codec: Some(Codec::Lz4), ..options };
    assert!(matches!(run(&options), Err(Error::Settings(_))));
    let codec = Some(Codec::Lz4);
    let options = SortOptions { method: Method::Auto, codec, budget_bytes: 1 << 30, ..options };
    let report = run(&options).unwrap();
    assert_eq!(
        (report.plan.compression_bytes, report.spilled_bytes),
        (0, 0),
        "all stays in memory"
    );
}

#[test]
fn every_format_and_pattern_in_memory_in_one_merge_and_in_several() {
    let patterns = ["uniform", "sorted", "reversed", "equal", "few", "zipf", "heavy"];
    let formats = [Format::Gensort, Format::GensortAscii, Format::Kv128, Format::Block4k];
    for (row, format) in formats.into_iter().enumerate() {
        let layout = format.layout();
        let records = if format == Format::Block4k { 1_500 } else { 30_000 };
        // All formats and patterns, but only a long run has all pairs.
        let patterns = patterns.into_iter().skip(quick_or_long(row % 3, 0));
        for pattern in patterns.step_by(quick_or_long(3, 1)) {
            let bytes = generated(format, pattern.parse().unwrap(), records);
            let mut ways = Vec::new();
            for (budget_bytes, threads) in
                [(64 << 20, 2), (2 << 20, 2), (1600 << 10, 3), (1400 << 10, 1)]
            {
                let plan = check(&layout, &bytes, budget_bytes, threads);
                ways.push((plan.spilled_chunks > 0, passes(&plan) > 1));
            }
            assert_eq!(ways[0], (false, false));
            assert!(ways.contains(&(true, false)), "{format} {ways:?}");
        }
    }
}

/// Sizes that exceed the processor's caches. Records that are already in order don't move.
#[test]
fn records_that_stay_in_memory_are_moved_to_their_order() {
    let layout = Format::Gensort.layout();
    for (pattern, threads) in [("uniform", 2), ("few", 3), ("sorted", 1)] {
        let bytes = generated(Format::Gensort, pattern.parse().unwrap(), 180_000);
        let expected = oracle(&layout, &bytes);
        for (budget_bytes, expected_to) in [(64 << 20, true), (12 << 20, false)] {
            let report = check_by(Method::Merge, &layout, &bytes, &expected, budget_bytes, threads);
            let Shape::Merge(shape) = &report.plan.shape else { panic!("{}", report.plan) };
            assert_eq!(shape.is_arranged, expected_to, "{pattern}: {}", report.plan);
        }
    }
}

/// A chunk may contain the end of one file and the beginning of the next.
#[test]
fn records_of_several_files_are_moved_to_their_order() {
    let layout = Format::Gensort.layout();
    let bytes = generated(Format::Gensort, Pattern::Uniform, 180_000);
    let directory = directory();
    let path = |name: usize| directory.path().join(name.to_string());
    let parts: Vec<&[u8]> = bytes.chunks(1_234_500).collect();
    parts.iter().enumerate().for_each(|(name, part)| fs::write(path(name), part).unwrap());
    let mut options = options(&layout, directory.path(), 64 << 20, 2);
    options.inputs = (0..parts.len()).map(path).collect();
    let report = run(&options).unwrap();
    let Shape::Merge(shape) = &report.plan.shape else { panic!("{}", report.plan) };
    assert!(shape.is_arranged, "{}", report.plan);
    assert!(fs::read(&options.output).unwrap() == oracle(&layout, &bytes));
}

#[test]
fn more_runs_than_the_budget_can_buffer_mean_another_pass() {
    let layout = Format::Gensort.layout();
    for pattern in ["uniform", "equal", "reversed"] {
        let bytes =
            generated(Format::Gensort, pattern.parse().unwrap(), quick_or_long(30_000, 60_000));
        let plan = check(&layout, &bytes, 256 << 10, 2);
        assert!(passes(&plan) > 1, "{plan}");
    }
}

/// Sorts by scattering and checks the output. The report has the bins and phases.
fn scattered(bytes: &[u8], budget_bytes: u64) -> SortReport {
    let layout = Format::Gensort.layout();
    check_by(Method::Scatter, &layout, bytes, &oracle(&layout, bytes), budget_bytes, 2)
}

fn count(report: &SortReport, phase: &str) -> usize {
    report.phases.iter().filter(|done| done.name == phase).count()
}

#[test]
fn bins_hold_every_record_once_and_one_key_needs_no_sort() {
    let bytes = generated(Format::Gensort, Pattern::Equal, 60_000);
    let report = scattered(&bytes, 2 << 20);
    assert!(
        report.plan.spilled_chunks > 0 && report.bins.iter().all(|bin| bin.is_one_key),
        "{report:#}"
    );
    assert!(report.bins.len() > 3 && report.bins.iter().all(|bin| bin.bins == 1), "{report:#}");
    assert_eq!(report.bins.iter().map(|bin| bin.records).sum::<u64>(), 60_000);
    assert_eq!(count(&report, "split"), 0);

    let bytes = generated(Format::Gensort, Pattern::Uniform, 60_000);
    let report = scattered(&bytes, 2 << 20);
    assert!(!report.bins.iter().any(|bin| bin.is_one_key), "{report:#}");
    assert_eq!(report.bins.iter().map(|bin| bin.records).sum::<u64>(), 60_000);
}

#[test]
fn a_bin_that_is_too_large_is_split_again() {
    // The sample's evenly spaced places have a single key; all other keys are between them.
    let mut bytes = generated(Format::Gensort, Pattern::Uniform, 120_000);
    for (number, record) in bytes.chunks_mut(100).enumerate() {
        if number % 117 < 60 {
            record[..10].fill(b'~');
        }
    }
    let report = scattered(&bytes, 2 << 20);
    assert!(count(&report, "split") > 0, "{report:#}");

    // Memory is so small that bins of bins are planned.
    let bytes = generated(Format::Gensort, Pattern::Uniform, 120_000);
    let report = scattered(&bytes, 1 << 20);
    assert!(matches!(&report.plan.shape, Shape::Scatter(shape) if shape.levels > 1), "{report}");
    assert!(count(&report, "split") > 0, "{report:#}");
}

#[test]
fn odd_record_sizes_and_counts() {
    for (record_bytes, key, counts) in [
        (1, "0:1", vec![0, 1, 2, 4095, 4096, 4097, quick_or_long(30_000, 100_000)]),
        (3, "1:2", vec![1, 10_000]),
        (7, "0:4:u32le", vec![999, 50_001]),
        (13, "5:8:f64be:desc", vec![10_007]),
        (101, "0:10", vec![1, 40, 41, 82, 20_011]),
        (4095, "4000:95", vec![1, 2, 700]),
        (4097, "0:16:u128be", vec![1, 2, 700]),
        (70_001, "3:2:i16le", vec![1, 3, 41]),
    ] {
        let layout = Layout::new(record_bytes, vec![key.parse::<KeyField>().unwrap()]).unwrap();
        for count in counts {
            let bytes = Random::new(1).bytes(record_bytes * count);
            check(&layout, &bytes, 64 << 20, 2);
            let small = if record_bytes > 10_000 { 2 << 20 } else { 300 << 10 };
            check(&layout, &bytes, small, 2);
        }
    }
}

#[test]
fn equal_keys_keep_the_order_of_the_input() {
    let layout = Layout::new(16, vec!["0:1".parse().unwrap()]).unwrap();
    let mut bytes = Vec::new();
    for number in 0..200_000u64 {
        bytes.extend([(number * 7_919 % 5) as u8, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(number.to_be_bytes());
    }
    for budget_bytes in [16 << 20, 1 << 20, 300 << 10] {
        check(&layout, &bytes, budget_bytes, 2);
    }
}

#[test]
fn several_inputs_are_sorted_as_one() {
    let layout = Format::Gensort.layout();
    let bytes = generated(Format::Gensort, Pattern::Uniform, 50_000);
    for sizes in [vec![1usize; 40], vec![10_000, 0, 1, 20_000], vec![50_000]] {
        let directory = directory();
        let mut all = Vec::new();
        let mut inputs = Vec::new();
        for (number, records) in sizes.iter().enumerate() {
            let part = &bytes[all.len()..all.len() + records * 100];
            let path = directory.path().join(format!("in{number}"));
            fs::write(&path, part).unwrap();
            all.extend_from_slice(part);
            inputs.push(path);
        }
        for budget_bytes in [64 << 20, 600 << 10] {
            let mut options = options(&layout, directory.path(), budget_bytes, 2);
            options.inputs.clone_from(&inputs);
            run(&options).unwrap();
            assert!(fs::read(directory.path().join("out")).unwrap() == oracle(&layout, &all));
        }
    }
}

#[test]
fn the_output_may_be_an_input() {
    let layout = Format::Gensort.layout();
    let bytes = generated(Format::Gensort, Pattern::Uniform, 20_000);
    let directory = directory();
    let path = directory.path().join("in");
    fs::write(&path, &bytes).unwrap();
    let mut options = options(&layout, directory.path(), 600 << 10, 2);
    options.output.clone_from(&path);
    run(&options).unwrap();
    assert!(fs::read(&path).unwrap() == oracle(&layout, &bytes));
}

#[test]
fn remove_input_removes_it_only_when_the_sort_succeeds_in_reading_it() {
    let layout = Format::Gensort.layout();
    let bytes = generated(Format::Gensort, Pattern::Uniform, 20_000);
    let directory = directory();
    let path = directory.path().join("in");
    fs::write(&path, &bytes).unwrap();
    let mut options = options(&layout, directory.path(), 600 << 10, 2);
    options.remove_input = true;
    options.budget_bytes = 8_192;
    run(&options).unwrap_err();
    assert!(fs::read(&path).unwrap() == bytes);
    options.budget_bytes = 600 << 10;
    run(&options).unwrap();
    assert!(!path.exists());
    assert!(fs::read(directory.path().join("out")).unwrap() == oracle(&layout, &bytes));
}

/// `--remove-input` once removed the input before the output's space was reserved, even if that
/// wasn't needed.
#[test]
fn an_input_is_at_risk_only_where_its_space_is_needed() {
    let layout = Format::Gensort.layout();
    let bytes = generated(Format::Gensort, Pattern::Uniform, 20_000);
    let mut options = options(&layout, Path::new("/d"), 600 << 10, 2);
    options.remove_input = true;
    let run = |capacity_bytes, faults| {
        let disk = SimDisk::new(SimOptions { capacity_bytes, faults, ..SimOptions::default() });
        disk.put("/d/in", &bytes);
        let result = sort(&options, &disk, &Unobserved);
        (result, disk.get("/d/in").is_some(), disk.get("/d/out"))
    };
    let role = Some(FileRole::Output);
    let failing =
        || vec![Fault { operation: Operation::Write, role, site: FaultSite::Everywhere, errno: 5 }];
    // Space for the input and a copy of it, and a little for padding.
    let tight = Some(bytes.len() as u64 * 5 / 2);

    let (result, is_there, output) = run(tight, Vec::new());
    assert!(result.is_ok() && !is_there && output == Some(oracle(&layout, &bytes)), "{result:?}");
    let (result, is_there, output) = run(None, Vec::new());
    assert!(result.is_ok() && !is_there && output == Some(oracle(&layout, &bytes)), "{result:?}");

    let (result, is_there, output) = run(tight, failing());
    let error = result.unwrap_err();
    assert!(
        matches!(error, Error::InputsRemoved { .. }) && !is_there && output.is_none(),
        "{error:?}"
    );
    assert!(error.to_string().contains("LOST"), "{error}");
    let (result, is_there, output) = run(None, failing());
    assert!(matches!(result, Err(Error::Disk(_))) && is_there && output.is_none(), "{result:?}");

    let disk = SimDisk::new(SimOptions { capacity_bytes: tight, ..SimOptions::default() });
    disk.put("/d/in", &bytes);
    let in_place = SortOptions { output: "/d/in".into(), ..options.clone() };
    sort(&in_place, &disk, &Unobserved).unwrap();
    assert!(disk.get("/d/in") == Some(oracle(&layout, &bytes)), "the output in the input's place");
}

#[test]
fn a_file_that_is_no_multiple_of_the_record_is_refused() {
    let layout = Format::Gensort.layout();
    let directory = directory();
    fs::write(directory.path().join("in"), vec![0; 1_050]).unwrap();
    let error = run(&options(&layout, directory.path(), 1 << 20, 2)).unwrap_err();
    assert!(matches!(error, Error::Input { .. }));
    assert!(error.to_string().contains("50 bytes are left over"), "{error}");
    assert!(!directory.path().join("out").exists());
}

#[test]
fn the_budget_that_an_error_names_is_enough() {
    let layout = Format::Gensort.layout();
    let bytes = generated(Format::Gensort, Pattern::Uniform, 30_000);
    let directory = directory();
    fs::write(directory.path().join("in"), &bytes).unwrap();
    let mut options = options(&layout, directory.path(), 4_096, 4);
    let Error::Memory { needed_bytes, .. } = run(&options).unwrap_err() else {
        panic!("no such error")
    };
    options.budget_bytes = needed_bytes;
    run(&options).unwrap();
    assert!(fs::read(directory.path().join("out")).unwrap() == oracle(&layout, &bytes));
}
