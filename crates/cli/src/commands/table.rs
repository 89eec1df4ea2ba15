//! `xsort table`: sorts the rows of CSV, TSV and NDJSON files.

use super::keyed_engine::{checkpoint, engine_options, not_resumable, print_plan};
use super::resources::resources;
use super::stream_inputs::inputs;
use crate::args::{Quote, TableArgs};
use crate::exit::Failure;
use crate::inputs::expand::{ExpandedInputs, expand_one};
use crate::inputs::names_memory::NamesMemory;
use crate::inputs::tree::{TreeError, TreeOptions};
use crate::job::{Console, ConsoleOptions};
use crate::output::{ResultPrinter, of_stream, write_stderr};
use crate::settings::{JobLimits, ReportStyle, directory_of, random_bytes};
use crate::signals::Stop;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use xsort_disk::{Disk, DisplayPath, ListedFile, Operation, is_standard_output, is_url};
use xsort_extsort::units::Count;
use xsort_extsort::variable::{
    LinesCheckpoint, LinesInput, OutputCodec, Recognised, recognise, unreadable,
};
use xsort_extsort::{Error, LinesOptions, Observer, Reservation};
use xsort_objects::ObjectUse;
use xsort_table::{
    Dialect, Keys, PartNames, RowFormat, TableOptions, TableOutput, check_table, collator,
    plan_table, sort_table,
};

/// Suffixes of compressed inputs, in front of which is that of the format.
const COMPRESSED: [&str; 3] = ["gz", "zst", "lz4"];

pub(crate) fn run(args: &TableArgs, stop: &Stop) -> Result<(), Failure> {
    let style = ReportStyle::decide(&args.report);
    refuse_output(&args.output)?;
    let objects = ObjectUse::of(&args.inputs, Some(&args.output));
    let limits = JobLimits::decide(&args.resources, objects, args.no_clobber, stop);
    let disk = if args.dry_run { limits.lazy_disk() } else { limits.disk()? };
    if args.file_size.is_some() {
        refuse_parts(&args.output, &*disk)?;
    }
    let mut names = NamesMemory::default();
    let ExpandedInputs { files, notices } =
        tables_in((args, &args.inputs, args.empty.allow_empty), &limits, &*disk, &mut names, stop)?;
    let keys = Keys(args.by.iter().flat_map(|keys| keys.0.clone()).collect());
    let options = TableOptions {
        format: format(args, &files)?,
        has_header: !args.no_header,
        collator: collator(&keys)?,
        keys,
        on_bad: args.on_bad,
        unique: args.unique,
        counts: args.count,
        shuffle: match (args.shuffle, args.seed) {
            (true, None) => Some(random_seed()?),
            (true, seed) => seed,
            (false, _) => None,
        },
        rows_max: args.top,
        compression: OutputCodec::of_name(&args.output),
    };
    if args.dry_run {
        let engine = engine(args, &limits, names.budget_bytes());
        let plan = |engine: &_, bytes| plan_table(&options, engine, bytes);
        return print_plan("table", (&files, &*disk), engine, &args.output, style, plan);
    }
    let console = Console::new(ConsoleOptions {
        command: "table",
        style,
        resources: resources(&args.inputs, &args.scratch, &args.output, &limits),
        temperature: limits.temperature.clone(),
        stop: Some(stop),
    });
    limits.notice.iter().chain(&notices).for_each(|line| console.notice(line));
    let inputs = inputs(&files, LinesInput::at, &disk, &limits, stop)?;
    let Recognised { inputs, reservation, .. } = recognise(inputs, false, || limits.budget_bytes)
        .map_err(|(path, error)| match stop.is_set() {
        true => Error::Cancelled,
        false => unreadable(path, error),
    })?;
    if args.check {
        return check(args, &options, &limits, inputs, &console);
    }
    let checkpoint = resumable(args, &options, (&files, &*disk))?;
    let engine = engine(args, &limits, reservation.and(names.budget_bytes()));
    let engine = LinesOptions { checkpoint, ..engine };
    let mut stdout = limits.hold_stream(io::stdout());
    let (is_stream, sync) = (is_standard_output(&args.output), !args.no_sync);
    let output = match (is_stream, args.file_size) {
        (true, _) => TableOutput::Stream(&mut stdout),
        (false, None) => TableOutput::File { path: &args.output, sync },
        (false, Some(part_bytes)) => TableOutput::Parts { path: &args.output, part_bytes, sync },
    };
    let report = sort_table(&options, &engine, inputs, output, &*disk, &console)
        .map_err(|error| limits.add_to(if is_stream { of_stream(error) } else { error }))?;
    disk.notices().iter().for_each(|line| console.notice(line));
    drop(console);
    ResultPrinter::beside(&args.output, style).print("table", &report)
}

fn engine(
    args: &TableArgs,
    limits: &JobLimits,
    reservation: impl Into<Reservation>,
) -> LinesOptions {
    let (codec, scratch) = (args.compress, &args.scratch);
    LinesOptions { codec, ..engine_options(limits, reservation, None, scratch, &args.output) }
}

/// What can be resumed, if that is asked for.
fn resumable(
    args: &TableArgs,
    options: &TableOptions,
    files: (&[PathBuf], &dyn Disk),
) -> Result<Option<LinesCheckpoint>, Failure> {
    let meaning = format!("table {options:?}");
    let found = checkpoint(&args.checkpoints, meaning, files, &args.output)?;
    match found {
        Some(_) if args.file_size.is_some() => {
            Err(not_resumable("writes one file: leave --file-size out"))
        }
        Some(_) if args.shuffle && args.seed.is_none() => {
            Err(not_resumable("with --shuffle needs --seed"))
        }
        found => Ok(found),
    }
}

/// Refuses a name that stands for a compression that isn't written here.
fn refuse_output(output: &Path) -> Result<(), Failure> {
    let Some(command) = OutputCodec::foreign_command(output) else { return Ok(()) };
    Err(Failure::Usage(format!(
        "{}: this compression can't be written: pipe the rows on (... | {command}), or choose a \
         name that ends in .gz, .lz4 or .zst",
        DisplayPath(output)
    )))
}

/// `--file-size`: refuses parts of an earlier output, which could be taken for those of this one.
fn refuse_parts(output: &Path, disk: &dyn Disk) -> Result<(), Failure> {
    if is_standard_output(output) {
        return Err(Failure::Usage("--file-size is for files: name one with -o".into()));
    }
    let names = PartNames::of(output);
    let found = match is_url(output) {
        true => part_at_url(&names, disk)?,
        false => part_beside(output, &names)?,
    };
    match found {
        None => Ok(()),
        Some(path) => Err(Failure::Usage(format!(
            "{} is a part of an earlier output: remove or move these parts first",
            DisplayPath(&path)
        ))),
    }
}

/// A part in the directory of an output.
fn part_beside(output: &Path, names: &PartNames) -> Result<Option<PathBuf>, xsort_disk::Error> {
    let directory = directory_of(output);
    let entries = fs::read_dir(&directory)
        .map_err(|error| xsort_disk::Error::new(Operation::Open, &directory, error))?;
    let mut found = entries.flatten().map(|entry| output.with_file_name(entry.file_name()));
    Ok(found.find(|path| names.is_part(path)))
}

/// A part of an output at a URL.
fn part_at_url(names: &PartNames, disk: &dyn Disk) -> Result<Option<PathBuf>, xsort_disk::Error> {
    let mut found = None;
    disk.list(&names.prefix(), &mut |file: ListedFile| {
        found = Some(file.path).filter(|path| names.is_part(path));
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}

/// `--check`: of a single input.
fn check(
    args: &TableArgs,
    options: &TableOptions,
    limits: &JobLimits,
    mut inputs: Vec<LinesInput>,
    observer: &dyn Observer,
) -> Result<(), Failure> {
    let (Some(input), true) = (inputs.pop(), inputs.is_empty()) else {
        return Err(Failure::Usage("--check takes one file: check them one by one".into()));
    };
    let path = input.path.clone();
    let found = check_table(options, &engine(args, limits, 0), input, observer)?;
    let Some(disorder) = found else { return Ok(()) };
    if !args.report.quiet {
        let row = String::from_utf8_lossy(&disorder.bytes);
        let line = format!("{}: row {} is out of order: ", DisplayPath(&path), disorder.row);
        write_stderr(&(line + row.trim_end()));
    }
    Err(Failure::Disorder)
}

/// A number for a random order that nobody has chosen.
fn random_seed() -> Result<u64, Failure> {
    random_bytes().map(u64::from_ne_bytes).map_err(|error| {
        Failure::Job(Error::Settings(format!("no random bytes: {error}; give --seed")))
    })
}

/// The inputs, with each directory replaced by the tables below it, which their names tell.
pub(super) fn tables_in(
    (args, inputs, allows_empty): (&TableArgs, &[PathBuf], bool),
    limits: &JobLimits,
    disk: &dyn Disk,
    names: &mut NamesMemory,
    stop: &Stop,
) -> Result<ExpandedInputs, Failure> {
    let beside = TreeOptions::beside(&args.output, limits.budget_bytes);
    let options = TreeOptions { allows_empty, ..beside };
    let mut all = ExpandedInputs::default();
    for input in inputs {
        let (one, is_tree) = expand_one(input, options, names, disk, || stop.is_set())?;
        names.check(limits.budget_bytes).map_err(TreeError::from)?;
        all.notices.extend(one.notices);
        if !is_tree {
            all.files.extend(one.files);
            continue;
        }
        let found = one.files.len();
        let is_table = |path: &PathBuf| match (format_of_name(path), args.format) {
            (Some(format), Some(wanted)) => format == wanted,
            (format, None) => format.is_some(),
            (None, Some(_)) => false,
        };
        let tables: Vec<PathBuf> = one.files.into_iter().filter(is_table).collect();
        if tables.is_empty() && !(allows_empty && found == 0) {
            let reason = "no file below this directory has a name of the format".into();
            return Err(Error::Input { path: input.clone(), reason }.into());
        }
        if tables.len() < found {
            let others = Count((found - tables.len()) as u64, "file");
            let shown = DisplayPath(input);
            all.notices.push(format!("{shown}: {others} of other names left out"));
        }
        all.files.extend(tables);
    }
    Ok(all)
}

/// What rows are: what the options say, or the names of the inputs.
pub(super) fn format(args: &TableArgs, files: &[PathBuf]) -> Result<RowFormat, Failure> {
    let named = || files.iter().map(|path| format_of_name(path)).collect::<Option<Vec<_>>>();
    let format = match args.format {
        Some(format) => Some(format),
        None => named().and_then(|all| {
            let first = all.first().copied();
            first.filter(|first| all.iter().all(|other| other == first))
        }),
    };
    let usage = |what: &str| Err(Failure::Usage(what.into()));
    match format {
        None => usage(
            "the names of the inputs don't say of which format they are: give --format csv, \
             --format tsv or --format ndjson (a JSON value in each line)",
        ),
        Some(RowFormat::Ndjson) => {
            let bytes = [args.delimiter, args.escape, args.comment];
            match bytes == [None; 3] && args.quote.is_none() && !args.no_header {
                true => Ok(RowFormat::Ndjson),
                false => usage(
                    "--delimiter, --quote, --escape, --comment and --no-header are for csv and \
                     tsv: rows of ndjson have no fields and no header",
                ),
            }
        }
        Some(RowFormat::Delimited(format)) => {
            let dialect = Dialect {
                delimiter: args.delimiter.unwrap_or(format.delimiter),
                quote: args.quote.map_or(format.quote, |Quote(quote)| quote),
                escape: args.escape,
                comment: args.comment,
            };
            match byte_of_two(&dialect) {
                Some((a, b)) => Err(Failure::Usage(format!("the {a} is the {b}, too"))),
                None => Ok(RowFormat::Delimited(dialect)),
            }
        }
    }
}

/// What a byte of the dialect is, if it is two things at once: fields are ambiguous then.
fn byte_of_two(dialect: &Dialect) -> Option<(&'static str, &'static str)> {
    let Dialect { delimiter, quote, escape, comment } = *dialect;
    let delimiter = ("delimiter", Some(delimiter));
    let (quote, escape, comment) = (("quote", quote), ("escape", escape), ("comment", comment));
    let pairs = [
        (quote, delimiter),
        (escape, delimiter),
        (escape, quote),
        (comment, delimiter),
        (comment, quote),
    ];
    let same = pairs.into_iter().find(|((_, a), (_, b))| a.is_some() && a == b);
    same.map(|((a, _), (b, _))| (a, b))
}

pub(super) fn format_of_name(path: &Path) -> Option<RowFormat> {
    let extension = |path: &Path| path.extension().and_then(OsStr::to_str).map(str::to_lowercase);
    let outer = extension(path)?;
    let name = match COMPRESSED.contains(&&*outer) {
        true => extension(&PathBuf::from(path.file_stem()?))?,
        false => outer,
    };
    match &*name {
        "csv" => Some(RowFormat::Delimited(Dialect::CSV)),
        "tsv" | "tab" => Some(RowFormat::Delimited(Dialect::TSV)),
        "ndjson" | "jsonl" => Some(RowFormat::Ndjson),
        _ => None,
    }
}
