//! Gathering: a pass that sorts bin after bin into the output.
//!
//! Several bins are under way at once: one is read, one a thread is sorted and written. Where each
//! goes is known from the sizes of those before it, so nobody waits for a neighbour.

use super::load::{Load, Source};
use super::plan::ScatterShape;
use super::scatter::Resident;
use crate::Error;
use crate::fixed::fill::Chunk;
use crate::fixed::job::{Job, Sorted};
use crate::fixed::memory::Memory;
use crate::fixed::output::{Output, Portion, Seams};
use crate::fixed::parts::{Frontier, Stretch};
use crate::fixed::pass::{Pass, Worked, Worker, pass};
use crate::fixed::report::BinReport;
use crate::store::journal::Step;
use crossbeam_channel::Sender;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use xsort_disk::{ALIGNMENT, BlockPool, Completion, FileId, Lease, align_up};
use xsort_records::{Checksum, Key};

/// Sorts `loads`, one behind the other, into the output file, behind what an earlier process has
/// written of it. Returns what was written, and what was done with each bin.
pub(super) fn gather<K: Key>(
    job: &Job<'_, K>,
    shape: &ScatterShape,
    output_file: FileId,
    loads: &[Load],
    residents: &[Resident],
    memory: &mut Memory,
) -> Result<(Sorted, Vec<BinReport>), Error> {
    let plan = job.plan;
    let areas = memory.take(shape.gather_areas, plan.area_bytes as usize);
    let mut spares = memory.take(plan.threads, plan.spare_bytes as usize);
    let pages = memory.take(plan.seam_pages, ALIGNMENT);
    let blocks = memory.take(plan.output_blocks, plan.output_block_bytes as usize);
    let output = Output {
        file: output_file,
        bytes: plan.bytes,
        blocks: BlockPool::new(blocks, plan.output_block_bytes as usize),
        seams: Seams::new(BlockPool::new(pages, ALIGNMENT)),
    };
    let written = output.go_on(job)?;
    let mut checksum = written.checksum();
    let begun = written.sources as usize;
    let mut frontier = Frontier::new(job.record_bytes, plan.bytes, begun, written);
    let mut keep = |number: usize, gathered: &Gathered| {
        let Gathered { checksum, crc, .. } = *gathered;
        let stretch =
            Stretch { sources: number as u64 + 1, checksum, crc, tail: gathered.tail.clone() };
        if let Some(written) = frontier.add(number, stretch) {
            job.notes.record(Step::Written, written);
        }
    };
    let first_records = loads.iter().scan(0, |end, load| {
        *end += load.records;
        Some(*end - load.records)
    });
    let first_records: Vec<u64> = first_records.collect();
    let what = Pass {
        files: job.scratch.as_ref().map_or(&[], |scratch| scratch.files()),
        areas,
        reads_are_progress: false,
        scratch: None,
        give_up: &|| output.close(),
    };
    let source = Source::Loads { loads, residents, areas: shape.gather_areas };
    let extents = loads.iter().map(|load| load.pages(job.record_bytes)).enumerate().skip(begun);
    let mut spare = spares.iter_mut();
    let passed = pass(job, what, extents, &mut keep, |written| Gatherer {
        job,
        loads,
        first_records: &first_records,
        source: &source,
        output: &output,
        spare: spare.next().expect("the plan has a spare room for each thread"),
        written,
    })?;
    passed.made.iter().for_each(|(_, gathered)| checksum.merge(gathered.checksum));
    let sorted = Sorted { written: checksum, prefix: frontier.into_written().prefix };
    Ok((sorted, passed.made.into_iter().map(|(_, gathered)| gathered.report).collect()))
}

/// A load that is in the output.
struct Gathered {
    checksum: Checksum,
    crc: Option<u32>,
    tail: Vec<u8>,
    report: BinReport,
}

/// A thread that sorts bins into the output.
struct Gatherer<'a, K> {
    job: &'a Job<'a, K>,
    loads: &'a [Load],
    first_records: &'a [u64],
    source: &'a Source<'a>,
    output: &'a Output,
    spare: &'a mut Lease,
    written: Sender<Completion>,
}

impl<K: Key> Worker for Gatherer<'_, K> {
    type Made = Gathered;

    fn work(&mut self, chunk: Chunk) -> Result<Worked<Gathered>, Error> {
        let Chunk { number, extents, mut area, read_time, arrived_at } = chunk;
        let begun_at = Instant::now();
        let Job { key, record_bytes, caches, plan, stage_times, .. } = *self.job;
        let load = &self.loads[number];
        let order_bytes = align_up(plan.chunk_bytes / plan.record_bytes * 8) as usize;
        let pages_bytes = area.len() - order_bytes;
        let (mut lease, mut order_lease) = (area.split_off_front(pages_bytes), area);

        let collect = || self.source.collect(self.job, number, &extents, &mut lease);
        let (first_byte, bytes) = stage_times.load_busy.time(collect)?;
        let records = &lease[first_byte..][..bytes];
        let count = load.records as usize;
        assert_eq!(bytes, count * record_bytes, "a load is all records that were counted for it");
        let order: &mut [u64] = &mut bytemuck::cast_slice_mut(&mut order_lease)[..count];
        if !load.is_one_key {
            let spare: &mut [u64] = &mut bytemuck::cast_slice_mut(self.spare)[..count];
            let sort = || xsort_kernels::sort(key, records, record_bytes, order, spare, caches);
            stage_times.sort_busy.time(sort);
        }

        let sorted_at = Instant::now();
        let mut done = 0;
        let fill = |out: &mut [u8]| {
            let to = done + out.len() / record_bytes;
            if load.is_one_key {
                out.copy_from_slice(&records[done * record_bytes..to * record_bytes]);
            } else {
                xsort_kernels::gather(records, record_bytes, &order[done..to], out);
            }
            done = to;
        };
        let start = self.first_records[number] * record_bytes as u64;
        let mut checksum = Checksum::default();
        let portion = Portion { part: number, start, records: load.records };
        let filled = self.output.fill(self.job, fill, portion, &mut checksum, &self.written)?;
        let report = BinReport {
            bin: load.bin,
            bins: load.bins,
            records: load.records,
            is_one_key: load.is_one_key,
            read_seconds: read_time.as_secs_f64(),
            queue_seconds: (begun_at - arrived_at).as_secs_f64(),
            sort_seconds: (sorted_at - begun_at).as_secs_f64(),
            write_seconds: sorted_at.elapsed().as_secs_f64(),
            write_wait_seconds: filled.waited.as_secs_f64(),
        };
        self.job.gauges.counts.parts.fetch_add(load.bins as u64, Relaxed);
        lease.join(order_lease);
        Ok(Worked {
            area: Some(lease),
            writes: filled.writes,
            made: Gathered { checksum, crc: filled.crc, tail: filled.tail, report },
        })
    }
}
