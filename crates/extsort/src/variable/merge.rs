//! Phase two: runs are merged, in several passes if they are too many for the budget.
//!
//! This thread brings blocks back and cuts; the others merge a segment each into their desks, and
//! write when it is their turn.

use super::Job;
use super::areas::Areas;
use super::codec::Unpacker;
use super::cut::{Cutter, Segment};
use super::form::Formed;
use super::merge_memory::{Need, Shelves, fan_in_max};
use super::options::LinesOptions;
use super::ordered_writer::OrderedWriter;
use super::plan::{Memory, Plan};
use super::read::{Front, Packed, Reader, Unpacked};
use super::run::{Block, Run};
use super::spill::Spiller;
use super::too_long::too_long;
use crate::Error;
use crate::job::failure::STOP_INTERVAL;
use crate::job::threads::spawn_up_to;
use crate::store::journal::{JournalHandle, Step};
use crate::store::output_prefix::OutputPrefix;
use crate::store::write_behind::WriteBehind;
use crossbeam_channel::{Receiver, Sender, select, unbounded};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use xsort_disk::{BlockPool, Lease};
use xsort_kernels::lines::{LineOrder, Merge};

/// Where merged lines go.
trait Sink: Send {
    /// Whether this is the last time that lines are merged.
    const IS_OUTPUT: bool;

    /// A segment is over, behind which runs stand at these positions: what it took and what became
    /// of it.
    fn end_segment(&mut self, _behind: &[(usize, usize)], _taken: Taken) -> Result<(), Error> {
        Ok(())
    }

    /// Takes the next bytes, and their CRC-32 if a journal is kept of the output. If they end
    /// within a line, so many bytes of it are to come, its delimiter included.
    fn write(&mut self, bytes: &[u8], crc: Option<u32>, to_come: usize) -> Result<(), Error>;
}

/// What merged segments took: lines, and the sum of the hashes of those that were written or not
/// wanted.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Taken {
    lines: u64,
    gone: u64,
}

/// How much of the output is written.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Written {
    /// Its bytes. First: the journal gives it to those who know nothing of the rest.
    prefix: OutputPrefix,
    /// Where each run stands.
    positions: Vec<(usize, usize)>,
    taken: Taken,
}

/// The output.
struct Output<'o> {
    to: To<'o>,
    /// What was written so far; without the tail.
    whole: OutputPrefix,
    taken: Taken,
    notes: JournalHandle<'o>,
    /// When it was noted last how much is written.
    noted_at: Instant,
}

enum To<'o> {
    Stream(&'o mut (dyn Write + Send)),
    File(WriteBehind<'o>),
}

impl Output<'_> {
    /// Everything was written. Returns what that is.
    fn end(self) -> Result<OutputPrefix, Error> {
        match self.to {
            To::Stream(to) => to.flush().map_err(Error::Output)?,
            To::File(file) => file.end()?,
        }
        Ok(self.whole)
    }
}

impl Sink for Output<'_> {
    const IS_OUTPUT: bool = true;

    fn end_segment(&mut self, behind: &[(usize, usize)], taken: Taken) -> Result<(), Error> {
        self.taken.lines += taken.lines;
        self.taken.gone = self.taken.gone.wrapping_add(taken.gone);
        if let (Some(every), To::File(file)) = (self.notes.interval(), &mut self.to)
            && self.noted_at.elapsed() >= every
        {
            let prefix = OutputPrefix { tail: file.flush()?.to_vec(), ..self.whole };
            let written = Written { prefix, positions: behind.to_vec(), taken: self.taken };
            self.notes.record(Step::Written, &written);
            self.noted_at = Instant::now();
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], crc: Option<u32>, _: usize) -> Result<(), Error> {
        self.whole.append(crc, bytes.len() as u64);
        match &mut self.to {
            To::Stream(to) => to.write_all(bytes).map_err(Error::Output),
            To::File(file) => file.write(bytes),
        }
    }
}

impl<O: LineOrder> Sink for Spiller<'_, '_, O> {
    const IS_OUTPUT: bool = false;

    fn write(&mut self, bytes: &[u8], _: Option<u32>, to_come: usize) -> Result<(), Error> {
        self.extend(bytes, to_come)
    }
}

/// Merges all runs into the output. Returns what that is.
pub(super) fn merge_all<O: LineOrder>(
    job: &Job<'_, O>,
    formed: Formed,
    output: &mut (dyn Write + Send),
) -> Result<OutputPrefix, Error> {
    let Formed {
        mut runs, memory: Memory { areas, mut desks, bypass, .. }, expected_bytes, ..
    } = formed;
    let mut memory = Areas::new(areas);
    if runs.iter().any(is_elsewhere) {
        (runs, memory) = make_room(job, runs, memory, &mut desks)?;
    }
    let mut merges = 0;
    while !Need::of(&runs, &job.plan, false).is_met(memory.sizes()) && runs.len() > 2 {
        (runs, memory) = reduce(job, runs, &mut merges, memory, &mut desks)?;
    }
    job.observer.phase("merge", expected_bytes);
    let written: Written = job.notes.replay(Step::Written)?.unwrap_or_default();
    let to = match (bypass, job.kept_output) {
        (Some(blocks), Some(file)) => {
            To::File(WriteBehind::resume(job.disk, file, blocks, expected_bytes, &written.prefix)?)
        }
        (Some(blocks), None) if runs.iter().any(is_elsewhere) => {
            past_the_cache(job, output, blocks, expected_bytes)?
        }
        _ => To::Stream(output),
    };
    let whole = OutputPrefix { tail: Vec::new(), ..written.prefix };
    job.balance.written(written.taken.gone);
    job.observer.advance(whole.bytes);
    let sink =
        Output { to, whole, taken: written.taken, notes: job.notes, noted_at: Instant::now() };
    let begun = Begun { positions: written.positions, lines: written.taken.lines };
    let (sink, _) = merge(job, &runs, begun, memory, &mut desks, sink)?;
    sink.end()
}

/// Where a merge begins: the positions of its runs, if not at their beginnings, and how many lines
/// come before.
#[derive(Default)]
struct Begun {
    positions: Vec<(usize, usize)>,
    lines: u64,
}

/// The output, past the page cache if it can be.
fn past_the_cache<'o, O: LineOrder>(
    job: &'o Job<'_, O>,
    output: &'o mut (dyn Write + Send),
    blocks: Arc<BlockPool>,
    bytes: u64,
) -> Result<To<'o>, Error> {
    let Some(path) = &job.options.output_file else { return Ok(To::Stream(output)) };
    output.flush().map_err(Error::Output)?;
    Ok(match WriteBehind::open(job.disk, path, blocks, bytes) {
        Ok(file) => To::File(file),
        Err(_) => To::Stream(output),
    })
}

/// Whether a run needs blocks of memory.
fn is_elsewhere(run: &Run) -> bool {
    !matches!(run, Run::InMemory(_))
}

/// Sends runs to scratch until there is memory for blocks of all that are there.
fn make_room<O: LineOrder>(
    job: &Job<'_, O>,
    mut runs: Vec<Run>,
    mut memory: Areas,
    desks: &mut Vec<Lease>,
) -> Result<(Vec<Run>, Areas), Error> {
    for number in 0..runs.len() {
        if Need::of(&runs, &job.plan, true).is_met(memory.sizes()) {
            break;
        }
        let Run::InMemory(chunk) = &runs[number] else { continue };
        let mut spiller = Spiller::new(job, desks.pop().expect("a desk for each thread"))?;
        let blocks = spiller.spill(chunk)?;
        desks.push(spiller.into_desk());
        if let Run::InMemory(chunk) = std::mem::replace(&mut runs[number], Run::OnScratch(blocks)) {
            memory.give(chunk.into_area());
        }
    }
    Ok((runs, memory))
}

/// Merges as many neighbouring runs as the memory has blocks for into one.
fn reduce<O: LineOrder>(
    job: &Job<'_, O>,
    runs: Vec<Run>,
    merges: &mut u64,
    mut memory: Areas,
    desks: &mut Vec<Lease>,
) -> Result<(Vec<Run>, Areas), Error> {
    let sizes =
        crate::store::merge_groups::merge_groups(runs.len(), fan_in_max(&runs, &job.plan, &memory));
    let mut rest = runs.into_iter();
    let mut reduced = Vec::new();
    // The spiller has a desk of its own: the last one, or half of the only one.
    let mut own = desks.pop().expect("a desk for each thread");
    if desks.is_empty() {
        desks.push(own.split_off_front(xsort_disk::align_down(own.len() as u64 / 2) as usize));
    }
    job.observer.phase("merge pass", 0);
    for taken in sizes {
        let group: Vec<Run> = rest.by_ref().take(taken).collect();
        if taken == 1 {
            reduced.extend(group);
            continue;
        }
        let step = Step::IntermediatePass(*merges);
        *merges += 1;
        let blocks = match job.notes.replay::<(Vec<Block>, u64)>(step)? {
            Some((blocks, dropped_sum)) => {
                let scratch = job.scratch()?;
                blocks.iter().for_each(|block| scratch.claim(block.place, block.paged_bytes()));
                job.balance.dropped(dropped_sum);
                job.indexed_blocks.fetch_add(blocks.len() as u64, Relaxed);
                blocks
            }
            None => {
                let before = job.balance.gone();
                let spiller = Spiller::new(job, own)?;
                let (mut spiller, free) =
                    merge(job, &group, Begun::default(), memory, desks, spiller)?;
                memory = free;
                let blocks = spiller.end()?;
                own = spiller.into_desk();
                job.notes.record(step, &(&blocks, job.balance.gone().wrapping_sub(before)));
                // Before what it was made of goes.
                job.notes.flush(&job.failure)?;
                blocks
            }
        };
        reduced.push(Run::OnScratch(blocks));
        let merged: usize = group.iter().map(|run| run.blocks().len()).sum();
        job.indexed_blocks.fetch_sub(merged as u64, Relaxed);
        let blocks = group.iter().flat_map(Run::blocks);
        job.scratch()?.discard(blocks.map(|block| (block.place, block.paged_bytes())))?;
        for run in group {
            if let Run::InMemory(chunk) = run {
                memory.give(chunk.into_area());
            }
        }
    }
    desks.push(own);
    Ok((reduced, memory))
}

/// Work of a thread that merges.
enum Task<'r, W> {
    Merge(Segment<'r, W>),
    Unpack(Packed),
}

enum Done {
    /// So many lines.
    Merged(u64),
    Unpacked(Unpacked),
}

/// Merges `runs` into `sink`. Returns that, and the memory.
fn merge<O: LineOrder, S: Sink>(
    job: &Job<'_, O>,
    runs: &[Run],
    begun: Begun,
    memory: Areas,
    desks: &mut [Lease],
    sink: S,
) -> Result<(S, Areas), Error> {
    let block_pools = Shelves::new(memory, runs, &job.plan)?;
    let turns = OrderedWriter::new(sink);
    let threads = desks.len().min(job.plan.threads);
    let segment_bytes = desks[0].len() / 4 * 3;
    let desks = Mutex::new(desks.iter_mut().collect::<Vec<_>>());
    let worker = || Merger::new(job, &turns);
    let (unpacks_to, unpacks_from) = unbounded();
    let (segments_to, segments_from) = unbounded();
    let (done_to, done_from) = unbounded();
    std::thread::scope(|scope| {
        let started = match threads {
            1 => Ok(1),
            _ => spawn_up_to(
                scope,
                threads,
                |error| job.failure.set(error),
                |_| {
                    let (unpacks, segments, done) =
                        (unpacks_from.clone(), segments_from.clone(), done_to.clone());
                    let (worker, desks) = (&worker, &desks);
                    move || {
                        let desk = desks.lock().unwrap_or_else(PoisonError::into_inner).pop();
                        worker().run(
                            desk.expect("a desk for each thread"),
                            &unpacks,
                            &segments,
                            &done,
                        );
                    }
                },
            ),
        };
        if let Err(error) = started {
            job.failure.set(error);
        }
        let result = if threads > 1 {
            coordinate(
                job,
                runs,
                &begun,
                &block_pools,
                segment_bytes,
                threads,
                &done_from,
                |task| {
                    match task {
                        Task::Merge(_) => segments_to.send(task),
                        Task::Unpack(_) => unpacks_to.send(task),
                    }
                    .expect("mergers live as long as this scope");
                    Ok(None)
                },
            )
        } else {
            let mut desks = desks.lock().unwrap_or_else(PoisonError::into_inner);
            let mut merger = worker();
            desks[0].populate(0..desks[0].len());
            coordinate(job, runs, &begun, &block_pools, segment_bytes, 1, &done_from, |task| {
                merger.work(task, desks[0]).map(Some)
            })
        };
        if let Err(error) = result {
            job.failure.set(error);
        }
        drop((segments_to, unpacks_to));
    });
    job.failure.check()?;
    Ok((turns.into_inner(), block_pools.dissolve()))
}

/// Brings blocks back and hands out segments until all is merged. `hand_out` says what came of its
/// task, if it is done already.
#[allow(clippy::too_many_arguments, reason = "what both ways to merge hand over")]
fn coordinate<'r, O: LineOrder>(
    job: &Job<'_, O>,
    runs: &'r [Run],
    begun: &Begun,
    block_pools: &Shelves,
    segment_bytes: usize,
    threads: usize,
    done_from: &Receiver<Result<Done, Error>>,
    mut hand_out: impl FnMut(Task<'r, O::Words>) -> Result<Option<Done>, Error>,
) -> Result<(), Error> {
    let options = job.options;
    let mut fronts: Vec<Front<'r>> =
        runs.iter().map(|run| Front::new(run, job.plan.block_bytes)).collect();
    for (front, &position) in fronts.iter_mut().zip(&begun.positions) {
        front.go_to(position);
    }
    let mut reader = Reader::new(job, block_pools, runs);
    let mut cutter = Cutter::new(
        job.order,
        options.delimiter,
        options.is_unique,
        segment_bytes,
        job.notes.is_recording(),
    );
    let (mut segments_done, mut lines) = (0, begun.lines);
    loop {
        if job.should_stop() {
            // The caller says why: the reason can be taken only once.
            return Ok(());
        }
        let has_read = reader.start(&mut fronts)?;
        let segments = cutter.segments();
        while cutter.segments() < segments_done + threads + 2
            && let Some(segment) = cutter.next(&mut fronts)
        {
            if let Some(Done::Merged(taken)) = hand_out(Task::Merge(segment))? {
                segments_done += 1;
                lines += taken;
            }
        }
        let is_idle = segments_done == cutter.segments() && reader.is_idle();
        if is_idle && !fronts.iter().any(|front| front.has_more() || front.is_left()) {
            let expected: u64 = runs.iter().map(Run::lines).sum();
            let what = || format!("{lines} lines merged of {expected}");
            return if lines == expected { Ok(()) } else { Err(Error::Lost { what: what() }) };
        }
        if is_idle {
            if segments == cutter.segments() && !has_read {
                return Err(refuse_long_line(job, &fronts));
            }
            continue;
        }
        let done = select! {
            recv(reader.done_from) -> completion => {
                let completion = completion.expect("the reader holds a sender");
                match reader.finish(&mut fronts, completion)? {
                    Some(packed) => hand_out(Task::Unpack(packed))?,
                    None => None,
                }
            }
            recv(done_from) -> done => Some(done.expect("the caller holds a sender")?),
            default(STOP_INTERVAL) => None,
        };
        match done {
            Some(Done::Merged(taken)) => {
                segments_done += 1;
                lines += taken;
            }
            Some(Done::Unpacked(unpacked)) => reader.finish_unpacked(&mut fronts, unpacked),
            None => {}
        }
    }
}

/// A merge can't go on: a sorted source has a line that no block can hold, or too many of them have
/// long ones at once.
fn refuse_long_line<O: LineOrder>(job: &Job<'_, O>, fronts: &[Front<'_>]) -> Error {
    let sources = fronts.iter().filter(|front| matches!(front.run, Run::Sorted(_))).count();
    let mut stuck = fronts.iter().filter(|front| front.is_starving());
    let Some(Front { run: Run::Sorted(stream), .. }) = stuck.next() else {
        return Error::Lost { what: "a merge came to a standstill".into() };
    };
    let options = job.options;
    let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
    let (begun, input) = stream.begun();
    let line_bytes_max = |budget_bytes| {
        Plan::of_merge(&LinesOptions { budget_bytes, ..options.clone() }, sources)
            .source_line_bytes_max(sources)
    };
    too_long(input, begun, options, line_bytes_max)
}

/// Merges segments, and decompresses blocks.
struct Merger<'a, 'j, O: LineOrder, S> {
    job: &'j Job<'a, O>,
    turns: &'j OrderedWriter<S>,
    unpacker: Option<Unpacker>,
}

impl<'a, 'j, O: LineOrder, S: Sink> Merger<'a, 'j, O, S> {
    fn new(job: &'j Job<'a, O>, turns: &'j OrderedWriter<S>) -> Self {
        Merger { job, turns, unpacker: None }
    }

    /// Does tasks until there are no more segments. Blocks go first: a cut may wait for them.
    fn run(
        mut self,
        desk: &mut Lease,
        unpacks: &Receiver<Task<'_, O::Words>>,
        segments: &Receiver<Task<'_, O::Words>>,
        done: &Sender<Result<Done, Error>>,
    ) {
        desk.populate(0..desk.len());
        loop {
            let task = match unpacks.try_recv() {
                Ok(task) => Ok(task),
                Err(_) => select! {
                    recv(unpacks) -> task => task.or_else(|_| segments.recv()),
                    recv(segments) -> task => task,
                },
            };
            let Ok(task) = task else { return };
            if self.job.failure.is_set() {
                continue;
            }
            // Whoever waits for it may have given up.
            drop(done.send(self.work(task, desk)));
        }
    }

    /// Gives the task's memory back before it is done.
    fn work(&mut self, task: Task<'_, O::Words>, desk: &mut [u8]) -> Result<Done, Error> {
        match task {
            Task::Merge(segment) => self.merge(&segment, desk).map(Done::Merged),
            Task::Unpack(packed) => self.unpack(packed).map(Done::Unpacked),
        }
    }

    fn unpack(&mut self, packed: Packed) -> Result<Unpacked, Error> {
        let codec = self.job.options.codec.expect("only with one are there compressed blocks");
        let unpacker = match &mut self.unpacker {
            Some(unpacker) => unpacker,
            none => none.insert(Unpacker::new(codec).map_err(Error::Codec)?),
        };
        packed.unpack(self.job, unpacker)
    }

    /// Returns how many lines it took.
    fn merge(&self, segment: &Segment<'_, O::Words>, desk: &mut [u8]) -> Result<u64, Error> {
        let Job { order, options, failure, .. } = self.job;
        let slices = segment.slices();
        let lines = segment.lines(&slices);
        let mut merge =
            Merge::new(*order, options.delimiter, options.is_unique, &lines, segment.ends());
        loop {
            let stage_times = &self.job.gauges.stage_times;
            let bytes = stage_times.output_busy.time(|| merge.fill(desk));
            let is_last = merge.is_done();
            let to_come = merge.pending_bytes();
            let (written_sum, dropped_sum) = merge.sums();
            let taken = Taken { lines: merge.taken(), gone: written_sum.wrapping_add(dropped_sum) };
            let is_kept = S::IS_OUTPUT && self.job.notes.is_recording();
            let crc = is_kept.then(|| crc32fast::hash(&desk[..bytes]));
            let write = |sink: &mut S| {
                sink.write(&desk[..bytes], crc, to_come)?;
                if is_last { sink.end_segment(&segment.behind, taken) } else { Ok(()) }
            };
            let turn = || self.turns.take(segment.number, is_last, failure, write);
            stage_times.output_waits_for_write.time(turn)?;
            self.job.observer.advance(bytes as u64);
            if is_last {
                self.job.balance.dropped(dropped_sum);
                if S::IS_OUTPUT {
                    self.job.balance.written(written_sum);
                }
                self.job.gauges.counts.parts.fetch_add(1, Relaxed);
                return Ok(merge.taken());
            }
        }
    }
}
