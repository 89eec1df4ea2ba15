//! Arguments of `xsort status`.

use super::help::{DONE, TEMPLATE, environment_and_exit_status};
use super::shared::Color;
use super::values::age;
use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  xsort status                one line per job
  xsort status 4711           everything about one job
  xsort status --watch        the whole terminal, updated continuously
  xsort status --json         for programs
  xsort status --clear        remove what killed jobs left behind
  xsort status s3://bucket/   uploads under way there, which no list of objects shows
  xsort status --clear s3://bucket/out --older-than 2d
";

/// Show running jobs and their progress, and what killed jobs left behind
///
/// Every gen, sort, lines, table, verify and du, and every step of part, that runs for more than a
/// quarter of a second publishes its state in shared memory, ten times a second. Only its own user
/// can read it, and watching doesn't slow the job down. A job also prints one line about its
/// progress to its standard error when it receives SIGUSR1, as dd does.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = EXAMPLES)]
#[command(after_long_help = environment_and_exit_status(DONE))]
pub(crate) struct StatusArgs {
    /// A process ID: show everything about this job; or s3://BUCKET/PREFIX: the uploads under way
    /// there [default: one line per job]
    pub(crate) job: Option<String>,

    /// Use the whole terminal and keep it up to date: ? lists the keys, q quits
    #[arg(short, long, conflicts_with_all = ["json", "clear"])]
    pub(crate) watch: bool,

    /// Print one JSON object on standard output
    #[arg(long)]
    pub(crate) json: bool,

    /// Remove what killed jobs left behind: their status, and hidden files with their data
    ///
    /// Hidden files remain only on file systems that don't support files without a name. Files of
    /// running jobs, files that are open, and files that were changed after the job's last
    /// snapshot are never removed.
    ///
    /// With s3://BUCKET/PREFIX: only uploads to this object, or to objects below it. Uploads of
    /// killed jobs of this machine are known, and removed. Those of other machines look like
    /// other programs': they are listed and kept, unless --older-than says otherwise.
    #[arg(long)]
    pub(crate) clear: bool,

    /// Also remove uploads of others that began longer ago than this: 90m, 12h, 2d; 0s: all
    ///
    /// Whoever still sends parts to such an upload fails. Uploads of running jobs of this machine
    /// are kept.
    #[arg(long, value_name = "AGE", requires = "clear", value_parser = age)]
    pub(crate) older_than: Option<Duration>,

    /// With s3://BUCKET/PREFIX: directory in which sorts with --checkpoint had their scratch
    /// [default: $TMPDIR or /tmp]
    ///
    /// The journal of an interrupted sort is there, and tells which upload is its own.
    #[arg(short = 'T', long = "scratch", value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(conflicts_with = "watch")]
    pub(crate) scratch: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) color: Color,
}
