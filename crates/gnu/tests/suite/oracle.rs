//! The installed GNU sort, which knows.

use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// What GNU sort answers in `locale`.
pub(crate) fn ask(words: &[OsString], input: &[u8], locale: &str) -> Output {
    // It may write where it is told to: somewhere that goes away.
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new("sort")
        .args(words)
        .current_dir(&folder)
        .env("LC_ALL", locale)
        // Messages in English whatever the locale.
        .env("LANGUAGE", "en")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may refuse and leave without reading.
    drop(child.stdin.take().unwrap().write_all(input));
    child.wait_with_output().unwrap()
}
