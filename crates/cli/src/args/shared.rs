//! Arguments shared by several commands.

use super::values::{degrees, formats, io_engines, threads, when, whole};
use clap::{ArgAction, Args};
use std::num::NonZeroU64;
use xsort::size::{self, Memory};
use xsort_disk::IoChoice;
use xsort_gnu::When;
use xsort_objects::GivenLimits;
use xsort_records::{Format, KeyField, Prefix};

/// Size and key of the records.
#[derive(Debug, Args)]
pub(crate) struct Records {
    /// A format that gen makes; gensort by default
    ///
    /// With this option, any bytes are accepted as records. Without it and --record, an input whose
    /// first 4 KiB look like something else is refused: text, a compressed file, a database, a
    /// program, or records that gen makes in another format. Printable records of the Sort
    /// Benchmark, which are lines of 100 bytes that end in CR LF, are accepted.
    #[arg(short, long, value_name = "FORMAT", conflicts_with = "record", value_parser = formats())]
    pub(crate) format: Option<Format>,

    /// Bytes of a record, or prefixed:TYPE if each begins with its length; without --key all is
    /// compared
    ///
    /// TYPE is u8, u16le, u16be, u32le, u32be, u64le, u64be, or varint (unsigned LEB128, as in
    /// protobuf's delimited messages). The length is that of the bytes behind it, in which --key
    /// counts its offsets. Such a record may have a part of a key of bytes, or nothing, which
    /// compares as a shorter text; it must have all of a key that is a number. It may be as long as
    /// a sixteenth of the memory, up to 16 MiB, or a sixty-fourth, if that is more.
    #[arg(long, value_name = "BYTES", value_parser = record_form)]
    pub(crate) record: Option<RecordForm>,

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

/// The length of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordForm {
    /// All records have this number of bytes.
    Bytes(usize),
    /// Each record begins with its length.
    Prefixed(Prefix),
}

fn record_form(text: &str) -> Result<RecordForm, String> {
    if text.starts_with("prefixed") {
        let prefix = text.parse::<Prefix>().map_err(|error| error.to_string())?;
        return Ok(RecordForm::Prefixed(prefix));
    }
    whole(text).map(RecordForm::Bytes)
}

const KEY_HELP: &str = "\
What to compare, OFFSET:LENGTH[:TYPE][:desc]; repeat for further keys among equals

OFFSET and LENGTH are in bytes, and OFFSET counts from 0. TYPE is bytes, \
the default, or a number: u8, u16, u32, u64, u128, i8 ... i128, f32 or f64; n16, n32 and n64 are \
floats with NaN last, t64 NumPy's times with NaT last. A number ends in le \
or be for its byte order (u64le, u64be); le, the least significant byte first, is the default.";

/// Whether inputs may stand for nothing.
#[derive(Debug, Args)]
pub(crate) struct Emptiness {
    /// Take a directory without files, or a prefix without objects, for no input
    ///
    /// Otherwise that is an error: its name is more often wrong than meant, and an old output would
    /// be replaced by nothing.
    #[arg(long, hide_short_help = true)]
    pub(crate) allow_empty: bool,
}

/// How directories among the inputs are read.
#[derive(Debug, Args)]
pub(crate) struct Trees {
    #[command(flatten)]
    pub(crate) empty: Emptiness,

    /// Read a file that has several names (hard links) below a directory once for each of them
    ///
    /// Otherwise it is read once for each directory that is given, under its first name. A file or
    /// directory is read as often as it is given itself.
    #[arg(long, hide_short_help = true)]
    pub(crate) count_links: bool,
}

/// What a job may use.
#[derive(Debug, Args)]
pub(crate) struct Resources {
    /// Memory, as a size or as a percentage of what is available [default: 50%]
    ///
    /// The program uses at most this much and another 64 MiB. The limit of its control group
    /// (container) is respected, too.
    #[arg(short, long, value_name = "MEMORY")]
    pub(crate) memory: Option<Memory>,

    /// Number of threads; 0 means one for each processor that this process may use
    #[arg(short = 'j', long, value_name = "N", default_value_t = 0, value_parser = threads)]
    pub(crate) threads: u16,

    /// How files are read and written
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = io_engines())]
    pub(crate) io: IoChoice,

    /// Pause all transfers while a drive of the job is hotter than this many degrees Celsius
    ///
    /// They continue when the drive is 5 degrees cooler than that. Drives whose temperature the
    /// system doesn't report are ignored.
    #[arg(long, value_name = "CELSIUS", value_parser = degrees)]
    pub(crate) temperature_limit: Option<u16>,

    /// Read and write at most this many bytes a second, both together (200M, 1.5GiB)
    ///
    /// Use it on a machine that is shared with others. Unused bandwidth is saved up for at most a
    /// tenth of a second.
    #[arg(long, value_name = "RATE", value_parser = size::rate)]
    pub(crate) bandwidth_limit: Option<NonZeroU64>,

    #[command(flatten)]
    pub(crate) objects: ObjectArguments,
}

/// How objects of stores are moved.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ObjectArguments {
    /// Bytes of the parts in which an object is written, 5M to 5G [default: 8 MiB, or 5 MiB where
    /// memory is short]
    ///
    /// An object has 10,000 parts at most: with 8 MiB it can have 78 GiB.
    #[arg(long, value_name = "SIZE", hide_short_help = true, value_parser = part_size)]
    pub(crate) s3_part_size: Option<u64>,

    /// Requests to object stores at once [default: 16, or fewer where memory is short]
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = connections)]
    pub(crate) s3_connections: Option<u16>,

    /// Read an object that was written back, and compare it with what was sent
    ///
    /// What stores say of the bytes that they have is always compared: the MD5 that most have for a
    /// tag, and checksums. This compares the bytes themselves, by the CRC-32 of each part. It costs
    /// as many requests as reading the object, and needs the permission for that.
    #[arg(long, hide_short_help = true)]
    pub(crate) verify_output: bool,
}

impl ObjectArguments {
    /// The limits that were given.
    pub(crate) fn given(self) -> GivenLimits {
        GivenLimits { part_bytes: self.s3_part_size, connections: self.s3_connections }
    }
}

/// Parses the number of concurrent requests.
pub(crate) fn connections(text: &str) -> Result<u16, String> {
    match whole::<u64>(text)? {
        connections @ 1..=1024 => Ok(connections as u16),
        _ => Err("from 1 to 1024 are possible".into()),
    }
}

/// Parses the size of a part in bytes.
pub(crate) fn part_size(text: &str) -> Result<u64, String> {
    let bytes = size::bytes(text).map_err(|error| error.to_string())?;
    match (5 << 20..=5 << 30).contains(&bytes) {
        true => Ok(bytes),
        false => Err("a part has at least 5 MiB, and at most 5 GiB".into()),
    }
}

/// What a job prints.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Print JSON, on standard error if records go to standard output
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

    /// Print what each phase took; -vv: each chunk and bin, too
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet")]
    pub(crate) verbose: u8,

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
