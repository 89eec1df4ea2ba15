//! Summaries: valsort's layout, there and back, and across seams.

use proptest::prelude::*;
use xsort_records::{Format, GenerateSpec, Layout, SummaryError, VerifySummary};

use crate::{records, spec};

fn part(layout: &Layout, records: &[u8]) -> VerifySummary {
    let mut part = VerifySummary::new(layout);
    part.extend(records);
    part
}

/// The layout of the first thousand records' summary, byte by byte as the format's description
/// says.
#[test]
fn numbers_and_records_are_where_valsort_has_them() {
    let layout = Format::Gensort.layout();
    let block = records(spec(Format::Gensort, 1000));
    let part = part(&layout, &block);
    let mut expected = Vec::new();
    for number in [2u64, 483, 1000, part.duplicates(), 0x1ea_6370_b955] {
        expected.extend_from_slice(&[0; 8]);
        expected.extend_from_slice(&number.to_le_bytes());
    }
    expected.extend_from_slice(&block[..100]);
    expected.extend_from_slice(&block[99_900..]);
    assert_eq!(expected.len(), 280);
    assert_eq!(part.to_bytes(), expected);
}

/// Every split of a few records in two, and every single record, put together from files.
#[test]
fn every_split_equals_the_whole() {
    let layout = Format::Gensort.layout();
    let block = records(GenerateSpec { start: 40, ..spec(Format::Gensort, 50) });
    let whole = part(&layout, &block);
    let together = |pieces: &[&[u8]]| {
        let file: Vec<u8> =
            pieces.iter().flat_map(|piece| part(&layout, piece).to_bytes()).collect();
        let mut all = VerifySummary::new(&layout);
        assert_eq!(all.append_summaries(&file), Ok(pieces.len()));
        all
    };
    for cut in 0..=50 {
        let (left, right) = block.split_at(cut * 100);
        assert_eq!(together(&[left, right]), whole, "cut at {cut}");
    }
    assert_eq!(together(&block.chunks(100).collect::<Vec<_>>()), whole);
    assert_eq!(together(&[]), VerifySummary::new(&layout));
}

#[test]
fn lengths_are_checked() {
    let layout = Format::Gensort.layout();
    let summary = part(&layout, &records(spec(Format::Gensort, 10))).to_bytes();
    for bytes in [0, 1, 279, 281, 560] {
        let text = vec![0; bytes];
        let error = VerifySummary::from_bytes(&text, &layout).unwrap_err();
        assert_eq!(error, SummaryError::Length { bytes, record_bytes: 100 });
        assert!(error.to_string().contains("280"), "{error}");
    }
    let mut two = [summary.clone(), summary].concat();
    assert_eq!(VerifySummary::new(&layout).append_summaries(&two), Ok(2));
    two.pop();
    assert!(matches!(
        VerifySummary::new(&layout).append_summaries(&two),
        Err(SummaryError::Length { .. })
    ));
}

#[test]
fn contradictions_are_errors() {
    let layout = Format::Gensort.layout();
    let good = part(&layout, &records(spec(Format::Gensort, 10))).to_bytes();
    // Number `place` of the five set to `value`, upper word included.
    let with = |place: usize, value: u128| {
        let mut summary = good.clone();
        summary[place * 16..][..8].copy_from_slice(&((value >> 64) as u64).to_le_bytes());
        summary[place * 16 + 8..][..8].copy_from_slice(&(value as u64).to_le_bytes());
        VerifySummary::from_bytes(&summary, &layout)
    };
    assert!(with(2, 10).is_ok());
    for (place, value) in [
        (0, 0),
        (0, 10),
        (1, 10),
        (2, 3),
        (2, 1 << 64),
        (2, 0),
        (3, 9),
        (3, u128::from(u64::MAX)),
        (4, 10 << 32),
    ] {
        let error = with(place, value).expect_err("a contradiction");
        assert!(matches!(error, SummaryError::Contradiction { .. }), "{error}");
        assert!(error.to_string().contains("contradicts itself"), "{error}");
    }
    assert!(
        VerifySummary::from_bytes(&[0; 280], &layout)
            .is_ok_and(|part| part == VerifySummary::new(&layout))
    );
}

/// Two summaries of half of all countable records once told of none, and their checksums went on
/// adding up.
#[test]
fn records_of_all_summaries_can_be_counted() {
    let layout = Format::Gensort.layout();
    let mut summary = part(&layout, &records(spec(Format::Gensort, 10))).to_bytes();
    let (records_at, half) = (2 * 16 + 8, 1_u64 << 63);
    summary[records_at..][..8].copy_from_slice(&half.to_le_bytes());
    let mut whole = VerifySummary::new(&layout);
    assert_eq!(whole.append_summaries(&summary), Ok(1));
    assert_eq!(whole.records(), half);
    let error = whole.append_summaries(&summary).unwrap_err();
    assert!(error.to_string().contains("2^64 records or more"), "{error}");
    assert_eq!(whole.records(), half);
}

/// Two records have one pair of neighbours: each number at the edge of what that allows, and one
/// past it.
#[test]
fn edges_of_contradictions() {
    let layout = Layout::new(1, vec!["0:1".parse().unwrap()]).unwrap();
    let good = part(&layout, b"ba").to_bytes();
    let with = |changes: &[(usize, u8)]| {
        let mut summary = good.clone();
        changes.iter().for_each(|&(at, byte)| summary[at] = byte);
        VerifySummary::from_bytes(&summary, &layout)
    };
    let (first_unordered, unordered, duplicates, first_record) = (8, 24, 56, 80);
    assert_eq!(with(&[(first_unordered, 1), (unordered, 1)]), Ok(part(&layout, b"ba")));
    assert!(with(&[(first_unordered, 2)]).is_err());
    assert!(with(&[(duplicates, 1)]).is_err());
    assert!(
        with(&[(first_unordered, 0), (unordered, 0), (duplicates, 1)]).is_err(),
        "b before a is in order"
    );
    assert!(with(&[(first_unordered, 0), (unordered, 0), (first_record, b'a')]).is_ok());
    assert!(
        with(&[(first_unordered, 0), (unordered, 0), (duplicates, 2), (first_record, b'a')])
            .is_err()
    );
}

proptest! {
    #[test]
    fn there_and_back(keys in prop::collection::vec(0u8..4, 0..40)) {
        let layout = Layout::new(3, vec!["1:1:u8:desc".parse().unwrap()]).unwrap();
        let records = keys.iter().enumerate().map(|(n, &key)| [n as u8, key, 9]);
        let block: Vec<u8> = records.flatten().collect();
        let part = part(&layout, &block);
        prop_assert_eq!(VerifySummary::from_bytes(&part.to_bytes(), &layout), Ok(part));
    }

    /// Bytes from anywhere give a part or an error; a part says the same again.
    #[test]
    fn no_summary_panics(summary in prop::collection::vec(0u8..3, 84)) {
        let layout = Layout::new(2, vec!["0:2".parse().unwrap()]).unwrap();
        if let Ok(part) = VerifySummary::from_bytes(&summary, &layout) {
            prop_assert_eq!(VerifySummary::from_bytes(&part.to_bytes(), &layout), Ok(part));
        }
    }
}
