//! Arguments of `xsort bio`. `commands::bio` reads those after the format.

use super::help::{DONE, TEMPLATE, environment_and_exit_status};
use clap::{Args, ValueEnum, ValueHint};
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  xsort bio bed reads.bed -o reads.bed.gz --write-index
  xsort bio vcf a.vcf.gz b.vcf.gz -o both.vcf.gz --write-index -m 4G
  xsort bio bed peaks.bed --genome hg38.fa.fai -o peaks.sorted.bed
  xsort bio gff genes.gff3 --parents-first -o genes.gff3.gz --write-index
  xsort bio fastq reads.fq.gz -o by-name.fq.gz
  xsort bio vcf in.vcf --dry-run        the plain command that this stands for
";

const OWN_OPTIONS: &str = "\
Options of its own, after the format:
      --genome FILE    order of the sequences: a list, .fai, .genome, .dict, or a header
      --natural        order of the sequences: 1 to 22, X, Y, M, then all others (chr2 before chr10)
      --parents-first  gff, gtf: genes before their transcripts, and these before their exons
      --by WHAT        fastq, fasta: name, sequence, length or length:desc
All others are those of the plain command: -o, -m, -j, -T, --write-index, --json, ...";

/// Sort BED, GFF, VCF, SAM, BAM, FASTQ and others, by position or name
///
/// Each format stands for a plain command, which --dry-run prints. Lines of a header stay at the
/// top; those of several inputs become one header. Sequences come in the order of the header (vcf,
/// sam, bam) or of their names' bytes (the others) unless an option says another. A position that
/// is no number is an error with its place.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = EXAMPLES)]
#[command(after_help = OWN_OPTIONS)]
#[command(after_long_help = format!("{OWN_OPTIONS}\n\n{}", environment_and_exit_status(DONE)))]
pub(crate) struct BioArgs {
    /// The format of the files
    pub(crate) format: BioFormat,

    /// Files, and options of the plain command
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) arguments: Vec<OsString>,
}

/// A format of files of genomics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BioFormat {
    /// By sequence, begin and end; lines of tracks and browsers stay at the top
    Bed,
    /// GFF3: by sequence and begin; with --parents-first the longest of equal begins first
    Gff,
    /// As gff
    Gtf,
    /// By contig, position, REF and ALT, as bcftools sorts
    Vcf,
    /// By sequence, position and strand, as samtools sorts
    Sam,
    /// By both sequences and both positions, as pairtools sorts; with an index by the first ones
    Pairs,
    /// By coordinate; --by name, name-bytes or tag:XX (stands for 'xsort bam')
    Bam,
    /// By name; --by sequence, length or length:desc (stands for 'xsort lines')
    Fastq,
    /// By name; --by sequence, length or length:desc (stands for 'xsort lines')
    Fasta,
    /// Fragments of single cells (ATAC): by sequence, begin, end and barcode
    Fragments,
}
