//! Sorts and merges lines on the simulated disk, over many seeds (see `seeds.rs`): files and
//! streams, with and without compression, with faults in scratch, inputs and output.
//!
//! For every seed: a success equals the standard library's sort, byte for byte. A failure names the
//! file, writes at most the beginning of the output, changes no input and leaves no file open.
//! Every job ends.

use crate::adversity::{
    Impatient, NOW_AND_THEN, canary, corruption, fault, place, smooth_or_rough,
};
use std::io::{self, Write};
use std::path::PathBuf;
use xsort_disk::{Operation, SimDisk};
use xsort_extsort::lines::{ByBytesReversed, Content, LineOrder, LinesInput, OpenInput};
use xsort_extsort::{Codec, Error, LinesOptions, LinesReport, Observer, merge_lines, sort_lines};
use xsort_kernels::lines::ByBytes;
use xsort_testing::{Dribble, Random, for_each_seed};

const MIB: u64 = 1 << 20;
const OUTPUT: &str = "/output";

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
    /// An input or output stream fails.
    Streams,
    /// The user cancels.
    Cancel,
    /// The output changes unnoticed: no sort can detect that, so the test's own check must.
    Canary,
}

/// A writer that accepts a limited number of bytes.
struct Bucket {
    bytes: Vec<u8>,
    room: usize,
}

impl Write for Bucket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fitting = bytes.len().min(self.room - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..fitting]);
        if fitting == 0 && !bytes.is_empty() {
            Err(io::Error::from_raw_os_error(28))
        } else {
            Ok(fitting)
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns lines, short or long, similar or not. The last line may lack its delimiter.
pub(crate) fn text(random: &mut Random, bytes: u64) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes as usize + 300_000);
    let longest = random.one_of(&[1, 12, 12, 60, 1000]);
    let letters = random.one_of(&[1, 2, 20]);
    let prefix = random.one_of(&[0, 0, 9, 40]);
    let long_lines = random.one_of(&[0, 0, 0, 3]);
    while (text.len() as u64) < bytes {
        let is_long = long_lines > 0 && random.between(0, bytes / long_lines) < longest;
        let length =
            if is_long { random.between(20_000, 200_000) } else { random.between(0, longest) };
        text.extend(std::iter::repeat_n(b'p', prefix));
        let end = text.len() + length as usize;
        while text.len() < end {
            text.extend(random.word().to_le_bytes().map(|byte| b'a' + byte % letters));
        }
        text.truncate(end);
        text.push(b'\n');
    }
    if random.between(0, 3) == 0 {
        text.pop_if(|last| *last == b'\n');
    }
    text
}

pub(crate) fn sorted(texts: &[Vec<u8>], is_reversed: bool, is_unique: bool) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = Vec::new();
    for text in texts {
        let from = lines.len();
        lines.extend(text.split(|&byte| byte == b'\n'));
        if lines.len() > from && lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
    }
    lines.sort_unstable();
    if is_reversed {
        lines.reverse();
    }
    if is_unique {
        lines.dedup();
    }
    lines.join(&b'\n').into_iter().chain((!lines.is_empty()).then_some(b'\n')).collect()
}

fn disk(random: &mut Random, seed: u64, trouble: Trouble, bytes: u64) -> SimDisk {
    let mut options = smooth_or_rough(random, seed);
    let place = place(random, bytes);
    match trouble {
        Trouble::Rough | Trouble::Cancel | Trouble::Streams => {}
        Trouble::Faults => {
            use Operation::{Create, Discard, Inspect, Open, Read, Remove, Reserve, Write};
            let operations =
                [Create, Discard, Inspect, Open, Read, Remove, Reserve, Write, Write, Read];
            options.faults = vec![fault(random, &operations, place)];
        }
        Trouble::Corruption => options.corruptions = vec![corruption(random, place)],
        Trouble::Canary => options.corruptions = vec![canary()],
        Trouble::Full => {
            options.capacity_bytes = Some(bytes * random.between(100, 320) / 100 + 4096 * 6);
        }
        Trouble::PowerCut => options.power_goes_after = Some(random.between(0, 300)),
    }
    SimDisk::new(options)
}

fn options(random: &mut Random, trouble: Trouble) -> LinesOptions {
    let has_file = trouble == Trouble::Canary || random.between(0, 1) == 0;
    LinesOptions {
        is_unique: random.between(0, 3) == 0,
        budget_bytes: random.one_of(&[2, 2, 2, 3, 5]) * MIB,
        threads: random.between(1, 3) as usize,
        scratch: (0..random.between(1, 3))
            .map(|number| PathBuf::from(format!("/scratch{number}")))
            .collect(),
        codec: random.one_of(&[None, Some(Codec::Lz4), Some(Codec::Zstd), Some(NOW_AND_THEN)]),
        output_file: has_file.then(|| OUTPUT.into()),
        ..LinesOptions::new(0, 1)
    }
}

/// Creates inputs from the texts. Large files bypass the page cache, so the simulated disk must
/// have them.
fn sources(
    random: &mut Random,
    trouble: Trouble,
    disk: &SimDisk,
    texts: &[Vec<u8>],
) -> Vec<LinesInput> {
    let is_size_known = random.between(0, 1) == 0;
    let failing =
        (trouble == Trouble::Streams).then(|| random.between(0, 2 * texts.len() as u64) as usize);
    let source = |(number, text): (usize, &Vec<u8>)| {
        let path = PathBuf::from(format!("/input-{number}"));
        disk.put(&path, text);
        let fails_at =
            if failing == Some(number) { random.between(0, text.len() as u64) } else { u64::MAX };
        let few = random.between(1000, 300_000) as usize;
        let dribble = Dribble::new(text.clone(), few).fails_at(fails_at);
        let content = if is_size_known {
            Content::File(OpenInput::new(move || Ok(Box::new(dribble.clone()) as _)))
        } else {
            Content::Stream(Box::new(dribble))
        };
        LinesInput { path, bytes: is_size_known.then_some(text.len() as u64), content }
    };
    texts.iter().enumerate().map(source).collect()
}

/// The result of a job, and its output.
struct Ended {
    result: Result<LinesReport, Error>,
    streamed: Vec<u8>,
}

fn run<O: LineOrder>(
    order: &O,
    is_merge: bool,
    options: &LinesOptions,
    sources: Vec<LinesInput>,
    room: usize,
    disk: &SimDisk,
    observer: &dyn Observer,
) -> Ended {
    let mut output = Bucket { bytes: Vec::new(), room };
    let result = if is_merge {
        merge_lines(options, order, sources, &mut output, disk, observer)
    } else {
        sort_lines(options, order, sources, &mut output, disk, observer)
    };
    Ended { result, streamed: output.bytes }
}

/// Returns one or several texts, which may exceed the budget.
fn texts(random: &mut Random, budget: u64, is_large: bool) -> Vec<Vec<u8>> {
    let (more, much_more) = (budget * 5 / 4, budget * 3 / 2);
    let bytes = random.one_of(&[0, 1, 100_000, budget, more, more, much_more, 2 * budget]);
    let bytes = if is_large { 17 * MIB } else { bytes };
    let count = if bytes > 16 * MIB { 1 } else { random.between(1, 5) };
    (0..count).map(|_| text(random, bytes / count)).collect()
}

/// Runs the simulation of a seed. `Err` names the broken promise.
fn simulate(seed: u64, trouble: Trouble) -> Result<(), String> {
    let random = &mut Random::new(seed);
    let options = options(random, trouble);
    let is_reversed = random.between(0, 3) == 0;
    let is_merge = random.between(0, 4) == 0;
    // One seed in a hundred has a file that is large enough to bypass the page cache.
    let is_large = seed % 100 == 31 || trouble == Trouble::Canary;
    let mut texts = texts(random, options.budget_bytes, is_large);
    if is_merge {
        texts.iter_mut().for_each(|text| *text = sorted(&[text.split_off(0)], is_reversed, false));
    }
    let bytes: u64 = texts.iter().map(|text| text.len() as u64).sum();
    let expected = sorted(&texts, is_reversed, options.is_unique);
    let disk = disk(random, seed, trouble, bytes);
    disk.put(OUTPUT, "");
    let sources = sources(random, trouble, &disk, &texts);
    let room = if trouble == Trouble::Streams {
        random.between(0, 2 * bytes) as usize
    } else {
        usize::MAX
    };
    let patience = if trouble == Trouble::Cancel { random.between(0, bytes) } else { u64::MAX };
    let observer = Impatient::after(patience);
    let Ended { result, streamed } = match is_reversed {
        false => run(&ByBytes, is_merge, &options, sources, room, &disk, &observer),
        true => run(&ByBytesReversed, is_merge, &options, sources, room, &disk, &observer),
    };

    if disk.open_files() != 0 || disk.scratch_bytes() != 0 {
        return Err(format!("{} files are still open after {result:?}", disk.open_files()));
    }
    let filed = disk.get(OUTPUT).ok_or("no output at all")?;
    let written = if filed.is_empty() { &streamed } else { &filed };
    match &result {
        Ok(report) => {
            if *written != expected || !(filed.is_empty() || streamed.is_empty()) {
                return Err("success, but the output is wrong".into());
            }
            if report.written_bytes != expected.len() as u64 {
                return Err("the report is wrong".into());
            }
        }
        // Some lines are 300 times as long as others, which is too much for such small memories.
        Err(error) if error.to_string().contains("too long") => {}
        Err(error) if !is_clear(error, trouble) => return Err(format!("unclear: {error}")),
        // If an output file can't be truncated after a failure or a power cut, it may end in
        // reserved space.
        Err(_) if matches!(trouble, Trouble::Faults | Trouble::PowerCut) && !filed.is_empty() => {}
        Err(error) if !expected.starts_with(written) => {
            return Err(format!("the output is not the beginning of the whole one after {error}"));
        }
        Err(_) => {}
    }
    for (number, text) in texts.iter().enumerate() {
        if disk.get(format!("/input-{number}")).as_ref() != Some(text) {
            return Err(format!("input {number} is damaged"));
        }
    }
    match disk.paths().len() - texts.len() {
        1 => Ok(()),
        _ => Err(format!("something is left over: {:?}", disk.paths())),
    }
}

/// Returns whether this trouble may lead to this error, and the error names the file and, for
/// damage, the place.
fn is_clear(error: &Error, trouble: Trouble) -> bool {
    let text = error.to_string();
    match error {
        Error::Corrupt { path, offset, .. } => {
            trouble == Trouble::Corruption
                && path.starts_with("/")
                && path.to_string_lossy().starts_with("/scratch")
                && text.contains(&format!("{} at byte {offset}", path.display()))
        }
        // Damage must be reported as damage, whatever else fails.
        _ if matches!(trouble, Trouble::Corruption | Trouble::Rough) => false,
        Error::Disk(error) => {
            let path = error.path.to_string_lossy();
            ["/input-", "/scratch", OUTPUT].iter().any(|start| path.starts_with(start))
        }
        Error::ScratchFull { directory, .. } => {
            // The needed space is unknown. It was once reported as 18500000 TB.
            directory.to_string_lossy().starts_with("/scratch") && !text.contains(" TB")
        }
        // The caller knows the name of the output.
        Error::Output(_) => true,
        Error::Cancelled => trouble == Trouble::Cancel,
        _ => false,
    }
}

fn check_seeds(trouble: Trouble) {
    for_each_seed(&format!("lines, {trouble:?}"), 12, |seed| simulate(seed, trouble));
}

#[test]
fn ordinary_adversity_changes_nothing() {
    check_seeds(Trouble::Rough);
}

#[test]
fn failing_operations_are_named() {
    check_seeds(Trouble::Faults);
}

#[test]
fn damaged_scratch_is_noticed() {
    check_seeds(Trouble::Corruption);
}

#[test]
fn a_disk_that_fills_up_is_named() {
    check_seeds(Trouble::Full);
}

#[test]
fn a_power_cut_ends_the_job() {
    check_seeds(Trouble::PowerCut);
}

#[test]
fn streams_that_fail_end_the_job() {
    check_seeds(Trouble::Streams);
}

#[test]
fn a_stop_on_request_ends_the_job() {
    check_seeds(Trouble::Cancel);
}

/// The canary: bits of the output flip on the way to the drive. If the test doesn't detect that,
/// the tests above prove nothing.
#[test]
fn the_canary_is_caught() {
    assert_eq!(simulate(0, Trouble::Canary), Err("success, but the output is wrong".into()));
}
