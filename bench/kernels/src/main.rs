//! Rounds: all contenders of a contest take turns, so that a machine's bad minutes are everyone's.
//!
//! `cargo run --release -- [ROUNDS [NAME]]` runs the contests whose name contains NAME and prints a
//! table of each.

use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;
use xsort_kernel_rivals::{Contest, contests};

/// What a contender took, in ns a record.
struct Turn {
    wall: f64,
    /// Of all threads.
    processor: f64,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().map_or(7, |rounds| rounds.parse().expect("a number of rounds"));
    let name = arguments.next().unwrap_or_default();
    contests(false, &mut |contest| {
        if contest.name.contains(&name) {
            run(contest, rounds);
        }
    });
}

fn run(mut contest: Contest<'_>, rounds: usize) {
    let records = contest.records;
    let turns: Vec<Vec<Turn>> = (0..rounds + 1)
        .map(|_| {
            let turn = |contender: &mut xsort_kernel_rivals::Contender<'_>| {
                let turn = time(&mut contender.work, records);
                (contender.check)();
                turn
            };
            contest.contenders.iter_mut().map(turn).collect()
        })
        // The first one warms up.
        .skip(1)
        .collect();
    println!("\n### {}, ns a record\n", contest.name);
    println!(
        "| contender | processor, least | beside xsort's, median | wall, least |\n|---|---|---|---|"
    );
    for (place, contender) in contest.contenders.iter().enumerate() {
        let least = |of: fn(&Turn) -> f64| {
            turns.iter().map(|round| of(&round[place])).fold(f64::INFINITY, f64::min)
        };
        let (processor, wall) = (least(|turn| turn.processor), least(|turn| turn.wall));
        let ratio = median(turns.iter().map(|round| round[place].processor / round[0].processor));
        println!("| {} | {processor:.1} | {ratio:.2} | {wall:.1} |", contender.name);
    }
}

fn time(work: &mut dyn FnMut(), records: usize) -> Turn {
    let processor_seconds = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let (wall, processor) = (Instant::now(), processor_seconds());
    work();
    let each = |seconds: f64| seconds * 1e9 / records as f64;
    Turn {
        wall: each(wall.elapsed().as_secs_f64()),
        processor: each(processor_seconds() - processor),
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
