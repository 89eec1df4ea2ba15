//! `xsort sort` from end to end: every format and pattern, with budgets that need no scratch, one
//! pass or several.

use crate::sandbox::Sandbox;
use xsort_records::{Format, Key, Layout, Pattern};
use xsort_testing::quick_or_long;

/// The records of a file, sorted by the standard library's stable sort.
fn oracle(bytes: &[u8], layout: &Layout) -> Vec<u8> {
    let mut records: Vec<&[u8]> = bytes.chunks(layout.record_bytes()).collect();
    let rule = layout.rule();
    records.sort_by(|a, b| rule.compare(a, b));
    records.concat()
}

fn check(sandbox: &Sandbox, line: &str, inputs: &[&str], output: &str, layout: &Layout) {
    let input: Vec<u8> = inputs.iter().flat_map(|name| sandbox.read(name)).collect();
    let expected = oracle(&input, layout);
    let before = sandbox.names();
    let ended = sandbox.run(line);
    assert_eq!(ended.code, Some(0), "xsort {line}\n{}{}", ended.stdout, ended.stderr);
    assert!(sandbox.read(output) == expected, "xsort {line}");
    let mut names = before;
    names.push(output.to_owned());
    names.sort();
    names.dedup();
    assert_eq!(sandbox.names(), names, "xsort {line}");
}

#[test]
fn every_format_and_pattern() {
    let sandbox = Sandbox::new();
    for (row, format) in Format::all().iter().enumerate() {
        let records = 4_000_000 / format.record_bytes();
        // All formats and patterns, but only a long run has all pairs.
        let patterns = Pattern::all().iter().skip(quick_or_long(row % 3, 0));
        for pattern in patterns.step_by(quick_or_long(3, 1)) {
            sandbox.ok(&format!("gen -q -f {format} --pattern {pattern} {records}r in"));
            let ways = ["-m 1200K", "-m 64M", "--method merge -m 2M", "--method scatter -m 2M"];
            for how in ways.into_iter().skip(quick_or_long(row % 2, 0)).step_by(quick_or_long(2, 1))
            {
                let line = format!("sort -q -f {format} {how} in -o out");
                check(&sandbox, &line, &["in"], "out", &format.layout());
            }
        }
    }
}

#[test]
fn skewed_keys() {
    let sandbox = Sandbox::new();
    for format in [Format::Gensort, Format::GensortAscii] {
        sandbox.ok(&format!("gen -q -f {format} --skewed 50000r in"));
        check(
            &sandbox,
            &format!("sort -f {format} -m 1M in -o out"),
            &["in"],
            "out",
            &format.layout(),
        );
    }
}

#[test]
fn budgets_from_tiny_to_ample_and_any_threads() {
    let sandbox = Sandbox::new();
    sandbox.ok(&format!("gen -q {}MB in", quick_or_long(3, 6)));
    let layout = Format::Gensort.layout();
    for budget in ["300K", "400K", "600K", "1M", "3M", "5M", "7M", "100M"] {
        for threads in [1, 2, 5] {
            let line = format!("sort -m {budget} -j {threads} in -o out");
            check(&sandbox, &line, &["in"], "out", &layout);
        }
    }
}

#[test]
fn threads_and_io_uring_move_the_same_bytes() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q --pattern few 5MB in");
    check(&sandbox, "sort -m 1M --io sync in -o out", &["in"], "out", &Format::Gensort.layout());
    let ended = sandbox.run("sort -m 1M --io uring in -o uring");
    if ended.code == Some(2) {
        return; // io_uring is forbidden here, and it said so.
    }
    assert!(sandbox.read("out") == sandbox.read("uring"));
}

#[test]
fn several_inputs_are_sorted_as_one() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q --pattern few 12345r a");
    sandbox.ok("gen -q 0r b");
    sandbox.ok("gen -q --pattern few --start 12345 777r c");
    let layout = Format::Gensort.layout();
    for budget in ["512K", "64M"] {
        let line = format!("sort --stable -m {budget} c a b a -o out");
        check(&sandbox, &line, &["c", "a", "b", "a"], "out", &layout);
    }
}

#[test]
fn keys_by_hand() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q -f kv128 3MB in");
    for (record, keys) in [
        (128, vec!["0:16:u128le:desc"]),
        (128, vec!["5:1", "9:4:i32be", "0:8:u64le:desc"]),
        (64, vec!["3:1:i8:desc", "60:4"]),
        (128, vec!["100:8:f64le"]),
    ] {
        let fields = keys.iter().map(|key| key.parse().unwrap()).collect();
        let layout = Layout::new(record, fields).unwrap();
        let flags: String = keys.iter().map(|key| format!(" --key {key}")).collect();
        check(
            &sandbox,
            &format!("sort -m 1M --record {record}{flags} in -o out"),
            &["in"],
            "out",
            &layout,
        );
    }
    let whole = Layout::new(32, vec!["0:32".parse().unwrap()]).unwrap();
    check(&sandbox, "sort -m 1M --record 32 in -o out", &["in"], "out", &whole);
}

#[test]
fn the_output_may_be_the_input() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 5MB file");
    for budget in ["1M", "64M"] {
        sandbox.ok("gen -q 5MB file");
        check(
            &sandbox,
            &format!("sort -m {budget} file -o file"),
            &["file"],
            "file",
            &Format::Gensort.layout(),
        );
    }
}

#[test]
fn empty_and_single_records() {
    let sandbox = Sandbox::new();
    for records in [0, 1, 2] {
        sandbox.ok(&format!("gen -q {records}r in"));
        check(&sandbox, "sort -m 1M in -o out", &["in"], "out", &Format::Gensort.layout());
    }
}

#[test]
fn scratch_in_several_directories() {
    let sandbox = Sandbox::new();
    let (one, two) = (Sandbox::new(), Sandbox::new());
    sandbox.ok("gen -q 10MB in");
    let line =
        format!("sort -m 1M -T {} -T {} in -o out", one.path().display(), two.path().display());
    check(&sandbox, &line, &["in"], "out", &Format::Gensort.layout());
    assert_eq!((one.names().len(), two.names().len()), (0, 0));
}

#[test]
fn removing_the_input() {
    let sandbox = Sandbox::new();
    for budget in ["1M", "64M"] {
        sandbox.ok("gen -q 5MB in");
        let expected = oracle(&sandbox.read("in"), &Format::Gensort.layout());
        let ended = sandbox.run(&format!("sort -m {budget} --remove-input in -o out"));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(sandbox.read("out") == expected);
        assert_eq!(sandbox.names(), ["out"]);
    }
    sandbox.ok("gen -q 5MB file");
    let expected = oracle(&sandbox.read("file"), &Format::Gensort.layout());
    assert_eq!(sandbox.run("sort -m 1M --remove-input file -o file").code, Some(0));
    assert!(sandbox.read("file") == expected, "the output is an input");
}

#[test]
fn inputs_in_order_are_merged() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q --pattern few 30000r a");
    sandbox.ok("gen -q --pattern few --start 30000 12345r c");
    sandbox.ok("gen -q 0r empty");
    let unsorted = sandbox.read("c");
    for name in ["a", "c"] {
        sandbox.ok(&format!("sort -q {name} -o {name}"));
    }
    let layout = Format::Gensort.layout();
    for options in ["-m 1M", "-m 64M -j 1", "--io sync"] {
        let line = format!("sort --merge {options} c a empty a -o out");
        check(&sandbox, &line, &["c", "a", "empty", "a"], "out", &layout);
    }
    let expected = oracle(&[sandbox.read("c"), sandbox.read("a")].concat(), &layout);
    let report = sandbox.json("sort --merge c a -o out");
    assert_eq!(
        (&report["records"], &report["plan"]["method"]),
        (&42_345.into(), &"merge_inputs".into())
    );
    assert_eq!(report["spilled_bytes"], 0);
    let plan = sandbox.ok("sort --merge c a -o out --dry-run");
    assert!(plan.contains("merge of inputs in order"), "{plan}");
    sandbox.script_ok("$xsort sort --merge c - -o - <a >piped");
    assert!(sandbox.read("piped") == expected);
    sandbox.ok("sort --merge --remove-input c a -o c");
    assert!(sandbox.read("c") == expected);
    assert_eq!(sandbox.names(), ["c", "empty", "out", "piped"]);

    sandbox.write("wrong", unsorted);
    for (line, code, said) in [
        ("sort --merge c wrong -o out", 3, "wrong: record 2, at byte 100, belongs before"),
        ("sort --merge c wrong -o -", 3, "--merge=any"),
        ("sort --merge c --resume -o out", 2, "cannot be used with"),
        ("sort --merge c --method auto -o out", 2, "cannot be used with"),
    ] {
        let stderr = sandbox.fails(line, code);
        assert!(stderr.contains(said), "{line}: {stderr}");
        assert!(sandbox.read("out") == expected, "{line}");
    }
    for line in ["sort --merge=any c wrong -o any", "sort --merge=any -m 1M c wrong -o any"] {
        check(&sandbox, line, &["c", "wrong"], "any", &layout);
    }
    let report = sandbox.json("sort --merge=any c c -o any");
    assert_eq!(report["plan"]["method"], "merge_inputs");
    sandbox.ok("sort c wrong -o expected");
    sandbox.script_ok("cat c | $xsort sort --merge=any - wrong -o - >piped");
    assert!(sandbox.read("piped") == sandbox.read("expected"));
    let ended = sandbox.script("cat c | $xsort sort --merge - wrong -o out");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(2) && said.contains("write it to a file"), "{said}");
}

#[test]
fn a_dry_run_does_nothing_and_tells_all() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 5MB in");
    let text = sandbox.ok("sort --dry-run -m 1M in -o out");
    for word in ["runs", "passes", "memory", "scratch", "read", "written", "time"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(sandbox.json("sort --dry-run -m 1M in -o out").is_object());
    assert_eq!(sandbox.names(), ["in"]);
}

#[test]
fn reports_for_people_and_for_programs() {
    let sandbox = Sandbox::new();
    let made = sandbox.json("gen 5MB in");
    let report = sandbox.json("sort -m 1M in -o out --probe");
    assert_eq!(report["records"], 50_000);
    assert_eq!(report["checksum"], made["checksum"]);
    assert!(report["share_of_drive"].is_number() && report["chunks"].is_array(), "{report}");
    assert!(sandbox.run("sort -m 1M in -o out").stdout.contains("/s"));
    assert_eq!(sandbox.ok("sort -q -m 1M in -o out"), "");
    let verdict = sandbox.json("verify out --against in");
    assert_eq!((&verdict["ok"], &verdict["checksum"]), (&true.into(), &made["checksum"]));
}

#[test]
fn every_chunk_and_bin_is_accounted_for() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 5MB in");
    let report = sandbox.json("sort --method scatter -m 2M in -o out");
    for (what, times) in [
        ("chunks", ["read_seconds", "queue_seconds", "sort_seconds", "spill_seconds"]),
        ("bins", ["read_seconds", "sort_seconds", "write_seconds", "write_wait_seconds"]),
    ] {
        let rows = report[what].as_array().unwrap();
        let records: u64 = rows.iter().map(|row| row["records"].as_u64().unwrap()).sum();
        assert_eq!(records, 50_000, "{what}");
        assert!(rows.iter().all(|row| times.iter().all(|time| row[time].is_number())), "{what}");
    }
    assert_eq!(report["plan"]["method"], "scatter");
    let lines = |line: &str| sandbox.ok(line).lines().count();
    let terse = lines("sort --method scatter -m 2M in -o out");
    let rows = ["chunks", "bins"].map(|what| report[what].as_array().unwrap().len());
    let verbose = lines("sort --method scatter -v -m 2M in -o out");
    assert!(verbose > terse && verbose < terse + 30, "{verbose}");
    assert!(lines("sort --method scatter -vv -m 2M in -o out") >= verbose + rows[0] + rows[1]);
}

#[test]
fn progress_is_shown_if_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 50MB in");
    assert_eq!(sandbox.ok("sort -q -m 4M in -o out"), "", "no terminal, no progress");
    let ended = sandbox.run("gen --progress always -m 4K 30MB slow");
    assert!(
        ended.code == Some(0)
            && ended.stderr.lines().all(|line| line.starts_with("xsort: generate: "))
    );
}

/// The size of the caches only changes the time.
#[test]
fn any_cache_size() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 3MB in");
    for size in ["0", "4K", "64K", "1T"] {
        let line = format!("sort --cache-size {size} in -o out");
        check(&sandbox, &line, &["in"], "out", &Format::Gensort.layout());
    }
}
