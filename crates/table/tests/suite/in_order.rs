//! Tables that are in order already, or that only look so at the places that are sampled.

use crate::{engine, options};
use std::fs;
use std::path::Path;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::keyed::KeyedReport;
use xsort_extsort::lines::LinesInput;
use xsort_extsort::{LinesOptions, Unobserved};
use xsort_table::{RowFormat, TableOptions, TableOutput, sort_table};
use xsort_testing::{Random, for_each_seed};

const ROWS: u64 = 150_000;
const BUDGET_BYTES: u64 = 4 << 20;

/// Sorts files with these rows by their number. Returns the output and the report.
fn sort(options: &TableOptions, header: &str, files: &[Vec<String>]) -> (String, KeyedReport) {
    let directory = tempfile::tempdir().unwrap();
    let inputs = (0..).zip(files).map(|(number, rows): (u32, _)| {
        let path = directory.path().join(number.to_string());
        fs::write(&path, [header, &rows.concat()].concat()).unwrap();
        LinesInput::at(&path)
    });
    let disk = SimDisk::new(SimOptions::rough(5));
    let engine = LinesOptions { threads: 2, ..engine(BUDGET_BYTES, 2) };
    let output = TableOutput::File { path: Path::new("/out/sorted"), sync: false };
    let report =
        sort_table(options, &engine, inputs.collect(), output, &disk, &Unobserved).unwrap();
    let sorted = disk.get(Path::new("/out/sorted")).unwrap();
    (String::from_utf8(sorted).unwrap(), report)
}

/// A row of CSV. Some have commas, quotes and line ends in their text.
fn row(number: u64) -> String {
    match number % 50 {
        0 => format!("{},\"a \"\"quoted\"\", text\r\nof two lines\"\r\n", number / 3),
        _ => format!("{},a text of some length\n", number / 3),
    }
}

#[test]
fn tables_in_order_never_go_to_scratch() {
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    let (first, rest) = rows.split_at(50_000);
    for files in [vec![rows.clone()], vec![first.to_vec(), rest.to_vec()]] {
        let (sorted, report) = sort(&options("n:int"), "n,text\n", &files);
        assert!(sorted == ["n,text\n", &rows.concat()].concat());
        assert_eq!((report.spilled_bytes, report.counted.count()), (0, ROWS));
    }
    let rows: Vec<String> =
        (0..ROWS).map(|n| format!("{{\"n\":{n},\"t\":\"a text of some length\"}}\n")).collect();
    let options = TableOptions { format: RowFormat::Ndjson, ..options(".n:int") };
    let (sorted, report) = sort(&options, "", std::slice::from_ref(&rows));
    assert!(sorted == rows.concat());
    assert_eq!(report.spilled_bytes, 0);
}

/// Stretches of rows, and rows in any order at the end.
#[test]
fn sorted_stretches_of_rows_are_merged_where_they_are() {
    for (stretches, has_rest) in [(1, true), (2, false), (7, false), (5, true)] {
        let (mut rest, numbers): (Vec<u64>, Vec<u64>) =
            (0..ROWS).partition(|number| has_rest && number % 80 == 0);
        rest.sort_by_key(|number| number * 7_919 % 10_007);
        let dealt = |first| numbers.iter().skip(first).step_by(stretches).copied();
        let mut numbers: Vec<u64> = (0..stretches).flat_map(dealt).collect();
        numbers.extend(rest);
        let rows: Vec<String> = numbers.iter().copied().map(row).collect();
        let (sorted, report) = sort(&options("n:int"), "n,text\n", std::slice::from_ref(&rows));
        numbers.sort_by_key(|number| number / 3);
        let expected: String = numbers.into_iter().map(row).collect();
        assert!(sorted == ["n,text\n", &expected].concat(), "{stretches} {has_rest}");
        assert_eq!((report.counted.count(), report.bytes), (ROWS, rows.concat().len() as u64));
        assert!(report.spilled_bytes < 600_000, "{stretches}: {}", report.spilled_bytes);
    }
}

#[test]
fn rows_that_only_look_sorted_are_sorted() {
    let mut wrong = 0;
    let tried = for_each_seed("tables nearly in order", 6, |seed| {
        let mut random = Random::new(seed);
        let mut numbers: Vec<u64> = (0..ROWS).collect();
        let (at, other) = (random.below(ROWS as usize), random.below(ROWS as usize));
        match random.below(3) {
            0 => numbers.swap(at, other),
            1 => numbers.swap(at, at.saturating_sub(900)),
            _ => numbers[at.min(other)..at.max(other)].reverse(),
        }
        let rows: Vec<String> = numbers.iter().copied().map(row).collect();
        let (sorted, report) = sort(&options("n:int"), "n,text\n", std::slice::from_ref(&rows));
        // Stable: rows with equal numbers keep their order.
        numbers.sort_by_key(|number| number / 3);
        let expected: String = numbers.into_iter().map(row).collect();
        assert!(sorted == ["n,text\n", &expected].concat(), "{seed}");
        assert_eq!((report.counted.count(), report.bytes), (ROWS, rows.concat().len() as u64));
        wrong += u32::from(report.spilled_bytes > 0);
        Ok(())
    });
    assert!(tried < 6 || wrong > 0, "{wrong}");
}
