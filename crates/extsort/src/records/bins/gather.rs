//! Gathering: a pass that sorts one bin after another into the output.
//!
//! Several bins are in progress at once: while one is read, each thread sorts and writes another.
//! The sizes of the preceding bins determine a bin's position in the output, so threads don't wait
//! for each other.

use super::load::{Load, Loads};
use crate::Error;
use crate::records::filler::{Chunk, Filler};
use crate::records::frontier::{OutputFrontier, WrittenRange};
use crate::records::job::{CompleteOutput, SortJob};
use crate::records::memory::Memory;
use crate::records::output::{Output, OutputRange};
use crate::records::pipeline::{Pipeline, WorkedUnit, Worker};
use crate::records::plan::ScatterShape;
use crate::records::report::BinReport;
use crate::store::journal::Step;
use crossbeam_channel::Sender;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{ALIGNMENT, BlockPool, Completion, FileId, Lease, align_up};
use xsort_kernels::RecordKernels;

/// Sorts `loads` in order into the output file, after the part that an earlier process has written.
/// Also returns the report of each load.
pub(super) fn gather(
    job: &SortJob<'_>,
    shape: &ScatterShape,
    output_file: FileId,
    loads: Loads<'_>,
    memory: &mut Memory,
) -> Result<(CompleteOutput, Vec<BinReport>), Error> {
    let plan = job.plan;
    // Areas first, as `memory` demands.
    let areas = memory.take(shape.gather_areas, plan.area_bytes as usize);
    let mut sort_buffers = memory.take(plan.threads, plan.sort_buffer_bytes as usize);
    let seam_pages = memory.take(plan.seam_pages, ALIGNMENT);
    let block_bytes = plan.output_block_bytes as usize;
    let blocks = BlockPool::new(memory.take(plan.output_blocks, block_bytes), block_bytes);
    let output = Output::new(output_file, plan.bytes, blocks, seam_pages);

    let begun = output.resume(job)?;
    let mut checksum = begun.checksum();
    let first_load = begun.sources as usize;
    let starts = starts(loads.loads, job.record_bytes);
    if starts.get(first_load) != Some(&begun.prefix.bytes) {
        let detail = format!("load {first_load} isn't at byte {}", begun.prefix.bytes);
        return Err(job.journal.refuse(Step::Written, &detail));
    }
    let mut frontier = OutputFrontier::new(job.record_bytes, plan.bytes, first_load, begun);
    let mut reports = BTreeMap::new();
    let files = job.scratch.as_ref().map_or(&[][..], |scratch| scratch.files());
    let pages = loads.loads.iter().map(|load| load.pages(job.record_bytes));
    let mut filler = Filler::new(job, files, pages.enumerate().skip(first_load), areas, false);
    if plan.is_in_place() {
        // Don't overwrite a load before it has been read.
        filler = filler.in_order();
    }
    let mut sort_buffers = sort_buffers.iter_mut();
    let pipeline = Pipeline {
        idle_timer: &job.stage_times.work_waits_for_read,
        scratch: None,
        close: &|| output.close(),
    };
    let gatherer = |written| Gatherer {
        job,
        loads,
        starts: &starts,
        output: &output,
        sort_buffer: sort_buffers.next().expect("there is a sort buffer for each thread"),
        written,
    };
    pipeline.run(job, &mut filler, gatherer, &mut |number, (range, report): GatheredLoad| {
        checksum.merge(range.checksum);
        reports.insert(number, report);
        match frontier.add(number, range) {
            Ok(Some(progress)) => job.journal.record(Step::Written, progress),
            Ok(None) => {}
            Err(error) => job.failure.set(error),
        }
    })?;
    let prefix = frontier.into_progress().prefix;
    Ok((CompleteOutput { checksum, prefix }, reports.into_values().collect()))
}

/// The offset of each load in the output, and the end of the last one, in bytes.
pub(super) fn starts(loads: &[Load], record_bytes: usize) -> Vec<u64> {
    let ends = loads.iter().scan(0, |end, load| {
        *end += load.records * record_bytes as u64;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Refuses records with different keys in a bin that should have one key and is not sorted.
fn check_one_key(
    kernels: &dyn RecordKernels,
    records: &[u8],
    record_bytes: usize,
    bin: usize,
) -> Result<(), Error> {
    if kernels.common_prefix(records, record_bytes) == kernels.key_bytes() {
        return Ok(());
    }
    Err(Error::Lost { what: format!("the only key of bin {bin}") })
}

/// Refuses neighbouring bins that share a key: a record is then in the wrong bin.
fn check_seams(
    kernels: &dyn RecordKernels,
    records: &[u8],
    record_bytes: usize,
    order: &[u64],
    seams: &[u64],
) -> Result<(), Error> {
    let record = |at: usize| {
        order.get(at).map(|&place| &records[place as usize * record_bytes..][..record_bytes])
    };
    let is_apart = |&seam: &u64| {
        let (last, first) =
            ((seam as usize).checked_sub(1).and_then(record), record(seam as usize));
        last.zip(first).is_none_or(|(last, first)| kernels.compare(last, first).is_lt())
    };
    if seams.iter().all(is_apart) {
        return Ok(());
    }
    Err(Error::Lost { what: "the bounds of bins that were sorted together".into() })
}

/// A load that is written to the output.
type GatheredLoad = (WrittenRange, BinReport);

/// A worker that sorts loads into the output.
struct Gatherer<'a> {
    job: &'a SortJob<'a>,
    loads: Loads<'a>,
    starts: &'a [u64],
    output: &'a Output,
    sort_buffer: &'a mut Lease,
    written: Sender<Completion>,
}

impl Worker for Gatherer<'_> {
    type Unit = Chunk;
    type Product = GatheredLoad;

    fn work(&mut self, chunk: Chunk) -> Result<WorkedUnit<GatheredLoad>, Error> {
        let mut times = chunk.times();
        let Chunk { number, mut area, .. } = chunk;
        let SortJob { kernels, record_bytes, caches, plan, stage_times, .. } = *self.job;
        let load = &self.loads.loads[number];
        let order_bytes = align_up(plan.chunk_bytes / plan.record_bytes * 8) as usize;
        let pages_bytes = area.len() - order_bytes;
        let (mut pages, mut order_lease) = (area.split_off_front(pages_bytes), area);

        let collect = || self.loads.collect(self.job, number, &mut pages);
        let bytes = stage_times.load_busy.time(collect)?;
        let records = &pages[..bytes];
        let count = load.records as usize;
        assert_eq!(bytes, count * record_bytes, "a load has all records that were counted");
        let order: &mut [u64] = &mut bytemuck::cast_slice_mut(&mut order_lease)[..count];
        if load.is_one_key {
            check_one_key(kernels, records, record_bytes, load.bin)?;
        } else {
            let buffer: &mut [u64] = &mut bytemuck::cast_slice_mut(self.sort_buffer)[..count];
            let sort = || kernels.sort(records, record_bytes, order, buffer, caches);
            stage_times.sort_busy.time(sort);
            check_seams(kernels, records, record_bytes, order, &load.seams)?;
        }
        times.sorted();

        let mut done = 0;
        let mut fill = |out: &mut [u8]| {
            let to = done + out.len() / record_bytes;
            if load.is_one_key {
                out.copy_from_slice(&records[done * record_bytes..to * record_bytes]);
            } else {
                xsort_kernels::gather(records, record_bytes, &order[done..to], out);
            }
            done = to;
        };
        let (start, sources) = (self.starts[number], number as u64 + 1);
        let records = load.records;
        let has_own_keys = !self.loads.goes_on(number);
        let range = OutputRange { unit: number, start, records, sources, has_own_keys };
        let filled = self.output.fill(self.job, range, &mut fill, &self.written)?;
        let Load { bin, bins, records, is_one_key, .. } = *load;
        let report = BinReport { bin, bins, records, is_one_key, ..BinReport::default() };
        let report = times.bin_report(filled.waited, report);
        self.job.gauges.counts.parts.fetch_add(load.bins as u64, Relaxed);
        pages.join(order_lease);
        let product = (filled.range, report);
        Ok(WorkedUnit { number, area: Some(pages), writes: filled.writes, product })
    }
}
