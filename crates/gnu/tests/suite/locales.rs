//! Sorts and checks by the rules of languages, against GNU sort's.
//!
//! The locales are made with `localedef` in a folder of their own, which the C library is told of
//! by an environment variable: the test runs itself again with it.

use std::path::Path;
use std::process::Command;

use xsort_testing::gnu;

/// Name, source and character set of the locales: the point as decimal point and as separator, one
/// with neither, one of single bytes.
const LOCALES: [(&str, &str, &str); 4] = [
    ("en_US.UTF-8", "en_US", "UTF-8"),
    ("de_DE.UTF-8", "de_DE", "UTF-8"),
    ("fr_FR.UTF-8", "fr_FR", "UTF-8"),
    ("de_DE.ISO-8859-1", "de_DE", "ISO-8859-1"),
];

fn make(folder: &Path) -> bool {
    LOCALES.iter().all(|(name, source, characters)| {
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
    if !make(folder.path()) {
        eprintln!("SKIPPED: `localedef` or the sources of its locales are missing");
        return;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "differential::by_language", "--ignored"])
        .env("LOCPATH", folder.path())
        .env("XSORT_LOCALES", LOCALES.map(|(name, ..)| name).join(" "))
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}
