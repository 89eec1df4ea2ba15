//! The outline of a sort.

use super::bins::{Scattered, gather_bins, scatter_input};
use super::compression::Compression;
use super::dry_run::probe_directory;
use super::in_order::{copy_in_order, copy_plan};
use super::job::{CompleteOutput, SortIo, SortJob, SortState};
use super::look::{Looks, look};
use super::memory::Memory;
use super::merge_inputs::{merge_inputs, merge_stretches};
use super::options::{Method, SortOptions};
use super::phases::Phases;
use super::plan::{Plan, Shape};
use super::prepare::{Preparation, Prepared, PublishedSort, prepare};
use super::recheck::check_blocks;
use super::removal::remove_inputs;
use super::report::{SortClock, SortReport};
use super::runs::{Run, form_runs, merge_runs};
use super::spool::Stream;
use crate::job::failure::Failure;
use crate::store::checkpoint::CheckpointFiles;
use crate::store::journal::{JournalHandle, Step};
use crate::store::scratch::Scratch;
use crate::store::seal::SealedBlock;
use crate::{Error, Gauges, JobInfo, Observer};
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::{Disk, Lease, Operation, align_up, is_standard_output, parent_directory};
use xsort_kernels::{RecordKernels, kernels_of};

/// Sorts `options.inputs` into `options.output`. Always stable: equal keys keep the order of the
/// input.
///
/// # Errors
/// Any [`Error`]. The output's path is then unchanged, except after [`Operation::SyncName`]: then
/// it names the complete new output, which may not be durable. Nothing else is left, apart from the
/// checkpoint of a sort that can be resumed. Inputs are removed only if `remove_input` was set and
/// they had been read in full.
pub fn sort(
    options: &SortOptions,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<SortReport, Error> {
    sort_streamed(options, None, disk, observer)
}

/// Sorts like [`sort`], with an optional stream as one of the inputs. The stream is first read to
/// its end. A stream larger than memory is written to scratch in full.
///
/// # Errors
/// The errors of [`sort`], and [`Error::Settings`] if the inputs are to be removed.
pub fn sort_streamed(
    options: &SortOptions,
    stream: Option<Stream>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<SortReport, Error> {
    let mut context = FailureContext::default();
    let rule = options.layout.rule();
    let kernels = kernels_of(&rule);
    let result = sort_by(kernels, options, stream, disk, observer, &mut context);
    result.map_err(|cause| context.explain(cause))
}

/// Facts that a failed sort's error reports in addition to its cause.
#[derive(Default)]
struct FailureContext {
    inputs_removed: bool,
    is_resumable: bool,
    /// True if something may have been written to a stream.
    is_streamed: bool,
}

impl FailureContext {
    fn explain(&self, cause: Error) -> Error {
        let is_in_place =
            matches!(&cause, Error::Disk(error) if error.operation == Operation::SyncName);
        if self.is_resumable {
            Error::Resumable { cause: Box::new(cause) }
        } else if self.is_streamed {
            Error::Streamed { cause: Box::new(cause) }
        } else if self.inputs_removed && !is_in_place {
            Error::InputsRemoved { cause: Box::new(cause) }
        } else {
            cause
        }
    }
}

fn sort_by(
    kernels: &dyn RecordKernels,
    options: &SortOptions,
    stream: Option<Stream>,
    disk: &dyn Disk,
    observer: &dyn Observer,
    context: &mut FailureContext,
) -> Result<SortReport, Error> {
    let prepare_begun = Instant::now();
    let prepared = match prepare(options, stream, disk, observer)? {
        Preparation::Sort(prepared) => *prepared,
        Preparation::Published(published) => return clean_up(options, *published, disk, observer),
    };
    context.is_resumable = prepared.checkpoint.is_some();
    let directory = &prepared.scratch_directories[0];
    let drive = options.probe.then(|| probe_directory(options, disk, directory)).transpose()?;
    disk.notices().iter().for_each(|line| observer.notice(line));
    let prepare_seconds = prepare_begun.elapsed().as_secs_f64();
    let clock = SortClock::start();
    let report = run(kernels, options, prepared, disk, observer, context)?;
    Ok(clock.stop(drive, SortReport { prepare_seconds, ..report }))
}

/// Runs a prepared sort.
fn run(
    kernels: &dyn RecordKernels,
    options: &SortOptions,
    mut prepared: Prepared<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
    context: &mut FailureContext,
) -> Result<SortReport, Error> {
    let (plan, output_file) = (prepared.plan.clone(), prepared.output_file);
    let gauges = show_gauges(&prepared, observer);
    let checkpoint = prepared.checkpoint.take();
    let (files, bytes) = prepared.take_inputs();
    let codec = options.codec.filter(|_| plan.compression_bytes > 0);
    let job = SortJob {
        kernels,
        record_bytes: options.layout.record_bytes(),
        caches: options.caches,
        plan: &plan,
        disk,
        scratch: open_scratch(&prepared, options, checkpoint.as_ref(), disk, &gauges)?,
        compression: Compression::new(codec, plan.threads, plan.block_bytes)?,
        spool: prepared.spool.take(),
        observer,
        gauges: &gauges,
        stage_times: &gauges.stage_times,
        traffic: &gauges.traffic,
        failure: Failure::default(),
        sample_seed: options.sample_seed,
        writes_in_order: is_standard_output(&options.output),
        journal: JournalHandle(checkpoint.as_ref().map(|files| &files.journal)),
    };
    if job.writes_in_order {
        disk.set_bytes(output_file, plan.bytes)?;
    }
    if !prepared.reserves_late {
        // Early, so that a drive without space fails the sort before the work is done.
        disk.reserve(output_file, plan.output_file_bytes())?;
    }
    let map = if plan.may_spill() { Lease::map } else { Lease::map_huge_if_fast };
    let mut state = SortState {
        io: SortIo::new(&files, &bytes, output_file),
        memory: Memory::new([map(plan.pool_bytes as usize)?]),
        phases: Phases::new("begin", observer, job.traffic),
    };
    let mut work = || -> Result<(), Error> {
        let output = make_output(&job, options, &mut state, &mut prepared, context)?;
        Error::check_balance(state.io.read, output.checksum)?;
        if let Some(files) = &checkpoint {
            files.publish(&output.prefix, (output.checksum.records(), output.checksum.sum()));
        }
        job.journal.flush(&job.failure)
    };
    match &checkpoint {
        None => work()?,
        Some(files) => {
            let data = [job.scratch().files(), &[output_file]].concat();
            files.journal.run_while_recording(&data, &job.failure, work)?;
        }
    }
    state.phases.begin("publish", 0);
    publish(&job, options, &mut prepared)?;
    if let Some(files) = &checkpoint {
        files.remove().map_err(Error::after_publishing)?;
    }
    Ok(report(&job, state))
}

/// Shows the observer the sort's gauges and the planned phases.
fn show_gauges(prepared: &Prepared<'_>, observer: &dyn Observer) -> Gauges {
    let plan = &prepared.plan;
    let frame = JobInfo {
        record_bytes: Some(plan.record_bytes),
        budget_bytes: plan.budget_bytes,
        threads: plan.threads,
        chunks: Some(plan.chunks as u64),
    };
    let gauges = Gauges::new(frame, observer.spans());
    observer.show(gauges.clone());
    observer.expect(&plan.phases());
    gauges
}

/// Opens scratch, in the checkpoint's files if there is one; `None` if the plan needs no scratch.
fn open_scratch<'a>(
    prepared: &Prepared<'_>,
    options: &SortOptions,
    checkpoint: Option<&CheckpointFiles<'_>>,
    disk: &'a dyn Disk,
    gauges: &Gauges,
) -> Result<Option<Scratch<'a>>, Error> {
    let Prepared { plan, scratch_directories, .. } = prepared;
    let in_use = Arc::clone(&gauges.scratch);
    let bytes = plan.scratch_bytes;
    let scratch = match checkpoint {
        Some(files) => {
            let files = files.scratch.clone();
            Scratch::of(disk, files, scratch_directories, bytes, in_use)
        }
        None if plan.is_in_place() => {
            let directory = parent_directory(&options.output);
            let sizes = (plan.output_file_bytes(), plan.block_bytes);
            Ok(Scratch::in_output(disk, prepared.output_file, directory, sizes, in_use))
        }
        None if plan.may_spill() => Scratch::create(disk, scratch_directories, bytes, in_use),
        None => return Ok(None),
    };
    scratch.map(Some)
}

/// Merges, copies or sorts the inputs. The output is then complete but not published.
fn make_output(
    job: &SortJob<'_>,
    options: &SortOptions,
    state: &mut SortState<'_>,
    prepared: &mut Prepared<'_>,
    context: &mut FailureContext,
) -> Result<CompleteOutput, Error> {
    if let Shape::MergeInputs(_) = &job.plan.shape {
        context.is_streamed = job.writes_in_order;
        let output = merge_inputs(job, &options.inputs, state)?;
        check_inputs(job, &state.io)?;
        return Ok(output);
    }
    match use_order(job, options, prepared, state)? {
        Some(output) => Ok(output),
        None => sort_in_phases(job, options, state, prepared, context),
    }
}

/// Both phases: the output is then complete but not published.
fn sort_in_phases(
    job: &SortJob<'_>,
    options: &SortOptions,
    state: &mut SortState<'_>,
    prepared: &mut Prepared<'_>,
    context: &mut FailureContext,
) -> Result<CompleteOutput, Error> {
    let formed = form(job, state)?;
    end_input(job, options, &formed, state, prepared, context)?;
    context.is_streamed = job.writes_in_order;
    merge_or_gather(job, formed, state)
}

/// Copies the inputs to the output if they would be spilled and are in order already, or merges the
/// stretches of them that are. Returns `None` if there is no such order, or if the inputs can't be
/// read twice.
fn use_order(
    job: &SortJob<'_>,
    options: &SortOptions,
    prepared: &Prepared<'_>,
    state: &mut SortState<'_>,
) -> Result<Option<CompleteOutput>, Error> {
    let is_simple = !job.writes_in_order
        && options.checkpoint.is_none()
        && job.spool.is_none()
        && !prepared.reserves_late
        && !prepared.needs_input_space;
    if !is_simple || !job.plan.may_spill() || options.method != Method::Auto {
        return Ok(None);
    }
    let used = match look(job, &state.io)? {
        Looks::Sorted => match copy_plan(job.plan, state.io.input_bytes) {
            Some(plan) => copy(job, &plan, state),
            None => return Ok(None),
        },
        Looks::InStretches(stretches) => match stretches.plan(job.plan) {
            Some(plan) => {
                let rest_bytes = stretches.rest_records() * plan.record_bytes;
                job.observer.expect(&[("sort", rest_bytes), ("merge", plan.bytes)]);
                let pool = Memory::new([Lease::map(plan.pool_bytes as usize)?]);
                merge_stretches(job, &plan, &stretches, pool, state)
            }
            None => return Ok(None),
        },
        Looks::Unsorted => return Ok(None),
    };
    match used {
        Ok(output) => {
            check_inputs(job, &state.io)?;
            Ok(Some(output))
        }
        Err(Error::NotInOrder) => {
            job.observer.expect(&job.plan.phases());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Copies inputs that look sorted, as `plan` says.
fn copy(
    job: &SortJob<'_>,
    plan: &Plan,
    state: &mut SortState<'_>,
) -> Result<CompleteOutput, Error> {
    job.observer.expect(&[("copy", plan.bytes)]);
    copy_in_order(&job.with_plan(plan)?, state)
}

/// The result of phase one.
enum Formed {
    Runs(Vec<Run>),
    Bins(Scattered),
}

impl Formed {
    /// The blocks on scratch.
    fn blocks(&self, record_bytes: usize) -> Box<dyn Iterator<Item = SealedBlock> + '_> {
        match self {
            Formed::Runs(runs) => {
                Box::new(runs.iter().flat_map(move |run| run.sealed_blocks(record_bytes)))
            }
            Formed::Bins(scattered) => Box::new(scattered.sealed_blocks(record_bytes)),
        }
    }
}

/// Phase one: reads the inputs, and forms runs or bins.
fn form(job: &SortJob<'_>, state: &mut SortState<'_>) -> Result<Formed, Error> {
    Ok(match &job.plan.shape {
        Shape::Merge(_) => Formed::Runs(form_runs(job, state)?),
        Shape::Scatter(shape) => Formed::Bins(scatter_input(job, shape, state)?),
        Shape::MergeInputs(_) => unreachable!("a merge of inputs has one phase"),
    })
}

/// Phase two: writes the output, which is then complete but not published.
fn merge_or_gather(
    job: &SortJob<'_>,
    formed: Formed,
    state: &mut SortState<'_>,
) -> Result<CompleteOutput, Error> {
    match (&job.plan.shape, formed) {
        (Shape::Merge(shape), Formed::Runs(runs)) => merge_runs(job, shape, runs, state),
        (Shape::Scatter(shape), Formed::Bins(bins)) => gather_bins(job, shape, bins, state),
        _ => unreachable!("phase one follows the plan, too"),
    }
}

/// Between the phases: checks that the inputs were read in full and are unchanged. Removes them if
/// the output needs their space.
fn end_input(
    job: &SortJob<'_>,
    options: &SortOptions,
    formed: &Formed,
    state: &mut SortState<'_>,
    prepared: &mut Prepared<'_>,
    context: &mut FailureContext,
) -> Result<(), Error> {
    let SortJob { plan, disk, observer, .. } = *job;
    check_inputs(job, &state.io)?;
    if job.spool.is_some() {
        // Closes the spool.
        prepared.input_guard = None;
    }
    job.journal.record(Step::InputRead, &());
    if prepared.needs_input_space {
        job.journal.flush(&job.failure)?;
        if prepared.is_resumed && !prepared.present.is_empty() {
            // From here on the records exist only on scratch.
            check_blocks(job, formed.blocks(job.record_bytes), &mut state.memory)?;
        }
        context.inputs_removed = remove_inputs(disk, observer, prepared.removable(options), None);
        prepared.input_guard = None;
    }
    if prepared.reserves_late {
        disk.reserve(prepared.output_file, align_up(plan.bytes))?;
    }
    Ok(())
}

/// Checks that all records were read, and that the inputs haven't changed.
fn check_inputs(job: &SortJob<'_>, io: &SortIo<'_>) -> Result<(), Error> {
    if io.read.records() != job.plan.records {
        let what = format!("{} records read of {}", io.read.records(), job.plan.records);
        return Err(Error::Lost { what });
    }
    let spooled = job.spool.as_ref().map(|spool| spool.input);
    let files = io.input_files.iter().enumerate();
    let files = files.filter(|(number, _)| Some(*number) != spooled).map(|(_, &file)| file);
    job.disk.check_all_unchanged(&files.collect::<Vec<_>>())?;
    if let Some(spool) = &job.spool {
        assert!(spool.seals.are_all_checked(), "the records of the stream are among those read");
    }
    Ok(())
}

/// Publishes the output, and then removes the inputs if requested and not yet done.
fn publish(
    job: &SortJob<'_>,
    options: &SortOptions,
    prepared: &mut Prepared<'_>,
) -> Result<(), Error> {
    let SortJob { plan, disk, observer, .. } = *job;
    prepared.output_guard.release(prepared.output_file);
    disk.publish(prepared.output_file, plan.bytes, options.sync)?;
    if options.remove_input && prepared.input_guard.is_some() {
        remove_inputs(disk, observer, prepared.removable(options), Some(&options.output));
    }
    prepared.input_guard = None;
    Ok(())
}

/// The sort's report, without its times.
fn report(job: &SortJob<'_>, state: SortState<'_>) -> SortReport {
    let SortState { io, phases, .. } = state;
    let spilled = job.gauges.spilled.read();
    SortReport {
        spool: job.spool.as_ref().map(|spool| spool.report.clone()),
        phases: phases.finish(),
        moved: job.traffic.moved(),
        scratch: job.scratch.as_ref().map(Scratch::allocated_bytes).unwrap_or_default(),
        spilled_bytes: spilled.bytes,
        scratch_bytes: spilled.scratch_bytes,
        compressed: spilled.compressed,
        stages: Arc::clone(&job.gauges.stage_times),
        chunks: io.chunks,
        bins: io.bins,
        ..SortReport::unmeasured(job.plan.clone(), io.read, job.disk)
    }
}

/// Finishes a sort whose output an earlier process has published.
fn clean_up(
    options: &SortOptions,
    published: PublishedSort<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<SortReport, Error> {
    let PublishedSort { plan, checksum, inputs, input_guard, checkpoint } = published;
    if options.remove_input {
        let inputs = inputs.iter().map(|&(number, file)| (&*options.inputs[number], file));
        remove_inputs(disk, observer, inputs, Some(&options.output));
    }
    drop(input_guard);
    checkpoint.remove().map_err(Error::after_publishing)?;
    observer.notice("the output was complete and in place already");
    Ok(SortReport::unmeasured(plan, checksum, disk))
}
