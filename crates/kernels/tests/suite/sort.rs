//! `sort` and `common_prefix` against the oracle.

use crate::data::{Pattern, counts, oracle, record_of};
use crate::keys::{Fields, Liar, Lie, rules};
use std::sync::atomic::AtomicU64;
use xsort_kernels::{Caches, common_prefix, sort};
use xsort_records::Key;
use xsort_testing::{Random, quick_or_long};

/// Caches that make a few records into pieces of every kind: cut, partitioned, whole.
const CACHES: [Caches; 4] = [
    Caches { l1_bytes: 0, l2_bytes: 0 },
    Caches { l1_bytes: 1 << 10, l2_bytes: 4 << 10 },
    Caches { l1_bytes: 256, l2_bytes: 1 << 20 },
    Caches { l1_bytes: 1 << 10, l2_bytes: usize::MAX },
];

/// The kernel's order; the lent memory is full of rubbish.
pub(crate) fn sorted<K: Key>(
    key: K,
    records: &[u8],
    record_bytes: usize,
    caches: Caches,
) -> Vec<u64> {
    let count = records.len() / record_bytes;
    let mut order = vec![0xdead_beef_dead_beef; count];
    let mut spare = vec![0xfeed_feed_feed_feed; count + count % 3];
    sort(key, records, record_bytes, &mut order, &mut spare, caches);
    order
}

fn check(key: Fields, pattern: Pattern, count: usize, record_bytes: usize, seed: u64) {
    let records = pattern.records(key, count, record_bytes, seed);
    let expected = oracle(key, &records, record_bytes);
    for caches in CACHES {
        let order = sorted(key, &records, record_bytes, caches);
        assert!(
            order == expected,
            "{key:?} {pattern:?} {count} records of {record_bytes} bytes, {caches:?}, seed {seed}"
        );
    }
}

#[test]
fn sorts_every_pattern_by_every_rule() {
    let sizes: &[usize] = if cfg!(miri) { &[1, 9, 16] } else { &[1, 2, 4, 7, 8, 9, 16, 31, 100] };
    for &record_bytes in sizes {
        for key in rules(record_bytes) {
            for &pattern in Pattern::all() {
                for count in counts() {
                    if !cfg!(miri) || count < 20 || record_bytes == 16 {
                        check(key, pattern, count, record_bytes, count as u64);
                    }
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too many records")]
fn sorts_enough_records_for_a_partition() {
    let shapes = [
        (1, Fields::plain(0, 1)),
        (10, Fields::plain(0, 10)),
        (12, Fields::plain(0, 12)),
        (16, Fields { first: (8, 8), second: (0, 8), second_descends: true }),
        (30, Fields::plain(1, 28)),
    ];
    for (row, (record_bytes, key)) in shapes.into_iter().enumerate() {
        // All of both, but only a long run has all pairs.
        let patterns = Pattern::all().iter().skip(quick_or_long(row % 3, 0));
        for &pattern in patterns.step_by(quick_or_long(3, 1)) {
            for count in [(1 << 14) - 1, 1 << 14, (1 << 14) + 1, quick_or_long(50_000, 100_000)] {
                check(key, pattern, count, record_bytes, 1);
            }
        }
    }
}

#[test]
fn long_keys_with_long_prefixes() {
    let (count, record_bytes) =
        if cfg!(miri) { (10, 100) } else { (quick_or_long(700, 2000), 4096) };
    for &pattern in Pattern::all() {
        check(Fields::plain(0, record_bytes), pattern, count, record_bytes, 5);
    }
}

/// A group of ties that loses one record a round, for as many rounds as the key has bytes to give:
/// deep nesting must cost no stack.
#[test]
fn ties_that_nest_as_deep_as_the_key_is_long() {
    let (count, record_bytes) = if cfg!(miri) { (12, 100) } else { (1000, 4096) };
    let mut records = vec![7; count * record_bytes];
    for (place, record) in records.chunks_exact_mut(record_bytes).enumerate() {
        record[(place + 1) * record_bytes / (count + 1)] = if place % 2 == 0 { 6 } else { 8 };
    }
    let key = Fields::plain(0, record_bytes);
    std::thread::Builder::new()
        .stack_size(512 << 10)
        .spawn(move || {
            let expected = oracle(key, &records, record_bytes);
            assert_eq!(sorted(key, &records, record_bytes, Caches::default()), expected);
        })
        .unwrap()
        .join()
        .unwrap();
}

/// The guess of the shared prefix comes from a sample: here all of the sample agrees and others
/// don't.
#[test]
#[cfg_attr(miri, ignore = "too many records")]
fn a_sample_that_misses_the_strangers() {
    let (count, record_bytes) = (40_000, 24);
    for strangers in (1..20).step_by(quick_or_long(3, 1)) {
        for at in [0, 3, 8, 12, 23] {
            let mut random = Random::new(strangers as u64);
            let mut records = vec![9; count * record_bytes];
            for record in records.chunks_exact_mut(record_bytes) {
                record[16] = random.word() as u8;
            }
            for _ in 0..strangers {
                records[random.below(count) * record_bytes + at] = random.word() as u8;
            }
            let key = Fields::plain(0, record_bytes);
            let expected = oracle(key, &records, record_bytes);
            assert_eq!(sorted(key, &records, record_bytes, CACHES[1]), expected);
        }
    }
}

#[test]
fn common_prefix_is_the_shortest_over_all_pairs() {
    for record_bytes in if cfg!(miri) { &[9][..] } else { &[1, 5, 8, 9, 40] }.iter().copied() {
        for key in rules(record_bytes) {
            for &pattern in Pattern::all() {
                for count in [0, 1, 2, 3, 50] {
                    let records = pattern.records(key, count, record_bytes, 3);
                    let encoded: Vec<Vec<u8>> = records
                        .chunks_exact(record_bytes)
                        .map(|record| {
                            let mut out = vec![0; key.bytes()];
                            key.encode(record, &mut out);
                            out
                        })
                        .collect();
                    let shared = |at: &usize| encoded.iter().all(|key| key[*at] == encoded[0][*at]);
                    let expected = (0..key.bytes()).take_while(shared).count();
                    assert_eq!(
                        common_prefix(key, &records, record_bytes),
                        expected,
                        "{key:?} {pattern:?}"
                    );
                }
            }
        }
    }
}

/// Wrong answers give a wrong order of the right records.
#[test]
fn a_key_that_lies_loses_no_record() {
    let calls = AtomicU64::new(0);
    let largest = if cfg!(miri) { 70 } else { 40_000 };
    for lie in [Lie::Words, Lie::Comparisons, Lie::Rarely, Lie::All] {
        for (record_bytes, honest) in
            [(1, Fields::plain(0, 1)), (20, Fields::plain(0, 20)), (64, Fields::plain(3, 50))]
        {
            for pattern in
                [Pattern::Uniform, Pattern::Equal, Pattern::FewDistinct, Pattern::Clusters]
            {
                for count in [2, 3, 10, 40, largest / 20, largest] {
                    let records = pattern.records(honest, count, record_bytes, 11);
                    let key = Liar { honest, lie, calls: &calls };
                    let mut order = sorted(key, &records, record_bytes, CACHES[1]);
                    if lie == Lie::Comparisons && count < 3 {
                        assert!(
                            order
                                .iter()
                                .all(|&index| record_of(&records, record_bytes, index).len()
                                    == record_bytes)
                        );
                    }
                    order.sort_unstable();
                    assert!(
                        order.iter().copied().eq(0..count as u64),
                        "{lie:?} {pattern:?} {count}"
                    );
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "one order word a record")]
fn refuses_lengths_that_do_not_fit() {
    sort(Fields::plain(0, 1), &[0; 10], 3, &mut [0; 3], &mut [0; 3], Caches::default());
}
