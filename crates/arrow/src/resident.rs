//! Batches that fit in memory: their keys are sorted, and the rows are gathered from the columns
//! once.
//!
//! ```text
//!  keys --> eight distinguishing bytes of each, and its place --> buckets --> sorted in parallel
//! ```

use crate::Error;
use crate::keys::Keys;
use crate::memory::Held;
use crate::ordered::Ordered;
use crate::rows::split;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::interleave::interleave;
use std::sync::Arc;
use xsort::Cancel;

/// Number of rows in a bucket: their entries of 16 bytes each stay in a cache.
const BUCKET_ROWS: usize = 32 << 10;
/// Number of keys that are sampled for each boundary of buckets.
const SAMPLES: usize = 16;

/// The key word of a row, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    word: u64,
    batch: u32,
    row: u32,
}

/// Batches with their keys.
#[derive(Debug, Default)]
pub(crate) struct Resident {
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) keys: Vec<Keys>,
    pub(crate) held: Held,
    shape: KeyShape,
}

/// The positions at which keys differ.
#[derive(Debug, Default)]
struct KeyShape {
    first: Option<Box<[u8]>>,
    /// The bits that differ from the first key, up to the length of the shortest key.
    differs: Vec<u8>,
    /// Whether all keys have the same length.
    is_even: bool,
}

impl KeyShape {
    fn add(&mut self, keys: &Keys) {
        for key in (0..keys.rows()).map(|row| keys.key(row)) {
            let Some(first) = &self.first else {
                self.first = Some(key.into());
                self.differs = vec![0; key.len()];
                self.is_even = true;
                continue;
            };
            self.is_even &= key.len() == first.len();
            self.differs.truncate(key.len());
            let pairs = key.iter().zip(first.iter());
            self.differs.iter_mut().zip(pairs).for_each(|(bits, (a, b))| *bits |= a ^ b);
        }
    }

    /// Returns the positions of the first differing bytes, at most eight, their number, and whether
    /// these bytes decide the order completely.
    fn word(&self) -> ([usize; 8], usize, bool) {
        let differ = || (0..self.differs.len()).filter(|&at| self.differs[at] != 0);
        let (mut places, mut used) = ([0; 8], 0);
        for at in differ().take(8) {
            places[used] = at;
            used += 1;
        }
        // After the end of the shortest key, longer keys continue.
        for at in self.differs.len().. {
            if used == 8 || self.is_even {
                break;
            }
            places[used] = at;
            used += 1;
        }
        (places, used, self.is_even && differ().count() <= 8)
    }
}

impl Resident {
    /// Keeps a batch.
    pub(crate) fn push(&mut self, batch: RecordBatch, keys: Keys) -> Result<(), ArrowError> {
        self.held.add(&batch, keys.size())?;
        self.shape.add(&keys);
        self.batches.push(batch);
        self.keys.push(keys);
        Ok(())
    }

    /// Sorts all rows and returns their order.
    pub(crate) fn sort(self, threads: usize, cancel: &Cancel) -> Result<Order, Error> {
        let entries = self.entries();
        let keys = Arc::new(self.keys);
        let (_, _, is_whole) = self.shape.word();
        let buckets = buckets(entries, &keys, is_whole);
        let sort_keys = Arc::clone(&keys);
        let mut pool = Ordered::new(threads, move |mut bucket: Vec<Entry>| {
            bucket.sort_unstable_by(|a, b| compare(&sort_keys, is_whole, a, b));
            Ok(bucket)
        })?;
        let rows = buckets.iter().map(Vec::len).sum();
        buckets.into_iter().for_each(|bucket| pool.send(bucket));
        let mut entries = Vec::with_capacity(rows);
        while let Some(bucket) = pool.wait() {
            if cancel.is_cancelled() {
                return Err(xsort::Error::Cancelled.into());
            }
            entries.extend(bucket?.into_iter().map(|entry| (entry.batch, entry.row)));
        }
        Ok(Order { batches: Arc::new(self.batches), seen: Seen::default(), entries, at: 0 })
    }

    fn entries(&self) -> Vec<Entry> {
        let (places, used, _) = self.shape.word();
        let mut entries = Vec::with_capacity(self.keys.iter().map(Keys::rows).sum());
        for (batch, keys) in self.keys.iter().enumerate() {
            entries.extend((0..keys.rows()).map(|row| {
                let (key, mut word) = (keys.key(row), 0);
                for &place in &places[..used] {
                    word = word << 8 | u64::from(key.get(place).copied().unwrap_or(0));
                }
                Entry { word, batch: batch as u32, row: row as u32 }
            }));
        }
        entries
    }
}

fn compare(keys: &[Keys], is_whole: bool, a: &Entry, b: &Entry) -> std::cmp::Ordering {
    let by_keys = || {
        if is_whole {
            return std::cmp::Ordering::Equal;
        }
        let key = |entry: &Entry| keys[entry.batch as usize].key(entry.row as usize);
        key(a).cmp(key(b))
    };
    a.word.cmp(&b.word).then_with(by_keys).then_with(|| (a.batch, a.row).cmp(&(b.batch, b.row)))
}

/// Divides entries into buckets, which are ranges of their order.
fn buckets(entries: Vec<Entry>, keys: &[Keys], is_whole: bool) -> Vec<Vec<Entry>> {
    let count = entries.len().div_ceil(BUCKET_ROWS);
    if count < 2 {
        return vec![entries];
    }
    let samples = (count * SAMPLES).min(entries.len());
    let mut sample: Vec<Entry> =
        (0..samples).map(|at| entries[at * (entries.len() / samples)]).collect();
    sample.sort_unstable_by(|a, b| compare(keys, is_whole, a, b));
    let bounds: Vec<Entry> = (1..count).map(|bucket| sample[bucket * samples / count]).collect();
    let mut buckets = vec![Vec::new(); count];
    for bucket in &mut buckets {
        bucket.reserve(BUCKET_ROWS + BUCKET_ROWS / 4);
    }
    for entry in entries {
        let bucket = bounds.partition_point(|bound| compare(keys, is_whole, bound, &entry).is_le());
        buckets[bucket].push(entry);
    }
    buckets
}

/// Rows in order, as places in batches.
pub(crate) struct Order {
    pub(crate) batches: Arc<Vec<RecordBatch>>,
    entries: Vec<(u32, u32)>,
    at: usize,
    seen: Seen,
}

/// One bit for each row that was returned.
#[derive(Default)]
struct Seen(Vec<Vec<u64>>);

impl Seen {
    /// Marks a row as returned. Returns false if it was returned before.
    fn note(&mut self, batches: &[RecordBatch], batch: usize, row: usize) -> bool {
        if self.0.is_empty() {
            let words = |batch: &RecordBatch| vec![0; batch.num_rows().div_ceil(64)];
            self.0 = batches.iter().map(words).collect();
        }
        let (word, bit) = (&mut self.0[batch][row / 64], 1 << (row % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// Places of rows that become a batch.
pub(crate) type Places = Vec<(usize, usize)>;

impl Order {
    /// Returns the places of the next rows; `None` after the last one.
    pub(crate) fn next(&mut self, rows: usize) -> Result<Option<Places>, Error> {
        let end = (self.at + rows).min(self.entries.len());
        if self.at == end {
            return Ok(None);
        }
        let mut places = Vec::with_capacity(end - self.at);
        for &(batch, row) in &self.entries[self.at..end] {
            let (batch, row) = (batch as usize, row as usize);
            if !self.seen.note(&self.batches, batch, row) {
                let what = "a row came out of the sort twice".to_owned();
                return Err(xsort::Error::Lost { what }.into());
            }
            places.push((batch, row));
        }
        self.at = end;
        Ok(Some(places))
    }
}

/// Returns the rows at these places, in one batch if its types can hold them.
pub(crate) fn gather(
    batches: &[RecordBatch],
    places: &[(usize, usize)],
    schema: &SchemaRef,
) -> Result<Vec<RecordBatch>, ArrowError> {
    let mut gathered = Vec::new();
    split(0, places.len(), &mut gathered, &mut |from, to| {
        let columns = (0..schema.fields().len()).map(|column| {
            let arrays: Vec<&dyn Array> =
                batches.iter().map(|batch| &**batch.column(column)).collect();
            interleave(&arrays, &places[from..to]).map(|array| compact(&array))
        });
        let columns = columns.collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(to - from));
        RecordBatch::try_new_with_options(schema.clone(), columns, &options)
    })?;
    Ok(gathered)
}

/// Copies a view array so that it holds only the bytes that it shows.
fn compact(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        _ => Arc::clone(array),
    }
}

/// Returns whether rows of a type can be gathered from its columns. Rows of other types pass
/// through the engine as bytes.
pub(crate) fn is_gathered(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Union(..) | T::RunEndEncoded(..) | T::ListView(_) | T::LargeListView(_) => false,
        T::List(field) | T::LargeList(field) | T::FixedSizeList(field, _) | T::Map(field, _) => {
            is_gathered(field.data_type())
        }
        T::Struct(fields) => fields.iter().all(|field| is_gathered(field.data_type())),
        _ => true,
    }
}
