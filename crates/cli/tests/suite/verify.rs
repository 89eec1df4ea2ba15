//! `xsort verify`: valsort's lines and their meanings, its summaries, and proofs that no record was
//! lost or invented.

use crate::sandbox::Sandbox;
use std::fs;

/// Sorts a file of whole records by their first ten bytes.
fn sort_by_key(sandbox: &Sandbox, from: &str, to: &str) {
    let bytes = sandbox.read(from);
    let mut records: Vec<&[u8]> = bytes.chunks(100).collect();
    records.sort_by_key(|record| &record[..10]);
    sandbox.write(to, records.concat());
}

#[test]
fn unsorted_records_are_reported_as_valsort_does() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen 1000r data");
    let ended = sandbox.run("verify data");
    assert_eq!(ended.code, Some(1));
    assert_eq!(
        ended.stdout,
        "First unordered record is record 2\nRecords: 1000\nChecksum: 1ea6370b955\n\
         ERROR - there are 483 unordered records\n"
    );
    assert_eq!(ended.stderr, "");
    let quiet = sandbox.run("verify -q data");
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (Some(1), "", ""));
}

#[test]
fn sorted_records_are_reported_as_valsort_does() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen 1000r data");
    sort_by_key(&sandbox, "data", "sorted");
    let expected = "Records: 1000\nChecksum: 1ea6370b955\nDuplicate keys: 0\nSUCCESS - all \
        records are in order\n";
    for resources in ["", "-m 16K -j 7", "--io sync", "--io uring"] {
        if resources == "--io uring" && sandbox.run("verify sorted --io uring").code == Some(2) {
            continue; // io_uring is forbidden here.
        }
        assert_eq!(sandbox.ok(&format!("verify sorted {resources}")), expected, "{resources}");
    }
    let json = sandbox.json("verify sorted");
    assert_eq!((&json["ok"], &json["records"]), (&true.into(), &1000.into()));
    assert_eq!(
        (&json["checksum"], &json["first_unordered_record"]),
        (&"1ea6370b955".into(), &().into())
    );
}

#[test]
fn several_files_are_one_sequence() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen 1000r data");
    sort_by_key(&sandbox, "data", "sorted");
    let sorted = sandbox.read("sorted");
    sandbox.write("a", &sorted[..30_000]);
    sandbox.write("b", "");
    sandbox.write("c", &sorted[30_000..]);
    assert_eq!(sandbox.ok("verify a b c"), sandbox.ok("verify sorted"));
    let ended = sandbox.run("verify c a");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.starts_with("First unordered record is record 700\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("ERROR - there are 1 unordered records"), "{}", ended.stdout);
    let twice = sandbox.ok("gen --pattern equal 500r equal");
    assert!(twice.contains("Records: 500"));
    assert!(sandbox.ok("verify equal equal").contains("Duplicate keys: 999\n"));
}

#[test]
fn summaries_of_parts_add_up_across_their_seams() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen 1000r data");
    sort_by_key(&sandbox, "data", "sorted");
    let sorted = sandbox.read("sorted");
    sandbox.write("a", &sorted[..30_000]);
    sandbox.write("c", &sorted[30_000..]);
    sandbox.ok("verify a -o a.sum");
    sandbox.ok("verify c --summary c.sum");
    let (a, c) = (sandbox.read("a.sum"), sandbox.read("c.sum"));
    assert_eq!((a.len(), c.len()), (280, 280));
    assert_eq!(&a[80..180], &sorted[..100], "the first record");
    assert_eq!(&c[180..280], &sorted[99_900..], "the last record");
    assert_eq!(
        (&a[40..48], &a[32..40]),
        (&300u64.to_le_bytes()[..], &[0; 8][..]),
        "upper word first"
    );

    sandbox.write("all.sum", [a.clone(), c.clone()].concat());
    let whole = sandbox.ok("verify sorted");
    assert_eq!(sandbox.ok("verify -s a.sum c.sum"), whole);
    assert_eq!(sandbox.ok("verify --summaries all.sum"), whole);
    sandbox.write("wrong.sum", [c, a].concat());
    let ended = sandbox.run("verify -s wrong.sum");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.starts_with("First unordered record is record 700\n"), "{}", ended.stdout);

    sandbox.write("short.sum", [0; 279]);
    assert!(sandbox.fails("verify -s short.sum", 3).contains("short.sum: 279 bytes"));
    assert!(sandbox.fails("verify -s missing.sum", 3).contains("missing.sum"));
}

#[test]
fn a_summary_never_replaces_what_is_read() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen 1000r data");
    sandbox.ok("gen 1000r other");
    std::os::unix::fs::symlink("data", sandbox.path().join("link")).unwrap();
    fs::hard_link(sandbox.path().join("other"), sandbox.path().join("second-name")).unwrap();
    let before = sandbox.names();
    let data = sandbox.read("data");
    for line in [
        "verify -o data data",
        "verify -o ./data data",
        "verify -o link data",
        "verify -o data link",
        "verify data other -o second-name",
        "verify data --against other -o other",
    ] {
        let error = sandbox.fails(line, 2);
        assert!(error.contains("write it elsewhere (-o)"), "{line}: {error}");
        assert_eq!(sandbox.names(), before, "{line}");
        assert!(sandbox.read("data") == data && sandbox.read("other") == data, "{line}");
    }
}

#[test]
fn a_summary_appears_whole_or_not_at_all() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen 0r empty");
    sandbox.write("sum", "old");
    sandbox.write("partial", [0; 250]);
    sandbox.fails("verify partial -o sum", 3);
    assert_eq!((sandbox.read("sum").as_slice(), sandbox.names().len()), (&b"old"[..], 3));
    sandbox.ok("verify empty -o sum");
    assert_eq!((sandbox.read("sum").len(), sandbox.names().len()), (280, 3));

    // Found before the data is read: here the data doesn't even exist.
    for place in ["nowhere/sum", "partial/sum", "."] {
        let error = sandbox.fails(&format!("verify missing -o {place}"), 2);
        assert!(error.contains(place), "{error}");
    }
    assert_eq!(
        sandbox.ok("verify empty -q -o /dev/stdout").len(),
        280,
        "a pipe is written through"
    );
}

#[test]
fn summaries_of_nothing_prove_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("empty", "");
    sandbox.write("zeros", [0; 280]);
    sandbox.write("many-zeros", [0; 2800]);
    sandbox.ok("gen -q --pattern sorted 10r data");
    sandbox.ok("verify -q data -o data.sum");
    assert!(sandbox.fails("verify -s empty", 3).contains("empty: it is empty"));
    assert!(sandbox.fails("verify -s data.sum empty", 3).contains("empty: it is empty"));
    for files in ["zeros", "zeros zeros", "many-zeros"] {
        assert!(sandbox.fails(&format!("verify -s {files}"), 3).contains("no records"), "{files}");
    }
    assert_eq!(sandbox.ok("verify -s zeros data.sum zeros"), sandbox.ok("verify data"));
}

#[test]
fn a_summary_of_disorder_is_written_too() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen 1000r data");
    assert_eq!(sandbox.run("verify data -o sum").code, Some(1));
    let ended = sandbox.run("verify -s sum");
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stdout, sandbox.run("verify data").stdout);
}

#[test]
fn an_expected_checksum_is_compared() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen 1000r data");
    sort_by_key(&sandbox, "data", "sorted");
    assert!(
        sandbox
            .ok("verify sorted --expect 1ea6370b955")
            .ends_with("SUCCESS - the checksum is the expected one\n")
    );
    let ended = sandbox.run("verify sorted --expect 1ea6370b956");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains(
        "SUCCESS - all records are in order\nERROR - the expected checksum is 1ea6370b956"
    ));
}

#[test]
fn an_input_is_compared() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen 1000r data");
    sort_by_key(&sandbox, "data", "sorted");
    sandbox.ok("gen 400r a");
    sandbox.ok("gen --start 400 600r b");
    let text = sandbox.ok("verify sorted --against data");
    assert!(text.ends_with("SUCCESS - records and checksum are those of data\n"), "{text}");
    sandbox.ok("verify sorted --against a --against b");
    for (change, name) in [(0, "lost"), (1, "changed"), (2, "doubled")] {
        let mut bytes = sandbox.read("sorted");
        match change {
            0 => bytes.truncate(99_900),
            1 => bytes[55_555] ^= 1,
            _ => bytes.extend_from_within(99_900..),
        }
        sandbox.write(name, &bytes);
        let ended = sandbox.run(&format!("verify {name} --against data"));
        assert_eq!(ended.code, Some(1), "{name}");
        let line = "SUCCESS - all records are in order\nERROR - data has 1000 records and \
            checksum 1ea6370b955\n";
        assert!(ended.stdout.ends_with(line), "{name}: {}", ended.stdout);
        assert_eq!(sandbox.json(&format!("verify {name} --against data"))["ok"], false);
    }
}

#[test]
fn other_records_and_keys() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -f kv128 --pattern sorted 3000r kv");
    sandbox.ok("verify -f kv128 kv");
    sandbox.ok("gen -f block4k --pattern reversed 30r blocks");
    assert_eq!(sandbox.run("verify -f block4k blocks").code, Some(1));
    sandbox.ok("verify --record 4096 --key 0:4096:desc blocks");
    sandbox.write("numbers", [3i32, -1, -1, -2].map(i32::to_le_bytes).concat());
    assert!(
        sandbox
            .ok("verify --record 4 --key 0:4:i32le:desc numbers")
            .contains("Duplicate keys: 1\n")
    );
    assert_eq!(sandbox.run("verify --record 4 numbers").code, Some(1), "whole records as bytes");
}

#[test]
fn what_is_no_file_of_records_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("partial", [0; 250]);
    let error = sandbox.fails("verify partial", 3);
    for part in ["partial:", "250 bytes", "2 records", "50 bytes more"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(sandbox.fails("verify missing", 3).contains("missing"));
    sandbox.fails("verify .", 3);
    sandbox.write("good", [0; 200]);
    assert!(sandbox.fails("verify -m 4096 good", 4).contains("needs at least 8.00 KiB (-m 8K)"));
}
