//! `--files0-from`: the names in a list of files, or GNU sort's refusal of the list.

use crate::getopt::{Refusal, joined, quoted_name, shown_name};
use crate::locale::Locale;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

/// The names in the text of a list. Each ends with NUL; the last one may lack it. `list` is the
/// name of the list.
///
/// # Errors
///
/// If there are no names, or one of them is empty or is `-`.
pub fn listed_files(text: &[u8], list: &OsStr, locale: &Locale) -> Result<Vec<OsString>, Refusal> {
    if text.is_empty() {
        return Err(Refusal::new(joined(&[b"no input from ", &quoted_name(list, locale)])));
    }
    let named = |(number, name): (usize, &[u8])| match name {
        b"" => {
            let rest = format!(":{number}: invalid zero-length file name");
            Err(Refusal::new(joined(&[&shown_name(list, locale), rest.as_bytes()])))
        }
        b"-" => {
            Err(Refusal::new("when reading file names from stdin, no file name of '-' allowed"))
        }
        name => Ok(OsString::from_vec(name.to_vec())),
    };
    let names = text.strip_suffix(b"\0").unwrap_or(text);
    (1..).zip(names.split(|&byte| byte == 0)).map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn names_are_all_that_is_between_nuls() {
        let listed = |text: &[u8]| {
            let refused = |refusal: Refusal| String::from_utf8(refusal.message("sort")).unwrap();
            listed_files(text, OsStr::new("list"), &Locale::c()).map_err(refused)
        };
        let names =
            |names: &[&[u8]]| names.iter().map(|name| OsStr::from_bytes(name).to_owned()).collect();
        assert_eq!(listed(b"a\0b\xff\n c"), Ok(names(&[b"a", b"b\xff\n c"])));
        assert_eq!(listed(b"-a\0"), Ok(names(&[b"-a"])));
        assert_eq!(listed(b""), Err("sort: no input from 'list'\n".into()));
        assert_eq!(listed(b"\0"), Err("sort: list:1: invalid zero-length file name\n".into()));
        assert_eq!(listed(b"a\0\0"), Err("sort: list:2: invalid zero-length file name\n".into()));
        assert!(listed(b"a\0-\0").is_err());
    }
}
