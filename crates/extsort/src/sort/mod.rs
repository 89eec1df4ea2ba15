//! An external sort of fixed-size records, by runs and merge.
//!
//! The outline: check and plan, form sorted runs (spilling those that memory can't hold), merge some of them on the way if they are too many
//! for one merge, merge the rest into the output, compare what went in with what came out, put the output in place.

mod block;
mod chunks;
mod cut;
mod dry_run;
mod fill;
mod forecast;
mod form;
mod job;
mod ledger;
mod memory;
mod merge;
mod merger;
mod options;
mod output;
mod plan;
mod prepare;
mod report;
mod run;
mod scratch;
mod traffic;

pub use dry_run::{DryRun, dry_run};
pub use form::RunReport;
pub use ledger::Waits;
pub use options::SortOptions;
pub use plan::{Facts, Plan, plan};
pub use report::{PhaseSeconds, SortReport, floor_seconds};
pub use traffic::Moved;

use crate::process::{cpu_seconds, peak_memory_bytes};
use crate::{Error, Observer};
use form::{Formed, form};
use job::{Failure, Input, Job};
use ledger::Ledger;
use memory::Memory;
use merge::{Merged, Sink, merge};
use output::{Output, Seams};
use prepare::{Prepared, prepare};
use run::Run;
use scratch::Scratch;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use traffic::Traffic;
use xsort_disk::{ALIGNMENT, Disk, Lease, Shelf, align_up};
use xsort_records::{Key, KeyRule};

/// Sorts `options.inputs` into `options.output`. Always stable: equal keys keep the order of the input.
///
/// # Errors
/// Any [`Error`]. The output's path then names what it named before, and nothing else is left behind; inputs are gone only if
/// `remove_input` was set and they had been read whole.
pub fn sort(options: &SortOptions, disk: &dyn Disk, observer: &dyn Observer) -> Result<SortReport, Error> {
    let mut inputs_removed = false;
    let result = match options.layout.rule() {
        KeyRule::Plain(key) => sort_by(key, options, disk, observer, &mut inputs_removed),
        KeyRule::Little(key) => sort_by(key, options, disk, observer, &mut inputs_removed),
        KeyRule::Fields(key) => sort_by(key, options, disk, observer, &mut inputs_removed),
    };
    match result {
        Err(cause) if inputs_removed => Err(Error::InputsRemoved { cause: Box::new(cause) }),
        result => result,
    }
}

fn sort_by<K: Key>(
    key: K,
    options: &SortOptions,
    disk: &dyn Disk,
    observer: &dyn Observer,
    inputs_removed: &mut bool,
) -> Result<SortReport, Error> {
    let (begun, cpu_before) = (Instant::now(), cpu_seconds());
    let prepared = prepare(options, disk, observer)?;
    let Prepared {
        plan,
        inputs,
        input_files,
        needs_input_space,
        scratch_directories,
        output_file,
        mut output_guard,
    } = prepared;
    let drive = if options.probe {
        let budget = dry_run::PROBE_BYTES.min(options.budget_bytes);
        Some(crate::probe(disk, &scratch_directories[0], budget, dry_run::PROBE_TIME)?)
    } else {
        None
    };
    disk.notices().iter().for_each(|line| observer.notice(line));
    let prepare_seconds = begun.elapsed().as_secs_f64();

    let ledger = Ledger::default();
    let record_bytes = options.layout.record_bytes();
    let job = Job {
        key,
        record_bytes,
        plan: &plan,
        disk,
        observer,
        ledger: &ledger,
        traffic: Traffic::default(),
        failure: Failure::default(),
    };
    let sort_begun = Instant::now();
    let scratch = if plan.spilled_runs > 0 {
        Some(Scratch::create(disk, &scratch_directories, plan.scratch_bytes)?)
    } else {
        None
    };
    let output_bytes = align_up(plan.bytes);
    if !needs_input_space {
        // Early, so that a drive that fills up meanwhile fails the sort before it has done its work.
        disk.reserve(output_file, output_bytes)?;
    }

    observer.phase("form runs", plan.bytes);
    let Formed { mut runs, free, checksum, reports } = form(&job, &inputs, scratch.as_ref())?;
    if checksum.records() != plan.records {
        let what = format!("{} records read of {}", checksum.records(), plan.records);
        return Err(Error::Lost { what });
    }
    let form_seconds = sort_begun.elapsed().as_secs_f64();
    let mut input_files = Some(input_files);
    if needs_input_space {
        *inputs_removed = remove_inputs(options, disk, observer, &inputs, None);
        input_files = None;
        disk.reserve(output_file, output_bytes)?;
    }

    let reduce_begun = Instant::now();
    let mut memory = Memory::new(free);
    let pages = memory.take(plan.seam_pages, ALIGNMENT);
    let output_memory =
        memory.take(plan.output_blocks, plan.output_block_bytes.max(plan.block_bytes) as usize);
    let read_blocks = Shelf::new(memory.into_pieces(), plan.block_bytes as usize);
    let mut output_memory = Some(output_memory);
    while runs.len() > plan.fan_in_max {
        let shelf = Shelf::new(output_memory.take().into_iter().flatten(), plan.block_bytes as usize);
        runs = reduce(&job, runs, scratch.as_ref(), &read_blocks, &shelf)?;
        output_memory = Some(Memory::new(shelf.dissolve()).into_pieces());
    }
    let reduce_seconds = if plan.merge_passes > 1 { reduce_begun.elapsed().as_secs_f64() } else { 0.0 };

    let merge_begun = Instant::now();
    observer.phase("merge", plan.bytes);
    let merged = {
        let blocks: Vec<Lease> = output_memory.into_iter().flatten().collect();
        let output = Output {
            file: output_file,
            bytes: plan.bytes,
            blocks: Shelf::new(blocks, plan.output_block_bytes as usize),
            seams: Seams::new(Shelf::new(pages, ALIGNMENT)),
        };
        merge(&job, &runs, scratch.as_ref(), &read_blocks, &Sink::Output(&output))?
    };
    if merged.checksum != checksum {
        return Err(Error::Lost {
            what: format!(
                "{} records with checksum {checksum} were read, {} with checksum {} would be written",
                checksum.records(),
                merged.checksum.records(),
                merged.checksum
            ),
        });
    }
    let merge_seconds = merge_begun.elapsed().as_secs_f64();

    let publish_begun = Instant::now();
    observer.phase("publish", 0);
    output_guard.release(output_file);
    disk.publish(output_file, plan.bytes, options.sync)?;
    if options.remove_input && input_files.is_some() {
        remove_inputs(options, disk, observer, &inputs, Some(&options.output));
    }
    drop(input_files);
    let publish_seconds = publish_begun.elapsed().as_secs_f64();

    let seconds = sort_begun.elapsed().as_secs_f64();
    let cpu = cpu_seconds();
    let (user, system) = (cpu.0 - cpu_before.0, cpu.1 - cpu_before.1);
    let moved = job.traffic.moved();
    let floor = drive.map(|rates| floor_seconds(&rates, moved.read_bytes, moved.written_bytes));
    Ok(SortReport {
        records: plan.records,
        bytes: plan.bytes,
        checksum: checksum.to_string(),
        seconds,
        bytes_per_second: plan.bytes as f64 / seconds.max(1e-9),
        phases: PhaseSeconds {
            prepare: prepare_seconds,
            form: form_seconds,
            reduce: reduce_seconds,
            merge: merge_seconds,
            publish: publish_seconds,
        },
        stages: ledger.seconds(),
        cpu_user_seconds: user,
        cpu_system_seconds: system,
        cpu_nanoseconds_per_record: (user + system) * 1e9 / (plan.records.max(1) as f64),
        peak_memory_bytes: peak_memory_bytes(),
        moved,
        scratch: scratch.as_ref().map(Scratch::placed_bytes).unwrap_or_default(),
        io: disk.describe(),
        drive,
        floor_seconds: floor,
        share_of_drive: floor.map(|floor| floor / seconds),
        plan: plan.clone(),
        runs: reports,
    })
}

/// Removes the inputs, but for the one whose path is `kept`; returns whether any is gone. One that can't be removed is no reason to throw
/// the work away: whether the space is enough shows when it is reserved.
fn remove_inputs(
    options: &SortOptions,
    disk: &dyn Disk,
    observer: &dyn Observer,
    inputs: &[Input],
    kept: Option<&Path>,
) -> bool {
    let mut any_is_gone = false;
    for (number, (path, input)) in options.inputs.iter().zip(inputs).enumerate() {
        if Some(path.as_path()) == kept || options.inputs[..number].contains(path) {
            continue;
        }
        match disk.remove_input(input.file) {
            Ok(()) => any_is_gone = true,
            Err(error) => observer.notice(&format!("an input stays: {error}")),
        }
    }
    any_is_gone
}

/// One pass on the way: merges as many neighbouring runs as brings their number closest to the fan-in.
fn reduce<K: Key>(
    job: &Job<'_, K>,
    runs: Vec<Run>,
    scratch: Option<&Scratch<'_>>,
    read_blocks: &Arc<Shelf>,
    write_blocks: &Arc<Shelf>,
) -> Result<Vec<Run>, Error> {
    let groups = plan::reduction(runs.len(), job.plan.fan_in_max);
    let mut rest = runs.into_iter();
    let mut reduced = Vec::with_capacity(groups.len());
    let groups = groups.into_iter().map(|taken| rest.by_ref().take(taken).collect::<Vec<Run>>());
    let groups: Vec<Vec<Run>> = groups.collect();
    let moved = groups.iter().filter(|group| group.len() > 1).flatten();
    let records: u64 = moved.map(|run| run.index.records()).sum();
    job.observer.phase("reduce", records * job.record_bytes as u64);
    for mut group in groups {
        if group.len() == 1 {
            reduced.append(&mut group);
            continue;
        }
        let Merged { index, .. } = merge(job, &group, scratch, read_blocks, &Sink::Run(write_blocks))?;
        let scratch = scratch.expect("more runs than fit a merge are on scratch");
        let blocks = group.iter().flat_map(|run| run.index.blocks());
        scratch.discard(
            blocks.map(|block| (block.place, align_up(u64::from(block.records) * job.record_bytes as u64))),
        )?;
        reduced.push(Run { index: index.expect("a merge to a run makes an index"), resident: None });
    }
    Ok(reduced)
}
