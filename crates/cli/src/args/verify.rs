//! Arguments of `xsort verify`.

use super::help::{SIZES, TEMPLATE, sizes_and_exit_status};
use super::shared::{Records, Report, Resources, Trees};
use super::values::output;
use clap::{Args, ValueHint};
use std::path::PathBuf;
use xsort_records::Checksum;

const EXAMPLES: &str = "\
Examples:
  xsort verify sorted                      order, records, checksum, duplicates
  xsort verify sorted --against data       also: the same records as in data, a file or a directory
  xsort verify -o 1.sum part1              judge the parts of a sequence on their own, ...
  xsort verify -s 1.sum 2.sum              ... then their seams and sums
";

/// Check order, count, duplicates and checksum
///
/// Several files are checked as one sequence. The lines are those of the Sort Benchmark's valsort,
/// with the same meanings, on standard output. Exit status 0 if in order (and as expected), 1 if
/// not.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = EXAMPLES)]
#[command(after_help = SIZES, after_long_help = sizes_and_exit_status())]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) records: Records,

    /// Also write a summary of these files as one part of a longer sequence (for 100-byte records
    /// valsort's 280 bytes); '-' is standard output
    #[arg(short = 'o', long, value_name = "SUMMARY", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = output())]
    pub(crate) summary: Option<PathBuf>,

    /// The files are summaries, one or several in each; check the sequence of the parts that they
    /// describe
    #[arg(short = 's', long, conflicts_with_all = ["summary", "against"])]
    pub(crate) summaries: bool,

    /// The checksum must be this
    #[arg(long, value_name = "CHECKSUM", value_parser = Checksum::parse_sum)]
    pub(crate) expect: Option<u128>,

    /// Records and checksum must be those of this file, or of all regular files below this
    /// directory; repeat for several
    #[arg(long, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub(crate) against: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) trees: Trees,

    #[command(flatten)]
    pub(crate) resources: Resources,

    #[command(flatten)]
    pub(crate) report: Report,

    /// Files to check, in this order; of a directory all regular files below it, in the order of
    /// their paths; '-' alone is standard input
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}
