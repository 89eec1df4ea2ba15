//! File names in messages, in the process's locale.

use crate::gnu_commands::locale;
use std::ffi::OsStr;
use xsort_gnu::{quoted_name, shown_name};

/// The name, in marks only where it needs them.
pub(super) fn shown(name: &OsStr) -> Vec<u8> {
    shown_name(name, locale())
}

/// The name in marks.
pub(super) fn quoted(name: &OsStr) -> Vec<u8> {
    quoted_name(name, locale())
}
