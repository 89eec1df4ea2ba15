//! The kernels of a rule as an object, for each kind of key, against the oracle and against the
//! kernels of the rule itself, which look at its kind for each record.

use crate::data::{Pattern, oracle, record_of};
use crate::keys::Fields;
use crate::sort::sorted;
use crate::splitters::{distributed, sample};
use xsort_kernels::{
    Caches, Node, RecordKernels, Run, Splitters, bound_in_block, bound_in_order, common_prefix,
    kernels_of, nodes_needed,
};
use xsort_records::{Key, KeyField, KeyRule, Layout};

const RECORD_BYTES: usize = 24;

fn layout(text: &str) -> Layout {
    let fields: Vec<KeyField> = text.split(',').map(|field| field.parse().unwrap()).collect();
    Layout::new(RECORD_BYTES, fields).unwrap()
}

/// A rule of each kind.
fn layouts() -> [Layout; 3] {
    let layouts = [layout("2:9"), layout("8:8:u64le"), layout("0:4:i32le,9:3:bytes:desc")];
    assert!(matches!(layouts[0].rule(), KeyRule::Plain(_)));
    assert!(matches!(layouts[1].rule(), KeyRule::Little(_)));
    assert!(matches!(layouts[2].rule(), KeyRule::Fields(_)));
    layouts
}

#[test]
fn an_object_of_each_kind_of_key_gives_what_the_key_gives() {
    let count = if cfg!(miri) { 20 } else { 500 };
    for layout in layouts() {
        let rule = layout.rule();
        let kernels = kernels_of(&rule);
        assert_eq!(kernels.key_bytes(), rule.bytes());
        for &pattern in Pattern::all() {
            let records = pattern.records(Fields::plain(0, 24), count, RECORD_BYTES, 5);
            let shared = kernels.common_prefix(&records, RECORD_BYTES);
            assert_eq!(shared, common_prefix(rule, &records, RECORD_BYTES), "{rule:?} {pattern:?}");
            let expected = oracle(rule, &records, RECORD_BYTES);
            let mut order = vec![0; count];
            let mut scratch = vec![0; count];
            kernels.sort(&records, RECORD_BYTES, &mut order, &mut scratch, Caches::default());
            assert_eq!(order, expected, "{rule:?} {pattern:?}");
            assert_eq!(order, sorted(rule, &records, RECORD_BYTES, Caches::default()));
            searches(rule, kernels, &records, &order);
            distributes(rule, kernels, &records);
            merges(kernels, shared, &records, &order);
        }
    }
}

/// Compares the keys of neighbours, and finds each record's place in a block and in an order.
fn searches(rule: KeyRule<'_>, kernels: &dyn RecordKernels, records: &[u8], order: &[u64]) {
    let in_order = order.iter().flat_map(|&index| record_of(records, RECORD_BYTES, index));
    let block: Vec<u8> = in_order.copied().collect();
    for pair in records.chunks_exact(2 * RECORD_BYTES).take(20) {
        let (a, b) = pair.split_at(RECORD_BYTES);
        let (mut encoded, mut of_rule) = (vec![0; rule.bytes()], vec![0; rule.bytes()]);
        kernels.encode(a, &mut encoded);
        Key::encode(&rule, a, &mut of_rule);
        assert_eq!(encoded, of_rule);
        assert_eq!(kernels.compare(a, b), Key::compare(&rule, a, b));
        let expected = Key::compare_encoded(&rule, b, &encoded);
        assert_eq!(kernels.compare_encoded(b, &encoded), expected);
        for with_equal in [false, true] {
            let expected = bound_in_block(rule, &block, RECORD_BYTES, &encoded, with_equal);
            let found = kernels.bound_in_block(&block, RECORD_BYTES, &encoded, with_equal);
            assert_eq!(found, expected);
            let expected = bound_in_order(rule, records, RECORD_BYTES, order, &encoded, with_equal);
            let found = kernels.bound_in_order(records, RECORD_BYTES, order, &encoded, with_equal);
            assert_eq!(found, expected);
        }
    }
}

fn distributes(rule: KeyRule<'_>, kernels: &dyn RecordKernels, records: &[u8]) {
    let count = records.len() / RECORD_BYTES;
    let sample = sample(rule, records, RECORD_BYTES, 3);
    let splitters = Splitters::from_sample(rule.bytes(), &sample.concat(), 17);
    let (mut order, mut scratch) = (vec![0; count], vec![0; count]);
    let mut ends = vec![0; splitters.bins()];
    kernels.distribute(&splitters, records, RECORD_BYTES, &mut order, &mut scratch, &mut ends);
    assert_eq!((order, ends), distributed(rule, &splitters, records, RECORD_BYTES));
}

/// Merges two runs of neighbouring records, to records and to indexes.
fn merges(kernels: &dyn RecordKernels, shared: usize, records: &[u8], order: &[u64]) {
    let middle = order.len() as u64 / 3;
    let (first, second): (Vec<u64>, Vec<u64>) = order.iter().partition(|&&index| index < middle);
    let runs = [&first, &second].map(|order| Run::Ordered { records, order });
    let mut nodes = vec![Node::default(); nodes_needed(runs.len())];
    let mut indexes = vec![0; order.len()];
    let merged = kernels.merge(RECORD_BYTES, shared, &runs, &mut nodes).fill_order(&mut indexes);
    assert_eq!((merged, &indexes[..]), (order.len(), order));
    let mut out = vec![0; records.len()];
    let merged = kernels.merge(RECORD_BYTES, shared, &runs, &mut nodes).fill(&mut out);
    assert_eq!(merged, order.len());
    let expected = order.iter().flat_map(|&index| record_of(records, RECORD_BYTES, index));
    assert!(out.iter().eq(expected));
}
