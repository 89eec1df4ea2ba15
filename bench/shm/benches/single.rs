//! One thread, nobody else: what a read and a write cost, ours, mmap-sync's, iceoryx2's, and floors
//! within the process.
#![allow(unsafe_code, reason = "mmap-sync reads are unsafe")]
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use arc_swap::ArcSwap;
use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use iceoryx2::prelude::*;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use xsort_shm::{LocalReader, NoChecksum, Reader, ReaderOptions, Writer, Xxh3};

const SIZES: [usize; 4] = [64, 512, 4096, 65536];

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let prefix = folder.path().join("p");
    (folder, prefix)
}

fn read_unchanged(c: &mut Criterion) {
    let mut group = c.benchmark_group("read unchanged");
    {
        let (_folder, prefix) = folder();
        let mut writer = Writer::open(&prefix).unwrap();
        writer.write(&[1; 64]).unwrap();
        let reader = Reader::open(&prefix).unwrap();
        group.bench_function("xsort-shm", |b| b.iter(|| black_box(reader.read().unwrap()[8])));
        let mut local = reader.local().unwrap();
        group
            .bench_function("xsort-shm, local", |b| b.iter(|| black_box(local.read().unwrap()[8])));
        writer.write_archived(&vec![7u64; 6]).unwrap();
        group.bench_function("xsort-shm, archived, checked", |b| {
            b.iter(|| black_box(reader.read_archived::<Vec<u64>>().unwrap()[1]));
        });
        group.bench_function("xsort-shm, local, archived, checked", |b| {
            b.iter(|| black_box(local.read_archived::<Vec<u64>>().unwrap()[1]));
        });
        group.bench_function("xsort-shm, local, archived, unchecked", |b| {
            // SAFETY: that is what was written.
            b.iter(|| {
                black_box(unsafe { local.read_archived_unchecked::<Vec<u64>>() }.unwrap()[1])
            });
        });
        let mut synchronizer = xsort_shm::Synchronizer::new(prefix.as_os_str());
        group.bench_function("xsort-shm, Synchronizer, checked", |b| {
            b.iter(|| black_box(synchronizer.read::<Vec<u64>>().unwrap()[1]));
        });
    }
    {
        let (_folder, prefix) = folder();
        let mut writer = mmap_sync::synchronizer::Synchronizer::new(prefix.as_os_str());
        writer.write(&vec![7u64; 6], Duration::ZERO).unwrap();
        let mut reader = mmap_sync::synchronizer::Synchronizer::new(prefix.as_os_str());
        group.bench_function("mmap-sync", |b| {
            // SAFETY: nobody writes.
            b.iter(|| black_box(unsafe { reader.read::<Vec<u64>>(false) }.unwrap()[1]));
        });
        group.bench_function("mmap-sync, checked", |b| {
            // SAFETY: nobody writes.
            b.iter(|| black_box(unsafe { reader.read::<Vec<u64>>(true) }.unwrap()[1]));
        });
    }
    let word = AtomicU64::new(7);
    group.bench_function("floor: a load", |b| b.iter(|| black_box(word.load(Ordering::Acquire))));
    let value = ArcSwap::from_pointee([7u64; 8]);
    group.bench_function("floor: arc-swap load", |b| b.iter(|| black_box(value.load()[1])));
    let shared = Arc::new(ArcSwap::from_pointee([7u64; 8]));
    let mut cache = arc_swap::Cache::new(Arc::clone(&shared));
    group.bench_function("floor: arc-swap cache", |b| b.iter(|| black_box(cache.load()[1])));
    let (mut write, read) = left_right::new::<Numbers, u64>();
    write.append(7).publish();
    group.bench_function("floor: left-right", |b| b.iter(|| black_box(read.enter().unwrap().0[1])));
}

/// left-right's value.
#[derive(Clone, Default)]
struct Numbers([u64; 8]);

impl left_right::Absorb<u64> for Numbers {
    fn absorb_first(&mut self, operation: &mut u64, _other: &Self) {
        self.0 = [*operation; 8];
    }

    fn sync_with(&mut self, first: &Self) {
        *self = first.clone();
    }
}

fn write(c: &mut Criterion) {
    let mut group = c.benchmark_group("write");
    for size in SIZES {
        let bytes = vec![7u8; size];
        let (_folder, prefix) = folder();
        let mut writer = Writer::open(&prefix).unwrap();
        group.bench_function(BenchmarkId::new("xsort-shm", size), |b| {
            b.iter(|| writer.write(black_box(&bytes)).unwrap())
        });
        drop(writer);
        let (_folder, prefix) = folder();
        let mut writer = Writer::<NoChecksum>::with_options(&prefix, Default::default()).unwrap();
        group.bench_function(BenchmarkId::new("xsort-shm, no checksum", size), |b| {
            b.iter(|| writer.write(black_box(&bytes)).unwrap());
        });
        let (_folder, prefix) = folder();
        let mut writer = mmap_sync::synchronizer::Synchronizer::new(prefix.as_os_str());
        group.bench_function(BenchmarkId::new("mmap-sync write_raw", size), |b| {
            b.iter(|| writer.write_raw::<Vec<u8>>(black_box(&bytes), Duration::ZERO).unwrap());
        });
        let mut place = vec![0u8; size];
        group.bench_function(BenchmarkId::new("floor: a copy", size), |b| {
            b.iter(|| {
                place.copy_from_slice(black_box(&bytes));
                black_box(&mut place);
            });
        });
    }
}

/// A write and the read after it, less what the write costs, is what a reader pays for a change
/// when everything is in its cache.
fn read_changed(c: &mut Criterion) {
    let mut group = c.benchmark_group("write 64 bytes, then read them");
    let bytes = [7u8; 64];
    {
        let (_folder, prefix) = folder();
        let mut writer = Writer::<Xxh3>::open(&prefix).unwrap();
        let reader = Reader::open(&prefix).unwrap();
        group.bench_function("xsort-shm", |b| {
            b.iter(|| {
                writer.write(black_box(&bytes)).unwrap();
                black_box(reader.read().unwrap()[8]);
            });
        });
        let mut local = reader.local().unwrap();
        group.bench_function("xsort-shm, local", |b| {
            b.iter(|| {
                writer.write(black_box(&bytes)).unwrap();
                black_box(local.read().unwrap()[8]);
            });
        });
        // As mmap-sync's unchecked read: without a look at the checksum.
        let mut options = ReaderOptions::default();
        options.verify = false;
        let mut unchecked = LocalReader::<Xxh3>::with_options(&prefix, options).unwrap();
        group.bench_function("xsort-shm, local, unchecked", |b| {
            b.iter(|| {
                writer.write(black_box(&bytes)).unwrap();
                black_box(unchecked.read().unwrap()[8]);
            });
        });
        group.bench_function("xsort-shm, the write alone", |b| {
            b.iter(|| writer.write(black_box(&bytes)).unwrap())
        });
    }
    {
        let (_folder, prefix) = folder();
        let mut writer = mmap_sync::synchronizer::Synchronizer::new(prefix.as_os_str());
        let bytes = rkyv_07::to_bytes::<_, 1024>(&vec![7u64; 6]).unwrap();
        writer.write_raw::<Vec<u64>>(&bytes, Duration::ZERO).unwrap();
        let mut reader = mmap_sync::synchronizer::Synchronizer::new(prefix.as_os_str());
        group.bench_function("mmap-sync", |b| {
            b.iter(|| {
                writer.write_raw::<Vec<u64>>(black_box(&bytes), Duration::ZERO).unwrap();
                // SAFETY: nobody writes while the value is held.
                black_box(unsafe { reader.read::<Vec<u64>>(false) }.unwrap()[1]);
            });
        });
        group.bench_function("mmap-sync, the write alone", |b| {
            b.iter(|| writer.write_raw::<Vec<u64>>(black_box(&bytes), Duration::ZERO).unwrap());
        });
    }
    let node = NodeBuilder::new().create::<ipc::Service>().unwrap();
    let service = node
        .service_builder(&"xsort-shm-bench".try_into().unwrap())
        .publish_subscribe::<[u64; 8]>();
    let service = service.open_or_create().unwrap();
    let (publisher, subscriber) = (
        service.publisher_builder().create().unwrap(),
        service.subscriber_builder().create().unwrap(),
    );
    group.bench_function("iceoryx2 publish, receive", |b| {
        b.iter(|| {
            publisher.loan_uninit().unwrap().write_payload(black_box([7; 8])).send().unwrap();
            black_box(subscriber.receive().unwrap().unwrap()[1]);
        });
    });
    group.bench_function("iceoryx2 receive", |b| {
        b.iter_batched(
            || publisher.loan_uninit().unwrap().write_payload([7; 8]).send().unwrap(),
            |_| black_box(subscriber.receive().unwrap().unwrap()[1]),
            BatchSize::PerIteration,
        );
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(1));
    targets = read_unchanged, write, read_changed
}
criterion_main!(benches);
