//! An external sort of fixed-size records.
//!
//! The outline: check and plan, sort by the method that the plan says, compare what went in with
//! what came out, put the output in place. The two methods, `runs` and `bins`, stand on the same
//! stages:
//!
//! | file | idea |
//! |---|---|
//! | `plan`, `prepare`, `dry_run` | what will be done, and whether it can be |
//! | `spool`, `spool_seals` | an input that is a stream, kept until it can be read by ranges |
//! | `pass`, `fill`, `chunks` | one pass over data: read a chunk, work on it, write what comes of it |
//! | `scratch`, `seal` | blocks spread over drives, and whether they come back as they were |
//! | `parts` | what of the work that threads share is finished |
//! | `output` | the output file, written at any byte and by any thread |
//! | `removal`, `recheck` | inputs that are to go, and blocks that are read once more before that |
//! | `memory` | the pool, handed from phase to phase |
//! | `job`, `phases`, `report` | what all stages share, and what is told of them |

mod bins;
mod chunks;
mod dry_run;
mod fill;
mod job;
mod memory;
mod options;
mod output;
mod parts;
mod pass;
mod phases;
mod plan;
mod prepare;
mod recheck;
mod removal;
mod report;
mod runs;
mod spool;
mod spool_seals;

pub use bins::ScatterShape;
pub use dry_run::{DryRun, dry_run};
pub use options::{Method, SortOptions, UnknownMethod};
pub use phases::Phase;
pub use plan::{Facts, Plan, Shape, plan};
pub use report::{BinReport, ChunkReport, SortReport, floor_seconds};
pub use runs::MergeShape;
pub use spool::{SpoolReport, Stream};

pub use crate::job::stage_times::StageTimes;
pub use crate::job::traffic::Moved;

use crate::job::failure::Failure;
use crate::job::process::{cpu_seconds, peak_memory_bytes};
use crate::store::journal::{JournalHandle, Step};
use crate::store::scratch::Scratch;
use crate::{Error, Gauges, JobInfo, Observer};
use job::{Job, SortIo, Sorted};
use memory::Memory;
use phases::Phases;
use prepare::{Finished, Prepared, Work, prepare};
use recheck::{SealedBlock, check_blocks};
use removal::remove_inputs;
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::{Disk, Lease, Operation, align_up};
use xsort_records::{Checksum, Key, KeyRule};

/// Sorts `options.inputs` into `options.output`. Always stable: equal keys keep the order of the
/// input.
///
/// # Errors
/// Any [`Error`]. The output's path then names what it named before (but after
/// [`Operation::SyncName`]: then it names the new output, whole, and only whether that is durable
/// isn't known), and nothing else is left behind but what a sort that can be resumed keeps; inputs
/// are gone only if `remove_input` was set and they had been read whole.
pub fn sort(
    options: &SortOptions,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<SortReport, Error> {
    sort_streamed(options, None, disk, observer)
}

/// The same, with one input that is a stream. It is read to its end first; what of it can't be
/// sorted in memory is written to scratch for that.
///
/// # Errors
/// As [`sort`]; and [`Error::Settings`] if it is to be removed.
pub fn sort_streamed(
    options: &SortOptions,
    stream: Option<Stream>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<SortReport, Error> {
    let mut context = FailureContext::default();
    let result = match options.layout.rule() {
        KeyRule::Plain(key) => sort_by(key, options, stream, disk, observer, &mut context),
        KeyRule::Little(key) => sort_by(key, options, stream, disk, observer, &mut context),
        KeyRule::Fields(key) => sort_by(key, options, stream, disk, observer, &mut context),
    };
    let is_in_place = |cause: &Error| matches!(cause, Error::Disk(error) if error.operation == Operation::SyncName);
    match result {
        Err(cause) if context.is_kept => Err(Error::Resumable { cause: Box::new(cause) }),
        Err(cause) if context.inputs_removed && !is_in_place(&cause) => {
            Err(Error::InputsRemoved { cause: Box::new(cause) })
        }
        result => result,
    }
}

/// What is to be said of a sort that failed.
#[derive(Default)]
struct FailureContext {
    inputs_removed: bool,
    is_kept: bool,
}

fn sort_by<K: Key>(
    key: K,
    options: &SortOptions,
    stream: Option<Stream>,
    disk: &dyn Disk,
    observer: &dyn Observer,
    context: &mut FailureContext,
) -> Result<SortReport, Error> {
    let prepare_begun = Instant::now();
    let mut prepared = match prepare(options, stream, disk, observer)? {
        Work::Sort(prepared) => *prepared,
        Work::Finish(done) => return finish(options, *done, disk, observer),
    };
    context.is_kept = prepared.checkpoint.is_some();
    let drive = if options.probe {
        let budget = dry_run::PROBE_BYTES.min(options.budget_bytes);
        Some(crate::probe(disk, &prepared.scratch_directories[0], budget, dry_run::PROBE_TIME)?)
    } else {
        None
    };
    disk.notices().iter().for_each(|line| observer.notice(line));
    let prepare_seconds = prepare_begun.elapsed().as_secs_f64();

    let (begun, cpu_before) = (Instant::now(), cpu_seconds());
    let plan = prepared.plan.clone();
    let gauges = Gauges::new(JobInfo {
        record_bytes: Some(plan.record_bytes),
        budget_bytes: plan.budget_bytes,
        threads: plan.threads,
        chunks: Some(plan.chunks as u64),
    });
    observer.show(gauges.clone());
    observer.expect(&plan.phases());
    let scratch = open_scratch(&prepared, disk, &gauges)?;
    if !prepared.reserves_late {
        // Early, so that a drive that fills up meanwhile fails the sort before it has done its
        // work.
        disk.reserve(prepared.output_file, align_up(plan.bytes))?;
    }
    let map = if plan.may_spill() { Lease::map } else { Lease::map_huge_if_fast };
    let mut memory = Memory::new([map(plan.pool_bytes as usize)?]);
    let checkpoint = prepared.checkpoint.take();
    let job = Job {
        key,
        record_bytes: options.layout.record_bytes(),
        caches: options.caches,
        plan: &plan,
        disk,
        scratch,
        spool: prepared.spool.take(),
        observer,
        gauges: &gauges,
        stage_times: &gauges.stage_times,
        traffic: &gauges.traffic,
        failure: Failure::default(),
        notes: JournalHandle(checkpoint.as_ref().map(|files| &files.journal)),
    };
    let input_files = std::mem::take(&mut prepared.inputs);
    let input_bytes = std::mem::take(&mut prepared.input_bytes);
    let output_file = prepared.output_file;
    let mut io = SortIo::new(&input_files, &input_bytes, output_file);
    let mut phases = Phases::new("begin", observer, job.traffic);
    let mut work = || -> Result<(), Error> {
        let formed = form(&job, &mut io, &mut memory, &mut phases)?;
        input_is_read(&job, options, &io, &formed, &mut prepared, &mut memory, context)?;
        let sorted = merge_or_gather(&job, formed, &mut io, &mut memory, &mut phases)?;
        balance(io.read, sorted.written)?;
        if let Some(files) = &checkpoint {
            files.publish(&sorted.prefix, (io.read.records(), io.read.sum()));
        }
        job.notes.flush(&job.failure)
    };
    match &checkpoint {
        None => work()?,
        Some(files) => {
            let data = [job.scratch().files(), &[output_file]].concat();
            files.journal.run_while_recording(&data, &job.failure, work)?;
        }
    }
    let SortIo { read, chunks, bins, .. } = io;
    phases.begin("publish", 0);
    prepared.output_guard.release(output_file);
    disk.publish(output_file, plan.bytes, options.sync)?;
    if options.remove_input && prepared.input_guard.is_some() {
        remove_inputs(disk, observer, prepared.removable(options), Some(&options.output));
    }
    drop(prepared.input_guard.take());
    if let Some(files) = &checkpoint {
        files.remove().map_err(Error::after_publishing)?;
    }

    let phases = phases.finish();
    let seconds = begun.elapsed().as_secs_f64();
    let cpu = cpu_seconds();
    let (user, system) = (cpu.0 - cpu_before.0, cpu.1 - cpu_before.1);
    let moved = job.traffic.moved();
    let floor = drive.map(|rates| floor_seconds(&rates, moved.read_bytes, moved.written_bytes));
    Ok(SortReport {
        records: plan.records,
        bytes: plan.bytes,
        checksum: read.to_string(),
        seconds,
        bytes_per_second: plan.bytes as f64 / seconds.max(1e-9),
        prepare_seconds,
        spool: job.spool.map(|spool| spool.report),
        phases,
        cpu_user_seconds: user,
        cpu_system_seconds: system,
        cpu_nanoseconds_per_record: (user + system) * 1e9 / (plan.records.max(1) as f64),
        peak_memory_bytes: peak_memory_bytes(),
        moved,
        scratch: job.scratch.as_ref().map(Scratch::allocated_bytes).unwrap_or_default(),
        stages: Arc::clone(&gauges.stage_times),
        io: disk.describe(),
        drive,
        floor_seconds: floor,
        share_of_drive: floor.map(|floor| floor / seconds),
        plan: plan.clone(),
        chunks,
        bins,
    })
}

/// Scratch, if the plan needs any, or a checkpoint keeps it.
fn open_scratch<'a>(
    prepared: &Prepared<'_>,
    disk: &'a dyn Disk,
    gauges: &Gauges,
) -> Result<Option<Scratch<'a>>, Error> {
    let Prepared { plan, checkpoint, scratch_directories, .. } = prepared;
    let in_use = Arc::clone(&gauges.scratch);
    let scratch = match checkpoint {
        Some(files) => Scratch::of(
            disk,
            files.scratch.clone(),
            scratch_directories,
            plan.scratch_bytes,
            in_use,
        ),
        None if plan.may_spill() => {
            Scratch::create(disk, scratch_directories, plan.scratch_bytes, in_use)
        }
        None => return Ok(None),
    };
    scratch.map(Some)
}

/// What has become of the inputs when they have been read.
enum Formed {
    Runs(Vec<runs::Run>),
    Bins(bins::Scattered),
}

impl Formed {
    /// What of it is on scratch.
    fn blocks(&self, record_bytes: usize) -> Box<dyn Iterator<Item = SealedBlock> + '_> {
        match self {
            Formed::Runs(runs) => {
                Box::new(runs.iter().flat_map(move |run| run.sealed_blocks(record_bytes)))
            }
            Formed::Bins(scattered) => Box::new(scattered.sealed_blocks(record_bytes)),
        }
    }
}

/// Phase one: reads the inputs, and makes runs or bins of them.
fn form<K: Key>(
    job: &Job<'_, K>,
    io: &mut SortIo<'_>,
    memory: &mut Memory,
    phases: &mut Phases<'_>,
) -> Result<Formed, Error> {
    Ok(match &job.plan.shape {
        Shape::Merge(_) => Formed::Runs(runs::form_runs(job, io, memory, phases)?),
        Shape::Scatter(shape) => Formed::Bins(bins::scatter_input(job, shape, io, memory, phases)?),
    })
}

/// Phase two: makes the output, complete but not in place.
fn merge_or_gather<K: Key>(
    job: &Job<'_, K>,
    formed: Formed,
    io: &mut SortIo<'_>,
    memory: &mut Memory,
    phases: &mut Phases<'_>,
) -> Result<Sorted, Error> {
    match (&job.plan.shape, formed) {
        (Shape::Merge(shape), Formed::Runs(runs)) => {
            runs::merge_runs(job, shape, runs, io.output_file, memory, phases)
        }
        (Shape::Scatter(shape), Formed::Bins(bins)) => {
            bins::gather_bins(job, shape, bins, io, memory, phases)
        }
        _ => unreachable!("phase one follows the plan, too"),
    }
}

/// Between the phases: the inputs were what they are, and may go if their space is needed.
fn input_is_read<K: Key>(
    job: &Job<'_, K>,
    options: &SortOptions,
    io: &SortIo<'_>,
    formed: &Formed,
    prepared: &mut Prepared<'_>,
    memory: &mut Memory,
    context: &mut FailureContext,
) -> Result<(), Error> {
    let Job { plan, disk, observer, .. } = *job;
    if io.read.records() != plan.records {
        let what = format!("{} records read of {}", io.read.records(), plan.records);
        return Err(Error::Lost { what });
    }
    let is_stream = |number: usize| job.spool.as_ref().is_some_and(|spool| spool.input == number);
    for (_, &file) in io.input_files.iter().enumerate().filter(|(number, _)| !is_stream(*number)) {
        disk.check_unchanged(file)?;
    }
    if let Some(spool) = &job.spool {
        assert!(spool.seals.is_all_back(), "all records were read, those of the stream among them");
        prepared.input_guard = None;
    }
    job.notes.record(Step::InputRead, &());
    if prepared.needs_input_space {
        job.notes.flush(&job.failure)?;
        if prepared.is_resumed && !prepared.present.is_empty() {
            // From here on there is nothing else.
            check_blocks(job, formed.blocks(job.record_bytes), memory)?;
        }
        context.inputs_removed = remove_inputs(disk, observer, prepared.removable(options), None);
        prepared.input_guard = None;
    }
    if prepared.reserves_late {
        disk.reserve(prepared.output_file, align_up(plan.bytes))?;
    }
    Ok(())
}

/// What comes out must be what went in.
fn balance(read: Checksum, written: Checksum) -> Result<(), Error> {
    if written == read {
        return Ok(());
    }
    Err(Error::Lost {
        what: format!(
            "{} records with checksum {read} were read, {} with checksum {written} would be written",
            read.records(),
            written.records(),
        ),
    })
}

/// Does what is left to do when an earlier process has given the output its name.
fn finish(
    options: &SortOptions,
    done: Finished<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<SortReport, Error> {
    let Finished { plan, checksum, inputs, input_guard, checkpoint } = done;
    if options.remove_input {
        let inputs = inputs.iter().map(|&(number, file)| (&*options.inputs[number], file));
        remove_inputs(disk, observer, inputs, Some(&options.output));
    }
    drop(input_guard);
    checkpoint.remove().map_err(Error::after_publishing)?;
    observer.notice("the output was complete and in place already");
    Ok(SortReport {
        records: plan.records,
        bytes: plan.bytes,
        checksum: checksum.to_string(),
        seconds: 0.0,
        bytes_per_second: 0.0,
        prepare_seconds: 0.0,
        spool: None,
        phases: Vec::new(),
        cpu_user_seconds: 0.0,
        cpu_system_seconds: 0.0,
        cpu_nanoseconds_per_record: 0.0,
        peak_memory_bytes: peak_memory_bytes(),
        moved: Moved::default(),
        scratch: Vec::new(),
        stages: Arc::default(),
        io: disk.describe(),
        drive: None,
        floor_seconds: None,
        share_of_drive: None,
        plan,
        chunks: Vec::new(),
        bins: Vec::new(),
    })
}
