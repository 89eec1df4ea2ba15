//! Lines sorted and merged, beside the standard library's stable sort.

use proptest::prelude::*;
use std::cmp::{Ordering, Reverse};
use std::marker::PhantomData;
use xsort_kernels::Caches;
use xsort_kernels::lines::{
    Bound, ByBytes, ByBytesReversed, Entries, Entry, Gathered, LineMerge, LineOrder, Lines, Merge,
    Words, bound_in_entries, bound_in_text, count_lines, dedup, for_each_line, last_line, line_end,
    line_hash, sort, whole_lines_bytes,
};

/// Caches so small that every path is taken with few lines.
const TINY: Caches = Caches { l1_bytes: 2 << 10, l2_bytes: 8 << 10 };

/// Lines by their first letter in either case, backwards, then by their bytes: words that are less
/// than the order.
struct ByLetter {
    has_last_resort: bool,
}

/// The same order as that of the bytes, but nothing is known of it.
#[derive(Default)]
struct ByHiddenBytes<W>(PhantomData<W>);

impl<W: Words> LineOrder for ByHiddenBytes<W> {
    type Words = W;
    type Scratch = ();

    fn word(&self, line: &[u8], skip: usize, scratch: &mut ()) -> u64 {
        ByBytes.word(line, skip, scratch)
    }

    fn compare(&self, a: &[u8], b: &[u8], _: &mut ()) -> Ordering {
        a.cmp(b)
    }

    fn same(&self, a: &[u8], b: &[u8], _: &mut ()) -> bool {
        a == b
    }

    fn is_exact(&self) -> bool {
        true
    }
}

fn letter(line: &[u8]) -> Reverse<u8> {
    Reverse(line.first().map_or(0, u8::to_ascii_lowercase))
}

impl LineOrder for ByLetter {
    type Words = [u64; 1];
    type Scratch = Vec<u8>;

    fn word(&self, line: &[u8], skip: usize, _: &mut Vec<u8>) -> u64 {
        if skip == 0 { u64::from(!letter(line).0) << 56 } else { 0 }
    }

    fn compare(&self, a: &[u8], b: &[u8], _: &mut Vec<u8>) -> Ordering {
        let last = if self.has_last_resort { a.cmp(b) } else { Ordering::Equal };
        letter(a).cmp(&letter(b)).then(last)
    }

    fn same(&self, a: &[u8], b: &[u8], _: &mut Vec<u8>) -> bool {
        letter(a) == letter(b)
    }

    fn is_exact(&self) -> bool {
        false
    }
}

pub(crate) fn text_of(lines: &[Vec<u8>], delimiter: u8) -> Vec<u8> {
    lines.iter().flat_map(|line| line.iter().copied().chain([delimiter])).collect()
}

fn entries_of<O: LineOrder>(order: &O, text: &[u8], delimiter: u8) -> Vec<Entry<O::Words>> {
    let mut entries = Vec::new();
    let mut scratch = O::Scratch::default();
    for_each_line(text, delimiter, |start, end| {
        let words = order.two_words_of(&text[start..], end - start, 0, &mut scratch);
        entries.push(Entry::new(O::Words::of(words), start, end - start));
    });
    entries
}

fn sum_of(lines: &[Vec<u8>]) -> u64 {
    lines.iter().fold(0, |sum, line| sum.wrapping_add(line_hash(line, line.len())))
}

fn sorted_entries<O: LineOrder>(order: &O, text: &[u8], delimiter: u8) -> Vec<Entry<O::Words>> {
    let mut entries = vec![Entry::default(); entries_of(order, text, delimiter).len()];
    let mut spare = entries.clone();
    let sum = sort(order, text, delimiter, &mut entries, &mut spare, TINY, true);
    assert_eq!(sum, sum_of(&lines_of(text, delimiter, &entries)));
    let mut unsummed = entries.clone();
    let sum = sort(order, text, delimiter, &mut unsummed, &mut spare, TINY, false);
    assert_eq!((sum, &unsummed), (0, &entries));
    entries
}

/// Entries as memory that isn't typed holds them.
fn untyped<W: Words>(entries: &[Entry<W>]) -> Entries<'_> {
    Entries::from_bytes(bytemuck::cast_slice(entries), size_of::<Entry<W>>())
}

fn lines_of<W: Words>(text: &[u8], delimiter: u8, entries: &[Entry<W>]) -> Vec<Vec<u8>> {
    entries.iter().map(|entry| entry.line(text, delimiter).to_vec()).collect()
}

pub(crate) fn expected<O: LineOrder>(
    order: &O,
    lines: &[Vec<u8>],
    is_unique: bool,
) -> Vec<Vec<u8>> {
    let mut lines = lines.to_vec();
    let mut scratch = O::Scratch::default();
    lines.sort_by(|a, b| order.compare(a, b, &mut scratch));
    if is_unique {
        lines.dedup_by(|b, a| order.same(a, b, &mut scratch));
    }
    lines
}

/// Lines that have long prefixes in common, come twice, are empty, have bytes of all kinds; never
/// the delimiter.
fn lines(delimiter: u8) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let short =
        prop::collection::vec(prop_oneof![Just(0u8), Just(b'a'), Just(b'B'), any::<u8>()], 0..12);
    let long = (0usize..3, prop::collection::vec(prop_oneof![Just(b'x'), Just(b'y')], 0..20))
        .prop_map(|(kind, tail)| {
            let mut line = vec![b'p'; [8, 40, 700][kind]];
            line.extend(tail);
            line
        });
    let line = prop_oneof![4 => short, 2 => long, 1 => Just(b"the same line".to_vec())];
    prop::collection::vec(line, 0..400).prop_map(move |mut lines| {
        for line in &mut lines {
            line.retain(|&byte| byte != delimiter);
        }
        lines
    })
}

fn check_sort<O: LineOrder>(order: &O, lines: &[Vec<u8>], delimiter: u8) {
    let text = text_of(lines, delimiter);
    let mut entries = sorted_entries(order, &text, delimiter);
    assert_eq!(lines_of(&text, delimiter, &entries), expected(order, lines, false));
    let offsets = |equal: &[Entry<O::Words>]| {
        equal.windows(2).all(|pair| pair[0].offset() < pair[1].offset())
    };
    let mut scratch = O::Scratch::default();
    let stays = entries.chunk_by(|a, b| {
        order.compare(a.line(&text, delimiter), b.line(&text, delimiter), &mut scratch)
            == Ordering::Equal
    });
    assert!(stays.into_iter().all(offsets), "equal lines keep their order");
    let mut words = O::Scratch::default();
    for entry in &entries {
        let line = entry.line(&text, delimiter);
        let wanted = O::Words::of(order.two_words_of(line, line.len(), 0, &mut words));
        assert_eq!(entry.words(), wanted, "words are whole again");
    }
    let kept = dedup(order, &text, delimiter, &mut entries);
    let kept_lines = lines_of(&text, delimiter, &entries[..kept.lines]);
    assert_eq!(sum_of(lines), sum_of(&kept_lines).wrapping_add(kept.dropped_sum));
    assert_eq!(kept_lines, expected(order, lines, true));
}

fn check_merge<O: LineOrder>(
    order: &O,
    lines: &[Vec<u8>],
    delimiter: u8,
    runs: usize,
    is_unique: bool,
    step: usize,
) {
    let parts: Vec<&[Vec<u8>]> = lines.chunks(lines.len().div_ceil(runs).max(1)).collect();
    let texts: Vec<Vec<u8>> = parts.iter().map(|part| text_of(part, delimiter)).collect();
    let sorted: Vec<Vec<Entry<O::Words>>> =
        texts.iter().map(|text| sorted_entries(order, text, delimiter)).collect();
    // Every other run as if it came from scratch, in blocks of three lines.
    let spilled: Vec<Vec<Vec<u8>>> = texts
        .iter()
        .zip(&sorted)
        .map(|(text, entries)| {
            lines_of(text, delimiter, entries)
                .chunks(3)
                .map(|block| text_of(block, delimiter))
                .collect()
        })
        .collect();
    let slices: Vec<Vec<&[u8]>> =
        spilled.iter().map(|blocks| blocks.iter().map(Vec::as_slice).collect()).collect();
    let as_runs: Vec<Lines<'_>> = (0..parts.len())
        .map(|run| match run % 2 {
            0 => Lines::Ordered { text: &texts[run], entries: untyped(&sorted[run]) },
            _ => Lines::Blocks(&slices[run]),
        })
        .collect();
    let all = expected(order, lines, false);
    let ends = all.first().zip(all.last()).filter(|_| !is_unique && lines.len().is_multiple_of(2));
    let ends = ends.map(|(low, high)| (low.as_slice(), high.as_slice()));
    let mut merge = Merge::new(order, delimiter, is_unique, &as_runs, ends, None);
    let mut merged = Vec::new();
    let mut out = vec![0; step];
    while !merge.is_done() {
        let bytes = merge.fill(&mut out);
        assert!(bytes == step || merge.is_done(), "what fits is filled");
        merged.extend_from_slice(&out[..bytes]);
    }
    assert_eq!(merge.taken(), lines.len() as u64);
    let (written, dropped) = merge.sums();
    assert_eq!(written, sum_of(&expected(order, lines, is_unique)));
    assert_eq!(written.wrapping_add(dropped), sum_of(lines));
    let wanted = text_of(&expected(order, lines, is_unique), delimiter);
    assert_eq!(String::from_utf8_lossy(&merged), String::from_utf8_lossy(&wanted));
    let mut merge = Merge::new(order, delimiter, is_unique, &as_runs, ends, None);
    merge.omit_written_sum();
    check_gathered(merge, delimiter, &wanted, dropped, &mut out);
}

/// The lines of a merge, by as many as `out` can hold whole; a longer one is taken by itself.
fn check_gathered<O: LineOrder>(
    mut merge: Merge<'_, O>,
    delimiter: u8,
    wanted: &[u8],
    dropped: u64,
    out: &mut [u8],
) {
    let mut merged = Vec::new();
    while !merge.is_done() {
        let Gathered { lines, bytes, last_line } = merge.gather(out);
        let gathered = &out[..bytes];
        assert_eq!(gathered.iter().filter(|&&byte| byte == delimiter).count(), lines);
        merged.extend_from_slice(gathered);
        if lines > 0 {
            assert_eq!(gathered.last(), Some(&delimiter));
            assert!(!gathered[last_line..bytes - 1].contains(&delimiter));
            assert!(last_line == 0 || gathered[last_line - 1] == delimiter);
        } else if let Some(line) = merge.take_line() {
            merged.extend_from_slice(line);
            merged.push(delimiter);
        }
    }
    assert_eq!(String::from_utf8_lossy(&merged), String::from_utf8_lossy(wanted));
    assert_eq!(merge.sums().1, dropped);
}

fn check_bounds<O: LineOrder>(
    order: &O,
    lines: &[Vec<u8>],
    delimiter: u8,
    line: &[u8],
    include_equal: bool,
) {
    let sorted = expected(order, lines, false);
    let mut scratch = O::Scratch::default();
    let before = sorted.partition_point(|other| match order.compare(other, line, &mut scratch) {
        Ordering::Less => true,
        Ordering::Equal => include_equal,
        Ordering::Greater => false,
    });
    let text = text_of(&sorted, delimiter);
    let entries = entries_of(order, &text, delimiter);
    let bound = Bound { line, include_equal };
    let found = bound_in_entries(order, &text, delimiter, &entries, bound, &mut scratch);
    assert_eq!(found, before);
    for expected in [0, 1, 100, text.len() / 2, text.len(), usize::MAX] {
        let bytes = bound_in_text(order, &text, delimiter, bound, expected, &mut scratch);
        assert_eq!(bytes, text_of(&sorted[..before], delimiter).len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 200 }))]

    #[test]
    fn lines_are_sorted(lines in lines(b'\n'), has_last_resort: bool) {
        check_sort(&ByBytes, &lines, b'\n');
        check_sort(&ByBytesReversed, &lines, b'\n');
        check_sort(&ByHiddenBytes::<[u64; 1]>::default(), &lines, b'\n');
        check_sort(&ByHiddenBytes::<[u64; 2]>::default(), &lines, b'\n');
        check_sort(&ByLetter { has_last_resort }, &lines, b'\n');
    }

    #[test]
    fn runs_of_lines_are_merged(
        lines in lines(0),
        runs in 1usize..9,
        is_unique: bool,
        has_last_resort: bool,
        step in 1usize..200,
    ) {
        check_merge(&ByBytes, &lines, 0, runs, is_unique, step);
        check_merge(&ByBytesReversed, &lines, 0, runs, is_unique, step);
        check_merge(&ByHiddenBytes::<[u64; 1]>::default(), &lines, 0, runs, is_unique, step);
        check_merge(&ByHiddenBytes::<[u64; 2]>::default(), &lines, 0, runs, is_unique, step);
        check_merge(&ByLetter { has_last_resort }, &lines, 0, runs, is_unique, step);
    }

    #[test]
    fn places_are_found(
        lines in lines(b'\n'),
        line in "[aBp]{0,3}",
        include_equal: bool,
        has_last_resort: bool,
    ) {
        check_bounds(&ByBytes, &lines, b'\n', line.as_bytes(), include_equal);
        check_bounds(&ByLetter { has_last_resort }, &lines, b'\n', line.as_bytes(), include_equal);
    }

    #[test]
    fn ends_are_found(
        text in prop::collection::vec(prop_oneof![3 => Just(b'\n'), 9 => any::<u8>()], 0..300),
        large in 0..2usize,
    ) {
        let mut found = Vec::new();
        for_each_line(&text, b'\n', |start, end| found.push(&text[start..end]));
        let mut wanted: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
        wanted.pop_if(|last| last.is_empty());
        prop_assert_eq!(found, wanted);
        let first = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
        prop_assert_eq!(line_end(&text, b'\n'), first);
        let many = text.repeat(1 + large * 70_000 / text.len().max(1));
        for text in [&text, &many] {
            prop_assert_eq!(
                count_lines(text, b'\n'),
                text.iter().filter(|&&byte| byte == b'\n').count(),
            );
            let last = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
            prop_assert_eq!(whole_lines_bytes(text, b'\n'), last);
            let lines = text[..last].strip_suffix(b"\n").unwrap_or_default();
            let wanted = lines.rsplit(|&byte| byte == b'\n').next().unwrap();
            prop_assert_eq!(&text[last_line(&text[..last], b'\n')], wanted);
        }
    }
}

#[test]
fn many_lines_with_few_words_are_sorted() {
    let line =
        |number: u64| format!("prefix that all share, {:07}", number * 7919 % 1000).into_bytes();
    let lines: Vec<Vec<u8>> = (0..5000).map(line).collect();
    check_sort(&ByBytes, &lines, b'\n');
    check_sort(&ByBytesReversed, &lines, b'\n');
    check_sort(&ByHiddenBytes::<[u64; 2]>::default(), &lines, b'\n');
    check_sort(&ByLetter { has_last_resort: false }, &lines, b'\n');
}

#[test]
fn lines_longer_than_an_entry_can_say_are_whole() {
    let long = |last: u8| {
        let mut line = vec![b'l'; 17 << 20];
        line.push(last);
        line
    };
    check_merge(&ByBytes, &[long(b'z'), b"m".to_vec(), long(b'a')], b'\n', 2, false, 1 << 20);
}

#[test]
fn a_line_that_was_written_before_is_not_wanted_again() {
    let text = b"same\nsame\ntail\n";
    for (is_unique, wanted) in [(true, &text[10..]), (false, &text[..])] {
        let runs = [Lines::Blocks(&[text])];
        let mut out = vec![0; 100];
        let bytes = Merge::new(&ByBytes, b'\n', is_unique, &runs, Some((b"same", b"tail")), None)
            .fill(&mut out);
        assert_eq!(&out[..bytes], wanted);
    }
}
