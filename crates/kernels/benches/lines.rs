//! Lines: entries made and sorted, and runs of them merged, for short, long and alike lines.
//!
//! `cargo bench -p xsort-kernels --bench lines`

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use xsort_kernels::Caches;
use xsort_kernels::lines::{ByBytes, Entries, Entry, LineMerge, Lines, Merge, for_each_line, sort};

const LINES: usize = 1_000_000;
const RUNS: usize = 8;

/// Its name, and a line made of a number.
type Shape = (&'static str, fn(u64) -> String);

fn text(line: impl Fn(u64) -> String) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut text = Vec::new();
    for _ in 0..LINES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.extend_from_slice(line(state >> 20).as_bytes());
        text.push(b'\n');
    }
    text
}

fn sorted(text: &[u8]) -> Vec<Entry> {
    let mut lines = 0;
    for_each_line(text, b'\n', |_, _| lines += 1);
    let mut entries = vec![Entry::default(); lines];
    let mut spare = entries.clone();
    sort(&ByBytes, text, b'\n', &mut entries, &mut spare, Caches::default(), true);
    entries
}

fn benches(criterion: &mut Criterion) {
    let shapes: [Shape; 4] = [
        ("numbers", |number| (number % 100_000_000).to_string()),
        ("17 bytes", |number| format!("{:08}abcdefgh", number % 100_000_000)),
        ("alike", |number| {
            format!("https://www.example.com/a/path/that/all/share/{:09}", number % 1_000_000_000)
        }),
        ("few", |number| format!("word{}", number % 200)),
    ];
    for (name, line) in shapes {
        let text = text(line);
        let mut group = criterion.benchmark_group(format!("lines/{name}"));
        group.sample_size(10).throughput(Throughput::Elements(LINES as u64));
        let mut entries = vec![Entry::default(); LINES];
        let mut spare = entries.clone();
        group.bench_function("sort", |bencher| {
            bencher.iter(|| {
                sort(
                    &ByBytes,
                    black_box(&text),
                    b'\n',
                    &mut entries,
                    &mut spare,
                    Caches::default(),
                    true,
                );
            });
        });
        let ends: Vec<usize> = (0..=RUNS)
            .map(|run| {
                let from = text.len() * run / RUNS;
                text[from..]
                    .iter()
                    .position(|&byte| byte == b'\n')
                    .map_or(text.len(), |end| from + end + 1)
            })
            .collect();
        let texts: Vec<&[u8]> = (0..RUNS)
            .map(|run| &text[if run == 0 { 0 } else { ends[run] }..ends[run + 1]])
            .collect();
        let entries: Vec<Vec<Entry>> = texts.iter().map(|text| sorted(text)).collect();
        let runs: Vec<Lines<'_>> = texts
            .iter()
            .zip(&entries)
            .map(|(text, entries)| Lines::Ordered { text, entries: Entries::OneWord(entries) })
            .collect();
        let mut out = vec![0; 1 << 20];
        group.bench_function("merge 8 runs", |bencher| {
            bencher.iter(|| {
                let mut merge = Merge::new(&ByBytes, b'\n', false, &runs, None, None);
                while !merge.is_done() {
                    black_box(merge.fill(&mut out));
                }
                assert_eq!(merge.taken(), LINES as u64);
            });
        });
        group.finish();
    }
}

criterion_group!(lines, benches);
criterion_main!(lines);
