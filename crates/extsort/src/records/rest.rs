//! The rest after sorted stretches: records in any order, which are sorted in memory before the
//! merge.

use super::job::{SortIo, SortJob};
use super::resident::ResidentChunk;
use super::runs::{Index, Place, Run};
use super::stretches::{Stretch, Stretches, pieces, read_pieces};
use crate::Error;
use crate::job::threads::spawn_up_to;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use xsort_disk::{Lease, align_up};
use xsort_records::Checksum;

/// Sorts the rest in memory, a part of it on each thread. Returns the parts as runs.
pub(super) fn sort_rest(
    job: &SortJob<'_>,
    io: &SortIo<'_>,
    stretches: &Stretches,
    read: &Mutex<Checksum>,
) -> Result<Vec<Run>, Error> {
    let record_bytes = job.record_bytes;
    let records = stretches.rest_records();
    let part_records = records.div_ceil(job.plan.threads as u64);
    let mut parts = Vec::new();
    for first in (0..records).step_by(part_records as usize) {
        let count = part_records.min(records - first) as usize;
        let records = Lease::map(align_up((count * record_bytes) as u64) as usize)?;
        parts.push(Part { count, records });
    }
    fill(job, io, &stretches.rest, part_records as usize * record_bytes, &mut parts)?;
    let (wanted, numbered) = (parts.len(), Mutex::new(parts.into_iter().enumerate()));
    let runs = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        spawn_up_to(
            scope,
            wanted,
            |error| job.failure.set(error),
            |_| {
                || loop {
                    let next = numbered.lock().next();
                    let Some((number, part)) = next else { return };
                    match part.sort(job, read) {
                        Ok(run) => drop(runs.lock().insert(number, run)),
                        Err(error) => job.failure.set(error),
                    }
                }
            },
        )
    })?;
    job.failure.check()?;
    Ok(runs.into_inner().into_values().collect())
}

/// A part of the rest, for one thread.
struct Part {
    /// Number of records.
    count: usize,
    records: Lease,
}

impl Part {
    /// Sorts the part, and adds its records to the checksum.
    fn sort(self, job: &SortJob<'_>, read: &Mutex<Checksum>) -> Result<Run, Error> {
        let SortJob { kernels, record_bytes, caches, .. } = *job;
        let Part { count, records } = self;
        let bytes = &records[..count * record_bytes];
        let mut checksum = Checksum::default();
        checksum.add_records(bytes, record_bytes);
        read.lock().merge(checksum);
        let words = || Lease::map(align_up(count as u64 * 8) as usize);
        let (mut order, mut buffer) = (words()?, words()?);
        let order_words: &mut [u64] = &mut bytemuck::cast_slice_mut(&mut order)[..count];
        let buffer_words: &mut [u64] = &mut bytemuck::cast_slice_mut(&mut buffer)[..count];
        kernels.sort(bytes, record_bytes, order_words, buffer_words, caches);
        let record = |place: usize| &bytes[order_words[place] as usize * record_bytes..];
        let index = Index::of_resident(job, count, record);
        let chunk = ResidentChunk { records, first_byte: 0, count, order: Some(order) };
        Ok(Run { index, place: Place::Memory(chunk) })
    }
}

/// Reads the rest into its parts, each of `part_bytes` bytes but the last.
fn fill(
    job: &SortJob<'_>,
    io: &SortIo<'_>,
    rest: &[Stretch],
    part_bytes: usize,
    parts: &mut [Part],
) -> Result<(), Error> {
    let mut filled = 0;
    let ranges = rest.iter().flat_map(|&Stretch { input, from, records }| {
        pieces(job, io.input_files[input], from, records)
    });
    read_pieces(job, ranges, |_, mut records| {
        job.observer.advance(records.len() as u64);
        while !records.is_empty() {
            let (part, offset) = (filled / part_bytes, filled % part_bytes);
            let (now, later) = records.split_at(records.len().min(part_bytes - offset));
            parts[part].records[offset..][..now.len()].copy_from_slice(now);
            (filled, records) = (filled + now.len(), later);
        }
        Ok(())
    })
}
