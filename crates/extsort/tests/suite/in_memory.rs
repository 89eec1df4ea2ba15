//! Records in memory against the standard library's stable sort.

use xsort_extsort::{
    Caches, Error, InMemoryOptions, Observer, Unobserved, order_in_memory, sort_in_memory,
    sort_in_place,
};
use xsort_records::{Key, KeyField, Layout};
use xsort_testing::Random;

fn options(record_bytes: usize, keys: &[&str], threads: usize) -> InMemoryOptions {
    let fields = keys.iter().map(|key| key.parse::<KeyField>().unwrap()).collect();
    let layout = Layout::new(record_bytes, fields).unwrap();
    InMemoryOptions { layout, threads, caches: Caches::default() }
}

/// Returns the numbers of the records in order.
fn oracle(layout: &Layout, records: &[u8]) -> Vec<u64> {
    let record =
        |&index: &u64| &records[index as usize * layout.record_bytes()..][..layout.record_bytes()];
    let mut order: Vec<u64> = (0..(records.len() / layout.record_bytes()) as u64).collect();
    order.sort_by(|a, b| layout.rule().compare(record(a), record(b)));
    order
}

fn check(options: &InMemoryOptions, records: &[u8], case: &str) {
    let expected = oracle(&options.layout, records);
    let mut order = vec![0; expected.len()];
    order_in_memory(options, records, &mut order, &Unobserved).unwrap();
    assert!(order == expected, "order, {case}");
    let record_bytes = options.layout.record_bytes();
    let record = |&index: &u64| &records[index as usize * record_bytes..][..record_bytes];
    let in_order: Vec<u8> = expected.iter().flat_map(record).copied().collect();
    let mut out = vec![0; records.len()];
    sort_in_memory(options, records, &mut out, &Unobserved).unwrap();
    assert!(out == in_order, "elsewhere, {case}");
    let mut here = records.to_vec();
    sort_in_place(options, &mut here, &Unobserved).unwrap();
    assert!(here == in_order, "in place, {case}");
}

/// Few records with several runs, and many and few different values, so that cuts fall between
/// equal keys.
#[test]
fn any_records_in_any_number_of_threads() {
    let mut random = Random::new(11);
    let layouts: [(usize, &[&str]); 4] = [
        (1, &["0:1:u8:desc"]),
        (8, &["0:8:u64le"]),
        (14, &["0:10"]),
        (21, &["12:8:n64be:desc", "3:4:i32le"]),
    ];
    for (record_bytes, keys) in layouts {
        for count in [0, 1, 2, 1000, 16_385, 33_000] {
            for (threads, values) in [(1, 256), (3, 2), (4, 256)] {
                let options = options(record_bytes, keys, threads);
                let mut records = random.bytes(count * record_bytes);
                records.iter_mut().for_each(|byte| *byte = (usize::from(*byte) % values) as u8);
                let case = format!("{count} of {record_bytes} bytes, {threads} threads, {values}");
                check(&options, &records, &case);
            }
        }
    }
}

#[test]
fn what_is_in_order_already_and_what_is_all_the_same() {
    let options = options(8, &["0:8:u64be"], 3);
    let rising: Vec<u8> = (0..100_000_u64).flat_map(u64::to_be_bytes).collect();
    check(&options, &rising, "rising");
    let falling: Vec<u8> = (0..100_000_u64).rev().flat_map(u64::to_be_bytes).collect();
    check(&options, &falling, "falling");
    check(&options, &vec![7; 800_000], "the same");
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let options = options(8, &["0:8:u64be"], 2);
    let (mut out, mut order) = ([0; 16], [0; 3]);
    for result in [
        sort_in_memory(&options, &[0; 24], &mut out, &Unobserved),
        order_in_memory(&options, &[0; 16], &mut order, &Unobserved),
        sort_in_place(&options, &mut [0; 17], &Unobserved),
    ] {
        assert!(matches!(result, Err(Error::Settings(_))), "{result:?}");
    }
}

/// Stops everything.
struct Stopped;

impl Observer for Stopped {
    fn phase(&self, _name: &str, _bytes: u64) {}
    fn advance(&self, _bytes: u64) {}
    fn notice(&self, _line: &str) {}
    fn is_cancelled(&self) -> bool {
        true
    }
}

#[test]
fn a_sort_in_place_that_is_stopped_changes_nothing() {
    let options = options(8, &["0:8:u64be"], 2);
    let records = Random::new(5).bytes(800_000);
    let mut here = records.clone();
    let result = sort_in_place(&options, &mut here, &Stopped);
    assert!(matches!(result, Err(Error::Cancelled)) && here == records);
}
