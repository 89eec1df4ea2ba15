//! Whole sorts of tables on the simulated disk, compared with the standard library's sort of the
//! values from which the rows were built.

mod curves;
mod in_order;
mod merge;
mod resume;

use std::cmp::{Ordering, Reverse};
use std::io::Cursor;
use std::sync::Arc;
use xsort_disk::{Disk, SimDisk, SimOptions};
use xsort_extsort::keyed::KeyedReport;
use xsort_extsort::lines::{Content, LinesInput, OutputCodec, recognise};
use xsort_extsort::{Error, LinesOptions, Unobserved};
use xsort_table::Keep;
use xsort_table::{
    Dialect, OnBad, Place, RowFormat, TableOptions, TableOutput, check_table, sort_table,
};
use xsort_testing::{Random, for_each_seed};

/// A row as text, and its values.
#[derive(Clone)]
struct Row {
    text: Vec<u8>,
    number: Option<i64>,
    name: Vec<u8>,
}

fn quoted(value: &[u8]) -> Vec<u8> {
    let doubled = value.iter().flat_map(|&byte| vec![byte; 1 + usize::from(byte == b'"')]);
    [b"\"".to_vec(), doubled.collect(), b"\"".to_vec()].concat()
}

fn row(random: &mut Random) -> Row {
    let number = (random.between(0, 9) > 0).then(|| random.between(0, 2000) as i64 - 1000);
    let alphabet = [b'a', b'b', b'B', b',', b'"', b'\n', b'\r', 0, 1, 2, 0xfe, 0xff];
    let bytes = random.one_of(&[0, 1, 2, 3, 20]);
    let name: Vec<u8> = (0..bytes).map(|_| random.one_of(&alphabet)).collect();
    let is_plain = name.iter().all(|byte| !b",\"\n\r".contains(byte));
    let field = if is_plain && random.between(0, 1) == 0 { name.clone() } else { quoted(&name) };
    let number_text = number.map(|number| number.to_string()).unwrap_or_default();
    let line_end = random.one_of(&[&b"\n"[..], b"\r\n"]);
    let note = random.one_of(&[&b""[..], b",", b",\"x\ny\"", b",some more text, and more"]);
    let text = [number_text.as_bytes(), b",", &field, note, line_end].concat();
    Row { text, number, name }
}

fn table(header: &[u8], rows: &[Row]) -> Vec<u8> {
    rows.iter().fold(header.to_vec(), |mut text, row| {
        text.extend_from_slice(&row.text);
        text
    })
}

fn input(name: &str, text: Vec<u8>) -> LinesInput {
    let content = Content::Stream(Box::new(Cursor::new(text)));
    LinesInput { path: name.into(), bytes: None, content }
}

fn options(keys: &str) -> TableOptions {
    TableOptions::new(RowFormat::Delimited(Dialect::CSV), keys.parse().unwrap())
}

fn engine(budget_bytes: u64, threads: usize) -> LinesOptions {
    LinesOptions {
        delimiter: 0,
        scratch: vec!["/scratch".into()],
        ..LinesOptions::new(budget_bytes, threads)
    }
}

fn sort(
    options: &TableOptions,
    budget_bytes: u64,
    texts: &[Vec<u8>],
    disk: &SimDisk,
) -> Result<KeyedReport, Error> {
    let inputs = (0..).zip(texts).map(|(n, text)| input(&format!("in{n}"), text.clone()));
    let output = TableOutput::File { path: "/out/sorted".as_ref(), sync: true };
    sort_table(options, &engine(budget_bytes, 2), inputs.collect(), output, disk, &Unobserved)
}

/// Numbers ascend, and rows without a number come last.
fn by_number(a: &Row, b: &Row) -> Ordering {
    (a.number.is_none(), a.number).cmp(&(b.number.is_none(), b.number))
}

/// Rows of JSON, sorted by a number, which may be missing, and a text.
#[test]
fn rows_of_json_come_in_order_with_the_bytes_that_they_had() {
    for_each_seed("sort of rows of JSON", 12, |seed| {
        let random = &mut Random::new(seed);
        let count = random.one_of(&[0, 1, 50, 30_000]);
        let mut rows: Vec<(Option<i64>, String, String)> = (0..count)
            .map(|_| {
                let number =
                    (random.between(0, 9) > 0).then(|| random.between(0, 999) as i64 - 500);
                let text = random.one_of(&["", "a", "a\"b", "\u{e9}t\u{e9}", "z\\"]).to_owned();
                let shown = number.map_or("null".to_owned(), |number| number.to_string());
                let quoted = serde_json::to_string(&text).unwrap();
                let row = match random.between(0, 2) {
                    0 => format!("{{\"t\":{quoted},\"n\":{{\"v\":{shown}}}}}\r\n"),
                    1 => format!(" {{\"n\" : {{\"v\":1,\"v\":{shown}}} , \"t\":{quoted} }}\n"),
                    _ => {
                        format!("{{\"x\":[{{\"t\":0}}],\"n\":{{\"v\":{shown}}},\"t\":{quoted}}}\n")
                    }
                };
                (number, text, row)
            })
            .collect();
        let cut = random.between(0, count) as usize;
        let bytes = |rows: &[(Option<i64>, String, String)]| -> Vec<u8> {
            rows.iter().flat_map(|(.., row)| row.bytes()).collect()
        };
        let texts = [bytes(&rows[..cut]), bytes(&rows[cut..])];
        let keys = random.one_of(&[".n.v:int,.t", ".n.v:desc,.t:str:desc", ".t:nocase,.n.v"]);
        match keys {
            ".n.v:int,.t" => rows.sort_by_key(|(n, t, _)| (n.is_none(), *n, t.clone())),
            ".n.v:desc,.t:str:desc" => {
                rows.sort_by_key(|(n, t, _)| (Reverse(*n), Reverse(t.clone())));
            }
            _ => rows.sort_by_key(|(n, t, _)| (t.to_lowercase(), *n)),
        }
        let options = TableOptions { format: RowFormat::Ndjson, ..options(keys) };
        let disk = SimDisk::new(SimOptions::rough(seed));
        let budget_bytes = random.one_of(&[8 << 20, 64 << 20]);
        let report = sort(&options, budget_bytes, &texts, &disk).map_err(|e| e.to_string())?;
        let sorted = disk.get("/out/sorted").unwrap();
        if sorted != bytes(&rows) || report.counted.count() != count {
            return Err(format!("{keys}: the output is wrong"));
        }
        let input = input("sorted", sorted);
        let checked = check_table(&options, &engine(budget_bytes, 2), input, &Unobserved);
        match checked.map_err(|error| error.to_string())? {
            Some(disorder) => Err(format!("row {} is out of order", disorder.row)),
            None => Ok(()),
        }
    });
}

/// The disk reads a file that is large enough; only its header is read from the file system.
#[test]
fn large_files_are_read_by_the_disk() {
    let rows = 1_800_000;
    let text = |numbers: &mut dyn Iterator<Item = u64>| -> Vec<u8> {
        let rows = numbers.map(|number| format!("{number:08},\n"));
        std::iter::once("number,note\n".to_owned()).chain(rows).collect::<String>().into_bytes()
    };
    let unsorted = text(&mut (0..rows).map(|number| number * 7_368_787 % rows));
    assert!(unsorted.len() > 17 << 20);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.csv");
    // In the file system it has no rows.
    std::fs::write(&path, text(&mut std::iter::empty())).unwrap();
    let sort = |on_disk: &[u8]| {
        let disk = SimDisk::new(SimOptions::rough(1));
        disk.put(&path, on_disk);
        let mut input = LinesInput::at(&path);
        input.bytes = Some(on_disk.len() as u64);
        let options = options("number:int");
        let output = TableOutput::File { path: "/sorted".as_ref(), sync: false };
        sort_table(&options, &engine(8 << 20, 2), vec![input], output, &disk, &Unobserved)
            .map(|report| (report.counted.count(), disk.get("/sorted").unwrap()))
    };
    let (count, sorted) = sort(&unsorted).unwrap();
    assert_eq!(count, rows);
    assert!(sorted == text(&mut (0..rows)), "the output is wrong");

    let other = [b"numbers,notes".to_vec(), unsorted].concat();
    let error = sort(&other).unwrap_err().to_string();
    assert!(error.contains("its header was changed"), "{error}");
}

/// Also with headers, parts and compressed files. The file system has no files of these names.
#[test]
fn tables_come_from_urls_and_go_to_one() {
    let rows = |from: u64, to: u64| (from..to).map(|n| format!("{:08},\n", n * 7919 % 60_000));
    let text = |from, to| -> Vec<u8> {
        std::iter::once("number,note\n".to_owned()).chain(rows(from, to)).collect::<String>().into()
    };
    let sim = Arc::new(SimDisk::new(SimOptions::rough(5)));
    sim.put("s3://in/0.csv", text(0, 20_000));
    sim.put("s3://in/1.csv", text(20_000, 60_000));
    let disk = Arc::clone(&sim) as Arc<dyn Disk>;
    let urls = |urls: &[&str]| {
        let inputs = urls.iter().map(|url| LinesInput::on(&disk, url.as_ref()).unwrap()).collect();
        recognise(inputs, false, || (8 << 20, 2)).unwrap().inputs
    };
    let (options, engine) = (options("number:int"), engine(8 << 20, 2));
    let packed = TableOptions { compression: Some(OutputCodec::Zstd), ..options.clone() };
    let output = TableOutput::File { path: "s3://in/1.csv.zst".as_ref(), sync: true };
    sort_table(&packed, &engine, urls(&["s3://in/1.csv"]), output, &*disk, &Unobserved).unwrap();
    let all: Vec<u8> = (0..60_000).flat_map(|n| format!("{n:08},\n").into_bytes()).collect();
    for order in [["s3://in/0.csv", "s3://in/1.csv.zst"], ["s3://in/1.csv.zst", "s3://in/0.csv"]] {
        let output = TableOutput::File { path: "s3://out/sorted.csv".as_ref(), sync: true };
        sort_table(&options, &engine, urls(&order), output, &*disk, &Unobserved).unwrap();
        let sorted = sim.get("s3://out/sorted.csv").unwrap();
        assert!(sorted == [b"number,note\n", &all[..]].concat());
        let input = urls(&["s3://out/sorted.csv"]).remove(0);
        assert_eq!(check_table(&options, &engine, input, &Unobserved).unwrap(), None);
    }
    let input = urls(&["s3://in/0.csv"]).remove(0);
    assert!(check_table(&options, &engine, input, &Unobserved).unwrap().is_some());
    let path = "s3://out/parts.csv".as_ref();
    let output = TableOutput::Parts { path, part_bytes: 400_000, sync: true };
    let inputs = urls(&["s3://in/0.csv", "s3://in/1.csv.zst"]);
    sort_table(&options, &engine, inputs, output, &*disk, &Unobserved).unwrap();
    let parts = ["s3://out/parts-00001.csv", "s3://out/parts-00002.csv"].map(|url| sim.get(url));
    let rows = parts.map(|part| part.unwrap()[b"number,note\n".len()..].to_vec());
    assert!(rows.concat() == all);
    assert_eq!((sim.open_files(), sim.paths().len()), (0, 6));
}

type Compare = fn(&Row, &Row) -> Ordering;

const ORDERS: &[(&str, Compare)] = &[
    ("number:int", by_number),
    ("name,#1:num", |a, b| a.name.cmp(&b.name).then(by_number(a, b))),
    ("name:desc", |a, b| b.name.cmp(&a.name)),
    ("number:int:desc:nulls-first,name:desc", |a, b| {
        let key =
            |row: &Row| (row.number.is_some(), Reverse(row.number), Reverse(row.name.clone()));
        key(a).cmp(&key(b))
    }),
    ("name:length:desc", |a, b| b.name.len().cmp(&a.name.len())),
];

#[test]
fn rows_come_in_order_with_the_bytes_that_they_had() {
    for_each_seed("sort of a table", 24, |seed| {
        let random = &mut Random::new(seed);
        let (keys, compare) = random.one_of(ORDERS);
        let count = random.one_of(&[0, 1, 50, 30_000]);
        let mut rows: Vec<Row> = (0..count).map(|_| row(random)).collect();
        let header = b"\xef\xbb\xbfnumber,\"name\",rest\r\n".to_vec();
        let cut = random.between(0, count) as usize;
        let mut texts = vec![table(&header, &rows[..cut]), table(&header, &rows[cut..])];
        if cut < rows.len() && random.between(0, 1) == 0 {
            // The last row has no line end, and gets that of the header.
            let text = &mut texts[1];
            while text.ends_with(b"\n") || text.ends_with(b"\r") {
                text.pop();
            }
            let last = rows.last_mut().unwrap();
            last.text = [last.text.trim_ascii_end(), b"\r\n"].concat();
        }
        let mut options = options(keys);
        rows.sort_by(compare);
        if random.between(0, 2) == 0 {
            options.unique = Some(Keep::First);
            rows.dedup_by(|b, a| compare(a, b) == Ordering::Equal);
        }
        if random.between(0, 3) == 0 {
            options.rows_max = Some(7);
            rows.truncate(7);
        }
        let disk = SimDisk::new(SimOptions::rough(seed));
        disk.put("/out/sorted", "old");
        let budget_bytes = random.one_of(&[8 << 20, 64 << 20]);
        let report = sort(&options, budget_bytes, &texts, &disk).map_err(|e| e.to_string())?;
        let sorted = disk.get("/out/sorted").unwrap();
        if sorted != table(&header, &rows) {
            return Err(format!("{keys}: the output is wrong"));
        }
        if report.counted.count() != count || report.written_bytes != sorted.len() as u64 {
            return Err(format!("{report:?}"));
        }
        let checked =
            check_table(&options, &engine(budget_bytes, 2), input("sorted", sorted), &Unobserved);
        if checked.map_err(|error| error.to_string())?.is_some() || disk.open_files() > 0 {
            return Err("the output isn't in order, or files are open".into());
        }
        Ok(())
    });
}

#[test]
fn what_is_no_table_is_named_and_the_old_output_stays() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("a", &["a\n1\n\"2\n3\n"], &["in0", "row 3", "byte 4", "never closed"]),
        ("a:int", &["b,a\nx,1\ny,1.5\n"], &["in0", "row 3", "byte 10", "'a'", "'1.5' is no int"]),
        ("a:date", &["a\n2026-02-30\n"], &["row 2", "no date"]),
        ("a", &["a,b\n", "a,c\n"], &["in1", "column 2", "'c'", "'b'"]),
        ("a", &["a\n", "a,b\n"], &["in1", "'b'", "nothing"]),
        ("c", &["a,b\n"], &["no column 'c'", "a, b"]),
        ("a", &["a,a\n"], &["several", "#1, #2"]),
        ("#3:int", &["a,b\n2,1\n"], &["no column #3", "2 columns: a, b"]),
        ("a", &["a,b\n2,\"A\nB\"\n1,\"A \"B\"\nC\"\n"], &["in0", "row 3", "byte 14", "byte 18"]),
        ("a", &["a,b\n1, \"A\nB\"\n"], &["row 2", "byte 7", "blanks"]),
        ("a", &["a,b\r2,x\r1,y\r"], &["in0: row 1", "CR alone", "byte 3", "tr '\\r' '\\n'"]),
        ("a", &["\"a\",\"b\"\r\"2\",\"x\"\r"], &["CR alone", "byte 7"]),
        ("a", &["a\n1\n", "a\r2\r"], &["in1: row 1", "CR alone"]),
        ("a:int", &["a,b\n2,x\r1,y\r3,z\r"], &["in0: row 2", "CR alone", "byte 7"]),
        ("a:int", &["a,b\n2,x\r1,y\r3,z"], &["in0: row 2", "CR alone", "byte 7"]),
        ("a:int", &["a,b\n2,x\r1,y\r3,z\r\n"], &["in0: row 2", "CR alone", "byte 7"]),
        ("a:int", &["a,b\n2,x\r1,y\r3,z\n"], &["in0: row 2", "CR alone", "byte 7"]),
        ("a:int", &["a,b\n7,x\n\"2\",\"x\"\r\"1\",y\r"], &["in0: row 3", "CR alone", "byte 15"]),
        ("a:int", &["a\n1\n", "a\n3\n2\r1\r"], &["in1: row 3", "CR alone", "byte 5"]),
        ("a", &["i\0d\0,\0a\0\n\0"], &["in0: it is text in UTF-16LE", "iconv -f UTF-16LE"]),
        ("#2", &["\u{4}8\0,\0n\0\n"], &["in0: it is text in UTF-16BE", "iconv -f UTF-16BE"]),
        ("#2", &["8\u{4},\0n\0\n\0"], &["in0: it is text in UTF-16LE", "iconv -f UTF-16LE"]),
    ];
    for (keys, texts, said) in cases {
        let disk = SimDisk::new(SimOptions::default());
        disk.put("/out/sorted", "old");
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        let error = sort(&options(keys), 8 << 20, &texts, &disk).unwrap_err();
        let text = error.to_string();
        assert!(said.iter().all(|words| text.contains(words)), "{text}");
        assert!(matches!(error, Error::Input { .. } | Error::Settings(_)), "{error:?}");
        assert_eq!(disk.get("/out/sorted").unwrap(), b"old");
        assert_eq!((disk.open_files(), disk.paths().len()), (0, 1));
    }
}

/// Without an error, the order was once the input's, and `unique` left one row of all.
#[test]
fn a_column_that_the_first_row_lacks_is_an_error() {
    let headless = |keys: &str| TableOptions { has_header: false, ..options(keys) };
    let run = |options: &TableOptions, texts: &[&str]| {
        let disk = SimDisk::new(SimOptions::default());
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        let checked =
            check_table(options, &engine(8 << 20, 1), input("in", texts[0].clone()), &Unobserved);
        let sorted = sort(options, 8 << 20, &texts, &disk);
        assert!(texts.len() > 1 || checked.is_err() == sorted.is_err(), "{checked:?}");
        sorted.map(|_| String::from_utf8(disk.get("/out/sorted").unwrap()).unwrap())
    };
    for texts in [&["2,x\n1\n"][..], &["", "2,x\n1\n"]] {
        let error = run(&headless("#3"), texts).unwrap_err().to_string();
        assert!(error.contains("no column #3 in its first row, which has 2"), "{error}");
        assert_eq!(run(&headless("#2,#1:int"), texts).unwrap(), "1\n2,x\n");
    }
    // Another input may have the column, in any order of the inputs.
    for texts in [&["1\n", "2,x\n"][..], &["2,x\n", "1\n"], &["1\n", "", "2,x\n", "", ""]] {
        assert_eq!(run(&headless("#2"), texts).unwrap(), "1\n2,x\n");
        let error = run(&headless("#3"), texts).unwrap_err().to_string();
        assert!(error.contains("no input has a column #3 in its first row"), "{error}");
    }
    run(&headless("#2"), &["1\n", ""]).unwrap_err();
    // Rows that lack a column of the first row are no error, nor are rows with more columns.
    assert_eq!(run(&headless("#2"), &["2,x\n1\n3,a,b\n"]).unwrap(), "1\n3,a,b\n2,x\n");
    assert_eq!(run(&options("#2"), &["a,b\n2,x\n1\n"]).unwrap(), "a,b\n1\n2,x\n");
    assert_eq!(run(&headless("#9"), &[""]).unwrap(), "");
    let comments = RowFormat::Delimited(Dialect { comment: Some(b'#'), ..Dialect::CSV });
    let commented = TableOptions { format: comments, ..headless("#3") };
    run(&commented, &["# a,b,c\n2,x\n"]).unwrap_err();
    let text = "# no\n2,x,b\n1,y,a\n";
    assert_eq!(run(&commented, &[text]).unwrap(), "# no\n1,y,a\n2,x,b\n");
    assert_eq!(run(&commented, &["# no\n", "# row\n"]).unwrap(), "# no\n# row\n");
}

/// The header was once taken from the first file, which had none.
#[test]
fn empty_inputs_before_others_change_nothing() {
    let by_name = TableOptions { has_header: true, ..options("b:int") };
    let texts = ["a,b\nx,2\n", "", "a,b\ny,1\n"].map(|text| text.as_bytes().to_vec());
    for empty in 0..3 {
        let disk = SimDisk::new(SimOptions::default());
        let inputs = [&vec![Vec::new(); empty][..], &texts].concat();
        sort(&by_name, 8 << 20, &inputs, &disk).unwrap();
        assert_eq!(disk.get("/out/sorted").unwrap(), b"a,b\ny,1\nx,2\n");
    }
    let disk = SimDisk::new(SimOptions::default());
    sort(&by_name, 8 << 20, &[Vec::new(), Vec::new()], &disk).unwrap();
    assert_eq!(disk.get("/out/sorted").unwrap(), b"");
}

/// Collects the notices of a job.
#[derive(Default)]
struct Notices(std::sync::Mutex<Vec<String>>);

impl xsort_extsort::Observer for Notices {
    fn phase(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn notice(&self, line: &str) {
        self.0.lock().unwrap().push(line.into());
    }
}

#[test]
fn bad_rows_are_counted_and_a_column_without_any_good_value_is_said() {
    let on_bad = OnBad::Put(Place::Last);
    for (keys, on_bad, text, bad_rows, notice) in [
        ("a:int,b:date", on_bad, "a,b\nx,y\n1,\n2,z\n,\n", Some(2), "column 'b': not one of its 2"),
        ("a:int", on_bad, "a\n1\nx\n", Some(1), ""),
        ("#1:datetime(%H:%M)", on_bad, "a\nx\n\n", Some(1), "column #1: not one of its 1 value"),
        ("a:int", on_bad, "a\n1\n\n", Some(0), ""),
        ("a:int", OnBad::Refuse, "a\n1\n\n", None, ""),
    ] {
        let options = TableOptions { on_bad, ..options(keys) };
        let (disk, notices) = (SimDisk::new(SimOptions::default()), Notices::default());
        let output = TableOutput::File { path: "/out/sorted".as_ref(), sync: true };
        let inputs = vec![input("in", text.as_bytes().to_vec())];
        let report = sort_table(&options, &engine(8 << 20, 2), inputs, output, &disk, &notices);
        assert_eq!(report.unwrap().bad_rows, bad_rows, "{keys} {text:?}");
        let said = notices.0.into_inner().unwrap().concat();
        assert!(said.contains(notice) && said.is_empty() == notice.is_empty(), "{said}");
    }
}

#[test]
fn bad_values_go_where_they_are_put() {
    for (place, expected) in [(Place::First, "a\nx\n1\n2\n\n"), (Place::Last, "a\n1\n2\n\nx\n")] {
        let options = TableOptions { on_bad: OnBad::Put(place), ..options("a:int") };
        let disk = SimDisk::new(SimOptions::default());
        sort(&options, 8 << 20, &[b"a\n2\n\nx\n1\n".to_vec()], &disk).unwrap();
        assert_eq!(disk.get("/out/sorted").unwrap(), expected.as_bytes());
    }
}

/// Only the first bad row was once kept, because all had the same key.
#[test]
fn different_bad_values_are_no_duplicates() {
    let on_bad = OnBad::Put(Place::Last);
    let options = TableOptions { on_bad, unique: Some(Keep::First), ..options("a:int") };
    let disk = SimDisk::new(SimOptions::default());
    sort(&options, 8 << 20, &[b"a\ny\n1\nx\n01\nx\n".to_vec()], &disk).unwrap();
    assert_eq!(disk.get("/out/sorted").unwrap(), b"a\n1\nx\ny\n");
}

/// After a byte order mark, a quote once wasn't recognised, and the text after its line end became
/// a row.
#[test]
fn a_byte_order_mark_is_before_the_first_field() {
    let table = |mark: &str, rows: &str| format!("{mark}\"a\nb\",c\n{rows}").into_bytes();
    let mark = "\u{feff}";
    let texts = [table(mark, "3,x\n1,y\n"), table("", "2,z\n"), table(mark, "0,w\n")];
    let disk = SimDisk::new(SimOptions::default());
    let by_name = TableOptions { has_header: true, ..options("\"a\nb\":int") };
    sort(&by_name, 8 << 20, &texts, &disk).unwrap();
    let sorted = disk.get("/out/sorted").unwrap();
    assert_eq!(sorted, table(mark, "0,w\n1,y\n2,z\n3,x\n"));
    assert_eq!(
        check_table(&by_name, &engine(8 << 20, 1), input("in", sorted), &Unobserved).unwrap(),
        None
    );

    let by_number = TableOptions { has_header: false, ..options("#1:int") };
    let texts = [format!("{mark}2\n1\n").into_bytes(), format!("{mark}0\n").into_bytes()];
    sort(&by_number, 8 << 20, &texts, &disk).unwrap();
    assert_eq!(disk.get("/out/sorted").unwrap(), format!("{mark}0\n1\n2\n").as_bytes());
}

#[test]
fn a_full_drive_is_named_with_the_output() {
    let options = options("a:int");
    let rows: String = (0..200_000).map(|row| format!("{row}\n")).collect();
    let settings = SimOptions { capacity_bytes: Some(1 << 20), ..SimOptions::default() };
    let disk = SimDisk::new(settings);
    let error = sort(&options, 64 << 20, &[format!("a\n{rows}").into_bytes()], &disk).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("/out/sorted") && said.contains("No space left"), "{said}");
    assert!(matches!(error, Error::Disk(_)), "{error:?}");
    assert_eq!((disk.open_files(), disk.paths().len()), (0, 0));
}

#[test]
fn a_row_that_is_too_long_is_refused() {
    let long = format!("a\n{}\n", "x".repeat(2 << 20));
    let disk = SimDisk::new(SimOptions::default());
    let error = sort(&options("a"), 8 << 20, &[long.into_bytes()], &disk).unwrap_err();
    let said = error.to_string();
    let limit = "row 2, from byte 2 on, has 2097153 bytes, and rows may have 524288 in this memory";
    assert!(said.contains(limit) && said.contains("-m 33M is enough"), "{said}");
}

#[test]
fn the_first_row_out_of_order_is_named() {
    let text = b"a\n1\n\"3\n\"\n2\n".to_vec();
    let disorder =
        check_table(&options("a:num"), &engine(8 << 20, 1), input("in", text), &Unobserved);
    let disorder = disorder.unwrap().unwrap();
    assert_eq!((disorder.row, &*disorder.bytes), (4, &b"2\n"[..]));
    let unique = TableOptions { unique: Some(Keep::First), ..options("a") };
    let disorder =
        check_table(&unique, &engine(8 << 20, 1), input("in", b"a\n1\n1\n".to_vec()), &Unobserved);
    assert_eq!(disorder.unwrap().unwrap().row, 3);
}
