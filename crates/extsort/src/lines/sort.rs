//! The outline of a sort of lines, and of a merge of sorted inputs.

use super::form::form_runs;
use super::input::{LinesInput, Looks, SortedInput, Stretches, look, total_bytes};
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
    /// Sorts `inputs`. Begins again if they aren't what they looked like. Also returns an empty
    /// lease, which keeps the memory mapped while it lives.
    fn run(
        self,
        inputs: Vec<LinesInput>,
        mut output: LinesOutput<'_>,
    ) -> Result<(LinesReport, Lease), Error> {
        let looks = self.look(&inputs, &output);
        if matches!(looks, Looks::Unsorted) {
            return self.once(inputs, output, false);
        }
        let again = inputs.iter().map(LinesInput::again).collect::<Option<Vec<_>>>();
        let Some(again) = again else { return self.once(inputs, output, false) };
        let (sorted, in_parts) = match looks {
            Looks::InStretches(parts) => (self.merge(parts, output.reborrow(), true), &*again),
            Looks::Sorted | Looks::Unsorted => {
                (self.once(inputs, output.reborrow(), true), &[][..])
            }
        };
        let Err(error) = sorted else { return sorted };
        // A caller that sorts the inputs in another way then needs an output without lines.
        self.empty_output_file()?;
        if !is_of_guess(&error, in_parts) {
            return Err(error);
        }
        again.iter().for_each(LinesInput::forget);
        self.once(again, output, false)
    }

    /// Says what the inputs look like, if they are larger than the memory and lines may be written
    /// to the output before all are checked: to a file that was empty, and is emptied again after
    /// an error.
    fn look(&self, inputs: &[LinesInput], output: &LinesOutput<'_>) -> Looks {
        let LinesOptions { delimiter, is_unique, budget_bytes, output_file, .. } = self.options;
        let is_file = matches!(output, LinesOutput::Unpublished(_)) || output_file.is_some();
        let bytes: u64 = inputs.iter().map(LinesInput::known_bytes).sum();
        match is_file && !is_unique && bytes > *budget_bytes {
            true => look(inputs, self.order, *delimiter),
            false => Looks::Unsorted,
        }
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

    /// Sorts the rest of `parts`, and merges it with the sorted parts, whose order it checks with
    /// `checks_inputs`. Also returns an empty lease, which keeps the memory mapped while it lives.
    fn merge(
        self,
        parts: Stretches,
        mut output: LinesOutput<'_>,
        checks_inputs: bool,
    ) -> Result<(LinesReport, Lease), Error> {
        let Sort { options, order, form, disk, observer } = self;
        let begun = Instant::now();
        let Stretches { sorted: inputs, rest } = parts;
        let input_bytes = total_bytes(&inputs);
        let known_bytes: u64 = inputs.iter().map(LinesInput::known_bytes).sum();
        let plan = match rest.is_empty() {
            true => Plan::for_merge(options, inputs.len(), input_bytes),
            // Blocks of the sorted parts need memory, too.
            false => Plan::new(options, None, order.entry_bytes(), output.needs_bypass()),
        };
        plan.refuse_index(options, total_bytes(&rest))?;
        let is_large = input_bytes.is_none_or(|bytes| bytes >= MERGED_BYTES_LARGE);
        let mut memory = plan.map_memory(is_large)?;
        let mapping = memory.write_buffers[0].split_off_front(0);
        let mut job = LinesJob::new(order, options, plan, disk, observer).with_form(form);
        (job.merged_bytes, job.checks_inputs) = (input_bytes, checks_inputs);
        let sorted = |input| SortedInput::new(input, options.delimiter);
        let run = |input| Run::Sorted(Box::new(Mutex::new(sorted(input))));
        let runs: Vec<Run> = inputs.into_iter().map(run).collect();
        let formed = match rest.is_empty() {
            true => FormedRuns::nothing(memory),
            false => form_runs(&job, rest, memory, None)?,
        };
        let formed = FormedRuns {
            runs: runs.into_iter().chain(formed.runs).collect(),
            expected_bytes: input_bytes.unwrap_or(known_bytes) + formed.expected_bytes,
            ..formed
        };
        let (report, _) = merge_all(&job, begun, formed, Some(output.reborrow()))?;
        Ok((report, mapping))
    }
}

/// True if the guess what inputs look like may have caused this error: they aren't in order, or a
/// part of one can't be read on its own, if `in_parts` were read in parts.
fn is_of_guess(error: &Error, in_parts: &[LinesInput]) -> bool {
    match error {
        Error::NotInOrder | Error::NotSorted { .. } => true,
        Error::LongLine { .. } => !in_parts.is_empty(),
        Error::Disk(error) => in_parts.iter().any(|input| input.path == error.path),
        _ => false,
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
    let all = Stretches { sorted: inputs, rest: Vec::new() };
    Ok(sort.merge(all, LinesOutput::Stream(output), false)?.0)
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
    let all = Stretches { sorted: inputs, rest: Vec::new() };
    write_to(output, disk, |to| merge.merge(all, to, true))
}
