//! Sorts and checks by the rules of languages, against GNU sort's.
//!
//! The locales are made with `localedef` in a folder of their own, which the C library is told of
//! by an environment variable: the test runs itself again with it.

use std::path::Path;
use std::process::Command;

use xsort_testing::{gnu, quick_or_long};

/// Name, source and character set of the locales: the point as decimal point and as separator, one
/// with neither, one of single bytes.
const LOCALES: [(&str, &str, &str); 4] = [
    ("en_US.UTF-8", "en_US", "UTF-8"),
    ("de_DE.UTF-8", "de_DE", "UTF-8"),
    ("fr_FR.UTF-8", "fr_FR", "UTF-8"),
    ("de_DE.ISO-8859-1", "de_DE", "ISO-8859-1"),
];

/// More of a long run: letters of several characters, levels that count from the back, one level
/// only, positions that don't count, characters of two and four bytes.
const MORE: [(&str, &str, &str); 7] = [
    ("hu_HU.UTF-8", "hu_HU", "UTF-8"),
    ("cs_CZ.ISO-8859-2", "cs_CZ", "ISO-8859-2"),
    ("fr_CA.UTF-8", "fr_CA", "UTF-8"),
    ("ja_JP.EUC-JP", "ja_JP", "EUC-JP"),
    ("th_TH.UTF-8", "th_TH", "UTF-8"),
    ("zh_CN.GB18030", "zh_CN", "GB18030"),
    ("ko_KR.UTF-8", "ko_KR", "UTF-8"),
];

fn make(locales: &[(&str, &str, &str)], folder: &Path) -> bool {
    locales.iter().all(|(name, source, characters)| {
        let made = Command::new("localedef")
            .args(["-i", source, "-f", characters])
            .arg(folder.join(name))
            .output();
        made.is_ok_and(|made| made.status.success())
    })
}

#[test]
fn sorts_checks_marks_and_warnings_are_gnus_by_language() {
    let folder = tempfile::tempdir().unwrap();
    if !gnu::has("sort") {
        return;
    }
    let locales = [&LOCALES[..], quick_or_long(&[], &MORE)].concat();
    if !make(&locales, folder.path()) {
        eprintln!("SKIPPED: `localedef` or the sources of its locales are missing");
        return;
    }
    let names: Vec<&str> = locales.iter().map(|(name, ..)| *name).collect();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "differential::by_language", "--ignored"])
        .env("LOCPATH", folder.path())
        .env("XSORT_LOCALES", names.join(" "))
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}
