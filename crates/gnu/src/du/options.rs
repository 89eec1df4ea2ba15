//! The options of GNU du, and ours.

use super::command::{SortBy, TimeOf};
use crate::getopt::{LETTERS, Long, Takes, Vocabulary, WHEN_WORDS, long};

/// The meaning of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The short option of this letter.
    Letter(u8),
    Color,
    Exclude,
    Files0From,
    Help,
    Inodes,
    Json,
    Progress,
    Quiet,
    Report,
    Si,
    SkipPseudo,
    Sort,
    Threads,
    Time,
    TimeStyle,
    Top,
    Tree,
    Version,
}

/// All options of du, GNU's and ours.
pub(super) const OPTIONS: Vocabulary<Meaning> = Vocabulary {
    letters: b"0AabcDHhkLlmPSsx",
    letters_with_argument: b"BdtX",
    gnu: &GNU,
    ours: &OURS,
    letter: Meaning::Letter,
    our_letters: LETTERS,
};

const GNU: [Long<Meaning>; 25] = {
    use Meaning::*;
    use Takes::*;
    [
        long("all", Nothing, Letter(b'a')),
        long("apparent-size", Nothing, Letter(b'A')),
        long("block-size", Argument, Letter(b'B')),
        long("bytes", Nothing, Letter(b'b')),
        long("count-links", Nothing, Letter(b'l')),
        long("dereference", Nothing, Letter(b'L')),
        long("dereference-args", Nothing, Letter(b'D')),
        long("exclude", Argument, Exclude),
        long("exclude-from", Argument, Letter(b'X')),
        long("files0-from", Argument, Files0From),
        long("human-readable", Nothing, Letter(b'h')),
        long("inodes", Nothing, Inodes),
        long("si", Nothing, Si),
        long("max-depth", Argument, Letter(b'd')),
        long("null", Nothing, Letter(b'0')),
        long("no-dereference", Nothing, Letter(b'P')),
        long("one-file-system", Nothing, Letter(b'x')),
        long("separate-dirs", Nothing, Letter(b'S')),
        long("summarize", Nothing, Letter(b's')),
        long("total", Nothing, Letter(b'c')),
        long("threshold", Argument, Letter(b't')),
        long("time", Perhaps, Time),
        long("time-style", Argument, TimeStyle),
        long("help", Nothing, Help),
        long("version", Nothing, Version),
    ]
};

const OURS: [Long<Meaning>; 10] = [
    long("color", Takes::Perhaps, Meaning::Color),
    long("json", Takes::Nothing, Meaning::Json),
    long("progress", Takes::Perhaps, Meaning::Progress),
    long("quiet", Takes::Nothing, Meaning::Quiet),
    long("report", Takes::Argument, Meaning::Report),
    long("skip-pseudo", Takes::Nothing, Meaning::SkipPseudo),
    long("sort", Takes::Argument, Meaning::Sort),
    long("threads", Takes::Argument, Meaning::Threads),
    long("top", Takes::Argument, Meaning::Top),
    long("tree", Takes::Nothing, Meaning::Tree),
];

/// The words of `--time`. Words of the same meaning are adjacent.
pub(super) const TIME_WORDS: [(&str, TimeOf); 5] = [
    ("atime", TimeOf::Accessed),
    ("access", TimeOf::Accessed),
    ("use", TimeOf::Accessed),
    ("ctime", TimeOf::Changed),
    ("status", TimeOf::Changed),
];

/// The words of `--time-style`, and their formats.
pub(super) const TIME_STYLES: [(&str, &str); 3] =
    [("full-iso", "%Y-%m-%d %H:%M:%S.%N %z"), ("long-iso", "%Y-%m-%d %H:%M"), ("iso", "%Y-%m-%d")];

/// The words of `--sort`.
pub(super) const SORT_WORDS: [(&str, SortBy); 2] = [("size", SortBy::Size), ("name", SortBy::Name)];

/// The words that a long option accepts as argument, if these are few.
pub(super) fn words(option: &str) -> Vec<&'static str> {
    match option {
        "color" | "progress" => WHEN_WORDS.iter().map(|(word, _)| *word).collect(),
        "sort" => SORT_WORDS.iter().map(|(word, _)| *word).collect(),
        "time" => TIME_WORDS.iter().map(|(word, _)| *word).collect(),
        "time-style" => TIME_STYLES.iter().map(|(word, _)| *word).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abbreviations that GNU du accepts stay abbreviations.
    #[test]
    fn our_names_begin_none_of_gnus() {
        assert!(!OPTIONS.takes_from_gnu());
    }
}
