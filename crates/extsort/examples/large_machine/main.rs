//! What would bound a sort on a machine with many cores and drives, from what its roles cost here.
//!
//! `cargo run --release -p xsort-extsort --example large_machine -- [gib=2] [threads=1,2,4,8,16,32]
//! [rounds=1] [directory=DIRECTORY] [rate=2.4]`
//!
//! Sorts records of 100 bytes on the simulated disk with up to 32 threads, by both methods, with as
//! many runs and bins as so much data can have in blocks of 1 MiB, and counts the processor time of
//! workers, coordinator and cuts. With a directory it also sorts there, for what the coordinator
//! and the lanes cost with a real disk, and compares the model, for a drive of `rate` GB/s, with
//! the clock. Then it says for some machines how long a terabyte would take, and which stage would
//! be the bound.
//!
//! It takes three times the data in memory, and in the directory.
#![allow(clippy::print_stdout)]

mod costs;
mod model;

use costs::{Cost, Cuts, measure};
use model::{Bounds, Costs, Machine, bounds};
use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Instant;
use xsort_disk::{Disk, DiskOptions, InputFiles, OsDisk, SimDisk, SimOptions};
use xsort_extsort::records::{Facts, Method, Plan, Shape, plan};
use xsort_extsort::{GenerateOptions, SortOptions, Unobserved, generate};
use xsort_records::{Format, GenerateSpec, Generator, Pattern};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const METHODS: [Method; 2] = [Method::Merge, Method::Scatter];

fn main() -> Result<(), Box<dyn Error>> {
    let bytes = (argument::<f64>("gib")?.unwrap_or(2.0) * GIB as f64) as u64 / 1000 * 1000;
    let threads = argument::<String>("threads")?.unwrap_or("1,2,4,8,16,32".to_owned());
    let sorts = simulated_sorts(bytes, &threads, argument("rounds")?.unwrap_or(1))?;
    let real = match argument::<PathBuf>("directory")? {
        Some(directory) => real_sorts(&directory, bytes)?,
        None => Vec::new(),
    };
    let costs = Costs::of(&sorts, &real);
    println!("\n{costs}");
    print_comparison(&costs, &real, argument::<f64>("rate")?.unwrap_or(2.4) * 1e9);
    print_machines(&costs);
    print_lock();
    Ok(())
}

/// What a lock costs that many threads want all the time, with as little under it as `Traffic` has.
/// Of transfers a millisecond apart none ever waits.
fn print_lock() {
    const TURNS: u32 = 200_000;
    println!();
    for threads in [1, 2, 32] {
        let count = Mutex::new(0_u64);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| (0..TURNS).for_each(|_| *count.lock().expect("nobody panics") += 1));
            }
        });
        let turns = count.into_inner().expect("nobody panics");
        let nanoseconds = begun.elapsed().as_nanos() as f64 / turns as f64;
        println!("a lock with {threads} threads at it all the time: {nanoseconds:.0} ns a turn");
    }
}

/// Sorts on the simulated disk, and a row for each phase.
fn simulated_sorts(bytes: u64, threads: &str, rounds: usize) -> Result<Vec<Cost>, Box<dyn Error>> {
    /// Several, so that a part at a time is made.
    const FILES: u64 = 8;
    let disk = SimDisk::new(SimOptions { threads: 2, ..SimOptions::default() });
    let generator = generator(bytes)?;
    let mut inputs = Vec::new();
    let mut part = vec![0; (bytes / FILES / 100 * 100) as usize];
    for number in 0..FILES {
        generator.fill(number * part.len() as u64 / 100, &mut part);
        inputs.push(PathBuf::from(format!("/in/{number}")));
        disk.put(&inputs[number as usize], &part);
    }
    drop(part);
    println!(
        "| threads | phase | runs or bins | workers, µs/MiB | coordinator | cuts | a search, ns | \
            a share, ns |"
    );
    println!("|---:|---|---:|---:|---:|---:|---:|---:|");
    let mut sorts = Vec::new();
    for _ in 0..rounds {
        for threads in threads.split(',').map(str::parse) {
            let threads = threads?;
            for method in METHODS {
                let Some(budget_bytes) = least_budget(bytes, threads, method) else { continue };
                let options = options(&inputs, "/out", method, threads, budget_bytes);
                let cost = measure(&disk, &options)?;
                print_phases(&cost);
                sorts.push(cost);
            }
        }
    }
    Ok(sorts)
}

/// Sorts on a drive, and a row for each phase.
fn real_sorts(directory: &Path, bytes: u64) -> Result<Vec<Cost>, Box<dyn Error>> {
    let disk = OsDisk::new(DiskOptions::default())?;
    let (input, output) = (directory.join("large_machine.in"), directory.join("large_machine.out"));
    let threads = std::thread::available_parallelism()?.get();
    generate(
        &GenerateOptions {
            generator: generator(bytes)?,
            output: input.clone(),
            budget_bytes: 64 * MIB,
            threads,
            sync: false,
        },
        &disk,
        &Unobserved,
    )?;
    let sort = |method| {
        measure(&disk, &options(std::slice::from_ref(&input), &output, method, threads, bytes / 8))
    };
    let sorts = METHODS.map(sort).into_iter().collect::<Result<Vec<Cost>, _>>();
    let input = disk.open_input(&input)?;
    disk.remove_input(input)?;
    disk.close(input);
    let sorts = sorts?;
    println!("\nOn a drive, {}:\n", disk.describe());
    sorts.iter().for_each(print_phases);
    Ok(sorts)
}

fn print_phases(cost: &Cost) {
    let plan = &cost.report.plan;
    let ways = match &plan.shape {
        Shape::Merge(_) | Shape::MergeInputs(_) => plan.chunks,
        Shape::Scatter(shape) => shape.bins,
    };
    for phase in cost.phases.iter().filter(|phase| phase.name != "publish") {
        let (workers, coordinator) = (phase.workers / 1e3, phase.coordinator / 1e3);
        print!("| {} | {} | {ways} | {workers:.0} | {coordinator:.1} |", plan.threads, phase.name);
        match (cost.search(), cost.share()) {
            (Some(search), Some(share)) if phase.name == "merge" => {
                println!(" {:.1} | {search:.0} | {share:.0} |", cost.stage("cut_busy") / 1e3);
            }
            _ => println!(" | | |"),
        }
    }
}

/// What the model says of the sorts that ran on a drive, beside what they took.
fn print_comparison(costs: &Costs, real: &[Cost], drive_rate: f64) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for cost in real {
        let machine =
            Machine { drives: 1, drive_rate, cores, budget_bytes: cost.report.plan.budget_bytes };
        for bounds in bounds(costs, &machine, &cost.report.plan) {
            let measured = cost.report.phases.iter().find(|phase| phase.name == bounds.name);
            println!(
                "{}: by the model {:.2} s ({}), measured {:.2} s",
                bounds.name,
                bounds.seconds(),
                bounds.bound().0,
                measured.map_or(0.0, |phase| phase.seconds)
            );
        }
    }
}

/// A row for each phase of a sort on machines that aren't here: the rates in GB of input a second
/// that each stage could carry.
fn print_machines(costs: &Costs) {
    let large =
        |drives, cores, gib| Machine { drives, drive_rate: 7e9, cores, budget_bytes: gib * GIB };
    // What this drive did when the first sorts were measured:
    // docs/experiments/2026-11-21-first-sorts.md.
    let here = Machine { drives: 1, drive_rate: 2.4e9, cores: 2, budget_bytes: GIB };
    let machines = [
        (8_000_000_000, here),
        (1_000_000_000_000, large(4, 16, 16)),
        (1_000_000_000_000, large(8, 32, 16)),
        (1_000_000_000_000, large(8, 32, 64)),
        (1_000_000_000_000, large(8, 64, 64)),
    ];
    println!(
        "\n| drives, cores, memory | phase | runs or bins | segment | drives | cores | \
            coordinator | lanes | before | after | s | bound |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|");
    for (bytes, machine) in machines {
        for method in METHODS {
            let plan = plan_of(bytes, machine.budget_bytes, machine.cores, method);
            let plan = plan.expect("these machines can sort so much");
            bounds(costs, &machine, &plan)
                .iter()
                .for_each(|bounds| print_bounds(&machine, &plan, bounds));
        }
    }
}

fn print_bounds(machine: &Machine, plan: &Plan, bounds: &Bounds) {
    let Machine { drives, cores, budget_bytes, .. } = machine;
    let (ways, segment) = match (&plan.shape, Cuts::of(plan)) {
        (Shape::Scatter(shape), _) => (shape.bins, String::new()),
        (_, cuts) => {
            let bytes = cuts.map_or(0.0, |cuts| cuts.segment_blocks * plan.block_bytes as f64);
            (plan.chunks, format!("{:.0} MiB", bytes / MIB as f64))
        }
    };
    print!(
        "| {drives}, {cores}, {} GiB | {} | {ways} | {segment} |",
        budget_bytes / GIB,
        bounds.name
    );
    for (_, seconds) in bounds.stages {
        print!(" {:.1} |", plan.bytes as f64 / 1e9 / seconds);
    }
    let (bound, _) = bounds.bound();
    println!(
        " {:.2} s | {:.2} s | {:.1} | {bound} |",
        bounds.before,
        bounds.after,
        bounds.seconds()
    );
}

fn generator(bytes: u64) -> Result<Generator, Box<dyn Error>> {
    let spec = GenerateSpec {
        format: Format::Gensort,
        skewed: false,
        pattern: Pattern::Uniform,
        start: 0,
        seed: 7,
        total: bytes / 100,
    };
    Ok(Generator::new(spec)?)
}

/// A sort of records of 100 bytes.
fn options(
    inputs: &[PathBuf],
    output: impl Into<PathBuf>,
    method: Method,
    threads: usize,
    budget_bytes: u64,
) -> SortOptions {
    SortOptions {
        inputs: inputs.to_vec(),
        output: output.into(),
        method,
        sync: false,
        ..SortOptions::new(Format::Gensort.layout(), budget_bytes, threads)
    }
}

fn plan_of(bytes: u64, budget_bytes: u64, threads: usize, method: Method) -> Option<Plan> {
    let facts = Facts {
        input_bytes: vec![bytes],
        record_bytes: 100,
        key_bytes: 10,
        budget_bytes,
        threads,
        method,
        codec: None,
        may_keep: true,
        in_place: false,
    };
    plan(&facts).ok()
}

/// The least budget with one pass over scratch in blocks of 1 MiB: it makes the most runs or bins.
fn least_budget(bytes: u64, threads: usize, method: Method) -> Option<u64> {
    (1..bytes / (8 * MIB)).map(|step| step * 8 * MIB).find(|&budget_bytes| {
        plan_of(bytes, budget_bytes, threads, method).is_some_and(|plan| {
            let passes = match &plan.shape {
                Shape::Merge(shape) | Shape::MergeInputs(shape) => shape.merge_passes,
                Shape::Scatter(shape) => shape.levels,
            };
            passes == 1 && plan.block_bytes == MIB && plan.threads == threads
        })
    })
}

/// The value of `name=...`.
fn argument<T: FromStr<Err: Error + 'static>>(name: &str) -> Result<Option<T>, Box<dyn Error>> {
    let given = env::args()
        .skip(1)
        .find_map(|text| Some(text.strip_prefix(name)?.strip_prefix('=')?.to_owned()));
    Ok(given.map(|text| text.parse()).transpose()?)
}
