//! Sorts inputs that are sorted already, nearly, or only at the places that are sampled. Compared
//! with the standard library's stable sort.

use crate::lines::options;
use crate::sort::{generated, options as sort_options, oracle};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::lines::{LinesInput, SortedOutput, sort_lines_to};
use xsort_extsort::records::Method;
use xsort_extsort::{Error, LinesOptions, LinesReport, SortOptions, Unobserved, sort};
use xsort_kernels::lines::{ByBytes, ByBytesReversed, LineKernels};
use xsort_records::{Format, Layout, Pattern};
use xsort_testing::{Random, for_each_seed};

const MIB: u64 = 1 << 20;
/// Far more than the samples of a file have.
const LINES: usize = 400_000;

/// Lines in order, each of 20 bytes. Every key occurs `repeats` times.
fn sorted_lines(repeats: usize) -> Vec<String> {
    (0..LINES).map(|number| format!("{:012} {:06}", number / repeats * 7, 0)).collect()
}

fn write(directory: &Path, name: &str, lines: &[String], has_end: bool) -> LinesInput {
    let path = directory.join(name);
    fs::write(&path, lines.join("\n") + if has_end { "\n" } else { "" }).unwrap();
    LinesInput::at(&path)
}

/// Sorts `files`, each of some lines, and compares the result.
fn check(
    files: &[&[String]],
    order: &dyn LineKernels,
    is_descending: bool,
    (budget_bytes, threads): (u64, usize),
) -> LinesReport {
    let directory = tempfile::tempdir().unwrap();
    let disk = SimDisk::new(SimOptions::rough(7));
    let inputs = files.iter().enumerate().map(|(number, lines)| {
        write(directory.path(), &number.to_string(), lines, number + 1 < files.len())
    });
    let output = SortedOutput::File { path: "/out/sorted".as_ref(), sync: false };
    let options = options(budget_bytes, threads, false);
    let report =
        sort_lines_to(&options, order, inputs.collect(), output, &disk, &Unobserved).unwrap();
    let mut expected = files.concat();
    expected.sort();
    if is_descending {
        expected.reverse();
    }
    let expected_text = expected.join("\n") + "\n";
    assert!(disk.get(Path::new("/out/sorted")).unwrap() == expected_text.into_bytes());
    assert_eq!(report.lines, expected.len() as u64);
    report
}

#[test]
fn what_is_in_order_never_goes_to_scratch() {
    for (repeats, threads) in [(1, 1), (1, 2), (2, 5), (LINES, 2)] {
        let lines = sorted_lines(repeats);
        let report = check(&[&lines], &ByBytes, false, (2 * MIB, threads));
        assert_eq!(report.spilled_bytes, 0, "{repeats} {threads}");
        let (first, rest) = lines.split_at(LINES / 3);
        let report = check(&[first, rest], &ByBytes, false, (2 * MIB, threads));
        assert_eq!(report.spilled_bytes, 0, "{repeats} {threads}");
    }
    let mut lines = sorted_lines(3);
    lines.reverse();
    let report = check(&[&lines], &ByBytesReversed, true, (2 * MIB, 2));
    assert_eq!(report.spilled_bytes, 0);
}

#[test]
fn what_was_appended_to_sorted_lines_is_all_that_goes_to_scratch() {
    let mut lines = sorted_lines(1);
    // A tenth of the file: 800 KB, so that not all of it is in memory at once.
    lines[LINES - LINES / 10..].reverse();
    let report = check(&[&lines], &ByBytes, false, (2 * MIB, 2));
    assert!((1..2_500_000).contains(&report.spilled_bytes), "{}", report.spilled_bytes);
}

/// Deals lines in order to this number of sorted stretches.
fn dealt(lines: &[String], stretches: usize) -> Vec<Vec<String>> {
    let of = |first| lines.iter().skip(first).step_by(stretches).cloned().collect();
    (0..stretches).map(of).collect()
}

#[test]
fn sorted_stretches_are_merged_where_they_are() {
    for (stretches, threads, mebibytes) in [(2, 1, 2), (3, 2, 2), (8, 2, 3), (20, 5, 5)] {
        for repeats in [1, 2 * stretches] {
            let parts = dealt(&sorted_lines(repeats), stretches);
            let all: Vec<String> = parts.concat();
            let files: Vec<&[String]> = parts.iter().map(Vec::as_slice).collect();
            for files in [&[&*all][..], &files] {
                let report = check(files, &ByBytes, false, (mebibytes * MIB, threads));
                assert_eq!(report.spilled_bytes, 0, "{stretches} {threads} {}", files.len());
                assert!(report.checksum.is_some());
            }
        }
    }
}

#[test]
fn of_stretches_and_a_rest_only_the_rest_is_sorted() {
    for (stretches, threads) in [(1, 1), (1, 2), (4, 3)] {
        let lines = sorted_lines(1);
        let (mut rest, lines): (Vec<_>, Vec<_>) =
            lines.into_iter().enumerate().partition(|(number, _)| number % 90 == 0);
        rest.sort_by_key(|(number, _)| number * 7_919 % 10_007);
        let texts = |lines: Vec<(usize, String)>| lines.into_iter().map(|(_, line)| line);
        let mut all = dealt(&texts(lines).collect::<Vec<_>>(), stretches).concat();
        all.extend(texts(rest));
        let report = check(&[&all], &ByBytes, false, (3 * MIB, threads));
        let spilled_bytes = report.spilled_bytes;
        assert!(spilled_bytes < 200_000, "{stretches} {threads}: {spilled_bytes}");
    }
}

/// A file that became shorter after its size was asked for can't be read in parts. It is sorted as
/// it then is.
#[test]
fn a_file_that_was_cut_is_sorted_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let parts = dealt(&sorted_lines(1), 3).concat();
    let input = write(directory.path(), "in", &parts, true);
    fs::OpenOptions::new().write(true).open(&input.path).unwrap().set_len(5_000_000).unwrap();
    let disk = SimDisk::new(SimOptions::default());
    let output = SortedOutput::File { path: Path::new("/out/sorted"), sync: false };
    let options = options(2 * MIB, 2, false);
    let report = sort_lines_to(&options, &ByBytes, vec![input], output, &disk, &Unobserved);
    let mut expected = parts[..250_000].to_vec();
    expected.sort();
    assert_eq!(report.unwrap().lines, 250_000);
    let sorted = disk.get(Path::new("/out/sorted")).unwrap();
    assert!(sorted == (expected.join("\n") + "\n").into_bytes());
}

/// Some threads wait for their turn to write when another one fails. They once waited for ever.
#[test]
fn a_drive_that_is_full_ends_the_output_of_phase_one() {
    let directory = tempfile::tempdir().unwrap();
    let lines = sorted_lines(1);
    for threads in [1, 2, 5] {
        let input = write(directory.path(), "in", &lines, true);
        let settings = SimOptions { capacity_bytes: Some(1 << 20), ..SimOptions::default() };
        let disk = SimDisk::new(settings);
        let output = SortedOutput::File { path: Path::new("/out/sorted"), sync: false };
        let options = options(2 * MIB, threads, false);
        let sorted = sort_lines_to(&options, &ByBytes, vec![input], output, &disk, &Unobserved);
        let said = sorted.unwrap_err().to_string();
        assert!(said.contains("/out/sorted") && said.contains("No space left"), "{said}");
        assert_eq!((disk.open_files(), disk.paths().len()), (0, 0));
    }
}

/// An input that fails late leaves the file that the output writes to as it was: empty.
#[test]
fn what_was_written_before_an_error_is_taken_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut lines = sorted_lines(1);
    lines.push("x".repeat(3 << 20));
    let input = write(directory.path(), "in", &lines, true);
    let disk = SimDisk::new(SimOptions::default());
    disk.put(Path::new("/out"), b"");
    let output_file = Some(PathBuf::from("/out"));
    let options = LinesOptions { output_file, ..options(2 * MIB, 2, false) };
    let mut nothing = io::sink();
    let output = SortedOutput::Stream(&mut nothing);
    let error = sort_lines_to(&options, &ByBytes, vec![input], output, &disk, &Unobserved);
    assert!(matches!(error, Err(Error::LongLine { .. })), "{error:?}");
    assert_eq!(disk.get(Path::new("/out")).unwrap(), b"");
}

#[test]
fn a_wrong_guess_is_noticed_wherever_it_is_wrong() {
    let mut wrong = 0;
    let tried = for_each_seed("nearly in order", 12, |seed| {
        let mut random = Random::new(seed);
        let mut lines =
            dealt(&sorted_lines(random.one_of(&[1, 5])), random.one_of(&[1, 3])).concat();
        let (at, other) = (random.below(LINES), random.below(LINES));
        match random.below(6) {
            0 => lines.swap(at, other),
            1 => lines.swap(at, (at + 1).min(LINES - 1)),
            2 => lines.rotate_left(at),
            3 => lines.swap(at, at.saturating_sub(2_000)),
            4 => lines[at.min(other)..at.max(other)].reverse(),
            _ => {
                let line = lines.remove(at);
                lines.push(line);
            }
        }
        let threads = random.one_of(&[1, 2, 3]);
        let report = check(&[&lines], &ByBytes, false, (2 * MIB, threads));
        wrong += u32::from(report.spilled_bytes > 0);
        Ok(())
    });
    assert!(tried < 12 || wrong > 1, "{wrong}");
}

/// Sorts files of records, and compares the result. Returns the names of the sort's phases.
fn check_records(files: &[Vec<u8>], budget_bytes: u64, threads: usize) -> Vec<&'static str> {
    let layout = Format::Gensort.layout();
    let disk = SimDisk::new(SimOptions::rough(7));
    let paths: Vec<_> =
        (0..files.len()).map(|number| PathBuf::from(format!("in{number}"))).collect();
    paths.iter().zip(files).for_each(|(path, bytes)| disk.put(path, bytes));
    let options = SortOptions {
        inputs: paths,
        method: Method::Auto,
        ..sort_options(&layout, Path::new(""), budget_bytes, threads)
    };
    let report = sort(&options, &disk, &Unobserved).unwrap();
    let sorted = disk.get(&options.output).unwrap();
    assert!(sorted == oracle(&layout, &files.concat()), "{} files", files.len());
    report.phases.iter().map(|phase| phase.name).collect()
}

fn sorted_records(records: u64) -> Vec<u8> {
    oracle(&Format::Gensort.layout(), &generated(Format::Gensort, Pattern::Uniform, records))
}

#[test]
fn records_in_order_are_copied() {
    let all = sorted_records(100_000);
    let (first, rest) = all.split_at(100 * 33_333);
    let small: Vec<Vec<u8>> = all.chunks(100 * 1_001).map(<[u8]>::to_vec).collect();
    for files in [vec![all.clone()], vec![first.to_vec(), Vec::new(), rest.to_vec()], small] {
        for threads in [1, 2, 5] {
            let phases = check_records(&files, 8 * MIB, threads);
            assert!(phases.contains(&"copy"), "{phases:?}");
            assert!(!phases.contains(&"gather") && !phases.contains(&"merge"), "{phases:?}");
        }
    }
    let same = b"0123456789".repeat(1_000_000);
    assert!(check_records(&[same], 8 * MIB, 2).contains(&"copy"));
    let random = generated(Format::Gensort, Pattern::Uniform, 100_000);
    assert!(!check_records(&[random], 8 * MIB, 2).contains(&"copy"));
}

/// Deals records in order to some sorted stretches.
fn dealt_records(all: &[u8], stretches: usize) -> Vec<Vec<u8>> {
    let records: Vec<&[u8]> = all.chunks(100).collect();
    (0..stretches)
        .map(|first| {
            records[first..].iter().step_by(stretches).copied().collect::<Vec<_>>().concat()
        })
        .collect()
}

#[test]
fn sorted_stretches_of_records_are_merged_where_they_are() {
    let all = sorted_records(100_000);
    let equal = b"0123456789".repeat(500_000);
    for (data, stretches, threads) in
        [(&all, 2, 1), (&all, 3, 2), (&all, 8, 2), (&all, 20, 5), (&equal, 3, 2)]
    {
        let parts = dealt_records(data, stretches);
        let (first, rest) = parts.split_at(stretches / 2);
        for files in [vec![parts.concat()], parts.clone(), vec![first.concat(), rest.concat()]] {
            let phases = check_records(&files, 5 * MIB, threads);
            let is_expected = phases.contains(&"index") || *data == equal;
            assert!(is_expected && !phases.contains(&"gather"), "{stretches}: {phases:?}");
        }
    }
}

#[test]
fn of_stretches_and_a_rest_of_records_only_the_rest_is_sorted() {
    let (in_order, rest): (Vec<_>, Vec<_>) = sorted_records(100_000)
        .chunks(100)
        .map(<[u8]>::to_vec)
        .enumerate()
        .partition(|(number, _)| number % 90 != 0);
    let in_order: Vec<u8> = in_order.into_iter().flat_map(|(_, record)| record).collect();
    let mut rest = rest;
    rest.sort_by_key(|(number, _)| number * 7_919 % 10_007);
    let rest: Vec<u8> = rest.into_iter().flat_map(|(_, record)| record).collect();
    for (stretches, threads) in [(1, 1), (1, 2), (4, 3)] {
        let mut files = dealt_records(&in_order, stretches);
        files.push(rest.clone());
        for files in [vec![files.concat()], files] {
            let phases = check_records(&files, 6 * MIB, threads);
            assert!(phases.contains(&"sort") && !phases.contains(&"gather"), "{phases:?}");
        }
    }
}

/// Records so large that a place has one, which is in order by itself.
#[test]
fn large_records_in_any_order_are_not_taken_for_stretches() {
    let layout = Layout::new(40_000, vec!["0:4".parse().unwrap()]).unwrap();
    let disk = SimDisk::new(SimOptions::rough(7));
    let mut random = Random::new(3);
    let bytes: Vec<u8> = (0..500)
        .flat_map(|_| {
            let mut record = vec![7; 40_000];
            record[..8].copy_from_slice(&random.word().to_be_bytes());
            record
        })
        .collect();
    disk.put("in", &bytes);
    let options = SortOptions {
        inputs: vec!["in".into()],
        method: Method::Auto,
        ..sort_options(&layout, Path::new(""), 8 * MIB, 2)
    };
    let report = sort(&options, &disk, &Unobserved).unwrap();
    assert!(disk.get(&options.output).unwrap() == oracle(&layout, &bytes));
    assert!(report.phases.iter().all(|phase| phase.name != "index"));
}

#[test]
fn records_that_only_look_sorted_are_sorted() {
    let all = sorted_records(200_000);
    let mut wrong = 0;
    let tried = for_each_seed("records nearly in order", 8, |seed| {
        let mut random = Random::new(seed);
        let mut records: Vec<&[u8]> = all.chunks(100).collect();
        let (at, other) = (random.below(200_000), random.below(200_000));
        match random.below(6) {
            0 => records.swap(at, other),
            1 => records.swap(at, at.saturating_sub(1)),
            2 => records.swap(at, at.saturating_sub(3_000)),
            3 => records[at.min(other)..at.max(other)].reverse(),
            4 => records.rotate_left(at),
            _ => {
                records.rotate_left(at);
                records.swap(at, other);
            }
        }
        let threads = random.one_of(&[1, 2, 3]);
        let phases = check_records(&[records.concat()], 8 * MIB, threads);
        wrong += u32::from(phases.contains(&"gather"));
        Ok(())
    });
    assert!(tried < 8 || wrong > 0, "{wrong}");
}
