//! Bytes a second of the generators, the checksum and the verifier, and the cost of a word of each
//! kind of key, on one thread.
//!
//! The block of 1 MB stays in the second-level cache, so that the code is measured and not the
//! memory. What is verified is sorted, as it usually is. Every result is checked against a sum
//! recorded here, so a fast wrong answer fails. `cargo test` runs each benchmark once.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use xsort_records::{
    Checksum, Format, GenerateSpec, Generator, Key, KeyRule, Layout, Pattern, VerifySummary,
};

/// A whole number of records of every format: 10,240 of gensort's, 8,000 of kv128's, 250 of
/// block4k's.
const BLOCK_BYTES: usize = 1_024_000;

fn generator(format: Format, pattern: Pattern, skewed: bool) -> (Generator, Vec<u8>) {
    let records = BLOCK_BYTES / format.record_bytes();
    let spec = GenerateSpec { format, skewed, pattern, start: 0, seed: 0, total: records as u64 };
    (Generator::new(spec).unwrap(), vec![0; records * format.record_bytes()])
}

/// Fails if the generated records are not those whose checksum was recorded when the formats were
/// defined.
fn check(format: Format, pattern: Pattern, skewed: bool, block: &[u8], expected: &str) {
    let mut sum = Checksum::default();
    sum.add_records(block, format.record_bytes());
    assert_eq!(sum.to_string(), expected, "{format} {pattern} skewed: {skewed}");
}

fn generate(criterion: &mut Criterion) {
    use Format::{Block4k, Gensort, GensortAscii, Kv128};
    let mut group = criterion.benchmark_group("generate");
    for (format, pattern, skewed, expected) in [
        (Gensort, Pattern::Uniform, false, "1411f177d9d2"),
        (Gensort, Pattern::Uniform, true, "14161248609c"),
        (Gensort, Pattern::Zipf, false, "1423ec2d944c"),
        (GensortAscii, Pattern::Uniform, false, "13f21ef0c229"),
        (GensortAscii, Pattern::Sorted, false, "143b4be3a775"),
        (Kv128, Pattern::Uniform, false, "f8d6a7c9350"),
        (Kv128, Pattern::Heavy, false, "f9969960de2"),
        (Block4k, Pattern::Uniform, false, "8535e27b82"),
    ] {
        let (generator, mut block) = generator(format, pattern, skewed);
        group.throughput(Throughput::Bytes(block.len() as u64));
        let name = format!("{format}/{}", if skewed { "skewed" } else { pattern.name() });
        group.bench_function(name, |bencher| {
            bencher.iter(|| generator.fill(0, black_box(&mut block)));
        });
        generator.fill(0, &mut block);
        check(format, pattern, skewed, &block, expected);
    }
}

fn verify(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("verify");
    for &format in Format::all() {
        let (generator, mut block) = generator(format, Pattern::Sorted, false);
        generator.fill(0, &mut block);
        group.throughput(Throughput::Bytes(block.len() as u64));
        let record_bytes = format.record_bytes();
        group.bench_function(format!("checksum/{format}"), |bencher| {
            bencher.iter(|| {
                let mut sum = Checksum::default();
                sum.add_records(black_box(&block), record_bytes);
                sum
            });
        });
        let layout = format.layout();
        group.bench_function(format!("part/{format}"), |bencher| {
            bencher.iter(|| {
                let mut part = VerifySummary::new(&layout);
                part.extend(black_box(&block));
                part
            });
        });
        let mut sum = Checksum::default();
        sum.add_records(&block, record_bytes);
        let mut part = VerifySummary::new(&layout);
        part.extend(&block);
        assert!(part.is_sorted());
        assert_eq!(part.checksum(), sum);
    }
}

fn words<K: Key>(key: K, records: &[u8], record_bytes: usize) -> u64 {
    let words =
        records.chunks_exact(record_bytes).map(|record| key.word(record, 0) ^ key.word(record, 8));
    words.fold(0, u64::wrapping_add)
}

fn keys(criterion: &mut Criterion) {
    let (generator, mut block) = generator(Format::Gensort, Pattern::Uniform, false);
    generator.fill(0, &mut block);
    let mut group = criterion.benchmark_group("two words");
    group.throughput(Throughput::Elements(block.len() as u64 / 100));
    for fields in ["0:10", "0:16:u128le", "0:8:u64le", "4:8:i64be", "0:8:f64le:desc", "0:10:desc"] {
        let layout = Layout::new(100, vec![fields.parse().unwrap()]).unwrap();
        let run = |block: &[u8]| match layout.rule() {
            KeyRule::Plain(key) => words(key, block, 100),
            KeyRule::Little(key) => words(key, block, 100),
            KeyRule::Fields(key) => words(key, block, 100),
        };
        group.bench_function(fields, |bencher| bencher.iter(|| run(black_box(&block))));
        assert_ne!(run(&block), 0);
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args();
    generate(&mut criterion);
    verify(&mut criterion);
    keys(&mut criterion);
    criterion.final_summary();
}
