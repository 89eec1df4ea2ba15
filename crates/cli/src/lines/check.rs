//! `-c` and `-C`: whether the input is sorted.

use super::command::LinesCommand;
use super::failure::{self, Failure};
use super::inputs;
use super::limits::Limits;
use super::lines_disk::LinesDisk;
use super::resources;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use xsort_disk::public_path;
use xsort_extsort::lines::{LineKernels, first_disorder, recognise};
use xsort_gnu::sort::Check;

/// Fails if the first of `files` isn't sorted.
pub(super) fn check(
    lines: &LinesCommand<'_>,
    by: &dyn LineKernels,
    kind: Check,
    files: Vec<OsString>,
    limits: &Limits,
    disk: &LinesDisk<'_>,
) -> Result<(), Failure> {
    let Some(file) = files.into_iter().next() else { return Ok(()) };
    let command = &lines.command;
    let mut input = limits.limit(inputs::uninspected(&file, disk)?);
    if lines.decompresses() {
        let recognised = recognise(vec![input], false, || resources::budget_bytes(command))
            .map_err(|(path, error)| failure::of_read(path.as_os_str(), &error))?;
        input = recognised.inputs.into_iter().next().expect("as many as were given");
    }
    let threads = || resources::threads(command);
    let bytes = input.into_bytes();
    let found = first_disorder(by, bytes, command.terminator(), command.unique, threads)
        .map_err(|error| failure::of_read(&file, &error))?;
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
