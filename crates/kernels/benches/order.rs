//! Order without moving records: `common_prefix`, `sort` and `Splitters::distribute`, beside the
//! standard library's sorts of indexes and of records.
//!
//! `cargo bench -p xsort-kernels --bench order`; `cargo test --benches` runs each once on few
//! records. Every case checks its order, if it was asked for.

mod cases;

use cases::{CASES, Case, Plain, key_of, records};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use xsort_kernels::{Caches, Splitters, common_prefix, sort};
use xsort_records::Key;

fn check(case: &Case, records: &[u8], order: &[u64]) {
    let key = |index: u64| key_of(&records[index as usize * case.record_bytes..]);
    assert!(
        order.windows(2).all(|pair| (key(pair[0]), pair[0]) < (key(pair[1]), pair[1])),
        "not in order or not stable"
    );
    let sum: u64 = order.iter().sum();
    assert_eq!(sum, (0..order.len() as u64).sum::<u64>(), "not a permutation");
}

fn orders(criterion: &mut Criterion) {
    for case in CASES {
        let records = records(&case);
        let count = records.len() / case.record_bytes;
        let (mut order, mut spare) = (vec![0; count], vec![0; count]);
        let mut group = criterion.benchmark_group(format!("order/{}", case.name));
        group.throughput(Throughput::Elements(count as u64)).sample_size(10);
        group.bench_function("common_prefix", |bencher| {
            bencher.iter(|| common_prefix(Plain, black_box(&records), case.record_bytes));
        });
        let mut ran = false;
        group.bench_function(BenchmarkId::from_parameter("sort"), |bencher| {
            ran = true;
            bencher.iter(|| {
                sort(
                    Plain,
                    black_box(&records),
                    case.record_bytes,
                    &mut order,
                    &mut spare,
                    Caches::default(),
                );
            });
        });
        if ran {
            check(&case, &records, &order);
        }
        if !case.beside_std {
            continue;
        }
        let mut ran = false;
        group.bench_function("std sort_by_key of indexes", |bencher| {
            ran = true;
            bencher.iter(|| {
                order.iter_mut().enumerate().for_each(|(index, element)| *element = index as u64);
                order.sort_by_key(|&index| key_of(&records[index as usize * case.record_bytes..]));
            });
        });
        if ran {
            check(&case, &records, &order);
        }
        group.bench_function("std sort_unstable of (prefix, index)", |bencher| {
            let mut pairs: Vec<(u64, u64)> = Vec::with_capacity(count);
            bencher.iter(|| {
                pairs.clear();
                pairs.extend(records.chunks_exact(case.record_bytes).zip(0..).map(
                    |(record, index)| {
                        (u64::from_be_bytes(record[..8].try_into().expect("eight bytes")), index)
                    },
                ));
                pairs.sort_unstable();
                black_box(pairs.len())
            });
        });
    }
}

/// Sampled keys a bin.
const SAMPLE_PER_BIN: usize = 32;

/// Splitters from a sample spread over all records.
fn splitters(case: &Case, records: &[u8], bins: usize) -> Splitters {
    let count = records.len() / case.record_bytes;
    let stride = (count / (bins * SAMPLE_PER_BIN)).max(1);
    let mut sample: Vec<&[u8]> =
        records.chunks_exact(case.record_bytes).step_by(stride).map(key_of).collect();
    sample.sort_unstable();
    Splitters::from_sample(Plain.bytes(), &sample.concat(), bins)
}

/// Checks that no bin has a key above one of the next, that bins keep the input's order, and that
/// no index is lost.
fn check_bins(case: &Case, records: &[u8], order: &[u64], ends: &[usize]) {
    let key = |index: u64| key_of(&records[index as usize * case.record_bytes..]);
    let (mut start, mut greatest) = (0, None);
    for &end in ends {
        let bin = &order[start..end];
        start = end;
        assert!(bin.is_sorted(), "not stable");
        let keys = || bin.iter().map(|&index| key(index));
        assert!(
            keys().min().is_none_or(|least| greatest.is_none_or(|greatest| greatest < least)),
            "a key below its bin"
        );
        greatest = keys().max().or(greatest);
    }
    assert_eq!(start, order.len(), "records lost");
    let sum: u64 = order.iter().sum();
    assert_eq!(sum, (0..order.len() as u64).sum::<u64>(), "not a permutation");
}

fn distributions(criterion: &mut Criterion) {
    for case in CASES {
        let records = records(&case);
        let count = records.len() / case.record_bytes;
        let (mut order, mut spare) = (vec![0; count], vec![0; count]);
        let mut group = criterion.benchmark_group(format!("distribute/{}", case.name));
        group.throughput(Throughput::Elements(count as u64)).sample_size(10);
        for bins in [8, 64, 512, 4096] {
            let splitters = splitters(&case, &records, bins);
            let mut ends = vec![0; splitters.bins()];
            let mut ran = false;
            group.bench_function(format!("{bins} bins"), |bencher| {
                ran = true;
                bencher.iter(|| {
                    let records = black_box(&records);
                    splitters.distribute(
                        Plain,
                        records,
                        case.record_bytes,
                        &mut order,
                        &mut spare,
                        &mut ends,
                    );
                });
            });
            if ran {
                check_bins(&case, &records, &order, &ends);
            }
        }
    }
}

criterion_group!(benches, orders, distributions);
criterion_main!(benches);
