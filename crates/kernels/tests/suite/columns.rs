//! Lines with bytes that are the same in all of them, sorted and merged without these, beside the
//! standard library's stable sort.

use proptest::collection::vec;
use proptest::prelude::*;
use std::cmp::Ordering;
use xsort_kernels::Caches;
use xsort_kernels::lines::{
    ByBytes, ByBytesReversed, Entry, LineOrder, Lines, Merge, SameBytes, arrange, count_lines,
    dedup, sort_only,
};

const CACHES: Caches = Caches { l1_bytes: 2 << 10, l2_bytes: 8 << 10 };

/// Ends the keys of [`ByKey`].
const KEY_END: u8 = 1;

/// By the bytes up to the first [`KEY_END`].
struct ByKey;

fn key(line: &[u8]) -> &[u8] {
    &line[..line.iter().position(|&byte| byte == KEY_END).unwrap_or(line.len())]
}

impl LineOrder for ByKey {
    const ZEROS_END: bool = true;
    type Words = [u64; 2];
    type Scratch = ();

    fn bytes_in_words(&self, line: &[u8]) -> usize {
        key(line).len()
    }

    fn ordered_bytes(&self, line: &[u8]) -> usize {
        key(line).len()
    }

    fn word(&self, line: &[u8], skip: usize, (): &mut ()) -> u64 {
        ByBytes.word(key(line), skip, &mut ())
    }

    fn compare(&self, a: &[u8], b: &[u8], (): &mut ()) -> Ordering {
        key(a).cmp(key(b))
    }

    fn same(&self, a: &[u8], b: &[u8], (): &mut ()) -> bool {
        key(a) == key(b)
    }

    fn is_exact(&self) -> bool {
        true
    }
}

/// Lines that have some bytes in common, most of them; never a line feed.
fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![3 => 2u8..9, 1 => b'a'..b'f', 1 => Just(0u8), 1 => Just(KEY_END)];
    let template = vec(prop_oneof![byte.clone().prop_map(Some), Just(None)], 1..90);
    let change = prop_oneof![
        30 => Just(None),
        1 => (0usize..90, byte.clone().prop_map(Some)).prop_map(Some),
        1 => (0usize..90).prop_map(|at| Some((at, None))),
    ];
    let own = (vec(byte, 90), change);
    (template, vec(own, 1..300)).prop_map(|(template, owns)| {
        let line = |(own, change): (Vec<u8>, Option<(usize, Option<u8>)>)| {
            let bytes = template.iter().zip(own).map(|(&same, own)| same.unwrap_or(own));
            let mut line: Vec<u8> = bytes.collect();
            match change {
                Some((at, Some(byte))) => line.iter_mut().skip(at).take(1).for_each(|b| *b = byte),
                Some((at, None)) => line.truncate(at),
                None => {}
            }
            line
        };
        owns.into_iter().map(line).collect()
    })
}

fn text_of(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.iter().copied().chain([b'\n'])).collect()
}

fn expected<O: LineOrder>(order: &O, lines: &[Vec<u8>], is_unique: bool) -> Vec<Vec<u8>> {
    let mut lines = lines.to_vec();
    let mut scratch = O::Scratch::default();
    lines.sort_by(|a, b| order.compare(a, b, &mut scratch));
    if is_unique {
        lines.dedup_by(|b, a| order.same(a, b, &mut scratch));
    }
    lines
}

/// The lines in their order, and what is the same in them.
fn arranged<O: LineOrder>(
    order: &O,
    lines: &[Vec<u8>],
    is_unique: bool,
) -> (Vec<u8>, Option<SameBytes>) {
    let mut text = text_of(lines);
    let mut entries = vec![Entry::<O::Words>::default(); count_lines(&text, b'\n')];
    let mut buffer = entries.clone();
    let sorted = sort_only(order, &text, b'\n', &mut entries, &mut buffer, CACHES, true);
    let count = match is_unique {
        true => dedup(order, &text, b'\n', &mut entries).lines,
        false => entries.len(),
    };
    let mut buffer = text.clone();
    let bytes = arrange(&mut text, b'\n', &entries[..count], &mut buffer);
    text.truncate(bytes);
    (text, sorted.same)
}

fn check<O: LineOrder>(order: &O, lines: &[Vec<u8>], runs: usize, is_unique: bool, has_ends: bool) {
    let parts: Vec<_> = lines.chunks(lines.len().div_ceil(runs)).collect();
    let sorted: Vec<_> = parts.iter().map(|part| arranged(order, part, is_unique)).collect();
    for (part, (text, _)) in parts.iter().zip(&sorted) {
        assert_eq!(text, &text_of(&expected(order, part, is_unique)));
    }
    let all = expected(order, lines, false);
    let same = sorted.iter().map(|(_, same)| same.clone()).reduce(|a, b| Some(a?.and(&b?)));
    let texts: Vec<[&[u8]; 1]> = sorted.iter().map(|(text, _)| [&text[..]]).collect();
    let runs: Vec<_> = texts.iter().map(|text| Lines::Blocks(text)).collect();
    let ends = all.first().zip(all.last()).filter(|_| has_ends && !is_unique);
    let ends = ends.map(|(low, high)| (&low[..], &high[..]));
    let same = same.as_ref().and_then(Option::as_ref);
    let mut merge = Merge::new(order, b'\n', is_unique, &runs, ends, same);
    let mut merged = vec![0; text_of(lines).len()];
    let bytes = merge.fill(&mut merged);
    assert!(merge.is_done());
    assert_eq!(merged[..bytes], text_of(&expected(order, lines, is_unique)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 600 }))]

    #[test]
    fn lines_are_sorted_and_merged(
        lines in lines(),
        runs in 1usize..5,
        is_unique: bool,
        has_ends: bool,
    ) {
        check(&ByBytes, &lines, runs, is_unique, has_ends);
        check(&ByBytesReversed, &lines, runs, is_unique, has_ends);
        let without_zeros: Vec<Vec<u8>> = lines
            .iter()
            .map(|line| line.iter().map(|&byte| byte.max(KEY_END)).collect())
            .collect();
        check(&ByKey, &without_zeros, runs, is_unique, has_ends);
    }
}

/// Otherwise the property above would say nothing of words without some bytes.
#[test]
fn what_is_the_same_is_found() {
    let lines = |separator: u8| -> Vec<Vec<u8>> {
        (0..200u32)
            .map(|at| {
                let (day, second) = (at * 7 % 28, at * 7919 % 60);
                let time = format!("[{day:02}/Oct/2026:{:02}:{second:02}", at % 24);
                [time.as_bytes(), &[separator], b"more".as_slice()].concat()
            })
            .collect()
    };
    let (_, same) = arranged(&ByKey, &lines(KEY_END), false);
    let (_, other) = arranged(&ByKey, &lines(KEY_END)[..50], false);
    let (same, other) = (same.unwrap(), other.unwrap());
    assert_eq!(same.and(&other), same);
    let (_, longer) = arranged(&ByKey, &lines(b'x'), false);
    assert_ne!(same.and(&longer.unwrap()), same, "one has keys that go on");
    let differing: Vec<Vec<u8>> = (0..200u64)
        .map(|at| format!("{:020}", at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes())
        .collect();
    assert_eq!(arranged(&ByBytes, &differing, false).1, None);
}
