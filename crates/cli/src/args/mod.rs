//! The command line: names, help texts and the form of each value.
//!
//! One definition serves the parser, both helps, the completions and the man pages. Nothing is
//! decided here; `settings` turns these arguments into settings of the pipelines.

mod bam;
mod bio;
mod environment;
mod generate;
mod help;
mod hints;
mod part;
mod report;
mod shared;
mod sort;
mod status;
mod table;
mod values;
mod verify;
mod version;

pub(crate) use bam::BamArgs;
pub(crate) use bio::{BioArgs, BioFormat};
pub(crate) use environment::{Origins, Settings, default_threads, fill};
pub(crate) use generate::GenArgs;
pub(crate) use part::{
    MapArgs, MergeArgs, PartArgs, PartStep, PlanArgs, SampleArgs, ServeArgs, SplitArgs,
    ValidateArgs,
};
pub(crate) use report::PageArgs;
pub(crate) use shared::{RecordForm, Records, Report, Resources, Trees, connections, part_size};
pub(crate) use sort::SortArgs;
pub(crate) use status::StatusArgs;
pub(crate) use table::{Quote, TableArgs};
#[cfg(feature = "columns")]
pub(crate) use values::ColumnCodec;
pub(crate) use values::{Merge, TableFormat, min_shift};
pub(crate) use verify::VerifyArgs;

use clap::{CommandFactory, Parser, Subcommand, ValueHint};
use help::{DONE_OR_VERDICT, TEMPLATE, environment_and_exit_status};
use std::ffi::OsString;
use std::path::PathBuf;
use xsort_disk::public_text;
use xsort_gnu::When;

const EXAMPLES: &str = "\
Examples:
  xsort lines big.txt -o sorted.txt                        text, as GNU sort
  xsort table a.csv --by 'date:desc,id:int' -o b.csv       tables, Parquet and Arrow, too
  xsort sort --record 24 --key 0:8:u64 data -o sorted      binary records
  xsort du -h --top 20 /data                               the largest files and directories
";

/// Sort anything bigger than memory, at the speed of the drives.
#[derive(Debug, Parser)]
#[command(name = "xsort", version, long_version = version::long(), help_template = TEMPLATE)]
#[command(before_help = EXAMPLES)]
#[command(after_long_help = environment_and_exit_status(DONE_OR_VERDICT))]
#[command(max_term_width = 110, subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The program's commands. `lines` and `du` are here for the help only: `gnu_commands` takes their
/// arguments before this parser sees them.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Sort lines of text, with the options of GNU sort
    ///
    /// Options, output, messages and exit statuses are those of GNU sort; 'xsort lines --help'
    /// lists all options. A link to xsort with the name sort does the same.
    #[command(disable_help_flag = true)]
    Lines {
        /// Options and files as for GNU sort
        #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
        #[arg(value_hint = ValueHint::FilePath)]
        arguments: Vec<OsString>,
    },
    Table(Box<TableArgs>),
    Bio(BioArgs),
    #[command(hide = true)]
    Bam(Box<BamArgs>),
    Sort(SortArgs),
    Verify(VerifyArgs),
    Gen(GenArgs),
    /// Print the disk usage of trees of files, with the options of GNU du
    ///
    /// Options, output, messages and exit statuses are those of GNU du; 'xsort du --help' lists all
    /// options. A link to xsort with the name du does the same.
    #[command(disable_help_flag = true)]
    Du {
        /// Options and files as for GNU du
        #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
        #[arg(value_hint = ValueHint::AnyPath)]
        arguments: Vec<OsString>,
    },
    Status(StatusArgs),
    Report(PageArgs),
    Part(PartArgs),
    /// Sort on many machines, on Ray (needs the Python package: pip install 'xsort[ray]')
    ///
    /// 'xsort cluster --help' is the help of the package, which drives Ray; XSORT_PYTHON names the
    /// Python that has it. The nodes run the steps of 'xsort part'.
    #[command(disable_help_flag = true)]
    #[allow(rustdoc::broken_intra_doc_links, reason = "brackets of a package's extra")]
    Cluster {
        /// A command of the package (sort, status, validate, clean, plan) and its arguments
        #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
        #[arg(value_hint = ValueHint::AnyPath)]
        arguments: Vec<OsString>,
    },
    /// Print a shell's completion script
    ///
    /// For example: xsort completions bash > ~/.local/share/bash-completion/completions/xsort
    Completions {
        /// The shell to print it for
        shell: clap_complete::Shell,
    },
    /// Print the help of a command, or with --json all commands, options and examples
    #[command(name = "help")]
    Help {
        /// Print it as JSON
        #[arg(long)]
        json: bool,

        /// The command, such as 'sort' or 'part map'; all of them unless it is given
        command: Vec<String>,
    },
    /// Print the manual page, or write all of them to a directory
    Man {
        /// Directory for xsort.1, xsort-sort.1, ...; without it, xsort.1 is printed
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

impl Command {
    /// Fills in what wasn't given from the environment.
    ///
    /// # Errors
    /// If a variable has no value of its kind.
    pub(crate) fn fill_from_environment(&mut self) -> Result<(), String> {
        let (resources, scratch) = match self {
            Command::Gen(args) => (&mut args.resources, None),
            Command::Sort(args) => (&mut args.resources, Some(&mut args.scratch)),
            Command::Table(args) => (&mut args.resources, Some(&mut args.scratch)),
            Command::Bam(args) => (&mut args.resources, Some(&mut args.scratch)),
            Command::Verify(args) => (&mut args.resources, None),
            Command::Part(PartArgs { step: PartStep::Map(args) }) => {
                (&mut args.resources, Some(&mut args.scratch))
            }
            Command::Part(PartArgs { step: PartStep::Merge(args) }) => {
                (&mut args.resources, Some(&mut args.scratch))
            }
            _ => return Ok(()),
        };
        let Resources { memory, threads, origins, .. } = resources;
        *origins = fill(Settings { memory, threads, scratch })?;
        Ok(())
    }

    /// When to use colours.
    pub(crate) fn color(&self) -> When {
        match self {
            Command::Gen(args) => args.report.color.color,
            Command::Sort(args) => args.report.color.color,
            Command::Table(args) => args.report.color.color,
            Command::Bam(args) => args.report.color.color,
            Command::Verify(args) => args.report.color.color,
            Command::Part(args) => args.step.color(),
            Command::Status(args) => args.color.color,
            _ => When::Never,
        }
    }
}

/// Parses a command line, which begins with the program's name. Reads `--progress always` as
/// `--progress=always`: the option's value is optional, but `auto`, `always` and `never` after it
/// are never file names.
pub(crate) fn parse(words: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut joined: Vec<OsString> = Vec::new();
    for word in words {
        match joined.last_mut() {
            Some(last)
                if (last == "--progress" || last == "--color")
                    && (word == "auto" || word == "always" || word == "never") =>
            {
                last.push("=");
                last.push(word);
            }
            _ => joined.push(word),
        }
    }
    Cli::try_parse_from(joined)
}

/// The definition of the whole command line, for completions and man pages.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// The parser's refusal of a command line in one line: its message, a hint, and where to read more.
pub(crate) fn usage_line(error: &clap::Error) -> String {
    let text = public_text(&error.render().to_string()).into_owned();
    let body = text.split("\n\nUsage:").next().unwrap_or_default();
    let body = body.split("\n\nFor more information").next().unwrap_or_default();
    let mut paragraphs = body.split("\n\n").map(one_line);
    let message = paragraphs.next().unwrap_or_default();
    let message = message.trim_start_matches("error: ").to_owned();
    // A tip to pass a misspelled option as a file name doesn't help.
    let tips = paragraphs.filter(|tip| !tip.contains("as a value"));
    let tips = tips.map(|tip| tip.replace("tip: ", "hint: "));
    let name = std::env::args().nth(1).unwrap_or_default();
    // Formats of genomics stand for tables.
    let name = if name == "bio" { "table".to_owned() } else { name };
    let own = hints::hint(error, &name, &command()).map(|hint| format!("hint: {hint}"));
    let hints: Vec<String> = match own {
        Some(own) => vec![own],
        None => tips.collect(),
    };
    format!("{} (see --help)", [vec![message], hints].concat().join("; "))
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_holds_together() {
        command().debug_assert();
    }

    #[test]
    fn usage_errors_are_one_line() {
        let error = command().try_get_matches_from(["xsort", "sort"]).unwrap_err();
        let line = usage_line(&error);
        assert!(!line.contains('\n') && line.contains("--output <FILE>"), "{line}");
        let error = command().try_get_matches_from(["xsort", "gen", "1X", "f"]).unwrap_err();
        assert_eq!(
            usage_line(&error),
            "invalid value '1X' for '<SIZE>': unknown unit 'X': \
             use K, M, G, T (1024), KB, MB, GB, TB (1000), or r for records (1000000r) (see --help)"
        );
    }
}
