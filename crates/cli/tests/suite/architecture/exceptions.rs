//! Checks a rule of this folder against its list of exceptions. The list may only shrink: an entry
//! that no longer applies fails the test. Today no rule has any.

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
