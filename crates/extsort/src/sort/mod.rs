//! An external sort of fixed-size records.
//!
//! The outline: check and plan, sort by the method that the plan says, compare what went in with what came out, put the output in place. The
//! two methods, `runs` and `bins`, stand on the same stages:
//!
//! | file | idea |
//! |---|---|
//! | `plan`, `prepare`, `dry_run` | what will be done, and whether it can be |
//! | `spool`, `spool_seals` | an input that is a stream, kept until it can be read by ranges |
//! | `pass`, `fill`, `chunks` | one pass over data: read a chunk, work on it, write what comes of it |
//! | `scratch`, `seal` | blocks spread over drives, and whether they come back as they were |
//! | `parts` | what of the work that threads share is finished |
//! | `output` | the output file, written at any byte and by any thread |
//! | `removal` | inputs that are to go |
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
pub(crate) use runs::reduction;
pub use spool::{SpoolReport, Stream};

pub use crate::ledger::Ledger;
pub use crate::traffic::Moved;

use crate::failure::Failure;
use crate::journal::{Notes, Step};
use crate::process::{cpu_seconds, peak_memory_bytes};
use crate::scratch::Scratch;
use crate::{Error, Frame, Gauges, Observer};
use job::{Job, Journey};
use memory::Memory;
use phases::Phases;
use prepare::{Finished, Prepared, Work, prepare};
use removal::remove_inputs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::{Disk, Lease, Operation, align_up};
use xsort_records::{Checksum, Key, KeyRule};

/// Sorts `options.inputs` into `options.output`. Always stable: equal keys keep the order of the input.
///
/// # Errors
/// Any [`Error`]. The output's path then names what it named before (but after [`Operation::SyncName`]: then it names
/// the new output, whole, and only whether that is durable isn't known), and nothing else is left behind but what a sort that can be resumed keeps; inputs
/// are gone only if `remove_input` was set and they had been read whole.
pub fn sort(options: &SortOptions, disk: &dyn Disk, observer: &dyn Observer) -> Result<SortReport, Error> {
    sort_streamed(options, None, disk, observer)
}

/// The same, with one input that is a stream. It is read to its end first; what of it can't be sorted in memory is written to scratch for that.
///
/// # Errors
/// As [`sort`]; and [`Error::Settings`] if it is to be removed.
pub fn sort_streamed(
    options: &SortOptions,
    stream: Option<Stream>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<SortReport, Error> {
    let mut fate = Fate::default();
    let result = match options.layout.rule() {
        KeyRule::Plain(key) => sort_by(key, options, stream, disk, observer, &mut fate),
        KeyRule::Little(key) => sort_by(key, options, stream, disk, observer, &mut fate),
        KeyRule::Fields(key) => sort_by(key, options, stream, disk, observer, &mut fate),
    };
    let is_in_place =
        |cause: &Error| matches!(cause, Error::Disk(error) if error.operation == Operation::SyncName);
    match result {
        Err(cause) if fate.is_kept => Err(Error::Resumable { cause: Box::new(cause) }),
        Err(cause) if fate.inputs_removed && !is_in_place(&cause) => {
            Err(Error::InputsRemoved { cause: Box::new(cause) })
        }
        result => result,
    }
}

/// What is to be said of a sort that failed.
#[derive(Default)]
struct Fate {
    inputs_removed: bool,
    is_kept: bool,
}

fn sort_by<K: Key>(
    key: K,
    options: &SortOptions,
    stream: Option<Stream>,
    disk: &dyn Disk,
    observer: &dyn Observer,
    fate: &mut Fate,
) -> Result<SortReport, Error> {
    let prepare_begun = Instant::now();
    let prepared = match prepare(options, stream, disk, observer)? {
        Work::Sort(prepared) => *prepared,
        Work::Finish(done) => return finish(options, *done, disk, observer),
    };
    let Prepared {
        plan,
        inputs: input_files,
        input_bytes,
        input_guard,
        spool,
        needs_input_space,
        reserves_late,
        scratch_directories,
        output_file,
        mut output_guard,
        kept,
    } = prepared;
    fate.is_kept = kept.is_some();
    let drive = if options.probe {
        let budget = dry_run::PROBE_BYTES.min(options.budget_bytes);
        Some(crate::probe(disk, &scratch_directories[0], budget, dry_run::PROBE_TIME)?)
    } else {
        None
    };
    disk.notices().iter().for_each(|line| observer.notice(line));
    let prepare_seconds = prepare_begun.elapsed().as_secs_f64();

    let (begun, cpu_before) = (Instant::now(), cpu_seconds());
    let gauges = Gauges::new(Frame {
        record_bytes: Some(plan.record_bytes),
        budget_bytes: plan.budget_bytes,
        threads: plan.threads,
        chunks: Some(plan.chunks as u64),
    });
    observer.show(gauges.clone());
    observer.expect(&plan.phases());
    let scratch = if let Some(kept) = &kept {
        let (files, in_use) = (kept.open_scratch()?, Arc::clone(&gauges.scratch));
        Some(Scratch::of(disk, files, &scratch_directories, plan.scratch_bytes, in_use)?)
    } else if plan.may_spill() {
        Some(Scratch::create(disk, &scratch_directories, plan.scratch_bytes, Arc::clone(&gauges.scratch))?)
    } else {
        None
    };
    let output_bytes = align_up(plan.bytes);
    if !reserves_late {
        // Early, so that a drive that fills up meanwhile fails the sort before it has done its work.
        disk.reserve(output_file, output_bytes)?;
    }
    let map = if plan.may_spill() { Lease::map } else { Lease::map_at_hand };
    let mut memory = Memory::new([map(plan.pool_bytes as usize)?]);
    let job = Job {
        key,
        record_bytes: options.layout.record_bytes(),
        caches: options.caches,
        plan: &plan,
        disk,
        scratch,
        spool,
        observer,
        gauges: &gauges,
        ledger: &gauges.ledger,
        traffic: &gauges.traffic,
        failure: Failure::default(),
        notes: Notes(kept.as_ref().map(|kept| &kept.journal)),
    };

    let mut input_guard = input_guard;
    let named = || options.inputs.iter().map(PathBuf::as_path).zip(input_files.iter().copied());
    let mut input_is_read = |read: Checksum| {
        if read.records() != plan.records {
            return Err(Error::Lost { what: format!("{} records read of {}", read.records(), plan.records) });
        }
        let files = input_files.iter().enumerate();
        let is_stream = |number| job.spool.as_ref().is_some_and(|spool| spool.input == number);
        for (_, &file) in files.filter(|(number, _)| !is_stream(*number)) {
            disk.check_unchanged(file)?;
        }
        if let Some(spool) = &job.spool {
            assert!(spool.seals.is_all_back(), "all records were read, those of the stream among them");
            input_guard = None;
        }
        job.notes.keep(Step::InputRead, &());
        if needs_input_space {
            job.notes.settle(&job.failure)?;
            fate.inputs_removed = remove_inputs(disk, observer, named(), None);
            input_guard = None;
        }
        if reserves_late {
            disk.reserve(output_file, output_bytes)?;
        }
        Ok(())
    };
    let mut journey = Journey {
        input_files: &input_files,
        input_bytes: &input_bytes,
        input_is_read: &mut input_is_read,
        output_file,
        read: Checksum::default(),
        chunks: Vec::new(),
        bins: Vec::new(),
    };
    let mut phases = Phases::new("begin", observer, job.traffic);
    let mut work = || -> Result<(), Error> {
        let written = match &plan.shape {
            Shape::Merge(shape) => runs::sort(&job, shape, &mut journey, &mut memory, &mut phases)?,
            Shape::Scatter(shape) => bins::sort(&job, shape, &mut journey, &mut memory, &mut phases)?,
        };
        let read = journey.read;
        if written != read {
            return Err(Error::Lost {
                what: format!(
                    "{} records with checksum {read} were read, {} with checksum {written} would be written",
                    read.records(),
                    written.records(),
                ),
            });
        }
        if let Some(kept) = &kept {
            kept.publish(output_file, (read.records(), read.sum()))?;
        }
        job.notes.settle(&job.failure)
    };
    match &kept {
        None => work()?,
        Some(kept) => {
            let data = [job.scratch().files(), &[output_file]].concat();
            kept.journal.beside(&data, &job.failure, work)?;
        }
    }
    let Journey { read, chunks, bins, .. } = journey;
    phases.begin("publish", 0);
    output_guard.release(output_file);
    disk.publish(output_file, plan.bytes, options.sync)?;
    if options.remove_input && input_guard.is_some() {
        remove_inputs(disk, observer, named(), Some(&options.output));
    }
    drop(input_guard);
    if let Some(kept) = &kept {
        kept.end().map_err(Error::after_publishing)?;
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
        scratch: job.scratch.as_ref().map(Scratch::placed_bytes).unwrap_or_default(),
        stages: Arc::clone(&gauges.ledger),
        io: disk.describe(),
        drive,
        floor_seconds: floor,
        share_of_drive: floor.map(|floor| floor / seconds),
        plan: plan.clone(),
        chunks,
        bins,
    })
}

/// Does what is left to do when an earlier process has given the output its name.
fn finish(
    options: &SortOptions,
    done: Finished<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<SortReport, Error> {
    let Finished { plan, checksum, inputs, input_guard, kept } = done;
    if options.remove_input {
        let inputs = inputs.iter().map(|&(number, file)| (&*options.inputs[number], file));
        remove_inputs(disk, observer, inputs, Some(&options.output));
    }
    drop(input_guard);
    kept.end().map_err(Error::after_publishing)?;
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
