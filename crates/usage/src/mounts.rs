//! Directories on which something is mounted: what makes a sound tree hold itself.

use crate::status::{Identity, Question};
use std::ffi::CString;
use std::fs;

/// Whether a directory is what some mount shows at its place, as GNU du asks before it calls a file
/// system damaged.
pub(crate) fn is_mounted(question: &Question, identity: Identity) -> bool {
    let table = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut places = table
        .split(|&byte| byte == b'\n')
        .filter_map(|line| line.split(|&byte| byte == b' ').nth(4));
    places.any(|place| {
        let path = CString::new(unescaped(place));
        path.is_ok_and(|path| {
            question.of_argument(&path).is_ok_and(|status| status.identity == identity)
        })
    })
}

/// The table has blanks and the like as a backslash and three octal digits.
fn unescaped(place: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(place.len());
    let mut rest = place;
    while let [first, after @ ..] = rest {
        let digits = after
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                path.push(byte);
                rest = &after[3..];
            }
            None => {
                path.push(*first);
                rest = after;
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    #[test]
    fn the_root_is_mounted_and_a_fresh_directory_isnt() {
        let question = Question::new(&Options::default());
        let identity =
            |path: &str| question.of_argument(&CString::new(path).unwrap()).unwrap().identity;
        assert!(is_mounted(&question, identity("/")));
        let directory = tempfile::tempdir().unwrap();
        assert!(!is_mounted(&question, identity(directory.path().to_str().unwrap())));
    }

    #[test]
    fn blanks_are_unescaped() {
        assert_eq!(unescaped(br"/mnt/a\040b\011\134c\04"), b"/mnt/a b\t\\c\\04");
    }
}
