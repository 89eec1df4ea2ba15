//! Text for the C library, which wants it to end with NUL.

use std::ffi::CStr;

/// `text` up to its first NUL, copied to `work`.
pub(super) fn c_text<'a>(text: &[u8], work: &'a mut Vec<u8>) -> &'a CStr {
    work.clear();
    work.extend_from_slice(text);
    work.push(0);
    CStr::from_bytes_until_nul(work).expect("it was just put there")
}
