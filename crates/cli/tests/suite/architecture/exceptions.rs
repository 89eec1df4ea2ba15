//! What the rules of this folder don't hold for yet. Each list may only shrink: an entry that no
//! longer applies fails the test that reads it.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Compares what breaks a rule with the list of exceptions, and names the entries to add and to
/// remove.
pub(super) fn compare(rule: &str, broken: &BTreeSet<String>, exceptions: &[&str]) {
    let known: BTreeSet<String> = exceptions.iter().map(|entry| (*entry).to_owned()).collect();
    let mut report = String::new();
    for entry in broken.difference(&known) {
        writeln!(report, "  new: {entry}").unwrap();
    }
    for entry in known.difference(broken) {
        writeln!(report, "  no longer true, remove it from the list: {entry}").unwrap();
    }
    assert!(report.is_empty(), "{rule}:\n{report}");
}

/// Files and how many of their lines are too long.
pub(super) const LONG_LINES: &[&str] = &[
    "crates/cli/src/lines/job_failure.rs 1",
    "crates/extsort/src/fixed/mod.rs 1",
    "crates/extsort/src/variable/areas.rs 1",
    "crates/extsort/src/variable/balance.rs 1",
    "crates/extsort/src/variable/check.rs 1",
    "crates/extsort/src/variable/codec.rs 1",
    "crates/extsort/src/variable/input/decompress.rs 3",
    "crates/extsort/src/variable/input/sorted.rs 1",
    "crates/extsort/src/variable/merge/coordinator.rs 1",
    "crates/extsort/src/variable/merge/memory.rs 2",
    "crates/extsort/src/variable/merge/mod.rs 2",
    "crates/extsort/src/variable/merge/reader.rs 2",
    "crates/extsort/src/variable/options.rs 3",
    "crates/extsort/src/variable/plan.rs 6",
    "crates/extsort/src/variable/report.rs 1",
    "crates/extsort/src/variable/resumable.rs 1",
    "crates/extsort/src/variable/sequential/cursor.rs 1",
    "crates/extsort/src/variable/sequential/heap.rs 1",
    "crates/extsort/src/variable/spill.rs 1",
    "crates/gnu/src/du/format.rs 2",
    "crates/gnu/src/du/help.rs 7",
    "crates/gnu/src/du/mod.rs 2",
    "crates/gnu/src/lib.rs 2",
    "crates/gnu/src/sort/help.rs 16",
    "crates/gnu/src/sort/order/number.rs 2",
    "crates/gnu/src/sort/order/version.rs 1",
    "crates/kernels/src/lines/entry.rs 1",
    "crates/kernels/src/lines/hash.rs 1",
    "crates/kernels/src/lines/merge.rs 2",
    "crates/kernels/src/lines/order.rs 2",
    "crates/kernels/src/lines/sort.rs 3",
    "crates/records/src/content.rs 1",
    "crates/records/src/fields_key.rs 1",
    "crates/records/src/generate.rs 2",
    "crates/records/src/gensort.rs 1",
    "crates/records/src/key_grammar.rs 1",
    "crates/records/src/layout.rs 1",
    "crates/records/src/summary.rs 3",
    "crates/shm/src/fast_path.rs 1",
    "fuzz/targets/grammar.rs 1",
];

/// Crates and how many banned words they have.
pub(super) const BANNED_WORDS: &[&str] =
    &["crates/cli 3", "crates/extsort 2", "crates/gnu 13", "crates/records 4", "crates/shm 1"];
