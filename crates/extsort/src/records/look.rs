//! What the inputs look like: in order, sorted stretches one after the other, or in any order. A
//! few dozen places are read, and their records compared.
//!
//! ```text
//!  files     |----x---------x-----|---x---------x---------x|
//!             sorted    | sorted  | sorted     | the rest: in any order
//! ```
//!
//! The first place of random records is in disorder, so the answer for them takes a few small
//! reads. All answers are guesses: whoever relies on one must check all records.

use super::chunks::Extent;
use super::job::{SortIo, SortJob};
use super::runs::RecordRange;
use super::stretches::{Stretch, Stretches};
use crate::Error;
use xsort_disk::{ALIGNMENT, Lease, align_up};

/// Number of places that are read, besides the end of the last file.
const PLACES: u64 = 64;
/// Bytes of records at each place.
const PLACE_BYTES: u64 = 32 << 10;
/// Most reads of places in flight.
const READS_MAX: usize = 8;
/// Most stretches, besides the first of each file. Each takes a search for its beginning.
const STRETCHES_MAX: usize = 24;
/// At most this share of the places may be in the rest, as a divisor: those at the end.
const REST_SHARE: u64 = 4;

/// What the inputs look like.
pub(super) enum Looks {
    /// In order, one after the other.
    Sorted,
    /// Sorted stretches, and perhaps a rest in any order.
    InStretches(Stretches),
    /// In any order.
    Unsorted,
}

/// What a place looks like.
struct Sample {
    file: usize,
    /// Number of the first record in the file, and of the first one after the place.
    from: u64,
    to: u64,
    first: Vec<u8>,
    last: Vec<u8>,
    order: Order,
}

/// The order of a place's records.
enum Order {
    Sorted,
    /// Sorted before this record of the file, and from it on.
    Broken(u64),
    Unsorted,
}

/// Guesses what the inputs look like.
///
/// # Errors
/// If a read fails.
pub(super) fn look(job: &SortJob<'_>, io: &SortIo<'_>) -> Result<Looks, Error> {
    let record_bytes = job.record_bytes as u64;
    let all = places(io.input_bytes, record_bytes).count() as u64;
    let mut samples: Vec<Sample> = Vec::new();
    let mut places = places(io.input_bytes, record_bytes);
    let sampled = read(job, io, &mut places, |place, records| {
        let sample = sample(job, place, records);
        let is_unsorted = matches!(sample.order, Order::Unsorted);
        if is_unsorted && (samples.len() as u64) < all - all / REST_SHARE {
            return Err(Error::NotInOrder);
        }
        samples.push(sample);
        // What follows is in the rest.
        if is_unsorted { Err(Error::Cancelled) } else { Ok(()) }
    });
    match sampled {
        Err(Error::NotInOrder) => return Ok(Looks::Unsorted),
        Err(Error::Cancelled) => job.check_stop()?,
        sampled => sampled?,
    }
    let Some(begins) = Search { job, io }.begins(&samples)? else { return Ok(Looks::Unsorted) };
    if begins.rest.is_none() && begins.is_sorted {
        return Ok(Looks::Sorted);
    }
    Ok(Looks::InStretches(begins.stretches(io, record_bytes)))
}

/// Reads the records of places, several at once, and passes them to `take` in order.
fn read(
    job: &SortJob<'_>,
    io: &SortIo<'_>,
    places: &mut dyn Iterator<Item = Extent>,
    mut take: impl FnMut(Extent, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let record_bytes = job.record_bytes;
    let buffer_bytes = align_up(PLACE_BYTES.max(record_bytes as u64)) as usize + 2 * ALIGNMENT;
    let buffers = (0..READS_MAX).map(|_| Lease::map(buffer_bytes)).collect::<Result<_, _>>()?;
    let reads = places.map(|place| {
        let of = |bytes: u64| bytes / record_bytes as u64;
        let file = io.input_files[place.file];
        let range = RecordRange::new(file, of(place.offset), of(place.bytes), record_bytes);
        (range.pages, (place, range.lead))
    });
    job.read_in_order(buffers, reads, |(place, lead), read| take(place, &read[lead..])).map(drop)
}

fn sample(job: &SortJob<'_>, place: Extent, records: &[u8]) -> Sample {
    let SortJob { kernels, record_bytes, .. } = *job;
    let from = place.offset / record_bytes as u64;
    let numbered =
        records.chunks_exact(record_bytes).zip(records[record_bytes..].chunks_exact(record_bytes));
    let breaks = (from + 1..).zip(numbered).filter(|(_, (a, b))| kernels.compare(a, b).is_gt());
    let mut breaks = breaks.map(|(number, _)| number);
    let order = match (breaks.next(), breaks.next()) {
        (None, _) => Order::Sorted,
        (Some(number), None) => Order::Broken(number),
        _ => Order::Unsorted,
    };
    Sample {
        file: place.file,
        from,
        to: from + (records.len() / record_bytes) as u64,
        first: records[..record_bytes].to_vec(),
        last: records[records.len() - record_bytes..].to_vec(),
        order,
    }
}

/// The places that are read: at equal distances in all inputs, at least one in each, and the end
/// of the last one. They don't overlap.
fn places(input_bytes: &[u64], record_bytes: u64) -> impl Iterator<Item = Extent> {
    let place_bytes = (PLACE_BYTES / record_bytes).max(1) * record_bytes;
    let all_bytes = input_bytes.iter().sum::<u64>();
    let step = (all_bytes / record_bytes / PLACES * record_bytes).max(place_bytes);
    let last = input_bytes.iter().rposition(|&bytes| bytes > 0);
    let files = input_bytes.iter().copied().enumerate().filter(|&(_, bytes)| bytes > 0);
    files.flat_map(move |(file, file_bytes)| {
        let end = file_bytes.saturating_sub(place_bytes);
        let at_end = (Some(file) == last && end >= place_bytes).then_some(end);
        // Nothing of these is in the place at the end.
        let before = (0..end.saturating_sub(place_bytes).max(1)).step_by(step as usize);
        before.chain(at_end).map(move |offset| {
            let bytes = place_bytes.min(file_bytes - offset);
            Extent { file, offset, bytes }
        })
    })
}

/// Where stretches begin: the number of a file, and of a record in it.
struct Begins {
    /// Those within files.
    within: Vec<(usize, u64)>,
    /// Where the rest begins, if there is one.
    rest: Option<(usize, u64)>,
    /// True if each sampled stretch follows the one before it.
    is_sorted: bool,
}

impl Begins {
    /// The stretches that begin there.
    fn stretches(&self, io: &SortIo<'_>, record_bytes: u64) -> Stretches {
        let mut stretches = Stretches { sorted: Vec::new(), rest: Vec::new() };
        for (input, bytes) in io.input_bytes.iter().enumerate() {
            let records = bytes / record_bytes;
            let own = self.within.iter().chain(&self.rest).filter(|(file, _)| *file == input);
            let begins = [0].into_iter().chain(own.map(|(_, begin)| *begin)).collect::<Vec<_>>();
            let ends = begins[1..].iter().copied().chain([records]);
            for (from, to) in begins.iter().copied().zip(ends).filter(|(from, to)| from < to) {
                let stretch = Stretch { input, from, records: to - from };
                match self.rest.is_some_and(|rest| (input, from) >= rest) {
                    true => stretches.rest.push(stretch),
                    false => stretches.sorted.push(stretch),
                }
            }
        }
        stretches
    }
}

/// Searches the inputs for the beginnings of stretches.
struct Search<'a> {
    job: &'a SortJob<'a>,
    io: &'a SortIo<'a>,
}

impl Search<'_> {
    /// Finds where stretches begin, between the places and within them. `None` if there are too
    /// many.
    fn begins(&self, samples: &[Sample]) -> Result<Option<Begins>, Error> {
        if self.has_many_breaks(samples) {
            return Ok(None);
        }
        let mut begins = Begins { within: Vec::new(), rest: None, is_sorted: true };
        let mut last: Option<&Sample> = None;
        for sample in samples {
            let before = last.filter(|last| last.file == sample.file);
            if matches!(sample.order, Order::Unsorted) {
                let begin =
                    before.map_or(Ok(0), |before| self.end_of_order(before, sample.from))?;
                begins.rest = Some((sample.file, begin));
                return Ok(last.is_some().then_some(begins));
            }
            if let Some(before) = before
                && self.job.kernels.compare(&before.last, &sample.first).is_gt()
            {
                begins.within.push((sample.file, self.end_of_stretch(before, sample.from)?));
            } else if let Some(last) = last {
                let follows = self.job.kernels.compare(&last.last, &sample.first).is_le();
                begins.is_sorted &= follows;
            }
            if let Order::Broken(number) = sample.order {
                begins.within.push((sample.file, number));
            }
            last = Some(sample);
        }
        begins.is_sorted &= begins.within.is_empty();
        Ok(last.is_some().then_some(begins))
    }

    /// True if there are more stretches than a merge is for.
    fn has_many_breaks(&self, samples: &[Sample]) -> bool {
        let kernels = self.job.kernels;
        let is_break = |two: &&[Sample]| {
            two[0].file == two[1].file && kernels.compare(&two[0].last, &two[1].first).is_gt()
        };
        let between = samples.windows(2).filter(is_break).count();
        let is_broken = |sample: &&Sample| matches!(sample.order, Order::Broken(_));
        between + samples.iter().filter(is_broken).count() > STRETCHES_MAX
    }

    /// The end of the stretch that `before` is in: record `high` is in another one, all of whose
    /// records up to there are less than the last one of `before`.
    fn end_of_stretch(&self, before: &Sample, high: u64) -> Result<u64, Error> {
        let (mut low, mut high) = (before.to - 1, high);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            let mut is_in_stretch = false;
            self.read(before.file, middle, 1, |record| {
                is_in_stretch = self.job.kernels.compare(&before.last, record).is_le();
            })?;
            if is_in_stretch { low = middle } else { high = middle }
        }
        Ok(high)
    }

    /// The end of the last place in order, after `before` and before record `high`, from which on
    /// records are in any order.
    fn end_of_order(&self, before: &Sample, high: u64) -> Result<u64, Error> {
        let SortJob { kernels, record_bytes, .. } = *self.job;
        let records = (PLACE_BYTES / record_bytes as u64).max(1);
        let (mut low, mut high) = (before.to, high);
        while low + records < high {
            let middle = low + (high - low - records) / 2;
            let mut is_in_order = false;
            self.read(before.file, middle, records, |read| {
                is_in_order = kernels.compare(&before.last, &read[..record_bytes]).is_le()
                    && kernels.is_sorted(read, record_bytes);
            })?;
            if is_in_order { low = middle + records } else { high = middle }
        }
        Ok(low)
    }

    /// Reads some records of a file.
    fn read(
        &self,
        file: usize,
        from: u64,
        records: u64,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let record_bytes = self.job.record_bytes as u64;
        let place = Extent { file, offset: from * record_bytes, bytes: records * record_bytes };
        read(self.job, self.io, &mut [place].into_iter(), |_, records| {
            take(records);
            Ok(())
        })
    }
}
