//! The options of GNU sort, and ours.

use super::command::{Check, Checkpoint, Codec, OutputCompression};
use crate::getopt::{LETTERS, Long, Takes, Vocabulary, WHEN_WORDS, long};

/// The meaning of a long option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The short option of this letter.
    Letter(u8),
    AllowEmpty,
    BandwidthLimit,
    BatchSize,
    Check,
    CheckOutput,
    CompressOutput,
    Count,
    CompressProgram,
    CountLinks,
    Color,
    Debug,
    Checkpoint(Checkpoint),
    CheckpointEvery,
    Decompress(bool),
    DryRun,
    Files0From,
    Header,
    HeaderPrefix,
    Help,
    Json,
    Memory,
    MinShift,
    InPlace,
    IndexColumns,
    Late,
    NoClobber,
    NoQuotes,
    NoSync,
    Order,
    Parallel,
    Progress,
    Quiet,
    RandomSource,
    RecordBegins,
    RecordEndsBlank,
    RecordLines,
    Recursive,
    Report,
    S3Connections,
    S3PartSize,
    Seed,
    Shuffle,
    Sort,
    SortedBy,
    TemperatureLimit,
    Threads,
    Top,
    Trace,
    Verbose,
    VerifyOutput,
    Version,
    Within,
    WriteIndex,
}

/// All options of sort, GNU's and ours.
pub(super) const OPTIONS: Vocabulary<Meaning> = Vocabulary {
    letters: b"bcCdfghiMmnRrsuVz",
    letters_with_argument: b"koStTy",
    gnu: &GNU,
    ours: &OURS,
    letter: Meaning::Letter,
    our_letters: LETTERS,
};

/// GNU's long options, in the order in which GNU sort lists them for an ambiguous abbreviation.
const GNU: [Long<Meaning>; 30] = {
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

/// Our long options. `--compress` is not among them, because it also abbreviates
/// `--compress-program`.
const OURS: [Long<Meaning>; 47] = [
    long("allow-empty", Takes::Nothing, Meaning::AllowEmpty),
    long("bandwidth-limit", Takes::Argument, Meaning::BandwidthLimit),
    long("checkpoint", Takes::Nothing, Meaning::Checkpoint(Checkpoint::Begin)),
    long("check-output", Takes::Nothing, Meaning::CheckOutput),
    long("checkpoint-every", Takes::Argument, Meaning::CheckpointEvery),
    long("color", Takes::Perhaps, Meaning::Color),
    long("compress-output", Takes::Argument, Meaning::CompressOutput),
    long("count", Takes::Nothing, Meaning::Count),
    long("count-links", Takes::Nothing, Meaning::CountLinks),
    long("decompress", Takes::Nothing, Meaning::Decompress(true)),
    long("dry-run", Takes::Nothing, Meaning::DryRun),
    long("header", Takes::Perhaps, Meaning::Header),
    long("header-prefix", Takes::Argument, Meaning::HeaderPrefix),
    long("in-place", Takes::Nothing, Meaning::InPlace),
    long("index-columns", Takes::Argument, Meaning::IndexColumns),
    long("json", Takes::Nothing, Meaning::Json),
    long("late", Takes::Argument, Meaning::Late),
    long("memory", Takes::Argument, Meaning::Memory),
    long("min-shift", Takes::Argument, Meaning::MinShift),
    long("no-clobber", Takes::Nothing, Meaning::NoClobber),
    long("no-decompress", Takes::Nothing, Meaning::Decompress(false)),
    long("no-quotes", Takes::Nothing, Meaning::NoQuotes),
    long("no-sync", Takes::Nothing, Meaning::NoSync),
    long("order", Takes::Argument, Meaning::Order),
    long("progress", Takes::Perhaps, Meaning::Progress),
    long("quiet", Takes::Nothing, Meaning::Quiet),
    long("record-begins", Takes::Argument, Meaning::RecordBegins),
    long("record-ends-blank", Takes::Nothing, Meaning::RecordEndsBlank),
    long("record-lines", Takes::Argument, Meaning::RecordLines),
    long("recursive", Takes::Nothing, Meaning::Recursive),
    long("report", Takes::Argument, Meaning::Report),
    long("restart", Takes::Nothing, Meaning::Checkpoint(Checkpoint::Restart)),
    long("resume", Takes::Nothing, Meaning::Checkpoint(Checkpoint::Resume)),
    long("s3-connections", Takes::Argument, Meaning::S3Connections),
    long("s3-part-size", Takes::Argument, Meaning::S3PartSize),
    long("scratch", Takes::Argument, Meaning::Letter(b'T')),
    long("seed", Takes::Argument, Meaning::Seed),
    long("shuffle", Takes::Nothing, Meaning::Shuffle),
    long("sorted-by", Takes::Argument, Meaning::SortedBy),
    long("temperature-limit", Takes::Argument, Meaning::TemperatureLimit),
    long("threads", Takes::Argument, Meaning::Threads),
    long("top", Takes::Argument, Meaning::Top),
    long("trace", Takes::Argument, Meaning::Trace),
    long("verbose", Takes::Nothing, Meaning::Verbose),
    long("verify-output", Takes::Nothing, Meaning::VerifyOutput),
    long("within", Takes::Argument, Meaning::Within),
    long("write-index", Takes::Perhaps, Meaning::WriteIndex),
];

/// The words of `--check`.
pub(super) const CHECK_WORDS: [(&str, Check); 3] =
    [("quiet", Check::Quiet), ("silent", Check::Quiet), ("diagnose-first", Check::DiagnoseFirst)];

/// The words of `--compress` that aren't a program's name.
pub(super) const COMPRESS_WORDS: [(&str, Codec); 4] =
    [("auto", Codec::Auto), ("lz4", Codec::Lz4), ("none", Codec::Off), ("zstd", Codec::Zstd)];

/// The words of `--compress-output`.
pub(super) const COMPRESS_OUTPUT_WORDS: [(&str, OutputCompression); 5] = [
    ("bgzip", OutputCompression::Bgzip),
    ("gzip", OutputCompression::Gzip),
    ("lz4", OutputCompression::Lz4),
    ("none", OutputCompression::Off),
    ("zstd", OutputCompression::Zstd),
];

/// The words of `--sort`, and their letters.
pub(super) const SORT_WORDS: [(&str, u8); 6] = [
    ("general-numeric", b'g'),
    ("human-numeric", b'h'),
    ("month", b'M'),
    ("numeric", b'n'),
    ("random", b'R'),
    ("version", b'V'),
];

/// The words that a long option accepts as argument, if these are few.
pub(super) fn words(option: &str) -> Vec<&'static str> {
    fn names<T>(words: &[(&'static str, T)]) -> Vec<&'static str> {
        words.iter().map(|(word, _)| *word).collect()
    }
    match option {
        "color" | "progress" => names(&WHEN_WORDS),
        "check" => names(&CHECK_WORDS),
        "compress" => names(&COMPRESS_WORDS),
        "compress-output" => names(&COMPRESS_OUTPUT_WORDS),
        "sort" => names(&SORT_WORDS),
        "write-index" => vec!["auto", "csi", "gzi", "tbi"],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abbreviations that GNU sort accepts stay abbreviations.
    #[test]
    fn our_names_begin_none_of_gnus() {
        assert!(!OPTIONS.takes_from_gnu());
    }
}
