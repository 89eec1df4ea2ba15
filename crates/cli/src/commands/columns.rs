//! `xsort table` of files of columns: Parquet and Arrow.

use super::table_format::{format_of_name, table_format_of_name};
use crate::args::{Merge, TableArgs, TableFormat};
use crate::exit::Failure;
use crate::job::Session;
use crate::output::write_stderr;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use xsort_disk::{DisplayPath, is_standard_output, is_url};
use xsort_table::OnBad;

/// The format of the inputs if they are files of columns: by the option, by their names, or by
/// their first bytes where the names say nothing.
pub(super) fn format_of(
    format: Option<TableFormat>,
    files: &[PathBuf],
) -> Result<Option<ColumnFormat>, Failure> {
    if let Some(format) = format {
        return Ok(columns_of(format));
    }
    let of_file = |path: &PathBuf| match table_format_of_name(path) {
        Some(format) => columns_of(format),
        None => format_of_begin(path),
    };
    let Some(first) = files.first() else { return Ok(None) };
    let format = of_file(first);
    let Some(other) = files.iter().find(|path| of_file(path) != format) else {
        return Ok(format);
    };
    Err(Failure::Usage(format!(
        "{} is of another format than {}: sort files of one format together",
        DisplayPath(other),
        DisplayPath(first)
    )))
}

/// A format of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnFormat {
    Parquet,
    Arrow,
}

fn columns_of(format: TableFormat) -> Option<ColumnFormat> {
    match format {
        TableFormat::Rows(_) => None,
        TableFormat::Parquet => Some(ColumnFormat::Parquet),
        TableFormat::Arrow => Some(ColumnFormat::Arrow),
    }
}

/// The format that the first bytes of a regular file are of.
fn format_of_begin(path: &Path) -> Option<ColumnFormat> {
    // Opening a pipe or a device may wait, or have effects.
    if is_url(path) || !path.metadata().is_ok_and(|found| found.is_file()) {
        return None;
    }
    let mut begin = [0; 6];
    File::open(path).and_then(|mut file| file.read_exact(&mut begin)).ok()?;
    match &begin {
        [b'P', b'A', b'R', b'1', ..] => Some(ColumnFormat::Parquet),
        b"ARROW1" => Some(ColumnFormat::Arrow),
        _ => None,
    }
}

/// Refuses options of columns where rows are text.
pub(super) fn refuse_for_rows(args: &TableArgs) -> Result<(), Failure> {
    match args.compression.is_some() || args.row_group_size.is_some() {
        false => Ok(()),
        true => Err(Failure::Usage(
            "--compression and --row-group-size are for Parquet and Arrow: a name in .gz, .lz4 or \
             .zst compresses rows of text"
                .into(),
        )),
    }
}

/// Refuses what columns can't do, or can't do yet.
fn refuse_options(
    args: &TableArgs,
    files: &[PathBuf],
    format: ColumnFormat,
) -> Result<(), Failure> {
    let is_resumable = args.checkpoints.checkpoint().is_some();
    let has_dialect = [args.delimiter, args.escape, args.comment] != [None; 3]
        || args.quote.is_some()
        || args.no_header;
    let refused = [
        (has_dialect, "--delimiter, --quote, --escape, --comment and --no-header", "are for csv"),
        (args.on_bad != OnBad::Refuse, "--on-bad", "is for text: columns have values of one type"),
        (args.compress.is_some(), "--compress", "isn't there for columns yet: leave it out"),
        (is_resumable, "--checkpoint", "isn't there for columns yet: leave it out"),
        (!args.sorted_by.is_empty(), "--sorted-by", "isn't there for columns yet: leave it out"),
        (args.within.is_some(), "--within", "isn't there for columns yet: leave it out"),
        (args.file_size.is_some(), "--file-size", "isn't there for columns yet: leave it out"),
    ];
    if let Some((_, option, why)) = refused.into_iter().find(|&(is_given, ..)| is_given) {
        return Err(Failure::Usage(format!("files of columns: {option} {why}")));
    }
    let is_far = |path: &&PathBuf| {
        is_url(path) || (path.as_os_str() == "-" && format == ColumnFormat::Parquet)
    };
    if let Some(path) = files.iter().find(is_far) {
        let from = if is_url(path) { "columns are" } else { "Parquet is" };
        return Err(Failure::Usage(format!(
            "{}: {from} read from files on drives: copy it to one first",
            DisplayPath(path)
        )));
    }
    let output = &args.output;
    if is_url(output) {
        let shown = DisplayPath(output);
        let text = format!("{shown}: columns are written to files: copy it from one afterwards");
        return Err(Failure::Usage(text));
    }
    match format_of_name(output).is_some() && !is_standard_output(output) {
        false => Ok(()),
        true => Err(Failure::Usage(format!(
            "{}: columns aren't converted to text: choose a name that ends in .parquet, .arrow or \
             .arrows",
            DisplayPath(output)
        ))),
    }
}

/// Sorts or checks files of columns, of this format and with this seed of a shuffle.
#[cfg(feature = "columns")]
pub(super) fn run(
    args: &TableArgs,
    mut files: Vec<PathBuf>,
    (format, seed): (ColumnFormat, Option<u64>),
    mut session: Session<'_>,
) -> Result<(), Failure> {
    use super::keyed_plan::print_plan;
    use crate::output::of_stream;
    use std::io;
    use xsort_columns::{Columns, ColumnsOutput};

    refuse_options(args, &files, format)?;
    let stdin = open_stdin(&mut files, &session)?;
    let options = options(args, format, seed);
    let columns = Columns::with_options(options, &files).scratch(&args.scratch);
    let columns = match stdin {
        Some(stream) => columns.stdin(stream),
        None => columns,
    };
    let path = &args.output;
    if args.dry_run {
        let figures = columns.plan_in(&session.job)?;
        return print_plan(session, figures, files.len(), &args.scratch, path);
    }
    if args.check {
        let found = columns.check_in(&session.job, &session.console)?;
        session.end();
        let Some(row) = found else { return Ok(()) };
        if !args.report.quiet {
            write_stderr(&format!("{}: row {row} is out of order", DisplayPath(&files[0])));
        }
        return Err(Failure::Disorder);
    }
    let mut stdout = session.job.hold_stream(io::stdout());
    let is_stream = is_standard_output(path);
    let output = match is_stream {
        true => ColumnsOutput::Stream(&mut stdout),
        false => ColumnsOutput::File { path, sync: !args.no_sync },
    };
    let Session { job, console, .. } = &mut session;
    let report = columns
        .run_in(job, console, path, output)
        .map_err(|error| if is_stream { of_stream(error) } else { error })?;
    session.end().print("table", &report)
}

/// Opens standard input where it is one of the files: as a stream, or as the file that it is.
#[cfg(feature = "columns")]
fn open_stdin(
    files: &mut [PathBuf],
    session: &Session<'_>,
) -> Result<Option<Box<dyn Read + Send>>, Failure> {
    use xsort_extsort::lines::{Content, LinesInput};

    let Some(name) = files.iter_mut().find(|path| path.as_os_str() == "-") else {
        return Ok(None);
    };
    let opened = session.inputs(std::slice::from_ref(name), LinesInput::at)?;
    let LinesInput { path, content, .. } = opened.into_iter().next().expect("one was asked for");
    match content {
        Content::Stream(read) => Ok(Some(read)),
        _ => {
            *name = path;
            Ok(None)
        }
    }
}

/// The options of the sort that the arguments describe.
#[cfg(feature = "columns")]
fn options(
    args: &TableArgs,
    format: ColumnFormat,
    seed: Option<u64>,
) -> xsort_columns::ColumnsOptions {
    use crate::args::ColumnCodec;
    use xsort_columns::{Codec, ColumnsOptions, InputFormat, OutputFormat};

    let extension = args.output.extension().map(OsStr::to_ascii_lowercase);
    let extension = extension.as_deref().and_then(OsStr::to_str);
    let output_format = match (extension, format) {
        (Some("parquet" | "parq" | "pq"), _) => OutputFormat::Parquet,
        (Some("arrow" | "feather" | "ipc"), _) => OutputFormat::ArrowFile,
        (Some("arrows"), _) => OutputFormat::ArrowStream,
        (_, ColumnFormat::Parquet) => OutputFormat::Parquet,
        // What can be read from a pipe while it is written.
        (_, ColumnFormat::Arrow) => OutputFormat::ArrowStream,
    };
    let input_format = match format {
        ColumnFormat::Parquet => InputFormat::Parquet,
        ColumnFormat::Arrow => InputFormat::Arrow,
    };

    let codec = args.compression.map(|codec| match codec {
        ColumnCodec::None => Codec::Plain,
        ColumnCodec::Snappy => Codec::Snappy,
        ColumnCodec::Zstd => Codec::Zstd,
        ColumnCodec::Lz4 => Codec::Lz4,
        ColumnCodec::Gzip => Codec::Gzip,
    });
    ColumnsOptions {
        unique: args.unique,
        counts: args.count,
        rows_max: args.top,
        shuffle: seed,
        merges: args.merge == Some(Merge::Sorted),
        input_format,
        output_format,
        codec,
        group_rows: args.row_group_size,
        ..ColumnsOptions::new(super::table_format::keys(args))
    }
}

/// Says that this program was built without columns.
#[cfg(not(feature = "columns"))]
pub(super) fn run(
    _: &TableArgs,
    _: Vec<PathBuf>,
    _: (ColumnFormat, Option<u64>),
    _: Session<'_>,
) -> Result<(), Failure> {
    let what = "this xsort was built without columns: build it with the feature columns";
    Err(Failure::Usage(what.into()))
}
