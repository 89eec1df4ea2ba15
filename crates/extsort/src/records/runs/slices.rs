//! Cutting a segment: the cut at its end, and its blocks' records between its two cuts.

use super::cut::Cut;
use super::forecast::RunBlock;
use super::run::Run;
use super::segment::{RunShare, Segment};
use crate::Error;
use crate::records::job::SortJob;

/// Finds the cut at the end of a segment.
pub(crate) fn find_cut(job: &SortJob<'_>, runs: &[Run], segment: &Segment) -> Result<Cut, Error> {
    let mut cut = Cut { offsets: vec![0; runs.len()], records: segment.records_passed };
    for share in &segment.shares {
        let run = &runs[share.run];
        let index = &run.index;
        let records = index.blocks()[share.last].records as usize;
        let offset = match segment.next {
            None => records,
            Some(next) if next.run as usize == share.run => records,
            Some(RunBlock { run: next, block }) => {
                let key = runs[next as usize].index.key(block as usize);
                // Equal keys of earlier runs come before the cut, equal keys of later runs after
                // it.
                let include_equal = share.run < next as usize;
                let SortJob { kernels, record_bytes, .. } = *job;
                if let Some(resident) = run.resident() {
                    let first = share.last * job.block_records();
                    let all = resident.records(record_bytes);
                    if let Some(order) = resident.order() {
                        let order = &order[first..][..records];
                        kernels.bound_in_order(all, record_bytes, order, key, include_equal)
                    } else {
                        let block = &all[first * record_bytes..][..records * record_bytes];
                        kernels.bound_in_block(block, record_bytes, key, include_equal)
                    }
                } else {
                    let last = segment.blocks(share).last().expect("a share has a block");
                    let block = last.records(job, &index.blocks()[share.last])?;
                    kernels.bound_in_block(block, record_bytes, key, include_equal)
                }
            }
        };
        cut.offsets[share.run] = offset as u32;
        cut.records += offset as u64;
    }
    Ok(cut)
}

/// The records of one run between two cuts.
enum MergeSlice {
    /// The next `n` slices of `MergeSlices::blocks`, whose records are in order.
    Blocks(usize),
    /// A range of a resident run's order.
    Ordered { run: usize, from: usize, to: usize },
}

/// The records of a segment between its two cuts.
pub(crate) struct MergeSlices<'s> {
    /// The runs with records, in order.
    runs: Vec<MergeSlice>,
    /// Slices of spilled blocks and of runs whose records are in order, run after run.
    blocks: Vec<&'s [u8]>,
}

impl<'s> MergeSlices<'s> {
    /// The records of `segment` between the cuts at its beginning and end. Checks the seal of each
    /// uncompressed block that begins there, so that every block is checked. Compressed blocks are
    /// checked when they are decompressed.
    pub(crate) fn between(
        job: &SortJob<'_>,
        runs: &'s [Run],
        segment: &'s Segment,
        start: &Cut,
        end: &Cut,
    ) -> Result<MergeSlices<'s>, Error> {
        let mut slices =
            MergeSlices { runs: Vec::with_capacity(segment.shares.len()), blocks: Vec::new() };
        for share in &segment.shares {
            let from = start.offsets[share.run] as usize;
            let to = end.offsets[share.run] as usize;
            if let Some(resident) = runs[share.run].resident() {
                let place = |block, offset| block * job.block_records() + offset;
                let (from, to) = (place(share.first, from), place(share.last, to));
                if from >= to {
                    continue;
                }
                slices.runs.push(if resident.order().is_some() {
                    MergeSlice::Ordered { run: share.run, from, to }
                } else {
                    let records = resident.records(job.record_bytes);
                    slices.blocks.push(&records[from * job.record_bytes..to * job.record_bytes]);
                    MergeSlice::Blocks(1)
                });
            } else {
                let before = slices.blocks.len();
                slices.add_spilled(job, &runs[share.run], segment, share, from..to)?;
                let count = slices.blocks.len() - before;
                if count > 0 {
                    slices.runs.push(MergeSlice::Blocks(count));
                }
            }
        }
        Ok(slices)
    }

    /// Adds the records of a spilled run, from `offsets.start` in its first block to `offsets.end`
    /// in its last block.
    fn add_spilled(
        &mut self,
        job: &SortJob<'_>,
        run: &Run,
        segment: &'s Segment,
        share: &RunShare,
        offsets: std::ops::Range<usize>,
    ) -> Result<(), Error> {
        for (number, loaded) in (share.first..).zip(segment.blocks(share)) {
            let block = &run.index.blocks()[number];
            let from = if number == share.first { offsets.start } else { 0 };
            let to = if number == share.last { offsets.end } else { block.records as usize };
            // A block without records in this segment needn't be decompressed.
            if from == to {
                continue;
            }
            let records = loaded.records(job, block)?;
            // If a block isn't sorted, a cut in it can lie before an earlier cut.
            if from > to || from == 0 {
                loaded.check(job, run, number, records)?;
            }
            if from > to {
                return Err(Error::Lost { what: format!("the order of run {}", share.run) });
            }
            self.blocks.push(&records[from * job.record_bytes..to * job.record_bytes]);
        }
        Ok(())
    }

    /// The runs in the form that the merge kernel takes.
    pub(crate) fn kernel_runs(
        &'s self,
        runs: &'s [Run],
        record_bytes: usize,
    ) -> Vec<xsort_kernels::Run<'s>> {
        let mut blocks = &self.blocks[..];
        let kernel_run = |slice: &MergeSlice| match *slice {
            MergeSlice::Blocks(count) => {
                let (own, rest) = blocks.split_at(count);
                blocks = rest;
                xsort_kernels::Run::Blocks(own)
            }
            MergeSlice::Ordered { run, from, to } => {
                let resident = runs[run].resident().expect("this run is resident");
                let order = resident.order().expect("this run has an order");
                let records = resident.records(record_bytes);
                xsort_kernels::Run::Ordered { records, order: &order[from..to] }
            }
        };
        self.runs.iter().map(kernel_run).collect()
    }
}
