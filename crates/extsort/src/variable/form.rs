//! Phase one: lines are read into areas, sorted there, and stay as long as there is memory.
//!
//! This thread reads, the others sort. When the last free area is taken and there may be more to
//! read, the oldest run goes to scratch: so a sort a little larger than its budget writes little
//! more than the difference.

use super::Job;
use super::areas::Areas;
use super::chunk::Chunk;
use super::input::{Bypass, Input, Source};
use super::options::LinesOptions;
use super::plan::{CHUNK_BYTES_MIN, Memory, Plan};
use super::run::{Block, Run};
use super::spill::Spiller;
use super::too_long::too_long;
use crate::Error;
use crate::job::failure::STOP_INTERVAL;
use crate::job::threads::spawn_up_to;
use crate::store::journal::Step;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use xsort_disk::{BlockPool, Lease};
use xsort_kernels::lines::{LineOrder, count_lines, whole_lines_bytes};

/// Bytes read at once.
const READ_BYTES: usize = 1 << 20;
/// A chunk of a stream is at most this share of what came before, so that there is something to
/// sort while it is read.
const STREAM_SHARE: u64 = 4;
/// Chunks beyond this size don't sort faster; they only make the pipeline coarser.
const CHUNK_BYTES_EASY: u64 = 128 << 20;

/// What phase one leaves.
pub(super) struct Formed {
    pub(super) runs: Vec<Run>,
    /// What no run takes.
    pub(super) memory: Memory,
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// Bytes to be merged; 0 if that isn't known.
    pub(super) expected_bytes: u64,
}

/// Work on a chunk, whose number is that of its run.
enum Task {
    Sort(usize, Chunk),
    Spill(usize, Chunk),
}

enum Done {
    /// With the sums of the hashes of all lines and of those that are not wanted, and the memory of
    /// the latter.
    Sorted(usize, Chunk, (u64, u64), Lease),
    Spilled(usize, Vec<Block>, Lease),
}

/// Does tasks.
struct Worker<'a, 'j, O: LineOrder> {
    job: &'j Job<'a, O>,
    desks: &'j Mutex<Vec<Lease>>,
    spares: &'j Mutex<Vec<Lease>>,
}

impl<O: LineOrder> Worker<'_, '_, O> {
    fn run(&self, tasks: &Receiver<Task>, done: &Sender<Result<Done, Error>>) {
        while let Ok(task) = self.job.gauges.stage_times.work_waits_for_read.time(|| tasks.recv()) {
            // Whoever waits for it may have given up.
            drop(done.send(self.work(task)));
        }
    }

    fn work(&self, task: Task) -> Result<Done, Error> {
        let options = self.job.options;
        match task {
            Task::Sort(number, mut chunk) => {
                let spare = self.spares.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let mut spare = spare.expect("one for each thread");
                let (order, delimiter, is_unique) =
                    (self.job.order, options.delimiter, options.is_unique);
                let gauges = &self.job.gauges;
                let sort = || chunk.sort(order, delimiter, is_unique, options.caches, &mut spare);
                let (read_sum, dropped_sum) = gauges.stage_times.sort_busy.time(sort);
                gauges.counts.chunks.fetch_add(1, Relaxed);
                self.job.balance.read(read_sum);
                self.job.balance.dropped(dropped_sum);
                self.spares.lock().unwrap_or_else(PoisonError::into_inner).push(spare);
                let room = chunk.trim();
                Ok(Done::Sorted(number, chunk, (read_sum, dropped_sum), room))
            }
            Task::Spill(number, chunk) => {
                let desk = self.desks.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let mut spiller = Spiller::new(self.job, desk.expect("a desk for each thread"))?;
                let blocks = spiller.spill(&chunk)?;
                self.desks.lock().unwrap_or_else(PoisonError::into_inner).push(spiller.into_desk());
                Ok(Done::Spilled(number, blocks, chunk.into_area()))
            }
        }
    }
}

/// Forms runs of all lines.
pub(super) fn form<O: LineOrder>(
    job: &Job<'_, O>,
    sources: Vec<Source>,
    memory: Memory,
) -> Result<Formed, Error> {
    let Memory { areas, spares, desks, bypass } = memory;
    let (spares, desks) = (Mutex::new(spares), Mutex::new(desks));
    let passing =
        |block_pool: &Arc<BlockPool>| Bypass { disk: job.disk, block_pool: Arc::clone(block_pool) };
    let (tasks_to, tasks_from) = unbounded();
    let (done_to, done_from) = unbounded();
    let worker = Worker { job, desks: &desks, spares: &spares };
    let remaining = sources.iter().map(|source| source.bytes).sum();
    // The tasks' sender lives in the scope: however that ends, the workers end with it.
    let formed = std::thread::scope(|scope| {
        let mut former = Former {
            job,
            worker: &worker,
            input: Input::new(sources, job.options.delimiter, bypass.as_ref().map(passing)),
            remaining,
            free: Areas::new(areas),
            begun: None,
            carry: Vec::new(),
            sorted: BTreeMap::new(),
            runs: BTreeMap::new(),
            told: BTreeMap::new(),
            working: 0,
            spilling: 0,
            chunks: 0,
            lines: 0,
            bytes: 0,
            tasks: (job.plan.threads > 1).then_some(tasks_to),
            done: done_from,
        };
        if former.tasks.is_some() {
            spawn_up_to(
                scope,
                job.plan.threads,
                |error| job.failure.set(error),
                |_| {
                    let (tasks, done, worker) = (tasks_from.clone(), done_to.clone(), &worker);
                    move || worker.run(&tasks, &done)
                },
            )?;
        }
        former.run()?;
        former.tasks = None;
        let Former { sorted, runs, free, lines, bytes, .. } = former;
        Ok::<_, Error>((sorted, runs, free, lines, bytes))
    })?;
    let (sorted, mut runs, mut free, lines, bytes) = formed;
    runs.extend(sorted.into_iter().map(|(number, chunk)| (number, Run::InMemory(chunk))));
    let desks = desks.into_inner().unwrap_or_else(PoisonError::into_inner);
    spares
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .into_iter()
        .for_each(|spare| free.give(spare));
    let memory = Memory { areas: free.into_leases(), spares: Vec::new(), desks, bypass };
    Ok(Formed { runs: runs.into_values().collect(), memory, lines, bytes, expected_bytes: bytes })
}

/// Reads, and says what is to be done.
struct Former<'a, 'j, O: LineOrder> {
    job: &'j Job<'a, O>,
    worker: &'j Worker<'a, 'j, O>,
    input: Input<'j>,
    /// Bytes still to be read, if that is known.
    remaining: Option<u64>,
    free: Areas,
    /// An area with the beginning of a long line, of so many bytes.
    begun: Option<(Lease, usize)>,
    /// What was read behind the last whole line that fitted, or behind that beginning: about as
    /// much as is read at once.
    carry: Vec<u8>,
    sorted: BTreeMap<usize, Chunk>,
    runs: BTreeMap<usize, Run>,
    /// What is to be kept of sorted chunks, if anything is.
    told: BTreeMap<usize, ChunkSummary>,
    working: usize,
    spilling: usize,
    chunks: usize,
    lines: u64,
    bytes: u64,
    /// `None` if this thread does everything itself.
    tasks: Option<Sender<Task>>,
    done: Receiver<Result<Done, Error>>,
}

/// What is kept of a chunk beside its blocks: its lines and bytes as they were read, and the sums
/// of their hashes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ChunkSummary {
    lines: u64,
    bytes: u64,
    read_sum: u64,
    dropped_sum: u64,
}

impl ChunkSummary {
    fn of(chunk: &Chunk, (read_sum, dropped_sum): (u64, u64)) -> ChunkSummary {
        ChunkSummary {
            lines: chunk.lines() as u64,
            bytes: chunk.text_bytes() as u64,
            read_sum,
            dropped_sum,
        }
    }
}

impl<O: LineOrder> Former<'_, '_, O> {
    fn run(&mut self) -> Result<(), Error> {
        let is_read = self.recall()?;
        if !is_read {
            self.read_all()?;
        }
        if self.job.notes.is_recording() {
            // A later process finds all of it: nobody needs the inputs then.
            while !self.sorted.is_empty() || self.working > 0 {
                self.spill_oldest()?;
                while self.working > 0 {
                    self.wait()?;
                }
            }
            if let Some(check) = self.job.input_is_read.filter(|_| !is_read) {
                check()?;
            }
            self.job.notes.record(Step::InputRead, &());
        }
        Ok(())
    }

    /// Takes over the runs that an earlier process has formed of the first lines; whether these
    /// were all.
    fn recall(&mut self) -> Result<bool, Error> {
        let notes = self.job.notes;
        while let Some((told, blocks)) =
            notes.replay::<(ChunkSummary, Vec<Block>)>(Step::Chunk(self.chunks as u64))?
        {
            let scratch = self.job.scratch()?;
            blocks.iter().for_each(|block| scratch.claim(block.place, block.paged_bytes()));
            self.job.indexed_blocks.fetch_add(blocks.len() as u64, Relaxed);
            self.lines += told.lines;
            self.bytes += told.bytes;
            self.job.balance.read(told.read_sum);
            self.job.balance.dropped(told.dropped_sum);
            self.job.observer.advance(told.bytes);
            self.runs.insert(self.chunks, Run::OnScratch(blocks));
            self.chunks += 1;
        }
        if notes.replay::<()>(Step::InputRead)?.is_some() {
            return Ok(true);
        }
        self.remaining = self.remaining.map(|left| left.saturating_sub(self.bytes));
        self.input.skip(self.bytes)?;
        Ok(false)
    }

    fn read_all(&mut self) -> Result<(), Error> {
        loop {
            let (area, begun) = match self.begun.take() {
                Some(begun) => begun,
                None => (self.area()?, 0),
            };
            let (chunk, is_end) = self.fill(area, begun)?;
            if let Some(chunk) = chunk {
                self.lines += chunk.lines() as u64;
                self.bytes += chunk.text_bytes() as u64;
                self.job.observer.advance(chunk.text_bytes() as u64);
                self.start(Task::Sort(self.chunks, chunk))?;
                self.chunks += 1;
            }
            if is_end {
                break;
            }
        }
        while self.working > 0 {
            self.wait()?;
        }
        Ok(())
    }

    /// An area to read into, for which a run may have to go to scratch.
    fn area(&mut self) -> Result<Lease, Error> {
        while let Ok(done) = self.done.try_recv() {
            self.take_in(done)?;
        }
        loop {
            if let Some(area) = self.free.take() {
                let is_last = !self.free.has_area();
                let fits = area.len() as u64 / 2;
                if is_last && self.spilling == 0 && self.remaining.is_none_or(|left| left > fits) {
                    self.spill_oldest()?;
                }
                return Ok(area);
            }
            if self.spilling == 0 {
                self.spill_oldest()?;
            }
            // A small run may not have made an area's room yet; without other threads nothing is
            // going on that could.
            if !self.free.has_area() && self.working > 0 {
                self.wait()?;
            }
        }
    }

    fn spill_oldest(&mut self) -> Result<(), Error> {
        match self.sorted.pop_first() {
            Some((number, chunk)) => {
                self.spilling += 1;
                self.start(Task::Spill(number, chunk))
            }
            None => Ok(()),
        }
    }

    fn start(&mut self, task: Task) -> Result<(), Error> {
        self.working += 1;
        match &self.tasks {
            Some(tasks) => tasks.send(task).expect("workers live as long as this scope"),
            None => {
                let done = self.worker.work(task);
                self.take_in(done)?;
            }
        }
        Ok(())
    }

    /// Waits until something is done.
    fn wait(&mut self) -> Result<(), Error> {
        loop {
            if self.job.should_stop() {
                self.job.failure.check()?;
            }
            match self.done.recv_timeout(STOP_INTERVAL) {
                Ok(done) => return self.take_in(done),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("the scope holds a sender"),
            }
        }
    }

    fn take_in(&mut self, done: Result<Done, Error>) -> Result<(), Error> {
        self.working -= 1;
        match done? {
            Done::Sorted(number, chunk, sums, room) => {
                if self.job.notes.is_recording() {
                    self.told.insert(number, ChunkSummary::of(&chunk, sums));
                }
                self.sorted.insert(number, chunk);
                self.free.give(room);
            }
            Done::Spilled(number, blocks, area) => {
                self.spilling -= 1;
                if let Some(told) = self.told.remove(&number) {
                    self.job.notes.record(Step::Chunk(number as u64), &(told, &blocks));
                }
                self.runs.insert(number, Run::OnScratch(blocks));
                self.free.give(area);
            }
        }
        Ok(())
    }

    /// Bytes of an area that a text of so many bytes and lines needs.
    fn needed(&self, text_bytes: usize, lines: usize) -> usize {
        Chunk::bytes_needed(text_bytes, lines, self.job.plan.entry_bytes)
    }

    /// Whether an area, and the memory to sort with, can hold a text of so many bytes and lines.
    fn fits(&self, area: &Lease, text_bytes: usize, lines: usize) -> bool {
        let Plan { entry_bytes, spare_bytes, .. } = self.job.plan;
        self.needed(text_bytes, lines) <= area.len() && lines * entry_bytes <= spare_bytes
    }

    /// Reads lines into an area behind the `begun` bytes that are there, until it is full, or as
    /// many as are good for the pipeline. Returns the chunk, if there was a line, and whether that
    /// was all.
    fn fill(&mut self, mut area: Lease, begun: usize) -> Result<(Option<Chunk>, bool), Error> {
        let delimiter = self.job.options.delimiter;
        let known = self.job.plan.chunk_bytes;
        let target = known.unwrap_or_else(|| (self.bytes / STREAM_SHARE).max(CHUNK_BYTES_MIN));
        let target = target.min(CHUNK_BYTES_EASY) as usize;
        let (mut text_bytes, mut is_end) = (begun, false);
        let mut lines = count_lines(&area[..begun], delimiter);
        let (end, fitting) = loop {
            // The area may be smaller than the last one was.
            let carried = self.carry.len().min(area.len() - text_bytes);
            area[text_bytes..][..carried].copy_from_slice(&self.carry[..carried]);
            self.carry.drain(..carried);
            lines += count_lines(&area[text_bytes..][..carried], delimiter);
            text_bytes += carried;
            while self.carry.is_empty()
                && self.fits(&area, text_bytes + 1, lines + 1)
                && (text_bytes < target || lines == 0)
            {
                if self.job.should_stop() {
                    self.job.failure.check()?;
                }
                // What doesn't fit is copied twice: lines may be empty, and a small area full of
                // them at once.
                let step = READ_BYTES.min(area.len() / 8).min(area.len() - text_bytes);
                area.populate(text_bytes..text_bytes + step);
                let place = &mut area[text_bytes..][..step];
                let bytes =
                    self.job.gauges.stage_times.read_busy.time(|| self.input.read(place))?;
                if bytes == 0 {
                    is_end = true;
                    break;
                }
                self.remaining = self.remaining.map(|left| left.saturating_sub(bytes as u64));
                lines += count_lines(&area[text_bytes..][..bytes], delimiter);
                text_bytes += bytes;
            }
            // Back to the last whole line that fits.
            let mut fitting = lines;
            let mut end = whole_lines_bytes(&area[..text_bytes], delimiter);
            while fitting > 0 && !self.fits(&area, end, fitting) {
                fitting -= 1;
                end = whole_lines_bytes(&area[..end - 1], delimiter);
            }
            if fitting > 0 || text_bytes == 0 {
                break (end, fitting);
            }
            area = self.grow(area, text_bytes)?;
        };
        if fitting == 0 {
            self.free.give(area);
            return Ok((None, true));
        }
        let needed = self.needed(end, fitting);
        let tail = text_bytes - end;
        if tail > READ_BYTES && needed < area.len() {
            // The beginning of a long line stays where there is memory for it.
            let kept = tail.min(area.len() - needed);
            self.carry.splice(0..0, area[end + kept..text_bytes].iter().copied());
            area.copy_within(end..end + kept, needed);
            let own = area.split_off_front(needed);
            self.begun = Some((std::mem::replace(&mut area, own), kept));
            return Ok((Some(Chunk::new(area, end, fitting, self.job.plan.entry_bytes)), false));
        }
        self.carry.splice(0..0, area[end..text_bytes].iter().copied());
        if needed < area.len() / 2 {
            let own = area.split_off_front(needed);
            self.free.give(std::mem::replace(&mut area, own));
        }
        Ok((
            Some(Chunk::new(area, end, fitting, self.job.plan.entry_bytes)),
            is_end && self.carry.is_empty(),
        ))
    }

    /// A larger area for the beginning of a line, with that in it; for a line that is as long as
    /// lines may be, all else goes to scratch.
    fn grow(&mut self, mut area: Lease, text_bytes: usize) -> Result<Lease, Error> {
        let plan = &self.job.plan;
        let longest = plan.line_bytes_max();
        if text_bytes > longest {
            let options = self.job.options;
            let line_bytes_max = |budget_bytes| {
                Plan::new(&LinesOptions { budget_bytes, ..options.clone() }, None, plan.entry_bytes)
                    .line_bytes_max()
            };
            return Err(too_long(&mut self.input, text_bytes as u64, options, line_bytes_max));
        }
        let wanted = self.needed(longest, 1).min((2 * area.len()).max(plan.area_bytes));
        let wanted = wanted.min(plan.areas * plan.area_bytes);
        loop {
            area = match self.free.grow(area, text_bytes, wanted) {
                Ok(larger) => return Ok(larger),
                Err(area) => area,
            };
            if self.spilling == 0 {
                self.spill_oldest()?;
            }
            if self.working > 0 {
                self.wait()?;
            }
        }
    }
}
