//! Every contender of every contest under criterion; `cargo test --benches` runs tiny ones once.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use xsort_kernel_rivals::contests;

fn rivals(criterion: &mut Criterion) {
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    contests(is_test, &mut |contest| {
        let mut group = criterion.benchmark_group(contest.name);
        group.throughput(Throughput::Elements(contest.records as u64)).sample_size(10);
        for mut contender in contest.contenders {
            let mut has_run = false;
            group.bench_function(contender.name, |bencher| {
                has_run = true;
                bencher.iter(&mut contender.work);
            });
            if has_run {
                (contender.check)();
            }
        }
    });
}

criterion_group!(benches, rivals);
criterion_main!(benches);
