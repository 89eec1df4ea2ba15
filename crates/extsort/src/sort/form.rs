//! Phase one: runs. Reading, sorting and spilling go on at once.
//!
//! ```text
//!            free areas <------------------------------.-------------------.
//!                |                                     |                   |
//!  input --> fill an area (this thread) --> sort (threads) --> gather into blocks --> scratch
//!                                               `--> the last runs stay in memory
//! ```
//!
//! This thread only starts transfers and deals with their completions. Every chunk is sorted, gathered and handed to the drives by one
//! thread on its own, so threads share nothing but channels, and skew in the keys can't make one wait for another.

use super::block::write_block;
use super::fill::{Chunk, Filler, compact};
use super::job::{Alarm, Input, Job, STOP_INTERVAL};
use super::run::{Block, Index, Resident, Run};
use super::scratch::{NOWHERE, Scratch};
use crate::Error;
use crate::threads::spawn_up_to;
use crossbeam_channel::{Receiver, Sender, select_biased, unbounded};
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::{Completion, Lease, Shelf, align_up};
use xsort_kernels::{gather, sort};
use xsort_records::{Checksum, Key};

/// What phase one leaves to phase two.
pub(crate) struct Formed {
    /// In the order of the input.
    pub(crate) runs: Vec<Run>,
    /// All memory of the pool that holds no run.
    pub(crate) free: Vec<Lease>,
    /// Of all records read.
    pub(crate) checksum: Checksum,
    /// How each run was made.
    pub(crate) reports: Vec<RunReport>,
}

/// How one run was made.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// Its number, in the order of the input.
    pub run: usize,
    /// Records in it.
    pub records: u64,
    /// Whether it stayed in memory.
    pub is_resident: bool,
    /// Blocks on scratch.
    pub blocks: usize,
    /// Seconds from the first read's start to the last one's end.
    pub read_seconds: f64,
    /// Seconds until a thread took it up.
    pub queue_seconds: f64,
    /// Seconds of hashing and sorting.
    pub sort_seconds: f64,
    /// Seconds of gathering, with the waits for free blocks.
    pub spill_seconds: f64,
}

/// A chunk that is a run now.
struct Sorted {
    number: usize,
    run: Run,
    checksum: Checksum,
    report: RunReport,
}

/// Reads `inputs`, and makes a sorted run of every chunk.
pub(crate) fn form<K: Key>(
    job: &Job<'_, K>,
    inputs: &[Input],
    scratch: Option<&Scratch<'_>>,
) -> Result<Formed, Error> {
    let plan = job.plan;
    let mut pool = Lease::map(plan.pool_bytes as usize)?;
    let mut take = |bytes: u64| pool.split_off_front(bytes as usize);
    let mut spares: Vec<Lease> = (0..plan.threads).map(|_| take(plan.spare_bytes)).collect();
    let spill = scratch.map(|scratch| {
        let room = take(plan.spill_blocks as u64 * plan.block_bytes);
        (scratch, Shelf::new([room], plan.block_bytes as usize))
    });
    let areas: Vec<Lease> = (0..plan.areas).map(|_| take(plan.area_bytes)).collect();

    let (chunks_to, chunks_from) = unbounded();
    let (areas_to, areas_from) = unbounded();
    let (sorted_to, sorted_from) = unbounded();
    let (written_to, written_from) = unbounded();
    let mut formed =
        Formed { runs: Vec::new(), free: Vec::new(), checksum: Checksum::default(), reports: Vec::new() };
    std::thread::scope(|scope| {
        let mut spares = spares.iter_mut();
        let started = spawn_up_to(scope, plan.threads, |_| {
            let sorter = Sorter {
                job,
                spill: spill.as_ref().map(|(scratch, shelf)| (*scratch, shelf)),
                spare: spares.next().expect("the plan has a spare room for each thread"),
                written: written_to.clone(),
                free: areas_to.clone(),
            };
            let (chunks_from, sorted_to) = (chunks_from.clone(), sorted_to.clone());
            move || sorter.run(&chunks_from, &sorted_to)
        });
        if let Err(error) = started {
            job.failure.set(error);
        }
        let mut filler = Filler::new(job, inputs, areas);
        let mut runs: Vec<Option<Run>> = (0..plan.runs).map(|_| None).collect();
        let (mut sorted, mut blocks_spilled, mut blocks_written) = (0, 0, 0);
        while (sorted < plan.runs || blocks_written < blocks_spilled) && !job.should_stop() {
            filler.start_reads();
            let idle_since = filler.is_starved().then(Instant::now);
            select_biased! {
                recv(filler.completions_from) -> completion => {
                    let completion = completion.expect("the filler holds the sending side");
                    match filler.finish(completion) {
                        Ok(Some(chunk)) => chunks_to.send(chunk).expect("sorters live as long as this scope"),
                        Ok(None) => {}
                        Err(error) => job.failure.set(error),
                    }
                }
                recv(written_from) -> completion => {
                    let completion: Completion = completion.expect("this thread holds a sender");
                    blocks_written += 1;
                    job.traffic.finish(&completion);
                    if let Some((scratch, _)) = &spill {
                        scratch.written(&completion);
                    }
                    if let Err(error) = completion.result {
                        job.failure.set(error.into());
                    }
                }
                recv(areas_from) -> area => filler.areas.push(area.expect("this thread holds a sender")),
                recv(sorted_from) -> chunk => {
                    let Sorted { number, run, checksum, report } = chunk.expect("this thread holds a sender");
                    sorted += 1;
                    if run.resident.is_none() {
                        blocks_spilled += run.index.blocks().len();
                    }
                    runs[number] = Some(run);
                    formed.checksum.merge(checksum);
                    formed.reports.push(report);
                }
                default(STOP_INTERVAL) => {}
            }
            if let Some(since) = idle_since {
                job.ledger.read_waits_for_areas.add(since.elapsed());
            }
        }
        // Sorters end when their channel does; one that waits for a block is woken.
        drop(chunks_to);
        if let (Some((_, shelf)), true) = (&spill, job.failure.is_set()) {
            shelf.close();
        }
        formed.runs = runs.into_iter().flatten().collect();
        formed.free = std::mem::take(&mut filler.areas);
        formed.reports.sort_unstable_by_key(|report| report.run);
    });
    job.failure.check()?;
    formed.free.extend(areas_from.try_iter());
    formed.free.extend(spares);
    formed.free.extend(spill.into_iter().flat_map(|(_, shelf)| shelf.dissolve()));
    formed.free.push(pool);
    Ok(formed)
}

/// A thread that makes runs of chunks.
struct Sorter<'a, K> {
    job: &'a Job<'a, K>,
    spill: Option<(&'a Scratch<'a>, &'a Arc<Shelf>)>,
    spare: &'a mut Lease,
    written: Sender<Completion>,
    free: Sender<Lease>,
}

impl<K: Key> Sorter<'_, K> {
    fn run(mut self, chunks: &Receiver<Chunk>, sorted: &Sender<Sorted>) {
        let _alarm = Alarm(&self.job.failure);
        while let Ok(chunk) = self.job.ledger.sort_waits_for_read.time(|| chunks.recv()) {
            if self.job.failure.is_set() {
                continue;
            }
            match self.sort(chunk) {
                // The coordinator may have given up already; then nobody wants the run.
                Ok(run) => drop(sorted.send(run)),
                Err(error) => self.job.failure.set(error),
            }
        }
    }

    fn sort(&mut self, chunk: Chunk) -> Result<Sorted, Error> {
        let Chunk { number, extents, mut area, read_time, arrived_at } = chunk;
        let begun_at = Instant::now();
        let Job { key, record_bytes, plan, ledger, .. } = *self.job;
        let bytes = extents.iter().map(|extent| extent.bytes as usize).sum::<usize>();
        let count = bytes / record_bytes;
        let order_bytes = align_up(count as u64 * 8) as usize;
        let records_bytes = area.len() - order_bytes;
        let mut records_lease = area.split_off_front(records_bytes);
        let mut order_lease = area;
        let first_byte = compact(&mut records_lease, &extents);
        let records = &records_lease[first_byte..][..bytes];

        let mut checksum = Checksum::default();
        ledger.checksum_busy.time(|| checksum.add_records(records, record_bytes));
        let order: &mut [u64] = &mut bytemuck::cast_slice_mut(&mut order_lease)[..count];
        let spare: &mut [u64] = &mut bytemuck::cast_slice_mut(self.spare)[..count];
        ledger.sort_busy.time(|| sort(key, records, record_bytes, order, spare));

        let sorted_at = Instant::now();

        let (index, resident) = match self.spill {
            Some((scratch, shelf)) if number < plan.spilled_runs => {
                let index = self.spill(scratch, shelf, records, order)?;
                records_lease.join(order_lease);
                // The coordinator may have given up already; then nobody wants the area.
                drop(self.free.send(records_lease));
                (index, None)
            }
            _ => {
                let index = self.stretches(records, order);
                let resident = Resident { records: records_lease, first_byte, count, order: order_lease };
                (index, Some(resident))
            }
        };
        let is_resident = resident.is_some();
        let report = RunReport {
            run: number,
            records: count as u64,
            is_resident,
            blocks: if is_resident { 0 } else { index.blocks().len() },
            read_seconds: read_time.as_secs_f64(),
            queue_seconds: (begun_at - arrived_at).as_secs_f64(),
            sort_seconds: (sorted_at - begun_at).as_secs_f64(),
            spill_seconds: sorted_at.elapsed().as_secs_f64(),
        };
        Ok(Sorted { number, run: Run { index, resident }, checksum, report })
    }

    /// Gathers a sorted chunk into blocks and hands them to the drives.
    fn spill(
        &self,
        scratch: &Scratch<'_>,
        shelf: &Arc<Shelf>,
        records: &[u8],
        order: &[u64],
    ) -> Result<Index, Error> {
        let Job { record_bytes, plan, ledger, .. } = *self.job;
        let block_records = plan.block_records() as usize;
        let mut index = self.new_index(order);
        for stretch in order.chunks(block_records) {
            let block = ledger.gather_waits_for_write.time(|| shelf.take());
            let mut block = block.ok_or(Error::Cancelled)?;
            let bytes = stretch.len() * record_bytes;
            ledger.gather_busy.time(|| {
                gather(records, record_bytes, stretch, &mut block[..bytes]);
                write_block(self.job, scratch, block, stretch.len(), &mut index, &self.written)
            })?;
        }
        self.set_largest(&mut index, records, order);
        Ok(index)
    }

    /// The index of a run that stays in memory: the same stretches, without places.
    fn stretches(&self, records: &[u8], order: &[u64]) -> Index {
        let Job { key, record_bytes, plan, .. } = *self.job;
        let mut index = self.new_index(order);
        for stretch in order.chunks(plan.block_records() as usize) {
            let block = Block { place: NOWHERE, records: stretch.len() as u32, checksum: 0 };
            let smallest = &records[stretch[0] as usize * record_bytes..][..record_bytes];
            index.push(block, |out| key.encode(smallest, out));
        }
        self.set_largest(&mut index, records, order);
        index
    }

    fn new_index(&self, order: &[u64]) -> Index {
        let blocks = order.len().div_ceil(self.job.plan.block_records() as usize);
        Index::with_capacity(self.job.key.bytes(), blocks)
    }

    fn set_largest(&self, index: &mut Index, records: &[u8], order: &[u64]) {
        let Job { key, record_bytes, .. } = *self.job;
        let last = *order.last().expect("a chunk has records") as usize;
        index.set_largest(|out| key.encode(&records[last * record_bytes..][..record_bytes], out));
    }
}
