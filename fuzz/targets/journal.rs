//! The journal of an interrupted sort, with other content under hashes that are right: a later
//! process goes on with it or refuses. It may be led to a wrong output, since a journal is
//! believed, and only its owner can write it; but never to a panic, to no end, or to memory without
//! bound. One that nobody changed leads to the right output.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use std::path::PathBuf;
use std::time::Duration;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::lines::{ByBytes, Content, LinesCheckpoint, LinesInput, OpenInput};
use xsort_extsort::records::Method;
use xsort_extsort::{
    Begin, Checkpoint, Error, LinesOptions, SortOptions, Unobserved, sort, sort_lines,
};
use xsort_records::{KeyField, KeyKind, Layout};
use xxhash_rust::xxh3::xxh3_64_with_seed;

#[derive(Arbitrary, Debug)]
struct Case {
    is_of_lines: bool,
    scatters: bool,
    /// KiB of input.
    kib: u8,
    /// Operations of the disk after which the power goes.
    operations: u16,
    edits: Vec<Edit>,
    /// The last frame ends here.
    cut: Option<u16>,
}

/// A byte of a frame's payload that is another.
#[derive(Arbitrary, Debug)]
struct Edit {
    frame: u8,
    at: u16,
    byte: u8,
}

/// More than most of these sorts make.
const OPERATIONS_MAX: u64 = 1500;
const INPUT: &str = "/in/data";
const OUTPUT: &str = "/out/sorted";
const CHECKPOINT: Checkpoint = Checkpoint { begin: Begin::Resume, every: Duration::ZERO };

fuzz_target!(|case: Case| {
    let disk = SimDisk::new(SimOptions::default());
    // Lines need megabytes of memory, and are interesting beyond that.
    let unit = if case.is_of_lines { 48 << 10 } else { 1 << 10 };
    let input = text((usize::from(case.kib) + 1) * unit);
    disk.put(INPUT, &input);
    let expected = sorted(&input);
    disk.power_goes_after(u64::from(case.operations) % OPERATIONS_MAX);
    match run(&case, &disk).map_err(cause) {
        Ok(()) => assert!(disk.get(OUTPUT).unwrap() == expected),
        Err(Error::Disk(_) | Error::Output(_)) => {}
        // It went while the files of the checkpoint were removed.
        Err(Error::InPlace { .. }) => assert!(disk.get(OUTPUT).unwrap() == expected),
        Err(error) => panic!("nothing but the power's going ends it: {error}"),
    }
    disk.power_cut();
    let journal =
        disk.paths().into_iter().find(|path| path.to_string_lossy().ends_with(".journal"));
    let Some(journal) = journal else { return };
    let whole = disk.get(&journal).unwrap();
    let changed = change(&case, &whole);
    let is_changed = !case.edits.is_empty() || case.cut.is_some();
    disk.put(&journal, &changed);
    match run(&case, &disk).map_err(cause) {
        Err(Error::Panicked) => panic!("a thread of the sort panicked"),
        Err(error) => assert!(is_changed && !error.to_string().is_empty(), "{error}"),
        Ok(()) => assert!(is_changed || disk.get(OUTPUT).unwrap() == expected),
    }
    assert_eq!(disk.open_files(), 0);
});

/// What ended a sort that could go on.
fn cause(error: Error) -> Error {
    match error {
        Error::Resumable { cause } => *cause,
        error => error,
    }
}

/// Lines of 15 letters and a newline, which are records of 16 bytes, too.
fn text(bytes: usize) -> Vec<u8> {
    let line = |number: u64| {
        let word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{:015x}\n", word >> 4)
    };
    (1..=bytes as u64 / 16).map(line).collect::<String>().into_bytes()
}

fn sorted(text: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = text.chunks(16).collect();
    lines.sort_unstable();
    lines.concat()
}

fn run(case: &Case, disk: &SimDisk) -> Result<(), Error> {
    let scratch = vec![PathBuf::from("/scratch")];
    if case.is_of_lines {
        let bytes = disk.get(INPUT).unwrap();
        let options = LinesOptions {
            scratch,
            checkpoint: Some(LinesCheckpoint {
                checkpoint: CHECKPOINT,
                output: OUTPUT.into(),
                inputs: vec![INPUT.into()],
                meaning: String::new(),
            }),
            ..LinesOptions::new(3 << 20, 2)
        };
        let input = LinesInput {
            path: INPUT.into(),
            bytes: Some(bytes.len() as u64),
            content: Content::File(OpenInput::new(move || {
                Ok(Box::new(Cursor::new(bytes.clone())))
            })),
        };
        return sort_lines(&options, &ByBytes, vec![input], &mut Vec::new(), disk, &Unobserved)
            .map(drop);
    }
    let key = KeyField { offset: 0, length: 16, kind: KeyKind::Bytes, descending: false };
    let options = SortOptions {
        inputs: vec![INPUT.into()],
        output: OUTPUT.into(),
        method: if case.scatters { Method::Scatter } else { Method::Merge },
        scratch,
        checkpoint: Some(CHECKPOINT),
        ..SortOptions::new(Layout::new(16, vec![key]).unwrap(), 400 << 10, 2)
    };
    sort(&options, disk, &Unobserved).map(drop)
}

/// The journal with the edits in it, its frames made anew (docs/formats.md).
fn change(case: &Case, whole: &[u8]) -> Vec<u8> {
    let mut payloads: Vec<Vec<u8>> = Vec::new();
    let mut rest = whole;
    while rest.starts_with(b"XSORTJ1\n") {
        let bytes = u64::from_le_bytes(rest[8..16].try_into().unwrap()) as usize;
        payloads.push(rest[24..24 + bytes].to_vec());
        rest = &rest[(24 + bytes).next_multiple_of(4096).min(rest.len())..];
    }
    let count = payloads.len();
    for edit in case.edits.iter().filter(|_| count > 0) {
        let payload = &mut payloads[usize::from(edit.frame) % count];
        let at = usize::from(edit.at) % payload.len();
        payload[at] = edit.byte;
    }
    if let (Some(cut), Some(last)) = (case.cut, payloads.last_mut()) {
        last.truncate(usize::from(cut));
    }
    let mut changed = Vec::new();
    let mut chain = 0;
    for payload in payloads {
        chain = xxh3_64_with_seed(&payload, chain ^ payload.len() as u64);
        changed.extend(b"XSORTJ1\n");
        changed.extend((payload.len() as u64).to_le_bytes());
        changed.extend(chain.to_le_bytes());
        changed.extend(payload);
        changed.resize(changed.len().next_multiple_of(4096), 0);
    }
    changed
}
