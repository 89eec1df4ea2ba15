//! Sorts to an object that are killed again and again, and continue each time. The process dies
//! after some requests, or the machine loses power, and another program changes the parts in the
//! store. The seed decides everything.

use crate::mortal::{Mortal, Sent, inverted};
use crate::simulation::{Case, OUTPUT, Trouble};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use xsort_disk::Disk;
use xsort_extsort::lines::{ByBytes, LinesCheckpoint, LinesInput};
use xsort_extsort::{
    Begin, Checkpoint, Error, LinesOptions, SortOptions, Unobserved, sort, sort_lines,
};
use xsort_objects::{ObjectDisk, SimStore};
use xsort_testing::{Random, for_each_seed};

const RESUME: Checkpoint = Checkpoint { begin: Begin::Resume, every: Duration::ZERO };
/// Maximum number of attempts. The last one isn't interrupted.
const ATTEMPTS_MAX: u64 = 60;

/// Changes to the parts between two attempts, by another program.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tampering {
    None,
    /// A part is lost, cut or replaced, or the upload is aborted.
    Parts,
}

/// A kind of sort.
enum Sorted {
    Records(SortOptions),
    Lines(LinesOptions),
}

impl Sorted {
    /// Chooses the sort for a case: of records, or of the same bytes as lines. Lines come from
    /// objects only.
    fn of(case: &Case, random: &mut Random) -> Sorted {
        if random.one_in(2) {
            let mut options = case.options.clone();
            options.checkpoint = Some(RESUME);
            return Sorted::Records(options);
        }
        let object = |(number, part): (usize, &Vec<u8>)| {
            let url = format!("s3://lines/{number}");
            case.store.put_object(&url, part.clone());
            url.into()
        };
        let inputs = case.parts.iter().enumerate().map(object).collect();
        let checkpoint = LinesCheckpoint {
            checkpoint: RESUME,
            output: OUTPUT.into(),
            inputs,
            meaning: String::new(),
        };
        Sorted::Lines(LinesOptions {
            budget_bytes: random.one_of(&[1, 2]) << 20,
            scratch: case.options.scratch.clone(),
            checkpoint: Some(checkpoint),
            ..LinesOptions::new(0, case.options.threads)
        })
    }

    fn run(&self, disk: &Arc<dyn Disk>) -> Result<(), Error> {
        match self {
            Sorted::Records(options) => sort(options, &**disk, &Unobserved).map(drop),
            Sorted::Lines(options) => {
                let inputs = &options.checkpoint.as_ref().expect("it has one").inputs;
                let inputs: Result<_, _> =
                    inputs.iter().map(|path| LinesInput::on(disk, path)).collect();
                let nowhere = &mut std::io::sink();
                sort_lines(options, &ByBytes, inputs?, nowhere, &**disk, &Unobserved).map(drop)
            }
        }
    }

    /// Returns the expected output.
    fn expected(&self, case: &Case) -> Vec<u8> {
        if let Sorted::Records(_) = self {
            return case.sorted();
        }
        let mut text = Vec::new();
        for part in &case.parts {
            text.extend_from_slice(part);
            if part.last().is_some_and(|byte| *byte != b'\n') {
                text.push(b'\n');
            }
        }
        let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        lines.sort_by_key(|line| &line[..line.len() - 1]);
        lines.concat()
    }
}

fn tamper(store: &SimStore, random: &mut Random) {
    if random.one_in(4) {
        return store.abort_uploads(OUTPUT);
    }
    let how = random.below(4);
    store.change_parts(OUTPUT, |parts| {
        let numbers: Vec<u32> = parts.keys().copied().collect();
        if numbers.is_empty() {
            return;
        }
        let (number, other) = (random.one_of(&numbers), random.one_of(&numbers));
        let bytes = parts[&number].clone();
        let changed = match how {
            0 => return drop(parts.remove(&number)),
            1 => bytes.slice(..random.below(bytes.len().max(1))),
            2 => inverted(&bytes),
            _ => parts[&other].clone(),
        };
        parts.insert(number, changed);
    });
}

/// Returns files that only an unfinished sort has.
fn kept(case: &Case) -> Vec<PathBuf> {
    let is_hidden = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with('.');
    case.local.paths().into_iter().filter(is_hidden).collect()
}

/// Runs the simulation of a seed. Returns whether it sorted lines, and the number of parts that the
/// last process didn't have to send.
fn simulate(
    seed: u64,
    tampering: Tampering,
    believes: Option<&Sent>,
) -> Result<(bool, u64), String> {
    let case = Case::new(seed, Trouble::Rough);
    let random = &mut Random::new(seed ^ 0x7e5);
    let sorted = Sorted::of(&case, random);
    let expected = sorted.expected(&case);
    for attempt in 0..=ATTEMPTS_MAX {
        let is_last = attempt == ATTEMPTS_MAX || random.one_in(25);
        let power_goes = !is_last && random.one_in(3);
        let requests = match is_last || power_goes {
            true => u64::MAX,
            false => random.between(1, 30 + 20 * attempt),
        };
        if power_goes {
            case.local.power_goes_after(random.between(0, 150 + 40 * attempt));
        }
        let client = Mortal::new(&case.store, requests);
        let client = match believes {
            Some(sent) => client.believing(sent),
            None => client,
        };
        let client = Arc::new(client);
        let (local, settings) = (Arc::clone(&case.local), case.settings.clone());
        let disk = ObjectDisk::with_client(local, settings, Arc::clone(&client) as _);
        let disk = Arc::new(disk) as Arc<dyn Disk>;
        let result = sorted.run(&disk);
        drop(disk);
        if !is_last {
            case.local.power_cut();
        }
        case.local.await_transfers();
        let output = case.store.object(OUTPUT).ok_or("no output at all")?;
        match result {
            Ok(()) if output != expected => {
                return Err(format!("success at attempt {attempt}, but the output is wrong"));
            }
            Ok(()) if case.store.upload_bytes() > 0 => {
                return Err(format!("parts are left after attempt {attempt}"));
            }
            Ok(()) => {
                let parts = (output.len() as u64).div_ceil(case.settings.part_bytes);
                let sent = client.parts_sent.load(Ordering::Relaxed) as u64;
                return match kept(&case) {
                    left if left.is_empty() && case.local.open_files() == 0 => {
                        // If no part was sent, the object existed already.
                        let spared = if sent > 0 { parts.saturating_sub(sent) } else { 0 };
                        Ok((matches!(sorted, Sorted::Lines(_)), spared))
                    }
                    left => Err(format!("{left:?} are left")),
                };
            }
            Err(error) if is_last => return Err(format!("attempt {attempt} failed: {error}")),
            Err(_) if output != "old" && output != expected => {
                return Err(format!("attempt {attempt} has damaged the old object"));
            }
            Err(_) => {}
        }
        if tampering == Tampering::Parts && random.one_in(2) {
            tamper(&case.store, random);
        }
    }
    unreachable!("the last attempt is not interrupted")
}

fn interrupted_at_any_time(name: &str, tampering: Tampering) {
    let mut spared = [0, 0];
    let tried = for_each_seed(name, 60, |seed| {
        let (is_of_lines, parts) = simulate(seed, tampering, None)?;
        spared[usize::from(is_of_lines)] += parts;
        Ok(())
    });
    assert!(spared.iter().all(|parts| *parts > 0) || tried == 1);
}

#[test]
fn a_sort_to_an_object_that_is_interrupted_at_any_time_goes_on() {
    interrupted_at_any_time("resumed objects", Tampering::None);
}

#[test]
fn parts_that_are_not_what_they_were_are_sent_again() {
    interrupted_at_any_time("resumed objects, tampering", Tampering::Parts);
}

/// The canary: a sort that doesn't check the store's parts. If the test doesn't detect that, the
/// tests above prove nothing.
#[test]
fn the_canary_that_believes_is_caught() {
    let fails = |seed| simulate(seed, Tampering::Parts, Some(&Sent::default())).is_err();
    assert!((0..40).any(fails));
}
