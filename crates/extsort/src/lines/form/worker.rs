//! The tasks of phase one's threads: sorting chunks and spilling them.

use super::super::block::SpilledBlock;
use super::super::chunk::{Chunk, ChunkSlice, HashSums};
use super::super::job::LinesJob;
use super::super::merge::{MergeWorker, MergedOutput, OrderedWriter, RunSlice, Segment};
use super::super::spill::Spiller;
use super::group::ChunkGroup;
use crate::Error;
use crossbeam_channel::{Receiver, Sender, select};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{Lease, Prefault};

/// A task on chunks.
pub(crate) enum FormTask {
    /// Touches memory that the reading thread is about to fill. It has no outcome.
    Prefault(Prefault),
    /// Sorts a chunk, given with its number.
    Sort(usize, Chunk),
    Spill(SpillPart),
}

/// A task to spill a part of a run, or to write it to the output.
pub(crate) struct SpillPart {
    /// The number of the run's first chunk.
    pub(crate) run: usize,
    pub(crate) group: Arc<ChunkGroup>,
    pub(crate) part: usize,
    /// The number of the output's segment that the part becomes; `None` if it is spilled.
    pub(crate) segment: Option<usize>,
}

/// The outcome of a task.
pub(crate) enum FormOutcome {
    /// A sorted chunk with its number, its sums, and the memory of dropped lines.
    Sorted(usize, Chunk, HashSums, Lease),
    Spilled(SpilledPart),
}

/// A chunk whose lines are in order.
pub(crate) struct SortedChunk {
    pub(crate) chunk: Chunk,
    pub(crate) sums: HashSums,
    /// The memory of dropped lines.
    pub(crate) rest: Lease,
    /// True if its lines have moved to other memory.
    pub(crate) has_moved: bool,
}

/// A part of a run, on scratch, or in the output without blocks.
pub(crate) struct SpilledPart {
    /// The number of the run's first chunk.
    pub(crate) run: usize,
    pub(crate) part: usize,
    pub(crate) blocks: Vec<SpilledBlock>,
    /// Sum of the hashes of lines dropped as duplicates of other chunks' lines.
    pub(crate) dropped_sum: u64,
}

/// Does tasks, on one thread per pair of buffers.
pub(crate) struct FormWorker<'a, 'j> {
    job: &'j LinesJob<'a>,
    sort_buffers: Mutex<Vec<Lease>>,
    write_buffers: Mutex<Vec<Lease>>,
    /// The output, if lines that come in order are written in phase one.
    output: Option<OrderedWriter<MergedOutput<'j>>>,
}

/// The memory of the workers, and their output.
pub(crate) struct FormLeft<'j> {
    pub(crate) sort_buffers: Vec<Lease>,
    pub(crate) write_buffers: Vec<Lease>,
    pub(crate) output: Option<MergedOutput<'j>>,
}

impl<'a, 'j> FormWorker<'a, 'j> {
    pub(crate) fn new(
        job: &'j LinesJob<'a>,
        sort_buffers: Vec<Lease>,
        write_buffers: Vec<Lease>,
        output: Option<MergedOutput<'j>>,
    ) -> Self {
        let (sort_buffers, write_buffers) = (Mutex::new(sort_buffers), Mutex::new(write_buffers));
        FormWorker { job, sort_buffers, write_buffers, output: output.map(OrderedWriter::new) }
    }

    /// True if lines that come in order are written in phase one.
    pub(crate) fn has_output(&self) -> bool {
        self.output.is_some()
    }

    /// Does tasks until there are no more or one fails. It prefers the tasks in `first`.
    pub(crate) fn run(
        &self,
        first: &Receiver<FormTask>,
        second: &Receiver<FormTask>,
        done: &Sender<Result<FormOutcome, Error>>,
    ) {
        let stage_times = &self.job.gauges.stage_times;
        let next = || match first.try_recv() {
            Ok(task) => Ok(task),
            Err(_) => select! {
                recv(first) -> task => task.or_else(|_| second.recv()),
                recv(second) -> task => task.or_else(|_| first.recv()),
            },
        };
        while let Ok(task) = stage_times.work_waits_for_read.time(next) {
            let Some(outcome) = self.work(task) else { continue };
            let has_failed = outcome.is_err();
            // The reading thread may have given up.
            drop(done.send(outcome));
            if has_failed {
                // This thread's buffers may be lost.
                return;
            }
        }
    }

    /// Does one task. Returns its outcome, if it has one.
    pub(crate) fn work(&self, task: FormTask) -> Option<Result<FormOutcome, Error>> {
        match task {
            FormTask::Prefault(prefault) => {
                prefault.populate();
                None
            }
            FormTask::Sort(number, chunk) => {
                let SortedChunk { chunk, sums, rest, .. } = self.sort(chunk, None);
                Some(Ok(FormOutcome::Sorted(number, chunk, sums, rest)))
            }
            FormTask::Spill(part) => Some(self.spill(part).map(FormOutcome::Spilled)),
        }
    }

    /// Sorts a chunk. Its lines may move to `to`; see [`Chunk::sort`].
    pub(crate) fn sort(&self, mut chunk: Chunk, to: Option<&mut Lease>) -> SortedChunk {
        let LinesJob { order, options, gauges, balance, .. } = self.job;
        let mut buffer = self.sort_buffers.lock().pop().expect("one for each thread");
        if self.job.is_memory_reused() {
            buffer.renew();
        }
        let needs_hashes = self.job.needs_hashes();
        let sort = || chunk.sort(*order, options, needs_hashes, &mut buffer, to);
        let (sums, has_moved) = gauges.stage_times.sort_busy.time(sort);
        gauges.counts.chunks.fetch_add(1, Relaxed);
        balance.read(sums.read);
        balance.dropped(sums.dropped);
        self.sort_buffers.lock().push(buffer);
        let rest = chunk.trim();
        SortedChunk { chunk, sums, rest, has_moved }
    }

    /// Merges a part of a group's chunks to scratch. Its reference to the group is dropped when
    /// this returns.
    fn spill(&self, part: SpillPart) -> Result<SpilledPart, Error> {
        let SpillPart { run, group, part, segment } = part;
        if let Some(segment) = segment {
            self.put_out(&group, part, segment)?;
            return Ok(SpilledPart { run, part, blocks: Vec::new(), dropped_sum: 0 });
        }
        let LinesJob { order, options, balance, .. } = self.job;
        let mut buffer = self.write_buffers.lock().pop().expect("one for each thread");
        if self.job.is_memory_reused() {
            buffer.renew();
        }
        let mut spiller = Spiller::new(self.job, buffer);
        let slices = group.part(part);
        let (blocks, dropped_sum) = if let [slice] = slices[..] {
            (spiller.spill(slice)?, 0)
        } else {
            let lines: Vec<_> = slices.iter().map(ChunkSlice::lines).collect();
            let (delimiter, is_unique) = (options.delimiter, options.is_unique);
            let same = group.same_bytes();
            let mut merge = order.merge(delimiter, is_unique, &lines, None, same.as_ref());
            merge.omit_written_sum();
            (spiller.spill_merged(&mut *merge)?, merge.sums().1)
        };
        balance.dropped(dropped_sum);
        self.write_buffers.lock().push(spiller.into_write_buffer());
        Ok(SpilledPart { run, part, blocks, dropped_sum })
    }

    /// Writes a part of a group to the output, as this segment.
    fn put_out(&self, group: &ChunkGroup, part: usize, segment: usize) -> Result<(), Error> {
        let output = self.output.as_ref().expect("nothing comes in order without an output");
        let slices = group.part(part).into_iter().map(RunSlice::InMemory).collect();
        let segment = Segment { number: segment, slices, positions: Vec::new(), cut_lines: None };
        let same = group.same_bytes();
        let mut buffer = self.write_buffers.lock().pop().expect("one for each thread");
        if self.job.is_memory_reused() {
            buffer.renew();
        }
        let written =
            MergeWorker::of_phase_one(self.job, same.as_ref(), output).merge(&segment, &mut buffer);
        self.write_buffers.lock().push(buffer);
        written.map(|_| ())
    }

    /// Takes the buffers and the output back.
    pub(crate) fn into_left(self) -> FormLeft<'j> {
        FormLeft {
            sort_buffers: self.sort_buffers.into_inner(),
            write_buffers: self.write_buffers.into_inner(),
            output: self.output.map(OrderedWriter::into_sink),
        }
    }
}
