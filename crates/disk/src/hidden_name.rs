//! Hidden names of unpublished outputs: `.NAME` and a suffix, in the output's directory.
//!
//! One list holds the hidden names of the whole process. A thread that ends the process at once can
//! remove them without knowing its disks.

use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of bytes of the output's name in a hidden name. With any suffix the hidden name
/// fits into 143 bytes, the shortest limit in use (eCryptfs); most file systems allow 255.
const STEM_BYTES_MAX: usize = 96;

/// A hidden name that an output of this process has now.
struct HiddenName {
    directory: Arc<OwnedFd>,
    name: OsString,
}

/// The hidden names of the whole process.
static HIDDEN_NAMES: Mutex<Vec<HiddenName>> = Mutex::new(Vec::new());

fn hidden_names() -> MutexGuard<'static, Vec<HiddenName>> {
    HIDDEN_NAMES.lock()
}

/// Creates a hidden name with `make` and puts it on the list. Holds the list's lock during the
/// call, so that [`abandon_outputs`] finds every name.
pub(crate) fn register<T>(
    directory: &Arc<OwnedFd>,
    make: impl FnOnce() -> Result<(T, OsString), Errno>,
) -> Result<(T, OsString), Errno> {
    let mut names = hidden_names();
    let (made, name) = make()?;
    names.push(HiddenName { directory: Arc::clone(directory), name: name.clone() });
    Ok((made, name))
}

/// Takes a name off the list. Names are unique because each contains a random number.
pub(crate) fn unregister(name: &OsStr) {
    hidden_names().retain(|other| other.name != name);
}

/// Removes the hidden names of all outputs that are not in place. For a process that ends at once,
/// from any of its threads. No output is published afterwards: a thread that tries blocks until the
/// process ends.
pub fn abandon_outputs() {
    abandon(hidden_names());
}

/// Removes hidden names like [`abandon_outputs`], but stops waiting for the list's lock after
/// `patience` and then returns false. For a thread that may itself hold that lock, for example
/// while it waits for memory.
pub fn try_to_abandon_outputs(patience: Duration) -> bool {
    HIDDEN_NAMES.try_lock_for(patience).map(abandon).is_some()
}

fn abandon(names: MutexGuard<'static, Vec<HiddenName>>) {
    for HiddenName { directory, name } in names.iter() {
        // `xsort status --clear` later finds files that can't be removed now.
        let _ = unlinkat(directory, name, AtFlags::empty());
    }
    std::mem::forget(names);
}

/// Returns `.NAME` and the suffix. A long name is cut to fit; then only the suffix tells two
/// outputs apart.
pub fn hidden_name(name: &OsStr, suffix: &str) -> OsString {
    let name = name.as_bytes();
    let mut end = name.len().min(STEM_BYTES_MAX);
    // Don't cut inside a character: some file systems accept only UTF-8.
    while end < name.len() && end > STEM_BYTES_MAX - 3 && name[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    let mut hidden = OsString::from(".");
    hidden.push(OsStr::from_bytes(&name[..end]));
    hidden.push(suffix);
    hidden
}

/// Calls `make` with new hidden names until one is free.
pub(crate) fn with_hidden_name<T>(
    name: &OsStr,
    make: impl Fn(&OsStr) -> Result<T, Errno>,
) -> Result<(T, OsString), Errno> {
    loop {
        // The system seeds `RandomState` once per thread, and each new one differs by one. So names
        // differ between threads, and between processes with the same process ID (in two
        // containers). In the end O_EXCL ensures that a name is new.
        let random = RandomState::new().build_hasher().finish();
        let hidden = hidden_name(name, &format!(".xsort-{}-{random:016x}", std::process::id()));
        match make(&hidden) {
            Ok(made) => return Ok((made, hidden)),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Creates a file in `directory` under a hidden name derived from `name`.
pub(crate) fn create_hidden(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    mode: Mode,
) -> Result<(OwnedFd, OsString), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    with_hidden_name(name, |hidden| openat(directory, hidden, flags, mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_fit_and_end_between_characters() {
        let suffix = ".xsort-0123456789abcdef.scratch-1000";
        for unit in ["n", "\u{fc}", "\u{4e2d}", "\u{1f980}"] {
            for lead in ["", "a", "ab", "abc"] {
                let name = format!("{lead}{}", unit.repeat((255 - lead.len()) / unit.len()));
                let hidden = hidden_name(OsStr::new(&name), suffix);
                assert!(hidden.len() <= 143 && hidden.len() > STEM_BYTES_MAX, "{hidden:?}");
                let stem = hidden.to_str().expect("whole characters").strip_suffix(suffix).unwrap();
                assert!(name.starts_with(stem.strip_prefix('.').unwrap()), "{hidden:?}");
            }
        }
        assert_eq!(hidden_name(OsStr::new("out"), "-1"), ".out-1");
        assert_eq!(
            hidden_name(OsStr::from_bytes(&[0xbf; 255]), suffix).len(),
            1 + 93 + suffix.len()
        );
    }
}
