//! The installed GNU sort, which knows.

use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// True if there is a GNU sort to ask; says so if there isn't.
pub(crate) fn is_there() -> bool {
    static IS_THERE: OnceLock<bool> = OnceLock::new();
    *IS_THERE.get_or_init(|| {
        let answer = Command::new("sort").arg("--version").output();
        let text = answer
            .map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned())
            .unwrap_or_default();
        let version =
            text.lines().next().and_then(|line| line.strip_prefix("sort (GNU coreutils) "));
        let is_there = version
            .and_then(|version| version.split('.').next()?.parse().ok())
            .is_some_and(|major: u32| major >= 9);
        if !is_there {
            eprintln!("SKIPPED: `sort` is not that of GNU coreutils 9 or later");
        }
        is_there
    })
}

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
