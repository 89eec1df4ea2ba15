//! A command line that a GNU program refuses, with its message and exit status.

use std::fmt;

use super::quote::Quoting;

/// The reason why a command line was refused, in the program's words, and the exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    lines: Vec<Line>,
    asks_for_help: bool,
    status: u8,
    hint: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    is_prefixed: bool,
    text: Vec<u8>,
}

impl Refusal {
    /// A message of one line, with status 2.
    pub(crate) fn new(text: impl Into<Vec<u8>>) -> Self {
        Self {
            lines: vec![Line { is_prefixed: true, text: text.into() }],
            asks_for_help: false,
            status: 2,
            hint: None,
        }
    }

    /// A refusal without a line, because the lines before it are enough.
    pub(crate) fn none() -> Self {
        Self { lines: Vec::new(), asks_for_help: false, status: 2, hint: None }
    }

    /// Inserts other lines before, which begin with the program's name.
    pub(crate) fn after(mut self, said: Vec<Vec<u8>>) -> Self {
        self.lines.splice(0..0, said.into_iter().map(|text| Line { is_prefixed: true, text }));
        self
    }

    /// Adds a line that begins with the program's name.
    pub(crate) fn and(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.lines.push(Line { is_prefixed: true, text: text.into() });
        self
    }

    /// Adds a line without the program's name.
    pub(crate) fn and_bare(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.lines.push(Line { is_prefixed: false, text: text.into() });
        self
    }

    /// Adds a last line that points to `--help`.
    pub(crate) fn see_help(mut self) -> Self {
        self.asks_for_help = true;
        self
    }

    /// Sets a status other than 2.
    pub(crate) fn with_status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }

    /// Sets a suggestion of what may have been meant.
    pub(crate) fn with_hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hint = hint.into();
        self
    }

    /// A suggestion of what may have been meant. It isn't a part of the message, because GNU's
    /// programs don't print it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The exit status: GNU sort's is 2, or 1 for a wrong WORD of `--sort` and `--check`; GNU du's
    /// is 1.
    pub fn status(&self) -> u8 {
        self.status
    }

    /// The text for standard error, with all line ends. `program` is the name that was called. It
    /// is bytes, because it repeats arguments that need not be UTF-8.
    pub fn message(&self, program: &str) -> Vec<u8> {
        let mut message = Vec::new();
        for line in &self.lines {
            if line.is_prefixed {
                message.extend_from_slice(program.as_bytes());
                message.extend_from_slice(b": ");
            }
            message.extend_from_slice(&line.text);
            message.push(b'\n');
        }
        if self.asks_for_help {
            message.extend_from_slice(
                format!("Try '{program} --help' for more information.\n").as_bytes(),
            );
        }
        message
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.lines.first().expect("a refusal has a line");
        out.write_str(&String::from_utf8_lossy(&first.text))
    }
}

impl std::error::Error for Refusal {}

/// Concatenates the parts of a line.
pub(crate) fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// The refusal of options that exclude each other. `letters` names them together.
pub(crate) fn incompatible(letters: &str) -> Refusal {
    Refusal::new(format!("options '-{letters}' are incompatible"))
}

/// The refusal of an argument that isn't in `valid`, whose elements are sets of words with one
/// meaning.
pub(crate) fn no_such_word(
    argument: &[u8],
    option: &str,
    is_ambiguous: bool,
    valid: &[&[&str]],
    quoting: Quoting<'_>,
) -> Refusal {
    let problem: &[u8] = if is_ambiguous { b"ambiguous" } else { b"invalid" };
    let (argument, option) = (quoting.quote(argument), quoting.quote(option.as_bytes()));
    let mut refusal = Refusal::new(joined(&[problem, b" argument ", &argument, b" for ", &option]))
        .and_bare("Valid arguments are:");
    for synonyms in valid {
        let quoted: Vec<Vec<u8>> =
            synonyms.iter().map(|word| quoting.quote(word.as_bytes())).collect();
        refusal = refusal.and_bare(joined(&[b"  - ", &quoted.join(&b", "[..])]));
    }
    refusal.see_help().with_status(1)
}

/// The refusal of an argument that isn't a number. `problem` describes the error.
pub(crate) fn bad_argument(problem: &str, option: &str, text: &[u8]) -> Refusal {
    Refusal::new(joined(&[problem.as_bytes(), option.as_bytes(), b" argument '", text, b"'"]))
}

/// The system's error text, without its number.
pub(crate) fn system_reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
