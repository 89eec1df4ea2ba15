//! `xsort table` of Parquet files as users meet it. Its crate tests the sorting of rows.

use crate::limits::peak_bytes;
use crate::sandbox::{Sandbox, clean, program};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// Memory that a sort of columns may need besides its budget.
const OVERHEAD_BYTES: u64 = 96 * MIB;

/// Writes a file with numbers, each of them twice, and a text that no other row has.
fn write(sandbox: &Sandbox, name: &str, rows: i64) {
    let file = File::create(sandbox.path().join(name)).unwrap();
    let id = |row: i64| (row / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 20;
    let mut writer = None;
    for first in (0..rows.max(1)).step_by(1 << 16) {
        let numbers = first..rows.min(first + (1 << 16));
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers.clone().map(id)));
        let text = |row: i64| format!("the text of row {row}, {:016x}", id(row * 2));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(numbers.map(text)));
        let batch = RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap();
        let writer = writer.get_or_insert_with(|| {
            ArrowWriter::try_new(file.try_clone().unwrap(), batch.schema(), None).unwrap()
        });
        writer.write(&batch).unwrap();
    }
    writer.unwrap().close().unwrap();
}

fn read(sandbox: &Sandbox, name: &str) -> Vec<RecordBatch> {
    let file = File::open(sandbox.path().join(name)).unwrap();
    let batches = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    batches.collect::<Result<Vec<_>, _>>().unwrap()
}

/// The numbers in a column of a file.
fn numbers(sandbox: &Sandbox, name: &str, column: &str) -> Vec<i64> {
    let batches = read(sandbox, name);
    let values = batches.iter().flat_map(|batch| {
        batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().values().to_vec()
    });
    values.collect()
}

#[test]
fn a_file_is_known_by_its_name_or_its_first_bytes() {
    let sandbox = Sandbox::new();
    write(&sandbox, "in.parquet", 1000);
    write(&sandbox, "data", 500);
    sandbox.ok("table in.parquet --by id -q -o a.parquet");
    sandbox.ok("table -f parquet in.parquet --by #1 -q -o b.parquet");
    assert_eq!(sandbox.read("a.parquet"), sandbox.read("b.parquet"));
    sandbox.ok("table in.parquet data --by id:desc -q -o c.parquet");
    let ids = numbers(&sandbox, "c.parquet", "id");
    assert!(ids.len() == 1500 && ids.is_sorted_by(|a, b| a >= b));
    sandbox.script_ok("$xsort table in.parquet --by id > d.parquet");
    assert_eq!(sandbox.read("a.parquet"), sandbox.read("d.parquet"));
}

#[test]
fn the_report_has_the_fields_of_other_tables() {
    let sandbox = Sandbox::new();
    write(&sandbox, "in.parquet", 1000);
    let report = sandbox.json("table in.parquet --by id -m 64M -o out.parquet");
    let bytes = sandbox.read("in.parquet").len();
    let written = sandbox.read("out.parquet").len();
    assert_eq!((&report["rows"], &report["bytes"]), (&Value::from(1000), &Value::from(bytes)));
    assert_eq!(report["written_bytes"], Value::from(written));
    let shares = report["memory_shares"].as_array().unwrap();
    let sum: u64 = shares.iter().map(|share| share["bytes"].as_u64().unwrap()).sum();
    assert_eq!(report["memory_bytes"], Value::from(sum));
    assert!(sum <= 64 * MIB, "{report}");
    let text = sandbox.ok("table in.parquet --by id -m 64M -v -o out.parquet");
    assert!(text.contains("1,000 rows") && text.contains("footers of inputs"), "{text}");
    let plan = sandbox.json("table in.parquet --by id -m 64M --dry-run -o new.parquet");
    assert_eq!(plan["memory_shares"], report["memory_shares"]);
    assert_eq!(sandbox.names(), ["in.parquet", "out.parquet"]);
}

#[test]
fn rows_are_chosen_as_in_tables_of_text() {
    let sandbox = Sandbox::new();
    write(&sandbox, "in.parquet", 10_000);
    let all = numbers(&sandbox, "in.parquet", "id");
    let mut sorted = all.clone();
    sorted.sort_unstable();
    for rows in [0, 1, 777, 10_000, 20_000] {
        sandbox.ok(&format!("table in.parquet --by id --top {rows} -q -o top.parquet"));
        assert_eq!(numbers(&sandbox, "top.parquet", "id"), sorted[..rows.min(10_000)]);
    }
    for keep in ["first", "last"] {
        sandbox.ok(&format!("table in.parquet --by id -u={keep} --count -q -o one.parquet"));
        let mut ids = sorted.clone();
        ids.dedup();
        assert_eq!(numbers(&sandbox, "one.parquet", "id"), ids);
        let counts = numbers(&sandbox, "one.parquet", "count");
        assert_eq!(counts.iter().sum::<i64>(), 10_000);
    }
    sandbox.ok("table in.parquet --shuffle --seed 7 -q -o a.parquet");
    sandbox.ok("table in.parquet --shuffle --seed 7 -j 1 -m 16M -q -o b.parquet");
    let (a, b) = (numbers(&sandbox, "a.parquet", "id"), numbers(&sandbox, "b.parquet", "id"));
    assert_eq!(a, b);
    let mut again = a.clone();
    again.sort_unstable();
    assert!(a != all && again == sorted);
}

#[test]
fn order_is_checked() {
    let sandbox = Sandbox::new();
    write(&sandbox, "in.parquet", 1000);
    sandbox.ok("table in.parquet --by id -q -o sorted.parquet");
    sandbox.ok("table sorted.parquet --check --by id");
    let ended = sandbox.run("table in.parquet --check --by id");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("in.parquet: row ") && ended.stderr.contains("out of order"));
    assert_eq!(sandbox.run("table sorted.parquet --check --unique --by id").code, Some(1));
    sandbox.ok("table sorted.parquet sorted.parquet --merge --by id -q -o merged.parquet");
    assert_eq!(numbers(&sandbox, "merged.parquet", "id").len(), 2000);
    let error = sandbox.fails("table sorted.parquet in.parquet --merge --by id -o no.parquet", 3);
    assert!(error.contains("in.parquet: row ") && error.contains("--merge"), "{error}");
}

#[test]
fn an_output_of_several_files_is_cut_at_their_size() {
    let sandbox = Sandbox::new();
    write(&sandbox, "in.parquet", 300_000);
    sandbox.ok("table in.parquet --by id -q -o one.parquet");
    let whole = std::fs::metadata(sandbox.path().join("one.parquet")).unwrap().len();
    for (extension, most) in [("parquet", 2), ("arrow", 16), ("arrows", 16)] {
        let line = format!("table in.parquet --by id -q --file-size 1M -o part.{extension}");
        sandbox.ok(&line);
        let names: Vec<String> =
            sandbox.names().into_iter().filter(|name| name.starts_with("part-")).collect();
        assert!(names.len() > 2 && names[0] == format!("part-00001.{extension}"), "{names:?}");
        let bytes = |name: &String| std::fs::metadata(sandbox.path().join(name)).unwrap().len();
        let sizes: Vec<u64> = names.iter().map(bytes).collect();
        assert!(sizes.iter().all(|&bytes| bytes < most << 20), "{sizes:?}");
        assert!(sizes.iter().sum::<u64>() > whole / 2, "{sizes:?}");
        if extension == "parquet" {
            let line = format!("verify --by id {} --against in.parquet", names.join(" "));
            sandbox.ok(&line);
        } else {
            sandbox.ok("table in.parquet --by id -q -o all.arrows");
            let line = format!("verify --by id {} --against all.arrows", names.join(" "));
            sandbox.ok(&line);
        }
        // Parts of an earlier output stay.
        sandbox.fails(&line, 2);
        names.iter().for_each(|name| std::fs::remove_file(sandbox.path().join(name)).unwrap());
    }
    // There is a file of no rows, too.
    write(&sandbox, "none.parquet", 0);
    sandbox.ok("table none.parquet --by id -q --file-size 1M -o part.parquet");
    assert!(numbers(&sandbox, "part-00001.parquet", "id").is_empty());
}

/// Writes a file with these numbers and texts.
fn write_rows(sandbox: &Sandbox, name: &str, ids: &[i64], texts: &[String]) {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(ids.iter().copied()));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap();
    let file = File::create(sandbox.path().join(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_proof_finds_rows_that_are_missing_changed_or_out_of_order() {
    let sandbox = Sandbox::new();
    write(&sandbox, "in.parquet", 100_000);
    sandbox.ok("table in.parquet --by id -q --compression zstd -o out.parquet");
    let said = sandbox.ok("verify --by id out.parquet --against in.parquet");
    for line in ["Records: 100000", "Duplicate keys: 50000", "those of in.parquet"] {
        assert!(said.contains(line), "{said}");
    }
    let found: Value =
        serde_json::from_str(&sandbox.ok("verify --by id out.parquet --json")).unwrap();
    let sum = found["checksum"].as_str().unwrap();
    sandbox.ok(&format!("verify --by id out.parquet --expect {sum}"));
    // The same rows in other files.
    sandbox.ok("table in.parquet --by text:desc -q -o x.parquet");
    let said = sandbox.ok("verify --by text:desc x.parquet --against out.parquet");
    assert!(said.contains(sum), "{said}");

    // In order, out of order, and in order up to the last row: as files of their own and in a row.
    let ids = numbers(&sandbox, "out.parquet", "id");
    let unordered = numbers(&sandbox, "in.parquet", "id");
    let falls = |ids: &[i64]| ids.windows(2).filter(|pair| pair[0] > pair[1]).count();
    let first = unordered.windows(2).position(|pair| pair[0] > pair[1]).unwrap() + 1;
    let said = sandbox.run("verify --by id in.parquet");
    assert_eq!(said.code, Some(1));
    assert!(said.stdout.contains(&format!("First unordered record is record {first}\n")));
    assert!(said.stdout.contains(&format!("there are {} unordered", falls(&unordered))));
    let said = sandbox.run("verify --by id out.parquet out.parquet");
    assert!(said.code == Some(1) && said.stdout.contains("is record 100000\n"), "{}", said.stdout);

    let texts: Vec<String> = read(&sandbox, "out.parquet")
        .iter()
        .flat_map(|batch| batch.column(1).as_string::<i32>().iter().flatten().map(str::to_owned))
        .collect();
    let is_refused = |ids: &[i64], texts: &[String]| {
        write_rows(&sandbox, "y.parquet", ids, texts);
        let said = sandbox.run("verify --by id y.parquet --against in.parquet");
        let differs = said.stdout.contains("ERROR - in.parquet has 100000 records and checksum");
        assert!(said.code == Some(1) && differs, "{}", said.stdout);
    };
    // A row is missing; one is there twice; a value is another one; two rows have each other's.
    is_refused(&ids[1..], &texts[1..]);
    is_refused(&[&ids[..1], &ids[..]].concat(), &[&texts[..1], &texts[..]].concat());
    let mut other = texts.clone();
    other[70_000].pop();
    is_refused(&ids, &other);
    let mut other = texts.clone();
    other.swap(1000, 90_000);
    is_refused(&ids, &other);
    write_rows(&sandbox, "y.parquet", &ids, &texts);
    sandbox.ok("verify --by id y.parquet --against in.parquet");

    std::fs::create_dir(sandbox.path().join("empty")).unwrap();
    let said = sandbox.run("verify --by id y.parquet --against empty --allow-empty");
    assert!(said.code == Some(1) && said.stdout.contains("empty has 0 records"), "{}", said.stdout);
    sandbox.ok("gen -q 10r in");
    sandbox.fails("verify --by id in", 2);
    sandbox.fails("verify --by none out.parquet", 2);
}

#[test]
fn what_columns_cannot_do_is_refused_with_words() {
    let sandbox = Sandbox::new();
    write(&sandbox, "in.parquet", 10);
    sandbox.write("a.csv", "id\n1\n");
    for (line, words) in [
        ("in.parquet a.csv --by id -o x.parquet", "a.csv is of another format than in.parquet"),
        ("a.csv --by id -o x.parquet", "--schema"),
        ("a.csv --by id --schema id:int -o x.csv", "for an output of another format"),
        ("a.csv --by id --schema id:x -o x.parquet", "'x' is no type"),
        ("a.csv --by id --infer --on-bad last -o x.parquet", "--on-bad"),
        ("-f csv --by id --infer -o x.parquet", "can't be read twice"),
        ("in.parquet --by id --infer -o x.arrow", "for inputs of text"),
        ("in.parquet --by id --compression zstd -o x.csv", "for Parquet and Arrow"),
        ("-f parquet --by id -o x.parquet", "files on drives"),
        ("in.parquet --by id --checkpoint -o x.parquet", "--checkpoint isn't there"),
        ("in.parquet --by id --within 5 -o x.parquet", "--within isn't there"),
        ("in.parquet --by id --sorted-by id -o x.parquet", "--sorted-by isn't there"),
        ("in.parquet --by id --compress lz4 -o x.parquet", "--compress isn't there"),
        ("in.parquet --by id --delimiter ; -o x.parquet", "are for csv"),
        ("in.parquet --by id --on-bad last -o x.parquet", "--on-bad"),
        ("a.csv --by id --compression zstd -o x.csv", "for Parquet and Arrow"),
        ("a.csv --by id --row-group-size 5 -o x.csv", "for Parquet and Arrow"),
        ("in.parquet --by no -o x.parquet", "no column 'no'"),
    ] {
        let error = sandbox.fails(&format!("table {line}"), 2);
        assert!(error.contains(words), "{line}: {error}");
    }
    for options in ["--compression none", "--compression gzip", "--row-group-size 3"] {
        sandbox.ok(&format!("table in.parquet --by id {options} -q -o x.parquet"));
    }
    sandbox.write("b.parquet", "PAR1 and no more");
    sandbox.fails("table b.parquet --by id -o y.parquet", 3);
    assert_eq!(sandbox.names(), ["a.csv", "b.parquet", "in.parquet", "x.parquet"]);
}

#[test]
fn text_becomes_columns_and_columns_text() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", "t;id\nx;3\n\"a;b\";1\n");
    sandbox.write("b.csv", "t;id\n;2\n");
    let line = "table a.csv b.csv --delimiter ; --by id:desc --infer -o out.parquet";
    let ended = sandbox.run(line);
    assert!(ended.stderr.contains("--schema 't:string,id:int64'"), "{}", ended.stderr);
    assert_eq!(ended.code, Some(0));
    assert_eq!(numbers(&sandbox, "out.parquet", "id"), [3, 2, 1]);
    let line = "cat b.csv | $xsort table -f csv --delimiter ';' --by id \
                --schema id:int64,t:string -q --output-format";
    let ndjson = sandbox.script_ok(&format!("{line} ndjson"));
    assert_eq!(ndjson, "{\"id\":2,\"t\":null}\n");
    sandbox.script_ok(&format!("{line} arrow > s.arrows"));
    sandbox.ok("table s.arrows --by id -q -o s.csv.gz");
    assert_eq!(sandbox.script_ok("gzip -dc s.csv.gz"), "id,t\n2,\n");
    sandbox.ok("table out.parquet --by t --delimiter | --no-header -q -o out.csv");
    assert_eq!(sandbox.read("out.csv"), b"a;b|1\nx|3\n|2\n");
    sandbox.ok("table out.parquet --by id -q -o out.tsv.zst");
    sandbox.ok("table out.tsv.zst --by id:int -q -o plain.tsv");
    assert_eq!(sandbox.read("plain.tsv"), b"t\tid\na;b\t1\n\t2\nx\t3\n");
    sandbox.ok("table b.csv --delimiter ; --by id -q -o same.tsv");
    assert_eq!(sandbox.read("same.tsv"), b"t;id\n;2\n");
    sandbox.write("bad.csv", "id\n1\nx\n");
    sandbox.write("old.parquet", "old");
    let error = sandbox.fails("table bad.csv --by id --schema id:int64 -o old.parquet", 3);
    assert!(error.contains("bad.csv: row 3, byte 5, column 'id': 'x' is no Int64"), "{error}");
    assert_eq!(sandbox.read("old.parquet"), b"old");
}

#[test]
fn one_that_is_killed_leaves_the_old_output_and_nothing_else() {
    let sandbox = Sandbox::new();
    write(&sandbox, "in.parquet", 200_000);
    sandbox.write("out.parquet", "old");
    for (milliseconds, signal) in [(30, Signal::KILL), (100, Signal::TERM), (250, Signal::TERM)] {
        let mut child = clean(program())
            .args("table in.parquet --by text -m 16M -q -o out.parquet".split_whitespace())
            .current_dir(sandbox.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        // It may have ended.
        let _ = kill_process(Pid::from_child(&child), signal);
        if !child.wait().unwrap().success() {
            assert_eq!(sandbox.read("out.parquet"), b"old");
        }
        assert_eq!(sandbox.names(), ["in.parquet", "out.parquet"]);
        sandbox.write("out.parquet", "old");
    }
}

#[test]
fn memory_is_limited() {
    let sandbox = Sandbox::new();
    write(&sandbox, "in.parquet", 600_000);
    for mib in [24, 40] {
        let mut command = clean(program());
        let line = format!("table in.parquet --by text:desc -m {mib}M -q -o out.parquet");
        command.args(line.split_whitespace()).current_dir(sandbox.path());
        let peak = peak_bytes(command);
        assert!(peak < mib * MIB + OVERHEAD_BYTES, "{mib} MiB: {} MiB", peak / MIB);
        let texts: Vec<String> = read(&sandbox, "out.parquet")
            .iter()
            .flat_map(|batch| {
                let texts = batch.column(1).as_string::<i32>();
                texts.iter().map(|text| text.unwrap().to_owned()).collect::<Vec<_>>()
            })
            .collect();
        assert!(texts.len() == 600_000 && texts.is_sorted_by(|a, b| a > b));
    }
}
