//! Tables that are in order already, merged.

use crate::{engine, options};
use std::fs;
use std::path::Path;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::keyed::KeyedReport;
use xsort_extsort::lines::LinesInput;
use xsort_extsort::{Error, Unobserved};
use xsort_table::{Keep, TableOptions, TableOutput, sort_table};
use xsort_testing::{Random, for_each_seed};

/// Merges files of these rows. Returns the output and the report.
fn merge(
    options: &TableOptions,
    budget_bytes: u64,
    files: &[Vec<String>],
) -> Result<(String, KeyedReport), Error> {
    let directory = tempfile::tempdir().unwrap();
    let inputs = (0..).zip(files).map(|(number, rows): (u32, _)| {
        let path = directory.path().join(number.to_string());
        fs::write(&path, ["n,text\n", &rows.concat()].concat()).unwrap();
        LinesInput::at(&path)
    });
    let disk = SimDisk::new(SimOptions::rough(5));
    let output = TableOutput::File { path: Path::new("/out/merged"), sync: false };
    let options = TableOptions { merges: true, ..options.clone() };
    let engine = engine(budget_bytes, 2);
    let report = sort_table(&options, &engine, inputs.collect(), output, &disk, &Unobserved);
    let merged = disk.get(Path::new("/out/merged"));
    assert_eq!((report.is_ok(), disk.open_files()), (merged.is_some(), 0));
    Ok((String::from_utf8(merged.unwrap_or_default()).unwrap(), report?))
}

/// A row of CSV with the number of its file. Some have quotes and line ends in their text.
fn row(number: u64, file: usize) -> String {
    match number % 9 {
        0 => format!("{number},\"{file}, \"\"quoted\"\"\r\nof two lines\"\r\n"),
        _ => format!("{number},{file}\n"),
    }
}

#[test]
fn a_merge_is_what_a_stable_sort_makes() {
    for_each_seed("merges of tables", 20, |seed| {
        let random = &mut Random::new(seed);
        let count = random.one_of(&[1, 2, 7, 60]);
        let mut files: Vec<Vec<(u64, String)>> = vec![Vec::new(); count];
        let rows = random.one_of(&[0, 10, 40_000]);
        for _ in 0..rows {
            let (file, number) = (random.below(count), random.between(0, 5_000));
            files[file].push((number, row(number, file)));
        }
        files.iter_mut().for_each(|rows| rows.sort_by_key(|(number, _)| *number));
        let mut expected = files.concat();
        expected.sort_by_key(|(number, _)| *number);
        let keep = random.one_of(&[None, None, Some(Keep::First), Some(Keep::Last)]);
        match keep {
            Some(Keep::First) => expected.dedup_by_key(|(number, _)| *number),
            Some(Keep::Last) => {
                expected.reverse();
                expected.dedup_by_key(|(number, _)| *number);
                expected.reverse();
            }
            None => {}
        }
        let rows_max = random.one_of(&[None, None, Some(17)]);
        expected.truncate(rows_max.map_or(usize::MAX, |rows| rows as usize));
        let texts: Vec<Vec<String>> =
            files.iter().map(|rows| rows.iter().map(|(_, text)| text.clone()).collect()).collect();
        let options = TableOptions { unique: keep, rows_max, ..options("n:int") };
        let (merged, report) = merge(&options, 8 << 20, &texts).unwrap();
        let expected: String = expected.into_iter().map(|(_, text)| text).collect();
        assert!(merged == ["n,text\n", &expected].concat(), "{seed}");
        assert_eq!(report.counted.count(), rows, "{seed}");
        // More files than the memory has blocks for are merged in several passes.
        assert!(count > 7 || report.spilled_bytes == 0, "{seed}: {}", report.spilled_bytes);
        Ok(())
    });
}

#[test]
fn a_file_that_is_not_in_order_is_named_with_its_row() {
    for at in [1, 2, 300, 29_999] {
        let mut rows: Vec<String> = (0..30_000).map(|number| row(2 * number, 0)).collect();
        rows[at] = "-1,out of place\n".into();
        let files = [vec![row(5, 1)], rows];
        let error = merge(&options("n:int"), 8 << 20, &files).unwrap_err().to_string();
        // The header is row 1.
        let number = format!("row {} belongs before the row before it", at + 2);
        assert!(error.contains(&number) && error.contains("-1,out of place"), "{error}");
        assert!(error.contains("/1: ") && error.contains("--merge"), "{error}");
    }
}

#[test]
fn hundreds_of_files_are_merged_in_little_memory() {
    let files: Vec<Vec<String>> =
        (0..400).map(|file| (0..50).map(|n| row(400 * n + file as u64, file)).collect()).collect();
    let mut expected: Vec<(u64, String)> = (0..400u64)
        .flat_map(|file| (0..50).map(move |n| 400 * n + file))
        .map(|n| (n, row(n, (n % 400) as usize)))
        .collect();
    expected.sort();
    let Err(Error::Memory { needed_bytes, .. }) = merge(&options("n:int"), 8 << 20, &files) else {
        panic!("pieces of 400 files take three times this memory");
    };
    assert!(needed_bytes <= 64 << 20, "{needed_bytes}");
    merge(&options("n:int"), needed_bytes, &files).unwrap();
    let (merged, _) = merge(&options("n:int"), 64 << 20, &files).unwrap();
    let expected: String = expected.into_iter().map(|(_, text)| text).collect();
    assert!(merged == ["n,text\n", &expected].concat());
}
