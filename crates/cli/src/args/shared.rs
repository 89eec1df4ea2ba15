//! Arguments that several commands share.

use super::values::{degrees, formats, io_engines, threads, when, whole};
use clap::Args;
use std::num::NonZeroU64;
use xsort::size::{self, Memory};
use xsort_disk::IoChoice;
use xsort_gnu::When;
use xsort_records::{Format, KeyField};

/// Size and key of the records.
#[derive(Debug, Args)]
pub(crate) struct Records {
    /// A format that gen makes; gensort by default
    ///
    /// With this option any bytes are taken for records. Without it and --record, inputs whose
    /// first 4 KiB look like something else are refused: text, compressed files, databases,
    /// programs and the like, and records that gen makes in another format. Printable records of
    /// the Sort Benchmark, lines of 100 bytes that end in CR LF, are accepted.
    #[arg(short, long, value_name = "FORMAT", conflicts_with = "record", value_parser = formats())]
    pub(crate) format: Option<Format>,

    /// Size of a record in bytes; records are compared as a whole unless --key is given
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

OFFSET and LENGTH are bytes, OFFSET counts from 0. TYPE is bytes, \
the default, or a number: u8, u16, u32, u64, u128, i8 ... i128, f32, f64, with le or be at its \
end for the byte order (u64le, u64be); without either the least significant byte comes first, as \
with le.";

/// How directories among the inputs are read.
#[derive(Debug, Args)]
pub(crate) struct Trees {
    /// Take a file that has several names (hard links) below a directory under each of them
    ///
    /// Otherwise it counts once for each directory named, under the name that comes first. A file
    /// or directory that is named itself counts as often as it is named.
    #[arg(long, hide_short_help = true)]
    pub(crate) count_links: bool,
}

/// What a job may use.
#[derive(Debug, Args)]
pub(crate) struct Resources {
    /// Memory, as a size or as a percentage of what is available [default: 50%]
    ///
    /// The program uses at most this and 64 MiB. It uses no more than the limit of its control
    /// group (container) leaves.
    #[arg(short, long, value_name = "MEMORY")]
    pub(crate) memory: Option<Memory>,

    /// Threads; 0: as many as processors that this process may use
    #[arg(short = 'j', long, value_name = "N", default_value_t = 0, value_parser = threads)]
    pub(crate) threads: u16,

    /// How to do I/O; auto uses io_uring where it is allowed
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = io_engines())]
    pub(crate) io: IoChoice,

    /// Pause all transfers while a drive of the job is hotter than so many degrees Celsius
    ///
    /// They go on when it is 5 degrees below that. Drives whose temperature the system doesn't show
    /// are ignored.
    #[arg(long, value_name = "CELSIUS", value_parser = degrees)]
    pub(crate) temperature_limit: Option<u16>,

    /// Move at most so many bytes a second to and from the drives, read and written together (200M,
    /// 1.5GiB)
    ///
    /// For machines that others use at the same time. Bandwidth that was not used is saved up for
    /// at most a tenth of a second.
    #[arg(long, value_name = "RATE", value_parser = size::rate)]
    pub(crate) bandwidth_limit: Option<NonZeroU64>,
}

/// What a job prints.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Print the result as JSON; on standard error if standard output is for the records
    #[arg(long)]
    pub(crate) json: bool,

    /// Show progress on standard error; auto does if it is a terminal [default: auto]
    #[arg(long, value_name = "WHEN", value_parser = when(), hide_possible_values = true)]
    #[arg(num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "auto", default_missing_value = "always", hide_default_value = true)]
    pub(crate) progress: When,

    /// Print errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Print everything that is known about the job, in several lines
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) color: Color,
}

/// Whether colours are used.
#[derive(Debug, Args)]
pub(crate) struct Color {
    /// Use colours: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(long, value_name = "WHEN", value_parser = when(), hide_possible_values = true)]
    #[arg(num_args = 0..=1, require_equals = true, hide_short_help = true)]
    #[arg(default_value = "auto", default_missing_value = "always", hide_default_value = true)]
    pub(crate) color: When,
}
