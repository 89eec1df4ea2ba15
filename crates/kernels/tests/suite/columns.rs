//! Lines with bytes that are the same in all of them, sorted and merged without these, beside the
//! standard library's stable sort.

use crate::lines::{expected, text_of};
use proptest::collection::vec;
use proptest::prelude::*;
use std::cmp::Ordering;
use xsort_kernels::Caches;
use xsort_kernels::lines::{
    Arranged, ByBytes, ByBytesReversed, Entry, LineMerge, LineOrder, Lines, Merge, SameBytes,
    arrange, count_lines, dedup, sort_only,
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

/// Runs of lines that have bytes in common, most of them: those of a run more than those of
/// different runs. Never a line feed.
fn runs() -> impl Strategy<Value = Vec<Vec<Vec<u8>>>> {
    let byte = prop_oneof![80 => 2u8..9, 40 => b'a'..b'f', 1 => Just(0u8), 1 => Just(KEY_END)];
    let change = (0usize..90, prop_oneof![2 => byte.clone().prop_map(Some), 1 => Just(None)]);
    let template = vec((byte.clone(), 0u8..20), 1..90);
    // Few values, so that lines often differ in their last bytes only.
    let few = prop_oneof![20 => 2u8..4, 1 => byte];
    let own = (vec(few, 90), prop_oneof![40 => Just(None), 1 => change.clone().prop_map(Some)]);
    let run = (vec(change, 0..3), vec(own, 1..100));
    (template, 1u8..20, vec(run, 1..5)).prop_map(|(template, differing, runs)| {
        let line = |(own, own_change): (Vec<u8>, _), changes: &[(usize, Option<u8>)]| {
            let bytes = template.iter().zip(own);
            let byte = |(&(same, chance), own)| if chance < differing { own } else { same };
            let mut line: Vec<u8> = bytes.map(byte).collect();
            for (at, change) in changes.iter().copied().chain(own_change) {
                match change {
                    Some(byte) => line.iter_mut().skip(at).take(1).for_each(|own| *own = byte),
                    None => line.truncate(at),
                }
            }
            line
        };
        let lines = |(changes, owns): (Vec<_>, Vec<_>)| {
            owns.into_iter().map(|own| line(own, &changes)).collect()
        };
        runs.into_iter().map(lines).collect()
    })
}

/// The lines in their order, and what is the same in them.
fn arranged<O: LineOrder>(
    order: &O,
    lines: &[Vec<u8>],
    is_unique: bool,
) -> (Vec<u8>, Option<SameBytes>) {
    let mut text = text_of(lines, b'\n');
    let mut entries = vec![Entry::<O::Words>::default(); count_lines(&text, b'\n')];
    let mut buffer = entries.clone();
    let sorted = sort_only(order, &text, b'\n', &mut entries, &mut buffer, CACHES, true);
    let count = match is_unique {
        true => dedup(order, &text, b'\n', &mut entries).lines,
        false => entries.len(),
    };
    let mut moved = text.clone();
    let arranged = arrange(&text, b'\n', &entries[..count], &mut moved);
    if let Arranged::Moved(_) = arranged {
        text = moved;
    }
    text.truncate(arranged.bytes());
    (text, sorted.same)
}

fn check<O: LineOrder>(order: &O, parts: &[Vec<Vec<u8>>], is_unique: bool, has_ends: bool) {
    let lines = &parts.concat();
    let sorted: Vec<_> = parts.iter().map(|part| arranged(order, part, is_unique)).collect();
    for (part, (text, _)) in parts.iter().zip(&sorted) {
        assert_eq!(text, &text_of(&expected(order, part, is_unique), b'\n'));
    }
    let all = expected(order, lines, false);
    let same = sorted.iter().map(|(_, same)| same.clone()).reduce(|a, b| Some(a?.and(&b?)));
    let texts: Vec<[&[u8]; 1]> = sorted.iter().map(|(text, _)| [&text[..]]).collect();
    let runs: Vec<_> = texts.iter().map(|text| Lines::Blocks(text)).collect();
    let ends = all.first().zip(all.last()).filter(|_| has_ends && !is_unique);
    let ends = ends.map(|(low, high)| (&low[..], &high[..]));
    let same = same.as_ref().and_then(Option::as_ref);
    let mut merge = Merge::new(order, b'\n', is_unique, &runs, ends, same);
    let mut merged = vec![0; text_of(lines, b'\n').len()];
    let bytes = merge.fill(&mut merged);
    assert!(merge.is_done());
    assert_eq!(merged[..bytes], text_of(&expected(order, lines, is_unique), b'\n'));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 200 }))]

    #[test]
    fn lines_are_sorted_and_merged(runs in runs(), is_unique: bool, has_ends: bool) {
        check(&ByBytes, &runs, is_unique, has_ends);
        check(&ByBytesReversed, &runs, is_unique, has_ends);
        let line = |line: &Vec<u8>| line.iter().map(|&byte| byte.max(KEY_END)).collect();
        let without_zeros: Vec<Vec<Vec<u8>>> =
            runs.iter().map(|run| run.iter().map(line).collect()).collect();
        check(&ByKey, &without_zeros, is_unique, has_ends);
    }
}

/// Groups of which all keys share more than a word behind the words that are equal, and of which
/// some end there.
#[test]
fn what_a_group_shares_is_passed() {
    let prefixes = ["group/one/has/a/long/prefix/", "group/two/has/another/prefix/", "group/x"];
    for ends in [0, 1, 7, 8, 9, 20, 40] {
        let line = |at: u32| {
            let mut line = prefixes[at as usize % 3].as_bytes().to_vec();
            line.extend(format!("{}/{:03}", "-".repeat(at as usize % 2), at * 7919 % 500).bytes());
            if at.is_multiple_of(50) {
                line.truncate(ends);
            }
            if at.is_multiple_of(5) {
                line.push(KEY_END);
                line.extend(at.to_string().bytes());
            }
            line
        };
        let runs: Vec<Vec<Vec<u8>>> =
            [0..600, 600..1000].map(|run| run.map(line).collect()).to_vec();
        for is_unique in [false, true] {
            check(&ByBytes, &runs, is_unique, true);
            check(&ByBytesReversed, &runs, is_unique, true);
            check(&ByKey, &runs, is_unique, true);
        }
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

/// Words that aren't full say nothing of the bytes behind those that were looked at.
#[test]
fn keys_that_differ_far_behind_are_sorted() {
    let same = "x".repeat(90);
    let lines: Vec<Vec<u8>> = (0..400u32)
        .map(|at| format!("{}---{}{same}{:04}", at % 3, at % 2, at * 7919 % 10_000).into_bytes())
        .collect();
    assert!(arranged(&ByKey, &lines, false).1.is_some());
    for is_unique in [false, true] {
        check(&ByKey, &[lines[..150].to_vec(), lines[150..].to_vec()], is_unique, true);
        check(&ByBytes, &[lines[..150].to_vec(), lines[150..].to_vec()], is_unique, true);
    }
}
