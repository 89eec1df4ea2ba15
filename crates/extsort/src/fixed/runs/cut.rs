//! Cutting a merge into segments that threads merge on their own.
//!
//! The records of a merge have a total order: (key, run, place in the run). A cut is a point in
//! that order, chosen where a block begins: everything before the block's first record on one side,
//! the record and everything after on the other. In every other run its place is found by a binary
//! search in a single block, the one that straddles it. So segments have exact bounds and exact
//! places in the output, and one key that fills the whole input is cut as easily as any other:
//! records with equal keys are told apart by run and place.
//!
//! ```text
//! run 0  [  a..............|...b ][ c ....            a segment: what lies between two cuts. The block in
//! run 1      [ b ..........|........ ][ d...          which a cut falls belongs to the segments on both
//! run 2  [ a ..][ b .......|.][ c                     sides of it, and stays until both are merged.
//!                         cut
//! ```
//!
//! Which blocks a cut falls in is known from the forecast alone, so a segment can be handed out
//! before it is cut. The thread that merges it finds the cut at its end, passes that on to whoever
//! has the next segment, and takes the one at its beginning from whoever has the last: all cuts are
//! made side by side.

use super::forecast::Entry;
use super::run::Run;
use super::segment::Segment;
use crate::Error;
use crate::fixed::job::Job;
use crate::store::seal::{check_seal, paged_bytes};
use xsort_kernels::{bound_in_block, bound_in_order};
use xsort_records::Key;

/// Where a cut falls.
#[derive(Debug)]
pub(crate) struct Cut {
    /// For each run how many records come before it of the block in which it falls, which is the
    /// last one that the forecast has before it.
    pub(crate) offsets: Vec<u32>,
    /// How many records come before it in all runs.
    pub(crate) records: u64,
}

impl Cut {
    /// Before everything.
    pub(crate) fn start(runs: usize) -> Cut {
        Cut { offsets: vec![0; runs], records: 0 }
    }

    /// Finds the cut at the end of a segment.
    pub(crate) fn find<K: Key>(job: &Job<'_, K>, runs: &[Run], segment: &Segment) -> Cut {
        let mut cut = Cut { offsets: vec![0; runs.len()], records: segment.records_passed };
        for share in &segment.shares {
            let Run { index, resident } = &runs[share.run];
            let records = index.blocks()[share.last].records as usize;
            let offset = match segment.next {
                None => records,
                Some(next) if next.run as usize == share.run => records,
                Some(Entry { run: of, block }) => {
                    let key = runs[of as usize].index.key(block as usize);
                    // Equal keys of earlier runs come before the cut, those of later runs after it.
                    let include_equal = share.run < of as usize;
                    if let Some(resident) = resident {
                        let order =
                            &resident.order()[share.last * job.block_records()..][..records];
                        let all = resident.records(job.record_bytes);
                        bound_in_order(job.key, all, job.record_bytes, order, key, include_equal)
                    } else {
                        let block =
                            &segment.blocks(share).last().expect("a share has a block").lease;
                        let block = &block[..records * job.record_bytes];
                        bound_in_block(job.key, block, job.record_bytes, key, include_equal)
                    }
                }
            };
            cut.offsets[share.run] = offset as u32;
            cut.records += offset as u64;
        }
        cut
    }
}

/// One run's part of a segment.
pub(crate) enum Part {
    /// So many of the segment's slices.
    Slices(usize),
    /// A range of a resident run's order.
    Ordered { run: usize, from: usize, to: usize },
}

/// What lies between two cuts.
pub(crate) struct Parts<'s> {
    /// In the order of the runs; runs without a record are left out.
    pub(crate) parts: Vec<Part>,
    /// Records of spilled blocks, part after part.
    pub(crate) slices: Vec<&'s [u8]>,
}

impl<'s> Parts<'s> {
    /// What of a segment lies between the cuts at its beginning and at its end. Checks each block
    /// that begins there, so that each is checked once.
    pub(crate) fn between<K: Key>(
        job: &Job<'_, K>,
        runs: &[Run],
        segment: &'s Segment,
        start: &Cut,
        end: &Cut,
    ) -> Result<Parts<'s>, Error> {
        let mut found =
            Parts { parts: Vec::with_capacity(segment.shares.len()), slices: Vec::new() };
        for share in &segment.shares {
            let Run { index, resident } = &runs[share.run];
            let (first, last) =
                (start.offsets[share.run] as usize, end.offsets[share.run] as usize);
            if resident.is_some() {
                let place = |block, offset| block * job.block_records() + offset;
                let (from, to) = (place(share.first, first), place(share.last, last));
                if from < to {
                    found.parts.push(Part::Ordered { run: share.run, from, to });
                }
                continue;
            }
            let before = found.slices.len();
            for (number, loaded) in (share.first..).zip(segment.blocks(share)) {
                let block = &index.blocks()[number];
                let from = if number == share.first { first } else { 0 };
                let to = if number == share.last { last } else { block.records as usize };
                // A block in which a cut lies before the last one isn't sorted.
                if from > to || from == 0 && to > 0 {
                    let bytes = paged_bytes(block.records as usize, job.record_bytes);
                    check_seal(
                        job.disk,
                        job.scratch(),
                        block.place,
                        &loaded.lease[..bytes],
                        block.checksum,
                    )?;
                }
                if from > to {
                    return Err(Error::Lost { what: format!("the order of run {}", share.run) });
                }
                if from < to {
                    found
                        .slices
                        .push(&loaded.lease[from * job.record_bytes..to * job.record_bytes]);
                }
            }
            if found.slices.len() > before {
                found.parts.push(Part::Slices(found.slices.len() - before));
            }
        }
        Ok(found)
    }

    /// As the kernel takes them.
    pub(crate) fn kernel_runs(
        &'s self,
        runs: &'s [Run],
        record_bytes: usize,
    ) -> Vec<xsort_kernels::Run<'s>> {
        let mut slices = &self.slices[..];
        let kernel_run = |part: &Part| match *part {
            Part::Slices(count) => {
                let (own, rest) = slices.split_at(count);
                slices = rest;
                xsort_kernels::Run::Blocks(own)
            }
            Part::Ordered { run, from, to } => {
                let resident =
                    runs[run].resident.as_ref().expect("only a resident run has an order");
                xsort_kernels::Run::Ordered {
                    records: resident.records(record_bytes),
                    order: &resident.order()[from..to],
                }
            }
        };
        self.parts.iter().map(kernel_run).collect()
    }
}
