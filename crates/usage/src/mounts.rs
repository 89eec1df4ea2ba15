//! Mount points. A mount can make an undamaged tree contain itself.

use crate::stat::Identity;
use crate::stat_request::StatRequest;
use std::ffi::CString;
use std::fs;

/// Returns whether one of these directories is the root of a mount. GNU du checks this before it
/// reports a damaged file system.
pub(crate) fn is_any_mounted(request: &StatRequest, directories: &[Identity]) -> bool {
    let table = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut mount_points = table
        .split(|&byte| byte == b'\n')
        .filter_map(|line| line.split(|&byte| byte == b' ').nth(4));
    mount_points.any(|mount_point| {
        let path = CString::new(unescaped(mount_point));
        path.is_ok_and(|path| {
            request.stat_argument(&path).is_ok_and(|status| directories.contains(&status.identity))
        })
    })
}

/// Decodes a path from the table, which writes blanks and similar bytes as a backslash and three
/// octal digits.
fn unescaped(escaped: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
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
        let request = StatRequest::new(&Options::default());
        let identity =
            |path: &str| request.stat_argument(&CString::new(path).unwrap()).unwrap().identity;
        let directory = tempfile::tempdir().unwrap();
        let fresh = identity(directory.path().to_str().unwrap());
        assert!(is_any_mounted(&request, &[fresh, identity("/")]));
        assert!(!is_any_mounted(&request, &[fresh]));
    }

    #[test]
    fn blanks_are_unescaped() {
        assert_eq!(unescaped(br"/mnt/a\040b\011\134c\04"), b"/mnt/a b\t\\c\\04");
    }
}
