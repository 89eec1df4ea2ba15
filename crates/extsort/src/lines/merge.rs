//! Phase two: runs are merged, in several passes if they are too many for the budget.
//!
//! This thread brings blocks back and cuts; the others merge a segment each into their desks, and write when it is their turn.

use super::Job;
use super::behind::Behind;
use super::cut::{Cutter, Segment};
use super::form::Formed;
use super::plan::Memory;
use super::read::{Front, Reader};
use super::run::Run;
use super::spill::Spiller;
use super::turn::Turns;
use crate::Error;
use crate::failure::{Alarm, STOP_INTERVAL};
use crate::threads::spawn_up_to;
use crossbeam_channel::{Receiver, Sender, select, unbounded};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use xsort_disk::{Lease, Shelf};
use xsort_kernels::lines::{LineOrder, Merge};

/// Blocks beside one for each run that a merge needs to do well.
const WORKING_BLOCKS: usize = 16;

/// Where merged lines go.
trait Sink: Send {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error>;
}

/// The output.
struct Output<'o> {
    to: To<'o>,
    bytes: u64,
}

enum To<'o> {
    Stream(&'o mut (dyn Write + Send)),
    File(Behind<'o>),
}

impl Output<'_> {
    /// Everything was written. Returns how many bytes that were.
    fn end(self) -> Result<u64, Error> {
        match self.to {
            To::Stream(to) => to.flush().map_err(Error::Output)?,
            To::File(file) => file.end()?,
        }
        Ok(self.bytes)
    }
}

impl Sink for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes += bytes.len() as u64;
        match &mut self.to {
            To::Stream(to) => to.write_all(bytes).map_err(Error::Output),
            To::File(file) => file.write(bytes),
        }
    }
}

impl<O: LineOrder> Sink for Spiller<'_, '_, O> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.extend(bytes)
    }
}

/// Merges all runs into the output. Returns how many bytes that took.
pub(super) fn merge_all<O: LineOrder>(
    job: &Job<'_, O>,
    formed: Formed,
    output: &mut (dyn Write + Send),
) -> Result<u64, Error> {
    let Formed { mut runs, memory: Memory { mut areas, mut desks, bypass, .. }, bytes, .. } = formed;
    job.observer.phase("merge", bytes);
    if elsewhere(&runs) > 0 {
        runs = make_room(job, runs, &mut areas, &mut desks)?;
    }
    let mut shelf = Shelf::new(areas, job.plan.block_bytes);
    while elsewhere(&runs) > 0 && shelf.capacity() < elsewhere(&runs) + least_working(job) {
        (runs, shelf) = reduce(job, runs, shelf, &mut desks)?;
    }
    let to = match bypass.filter(|_| elsewhere(&runs) > 0) {
        Some(blocks) => past_the_cache(job, output, blocks, bytes)?,
        None => To::Stream(output),
    };
    merge(job, &runs, &shelf, &mut desks, Output { to, bytes: 0 })?.end()
}

/// The output, past the page cache if it can be.
fn past_the_cache<'o, O: LineOrder>(
    job: &'o Job<'_, O>,
    output: &'o mut (dyn Write + Send),
    blocks: Arc<Shelf>,
    bytes: u64,
) -> Result<To<'o>, Error> {
    let Some(path) = &job.options.output_file else { return Ok(To::Stream(output)) };
    output.flush().map_err(Error::Output)?;
    Ok(match Behind::open(job.disk, path, blocks, bytes) {
        Ok(file) => To::File(file),
        Err(_) => To::Stream(output),
    })
}

/// Runs that need blocks of memory.
fn elsewhere(runs: &[Run]) -> usize {
    runs.iter().filter(|run| run.is_elsewhere()).count()
}

/// Blocks beside one for each run without which a merge can't be.
fn least_working<O: LineOrder>(job: &Job<'_, O>) -> usize {
    job.plan.threads + 2
}

/// Sends runs to scratch until there is memory for blocks of all that are there.
fn make_room<O: LineOrder>(
    job: &Job<'_, O>,
    runs: Vec<Run>,
    areas: &mut Vec<Lease>,
    desks: &mut Vec<Lease>,
) -> Result<Vec<Run>, Error> {
    let mut wanted = elsewhere(&runs) + 2 * job.plan.threads + WORKING_BLOCKS;
    let mut made = Vec::with_capacity(runs.len());
    for run in runs {
        let blocks: usize = areas.iter().map(|area| area.len() / job.plan.block_bytes).sum();
        made.push(match run {
            Run::InMemory(chunk) if blocks < wanted => {
                let mut spiller = Spiller::new(job, desks.pop().expect("a desk for each thread"));
                let run = Run::OnScratch(spiller.spill(&chunk)?);
                desks.push(spiller.into_desk());
                areas.push(chunk.into_area());
                wanted += 1;
                run
            }
            run => run,
        });
    }
    Ok(made)
}

/// Merges as many neighbouring runs as the memory has blocks for into one.
fn reduce<O: LineOrder>(
    job: &Job<'_, O>,
    runs: Vec<Run>,
    shelf: Arc<Shelf>,
    desks: &mut Vec<Lease>,
) -> Result<(Vec<Run>, Arc<Shelf>), Error> {
    // One desk is lent to the spiller; of two, or it is cut in half.
    let fan_in_max = shelf.capacity().saturating_sub(least_working(job)).max(2);
    let mut rest = runs.into_iter();
    let mut reduced = Vec::new();
    let mut own = desks.pop().expect("a desk for each thread");
    if desks.is_empty() {
        desks.push(own.split_off_front(xsort_disk::align_down(own.len() as u64 / 2) as usize));
    }
    let sizes = crate::sort::reduction(rest.len(), fan_in_max);
    for taken in sizes {
        let group: Vec<Run> = rest.by_ref().take(taken).collect();
        if taken == 1 {
            reduced.extend(group);
            continue;
        }
        let spiller = Spiller::new(job, own);
        let mut spiller = merge(job, &group, &shelf, desks, spiller)?;
        reduced.push(Run::OnScratch(spiller.end()?));
        own = spiller.into_desk();
        let blocks = group.iter().filter_map(|run| match run {
            Run::OnScratch(blocks) => Some(blocks),
            Run::InMemory(_) | Run::Sorted(_) => None,
        });
        let places =
            blocks.flatten().map(|block| (block.place, xsort_disk::align_up(u64::from(block.bytes))));
        job.scratch()?.discard(places)?;
    }
    desks.push(own);
    Ok((reduced, shelf))
}

/// Merges `runs` into `sink`.
fn merge<O: LineOrder, S: Sink>(
    job: &Job<'_, O>,
    runs: &[Run],
    shelf: &Arc<Shelf>,
    desks: &mut [Lease],
    sink: S,
) -> Result<S, Error> {
    let turns = Turns::new(sink);
    let threads = desks.len().min(job.plan.threads);
    let segment_bytes = desks[0].len() / 4 * 3;
    let desks = Mutex::new(desks.iter_mut().collect::<Vec<_>>());
    let merger = Merger { job, turns: &turns };
    let (segments_to, segments_from) = unbounded::<Segment<'_, O::Words>>();
    let (done_to, done_from) = unbounded::<Result<u64, Error>>();
    std::thread::scope(|scope| {
        let started = match threads {
            1 => Ok(1),
            _ => spawn_up_to(scope, threads, |_| {
                let (segments, done, merger, desks) =
                    (segments_from.clone(), done_to.clone(), &merger, &desks);
                move || {
                    let desk = desks.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    merger.run(desk.expect("a desk for each thread"), &segments, &done);
                }
            }),
        };
        if let Err(error) = started {
            job.failure.set(error);
        }
        let result = if threads > 1 {
            coordinate(job, runs, shelf, segment_bytes, threads, &done_from, |segment| {
                segments_to.send(segment).expect("mergers live as long as this scope");
                Ok(None)
            })
        } else {
            let mut desks = desks.lock().unwrap_or_else(PoisonError::into_inner);
            coordinate(job, runs, shelf, segment_bytes, 1, &done_from, |segment| {
                merger.merge(&segment, desks[0]).map(Some)
            })
        };
        if let Err(error) = result {
            job.failure.set(error);
        }
        drop(segments_to);
    });
    job.failure.check()?;
    Ok(turns.into_inner())
}

/// Brings blocks back and hands out segments until all is merged. `hand_out` says how many lines it merged, if it is done already.
fn coordinate<'r, O: LineOrder>(
    job: &Job<'_, O>,
    runs: &'r [Run],
    shelf: &Arc<Shelf>,
    segment_bytes: usize,
    threads: usize,
    done_from: &Receiver<Result<u64, Error>>,
    mut hand_out: impl FnMut(Segment<'r, O::Words>) -> Result<Option<u64>, Error>,
) -> Result<(), Error> {
    let options = job.options;
    let mut fronts: Vec<Front<'r>> = runs.iter().map(Front::new).collect();
    let mut reader = Reader::new(job, Arc::clone(shelf), runs);
    let mut cutter = Cutter::new(job.order, options.delimiter, options.is_unique, segment_bytes);
    let (mut segments_done, mut lines) = (0, 0);
    loop {
        if job.should_stop() {
            return job.failure.check();
        }
        reader.start(&mut fronts)?;
        while cutter.segments() < segments_done + threads + 2
            && let Some(segment) = cutter.next(&mut fronts)
        {
            let done = hand_out(segment)?;
            segments_done += usize::from(done.is_some());
            lines += done.unwrap_or(0);
        }
        let is_over = !fronts.iter().any(|front| front.has_more() || front.is_left());
        if is_over && segments_done == cutter.segments() {
            let expected: u64 = runs.iter().map(Run::lines).sum();
            let what = || format!("{lines} lines merged of {expected}");
            return if lines == expected { Ok(()) } else { Err(Error::Lost { what: what() }) };
        }
        if threads == 1 && reader.in_flight == 0 {
            continue;
        }
        select! {
            recv(reader.done_from) -> completion => {
                reader.finish(&mut fronts, completion.expect("the reader holds a sender"))?;
            }
            recv(done_from) -> done => {
                lines += done.expect("the caller holds a sender")?;
                segments_done += 1;
            }
            default(STOP_INTERVAL) => {}
        }
    }
}

/// Merges segments.
struct Merger<'a, 'j, O: LineOrder, S> {
    job: &'j Job<'a, O>,
    turns: &'j Turns<S>,
}

impl<O: LineOrder, S: Sink> Merger<'_, '_, O, S> {
    fn run(
        &self,
        desk: &mut Lease,
        segments: &Receiver<Segment<'_, O::Words>>,
        done: &Sender<Result<u64, Error>>,
    ) {
        let _alarm = Alarm(&self.job.failure);
        while let Ok(segment) = segments.recv() {
            if self.job.failure.is_set() {
                continue;
            }
            let result = self.merge(&segment, desk);
            drop(segment);
            // Whoever waits for it may have given up.
            drop(done.send(result));
        }
    }

    /// Returns how many lines it took.
    fn merge(&self, segment: &Segment<'_, O::Words>, desk: &mut [u8]) -> Result<u64, Error> {
        let Job { order, options, failure, .. } = self.job;
        let slices = segment.slices();
        let lines = segment.lines(&slices);
        let mut merge = Merge::new(*order, options.delimiter, options.is_unique, &lines, segment.ends());
        loop {
            let bytes = merge.fill(desk);
            let is_last = merge.is_done();
            self.turns.take(segment.number, is_last, failure, |sink| sink.write(&desk[..bytes]))?;
            self.job.observer.advance(bytes as u64);
            if is_last {
                return Ok(merge.taken());
            }
        }
    }
}
