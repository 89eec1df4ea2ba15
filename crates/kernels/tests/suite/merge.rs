//! `Merge` against one stable sort of all its runs.

use crate::data::{Pattern, oracle, record_of};
use crate::keys::{Fields, Liar, Lie};
use std::sync::atomic::AtomicU64;
use xsort_kernels::{Merge, Node, Run, common_prefix, nodes_needed};
use xsort_records::Key;
use xsort_testing::Random;

/// Sorted runs of several lengths, each in blocks or by an order, with all their records in the
/// order of the runs.
pub(crate) struct Runs {
    record_bytes: usize,
    runs: Vec<Owned>,
    all: Vec<u8>,
}

enum Owned {
    Blocks(Vec<Vec<u8>>),
    Ordered(Vec<u8>, Vec<u64>),
}

impl Runs {
    /// Cuts `all` into `count` runs at random places, some empty, and sorts them.
    pub(crate) fn cut(
        key: Fields,
        all: &[u8],
        record_bytes: usize,
        count: usize,
        random: &mut Random,
    ) -> Self {
        let records = all.len() / record_bytes;
        let mut cuts: Vec<usize> = (1..count).map(|_| random.below(records + 1)).collect();
        cuts.sort_unstable();
        cuts.push(records);
        let (mut runs, mut sorted_runs, mut start) = (Vec::new(), Vec::new(), 0);
        for end in cuts.into_iter().take(count) {
            let part = &all[start * record_bytes..end * record_bytes];
            start = end;
            let order = oracle(key, part, record_bytes);
            let in_order: Vec<u8> = order
                .iter()
                .flat_map(|&index| record_of(part, record_bytes, index).to_vec())
                .collect();
            runs.push(if random.below(2) == 0 {
                Owned::Ordered(part.to_vec(), order)
            } else {
                let mut blocks = Vec::new();
                let mut rest = &in_order[..];
                while !rest.is_empty() || random.below(3) == 0 {
                    let take = random.below(8).min(rest.len() / record_bytes) * record_bytes;
                    blocks.push(rest[..take].to_vec());
                    rest = &rest[take..];
                }
                Owned::Blocks(blocks)
            });
            sorted_runs.extend(in_order);
        }
        Runs { record_bytes, runs, all: sorted_runs }
    }

    /// Merges, filling outputs of random sizes, and checks that what it says it wrote is all that
    /// it wrote.
    pub(crate) fn merged<K: Key>(
        &self,
        key: K,
        shared_bytes: usize,
        random: &mut Random,
    ) -> Vec<u8> {
        let slices: Vec<Vec<&[u8]>> = self
            .runs
            .iter()
            .map(|run| match run {
                Owned::Blocks(blocks) => blocks.iter().map(Vec::as_slice).collect(),
                Owned::Ordered(..) => Vec::new(),
            })
            .collect();
        let runs: Vec<Run<'_>> = self
            .runs
            .iter()
            .zip(&slices)
            .map(|(run, slices)| match run {
                Owned::Blocks(_) => Run::Blocks(slices),
                Owned::Ordered(records, order) => Run::Ordered { records, order },
            })
            .collect();
        let mut nodes = vec![Node::default(); nodes_needed(runs.len())];
        let mut merge = Merge::new(key, self.record_bytes, shared_bytes, &runs, &mut nodes);
        let mut merged = Vec::new();
        loop {
            let mut out = vec![0xee; random.below(9 * self.record_bytes)];
            let fit = out.len() / self.record_bytes;
            let written = merge.fill(&mut out);
            assert!(
                out[written * self.record_bytes..].iter().all(|&byte| byte == 0xee),
                "rubbish after the end"
            );
            merged.extend_from_slice(&out[..written * self.record_bytes]);
            if written < fit {
                break;
            }
        }
        assert_eq!(merge.fill(&mut vec![0; 3 * self.record_bytes]), 0, "the end is the end");
        merged
    }

    /// What a merge must give.
    pub(crate) fn expected(&self, key: Fields) -> Vec<u8> {
        let order = oracle(key, &self.all, self.record_bytes);
        order
            .iter()
            .flat_map(|&index| record_of(&self.all, self.record_bytes, index).to_vec())
            .collect()
    }
}

/// Numbers the records in their last four bytes, so that an unstable merge shows.
pub(crate) fn number(records: &mut [u8], record_bytes: usize) {
    for (place, record) in records.chunks_exact_mut(record_bytes).enumerate() {
        record[record_bytes - 4..].copy_from_slice(&(place as u32).to_be_bytes());
    }
}

#[test]
fn merges_runs_of_every_kind() {
    let mut random = Random::new(1);
    let counts: &[usize] =
        if cfg!(miri) { &[1, 2, 5] } else { &[0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 100] };
    let keys = [
        (9, Fields::plain(0, 5)),
        (12, Fields::plain(0, 8)),
        (24, Fields::plain(1, 19)),
        (100, Fields::plain(0, 10)),
        (30, Fields { first: (10, 10), second: (0, 10), second_descends: true }),
    ];
    for (record_bytes, key) in keys {
        for &pattern in Pattern::all() {
            for &runs in counts {
                let records = if cfg!(miri) { 20 } else { 400 };
                let mut all = pattern.records(key, records, record_bytes, 2);
                number(&mut all, record_bytes);
                let shared = common_prefix(key, &all, record_bytes);
                let cut = Runs::cut(key, &all, record_bytes, runs, &mut random);
                let expected = cut.expected(key);
                for shared_bytes in [0, shared / 2, shared] {
                    if cfg!(miri) && shared_bytes > 0 && shared_bytes < shared {
                        continue;
                    }
                    let merged = cut.merged(key, shared_bytes, &mut random);
                    assert!(
                        merged == expected,
                        "{key:?} {pattern:?} {runs} runs, {shared_bytes} bytes shared"
                    );
                }
            }
        }
    }
}

/// Runs of the same records by indexes, merged to indexes in outputs of random sizes.
#[test]
fn indexes_are_merged_as_records_are() {
    let mut random = Random::new(6);
    let fields = Fields { first: (10, 10), second: (0, 10), second_descends: true };
    for (record_bytes, key) in [(9, Fields::plain(0, 5)), (12, Fields::plain(0, 12)), (30, fields)]
    {
        for &pattern in Pattern::all() {
            let all = pattern.records(key, if cfg!(miri) { 20 } else { 300 }, record_bytes, 3);
            let count = (all.len() / record_bytes) as u64;
            let expected = oracle(key, &all, record_bytes);
            let cuts = [0, count / 3, count / 3, count / 2, count];
            let part = |pair: &[u64]| -> Vec<u64> {
                expected.iter().copied().filter(|&i| (pair[0]..pair[1]).contains(&i)).collect()
            };
            let orders: Vec<Vec<u64>> = cuts.windows(2).map(part).collect();
            let runs: Vec<Run<'_>> =
                orders.iter().map(|order| Run::Ordered { records: &all, order }).collect();
            let mut nodes = vec![Node::default(); nodes_needed(runs.len())];
            let mut merge = Merge::new(key, record_bytes, 0, &runs, &mut nodes);
            let mut merged = Vec::new();
            loop {
                let mut out = vec![u64::MAX; 1 + random.below(40)];
                let written = merge.fill_order(&mut out);
                assert!(out[written..].iter().all(|&index| index == u64::MAX));
                merged.extend_from_slice(&out[..written]);
                if written < out.len() {
                    break;
                }
            }
            assert_eq!(merged, expected, "{key:?} {pattern:?}");
        }
    }
}

#[test]
fn more_runs_than_records() {
    let key = Fields::plain(0, 12);
    let mut random = Random::new(4);
    let all = Pattern::Extremes.records(key, 20, 16, 1);
    let cut = Runs::cut(key, &all, 16, 75, &mut random);
    assert_eq!(cut.merged(key, 0, &mut random), cut.expected(key));
}

/// An output smaller than a record takes nothing and changes nothing.
#[test]
fn an_output_too_small_for_a_record() {
    let key = Fields::plain(0, 2);
    let blocks: [&[u8]; 2] = [b"aa11", b"cc33"];
    let order = [1, 0];
    let runs = [Run::Blocks(&blocks), Run::Ordered { records: b"dd44bb22", order: &order }];
    let mut nodes = [Node::default(); 2];
    let mut merge = Merge::new(key, 4, 0, &runs, &mut nodes);
    let mut out = [0; 9];
    assert_eq!(merge.fill(&mut out[..3]), 0);
    assert_eq!(merge.fill(&mut []), 0);
    assert_eq!(merge.fill(&mut out), 2);
    assert_eq!(&out, b"aa11bb22\0");
    assert_eq!(merge.fill(&mut out[..7]), 1);
    assert_eq!(&out[..4], b"cc33");
    assert_eq!(merge.fill(&mut out), 1);
    assert_eq!(&out[..4], b"dd44");
    assert_eq!(merge.fill(&mut out), 0);
}

/// Wrong answers merge to a wrong order of the right records.
#[test]
fn a_key_that_lies_loses_no_record() {
    let calls = AtomicU64::new(0);
    let honest = Fields::plain(0, 20);
    let mut random = Random::new(8);
    for lie in [Lie::Words, Lie::Comparisons, Lie::Rarely, Lie::All] {
        for pattern in [Pattern::Uniform, Pattern::Equal, Pattern::FewDistinct, Pattern::Extremes] {
            for runs in [2, 3, 8, 13] {
                let mut all = pattern.records(honest, if cfg!(miri) { 20 } else { 1000 }, 32, 7);
                number(&mut all, 32);
                let cut = Runs::cut(honest, &all, 32, runs, &mut random);
                let merged = cut.merged(Liar { honest, lie, calls: &calls }, 0, &mut random);
                let mut merged: Vec<&[u8]> = merged.chunks_exact(32).collect();
                let mut all: Vec<&[u8]> = all.chunks_exact(32).collect();
                merged.sort_unstable();
                all.sort_unstable();
                assert!(merged == all, "{lie:?} {pattern:?} {runs} runs");
            }
        }
    }
}

#[test]
#[should_panic(expected = "an index of a record")]
fn refuses_an_order_that_overflows() {
    let run = Run::Ordered { records: &[0; 64], order: &[0, 1 << 60] };
    let runs = [run, run];
    Merge::new(Fields::plain(0, 32), 32, 0, &runs, &mut [Node::default(); 2]).fill(&mut [0; 64]);
}

#[test]
#[should_panic(expected = "whole records")]
fn refuses_blocks_of_broken_records() {
    let blocks: [&[u8]; 1] = [&[0; 33]];
    let runs = [Run::Blocks(&blocks)];
    Merge::new(Fields::plain(0, 32), 32, 0, &runs, &mut [Node::default(); 1]);
}
