//! Rows of text along space-filling curves.

use super::{engine, input};
use std::fs;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::Unobserved;
use xsort_extsort::lines::LinesInput;
use xsort_table::{Dialect, RowFormat, TableOptions, TableOutput, check_table, sort_table};

/// Rows of two numbers, one of them in quotes and with line ends in the field before it.
fn rows(count: u64) -> Vec<(u64, u64, String)> {
    let row = |number: u64| {
        let (x, y) = (number * 7_919 % count, number * number % 1_009 * 1_000_003);
        (x, y, format!("\"a\n{number}\",{x},\"{y}\"\n"))
    };
    (0..count).map(row).collect()
}

/// The rows in the order of the bits of their ranks, in turn.
fn expected(rows: &[(u64, u64, String)]) -> Vec<&str> {
    let rank = |of: &dyn Fn(&(u64, u64, String)) -> u64| -> Vec<u64> {
        let less = |row| rows.iter().filter(|other| of(other) < of(row)).count() as u64;
        rows.iter().map(|row| less(row) * 65_535 / rows.len() as u64).collect()
    };
    let (x, y) = (rank(&|row| row.0), rank(&|row| row.1));
    let place = |row: usize| {
        let bits = (0..16).rev();
        bits.fold(0, |place, bit| place << 2 | (x[row] >> bit & 1) << 1 | y[row] >> bit & 1)
    };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&row| place(row));
    order.into_iter().map(|row| &*rows[row].2).collect()
}

fn sorted(format: RowFormat, by: &str, inputs: Vec<LinesInput>) -> Vec<u8> {
    let options = TableOptions::new(format, by.parse().unwrap());
    let mut out = Vec::new();
    let (disk, engine) = (SimDisk::new(SimOptions::rough(1)), engine(32 << 20, 2));
    sort_table(&options, &engine, inputs, TableOutput::Stream(&mut out), &disk, &Unobserved)
        .unwrap();
    out
}

#[test]
fn rows_of_fields_are_in_the_order_of_their_ranks_bits() {
    let rows = rows(1500);
    let header = "text,x,y\n";
    let text: String = rows.iter().map(|row| &*row.2).collect();
    let text = format!("{header}{text}");
    let csv = RowFormat::Delimited(Dialect::CSV);
    let expected = format!("{header}{}", expected(&rows).concat());
    let by = "zorder(x:int,y:num)";
    // From a stream, whose beginning is the sample: here all of it.
    assert_eq!(sorted(csv, by, vec![input("in", text.clone().into())]), expected.as_bytes());
    // A small file is read from its one place.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("in.csv");
    fs::write(&path, &text).unwrap();
    let found = sorted(csv, "hilbert(x:int,y:num)", vec![LinesInput::at(&path)]);
    let lines = |text: &[u8]| {
        let mut lines: Vec<Vec<u8>> =
            text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lines(&found), lines(text.as_bytes()));
    assert!(found != text.as_bytes() && found != expected.as_bytes());
}

#[test]
fn rows_of_json_are_in_the_order_of_their_ranks_bits() {
    let mut rows = rows(1200);
    for (x, y, text) in &mut rows {
        *text = format!("{{\"at\":{{\"x\":{x}}},\"y\":\"{y}\"}}\n");
    }
    let text: String = rows.iter().map(|row| &*row.2).collect();
    let by = "zorder(.at.x,.y:int)";
    let found = sorted(RowFormat::Ndjson, by, vec![input("in", text.into())]);
    assert_eq!(found, expected(&rows).concat().as_bytes());
}

#[test]
fn what_a_curve_cannot_do_is_refused() {
    let csv = RowFormat::Delimited(Dialect::CSV);
    let options = TableOptions::new(csv, "hilbert(a:int,b)".parse().unwrap());
    let engine = engine(32 << 20, 2);
    let found = check_table(&options, &engine, input("in", b"a,b\n".to_vec()), &Unobserved);
    assert!(found.unwrap_err().to_string().contains("is for sorts"));
    let error = |options: &TableOptions, text: &[u8]| {
        let to = TableOutput::Stream(&mut Vec::new());
        let inputs = vec![input("in", text.to_vec())];
        let disk = SimDisk::new(SimOptions::rough(1));
        sort_table(options, &engine, inputs, to, &disk, &Unobserved).unwrap_err().to_string()
    };
    let merges = TableOptions { merges: true, ..options.clone() };
    assert!(error(&merges, b"a,b\n").contains("is for sorts"));
    // A bad value is an error with its place, as in any key.
    let found = error(&options, b"a,b\n1,x\ntwo,y\n");
    assert!(found.contains("row 3") && found.contains("'a'") && found.contains("two"), "{found}");
    assert!(error(&options, b"a,c\n").contains("no column 'b'"));
}
