//! Generators as a whole: any block made anywhere is the same, seeds differ, and impossible
//! specifications say what is possible.

use proptest::prelude::*;
use xsort_records::{
    Checksum, Format, GenerateError, GenerateSpec, Generator, Pattern, VerifySummary,
};

use crate::{records, spec};

fn any_spec(total: u64) -> impl Strategy<Value = GenerateSpec> {
    let starts = prop_oneof![
        Just(0u128),
        0..1u128 << 64,
        Just((1 << 60) - 10),
        Just((1 << 64) - 10),
        any::<u128>().prop_map(|start| start >> 1),
        Just(u128::MAX - u128::from(total)),
    ];
    let formats = prop::sample::select(Format::all());
    let patterns = prop::sample::select(Pattern::all());
    (formats, patterns, starts, prop_oneof![Just(0u64), any::<u64>()], any::<bool>()).prop_map(
        move |(format, pattern, start, seed, skewed)| {
            let gensort = matches!(format, Format::Gensort | Format::GensortAscii);
            let skewed = skewed && gensort && pattern == Pattern::Uniform;
            GenerateSpec { format, skewed, pattern, start, seed, total }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A block from anywhere in the data is that stretch of the whole, also across the generators'
    /// inner strips of 64 records.
    #[test]
    fn any_block_is_a_stretch_of_the_whole(
        spec in any_spec(200),
        first in 0u64..=200,
        count in 0u64..=200,
    ) {
        let whole = records(spec);
        let count = count.min(200 - first);
        let generator = Generator::new(spec).unwrap();
        let bytes = generator.record_bytes();
        let mut block = vec![0xee; count as usize * bytes];
        generator.fill(first, &mut block);
        prop_assert!(block == whole[first as usize * bytes..][..block.len()]);
    }

    /// Starting later is the same as skipping, for the patterns that don't depend on the total.
    #[test]
    fn start_is_a_shift(spec in any_spec(200), skip in 0u64..=200) {
        prop_assume!(!matches!(spec.pattern, Pattern::Sorted | Pattern::Reversed));
        let whole = records(spec);
        let start = spec.start + u128::from(skip);
        let later = GenerateSpec { start, total: 200 - skip, ..spec };
        prop_assert!(records(later) == whole[skip as usize * spec.format.record_bytes()..]);
    }
}

/// The last block once panicked: numbers came before records in a zip, which then counted on to
/// 2^128 for the record that was not there.
#[test]
fn the_last_record_numbers_can_be_made() {
    for &format in Format::all() {
        for &pattern in Pattern::all() {
            let start = u128::MAX - 5;
            let block = records(GenerateSpec { start, pattern, ..spec(format, 5) });
            let alone = GenerateSpec { start: start + 4, pattern, ..spec(format, 1) };
            if !matches!(pattern, Pattern::Sorted | Pattern::Reversed) {
                assert!(block.ends_with(&records(alone)), "{format} {pattern}");
            }
        }
    }
    let generator = Generator::new(spec(Format::Kv128, u64::MAX)).unwrap();
    generator.fill(u64::MAX - 2, &mut [0; 256]);
}

#[test]
fn generators_are_shared_by_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&Generator::new(spec(Format::Kv128, 0)).unwrap());
}

#[test]
fn seeds_make_different_records() {
    for &format in Format::all() {
        let of_seed = |seed| records(GenerateSpec { seed, ..spec(format, 20) });
        assert!(of_seed(0) == of_seed(0));
        let all: Vec<_> = [0, 1, 2, u64::MAX].map(of_seed).into();
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                let pairs =
                    one.chunks(format.record_bytes()).zip(other.chunks(format.record_bytes()));
                assert!(pairs.map(|(a, b)| a[..10] == b[..10]).all(|same| !same), "{format}");
            }
        }
    }
}

/// The formats of our own, and the seeds and patterns of all, stay what they are; the file says
/// more.
#[test]
fn our_own_data_sets_do_not_change() {
    let sums: Vec<String> = Format::all()
        .iter()
        .flat_map(|&format| Pattern::all().iter().map(move |&pattern| (format, pattern)))
        .map(|(format, pattern)| {
            let block = records(GenerateSpec { pattern, seed: 7, start: 3, ..spec(format, 1000) });
            let mut sum = Checksum::default();
            sum.add_records(&block, format.record_bytes());
            format!("{format} {pattern} {sum}")
        })
        .collect();
    let recorded = include_str!("../golden/own.txt").lines().filter(|line| !line.starts_with('#'));
    assert_eq!(sums, recorded.collect::<Vec<_>>());
}

#[test]
fn kv128_is_its_key_its_number_and_random_words() {
    let start = (1 << 64) - 1;
    let block = records(GenerateSpec { start, ..spec(Format::Kv128, 100) });
    for (n, record) in (start..).zip(block.as_chunks::<128>().0) {
        assert_eq!(record[16..32], n.to_le_bytes());
    }
    // Every bit of keys and payload takes both values about equally often.
    let block = records(spec(Format::Kv128, 10_000));
    for bit in (0..128).chain(256..1024) {
        let ones = block.chunks(128).filter(|record| record[bit / 8] >> (bit % 8) & 1 == 1).count();
        assert!((4_700..5_300).contains(&ones), "bit {bit}: {ones}");
    }
}

#[test]
fn block4k_is_letters_and_digits_without_gaps() {
    let block = records(spec(Format::Block4k, 100));
    assert!(block.iter().all(u8::is_ascii_alphanumeric));
    for symbol in (b'0'..=b'9').chain(b'A'..=b'Z').chain(b'a'..=b'z') {
        // 4 or 5 of 256 bytes: 6,400 or 8,000 in 409,600.
        let count = block.iter().filter(|&&byte| byte == symbol).count();
        assert!((6_000..8_500).contains(&count), "{}: {count}", char::from(symbol));
    }
    let mut part = VerifySummary::new(&Format::Block4k.layout());
    part.extend(&block);
    assert!(part.unordered() > 30 && part.duplicates() == 0);
}

#[test]
fn impossible_specifications_say_what_is_possible() {
    for format in [Format::Kv128, Format::Block4k] {
        let error = Generator::new(GenerateSpec { skewed: true, ..spec(format, 1) }).unwrap_err();
        assert_eq!(error, GenerateError::SkewedFormat { format });
        assert!(error.to_string().contains("gensort"), "{error}");
    }
    let pattern = Pattern::Zipf;
    let error = Generator::new(GenerateSpec { skewed: true, pattern, ..spec(Format::Gensort, 1) })
        .unwrap_err();
    assert_eq!(error, GenerateError::SkewedPattern { pattern });
    assert!(error.to_string().contains("use one"), "{error}");

    let start = u128::MAX - 9;
    assert!(Generator::new(GenerateSpec { start, ..spec(Format::Gensort, 9) }).is_ok());
    let error = Generator::new(GenerateSpec { start, ..spec(Format::Gensort, 10) }).unwrap_err();
    assert_eq!(error, GenerateError::Numbers { start, total: 10 });
    assert!(error.to_string().contains("smaller start"), "{error}");
}

#[test]
#[should_panic(expected = "are past the 10 to be generated")]
fn records_past_the_total_are_refused() {
    Generator::new(spec(Format::Gensort, 10)).unwrap().fill(8, &mut [0; 300]);
}

#[test]
#[should_panic(expected = "whole records of 100 bytes")]
fn partial_records_are_refused() {
    Generator::new(spec(Format::Gensort, 10)).unwrap().fill(0, &mut [0; 150]);
}

#[test]
fn names_parse_as_they_print() {
    for &format in Format::all() {
        assert_eq!(format.to_string().parse(), Ok(format));
        assert_eq!(format.layout().record_bytes(), format.record_bytes());
        assert!(!format.describe().is_empty());
    }
    for &pattern in Pattern::all() {
        assert_eq!(pattern.to_string().parse(), Ok(pattern));
        assert!(!pattern.describe().is_empty());
    }
    let error = "gensorta".parse::<Format>().unwrap_err().to_string();
    assert!(Format::all().iter().all(|format| error.contains(format.name())), "{error}");
    let error = "random".parse::<Pattern>().unwrap_err().to_string();
    assert!(Pattern::all().iter().all(|pattern| error.contains(pattern.name())), "{error}");
}
