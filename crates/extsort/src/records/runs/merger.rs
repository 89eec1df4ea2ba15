//! The worker of a merge. It cuts and merges one segment at a time, whose blocks are all in memory.

use super::forecast::RunBlock;
use super::run::{Index, Run};
use super::segment::Segment;
use super::sink::Sink;
use super::slices::{MergeSlices, find_cut};
use super::spill::{BlockTimes, BlockWriter};
use crate::Error;
use crate::records::frontier::WrittenRange;
use crate::records::job::SortJob;
use crate::records::output::OutputRange;
use crate::records::pipeline::{WorkedUnit, Worker};
use crossbeam_channel::Sender;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::Completion;
use xsort_kernels::{Node, RecordMerge, nodes_needed};

/// Merges segments.
pub(crate) struct Merger<'a> {
    pub(crate) job: &'a SortJob<'a>,
    pub(crate) runs: &'a [Run],
    pub(crate) sink: &'a Sink<'a>,
    pub(crate) written: Sender<Completion>,
    /// Memory of the loser tree.
    pub(crate) nodes: Vec<Node>,
}

/// The result of merging a segment.
pub(crate) enum MergedSegment {
    /// The records are a range of the output.
    Output(WrittenRange),
    /// The records are on scratch, in these blocks.
    Run(Index),
}

impl Worker for Merger<'_> {
    type Unit = Segment;
    type Product = MergedSegment;

    fn work(&mut self, segment: Segment) -> Result<WorkedUnit<MergedSegment>, Error> {
        let SortJob { kernels, record_bytes, stage_times, .. } = *self.job;
        let end = stage_times.cut_busy.time_cpu(|| find_cut(self.job, self.runs, &segment))?;
        let end = Arc::new(end);
        // The thread with the next segment may be gone already.
        drop(segment.end.send(Arc::clone(&end)));
        let start = stage_times.merge_waits_for_read.time(|| segment.start.recv());
        // The thread with the preceding segment sends its cut unless the sort has failed. It may
        // wait for a block that another thread decompresses, and that thread waits for no other.
        let start = start.map_err(|_| Error::Cancelled)?;
        let slices = stage_times
            .output_busy
            .time(|| MergeSlices::between(self.job, self.runs, &segment, &start, &end))?;
        let records = end
            .records
            .checked_sub(start.records)
            .expect("no cut in any run lies before the one before");
        let runs = slices.kernel_runs(self.runs, record_bytes);
        let mut nodes = std::mem::take(&mut self.nodes);
        nodes.resize_with(nodes_needed(runs.len()), Node::default);
        let shared_bytes = self.shared_bytes(&segment);
        let mut merge = kernels.merge(record_bytes, shared_bytes, &runs, &mut nodes);
        let (writes, product) = match self.sink {
            Sink::Output(output) => {
                let start = start.records * record_bytes as u64;
                let sources = segment.sources as u64;
                let unit = segment.number;
                let range = OutputRange { unit, start, records, sources, has_own_keys: false };
                let mut fill = |out: &mut [u8]| fill_whole(&mut *merge, out, record_bytes);
                let filled = output.fill(self.job, range, &mut fill, &self.written)?;
                (filled.writes, MergedSegment::Output(filled.range))
            }
            Sink::Run(pool) => {
                let records = records as usize;
                let busy = &stage_times.output_busy;
                let waits_for_write = &stage_times.output_waits_for_write;
                let times = BlockTimes { busy, waits_for_write };
                let (unit, written) = (segment.number, &self.written);
                let mut writer = BlockWriter::new(self.job, pool, unit, records, written, times);
                self.fill_run(&mut writer, &mut *merge, records)?;
                let (index, writes) = writer.finish()?;
                (writes, MergedSegment::Run(index))
            }
        };
        drop(merge);
        self.nodes = nodes;
        self.job.gauges.counts.parts.fetch_add(1, Relaxed);
        Ok(WorkedUnit { number: segment.number, area: None, writes, product })
    }
}

impl Merger<'_> {
    /// Length in bytes of a key prefix that all records of a segment share.
    fn shared_bytes(&self, segment: &Segment) -> usize {
        let key = |block: RunBlock| self.runs[block.run as usize].index.key(block.block as usize);
        let high = match segment.next {
            Some(next) => Some(key(next)),
            None => self.runs.iter().map(|run| run.index.largest()).max(),
        };
        high.map_or(0, |high| xsort_kernels::shared_prefix(key(segment.first), high))
    }

    /// Merges `records` records into blocks of a longer run.
    fn fill_run(
        &self,
        writer: &mut BlockWriter<'_>,
        merge: &mut dyn RecordMerge,
        records: usize,
    ) -> Result<(), Error> {
        let SortJob { kernels, record_bytes, stage_times, observer, .. } = *self.job;
        let mut left = records;
        while left > 0 {
            let count = left.min(self.job.block_records());
            let block = &mut writer.block()?[..count * record_bytes];
            stage_times.output_busy.time(|| fill_whole(merge, block, record_bytes));
            if left == count {
                let last = block[(count - 1) * record_bytes..].to_vec();
                writer.index.set_largest(|out| kernels.encode(&last, out));
            }
            writer.finish_block(count)?;
            observer.advance((count * record_bytes) as u64);
            left -= count;
        }
        Ok(())
    }
}

/// Fills `out` with the next records. Panics if there are fewer.
fn fill_whole(merge: &mut dyn RecordMerge, out: &mut [u8], record_bytes: usize) {
    let merged = merge.fill(out);
    assert_eq!(merged * record_bytes, out.len(), "a segment has the records that its cuts say");
}
