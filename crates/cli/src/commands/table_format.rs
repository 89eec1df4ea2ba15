//! The format of a table by its name, the keys that its rows are sorted by, and where they go.

use crate::args::{TableArgs, TableFormat};
use crate::exit::Failure;
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use xsort_disk::is_standard_output;
use xsort_table::{Keep, Keys, OnBad, Place, RowFormat, TableOutput};

/// The keys of an option that may be repeated.
pub(super) fn keys(all: &[Keys]) -> Keys {
    Keys(all.iter().flat_map(|keys| keys.0.clone()).collect())
}

/// Refuses to keep the last one of rows and the best one, and to take bad values for the best.
pub(super) fn refuse_last_and_best(args: &TableArgs) -> Result<(), Failure> {
    if args.keep.is_some() && args.on_bad == OnBad::Put(Place::First) {
        let what = "--on-bad=first would keep rows with bad values: give --on-bad=last";
        return Err(Failure::Usage(what.into()));
    }
    match args.keep.is_some() && args.unique == Some(Keep::Last) {
        false => Ok(()),
        true => Err(Failure::Usage(
            "--keep takes the first of several best rows: leave =last of --unique out".into(),
        )),
    }
}

/// Where the rows go: to standard output, to a file, or to several.
pub(super) fn output<'o>(
    args: &'o TableArgs,
    stdout: &'o mut (dyn Write + Send),
) -> TableOutput<'o> {
    let (path, sync) = (&*args.output, !args.no_sync);
    match (is_standard_output(path), args.file_size) {
        (true, _) => TableOutput::Stream(stdout),
        (false, None) => TableOutput::File { path, sync },
        (false, Some(part_bytes)) => TableOutput::Parts { path, part_bytes, sync },
    }
}

/// The format that a name says.
pub(super) fn table_format_of_name(path: &Path) -> Option<TableFormat> {
    let extension = path.extension().and_then(OsStr::to_str).map(str::to_lowercase);
    match extension.as_deref() {
        Some("parquet" | "parq" | "pq") => Some(TableFormat::Parquet),
        Some("arrow" | "feather" | "ipc" | "arrows") => Some(TableFormat::Arrow),
        _ => RowFormat::of_name(path).map(TableFormat::Rows),
    }
}
