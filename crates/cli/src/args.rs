//! The command line as it is written: names, help texts and the shape of each value.
//!
//! One definition serves the parser, both helps, the completions and the man pages. Nothing is
//! decided here; `settings` turns these into what the pipelines take.

use crate::size::{self, Amount, Memory};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use xsort_disk::IoChoice;
use xsort_extsort::fixed::Method;
use xsort_extsort::{Begin, Checkpoint};
use xsort_records::{Checksum, Format, KeyField, Pattern};

/// Help in the order in which it is needed: what, examples, usage, options.
const TEMPLATE: &str =
    "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

const SIZES: &str = "\
Sizes: 512M, 16GiB, 1.5G, 8GB. K, M, G, T are powers of 1024 as for GNU sort; KB, MB, GB, TB are powers of 1000.";

const EXIT_STATUS: &str = "\
Exit status:
  0    done; for verify: in order and as expected
  1    verify: out of order, or not the expected records
  2    wrong usage or settings, or a place that can't be written to
  3    an input is missing, unreadable, no whole number of records, or looks like something else
  4    too little disk space or memory
  5    a read or write failed
  6    data was corrupted on the way; nothing was put in place
  101  a fault of xsort itself: please report it
  129, 130, 143  stopped by SIGHUP, SIGINT, SIGTERM; cleaned up
  141  stopped by SIGPIPE: nobody reads the output any more";

const EXAMPLES: &str = "\
Examples:
  xsort gen 10GB data                   make 100 million benchmark records
  xsort sort data -o sorted -m 1G       sort them in 1 GiB of memory
  xsort verify sorted --against data    prove the result
";

const GEN_EXAMPLES: &str = "\
Examples:
  xsort gen 10GB data                        10^8 records, byte for byte those of gensort
  xsort gen -f gensort-ascii 1000000r lines  a million records that are also lines of text
  xsort gen --skewed --start 5000 1M part    from record 5000 on, with skewed keys
  xsort gen -f kv128 --pattern zipf 4G data  128-byte records, few keys taking most of them
";

const SORT_EXAMPLES: &str = "\
Examples:
  xsort sort data -o sorted                          100-byte gensort records
  xsort sort -m 1G -T /ssd1 -T /ssd2 data -o sorted  in 1 GiB, scratch on two drives
  xsort sort --record 24 --key 8:8:u64le:desc a b -o out
                                                     24-byte records of two files, by a number
  zcat data.gz | xsort sort -m 1G -o sorted          what comes from a pipe
  xsort sort data.d -o sorted                        all files below a directory
  xsort sort --checkpoint data -o sorted             if it is interrupted ...
  xsort sort --resume data -o sorted                 ... go on
  xsort sort --dry-run data -o sorted                only say what would be done
";

const VERIFY_EXAMPLES: &str = "\
Examples:
  xsort verify sorted                      order, records, checksum, duplicates
  xsort verify sorted --against data       also: the same records as in data, a file or a directory
  xsort verify -o 1.sum part1              judge the parts of a sequence on their own, ...
  xsort verify -s 1.sum 2.sum              ... then their seams and sums
";

const STATUS_EXAMPLES: &str = "\
Examples:
  xsort status                a line for each job
  xsort status 4711           all about one
  xsort status --watch        on the whole terminal, live
  xsort status --json         for machines
  xsort status --clear        remove what killed jobs left
";

/// Sort anything bigger than memory, at the speed of the drives.
#[derive(Debug, Parser)]
#[command(name = "xsort", version, help_template = TEMPLATE, before_help = EXAMPLES, after_help = EXIT_STATUS)]
#[command(max_term_width = 110, subcommand_required = true, arg_required_else_help = false)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The program's commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Gen(GenArgs),
    Sort(SortArgs),
    Verify(VerifyArgs),
    Status(StatusArgs),
    /// Sort lines of text, with the options of GNU sort
    ///
    /// Arguments, output, messages and statuses are GNU sort's; 'xsort lines --help' lists them. A
    /// link to xsort with the name sort does the same. The door in front of this one takes the
    /// arguments as they are.
    #[command(disable_help_flag = true)]
    Lines {
        /// Options and files as for GNU sort
        #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true, value_hint = ValueHint::FilePath)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Count the space that trees of files take, with the options of GNU du
    ///
    /// Arguments, output, messages and statuses are GNU du's; 'xsort du --help' lists them, and
    /// what GNU du doesn't have: --tree, --top, --sort, --json, --threads, --progress,
    /// --skip-pseudo. A link to xsort with the name du does the same. The door in front of this one
    /// takes the arguments as they are.
    #[command(disable_help_flag = true)]
    Du {
        /// Options and files as for GNU du
        #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true, value_hint = ValueHint::AnyPath)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Print a shell's completion script
    ///
    /// For example: xsort completions bash > ~/.local/share/bash-completion/completions/xsort
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all of them to a directory
    Man {
        /// Directory for xsort.1, xsort-sort.1, ...; without it, xsort.1 is printed
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

/// Make a file of records for tests and benchmarks
///
/// The same arguments make the same bytes, whatever the memory and the threads. The file appears
/// whole or not at all.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = GEN_EXAMPLES, after_help = SIZES, after_long_help = format!("{SIZES}\n\n{EXIT_STATUS}"))]
pub(crate) struct GenArgs {
    /// What the records look like
    #[arg(short, long, value_name = "FORMAT", default_value = "gensort", value_parser = formats())]
    pub(crate) format: Format,

    /// gensort's skewed keys, as its -s
    #[arg(long)]
    pub(crate) skewed: bool,

    /// How the keys are spread
    #[arg(long, default_value = "uniform", value_parser = patterns())]
    pub(crate) pattern: Pattern,

    /// Number of the first record
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u128>)]
    pub(crate) start: u128,

    /// Any other seed makes other records; with 0, gensort formats are those of gensort itself
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) resources: Resources,

    /// Do not wait until the file is safe against a power cut
    #[arg(long)]
    pub(crate) no_sync: bool,

    #[command(flatten)]
    pub(crate) report: Report,

    /// Bytes (10GB, 512MiB), rounded down to whole records, or records (1000000r)
    pub(crate) size: Amount,

    /// The file to make
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

/// Sort fixed-size records of any amount in a set amount of memory
///
/// Records with equal keys keep the order of the input. The output appears whole or not at all and
/// may be one of the inputs. What comes out is counted and checksummed against what went in.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = SORT_EXAMPLES, after_help = SIZES, after_long_help = format!("{SIZES}\n\n{EXIT_STATUS}"))]
pub(crate) struct SortArgs {
    #[command(flatten)]
    pub(crate) records: Records,

    #[command(flatten)]
    pub(crate) resources: Resources,

    /// Directory for scratch; several are used at once [default: beside the output]
    ///
    /// Scratch is striped over all of them by the speed of their drives. The files have no names
    /// and vanish with the program, however it ends; but those of --checkpoint.
    #[arg(short = 'T', long = "scratch", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) scratch: Vec<PathBuf>,

    /// How to sort
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = methods())]
    pub(crate) method: Method,

    /// Cache of a thread that pieces of a sort in memory are made for [default: what the processor
    /// has]
    ///
    /// What fits is sorted at once, anything larger in pieces that also fit the first-level cache.
    /// It changes the time only, and is for machines that don't tell of their caches and for
    /// experiments.
    #[arg(long, value_name = "SIZE", value_parser = size::bytes, hide_short_help = true)]
    pub(crate) cache_size: Option<u64>,

    /// Keep the input's order among equal keys: always so, accepted for the sake of scripts
    #[arg(long, hide_short_help = true)]
    pub(crate) stable: bool,

    /// Remove the inputs, before the output is written if its space is needed. DANGER: see --help
    ///
    /// If there is space for the output beside the inputs, they are removed after the output is in
    /// place, and nothing is at risk. If not, they are removed as soon as their records are in
    /// scratch, so that the sort needs little more space than the data's size besides the inputs:
    /// from then until the output is in place the records exist only in scratch files without a
    /// name, and a crash, a kill, a full drive or a power cut in that time LOSES THE DATA; not with
    /// --checkpoint, where they have names. An input that was changed or replaced meanwhile stays.
    /// Standard input can't be removed. Below a directory the names that were read go; directories,
    /// and a file's other names, stay.
    #[arg(long)]
    pub(crate) remove_input: bool,

    /// Print the plan and what it would cost, and do nothing
    ///
    /// The drive is measured for a second with a scratch file, to say how long the sort would take.
    /// Standard input has to be a file: of a stream nothing is known before it is read.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Also print what was done with each chunk and each bin
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    /// Measure the drive before the sort, so that the report can say which share of its speed was
    /// reached (takes a second)
    #[arg(long, hide_short_help = true)]
    pub(crate) probe: bool,

    /// Do not wait until the output is safe against a power cut
    #[arg(long)]
    pub(crate) no_sync: bool,

    #[command(flatten)]
    pub(crate) checkpoints: Checkpoints,

    #[command(flatten)]
    pub(crate) report: Report,

    #[command(flatten)]
    pub(crate) trees: Trees,

    /// Files to sort, as one; '-' is standard input, a directory all regular files below it
    ///
    /// The files of a directory come in the order of their paths, compared as bytes (find DIR -type
    /// f | LC_ALL=C sort). Symbolic links in it are not followed, special files are left out, both
    /// with a word; what can't be listed is an error. An output that is there already and lies in
    /// it is refused unless it is empty: it would be sorted with the rest.
    ///
    /// A stream's size is known only at its end, so it is read whole before anything is sorted.
    /// What can be sorted in memory is kept there; more is written to scratch first, in the
    /// directory with the most free space, and read from there: one more write and read, and for a
    /// while the space of the data there. That space is given back while the runs take it. A file
    /// (< data) is read as if it was named.
    #[arg(default_value = "-", value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub(crate) inputs: Vec<PathBuf>,

    /// The sorted file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
}

/// Whether a job can be resumed.
#[derive(Debug, Args)]
pub(crate) struct Checkpoints {
    /// Keep what is finished, so that --resume can go on after a crash, a kill, a power cut or a
    /// full disk
    ///
    /// Scratch and the output have hidden names then (.OUTPUT.xsort-...), in the scratch
    /// directories and beside the output, and a journal in the first scratch directory says what is
    /// finished; every second, what is new in them is made durable. All of it is gone when the sort
    /// is done.
    #[arg(long, conflicts_with_all = ["resume", "restart", "dry_run"])]
    checkpoint: bool,

    /// Go on with an interrupted sort to this output, with the arguments of then; begin one, with
    /// --checkpoint, if there is none
    ///
    /// What was finished is not done again: sorted runs, merges and bins, and what of the output is
    /// written. The plan is that of then, and so is the memory. The inputs must be what they were
    /// (size, time of the last change, and a sample of the content are compared). Of a sort whose
    /// output is complete only the rest is done. The result is the same as without the
    /// interruption.
    #[arg(long, conflicts_with_all = ["restart", "dry_run"])]
    resume: bool,

    /// Throw away what an interrupted sort to this output has kept, and begin anew with
    /// --checkpoint
    #[arg(long, conflicts_with = "dry_run", hide_short_help = true)]
    restart: bool,

    /// With one of these: make what is new durable every so many seconds, or whenever it can be (0)
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds, hide_short_help = true)]
    checkpoint_every: Duration,
}

/// A time in seconds, with a fraction or without.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("'{text}' is no number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

impl Checkpoints {
    /// What is asked for, if anything.
    pub(crate) fn asked(&self) -> Option<Checkpoint> {
        let begin = match self {
            Checkpoints { resume: true, .. } => Begin::Resume,
            Checkpoints { restart: true, .. } => Begin::Restart,
            Checkpoints { checkpoint: true, .. } => Begin::New,
            _ => return None,
        };
        Some(Checkpoint { begin, every: self.checkpoint_every })
    }
}

/// Check order, count, duplicates and checksum
///
/// Several files are checked as one sequence. The lines are those of the Sort Benchmark's valsort,
/// with the same meanings, on standard output. Exit status 0 if in order (and as expected), 1 if
/// not.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = VERIFY_EXAMPLES, after_help = SIZES, after_long_help = format!("{SIZES}\n\n{EXIT_STATUS}"))]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) records: Records,

    /// Also write a summary of these files as one part of a longer sequence (for 100-byte records
    /// valsort's 280 bytes)
    #[arg(short = 'o', long, value_name = "SUMMARY", value_hint = ValueHint::FilePath)]
    pub(crate) summary: Option<PathBuf>,

    /// The files are summaries, one or several in each; check the sequence of the parts that they
    /// tell of
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
    /// their paths
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}

/// Show the jobs that run, how far they are, and what killed ones left
///
/// Every gen, sort, lines, verify and du that takes longer than a quarter of a second publishes its
/// state ten times a second, in shared memory, for its own user. Watchers cost it nothing.
/// XSORT_STATUS=off (in the job's environment) leaves that out, XSORT_STATUS_DIR is another
/// directory for it. A job also prints a line on its standard error when it gets SIGUSR1, as dd
/// does.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = STATUS_EXAMPLES, after_long_help = EXIT_STATUS)]
pub(crate) struct StatusArgs {
    /// Number of a process: all that is known of this job [default: a line for each]
    pub(crate) job: Option<String>,

    /// Watch on the whole terminal: arrows choose a job, q ends
    #[arg(short, long, conflicts_with_all = ["json", "clear"])]
    pub(crate) watch: bool,

    /// Print one JSON object on standard output
    #[arg(long)]
    pub(crate) json: bool,

    /// Remove what killed jobs left: their status, and hidden files with their data
    ///
    /// Such files there are only where the file system knows no files without a name. Nothing of a
    /// job that lives is touched, and no file that is open or was written to after the job's last
    /// word.
    #[arg(long)]
    pub(crate) clear: bool,
}

/// Size and key of the records.
#[derive(Debug, Args)]
pub(crate) struct Records {
    /// A format that gen makes; gensort unless told otherwise
    ///
    /// Any bytes are taken for records then. Without this and --record, inputs are refused that
    /// look like something else by their first 4 KiB: text, compressed files, databases, programs
    /// and the like, records that gen makes in another format. Printable records of the Sort
    /// Benchmark, lines of 100 bytes that end in CR LF, are welcome.
    #[arg(short, long, value_name = "FORMAT", conflicts_with = "record", value_parser = formats())]
    pub(crate) format: Option<Format>,

    /// Records of so many bytes; compared whole unless --key is given
    #[arg(long, value_name = "BYTES", value_parser = whole::<usize>)]
    pub(crate) record: Option<usize>,

    // Not a doc comment: its brackets would be links to rustdoc.
    #[arg(
        long = "key",
        value_name = "SPEC",
        requires = "record",
        help = "What to compare, OFFSET:LENGTH[:TYPE][:desc]; repeat for further keys among equals",
        long_help = KEY_HELP
    )]
    pub(crate) keys: Vec<KeyField>,
}

const KEY_HELP: &str = "\
What to compare, OFFSET:LENGTH[:TYPE][:desc]; repeat for further keys among equals

OFFSET and LENGTH are bytes, OFFSET counts from 0. TYPE is bytes (unless told otherwise), or a number: \
u8, u16, u32, u64, u128, i8 ... i128, f32, f64, with le or be at its end for the byte order (u64le, u64be); without either the least significant byte comes \
first, as with le.";

/// How directories are read.
#[derive(Debug, Args)]
pub(crate) struct Trees {
    /// Take a file that has several names (hard links) below a directory under each of them
    ///
    /// Otherwise it counts once for each directory named, under the name that comes first. A file
    /// that is named itself counts as often as it is named, and so does a directory.
    #[arg(long, hide_short_help = true)]
    pub(crate) count_links: bool,
}

/// What a job may use.
#[derive(Debug, Args)]
pub(crate) struct Resources {
    /// Memory, as a size or as a percentage of what is available [default: 50%]
    ///
    /// The program stays within this and 64 MiB. The limit of a control group (container) is
    /// honoured: more than it leaves is not used.
    #[arg(short, long, value_name = "MEMORY")]
    pub(crate) memory: Option<Memory>,

    /// Threads; 0: as many as processors that this process may use
    #[arg(short = 'j', long, value_name = "N", default_value_t = 0, value_parser = threads)]
    pub(crate) threads: u16,

    /// How to talk to the drive; auto takes io_uring where it is allowed
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = engines())]
    pub(crate) io: IoChoice,

    /// Pause all transfers while a drive of the job is hotter than so many degrees Celsius
    ///
    /// They go on when it is 5 degrees below that. Drives whose temperature the system doesn't show
    /// have no effect.
    #[arg(long, value_name = "CELSIUS", value_parser = degrees)]
    pub(crate) temperature_limit: Option<u16>,

    /// Move at most so many bytes a second to and from the drives, read and written together (200M,
    /// 1.5GiB)
    ///
    /// For machines that others use at the same time; nothing is saved up for more than a tenth of
    /// a second.
    #[arg(long, value_name = "RATE", value_parser = size::rate)]
    pub(crate) bandwidth_limit: Option<NonZeroU64>,
}

/// How a job tells of itself.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    pub(crate) json: bool,

    /// Show progress on standard error; auto does if it is a terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) progress: When,

    /// Print errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Whether to show something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    #[default]
    Auto,
    Always,
    Never,
}

/// A number in digits. The standard library's parsers have texts for programmers ("invalid digit
/// found in string").
fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("a whole number in digits is wanted, such as 100".into());
    }
    text.parse()
        .map_err(|_| format!("at most {} is possible", u128::MAX >> (128 - 8 * size_of::<T>())))
}

fn threads(text: &str) -> Result<u16, String> {
    match whole::<u64>(text)? {
        threads @ 0..=1024 => Ok(threads as u16),
        _ => Err("from 0 (as many as processors) to 1024 are possible".into()),
    }
}

fn degrees(text: &str) -> Result<u16, String> {
    match whole::<u64>(text)? {
        celsius @ 1..=200 => Ok(celsius as u16),
        _ => Err("from 1 to 200 degrees are possible".into()),
    }
}

fn formats() -> impl TypedValueParser<Value = Format> {
    named(Format::all().iter().map(|format| (format.name(), format.describe())))
}

fn patterns() -> impl TypedValueParser<Value = Pattern> {
    named(Pattern::all().iter().map(|pattern| (pattern.name(), pattern.describe())))
}

fn methods() -> impl TypedValueParser<Value = Method> {
    named([
        ("auto", "what measurements say is faster for the data and the machine"),
        ("merge", "sort chunks into runs, then merge them"),
        ("scatter", "put records into bins by ranges of keys, then sort each bin"),
    ])
}

fn engines() -> impl TypedValueParser<Value = IoChoice> {
    named([
        ("auto", "io_uring where it is allowed, else threads"),
        ("uring", "io_uring or an error"),
        ("sync", "pread and pwrite on threads"),
    ])
}

/// Values that are chosen by name, with a line of help for each, known to the completions.
fn named<T>(
    values: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static> + Clone + Send + Sync + 'static,
{
    let values = values.into_iter().map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<T>())
}

/// The whole definition, for completions and man pages.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_holds_together() {
        super::command().debug_assert();
    }
}
