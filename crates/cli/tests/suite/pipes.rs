//! `-`: records from pipes and to pipes.

use crate::sandbox::{Sandbox, clean, program};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::process::Stdio;
use xsort_testing::quick_or_long;

#[test]
fn records_go_through_pipes_as_through_files() {
    let sandbox = Sandbox::new();
    let bytes = quick_or_long(5_123_456, 12_345_678);
    sandbox.ok(&format!("gen -q {bytes} data"));
    sandbox.script_ok(&format!("$xsort gen {bytes} - | cmp - data"));
    sandbox.ok("sort -q data -o sorted");
    for how in [
        "",
        "-m 1M",
        "-m 3M -j 5",
        "-m 600K -j 1",
        "-m 3M --method scatter",
        "-m 2M --method scatter -j 5 --io sync",
        "-m 200M --method scatter",
    ] {
        sandbox.script_ok(&format!("$xsort sort {how} data -o - | cmp - sorted"));
        sandbox.script_ok(&format!("cat data | $xsort sort {how} - -o - | cmp - sorted"));
        sandbox.script_ok(&format!("$xsort sort {how} data -o - >out; cmp out sorted"));
        let script = format!("$xsort gen 7777r - | $xsort sort {how} - -o - | $xsort verify -q -");
        sandbox.script_ok(&script);
    }
    for (format, size) in
        [("kv128", "1r"), ("kv128", "33r"), ("block4k", "700r"), ("gensort", "0r")]
    {
        sandbox.script_ok(&format!(
            "$xsort gen -f {format} {size} in -q; $xsort sort -f {format} in -m 1M -o - | \
                 $xsort verify -f {format} - --against in"
        ));
    }
    assert_eq!(sandbox.names(), ["data", "in", "out", "sorted"]);
}

/// Renaming would lose the shell's own file.
#[test]
fn standard_output_keeps_what_others_write_there() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1234r data");
    sandbox.ok("sort -q data -o sorted");
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        let script = format!("(echo head; $xsort sort data -o {name}; echo tail) >out");
        sandbox.script_ok(&script);
        sandbox.script_ok("(echo head; cat sorted; echo tail) | cmp - out");
        sandbox.script_ok(&format!(
            "echo old >out; $xsort gen 10r {name} >>out; wc -c <out | grep 1004"
        ));
    }
    sandbox.script_ok("$xsort sort data -o - >/dev/null; $xsort gen 10r - >/dev/null");
}

#[test]
fn a_reader_that_leaves_ends_the_job_quietly() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 30MB data");
    for script in [
        "$xsort sort data -o -",
        "$xsort gen 10GB -",
        // Long enough for the status to be published.
        "$xsort sort --bandwidth-limit 40M data -o -",
    ] {
        let script = format!("({script}; echo $? >status) | head -c 1000 | wc -c");
        assert_eq!(sandbox.script(&script).stderr, b"", "{script}");
        assert_eq!(sandbox.read("status"), b"141\n", "{script}");
    }
}

/// A job that waited forever for its reader once blocked this test, too.
#[test]
fn a_job_whose_reader_reads_no_further_can_be_stopped() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 5MB data");
    for line in ["gen 1GB -", "sort data -o -", "sort -m 1M data -o -", "verify -"] {
        let mut command = clean(program());
        command.args(line.split_whitespace()).current_dir(sandbox.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut job = command.spawn().unwrap();
        let input = job.stdin.take();
        let mut output = job.stdout.take().unwrap();
        if line != "verify -" {
            output.read_exact(&mut [0; 1000]).unwrap();
        } else {
            // Until the job waits for more.
            input.as_ref().unwrap().write_all(&[0; 100_000]).unwrap();
        }
        kill_process(Pid::from_child(&job), Signal::TERM).unwrap();
        assert_eq!(job.wait().unwrap().code(), Some(143), "{line}");
        let mut message = String::new();
        job.stderr.take().unwrap().read_to_string(&mut message).unwrap();
        let has_a_part = message.contains("standard output has only a part of the records");
        assert_eq!(has_a_part, line != "verify -", "{line}: {message}");
        drop((input, output));
    }
    assert_eq!(sandbox.names(), ["data"]);
}

#[test]
fn a_verdict_on_a_stream_is_that_on_a_file() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 3456r data");
    sandbox.ok("sort -q data -o sorted");
    assert_eq!(sandbox.script_ok("cat sorted | $xsort verify -"), sandbox.ok("verify sorted"));
    assert_eq!(sandbox.script_ok("$xsort verify - <sorted"), sandbox.ok("verify sorted"));
    sandbox.script_ok("cat data | $xsort verify -q sorted --against -");
    assert_eq!(sandbox.script("cat data | $xsort verify -").status.code(), Some(1));
    // Summaries, too.
    sandbox
        .script_ok("$xsort verify -q sorted -o summary; $xsort verify sorted -o - | cmp - summary");
    let appended = sandbox.script_ok("$xsort verify sorted -o - | $xsort verify -s -");
    assert_eq!(appended, sandbox.ok("verify -s summary"));
    for (script, code, reason) in [
        ("cat sorted | $xsort verify - sorted", 2, "alone"),
        ("cat sorted | $xsort verify - --against -", 2, "twice"),
        ("head -c 250 sorted | $xsort verify -", 3, "50 bytes are left over"),
        ("seq 100000 | $xsort verify -", 3, "'xsort lines'"),
    ] {
        let output = sandbox.script(&format!("({})", script.replace("cat", "cat 2>/dev/null")));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(reason), "{script}: {stderr}");
        assert!(output.status.code() == Some(code) || script.starts_with("seq"), "{script}");
    }
}

/// Standard output is for the records. Reports go to standard error, on request.
#[test]
fn reports_stay_out_of_the_records() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 100r data");
    for command in ["sort data -o -", "gen 100r -"] {
        let output = sandbox.script(&format!("$xsort {command} --json | wc -c"));
        let json: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!((&json["records"], &*output.stdout), (&100.into(), &b"10000\n"[..]));
        let output = sandbox.script(&format!("$xsort {command} -v | wc -c"));
        assert!(!output.stderr.is_empty() && output.stdout == b"10000\n", "{command}");
        assert!(!output.stderr.ends_with(b"\n\n"), "{command}");
    }
}

/// The report names no drive if none took part.
#[test]
fn the_report_of_a_stream_names_standard_output() {
    let sandbox = Sandbox::new();
    let told = sandbox.script_ok("$xsort gen -v 100r - 2>&1 >data");
    let last = told.lines().last().unwrap_or_default();
    assert!(last.starts_with("standard output, 1 thread, "), "{told}");
    let told = sandbox.ok("gen -v 100r data");
    assert!(!told.contains("standard output"), "{told}");
}

/// Each remedy that an error names works.
#[test]
fn what_no_pipe_can_do_is_refused_in_words() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 100r data");
    for (line, reason) in [
        ("sort data -o - --checkpoint", "write to a file"),
        ("sort data -o - --resume", "write to a file"),
        ("sort data -o - --remove-input", "write to a file"),
        ("sort data -o /dev/null", "give '-' as the output and redirect standard output"),
        ("gen 10r /dev/null", "give '-' as the output and redirect standard output"),
        ("sort data", "-o - writes to standard output"),
        ("sort data -o missing/out", "its directory does not exist; create it first"),
    ] {
        let error = sandbox.fails(line, 2);
        assert!(error.contains(reason), "{line}: {error}");
    }
    sandbox.script_ok("mkfifo pipe");
    sandbox.script_ok("$xsort sort --record 1 - -o - </proc/version | wc -c | grep -v ^0");
    for line in ["sort pipe -o out", "verify pipe", "sort /proc/version -o out"] {
        let error = sandbox.fails(line, 3);
        assert!(error.contains("name '-', and redirect standard input from it"), "{line}: {error}");
    }
    sandbox.script_ok(
        "cat data >pipe & $xsort sort -q - -o - <pipe >out; $xsort verify -q out; rm pipe out",
    );
    assert_eq!(sandbox.names(), ["data"]);
    std::fs::create_dir(sandbox.path().join("missing")).unwrap();
    sandbox.ok("sort -q data -o missing/out");
    let closed = sandbox.script("$xsort sort data -o - >&-");
    assert!(String::from_utf8_lossy(&closed.stderr).contains("/dev/stdout: it is closed"));
}
