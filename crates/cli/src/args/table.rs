//! Arguments of `xsort table`.

use super::help::{
    INPUT, ORDER, OUTPUT, REPORT, RESOURCES, SIZES, TEMPLATE, sizes_environment_and_exit_status,
};
use super::report::RunFiles;
use super::shared::{Emptiness, Report, Resources};
use super::sort::Checkpoints;
use super::values::{
    ColumnCodec, Merge, RowsCodec, ScratchCodec, TableFormat, codecs, column_codecs, index_forms,
    min_shift, output, row_codecs, table_formats, whole,
};
use clap::{Args, ValueHint};
use std::path::PathBuf;
use xsort::size;
use xsort_disk::STANDARD_OUTPUT;
use xsort_extsort::lines::{IndexColumns, IndexForm};
use xsort_table::{BadKeys, BadWithin, BestRow, Keep, Keys, OnBad, Place, Within};

const EXAMPLES: &str = "\
Examples:
  xsort table orders.csv --by 'date:date:desc,amount:num,name' -o sorted.csv
  xsort table -m 1G big.csv.zst --by id:int --unique -o ids.csv.zst
  cat big.tsv | xsort table --format tsv --by '#3:int' > sorted.tsv
  xsort table events.ndjson --by .user.id:int --by .time -o sorted.ndjson
  tail -f log | xsort table -f ndjson --by .time:datetime --within 10s
  xsort table a.parquet b.parquet --by ts,user.id:desc -m 1G -o sorted.parquet
  xsort table big.csv --by ts --infer -o sorted.parquet
  xsort table big.csv --check --by id:int             status 1 if it is out of order
";

const STATUS: &str = "\
0    success; with --check: in order
  1    --check: a row is out of order";

/// Sort rows of CSV, TSV, NDJSON, Parquet and Arrow by their values
///
/// Rows of text may have quoted line ends and any other bytes, and come out with the bytes that
/// they came in with; rows with equal keys keep the order of the input. The header stays at the
/// top. An output file appears whole or not at all. Parquet is written as the first input is: its
/// schema, metadata, compression and encodings. Columns and rows are not selected here: that is for
/// other tools.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = EXAMPLES, disable_help_flag = true)]
#[command(after_help = SIZES, after_long_help = sizes_environment_and_exit_status(STATUS))]
pub(crate) struct TableArgs {
    // Not a doc comment: its brackets would be links to rustdoc.
    #[arg(
        long,
        value_name = "KEYS",
        required_unless_present = "shuffle",
        help = "What to sort by: COLUMN[:TYPE][:desc][:nulls-first],...",
        long_help = BY_HELP
    )]
    #[arg(help_heading = ORDER)]
    pub(crate) by: Vec<Keys>,

    /// Write only one of several rows with equal keys: first (default) or last
    ///
    /// first is the first of the input.
    #[arg(short, long, value_name = "WHICH", value_parser = keep)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "first")]
    #[arg(help_heading = ORDER)]
    pub(crate) unique: Option<Keep>,

    // Not a doc comment: its brackets would be links to rustdoc.
    #[arg(
        help = "With --unique: keep the row whose value in a column is the largest \
                (max:COLUMN[:TYPE]) or the smallest (min:...): the newest row of each key",
        long_help = KEEP_HELP
    )]
    #[arg(long, value_name = "max:COLUMN", value_parser = best, requires = "unique")]
    #[arg(conflicts_with_all = ["merge", "check", "comment"])]
    #[arg(help_heading = ORDER, hide_short_help = true)]
    pub(crate) keep: Option<BestRow>,

    /// With --unique: write how many rows there were of each key, in a new first column, or in
    /// ndjson as {"count":N,"row":...}
    #[arg(long, requires = "unique", conflicts_with = "check")]
    #[arg(help_heading = ORDER, hide_short_help = true)]
    pub(crate) count: bool,

    /// Sort nothing: name the first row out of order; exit with 1 if there is one
    #[arg(short, long, conflicts_with_all = ["output", "top"])]
    #[arg(help_heading = ORDER)]
    pub(crate) check: bool,

    /// Merge inputs that are in order already, and check their order
    ///
    /// A file that isn't in order is an error, with the row and the one before it. Hundreds of
    /// files are merged at once. More than the memory has blocks for take several passes. With
    /// --merge=any all are sorted if one isn't in order.
    #[arg(long, value_name = "any", num_args = 0..=1, require_equals = true)]
    #[arg(value_enum, default_missing_value = "sorted", hide_possible_values = true)]
    #[arg(conflicts_with_all = ["shuffle", "check", "checkpoint", "resume", "restart"])]
    #[arg(help_heading = ORDER)]
    pub(crate) merge: Option<Merge>,

    // Not a doc comment: its brackets would be links to rustdoc.
    #[arg(
        long,
        value_name = "KEYS",
        help = "The rows are in the order of the first keys of --by already, written as there",
        long_help = SORTED_BY_HELP
    )]
    #[arg(conflicts_with_all = ["within", "merge", "shuffle", "check", "checkpoint", "resume"])]
    #[arg(conflicts_with_all = ["restart", "dry_run"])]
    #[arg(help_heading = ORDER, hide_short_help = true)]
    pub(crate) sorted_by: Vec<Keys>,

    /// Rows come late by at most N rows (5000, 100k) or by a time (90s, 10m, 2d)
    ///
    /// The rows are nearly in order. Each row is written as soon as no other can come before it, in
    /// the memory of N rows, or of the rows of such a time. A time is measured by the first key,
    /// which must be a datetime, a date, or a number of seconds. A row that comes later is an
    /// error, unless --late is given. When the input pauses, as a pipe may, all rows are written
    /// that can be.
    #[arg(long, value_name = "N", value_parser = within)]
    #[arg(conflicts_with_all = ["merge", "shuffle", "check", "checkpoint", "resume", "restart"])]
    #[arg(conflicts_with = "dry_run")]
    #[arg(help_heading = ORDER)]
    pub(crate) within: Option<Within>,

    /// With --within: write rows that come too late to FILE, after the header
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "within")]
    #[arg(help_heading = ORDER, hide_short_help = true)]
    pub(crate) late: Option<PathBuf>,

    /// Put the rows in a random order instead
    #[arg(long, conflicts_with_all = ["by", "unique", "check", "on_bad"])]
    #[arg(help_heading = ORDER)]
    pub(crate) shuffle: bool,

    /// With --shuffle: the same number gives the same order
    #[arg(long, value_name = "N", requires = "shuffle", conflicts_with = "by")]
    #[arg(value_parser = whole::<u64>)]
    #[arg(help_heading = ORDER, hide_short_help = true)]
    pub(crate) seed: Option<u64>,

    /// Write only the first N rows, and the header
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    #[arg(help_heading = ORDER)]
    pub(crate) top: Option<u64>,

    /// What to do about values that are not of their type: error, first or last
    ///
    /// An error names the file, the row, the byte, the column and the value. Otherwise such rows
    /// come before all others, or behind them, whatever the direction.
    #[arg(long, value_name = "HOW", default_value = "error", value_parser = on_bad)]
    #[arg(help_heading = ORDER, hide_short_help = true)]
    pub(crate) on_bad: OnBad,

    /// csv, tsv, ndjson, parquet or arrow [default: by the inputs' names]
    ///
    /// The names are .csv, .tsv, .ndjson or .jsonl, also before .gz, .bgz, .zst or .lz4; .parquet;
    /// .arrow, .feather, .arrows.
    #[arg(short, long, value_name = "FORMAT", value_parser = table_formats())]
    #[arg(hide_possible_values = true)]
    #[arg(help_heading = INPUT)]
    pub(crate) format: Option<TableFormat>,

    /// The byte between two fields, such as ';' [default: by the format]
    #[arg(long, value_name = "BYTE", value_parser = byte)]
    #[arg(help_heading = INPUT)]
    pub(crate) delimiter: Option<u8>,

    /// The byte around fields that contain delimiters or line ends; none if it is empty [default:
    /// a double quote for csv, none for tsv]
    #[arg(long, value_name = "BYTE", value_parser = quote)]
    #[arg(help_heading = INPUT, hide_short_help = true)]
    pub(crate) quote: Option<Quote>,

    /// The byte before a quote inside a quoted field, such as a backslash; it may be doubled, too
    #[arg(long, value_name = "BYTE", value_parser = byte)]
    #[arg(help_heading = INPUT, hide_short_help = true)]
    pub(crate) escape: Option<u8>,

    /// The byte that begins a comment, such as '#': a line that is no row
    ///
    /// Comments above the header stay there, and all others come before the first row, in the order
    /// of the input.
    #[arg(long, value_name = "BYTE", value_parser = byte, conflicts_with = "top")]
    #[arg(help_heading = INPUT, hide_short_help = true)]
    pub(crate) comment: Option<u8>,

    /// Lines above the rows that begin with TEXT are no rows, such as '##' in VCF; may be repeated
    ///
    /// They stay at the top. Those of several inputs become one header: each line once, and next to
    /// those of its first word.
    #[arg(long, value_name = "TEXT", value_parser = prefix, conflicts_with = "infer")]
    #[arg(conflicts_with = "schema", help_heading = INPUT, hide_short_help = true)]
    pub(crate) header_prefix: Vec<String>,

    /// The first row is a row as any other; columns have numbers only
    #[arg(long)]
    #[arg(help_heading = INPUT)]
    pub(crate) no_header: bool,

    // Not a doc comment: its brackets would be links to rustdoc.
    #[arg(
        long,
        value_name = "NAME:TYPE,...",
        help = "The types of columns of text that become another format",
        long_help = SCHEMA_HELP
    )]
    #[arg(conflicts_with_all = ["infer", "check"])]
    #[arg(help_heading = INPUT)]
    pub(crate) schema: Option<String>,

    /// Find the types of such columns by reading the inputs first
    ///
    /// They are printed as --schema takes them.
    #[arg(long, conflicts_with_all = ["check", "dry_run"])]
    #[arg(help_heading = INPUT)]
    pub(crate) infer: bool,

    #[command(flatten)]
    pub(crate) empty: Emptiness,

    /// The sorted file, compressed as its name says; '-' is standard output
    ///
    /// Names that end in .gz, .bgz, .zst or .lz4 do.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = output(), default_value = STANDARD_OUTPUT, hide_default_value = true)]
    #[arg(help_heading = OUTPUT)]
    pub(crate) output: PathBuf,

    /// Format of the output [default: by its name, or that of the inputs]
    ///
    /// Rows of text that become another format need a type for each column: --schema or --infer.
    #[arg(long, value_name = "FORMAT", value_parser = table_formats(), conflicts_with = "check")]
    #[arg(hide_possible_values = true)]
    #[arg(help_heading = OUTPUT)]
    pub(crate) output_format: Option<TableFormat>,

    /// Write several files of at most this size: part-00001.csv and so on
    ///
    /// -o part.csv gives them their names. Each has the header, and is of this size before it is
    /// compressed; files of Parquet and Arrow are of about this size.
    #[arg(long, value_name = "SIZE", value_parser = file_size, conflicts_with = "check")]
    #[arg(help_heading = OUTPUT)]
    pub(crate) file_size: Option<u64>,

    /// Compression of rows of text [default: by the end of the output's name: .gz, .zst, .lz4, and
    /// for bgzip .bgz or .bed.gz, .vcf.gz, ...]
    ///
    /// bgzip is gzip in blocks, for tabix and other programs for genomes. It is chosen for names
    /// that end in .bgz, and in .gz after .bed, .fastq, .fq, .gff, .gff3, .gtf, .pairs, .sam or
    /// .vcf.
    #[arg(long, value_name = "CODEC", value_parser = row_codecs(), conflicts_with = "check")]
    #[arg(help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) compress_output: Option<RowsCodec>,

    /// Also write an index of the output for tabix, FILE.tbi or .csi: auto, tbi, csi or gzi
    ///
    /// The rows must be sorted by sequence and begin, and be separated by tabs. The output is
    /// compressed as by bgzip. With auto, the index is csi if a position passes 512 Mbp, and else
    /// tbi. gzi has the addresses of the blocks only.
    #[arg(long, value_name = "FORM", value_parser = index_forms(), num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "auto")]
    #[arg(conflicts_with_all = ["check", "file_size"])]
    #[arg(help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) write_index: Option<IndexForm>,

    /// With --write-index: bed, gff, pairs, sam, vcf, or the numbers of the columns SEQUENCE,BEGIN
    /// or SEQUENCE,BEGIN,END [default: by the output's name]
    ///
    /// :0 after the numbers says that the first base has the number 0, as in BED.
    #[arg(long, value_name = "COLUMNS", requires = "write_index", hide_short_help = true)]
    #[arg(help_heading = OUTPUT)]
    pub(crate) index_columns: Option<IndexColumns>,

    /// With --write-index: write csi with smallest bins of 2^N bases [default: 14]
    #[arg(long, value_name = "N", requires = "write_index", hide_short_help = true)]
    #[arg(value_parser = min_shift)]
    #[arg(help_heading = OUTPUT)]
    pub(crate) min_shift: Option<u32>,

    /// Columns: compression of the output [default: in Parquet that of the first input]
    #[arg(long, value_name = "CODEC", value_parser = column_codecs())]
    #[arg(help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) compression: Option<ColumnCodec>,

    /// Parquet: the most rows in a row group [default: as many as the largest one of the inputs,
    /// but at least 122880]
    #[arg(long, value_name = "ROWS", value_parser = group_rows)]
    #[arg(help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) row_group_size: Option<usize>,

    /// Refuse to replace a file or an object that exists, also one that appears meanwhile
    #[arg(long, hide_short_help = true, conflicts_with = "check")]
    #[arg(help_heading = OUTPUT)]
    pub(crate) no_clobber: bool,

    /// Do not wait until the output is safe against a power cut
    #[arg(long, conflicts_with = "check")]
    #[arg(help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) no_sync: bool,

    #[command(flatten)]
    pub(crate) resources: Resources,

    /// Directory for scratch; repeat for several [default: beside the output]
    #[arg(short = 'T', long = "scratch", value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(alias = "temporary-directory")]
    #[arg(help_heading = RESOURCES)]
    pub(crate) scratch: Vec<PathBuf>,

    /// Compress scratch: where the drive is slow or has little space
    #[arg(long, value_name = "CODEC", default_value = "none", value_parser = codecs())]
    #[arg(help_heading = RESOURCES, hide_short_help = true)]
    pub(crate) compress: ScratchCodec,

    #[command(flatten)]
    pub(crate) checkpoints: Checkpoints,

    /// Show what a sort would use; read no rows and write nothing
    #[arg(long, conflicts_with = "check")]
    #[arg(help_heading = REPORT)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) files_of_run: RunFiles,

    #[command(flatten)]
    pub(crate) report: Report,

    /// Files to sort, as one, or directories of them; '-' is standard input
    ///
    /// They have the same header. A directory stands for the files below it that have names of the
    /// format.
    #[arg(help_heading = None::<&str>)]
    #[arg(default_value = "-", value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub(crate) inputs: Vec<PathBuf>,
}

const BY_HELP: &str = "\
What to sort by: COLUMN[:TYPE][:desc][:nulls-first],...; repeat for further keys

COLUMN is a name of the header, a name in double quotes, or a number (#1 is the first); in ndjson \
a path as in jq (.user.id, .tags[0], .\"odd name\"). TYPE is str (bytes, the default), nocase, \
locale (the order of the language that LC_ALL, LC_COLLATE or LANG names), natural (file9 before \
file10), chrom (chr2, chr10, chrX, chrM, others), order(FILE) (in the order of a list: a name in \
each line, .fai, .genome or .dict; order(header) of the input's ##contig or @SQ lines; \
order(=low,mid,high); with :others-last other names come last), version (1.9, 1.10-rc1, 1.10), \
int, num (exact decimals of any length), float (IEEE 754 total order), bool, bits(N) (whole \
numbers, by whether a bit of N is set), date (2026-11-22), datetime (2026-11-22T17:00:00+01:00; \
UTC without an offset), datetime(FORMAT) with the directives of strftime, length (in bytes), ip \
or json. Nothing is guessed. An empty or missing value is the least text for str, nocase, locale, \
natural, chrom and length; those of other types come last, whatever the direction, unless \
nulls-first is given. With :required they are an error. Values of JSON without a type are in the \
order of jq: null, false, true, numbers, strings, arrays, objects.

hilbert(COLUMN[:TYPE],...) and zorder(...) are curves through several columns: rows that are near \
in all of them come near each other. In Parquet and Arrow a column of shapes (hilbert(geometry)) \
counts by its centre.";

const KEEP_HELP: &str = "\
With --unique: keep the row whose value in a column is the largest (max:COLUMN[:TYPE]) or the \
smallest (min:...): the newest row of each key

Of several such rows it is the first of the input. A row without a value is kept only if no other \
has one.";

const SCHEMA_HELP: &str = "\
The types of columns of text that become another format

Each column of the header is in it: id:int64,ts:timestamp[us],\"a, b\":string. TYPE is bool, int8 \
to int64, uint8 to uint64, float, double, string, date, time, timestamp[UNIT] or \
timestamp[UNIT,UTC] with s, ms, us or ns, decimal(DIGITS,SCALE), list<TYPE> or \
struct<NAME:TYPE,...>. An empty field is null; in quotes it is an empty string. A value that its \
type can't hold exactly is an error, with its place.";

const SORTED_BY_HELP: &str = "\
The rows are in the order of the first keys of --by already, written as there

This is checked. Rows whose first keys are equal are sorted on their own, and written as soon as a \
row with the next key comes: in the memory of the largest such group, and without scratch unless \
that doesn't fit. When the input pauses, as a pipe may, all rows are written that can be.";

fn within(text: &str) -> Result<Within, String> {
    text.parse().map_err(|error: BadWithin| error.to_string())
}

fn byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if !matches!(byte, b'\n' | b'\r') => Ok(*byte),
        _ if text == "\\t" => Ok(b'\t'),
        _ => Err("a single byte is wanted, or \\t for a tab".into()),
    }
}

/// The byte around quoted fields, if any. Not an `Option`, because clap would take its content for
/// the option's value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quote(pub(crate) Option<u8>);

fn quote(text: &str) -> Result<Quote, String> {
    if text.is_empty() { Ok(Quote(None)) } else { byte(text).map(|byte| Quote(Some(byte))) }
}

fn prefix(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains('\n') {
        true => Err("the beginning of a line is wanted".into()),
        false => Ok(text.into()),
    }
}

fn group_rows(text: &str) -> Result<usize, String> {
    match whole::<u32>(text)? {
        0 => Err("at least one row is wanted".into()),
        rows => Ok(rows as usize),
    }
}

fn file_size(text: &str) -> Result<u64, String> {
    let bytes = size::bytes(text).map_err(|error| error.to_string())?;
    if bytes == 0 { Err("at least a byte is wanted".into()) } else { Ok(bytes) }
}

fn keep(text: &str) -> Result<Keep, String> {
    match text {
        "first" => Ok(Keep::First),
        "last" => Ok(Keep::Last),
        _ => Err("first or last is wanted".into()),
    }
}

fn best(text: &str) -> Result<BestRow, String> {
    text.parse().map_err(|error: BadKeys| error.to_string())
}

fn on_bad(text: &str) -> Result<OnBad, String> {
    match text {
        "error" => Ok(OnBad::Refuse),
        "first" => Ok(OnBad::Put(Place::First)),
        "last" => Ok(OnBad::Put(Place::Last)),
        _ => Err("error, first or last is wanted".into()),
    }
}
