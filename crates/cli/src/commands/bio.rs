//! `xsort bio`: files of genomics. Each format stands for a command of `xsort table`, `xsort bam`
//! or `xsort lines`.

use crate::args::BioFormat;
use crate::exit::Failure;
use crate::output::write_stdout;
use clap::ValueEnum;
use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::sync::LazyLock;
use xsort_disk::public_text;
use xsort_report::shell_word;

/// Types of features, parents before their children (GFF3's and GTF's names for them).
const FEATURES: &str = "=region,chromosome,scaffold,gene,ncRNA_gene,protein_coding_gene,pseudogene,\
                        transposable_element_gene,mRNA,transcript,ncRNA,lnc_RNA,lncRNA,miRNA,snRNA,\
                        snoRNA,rRNA,tRNA,pseudogenic_transcript,primary_transcript,exon,intron,\
                        five_prime_UTR,UTR,5UTR,start_codon,CDS,stop_codon,3UTR,three_prime_UTR";

/// Lines that stay at the top, by how they begin.
const HASH: &[&str] = &["#"];

/// The options that only `xsort bio` has.
#[derive(Default)]
struct Own {
    genome: Option<OsString>,
    is_natural: bool,
    are_parents_first: bool,
    /// An index of positions is wanted; its columns are given.
    has_index: bool,
    has_columns: bool,
    /// What records of FASTQ and FASTA are sorted by.
    by: Option<String>,
}

/// The command line of this process; for `xsort bio FORMAT ...` that of the command that it stands
/// for.
///
/// # Errors
/// What is wrong with an option of `xsort bio`.
pub(crate) fn words() -> &'static Result<Vec<OsString>, String> {
    static WORDS: LazyLock<Result<Vec<OsString>, String>> =
        LazyLock::new(|| expanded(env::args_os().collect()));
    &WORDS
}

/// The same, or the words as they are if something is wrong with them.
pub(crate) fn command_words() -> impl Iterator<Item = OsString> {
    let given = || env::args_os().collect();
    words().as_ref().map_or_else(|_| given(), Vec::clone).into_iter()
}

/// With `is_wanted` prints the command that `xsort bio` stands for, if it was called.
///
/// # Errors
/// If standard output can't be written.
pub(crate) fn show_plain_command(is_wanted: bool) -> Result<(), Failure> {
    let given = env::args_os().nth(1);
    match words() {
        Ok(words) if is_wanted && words.get(1) != given.as_ref() => {
            write_stdout(shown(words).as_bytes())
        }
        _ => Ok(()),
    }
}

/// Returns the command line that `words` stand for, which begin with the program's name: that of
/// `xsort table` for `xsort bio FORMAT ...`, and else the words themselves. Those that ask for the
/// help or have no format stay, too, for the parser.
///
/// # Errors
/// What is wrong with an option of `xsort bio`.
fn expanded(words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let is_bio = words.get(1).is_some_and(|word| word == "bio") && !is_other_program(&words[0]);
    let format = words.get(2).and_then(|word| BioFormat::from_str(word.to_str()?, false).ok());
    let (true, Some(format)) = (is_bio, format) else { return Ok(words) };
    let asks_for_help = |word: &OsString| word == "-h" || word == "--help";
    if words.iter().any(asks_for_help) {
        let help: Vec<&OsString> = words.iter().filter(|word| asks_for_help(word)).collect();
        return Ok(vec![words[0].clone(), "bio".into(), help[0].clone()]);
    }
    let has_records = matches!(format, BioFormat::Fastq | BioFormat::Fasta);
    let (own, rest) = own_options(words[3..].iter().cloned(), has_records)?;
    let name = match format {
        BioFormat::Bam => "bam",
        BioFormat::Fastq | BioFormat::Fasta => "lines",
        _ => "table",
    };
    let mut command = vec![words[0].clone(), name.into()];
    command.extend(options(format, &own)?);
    command.extend(rest);
    Ok(command)
}

/// True if the program was called by a name for which these words are files.
fn is_other_program(program: &OsString) -> bool {
    let name = Path::new(program).file_name();
    name.is_some_and(|name| name == "sort" || name == "lines" || name == "du")
}

/// The command in the words of a shell.
fn shown(words: &[OsString]) -> String {
    let quoted = |word: &OsString| shell_word(&public_text(&word.to_string_lossy()));
    let words: Vec<String> = words.iter().skip(1).map(quoted).collect();
    format!("xsort {}\n", words.join(" "))
}

/// Takes the options of `xsort bio` from the words after the format. Also returns all others.
/// `has_records`: the format has records of several lines.
fn own_options(
    words: impl Iterator<Item = OsString>,
    has_records: bool,
) -> Result<(Own, Vec<OsString>), String> {
    let (mut own, mut rest, mut words) = (Own::default(), Vec::new(), words);
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--") => {
                rest.push(word);
                rest.extend(words.by_ref());
            }
            Some("--natural") => own.is_natural = true,
            Some("--parents-first") => own.are_parents_first = true,
            Some("--genome") => {
                own.genome = Some(words.next().ok_or("--genome takes a file")?);
            }
            Some(text) if text.starts_with("--genome=") => {
                own.genome = Some(text["--genome=".len()..].into());
            }
            Some("--by") if has_records => {
                let by = words.next().ok_or("--by takes name, sequence, length or length:desc")?;
                own.by = Some(by.to_string_lossy().into_owned());
            }
            Some(text) if has_records && text.starts_with("--by=") => {
                own.by = Some(text["--by=".len()..].into());
            }
            // The letter of the other commands, which means merging in GNU sort.
            Some("-m") if has_records => {
                let memory = words.next().ok_or("-m takes a size")?;
                rest.extend(["--memory".into(), memory]);
            }
            Some(text) if has_records && text.starts_with("-m") => {
                rest.push(format!("--memory={}", &text[2..]).into());
            }
            text => {
                let is = |name: &str| text.is_some_and(|text| text.starts_with(name));
                own.has_index |= is("--write-index") && text != Some("--write-index=gzi");
                own.has_columns |= is("--index-columns");
                rest.push(word);
            }
        }
    }
    match own.genome.is_some() && own.is_natural {
        true => Err("--genome and --natural both order sequences: leave one out".into()),
        false => Ok((own, rest)),
    }
}

/// The options of `xsort table` that a format stands for.
fn options(format: BioFormat, own: &Own) -> Result<Vec<OsString>, String> {
    use BioFormat::{Bam, Fasta, Fastq, Gff, Gtf, Pairs, Sam, Vcf};
    if own.are_parents_first && !matches!(format, Gff | Gtf) {
        return Err("--parents-first is for gff and gtf: other formats have no parents".into());
    }
    if matches!(format, Bam | Fastq | Fasta) {
        return match own.genome.is_some() || own.is_natural {
            true => Err("--genome and --natural are for formats of text with positions (bam has \
                         its sequences in the order of its header): leave them out"
                .into()),
            false if format == Bam => Ok(Vec::new()),
            false => options_of_records(format, own.by.as_deref()),
        };
    }
    let genome = match &own.genome {
        Some(path) => Some(genome_file(path)?),
        None => None,
    };
    let genome = genome.as_deref();
    let sequence = |column: &str| match genome {
        Some(path) => format!("{column}:order({path}):required"),
        None if own.is_natural => format!("{column}:chrom:required"),
        None if matches!(format, Vcf | Sam) => format!("{column}:order(header):required"),
        None => format!("{column}:required"),
    };
    let (top, keys) = top_and_keys(format, own, sequence);
    let mut options = vec!["--format".to_owned(), "tsv".to_owned()];
    if format != Vcf {
        options.push("--no-header".to_owned());
    }
    for prefix in top {
        options.extend(["--header-prefix".to_owned(), (*prefix).to_owned()]);
    }
    if matches!(format, Gff | Gtf) {
        options.extend(["--comment".to_owned(), "#".to_owned()]);
    }
    options.extend(["--by".to_owned(), keys]);
    if own.has_index && !own.has_columns {
        options.push(format!(
            "--index-columns={}",
            match format {
                Gff | Gtf => "gff",
                Vcf => "vcf",
                Sam => "sam",
                Pairs => "pairs",
                _ => "bed",
            }
        ));
    }
    Ok(options.into_iter().map(OsString::from).collect())
}

/// The beginnings of lines that stay at the top, and the keys of the rows. `sequence` is the key
/// of a column that names a sequence.
fn top_and_keys(
    format: BioFormat,
    own: &Own,
    sequence: impl Fn(&str) -> String,
) -> (&'static [&'static str], String) {
    use BioFormat::{Bam, Bed, Fasta, Fastq, Fragments, Gff, Gtf, Pairs, Sam, Vcf};
    match format {
        Bam | Fastq | Fasta => unreachable!("they have no rows"),
        Bed => (
            &["#", "track ", "browser "],
            format!("{},#2:int:required,#3:int:required", sequence("#1")),
        ),
        Fragments => (HASH, format!("{},#2:int:required,#3:int:required,#4", sequence("#1"))),
        Gff | Gtf if own.are_parents_first => (
            HASH,
            format!(
                "{},#4:int:required,#5:int:desc:required,#3:order({FEATURES}):others-last",
                sequence("#1")
            ),
        ),
        Gff | Gtf => (HASH, format!("{},#4:int:required", sequence("#1"))),
        Vcf => {
            (&["##"], format!("{},POS:int:required,REF:nocase,ALT:nocase", sequence("\"#CHROM\"")))
        }
        Sam => (&["@"], format!("{},#4:int:required,#2:bits(16):required", sequence("#3"))),
        // An index has the first positions, in the order of the first sequences.
        Pairs if own.has_index => {
            (HASH, format!("{},#3:int:required,{},#5:int:required", sequence("#2"), sequence("#4")))
        }
        Pairs => {
            (HASH, format!("{},{},#3:int:required,#5:int:required", sequence("#2"), sequence("#4")))
        }
    }
}

/// The file of `--genome`, as `order(...)` takes it.
fn genome_file(path: &OsString) -> Result<String, String> {
    let path = path.to_str().ok_or("--genome takes a file whose name is UTF-8")?;
    let ends_a_word = path.match_indices(')').any(|(at, _)| path[at + 1..].starts_with([':', ',']));
    match ends_a_word {
        true => Err(format!("--genome {path}: rename the file: ')' before ':' or ',' ends a list")),
        // These are other lists.
        false if path == "header" || path.starts_with('=') => Ok(format!("./{path}")),
        false => Ok(path.to_owned()),
    }
}

/// The options of `xsort lines` that FASTQ or FASTA stands for. Records with equal keys keep the
/// order of the input.
fn options_of_records(format: BioFormat, by: Option<&str>) -> Result<Vec<OsString>, String> {
    let is_fastq = format == BioFormat::Fastq;
    // A sequence of FASTA may have several lines.
    let sequence = if is_fastq { "L2" } else { "L2-" };
    let key = match by.unwrap_or("name") {
        "name" => "1,1V".to_owned(),
        "sequence" => sequence.to_owned(),
        "length" => format!("length({sequence})"),
        "length:desc" => format!("length({sequence})r"),
        other => {
            return Err(format!("--by {other}: name, sequence, length or length:desc is wanted"));
        }
    };
    let rule = if is_fastq { "--record-lines=4" } else { "--record-begins=>" };
    Ok([rule, "-s", "-k", &key].map(OsString::from).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(line: &str) -> Result<String, String> {
        let words = line.split(' ').map(OsString::from).collect();
        expanded(words).map(|words| shown(&words))
    }

    #[test]
    fn each_format_is_a_plain_command() {
        assert_eq!(
            plain("xsort bio bed a.bed -o b.bed --genome x.fai").unwrap(),
            "xsort table --format tsv --no-header --header-prefix '#' --header-prefix 'track ' \
             --header-prefix 'browser ' --by '#1:order(x.fai):required,#2:int:required,\
             #3:int:required' a.bed -o b.bed\n"
        );
        assert_eq!(
            plain("xsort bio pairs --natural --write-index=gzi -- --natural").unwrap(),
            "xsort table --format tsv --no-header --header-prefix '#' --by \
             '#2:chrom:required,#4:chrom:required,#3:int:required,#5:int:required' \
             --write-index=gzi -- --natural\n"
        );
        assert_eq!(
            plain("xsort bio fasta a.fa --by length:desc -o b.fa").unwrap(),
            "xsort lines '--record-begins=>' -s -k 'length(L2-)r' a.fa -o b.fa\n"
        );
        assert_eq!(
            plain("xsort bio fragments a --genome header -o a.tsv.gz --write-index").unwrap(),
            "xsort table --format tsv --no-header --header-prefix '#' --by \
             '#1:order(./header):required,#2:int:required,#3:int:required,#4' \
             --index-columns=bed a -o a.tsv.gz --write-index\n"
        );
        assert_eq!(
            plain("xsort bio fastq a -m 1G").unwrap(),
            "xsort lines --record-lines=4 -s -k 1,1V a --memory 1G\n"
        );
        for same in ["xsort bio", "xsort bio x", "xsort lines bio bed", "xsort bio --help"] {
            assert_eq!(plain(same).unwrap(), format!("{same}\n"));
        }
        // Files of these names.
        let files = ["/bin/sort", "bio", "bed"].map(OsString::from).to_vec();
        assert_eq!(expanded(files.clone()), Ok(files));
        assert_eq!(plain("xsort bio vcf in.vcf --help").unwrap(), "xsort bio --help\n");
    }

    #[test]
    fn options_of_other_formats_are_refused() {
        for (line, why) in [
            ("xsort bio bed a --parents-first", "gff"),
            ("xsort bio bed a --genome", "takes a file"),
            ("xsort bio bed a --genome=x --natural", "leave one out"),
        ] {
            assert!(plain(line).unwrap_err().contains(why), "{line}");
        }
    }
}
