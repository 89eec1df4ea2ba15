//! The scatter half of a distribution sort: finds each record's bin, by index, without moving
//! records.
//!
//! Samplesort (Frazer and McKellar, JACM 1970) separates bins by quantiles of a sorted sample. A
//! key at two or more quantiles gets its own bin (the equality buckets of IPS4o, Axtmann et al.,
//! ESA 2017). With the splitters a < b < c, of which b is frequent,
//!
//! ```text
//!   key        ... a ............ b ............ c ...
//!   bin      0    |       1     | 2 |      3     |   4
//! ```
//!
//! each splitter begins a bin, and a frequent one also ends it. The phases:
//!
//! 1. `classify`: the key words of several records descend a tree of splitters together;
//! 2. `trie` finds the bins that eight bytes don't decide, while the records are in the cache;
//! 3. here: bins are counted, and each index goes to its bin, in the input's order.
//!
//! Payloads don't move here; see `gather`.

use crate::classify::{BATCH, Tree};
use crate::prefetch;
use crate::trie::Trie;
use xsort_records::{Key, PlainKey};

/// Maximum number of bins: a bin's number has 16 bits.
const BINS_MAX: usize = 1 << 16;
/// Number of bits of a bin's number, and of such numbers in a word.
const BIN_BITS: usize = 16;
const PACKED: usize = 4;
const _: () = assert!(BATCH.is_multiple_of(PACKED));
/// Number of indexes in one cache line.
const LINE_INDEXES: usize = 8;

/// The keys that separate bins. Ascending bins hold ascending keys, and equal keys are in one bin.
///
/// Built once, then used for any number of chunks by any number of threads. Uses one or two keys
/// and some tens of bytes for each bin.
#[derive(Clone, Debug)]
pub struct Splitters {
    key_bytes: usize,
    trie: Trie,
    tree: Tree,
}

impl Splitters {
    /// Splitters for at most `bins` bins of equal size, if the records resemble the sample: sorted
    /// normalised keys of `key_bytes` bytes, back to back. A key at two or more of the sample's
    /// `bins` quantiles gets its own bin. There are fewer bins if keys repeat at the quantiles, or
    /// if the sample has fewer keys.
    ///
    /// # Panics
    /// If `bins` is 0 or above 65,536, or if the sample doesn't consist of whole keys or isn't
    /// sorted.
    pub fn from_sample(key_bytes: usize, sample: &[u8], bins: usize) -> Self {
        assert!((1..=BINS_MAX).contains(&bins), "1 to 65,536 bins");
        assert!(sample.len().is_multiple_of(key_bytes.max(1)), "a sample of whole keys");
        let count = sample.len().checked_div(key_bytes).unwrap_or(0);
        // Each quantile is another element of the sample.
        let bins = bins.min(count);
        let mut trie = Trie::new(key_bytes);
        for quantile in 1..bins {
            trie.add(&sample[quantile * count / bins * key_bytes..][..key_bytes]);
        }
        if count > 0 {
            trie.build(&sample[..key_bytes], &sample[sample.len() - key_bytes..]);
        }
        let tree = Tree::new(&trie);
        Splitters { key_bytes, trie, tree }
    }

    /// Number of bins, at least 1. Some may get no record.
    pub fn bins(&self) -> usize {
        self.trie.bins()
    }

    /// True if all keys in `bin` are certainly equal, so that it needs no sort.
    pub fn is_one_key(&self, bin: usize) -> bool {
        assert!(bin < self.bins(), "the number of a bin");
        self.key_bytes == 0 || self.trie.is_one_key(bin)
    }

    /// The number of keys of a sample (normalised, back to back) in each bin.
    pub fn counts(&self, sample: &[u8]) -> Vec<usize> {
        let mut counts = vec![0; self.bins()];
        if self.bins() == 1 {
            counts[0] = sample.len().checked_div(self.key_bytes).unwrap_or(0);
            return counts;
        }
        let whole = PlainKey::new(0, self.key_bytes);
        for key in sample.chunks_exact(self.key_bytes) {
            counts[usize::from(self.trie.find_bin(whole, key, 0))] += 1;
        }
        counts
    }

    /// Distributes stably without moving records: on return `order` holds the indexes of the
    /// records bin by bin, in the input's order within each bin. Bin `b` ends before
    /// `order[ends[b]]`.
    ///
    /// `records` holds `order.len()` records of `record_bytes` bytes, whose keys `key` reads as the
    /// sample's were read. The caller lends `scratch`, with a quarter of a word for each record (it
    /// may be longer). The content of all three on entry is ignored. `ends` has `bins()` elements.
    ///
    /// # Panics
    /// If the lengths don't match each other, or above 2^32 records.
    pub fn distribute<K: Key>(
        &self,
        key: K,
        records: &[u8],
        record_bytes: usize,
        order: &mut [u64],
        scratch: &mut [u64],
        ends: &mut [usize],
    ) {
        let count = order.len();
        assert!(
            record_bytes > 0 && records.len() == count * record_bytes,
            "one order word a record"
        );
        assert!(count as u64 <= 1 << 32, "at most 2^32 records in one distribution");
        assert!(ends.len() == self.bins(), "one end a bin");
        let packed = &mut scratch[..count.div_ceil(PACKED)];
        if self.bins() == 1 {
            order.iter_mut().enumerate().for_each(|(index, element)| *element = index as u64);
            ends[0] = count;
            return;
        }
        ends.fill(0);
        let batches = records.chunks(BATCH * record_bytes).zip(packed.chunks_mut(BATCH / PACKED));
        for (records, packed) in batches {
            let mut bins = [0; BATCH];
            let bins = &mut bins[..records.len() / record_bytes];
            self.tree.classify(key, records, record_bytes, &self.trie, bins);
            count_and_pack(bins, packed, ends);
        }
        place_indexes(packed, order, ends);
    }
}

/// Counts the bins of some records, and packs their numbers into words.
#[inline(always)]
fn count_and_pack(bins: &[u32], packed: &mut [u64], sizes: &mut [usize]) {
    for (bins, packed) in bins.chunks(PACKED).zip(packed) {
        *packed = 0;
        for (lane, &bin) in bins.iter().enumerate() {
            *packed |= u64::from(bin) << (BIN_BITS * lane);
        }
        if bins.len() == PACKED && all_equal(*packed) {
            sizes[bins[0] as usize] += PACKED;
        } else {
            bins.iter().for_each(|&bin| sizes[bin as usize] += 1);
        }
    }
}

/// Writes each index to its bin. `ends` holds the bins' sizes on entry, and their ends on return.
fn place_indexes(packed: &[u64], order: &mut [u64], ends: &mut [usize]) {
    let mut start = 0;
    for end in ends.iter_mut() {
        start += std::mem::replace(end, start);
        prefetch::line_to_write(order.as_ptr().wrapping_add(*end));
    }
    let count = order.len();
    for (first, &packed) in (0..count).step_by(PACKED).zip(packed) {
        let lanes = PACKED.min(count - first);
        let indexes = first as u64..;
        if lanes == PACKED && all_equal(packed) {
            let end = &mut ends[usize::from(packed as u16)];
            let start = *end;
            *end += PACKED;
            order[start..start + PACKED]
                .iter_mut()
                .zip(indexes)
                .for_each(|(element, index)| *element = index);
            prefetch::line_to_write(order.as_ptr().wrapping_add(start + 2 * LINE_INDEXES));
            continue;
        }
        for (lane, index) in (0..lanes).zip(indexes) {
            let end = &mut ends[usize::from((packed >> (BIN_BITS * lane)) as u16)];
            let place = *end;
            *end += 1;
            order[place] = index;
            // As in `partition`, a bin prefetches its next line when it starts one.
            if place.is_multiple_of(LINE_INDEXES) {
                prefetch::line_to_write(order.as_ptr().wrapping_add(place + LINE_INDEXES));
            }
        }
    }
}

/// True if all numbers in the word are equal, as for sorted or equal records. Counting them one by
/// one would wait five cycles each for the preceding count: 1.3 million sorted records to 64 bins
/// took 15.4 instead of 12.7 ns each, uniform ones the same.
#[inline(always)]
fn all_equal(packed: u64) -> bool {
    packed == u64::from(packed as u16) * (u64::MAX / u64::from(u16::MAX))
}
