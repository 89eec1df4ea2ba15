//! The installed GNU programs: the oracle for what `xsort lines` and `xsort du` must print.

use std::process::Command;

/// Versions from this on do what ours are compared with.
const MAJOR_MIN: u32 = 9;

/// The major and minor version of an installed program of GNU coreutils; `None` if it is not
/// there, or somebody else's.
pub fn version(program: &str) -> Option<(u32, u32)> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.lines().next()?.strip_prefix(&format!("{program} (GNU coreutils) "))?;
    let mut numbers = version.split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// True if a program of GNU coreutils is there to compare with; says so if it isn't.
pub fn has(program: &str) -> bool {
    let has = version(program).is_some_and(|(major, _)| major >= MAJOR_MIN);
    if !has {
        eprintln!("SKIPPED: `{program}` is not that of GNU coreutils {MAJOR_MIN} or later");
    }
    has
}
