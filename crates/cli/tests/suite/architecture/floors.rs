//! Imports flow one way: between the floors of the engine, and between the files of any crate.

use super::exceptions::compare;
use super::modules::{circles, uses};
use super::source::{SourceFile, files_in};
use std::collections::{BTreeMap, BTreeSet};

/// Groups files by crate.
fn by_crate(files: &[SourceFile]) -> BTreeMap<&str, Vec<&SourceFile>> {
    let mut crates: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.contains("/src/")) {
        crates.entry(file.package()).or_default().push(file);
    }
    crates
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let files = files_in(&["crates", "python"]);
    let mut broken = BTreeSet::new();
    for files in by_crate(&files).values() {
        broken.extend(circles(&uses(files)).into_iter().flatten());
    }
    compare("files that import each other in a circle", &broken, &[]);
}

/// The floors that each floor of `extsort` may use besides itself. `lib.rs` only gathers names.
const FLOORS: [(&str, &[&str]); 11] = [
    ("job", &[]),
    ("store", &["job"]),
    ("records", &["job", "store"]),
    ("lines", &["job", "store"]),
    ("keyed", &["job", "lines"]),
    ("sorter", &["job", "keyed", "lines"]),
    ("prefixed", &["job", "lines", "keyed"]),
    ("in_memory", &["job"]),
    ("generate", &["job", "store"]),
    ("verify", &["job"]),
    ("probe", &["job", "store"]),
];

#[test]
fn the_floors_of_the_engine_only_use_those_below() {
    let files = files_in(&["crates/extsort/src"]);
    let floor = |file: &str| {
        let inside = file.strip_prefix("crates/extsort/src/").unwrap();
        inside.split(['/', '.']).next().unwrap().to_owned()
    };
    let mut broken = BTreeSet::new();
    for (file, used) in uses(&files.iter().collect::<Vec<_>>()) {
        let from = floor(&file);
        if from == "lib" {
            continue;
        }
        let (_, below) = FLOORS
            .iter()
            .find(|(name, _)| *name == from)
            .unwrap_or_else(|| panic!("{file} is on no floor: add it to the test's list"));
        for used in used {
            let to = floor(&used);
            if to != from && !below.contains(&to.as_str()) {
                broken.insert(format!("{file} -> {used}"));
            }
        }
    }
    compare("imports of a floor that isn't below", &broken, &[]);
}

/// The verifier shares nothing with the sort that it checks, except the definition of records and
/// the transfers from drives.
#[test]
fn the_verifier_shares_no_code_with_the_sort() {
    let files = files_in(&["crates/records/src", "crates/extsort/src"]);
    let crates = by_crate(&files);
    let records = uses(&crates["crates/records"]);
    for (file, allowed) in [
        ("verify.rs", &["order_check.rs", "checksum.rs", "layout.rs"][..]),
        ("verify_varying.rs", &["order_check.rs", "checksum.rs", "key_field.rs"]),
        ("order_check.rs", &["key_field.rs"]),
    ] {
        let used = &records[&format!("crates/records/src/{file}")];
        let allowed = allowed.iter().map(|name| format!("crates/records/src/{name}")).collect();
        assert_eq!(*used, allowed, "what {file} uses of its crate");
    }
    // It uses the floor of the engine below the sort, as in `FLOORS`, and no kernel.
    let path = "crates/extsort/src/verify.rs";
    let verifier = files.iter().find(|file| file.path == path).unwrap();
    assert!(!verifier.code.contains("xsort_kernels"), "{path}");
    let job = files.iter().filter(|file| file.path.starts_with("crates/extsort/src/job/"));
    for file in job {
        assert!(!file.code.contains("xsort_kernels"), "{}", file.path);
    }
}
