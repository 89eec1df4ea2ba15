//! The library from a user's point of view: files as inputs and outputs, progress, cancellation.

mod sorter;
mod trees_and_verdicts;
mod urls;

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tempfile::tempdir;
use xsort::{
    Cancel, Du, Endian, Error, Format, Generate, Keep, KeyField, KeyKind, Layout, Lines, Memory,
    Method, Prefix, Prefixed, Sort, Table, Verify,
};

#[test]
fn records_are_sorted_by_both_methods_into_the_same_bytes() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let made = Generate::records(50_000).seed(3).run(path("data")).unwrap();
    for (method, name) in [(Method::Merge, "merged"), (Method::Scatter, "scattered")] {
        let sort = Sort::files([path("data")]).format(Format::Gensort).memory(1 << 20);
        let report = sort.method(method).threads(2).run(path(name)).unwrap();
        assert_eq!((report.records, report.checksum), (50_000, made.checksum.to_string()));
        assert!(report.plan.spilled_chunks > 0, "all of it was in memory");
    }
    assert_eq!(fs::read(path("merged")).unwrap(), fs::read(path("scattered")).unwrap());
    let verdict = Verify::files([path("merged")]).run().unwrap();
    assert!(verdict.is_sorted());
    assert_eq!((verdict.records, verdict.checksum), (50_000, made.checksum));
    assert!(!Verify::files([path("data")]).run().unwrap().is_sorted());
}

#[test]
fn tables_are_sorted_by_columns_from_files_that_may_be_compressed() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.csv"), "id,at\n3,2026-01-02\n1,2026-01-03\n").unwrap();
    fs::write(path("b.csv"), "id,at\n2,2026-01-02\n1,2026-01-01\n").unwrap();
    let both = Table::csv([path("a.csv"), path("b.csv")]).memory(16 << 20);
    let sort = both.clone().by("at:date:desc").unwrap().by("id:int").unwrap();
    assert_eq!(sort.run(path("sorted.csv.gz")).unwrap().counted.count(), 4);
    let mut out = Vec::new();
    let again = Table::csv([path("sorted.csv.gz")]).by("id:int").unwrap().unique(Keep::First);
    again.top(2).write_to(&mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "id,at\n1,2026-01-03\n2,2026-01-02\n");
    fs::write(path("old"), "old").unwrap();
    assert!(matches!(both.run(path("old")), Err(Error::Settings(_))));
    assert!(both.clone().by("at:day").is_err());
    let missing = both.by("other").unwrap().run(path("old"));
    assert!(missing.unwrap_err().to_string().contains("other"));
    assert_eq!(fs::read(path("old")).unwrap(), b"old");
}

#[test]
fn a_layout_of_ones_own_and_an_output_that_is_the_input() {
    let folder = tempdir().unwrap();
    let data = folder.path().join("data");
    let numbers = [3_u32, 1, 2, 1];
    fs::write(&data, numbers.map(u32::to_le_bytes).concat()).unwrap();
    let kind = KeyKind::Unsigned(Endian::Little);
    let key = KeyField { offset: 0, length: 4, kind, descending: true };
    let layout = Layout::new(4, vec![key]).unwrap();
    Sort::files([&data]).layout(layout).memory(1 << 20).run(&data).unwrap();
    assert_eq!(fs::read(&data).unwrap(), [3_u32, 2, 1, 1].map(u32::to_le_bytes).concat());
}

#[test]
fn what_looks_like_text_is_refused_with_the_way_out() {
    let folder = tempdir().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "a line\n".repeat(100)).unwrap();
    let error = Sort::files([&text]).run(folder.path().join("out")).unwrap_err();
    assert!(matches!(error, Error::Input { .. }), "{error}");
    assert!(!folder.path().join("out").exists());
}

#[test]
fn lines_are_sorted_by_keys_in_the_words_of_gnu_sort() {
    let folder = tempdir().unwrap();
    let (text, out) = (folder.path().join("text"), folder.path().join("out"));
    fs::write(&text, "b 10\na 9\nc 10\nb 10\n").unwrap();
    let lines = Lines::files([&text]).separator(' ').key("2,2nr").key("1,1").memory(4 << 20);
    let report = lines.clone().unique().run(&out).unwrap();
    assert_eq!(report.lines, 4);
    assert_eq!(fs::read_to_string(&out).unwrap(), "b 10\nc 10\na 9\n");
    let mut written = Vec::new();
    lines.argument("-r").write_to(&mut written).unwrap();
    assert_eq!(written, b"c 10\nb 10\nb 10\na 9\n", "-r is for the key without letters");
    let error = Lines::files([&text]).key("0").run(&out).unwrap_err();
    assert!(matches!(error, Error::Settings(_)), "{error}");
    assert_eq!(fs::read_to_string(&out).unwrap(), "b 10\nc 10\na 9\n", "the old output is gone");
    assert!(Lines::files(["/nowhere/there"]).run(&out).is_err());
    let left = fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, 2, "something was left behind");
}

/// An earlier implementation wrote lines into a file that only its owner could read, replaced
/// symbolic links, and left its temporary file when it was killed.
#[test]
fn sorted_lines_replace_a_file_as_sorted_records_do() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("target"), "b\na\n").unwrap();
    fs::set_permissions(path("target"), Permissions::from_mode(0o640)).unwrap();
    symlink("target", path("link")).unwrap();
    Lines::files([path("link")]).memory(4 << 20).run(path("link")).unwrap();
    assert_eq!(fs::read_to_string(path("target")).unwrap(), "a\nb\n");
    assert_eq!(fs::metadata(path("target")).unwrap().mode() & 0o777, 0o640);
    assert!(path("link").is_symlink());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "something was left behind");
}

/// The data exceed the memory, so they go to scratch, and to the output past the page cache.
#[test]
fn more_lines_than_memory_are_sorted_onto_themselves() {
    let folder = tempdir().unwrap();
    let text = folder.path().join("text");
    let mut lines: Vec<String> = (0..400_000_u64)
        .map(|i| format!("{:020}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    fs::write(&text, lines.join("\n")).unwrap();
    let report = Lines::files([&text]).memory(2 << 20).threads(2).run(&text).unwrap();
    assert_eq!((report.lines, report.written_bytes), (400_000, 400_000 * 21));
    assert!(report.runs > 1, "{report:?}");
    lines.sort();
    assert!(fs::read_to_string(&text).unwrap() == lines.join("\n") + "\n");
}

/// Many key words are equal, so keys precede the lines, in memory and on scratch. Data that is not
/// on scratch is in memory, whatever the timing of threads.
#[test]
fn lines_whose_keys_begin_alike_are_sorted_onto_themselves() {
    let folder = tempdir().unwrap();
    let text = folder.path().join("text");
    let mut lines: Vec<String> = (0..400_000_u64)
        .map(|i| format!("{i},what all of them begin with {:06}", i * 7919 % 65_537))
        .collect();
    fs::write(&text, lines.join("\n")).unwrap();
    let sort = Lines::files([&text]).separator(',').key("2,2").stable().threads(2);
    let memory = 4 << 20;
    let report = sort.memory(memory).run(&text).unwrap();
    assert_eq!((report.lines, report.written_bytes), (400_000, report.bytes));
    assert!(report.spilled_bytes > report.bytes - memory && report.runs > 1, "{report:?}");
    lines.sort_by(|a, b| a.split_once(',').unwrap().1.cmp(b.split_once(',').unwrap().1));
    assert!(fs::read_to_string(&text).unwrap() == lines.join("\n") + "\n");
}

#[test]
fn records_with_their_length_before_them_are_sorted_and_verified() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let prefix: Prefix = "prefixed:u16be".parse().unwrap();
    let key: KeyField = "0:2:u16le".parse().unwrap();
    let records: Vec<Vec<u8>> = (0..2000_u16)
        .map(|i| {
            let value = i.wrapping_mul(7919).to_le_bytes();
            [&(2 + i % 50).to_be_bytes()[..], &value, &vec![7; usize::from(i % 50)]].concat()
        })
        .collect();
    fs::write(path("data"), records.concat()).unwrap();
    let report = Prefixed::files(prefix, [path("data")]).keys([key]).run(path("out")).unwrap();
    let mut sorted = records;
    sorted.sort_by_key(|record| u16::from_le_bytes([record[2], record[3]]));
    assert_eq!(fs::read(path("out")).unwrap(), sorted.concat());
    let verify = Verify::files([path("out")]).against([path("data")]).prefixed(prefix, [key]);
    let verdict = verify.run().unwrap();
    assert!(verdict.is_sorted() && verdict.is_same());
    assert_eq!(report.checksum, Some(verdict.checksum.to_string()));
    assert_eq!((verdict.records, verdict.bytes), (2000, report.bytes));
    assert!(!Verify::files([path("data")]).prefixed(prefix, [key]).run().unwrap().is_sorted());
}

/// Such settings were once silently ignored.
#[test]
fn an_argument_that_is_not_about_the_order_is_refused() {
    let folder = tempdir().unwrap();
    let (text, out) = (folder.path().join("text"), folder.path().join("out"));
    fs::write(&text, "b\na\n").unwrap();
    for argument in
        ["-c", "-m", "-oelsewhere", "-S1M", "--parallel=3", "operand", "--header", "-R", "--help"]
    {
        let error = Lines::files([&text]).argument(argument).run(&out).unwrap_err();
        assert!(matches!(error, Error::Settings(_)), "{argument}: {error}");
    }
    assert!(!out.exists());
}

/// A machine with this much memory made sums of the plan overflow.
#[test]
fn any_amount_of_memory_is_taken() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("text"), "b\na\n").unwrap();
    Generate::records(1000).run(path("data")).unwrap();
    for memory in [1 << 40, 1 << 50, u64::MAX] {
        Lines::files([path("text")]).memory(memory).run(path("out")).unwrap();
        assert_eq!(fs::read_to_string(path("out")).unwrap(), "a\nb\n");
        for method in [Method::Merge, Method::Scatter] {
            let sort = Sort::files([path("data")]).method(method);
            sort.memory(memory).run(path("out")).unwrap();
        }
        assert!(Verify::files([path("out")]).memory(memory).run().unwrap().is_sorted());
    }
}

/// Only the program could have an object read back.
#[test]
fn an_output_that_is_no_object_is_not_read_back() {
    let folder = tempdir().unwrap();
    let (data, out) = (folder.path().join("data"), folder.path().join("out"));
    Generate::records(1000).run(&data).unwrap();
    let refusals = [
        Generate::records(1).verify_output().run(&out).unwrap_err(),
        Sort::files([&data]).verify_output().run(&out).unwrap_err(),
        Lines::files([&data]).verify_output().run(&out).unwrap_err(),
        Lines::files([&data]).verify_output().write_to(&mut Vec::new()).unwrap_err(),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Error::Settings(_)), "{refusal}");
        assert!(refusal.to_string().contains("verify_output reads an object back"), "{refusal}");
    }
    assert!(!out.exists());
}

/// Limits of a process can't be set in this one.
#[test]
fn notices_are_told() {
    if let Ok(data) = std::env::var("XSORT_TEST_DATA") {
        let (told, folder) = (Arc::new(Mutex::new(Vec::new())), tempdir().unwrap());
        let lines = Arc::clone(&told);
        let tell = move |line: &str| lines.lock().unwrap().push(line.to_owned());
        let sort = Lines::files([data]).memory(1 << 40).on_notice(tell);
        sort.run(folder.path().join("out")).unwrap();
        return io::stdout().write_all(told.lock().unwrap().join("\n").as_bytes()).unwrap();
    }
    let folder = tempdir().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "b\na\n").unwrap();
    let limited = "ulimit -v 8000000; exec \"$0\" --exact notices_are_told --nocapture";
    let program = std::env::current_exe().unwrap();
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", limited]).arg(program).env("XSORT_TEST_DATA", &text);
    let output = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    assert!(output.contains("using that") && output.contains("1 passed"), "{output}");
}

#[test]
fn progress_is_told_and_a_flag_stops() {
    let folder = tempdir().unwrap();
    let (data, out) = (folder.path().join("data"), folder.path().join("out"));
    Generate::records(50_000).run(&data).unwrap();
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    let flag = Cancel::new();
    let sort = Sort::files([&data]).memory(Memory::Bytes(1 << 20)).cancel(&flag);
    let all = sort.clone().on_progress(move |progress| {
        assert!(progress.done_bytes <= progress.bytes, "{progress:?}");
        let expected_bytes = if progress.phase == "publish" { 0 } else { 5_000_000 };
        assert_eq!(progress.bytes, expected_bytes, "{progress:?}");
        count.fetch_add(1, Relaxed);
    });
    all.run(&out).unwrap();
    assert!(told.load(Relaxed) > 4, "told {} times", told.load(Relaxed));
    fs::remove_file(&out).unwrap();
    let stops = flag.clone();
    let error = sort.on_progress(move |_| stops.cancel()).run(&out).unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert!(!out.exists() && flag.is_cancelled());
}

#[test]
fn trees_are_counted_and_errors_listed() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("a"), [1; 10_000]).unwrap();
    let usage = Du::trees([folder.path(), "/nowhere/there".as_ref()]).run();
    assert_eq!((usage.total.inodes, usage.errors.len()), (2, 1));
    assert!(usage.errors[0].contains("/nowhere/there"));
}

#[test]
fn the_memory_may_be_a_text() {
    let folder = tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::write(&input, "b\na\n").unwrap();
    let as_text = Lines::files([&input]).memory("64M").run(&output).unwrap();
    let as_number = Lines::files([&input]).memory(64 << 20).run(&output).unwrap();
    assert_eq!(as_text.memory_bytes(), as_number.memory_bytes());
    let error = Lines::files([&input]).memory("64Q").run(&output).unwrap_err();
    assert!(error.to_string().contains("unknown unit 'Q'"), "{error}");
}
