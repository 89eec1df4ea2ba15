//! Merging sorted runs of whole records into one output, stably.
//!
//! The rivals merge iterators, so each item is a record and its rank: the whole key and the run in
//! one `u128`, compared at once. Every contender writes the records themselves.

use crate::contest::Contest;
use crate::input::{Input, KEY, OUT_OF_CACHE, RECORD_BYTES, rank};
use itertools::Itertools;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::rc::Rc;
use xsort_kernels::{Merge, Node, Run, nodes_needed};
use xsort_records::{Format, Pattern};

type Record = [u8; RECORD_BYTES];

/// Output blocks in bytes, whole records, as a pipeline to a drive has them.
const BLOCK_BYTES: usize = (1 << 20) / RECORD_BYTES * RECORD_BYTES;

/// A way to merge sorted runs into an output as long as all of them.
struct Merger {
    name: &'static str,
    merge: fn(&[&[u8]], &mut [u8]),
}

const MERGERS: &[Merger] = &[
    Merger { name: "xsort", merge: by_xsort },
    Merger { name: "iter-merge", merge: by_iter_merge },
    Merger { name: "itertools kmerge_by", merge: by_kmerge },
    Merger { name: "std BinaryHeap", merge: by_heap },
];

fn by_xsort(runs: &[&[u8]], out: &mut [u8]) {
    let blocks: Vec<Vec<&[u8]>> =
        runs.iter().map(|run| run.chunks(BLOCK_BYTES).collect()).collect();
    let runs: Vec<Run<'_>> = blocks.iter().map(|blocks| Run::Blocks(blocks)).collect();
    let mut nodes = vec![Node::default(); nodes_needed(runs.len())];
    let mut merge = Merge::new(KEY, RECORD_BYTES, 0, &runs, &mut nodes);
    for block in out.chunks_mut(BLOCK_BYTES) {
        merge.fill(block);
    }
}

/// The records of a run with their ranks.
fn ranked(run: &[u8], number: u32) -> impl Iterator<Item = (u128, &Record)> {
    run.as_chunks().0.iter().map(move |record| (rank(record, number), record))
}

fn write<'a>(merged: impl Iterator<Item = (u128, &'a Record)>, out: &mut [u8]) {
    for (to, (_, record)) in out.as_chunks_mut().0.iter_mut().zip(merged) {
        *to = *record;
    }
}

fn by_iter_merge(runs: &[&[u8]], out: &mut [u8]) {
    let runs = runs.iter().zip(0..).map(|(run, number)| ranked(run, number));
    let merged =
        iter_merge::VecStorage::from_iter(runs).into_builder().min_by_key(|item| item.0).build();
    write(merged, out);
}

fn by_kmerge(runs: &[&[u8]], out: &mut [u8]) {
    let runs = runs.iter().zip(0..).map(|(run, number)| ranked(run, number));
    write(runs.kmerge_by(|a, b| a.0 < b.0), out);
}

fn by_heap(runs: &[&[u8]], out: &mut [u8]) {
    let mut runs: Vec<_> = runs.iter().zip(0..).map(|(run, number)| ranked(run, number)).collect();
    let heads = runs.iter_mut().enumerate().filter_map(|(run, records)| {
        let (rank, record) = records.next()?;
        Some(Reverse((rank, run, record)))
    });
    let mut heap: BinaryHeap<_> = heads.collect();
    for to in out.as_chunks_mut().0 {
        let mut head = heap.peek_mut().expect("records are left");
        let Reverse((_, run, record)) = *head;
        *to = *record;
        match runs[run].next() {
            Some((rank, record)) => *head = Reverse((rank, run, record)),
            None => drop(PeekMut::pop(head)),
        }
    }
}

/// All contests, one after the other; `tiny` ones for a test.
pub(crate) fn contests(tiny: bool, visit: &mut dyn FnMut(Contest<'_>)) {
    let count = if tiny { 1_000 } else { OUT_OF_CACHE };
    for (name, pattern) in [("1.3M records", Pattern::Uniform), ("1.3M of 16 keys", Pattern::Few)] {
        let input = Input::new(Format::Gensort, pattern, count);
        for fan_in in [8, 32, 128, 512] {
            let run_records = count.div_ceil(fan_in);
            let sorted: Vec<Vec<u8>> =
                input.records.chunks(run_records * RECORD_BYTES).map(sorted).collect();
            let runs: Vec<&[u8]> = sorted.iter().map(Vec::as_slice).collect();
            let expected = self::sorted(&runs.concat());
            visit(contest(format!("merge {name}, {fan_in} runs"), &runs, &expected));
        }
    }
}

/// The records in stable order, by the standard library.
fn sorted(records: &[u8]) -> Vec<u8> {
    let mut records: Vec<&Record> = records.as_chunks().0.iter().collect();
    records.sort_by_key(|record| rank(record, 0));
    records.into_iter().flatten().copied().collect()
}

fn contest<'a>(name: String, runs: &'a [&'a [u8]], expected: &'a [u8]) -> Contest<'a> {
    let out = Rc::new(RefCell::new(vec![0; expected.len()]));
    let mut contest = Contest::new(name, expected.len() / RECORD_BYTES);
    for Merger { name, merge } in MERGERS {
        let (out, checked) = (Rc::clone(&out), Rc::clone(&out));
        let work = move || merge(runs, &mut out.borrow_mut());
        contest.add(*name, work, move || {
            let out = &mut *checked.borrow_mut();
            assert!(*out == expected, "not the merged runs");
            out.fill(0);
        });
    }
    contest
}
