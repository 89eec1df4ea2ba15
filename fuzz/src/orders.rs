//! Options as the fuzzer likes them, a few bytes each, and as words of a command line. Most of them
//! are accepted, which bytes at random aren't.

use arbitrary::Arbitrary;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use xsort_gnu::sort::{Command, Environment, Request};
use xsort_gnu::{Locale, Refusal};

/// How lines are to be ordered.
#[derive(Arbitrary, Clone, Debug)]
pub struct Orders {
    global: Letters,
    separator: Option<u8>,
    keys: Vec<Key>,
    stable: bool,
    unique: bool,
    zero_terminated: bool,
}

#[derive(Arbitrary, Clone, Debug)]
struct Key {
    start: Position,
    start_letters: Letters,
    end: Option<(Position, Letters)>,
    is_obsolete: bool,
}

#[derive(Arbitrary, Clone, Debug)]
struct Position {
    field: u8,
    char: Option<u8>,
}

/// Ordering options: one kind, and those that go with each.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Letters(u8);

const KINDS: [&str; 16] =
    ["", "", "", "n", "g", "h", "M", "V", "d", "i", "di", "dV", "iV", "n", "n", "V"];

impl Letters {
    fn text(self) -> String {
        let mut text = KINDS[usize::from(self.0 % 16)].to_owned();
        let others = [('b', 16), ('f', 32), ('r', 64)];
        text.extend(others.iter().filter(|(_, bit)| self.0 & bit != 0).map(|(letter, _)| letter));
        text
    }
}

impl Position {
    /// Counted from `first`; small, so that it is in the line, but for a few.
    fn text(&self, first: u64, first_char: u64) -> String {
        let number = |value: u8, first: u64| match value {
            250.. => u64::MAX - u64::from(value - 250),
            _ => first + u64::from(value % 5),
        };
        let char = self.char.map(|char| format!(".{}", number(char, first_char)));
        format!("{}{}", number(self.field, first), char.unwrap_or_default())
    }
}

impl Key {
    /// One word, or two of the obsolete form.
    fn words(&self) -> Vec<String> {
        let letters = self.start_letters.text();
        let end = |sign: &str, first| {
            let (position, letters) = self.end.as_ref()?;
            Some(format!("{sign}{}{}", position.text(first, 0), letters.text()))
        };
        if self.is_obsolete {
            let start = format!("+{}{letters}", self.start.text(0, 0));
            return [start].into_iter().chain(end("-", 0)).collect();
        }
        let end = end(",", 1).unwrap_or_default();
        vec![format!("-k{}{letters}{end}", self.start.text(1, 1))]
    }
}

impl Orders {
    /// The words of the command line.
    pub fn words(&self) -> Vec<OsString> {
        let mut words: Vec<Vec<u8>> = Vec::new();
        let letters = self.global.text();
        if !letters.is_empty() {
            words.push(format!("-{letters}").into_bytes());
        }
        match self.separator {
            Some(0) => words.push(b"-t\\0".to_vec()),
            Some(byte) => words.push(vec![b'-', b't', byte]),
            None => {}
        }
        let flags = [("-s", self.stable), ("-u", self.unique), ("-z", self.zero_terminated)];
        words.extend(
            flags.iter().filter(|(_, is_set)| *is_set).map(|(word, _)| word.as_bytes().to_vec()),
        );
        // More make a line slow, and nothing new.
        let keys = self.keys.iter().take(4).flat_map(Key::words);
        words.extend(keys.map(String::into_bytes));
        words.into_iter().map(OsString::from_vec).collect()
    }

    /// The command that they are, if they are one.
    ///
    /// # Errors
    /// GNU's refusal.
    pub fn command(&self) -> Result<Command, Refusal> {
        match xsort_gnu::sort::parse(self.words(), &environment())? {
            Request::Run(command) => Ok(*command),
            other => unreachable!("nobody asked for {other:?}"),
        }
    }
}

/// A process in the C locale.
pub fn environment() -> Environment {
    Environment::new(|_| None, Locale::c())
}
