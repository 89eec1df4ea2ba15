//! Sorts of tables that are interrupted at random times, by a stop or a power cut, and resumed.

use crate::{engine, options, row, table};
use std::cmp::Ordering::Equal;
use std::io::Cursor;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::lines::{Content, LinesCheckpoint, LinesInput};
use xsort_extsort::{Begin, Checkpoint, LinesOptions, Observer};
use xsort_table::{Keep, TableOptions, TableOutput, sort_table};
use xsort_testing::{Random, for_each_seed};

/// Stops a job after some progress.
struct Impatient {
    patience: u64,
    done: AtomicU64,
}

impl Observer for Impatient {
    fn phase(&self, _: &str, _: u64) {}
    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Relaxed);
    }
    fn notice(&self, _: &str) {}
    fn is_cancelled(&self) -> bool {
        self.done.load(Relaxed) >= self.patience
    }
}

/// Runs a sort with interruptions. Returns their number.
fn simulate(seed: u64) -> Result<u64, String> {
    let random = &mut Random::new(seed);
    let mut rows: Vec<_> = (0..random.one_of(&[50, 60_000])).map(|_| row(random)).collect();
    let header = b"\xef\xbb\xbfnumber,\"name\",rest\r\n".to_vec();
    let cut = random.between(0, rows.len() as u64) as usize;
    let texts = [table(&header, &rows[..cut]), table(&header, &rows[cut..])];
    let unique = (random.between(0, 3) == 0).then_some(Keep::First);
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    if unique.is_some() {
        rows.dedup_by(|b, a| a.name.cmp(&b.name) == Equal);
    }
    let sorted = table(&header, &rows);
    let smooth = SimOptions { seed, ..SimOptions::default() };
    let settings = if random.between(0, 1) == 0 { SimOptions::rough(seed) } else { smooth };
    let disk = SimDisk::new(settings);
    for (number, text) in (0..).zip(&texts) {
        disk.put(format!("/in/{number}"), text);
    }
    disk.put("/out/sorted", "old");
    let options = TableOptions { unique, ..options("name") };
    let engine = LinesOptions {
        checkpoint: Some(LinesCheckpoint {
            checkpoint: Checkpoint { begin: Begin::Resume, every: Duration::ZERO },
            output: "/out/sorted".into(),
            inputs: vec!["/in/0".into(), "/in/1".into()],
            meaning: format!("{options:?}"),
        }),
        ..engine(random.one_of(&[4 << 20, 8 << 20]), 2)
    };
    let all: u64 = texts.iter().map(|text| text.len() as u64).sum();
    for attempt in 0.. {
        let is_last = random.between(0, 12) == 0;
        let is_stopped = random.between(0, 1) == 0;
        let patience = random.between(0, 3 * all);
        let patience = if is_stopped && !is_last { patience } else { u64::MAX };
        if !is_stopped && !is_last {
            disk.power_goes_after(random.between(0, 100 + 20 * attempt));
        }
        let inputs = (0..).zip(&texts).map(|(number, text)| LinesInput {
            path: format!("/in/{number}").into(),
            bytes: Some(text.len() as u64),
            content: Content::Stream(Box::new(Cursor::new(text.clone()))),
        });
        let to = TableOutput::File { path: "/not/used".as_ref(), sync: true };
        let observer = Impatient { patience, done: AtomicU64::new(0) };
        let result = sort_table(&options, &engine, inputs.collect(), to, &disk, &observer);
        if !is_last && (!is_stopped || random.between(0, 1) == 0) {
            disk.power_cut();
        }
        disk.await_transfers();
        let output = disk.get("/out/sorted").ok_or("no output at all")?;
        match result {
            Ok(_) if output != sorted => return Err(format!("attempt {attempt}: a wrong output")),
            Ok(report)
                if unique.is_none() && report.bytes != (sorted.len() - header.len()) as u64 =>
            {
                return Err(format!("attempt {attempt}: {} bytes of rows reported", report.bytes));
            }
            Ok(_) if disk.open_files() > 0 => return Err("files are open".into()),
            Ok(_) => return Ok(attempt),
            Err(error) if is_last => return Err(format!("attempt {attempt} failed: {error}")),
            Err(_) if output == b"old" || output == sorted => {}
            Err(error) => return Err(format!("the old output is damaged after {error}")),
        }
    }
    unreachable!("the last attempt is not interrupted")
}

#[test]
fn a_sort_of_tables_that_is_interrupted_at_any_time_goes_on() {
    let mut interruptions = 0;
    let tried = for_each_seed("resumed sort of tables", 12, |seed| {
        interruptions += simulate(seed)?;
        Ok(())
    });
    assert!(interruptions > 0 || tried == 1);
}
