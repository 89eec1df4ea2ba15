//! File names in messages, in the process's locale. URLs appear without their secrets.

use crate::gnu_commands::locale;
use std::ffi::OsStr;
use std::path::Path;
use xsort_disk::public_path;
use xsort_gnu::{quoted_name, shown_name};

/// The name, in quotation marks only if it needs them.
pub(super) fn shown(name: &OsStr) -> Vec<u8> {
    shown_name(public_path(Path::new(name)).as_os_str(), locale())
}

/// The name in quotation marks.
pub(super) fn quoted(name: &OsStr) -> Vec<u8> {
    quoted_name(public_path(Path::new(name)).as_os_str(), locale())
}
