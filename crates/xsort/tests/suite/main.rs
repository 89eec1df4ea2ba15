//! The library as its users call it: files in, files out, told of progress, stopped.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tempfile::tempdir;
use xsort::{
    Cancel, Du, Endian, Error, Format, Generate, KeyField, KeyKind, Layout, Lines, Memory, Method,
    Sort, Verify,
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
        assert!(progress.done_bytes <= progress.bytes.max(progress.done_bytes));
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
