//! Arguments of `xsort gen`.

use super::help::{DONE, OUTPUT, REPORT, SIZES, TEMPLATE, sizes_environment_and_exit_status};
use super::report::RunFiles;
use super::shared::{Report, Resources};
use super::values::{formats, output, patterns, whole};
use clap::{Args, ValueHint};
use std::path::PathBuf;
use xsort::size::Amount;
use xsort_records::{Format, Pattern};

const EXAMPLES: &str = "\
Examples:
  xsort gen 10GB data                        10^8 records, byte for byte those of gensort
  xsort gen -f gensort-ascii 1000000r lines  a million records that are also lines of text
  xsort gen --skewed --start 5000 1M part    from record 5000 on, with skewed keys
  xsort gen -f kv128 --pattern zipf 4G data  128-byte records, few keys taking most of them
";

/// Make a file of records for tests and benchmarks
///
/// The same arguments make the same bytes, whatever the memory and the threads. The file appears
/// whole or not at all.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = EXAMPLES, disable_help_flag = true)]
#[command(after_help = SIZES, after_long_help = sizes_environment_and_exit_status(DONE))]
pub(crate) struct GenArgs {
    /// What the records look like
    #[arg(short, long, value_name = "FORMAT", default_value = "gensort", value_parser = formats())]
    #[arg(help_heading = "Records")]
    pub(crate) format: Format,

    /// gensort's skewed keys, as its -s
    #[arg(long)]
    #[arg(help_heading = "Records")]
    pub(crate) skewed: bool,

    /// How the keys are spread
    #[arg(long, default_value = "uniform", value_parser = patterns())]
    #[arg(help_heading = "Records")]
    pub(crate) pattern: Pattern,

    /// Number of the first record
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u128>)]
    #[arg(help_heading = "Records")]
    pub(crate) start: u128,

    /// Any other seed makes other records; with 0, gensort formats are those of gensort itself
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>)]
    #[arg(help_heading = "Records")]
    pub(crate) seed: u64,

    /// Refuse to replace a file or an object that exists, also one that appears meanwhile
    #[arg(long, hide_short_help = true)]
    #[arg(help_heading = OUTPUT)]
    pub(crate) no_clobber: bool,

    /// Do not wait until the file is safe against a power cut
    #[arg(long)]
    #[arg(help_heading = OUTPUT)]
    pub(crate) no_sync: bool,

    #[command(flatten)]
    pub(crate) resources: Resources,

    /// Print what would be made, and do nothing
    #[arg(long)]
    #[arg(help_heading = REPORT)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) files_of_run: RunFiles,

    #[command(flatten)]
    pub(crate) report: Report,

    /// Bytes (10GB, 512MiB), rounded down to whole records, or records (1000000r)
    #[arg(help_heading = None::<&str>)]
    pub(crate) size: Amount,

    /// The file to make; '-' is standard output
    #[arg(value_hint = ValueHint::FilePath, value_parser = output())]
    #[arg(help_heading = None::<&str>)]
    pub(crate) file: PathBuf,
}
