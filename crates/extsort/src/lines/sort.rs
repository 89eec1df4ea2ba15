//! The outline of a sort of lines, and of a merge of sorted inputs.

use super::form::form_runs;
use super::input::{LinesInput, SortedInput, look_sorted, total_bytes};
use super::job::{LinesJob, OutputForm};
use super::merge::{EarlyOutput, FormedRuns, merge_all, open_early};
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
    let sort = Sort { options, order, form, disk, observer };
    write_to(output, disk, |to| sort.run(inputs, to))
}

/// Opens an output for `work`, which writes it and returns its report and memory. Publishes a file.
fn write_to(
    output: SortedOutput<'_>,
    disk: &dyn Disk,
    work: impl FnOnce(LinesOutput<'_>) -> Result<(LinesReport, Lease), Error>,
) -> Result<LinesReport, Error> {
    match output {
        SortedOutput::Stream(stream) => Ok(work(LinesOutput::Stream(stream))?.0),
        SortedOutput::File { path, sync } => {
            let file = disk.create_output(path)?;
            let mut guard = OpenFiles::one(disk, file);
            let (report, memory) =
                work(LinesOutput::Unpublished(file)).map_err(|error| error.of_output(path))?;
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

/// A sort without a checkpoint.
#[derive(Clone, Copy)]
struct Sort<'a> {
    options: &'a LinesOptions,
    order: &'a dyn LineKernels,
    form: Option<OutputForm<'a>>,
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
}

impl Sort<'_> {
    /// Sorts `inputs`. Begins again if they looked sorted and aren't. Also returns an empty lease,
    /// which keeps the memory mapped while it lives.
    fn run(
        self,
        inputs: Vec<LinesInput>,
        mut output: LinesOutput<'_>,
    ) -> Result<(LinesReport, Lease), Error> {
        let again = if self.may_be_sorted(&inputs, &output) {
            inputs.iter().map(LinesInput::again).collect::<Option<Vec<_>>>()
        } else {
            None
        };
        let sorted = self.once(inputs, output.reborrow(), again.is_some());
        let Some(inputs) = again.filter(|_| sorted.is_err()) else { return sorted };
        // A caller that sorts the inputs in another way then needs an output without lines.
        self.empty_output_file()?;
        if !matches!(sorted, Err(Error::NotInOrder)) {
            return sorted;
        }
        inputs.iter().for_each(LinesInput::forget);
        self.once(inputs, output, false)
    }

    /// True if the inputs are larger than the memory and look sorted, and lines may be written
    /// before all are read: to a file that was empty, and is emptied again after an error.
    fn may_be_sorted(&self, inputs: &[LinesInput], output: &LinesOutput<'_>) -> bool {
        let LinesOptions { delimiter, is_unique, budget_bytes, output_file, .. } = self.options;
        let is_file = matches!(output, LinesOutput::Unpublished(_)) || output_file.is_some();
        let bytes: u64 = inputs.iter().map(LinesInput::known_bytes).sum();
        let may_be = is_file && !is_unique && bytes > *budget_bytes;
        may_be && look_sorted(inputs, self.order, *delimiter)
    }

    /// Empties the output's file, of which a part was written.
    fn empty_output_file(&self) -> Result<(), Error> {
        let Some(path) = &self.options.output_file else { return Ok(()) };
        let file = self.disk.open_in_place(path)?;
        let _guard = OpenFiles::one(self.disk, file);
        Ok(self.disk.set_bytes(file, 0)?)
    }

    /// Sorts, and with `looks_sorted` writes lines that come in order at once.
    fn once(
        self,
        inputs: Vec<LinesInput>,
        mut output: LinesOutput<'_>,
        looks_sorted: bool,
    ) -> Result<(LinesReport, Lease), Error> {
        let Sort { options, order, form, disk, observer } = self;
        let begun = Instant::now();
        let bytes = total_bytes(&inputs);
        let needs_bypass = output.needs_bypass() || inputs.iter().any(LinesInput::needs_bypass);
        let plan = Plan::new(options, bytes, order.entry_bytes(), needs_bypass);
        plan.refuse_index(options, bytes)?;
        let known_bytes: u64 = inputs.iter().map(LinesInput::known_bytes).sum();
        let mut memory = plan.map_memory(known_bytes >= options.budget_bytes)?;
        let mapping = memory.write_buffers[0].split_off_front(0);
        let job = LinesJob::new(order, options, plan, disk, observer).with_form(form);
        let output = output.reborrow();
        let blocks = if looks_sorted { memory.split_bypass() } else { None };
        let (early, output) = match blocks {
            Some(blocks) => match open_early(&job, output, blocks, known_bytes)? {
                EarlyOutput::Open(early) => (Some(*early), None),
                EarlyOutput::Later(output) => (None, Some(output)),
            },
            None => (None, Some(output)),
        };
        let formed = form_runs(&job, inputs, memory, early)?;
        let (report, _) = merge_all(&job, begun, formed, output)?;
        Ok((report, mapping))
    }

    /// Merges `inputs`, whose lines are each in order, which it checks with `checks_inputs`. Also
    /// returns an empty lease, which keeps the memory mapped while it lives.
    fn merge(
        self,
        inputs: Vec<LinesInput>,
        mut output: LinesOutput<'_>,
        checks_inputs: bool,
    ) -> Result<(LinesReport, Lease), Error> {
        let Sort { options, order, form, disk, observer } = self;
        let begun = Instant::now();
        let input_bytes = total_bytes(&inputs);
        let known_bytes: u64 = inputs.iter().map(LinesInput::known_bytes).sum();
        let expected_bytes = input_bytes.unwrap_or(known_bytes);
        let plan = Plan::for_merge(options, inputs.len(), input_bytes);
        let is_large = input_bytes.is_none_or(|bytes| bytes >= MERGED_BYTES_LARGE);
        let mut memory = plan.map_memory(is_large)?;
        let mapping = memory.write_buffers[0].split_off_front(0);
        let mut job = LinesJob::new(order, options, plan, disk, observer).with_form(form);
        (job.merged_bytes, job.checks_inputs) = (input_bytes, checks_inputs);
        let sorted = |input| SortedInput::new(input, options.delimiter);
        let run = |input| Run::Sorted(Box::new(Mutex::new(sorted(input))));
        let runs = inputs.into_iter().map(run).collect();
        let (lines, bytes, is_replayed) = (0, 0, false);
        let formed =
            FormedRuns { runs, memory, lines, bytes, expected_bytes, is_replayed, output: None };
        let (report, _) = merge_all(&job, begun, formed, Some(output.reborrow()))?;
        Ok((report, mapping))
    }
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
    let sort = Sort { options, order, form: None, disk, observer };
    Ok(sort.merge(inputs, LinesOutput::Stream(output), false)?.0)
}

/// Merges `inputs`, whose lines are each in order, like [`merge_lines`], and writes them to
/// `output` in `form`. Checks their order while they are merged.
///
/// # Errors
///
/// [`Error::NotSorted`] if an input isn't in order; otherwise the errors of [`sort_lines`]. An
/// earlier file at the output's path then remains.
pub fn merge_formed(
    options: &LinesOptions,
    order: &dyn LineKernels,
    inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    form: Option<OutputForm<'_>>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let merge = Sort { options, order, form, disk, observer };
    write_to(output, disk, |to| merge.merge(inputs, to, true))
}
