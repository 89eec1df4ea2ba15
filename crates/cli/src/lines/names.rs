//! File names in messages, in the process's locale.

use std::ffi::OsStr;
use std::sync::LazyLock;
use xsort_text::{Locale, quoted_name, shown_name};

/// A process has one.
static LOCALE: LazyLock<Locale> = LazyLock::new(|| Locale::from_environment().unwrap_or_else(Locale::c));

/// The name, in marks only where it needs them.
pub(super) fn shown(name: &OsStr) -> Vec<u8> {
    shown_name(name, &LOCALE)
}

/// The name in marks.
pub(super) fn quoted(name: &OsStr) -> Vec<u8> {
    quoted_name(name, &LOCALE)
}
