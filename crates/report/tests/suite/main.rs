//! Pages from reports as they are written, hostile ones too.

use serde_json::{Value, json};
use xsort_report::{Error, Run, page};

fn run(report: &Value) -> Run {
    Run::read(report.to_string().as_bytes()).unwrap()
}

fn page_of(report: &Value) -> String {
    page(&run(report), None)
}

/// The sentence at the top.
fn verdict(report: &Value) -> String {
    let text = page_of(report);
    let begin = text.split("<p class=\"verdict\">").nth(1).unwrap();
    begin.split("</p>").next().unwrap().to_owned()
}

/// A sort of ten seconds on two threads.
fn sort() -> Value {
    json!({
        "command": "sort", "version": 1, "dry_run": false, "records": 1_000_000,
        "bytes": 100_000_000, "checksum": "abc", "seconds": 10.0, "threads": 2,
        "memory_bytes": 1_000_000, "cpu_user_seconds": 4.0, "cpu_system_seconds": 0.0,
        "moved": {"read_bytes": 200_000_000, "written_bytes": 200_000_000, "busy_seconds": 5.0},
        "run": {
            "machine": {"processors": 2, "memory_bytes": 1_000_000_000_000_u64},
            "stages": [{"name": "sort", "busy_seconds": 4.0,
                "waits": [{"on": "read", "seconds": 2.0}, {"on": "memory", "seconds": 9.0}]}],
        },
    })
}

/// `sort()` with one field of it changed.
fn sort_with(pointer: &str, value: Value) -> Value {
    let mut report = sort();
    *report.pointer_mut(pointer).unwrap() = value;
    report
}

#[test]
fn the_sentence_says_what_the_figures_show() {
    assert!(verdict(&sort()).starts_with("Nothing alone bounded this run: the threads used 20%"));
    let processor = sort_with("/cpu_user_seconds", json!(19.0));
    let sentence = verdict(&processor);
    assert!(sentence.starts_with("The processor bounded this run: 2 threads used 95%"));
    assert!(sentence.ends_with("Twice as many would save at most 4.75 s."), "{sentence}");
    assert!(!page_of(&processor).contains("More threads"), "there are no more processors");
    let mut few = processor.clone();
    few["run"]["machine"]["processors"] = json!(8);
    assert!(page_of(&few).contains("the machine has 8 processors, and the run used 2."));
    let mut drive = sort();
    drive["floor_seconds"] = json!(9.0);
    let expected = "it needs 9.00 s for these bytes, 90% of the time. A drive twice as fast would \
                    save at most 4.50 s.";
    assert!(verdict(&drive).ends_with(expected), "{}", verdict(&drive));
    let mut moving = sort_with("/moved/busy_seconds", json!(9.7));
    moving["run"]["stages"][0]["waits"][0]["seconds"] = json!(12.0);
    let sentence = verdict(&moving);
    assert!(sentence.contains("a transfer was under way 97% of the time"), "{sentence}");
    assert!(sentence.contains("the threads waited 60% of theirs"), "{sentence}");
    assert!(sentence.ends_with("at most 4.85 s would be saved."), "{sentence}");
    let mut crowded = sort();
    crowded["run"]["stages"][0]["busy_seconds"] = json!(16.0);
    let sentence = verdict(&crowded);
    assert!(sentence.contains("they worked 80% of their time, but were on processors for 20%"));
    assert!(!page_of(&moving).contains("More memory"), "nothing went to scratch");
    moving["scratch_bytes"] = json!(50_000_000);
    let text = page_of(&moving);
    assert!(text.contains("More memory (--memory): 50.0 MB went to scratch"));
    assert!(text.contains("--compress=auto: the 50.0 MB of scratch were not compressed"));
    moving["lz4_bytes"] = json!(100);
    assert!(!page_of(&moving).contains("--compress=auto"));
    let mut limited = sort();
    limited["run"]["limit_bytes_per_second"] = json!(40_000_000);
    assert!(verdict(&limited).starts_with("The limit on bytes a second bounded this run"));
    let mut hot = sort();
    hot["run"]["paused_seconds"] = json!(3.0);
    assert!(verdict(&hot).contains("transfers paused for 3.00 s, 30% of the time"));
    assert!(verdict(&sort_with("/seconds", json!(0.01))).contains("too short to say"));
}

#[test]
fn what_is_hostile_stays_text() {
    let evil = "</style><script>alert(1)</script>\"'&<img src=x onerror=alert(2)>\u{202e}";
    let mut report = sort();
    report["checksum"] = json!(evil);
    report["io"] = json!(evil);
    report["scratch"] = json!([{"directory": evil, "bytes": 1}]);
    report["memory_shares"] = json!([{"name": evil, "bytes": 5}]);
    report["run"]["arguments"] = json!(["xsort", evil, "it's"]);
    report["run"]["machine"]["host"] = json!(evil);
    report["run"]["lanes"] = json!([{"name": evil, "spans": [[0, 1000, 500, "sort"]]}]);
    let tree = json!({
        "command": "du", "version": 1, "dry_run": false,
        "entries": [{"path": evil, "depth": 0, "allocated_bytes": 5}],
        "errors": [{"path": evil, "operation": evil, "reason": evil}],
        "total": {"allocated_bytes": 5, "apparent_bytes": 5, "inodes": 1},
    });
    let both = page(&run(&report), Some(&run(&tree)));
    for text in [page_of(&report), page_of(&tree), both] {
        assert!(text.contains("&lt;script&gt;alert(1)"), "{text}");
        for tag in ["<script", "<img", "</style><"] {
            let expected = usize::from(tag == "</style><");
            assert_eq!(text.matches(tag).count(), expected, "{tag}");
        }
        assert!(text.contains("Content-Security-Policy\" content=\"default-src 'none'"));
        for other in ["http:", "https:", "url(", "src=", "href="] {
            let outside = text.replace("&lt;img src=x", "");
            assert!(!outside.contains(other), "{other}");
        }
    }
    assert!(page_of(&report).contains("'it'\\''s'"), "the command can be repeated");
}

#[test]
fn figures_beyond_all_measure_are_shown_somehow() {
    let most = u64::MAX;
    let mut report = sort();
    report["bytes"] = json!(most);
    report["seconds"] = json!(1e300);
    report["spilled_bytes"] = json!(most);
    report["phases"] = json!([{"name": "", "seconds": -1e300, "read_bytes": most}]);
    report["run"]["samples"] = json!([
        {"seconds": 5.0, "read_bytes": 7}, {"seconds": 1.0, "read_bytes": most}, {"seconds": 1e300}
    ]);
    report["run"]["lanes"] =
        json!([{"name": "a", "spans": [[most / 2, most / 2, most, "sort"], [0, 0, 0, "?"]]}]);
    page_of(&report);
    page_of(&sort_with("/seconds", json!(0.0)));
    page_of(&sort_with("/seconds", json!(-1.0)));
    page_of(&json!({"command": "verify"}));
}

/// A run of an hour on 64 threads, and a tree of many files.
#[test]
fn a_page_stays_small() {
    let mut report = sort_with("/seconds", json!(3600.0));
    let kinds = ["sort", "spill", "wait for write"];
    let span =
        |number: u64| json!([number * 3_600_000, 3_500_000, 3_000_000, kinds[number as usize % 3]]);
    let spans: Vec<Value> = (0..1000).map(span).collect();
    let lanes: Vec<Value> =
        (0..66).map(|number| json!({"name": format!("worker {number}"), "spans": spans})).collect();
    report["run"]["lanes"] = json!(lanes);
    let sample = |number: u64| {
        json!({"seconds": number * 7, "read_bytes": number * 700_000_000,
            "written_bytes": number * number * 1_000_000, "scratch_bytes": number * 1_000_000,
            "resident_bytes": 500_000_000, "celsius": 40.0 + number as f64 / 50.0})
    };
    report["run"]["samples"] = json!((0..512).map(sample).collect::<Vec<_>>());
    let text = page_of(&report);
    assert!((50_000..300_000).contains(&text.len()), "{} bytes", text.len());
    let entry = |number: u64| {
        json!({"path": format!("./{}/file with a name {number}", number % 50), "depth": 2,
            "allocated_bytes": 1 + number * 4096, "inodes": 1})
    };
    let mut entries: Vec<Value> = (0..20_000).map(entry).collect();
    entries.extend((0..50).map(|directory| {
        json!({"path": format!("./{directory}"), "depth": 1, "is_directory": true,
            "allocated_bytes": 20_000_000_000_u64, "inodes": 401})
    }));
    let tree = json!({
        "command": "du", "version": 1, "dry_run": false, "entries": entries, "errors": [],
        "total": {"allocated_bytes": 900_000_000_000_u64, "apparent_bytes": 5, "inodes": 20_050},
    });
    let text = page_of(&tree);
    assert_eq!(text.matches("<rect").count(), 500);
    assert!(text.len() < 300_000, "{} bytes", text.len());
    assert!(text.contains("And 20,020 smaller ones."));
}

#[test]
fn two_runs_are_compared() {
    let (a, b) = (run(&sort()), run(&sort_with("/seconds", json!(20.0))));
    assert!(page(&a, Some(&b)).contains("B took 2.00 times as long as A."));
    assert!(page(&b, Some(&a)).contains("A took 2.00 times as long as B."));
    assert!(page(&a, Some(&a)).contains("Both took the same time"));
    let more = run(&sort_with("/bytes", json!(200_000_000)));
    let text = page(&a, Some(&more));
    assert!(text.contains("A took 2.00 times as long as B for each byte; their sizes differ."));
}

#[test]
fn of_two_trees_the_page_says_what_grew() {
    let tree = |files: &[(&str, u64)], others: u64| {
        let mut entries: Vec<Value> = files
            .iter()
            .map(|(path, size)| json!({"path": path, "depth": 1, "allocated_bytes": size}))
            .collect();
        let other = |number| json!({"path": format!("{number}"), "depth": 1, "allocated_bytes": 1});
        entries.extend((0..others).map(other));
        let sum: u64 = files.iter().map(|(_, size)| size).sum();
        run(&json!({"command": "du", "entries": entries, "run": {"arguments": ["du"]},
            "total": {"allocated_bytes": sum + others, "apparent_bytes": 0, "inodes": 1}}))
    };
    let old = tree(&[("a", 5000), ("b", 7000), ("gone", 300)], 0);
    let new = tree(&[("a", 5000), ("b", 9000), ("new", 400)], 0);
    let text = page(&old, Some(&new));
    assert!(text.contains("B takes 2.10 kB more space than A."), "{text}");
    let grown = text.split("What grew and shrank").nth(1).unwrap();
    let grown = grown.split("</table>").next().unwrap();
    let rows: Vec<&str> = grown.split("scope=\"row\">").skip(1).collect();
    assert_eq!(rows.len(), 3, "{grown}");
    for (row, (path, change)) in
        rows.iter().zip([("b<", "+2.00 kB"), ("new<", "+400 B"), ("gone<", "-300 B")])
    {
        assert!(row.starts_with(path) && row.contains(change), "{row}");
    }
    // Of the cut list nothing is known about files that it lacks.
    let cut = tree(&[("b", 9000)], 600);
    let text = page(&old, Some(&cut));
    let grown = text.split("What grew and shrank").nth(1).unwrap();
    let grown = grown.split("</table>").next().unwrap();
    let has_row = |path: &str| grown.contains(&format!("scope=\"row\">{path}<"));
    assert!(has_row("b") && !has_row("a") && !has_row("gone"), "{grown}");
}

#[test]
fn what_is_no_report_of_a_run_is_refused() {
    let read = |text: &str| Run::read(text.as_bytes()).map(|_| ());
    assert!(matches!(read(""), Err(Error::Missing)));
    assert!(matches!(read("xsort: note: nothing\n"), Err(Error::Missing)));
    assert!(matches!(read("{\"command\": "), Err(Error::Json(_))));
    assert!(matches!(read("{\"command\": \"status\"}"), Err(Error::Command(_))));
    assert!(matches!(read("{\"command\": \"sort\", \"dry_run\": true}"), Err(Error::DryRun)));
    assert!(matches!(read("{\"command\": \"sort\", \"version\": 2}"), Err(Error::Version(2))));
    read("xsort: note: first\n{\"command\": \"lines\"}\nxsort lines: more\n").unwrap();
}
