//! Moving records: `gather` and `Merge`, beside a loop of slices.
//!
//! `cargo bench -p xsort-kernels --bench moves`; `cargo test --benches` runs each once on few
//! records. Outputs are 1 MiB blocks over 8 MiB of reused memory, as in a pipeline to direct I/O;
//! every case checks what it wrote.

mod cases;

use cases::{CASES, Plain, is_test, key_of, records};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use xsort_kernels::{Caches, Merge, Node, Run, gather, nodes_needed, sort};

/// Output blocks, in bytes and in number.
const BLOCK_BYTES: usize = 1 << 20;
const BLOCKS: usize = 8;

fn gathers(criterion: &mut Criterion) {
    let mut ring = vec![0; BLOCK_BYTES * BLOCKS];
    for case in &CASES[..4] {
        let (records, record_bytes) = (records(case), case.record_bytes);
        let count = records.len() / record_bytes;
        let (mut order, mut spare) = (vec![0; count], vec![0; count]);
        sort(Plain, &records, record_bytes, &mut order, &mut spare, Caches::default());
        let mut group = criterion.benchmark_group(format!("gather/{}", case.name));
        group.throughput(Throughput::Bytes(records.len() as u64)).sample_size(10);
        let block_records = BLOCK_BYTES / record_bytes;
        group.bench_function("gather", |bencher| {
            bencher.iter(|| {
                for (order, out) in order.chunks(block_records).zip((0..BLOCKS).cycle()) {
                    let out = &mut ring[out * BLOCK_BYTES..][..order.len() * record_bytes];
                    gather(black_box(&records), record_bytes, order, out);
                }
            });
        });
        let last = (count - 1) / block_records;
        let written =
            &ring[last % BLOCKS * BLOCK_BYTES..][..(count - last * block_records) * record_bytes];
        assert!(
            written.chunks_exact(record_bytes).is_sorted_by_key(key_of),
            "the last block is in order"
        );
        group.bench_function("loop of slices", |bencher| {
            bencher.iter(|| {
                for (order, out) in order.chunks(block_records).zip((0..BLOCKS).cycle()) {
                    let out = &mut ring[out * BLOCK_BYTES..][..order.len() * record_bytes];
                    for (&index, out) in order.iter().zip(out.chunks_exact_mut(record_bytes)) {
                        out.copy_from_slice(
                            &records[index as usize * record_bytes..][..record_bytes],
                        );
                    }
                }
            });
        });
    }
}

fn merges(criterion: &mut Criterion) {
    let mut ring = vec![0; BLOCK_BYTES * BLOCKS];
    for case in &CASES[1..3] {
        let (records, record_bytes) = (records(case), case.record_bytes);
        let count = records.len() / record_bytes;
        let mut group = criterion.benchmark_group(format!("merge/{}", case.name));
        group.throughput(Throughput::Elements(count as u64)).sample_size(10);
        for fan_in in [2, 8, 32, 128, 512] {
            if is_test() && fan_in > 32 {
                continue;
            }
            let run_records = count.div_ceil(fan_in);
            let (mut order, mut spare) = (vec![0; count], vec![0; count]);
            let mut sorted = vec![0; records.len()];
            let parts = records.chunks(run_records * record_bytes);
            for ((part, order), sorted) in parts
                .zip(order.chunks_mut(run_records))
                .zip(sorted.chunks_mut(run_records * record_bytes))
            {
                sort(Plain, part, record_bytes, order, &mut spare, Caches::default());
                gather(part, record_bytes, order, sorted);
            }
            let block_bytes = BLOCK_BYTES / record_bytes * record_bytes;
            let blocks: Vec<Vec<&[u8]>> = sorted
                .chunks(run_records * record_bytes)
                .map(|run| run.chunks(block_bytes).collect())
                .collect();
            let in_blocks: Vec<Run<'_>> = blocks.iter().map(|blocks| Run::Blocks(blocks)).collect();
            let by_order: Vec<Run<'_>> = records
                .chunks(run_records * record_bytes)
                .zip(order.chunks(run_records))
                .map(|(records, order)| Run::Ordered { records, order })
                .collect();
            let mut nodes = vec![Node::default(); nodes_needed(fan_in)];
            for (name, runs) in [("blocks", &in_blocks), ("ordered", &by_order)] {
                group.bench_function(format!("{fan_in} runs, {name}"), |bencher| {
                    bencher.iter(|| merge_all(runs, record_bytes, count, &mut nodes, &mut ring));
                });
            }
        }
    }
}

/// Merges and checks the order of the first and last records of every block, and the number of all.
fn merge_all(
    runs: &[Run<'_>],
    record_bytes: usize,
    count: usize,
    nodes: &mut [Node],
    ring: &mut [u8],
) {
    let mut merge = Merge::new(Plain, record_bytes, 0, runs, nodes);
    let (mut merged, mut last) = (0, Vec::new());
    for out in (0..BLOCKS).cycle() {
        let out = &mut ring[out * BLOCK_BYTES..][..BLOCK_BYTES];
        let written = merge.fill(out);
        if written == 0 {
            break;
        }
        merged += written;
        assert!(*last <= *key_of(out), "blocks out of order");
        last = key_of(&out[(written - 1) * record_bytes..]).to_vec();
        assert!(*key_of(out) <= *last, "a block out of order");
    }
    assert_eq!(merged, count, "records lost");
}

criterion_group!(benches, gathers, merges);
criterion_main!(benches);
