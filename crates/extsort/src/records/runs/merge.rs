//! Merging the runs into the output, with intermediate passes if there are too many for one merge.
//!
//! ```text
//!          read in the order of the forecast       segments                   pages
//! scratch ----------------------------------> feed ------> cut, merge ------------> output
//!    (free blocks)                    (the coordinator)    (workers)   (free blocks)
//! ```

use super::feed::MergeFeed;
use super::forecast::forecast;
use super::merger::{MergedSegment, Merger};
use super::run::{Index, Run};
use super::sink::Sink;
use crate::Error;
use crate::records::frontier::{OutputFrontier, OutputProgress};
use crate::records::job::{CompleteOutput, SortJob, SortState};
use crate::records::memory::Memory;
use crate::records::output::Output;
use crate::records::phases::Phases;
use crate::records::pipeline::Pipeline;
use crate::records::plan::MergeShape;
use crate::store::journal::Step;
use crate::store::merge_groups::merge_groups;
use std::collections::BTreeMap;
use std::sync::Arc;
use xsort_disk::{ALIGNMENT, BlockPool};

/// Phase two: merges the runs into the output. The output is then complete but not published.
pub(crate) fn merge_runs(
    job: &SortJob<'_>,
    shape: &MergeShape,
    mut runs: Vec<Run>,
    state: &mut SortState<'_>,
) -> Result<CompleteOutput, Error> {
    let plan = job.plan;
    let SortState { io, memory, phases } = state;
    let large_block_bytes = plan.output_block_bytes.max(plan.block_bytes) as usize;
    // Large blocks before small ones: there are holes between resident runs, and pages always fit
    // into those.
    let mut write_memory = Memory::new(memory.take(plan.output_blocks, large_block_bytes));
    let seam_pages = memory.take(plan.seam_pages, ALIGNMENT);
    let read_blocks = BlockPool::new(memory.take_rest(), plan.block_bytes as usize);
    let mut merge = RunMerge { job, shape, read_blocks: &read_blocks, steps: 0 };
    while runs.len() > shape.fan_in_max {
        let write_blocks = BlockPool::new(write_memory.take_rest(), large_block_bytes);
        runs = merge.intermediate_pass(runs, &write_blocks, phases)?;
        write_memory.give(write_blocks.dissolve());
    }

    job.reclaim()?;
    phases.begin("merge", plan.bytes);
    let blocks = BlockPool::new(write_memory.take_rest(), plan.output_block_bytes as usize);
    let output = Output::new(io.output_file, plan.bytes, blocks, seam_pages);
    merge.merge_to_output(&runs, &output)
}

/// The context of all merges of a sort.
struct RunMerge<'a> {
    job: &'a SortJob<'a>,
    shape: &'a MergeShape,
    read_blocks: &'a Arc<BlockPool>,
    /// Number of intermediate merges so far.
    steps: u64,
}

impl RunMerge<'_> {
    /// Merges groups of neighbouring runs, no more than needed to bring their number to the fan-in.
    fn intermediate_pass(
        &mut self,
        runs: Vec<Run>,
        write_blocks: &Arc<BlockPool>,
        phases: &mut Phases<'_>,
    ) -> Result<Vec<Run>, Error> {
        let job = self.job;
        let sizes = merge_groups(runs.len(), self.shape.fan_in_max);
        let mut rest = runs.into_iter();
        let groups: Vec<Vec<Run>> =
            sizes.into_iter().map(|size| rest.by_ref().take(size).collect()).collect();
        let merged = groups.iter().filter(|group| group.len() > 1).flatten();
        let records: u64 = merged.map(|run| run.index.records()).sum();
        phases.begin("reduce", records * job.record_bytes as u64);
        let mut merged = Vec::with_capacity(groups.len());
        for mut group in groups {
            if group.len() == 1 {
                merged.append(&mut group);
                continue;
            }
            let step = Step::IntermediatePass(self.steps);
            self.steps += 1;
            let replay = |index: &Index| {
                index.claim(job).map_err(|detail| job.journal.refuse(step, &detail))?;
                job.observer.advance(index.records() * job.record_bytes as u64);
                Ok(())
            };
            let run = || self.merge_to_run(&group, write_blocks);
            let index = job.journal.replay_or_run(step, &job.failure, replay, run)?;
            let blocks = group.iter().flat_map(|run| run.index.blocks());
            let blocks = blocks.map(|block| block.sealed(job.record_bytes));
            job.scratch().discard(blocks.map(|block| (block.address, block.bytes as u64)))?;
            merged.push(Run::spilled(index));
        }
        Ok(merged)
    }

    /// Merges `runs` into a longer run on scratch. Returns its index.
    fn merge_to_run(&self, runs: &[Run], write_blocks: &Arc<BlockPool>) -> Result<Index, Error> {
        let mut segments = BTreeMap::new();
        let sink = Sink::Run(write_blocks);
        self.merge(runs, &sink, &OutputProgress::default(), |_| {
            |number, product| {
                if let MergedSegment::Run(index) = product {
                    segments.insert(number, index);
                }
            }
        })?;
        let blocks = runs.iter().map(|run| run.index.blocks().len()).sum();
        let mut index = Index::with_capacity(self.job.kernels.key_bytes(), blocks);
        segments.into_values().try_for_each(|next| index.append(next))?;
        check_count(runs, index.records())?;
        Ok(index)
    }

    /// Merges `runs` into the output, after the part that an earlier process has written.
    fn merge_to_output(&self, runs: &[Run], output: &Output) -> Result<CompleteOutput, Error> {
        let job = self.job;
        let begun = output.resume(job)?;
        let mut checksum = begun.checksum();
        let mut frontier = None;
        self.merge(runs, &Sink::Output(output), &begun, |first_segment| {
            let (record_bytes, bytes) = (job.record_bytes, job.plan.bytes);
            let begun = begun.clone();
            let frontier =
                frontier.insert(OutputFrontier::new(record_bytes, bytes, first_segment, begun));
            let checksum = &mut checksum;
            move |number, product| {
                let MergedSegment::Output(range) = product else { return };
                checksum.merge(range.checksum);
                match frontier.add(number, range) {
                    Ok(Some(progress)) => job.journal.record(Step::Written, progress),
                    Ok(None) => {}
                    Err(error) => job.failure.set(error),
                }
            }
        })?;
        check_count(runs, checksum.records())?;
        let progress = frontier.expect("a merge makes one").into_progress();
        Ok(CompleteOutput { checksum, prefix: progress.prefix })
    }

    /// Merges `runs` into `sink`, continuing where `begun` ends. Equal keys keep the order of the
    /// runs. `finished` gets the number of the first segment, and returns the function that takes
    /// each segment once it is written.
    fn merge<F: FnMut(usize, MergedSegment)>(
        &self,
        runs: &[Run],
        sink: &Sink<'_>,
        begun: &OutputProgress,
        finished: impl FnOnce(usize) -> F,
    ) -> Result<(), Error> {
        let RunMerge { job, shape, read_blocks, .. } = *self;
        let times = job.stage_times;
        let forecast =
            times.coordinator_busy.time_cpu(|| times.forecast_busy.time_cpu(|| forecast(runs)));
        let mut feed = MergeFeed::new(job, shape, runs, read_blocks, &forecast, begun)?;
        let mut finished = finished(feed.first_segment());
        let pipeline = Pipeline {
            idle_timer: &times.merge_waits_for_read,
            scratch: match sink {
                Sink::Output(_) => None,
                Sink::Run(_) => job.scratch.as_ref(),
            },
            close: &|| sink.close(),
        };
        let merger = |written| Merger { job, runs, sink, written, nodes: Vec::new() };
        pipeline.run(job, &mut feed, merger, &mut finished)
    }
}

/// Refuses a merge that didn't write all records of its runs.
fn check_count(runs: &[Run], merged: u64) -> Result<(), Error> {
    let expected: u64 = runs.iter().map(|run| run.index.records()).sum();
    if merged == expected {
        return Ok(());
    }
    Err(Error::Lost { what: format!("{merged} records merged of {expected}") })
}
