//! `xsort table` and `xsort verify --by` of files of columns: Parquet and Arrow, also where these
//! become text, or text becomes them.

use super::column_format::{self, Formats};
use super::keyed_plan::print_plan;
use super::table_format::{keys, output, refuse_last_and_best};
use super::verdict::{Contents, Verdict};
use crate::args::{ColumnCodec, Merge, TableArgs, TableFormat, VerifyArgs};
use crate::exit::Failure;
use crate::job::Session;
use crate::output::{of_stream, write_stderr};
use crate::signals::Stop;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Instant;
use xsort_columns::{
    Codec, Columns, ColumnsOptions, InputFormat, OutputFormat, parse_schema, schema_text,
};
use xsort_disk::{DisplayPath, is_standard_output};
use xsort_extsort::Observer;
use xsort_extsort::lines::{Content, LinesInput, OutputCodec};
use xsort_table::OnBad;

/// Refuses what columns can't do, or can't do yet.
fn refuse_options(args: &TableArgs, files: &[PathBuf], formats: Formats) -> Result<(), Failure> {
    let is_text = |format| matches!(format, TableFormat::Rows(_));
    let (from_text, to_text) = (is_text(formats.input), is_text(formats.output));
    let is_resumable = args.checkpoints.checkpoint().is_some();
    let has_dialect = [args.delimiter, args.escape, args.comment] != [None; 3]
        || args.quote.is_some()
        || args.no_header;
    let has_form = args.compression.is_some() || args.row_group_size.is_some();
    let has_codec = args.compress_output.is_some();
    let has_types = args.schema.is_some() || args.infer;
    let dialect = "--delimiter, --quote, --escape, --comment and --no-header";
    let refused = [
        (has_dialect && !from_text && !to_text, dialect, "are for csv"),
        (has_form && to_text, "--compression and --row-group-size", "are for Parquet and Arrow"),
        (has_types && !from_text, "--schema and --infer", "are for inputs of text"),
        (args.on_bad != OnBad::Refuse, "--on-bad", "is for text: columns have values of one type"),
        (has_codec && !to_text, "--compress-output", "is for text: give --compression"),
        (
            !args.header_prefix.is_empty(),
            "--header-prefix",
            "isn't there for them: leave such lines out before (grep -v)",
        ),
        (args.write_index.is_some(), "--write-index", "isn't there for them: write text, sort it"),
        (args.compress.is_some(), "--compress", "isn't there for columns yet: leave it out"),
        (is_resumable, "--checkpoint", "isn't there for columns yet: leave it out"),
        (!args.sorted_by.is_empty(), "--sorted-by", "isn't there for columns yet: leave it out"),
        (args.within.is_some(), "--within", "isn't there for columns yet: leave it out"),
    ];
    if let Some((_, option, why)) = refused.into_iter().find(|&(is_given, ..)| is_given) {
        return Err(Failure::Usage(format!("files of columns: {option} {why}")));
    }
    let is_stream = files.iter().any(|path| path.as_os_str() == "-");
    if is_stream && formats.input == TableFormat::Parquet {
        let what = "-: Parquet is read from files on drives: copy it to one first";
        return Err(Failure::Usage(what.into()));
    }
    match from_text && !has_types {
        false => Ok(()),
        true => Err(Failure::Usage(
            "rows of text become another format by the types of their columns: give them \
             (--schema 'id:int64,ts:timestamp[us],...'), or have them found (--infer)"
                .into(),
        )),
    }
}

/// Sorts or checks inputs of these formats, with this seed of a shuffle.
pub(super) fn run(
    args: &TableArgs,
    mut files: Vec<PathBuf>,
    (formats, seed): (Formats, Option<u64>),
    mut session: Session<'_>,
) -> Result<(), Failure> {
    refuse_options(args, &files, formats)?;
    let stdin = open_stdin(&mut files, &session)?;
    let mut options = options(args, formats, seed)?;
    if args.infer {
        let columns = Columns::with_options(options.clone(), &files);
        let schema = columns.infer_in(&mut session.job, &session.console)?;
        session.console.notice(&format!("--schema '{}'", schema_text(&schema)));
        options.schema = Some(schema);
    }
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
    let output = output(args, &mut stdout);
    let Session { job, console, .. } = &mut session;
    let report = columns
        .run_in(job, console, path, output)
        .map_err(|error| if is_stream { of_stream(error) } else { error })?;
    session.end().print("table", &report)
}

/// `xsort verify --by`: checks files of columns as one sequence.
pub(super) fn verify(args: &VerifyArgs, stop: &Stop) -> Result<(), Failure> {
    let begin = Instant::now();
    let mut session = Session::begin(args.session_options(stop))?;
    let files = session.files(&args.files, args.trees())?;
    let against = session.files(&args.against, args.trees())?;
    let all = [&*files, &*against].concat();
    let Some(format) = column_format::format_of(None, &all)? else {
        let what = "verify --by is for Parquet and Arrow: xsort table --check --by checks rows of \
                    text";
        return Err(Failure::Usage(what.into()));
    };
    let options = ColumnsOptions {
        input_format: input_format(format),
        ..ColumnsOptions::new(keys(&args.by))
    };
    let columns = Columns::with_options(options, &files);
    let against = Some(&*against).filter(|_| !args.against.is_empty());
    let found = columns.verify_in(&session.job, &session.console, against)?;
    // The bytes of all files are counted together.
    let against = found.against.map(|(_, checksum)| Contents { bytes: 0, checksum });
    let printer = session.end();
    Verdict::new(args, found, against, begin).print(printer)
}

/// Opens standard input where it is one of the files: as a stream, or as the file that it is.
fn open_stdin(
    files: &mut [PathBuf],
    session: &Session<'_>,
) -> Result<Option<Box<dyn Read + Send>>, Failure> {
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
fn options(
    args: &TableArgs,
    formats: Formats,
    seed: Option<u64>,
) -> Result<ColumnsOptions, Failure> {
    let codec = args.compression.map(|codec| match codec {
        ColumnCodec::None => Codec::Plain,
        ColumnCodec::Snappy => Codec::Snappy,
        ColumnCodec::Zstd => Codec::Zstd,
        ColumnCodec::Lz4 => Codec::Lz4,
        ColumnCodec::Gzip => Codec::Gzip,
    });
    let schema = args.schema.as_deref().map(parse_schema).transpose();
    let options = ColumnsOptions {
        unique: args.unique,
        counts: args.count,
        rows_max: args.top,
        shuffle: seed,
        merges: args.merge == Some(Merge::Sorted),
        input_format: input_format(formats.input),
        output_format: output_format(args, formats.output),
        codec,
        group_rows: args.row_group_size,
        schema: schema.map_err(|error| Failure::Usage(format!("--schema: {error}")))?,
        has_header: !args.no_header,
        ..ColumnsOptions::new(keys(&args.by))
    };
    refuse_last_and_best(args)?;
    Ok(match args.keep.clone() {
        Some(best) => options.keeping(best),
        None => options,
    })
}

fn input_format(format: TableFormat) -> InputFormat {
    match format {
        TableFormat::Parquet => InputFormat::Parquet,
        TableFormat::Arrow => InputFormat::Arrow,
        TableFormat::Rows(format) => InputFormat::Rows(format),
    }
}

/// The format of the output. Of Arrow, its name says whether it is a file or a stream.
fn output_format(args: &TableArgs, format: TableFormat) -> OutputFormat {
    let path = &*args.output;
    match format {
        TableFormat::Parquet => OutputFormat::Parquet,
        TableFormat::Rows(format) => {
            let by_name = || OutputCodec::of_name(path);
            OutputFormat::Rows(format, args.compress_output.unwrap_or_else(by_name))
        }
        TableFormat::Arrow => match OutputFormat::of_name(path, InputFormat::Arrow) {
            OutputFormat::ArrowFile => OutputFormat::ArrowFile,
            _ => OutputFormat::ArrowStream,
        },
    }
}
