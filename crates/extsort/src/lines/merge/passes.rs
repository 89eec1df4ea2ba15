//! Merge passes: too many runs for the memory are first merged to fewer.

use super::super::areas::Areas;
use super::super::block::SpilledBlock;
use super::super::job::LinesJob;
use super::super::run::Run;
use super::super::spill::Spiller;
use super::coordinator::MergeStart;
use super::memory::{Need, fan_in_max};
use super::threads::merge_runs;
use crate::Error;
use crate::store::journal::Step;
use crate::store::merge_groups::merge_groups;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{Lease, align_down};

/// Merges adjacent runs until the memory has blocks for the remaining ones.
pub(crate) fn reduce(
    job: &LinesJob<'_>,
    mut runs: Vec<Run>,
    mut areas: Areas,
    write_buffers: &mut Vec<Lease>,
) -> Result<(Vec<Run>, Areas), Error> {
    if !runs.iter().all(Run::is_in_memory) {
        spill_for_blocks(job, &mut runs, &mut areas, write_buffers)?;
    }
    let mut passes = Passes { job, merges: 0, areas };
    while !Need::least(&runs, &job.plan).is_met(passes.areas.sizes()) && runs.len() > 2 {
        runs = passes.run(runs, write_buffers)?;
    }
    Ok((runs, passes.areas))
}

/// Spills runs until there is memory for the blocks of all runs on scratch.
fn spill_for_blocks(
    job: &LinesJob<'_>,
    runs: &mut [Run],
    areas: &mut Areas,
    write_buffers: &mut Vec<Lease>,
) -> Result<(), Error> {
    for number in 0..runs.len() {
        if Need::ample(runs, &job.plan).is_met(areas.sizes()) {
            break;
        }
        let Run::InMemory(chunk) = &runs[number] else { continue };
        let write_buffer = write_buffers.pop().expect("one for each thread");
        let mut spiller = Spiller::new(job, write_buffer);
        let blocks = spiller.spill(chunk.slice(0..chunk.end()))?;
        write_buffers.push(spiller.into_write_buffer());
        if let Run::InMemory(chunk) = std::mem::replace(&mut runs[number], Run::OnScratch(blocks)) {
            areas.give(chunk.into_area());
        }
    }
    Ok(())
}

struct Passes<'a, 'j> {
    job: &'j LinesJob<'a>,
    /// Merges of all passes so far.
    merges: u64,
    areas: Areas,
}

impl Passes<'_, '_> {
    /// Runs one pass: merges groups of adjacent runs, each as large as the memory has blocks for.
    fn run(&mut self, runs: Vec<Run>, write_buffers: &mut Vec<Lease>) -> Result<Vec<Run>, Error> {
        let fan_in_max = fan_in_max(&runs, &self.job.plan, &self.areas);
        let sizes = merge_groups(runs.len(), fan_in_max);
        let mut rest = runs.into_iter();
        let mut merged = Vec::new();
        // The spiller has its own write buffer: the last one, or half of the only one.
        let mut own = write_buffers.pop().expect("one for each thread");
        if write_buffers.is_empty() {
            write_buffers.push(own.split_off_front(align_down(own.len() as u64 / 2) as usize));
        }
        self.job.observer.phase("merge pass", 0);
        for size in sizes {
            let group: Vec<Run> = rest.by_ref().take(size).collect();
            if size == 1 {
                merged.extend(group);
                continue;
            }
            let blocks;
            (blocks, own) = self.merge_group(&group, write_buffers, own)?;
            merged.push(Run::OnScratch(blocks));
            self.free(group)?;
        }
        write_buffers.push(own);
        Ok(merged)
    }

    /// Merges a group to one run on scratch, unless an earlier process has done so. Returns its
    /// blocks, and the spiller's write buffer.
    fn merge_group(
        &mut self,
        group: &[Run],
        write_buffers: &mut [Lease],
        own: Lease,
    ) -> Result<(Vec<SpilledBlock>, Lease), Error> {
        let job = self.job;
        let step = Step::IntermediatePass(self.merges);
        self.merges += 1;
        let mut own = Some(own);
        let (blocks, _) = job.journal.replay_or_run(
            step,
            &job.failure,
            |(blocks, dropped_sum): &(Vec<SpilledBlock>, u64)| {
                job.balance.dropped(*dropped_sum);
                job.claim(step, blocks)
            },
            || {
                let before = job.balance.written_or_dropped();
                let spiller = Spiller::new(job, own.take().expect("it is used once"));
                let areas = std::mem::replace(&mut self.areas, Areas::new(Vec::new()));
                let start = MergeStart::default();
                let (mut spiller, areas) =
                    merge_runs(job, group, &start, areas, write_buffers, spiller)?;
                self.areas = areas;
                let blocks = spiller.end()?;
                own = Some(spiller.into_write_buffer());
                Ok((blocks, job.balance.written_or_dropped().wrapping_sub(before)))
            },
        )?;
        Ok((blocks, own.expect("the spiller returns it")))
    }

    /// Returns the memory and scratch of merged runs.
    fn free(&mut self, group: Vec<Run>) -> Result<(), Error> {
        let merged: usize = group.iter().map(|run| run.blocks().len()).sum();
        self.job.indexed_blocks.fetch_sub(merged as u64, Relaxed);
        let blocks = group.iter().flat_map(Run::blocks);
        let scratch = self.job.scratch()?;
        scratch.discard(blocks.map(|block| (block.address, block.paged_bytes())))?;
        for run in group {
            if let Run::InMemory(chunk) = run {
                self.areas.give(chunk.into_area());
            }
        }
        Ok(())
    }
}
