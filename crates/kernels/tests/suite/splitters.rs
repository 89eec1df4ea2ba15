//! `Splitters` against a binary search over whole normalised keys.

use crate::data::{Pattern, counts};
use crate::keys::{Fields, Liar, Lie, rules};
use std::sync::atomic::AtomicU64;
use xsort_kernels::Splitters;
use xsort_records::{Key, KeyField, KeyRule, Layout, LittleKey, PlainKey};
use xsort_testing::{Random, quick_or_long};

/// The normalised keys of all records.
pub(crate) fn encoded<K: Key>(key: K, records: &[u8], record_bytes: usize) -> Vec<Vec<u8>> {
    let encode = |record| {
        let mut encoded = vec![0; key.bytes()];
        key.encode(record, &mut encoded);
        encoded
    };
    records.chunks_exact(record_bytes).map(encode).collect()
}

/// A sample of every `stride`-th record, sorted.
pub(crate) fn sample<K: Key>(
    key: K,
    records: &[u8],
    record_bytes: usize,
    stride: usize,
) -> Vec<Vec<u8>> {
    let mut sample: Vec<Vec<u8>> =
        encoded(key, records, record_bytes).into_iter().step_by(stride).collect();
    sample.sort_unstable();
    sample
}

/// What bins there should be: each begins at a key, or just above one.
struct Oracle {
    /// (key, whether the bin begins above it instead of at it).
    begins: Vec<(Vec<u8>, bool)>,
}

impl Oracle {
    fn new(sample: &[Vec<u8>], bins: usize) -> Self {
        let bins = bins.min(sample.len());
        let quantiles: Vec<&Vec<u8>> =
            (1..bins).map(|i| &sample[i * sample.len() / bins]).collect();
        let mut begins = Vec::new();
        for equal in quantiles.chunk_by(|a, b| a == b) {
            begins.push((equal[0].clone(), false));
            if equal.len() > 1 {
                begins.push((equal[0].clone(), true));
            }
        }
        if sample.first().is_some_and(Vec::is_empty) {
            begins.clear();
        }
        Oracle { begins }
    }

    fn bin(&self, key: &[u8]) -> usize {
        self.begins.partition_point(
            |(begin, above)| if *above { begin[..] < *key } else { begin[..] <= *key },
        )
    }

    fn is_one_key(&self, bin: usize, key_bytes: usize) -> bool {
        key_bytes == 0 || self.begins.get(bin).is_some_and(|(_, above)| *above)
    }
}

/// The order and ends; the lent memory is full of rubbish.
pub(crate) fn distributed<K: Key>(
    key: K,
    splitters: &Splitters,
    records: &[u8],
    record_bytes: usize,
) -> (Vec<u64>, Vec<usize>) {
    let count = records.len() / record_bytes;
    let mut order = vec![0xdead_beef_dead_beef; count];
    let mut spare = vec![0xfeed_feed_feed_feed; count.div_ceil(4) + count % 3];
    let mut ends = vec![usize::MAX; splitters.bins()];
    splitters.distribute(key, records, record_bytes, &mut order, &mut spare, &mut ends);
    (order, ends)
}

/// Distributes by a sample of about one in `stride` records, and compares all with the oracle.
pub(crate) fn check<K: Key + std::fmt::Debug>(
    key: K,
    records: &[u8],
    record_bytes: usize,
    stride: usize,
    bins: usize,
) {
    let sample = sample(key, records, record_bytes, stride);
    let oracle = Oracle::new(&sample, bins);
    let splitters = Splitters::from_sample(key.bytes(), &sample.concat(), bins);
    assert_eq!(splitters.bins(), oracle.begins.len() + 1);
    for bin in 0..splitters.bins() {
        assert_eq!(
            splitters.is_one_key(bin),
            oracle.is_one_key(bin, key.bytes()),
            "one key in {bin}?"
        );
    }
    let keys = encoded(key, records, record_bytes);
    let mut expected: Vec<(usize, u64)> =
        keys.iter().zip(0..).map(|(key, index)| (oracle.bin(key), index)).collect();
    expected.sort_unstable();
    let (order, ends) = distributed(key, &splitters, records, record_bytes);
    let what = || format!("{key:?}, {} records of {record_bytes} bytes, {bins} bins", keys.len());
    for (bin, &end) in ends.iter().enumerate() {
        assert_eq!(
            end,
            expected.partition_point(|&(other, _)| other <= bin),
            "end of {bin}: {}",
            what()
        );
    }
    assert!(order.iter().eq(expected.iter().map(|(_, index)| index)), "{}", what());
}

#[test]
fn distributes_every_pattern_by_every_rule() {
    let sizes: &[usize] = if cfg!(miri) { &[9, 20] } else { &[1, 7, 8, 9, 16, 31, 100] };
    for &record_bytes in sizes {
        for key in rules(record_bytes) {
            for &pattern in Pattern::all() {
                for count in counts() {
                    if cfg!(miri) && (count > 20 && record_bytes == 9) {
                        continue;
                    }
                    let records = pattern.records(key, count, record_bytes, count as u64);
                    // All shapes and counts, but only a long run has all pairs.
                    let shapes = [(1, 1), (1, 2), (3, 17), (1, 64), (7, 300)];
                    let first = quick_or_long(count % 3, 0);
                    let shapes = shapes.into_iter().skip(first).step_by(quick_or_long(3, 1));
                    for (stride, bins) in shapes {
                        check(key, &records, record_bytes, stride, bins);
                    }
                }
            }
        }
    }
}

/// The rules of real formats: the kernels are compiled for them.
#[test]
fn distributes_by_the_rules_of_formats() {
    let count = if cfg!(miri) { 50 } else { 3000 };
    let record_bytes = 40;
    let fields = |text: &str| {
        let fields: Vec<KeyField> = text.split(',').map(|field| field.parse().unwrap()).collect();
        Layout::new(record_bytes, fields).unwrap()
    };
    let layouts = [
        fields("0:4:i32le,9:3"),
        fields("0:8:f64be:desc,20:16:u128le"),
        fields("30:10:bytes:desc,0:12"),
    ];
    for &pattern in Pattern::all() {
        let records = pattern.records(Fields::plain(0, record_bytes), count, record_bytes, 2);
        for bins in [2, 10, 200] {
            for bytes in [1, 8, 10, 16, 40] {
                check(PlainKey::new(40 - bytes, bytes), &records, record_bytes, 2, bins);
            }
            for bytes in [1, 4, 8, 16] {
                check(LittleKey::new(3, bytes), &records, record_bytes, 2, bins);
            }
            for layout in &layouts {
                let KeyRule::Fields(key) = layout.rule() else { panic!("a rule of fields") };
                check(key, &records, record_bytes, 2, bins);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too many records")]
fn thousands_of_bins() {
    let count = quick_or_long(100_000, 200_000);
    for (row, record_bytes) in [3, 8, 12].into_iter().enumerate() {
        let key = Fields::plain(0, record_bytes);
        // All of both, but only a long run has all pairs.
        let patterns = Pattern::all().iter().skip(quick_or_long(row, 0));
        for &pattern in patterns.step_by(quick_or_long(3, 1)) {
            let records = pattern.records(key, count, record_bytes, 1);
            for bins in [5000, 1 << 16, 4096].into_iter().take(quick_or_long(2, 3)) {
                check(key, &records, record_bytes, 2, bins);
            }
        }
    }
}

/// Long prefixes shared by all records, by all but some, and by groups of splitters.
#[test]
fn prefixes_of_any_length() {
    let count = if cfg!(miri) { 40 } else { 2000 };
    for prefix in [1, 7, 8, 9, 15, 16, 100] {
        for tail in [1, 7, 8, 9, 20] {
            let (record_bytes, key) = (prefix + tail + 1, Fields::plain(1, prefix + tail));
            for strangers_in_thousand in [0, 20, 900] {
                let mut random = Random::new(prefix as u64);
                let mut records = vec![7; count * record_bytes];
                for record in records.chunks_exact_mut(record_bytes) {
                    random.fill(&mut record[1 + prefix..]);
                    if random.below(1000) < strangers_in_thousand {
                        // Below or above, in any byte of the prefix.
                        record[1 + random.below(prefix)] = [6, 8][random.below(2)];
                    }
                }
                for bins in [2, 3, 40] {
                    check(key, &records, record_bytes, 3, bins);
                }
            }
        }
    }
}

/// Every level of the trie has a splitter that goes deeper: as deep as the key is long, without
/// recursion.
#[test]
fn splitters_that_nest_as_deep_as_the_key_is_long() {
    let (count, record_bytes) = if cfg!(miri) { (12, 100) } else { (1000, 4096) };
    let mut records = vec![7; count * record_bytes];
    for (place, record) in records.chunks_exact_mut(record_bytes).enumerate() {
        record[(place + 1) * record_bytes / (count + 1)] = if place % 2 == 0 { 6 } else { 8 };
    }
    check(Fields::plain(0, record_bytes), &records, record_bytes, 1, count);
}

#[test]
fn frequent_keys_get_bins_of_their_own() {
    for bytes in [1, 8, 10, 24] {
        let key = Fields::plain(0, bytes);
        // Of 100 keys, 30 are a and 20 are c.
        let mut sample = vec![[b'a'; 24]; 30];
        sample.extend([[b'c'; 24]; 20]);
        sample.extend((0..50).map(|other| [other + if other < 25 { 0 } else { 150 }; 24]));
        sample.sort_unstable();
        let encoded: Vec<u8> = sample.iter().flat_map(|key| key[..bytes].to_vec()).collect();
        let splitters = Splitters::from_sample(bytes, &encoded, 20);
        let (order, ends) = distributed(key, &splitters, &sample.concat(), 24);
        for frequent in [b'a', b'c'] {
            let at = sample.iter().position(|key| key[0] == frequent).unwrap();
            let bin = ends.iter().position(|&end| end > at).unwrap();
            assert!(splitters.is_one_key(bin), "{frequent} has no bin");
            assert_eq!(ends[bin] - at, sample.iter().filter(|key| key[0] == frequent).count());
        }
        assert_eq!((0..splitters.bins()).filter(|&bin| splitters.is_one_key(bin)).count(), 2);
        assert!(order.into_iter().eq(0..100), "sorted input");
    }
}

/// Sixteen sampled keys a bin: the largest of 64 bins of random records has less than twice its
/// share. The seed is fixed.
#[test]
#[cfg_attr(miri, ignore = "too many records")]
fn shares_are_balanced() {
    let (count, key, bins) = (100_000, Fields::plain(0, 10), 64);
    let records = Pattern::Uniform.records(key, count, 10, 3);
    let sample = sample(key, &records, 10, count / (16 * bins));
    let splitters = Splitters::from_sample(key.bytes(), &sample.concat(), bins);
    assert_eq!(splitters.bins(), bins);
    let (_, ends) = distributed(key, &splitters, &sample.concat(), 10);
    let counts = splitters.counts(&sample.concat());
    assert!(
        counts
            .iter()
            .scan(0, |end, count| {
                *end += count;
                Some(*end)
            })
            .eq(ends)
    );
    let (_, ends) = distributed(key, &splitters, &records, 10);
    let sizes: Vec<usize> =
        std::iter::once(ends[0]).chain(ends.windows(2).map(|pair| pair[1] - pair[0])).collect();
    let largest = *sizes.iter().max().unwrap();
    assert!(largest < 2 * count / bins, "a bin of {largest}");
    // A sample of all records gives equal bins.
    let whole = crate::splitters::sample(key, &records, 10, 1);
    let (_, ends) =
        distributed(key, &Splitters::from_sample(10, &whole.concat(), bins), &records, 10);
    assert!((1..=bins).all(|bin| ends[bin - 1].abs_diff(bin * count / bins) <= 1), "{ends:?}");
}

#[test]
fn a_sample_smaller_than_the_bins() {
    for keys in 0..5_u8 {
        let sample: Vec<u8> = (0..keys).collect();
        let splitters = Splitters::from_sample(1, &sample, 100);
        assert_eq!(splitters.bins(), usize::from(keys).max(1));
        assert_eq!(splitters.counts(&sample).iter().sum::<usize>(), usize::from(keys));
        assert!((0..splitters.bins()).all(|bin| !splitters.is_one_key(bin)));
        let (order, ends) = distributed(Fields::plain(0, 1), &splitters, &[3, 0, 200, 0], 1);
        assert_eq!(*ends.last().unwrap(), 4);
        if keys == 4 {
            assert_eq!((order, ends), (vec![1, 3, 0, 2], vec![2, 2, 2, 4]));
        }
    }
}

#[test]
fn a_key_without_bytes_has_one_bin() {
    let key = Fields::plain(0, 0);
    let splitters = Splitters::from_sample(0, &[], 10);
    assert!(splitters.bins() == 1 && splitters.is_one_key(0));
    assert_eq!(distributed(key, &splitters, b"cba", 1), (vec![0, 1, 2], vec![3]));
}

/// Wrong answers give wrong bins of the right records.
#[test]
fn a_key_that_lies_loses_no_record() {
    let calls = AtomicU64::new(0);
    let count = if cfg!(miri) { 70 } else { 5000 };
    for lie in [Lie::Words, Lie::Comparisons, Lie::Rarely, Lie::All] {
        for honest in [Fields::plain(0, 1), Fields::plain(3, 50)] {
            for pattern in
                [Pattern::Uniform, Pattern::Equal, Pattern::FewDistinct, Pattern::Clusters]
            {
                let records = pattern.records(honest, count, 64, 11);
                let sample = sample(honest, &records, 64, 3);
                for bins in [2, 50] {
                    let liar = Liar { honest, lie, calls: &calls };
                    let splitters = Splitters::from_sample(liar.bytes(), &sample.concat(), bins);
                    let (mut order, ends) = distributed(liar, &splitters, &records, 64);
                    assert!(ends.is_sorted() && ends.last() == Some(&count), "{lie:?} {pattern:?}");
                    order.sort_unstable();
                    assert!(order.into_iter().eq(0..count as u64), "{lie:?} {pattern:?}");
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "a sorted sample")]
fn refuses_a_sample_that_is_not_sorted() {
    Splitters::from_sample(1, b"aacb", 4);
}

#[test]
#[should_panic(expected = "1 to 65,536 bins")]
fn refuses_more_bins_than_have_numbers() {
    Splitters::from_sample(1, b"abcd", (1 << 16) + 1);
}

#[test]
#[should_panic(expected = "one order word a record")]
fn refuses_lengths_that_do_not_fit() {
    let splitters = Splitters::from_sample(1, b"ab", 2);
    let (order, spare) = (&mut [0; 3], &mut [0; 3]);
    splitters.distribute(Fields::plain(0, 1), &[0; 10], 3, order, spare, &mut [0; 2]);
}
