//! The thread that merges: one segment at a time, all of whose blocks are in memory.

use super::block::write_block;
use super::cut::{Loaded, Part, Segment};
use super::merge::Sink;
use super::run::{Index, Run};
use crate::Error;
use crate::sort::job::{Alarm, Job};
use crate::sort::seal::{check_seal, paged_bytes};
use crossbeam_channel::{Receiver, Sender};
use std::sync::Arc;
use xsort_disk::{Completion, Shelf};
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
    pub(crate) checksum: Checksum,
    pub(crate) records: u64,
    pub(crate) index: Option<Index>,
}

impl<K: Key> Merger<'_, K> {
    pub(crate) fn run(self, segments: &Receiver<Segment>, done: &Sender<Done>) {
        let mut nodes = Vec::new();
        let _alarm = Alarm(&self.job.failure);
        while let Ok(segment) = self.job.ledger.merge_waits_for_read.time(|| segments.recv()) {
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
        let Job { key, record_bytes, ref ledger, .. } = *self.job;
        ledger.output_busy.time(|| self.check_blocks(&segment))?;
        let slices: Vec<Vec<&[u8]>> = segment.parts.iter().map(|part| self.slices(part)).collect();
        let runs: Vec<xsort_kernels::Run<'_>> =
            segment.parts.iter().zip(&slices).map(|(part, slices)| self.kernel_run(part, slices)).collect();
        nodes.resize_with(Merge::<K>::nodes_needed(runs.len()), Node::default);
        let mut merge = Merge::new(key, record_bytes, segment.shared_bytes, &runs, nodes);

        let mut checksum = Checksum::default();
        let mut index = None;
        let writes = match self.sink {
            Sink::Output(output) => {
                let start = segment.first_record * record_bytes as u64;
                let fill = |out: &mut [u8]| {
                    let merged = merge.fill(out);
                    assert_eq!(
                        merged * record_bytes,
                        out.len(),
                        "a segment holds the records that its cuts say"
                    );
                };
                output.fill(self.job, fill, start, segment.records, &mut checksum, &self.written)?.writes
            }
            Sink::Run(shelf) => {
                let made = fill_run(self.job, shelf, &mut merge, segment.records, &self.written)?;
                let writes = made.blocks().len();
                index = Some(made);
                writes
            }
        };
        Ok(Done { number: segment.number, writes, checksum, records: segment.records, index })
    }

    /// Checks every block that begins in this segment, so that each is checked once.
    fn check_blocks(&self, segment: &Segment) -> Result<(), Error> {
        for part in &segment.parts {
            let Part::Blocks { run, blocks } = part else { continue };
            let known = self.runs[*run as usize].index.blocks();
            for (loaded, _, _) in blocks.iter().filter(|(_, from, _)| *from == 0) {
                let block = &known[loaded.block as usize];
                let bytes = paged_bytes(block.records as usize, self.job.record_bytes);
                check_seal(self.job, block.place, &loaded.lease[..bytes], block.checksum)?;
            }
        }
        Ok(())
    }

    fn slices<'s>(&self, part: &'s Part) -> Vec<&'s [u8]> {
        let Part::Blocks { blocks, .. } = part else { return Vec::new() };
        let record_bytes = self.job.record_bytes;
        let slice = |(loaded, from, to): &'s (Arc<Loaded>, usize, usize)| {
            &loaded.lease[from * record_bytes..to * record_bytes]
        };
        blocks.iter().map(slice).collect()
    }

    fn kernel_run<'s>(&'s self, part: &Part, slices: &'s [&'s [u8]]) -> xsort_kernels::Run<'s> {
        match *part {
            Part::Blocks { .. } => xsort_kernels::Run::Blocks(slices),
            Part::Ordered { run, from, to } => {
                let resident =
                    self.runs[run as usize].resident.as_ref().expect("only a resident run has an order");
                xsort_kernels::Run::Ordered {
                    records: resident.records(self.job.record_bytes),
                    order: &resident.order()[from..to],
                }
            }
        }
    }
}

/// Merges `records` records into blocks of a longer run.
fn fill_run<K: Key>(
    job: &Job<'_, K>,
    shelf: &Arc<Shelf>,
    merge: &mut Merge<'_, K>,
    records: u64,
    written: &Sender<Completion>,
) -> Result<Index, Error> {
    let record_bytes = job.record_bytes;
    let block_records = job.block_records() as u64;
    let mut index = Index::with_capacity(job.key.bytes(), records.div_ceil(block_records) as usize);
    let mut left = records;
    while left > 0 {
        let block = job.ledger.output_waits_for_write.time(|| shelf.take());
        let mut block = block.ok_or(Error::Cancelled)?;
        let wanted = left.min(block_records) as usize;
        job.ledger.output_busy.time(|| {
            let merged = merge.fill(&mut block[..wanted * record_bytes]);
            assert_eq!(merged, wanted, "a segment holds the records that its cuts say");
            if left == wanted as u64 {
                let last = (wanted - 1) * record_bytes;
                index.set_largest(|out| job.key.encode(&block[last..last + record_bytes], out));
            }
            write_block(job, block, wanted, &mut index, written)
        })?;
        job.observer.advance((wanted * record_bytes) as u64);
        left -= wanted as u64;
    }
    Ok(index)
}
