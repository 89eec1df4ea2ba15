//! What sorts of tables and of prefixed records have in common: the engine's settings, what can be
//! resumed, and the plan.

use crate::args::Checkpoints;
use crate::exit::Failure;
use crate::lines_plan::LinesPlan;
use crate::output::ResultPrinter;
use crate::settings::{JobLimits, ReportStyle};
use std::path::{Path, PathBuf};
use xsort::machine::caches;
use xsort_disk::{Disk, Found, is_standard_output, public_path};
use xsort_extsort::variable::{LinesCheckpoint, LinesDryRun, OutputCodec};
use xsort_extsort::{Error, LinesOptions, Reservation, scratch_directories};

/// The settings of a job with these limits, of whose budget something is reserved.
pub(super) fn engine_options(
    limits: &JobLimits,
    reservation: impl Into<Reservation>,
    cache_size: Option<u64>,
    scratch: &[PathBuf],
    output: &Path,
) -> LinesOptions {
    LinesOptions {
        delimiter: 0,
        is_unique: false,
        budget_bytes: limits.budget_bytes,
        reservation: reservation.into(),
        threads: limits.threads,
        caches: caches(cache_size),
        scratch: scratch_directories(scratch, output),
        codec: None,
        output_file: None,
        checkpoint: None,
    }
}

/// What can be resumed, if that is asked for: a sort of files to a file. `meaning` is what the
/// output depends on besides them.
pub(super) fn checkpoint(
    checkpoints: &Checkpoints,
    meaning: String,
    (files, disk): (&[PathBuf], &dyn Disk),
    output: &Path,
) -> Result<Option<LinesCheckpoint>, Failure> {
    let Some(checkpoint) = checkpoints.checkpoint() else { return Ok(None) };
    let is_file = |path: &PathBuf| matches!(disk.find(path), Ok(Found::File { .. }));
    if is_standard_output(output) {
        return Err(not_resumable("needs an output file (-o)"));
    }
    if !files.iter().all(is_file) {
        return Err(not_resumable("reads files only: what comes from a pipe can't be read again"));
    }
    let (output, inputs) = (output.to_owned(), files.to_vec());
    Ok(Some(LinesCheckpoint { checkpoint, output, inputs, meaning }))
}

/// The refusal of a checkpoint.
pub(super) fn not_resumable(what: &str) -> Failure {
    Failure::Usage(format!("a sort that can be resumed {what}"))
}

/// `--dry-run`: prints what `plan` says of the inputs' size, if that is known to their disk.
pub(super) fn print_plan(
    command: &str,
    (files, disk): (&[PathBuf], &dyn Disk),
    engine: LinesOptions,
    output: &Path,
    style: ReportStyle,
    plan: impl FnOnce(&LinesOptions, Option<u64>) -> Result<LinesDryRun, Error>,
) -> Result<(), Failure> {
    let size = |path: &PathBuf| match disk.find(path) {
        Ok(Found::File { bytes }) => Some(bytes),
        _ => None,
    };
    let is_plain = |path: &&PathBuf| OutputCodec::of_name(path).is_none();
    let sizes = files.iter().map(|path| Some(path).filter(is_plain).and_then(size));
    let figures = plan(&engine, sizes.sum())?;
    let output = Some(output).filter(|path| !is_standard_output(path));
    let plan = LinesPlan {
        inputs: files.len(),
        output: output.map(|path| public_path(path).to_string_lossy().into_owned()),
        scratch: LinesPlan::scratch_of(&figures, engine.scratch),
        figures,
    };
    ResultPrinter::of_dry_run(style).print(command, &plan)
}
