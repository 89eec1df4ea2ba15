//! Random inputs of random shapes, shrunk by proptest when they fail.

use crate::data::oracle;
use crate::keys::Fields;
use crate::merge::{Runs, number};
use crate::sort::sorted;
use crate::splitters;
use proptest::prelude::*;
use xsort_kernels::Caches;
use xsort_testing::Random;

/// Records over an alphabet of `letters` bytes, so that ties of all lengths happen.
fn records(seed: u64, count: usize, record_bytes: usize, letters: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..count * record_bytes)
        .map(|_| (random.below(letters) * 255 / letters.max(2)) as u8)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 400 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn sort_is_the_stable_sort(
        seed: u64,
        count in 0_usize..if cfg!(miri) { 40 } else { 3000 },
        (record_bytes, offset, bytes) in (1_usize..60).prop_flat_map(|all| (Just(all), 0..all))
            .prop_flat_map(|(all, offset)| (Just(all), Just(offset), 1..=all - offset)),
        letters in 1_usize..5,
        l1_bits in 0..16,
        l2_bits in 0..16,
    ) {
        let key = Fields::plain(offset, bytes);
        let records = records(seed, count, record_bytes, letters);
        let caches = Caches { l1_bytes: 1_usize << l1_bits, l2_bytes: 1_usize << l2_bits };
        prop_assert_eq!(
            sorted(key, &records, record_bytes, caches),
            oracle(key, &records, record_bytes),
        );
    }

    #[test]
    fn merge_is_the_stable_sort(
        seed: u64,
        count in 0_usize..if cfg!(miri) { 40 } else { 400 },
        runs in 0_usize..40,
        bytes in 1_usize..24,
        letters in 1_usize..5,
    ) {
        let (key, mut random) = (Fields::plain(0, bytes), Random::new(seed));
        let mut records = records(seed, count, 28, letters);
        number(&mut records, 28);
        let cut = Runs::cut(key, &records, 28, runs, &mut random);
        prop_assert_eq!(cut.merged(key, 0, &mut random), cut.expected(key));
    }

    #[test]
    fn distribute_is_the_binary_search(
        seed: u64,
        count in 0_usize..if cfg!(miri) { 40 } else { 3000 },
        (record_bytes, offset, bytes) in (1_usize..60).prop_flat_map(|all| (Just(all), 0..all))
            .prop_flat_map(|(all, offset)| (Just(all), Just(offset), 1..=all - offset)),
        letters in 1_usize..5,
        stride in 1_usize..9,
        bins in prop_oneof![1_usize..10, 1_usize..700],
    ) {
        let key = Fields::plain(offset, bytes);
        splitters::check(
            key,
            &records(seed, count, record_bytes, letters),
            record_bytes,
            stride,
            bins,
        );
    }
}
