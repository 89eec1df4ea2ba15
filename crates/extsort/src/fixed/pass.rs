//! One pass over data: reading, working and writing go on at once.
//!
//! ```text
//!         free areas <---------------------------.
//!             |                                  |
//! source --> fill an area --> work on it --> blocks of memory --> drives
//!        (this thread only    (a thread a chunk,
//!         starts transfers)    nothing shared)
//! ```
//!
//! Forming runs, scattering into bins and gathering bins are all passes: they differ in where the
//! chunks lie, and in what a worker makes of one. Threads are given whole chunks, so that they
//! share nothing but channels.

use super::chunks::Extent;
use super::fill::{Chunk, Filler};
use super::job::Job;
use super::parts::Parts;
use crate::Error;
use crate::job::failure::STOP_INTERVAL;
use crate::job::process::thread_cpu_time;
use crate::job::threads::spawn_up_to;
use crate::store::scratch::Scratch;
use crossbeam_channel::{Receiver, Sender, select_biased, unbounded};
use std::time::Instant;
use xsort_disk::{Completion, FileId, Lease};
use xsort_records::Key;

/// What passes have in common, and what tells one from another.
pub(crate) struct Pass<'a> {
    /// Files that extents name by their place in this list.
    pub(crate) files: &'a [FileId],
    /// Memory to fill with chunks.
    pub(crate) areas: Vec<Lease>,
    /// Whether the bytes read are the pass's progress (else those written are, and whoever writes
    /// tells the observer).
    pub(crate) reads_are_progress: bool,
    /// Scratch, if that is where the workers write: it is told of what is done.
    pub(crate) scratch: Option<&'a Scratch<'a>>,
    /// Wakes every worker that waits for memory, since the pass is being given up.
    pub(crate) give_up: &'a dyn Fn(),
}

/// Is told of each chunk, by number, whose work is done and whose writes have completed.
pub(crate) type Finished<'a, T> = &'a mut dyn FnMut(usize, &T);

/// Someone who makes something of chunks, one after the other, in a thread of its own.
pub(crate) trait Worker: Send {
    /// What is made of a chunk.
    type Made: Send;

    /// Works on a chunk.
    fn work(&mut self, chunk: Chunk) -> Result<Worked<Self::Made>, Error>;
}

/// A chunk that was worked on.
pub(crate) struct Worked<T> {
    /// The chunk's memory, unless it stays in use.
    pub(crate) area: Option<Lease>,
    /// Writes that were started for it.
    pub(crate) writes: usize,
    /// What was made of it.
    pub(crate) made: T,
}

/// What a pass leaves.
pub(crate) struct Passed<T> {
    /// With the number of the chunk, in their order.
    pub(crate) made: Vec<(usize, T)>,
    /// Areas that are free again.
    pub(crate) areas: Vec<Lease>,
}

/// Runs one pass over `chunks`, which are numbered in rising order. `worker` makes the worker of
/// each thread; its writes' completions go to the sender that it is given.
pub(crate) fn pass<K: Key, W: Worker>(
    job: &Job<'_, K>,
    pass: Pass<'_>,
    chunks: impl Iterator<Item = (usize, Vec<Extent>)>,
    finished: Finished<'_, W::Made>,
    mut worker: impl FnMut(Sender<Completion>) -> W,
) -> Result<Passed<W::Made>, Error> {
    let Pass { files, areas, reads_are_progress, scratch, give_up } = pass;
    let cpu_before = thread_cpu_time();
    let (chunks_to, chunks_from) = unbounded();
    let (worked_to, worked_from) = unbounded();
    let (written_to, written_from) = unbounded();
    let mut made: Vec<(usize, W::Made)> = Vec::new();
    let mut finish = |number, done| {
        finished(number, &done);
        made.push((number, done));
    };
    let mut filler = Filler::new(job, files, chunks, areas, reads_are_progress);
    std::thread::scope(|scope| {
        let started = spawn_up_to(
            scope,
            job.plan.threads,
            |error| job.failure.set(error),
            |_| {
                let mut worker = worker(written_to.clone());
                let (chunks_from, worked_to) = (chunks_from.clone(), worked_to.clone());
                move || run(job, &mut worker, &chunks_from, &worked_to)
            },
        );
        if let Err(error) = started {
            job.failure.set(error);
        }
        let (mut sent, mut worked) = (0, 0);
        let mut parts = Parts::default();
        while !job.should_stop() {
            filler.start_reads();
            for chunk in filler.filled.drain(..) {
                sent += 1;
                chunks_to.send(chunk).expect("workers live as long as this scope");
            }
            if filler.is_done() && worked == sent && parts.is_empty() {
                break;
            }
            let idle_since = filler.is_starved().then(Instant::now);
            select_biased! {
                recv(filler.completions_from) -> completion => {
                    if let Err(error) = filler.finish(completion.expect("the filler holds the sending side")) {
                        job.failure.set(error);
                    }
                }
                recv(written_from) -> completion => {
                    let completion: Completion = completion.expect("this thread holds a sender");
                    job.traffic.finish(&completion);
                    if let Some(scratch) = scratch {
                        scratch.written(&completion);
                    }
                    match completion.result {
                        Err(error) => job.failure.set(error.into()),
                        Ok(()) => {
                            if let Some((number, made)) = parts.written(completion.tag) {
                                finish(number, made);
                            }
                        }
                    }
                }
                recv(worked_from) -> done => {
                    let (number, done): (usize, Worked<W::Made>) = done.expect("this thread holds a sender");
                    worked += 1;
                    if let Some(made) = parts.made(number, done.writes, done.made) {
                        finish(number, made);
                    }
                    filler.areas.extend(done.area);
                }
                default(STOP_INTERVAL) => {}
            }
            if let Some(since) = idle_since {
                job.stage_times.read_waits_for_areas.add(since.elapsed());
            }
        }
        // Workers end when their channel does; one that waits for a block is woken.
        drop(chunks_to);
        if job.failure.is_set() {
            give_up();
        }
    });
    job.stage_times.coordinator_busy.add(thread_cpu_time() - cpu_before);
    job.failure.check()?;
    made.sort_unstable_by_key(|(number, _)| *number);
    Ok(Passed { made, areas: filler.areas })
}

/// The life of a worker.
fn run<K, W: Worker>(
    job: &Job<'_, K>,
    worker: &mut W,
    chunks: &Receiver<Chunk>,
    worked: &Sender<(usize, Worked<W::Made>)>,
) {
    while let Ok(chunk) = job.stage_times.work_waits_for_read.time(|| chunks.recv()) {
        if job.failure.is_set() {
            continue;
        }
        let number = chunk.number;
        match worker.work(chunk) {
            // The coordinator may have given up already; then nobody wants to know.
            Ok(done) => drop(worked.send((number, done))),
            Err(error) => job.failure.set(error),
        }
    }
}
