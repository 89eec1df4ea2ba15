//! A sort of lines that a later process can resume.
//!
//! While the sort reads, the journal records each spilled run with the place it reaches in the
//! inputs. At the end of the inputs everything in memory is spilled, too, so that the inputs are no
//! longer needed. Then the journal records each merge of a pass. At intervals it records how much
//! of the output is written, and the positions of the last merge in its runs. The output is a new
//! file, which replaces the old one when it is complete.

use super::form::form_runs;
use super::input::{Content, LinesInput, total_bytes};
use super::job::{LinesJob, OutputForm};
use super::merge::merge_all;
use super::options::{LinesCheckpoint, LinesOptions};
use super::output::LinesOutput;
use super::plan::Plan;
use super::report::LinesReport;
use crate::store::checkpoint::{
    CheckpointFiles, CheckpointNames, InputFingerprint, OpenedCheckpoint, ReopenedSort,
    SavedCheckpoint, SortRequest, open_checkpoint,
};
use crate::store::compression::Codec;
use crate::store::journal::{JournalHandle, Step};
use crate::store::open_files::OpenFiles;
use crate::store::scratch::Scratch;
use crate::{Compressed, Error, Observer};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::{Disk, FileId};
use xsort_kernels::lines::LineKernels;

/// Sorts all lines of `inputs` to the output of `checkpoint`. Continues an interrupted sort if
/// requested.
pub(super) fn sort(
    options: &LinesOptions,
    checkpoint: &LinesCheckpoint,
    order: &dyn LineKernels,
    inputs: Vec<LinesInput>,
    form: Option<OutputForm<'_>>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let begun = Instant::now();
    let bytes = total_bytes(&inputs);
    let entry_bytes = order.entry_bytes();
    let request = SortRequest {
        output: &checkpoint.output,
        meaning: &format!(
            "{} {:?} {entry_bytes}",
            checkpoint.meaning,
            options.codec.map(Codec::name)
        ),
        budget_bytes: options.budget_bytes,
        inputs: checkpoint.inputs.len(),
    };
    let names = CheckpointNames::of(&checkpoint.output, &options.scratch);
    let resumable = match open_checkpoint(checkpoint.checkpoint, names, &request, disk, observer)? {
        OpenedCheckpoint::Saved(saved) => {
            match resume(*saved, options, checkpoint, disk, observer)? {
                Resumed::Unfinished(unfinished) => *unfinished,
                Resumed::Published(published) => {
                    observer.notice("the output was complete and in place already");
                    return Ok(published.report(options, bytes, begun));
                }
            }
        }
        OpenedCheckpoint::Fresh(fresh) => {
            let plan = Plan::new(options, bytes, entry_bytes, true);
            // An output that can't be written is found before the checkpoint has files.
            disk.close(disk.create_output(&checkpoint.output)?);
            let paths = &checkpoint.inputs;
            let fingerprints = fingerprints(paths, disk)?;
            let (files, output) = fresh.begin(&request, &plan, &fingerprints, false)?;
            let guard = OpenFiles::one(disk, output);
            ResumableSort { options, disk, plan, paths, fingerprints, output, guard, files }
        }
    };
    resumable
        .run(order, inputs, form, observer, begun)
        .map_err(|cause| Error::Resumable { cause: Box::new(cause) })
}

/// A sort with a checkpoint, new or resumed.
struct ResumableSort<'a> {
    options: &'a LinesOptions,
    disk: &'a dyn Disk,
    plan: Plan,
    /// The inputs' paths.
    paths: &'a [PathBuf],
    /// The inputs' fingerprints when the sort began.
    fingerprints: Vec<InputFingerprint>,
    /// The output, which keeps its hidden name until it is published.
    output: FileId,
    /// Closes the output if it isn't published.
    guard: OpenFiles<'a>,
    files: CheckpointFiles<'a>,
}

/// The state of an interrupted sort.
enum Resumed<'a> {
    Unfinished(Box<ResumableSort<'a>>),
    /// Only its files were left, and are removed.
    Published(Box<PublishedSort>),
}

/// A sort that an earlier process has finished.
struct PublishedSort {
    plan: Plan,
    lines: u64,
    checksum: u64,
    /// Bytes of the output.
    written_bytes: u64,
}

fn resume<'a>(
    saved: SavedCheckpoint<'a>,
    options: &'a LinesOptions,
    checkpoint: &'a LinesCheckpoint,
    disk: &'a dyn Disk,
    observer: &dyn Observer,
) -> Result<Resumed<'a>, Error> {
    let plan: Plan = saved.plan()?;
    let paths = &checkpoint.inputs;
    refuse_changed(paths, &saved.inputs, !saved.is_input_read(), disk)?;
    let fingerprints = saved.inputs.clone();
    Ok(match saved.reopen(&checkpoint.output, options.budget_bytes / 2, observer)? {
        ReopenedSort::Published { files, bytes: written_bytes, result: (lines, checksum) } => {
            files.remove().map_err(Error::after_publishing)?;
            let checksum = checksum as u64;
            Resumed::Published(Box::new(PublishedSort { plan, lines, checksum, written_bytes }))
        }
        ReopenedSort::Unfinished { files, output } => {
            let guard = OpenFiles::one(disk, output);
            Resumed::Unfinished(Box::new(ResumableSort {
                options,
                disk,
                plan,
                paths,
                fingerprints,
                output,
                guard,
                files,
            }))
        }
    })
}

impl ResumableSort<'_> {
    /// Sorts to the hidden output, and publishes it.
    fn run(
        mut self,
        order: &dyn LineKernels,
        inputs: Vec<LinesInput>,
        form: Option<OutputForm<'_>>,
        observer: &dyn Observer,
        begun: Instant,
    ) -> Result<LinesReport, Error> {
        let Self { options, disk, output, .. } = self;
        let journal = &self.files.journal;
        let memory = self.plan.map_memory(true)?;
        let mut job = LinesJob::new(order, options, self.plan.clone(), disk, observer);
        job.journal = JournalHandle(Some(journal));
        let in_use = Arc::clone(&job.gauges.scratch);
        let scratch = self.files.scratch.clone();
        let expected_bytes = Scratch::UNKNOWN_BYTES;
        let scratch = Scratch::of(disk, scratch, &options.scratch, expected_bytes, in_use)?;
        let data = [scratch.files(), &[output]].concat();
        let file_bytes: u64 = inputs.iter().map(unchanged_file_bytes).sum();
        let job = job.with_scratch(scratch).with_form(form);
        let report = journal.run_while_recording(&data, &job.failure, || {
            let formed = form_runs(&job, inputs, memory, None)?;
            if !formed.is_replayed {
                refuse_changed(self.paths, &self.fingerprints, true, disk)?;
            }
            refuse_fewer(formed.bytes, file_bytes)?;
            job.journal.record(Step::InputRead, &());
            let to = LinesOutput::Unpublished(output);
            let (report, prefix) = merge_all(&job, begun, formed, Some(to))?;
            let checksum = u128::from(report.checksum.unwrap_or(0));
            self.files.publish(&prefix, (report.lines, checksum));
            job.journal.flush(&job.failure)?;
            Ok::<_, Error>(report)
        })?;
        self.guard.release(output);
        disk.publish(output, report.written_bytes, true)?;
        self.files.remove().map_err(Error::after_publishing)?;
        Ok(report)
    }
}

impl PublishedSort {
    /// The report. `bytes` is the size of the inputs, if known.
    fn report(self, options: &LinesOptions, bytes: Option<u64>, begun: Instant) -> LinesReport {
        let PublishedSort { plan, lines, checksum, written_bytes } = self;
        LinesReport {
            lines,
            bytes: bytes.unwrap_or(0),
            written_bytes,
            checksum: Some(checksum),
            late_lines: None,
            runs: 0,
            spilled_bytes: 0,
            scratch_bytes: 0,
            compressed: Compressed::default(),
            seconds: begun.elapsed().as_secs_f64(),
            shares: plan.shares(options),
            plan,
        }
    }
}

/// Bytes of an input that is a file whose bytes are sorted unchanged; 0 for any other.
fn unchanged_file_bytes(input: &LinesInput) -> u64 {
    match input.content {
        Content::File(_) | Content::Url(_) => input.bytes.unwrap_or(0),
        Content::Mapped { .. } | Content::Stream(_) => 0,
    }
}

/// Fails if the runs have fewer bytes than the files they came from.
fn refuse_fewer(run_bytes: u64, file_bytes: u64) -> Result<(), Error> {
    if run_bytes >= file_bytes {
        return Ok(());
    }
    let what = format!("the inputs have {file_bytes} bytes, and runs of them {run_bytes}");
    Err(Error::Lost { what })
}

/// Takes the fingerprints of the inputs.
fn fingerprints(inputs: &[PathBuf], disk: &dyn Disk) -> Result<Vec<InputFingerprint>, Error> {
    inputs.iter().map(|path| fingerprint(path, disk)).collect()
}

fn fingerprint(path: &Path, disk: &dyn Disk) -> Result<InputFingerprint, Error> {
    let file = disk.open_input(path)?;
    let _guard = OpenFiles::one(disk, file);
    InputFingerprint::take(disk, file, disk.file_bytes(file)?)
}

/// Fails if an input differs from its fingerprint. A missing input is an error only if inputs
/// `are_needed`.
fn refuse_changed(
    inputs: &[PathBuf],
    fingerprints: &[InputFingerprint],
    are_needed: bool,
    disk: &dyn Disk,
) -> Result<(), Error> {
    for (path, before) in inputs.iter().zip(fingerprints) {
        let is_missing = |error: &xsort_disk::Error| error.source.kind() == ErrorKind::NotFound;
        match fingerprint(path, disk) {
            Ok(now) if now.matches(before) => {}
            Err(Error::Disk(error)) if !are_needed && is_missing(&error) => {}
            Ok(_) => {
                let reason = "it was changed since the sort began (size, time or content): \
                              begin anew with --restart";
                return Err(Error::Input { path: path.clone(), reason: reason.into() });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
