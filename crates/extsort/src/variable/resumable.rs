//! A sort of lines that a later process can go on with.
//!
//! As it reads, it keeps each run that is on scratch, with how far in the inputs that was; what is
//! in memory at their end goes to scratch, too, so that from there on nobody needs them. Then it
//! keeps each merge on the way, and now and then how much of the output is written and where in its
//! runs the last merge stood. The output is a new file, which takes the place of the old one when
//! it is complete.

use super::options::{LinesCheckpoint, LinesOptions};
use super::plan::Plan;
use super::report::LinesReport;
use super::{Job, bytes, form};
use crate::store::checkpoint::{
    CheckpointFiles, CheckpointNames, InputFingerprint, OpenedCheckpoint, ReopenedSort,
    SavedCheckpoint, SortRequest, open_checkpoint,
};
use crate::store::journal::JournalHandle;
use crate::store::open_files::OpenFiles;
use crate::store::scratch::Scratch;
use crate::variable::Source;
use crate::{Error, Observer};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::{Disk, FileId};
use xsort_kernels::lines::{Entry, LineOrder};

/// Sorts all lines of `sources` to the output of `checkpoint`, going on with what an earlier
/// process has left if that is asked for.
pub(super) fn sort<O: LineOrder>(
    options: &LinesOptions,
    checkpoint: &LinesCheckpoint,
    order: &O,
    sources: Vec<Source>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let begun = Instant::now();
    let bytes = bytes(&sources);
    let task = SortRequest {
        output: &checkpoint.output,
        meaning: &format!(
            "{} {:?} {}",
            checkpoint.meaning,
            options.codec,
            size_of::<Entry<O::Words>>()
        ),
        budget_bytes: options.budget_bytes,
        inputs: checkpoint.inputs.len(),
    };
    let names = CheckpointNames::of(&checkpoint.output, &options.scratch);
    let begin = match open_checkpoint(checkpoint.checkpoint, names, &task, disk, observer)? {
        OpenedCheckpoint::Saved(saved) => go_on(*saved, options, checkpoint, disk, observer)?,
        OpenedCheckpoint::Fresh(fresh) => {
            let plan = Plan::new(options, bytes, size_of::<Entry<O::Words>>());
            // A place that can't be written to is called that before anything is kept.
            disk.close(disk.create_output(&checkpoint.output)?);
            let marks = marks(&checkpoint.inputs, disk)?;
            let (files, file) = fresh.begin(&task, &plan, &marks, false)?;
            Begin::Sort {
                plan,
                marks,
                files: Box::new(files),
                output: Output { disk, file: Some(file) },
            }
        }
    };
    match begin {
        Begin::Sort { plan, marks, files, output } => output
            .sort(
                options,
                plan,
                order,
                sources,
                &files,
                (&checkpoint.inputs, &marks),
                observer,
                begun,
            )
            .map_err(|cause| Error::Resumable { cause: Box::new(cause) }),
        Begin::Finished(plan, lines, checksum) => {
            observer.notice("the output was complete and in place already");
            Ok(finished(plan, lines, checksum, bytes, begun))
        }
    }
}

/// What the inputs are.
fn marks(inputs: &[PathBuf], disk: &dyn Disk) -> Result<Vec<InputFingerprint>, Error> {
    inputs.iter().map(|path| mark_of(path, disk)).collect()
}

fn mark_of(path: &Path, disk: &dyn Disk) -> Result<InputFingerprint, Error> {
    let file = disk.open_input(path)?;
    let _guard = OpenFiles::one(disk, file);
    InputFingerprint::take(disk, file, disk.file_bytes(file)?)
}

/// Fails if an input isn't what its mark says. One that isn't there is an error if it `is_needed`.
fn check(
    inputs: &[PathBuf],
    marks: &[InputFingerprint],
    is_needed: bool,
    disk: &dyn Disk,
) -> Result<(), Error> {
    for (path, mark) in inputs.iter().zip(marks) {
        match mark_of(path, disk) {
            Ok(now) if now.matches(mark) => {}
            Err(Error::Disk(error)) if !is_needed && error.source.kind() == ErrorKind::NotFound => {
            }
            Ok(_) => {
                return Err(Error::Input {
                    path: path.clone(),
                    reason: "it was changed since the sort began (size, time or content): begin anew with --restart"
                        .into(),
                });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What there is to do.
enum Begin<'a> {
    Sort {
        plan: Plan,
        marks: Vec<InputFingerprint>,
        files: Box<CheckpointFiles<'a>>,
        output: Output<'a>,
    },
    /// Nothing: with the number of lines, and their checksum.
    Finished(Plan, u64, u64),
}

fn go_on<'a>(
    saved: SavedCheckpoint<'a>,
    options: &LinesOptions,
    checkpoint: &LinesCheckpoint,
    disk: &'a dyn Disk,
    observer: &dyn Observer,
) -> Result<Begin<'a>, Error> {
    let plan: Plan = saved.plan()?;
    check(&checkpoint.inputs, &saved.inputs, !saved.is_input_read(), disk)?;
    let marks = saved.inputs.clone();
    Ok(match saved.reopen(&checkpoint.output, options.budget_bytes / 2, observer)? {
        ReopenedSort::Published { files, result: (lines, checksum) } => {
            files.remove().map_err(Error::after_publishing)?;
            Begin::Finished(plan, lines, checksum as u64)
        }
        ReopenedSort::Unfinished { files, output } => Begin::Sort {
            plan,
            marks,
            files: Box::new(files),
            output: Output { disk, file: Some(output) },
        },
    })
}

/// The output until it is published; it is closed, and stays under its hidden name, if it isn't.
struct Output<'a> {
    disk: &'a dyn Disk,
    file: Option<FileId>,
}

impl Output<'_> {
    #[allow(clippy::too_many_arguments, reason = "all that a sort takes")]
    fn sort<O: LineOrder>(
        mut self,
        options: &LinesOptions,
        plan: Plan,
        order: &O,
        sources: Vec<Source>,
        files: &CheckpointFiles<'_>,
        inputs: (&[PathBuf], &[InputFingerprint]),
        observer: &dyn Observer,
        begun: Instant,
    ) -> Result<LinesReport, Error> {
        let (disk, file) = (self.disk, self.file.expect("it was just opened"));
        let bytes = bytes(&sources);
        let memory = plan.memory(true)?;
        let input_is_read = || check(inputs.0, inputs.1, true, disk);
        let mut job = Job::new(order, options, plan, disk, observer);
        (job.notes, job.kept_output) = (JournalHandle(Some(&files.journal)), Some(file));
        job.input_is_read = Some(&input_is_read);
        let in_use = Arc::clone(&job.gauges.scratch);
        let scratch = Scratch::of(disk, files.scratch.clone(), &options.scratch, u64::MAX, in_use)?;
        let data = [scratch.files(), &[file]].concat();
        assert!(job.scratch.set(scratch).is_ok(), "nothing was on scratch before");
        if let Some(bytes) = bytes {
            observer.expect(&[("form runs", bytes), ("merge", bytes)]);
        }
        observer.phase("form runs", bytes.unwrap_or(0));
        let report = files.journal.run_while_recording(&data, &job.failure, || {
            let formed = form::form(&job, sources, memory)?;
            // Not to: it is kept, and past the page cache.
            let (report, whole) = job.finish(begun, formed, &mut std::io::sink())?;
            files.publish(&whole, (report.lines, u128::from(report.checksum.unwrap_or(0))));
            job.notes.flush(&job.failure)?;
            Ok::<_, Error>(report)
        })?;
        self.file = None;
        disk.publish(file, report.written_bytes, true)?;
        files.remove().map_err(Error::after_publishing)?;
        Ok(report)
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.file {
            self.disk.close(file);
        }
    }
}

/// The report of a sort that an earlier process has finished.
fn finished(
    plan: Plan,
    lines: u64,
    checksum: u64,
    bytes: Option<u64>,
    begun: Instant,
) -> LinesReport {
    LinesReport {
        lines,
        bytes: bytes.unwrap_or(0),
        written_bytes: 0,
        checksum: Some(checksum),
        runs: 0,
        spilled_bytes: 0,
        scratch_bytes: 0,
        seconds: begun.elapsed().as_secs_f64(),
        plan,
    }
}
