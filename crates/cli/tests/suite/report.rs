//! `--report`, `--trace` and `xsort report`: pages and traces of real runs.

use crate::sandbox::{Sandbox, clean, program};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

/// Files for the commands below.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 2MB in");
    sandbox.write("lines", "b\na\n");
    sandbox.write("a.csv", "id\n2\n1\n");
    fs::create_dir(sandbox.path().join("tree")).unwrap();
    sandbox.write("tree/file", vec![1; 100_000]);
    sandbox
}

/// Every command that has a page, with the status that usage errors have.
const COMMANDS: &[(&str, i32)] = &[
    ("gen 2MB new", 2),
    ("sort in -o out -m 1M --method merge", 2),
    ("sort --record prefixed:u8 lines -o out", 2),
    ("lines lines -o out", 2),
    ("table a.csv --by id -o out.csv", 2),
    ("verify out.csv --record 1", 2),
    ("du tree", 1),
];

fn text(sandbox: &Sandbox, name: &str) -> String {
    String::from_utf8(sandbox.read(name)).unwrap()
}

#[test]
fn every_command_writes_its_page() {
    let sandbox = sandbox();
    sandbox.write("lines", "\u{1}b\u{1}a");
    for (line, _) in COMMANDS {
        let plain = sandbox.run(line);
        let ended = sandbox.run(&format!("{line} --report page.html"));
        assert_eq!(ended.code, plain.code, "{line}: {}", ended.stderr);
        let page = text(&sandbox, "page.html");
        let command = line.split(' ').next().unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{line}");
        assert!(page.contains(&format!("<h1>xsort {command}</h1>")), "{line}: {page}");
        assert!(page.contains("--report page.html"), "the command can be repeated: {line}");
        assert!((5_000..300_000).contains(&page.len()), "{line}: {} bytes", page.len());
        fs::remove_file(sandbox.path().join("page.html")).unwrap();
    }
}

#[test]
fn a_page_made_later_is_the_same() {
    let sandbox = sandbox();
    for line in ["sort in -o out -m 1M --method merge", "du tree"] {
        let json = sandbox.ok(&format!("{line} --json --report page.html"));
        sandbox.write("run.json", &json);
        sandbox.ok("report run.json -o later.html");
        if line.starts_with("sort") {
            assert_eq!(text(&sandbox, "page.html"), text(&sandbox, "later.html"), "{line}");
        }
        assert_eq!(sandbox.ok("report run.json"), text(&sandbox, "later.html"), "{line}");
    }
    // Reports of lines come on standard error, after notes.
    let ended = sandbox.run("lines lines -o out --json");
    sandbox.write("run.json", format!("xsort: note: first\n{}", ended.stderr));
    assert!(sandbox.ok("report run.json").contains("<h1>xsort lines</h1>"));
    let both = sandbox.ok("report run.json run.json");
    assert!(both.contains("Run A") && both.contains("Run B"), "{both}");
}

#[test]
fn what_is_no_report_is_refused() {
    let sandbox = sandbox();
    let json = sandbox.ok("sort in -o out --dry-run --json");
    sandbox.write("plan.json", json);
    for (line, code, reason) in [
        ("report in", 3, "no report"),
        ("report missing", 3, "missing"),
        ("report plan.json", 3, "dry run"),
        ("report", 2, "<REPORT>"),
        ("report plan.json -o plan.json", 3, "dry run"),
        ("sort in -o out --dry-run --report r.html", 2, "--dry-run"),
        ("table a.csv --by id --check --report r.html", 2, "checks"),
        ("lines -c lines --report r.html", 2, "does nothing beside -c"),
        ("lines --dry-run lines --report r.html", 2, "--dry-run"),
        ("sort in -o out --report -", 2, "needs the name of a file"),
    ] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(reason), "{line}: {}", ended.stderr);
    }
    assert!(!sandbox.path().join("r.html").exists() && !sandbox.path().join("out").exists());
}

#[test]
fn an_unwritable_place_is_refused_before_the_work() {
    let sandbox = sandbox();
    for (line, status) in COMMANDS {
        for option in ["--report", "--trace"] {
            if *line == "du tree" && option == "--trace" {
                continue;
            }
            let ended = sandbox.run(&format!("{line} {option} missing/page.html"));
            assert_eq!(ended.code, Some(*status), "{line}: {}", ended.stderr);
            assert!(ended.stderr.contains("missing/page.html"), "{line}: {}", ended.stderr);
            assert_eq!(ended.stdout, "", "{line}");
        }
    }
    for (name, line) in [("in", "sort in -o out"), ("out", "lines lines -o out")] {
        let ended = sandbox.run(&format!("{line} --report {name}"));
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains("name another file"), "{line}: {}", ended.stderr);
    }
    for name in ["new", "out", "out.csv"] {
        assert!(!sandbox.path().join(name).exists(), "{name} was written");
    }
}

/// The sort is done when the page can't be written. The old page stays.
#[test]
fn a_page_that_fails_hides_no_success() {
    let sandbox = sandbox();
    sandbox.write("page.html", "old");
    let line = "ulimit -f 2; exec \"$0\" lines lines -o out --report page.html --trace t.json";
    let output = clean("sh")
        .args(["-c", line])
        .arg(program())
        .current_dir(sandbox.path())
        .env("XSORT_STATUS", "off")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(text(&sandbox, "out"), "a\nb\n");
    let expected = "xsort lines: warning: the job is done and its result is right; only the page \
                    page.html is missing: writing page.html: ";
    assert!(stderr.contains(expected), "{stderr}");
    assert_eq!(text(&sandbox, "page.html"), "old");
}

#[test]
fn names_that_are_no_text_are_shown_as_text() {
    let sandbox = sandbox();
    let tree = sandbox.path().join("tree");
    for name in [&b"<script>alert(1)<"[..], b"\xff\x1b[31m", b"a\"b'&c\n"] {
        fs::write(tree.join(OsStr::from_bytes(name)), [1; 5000]).unwrap();
    }
    sandbox.ok("du -a tree --report page.html --json");
    let page = text(&sandbox, "page.html");
    assert!(page.contains("tree/&lt;script&gt;alert(1)&lt;") && !page.contains("<script"));
    assert!(page.contains("a&quot;b'&amp;c") && page.contains('\u{fffd}'), "{page}");
}

/// The map shows all of the tree, whatever is printed of it.
#[test]
fn a_map_does_not_depend_on_what_is_printed() {
    let sandbox = sandbox();
    for options in ["", "-s", "-d0", "-a", "--tree", "--top=1", "-h --sort=name"] {
        let plain = sandbox.ok(&format!("du {options} tree"));
        assert_eq!(sandbox.ok(&format!("du {options} tree --report page.html")), plain);
        assert!(text(&sandbox, "page.html").contains("<title>tree/file: "), "{options}");
    }
}

#[test]
fn spans_are_reported_only_on_request() {
    let sandbox = sandbox();
    let line = "sort in -o out -m 1M --method merge";
    let plain = sandbox.json(line);
    let run = &plain["run"];
    assert!(run["lanes"].is_null() && run["samples"].is_null(), "{run}");
    assert_eq!(run["threads"], plain["threads"]);
    assert_eq!(run["moved"], plain["moved"]);
    let names = |run: &Value| {
        let phases = run["phases"].as_array().unwrap().iter();
        phases.map(|phase| phase["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(run), ["form runs", "merge", "publish"]);
    let recorded = sandbox.json(&format!("{line} --report page.html"));
    let lanes = recorded["run"]["lanes"].as_array().unwrap();
    let names: Vec<&str> = lanes.iter().map(|lane| lane["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"worker 0") && names.contains(&"reads"), "{names:?}");
    for lane in lanes {
        assert!(lane["spans"].as_array().unwrap().len() <= 1000, "{}", lane["name"]);
    }
    // What the stages worked is what their spans say, except for processor time.
    let stages = recorded["run"]["stages"].as_array().unwrap();
    let stage = |name: &str| stages.iter().find(|stage| stage["name"] == name).unwrap();
    let spans = lanes.iter().flat_map(|lane| lane["spans"].as_array().unwrap());
    let sorted: f64 =
        spans.filter(|span| span[3] == "sort").map(|span| span[2].as_f64().unwrap() / 1e6).sum();
    let busy = stage("sort")["busy_seconds"].as_f64().unwrap();
    assert!((sorted / busy - 1.0).abs() < 0.2, "{sorted} {busy}");
}

#[test]
fn a_trace_has_spans_that_do_not_overlap() {
    let sandbox = sandbox();
    for line in [
        "gen 20MB new --no-sync",
        "sort in -o out -m 1M --method merge",
        "sort in -o out -m 1M --method scatter",
        "lines in -o out -S 2M",
        "verify out --record 100 --key 0:1",
    ] {
        sandbox.run(&format!("{line} --trace trace.json"));
        let trace: Value = serde_json::from_slice(&sandbox.read("trace.json")).unwrap();
        let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut names, mut spans) = (BTreeMap::new(), 0);
        for event in trace["traceEvents"].as_array().unwrap() {
            let thread = event["tid"].as_u64();
            match event["ph"].as_str().unwrap() {
                "M" => {
                    names.insert((event["name"].to_string(), thread), event["args"].clone());
                }
                "X" => {
                    let (begin, length) = (event["ts"].as_u64(), event["dur"].as_u64());
                    let (begin, length) = (begin.unwrap(), length.unwrap());
                    let end = ends.entry(thread.unwrap()).or_default();
                    assert!(begin >= *end || thread == Some(0), "{line}: {event}");
                    *end = begin + length;
                    spans += 1;
                    let busy = event["args"]["busy_seconds"].as_f64().unwrap_or(0.0);
                    assert!(busy * 1e6 <= length as f64 + 2.0, "{line}: {event}");
                }
                "C" => {}
                other => panic!("{line}: {other}"),
            }
        }
        assert!(spans >= 3 && ends.len() >= 2, "{line}: {spans} spans, {ends:?}");
        for thread in ends.keys() {
            assert!(names.contains_key(&("\"thread_name\"".into(), Some(*thread))), "{line}");
        }
    }
}

/// Chromium without a network, if it is installed and may have a namespace of its own.
fn chromium(directory: &Path, options: &[&str]) -> Option<Command> {
    let has = |program: &str, option: &str| {
        Command::new(program).arg(option).output().is_ok_and(|output| output.status.success())
    };
    if !has("chromium", "--version") || !has("unshare", "--version") {
        eprintln!("SKIPPED: there is no chromium, or no unshare (apt-get install chromium)");
        return None;
    }
    let mut command = clean("unshare");
    command
        .args(["--net", "chromium", "--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--enable-logging=stderr", "--log-net-log=net.json"])
        .arg(format!("--user-data-dir={}", directory.join("profile").display()))
        .args(options)
        .env("HOME", directory)
        .current_dir(directory);
    Some(command)
}

/// A page loads nothing, and its policy forbids nothing that it has.
#[test]
fn a_browser_shows_pages_without_requests_and_errors() {
    let sandbox = sandbox();
    fs::write(sandbox.path().join("tree/<img src=x onerror=alert(1)>"), [1; 9000]).unwrap();
    let json = sandbox.ok("sort in -o out -m 1M --method merge --json --report sort.html");
    sandbox.write("run.json", json);
    sandbox.ok("report run.json run.json -o both.html");
    sandbox.ok("du tree -s --report du.html --json");
    for (page, words) in [
        ("sort.html", "Timeline"),
        ("both.html", "Both took the same time"),
        ("du.html", "Largest files and directories"),
    ] {
        let url = format!("file://{}", sandbox.path().join(page).display());
        let Some(mut browser) = chromium(sandbox.path(), &["--dump-dom", &url]) else { return };
        let output = browser.output().unwrap();
        let (shown, said) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.success() && said.contains("unshare") {
            eprintln!("SKIPPED: this user may not make a namespace without a network");
            return;
        }
        assert!(shown.contains(words), "{page}: {said}");
        assert!(!said.contains("CONSOLE"), "{page}: {said}");
        // The browser itself asks for updates and the like; a page could only ask as itself.
        let log = text(&sandbox, "net.json");
        let log: Value = serde_json::from_str(&log).unwrap_or_else(|error| panic!("{error}"));
        let requested = log["events"].as_array().unwrap().iter().filter(|event| {
            event["params"]["initiator"].as_str().is_some_and(|by| by.starts_with("file"))
                || event["params"]["url"].as_str().is_some_and(|url| url.contains("onerror"))
        });
        assert_eq!(requested.count(), 0, "{page}");
    }
}
