//! Patterns of excluded files: `--exclude` and `-X`.
//!
//! A pattern is tried on the whole path and after each of its slashes, and `*` matches slashes too.
//! A pattern without wildcards is compared, without its backslashes.

use std::ffi::CString;

use crate::locale::Locale;

/// Patterns, any of which may match.
#[derive(Clone, Debug, Default)]
pub struct Excludes {
    names: Vec<Vec<u8>>,
    patterns: Vec<CString>,
}

impl PartialEq for Excludes {
    fn eq(&self, other: &Self) -> bool {
        (&self.names, &self.patterns) == (&other.names, &other.patterns)
    }
}

impl Eq for Excludes {}

impl Excludes {
    /// True if there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.patterns.is_empty()
    }

    /// Adds a pattern, up to its first NUL.
    pub(super) fn add(&mut self, pattern: &[u8]) {
        let pattern = pattern.split(|&byte| byte == 0).next().unwrap_or_default();
        if has_wildcards(pattern) {
            self.patterns.push(CString::new(pattern).expect("cut at the first NUL"));
        } else {
            self.names.push(without_escapes(pattern));
        }
    }

    /// Adds the patterns of a file of `-X`, one per line. Trailing blanks and empty lines are
    /// ignored.
    pub(super) fn add_lines(&mut self, text: &[u8]) {
        for line in text.split(|&byte| byte == b'\n') {
            let blanks = line.iter().rev().take_while(|byte| matches!(byte, b' ' | 9..=13)).count();
            if blanks < line.len() {
                self.add(&line[..line.len() - blanks]);
            }
        }
    }

    /// True if the file at this path is excluded. The locale decides what a character is.
    pub fn matches(&self, path: &[u8], locale: &Locale) -> bool {
        let is_end = |name: &Vec<u8>| {
            path.strip_suffix(&name[..])
                .is_some_and(|before| before.is_empty() || before.ends_with(b"/"))
        };
        if self.names.iter().any(is_end) {
            return true;
        }
        if self.patterns.is_empty() {
            return false;
        }
        let path = CString::new(path).expect("a path has no NUL");
        let bytes = path.as_bytes_with_nul();
        let after_slash = |&at: &usize| bytes[at - 1] == b'/' && bytes[at] != b'/';
        let starts: Vec<usize> = (1..bytes.len()).filter(after_slash).collect();
        self.patterns.iter().any(|pattern| {
            let mut tails =
                std::iter::once(0).chain(starts.iter().copied()).map(|at| &path.as_c_str()[at..]);
            tails.any(|tail| locale.handle.matches(pattern, tail))
        })
    }
}

fn has_wildcards(pattern: &[u8]) -> bool {
    let mut bytes = pattern.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'?' | b'*' | b'[' => return true,
            _ => {}
        }
    }
    false
}

fn without_escapes(pattern: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(pattern.len());
    let mut bytes = pattern.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        name.push(if byte == b'\\' { bytes.next().unwrap_or(byte) } else { byte });
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(patterns: &[&str], path: &str) -> bool {
        let mut excludes = Excludes::default();
        patterns.iter().for_each(|pattern| excludes.add(pattern.as_bytes()));
        excludes.matches(path.as_bytes(), &Locale::named("C.UTF-8").unwrap())
    }

    /// Excludes the same files as `du --exclude` of coreutils 9.1.
    #[test]
    fn patterns_match_behind_any_slash() {
        for (pattern, path, expected) in [
            ("*.o", "a/b.o", true),
            ("*.o", "a/b.oo", false),
            ("a*o", "a/b.o", true),
            ("b", "a/b", true),
            ("a/b", "x/a/b", true),
            ("b", "ab", false),
            ("/b", "a/b", false),
            ("", "a/", true),
            ("", "a", false),
            ("*", "", true),
            ("?", "x/ä", true),
            ("\\a", "a", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a\\", "a\\", true),
            ("[", "[", true),
            ("[a-c]", "d/b", true),
            ("b?c", "a/b/c", true),
        ] {
            assert_eq!(matches(&[pattern], path), expected, "{pattern} {path}");
        }
        assert!(matches(&["x", "*y"], "ay") && !matches(&[], "a"));
    }

    #[test]
    fn lines_lose_their_last_blanks() {
        let mut excludes = Excludes::default();
        excludes.add_lines(b"a \t\n\n  \n b\nc*\0d\ne");
        assert_eq!(excludes.names, [&b"a"[..], b" b", b"e"]);
        assert_eq!(excludes.patterns, [c"c*".to_owned()]);
    }
}
