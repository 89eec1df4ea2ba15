//! Sorts that are interrupted again and again, and resumed each time, on the simulated disk. Power
//! cuts come after some operations, and signals stop the process. In the end the output is that of
//! an uninterrupted sort, and no other file remains.
//!
//! The seeds are those of `seeds.rs`.

use crate::adversity::{Impatient, NOW_AND_THEN, smooth_or_rough};
use crate::simulation::{layout, least_budget, options, put, records};
use crate::sort::oracle;
use std::path::PathBuf;
use std::time::Duration;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::lines::{ByBytes, Content, LinesCheckpoint, LinesInput};
use xsort_extsort::records::Method;
use xsort_extsort::{
    Begin, Checkpoint, Codec, Error, LinesOptions, SortOptions, SortReport, sort, sort_lines,
};
use xsort_records::Layout;
use xsort_testing::{Random, for_each_seed};

pub(crate) const RESUME: Option<Checkpoint> =
    Some(Checkpoint { begin: Begin::Resume, every: Duration::ZERO });

/// Returns files that only an unfinished sort has.
pub(crate) fn kept(disk: &SimDisk) -> Vec<PathBuf> {
    let is_hidden = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with('.');
    disk.paths().into_iter().filter(is_hidden).collect()
}

/// Simulates a sort of any records. Returns the number of interruptions.
fn simulate(seed: u64) -> Result<u64, String> {
    let random = &mut Random::new(seed);
    let layout = layout(random);
    let bytes = records(random, &layout);
    let mut settings = smooth_or_rough(random, seed);
    if random.between(0, 3) == 0 {
        // Not enough space for inputs and output together, but enough for the journal, which is
        // long for such short steps.
        settings.capacity_bytes = Some(bytes.len() as u64 * 23 / 10 + 4096 * 1500);
    }
    sort_interrupted(random, settings, &layout, &bytes)
}

/// Simulates a sort with keys so long that a journal step takes several frames.
fn simulate_long_keys(seed: u64) -> Result<u64, String> {
    let random = &mut Random::new(seed);
    let layout = Layout::new(4096, vec!["0:4096".parse().unwrap()]).unwrap();
    let records = random.between(200, 500);
    let bytes: Vec<u8> = (0..records * 4096).map(|_| random.word() as u8).collect();
    let settings = smooth_or_rough(random, seed);
    sort_interrupted(random, settings, &layout, &bytes)
}

/// Sorts these records. Returns the number of interruptions.
fn sort_interrupted(
    random: &mut Random,
    settings: SimOptions,
    layout: &Layout,
    bytes: &[u8],
) -> Result<u64, String> {
    let inputs = random.one_of(&[1, 1, 2, 5]);
    let mut options = options(random, layout, inputs);
    // Flush the journal at once or as late as possible: in one append with many frames.
    let every = random.one_of(&[Duration::ZERO, Duration::ZERO, Duration::MAX]);
    options.checkpoint = Some(Checkpoint { begin: Begin::Resume, every });
    options.budget_bytes =
        least_budget(&options, bytes) * random.one_of(&[100, 101, 130, 200, 400, 3_000]) / 100;
    let disk = SimDisk::new(settings);
    let parts = put(&disk, &options, bytes);
    disk.put(&options.output, "old");
    let sorted = oracle(layout, bytes);

    let mut interruptions = 0;
    // Each attempt progresses, so the loop ends.
    for attempt in 0..400 {
        let is_last = attempt == 399 || random.between(0, 40) == 0;
        let all = (bytes.len() as u64 * 3).max(1);
        let observer = Impatient::after(match random.between(0, 2) {
            0 if !is_last => random.between(0, all),
            _ => u64::MAX,
        });
        if !is_last && observer.patience == u64::MAX {
            disk.power_goes_after(random.between(0, 150 + 40 * attempt));
        }
        let result = sort(&options, &disk, &observer);
        // Power cuts also follow a sort that reports success. A process that was only told to stop
        // also leaves data that isn't durable.
        if !is_last && (observer.patience == u64::MAX || random.between(0, 1) == 0) {
            disk.power_cut();
        }
        disk.await_transfers();
        match result {
            Ok(report) => {
                if disk.get(&options.output).as_ref() != Some(&sorted) {
                    return Err(format!("success at attempt {attempt}, but the output is wrong"));
                }
                if report.records != (bytes.len() / layout.record_bytes()) as u64 {
                    return Err("the report is wrong".into());
                }
                for (path, part) in options.inputs.iter().zip(parts) {
                    match disk.get(path) {
                        Some(there) if there == part => {}
                        None if options.remove_input => {}
                        _ => return Err(format!("{} is damaged", path.display())),
                    }
                }
                return match kept(&disk) {
                    left if left.is_empty() && disk.open_files() == 0 => Ok(interruptions),
                    left => Err(format!("{left:?} and {} open files are left", disk.open_files())),
                };
            }
            // The disk was full at the start, as it would be without a checkpoint.
            Err(Error::Space { .. } | Error::ScratchFull { .. }) if attempt == 0 => return Ok(0),
            Err(error) if is_last => return Err(format!("attempt {attempt} failed: {error}")),
            Err(_) => interruptions += 1,
        }
        match disk.get(&options.output) {
            Some(there) if there == b"old" || there == sorted => {}
            _ => return Err("the old output is damaged".into()),
        }
    }
    unreachable!("the last attempt is not interrupted")
}

/// Runs all seeds. `simulate` returns the number of interruptions; without any, the test would
/// prove nothing.
fn interrupted_at_any_time(name: &str, few: u64, simulate: impl Fn(u64) -> Result<u64, String>) {
    let mut interruptions = 0;
    let tried = for_each_seed(name, few, |seed| {
        interruptions += simulate(seed)?;
        Ok(())
    });
    assert!(interruptions > 0 || tried == 1);
}

#[test]
fn a_sort_that_is_interrupted_at_any_time_goes_on() {
    interrupted_at_any_time("resumed sort", 40, simulate);
}

#[test]
fn a_sort_by_long_keys_that_is_interrupted_at_any_time_goes_on() {
    interrupted_at_any_time("resumed sort by long keys", 10, simulate_long_keys);
}

/// Returns a sort of 100-byte records that spills nearly all of them, in several passes if
/// `budget_percent` is small.
fn sample(method: Method, budget_percent: u64) -> (SimDisk, SortOptions, Vec<u8>) {
    let random = &mut Random::new(7);
    let layout = Layout::new(100, vec!["0:10".parse().unwrap()]).unwrap();
    let bytes: Vec<u8> = (0..40_000)
        .flat_map(|_| (0..100).map(|_| random.word() as u8).collect::<Vec<u8>>())
        .collect();
    let mut options = options(random, &layout, 2);
    (options.method, options.threads, options.remove_input) = (method, 2, false);
    options.budget_bytes = least_budget(&options, &bytes) * budget_percent / 100;
    options.checkpoint = RESUME;
    let disk = SimDisk::new(SimOptions::default());
    put(&disk, &options, &bytes);
    (disk, options, bytes)
}

fn interrupted(disk: &SimDisk, options: &SortOptions, patience: u64) {
    let error = sort(options, disk, &Impatient::after(patience)).unwrap_err();
    assert!(matches!(error, Error::Resumable { .. }), "{error}");
    assert!(error.to_string().contains("--resume"), "{error}");
    disk.power_cut();
    assert!(!kept(disk).is_empty());
}

fn finished(disk: &SimDisk, options: &SortOptions) -> SortReport {
    let report = sort(options, disk, &Impatient::after(u64::MAX)).unwrap();
    assert!(kept(disk).is_empty(), "{:?}", kept(disk));
    report
}

#[test]
fn what_is_finished_is_not_done_again() {
    for method in [Method::Merge, Method::Scatter] {
        for budget_percent in [110, 300] {
            let (disk, options, bytes) = sample(method, budget_percent);
            let observer = Impatient::after(u64::MAX);
            let whole = sort(&options, &disk, &observer).unwrap();
            let all = whole.moved.read_bytes + whole.moved.written_bytes;
            interrupted(&disk, &options, observer.done.into_inner() * 9 / 10);
            let rest = finished(&disk, &options);
            let moved = rest.moved.read_bytes + rest.moved.written_bytes;
            assert!(
                moved < all * 2 / 5,
                "{method:?}: {moved} bytes moved by the rest, {all} by the whole"
            );
            assert_eq!(rest.checksum, whole.checksum);
            let layout = &options.layout;
            assert_eq!(disk.get(&options.output), Some(oracle(layout, &bytes)));
        }
    }
}

#[test]
fn a_changed_input_is_refused() {
    let (disk, options, bytes) = sample(Method::Merge, 200);
    interrupted(&disk, &options, bytes.len() as u64 / 2);
    let path = &options.inputs[1];
    let was = disk.get(path).unwrap();
    for change in [vec![], [&was[..], &[0; 100]].concat(), {
        let mut other = was.clone();
        other[17] ^= 1;
        other
    }] {
        disk.put(path, &change);
        let error = sort(&options, &disk, &xsort_extsort::Unobserved).unwrap_err();
        assert!(matches!(&error, Error::Input { .. }), "{error}");
        assert!(error.to_string().contains("--restart"), "{error}");
    }
    disk.put(path, &was);
    finished(&disk, &options);
}

#[test]
fn other_arguments_are_refused_and_restart_begins_anew() {
    let (disk, options, bytes) = sample(Method::Merge, 200);
    interrupted(&disk, &options, bytes.len() as u64 / 2);
    let other_key = Layout::new(100, vec!["3:10".parse().unwrap()]).unwrap();
    let less = options.budget_bytes / 2;
    let new = Some(Checkpoint { begin: Begin::New, every: Duration::ZERO });
    for other in [
        SortOptions { layout: other_key.clone(), ..options.clone() },
        SortOptions { budget_bytes: less, ..options.clone() },
        SortOptions { inputs: options.inputs[..1].to_vec(), ..options.clone() },
        SortOptions { checkpoint: new, ..options.clone() },
    ] {
        let error = sort(&other, &disk, &xsort_extsort::Unobserved).unwrap_err();
        assert!(matches!(&error, Error::Settings(_)), "{error}");
        assert!(error.to_string().contains("--restart"), "{error}");
    }
    let restart = Some(Checkpoint { begin: Begin::Restart, every: Duration::ZERO });
    let other = SortOptions { layout: other_key.clone(), checkpoint: restart, ..options.clone() };
    finished(&disk, &other);
    assert_eq!(disk.get(&options.output), Some(oracle(&other_key, &bytes)));
}

/// Appends a line of one to some thousand bytes, with few or many different ones.
fn line(random: &mut Random, text: &mut Vec<u8>) {
    let bytes = random.one_of(&[0, 1, 3, 10, 10, 30, 30, 100, 5_000]);
    let spread = random.one_of(&[2, 26]);
    text.extend((0..bytes).map(|_| b'a' + (random.word() % spread) as u8));
    text.push(b'\n');
}

fn text(random: &mut Random) -> Vec<u8> {
    let (mut text, bytes) = (Vec::new(), random.one_of(&[100, 100_000, 3_000_000]));
    while text.len() < bytes {
        line(random, &mut text);
    }
    // The last line may lack its delimiter.
    text.truncate(text.len() - random.between(0, 1) as usize);
    text
}

fn lines_options(random: &mut Random, inputs: &[PathBuf]) -> LinesOptions {
    let checkpoint = LinesCheckpoint {
        checkpoint: RESUME.unwrap(),
        output: "/out/sorted".into(),
        inputs: inputs.to_vec(),
        meaning: String::new(),
    };
    LinesOptions {
        is_unique: random.between(0, 2) == 0,
        threads: random.between(1, 3) as usize,
        scratch: (0..random.between(1, 2))
            .map(|number| format!("/scratch{number}").into())
            .collect(),
        codec: random.one_of(&[None, Some(NOW_AND_THEN), Some(Codec::Lz4)]),
        checkpoint: Some(checkpoint),
        ..LinesOptions::new(2 << 20, 1)
    }
}

/// The oracle: the standard library's sort.
fn sorted_lines(texts: &[Vec<u8>], is_unique: bool) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = Vec::new();
    for text in texts {
        lines.extend(text.strip_suffix(b"\n").unwrap_or(text).split(|&byte| byte == b'\n'));
    }
    lines.sort();
    if is_unique {
        lines.dedup();
    }
    lines.push(b"");
    lines.join(&b'\n')
}

fn simulate_lines(seed: u64) -> Result<u64, String> {
    let random = &mut Random::new(seed);
    let inputs: Vec<PathBuf> =
        (0..random.one_of(&[1, 3])).map(|number| format!("/in/{number}").into()).collect();
    let texts: Vec<Vec<u8>> = inputs.iter().map(|_| text(random)).collect();
    let disk = SimDisk::new(smooth_or_rough(random, seed));
    inputs.iter().zip(&texts).for_each(|(path, text)| disk.put(path, text));
    let options = lines_options(random, &inputs);
    disk.put("/out/sorted", "old");
    let sorted = sorted_lines(&texts, options.is_unique);
    let all: u64 = texts.iter().map(|text| text.len() as u64).sum();
    let mut interruptions = 0;
    for attempt in 0.. {
        let is_last = random.between(0, 20) == 0;
        let sources = inputs.iter().zip(&texts).map(|(path, text)| LinesInput {
            path: path.clone(),
            bytes: Some(text.len() as u64),
            content: Content::Stream(Box::new(std::io::Cursor::new(text.clone()))),
        });
        let observer = Impatient::after(match random.between(0, 2) {
            0 if !is_last => random.between(0, 2 * all),
            _ => u64::MAX,
        });
        if !is_last && observer.patience == u64::MAX {
            disk.power_goes_after(random.between(0, 100 + 20 * attempt));
        }
        let result = sort_lines(
            &options,
            &ByBytes,
            sources.collect(),
            &mut std::io::sink(),
            &disk,
            &observer,
        );
        if !is_last && (observer.patience == u64::MAX || random.between(0, 1) == 0) {
            disk.power_cut();
        }
        disk.await_transfers();
        let output = disk.get("/out/sorted").ok_or("no output at all")?;
        match result {
            Ok(_) if output != sorted => {
                return Err(format!("success at attempt {attempt}, but the output is wrong"));
            }
            Ok(report) if report.written_bytes != output.len() as u64 => {
                return Err(format!("{} bytes written, says the report", report.written_bytes));
            }
            Ok(_) => match kept(&disk) {
                left if left.is_empty() && disk.open_files() == 0 => return Ok(interruptions),
                left => {
                    return Err(format!("{left:?} and {} open files are left", disk.open_files()));
                }
            },
            Err(error) if is_last => return Err(format!("attempt {attempt} failed: {error}")),
            Err(_) if output == b"old" || output == sorted => interruptions += 1,
            Err(error) => return Err(format!("the old output is damaged after {error}")),
        }
    }
    unreachable!("the last attempt is not interrupted")
}

#[test]
fn a_sort_of_lines_that_is_interrupted_at_any_time_goes_on() {
    interrupted_at_any_time("resumed sort of lines", 10, simulate_lines);
}
