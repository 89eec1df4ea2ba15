//! Interrupted sorts whose files have changed when they are resumed: a hidden output or scratch
//! that is lost, cut, zeroed or older, replaced inputs, a finished output that another program
//! changed, and several sorts to one output at once. A sort that reports success has the right
//! output. A sort that can't succeed reports that, and a new start works while the inputs exist.
//! Inputs are never removed while anything else is missing.
//!
//! The seeds are those of `seeds.rs`.

use crate::adversity::{Impatient, smooth_or_rough};
use crate::simulation::{layout, least_budget, options, put, records};
use crate::sort::oracle;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::lines::{ByBytes, Content, LinesCheckpoint, LinesInput};
use xsort_extsort::{
    Begin, Checkpoint, Error, LinesOptions, Observer, SortOptions, Unobserved, sort, sort_lines,
};
use xsort_testing::{Random, for_each_seed};

/// Seeds of an ordinary run.
const FEW: u64 = 25;

/// A sort that can be run repeatedly.
struct Trial {
    disk: SimDisk,
    inputs: Vec<(PathBuf, Vec<u8>)>,
    output: PathBuf,
    sorted: Vec<u8>,
    removes_inputs: bool,
    run: fn(&Trial, Begin, &dyn Observer) -> Result<(), Error>,
    records: Option<SortOptions>,
    lines: Option<LinesOptions>,
}

impl Trial {
    fn run(&self, begin: Begin, observer: &dyn Observer) -> Result<(), Error> {
        (self.run)(self, begin, observer)
    }

    fn of_records(random: &mut Random, seed: u64) -> Trial {
        let layout = layout(random);
        let bytes = records(random, &layout);
        let inputs = random.one_of(&[1, 1, 2, 5]);
        let mut options = options(random, &layout, inputs);
        options.budget_bytes =
            least_budget(&options, &bytes) * random.one_of(&[100, 101, 130, 200, 400]) / 100;
        let mut settings = smooth_or_rough(random, seed);
        if options.remove_input && random.between(0, 1) == 0 {
            // Space is so small that inputs are removed before the output is written.
            settings.capacity_bytes = Some(bytes.len() as u64 * 23 / 10 + 4096 * 1500);
        }
        let disk = SimDisk::new(settings);
        let parts = put(&disk, &options, &bytes);
        let parts =
            options.inputs.iter().cloned().zip(parts.into_iter().map(<[u8]>::to_vec)).collect();
        Trial {
            disk,
            inputs: parts,
            output: options.output.clone(),
            sorted: oracle(&layout, &bytes),
            removes_inputs: options.remove_input,
            run: |trial, begin, observer| {
                let checkpoint = Some(Checkpoint { begin, every: Duration::ZERO });
                let options = SortOptions { checkpoint, ..trial.records.clone().unwrap() };
                sort(&options, &trial.disk, observer).map(drop)
            },
            records: Some(options),
            lines: None,
        }
    }

    fn of_lines(random: &mut Random, seed: u64) -> Trial {
        let disk = SimDisk::new(smooth_or_rough(random, seed));
        let mut inputs = Vec::new();
        for number in 0..random.one_of(&[1, 2]) {
            let bytes = random.one_of(&[1000, 100_000, 3_000_000]);
            let mut text = Vec::new();
            while text.len() < bytes {
                let length = random.one_of(&[0, 3, 10, 30, 30, 100]);
                text.extend((0..length).map(|_| b'a' + (random.word() % 26) as u8));
                text.push(b'\n');
            }
            let path = PathBuf::from(format!("/in/{number}"));
            disk.put(&path, &text);
            inputs.push((path, text));
        }
        let output = PathBuf::from("/out/sorted");
        let options = LinesOptions {
            threads: random.between(1, 3) as usize,
            scratch: (0..random.between(1, 2))
                .map(|number| format!("/scratch{number}").into())
                .collect(),
            ..LinesOptions::new(2 << 20, 1)
        };
        let mut trial = Trial {
            disk,
            inputs,
            output,
            sorted: Vec::new(),
            removes_inputs: false,
            run: |trial, begin, observer| {
                let checkpoint = LinesCheckpoint {
                    checkpoint: Checkpoint { begin, every: Duration::ZERO },
                    output: trial.output.clone(),
                    inputs: trial.inputs.iter().map(|(path, _)| path.clone()).collect(),
                    meaning: String::new(),
                };
                let options =
                    LinesOptions { checkpoint: Some(checkpoint), ..trial.lines.clone().unwrap() };
                let sources = trial.inputs.iter().map(|(path, _)| {
                    let there = trial.disk.get(path).unwrap_or_default();
                    let bytes = Some(there.len() as u64);
                    let content = Content::Stream(Box::new(std::io::Cursor::new(there)));
                    LinesInput { path: path.clone(), bytes, content }
                });
                let sink = &mut std::io::sink();
                sort_lines(&options, &ByBytes, sources.collect(), sink, &trial.disk, observer)
                    .map(drop)
            },
            records: None,
            lines: Some(options),
        };
        trial.sorted =
            trial.sort(&trial.inputs.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>());
        trial
    }

    /// Sorts with the standard library.
    fn sort(&self, contents: &[Vec<u8>]) -> Vec<u8> {
        let whole = contents.concat();
        if let Some(options) = &self.records {
            return oracle(&options.layout, &whole);
        }
        let mut lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        lines.sort_unstable_by_key(|line| &line[..line.len() - 1]);
        lines.concat()
    }

    /// Returns the hidden files whose names contain `part`.
    fn hidden(&self, part: &str) -> Vec<PathBuf> {
        let is_it = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with('.') && name.contains(part)
        };
        self.disk.paths().into_iter().filter(is_it).collect()
    }

    fn has_all_inputs(&self) -> bool {
        self.inputs.iter().all(|(path, content)| self.disk.get(path).as_ref() == Some(content))
    }

    fn is_sorted(&self) -> bool {
        self.disk.get(&self.output).as_ref() == Some(&self.sorted)
    }

    /// Returns whether the output has the right length and is in order.
    fn is_in_order(&self) -> bool {
        let output = self.disk.get(&self.output).unwrap_or_default();
        output.len() == self.sorted.len() && self.sort(std::slice::from_ref(&output)) == output
    }

    /// Checks the output of a sort that reported success.
    fn judge_success(&self, when: &str) -> Result<(), String> {
        if !self.is_sorted() {
            return Err(format!("success {when}, but the output is wrong"));
        }
        match (self.hidden(""), self.disk.open_files()) {
            (left, 0) if left.is_empty() => {}
            (left, open) => {
                return Err(format!("success {when}: {left:?} and {open} open files are left"));
            }
        }
        if !self.removes_inputs && !self.has_all_inputs() {
            return Err(format!("success {when}, but an input is damaged"));
        }
        Ok(())
    }
}

/// Damages a file in an unexpected way.
fn damage(random: &mut Random, disk: &SimDisk, path: &Path, older: &[Vec<u8>]) {
    let Some(there) = disk.get(path) else { return };
    let other = match random.between(0, 5) {
        0 => return disk.remove(path),
        1 => there[..random.between(0, there.len() as u64) as usize].to_vec(),
        2 => vec![0; there.len()],
        3 if !there.is_empty() => {
            let mut other = there;
            let at = random.between(0, other.len() as u64 - 1) as usize;
            other[at] ^= 1 << random.between(0, 7);
            other
        }
        4 if !older.is_empty() => older[random.between(0, older.len() as u64 - 1) as usize].clone(),
        _ => [&there[..], b"appended"].concat(),
    };
    // In place, or as a new file.
    if random.between(0, 1) == 0 { disk.overwrite(path, other) } else { disk.put(path, other) }
}

/// The changes of a sort's files between two attempts.
#[derive(Default)]
struct Tampered<'t> {
    files: u64,
    /// An input with changed content, and its old content.
    changed_input: Option<(&'t PathBuf, &'t Vec<u8>)>,
    /// Scratch or a finished output is lost, which may be all that is left of removed inputs.
    loses: bool,
}

/// Damages the hidden output, scratch, an input or the finished output, if they exist.
fn tamper<'t>(random: &mut Random, trial: &'t Trial, older: &[Vec<u8>]) -> Tampered<'t> {
    let mut tampered = Tampered::default();
    match random.between(0, 9) {
        0..=3 => {
            for path in trial.hidden(".output") {
                damage(random, &trial.disk, &path, older);
                tampered.files += 1;
            }
        }
        4 => {
            let scratch = trial.hidden(".scratch-");
            if !scratch.is_empty() {
                let path = &scratch[random.below(scratch.len())];
                damage(random, &trial.disk, path, &[]);
                tampered = Tampered { files: 1, loses: true, changed_input: None };
            }
        }
        5 => {
            let (path, content) = &trial.inputs[random.below(trial.inputs.len())];
            let is_there = trial.disk.get(path).is_some_and(|there| !there.is_empty());
            if is_there && !trial.hidden("").is_empty() {
                let mut other = content.clone();
                other[0] ^= 1;
                trial.disk.put(path, &other);
                let changed_input = Some((path, content));
                tampered = Tampered { files: 1, loses: false, changed_input };
            }
        }
        6 if trial.is_sorted() && !trial.hidden("").is_empty() => {
            damage(random, &trial.disk, &trial.output, older);
            if !trial.is_sorted() {
                tampered = Tampered { files: 1, loses: true, changed_input: None };
            }
        }
        _ => {}
    }
    tampered
}

/// Simulates a sort. Returns the number of changes.
fn simulate(random: &mut Random, trial: &Trial) -> Result<u64, String> {
    trial.disk.put(&trial.output, "old");
    let all = trial.sorted.len() as u64 * 3 + 1;
    let (mut tampered, mut older, mut lost) = (0, Vec::new(), None);
    for attempt in 0..200 {
        let Tampered { files, changed_input, loses } = tamper(random, trial, &older);
        tampered += files;
        if loses {
            lost.get_or_insert(trial.has_all_inputs());
        }
        let is_interrupted = attempt < 190 && random.between(0, 3) > 0;
        let observer = Impatient::after(match random.between(0, 1) {
            0 if is_interrupted => random.between(0, all),
            _ => u64::MAX,
        });
        if is_interrupted && observer.patience == u64::MAX {
            trial.disk.power_goes_after(random.between(0, 150 + 40 * attempt));
        }
        let result = trial.run(Begin::Resume, &observer);
        if is_interrupted {
            trial.disk.power_cut();
        }
        older.extend(trial.hidden(".output").iter().filter_map(|path| trial.disk.get(path)));
        if let Some((path, content)) = changed_input {
            let now: Vec<_> =
                trial.inputs.iter().filter_map(|(path, _)| trial.disk.get(path)).collect();
            if result.is_ok()
                && !trial.removes_inputs
                && trial.disk.get(&trial.output) != Some(trial.sort(&now))
            {
                return Err(format!("success at attempt {attempt} with another input"));
            }
            // Or nothing was kept, and the changed input was sorted.
            if result.is_ok() {
                return Ok(tampered);
            }
            trial.disk.put(path, content);
            // Or a sort of the changed input has begun.
            lost.get_or_insert(true);
            continue;
        }
        match result {
            Ok(()) => {
                trial.judge_success(&format!("at attempt {attempt}"))?;
                return Ok(tampered);
            }
            Err(_) if is_interrupted => {}
            Err(Error::Space { .. } | Error::ScratchFull { .. }) => return Ok(tampered),
            Err(error) => match lost {
                // It can't be resumed, but all inputs for a new start exist.
                Some(_) if trial.has_all_inputs() => {
                    trial
                        .run(Begin::Restart, &Unobserved)
                        .map_err(|error| format!("restart: {error}"))?;
                    trial.judge_success("beginning anew")?;
                    return Ok(tampered);
                }
                // The inputs were removed as requested, before their only copy was lost.
                Some(false) => return Ok(tampered),
                Some(true) => {
                    return Err(format!("inputs went while scratch was damaged: {error}"));
                }
                None => return Err(format!("attempt {attempt} failed: {error}")),
            },
        }
    }
    Err("it doesn't end".into())
}

fn tampering_is_noticed(name: &str, few: u64, trial: fn(&mut Random, u64) -> Trial) {
    let mut tampered = 0;
    let tried = for_each_seed(name, few, |seed| {
        let random = &mut Random::new(seed);
        let trial = trial(random, seed);
        tampered += simulate(random, &trial)?;
        Ok(())
    });
    assert!(tampered > 0 || tried == 1);
}

#[test]
fn a_sort_whose_files_are_tampered_with_is_right_or_says_so() {
    tampering_is_noticed("tampered sort", FEW, Trial::of_records);
}

#[test]
fn a_sort_of_lines_whose_files_are_tampered_with_is_right_or_says_so() {
    tampering_is_noticed("tampered sort of lines", FEW / 3, Trial::of_lines);
}

/// Changes a byte of a frame of the journal, and makes this frame and all later ones valid again.
/// The plan stays unchanged, because any consistent plan is accepted.
fn forge(random: &mut Random, disk: &SimDisk, path: &Path) {
    let Some(mut journal) = disk.get(path) else { return };
    let word = |journal: &[u8], at: usize| {
        journal.get(at..at + 8).map(|word| u64::from_le_bytes(word.try_into().unwrap()))
    };
    let frame_at = |journal: &[u8], at: usize| {
        let payload = at + 24..at + 24 + word(journal, at + 8)? as usize;
        (payload.end <= journal.len() && &journal[at..at + 8] == b"XSORTJ1\n").then_some(payload)
    };
    let mut payloads = Vec::new();
    let mut at = 0;
    while let Some(payload) = frame_at(&journal, at) {
        at = payload.end.next_multiple_of(4096);
        payloads.push(payload);
    }
    if payloads.is_empty() {
        return;
    }
    let changed = payloads[random.below(payloads.len())].clone();
    let changed = changed.start + random.below(changed.len().max(1));
    let is_json = |byte: &u8| matches!(byte, b' '..=b'~');
    if journal[changed - 4..].iter().take(8).all(is_json) {
        return;
    }
    journal[changed] ^= random.one_of(&[1, 2, 4, 8, 16, 32, 64, 128, 255]);
    let mut chain = 0;
    for payload in payloads {
        let bytes = payload.len() as u64;
        chain = xxhash_rust::xxh3::xxh3_64_with_seed(&journal[payload.clone()], chain ^ bytes);
        journal[payload.start - 8..payload.start].copy_from_slice(&chain.to_le_bytes());
    }
    disk.overwrite(path, journal);
}

/// The journal was changed and made valid again. The sort ends with an error, or with an output
/// that is in order and has the right length, and a new start works. More is impossible: a forged
/// journal can contain a chunk twice, with its checksum.
fn forged_journals_do_no_harm(name: &str, few: u64, trial: fn(&mut Random, u64) -> Trial) {
    let mut forged = 0;
    let tried = for_each_seed(name, few, |seed| {
        let random = &mut Random::new(seed);
        let trial = trial(random, seed);
        if trial.removes_inputs {
            return Ok(());
        }
        let all = trial.sorted.len() as u64 * 2;
        drop(trial.run(Begin::Resume, &Impatient::after(random.between(0, all))));
        // No transfer is in flight any more.
        trial.disk.power_cut();
        for journal in trial.hidden(".journal") {
            forge(random, &trial.disk, &journal);
            forged += 1;
        }
        match trial.run(Begin::Resume, &Unobserved) {
            Ok(()) if trial.is_in_order() => Ok(()),
            Ok(()) => Err("success, but the output isn't in order".into()),
            Err(_) => {
                let restarted = trial.run(Begin::Restart, &Unobserved);
                restarted.map_err(|error| format!("restart: {error}"))?;
                trial.judge_success("beginning anew")
            }
        }
    });
    assert!(forged > 0 || tried == 1);
}

#[test]
fn a_sort_with_a_forged_journal_is_in_order_or_says_so() {
    forged_journals_do_no_harm("forged journal", FEW, Trial::of_records);
}

#[test]
fn a_sort_of_lines_with_a_forged_journal_is_in_order_or_says_so() {
    forged_journals_do_no_harm("forged journal of lines", FEW / 3, Trial::of_lines);
}

/// Two or three sorts of different inputs to one output. Only one at a time has the output, and a
/// sort that reports success was alone.
#[test]
fn of_several_sorts_to_one_output_one_has_it() {
    for_each_seed("several sorts to one output", FEW, |seed| {
        let random = &mut Random::new(seed);
        let layout = xsort_records::Layout::new(100, vec!["0:10".parse().unwrap()]).unwrap();
        let disk = SimDisk::new(SimOptions { seed, ..SimOptions::rough(seed) });
        let count = random.between(2, 3) as usize;
        let mut jobs = Vec::new();
        for number in 0..count {
            let records = random.one_of(&[0, 100, 5_000]);
            let bytes: Vec<u8> = (0..records * 100).map(|_| random.word() as u8).collect();
            let mut options = options(random, &layout, 1);
            options.budget_bytes = least_budget(&options, &bytes) * 120 / 100;
            options.inputs = vec![format!("/in/{number}").into()];
            options.scratch = vec![format!("/scratch{}", random.between(0, 1)).into()];
            options.remove_input = false;
            let begin = random.one_of(&[Begin::New, Begin::Resume, Begin::Restart]);
            options.checkpoint = Some(Checkpoint { begin, every: Duration::ZERO });
            disk.put(&options.inputs[0], &bytes);
            let delay = Duration::from_micros(random.between(0, 3_000));
            jobs.push((options, oracle(&layout, &bytes), delay));
        }
        disk.put("/out/sorted", "old");
        let results: Vec<_> = std::thread::scope(|scope| {
            let run = |(options, _, delay): &'_ (SortOptions, Vec<u8>, Duration)| {
                let (options, delay, disk) = (options.clone(), *delay, &disk);
                scope.spawn(move || {
                    std::thread::sleep(delay);
                    sort(&options, disk, &Unobserved).map(drop)
                })
            };
            let threads: Vec<_> = jobs.iter().map(run).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let output = disk.get("/out/sorted").unwrap();
        let mut successes = jobs.iter().zip(&results).filter(|(_, result)| result.is_ok());
        if !successes.any(|((_, sorted, _), _)| *sorted == output) {
            return Err(format!(
                "the output is none of those that all went well with: {results:?}"
            ));
        }
        let hidden = disk.paths().into_iter().filter(|path| path.to_string_lossy().contains("/."));
        match hidden.collect::<Vec<_>>() {
            left if left.is_empty() && disk.open_files() == 0 => Ok(()),
            left => Err(format!(
                "{left:?} and {} open files are left after {results:?}",
                disk.open_files()
            )),
        }
    });
}
