//! One most-significant-digit pass: words in, (key bits, index) pairs in bucket order out.
//!
//! 2,048 buckets: a pass over 1.3 million words leaves 635 a bucket, five KiB, so that all that follows is in the cache. The
//! stores go through a write-combining buffer of one line a bucket (128 KiB, in L2), so that memory sees whole lines. It is no sort, and stable: pairs of
//! a bucket keep the order of their indexes.

/// Digit of the partition.
pub(crate) const BUCKET_BITS: u32 = 11;
/// Buckets of the partition.
pub(crate) const BUCKETS: usize = 1 << BUCKET_BITS;
/// Pairs in one line of the write-combining buffer.
const LINE_PAIRS: usize = 8;

/// Where each bucket ends; the first starts at 0.
pub(crate) type Ends = [usize; BUCKETS];

/// Distributes `words` by the top 11 bits after the first `skip` bits (which all share) into `pairs`, as many. A pair is the next bits
/// of the word above `index_bits` bits of index. `ends` gets the buckets' ends.
pub(crate) fn partition(words: &[u64], skip: u32, index_bits: u32, pairs: &mut [u64], ends: &mut Ends) {
    assert_eq!(words.len(), pairs.len());
    let bucket = |word: u64| ((word << skip) >> (64 - BUCKET_BITS)) as usize;
    let mut starts = [0; BUCKETS];
    for &word in words {
        starts[bucket(word)] += 1;
    }
    let mut place = 0;
    for start in &mut starts {
        place += std::mem::replace(start, place);
    }
    *ends = starts;

    let low = (1_u64 << index_bits) - 1;
    let mut lines = [[0; LINE_PAIRS]; BUCKETS];
    for (index, &word) in words.iter().enumerate() {
        let bucket = bucket(word);
        let place = ends[bucket];
        ends[bucket] = place + 1;
        lines[bucket][place % LINE_PAIRS] = (word << skip << BUCKET_BITS) & !low | index as u64;
        if place % LINE_PAIRS == LINE_PAIRS - 1 {
            // The first line of a bucket is shared with the bucket before.
            let from = starts[bucket].max(place - (LINE_PAIRS - 1));
            pairs[from..=place].copy_from_slice(&lines[bucket][from % LINE_PAIRS..]);
        }
    }
    for bucket in 0..BUCKETS {
        let end = ends[bucket];
        let from = starts[bucket].max(end - end % LINE_PAIRS);
        pairs[from..end].copy_from_slice(&lines[bucket][from % LINE_PAIRS..][..end - from]);
    }
}
