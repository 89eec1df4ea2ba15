//! The installed GNU programs: the oracle for the output of `xsort lines` and `xsort du`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// First major version whose behaviour ours is compared with.
const MAJOR_MIN: u32 = 9;

/// Returns the major and minor version of an installed program of GNU coreutils. `None` if the
/// program is missing or not from GNU.
pub fn version(program: &str) -> Option<(u32, u32)> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.lines().next()?.strip_prefix(&format!("{program} (GNU coreutils) "))?;
    let mut numbers = version.split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Returns whether a GNU coreutils program is available for comparison; prints a line if not.
pub fn has(program: &str) -> bool {
    let has = version(program).is_some_and(|(major, _)| major >= MAJOR_MIN);
    if !has {
        eprintln!("SKIPPED: `{program}` is not that of GNU coreutils {MAJOR_MIN} or later");
    }
    has
}

/// Returns the path of a program, as a shell finds it; its bare name if it is not found.
///
/// A command with a `PATH` of its own forks this whole process unless its program has a path.
/// Thousands of scripts would do the same.
pub fn path(program: &str) -> PathBuf {
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&directories).map(|directory| directory.join(program));
    found.find(|path| path.is_file()).unwrap_or_else(|| Path::new(program).to_path_buf())
}
