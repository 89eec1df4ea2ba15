//! What each pattern promises of the keys, for every format.

use std::collections::HashMap;

use xsort_records::{Format, GenerateSpec, Generator, Key, Pattern, VerifySummary};

use crate::{records, spec};

fn judged(spec: GenerateSpec) -> VerifySummary {
    let mut part = VerifySummary::new(&spec.format.layout());
    part.extend(&records(spec));
    part
}

/// The normalised keys of all records, with their numbers of records, the most frequent first.
fn counted(spec: GenerateSpec) -> Vec<u64> {
    let layout = spec.format.layout();
    let mut counts = HashMap::new();
    for record in records(spec).chunks(spec.format.record_bytes()) {
        let mut key = vec![0; layout.key_bytes()];
        layout.rule().encode(record, &mut key);
        *counts.entry(key).or_insert(0) += 1;
    }
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

/// Enough records to tell shares apart, few enough for blocks of 4 KiB.
fn total(format: Format) -> u64 {
    if format == Format::Block4k { 4_000 } else { 40_000 }
}

#[test]
fn sorted_increases_and_reversed_decreases() {
    for &format in Format::all() {
        let total = 1000;
        let sorted = judged(GenerateSpec { pattern: Pattern::Sorted, ..spec(format, total) });
        assert_eq!((sorted.unordered(), sorted.duplicates()), (0, 0), "{format}");
        let reversed = judged(GenerateSpec { pattern: Pattern::Reversed, ..spec(format, total) });
        assert_eq!(
            (reversed.unordered(), reversed.first_unordered()),
            (total - 1, Some(1)),
            "{format}"
        );
    }
}

/// The longest data set there can be still has strictly increasing keys at both ends, at any start.
#[test]
fn sorted_without_ties_up_to_the_last_record() {
    for &format in Format::all() {
        for total in [u64::MAX, u64::MAX / 2 + 2, 1 << 63, 1] {
            let generator = Generator::new(GenerateSpec {
                pattern: Pattern::Sorted,
                start: 5,
                ..spec(format, total)
            });
            let generator = generator.unwrap();
            let count = total.min(3);
            let mut part = VerifySummary::new(&format.layout());
            for first in [0, (total - count) / 2, total - count] {
                let mut block = vec![0; count as usize * format.record_bytes()];
                generator.fill(first, &mut block);
                part.extend(&block);
                if total == 1 {
                    break;
                }
            }
            assert_eq!((part.unordered(), part.duplicates()), (0, 0), "{format} {total}");
        }
    }
}

#[test]
fn equal_has_one_key_and_few_sixteen() {
    for &format in Format::all() {
        let total = total(format);
        assert_eq!(
            counted(GenerateSpec { pattern: Pattern::Equal, ..spec(format, total) }),
            [total],
            "{format}"
        );
        let few = counted(GenerateSpec { pattern: Pattern::Few, ..spec(format, total) });
        assert_eq!(few.len(), 16, "{format}");
        let expected = total as f64 / 16.0;
        assert!(
            few.iter().all(|&count| (count as f64 - expected).abs() < 6.0 * expected.sqrt()),
            "{few:?}"
        );
    }
}

/// The most frequent keys have 1/H, 1/2H, 1/3H, ... of the records, H = 1 + 1/2 + ... + 1/1,048,575
/// = 14.44.
#[test]
fn zipf_follows_its_law() {
    let harmonic: f64 = (1..1 << 20).map(|k| 1.0 / f64::from(k)).sum();
    for &format in Format::all() {
        let total = total(format);
        let counts = counted(GenerateSpec { pattern: Pattern::Zipf, ..spec(format, total) });
        for (place, &count) in counts.iter().take(5).enumerate() {
            let expected = total as f64 / harmonic / (place + 1) as f64;
            assert!(
                (count as f64 - expected).abs() < 6.0 * expected.sqrt(),
                "{format}: {count} for {expected}"
            );
        }
    }
    // The tail is there too: the expected number of different keys among n draws is the sum of 1 -
    // (1 - p)^n.
    let n = 100_000;
    let counts =
        counted(GenerateSpec { pattern: Pattern::Zipf, seed: 3, ..spec(Format::Kv128, n) });
    let expected: f64 =
        (1..1 << 20).map(|k| 1.0 - (1.0 - 1.0 / (harmonic * f64::from(k))).powi(n as i32)).sum();
    let different = counts.len() as f64;
    assert!((different / expected - 1.0).abs() < 0.02, "{different} for {expected}");
}

#[test]
fn heavy_has_one_key_in_99_of_100() {
    for &format in Format::all() {
        let total = total(format);
        let counts = counted(GenerateSpec { pattern: Pattern::Heavy, ..spec(format, total) });
        let others = total as f64 / 100.0;
        let found = (total - counts[0]) as f64;
        assert!((found - others).abs() < 6.0 * others.sqrt(), "{format}: {found} for {others}");
        assert_eq!(counts[1], 1, "{format}");
    }
}

#[test]
fn patterns_leave_records_legal_and_payloads_alone() {
    for &pattern in Pattern::all() {
        for &format in Format::all() {
            let own = records(spec(format, 300));
            let block = records(GenerateSpec { pattern, ..spec(format, 300) });
            let record_bytes = format.record_bytes();
            for (record, own) in block.chunks(record_bytes).zip(own.chunks(record_bytes)) {
                match format {
                    Format::Gensort => assert_eq!(record[10..], own[10..]),
                    Format::GensortAscii => {
                        assert_eq!(record[10..], own[10..]);
                        assert!(
                            record[..10].iter().all(|byte| (b' '..=b'~').contains(byte)),
                            "{pattern}"
                        );
                    }
                    Format::Kv128 => assert_eq!(record[16..], own[16..]),
                    Format::Block4k => {
                        assert!(record.iter().all(u8::is_ascii_alphanumeric), "{pattern}");
                    }
                }
            }
        }
    }
}
