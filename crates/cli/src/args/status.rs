//! Arguments of `xsort status`.

use super::help::{TEMPLATE, environment_and_exit_status};
use super::shared::Color;
use clap::Args;

const EXAMPLES: &str = "\
Examples:
  xsort status                a line for each job
  xsort status 4711           all about one
  xsort status --watch        on the whole terminal, live
  xsort status --json         for machines
  xsort status --clear        remove what killed jobs left
";

/// Show running jobs, how far they are, and what killed ones left
///
/// Every gen, sort, lines, verify and du that takes longer than a quarter of a second publishes its
/// state ten times a second, in shared memory, for its own user. Watchers cost it nothing. In the
/// job's environment, XSORT_STATUS=off turns that off, and XSORT_STATUS_DIR chooses another
/// directory for it. A job also prints a line on its standard error when it gets SIGUSR1, as dd
/// does.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = EXAMPLES)]
#[command(after_long_help = environment_and_exit_status())]
pub(crate) struct StatusArgs {
    /// A process ID: everything known about this job [default: a line for each]
    pub(crate) job: Option<String>,

    /// Watch on the whole terminal: arrows choose a job, ? lists the keys, q quits
    #[arg(short, long, conflicts_with_all = ["json", "clear"])]
    pub(crate) watch: bool,

    /// Print one JSON object on standard output
    #[arg(long)]
    pub(crate) json: bool,

    /// Remove what killed jobs left: their status, and hidden files with their data
    ///
    /// Hidden files are left only where the file system doesn't support files without a name.
    /// Nothing of a running job is touched, and no file that is open or was written to after the
    /// job's last snapshot.
    #[arg(long)]
    pub(crate) clear: bool,

    #[command(flatten)]
    pub(crate) color: Color,
}
