//! C strings for the C library, and texts of which NULs make several.

use std::cmp::Ordering;
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

/// Orders two texts by `compare`, which looks at them up to their first NUL; where it finds no
/// difference, by the texts after that. A text that ends first is first.
pub(crate) fn compare_after_nuls(
    a: &[u8],
    b: &[u8],
    mut compare: impl FnMut(&[u8], &[u8]) -> Ordering,
) -> Ordering {
    let (mut a, mut b) = (Some(a), Some(b));
    while let (Some(text_a), Some(text_b)) = (a, b) {
        let order = compare(text_a, text_b);
        if order != Ordering::Equal {
            return order;
        }
        (a, b) = (after_nul(text_a), after_nul(text_b));
    }
    a.is_some().cmp(&b.is_some())
}
