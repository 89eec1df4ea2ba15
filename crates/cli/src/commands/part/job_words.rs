//! The words of the command that a job stands for, parsed by that command's own parser.

use super::definition::matches_of;
use super::locale::locale_name;
use crate::args::{SortArgs, TableArgs, usage_line};
use crate::commands::cluster::package_python;
use crate::commands::table::{format, tables_in};
use crate::commands::table_format::keys;
use crate::exit::Failure;
use crate::inputs::tree::TreeOptions;
use crate::job::Session;
use crate::settings;
use clap::FromArgMatches;
use std::ffi::OsString;
use std::path::PathBuf;
use xsort_extsort::Error;
use xsort_extsort::prefixed::PrefixedOptions;
use xsort_gnu::sort::{Command, Environment, Request, parse};
use xsort_gnu::{Collator, Locale};
use xsort_parts::{Lines, Parquet, Prefixed, Records, Steps, Tables};
use xsort_table::{Dialect, KeyKind, Keys, RowFormat, TableOptions};

/// Options of `sort` that say what the records are and how they compare.
const OF_SORT: [&str; 4] = ["format", "record", "keys", "stable"];
/// Options of `table` that say what the rows are and how they compare.
const OF_TABLE: [&str; 8] =
    ["by", "format", "delimiter", "quote", "escape", "comment", "no_header", "on_bad"];

/// A parsed command.
pub(super) enum Words {
    Sort(Box<SortArgs>),
    Lines(Box<[OsString]>),
    Table(Box<TableArgs>),
    /// Names of Parquet columns.
    Parquet(Vec<String>),
}

impl Words {
    /// Parses the words of a command.
    ///
    /// # Errors
    /// If they are no command that can be sorted in parts, or have options on more than what the
    /// data is and how it compares.
    pub(super) fn parse(words: &[String]) -> Result<Words, Failure> {
        let of_clap = |error: clap::Error| Failure::Usage(usage_line(&error));
        match words.first().map(String::as_str) {
            Some("sort") => {
                let args = SortArgs::from_arg_matches(&matches_of(words, &OF_SORT)?);
                let args = args.map_err(of_clap)?;
                Ok(Words::Sort(Box::new(args)))
            }
            Some("lines") => {
                let words: Vec<OsString> = words[1..].iter().map(OsString::from).collect();
                command(&words, &Locale::c())?;
                Ok(Words::Lines(words.into()))
            }
            Some("table") => {
                let args = TableArgs::from_arg_matches(&matches_of(words, &OF_TABLE)?);
                Ok(Words::Table(Box::new(args.map_err(of_clap)?)))
            }
            Some("parquet") => Ok(Words::Parquet(columns(&words[1..])?)),
            Some(other) => Err(Failure::Usage(format!(
                "'{other}' can't be sorted in parts: after -- write sort, lines, table or parquet"
            ))),
            None => Err(Failure::Usage(
                "after -- write a command: sort, lines, table or parquet".into(),
            )),
        }
    }

    /// The files that the inputs stand for, as for the command itself.
    pub(super) fn files(
        &self,
        inputs: &[PathBuf],
        allows_empty: bool,
        session: &mut Session<'_>,
    ) -> Result<Vec<PathBuf>, Failure> {
        if let Words::Table(args) = self {
            return tables_in(args, inputs, allows_empty, session);
        }
        let trees = TreeOptions { allows_empty, ..TreeOptions::default() };
        let mut files = session.files(inputs, trees)?;
        if let Words::Parquet(_) = self {
            // A directory also holds logs and marker files.
            let is_data = |path: &PathBuf| {
                inputs.contains(path) || path.extension().is_some_and(|name| name == "parquet")
            };
            let found = files.len();
            files.retain(is_data);
            if files.is_empty() && !(allows_empty && found == 0) {
                let reason = "there is no file below it that ends in .parquet".to_owned();
                return Err(Error::Input { path: inputs[0].clone(), reason }.into());
            }
        }
        Ok(files)
    }

    /// The locale that the environment names, if the order depends on one.
    pub(super) fn locale(&self) -> Result<Option<String>, Failure> {
        match self {
            Words::Sort(_) | Words::Parquet(_) => Ok(None),
            Words::Lines(_) => {
                let name = locale_name()?;
                // If the locale is missing, GNU sort uses C instead.
                Ok(Some(Locale::named(&name).map_or_else(|| "C".to_owned(), |_| name)))
            }
            Words::Table(args) if has_locale(&keys(&args.by)) => locale_name().map(Some),
            Words::Table(_) => Ok(None),
        }
    }

    /// The words, completed by what the names of the files say.
    pub(super) fn spelled_out(&self, words: &[String], files: &[PathBuf]) -> Vec<String> {
        let mut words = words.to_vec();
        if let Words::Table(args) = self
            && args.format.is_none()
        {
            let format = files.first().and_then(|path| RowFormat::of_name(path));
            let name = match format {
                Some(RowFormat::Ndjson) => "ndjson",
                Some(RowFormat::Delimited(dialect)) if dialect == Dialect::TSV => "tsv",
                _ => "csv",
            };
            words.extend(["--format".to_owned(), name.to_owned()]);
        }
        words
    }

    /// The steps for these files, in a locale.
    pub(super) fn steps(
        &self,
        files: &[PathBuf],
        locale: Option<&str>,
    ) -> Result<Box<dyn Steps>, Failure> {
        match self {
            Words::Sort(args) => {
                if let Some(prefix) = settings::prefix(&args.records) {
                    let fields = args.records.keys.clone();
                    let options = PrefixedOptions { prefix, fields, merges: false };
                    return Ok(Box::new(Prefixed { options }));
                }
                let layout = settings::layout(&args.records)?;
                let format_is_assumed = settings::is_format_assumed(&args.records);
                Ok(Box::new(Records { layout, format_is_assumed }))
            }
            Words::Lines(words) => {
                let locale = named(locale.unwrap_or("C"))?;
                Ok(Box::new(Lines::new(&command(words, &locale)?, &locale)))
            }
            Words::Parquet(by) => Ok(Box::new(Parquet::new(by.clone(), package_python()))),
            Words::Table(args) => {
                let keys = keys(&args.by);
                let collator = match locale {
                    Some(name) => Collator::new(&named(name)?),
                    None => Collator::default(),
                };
                Ok(Box::new(Tables::new(TableOptions {
                    has_header: !args.no_header,
                    collator,
                    on_bad: args.on_bad,
                    ..TableOptions::new(format(args, files)?, keys)
                })))
            }
        }
    }
}

/// Parses the columns of `--by COLUMN --by COLUMN`.
fn columns(words: &[String]) -> Result<Vec<String>, Failure> {
    let column = |pair: &[String]| match pair {
        [option, column] if option == "--by" => Some(column.clone()),
        _ => None,
    };
    match words.chunks(2).map(column).collect::<Option<Vec<_>>>() {
        Some(columns) if !columns.is_empty() => Ok(columns),
        _ => Err(Failure::Usage(
            "after --: parquet takes --by COLUMN[:desc][:nulls-first], once or more".into(),
        )),
    }
}

fn has_locale(keys: &Keys) -> bool {
    keys.0.iter().any(|key| key.kind == KeyKind::Locale)
}

fn named(name: &str) -> Result<Locale, Failure> {
    Locale::named(name).ok_or_else(|| {
        Failure::Usage(format!(
            "the job's locale {name} isn't installed on this machine, as 'locale -a' lists them"
        ))
    })
}

/// Parses GNU sort's options on how lines compare, and refuses all others.
fn command(words: &[OsString], locale: &Locale) -> Result<Command, Failure> {
    let environment = Environment::new(|_| None, locale.clone());
    let refuse = |reason: &str| Err(Failure::Usage(format!("after --: {reason}")));
    let command = match parse(words, &environment) {
        Ok(Request::Run(command)) => *command,
        Ok(_) => return refuse("an option that only prints something"),
        Err(refusal) => {
            let message = refusal.message("lines");
            let text = String::from_utf8_lossy(&message);
            return refuse(text.lines().next().unwrap_or_default());
        }
    };
    if command.needs_random() {
        return refuse("a random order can't be sorted in parts");
    }
    if command.keys.iter().any(|key| key.list.is_some()) {
        return refuse("--order: a list isn't a part of the job: sort by another key");
    }
    if command.unique {
        return refuse(
            "-u, --unique: equal lines may be in two parts; run it on the parts' output",
        );
    }
    match command == command.order_only() {
        true => Ok(command),
        false => refuse(
            "lines takes options that say how lines compare: inputs come before --, and memory, \
             threads and scratch are options of each step",
        ),
    }
}
