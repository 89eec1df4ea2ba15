//! `-c` and `-C`: whether the input is sorted.

use super::command::LinesCommand;
use super::failure::{self, Failure};
use super::inputs;
use super::session::LinesSession;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use xsort::records_in_order;
use xsort_disk::public_path;
use xsort_extsort::lines::{LineKernels, first_disorder, recognise};
use xsort_gnu::sort::{Check, Order};

/// Most threads that inflate blocks of BGZF. A check has no limit on memory to count them in: each
/// takes at most 5 MiB of the 64 that a process may take.
const INFLATING_THREADS_MAX: usize = 4;

/// Fails if the first of `files` isn't sorted.
pub(super) fn check(
    lines: &LinesCommand<'_>,
    (by, order): (&dyn LineKernels, &Order),
    kind: Check,
    files: Vec<OsString>,
    session: &LinesSession,
) -> Result<(), Failure> {
    let Some(file) = files.into_iter().next() else { return Ok(()) };
    let command = &lines.command;
    let mut input = session.job.hold(inputs::uninspected(&file, session)?);
    if lines.decompresses() {
        let threads = || session.job.threads().min(INFLATING_THREADS_MAX);
        let recognised = recognise(vec![input], false, || (session.job.total_bytes(), threads()))
            .map_err(|(path, error)| failure::of_read(path.as_os_str(), &error))?;
        input = recognised.inputs.into_iter().next().expect("as many as were given");
    }
    let threads = || session.job.threads();
    let bytes = input.into_bytes();
    let (delimiter, unique) = (command.terminator(), command.unique);
    let found = match records_in_order(order, unique) {
        Some(records) => records.first_disorder(bytes, (delimiter, unique), threads),
        None => first_disorder(by, bytes, delimiter, unique, threads),
    };
    let found = found.map_err(|error| failure::of_read(&file, &error))?;
    match (found, kind) {
        (None, _) => Ok(()),
        (Some(_), Check::Quiet) => Err(Failure::Disorder(Vec::new())),
        (Some((number, line)), Check::DiagnoseFirst) => {
            let name = public_path(Path::new(&file));
            let (program, name) = (lines.program, name.as_os_str().as_bytes());
            let text = xsort_gnu::sort::disorder(program, name, number, line, command);
            Err(Failure::Disorder(text))
        }
    }
}
