//! C strings for the C library.

use std::ffi::CStr;

/// Copies `text` up to its first NUL to `work`, as a C string.
pub(crate) fn c_text<'a>(text: &[u8], work: &'a mut Vec<u8>) -> &'a CStr {
    work.clear();
    work.extend_from_slice(text);
    work.push(0);
    CStr::from_bytes_until_nul(work).expect("it was just put there")
}

/// The text after the first NUL, if there is one.
pub(crate) fn after_nul(text: &[u8]) -> Option<&[u8]> {
    memchr::memchr(0, text).map(|at| &text[at + 1..])
}
