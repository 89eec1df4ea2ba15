//! Sorting fixed-size records in memory with several threads. Nothing is read, written or planned:
//! the caller supplies the records and the memory for the result.
//!
//! ```text
//!  records --> runs: 8 bytes a record --> cuts --> segments, merged where they belong
//!     (a worker a run)                         (a worker a segment)
//! ```
//!
//! Runs are indexes. Records move once, directly to their final place. (An in-place sort moves them
//! twice: there and back.)

mod cuts;
mod workers;

use crate::Error;
use crate::job::observer::Observer;
use bytemuck::cast_slice_mut;
use cuts::{Cut, cuts};
use std::mem::take;
use workers::Workers;
use xsort_disk::Lease;
use xsort_kernels::{Caches, Node, RecordKernels, Run, kernels_of, nodes_needed};
use xsort_records::Layout;

/// Records of a run, if there are many. 2^20 records take about 20 ms to sort, and cancelling is
/// only checked between runs.
const RUN_RECORDS: usize = 1 << 20;
/// A smaller run isn't worth a thread.
const RUN_RECORDS_MIN: usize = 1 << 14;
/// Maximum number of runs in a merge. With more data, runs grow instead.
const RUNS_MAX: usize = 256;
const SEGMENTS_MAX: usize = 1024;
const SEGMENT_RECORDS: usize = 1 << 16;
/// Bytes copied back by one task.
const COPY_BYTES: usize = 1 << 20;

/// The options of a sort in memory.
#[derive(Clone, Debug)]
pub struct InMemoryOptions {
    /// Size of a record, and its key.
    pub layout: Layout,
    /// Number of threads that work, at least one.
    pub threads: usize,
    /// Cache sizes, for which sorting is tuned.
    pub caches: Caches,
}

/// Writes `records` in order to `out`, which has the same length. Uses 8 bytes of memory a record,
/// and about 8 MiB a thread.
///
/// # Errors
/// [`Error::Cancelled`] if the observer cancels; the content of `out` is then undefined.
/// [`Error::Settings`] if the lengths don't match each other or the record size. [`Error::Disk`] if
/// the system has no memory or no thread.
pub fn sort_in_memory(
    options: &InMemoryOptions,
    records: &[u8],
    out: &mut [u8],
    observer: &dyn Observer,
) -> Result<(), Error> {
    if out.len() != records.len() {
        return Err(unfit(out.len(), records.len()));
    }
    run(options, records, Target::Records(out), observer)
}

/// Sorts `records` in place. Uses additional memory of the records' size, and the memory of
/// [`sort_in_memory`].
///
/// # Errors
/// The errors of [`sort_in_memory`]. After an error the records are unchanged.
pub fn sort_in_place(
    options: &InMemoryOptions,
    records: &mut [u8],
    observer: &dyn Observer,
) -> Result<(), Error> {
    let mut sorted = Lease::map_huge_if_fast(records.len().max(1))?;
    let sorted = &mut sorted[..records.len()];
    run(options, records, Target::Records(sorted), observer)?;
    if observer.is_cancelled() {
        return Err(Error::Cancelled);
    }
    // From here on the copy must be completed, or some records would be duplicated and others lost.
    let workers = Workers::new(options.threads, None);
    let places = records.chunks_mut(COPY_BYTES).zip(sorted.chunks(COPY_BYTES));
    workers.run(places.collect(), |_, (to, from): (&mut [u8], &[u8])| to.copy_from_slice(from))
}

/// Writes the numbers of the records, in sorted order, to `order`, which has one element for each
/// record.
///
/// # Errors
/// The errors of [`sort_in_memory`].
pub fn order_in_memory(
    options: &InMemoryOptions,
    records: &[u8],
    order: &mut [u64],
    observer: &dyn Observer,
) -> Result<(), Error> {
    let bytes = order.len().saturating_mul(options.layout.record_bytes());
    if bytes != records.len() {
        return Err(unfit(bytes, records.len()));
    }
    run(options, records, Target::Order(order), observer)
}

fn unfit(bytes: usize, wanted: usize) -> Error {
    let text = format!("the output has room for {bytes} bytes of records, and {wanted} are sorted");
    Error::Settings(text)
}

/// The destination of the result.
enum Target<'t> {
    Records(&'t mut [u8]),
    Order(&'t mut [u64]),
}

impl<'t> Target<'t> {
    /// Splits off the destination of the first `count` records.
    fn take_front(&mut self, count: usize, record_bytes: usize) -> Target<'t> {
        match self {
            Target::Records(rest) => {
                let (front, behind) = take(rest).split_at_mut(count * record_bytes);
                *rest = behind;
                Target::Records(front)
            }
            Target::Order(rest) => {
                let (front, behind) = take(rest).split_at_mut(count);
                *rest = behind;
                Target::Order(front)
            }
        }
    }
}

fn run(
    options: &InMemoryOptions,
    records: &[u8],
    target: Target<'_>,
    observer: &dyn Observer,
) -> Result<(), Error> {
    let record_bytes = options.layout.record_bytes();
    if !records.len().is_multiple_of(record_bytes) {
        let bytes = records.len();
        let text = format!("{bytes} bytes are no whole number of records of {record_bytes} bytes");
        return Err(Error::Settings(text));
    }
    let workers = Workers::new(options.threads, Some(observer));
    let rule = options.layout.rule();
    let (kernels, caches) = (kernels_of(&rule), options.caches);
    Sort { kernels, records, record_bytes, caches, workers }.run(target)
}

/// The context of a sort.
struct Sort<'s> {
    kernels: &'s dyn RecordKernels,
    records: &'s [u8],
    record_bytes: usize,
    caches: Caches,
    workers: Workers<'s>,
}

/// The records between two cuts, and their destination.
struct Segment<'c, 't> {
    from: &'c Cut,
    to: &'c Cut,
    target: Target<'t>,
}

impl Sort<'_> {
    fn run(&self, mut target: Target<'_>) -> Result<(), Error> {
        let count = self.records.len() / self.record_bytes;
        if count == 0 {
            return Ok(());
        }
        let run_records = run_records(count, self.workers.threads());
        let mut order = Lease::map_huge_if_fast(8 * count)?;
        let order = &mut cast_slice_mut(&mut order[..])[..count];
        self.form_runs(order, run_records)?;
        let runs: Vec<&[u64]> = order.chunks(run_records).collect();
        let segment_records = SEGMENT_RECORDS.max(count.div_ceil(SEGMENTS_MAX));
        let cuts = cuts(self.kernels, self.records, self.record_bytes, &runs, segment_records);
        let segment = |pair| {
            let [from, to]: &[Cut] = pair else { unreachable!("windows of two") };
            let target = target.take_front(to.records() - from.records(), self.record_bytes);
            Segment { from, to, target }
        };
        let segments: Vec<Segment<'_, '_>> = cuts.windows(2).map(segment).collect();
        self.workers.run(segments, |_, segment| self.merge(&runs, segment))
    }

    /// Sorts each run of `run_records` records into its part of `order`.
    fn form_runs(&self, order: &mut [u64], run_records: usize) -> Result<(), Error> {
        let threads = self.workers.threads();
        let mut scratch = Lease::map(8 * run_records * threads)?;
        let mut scratch: Vec<&mut [u64]> =
            cast_slice_mut(&mut scratch[..]).chunks_exact_mut(run_records).take(threads).collect();
        let run_bytes = run_records * self.record_bytes;
        let runs = order.chunks_mut(run_records).zip(self.records.chunks(run_bytes)).enumerate();
        let form = |scratch: &mut &mut [u64],
                    (number, (order, records)): (usize, (&mut [u64], &[u8]))| {
            self.kernels.sort(records, self.record_bytes, order, scratch, self.caches);
            let first = (number * run_records) as u64;
            order.iter_mut().for_each(|index| *index += first);
        };
        self.workers.run_with(&mut scratch, runs.collect(), form)
    }

    /// Merges the records of one segment.
    fn merge<'r>(&'r self, runs: &[&'r [u64]], segment: Segment<'_, '_>) {
        let Segment { from, to, target } = segment;
        let slice = |(run, &order): (usize, &&'r [u64])| {
            let order = &order[from.places[run]..to.places[run]];
            (!order.is_empty()).then_some(Run::Ordered { records: self.records, order })
        };
        let slices: Vec<Run<'_>> = runs.iter().enumerate().filter_map(slice).collect();
        let mut nodes = vec![Node::default(); nodes_needed(slices.len())];
        let shared_bytes = Cut::shared_bytes(from, to);
        let mut merge = self.kernels.merge(self.record_bytes, shared_bytes, &slices, &mut nodes);
        match target {
            Target::Records(out) => drop(merge.fill(out)),
            Target::Order(out) => drop(merge.fill_order(out)),
        }
    }
}

/// Number of records in each run except the last: at least one run for each thread, if that pays.
fn run_records(count: usize, threads: usize) -> usize {
    let large = RUN_RECORDS.max(count.div_ceil(RUNS_MAX));
    let runs = count.div_ceil(large).next_multiple_of(threads);
    count.div_ceil(runs).max(RUN_RECORDS_MIN).min(count)
}
