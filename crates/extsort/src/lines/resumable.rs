//! A sort of lines that a later process can go on with.
//!
//! As it reads, it keeps each run that is on scratch, with how far in the inputs that was; what is in memory at their end goes to scratch, too, so that
//! from there on nobody needs them. Then it keeps each merge on the way, and now and then how much of the output is written and where in its runs the last
//! merge stood. The output is a new file, which takes the place of the old one when it is complete.

use super::options::{LinesCheckpoint, LinesOptions};
use super::plan::Plan;
use super::report::LinesReport;
use super::{Job, bytes, form};
use crate::checkpoint::{Kept, Left, Names, Task, look};
use crate::journal::{InputMark, Notes, mark};
use crate::lines::Source;
use crate::scratch::Scratch;
use crate::{Error, Observer};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::{Disk, FileId};
use xsort_kernels::lines::{Entry, LineOrder};

/// Sorts all lines of `sources` to the output of `checkpoint`, going on with what an earlier process has left if that is asked for.
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
    let names = Names::of(&checkpoint.output, &options.scratch);
    let task = Task {
        meaning: &format!("{} {:?} {}", checkpoint.meaning, options.codec, size_of::<Entry<O::Words>>()),
        budget_bytes: options.budget_bytes,
        inputs: checkpoint.inputs.len(),
    };
    let (plan, kept) = match look(checkpoint.checkpoint, &names, &task, disk, observer)? {
        Some(left) => match go_on(left, names, checkpoint, disk)? {
            Begun::Sort(plan, kept) => (plan, kept),
            Begun::Finished(plan, lines, checksum) => {
                observer.notice("the output was complete and in place already");
                return Ok(finished(plan, lines, checksum, bytes, begun));
            }
        },
        None => {
            let plan = Plan::new(options, bytes, size_of::<Entry<O::Words>>());
            // A place that can't be written to is called that before anything is kept.
            disk.close(disk.create_output(&checkpoint.output)?);
            let output = disk.create_kept_output(&checkpoint.output, &names.output_tag)?;
            let emptied = disk.set_bytes(output, 0);
            disk.close(output);
            emptied?;
            let marks = marks(&checkpoint.inputs, disk)?;
            let kept = Kept::begin(disk, names, checkpoint.checkpoint, &task, &plan, &marks, false)?;
            (plan, kept)
        }
    };
    let output = disk.create_kept_output(&checkpoint.output, &kept.output_tag())?;
    let sorted =
        Output { disk, file: Some(output) }.sort(options, plan, order, sources, &kept, observer, begun);
    sorted.map_err(|cause| Error::Resumable { cause: Box::new(cause) })
}

/// What the inputs are.
fn marks(inputs: &[PathBuf], disk: &dyn Disk) -> Result<Vec<InputMark>, Error> {
    let one = |path: &PathBuf| {
        let file = disk.open_input(path)?;
        let marked = disk.file_bytes(file).map_err(Error::from).and_then(|bytes| mark(disk, file, bytes));
        disk.close(file);
        marked
    };
    inputs.iter().map(one).collect()
}

/// What there is to do of a sort that was begun.
enum Begun<'a> {
    Sort(Plan, Kept<'a>),
    /// With the number of lines, and their checksum.
    Finished(Plan, u64, u64),
}

fn go_on<'a>(
    left: Left<'a>,
    names: Names,
    checkpoint: &LinesCheckpoint,
    disk: &'a dyn Disk,
) -> Result<Begun<'a>, Error> {
    let plan: Plan = left.plan()?;
    if let Some((lines, checksum)) = left.published(disk, &checkpoint.output)? {
        Kept::resume(disk, names, left.journal).end().map_err(Error::after_publishing)?;
        return Ok(Begun::Finished(plan, lines, checksum as u64));
    }
    if !left.is_input_read() {
        for (number, path) in checkpoint.inputs.iter().enumerate() {
            let file = disk.open_input(path)?;
            let checked = left.check(disk, number, file);
            disk.close(file);
            checked?;
        }
    }
    Ok(Begun::Sort(plan, Kept::resume(disk, names, left.journal)))
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
        kept: &Kept<'_>,
        observer: &dyn Observer,
        begun: Instant,
    ) -> Result<LinesReport, Error> {
        let (disk, file) = (self.disk, self.file.expect("it was just opened"));
        let bytes = bytes(&sources);
        let memory = plan.memory(true)?;
        let mut job = Job::new(order, options, plan, disk, observer);
        (job.notes, job.kept_output) = (Notes(Some(&kept.journal)), Some(file));
        let in_use = Arc::clone(&job.gauges.scratch);
        let scratch = Scratch::of(disk, kept.open_scratch()?, &options.scratch, u64::MAX, in_use)?;
        let data = [scratch.files(), &[file]].concat();
        assert!(job.scratch.set(scratch).is_ok(), "nothing was on scratch before");
        if let Some(bytes) = bytes {
            observer.expect(&[("form runs", bytes), ("merge", bytes)]);
        }
        observer.phase("form runs", bytes.unwrap_or(0));
        let report = kept.journal.beside(&data, &job.failure, || {
            let formed = form::form(&job, sources, memory)?;
            // Not to: it is kept, and past the page cache.
            let report = job.finish(begun, formed, &mut std::io::sink())?;
            kept.publish(file, (report.lines, u128::from(report.checksum.unwrap_or(0))))?;
            job.notes.settle(&job.failure)?;
            Ok::<_, Error>(report)
        })?;
        self.file = None;
        disk.publish(file, report.written_bytes, true)?;
        kept.end().map_err(Error::after_publishing)?;
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
fn finished(plan: Plan, lines: u64, checksum: u64, bytes: Option<u64>, begun: Instant) -> LinesReport {
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
