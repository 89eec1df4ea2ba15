//! The thread that cuts and merges: one segment at a time, all of whose blocks are in memory.

use super::block::write_block;
use super::cut::{Cut, Parts};
use super::forecast::Entry;
use super::merge::Sink;
use super::run::{Index, Run};
use super::segment::Segment;
use crate::Error;
use crate::fixed::job::Job;
use crate::fixed::output::Portion;
use crate::fixed::parts::Stretch;
use crossbeam_channel::{Receiver, Sender};
use std::sync::Arc;
use xsort_disk::{BlockPool, Completion};
use xsort_kernels::{Merge, Node};
use xsort_records::{Checksum, Key};

/// A thread that merges segments.
pub(crate) struct Merger<'a, K> {
    pub(crate) job: &'a Job<'a, K>,
    pub(crate) runs: &'a [Run],
    pub(crate) sink: &'a Sink<'a>,
    pub(crate) written: Sender<Completion>,
}

/// A segment that was merged.
pub(crate) struct Done {
    pub(crate) number: usize,
    /// Writes that were started for it.
    pub(crate) writes: usize,
    pub(crate) stretch: Stretch,
    pub(crate) records: u64,
    pub(crate) index: Option<Index>,
}

impl<K: Key> Merger<'_, K> {
    pub(crate) fn run(self, segments: &Receiver<Segment>, done: &Sender<Done>) {
        let mut nodes = Vec::new();
        while let Ok(segment) = self.job.stage_times.merge_waits_for_read.time(|| segments.recv()) {
            if self.job.failure.is_set() {
                continue;
            }
            match self.merge(segment, &mut nodes) {
                // The coordinator may have given up already; then nobody wants to know.
                Ok(result) => drop(done.send(result)),
                Err(error) => self.job.failure.set(error),
            }
        }
    }

    fn merge(&self, segment: Segment, nodes: &mut Vec<Node>) -> Result<Done, Error> {
        let Job { key, record_bytes, stage_times, .. } = *self.job;
        let end =
            Arc::new(stage_times.cut_busy.time_cpu(|| Cut::find(self.job, self.runs, &segment)));
        // Whoever has the next segment may have given up already.
        drop(segment.end.send(Arc::clone(&end)));
        let start = stage_times.merge_waits_for_read.time(|| segment.start.recv());
        // Whoever has the last segment never waits for this one. It only fails to send if the sort
        // has failed.
        let start = start.map_err(|_| Error::Cancelled)?;
        let parts = stage_times
            .output_busy
            .time(|| Parts::between(self.job, self.runs, &segment, &start, &end))?;
        let records = end
            .records
            .checked_sub(start.records)
            .expect("no cut in any run lies before the last one");
        let runs = parts.kernel_runs(self.runs, record_bytes);
        nodes.resize_with(Merge::<K>::nodes_needed(runs.len()), Node::default);
        let mut merge = Merge::new(key, record_bytes, self.shared_bytes(&segment), &runs, nodes);

        let mut checksum = Checksum::default();
        let (mut index, mut crc, mut tail) = (None, None, Vec::new());
        let writes = match self.sink {
            Sink::Output(output) => {
                let start = start.records * record_bytes as u64;
                let fill = |out: &mut [u8]| {
                    let merged = merge.fill(out);
                    assert_eq!(
                        merged * record_bytes,
                        out.len(),
                        "a segment holds the records that its cuts say"
                    );
                };
                let portion = Portion { part: segment.number, start, records };
                let filled = output.fill(self.job, fill, portion, &mut checksum, &self.written)?;
                (crc, tail) = (filled.crc, filled.tail);
                filled.writes
            }
            Sink::Run(block_pool) => {
                let made = fill_run(
                    self.job,
                    block_pool,
                    &mut merge,
                    segment.number,
                    records,
                    &self.written,
                )?;
                let writes = made.blocks().len();
                index = Some(made);
                writes
            }
        };
        let stretch = Stretch { sources: segment.sources as u64, checksum, crc, tail };
        Ok(Done { number: segment.number, writes, stretch, records, index })
    }

    /// Length of a key prefix that all records of a segment share.
    fn shared_bytes(&self, segment: &Segment) -> usize {
        let key = |entry: Entry| self.runs[entry.run as usize].index.key(entry.block as usize);
        let high = match segment.next {
            Some(next) => Some(key(next)),
            None => self.runs.iter().map(|run| run.index.largest()).max(),
        };
        high.map_or(0, |high| xsort_kernels::shared_prefix(key(segment.first), high))
    }
}

/// Merges `records` records into blocks of a longer run.
fn fill_run<K: Key>(
    job: &Job<'_, K>,
    block_pool: &Arc<BlockPool>,
    merge: &mut Merge<'_, K>,
    part: usize,
    records: u64,
    written: &Sender<Completion>,
) -> Result<Index, Error> {
    let record_bytes = job.record_bytes;
    let block_records = job.block_records() as u64;
    let mut index = Index::with_capacity(job.key.bytes(), records.div_ceil(block_records) as usize);
    let mut left = records;
    while left > 0 {
        let block = job.stage_times.output_waits_for_write.time(|| block_pool.take());
        let mut block = block.ok_or(Error::Cancelled)?;
        let wanted = left.min(block_records) as usize;
        job.stage_times.output_busy.time(|| {
            let merged = merge.fill(&mut block[..wanted * record_bytes]);
            assert_eq!(merged, wanted, "a segment holds the records that its cuts say");
            if left == wanted as u64 {
                let last = (wanted - 1) * record_bytes;
                index.set_largest(|out| job.key.encode(&block[last..last + record_bytes], out));
            }
            write_block(job, block, wanted, &mut index, part, written)
        })?;
        job.observer.advance((wanted * record_bytes) as u64);
        left -= wanted as u64;
    }
    Ok(index)
}
