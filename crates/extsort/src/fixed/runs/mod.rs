//! Runs and merge: every chunk is sorted as it comes and goes to scratch as a run, then all runs
//! are merged.
//!
//! The outline: form runs, merge some of them on the way if they are too many for one merge, merge
//! the rest into the output.

mod block;
mod cut;
mod forecast;
mod form;
mod merge;
mod merger;
mod plan;
mod run;
mod segment;

pub use plan::MergeShape;
pub(crate) use plan::within;

use super::job::{Job, SortIo, Sorted};
use super::memory::Memory;
use super::output::{Output, Seams};
use super::parts::Written;
use super::phases::Phases;
use crate::Error;
use crate::store::journal::Step;
use form::form;
use merge::{Sink, merge};
use run::Index;
pub(crate) use run::Run;
use std::sync::Arc;
use xsort_disk::{ALIGNMENT, BlockPool, FileId, align_up};
use xsort_records::Key;

/// Phase one: reads the inputs, and makes a sorted run of each chunk.
pub(crate) fn form_runs<K: Key>(
    job: &Job<'_, K>,
    io: &mut SortIo<'_>,
    memory: &mut Memory,
    phases: &mut Phases<'_>,
) -> Result<Vec<Run>, Error> {
    phases.begin("form runs", job.plan.bytes);
    form(job, io, memory)
}

/// Phase two: merges the runs into the output, which is then complete but not in place.
pub(crate) fn merge_runs<K: Key>(
    job: &Job<'_, K>,
    shape: &MergeShape,
    mut runs: Vec<Run>,
    output_file: FileId,
    memory: &mut Memory,
    phases: &mut Phases<'_>,
) -> Result<Sorted, Error> {
    let plan = job.plan;
    let mut merges = 0;
    let output_block_bytes = plan.output_block_bytes.max(plan.block_bytes) as usize;
    // Large ones before small ones: between runs that stay there are holes, where pages always find
    // room.
    let mut output_memory = Memory::new(memory.take(plan.output_blocks, output_block_bytes));
    let pages = memory.take(plan.seam_pages, ALIGNMENT);
    let read_blocks = BlockPool::new(memory.take_rest(), plan.block_bytes as usize);
    while runs.len() > shape.fan_in_max {
        let block_pool = BlockPool::new(output_memory.take_rest(), plan.block_bytes as usize);
        runs = reduce(job, shape, runs, &mut merges, &read_blocks, &block_pool, phases)?;
        output_memory.give(block_pool.dissolve());
    }

    job.reclaim()?;
    phases.begin("merge", plan.bytes);
    let output = Output {
        file: output_file,
        bytes: plan.bytes,
        blocks: BlockPool::new(output_memory.take_rest(), plan.output_block_bytes as usize),
        seams: Seams::new(BlockPool::new(pages, ALIGNMENT)),
    };
    let written = output.go_on(job)?;
    let merged = merge(job, shape, &runs, &read_blocks, &Sink::Output(&output), written)?;
    Ok(Sorted { written: merged.checksum, prefix: merged.prefix })
}

/// One pass on the way: merges as many neighbouring runs as brings their number closest to the
/// fan-in.
fn reduce<K: Key>(
    job: &Job<'_, K>,
    shape: &MergeShape,
    runs: Vec<Run>,
    merges: &mut u64,
    read_blocks: &Arc<BlockPool>,
    write_blocks: &Arc<BlockPool>,
    phases: &mut Phases<'_>,
) -> Result<Vec<Run>, Error> {
    let sizes = crate::store::merge_groups::merge_groups(runs.len(), shape.fan_in_max);
    let mut rest = runs.into_iter();
    let groups: Vec<Vec<Run>> =
        sizes.into_iter().map(|taken| rest.by_ref().take(taken).collect()).collect();
    let moved = groups.iter().filter(|group| group.len() > 1).flatten();
    let records: u64 = moved.map(|run| run.index.records()).sum();
    phases.begin("reduce", records * job.record_bytes as u64);
    let mut reduced = Vec::with_capacity(groups.len());
    for mut group in groups {
        if group.len() == 1 {
            reduced.append(&mut group);
            continue;
        }
        let step = Step::IntermediatePass(*merges);
        *merges += 1;
        let index = match job.notes.replay::<Index>(step)? {
            Some(index) => {
                index.claim(job);
                job.observer.advance(index.records() * job.record_bytes as u64);
                index
            }
            None => {
                let sink = Sink::Run(write_blocks);
                let merged = merge(job, shape, &group, read_blocks, &sink, Written::default())?;
                let index = merged.index.expect("a merge to a run makes an index");
                job.notes.record(step, &index);
                // Before what it was made of goes.
                job.notes.flush(&job.failure)?;
                index
            }
        };
        let blocks = group.iter().flat_map(|run| run.index.blocks());
        job.scratch().discard(blocks.map(|block| {
            (block.place, align_up(u64::from(block.records) * job.record_bytes as u64))
        }))?;
        reduced.push(Run { index, resident: None });
    }
    Ok(reduced)
}
