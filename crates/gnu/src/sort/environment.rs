//! The inputs of a command line besides its words.

use std::ffi::OsStr;

use crate::locale::Locale;

/// The process state that the parser needs. The caller provides it.
#[derive(Clone, Debug)]
pub struct Environment {
    /// True if `POSIXLY_CORRECT` is set: options end at the first operand.
    pub posixly_correct: bool,
    /// The version of POSIX to follow, as in `_POSIX2_VERSION`. From 200112 to 200808 `+1` is the
    /// name of a file.
    pub posix2_version: i64,
    /// The locale, which decides how messages are quoted.
    pub locale: Locale,
    /// Bytes of physical memory, for `-S 50%`.
    pub memory_bytes: u64,
    /// Most files that may be open at once (`RLIMIT_NOFILE`), the limit of `--batch-size`.
    pub open_files_max: u64,
    /// True if the short options that all of xsort's commands share are understood: `-j`, `-q`,
    /// `-v`. Called `sort`, the program refuses them as GNU sort does.
    pub has_our_letters: bool,
}

/// The version of POSIX that GNU sort follows by default.
const POSIX2_VERSION: i64 = 200_809;

impl Environment {
    /// The environment of a process in `locale`. `lines` returns the value of an environment
    /// variable. Memory and open files are unlimited until the caller sets them.
    pub fn new<'a>(variable: impl Fn(&str) -> Option<&'a OsStr>, locale: Locale) -> Self {
        let version =
            variable("_POSIX2_VERSION").and_then(|value| value.to_str()?.trim_start().parse().ok());
        Self {
            posixly_correct: variable("POSIXLY_CORRECT").is_some(),
            posix2_version: version.unwrap_or(POSIX2_VERSION),
            locale,
            memory_bytes: u64::MAX,
            open_files_max: u64::MAX,
            has_our_letters: false,
        }
    }

    /// True if `+1` may be a key.
    pub(super) fn has_obsolete_keys(&self) -> bool {
        !(200_112..200_809).contains(&self.posix2_version)
    }
}
