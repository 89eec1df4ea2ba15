//! The verifier's counts, and that they are the same wherever the seams are.

use proptest::prelude::*;
use xsort_records::{Checksum, Layout, VerifySummary};

/// Records of four bytes ordered by the second and third.
fn layout() -> Layout {
    Layout::new(4, vec!["1:2".parse().unwrap()]).unwrap()
}

fn part(layout: &Layout, records: &[u8]) -> VerifySummary {
    let mut part = VerifySummary::new(layout);
    part.extend(records);
    part
}

#[test]
fn a_stretch_by_hand() {
    let part = part(&layout(), b".aa0.ab1.ab2.aa3.ac4.ab5.ab6");
    assert_eq!((part.records(), part.unordered(), part.duplicates()), (7, 2, 2));
    assert_eq!((part.first_unordered(), part.is_sorted()), (Some(3), false));
    assert_eq!((part.first_record(), part.last_record()), (Some(&b".aa0"[..]), Some(&b".ab6"[..])));
}

#[test]
fn nothing_is_neutral() {
    let layout = layout();
    let some = part(&layout, b".bb0.aa1");
    let mut empty = VerifySummary::new(&layout);
    assert_eq!(
        (empty.records(), empty.is_sorted(), empty.checksum()),
        (0, true, Checksum::default())
    );
    assert_eq!(
        (empty.first_record(), empty.last_record(), empty.first_unordered()),
        (None, None, None)
    );
    empty.extend(&[]);
    empty.append(&VerifySummary::new(&layout));
    assert_eq!(empty, VerifySummary::new(&layout));
    empty.append(&some);
    assert_eq!(empty, some);
    empty.append(&VerifySummary::new(&layout));
    empty.extend(&[]);
    assert_eq!(empty, some);
}

#[test]
#[should_panic(expected = "whole records of 4 bytes")]
fn partial_records_are_refused() {
    part(&layout(), b".aa0.");
}

#[test]
#[should_panic(expected = "one layout")]
fn layouts_do_not_mix() {
    let other = Layout::new(4, vec!["1:2:desc".parse().unwrap()]).unwrap();
    part(&layout(), b".aa0").append(&part(&other, b".aa0"));
}

/// Counts as valsort defines them, one record at a time.
fn naive(records: &[[u8; 4]]) -> (u64, Option<u64>, u64) {
    let (mut unordered, mut first, mut duplicates) = (0, None, 0);
    for at in 1..records.len() {
        let (before, key) = (&records[at - 1][1..3], &records[at][1..3]);
        if key < before {
            unordered += 1;
            first = first.or(Some(at as u64));
        }
        duplicates += u64::from(key == before);
    }
    (unordered, first, duplicates)
}

/// Records with few different keys, so that all three orders of neighbours are frequent.
fn some_records() -> impl Strategy<Value = Vec<[u8; 4]>> {
    prop::collection::vec(
        (any::<u8>(), 0u8..2, 0u8..3, any::<u8>()).prop_map(|(a, b, c, d)| [a, b, c, d]),
        0..24,
    )
}

proptest! {
    #[test]
    fn counts_are_those_of_a_plain_loop(records in some_records()) {
        let part = part(&layout(), records.as_flattened());
        prop_assert_eq!(
            (part.unordered(), part.first_unordered(), part.duplicates()),
            naive(&records),
        );
        prop_assert_eq!(part.records(), records.len() as u64);
        prop_assert_eq!(part.first_record(), records.first().map(|record| &record[..]));
        prop_assert_eq!(part.last_record(), records.last().map(|record| &record[..]));
        let mut sum = Checksum::default();
        sum.add_records(records.as_flattened(), 4);
        prop_assert_eq!(part.checksum(), sum);
    }

    /// Every way to cut the records in three, extended and appended.
    #[test]
    fn seams_do_not_matter(records in some_records()) {
        let layout = layout();
        let whole = part(&layout, records.as_flattened());
        for one in 0..=records.len() {
            for two in one..=records.len() {
                let pieces = [&records[..one], &records[one..two], &records[two..]];
                let pieces = pieces.map(<[_]>::as_flattened);
                let mut extended = VerifySummary::new(&layout);
                let mut appended = VerifySummary::new(&layout);
                for piece in pieces {
                    extended.extend(piece);
                    appended.append(&part(&layout, piece));
                }
                prop_assert_eq!(&extended, &whole);
                prop_assert_eq!(&appended, &whole);
                // The last two first: appending need not go from the left.
                let mut right = part(&layout, pieces[1]);
                right.append(&part(&layout, pieces[2]));
                let mut left = part(&layout, pieces[0]);
                left.append(&right);
                prop_assert_eq!(&left, &whole);
            }
        }
    }
}

/// A stretch longer than the verifier's inner strips of 16 KiB, with an error right at and around
/// their seams.
#[test]
fn errors_at_inner_seams_are_found() {
    let layout = Layout::new(100, vec!["0:4".parse().unwrap()]).unwrap();
    let per_strip = (16 << 10) / 100;
    for wrong in [1, per_strip - 1, per_strip, per_strip + 1, 3 * per_strip, 999] {
        let mut records = vec![0; 100_000];
        for (n, record) in (0u32..).zip(records.chunks_mut(100)) {
            record[..4].copy_from_slice(&n.to_be_bytes());
        }
        records[wrong * 100..][..4].fill(0);
        let part = part(&layout, &records);
        let expected = if wrong == 1 { None } else { Some(wrong as u64) };
        assert_eq!(part.first_unordered(), expected, "record {wrong}");
        assert_eq!((part.unordered(), part.duplicates()), if wrong == 1 { (0, 1) } else { (1, 0) });
    }
}

#[test]
fn records_longer_than_a_strip() {
    let layout = Layout::new(40_000, vec!["39999:1".parse().unwrap()]).unwrap();
    let mut records = vec![0; 5 * 40_000];
    for (record, key) in records.chunks_mut(40_000).zip([3, 3, 4, 2, 5]) {
        record[39_999] = key;
    }
    let part = part(&layout, &records);
    assert_eq!(
        (part.records(), part.unordered(), part.first_unordered(), part.duplicates()),
        (5, 1, Some(3), 1)
    );
}
