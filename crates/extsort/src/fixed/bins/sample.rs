//! A sample of the keys, taken evenly from all over the data.
//!
//! A few kibibytes are read at evenly spaced places, more places than a bin needs keys would take:
//! records that lie together are often alike.

use super::load::Load;
use super::piece::Piece;
use super::plan::sample_keys;
use super::scatter::{Resident, Slice};
use crate::Error;
use crate::fixed::chunks::Extent;
use crate::fixed::job::{Job, SortIo};
use crate::fixed::memory::Memory;
use crate::job::failure::STOP_INTERVAL;
use crossbeam_channel::unbounded;
use xsort_disk::{ALIGNMENT, BlockPool, Direction, FileId, Request, align_up};
use xsort_records::Key;

/// Bytes read at each place, if records are small.
const PLACE_BYTES: u64 = 8 << 10;
/// Least number of places, if there are so many records.
const PLACES_MIN: u64 = 1_024;
/// Reads in flight.
const READS_MAX: usize = 32;

/// Normalised keys of the inputs' records, sorted, for so many bins.
pub(super) fn sample_input<K: Key>(
    job: &Job<'_, K>,
    io: &SortIo<'_>,
    memory: &mut Memory,
    bins: usize,
) -> Result<Vec<u8>, Error> {
    let whole = |(file, &bytes): (usize, &u64)| Extent { file, offset: 0, bytes };
    let extents: Vec<Extent> = io.input_bytes.iter().enumerate().map(whole).collect();
    let wanted = sample_keys(job.plan, bins);
    let mut keys = Vec::new();
    read_keys(job, io.input_files, &extents, wanted, memory, &mut keys)?;
    Ok(sorted(job, keys))
}

/// The same of loads.
pub(super) fn sample_loads<K: Key>(
    job: &Job<'_, K>,
    loads: &[Load],
    residents: &[Resident],
    memory: &mut Memory,
    bins: usize,
) -> Result<Vec<u8>, Error> {
    let records_of = |piece: &Piece| Extent {
        file: usize::from(piece.place.drive),
        offset: piece.place.offset,
        bytes: u64::from(piece.records) * job.record_bytes as u64,
    };
    let extents: Vec<Extent> = loads.iter().flat_map(|load| &load.pieces).map(records_of).collect();
    let slices = loads.iter().flat_map(|load| &load.slices);
    let in_memory: usize = slices.clone().map(Slice::records).sum();
    let on_scratch =
        extents.iter().map(|extent| extent.bytes).sum::<u64>() / job.record_bytes as u64;
    let wanted = sample_keys(job.plan, bins);
    let share = |records: u64| (wanted * records).div_ceil((on_scratch + in_memory as u64).max(1));
    let mut keys = Vec::new();
    if on_scratch > 0 {
        read_keys(job, job.scratch().files(), &extents, share(on_scratch), memory, &mut keys)?;
    }
    let step = in_memory.div_ceil(share(in_memory as u64).max(1) as usize).max(1);
    for slice in slices {
        let resident = &residents[slice.resident];
        for &index in resident.order(slice).iter().step_by(step) {
            push_key(job, &resident.records()[index as usize * job.record_bytes..], &mut keys);
        }
    }
    Ok(sorted(job, keys))
}

fn push_key<K: Key>(job: &Job<'_, K>, record: &[u8], keys: &mut Vec<u8>) {
    let from = keys.len();
    keys.resize(from + job.key.bytes(), 0);
    job.key.encode(&record[..job.record_bytes], &mut keys[from..]);
}

fn sorted<K: Key>(job: &Job<'_, K>, keys: Vec<u8>) -> Vec<u8> {
    let mut sorted: Vec<&[u8]> = keys.chunks(job.key.bytes()).collect();
    sorted.sort_unstable();
    sorted.concat()
}

/// Reads about `wanted` keys from evenly spaced places of the extents, which hold whole records.
fn read_keys<K: Key>(
    job: &Job<'_, K>,
    files: &[FileId],
    extents: &[Extent],
    wanted: u64,
    memory: &mut Memory,
    keys: &mut Vec<u8>,
) -> Result<(), Error> {
    let record_bytes = job.record_bytes as u64;
    let records: u64 = extents.iter().map(|extent| extent.bytes / record_bytes).sum();
    let at_once = (PLACE_BYTES / record_bytes).max(1);
    let places = wanted.div_ceil(at_once).max(PLACES_MIN).min(wanted).min(records);
    let slack_bytes = 2 * ALIGNMENT as u64;
    // There is always one of an area's size: the next scatter takes some.
    let area_records = (job.plan.area_bytes - slack_bytes) / record_bytes;
    let each = wanted.div_ceil(places.max(1)).min(at_once).min(area_records);
    let block_bytes = (align_up(each * record_bytes) + slack_bytes) as usize;
    let blocks = memory.take(memory.fitting(block_bytes).min(READS_MAX), block_bytes);
    let block_pool = BlockPool::new(blocks, block_bytes);
    let (reply, completions) = unbounded();
    let mut requests = (0..places).filter_map(|place| {
        let stretch = stretch(extents, record_bytes, place * records / places, each)?;
        let pages = stretch.aligned();
        Some((stretch, pages))
    });
    let mut in_flight = Vec::new();
    let mut tag = 0;
    let mut is_done = false;
    while !job.should_stop() {
        while !is_done && let Some(lease) = block_pool.try_take() {
            let Some((stretch, pages)) = requests.next() else {
                is_done = true;
                break;
            };
            in_flight.push((tag, stretch));
            job.submit(Request {
                direction: Direction::Read,
                file: files[stretch.file],
                offset: pages.start,
                bytes: (pages.end - pages.start) as usize,
                bytes_needed: (stretch.offset + stretch.bytes - pages.start) as usize,
                lease,
                tag,
                reply: reply.clone(),
            });
            tag += 1;
        }
        if in_flight.is_empty() {
            break;
        }
        let Ok(completion) = completions.recv_timeout(STOP_INTERVAL) else { continue };
        job.traffic.finish(&completion);
        let at =
            in_flight.iter().position(|(tag, _)| *tag == completion.tag).expect("a read of ours");
        let (_, stretch) = in_flight.swap_remove(at);
        completion.result?;
        let lead = (stretch.offset - stretch.aligned().start) as usize;
        for record in completion.lease[lead..][..stretch.bytes as usize].chunks(job.record_bytes) {
            push_key(job, record, keys);
        }
    }
    job.failure.check()?;
    memory.give(block_pool.dissolve());
    Ok(())
}

/// At most `each` records from record number `first` of all extents on, as far as they lie in one
/// extent.
fn stretch(extents: &[Extent], record_bytes: u64, first: u64, each: u64) -> Option<Extent> {
    let mut before = first * record_bytes;
    for extent in extents {
        if before < extent.bytes {
            let bytes = (extent.bytes - before).min(each * record_bytes);
            return Some(Extent { file: extent.file, offset: extent.offset + before, bytes });
        }
        before -= extent.bytes;
    }
    None
}
