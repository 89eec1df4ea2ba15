//! Whether several scratch drives are used as they are fast: sorts on the simulated disk, whose
//! drives take real time.
//!
//! `cargo run --release -p xsort-extsort --example several_drives -- [gib=1.4] [threads=16]
//! [rounds=1]`
//!
//! First three drives of 100, 200 and 400 MB/s, also with the fastest one slowing down to a
//! quarter: what share of scratch each gets, and what it should. Then eight drives of 50 MB/s: a
//! machine of eight drives of 7 GB/s in slow motion, so that the processor is no bound and what is
//! left is whether the pipelines keep eight drives busy. It takes three times the data in memory.
#![allow(clippy::print_stdout)]

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use xsort_disk::{SimDisk, SimDrive, SimOptions, Throttle};
use xsort_extsort::records::Method;
use xsort_extsort::{SortOptions, SortReport, Unobserved, sort};
use xsort_records::{Format, GenerateSpec, Generator, Pattern};

const METHODS: [Method; 2] = [Method::Merge, Method::Scatter];

fn main() -> Result<(), Box<dyn Error>> {
    let bytes = (argument("gib")?.unwrap_or(1.4) * (1u64 << 30) as f64) as u64 / 100 * 100;
    let (rounds, threads): (usize, usize) =
        (argument("rounds")?.unwrap_or(1), argument("threads")?.unwrap_or(16));
    println!(
        "| drives, MB/s | method | should get, % | gets, % | writing, s | at full rate, s \
            |\n|---|---|---|---|---:|---:|"
    );
    for _ in 0..rounds {
        for throttle in [None, Some(Throttle { after_bytes: bytes / 4, share: 0.25 })] {
            for method in METHODS {
                unequal_drives(bytes, throttle, method)?;
            }
        }
    }
    println!("\n| method | phase | s | at full rate, s | share |\n|---|---|---:|---:|---:|");
    for _ in 0..rounds {
        for method in METHODS {
            eight_drives(bytes, threads, method)?;
        }
    }
    Ok(())
}

fn unequal_drives(
    bytes: u64,
    throttle: Option<Throttle>,
    method: Method,
) -> Result<(), Box<dyn Error>> {
    let rates = [100e6, 200e6, 400e6];
    let mut drives: Vec<SimDrive> =
        rates.iter().map(|rate| SimDrive::new(format!("/scratch/{rate}"), *rate)).collect();
    drives[2].throttle = throttle;
    let scratch = drives.iter().map(|drive| drive.directory.clone()).collect();
    let report = run(drives, scratch, bytes, 128 << 20, 2, method)?;
    let placed: Vec<f64> = report.scratch.iter().map(|(_, bytes)| *bytes as f64).collect();
    let (ideal, seconds) = ideal(&rates, throttle, placed.iter().sum());
    let writing = report.phases.iter().find(|phase| ["form runs", "scatter"].contains(&phase.name));
    let note = if throttle.is_some() { "100, 200, 400 then 100" } else { "100, 200, 400" };
    println!(
        "| {note} | {method:?} | {} | {} | {:.2} | {seconds:.2} |",
        percent(&ideal),
        percent(&placed),
        writing.map_or(0.0, |phase| phase.seconds),
    );
    Ok(())
}

/// What each drive would write if none ever waited, and how long that takes. Only the last one
/// slows down.
fn ideal(rates: &[f64], throttle: Option<Throttle>, bytes: f64) -> (Vec<f64>, f64) {
    let mut slowed = rates.to_vec();
    let last = slowed.last_mut().expect("there are drives");
    let before = throttle.map_or(f64::INFINITY, |throttle| throttle.after_bytes as f64 / *last);
    *last *= throttle.map_or(1.0, |throttle| throttle.share);
    let whole = bytes / rates.iter().sum::<f64>();
    if whole <= before {
        return (rates.iter().map(|rate| rate * whole).collect(), whole);
    }
    let after = (bytes - rates.iter().sum::<f64>() * before) / slowed.iter().sum::<f64>();
    let moved = rates.iter().zip(&slowed).map(|(rate, slow)| rate * before + slow * after);
    (moved.collect(), before + after)
}

fn percent(parts: &[f64]) -> String {
    let whole: f64 = parts.iter().sum();
    parts.iter().map(|part| format!("{:.1}", 100.0 * part / whole)).collect::<Vec<_>>().join(" ")
}

fn eight_drives(bytes: u64, threads: usize, method: Method) -> Result<(), Box<dyn Error>> {
    const RATE: f64 = 50e6;
    // A drive of 7 GB/s needs some 80 microseconds beside its rate; this one is so many times
    // slower.
    let latency = Duration::from_secs_f64(80e-6 * 7e9 / RATE);
    let drive = |directory: String, rate| SimDrive { latency, ..SimDrive::new(directory, rate) };
    let mut drives: Vec<SimDrive> =
        (0..8).map(|number| drive(format!("/scratch/{number}"), RATE)).collect();
    let scratch: Vec<PathBuf> = drives.iter().map(|drive| drive.directory.clone()).collect();
    // Input and output on an array that is as fast as the eight together.
    drives.push(SimDrive { is_duplex: true, ..drive("/array".to_owned(), 8.0 * RATE) });
    let report = run(drives, scratch, bytes, bytes / 3, threads, method)?;
    for phase in report.phases.iter().filter(|phase| phase.read_bytes > bytes / 2) {
        // One direction is scratch, the other is the array: the larger one is the bound.
        let ideal = phase.read_bytes.max(phase.written_bytes) as f64 / (8.0 * RATE);
        let (name, seconds) = (phase.name, phase.seconds);
        println!(
            "| {method:?} | {name} | {seconds:.2} | {ideal:.2} | {:.0}% |",
            100.0 * ideal / seconds
        );
    }
    Ok(())
}

fn run(
    drives: Vec<SimDrive>,
    scratch: Vec<PathBuf>,
    bytes: u64,
    budget_bytes: u64,
    threads: usize,
    method: Method,
) -> Result<SortReport, Box<dyn Error>> {
    let format = Format::Gensort;
    let spec = GenerateSpec {
        format,
        skewed: false,
        pattern: Pattern::Uniform,
        start: 0,
        seed: 7,
        total: bytes / 100,
    };
    let disk = SimDisk::new(SimOptions { drives, ..SimOptions::default() });
    let mut records = vec![0; bytes as usize];
    Generator::new(spec)?.fill(0, &mut records);
    disk.put("/array/in", &records);
    drop(records);
    let options = SortOptions {
        inputs: vec!["/array/in".into()],
        output: "/array/out".into(),
        method,
        scratch,
        sync: false,
        ..SortOptions::new(format.layout(), budget_bytes, threads)
    };
    Ok(sort(&options, &disk, &Unobserved)?)
}

/// The value of `name=...`.
fn argument<T: FromStr<Err: Error + 'static>>(name: &str) -> Result<Option<T>, Box<dyn Error>> {
    let given = env::args()
        .skip(1)
        .find_map(|text| Some(text.strip_prefix(name)?.strip_prefix('=')?.to_owned()));
    Ok(given.map(|text| text.parse()).transpose()?)
}
