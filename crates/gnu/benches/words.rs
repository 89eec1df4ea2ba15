//! Nanoseconds of a word, and of a comparison, of each kind of order, on one thread.
//!
//! A thousand lines stay in the first-level cache, so that the code is measured and not the memory.
//! The words of the lines are checked against comparison, so that a fast wrong answer fails. `cargo
//! test` runs each benchmark once.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use xsort_gnu::Locale;
use xsort_gnu::sort::{Environment, Order, Request, Scratch, parse};

const LINES: usize = 1000;

/// Command lines, and the lines they sort: five fields, apart by colons or by blanks.
const ORDERS: [(&str, Shape); 22] = [
    ("", Shape::Colons),
    ("-r", Shape::Colons),
    ("-n", Shape::Number),
    ("-nr", Shape::Number),
    ("-g", Shape::Number),
    ("-h", Shape::Number),
    ("-t: -k2,2n", Shape::Colons),
    ("-t: -k5,5n", Shape::Colons),
    ("-k2,2n", Shape::Blanks),
    ("-t: -k3", Shape::Colons),
    ("-t: -k3,3", Shape::Colons),
    ("-k3,3", Shape::Blanks),
    ("-t: -k3,3r", Shape::Colons),
    ("-t: -k3,3 -k2,2n", Shape::Colons),
    ("-f", Shape::Colons),
    ("-d", Shape::Colons),
    ("-i", Shape::Colons),
    ("-b", Shape::Blanks),
    ("-t: -k4,4M", Shape::Colons),
    ("-t: -k1,1V", Shape::Colons),
    ("-t: -k2,2g", Shape::Colons),
    ("-R", Shape::Colons),
];

#[derive(Clone, Copy)]
enum Shape {
    Number,
    Colons,
    Blanks,
}

fn lines(shape: Shape) -> Vec<Vec<u8>> {
    let months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let line = |at: usize| {
        let mixed = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let number = format!("{}.{:02}", (mixed >> 40) as u32, mixed % 100);
        let separator = if let Shape::Blanks = shape { ' ' } else { ':' };
        let month = months[(mixed >> 32) as usize % 12];
        match shape {
            Shape::Number => number,
            _ => format!(
                "v{major}.{minor}-Rc1{s}{number}{s}{mixed:016x}{s}{month}{s}{at}",
                major = mixed >> 60,
                minor = mixed >> 52 & 0xFF,
                s = separator
            ),
        }
    };
    (0..LINES).map(|at| line(at).into_bytes()).collect()
}

fn order(command: &str) -> Order {
    let environment = Environment::new(|_| None, Locale::c());
    match parse(command.split_whitespace(), &environment) {
        Ok(Request::Run(command)) => Order::new(&command, &Locale::c(), [7; 16]),
        other => panic!("{command} is {other:?}"),
    }
}

/// Fails if the words order the lines otherwise than comparison does.
fn check(order: &Order, lines: &[Vec<u8>], words: &[u64]) {
    let mut scratch = Scratch::default();
    for (pair, words) in lines.windows(2).zip(words.windows(2)) {
        let compared = order.compare(&pair[0], &pair[1], &mut scratch);
        assert!(words[0] == words[1] || words[0].cmp(&words[1]) == compared);
    }
}

fn measure(criterion: &mut Criterion) {
    for (command, shape) in ORDERS {
        let (order, lines, mut scratch) = (order(command), lines(shape), Scratch::default());
        let mut group = criterion.benchmark_group(format!("sort {command}"));
        group.throughput(Throughput::Elements(LINES as u64));
        let mut words = Vec::with_capacity(LINES);
        group.bench_function("words", |bencher| {
            bencher.iter(|| {
                words.clear();
                order.words(
                    black_box(&lines).iter().map(Vec::as_slice),
                    0,
                    &mut scratch,
                    &mut words,
                );
                words.last().copied()
            });
        });
        check(&order, &lines, &words);
        group.bench_function("compare", |bencher| {
            bencher.iter(|| {
                let mut less =
                    |pair: &[Vec<u8>]| order.compare(&pair[0], &pair[1], &mut scratch).is_lt();
                black_box(&lines).windows(2).filter(|pair| less(pair)).count()
            });
        });
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(100))
        .measurement_time(std::time::Duration::from_millis(500))
        .sample_size(20)
        .configure_from_args();
    measure(&mut criterion);
    criterion.final_summary();
}
