//! `--bandwidth-limit`: the result is the same, it comes no sooner than the rate allows, and a job
//! that waits can be stopped.
//!
//! A test can't know how long a job takes at most, only how long it takes at least.

use crate::sandbox::{Sandbox, clean, program};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

/// How far a job may be ahead of the rate, in seconds.
const BURST_SECONDS: f64 = 0.1;

/// The least number of seconds for `bytes` bytes at 40 MB/s.
fn least_seconds(bytes: f64) -> f64 {
    bytes / 40e6 - BURST_SECONDS
}

#[test]
fn records_come_out_the_same_no_sooner_than_allowed() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 8MB same");
    sandbox.ok("sort -q same -o expected");
    let made = sandbox.json("gen 8MB in --bandwidth-limit 40MB");
    assert!(made["seconds"].as_f64().unwrap() >= least_seconds(8e6), "{made}");
    assert!(made["io"].as_str().unwrap().contains("at most 40.0 MB/s"), "{made}");
    assert!(sandbox.read("in") == sandbox.read("same"));
    for method in ["merge", "scatter"] {
        for engine in ["auto", "sync"] {
            let line = format!(
                "sort -m 1M --method {method} --io {engine} in -o out --bandwidth-limit 40MB/s"
            );
            let begun = Instant::now();
            let sorted = sandbox.json(&line);
            // Into and out of scratch: at least twice the data.
            assert!(begun.elapsed().as_secs_f64() >= least_seconds(4.0 * 7e6), "{line}: {sorted}");
            assert!(sandbox.read("out") == sandbox.read("expected"), "{line}");
        }
    }
    let verdict = sandbox.json("verify out --against in --bandwidth-limit 40MB");
    assert_eq!(verdict["ok"], true);
    assert!(verdict["seconds"].as_f64().unwrap() >= least_seconds(16e6), "{verdict}");
}

/// Inputs and outputs of lines and keyed records may pass the engine or bypass it; both count.
#[test]
fn lines_come_out_the_same_no_sooner_than_allowed() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q -f gensort-ascii 6MB in");
    sandbox.ok("sort -q -f gensort-ascii in -o expected");
    sandbox.write("messages", [59; 60].repeat(100_000));
    for (line, moved) in [
        ("lines in -o out", 12e6),
        ("lines -S 2M in -o out", 24e6),
        ("lines --top 60000 in -o out", 12e6),
        ("lines -m expected expected -u -o out", 12e6),
        ("lines -c expected", 6e6),
        ("table -f tsv --no-header --by #1 in -q -o out", 12e6),
        ("sort --record prefixed:u8 messages -q -o out", 12e6),
    ] {
        let begun = Instant::now();
        sandbox.ok(&format!("{line} --bandwidth-limit=40MB"));
        assert!(begun.elapsed().as_secs_f64() >= least_seconds(moved * 0.95), "{line}");
        let expected = match line {
            "lines -c expected" => continue,
            line if line.contains("messages") => "messages",
            _ => "expected",
        };
        assert!(sandbox.read("out") == sandbox.read(expected), "{line}");
    }
}

#[test]
fn a_job_that_waits_for_its_rate_tells_of_it_and_can_be_stopped() {
    let sandbox = Sandbox::new();
    sandbox.write("out", "old");
    fs::create_dir(sandbox.path().join("status")).unwrap();
    let command = |line: &str| {
        let mut command = clean(program());
        command
            .args(line.split_whitespace())
            .current_dir(sandbox.path())
            .env_remove("XSORT_STATUS");
        command.env("XSORT_STATUS_DIR", sandbox.path().join("status")).stdout(Stdio::piped());
        command
    };
    // It would take two days if it weren't stopped.
    let mut job = command("gen -q 200MB out --bandwidth-limit 1K").spawn().unwrap();
    let told = loop {
        assert!(job.try_wait().unwrap().is_none(), "it was over before its time");
        let output = command("status --json").output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        if told["jobs"].as_array().is_some_and(|jobs| !jobs.is_empty()) {
            break told;
        }
        thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(told["jobs"][0]["snapshot"]["limit_bytes_per_second"], 1024, "{told}");
    let output = command(&format!("status {}", job.id())).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("limit       1.02 kB/s, read and written together\n"), "{text}");
    kill_process(Pid::from_child(&job), Signal::TERM).unwrap();
    assert_eq!(job.wait().unwrap().code(), Some(143));
    assert_eq!(sandbox.read("out"), b"old");
    assert_eq!(sandbox.names(), ["out", "status"]);
}

#[test]
fn what_is_no_rate_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("in", "");
    for rate in ["0", "0.1", "x", "-1", "1M/h", ""] {
        let error = sandbox.fails(&format!("gen 1MB out --bandwidth-limit={rate}"), 2);
        assert!(error.contains("--bandwidth-limit"), "{error}");
        let ended = sandbox.run(&format!("lines in -o out --bandwidth-limit={rate}"));
        assert_eq!(ended.code, Some(2));
        let start = format!("xsort lines: invalid --bandwidth-limit argument '{rate}': ");
        assert!(ended.stderr.starts_with(&start), "{}", ended.stderr);
        assert_eq!(sandbox.names(), ["in"], "{rate}");
    }
}
