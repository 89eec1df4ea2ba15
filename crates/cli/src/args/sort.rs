//! Arguments of `xsort sort`.

use super::help::{
    DONE, INPUT, INTERRUPTIONS, ORDER, OUTPUT, REPORT, RESOURCES, SIZES, TEMPLATE,
    sizes_environment_and_exit_status,
};
use super::report::RunFiles;
use super::shared::{Records, Report, Resources, Trees};
use super::values::{Merge, ScratchCodec, codecs, methods, output, seconds};
use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;
use xsort::size;
use xsort_extsort::records::Method;
use xsort_extsort::{Begin, Checkpoint};

const EXAMPLES: &str = "\
Examples:
  xsort sort data -o sorted                          100-byte gensort records
  xsort sort -m 1G -T /ssd1 -T /ssd2 data -o sorted  in 1 GiB, scratch on two drives
  xsort sort --record 24 --key 8:8:u64le a b -o out  24-byte records of two files, by a number
  xsort sort --record prefixed:u32le data -o sorted  records that begin with their length
  zcat data.gz | xsort sort -m 1G - -o - | next      from a pipe to a pipe
  xsort sort data.d -o sorted                        all files below a directory
  xsort sort --checkpoint data -o sorted             if it is interrupted ...
  xsort sort --resume data -o sorted                 ... go on
  xsort sort --dry-run data -o sorted                only print what would be done
";

/// Sort binary records of any amount in a set amount of memory
///
/// Records with equal keys keep the order of the input. The output appears whole or not at all and
/// may be one of the inputs. What comes out is counted and checksummed against what went in.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = EXAMPLES, disable_help_flag = true)]
#[command(after_help = SIZES, after_long_help = sizes_environment_and_exit_status(DONE))]
pub(crate) struct SortArgs {
    #[command(flatten)]
    pub(crate) records: Records,

    /// The inputs are in order already: merge them, and check their order
    ///
    /// A file that isn't in order is an error, with the record. Each is read once, where it is, and
    /// nothing goes to scratch. Hundreds of files are merged at once. With --merge=any all are
    /// sorted if one isn't in order.
    #[arg(long, value_name = "any", num_args = 0..=1, require_equals = true)]
    #[arg(value_enum, default_missing_value = "sorted")]
    #[arg(conflicts_with_all = ["method", "compress", "checkpoint", "resume", "restart"])]
    #[arg(help_heading = ORDER)]
    pub(crate) merge: Option<Merge>,

    /// Keep the input's order among equal keys: always on, accepted for scripts
    #[arg(long, hide_short_help = true)]
    #[arg(help_heading = ORDER)]
    pub(crate) stable: bool,

    /// Remove the inputs, before the output is written if its space is needed. DANGER: see --help
    ///
    /// If there is space for both the inputs and the output, the inputs are removed after the
    /// output is in place, and nothing is at risk. If not, they are removed as soon as their
    /// records are in scratch, so that the sort needs little more space than the data's size
    /// besides the inputs. From then until the output is in place the records exist only in scratch
    /// files without a name, and a crash, a kill, a full drive or a power cut in that time LOSES
    /// THE DATA. With --checkpoint the files have names and the data is safe. An input that was
    /// changed or replaced meanwhile stays. Standard input can't be removed. Below a directory the
    /// names that were read are removed; directories, and a file's other names, stay.
    #[arg(long)]
    #[arg(help_heading = INPUT)]
    pub(crate) remove_input: bool,

    #[command(flatten)]
    pub(crate) trees: Trees,

    /// The sorted file; '-' is standard output
    ///
    /// What goes to standard output can't be taken back: after an error its reader has a part of
    /// it, which is in order. It needs no space on a drive.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = output())]
    #[arg(help_heading = OUTPUT)]
    pub(crate) output: PathBuf,

    /// Refuse to replace a file or an object that exists, also one that appears meanwhile
    #[arg(long, hide_short_help = true)]
    #[arg(help_heading = OUTPUT)]
    pub(crate) no_clobber: bool,

    /// Do not wait until the output is safe against a power cut
    #[arg(long)]
    #[arg(help_heading = OUTPUT)]
    pub(crate) no_sync: bool,

    #[command(flatten)]
    pub(crate) resources: Resources,

    /// Directory for scratch; repeat for several [default: beside the output]
    ///
    /// Scratch is striped over all of them by the speed of their drives. The files have no names
    /// and vanish with the program, however it ends, except those of --checkpoint.
    #[arg(short = 'T', long = "scratch", value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(alias = "temporary-directory")]
    #[arg(help_heading = RESOURCES)]
    pub(crate) scratch: Vec<PathBuf>,

    /// Compress scratch: where the drive is slow
    ///
    /// Of records of one size: there must be space for plain scratch before the sort; bins
    /// (--method scatter) aren't compressed; and nothing is if the memory for it, up to 2 MiB a
    /// thread, would cost a further pass over the data.
    #[arg(long, value_name = "CODEC", default_value = "none", value_parser = codecs())]
    #[arg(hide_short_help = true)]
    #[arg(help_heading = RESOURCES)]
    pub(crate) compress: ScratchCodec,

    /// How to sort
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = methods())]
    #[arg(hide_short_help = true)]
    #[arg(help_heading = RESOURCES)]
    pub(crate) method: Method,

    /// Cache per thread, for which a sort in memory is divided [default: what the processor has]
    ///
    /// What fits is sorted at once, anything larger in parts that also fit the first-level cache.
    /// It affects the time only. It is meant for experiments, and for machines that don't say how
    /// large their caches are.
    #[arg(long, value_name = "SIZE", value_parser = size::bytes, hide_short_help = true)]
    #[arg(help_heading = RESOURCES)]
    pub(crate) cache_size: Option<u64>,

    #[command(flatten)]
    pub(crate) checkpoints: Checkpoints,

    /// Print the plan and what it would cost, and do nothing
    ///
    /// The drive is measured for a second with a scratch file, to estimate how long the sort would
    /// take.
    /// Standard input has to be a file: nothing is known about a stream before it is read.
    #[arg(long)]
    #[arg(help_heading = REPORT)]
    pub(crate) dry_run: bool,

    /// Measure the drive before the sort, so that the report can say what share of its speed was
    /// reached (takes a second)
    #[arg(long, hide_short_help = true)]
    #[arg(help_heading = REPORT)]
    pub(crate) probe: bool,

    #[command(flatten)]
    pub(crate) files_of_run: RunFiles,

    #[command(flatten)]
    pub(crate) report: Report,

    /// Files to sort, as one; '-' is standard input, a directory all regular files below it
    ///
    /// The files of a directory come in the order of their paths, compared as bytes (find DIR -type
    /// f | LC_ALL=C sort). Symbolic links in it are not followed and special files are left out,
    /// with a note; what can't be listed is an error. An existing output that lies in the directory
    /// is refused unless it is empty: it would be sorted with the rest.
    ///
    /// A stream's size is known only at its end, so all of it is read before anything is sorted. It
    /// stays in memory if it can be sorted there. Otherwise it is written to scratch first, in the
    /// directory with the most free space, and read from there: this costs a further write and
    /// read, and space for the data, which is freed as runs are written. A file (< data) is read
    /// as if it was named.
    #[arg(default_value = "-", value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    #[arg(help_heading = None::<&str>)]
    pub(crate) inputs: Vec<PathBuf>,
}

impl SortArgs {
    /// How to sort records of one size.
    pub(crate) fn method(&self) -> Method {
        if self.merge == Some(Merge::Sorted) { Method::MergeInputs } else { self.method }
    }
}

/// Whether a job can be resumed.
#[derive(Debug, Args)]
#[command(next_help_heading = INTERRUPTIONS)]
pub(crate) struct Checkpoints {
    /// Keep what is finished, so that --resume can go on after a crash
    ///
    /// A kill, a power cut and a full disk are no worse. Scratch files and the unfinished output
    /// then have hidden names (.OUTPUT.xsort-...), in the scratch directories and next to the
    /// output, and a journal in the first scratch directory says what is finished. Every second,
    /// what is new in them is made durable. All of it is removed when the sort is done.
    #[arg(long, group = "resumable", conflicts_with_all = ["resume", "restart", "dry_run"])]
    checkpoint: bool,

    /// Go on with an interrupted sort, or begin one with --checkpoint
    ///
    /// It is the sort to this output, given the same arguments.
    /// What was finished is not done again: sorted runs, merges and bins, and the part of the
    /// output that was written. The plan stays the same, and so does the memory. The inputs must be
    /// unchanged (size, time of the last change, and a sample of the content are compared). If the
    /// output is complete already, only the rest is done. The result is the same as without the
    /// interruption.
    #[arg(long, group = "resumable", conflicts_with_all = ["restart", "dry_run"])]
    resume: bool,

    /// Discard what an interrupted sort to this output has finished, and begin anew with
    /// --checkpoint
    #[arg(long, group = "resumable", conflicts_with = "dry_run", hide_short_help = true)]
    restart: bool,

    /// With one of these: how often to make new data durable; 0 is as often as possible
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    #[arg(requires = "resumable", hide_short_help = true)]
    checkpoint_every: Duration,
}

impl Checkpoints {
    /// The checkpoint that the options ask for, if any.
    pub(crate) fn checkpoint(&self) -> Option<Checkpoint> {
        let begin = match self {
            Checkpoints { resume: true, .. } => Begin::Resume,
            Checkpoints { restart: true, .. } => Begin::Restart,
            Checkpoints { checkpoint: true, .. } => Begin::New,
            _ => return None,
        };
        Some(Checkpoint { begin, every: self.checkpoint_every })
    }
}
