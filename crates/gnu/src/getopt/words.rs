//! Reads the words of a command line by getopt's rules: options in clusters and in full, their
//! arguments, and operands.
//!
//! Source: the C library's manual ("Using Getopt"). A wrong word gives a message without the
//! program's name. Some programs continue after it.

/// Least similarity of names for a suggestion. The measure and the limit are those of clap, the
/// other commands' parser.
const LIKENESS_MIN: f64 = 0.7;

/// Whether an option takes an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    Argument,
    /// An optional argument, which must be joined: `--check=quiet`.
    Perhaps,
}

/// A long option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Long<M> {
    pub(crate) name: &'static str,
    pub(crate) takes: Takes,
    pub(crate) meaning: M,
}

pub(crate) const fn long<M>(name: &'static str, takes: Takes, meaning: M) -> Long<M> {
    Long { name, takes, meaning }
}

/// The options of a program.
pub(crate) struct Vocabulary<M: 'static> {
    /// Letters without an argument.
    pub(crate) letters: &'static [u8],
    /// Letters with an argument.
    pub(crate) letters_with_argument: &'static [u8],
    /// GNU's long options, in the order in which GNU lists them for an ambiguous abbreviation. They
    /// may be abbreviated as long as that is unique.
    pub(crate) gnu: &'static [Long<M>],
    /// Our long options, which can't be abbreviated.
    pub(crate) ours: &'static [Long<M>],
    /// The meaning of a letter.
    pub(crate) letter: fn(u8) -> M,
    /// Letters for some of our options, by their long names. GNU's program refuses them.
    pub(crate) our_letters: &'static [(u8, &'static str)],
}

/// An option or operand.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said<'a, M> {
    Option(Given<'a, M>),
    Operand(&'a [u8]),
    /// A wrong word.
    Wrong(WrongWord),
}

/// A word that isn't an option, or an option without its argument.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrongWord {
    /// getopt's message.
    pub(crate) message: Vec<u8>,
    /// A suggestion of what may have been meant.
    pub(crate) hint: Option<String>,
}

impl From<Vec<u8>> for WrongWord {
    fn from(message: Vec<u8>) -> WrongWord {
        WrongWord { message, hint: None }
    }
}

/// An option as it was given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Given<'a, M> {
    pub(crate) meaning: M,
    /// The name as it was typed, without dashes. A long option may be abbreviated.
    pub(crate) typed: &'a [u8],
    /// The name in messages: `-k`, `--key`.
    pub(crate) name: String,
    pub(crate) argument: Option<&'a [u8]>,
    /// True if the argument is a separate word.
    pub(crate) is_apart: bool,
}

/// The words, and the position of the reader.
pub(crate) struct Words<'a, M: 'static> {
    vocabulary: &'static Vocabulary<M>,
    words: &'a [Vec<u8>],
    /// True if our letters are options, too.
    has_our_letters: bool,
    at: usize,
    /// The rest of a cluster of letters.
    cluster: &'a [u8],
    /// True if `--` was read.
    pub(crate) has_only_operands: bool,
}

impl<'a, M: Copy> Words<'a, M> {
    pub(crate) fn new(
        vocabulary: &'static Vocabulary<M>,
        words: &'a [Vec<u8>],
        has_our_letters: bool,
    ) -> Self {
        let (at, cluster) = (0, &[][..]);
        Self { vocabulary, words, has_our_letters, at, cluster, has_only_operands: false }
    }

    /// The next word, without reading it.
    pub(crate) fn peek(&self) -> Option<&'a [u8]> {
        self.words.get(self.at).map(Vec::as_slice)
    }

    /// Reads the next word.
    pub(crate) fn word(&mut self) -> Option<&'a [u8]> {
        let word = self.peek()?;
        self.at += 1;
        Some(word)
    }

    /// Moves back to the last word.
    pub(crate) fn put_back(&mut self) {
        self.at -= 1;
    }

    /// Reads the next option or operand. A word is an operand if `ends_options` is true for it and
    /// the word that follows.
    pub(crate) fn next(
        &mut self,
        ends_options: impl Fn(&[u8], Option<&[u8]>) -> bool,
    ) -> Option<Said<'a, M>> {
        if let Some((&letter, rest)) = self.cluster.split_first() {
            return Some(self.letter(letter, rest));
        }
        let word = self.word()?;
        if self.has_only_operands || ends_options(word, self.peek()) {
            return Some(Said::Operand(word));
        }
        match word {
            b"--" => {
                self.has_only_operands = true;
                self.next(ends_options)
            }
            [b'-', b'-', spelled @ ..] => Some(self.long(spelled).unwrap_or_else(Said::Wrong)),
            [b'-', letter, rest @ ..] => Some(self.letter(*letter, rest)),
            _ => Some(Said::Operand(word)),
        }
    }

    /// Reads a letter. `rest` of its word is more letters, or its argument.
    fn letter(&mut self, letter: u8, rest: &'a [u8]) -> Said<'a, M> {
        self.cluster = rest;
        let typed = &self.words[self.at - 1][..];
        let typed = &typed[typed.len() - rest.len() - 1..typed.len() - rest.len()];
        let name = format!("-{}", char::from(letter));
        let Some((takes_argument, meaning)) = self.meaning(letter) else {
            return Said::Wrong([b"invalid option -- '", typed, b"'"].concat().into());
        };
        let mut given = Given { meaning, typed, name, argument: None, is_apart: false };
        if !takes_argument {
            return Said::Option(given);
        }
        given.is_apart = rest.is_empty();
        given.argument = if given.is_apart { self.word() } else { Some(rest) };
        self.cluster = &[];
        match given.argument {
            Some(_) => Said::Option(given),
            None => Said::Wrong([b"option requires an argument -- '", typed, b"'"].concat().into()),
        }
    }

    /// Returns whether a letter takes an argument, and its meaning; `None` if it isn't an option.
    fn meaning(&self, letter: u8) -> Option<(bool, M)> {
        let vocabulary = self.vocabulary;
        if vocabulary.letters.contains(&letter) {
            return Some((false, (vocabulary.letter)(letter)));
        }
        if vocabulary.letters_with_argument.contains(&letter) {
            return Some((true, (vocabulary.letter)(letter)));
        }
        let ours = vocabulary.our_letters.iter().filter(|_| self.has_our_letters);
        let (_, name) = ours.into_iter().find(|(ours, _)| *ours == letter)?;
        let option = vocabulary.ours.iter().find(|option| option.name == *name)?;
        Some((option.takes == Takes::Argument, option.meaning))
    }

    fn long(&mut self, spelled: &'a [u8]) -> Result<Said<'a, M>, WrongWord> {
        let mut parts = spelled.splitn(2, |&byte| byte == b'=');
        let (typed, joined) = (parts.next().unwrap_or_default(), parts.next());
        let option = self.vocabulary.find(typed, spelled)?;
        let name = format!("--{}", option.name);
        let complaint =
            |problem: &str| WrongWord::from(format!("option '{name}' {problem}").into_bytes());
        let argument = match (option.takes, joined) {
            (Takes::Nothing, Some(_)) => return Err(complaint("doesn't allow an argument")),
            (Takes::Argument, None) => {
                Some(self.word().ok_or_else(|| complaint("requires an argument"))?)
            }
            _ => joined,
        };
        let is_apart = joined.is_none() && argument.is_some();
        Ok(Said::Option(Given { meaning: option.meaning, typed, name, argument, is_apart }))
    }
}

impl<M: Copy> Vocabulary<M> {
    /// The option that `typed` names, without its dashes. `spelled` includes a joined argument.
    fn find(&self, typed: &[u8], spelled: &[u8]) -> Result<Long<M>, WrongWord> {
        if let Some(&option) = self.long_options().find(|option| option.name.as_bytes() == typed) {
            return Ok(option);
        }
        let candidates: Vec<&Long<M>> =
            self.gnu.iter().filter(|option| option.name.as_bytes().starts_with(typed)).collect();
        match candidates[..] {
            [] => Err(WrongWord {
                message: [b"unrecognized option '--", spelled, b"'"].concat(),
                hint: self.nearest(typed).map(|name| format!("--{name} is an option")),
            }),
            [&option] => Ok(option),
            _ => {
                let names: String =
                    candidates.iter().map(|option| format!(" '--{}'", option.name)).collect();
                Err([b"option '--", spelled, b"' is ambiguous; possibilities:", names.as_bytes()]
                    .concat()
                    .into())
            }
        }
    }

    /// The long option with the most similar name, if any is similar enough.
    fn nearest(&self, typed: &[u8]) -> Option<&'static str> {
        let typed = str::from_utf8(typed).ok()?;
        let likeness = |option: &Long<M>| (strsim::jaro(typed, option.name), option.name);
        let (likeness, name) =
            self.long_options().map(likeness).max_by(|a, b| a.0.total_cmp(&b.0))?;
        (likeness > LIKENESS_MIN).then_some(name)
    }

    /// All long options.
    pub(crate) fn long_options(&self) -> impl Iterator<Item = &Long<M>> {
        self.gnu.iter().chain(self.ours)
    }

    /// True if one of our long options is an abbreviation that GNU's program understands.
    #[cfg(test)]
    pub(crate) fn takes_from_gnu(&self) -> bool {
        self.ours.iter().any(|ours| self.gnu.iter().any(|gnu| gnu.name.starts_with(ours.name)))
    }
}

/// The meaning of a word, which may be abbreviated as long as its meaning is unique. The error is
/// true if it is ambiguous, false if there is no such word.
pub(crate) fn choose<M: Copy + PartialEq>(word: &[u8], words: &[(&str, M)]) -> Result<M, bool> {
    if let Some(&(_, meaning)) = words.iter().find(|(full, _)| full.as_bytes() == word) {
        return Ok(meaning);
    }
    let mut meanings =
        words.iter().filter(|(full, _)| full.as_bytes().starts_with(word)).map(|&(_, m)| m);
    let first = meanings.next().ok_or(false)?;
    if meanings.all(|other| other == first) { Ok(first) } else { Err(true) }
}
