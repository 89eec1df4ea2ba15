//! One merge of runs into a sink: on one thread, or on several that the calling thread coordinates.

use super::super::areas::Areas;
use super::super::chunk::Chunk;
use super::super::job::LinesJob;
use super::super::run::Run;
use super::coordinator::{Coordinator, MergeStart, MergeWorkers};
use super::memory::MergeMemory;
use super::ordered_writer::OrderedWriter;
use super::sink::Sink;
use super::worker::{MergeOutcome, MergeTask, MergeWorker};
use crate::Error;
use crate::job::threads::spawn_up_to;
use crossbeam_channel::{Receiver, Sender, never, unbounded};
use xsort_disk::Lease;
use xsort_kernels::lines::SameBytes;

/// Least bytes of a segment if all runs are in memory. Such a segment stays in a core's cache until
/// it is written to the page cache, and threads wait less for their turn to write.
const SEGMENT_BYTES_IN_MEMORY: usize = 1 << 20;
/// Least bytes of a segment per run in memory, because each cut searches all runs.
const RUN_BYTES_IN_MEMORY: usize = 32 << 10;

/// Merges `runs` into `sink`, with one thread per write buffer. Returns the sink, and the memory of
/// `areas`.
pub(crate) fn merge_runs<S: Sink>(
    job: &LinesJob<'_>,
    runs: &[Run],
    start: &MergeStart,
    areas: Areas,
    write_buffers: &mut [Lease],
    sink: S,
) -> Result<(S, Areas), Error> {
    let memory = MergeMemory::new(areas, runs, &job.plan)?;
    let writer = OrderedWriter::new(sink);
    let chunks = runs.iter().map_while(Run::chunk);
    let same = Chunk::same_bytes(chunks).filter(|_| runs.iter().all(Run::is_in_memory));
    let same = same.as_ref();
    let merge = OneMerge { job, runs, same, start, memory: &memory, writer: &writer };
    match write_buffers.len().min(job.plan.threads) {
        1 => merge.on_this_thread(&mut write_buffers[0]),
        threads => merge.on_threads(threads, write_buffers),
    }
    job.failure.check()?;
    Ok((writer.into_sink(), memory.into_areas()))
}

/// The state of a merge that doesn't depend on its number of threads.
struct OneMerge<'a, 'j, S> {
    job: &'j LinesJob<'a>,
    runs: &'j [Run],
    /// Bytes that all keys share, if known.
    same: Option<&'j SameBytes>,
    start: &'j MergeStart,
    memory: &'j MergeMemory,
    writer: &'j OrderedWriter<S>,
}

impl<'j, S: Sink> OneMerge<'_, 'j, S> {
    fn on_this_thread(&self, write_buffer: &mut Lease) {
        write_buffer.populate(0..write_buffer.len());
        let segment_bytes = segment_bytes(self.runs, write_buffer);
        let worker = MergeWorker::new(self.job, self.same, self.writer);
        self.coordinate(segment_bytes, ThisThread { worker, write_buffer, outcomes: never() });
    }

    fn on_threads(&self, threads: usize, write_buffers: &mut [Lease]) {
        let segment_bytes = segment_bytes(self.runs, &write_buffers[0]);
        let (blocks, blocks_from) = unbounded();
        let (segments, segments_from) = unbounded();
        let (done, outcomes) = unbounded();
        let mut write_buffers = write_buffers.iter_mut();
        // In any case the end of the scope drops the tasks' senders, and that ends the threads.
        std::thread::scope(|scope| {
            let started = spawn_up_to(
                scope,
                threads,
                |error| self.job.failure.set(error),
                |_| {
                    let (blocks, segments, done) =
                        (blocks_from.clone(), segments_from.clone(), done.clone());
                    let write_buffer = write_buffers.next().expect("one for each thread");
                    let worker = MergeWorker::new(self.job, self.same, self.writer);
                    move || worker.run(write_buffer, &blocks, &segments, &done)
                },
            );
            if let Err(error) = started {
                self.job.failure.set(error);
            }
            self.coordinate(segment_bytes, Threads { blocks, segments, outcomes, threads });
        });
    }

    /// Merges to the end. An error fails the job at once, because threads that wait for their turn
    /// to write wait until then.
    fn coordinate(&self, segment_bytes: usize, workers: impl MergeWorkers<'j>) {
        let OneMerge { job, runs, start, memory, .. } = *self;
        let merge = Coordinator::new(job, runs, start, memory, segment_bytes, workers);
        if let Err(error) = merge.run() {
            job.failure.set(error);
        }
    }
}

/// Bytes of a segment, chosen so that it rarely needs the write buffer twice.
fn segment_bytes(runs: &[Run], write_buffer: &Lease) -> usize {
    let most = write_buffer.len() / 4 * 3;
    if !runs.iter().all(Run::is_in_memory) {
        return most;
    }
    most.min((runs.len() * RUN_BYTES_IN_MEMORY).max(SEGMENT_BYTES_IN_MEMORY))
}

/// Does tasks at once.
struct ThisThread<'b, 'a, 'j, S> {
    worker: MergeWorker<'a, 'j, S>,
    write_buffer: &'b mut Lease,
    outcomes: Receiver<Result<MergeOutcome, Error>>,
}

impl<'r, S: Sink> MergeWorkers<'r> for ThisThread<'_, '_, '_, S> {
    fn give(&mut self, task: MergeTask<'r>) -> Result<Option<MergeOutcome>, Error> {
        self.worker.work(task, self.write_buffer).map(Some)
    }

    fn outcomes(&self) -> &Receiver<Result<MergeOutcome, Error>> {
        &self.outcomes
    }

    fn threads(&self) -> usize {
        1
    }
}

/// Sends tasks to threads.
struct Threads<'r> {
    blocks: Sender<MergeTask<'r>>,
    segments: Sender<MergeTask<'r>>,
    outcomes: Receiver<Result<MergeOutcome, Error>>,
    threads: usize,
}

impl<'r> MergeWorkers<'r> for Threads<'r> {
    fn give(&mut self, task: MergeTask<'r>) -> Result<Option<MergeOutcome>, Error> {
        match task {
            MergeTask::Merge(_) => self.segments.send(task),
            MergeTask::Decompress(_) | MergeTask::Check(_) => self.blocks.send(task),
        }
        .expect("the threads live as long as the scope");
        Ok(None)
    }

    fn outcomes(&self) -> &Receiver<Result<MergeOutcome, Error>> {
        &self.outcomes
    }

    fn threads(&self) -> usize {
        self.threads
    }
}
