//! Many sorts in one process, as in a server: each frees all its files and memory.
//!
//! Runs in its own process, because other tests open files, too.

use crate::sort::{generated, oracle};
use std::fs;
use std::path::Path;
use std::process::Command;
use xsort_disk::{DiskOptions, OsDisk};
use xsort_extsort::lines::{ByBytes, Content, LinesInput};
use xsort_extsort::records::Method;
use xsort_extsort::{LinesOptions, SortOptions, Unobserved, sort, sort_lines};
use xsort_records::{Format, Pattern};
use xsort_testing::quick_or_long;

/// Memory that the allocator may keep. Less than one more budget for each of the rounds between the
/// measurements.
const SLACK_BYTES: u64 = 8 << 20;
const BUDGET_BYTES: u64 = 2 << 20;

/// Set in the process that runs the sorts.
const INNER: &str = "XSORT_SOAK_INNER";

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn resident_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn sort_records(directory: &Path, bytes: &[u8], method: Method, is_sorted: &[u8]) {
    let options = SortOptions {
        inputs: vec![directory.join("in")],
        output: directory.join("out"),
        method,
        sync: false,
        ..SortOptions::new(Format::Gensort.layout(), BUDGET_BYTES, 3)
    };
    let disk = OsDisk::new(DiskOptions::default()).unwrap();
    fs::write(directory.join("in"), bytes).unwrap();
    sort(&options, &disk, &Unobserved).unwrap();
    assert!(fs::read(directory.join("out")).unwrap() == is_sorted);
    // A failed sort frees as much.
    fs::write(directory.join("in"), &bytes[1..]).unwrap();
    assert!(sort(&options, &disk, &Unobserved).is_err());
}

fn sort_text(directory: &Path, text: &[u8]) {
    let options =
        LinesOptions { scratch: vec![directory.to_owned()], ..LinesOptions::new(BUDGET_BYTES, 3) };
    let source = LinesInput {
        path: "text".into(),
        bytes: None,
        content: Content::Stream(Box::new(std::io::Cursor::new(text.to_vec()))),
    };
    let disk = OsDisk::new(DiskOptions::default()).unwrap();
    let mut output = Vec::new();
    let report =
        sort_lines(&options, &ByBytes, vec![source], &mut output, &disk, &Unobserved).unwrap();
    assert!(report.spilled_bytes > 0 && is_in_order(&output));
}

fn is_in_order(text: &[u8]) -> bool {
    text.strip_suffix(b"\n").unwrap().split(|&byte| byte == b'\n').is_sorted()
}

fn rounds() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let layout = Format::Gensort.layout();
    let bytes = generated(Format::Gensort, Pattern::Uniform, 40_000);
    let is_sorted = oracle(&layout, &bytes);
    let text = generated(Format::GensortAscii, Pattern::Uniform, 40_000);
    let mut before = None;
    // The allocator's memory becomes stable within the first rounds.
    let [first, all] = quick_or_long([7, 14], [15, 40]);
    for round in 0..all {
        if round == first {
            before = Some((open_files(), resident_bytes()));
        }
        for method in [Method::Merge, Method::Scatter] {
            sort_records(directory.path(), &bytes, method, &is_sorted);
        }
        sort_text(directory.path(), &text);
    }
    let (files, resident) = before.expect("there are more rounds than that");
    assert_eq!(open_files(), files);
    assert!(
        resident_bytes() <= resident + SLACK_BYTES,
        "{} bytes, {resident} before",
        resident_bytes()
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "the input and the output");
}

#[test]
fn many_sorts_in_one_process_leave_nothing_in_it() {
    if std::env::var_os(INNER).is_some() {
        return rounds();
    }
    let test = std::env::current_exe().unwrap();
    let output = Command::new(test)
        .args(["--exact", "soak::many_sorts_in_one_process_leave_nothing_in_it"])
        .env(INNER, "1")
        // The number of glibc's arenas depends on which threads run at once, and so on chance on a
        // busy machine.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
