//! Arguments of `xsort verify`.

use super::help::{OUTPUT, SIZES, TEMPLATE, VERDICT, sizes_environment_and_exit_status};
use super::report::RunFiles;
use super::shared::{Records, Report, Resources, Trees};
use super::values::output;
use clap::{Args, ValueHint};
use std::path::PathBuf;
use xsort_records::Checksum;
use xsort_table::Keys;

const EXAMPLES: &str = "\
Examples:
  xsort verify sorted                      check order; count records and duplicates
  xsort verify sorted --against data       check that it has the same records as data, too
  xsort verify -o 1.sum part1              check the parts of a sequence one by one, ...
  xsort verify -s 1.sum 2.sum              ... then the sequence, from their summaries
  xsort verify --by ts sorted.parquet --against data.parquet    rows of Parquet or Arrow
";

const BY_HELP: &str = "\
Check rows of Parquet or Arrow by COLUMN[:desc][:nulls-first],...; repeat for more

The checksum is the sum of hashes of the rows' values. It doesn't depend on how a file is \
compressed or encoded. Rows of text are checked by xsort table --check.";

/// Check order, count, duplicates and checksum
///
/// Several files are checked as one sequence. The results on standard output have the form and the
/// meaning of those of valsort, the Sort Benchmark's program. The exit status is 0 if the records
/// are in order (and as expected), and 1 if they are not.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = EXAMPLES, disable_help_flag = true)]
#[command(after_help = SIZES, after_long_help = sizes_environment_and_exit_status(VERDICT))]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) records: Records,

    // Not a doc comment: its brackets would be links to rustdoc.
    #[arg(
        long,
        value_name = "KEYS",
        conflicts_with_all = ["format", "record", "keys", "summary", "summaries"],
        help = "Check rows of Parquet or Arrow by COLUMN[:desc][:nulls-first],...; repeat for more",
        long_help = BY_HELP
    )]
    #[arg(help_heading = "Records")]
    pub(crate) by: Vec<Keys>,

    /// Require this checksum
    #[arg(long, value_name = "CHECKSUM", value_parser = Checksum::parse_sum)]
    #[arg(help_heading = "Records")]
    pub(crate) expect: Option<u128>,

    /// Require the records of this file, or of all regular files below this directory; repeat for
    /// several
    #[arg(long, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    #[arg(help_heading = "Records")]
    pub(crate) against: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) trees: Trees,

    /// The files contain summaries of parts; check the sequence of these parts
    #[arg(short = 's', long, conflicts_with_all = ["summary", "against"])]
    #[arg(help_heading = "Records")]
    pub(crate) summaries: bool,

    /// Also write a summary of the files, which are one part of a longer sequence; for 100-byte
    /// records it is the same as valsort's; '-' is standard output
    #[arg(short = 'o', long, value_name = "SUMMARY", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = output())]
    #[arg(help_heading = OUTPUT)]
    pub(crate) summary: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) resources: Resources,

    #[command(flatten)]
    pub(crate) files_of_run: RunFiles,

    #[command(flatten)]
    pub(crate) report: Report,

    /// Files to check, in this order; a directory stands for all regular files below it, in the
    /// order of their paths; '-' alone is standard input
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    #[arg(help_heading = None::<&str>)]
    pub(crate) files: Vec<PathBuf>,
}
