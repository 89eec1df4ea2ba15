//! Merges of inputs that are in order, compared with the standard library's stable sort.
//! Simulations with trouble are in `simulation.rs`.

use crate::simulation::{layout, records};
use crate::sort::{generated, options as sort_options, oracle};
use std::path::{Path, PathBuf};
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::records::Method;
use xsort_extsort::{Error, SortOptions, SortReport, Unobserved, sort};
use xsort_records::{Format, Key, Layout, Pattern};
use xsort_testing::{Random, for_each_seed};

/// Merges `files`, with more memory if the budget is too small. Returns the report and the output.
fn merge(
    layout: &Layout,
    files: &[Vec<u8>],
    (budget_bytes, threads): (u64, usize),
) -> (Result<SortReport, Error>, Option<Vec<u8>>) {
    let disk = SimDisk::new(SimOptions::rough(11));
    let path = |number: usize| PathBuf::from(format!("in{number}"));
    files.iter().enumerate().for_each(|(number, bytes)| disk.put(path(number), bytes));
    let mut options = SortOptions {
        inputs: (0..files.len()).map(path).collect(),
        method: Method::MergeInputs,
        ..sort_options(layout, Path::new(""), budget_bytes, threads)
    };
    let mut report = sort(&options, &disk, &Unobserved);
    if let Err(Error::Memory { needed_bytes, .. }) = report {
        options.budget_bytes = needed_bytes;
        report = sort(&options, &disk, &Unobserved);
    }
    assert_eq!(disk.open_files(), 0);
    assert_eq!(disk.paths().len(), files.len() + usize::from(report.is_ok()));
    (report, disk.get(&options.output))
}

#[test]
fn inputs_in_order_are_merged_where_they_are() {
    for_each_seed("merges of inputs in order", 40, |seed| {
        let random = &mut Random::new(seed);
        let layout = layout(random);
        let files = (0..random.one_of(&[1, 2, 3, 9, 40]))
            .map(|_| oracle(&layout, &records(random, &layout)))
            .collect::<Vec<_>>();
        let budget_bytes = random.one_of(&[0, 1 << 20, 5 << 20, 64 << 20]);
        let threads = random.between(1, 4) as usize;
        let (report, output) = merge(&layout, &files, (budget_bytes, threads));
        let report = report.map_err(|error| error.to_string())?;
        let all = files.concat();
        if output.is_none_or(|output| output != oracle(&layout, &all)) {
            return Err(format!("wrong output of {}", report.plan));
        }
        let is_one_pass = report.moved.written_bytes < all.len() as u64 + (1 << 20);
        let is_whole = report.records == (all.len() / layout.record_bytes()) as u64;
        if is_one_pass && is_whole && report.spilled_bytes == 0 { Ok(()) } else { Err("".into()) }
    });
}

/// Whatever is out of order, the first such record of the first such file is named.
#[test]
fn the_first_record_out_of_order_is_named() {
    let layout = Format::Gensort.layout();
    let sorted = oracle(&layout, &generated(Format::Gensort, Pattern::Uniform, 60_000));
    for_each_seed("merges of inputs out of order", 24, |seed| {
        let random = &mut Random::new(seed);
        let mut records: Vec<&[u8]> = sorted.chunks(100).collect();
        let (at, other) = (random.below(60_000), random.below(60_000));
        match random.below(4) {
            0 => records.swap(at, other),
            1 => records.swap(at, at.saturating_sub(1)),
            2 => records[at.min(other)..at.max(other)].reverse(),
            _ => records.rotate_left(at),
        }
        let rule = layout.rule();
        let first = records.windows(2).position(|two| rule.compare(two[0], two[1]).is_gt());
        let files = [sorted[..1_000_000].to_vec(), records.concat(), sorted.clone()];
        let threads = random.between(1, 3) as usize;
        let budget_bytes = random.one_of(&[0, 16 << 20]);
        let (report, output) = merge(&layout, &files, (budget_bytes, threads));
        match (report, first) {
            (Ok(_), None) => Ok(()),
            (Err(Error::Unordered { path, reason }), Some(first)) => {
                let place = format!("record {}, at byte {},", first + 2, (first + 1) * 100);
                let is_named = path == Path::new("in1") && reason.starts_with(&place);
                if is_named && output.is_none() { Ok(()) } else { Err(reason) }
            }
            (result, first) => Err(format!("{first:?}: {result:?}")),
        }
    });
}

#[test]
fn a_merge_of_too_many_inputs_names_the_budget() {
    let layout = Format::Gensort.layout();
    let files = vec![generated(Format::Gensort, Pattern::Sorted, 10); 300];
    let disk = SimDisk::new(SimOptions::default());
    let path = |number: usize| PathBuf::from(format!("in{number}"));
    files.iter().enumerate().for_each(|(number, bytes)| disk.put(path(number), bytes));
    let mut options = SortOptions {
        inputs: (0..files.len()).map(path).collect(),
        method: Method::MergeInputs,
        ..sort_options(&layout, Path::new(""), 1 << 20, 2)
    };
    let Err(Error::Memory { needed_bytes, .. }) = sort(&options, &disk, &Unobserved) else {
        panic!("300 blocks of two pages don't fit")
    };
    assert!((2 << 20..4 << 20).contains(&needed_bytes), "{needed_bytes}");
    options.budget_bytes = needed_bytes;
    sort(&options, &disk, &Unobserved).unwrap();
    assert!(disk.get(&options.output).unwrap() == oracle(&layout, &files.concat()));
}
