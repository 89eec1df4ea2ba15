//! Arguments of `xsort part`.

use super::help::{DONE_OR_VALID, SIZES, TEMPLATE, sizes_environment_and_exit_status};
use super::shared::{Emptiness, Report, Resources};
use super::values::{Slices, seconds, slices, whole};
use clap::{Args, Subcommand, ValueHint};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use xsort::size;
use xsort_gnu::When;

const EXAMPLES: &str = "\
Examples:
  xsort part plan data.d -o job.json -- sort --format gensort    cut the input into slices
  xsort part sample job.json --slice 0-9 -o sample.json          keys of some slices
  xsort part split job.json sample.json -o splitters.json        where the parts begin
  xsort part map job.json splitters.json --slice 3 --to /nvme    sort a slice, on any node
  xsort part serve /nvme --listen 10.0.0.3:0                     let other nodes read it
  xsort part merge job.json --part 7 --from /nvme --from-file urls.txt -o 7.out
  xsort part validate job.json --manifests *.json --summaries *.sum
";

/// Sort on many machines, in steps for a scheduler
///
/// The input is cut into slices, which map tasks sort where they like, and the output into parts,
/// which merge tasks write. The parts, one after the other, are what the single command writes. All
/// that passes between the steps are files of JSON, and the slices' data, which tasks read from
/// directories or from 'xsort part serve'. Every step can be run again.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = EXAMPLES)]
#[command(after_help = SIZES, after_long_help = sizes_environment_and_exit_status(DONE_OR_VALID))]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct PartArgs {
    #[command(subcommand)]
    pub(crate) step: PartStep,
}

/// The steps.
#[derive(Debug, Subcommand)]
pub(crate) enum PartStep {
    Plan(PlanArgs),
    Sample(SampleArgs),
    Split(SplitArgs),
    Map(MapArgs),
    Serve(ServeArgs),
    Merge(MergeArgs),
    Validate(ValidateArgs),
}

impl PartStep {
    /// When to use colours.
    pub(crate) fn color(&self) -> When {
        let report = match self {
            PartStep::Serve(_) => return When::Never,
            PartStep::Plan(args) => &args.report,
            PartStep::Sample(args) => &args.report,
            PartStep::Split(args) => &args.report,
            PartStep::Map(args) => &args.report,
            PartStep::Merge(args) => &args.report,
            PartStep::Validate(args) => &args.report,
        };
        report.color.color
    }
}

/// Cut the input into slices: write the job
///
/// The files are looked up, not read, but where lines begin. The job says which bytes of which file
/// each slice has, and what identifies them: a file that changes later is an error.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct PlanArgs {
    /// Bytes of a slice, about: what a map task sorts
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size::bytes)]
    pub(crate) slice_size: u64,

    /// Bytes of a part, about: what a merge task writes
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = size::bytes)]
    pub(crate) part_size: u64,

    /// How many parts, instead of their size
    #[arg(long, value_name = "N", conflicts_with = "part_size", value_parser = parts)]
    pub(crate) parts: Option<usize>,

    /// The job
    #[arg(short, long, value_name = "JOB", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) empty: Emptiness,

    #[command(flatten)]
    pub(crate) resources: Resources,

    #[command(flatten)]
    pub(crate) report: Report,

    /// Files, directories, URLs, prefixes and patterns of objects, as for the single command
    #[arg(help_heading = None::<&str>)]
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub(crate) inputs: Vec<PathBuf>,

    /// The command that this stands for, without inputs and output: sort --format gensort
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Take keys of slices at evenly spaced places
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct SampleArgs {
    /// The job
    #[arg(value_name = "JOB", value_hint = ValueHint::FilePath)]
    pub(crate) job: PathBuf,

    /// The slices: 3, or 0,2 or 4-7
    #[arg(long, value_name = "SLICES", required = true, value_parser = slices)]
    pub(crate) slice: Slices,

    /// Keys of each slice
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = whole::<u64>)]
    pub(crate) keys: u64,

    /// The sample
    #[arg(short, long, value_name = "SAMPLE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) resources: Resources,

    #[command(flatten)]
    pub(crate) report: Report,
}

/// Find where the parts begin, by samples of all slices
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct SplitArgs {
    /// The job
    #[arg(value_name = "JOB", value_hint = ValueHint::FilePath)]
    pub(crate) job: PathBuf,

    /// Samples: every slice in one of them
    #[arg(required = true, value_name = "SAMPLE", value_hint = ValueHint::FilePath)]
    pub(crate) samples: Vec<PathBuf>,

    /// The splitters
    #[arg(short, long, value_name = "SPLITTERS", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) resources: Resources,

    #[command(flatten)]
    pub(crate) report: Report,
}

/// Sort a slice, and cut it at the splitters
///
/// The sorted data is DIR/slice-I.data, and DIR/slice-I.json, which comes last, says that it is
/// there and where each part begins. A slice that is there already is left as it is.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct MapArgs {
    /// The job
    #[arg(value_name = "JOB", value_hint = ValueHint::FilePath)]
    pub(crate) job: PathBuf,

    /// The splitters
    #[arg(value_name = "SPLITTERS", value_hint = ValueHint::FilePath)]
    pub(crate) splitters: PathBuf,

    /// The slice
    #[arg(long, value_name = "I", value_parser = whole::<usize>)]
    pub(crate) slice: usize,

    /// Directory for the sorted slice
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) to: PathBuf,

    /// Directory for scratch; several are used at once [default: that of the slice]
    #[arg(short = 'T', long = "scratch", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) scratch: Vec<PathBuf>,

    /// Wait until the slice is safe against a power cut
    #[arg(long)]
    pub(crate) sync: bool,

    #[command(flatten)]
    pub(crate) resources: Resources,

    #[command(flatten)]
    pub(crate) report: Report,
}

/// Let other nodes read the sorted slices in a directory
///
/// A small web server. When it is ready it prints {"url": ...} as one line, for 'xsort part merge
/// --from-file'. The URL has a secret in it, without which nothing is answered; what is sent is not
/// encrypted. Nothing but slices is readable. It ends at SIGTERM or SIGINT.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The directory of 'xsort part map --to'
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: PathBuf,

    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,

    /// Name of this machine in the URL [default: the address; the machine's name if it listens at
    /// all]
    #[arg(long, value_name = "HOST")]
    pub(crate) advertise: Option<String>,

    /// A file with the secret: 16 or more letters and digits [default: a random one]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,

    /// End, too, when standard input ends: with the program that started it
    #[arg(long)]
    pub(crate) until_stdin_closes: bool,
}

/// Merge what all slices have of a part
///
/// Every slice must be in one of the sources. What comes is compared with what was written, and the
/// part appears whole or not at all. With --json the error of a missing slice lists them
/// ("missing_slices"), and that of a source that fails names it ("lost_source").
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct MergeArgs {
    /// The job
    #[arg(value_name = "JOB", value_hint = ValueHint::FilePath)]
    pub(crate) job: PathBuf,

    /// The part
    #[arg(long, value_name = "J", value_parser = whole::<usize>)]
    pub(crate) part: usize,

    /// A directory with sorted slices, or the URL that 'xsort part serve' prints; repeat for
    /// several
    ///
    /// The URL has the server's secret in it, and other users of this machine can see arguments:
    /// where there are some, give it by --from-file.
    #[arg(long, value_name = "DIR|URL", required_unless_present = "from_file")]
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) from: Vec<PathBuf>,

    /// A file with sources as of --from, one a line; '-' is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_file: Option<PathBuf>,

    /// The part's file, or its URL in a store
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    /// How long a source that doesn't answer is asked again
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) give_up_after: Duration,

    /// Also write what was merged, for validate
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) summary: Option<PathBuf>,

    /// Directory for scratch; several are used at once [default: that of the output]
    #[arg(short = 'T', long = "scratch", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) scratch: Vec<PathBuf>,

    /// Do not wait until the output is safe against a power cut
    #[arg(long)]
    pub(crate) no_sync: bool,

    #[command(flatten)]
    pub(crate) resources: Resources,

    #[command(flatten)]
    pub(crate) report: Report,
}

/// Check that the parts are the sorted input
///
/// Every slice and every part must be there once, all that was mapped must be merged, by count and
/// checksum, and the parts must follow each other in order.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ValidateArgs {
    /// The job
    #[arg(value_name = "JOB", value_hint = ValueHint::FilePath)]
    pub(crate) job: PathBuf,

    /// The manifests of all slices (slice-I.json), or directories that have them
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) manifests: Vec<PathBuf>,

    /// The summaries of all parts, or directories that have them (*.json)
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) summaries: Vec<PathBuf>,

    /// See that the outputs are there, as they were written, by their lengths and tags
    #[arg(long)]
    pub(crate) outputs: bool,

    /// Read the outputs, and inputs of records, instead of believing the summaries
    #[arg(long)]
    pub(crate) read: bool,

    #[command(flatten)]
    pub(crate) resources: Resources,

    #[command(flatten)]
    pub(crate) report: Report,
}

/// Parses the number of parts.
fn parts(text: &str) -> Result<usize, String> {
    match whole::<usize>(text)? {
        parts @ 1..=1_000_000 => Ok(parts),
        _ => Err("from 1 to 1000000 are possible".into()),
    }
}
