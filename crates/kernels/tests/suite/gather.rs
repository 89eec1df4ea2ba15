//! `gather` against a loop of slices.

use crate::data::record_of;
use xsort_kernels::gather;
use xsort_testing::Random;

#[test]
fn copies_the_named_records_in_order() {
    for record_bytes in (1..=140).chain([255, 256, 257, 4096]) {
        if cfg!(miri) && ![1, 7, 64, 100].contains(&record_bytes) {
            continue;
        }
        let mut random = Random::new(record_bytes as u64);
        let mut records = vec![0; 40 * record_bytes];
        random.fill(&mut records);
        for count in [0, 1, 2, 15, 16, 17, 50] {
            let order: Vec<u64> = (0..count).map(|_| random.below(40) as u64).collect();
            let mut out = vec![0; count * record_bytes + 2];
            gather(&records, record_bytes, &order, &mut out[1..=count * record_bytes]);
            let expected: Vec<u8> = order
                .iter()
                .flat_map(|&index| record_of(&records, record_bytes, index).to_vec())
                .collect();
            assert_eq!(
                out[1..=count * record_bytes],
                expected,
                "{count} records of {record_bytes} bytes"
            );
            assert_eq!((out[0], out[count * record_bytes + 1]), (0, 0), "bytes beside the output");
        }
    }
}

#[test]
#[should_panic(expected = "not there")]
fn refuses_an_index_outside() {
    gather(&[0; 30], 3, &[2, 10, 1], &mut [0; 9]);
}

#[test]
#[should_panic(expected = "not there")]
fn refuses_an_index_that_overflows() {
    gather(&[0; 64], 64, &[1 << 58], &mut [0; 64]);
}
