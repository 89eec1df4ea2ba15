//! Phase two: a merge. Reading, merging and writing go on at once.
//!
//! ```text
//!          read in the order of the forecast        segments                   pages
//! scratch ----------------------------------> hand out ------> cut, merge ------------> output
//!    (free blocks)                          (this thread)       (threads)   (free blocks)
//! ```
//!
//! This thread starts reads as far ahead as there are free blocks, and hands out a segment as soon
//! as all of its blocks are in memory. A thread that merges a segment therefore never waits for a
//! read, and knows from its cuts where in the output its records go. What is serial is a few
//! instructions a run every few megabytes.
//!
//! It can't come to a standstill: reads are in the order in which cuts need them, every run holds
//! at most one block across a cut, and the plan has a block for each of them besides those of the
//! segments in flight.

use super::cut::Cut;
use super::forecast::{Entry, forecast};
use super::merger::{Done, Merger};
use super::plan::MergeShape;
use super::run::{Index, Run};
use super::segment::{Loaded, Segment, Segments};
use crate::Error;
use crate::fixed::job::Job;
use crate::fixed::output::Output;
use crate::fixed::parts::{Frontier, Parts, Written};
use crate::job::failure::STOP_INTERVAL;
use crate::job::process::thread_cpu_time;
use crate::job::threads::spawn_up_to;
use crate::store::journal::Step;
use crate::store::output_prefix::OutputPrefix;
use crate::store::seal::{check_seal, paged_bytes};
use crossbeam_channel::{Receiver, Sender, select_biased, unbounded};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{BlockPool, Completion, Direction, Lease, Request};
use xsort_records::{Checksum, Key};

/// Reads in flight: several drives' worth, but not so many that writes to the same drive wait long
/// for their turn.
const READ_FLIGHT_BYTES: usize = 32 << 20;

/// Where a merge's records go.
pub(crate) enum Sink<'a> {
    /// To the output, hashed as they pass.
    Output(&'a Output),
    /// To a longer run on scratch, in blocks from this block pool.
    Run(&'a Arc<BlockPool>),
}

impl Sink<'_> {
    fn close(&self) {
        match self {
            Sink::Output(output) => output.close(),
            Sink::Run(blocks) => blocks.close(),
        }
    }
}

/// What came out of a merge.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// Number of records.
    pub(crate) records: u64,
    /// Of all records, if they went to the output.
    pub(crate) checksum: Checksum,
    /// Of the output, if they went there.
    pub(crate) prefix: OutputPrefix,
    /// Of the new run, if they went to one.
    pub(crate) index: Option<Index>,
}

/// Merges `runs`, in this order among equal keys, and goes on behind what is written of the output.
pub(crate) fn merge<K: Key>(
    job: &Job<'_, K>,
    shape: &MergeShape,
    runs: &[Run],
    read_blocks: &Arc<BlockPool>,
    sink: &Sink<'_>,
    begun: Written,
) -> Result<Merged, Error> {
    let cpu_before = thread_cpu_time();
    let entries = job.stage_times.forecast_busy.time_cpu(|| forecast(runs));
    let (segments_to, segments_from) = unbounded();
    let (done_to, done_from) = unbounded();
    let (written_to, written_from) = unbounded();
    let checksum = begun.checksum();
    let mut merged = Merged { records: checksum.records(), checksum, ..Merged::default() };
    std::thread::scope(|scope| {
        let started = spawn_up_to(
            scope,
            job.plan.threads,
            |error| job.failure.set(error),
            |_| {
                let merger = Merger { job, runs, sink, written: written_to.clone() };
                let (segments_from, done_to) = (segments_from.clone(), done_to.clone());
                move || merger.run(&segments_from, &done_to)
            },
        );
        if let Err(error) = started {
            job.failure.set(error);
        }
        let mut reader = Reader::new(job, shape, runs, read_blocks, &entries);
        if let Err(error) = reader.skip(begun.sources as usize) {
            job.failure.set(error);
        }
        // Those that were skipped make one segment.
        let mut segments_done = reader.segments.begun();
        let mut indexes: Vec<Option<Index>> = (0..segments_done).map(|_| None).collect();
        let mut parts = Parts::default();
        let mut frontier = Frontier::new(job.record_bytes, job.plan.bytes, segments_done, begun);
        let mut finish = |number, stretch| {
            if let (Sink::Output(_), Some(written)) = (sink, frontier.add(number, stretch)) {
                job.notes.record(Step::Written, written);
            }
        };
        while !job.should_stop() {
            reader.start_reads();
            while reader.segments.begun() < segments_done + job.plan.threads + 1
                && let Some(segment) = reader.next_segment()
            {
                indexes.push(None);
                segments_to.send(segment).expect("mergers live as long as this scope");
            }
            // A segment that was handed out has freed no block yet; the reads go on as soon as one
            // is done.
            if reader.is_done() && segments_done == reader.segments.begun() && parts.is_empty() {
                break;
            }
            select_biased! {
                recv(reader.completions_from) -> completion => {
                    if let Err(error) = reader.finish(completion.expect("the reader holds a sender")) {
                        job.failure.set(error);
                    }
                }
                recv(done_from) -> done => {
                    let Done { number, writes, stretch, records, index } =
                        done.expect("this thread holds a sender");
                    segments_done += 1;
                    job.gauges.counts.parts.fetch_add(1, Relaxed);
                    merged.records += records;
                    merged.checksum.merge(stretch.checksum);
                    indexes[number] = index;
                    if let Some(stretch) = parts.made(number, writes, stretch) {
                        finish(number, stretch);
                    }
                }
                recv(written_from) -> completion => {
                    let completion: Completion = completion.expect("this thread holds a sender");
                    job.traffic.finish(&completion);
                    if let Sink::Run(_) = sink {
                        job.scratch().written(&completion);
                    }
                    match completion.result {
                        Err(error) => job.failure.set(error.into()),
                        Ok(()) => {
                            if let Some((number, stretch)) = parts.written(completion.tag) {
                                finish(number, stretch);
                            }
                        }
                    }
                }
                default(STOP_INTERVAL) => {}
            }
        }
        // Mergers end when their channel does; one that waits for a block is woken.
        drop(segments_to);
        if job.failure.is_set() {
            sink.close();
        }
        merged.prefix = frontier.into_written().prefix;
        if let Sink::Run(_) = sink {
            let mut index = Index::with_capacity(job.key.bytes(), entries.len());
            indexes.into_iter().flatten().for_each(|next| index.append(next));
            merged.index = Some(index);
        }
    });
    job.stage_times.coordinator_busy.add(thread_cpu_time() - cpu_before);
    job.failure.check()?;
    let expected: u64 = runs.iter().map(|run| run.index.records()).sum();
    if merged.records != expected {
        return Err(Error::Lost {
            what: format!("{} records merged of {expected}", merged.records),
        });
    }
    Ok(merged)
}

/// Reads blocks in the order of the forecast, and makes segments of them.
struct Reader<'a, K> {
    job: &'a Job<'a, K>,
    runs: &'a [Run],
    block_pool: &'a Arc<BlockPool>,
    entries: &'a [Entry],
    /// Entries whose reads were started.
    started: usize,
    in_flight: usize,
    /// Started entries that no segment has, from `pushed` on.
    window: VecDeque<Slot>,
    /// Entries that a segment has.
    pushed: usize,
    segments: Segments<'a>,
    segment_blocks: usize,
    segment_start: usize,
    completions_to: Sender<Completion>,
    completions_from: Receiver<Completion>,
}

enum Slot {
    Reading,
    Ready(Option<Arc<Loaded>>),
}

impl<'a, K: Key> Reader<'a, K> {
    fn new(
        job: &'a Job<'a, K>,
        shape: &MergeShape,
        runs: &'a [Run],
        block_pool: &'a Arc<BlockPool>,
        entries: &'a [Entry],
    ) -> Self {
        let plan = job.plan;
        let spilled = runs.iter().filter(|run| run.resident.is_none()).count();
        // Beside a block for every run: the segments in flight, and the one that is being read.
        let segment_blocks = if spilled == 0 {
            shape.segment_blocks
        } else {
            let room = block_pool
                .capacity()
                .checked_sub(spilled)
                .expect("the plan has a block for every run");
            shape.segment_blocks.min(room / (plan.threads + 3)).max(1)
        };
        let (completions_to, completions_from) = unbounded();
        Reader {
            job,
            runs,
            block_pool,
            entries,
            started: 0,
            in_flight: 0,
            window: VecDeque::new(),
            pushed: 0,
            segments: Segments::new(runs),
            segment_blocks,
            segment_start: 0,
            completions_to,
            completions_from,
        }
    }

    /// Begins with the forecast's entry number `from`, as if the segments before had been merged:
    /// reads the blocks in which the cut there falls, and makes it.
    fn skip(&mut self, from: usize) -> Result<(), Error> {
        let Some(&next) = self.entries.get(from) else {
            self.segment_start = self.entries.len();
            (self.started, self.pushed) = (self.segment_start, self.segment_start);
            return Ok(());
        };
        let mut begun = vec![0; self.runs.len()];
        self.entries[..from].iter().for_each(|entry| begun[entry.run as usize] += 1);
        let low = self.runs[next.run as usize].index.key(next.block as usize);
        for (number, &blocks) in begun.iter().enumerate().filter(|(_, blocks)| **blocks > 0) {
            let Run { index, resident } = &self.runs[number];
            let last = blocks - 1;
            let is_over = blocks == index.blocks().len() && index.largest() < low;
            let loaded =
                if resident.is_some() || is_over { None } else { Some(self.read(number, last)?) };
            self.segments.skip(number, last, loaded, is_over);
        }
        (self.started, self.pushed, self.segment_start) = (from, from, from);
        if from > 0 {
            let passed = self.segments.end(self.entries[0], Some(next));
            let cut = Cut::find(self.job, self.runs, &passed);
            passed.end.send(Arc::new(cut)).expect("the next segment's beginning is there");
        }
        Ok(())
    }

    /// Reads one block, and waits for it.
    fn read(&mut self, run: usize, block: usize) -> Result<Arc<Loaded>, Error> {
        let lease = self.block_pool.try_take().expect("the plan has a block for every run");
        self.submit(run, block, lease, 0);
        let completion = self.completions_from.recv().expect("the reader holds a sender");
        self.in_flight -= 1;
        self.job.traffic.finish(&completion);
        completion.result?;
        let found = self.runs[run].index.blocks()[block];
        let bytes = paged_bytes(found.records as usize, self.job.record_bytes);
        check_seal(
            self.job.disk,
            self.job.scratch(),
            found.place,
            &completion.lease[..bytes],
            found.checksum,
        )?;
        Ok(Arc::new(Loaded { lease: completion.lease }))
    }

    fn submit(&mut self, run: usize, block: usize, lease: Lease, tag: u64) {
        let block = self.runs[run].index.blocks()[block];
        let bytes = paged_bytes(block.records as usize, self.job.record_bytes);
        self.in_flight += 1;
        self.job.submit(Request {
            direction: Direction::Read,
            file: self.job.scratch().file(block.place.drive),
            offset: block.place.offset,
            bytes,
            bytes_needed: bytes,
            lease,
            tag,
            reply: self.completions_to.clone(),
        });
    }

    /// All segments have been handed out.
    fn is_done(&self) -> bool {
        self.segment_start == self.entries.len()
    }

    /// Starts as many reads as there are free blocks, within bounds.
    fn start_reads(&mut self) {
        let in_flight_max =
            (READ_FLIGHT_BYTES / self.block_pool.block_bytes().max(1)).clamp(4, 512);
        // Resident blocks cost nothing to "read", but their slots would pile up.
        while self.in_flight < in_flight_max
            && self.window.len() < 4 * in_flight_max + self.segment_blocks
        {
            let Some(&Entry { run, block }) = self.entries.get(self.started) else { return };
            if self.runs[run as usize].resident.is_some() {
                self.window.push_back(Slot::Ready(None));
            } else {
                let Some(lease) = self.block_pool.try_take() else { return };
                self.window.push_back(Slot::Reading);
                self.submit(run as usize, block as usize, lease, self.started as u64);
            }
            self.started += 1;
        }
    }

    /// Takes a finished read in.
    fn finish(&mut self, completion: Completion) -> Result<(), Error> {
        self.in_flight -= 1;
        self.job.traffic.finish(&completion);
        completion.result?;
        let at = completion.tag as usize;
        let loaded = Arc::new(Loaded { lease: completion.lease });
        self.window[at - self.pushed] = Slot::Ready(Some(loaded));
        Ok(())
    }

    /// The next segment, if all of its blocks are in memory.
    fn next_segment(&mut self) -> Option<Segment> {
        if self.is_done() {
            return None;
        }
        let end = self.entries.len().min(self.segment_start + self.segment_blocks);
        while self.pushed < end {
            match self.window.front() {
                Some(Slot::Ready(_)) => {}
                _ => return None,
            }
            let Some(Slot::Ready(loaded)) = self.window.pop_front() else {
                unreachable!("just looked")
            };
            self.segments.push(self.entries[self.pushed].run as usize, loaded);
            self.pushed += 1;
        }
        let (first, next) = (self.entries[self.segment_start], self.entries.get(end).copied());
        let mut segment =
            self.job.stage_times.hand_out_busy.time_cpu(|| self.segments.end(first, next));
        segment.sources = end;
        self.segment_start = end;
        Some(segment)
    }
}
