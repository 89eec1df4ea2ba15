//! Parsers of single values.

use clap::ValueEnum;
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use xsort_disk::{IoChoice, STANDARD_OUTPUT};
use xsort_extsort::lines::IndexForm;
use xsort_extsort::lines::OutputCodec::{self, Bgzf, Gzip, Lz4, Zstd};
use xsort_extsort::records::Method;
use xsort_extsort::{Codec, Measure};
use xsort_gnu::When;
use xsort_records::{Format, Pattern};
use xsort_table::RowFormat;

/// Parses a number in digits. The messages of the standard library's parsers are for programmers
/// ("invalid digit found in string").
pub(super) fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("a whole number in digits is wanted, such as 100".into());
    }
    text.parse()
        .map_err(|_| format!("at most {} is possible", u128::MAX >> (128 - 8 * size_of::<T>())))
}

/// Numbers of slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slices(pub(crate) Vec<usize>);

/// Parses numbers of slices: `0,2` or `4-7`.
pub(super) fn slices(text: &str) -> Result<Slices, String> {
    let mut all = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (whole::<u32>(first)? as usize, whole::<u32>(last)? as usize);
        if last < first || last - first >= 1_000_000 {
            return Err(format!("'{range}' is no range of slices"));
        }
        all.extend(first..=last);
    }
    Ok(Slices(all))
}

pub(super) fn threads(text: &str) -> Result<u16, String> {
    match whole::<u64>(text)? {
        threads @ 0..=1024 => Ok(threads as u16),
        _ => Err("from 0 (as many as processors) to 1024 are possible".into()),
    }
}

pub(super) fn degrees(text: &str) -> Result<u16, String> {
    match whole::<u64>(text)? {
        celsius @ 1..=200 => Ok(celsius as u16),
        _ => Err("from 1 to 200 degrees are possible".into()),
    }
}

pub(super) fn formats() -> impl TypedValueParser<Value = Format> {
    named(Format::all().iter().map(|format| (format.name(), format.describe())))
}

pub(super) fn patterns() -> impl TypedValueParser<Value = Pattern> {
    named(Pattern::all().iter().map(|pattern| (pattern.name(), pattern.describe())))
}

pub(super) fn methods() -> impl TypedValueParser<Value = Method> {
    named([
        ("auto", "whichever is faster for the data and the machine, by measurements"),
        ("merge", "sort chunks into runs, then merge them"),
        ("scatter", "put records into bins by ranges of keys, then sort each bin"),
    ])
}

/// What is done with inputs that are in order already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Merge {
    /// A file that isn't in order is an error
    Sorted,
    /// If a file isn't in order, all are sorted
    Any,
}

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TableFormat {
    /// Rows of text.
    Rows(RowFormat),
    /// Files of columns: Parquet.
    Parquet,
    /// Files of columns: Arrow's own.
    Arrow,
}

impl FromStr for TableFormat {
    type Err = <RowFormat as FromStr>::Err;

    fn from_str(text: &str) -> Result<TableFormat, Self::Err> {
        match text {
            "parquet" => Ok(TableFormat::Parquet),
            "arrow" => Ok(TableFormat::Arrow),
            other => other.parse().map(TableFormat::Rows),
        }
    }
}

/// Parses the format of a table.
pub(super) fn table_formats() -> impl TypedValueParser<Value = TableFormat> {
    named([
        ("csv", "comma-separated values (RFC 4180)"),
        ("tsv", "tab-separated, without quotes"),
        ("ndjson", "a JSON value in each line"),
        ("parquet", "columns of Apache Parquet"),
        ("arrow", "columns of Apache Arrow: files and streams"),
    ])
}

/// Parses the form of an index of BAM. BAI has the layout of TBI.
pub(super) fn bam_indexes() -> impl TypedValueParser<Value = IndexForm> {
    PossibleValuesParser::new(["auto", "bai", "csi"]).map(|name| match &*name {
        "bai" => IndexForm::Tbi,
        "csi" => IndexForm::Csi,
        _ => IndexForm::Auto,
    })
}

/// The compression of columns. A type of the program, which may be built without columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnCodec {
    None,
    Snappy,
    Zstd,
    Lz4,
    Gzip,
}

/// There is no compression of this name.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("none, snappy, zstd, lz4 or gzip is wanted")]
pub(crate) struct NoCodec;

impl FromStr for ColumnCodec {
    type Err = NoCodec;

    fn from_str(text: &str) -> Result<ColumnCodec, NoCodec> {
        match text {
            "none" => Ok(ColumnCodec::None),
            "snappy" => Ok(ColumnCodec::Snappy),
            "zstd" => Ok(ColumnCodec::Zstd),
            "lz4" => Ok(ColumnCodec::Lz4),
            "gzip" => Ok(ColumnCodec::Gzip),
            _ => Err(NoCodec),
        }
    }
}

/// Parses the compression of columns.
pub(super) fn column_codecs() -> impl TypedValueParser<Value = ColumnCodec> {
    named([
        ("none", "nothing is compressed"),
        ("snappy", "quick"),
        ("zstd", "nearly as quick and smaller"),
        ("lz4", "the quickest to read"),
        ("gzip", "slow; everything reads it"),
    ])
}

pub(super) fn io_engines() -> impl TypedValueParser<Value = IoChoice> {
    named([
        ("auto", "io_uring where it is allowed, else threads"),
        ("uring", "io_uring or an error"),
        ("sync", "pread and pwrite on threads"),
    ])
}

/// The compression of scratch, if any. Under this alias, clap takes it for a single value.
pub(crate) type ScratchCodec = Option<Codec>;

/// Parses the compression of scratch.
pub(super) fn codecs() -> impl TypedValueParser<Value = ScratchCodec> {
    let values = [
        ("none", "nothing is compressed"),
        ("lz4", "quick"),
        ("zstd", "slower and smaller"),
        ("auto", "one of these or none, as far as threads wait for the drive"),
    ];
    let values = values.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).map(|name| match &*name {
        "none" => None,
        "lz4" => Some(Codec::Lz4),
        "zstd" => Some(Codec::Zstd),
        _ => Some(Codec::Auto(Measure::Clocks)),
    })
}

/// Parses the format of an index.
pub(super) fn index_forms() -> impl TypedValueParser<Value = IndexForm> {
    named([
        ("auto", "tbi, or csi if a position passes 512 Mbp"),
        ("tbi", "tabix's own"),
        ("csi", "for any positions"),
        ("gzi", "the addresses of the blocks, without columns"),
    ])
}

/// Parses the size of the smallest bins of an index, as a power of two.
pub(crate) fn min_shift(text: &str) -> Result<u32, String> {
    match whole::<u32>(text)? {
        shift @ 1..=30 => Ok(shift),
        _ => Err("from 1 to 30 are possible".into()),
    }
}

/// The compression of rows of text, if any. Under this alias, clap takes it for a single value.
pub(crate) type RowsCodec = Option<OutputCodec>;

/// Parses the compression of rows of text.
pub(super) fn row_codecs() -> impl TypedValueParser<Value = RowsCodec> {
    let values = [
        ("none", "nothing is compressed", None),
        ("bgzip", "gzip in blocks, for tabix and other programs for genomes", Some(Bgzf)),
        ("gzip", "everything reads it", Some(Gzip)),
        ("lz4", "quick", Some(Lz4)),
        ("zstd", "quicker than gzip and smaller", Some(Zstd)),
    ];
    let shown = values.map(|(name, help, _)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(shown).map(move |name| {
        values.iter().find(|(known, ..)| *known == name).and_then(|(.., codec)| *codec)
    })
}

/// Parses the name of an output; `-` is standard output.
pub(super) fn output() -> impl TypedValueParser<Value = PathBuf> {
    let is_stream = |path: &PathBuf| path.as_os_str() == "-";
    PathBufValueParser::new()
        .map(move |path| if is_stream(&path) { STANDARD_OUTPUT.into() } else { path })
}

/// Parses `auto`, `always` or `never`.
pub(super) fn when() -> impl TypedValueParser<Value = When> {
    PossibleValuesParser::new(["auto", "always", "never"]).map(|word| match &*word {
        "always" => When::Always,
        "never" => When::Never,
        _ => When::Auto,
    })
}

/// Parses values with fixed names, each with a line of help. Completions list them too.
fn named<T>(
    values: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static> + Clone + Send + Sync + 'static,
{
    let values = values.into_iter().map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<T>())
}

/// Parses a whole number of seconds, minutes, hours or days: `90m`.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    let unit = text.chars().next_back().and_then(|unit| {
        let seconds = [('s', 1), ('m', 60), ('h', 3600), ('d', 86400)];
        seconds.into_iter().find(|(letter, _)| *letter == unit)
    });
    let (_, unit) = unit.ok_or("its unit is missing: s, m, h or d, such as 12h")?;
    let number: u64 = whole(&text[..text.len() - 1])?;
    let seconds = number.checked_mul(unit).ok_or("so long ago there were no stores")?;
    Ok(Duration::from_secs(seconds))
}

/// Parses a time in seconds, which may have a fraction.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("'{text}' is no number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
