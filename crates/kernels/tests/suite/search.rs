//! Bounds against counting.

use crate::data::{Pattern, oracle, record_of};
use crate::keys::rules;
use std::cmp::Ordering;
use xsort_kernels::{bound_in_block, bound_in_order, shared_prefix};
use xsort_records::Key;

#[test]
fn bounds_are_the_numbers_of_smaller_records() {
    let record_bytes = 16;
    for key in rules(record_bytes) {
        for &pattern in Pattern::all() {
            for count in [0, 1, 2, if cfg!(miri) { 5 } else { 30 }] {
                let records = pattern.records(key, count, record_bytes, 9);
                let order = oracle(key, &records, record_bytes);
                let block: Vec<u8> = order
                    .iter()
                    .flat_map(|&index| record_of(&records, record_bytes, index).to_vec())
                    .collect();
                let strangers =
                    pattern.records(key, if cfg!(miri) { 2 } else { 20 }, record_bytes, 10);
                for probe in
                    records.chunks_exact(record_bytes).chain(strangers.chunks_exact(record_bytes))
                {
                    let mut encoded = vec![0; key.bytes()];
                    key.encode(probe, &mut encoded);
                    for include_equal in [false, true] {
                        let before = |record: &&[u8]| match key.compare(record, probe) {
                            Ordering::Less => true,
                            Ordering::Equal => include_equal,
                            Ordering::Greater => false,
                        };
                        let expected = block.chunks_exact(record_bytes).filter(before).count();
                        assert_eq!(
                            bound_in_block(key, &block, record_bytes, &encoded, include_equal),
                            expected
                        );
                        let by_order = bound_in_order(
                            key,
                            &records,
                            record_bytes,
                            &order,
                            &encoded,
                            include_equal,
                        );
                        assert_eq!(by_order, expected);
                    }
                }
            }
        }
    }
}

#[test]
fn shared_prefix_counts_equal_bytes() {
    assert_eq!(shared_prefix(b"", b"abc"), 0);
    assert_eq!(shared_prefix(b"abc", b"abc"), 3);
    assert_eq!(shared_prefix(b"abcd", b"abxd"), 2);
    assert_eq!(shared_prefix(b"0123456789abcdefX", b"0123456789abcdefY"), 16);
}
