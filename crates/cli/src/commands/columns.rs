//! `xsort table` of Parquet files.

use super::table_format::{format_of_name, table_format_of_name};
use crate::args::{TableArgs, TableFormat};
use crate::exit::Failure;
use crate::job::Session;
use crate::output::write_stderr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use xsort_disk::{DisplayPath, is_standard_output, is_url};
use xsort_table::OnBad;

/// The bytes that a Parquet file begins with.
const MAGIC: &[u8] = b"PAR1";

/// Whether the inputs are files of columns: by the option, by their names, or by their first bytes
/// where the names say nothing.
pub(super) fn are_columns(format: Option<TableFormat>, files: &[PathBuf]) -> Result<bool, Failure> {
    if let Some(format) = format {
        return Ok(format == TableFormat::Parquet);
    }
    let is_parquet = |path: &PathBuf| match table_format_of_name(path) {
        Some(format) => format == TableFormat::Parquet,
        None => begins_as_parquet(path),
    };
    let found = files.iter().filter(|path| is_parquet(path)).count();
    if found == 0 || found == files.len() {
        return Ok(found > 0);
    }
    let other = files.iter().find(|path| !is_parquet(path)).expect("not all are");
    Err(Failure::Usage(format!(
        "{} is no Parquet file, as other inputs are: sort files of one format together",
        DisplayPath(other)
    )))
}

/// Whether a regular file begins with Parquet's magic.
fn begins_as_parquet(path: &Path) -> bool {
    // Opening a pipe or a device may wait, or have effects.
    if is_url(path) || !path.metadata().is_ok_and(|found| found.is_file()) {
        return false;
    }
    let mut begin = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == MAGIC
}

/// Refuses options of columns where rows are text.
pub(super) fn refuse_for_rows(args: &TableArgs) -> Result<(), Failure> {
    match args.compression.is_some() || args.row_group_size.is_some() {
        false => Ok(()),
        true => Err(Failure::Usage(
            "--compression and --row-group-size are for Parquet: a name in .gz, .lz4 or .zst \
             compresses rows of text"
                .into(),
        )),
    }
}

/// Refuses what columns can't do, or can't do yet.
fn refuse_options(args: &TableArgs, files: &[PathBuf]) -> Result<(), Failure> {
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
        return Err(Failure::Usage(format!("Parquet: {option} {why}")));
    }
    if let Some(path) = files.iter().find(|path| path.as_os_str() == "-" || is_url(path)) {
        return Err(Failure::Usage(format!(
            "{}: Parquet is read from files on drives yet: copy it to one first",
            DisplayPath(path)
        )));
    }
    let output = &args.output;
    if is_url(output) {
        let shown = DisplayPath(output);
        let text = format!("{shown}: Parquet is written to files yet: copy it from one afterwards");
        return Err(Failure::Usage(text));
    }
    let is_rows = format_of_name(output).is_some();
    match is_rows && !is_standard_output(output) {
        false => Ok(()),
        true => Err(Failure::Usage(format!(
            "{}: Parquet isn't converted: choose a name that ends in .parquet",
            DisplayPath(output)
        ))),
    }
}

/// Sorts or checks Parquet files. `seed` is that of a shuffle.
#[cfg(feature = "columns")]
pub(super) fn run(
    args: &TableArgs,
    files: &[PathBuf],
    seed: Option<u64>,
    mut session: Session<'_>,
) -> Result<(), Failure> {
    use super::keyed_plan::print_plan;
    use crate::output::of_stream;
    use std::io;
    use xsort_columns::{Columns, ColumnsOutput};

    refuse_options(args, files)?;
    let columns = Columns::with_options(options(args, seed), files).scratch(&args.scratch);
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

/// The options of the sort that the arguments describe.
#[cfg(feature = "columns")]
fn options(args: &TableArgs, seed: Option<u64>) -> xsort_columns::ColumnsOptions {
    use crate::args::ColumnCodec;
    use xsort_columns::{Codec, ColumnsOptions};

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
        merges: args.merge,
        codec,
        group_rows: args.row_group_size,
        ..ColumnsOptions::new(super::table_format::keys(args))
    }
}

/// Says that this program was built without columns.
#[cfg(not(feature = "columns"))]
pub(super) fn run(
    _: &TableArgs,
    _: &[PathBuf],
    _: Option<u64>,
    _: Session<'_>,
) -> Result<(), Failure> {
    let what = "this xsort was built without Parquet: build it with the feature columns";
    Err(Failure::Usage(what.into()))
}
