//! A sample of the keys, taken evenly from all parts of the data.
//!
//! The data is divided into stretches of equal length, and a few kibibytes are read at a random
//! place in each (stratified sampling). There are more stretches than the number of keys requires,
//! because neighbouring records are often alike. Places at equal distances would mislead the sample
//! if the input's order had the same period.

use super::limits::Limits;
use super::load::Loads;
use super::piece::Piece;
use super::slices::BinSlice;
use crate::Error;
use crate::records::chunks::Extent;
use crate::records::job::{SortIo, SortJob};
use crate::records::memory::Memory;
use crate::records::plan::{Plan, Shape, sample_keys};
use crate::store::ordered_reads::FileRange;
use std::ops::Range;
use xsort_disk::{ALIGNMENT, FileId, align_up};
use xsort_records::split_mix;

/// Bytes read at each place, if records are small.
const PLACE_BYTES: u64 = 8 << 10;
/// Minimum number of places, if there are enough records.
const PLACES_MIN: u64 = 1_024;
/// Maximum number of reads in flight.
const READS_MAX: usize = 32;

/// Maximum number of records read at one place.
fn records_at_place(record_bytes: u64) -> u64 {
    (PLACE_BYTES / record_bytes).max(1)
}

/// The number of places for sampling `wanted` of `records` records, with up to `per_read` at each.
fn places(wanted: u64, records: u64, per_read: u64) -> u64 {
    wanted.div_ceil(per_read).max(PLACES_MIN).min(wanted).min(records)
}

/// The number of reads that sample the inputs.
pub(crate) fn sample_reads(plan: &Plan) -> u64 {
    let Shape::Scatter(shape) = &plan.shape else { return 0 };
    let bins = Limits::of(plan, shape).bins_at_once(plan.bytes);
    places(sample_keys(plan, bins), plan.records, records_at_place(plan.record_bytes))
}

/// Samples the inputs for a scatter into `bins` bins. Returns the normalised keys, sorted.
pub(super) fn sample_input(
    job: &SortJob<'_>,
    io: &SortIo<'_>,
    memory: &mut Memory,
    bins: usize,
) -> Result<Vec<u8>, Error> {
    let whole = |(file, &bytes): (usize, &u64)| Extent { file, offset: 0, bytes };
    let extents: Vec<Extent> = io.input_bytes.iter().enumerate().map(whole).collect();
    let wanted = sample_keys(job.plan, bins);
    Ok(sorted(job, read_keys(job, io.input_files, &extents, wanted, memory)?))
}

/// Samples loads for a scatter into `bins` bins. Returns the normalised keys, sorted.
pub(super) fn sample_loads(
    job: &SortJob<'_>,
    loads: Loads<'_>,
    memory: &mut Memory,
    bins: usize,
) -> Result<Vec<u8>, Error> {
    let records_of = |piece: &Piece| Extent {
        file: usize::from(piece.address.drive),
        offset: piece.address.offset,
        bytes: u64::from(piece.records) * job.record_bytes as u64,
    };
    let extents: Vec<Extent> =
        loads.loads.iter().flat_map(|load| &load.pieces).map(records_of).collect();
    let slices = loads.loads.iter().flat_map(|load| &load.slices);
    let in_memory: usize = slices.clone().map(BinSlice::records).sum();
    let on_scratch =
        extents.iter().map(|extent| extent.bytes).sum::<u64>() / job.record_bytes as u64;
    let wanted = sample_keys(job.plan, bins);
    let share = |records: u64| (wanted * records).div_ceil((on_scratch + in_memory as u64).max(1));
    let mut keys = match on_scratch {
        0 => Vec::new(),
        _ => read_keys(job, job.scratch().files(), &extents, share(on_scratch), memory)?,
    };
    let step = in_memory.div_ceil(share(in_memory as u64).max(1) as usize).max(1);
    for slice in slices {
        let records = loads.residents[slice.resident].chunk.records(job.record_bytes);
        for &index in slice.order(loads.residents).iter().step_by(step) {
            push_key(job, &records[index as usize * job.record_bytes..], &mut keys);
        }
    }
    Ok(sorted(job, keys))
}

fn push_key(job: &SortJob<'_>, record: &[u8], keys: &mut Vec<u8>) {
    let from = keys.len();
    keys.resize(from + job.kernels.key_bytes(), 0);
    job.kernels.encode(&record[..job.record_bytes], &mut keys[from..]);
}

fn sorted(job: &SortJob<'_>, keys: Vec<u8>) -> Vec<u8> {
    let mut sorted: Vec<&[u8]> = keys.chunks(job.kernels.key_bytes()).collect();
    sorted.sort_unstable();
    sorted.concat()
}

/// Reads about `wanted` keys from all parts of the extents, which hold whole records.
fn read_keys(
    job: &SortJob<'_>,
    files: &[FileId],
    extents: &[Extent],
    wanted: u64,
    memory: &mut Memory,
) -> Result<Vec<u8>, Error> {
    let record_bytes = job.record_bytes as u64;
    let records: u64 = extents.iter().map(|extent| extent.bytes / record_bytes).sum();
    let per_read = records_at_place(record_bytes);
    let places = places(wanted, records, per_read);
    let slack_bytes = 2 * ALIGNMENT as u64;
    // There is always one buffer of an area's size: the next scatter takes some.
    let area_records = (job.plan.area_bytes - slack_bytes) / record_bytes;
    let each = wanted.div_ceil(places.max(1)).min(per_read).min(area_records);
    let buffer_bytes = (align_up(each * record_bytes) + slack_bytes) as usize;
    let buffers = memory.take(memory.fitting(buffer_bytes).min(READS_MAX), buffer_bytes);
    let reads = (0..places).filter_map(|place| {
        let stretch = place * records / places..(place + 1) * records / places;
        let first = first_sampled(job.sample_seed, place, stretch, each);
        let sampled = records_at(extents, record_bytes, first, each)?;
        let offset = sampled.aligned().start;
        let lead = (sampled.offset - offset) as usize;
        let bytes = lead + sampled.bytes as usize;
        Some((FileRange { file: files[sampled.file], offset, bytes }, lead))
    });
    let mut keys = Vec::new();
    let buffers = job.read_in_order(buffers, reads, |lead, read| {
        read[lead..].chunks(job.record_bytes).for_each(|record| push_key(job, record, &mut keys));
        Ok(())
    })?;
    memory.give(buffers);
    Ok(keys)
}

/// The number of the first record that a sample takes from `stretch`, the stretch with number
/// `place`. `each` records are taken. Over all seeds, every position within the stretch is equally
/// likely. Public for tests that mislead a sample on purpose.
pub fn first_sampled(seed: u64, place: u64, stretch: Range<u64>, each: u64) -> u64 {
    let choices = (stretch.end - stretch.start).saturating_sub(each) + 1;
    let random = u128::from(split_mix(seed ^ split_mix(place)));
    stretch.start + ((random * u128::from(choices)) >> 64) as u64
}

/// At most `each` records from record number `first` on, counted over all extents. They end with
/// the extent.
fn records_at(extents: &[Extent], record_bytes: u64, first: u64, each: u64) -> Option<Extent> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_in_its_stretch_and_anywhere_in_it() {
        for (stretch, each) in [(0..10, 3), (7..8, 3), (5..8, 3), (u64::MAX - 9..u64::MAX, 1)] {
            let last = stretch.start.max(stretch.end.saturating_sub(each));
            let sampled: std::collections::BTreeSet<u64> =
                (0..1_000).map(|seed| first_sampled(seed, 4, stretch.clone(), each)).collect();
            assert_eq!(sampled, (stretch.start..=last).collect(), "{stretch:?}");
        }
        let places: Vec<u64> = (0..8).map(|place| first_sampled(1, place, 0..1 << 40, 1)).collect();
        assert!(places.windows(2).all(|two| two[0] != two[1]), "{places:?}");
    }
}
