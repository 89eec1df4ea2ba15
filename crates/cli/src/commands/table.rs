//! `xsort table`: sorts the rows of CSV, TSV and NDJSON files. Files of columns go to `columns`.

use super::column_format::{self, Formats};
use super::columns;
use super::keyed_plan::print_plan;
use super::table_format::{keys, output, refuse_last_and_best, table_format_of_name};
use crate::args::{Merge, Quote, TableArgs, TableFormat};
use crate::exit::Failure;
use crate::inputs::expand::ExpandedInputs;
use crate::inputs::tree::TreeOptions;
use crate::job::Session;
use crate::output::{of_stream, write_stderr};
use crate::settings::directory_of;
use crate::signals::Stop;
use crate::system::random_bytes;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use xsort::Table;
use xsort_disk::{Disk, DisplayPath, ListedFile, Operation, is_standard_output, is_url};
use xsort_extsort::Error;
use xsort_extsort::lines::{IndexOptions, LinesInput, OutputCodec};
use xsort_extsort::units::Count;
use xsort_table::{Dialect, PartNames, RowFormat, TableOptions};

pub(crate) fn run(args: &TableArgs, stop: &Stop) -> Result<(), Failure> {
    if args.compress_output.is_none() {
        refuse_output(&args.output)?;
    }
    refuse_checkpoint(args)?;
    let mut session = Session::begin(args.session_options(stop))?;
    if args.file_size.is_some() {
        refuse_parts(&args.output, &*session.job.disk)?;
    }
    let files = tables_in(args, &args.inputs, args.empty.allow_empty, &mut session)?;
    let formats = formats(args, &files)?;
    let TableFormat::Rows(format) = formats.input else {
        return columns::run(args, files, (formats, seed(args)?), session);
    };
    if formats.is_conversion() {
        return columns::run(args, files, (formats, seed(args)?), session);
    }
    column_format::refuse_for_rows(args)?;
    let options = options(args, format)?;
    options.check().map_err(|error| Failure::Usage(error.to_string()))?;
    let table = Table::with_options(options, &files)
        .compress(args.compress)
        .scratch(&args.scratch)
        .when(args.merge == Some(Merge::Any), Table::merge_or_sort)
        .checkpoint_as(args.checkpoints.checkpoint());
    let table = match args.compress_output {
        Some(codec) => table.compress_output(codec),
        None => table,
    };
    let table = match args.write_index {
        Some(form) => {
            let (columns, min_shift) = (args.index_columns, args.min_shift);
            table.write_index(IndexOptions { form, columns, min_shift })
        }
        None => table,
    };
    let table = match &args.late {
        Some(late) => table.late(late),
        None => table,
    };
    let path = &args.output;
    if args.dry_run {
        let plan = table.plan_in(&session.job, path)?;
        return print_plan(session, plan, files.len(), &args.scratch, path);
    }
    let inputs = session.inputs(&files, LinesInput::at)?;
    if args.check {
        return check(args, &table, inputs, session);
    }
    let mut stdout = session.job.hold_stream(io::stdout());
    let (is_stream, output) = (is_standard_output(path), output(args, &mut stdout));
    let Session { job, console, .. } = &mut session;
    let report = table
        .run_in(job, console, inputs, path, output)
        .map_err(|error| if is_stream { of_stream(error) } else { error })?;
    session.end().print("table", &report)
}

/// The options of the table that the arguments describe.
fn options(args: &TableArgs, format: RowFormat) -> Result<TableOptions, Failure> {
    let options = TableOptions {
        has_header: !args.no_header,
        top_prefixes: args.header_prefix.iter().map(|prefix| prefix.clone().into()).collect(),
        on_bad: args.on_bad,
        unique: args.unique,
        counts: args.count,
        shuffle: seed(args)?,
        rows_max: args.top,
        merges: args.merge == Some(Merge::Sorted),
        sorted_by: keys(&args.sorted_by),
        within: args.within,
        ..TableOptions::new(format, keys(&args.by))
    };
    refuse_last_and_best(args)?;
    Ok(match args.keep.clone() {
        Some(best) => options.keeping(best),
        None => options,
    })
}

/// The formats of the inputs and of the output. An output of another format than the inputs has it
/// by an option or by its name. The options of a dialect are those of the inputs, or of the output
/// if the inputs are no text.
fn formats(args: &TableArgs, files: &[PathBuf]) -> Result<Formats, Failure> {
    let named = match is_standard_output(&args.output) {
        true => args.output_format,
        false => args.output_format.or_else(|| table_format_of_name(&args.output)),
    };
    if let Some(input) = column_format::format_of(args.format, files)? {
        let output = match named {
            Some(TableFormat::Rows(format)) => TableFormat::Rows(with_dialect(args, format)?),
            other => other.unwrap_or(input),
        };
        return Ok(Formats { input, output });
    }
    let format = format(args, files)?;
    let input = TableFormat::Rows(format);
    // Rows keep their bytes under any name, unless their types are given.
    let named = match named {
        Some(TableFormat::Rows(_)) if args.output_format.is_none() && !has_types(args) => None,
        named => named,
    };
    let is_same = |other: RowFormat| match (format, other) {
        (RowFormat::Delimited(own), RowFormat::Delimited(other)) => {
            own.delimiter == other.delimiter
                || format_of_rows(args, files) == Some(RowFormat::Delimited(other))
        }
        (own, other) => own == other,
    };
    match named {
        Some(TableFormat::Rows(other)) if is_same(other) => Ok(Formats { input, output: input }),
        other => Ok(Formats { input, output: other.unwrap_or(input) }),
    }
}

/// True if the types of columns of text are given, or found.
fn has_types(args: &TableArgs) -> bool {
    args.schema.is_some() || args.infer
}

/// Refuses options that don't allow a sort to be resumed.
fn refuse_checkpoint(args: &TableArgs) -> Result<(), Failure> {
    let refusal = |what| Err(Failure::Usage(format!("a sort that can be resumed {what}")));
    match args.checkpoints.checkpoint() {
        Some(_) if args.file_size.is_some() => refusal("writes one file: leave --file-size out"),
        Some(_) if args.shuffle && args.seed.is_none() => refusal("with --shuffle needs --seed"),
        _ => Ok(()),
    }
}

/// Refuses an output whose name ends like that of a compression that xsort can't write.
fn refuse_output(output: &Path) -> Result<(), Failure> {
    let Some(command) = OutputCodec::foreign_command(output) else { return Ok(()) };
    Err(Failure::Usage(format!(
        "{}: this compression can't be written: pipe the rows on (... | {command}), or choose a \
         name that ends in .gz, .lz4 or .zst",
        DisplayPath(output)
    )))
}

/// `--file-size`: refuses to write next to parts of an earlier output, which could be taken for new
/// ones.
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

/// Finds a part in the directory of the output.
fn part_beside(output: &Path, names: &PartNames) -> Result<Option<PathBuf>, xsort_disk::Error> {
    let directory = directory_of(output);
    let entries = fs::read_dir(&directory)
        .map_err(|error| xsort_disk::Error::new(Operation::Open, &directory, error))?;
    let mut found = entries.flatten().map(|entry| output.with_file_name(entry.file_name()));
    Ok(found.find(|path| names.is_part(path)))
}

/// Finds a part of an output at a URL.
fn part_at_url(names: &PartNames, disk: &dyn Disk) -> Result<Option<PathBuf>, xsort_disk::Error> {
    let mut found = None;
    disk.list(&names.prefix(), &mut |file: ListedFile| {
        found = Some(file.path).filter(|path| names.is_part(path));
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}

/// `--check`: checks a single input.
fn check(
    args: &TableArgs,
    table: &Table,
    mut inputs: Vec<LinesInput>,
    mut session: Session<'_>,
) -> Result<(), Failure> {
    let (Some(input), true) = (inputs.pop(), inputs.is_empty()) else {
        return Err(Failure::Usage("--check takes one file: check them one by one".into()));
    };
    let path = input.path.clone();
    let found = table.check_in(&mut session.job, &session.console, input)?;
    session.end();
    let Some(disorder) = found else { return Ok(()) };
    if !args.report.quiet {
        let row = String::from_utf8_lossy(&disorder.bytes);
        let line = format!("{}: row {} is out of order: ", DisplayPath(&path), disorder.row);
        write_stderr(&(line + row.trim_end()));
    }
    Err(Failure::Disorder)
}

/// The seed of a shuffle; a random one without `--seed`.
fn seed(args: &TableArgs) -> Result<Option<u64>, Failure> {
    match (args.shuffle, args.seed) {
        (true, None) => random_bytes().map(u64::from_ne_bytes).map(Some).map_err(|error| {
            Failure::Job(Error::Settings(format!("no random bytes: {error}; give --seed")))
        }),
        (true, seed) => Ok(seed),
        (false, _) => Ok(None),
    }
}

/// The inputs, with each directory replaced by the tables below it. Tables are recognised by their
/// names.
pub(super) fn tables_in(
    args: &TableArgs,
    inputs: &[PathBuf],
    allows_empty: bool,
    session: &mut Session<'_>,
) -> Result<Vec<PathBuf>, Failure> {
    let budget_bytes = session.job.budget_bytes();
    let options = TreeOptions { allows_empty, budget_bytes, ..TreeOptions::beside(&args.output) };
    let mut all = ExpandedInputs::default();
    for input in inputs {
        let (one, is_tree) = session.expand_one(input, options)?;
        all.notices.extend(one.notices);
        if !is_tree {
            all.files.extend(one.files);
            continue;
        }
        let found = one.files.len();
        let is_table = |path: &PathBuf| match (table_format_of_name(path), args.format) {
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
    Ok(session.take(all))
}

/// The format of the rows, from the options or from the names of the inputs.
pub(super) fn format(args: &TableArgs, files: &[PathBuf]) -> Result<RowFormat, Failure> {
    match (args.format, format_of_rows(args, files)) {
        (Some(TableFormat::Parquet | TableFormat::Arrow), _) => {
            Err(Failure::Usage("files of columns have no rows of text".into()))
        }
        (_, Some(format)) => with_dialect(args, format),
        (_, None) => Err(Failure::Usage(
            "the names of the inputs don't say of which format they are: give --format csv, \
             --format tsv, --format ndjson (a JSON value in each line), --format parquet or \
             --format arrow"
                .into(),
        )),
    }
}

/// The format of the rows, without the options of its dialect.
fn format_of_rows(args: &TableArgs, files: &[PathBuf]) -> Option<RowFormat> {
    let named = || files.iter().map(|path| RowFormat::of_name(path)).collect::<Option<Vec<_>>>();
    match args.format {
        Some(TableFormat::Rows(format)) => Some(format),
        Some(TableFormat::Parquet | TableFormat::Arrow) => None,
        None => named().and_then(|all| {
            let first = all.first().copied();
            first.filter(|first| all.iter().all(|other| other == first))
        }),
    }
}

/// A format with the bytes that the options give.
fn with_dialect(args: &TableArgs, format: RowFormat) -> Result<RowFormat, Failure> {
    match format {
        RowFormat::Ndjson => {
            let bytes = [args.delimiter, args.escape, args.comment];
            let has_header = args.no_header || !args.header_prefix.is_empty();
            match bytes == [None; 3] && args.quote.is_none() && !has_header {
                true => Ok(RowFormat::Ndjson),
                false => Err(Failure::Usage(
                    "--delimiter, --quote, --escape, --comment, --header-prefix and --no-header \
                     are for csv and tsv: rows of ndjson have no fields and no header"
                        .into(),
                )),
            }
        }
        RowFormat::Delimited(format) => {
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

/// The first byte that has two functions in the dialect, as the names of both. Fields would be
/// ambiguous.
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
