//! What the threads of phase one do: sort chunks and spill them.

use super::super::block::SpilledBlock;
use super::super::chunk::{Chunk, HashSums};
use super::super::job::LinesJob;
use super::super::spill::Spiller;
use crate::Error;
use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::Lease;
use xsort_kernels::lines::LineOrder;

/// Work on a chunk, whose number is that of its run.
pub(crate) enum FormTask {
    Sort(usize, Chunk),
    Spill(usize, Chunk),
}

/// What became of it.
pub(crate) enum FormOutcome {
    /// With the memory of dropped lines.
    Sorted(usize, Chunk, HashSums, Lease),
    /// With the chunk's memory.
    Spilled(usize, Vec<SpilledBlock>, Lease),
}

/// Does tasks, on as many threads as there are buffers.
pub(crate) struct FormWorker<'a, 'j, O: LineOrder> {
    job: &'j LinesJob<'a, O>,
    sort_buffers: Mutex<Vec<Lease>>,
    write_buffers: Mutex<Vec<Lease>>,
}

impl<'a, 'j, O: LineOrder> FormWorker<'a, 'j, O> {
    pub(crate) fn new(
        job: &'j LinesJob<'a, O>,
        sort_buffers: Vec<Lease>,
        write_buffers: Vec<Lease>,
    ) -> Self {
        let (sort_buffers, write_buffers) = (Mutex::new(sort_buffers), Mutex::new(write_buffers));
        FormWorker { job, sort_buffers, write_buffers }
    }

    /// Does tasks until there are no more.
    pub(crate) fn run(
        &self,
        tasks: &Receiver<FormTask>,
        done: &Sender<Result<FormOutcome, Error>>,
    ) {
        let stage_times = &self.job.gauges.stage_times;
        while let Ok(task) = stage_times.work_waits_for_read.time(|| tasks.recv()) {
            // The reading thread may have given up.
            drop(done.send(self.work(task)));
        }
    }

    /// Does one task.
    pub(crate) fn work(&self, task: FormTask) -> Result<FormOutcome, Error> {
        match task {
            FormTask::Sort(number, chunk) => Ok(self.sort(number, chunk)),
            FormTask::Spill(number, chunk) => self.spill(number, chunk),
        }
    }

    fn sort(&self, number: usize, mut chunk: Chunk) -> FormOutcome {
        let LinesJob { order, options, gauges, balance, .. } = self.job;
        let mut buffer = self.sort_buffers.lock().pop().expect("one for each thread");
        let (delimiter, is_unique) = (options.delimiter, options.is_unique);
        let sort = || chunk.sort(*order, delimiter, is_unique, options.caches, &mut buffer);
        let sums = gauges.stage_times.sort_busy.time(sort);
        gauges.counts.chunks.fetch_add(1, Relaxed);
        balance.read(sums.read);
        balance.dropped(sums.dropped);
        self.sort_buffers.lock().push(buffer);
        let rest = chunk.trim();
        FormOutcome::Sorted(number, chunk, sums, rest)
    }

    fn spill(&self, number: usize, chunk: Chunk) -> Result<FormOutcome, Error> {
        let buffer = self.write_buffers.lock().pop().expect("one for each thread");
        let mut spiller = Spiller::new(self.job, buffer)?;
        let blocks = spiller.spill(&chunk)?;
        self.write_buffers.lock().push(spiller.into_write_buffer());
        Ok(FormOutcome::Spilled(number, blocks, chunk.into_area()))
    }

    /// Takes the sort buffers and the write buffers back.
    pub(crate) fn into_buffers(self) -> (Vec<Lease>, Vec<Lease>) {
        (self.sort_buffers.into_inner(), self.write_buffers.into_inner())
    }
}
