//! Stores and web servers that announce a wrong length, store other bytes than they were sent, or
//! don't distinguish versions: status 0 still means a correct output.

use crate::objects::{sandbox, server, store};
use server::{Asked, BUCKET, PUBLIC, Server, Wrong};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use xsort_objects::{SimStore, StoreOptions};

/// Puts the same bytes into a store and on a web server. Returns both URLs.
fn put(store: &SimStore, server: &Server, key: &str, bytes: &[u8]) -> [String; 2] {
    store.put_object(&format!("s3://{BUCKET}/{key}"), bytes);
    store.put_object(&format!("s3://{PUBLIC}/{key}"), bytes);
    [format!("s3://{BUCKET}/{key}"), format!("http://{}/{PUBLIC}/{key}", server.address)]
}

#[test]
fn a_wrong_length_is_no_shorter_output() {
    let store = store();
    let wrong = |asked: &Asked| match asked.path.rsplit('/').next() {
        Some("t.csv") => Wrong::HeadSays(4),
        Some("lines") => Wrong::HeadSays(2),
        Some("records") => Wrong::HeadSays(1000),
        _ => Wrong::HeadSays(0),
    };
    let server = Server::start(&store, wrong);
    let sandbox = sandbox(&server);
    sandbox.write("out", "old");
    sandbox.ok("gen -q 3000 in");
    let records = sandbox.read("in");
    for (key, bytes) in [("t.csv", &b"k\n2\n1\n"[..]), ("lines", b"b\na\n"), ("records", &records)]
    {
        for url in put(&store, &server, key, bytes) {
            let line = match key {
                "t.csv" => format!("table {url} --by k:int -o out"),
                "lines" => format!("lines {url} -o out"),
                _ => format!("sort -q {url} -o out"),
            };
            let ended = sandbox.run(&line);
            let text = format!("the answer to a read says that it has {}", bytes.len());
            assert!(ended.code != Some(0) && ended.stderr.contains(&text), "{}", ended.stderr);
            assert_eq!(sandbox.read("out"), b"old", "{line}");
        }
    }
    for url in put(&store, &server, "empty", b"b\na\n") {
        let ended = sandbox.run(&format!("lines {url}"));
        assert!(ended.code == Some(2) && ended.stdout.is_empty(), "{}", ended.stderr);
    }
}

/// As it says of records and tables, and of no file: that has GNU sort's words.
#[test]
fn lines_that_can_not_be_read_are_named_with_the_byte() {
    let store = store();
    let server = Server::start(&store, |asked: &Asked| match asked.header("range") {
        Some(range) if !range.starts_with("bytes=0-") => Wrong::Refuse(403, "AccessDenied"),
        _ => Wrong::Nothing,
    });
    let sandbox = sandbox(&server);
    sandbox.write("in", "a\n");
    for url in put(&store, &server, "lines", &b"a line\n".repeat(3_000_000)) {
        for line in ["lines URL -o out", "lines -m URL in -o out", "lines -c URL"] {
            let line = line.replace("URL", &url);
            let ended = sandbox.run(&line);
            let text = format!("xsort lines: reading {url} at byte ");
            assert!(ended.code == Some(2) && ended.stderr.starts_with(&text), "{}", ended.stderr);
            assert!(ended.stderr.contains("403 AccessDenied"), "{line}: {}", ended.stderr);
        }
    }
}

#[test]
fn a_server_that_tells_no_versions_apart_is_named_once() {
    let store = store();
    let server = Server::start(&store, |_| Wrong::Says(&[("etag", ""), ("last-modified", "")]));
    let sandbox = sandbox(&server);
    let [_, lines] = put(&store, &server, "lines", b"b\na\n");
    let [_, table] = put(&store, &server, "t.csv", b"k\n2\n1\n");
    sandbox.ok("gen -q 3000 in");
    let records = sandbox.read("in");
    let [_, records] = put(&store, &server, "records", &records);
    for line in [
        format!("lines {lines} {lines}"),
        format!("table {table} {table} --by k:int -o -"),
        format!("sort {records} {records} -o out"),
        format!("verify {records}"),
    ] {
        let ended = sandbox.run(&line);
        let notices = ended.stderr.matches("neither a tag nor a time of change").count();
        assert_eq!(notices, 1, "{line}: {}", ended.stderr);
        assert!(matches!(ended.code, Some(0 | 1)), "{line}: {}", ended.stderr);
    }
}

/// The store's answers say nothing about its bytes.
#[test]
fn what_is_written_is_read_back_by_every_command() {
    let options = StoreOptions { has_opaque_tags: true, ..StoreOptions::default() };
    let store = Arc::new(SimStore::new(options));
    let is_damaging = Arc::new(AtomicBool::new(false));
    let damages = Arc::clone(&is_damaging);
    let server = Server::start(&store, move |asked| match asked.method.as_str() {
        "PUT" | "POST" if damages.load(Relaxed) && !asked.has("uploads") => Wrong::FlipSent,
        _ => Wrong::Nothing,
    });
    let sandbox = sandbox(&server);
    sandbox.ok("gen -q 12MB in");
    sandbox.write("lines", b"b\na\n");
    sandbox.write("t.csv", "k\n2\n1\n");
    sandbox.write("prefixed", b"\x01b\x01a");
    for line in [
        "gen -q 12MB s3://bucket/out",
        "sort -q in -o s3://bucket/out",
        "sort -q --record prefixed:u8 prefixed -o s3://bucket/out",
        "lines lines -o s3://bucket/out",
        "table t.csv --by k -o s3://bucket/out",
    ] {
        let line = format!("{line} --verify-output");
        is_damaging.store(false, Relaxed);
        sandbox.ok(&line);
        is_damaging.store(true, Relaxed);
        let ended = sandbox.run(&line);
        let text = "is not what was written: read back";
        assert!(ended.code != Some(0) && ended.stderr.contains(text), "{line}: {}", ended.stderr);
    }
    for line in [
        "gen -q 1000 out --verify-output",
        "sort -q in -o out --verify-output",
        "lines lines -o out --verify-output",
        "lines lines --verify-output",
        "table t.csv --by k -o out --verify-output",
    ] {
        let error = sandbox.run(line);
        let text = "--verify-output reads an object back";
        assert!(error.code == Some(2) && error.stderr.contains(text), "{line}: {}", error.stderr);
    }
    let error = sandbox.run("lines -c lines --verify-output").stderr;
    assert!(error.contains("'--verify-output' does nothing beside -c"), "{error}");
}

/// One bit is flipped once: the tag in the answer shows it, and the bytes are sent again.
#[test]
fn what_arrives_damaged_is_sent_again() {
    let store = store();
    let is_sent = AtomicBool::new(false);
    let server = Server::start(&store, move |asked| match asked.method.as_str() {
        "PUT" if !is_sent.swap(true, Relaxed) => Wrong::FlipSent,
        _ => Wrong::Nothing,
    });
    let sandbox = sandbox(&server);
    sandbox.ok("gen -q 12MB in");
    sandbox.ok("sort -q in -o sorted");
    sandbox.ok("sort -q in -o s3://bucket/out");
    assert!(store.object("s3://bucket/out").unwrap() == sandbox.read("sorted"));
}
