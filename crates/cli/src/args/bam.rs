//! Arguments of `xsort bam`.

use super::help::{
    DONE, ORDER, OUTPUT, REPORT, RESOURCES, SIZES, TEMPLATE, sizes_environment_and_exit_status,
};
use super::report::RunFiles;
use super::shared::{Report, Resources, Trees};
use super::values::{ScratchCodec, bam_indexes, codecs, output};
use clap::{Args, ValueHint};
use std::path::PathBuf;
use xsort::{BamOrder, IndexForm, NoOrder};

const EXAMPLES: &str = "\
Examples:
  xsort bam in.bam -o sorted.bam --write-index          by coordinate, with sorted.bam.bai
  xsort bam a.bam b.bam -m 4G -o by-name.bam --by name  as samtools sort -n
  xsort bam in.bam -o cells.bam --by tag:CB             by cell, then by coordinate
  bwa mem ref.fa r1.fq r2.fq | samtools view -b | xsort bam -o sorted.bam
";

/// Sort BAM by coordinate, name or tag, as samtools does
///
/// Alignments that are equal in the order keep the order of the input, and their bytes. Inputs must
/// have the same sequences; their headers become one, which says the order (SO in @HD) and has a
/// line of this program (@PG). An output file appears whole or not at all.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = EXAMPLES, disable_help_flag = true)]
#[command(after_help = SIZES, after_long_help = sizes_environment_and_exit_status(DONE))]
pub(crate) struct BamArgs {
    /// coordinate, name (runs of digits are numbers, as samtools sort -n), name-bytes (-N), or
    /// tag:XX (-t XX)
    #[arg(long, value_name = "ORDER", value_parser = order, default_value = "coordinate")]
    #[arg(help_heading = ORDER)]
    pub(crate) by: BamOrder,

    /// Merge inputs that are in order already, and check their order
    #[arg(long, help_heading = ORDER)]
    pub(crate) merge: bool,

    #[command(flatten)]
    pub(crate) trees: Trees,

    /// The sorted file; '-' is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = output())]
    #[arg(help_heading = OUTPUT)]
    pub(crate) output: PathBuf,

    /// Also write an index, FILE.bai or FILE.csi: auto, bai or csi
    ///
    /// With auto it is csi if a position passes 512 Mbp, and else bai.
    #[arg(long, value_name = "FORM", value_parser = bam_indexes(), num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "auto", hide_possible_values = true)]
    #[arg(help_heading = OUTPUT)]
    pub(crate) write_index: Option<IndexForm>,

    /// Add no line of this program (@PG) to the header
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) no_pg: bool,

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
    #[arg(short = 'T', long = "scratch", value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(help_heading = RESOURCES)]
    pub(crate) scratch: Vec<PathBuf>,

    /// Compress scratch
    ///
    /// Alignments are several times as large there as in BAM, since scratch has them uncompressed
    /// unless this is given.
    #[arg(long, value_name = "CODEC", default_value = "none", value_parser = codecs())]
    #[arg(help_heading = RESOURCES)]
    pub(crate) compress: ScratchCodec,

    /// Show what a sort would use; read no alignments and write nothing
    #[arg(long)]
    #[arg(help_heading = REPORT)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) files_of_run: RunFiles,

    #[command(flatten)]
    pub(crate) report: Report,

    /// BAM files to sort, as one; '-' is standard input, a directory all files below it
    #[arg(default_value = "-", value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    #[arg(help_heading = None::<&str>)]
    pub(crate) inputs: Vec<PathBuf>,
}

fn order(text: &str) -> Result<BamOrder, String> {
    text.parse().map_err(|error: NoOrder| error.to_string())
}
