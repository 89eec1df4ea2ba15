//! The whole sort on the simulated disk, over many seeds. The seed decides everything: records,
//! keys, budget, threads, files and faults (see `seeds.rs`).

use crate::adversity::{NOW_AND_THEN, canary, corruption, fault, place, smooth_or_rough};
use crate::sort::oracle;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use xsort_disk::{Operation, SimDisk, SimOptions};
use xsort_extsort::records::Method;
use xsort_extsort::{Codec, Error, Observer, SortOptions, SortReport, Stream, sort_streamed};
use xsort_records::Layout;
use xsort_testing::{Dribble, Random, for_each_seed};

/// The trouble in a simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    /// Only faults that a sort must survive.
    Rough,
    /// Operations fail permanently.
    Faults,
    /// Scratch data changes between write and read.
    Corruption,
    /// The disk is too small.
    Full,
    /// The power fails.
    PowerCut,
    /// The user cancels.
    Cancel,
    /// Another program writes to an input.
    Change,
    /// The output changes unnoticed: no sort can detect that, so the test's own check must.
    Canary,
}

/// Acts once a number of bytes are processed.
struct Meanwhile<'a> {
    after: u64,
    done: AtomicU64,
    is_over: AtomicBool,
    act: &'a (dyn Fn() + Sync),
    /// Whether it then also cancels.
    is_impatient: bool,
}

impl Observer for Meanwhile<'_> {
    fn phase(&self, _name: &str, _bytes: u64) {}
    fn advance(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if done > self.after && !self.is_over.swap(true, Ordering::Relaxed) {
            (self.act)();
        }
    }
    fn notice(&self, _line: &str) {}
    fn is_cancelled(&self) -> bool {
        self.is_impatient && self.is_over.load(Ordering::Relaxed)
    }
}

pub(crate) fn layout(random: &mut Random) -> Layout {
    let record_bytes = random.one_of(&[1, 2, 8, 16, 100, 100, 100, 128, 333, 4096]);
    if record_bytes >= 16 && random.between(0, 3) == 0 {
        let keys = ["0:8:u64le:desc", "4:8:f64le", "1:2:i16be", "0:16:u128le", "2:4:u32le"];
        let mut fields = vec![random.one_of(&keys).parse().unwrap()];
        if random.between(0, 1) == 0 {
            fields.push("8:3".parse().unwrap());
        }
        return Layout::new(record_bytes as usize, fields).unwrap();
    }
    let offset = random.between(0, record_bytes - 1);
    let longest = random.one_of(&[4096, 12, 12, 12]);
    let length = random.between(1, (record_bytes - offset).min(longest));
    Layout::new(record_bytes as usize, vec![format!("{offset}:{length}").parse().unwrap()]).unwrap()
}

/// Returns records whose bytes are uniform, few, constant, ascending or descending, with some
/// random ones.
pub(crate) fn records(random: &mut Random, layout: &Layout) -> Vec<u8> {
    let record_bytes = layout.record_bytes();
    let most = (400_000 / record_bytes as u64).min(9_000);
    let count = random.one_of(&[0, 1, 2, most / 10, most, most, most]);
    let spread = random.one_of(&[1, 2, 3, 256, 256]);
    let shape = random.between(0, 4);
    let mut bytes = Vec::with_capacity(count as usize * record_bytes);
    for number in 0..count {
        let start = bytes.len();
        while bytes.len() < start + record_bytes {
            bytes.extend(random.word().to_le_bytes().map(|byte| (u64::from(byte) % spread) as u8));
        }
        bytes.truncate(start + record_bytes);
        let rank = match shape {
            0 => number,
            1 => count - number,
            2 => u64::from(number % 100 == 0),
            _ => continue,
        };
        for byte in 0..record_bytes {
            let shift = 8 * (record_bytes - 1 - byte).min(7);
            bytes[start + byte] = if record_bytes - byte > 8 { 0 } else { (rank >> shift) as u8 };
        }
    }
    bytes
}

pub(crate) fn options(random: &mut Random, layout: &Layout, inputs: usize) -> SortOptions {
    let method = random.one_of(&[Method::Merge, Method::Scatter]);
    let codecs = [None, Some(Codec::Lz4), Some(Codec::Zstd), Some(NOW_AND_THEN)];
    let codec = random.one_of(&codecs).filter(|_| method == Method::Merge);
    SortOptions {
        inputs: (0..inputs).map(|number| PathBuf::from(format!("/in/{number}"))).collect(),
        output: "/out/sorted".into(),
        threads: random.between(1, 4) as usize,
        method,
        codec,
        scratch: (0..random.between(0, 3))
            .map(|number| PathBuf::from(format!("/scratch{number}")))
            .collect(),
        remove_input: random.between(0, 3) == 0,
        sample_seed: random.word(),
        ..SortOptions::new(layout.clone(), 0, 1)
    }
}

fn disk(random: &mut Random, seed: u64, trouble: Trouble, bytes: u64) -> SimDisk {
    let mut options = smooth_or_rough(random, seed);
    let place = place(random, bytes);
    match trouble {
        Trouble::Rough | Trouble::Cancel | Trouble::Change => {}
        Trouble::Faults => {
            use Operation::{
                Create, Discard, Inspect, Open, Read, Remove, Rename, Reserve, Sync, SyncName,
                Write,
            };
            let operations = [
                Create, Discard, Inspect, Open, Read, Remove, Rename, Reserve, Sync, SyncName,
                Write,
            ];
            options.faults = vec![fault(random, &operations, place)];
        }
        Trouble::Corruption => options.corruptions = vec![corruption(random, place)],
        Trouble::Canary => options.corruptions = vec![canary()],
        Trouble::Full => {
            options.capacity_bytes = Some(bytes * random.between(100, 400) / 100 + 4096 * 6);
        }
        Trouble::PowerCut => options.power_goes_after = Some(random.between(0, 60)),
    }
    SimDisk::new(options)
}

/// Finds the minimum budget by trying.
pub(crate) fn least_budget(options: &SortOptions, bytes: &[u8]) -> u64 {
    let plain = SimDisk::new(SimOptions::default());
    put(&plain, options, bytes);
    match xsort_extsort::dry_run(options, &plain, &xsort_extsort::Unobserved) {
        Err(Error::Memory { needed_bytes, .. }) => needed_bytes,
        other => panic!("no budget at all is not too little: {other:?}"),
    }
}

/// Divides the records among `inputs` inputs.
fn parts<'a>(
    bytes: &'a [u8],
    layout: &Layout,
    inputs: usize,
) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let record_bytes = layout.record_bytes();
    let records = bytes.len() / record_bytes;
    let at = move |number: usize| records * number / inputs * record_bytes;
    (0..inputs).map(move |number| &bytes[at(number)..at(number + 1)])
}

/// Distributes the records over the inputs. Returns each input's bytes.
pub(crate) fn put<'a>(disk: &SimDisk, options: &SortOptions, bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let parts: Vec<_> = parts(bytes, &options.layout, options.inputs.len()).collect();
    for (path, part) in options.inputs.iter().zip(&parts) {
        disk.put(path, part);
    }
    parts
}

/// Returns whether this trouble may lead to this error, and the error names the file and, for
/// damage, the place.
fn is_clear(error: &Error, trouble: Trouble) -> bool {
    let is_ours = |path: &Path| {
        ["/in/", "/out", "/scratch", "memory", "(memory)"]
            .iter()
            .any(|start| path.to_string_lossy().starts_with(start))
    };
    match error {
        Error::InputsRemoved { cause } => is_clear(cause, trouble),
        Error::Corrupt { path, offset, .. } => {
            let names_place =
                error.to_string().contains(&format!("{} at byte {offset}", path.display()));
            trouble == Trouble::Corruption && is_ours(path) && names_place
        }
        // Damage must be reported as damage, whatever else fails.
        _ if trouble == Trouble::Corruption => false,
        Error::Disk(error) => is_ours(&error.path),
        Error::Space { directory, .. } | Error::ScratchFull { directory, .. } => is_ours(directory),
        Error::Input { path, .. } => trouble == Trouble::Change && is_ours(path),
        Error::Cancelled => trouble == Trouble::Cancel,
        _ => false,
    }
}

/// Returns whether an error says that the new output is nevertheless published.
fn is_in_place(error: &Error) -> bool {
    let Error::Disk(error) = error else { return false };
    error.operation == Operation::SyncName
        && error.to_string().contains("the output is in place, new and whole")
}

/// Runs the simulation of a seed. `Err` names the broken promise.
fn simulate(seed: u64, trouble: Trouble) -> Result<(), String> {
    let random = &mut Random::new(seed);
    let layout = layout(random);
    let mut bytes = records(random, &layout);
    let inputs = random.one_of(&[1, 1, 2, 5]);
    let mut options = options(random, &layout, inputs);
    // A merge of inputs has nothing on scratch that could be damaged.
    if trouble != Trouble::Corruption && random.between(0, 3) == 0 {
        options.method = random.one_of(&[Method::MergeInputs, Method::Auto]);
        options.codec = None;
        bytes = parts(&bytes, &layout, inputs).flat_map(|part| oracle(&layout, part)).collect();
    }
    options.budget_bytes =
        least_budget(&options, &bytes) * random.one_of(&[100, 101, 130, 200, 400, 3_000]) / 100;
    let disk = disk(random, seed, trouble, bytes.len() as u64);
    let parts = put(&disk, &options, &bytes);
    disk.put(&options.output, "old");
    let is_impatient = trouble == Trouble::Cancel;
    let changed =
        (trouble == Trouble::Change).then(|| random.between(0, inputs as u64 - 1) as usize);
    let after = if is_impatient || changed.is_some() {
        random.between(0, bytes.len() as u64)
    } else {
        u64::MAX
    };
    let how = random.between(0, 2);
    let change = || {
        let path = changed.map(|input| &options.inputs[input]);
        let Some((path, mut bytes)) = path.and_then(|path| Some((path, disk.get(path)?))) else {
            return;
        };
        match how {
            0 => bytes.extend([7; 4096]),
            1 => bytes.truncate(bytes.len() / 2),
            _ => bytes.iter_mut().for_each(|byte| *byte = !*byte),
        }
        disk.overwrite(path, bytes);
    };
    let (done, is_over) = Default::default();
    let observer = Meanwhile { after, done, is_over, act: &change, is_impatient };
    let has_stream = options.method != Method::MergeInputs && random.between(0, 2) == 0;
    let streamed = has_stream.then(|| random.between(0, inputs as u64 - 1) as usize);
    options.remove_input &= streamed.is_none();
    let stream = streamed.map(|input| {
        let few = random.between(1, 100_000) as usize;
        Stream { input, read: Box::new(Dribble::new(parts[input].to_vec(), few)) }
    });

    let result = sort_streamed(&options, stream, &disk, &observer);
    if disk.open_files() != 0 && trouble != Trouble::PowerCut {
        return Err(format!("{} files are still open after {result:?}", disk.open_files()));
    }
    if trouble == Trouble::PowerCut {
        disk.power_cut();
    }
    let output = disk.get(&options.output).ok_or("no output at all")?;
    judge(&result, trouble, bytes.is_empty(), output == oracle(&layout, &bytes), output == b"old")?;
    if trouble == Trouble::Corruption && disk.scratch_bytes() > 0 {
        return Err("scratch is left".into());
    }
    judge_files(&disk, &options, &parts, changed)
}

/// Checks that inputs are as they were, except `changed`, and that nothing else is left.
fn judge_files(
    disk: &SimDisk,
    options: &SortOptions,
    parts: &[&[u8]],
    changed: Option<usize>,
) -> Result<(), String> {
    let removed_may_be = options.remove_input;
    let others =
        options.inputs.iter().zip(parts).enumerate().filter(|(input, _)| Some(*input) != changed);
    for (_, (path, part)) in others {
        match disk.get(path) {
            Some(there) if there == *part => {}
            None if removed_may_be => {}
            _ => return Err(format!("{} is damaged", path.display())),
        }
    }
    let known = |path: &PathBuf| options.inputs.contains(path) || *path == options.output;
    match disk.paths().into_iter().find(|path| !known(path)) {
        Some(left) => Err(format!("{} is left over", left.display())),
        None => Ok(()),
    }
}

/// Compares a sort's result with its output, which must be sorted, or the old one.
fn judge(
    result: &Result<SortReport, Error>,
    trouble: Trouble,
    is_empty: bool,
    is_sorted: bool,
    is_old: bool,
) -> Result<(), String> {
    match result {
        Ok(_) if !is_sorted => return Err("success, but the output is wrong".into()),
        Ok(report) => {
            if report.peak_memory_bytes == 0 || (report.plan.records == 0) != is_empty {
                return Err("the report is wrong".into());
            }
        }
        Err(error) if trouble == Trouble::Rough => return Err(format!("failed: {error}")),
        Err(error) if !is_clear(error, trouble) => return Err(format!("unclear: {error}")),
        // After a power cut at any time, the error may be wrong about the output.
        Err(_) if trouble == Trouble::PowerCut && (is_old || is_sorted) => {}
        Err(error) if is_in_place(error) && is_sorted => {}
        Err(error) if !is_in_place(error) && is_old => {}
        Err(error) => return Err(format!("the output is not what is said of it: {error}")),
    }
    Ok(())
}

fn check_seeds(trouble: Trouble) {
    for_each_seed(&format!("{trouble:?}"), 60, |seed| simulate(seed, trouble));
}

#[test]
fn ordinary_adversity_changes_nothing() {
    check_seeds(Trouble::Rough);
}

#[test]
fn failing_operations_leave_the_old_output() {
    check_seeds(Trouble::Faults);
}

#[test]
fn damaged_scratch_is_noticed() {
    check_seeds(Trouble::Corruption);
}

#[test]
fn a_disk_that_fills_up_leaves_the_old_output() {
    check_seeds(Trouble::Full);
}

#[test]
fn a_power_cut_leaves_the_old_output_or_the_new_one() {
    check_seeds(Trouble::PowerCut);
}

#[test]
fn a_stop_on_request_leaves_the_old_output() {
    check_seeds(Trouble::Cancel);
}

/// An input that changes while it is read gives no output. After it was read, other programs may
/// write to it.
#[test]
fn an_input_that_changes_is_noticed() {
    check_seeds(Trouble::Change);
}

/// The canary: bits of the output flip on the way to the drive. If the test doesn't detect that,
/// the tests above prove nothing.
#[test]
fn the_canary_is_caught() {
    let seed = (0..).find(|&seed| {
        let random = &mut Random::new(seed);
        let layout = layout(random);
        records(random, &layout).len() > 100_000
    });
    let broken = simulate(seed.unwrap(), Trouble::Canary);
    assert_eq!(broken, Err("success, but the output is wrong".into()));
}
