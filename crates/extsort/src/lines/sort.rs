//! The outline of a sort of lines, and of a merge of sorted inputs.

use super::form::{FormedRuns, form_runs};
use super::input::{LinesInput, SortedInput, total_bytes};
use super::job::{LinesJob, OutputForm};
use super::merge::merge_all;
use super::options::LinesOptions;
use super::output::{LinesOutput, SortedOutput};
use super::plan::{MERGED_BYTES_LARGE, Plan};
use super::report::LinesReport;
use super::resumable;
use super::run::Run;
use crate::store::open_files::OpenFiles;
use crate::{Error, Observer};
use parking_lot::Mutex;
use std::io::Write;
use std::time::Instant;
use xsort_disk::{Disk, Lease};
use xsort_kernels::lines::LineKernels;

/// Sorts all lines of `inputs`, and writes them to `output`.
///
/// # Errors
/// If an input, the output or scratch fails, or if a line is too long for the budget.
pub fn sort_lines(
    options: &LinesOptions,
    order: &dyn LineKernels,
    inputs: Vec<LinesInput>,
    output: &mut (dyn Write + Send),
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let output = SortedOutput::Stream(output);
    sort_to(options, order, inputs, output, None, disk, observer)
}

/// Sorts all lines of `inputs`, and writes them to `output` in `form`. The report's written bytes
/// are those of the output. With a checkpoint, `output` is not used.
///
/// # Errors
///
/// The errors of [`sort_lines`]. An earlier file at the output's path then remains.
pub fn sort_formed(
    options: &LinesOptions,
    order: &dyn LineKernels,
    inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    form: OutputForm<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    sort_to(options, order, inputs, output, Some(form), disk, observer)
}

/// Sorts all lines of `inputs` to `output`: a file, which may be one of them, or a stream. With a
/// checkpoint, `output` is not used. For a file, `options` must have no output file.
///
/// # Errors
///
/// The errors of [`sort_lines`]. An earlier file at the output's path then remains.
pub fn sort_lines_to(
    options: &LinesOptions,
    order: &dyn LineKernels,
    inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    sort_to(options, order, inputs, output, None, disk, observer)
}

/// Sorts to the checkpoint's output if there is one, else to `output`.
fn sort_to(
    options: &LinesOptions,
    order: &dyn LineKernels,
    inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    form: Option<OutputForm<'_>>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    if let Some(checkpoint) = &options.checkpoint {
        return resumable::sort(options, checkpoint, order, inputs, form, disk, observer);
    }
    let sort = |to| sort_once(options, order, inputs, to, form, disk, observer);
    match output {
        SortedOutput::Stream(stream) => Ok(sort(LinesOutput::Stream(stream))?.0),
        SortedOutput::File { path, sync } => {
            let file = disk.create_output(path)?;
            let mut guard = OpenFiles::one(disk, file);
            let sorted = sort(LinesOutput::Unpublished(file));
            let (report, memory) = sorted.map_err(|error| error.of_output(path))?;
            guard.release(file);
            let publish = || disk.publish(file, report.written_bytes, sync);
            while_given_back(memory, publish)?;
            Ok(report)
        }
    }
}

/// Runs `work` while another thread unmaps the memory, which takes some 50 ms per gigabyte.
fn while_given_back<R>(memory: Lease, work: impl FnOnce() -> R) -> R {
    std::thread::scope(|scope| {
        // If no thread can be started, `memory` is dropped here.
        drop(std::thread::Builder::new().spawn_scoped(scope, move || drop(memory)));
        work()
    })
}

/// Sorts without a checkpoint. Also returns an empty lease, which keeps the memory mapped while it
/// lives.
fn sort_once(
    options: &LinesOptions,
    order: &dyn LineKernels,
    inputs: Vec<LinesInput>,
    output: LinesOutput<'_>,
    form: Option<OutputForm<'_>>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<(LinesReport, Lease), Error> {
    let begun = Instant::now();
    let bytes = total_bytes(&inputs);
    let needs_bypass = output.needs_bypass() || inputs.iter().any(LinesInput::needs_bypass);
    let plan = Plan::new(options, bytes, order.entry_bytes(), needs_bypass);
    plan.refuse_index(options, bytes)?;
    let known_bytes: u64 = inputs.iter().map(LinesInput::known_bytes).sum();
    let mut memory = plan.map_memory(known_bytes >= options.budget_bytes)?;
    let mapping = memory.write_buffers[0].split_off_front(0);
    let job = LinesJob::new(order, options, plan, disk, observer).with_form(form);
    let formed = form_runs(&job, inputs, memory)?;
    let (report, _) = merge_all(&job, begun, formed, output)?;
    Ok((report, mapping))
}

/// Merges `inputs`, whose lines are each in order, and writes them to `output`. Lines that compare
/// equal keep the order of the inputs. If an input is not in order, all of its lines are still
/// written, in some order.
///
/// # Errors
///
/// The errors of [`sort_lines`].
pub fn merge_lines(
    options: &LinesOptions,
    order: &dyn LineKernels,
    inputs: Vec<LinesInput>,
    output: &mut (dyn Write + Send),
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let begun = Instant::now();
    let input_bytes = total_bytes(&inputs);
    let expected_bytes = input_bytes.unwrap_or(0);
    let plan = Plan::for_merge(options, inputs.len(), input_bytes);
    let is_large = input_bytes.is_none_or(|bytes| bytes >= MERGED_BYTES_LARGE);
    let memory = plan.map_memory(is_large)?;
    let mut job = LinesJob::new(order, options, plan, disk, observer);
    job.merged_bytes = input_bytes;
    let sorted = |input| SortedInput::new(input, options.delimiter);
    let runs =
        inputs.into_iter().map(|input| Run::Sorted(Box::new(Mutex::new(sorted(input))))).collect();
    let formed =
        FormedRuns { runs, memory, lines: 0, bytes: 0, expected_bytes, is_replayed: false };
    let (report, _) = merge_all(&job, begun, formed, LinesOutput::Stream(output))?;
    Ok(report)
}
