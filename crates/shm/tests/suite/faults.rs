//! A writer that is killed before any of its system calls, or whose calls fail: no version is lost,
//! numbers only grow, and what was left goes with the next writer. By strace.

use crate::{in_memory, names, roles, stamp};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use xsort_shm::{Reader, Writer};

/// The calls that make, change or remove files, or lock them. A kill before a call that is not
/// among them is one before the next that is.
const CHANGES: &str = "unlink,unlinkat,rename,renameat,renameat2,fallocate,fchmod,fcntl";

/// Written before the part is played.
const BEFORE: u64 = 1000;

/// The part that is killed: a writer that makes or takes over its files, needs new and longer
/// buffers, and tidies up.
pub(crate) fn opens_and_writes(prefix: &Path) {
    let mut writer = Writer::open(prefix).unwrap();
    for length in [10_000, 100_000, 1_000] {
        writer.write(&vec![length as u8; length]).unwrap();
    }
    writer.trim().unwrap();
}

/// A name for it, and what makes it so.
type Find = (&'static str, fn(&Path));

/// What the writer finds.
const FOUND: [Find; 4] = [
    ("all that there was", |_| {}),
    ("no slot_table", |prefix| fs::remove_file(prefix.with_extension("readers")).unwrap()),
    ("an empty slot_table", |prefix| fs::write(prefix.with_extension("readers"), b"").unwrap()),
    ("nothing", |prefix| assert!(xsort_shm::remove(prefix).unwrap())),
];

/// Plays the part with a fault at call `number`. `None` if there is no such call, or no strace.
fn played(prefix: &Path, calls: &str, fault: &str, number: u64) -> Option<bool> {
    let trace = prefix.with_file_name("trace");
    let inject = format!("inject={calls}:{fault}:when={number}");
    let wrapper = [
        "strace",
        "-f",
        "-o",
        trace.to_str().unwrap(),
        "-e",
        &format!("trace={calls}"),
        "-e",
        &inject,
    ];
    let mut part = roles::command(&wrapper, "opens", prefix);
    let output = part.stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("Operation not permitted") {
        eprintln!("NOTICE: strace may not trace here: faults of system calls are not tested");
        return None;
    }
    let trace = fs::read_to_string(&trace).unwrap();
    fs::remove_file(prefix.with_file_name("trace")).unwrap();
    let is_hit = trace.contains("INJECTED") || trace.contains("killed by SIGKILL");
    is_hit.then_some(output.status.success())
}

/// One fault after the other, until there are no more calls; what is left must do.
fn at_each_call(calls: &str, fault: &str) {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        eprintln!("NOTICE: strace is missing: faults of system calls are not tested");
        return;
    }
    for (what, find) in FOUND {
        for number in 1.. {
            let (folder, prefix) = in_memory();
            let mut writer = Writer::open(&prefix).unwrap();
            while writer.version() < Some(BEFORE) {
                stamp::write(&mut writer).unwrap();
            }
            drop(writer);
            find(&prefix);
            let Some(is_done) = played(&prefix, calls, fault, number) else {
                assert!(number > 1, "no call was hit");
                break;
            };
            let story = format!("{what}, {fault} at call {number}");
            let floor = if what == "nothing" { None } else { Some(BEFORE) };
            goes_on(&prefix, floor, is_done, &story);
            assert_eq!(names(&folder), [""; 0], "{story}");
        }
    }
}

fn goes_on(prefix: &Path, floor: Option<u64>, is_done: bool, story: &str) {
    let mut writer = Writer::open(prefix).unwrap_or_else(|error| panic!("{story}: {error}"));
    let version = writer.version();
    assert!(version >= floor, "{story}: {version:?}");
    assert!(!is_done || version.is_some(), "{story}: all was written");
    let reader = Reader::open(prefix).unwrap_or_else(|error| panic!("{story}: {error}"));
    if let Some(sequence) = version {
        let held = reader.read().unwrap_or_else(|error| panic!("{story}: {error}"));
        assert_eq!(held.sequence(), sequence, "{story}");
        if version == floor {
            stamp::check(sequence, &held);
        } else {
            assert!(held.iter().all(|byte| *byte == held.len() as u8), "{story}");
        }
    }
    let next = stamp::write(&mut writer).unwrap();
    assert!(Some(next) > version, "{story}");
    stamp::check(next, &reader.read().unwrap());
    reader.release();
    writer.trim().unwrap();
    // State, slot_table, and the current version.
    assert_eq!(fs::read_dir(prefix.parent().unwrap()).unwrap().count(), 3, "{story}");
    writer.remove().unwrap();
}

#[test]
fn a_writer_that_is_killed_at_any_call_loses_no_version() {
    at_each_call(CHANGES, "signal=KILL");
}

#[test]
fn a_writer_whose_calls_fail_loses_no_version() {
    at_each_call(CHANGES, "error=ENOSPC");
}

/// A signal in the middle of reserving space: the call is made again.
#[test]
fn reserving_is_interrupted() {
    let (_folder, prefix) = in_memory();
    for number in 1..8 {
        match played(&prefix, "fallocate", "error=EINTR", number) {
            Some(is_done) => assert!(is_done, "call {number}"),
            None => return,
        }
    }
}
