//! Long options: GNU's, which may be shortened as long as no other begins alike, and ours, which may not.

use super::refusal::{Refusal, words};

/// Whether an option takes an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Argument,
    /// Only joined: `--check=quiet`.
    Perhaps,
}

/// What a long option stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The short option of this letter.
    Letter(u8),
    BatchSize,
    Check,
    CheckOutput,
    Compress,
    CompressProgram,
    Debug,
    Decompress,
    Files0From,
    Header,
    Help,
    Json,
    Parallel,
    Progress,
    RandomSource,
    Sort,
    TemperatureLimit,
    Top,
    Version,
}

/// A long option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Long {
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    pub(super) meaning: Meaning,
}

const fn long(name: &'static str, takes: Takes, meaning: Meaning) -> Long {
    Long { name, takes, meaning }
}

/// GNU's, in the order in which GNU sort lists them where an abbreviation is ambiguous.
const GNU: [Long; 30] = {
    use Meaning::*;
    use Takes::*;
    [
        long("ignore-leading-blanks", Nothing, Letter(b'b')),
        long("check", Perhaps, Check),
        long("compress-program", Argument, CompressProgram),
        long("debug", Nothing, Debug),
        long("dictionary-order", Nothing, Letter(b'd')),
        long("ignore-case", Nothing, Letter(b'f')),
        long("files0-from", Argument, Files0From),
        long("general-numeric-sort", Nothing, Letter(b'g')),
        long("ignore-nonprinting", Nothing, Letter(b'i')),
        long("key", Argument, Letter(b'k')),
        long("merge", Nothing, Letter(b'm')),
        long("month-sort", Nothing, Letter(b'M')),
        long("numeric-sort", Nothing, Letter(b'n')),
        long("human-numeric-sort", Nothing, Letter(b'h')),
        long("version-sort", Nothing, Letter(b'V')),
        long("random-sort", Nothing, Letter(b'R')),
        long("random-source", Argument, RandomSource),
        long("sort", Argument, Sort),
        long("output", Argument, Letter(b'o')),
        long("reverse", Nothing, Letter(b'r')),
        long("stable", Nothing, Letter(b's')),
        long("batch-size", Argument, BatchSize),
        long("buffer-size", Argument, Letter(b'S')),
        long("field-separator", Argument, Letter(b't')),
        long("temporary-directory", Argument, Letter(b'T')),
        long("unique", Nothing, Letter(b'u')),
        long("zero-terminated", Nothing, Letter(b'z')),
        long("parallel", Argument, Parallel),
        long("help", Nothing, Help),
        long("version", Nothing, Version),
    ]
};

/// Ours. `--compress` is apart, because it is also short for `--compress-program`.
const OURS: [Long; 7] = [
    long("check-output", Takes::Nothing, Meaning::CheckOutput),
    long("decompress", Takes::Nothing, Meaning::Decompress),
    long("header", Takes::Perhaps, Meaning::Header),
    long("json", Takes::Nothing, Meaning::Json),
    long("progress", Takes::Nothing, Meaning::Progress),
    long("temperature-limit", Takes::Argument, Meaning::TemperatureLimit),
    long("top", Takes::Argument, Meaning::Top),
];

/// `--compress` with one of the two words that are ours.
const COMPRESS: Long = long("compress", Takes::Argument, Meaning::Compress);

/// The option that `typed` names, without its dashes; `argument` is what follows an equals sign, or else the next word.
pub(super) fn find(typed: &[u8], argument: Option<&[u8]>, spelled: &[u8]) -> Result<Long, Refusal> {
    let named = |option: &&Long| option.name.as_bytes() == typed;
    if let Some(&option) = GNU.iter().chain(&OURS).find(named) {
        return Ok(option);
    }
    if typed == b"compress" && argument.is_some_and(|word| [&b"lz4"[..], b"zstd"].contains(&word)) {
        return Ok(COMPRESS);
    }
    let candidates: Vec<&Long> =
        GNU.iter().filter(|option| option.name.as_bytes().starts_with(typed)).collect();
    match candidates[..] {
        [] => Err(Refusal::new(words(&[b"unrecognized option '--", spelled, b"'"])).see_help()),
        [&option] => Ok(option),
        _ => {
            let names: String = candidates.iter().map(|option| format!(" '--{}'", option.name)).collect();
            let names = names.as_bytes();
            Err(Refusal::new(words(&[b"option '--", spelled, b"' is ambiguous; possibilities:", names]))
                .see_help())
        }
    }
}

/// The names of all long options.
#[cfg(test)]
pub(crate) fn option_names() -> impl Iterator<Item = &'static str> {
    GNU.iter().chain(&OURS).chain([&COMPRESS]).map(|option| option.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What GNU sort takes for an abbreviation stays one.
    #[test]
    fn our_names_begin_none_of_gnus() {
        for ours in OURS {
            assert!(GNU.iter().all(|gnu| !gnu.name.starts_with(ours.name)), "{}", ours.name);
        }
    }
}
