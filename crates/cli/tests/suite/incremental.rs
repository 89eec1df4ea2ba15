//! `--sorted-by`, `--within` and `--late`: lines and rows sorted as they come.

use crate::sandbox::{Sandbox, clean, program};
use crate::signals::is_ignored;
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;
use xsort_testing::Random;

/// Runs a script that fails with this status, and returns standard error.
fn fails(sandbox: &Sandbox, script: &str, code: i32) -> String {
    let output = sandbox.script(script);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{script}: {stderr}");
    stderr
}

/// A log of `lines` lines, each up to `late` seconds late: its time, a name and a number.
fn log(lines: u64, late: u64, separator: char) -> String {
    let mut random = Random::new(lines + late);
    let mut times: Vec<(u64, u64)> =
        (0..lines).map(|at| (at / 3 + random.between(0, late), at / 3)).collect();
    times.sort_unstable();
    let mut log = String::new();
    for (_, at) in times {
        let (name, number) = (random.below(9), random.below(1000));
        writeln!(log, "{}{separator}n{name}{separator}{number}", 1_732_819_200 + at).unwrap();
    }
    log
}

#[test]
fn lines_come_out_as_from_a_sort_of_all() {
    let sandbox = Sandbox::new();
    sandbox.write("log", log(60_000, 20, ' '));
    sandbox.script_ok("$xsort lines log -k1,1n -k2,2 -k3,3nr -o sorted; gzip -k log");
    sandbox.script_ok("LC_ALL=C sort log -k1,1n -k2,2 -k3,3nr | cmp - sorted");
    let keys = "-k1,1n -k2,2 -k3,3nr";
    for how in ["--within 20s", "--within 200", "--within 1m -S 3M", "--within 100k", "--within 5d"]
    {
        for input in ["log", "- <log", "log.gz"] {
            let script = format!("$xsort lines {keys} {how} {input} | cmp - sorted");
            sandbox.script_ok(&script);
        }
        sandbox.script_ok(&format!("cat log | $xsort lines {keys} {how} -o out; cmp out sorted"));
        sandbox.script_ok(&format!(
            "$xsort lines {keys} {how} log -o out.gz; zcat out.gz | cmp - sorted"
        ));
    }
    // In the order of the first key, and with the rest in order, too.
    sandbox.script_ok("sort -s -k1,1n log >by-time");
    for how in ["", "-S 3M", "-u", "--header=3", "-s", "--top=100"] {
        sandbox.script_ok(&format!("$xsort lines {keys} {how} by-time >expected"));
        let script = format!("$xsort lines --sorted-by 1,1n {keys} {how} by-time | cmp - expected");
        sandbox.script_ok(&script);
        let script = format!("$xsort lines --within 0s {keys} {how} by-time | cmp - expected");
        sandbox.script_ok(&script);
    }
    for how in ["-u", "-u --count"] {
        sandbox.script_ok(&format!("$xsort lines -k1,1n {how} log >expected"));
        for within in ["20s", "200"] {
            let script =
                format!("$xsort lines -k1,1n {how} --within {within} log | cmp - expected");
            sandbox.script_ok(&script);
        }
    }
    sandbox
        .script_ok("$xsort lines --sorted-by 1,1n --sorted-by 2,2 -k1,1n -k2,2 -k3,3n sorted >a");
    sandbox.script_ok("$xsort lines -k1,1n -k2,2 -k3,3n sorted | cmp - a");
    assert_eq!(sandbox.script_ok("$xsort lines -k1,1 --sorted-by 1,1 </dev/null"), "");
    assert_eq!(sandbox.script_ok("printf 'b\\na' | $xsort lines --within 1"), "a\nb\n");
    assert_eq!(
        sandbox.script_ok("printf 'b\\0a\\0' | $xsort lines -z --within 1 | tr '\\0' ,"),
        "a,b,"
    );
}

#[test]
fn late_lines_are_errors_or_go_to_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write("log", "10 a\n30 b\n12 c\n28 d\n31 e\n");
    let error = fails(&sandbox, "$xsort lines -k1,1n --within 5s log -o out", 2);
    assert!(
        error.contains("log: line 3 comes too late") && error.contains("--late FILE"),
        "{error}"
    );
    assert!(error.contains("13 s further back"), "{error}");
    for how in ["log", "--header=1 log", "/dev/null log"] {
        let error = fails(&sandbox, &format!("$xsort lines -k1,1n --within 0 {how} -o out"), 2);
        assert!(error.contains("log: line 3 comes too late"), "{how}: {error}");
    }
    // A file that is read twice is counted twice from its first line.
    let error = fails(&sandbox, "head -n 2 log >two; $xsort lines -k1,1n --within 0 two two", 2);
    assert!(error.contains("two: line 1 comes too late"), "{error}");
    fs::remove_file(sandbox.path().join("two")).unwrap();
    let error = fails(&sandbox, "$xsort lines -k1,1n --within 0 - log <<<99 -o out", 2);
    assert!(error.contains("log: line 1 comes too late"), "{error}");
    assert_eq!(sandbox.names(), ["log"]);
    let script = "$xsort lines -k1,1n --within 5s --late late --json log -o out 2>report";
    sandbox.script_ok(script);
    assert_eq!(sandbox.read("out"), b"10 a\n28 d\n30 b\n31 e\n");
    assert_eq!(sandbox.read("late"), b"12 c\n");
    let report: serde_json::Value = serde_json::from_slice(&sandbox.read("report")).unwrap();
    assert_eq!((&report["lines"], &report["late_lines"]), (&5.into(), &1.into()), "{report}");
    let error = fails(&sandbox, "$xsort lines -k1,1n --within 5s --late log2/late log -o out", 2);
    assert!(error.contains("log2"), "{error}");
    assert_eq!(
        sandbox.script_ok("$xsort lines -k1,1n --within 5s --late /dev/stderr log 2>&1 >/dev/null"),
        "12 c\n"
    );
    let error = fails(&sandbox, "$xsort lines -k1,1n --sorted-by 1,1n log", 2);
    for part in ["log: line 3 belongs before the line before it", "30 b", "12 c", "--sorted-by"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn combinations_that_do_nothing_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("in", "1\n2\n");
    for (options, what) in [
        ("--sorted-by 1,1", "same to -k"),
        ("--sorted-by 1,1 -k1,1n", "same to -k"),
        ("--sorted-by 1,1n -k2 -k1,1n", "same to -k"),
        ("--sorted-by 1,1 --within 5 -k1,1", "leave one out"),
        ("--late f", "--within"),
        ("--within 5 -c", "leave out -c"),
        ("--within 5 -m", "leave out -m"),
        ("--within 5 --shuffle", "leave out --shuffle"),
        ("--within 5 --dry-run", "leave out --dry-run"),
        ("--within 5 --checkpoint -o f", "leave out --checkpoint"),
        ("--within 5m", "-k1,1n"),
        ("--within x", "100k"),
        ("--within 5 --late out -o out", "another"),
        ("--within 5 --in-place -o in", "another file"),
        ("--sorted-by 1,1R -k1,1R", "random"),
    ] {
        let error = fails(&sandbox, &format!("$xsort lines {options} in"), 2);
        assert!(error.contains(what), "{options}: {error}");
        assert_eq!(sandbox.names(), ["in"]);
    }
    sandbox.script_ok("$xsort lines --within 5 in -o in");
    assert_eq!(sandbox.read("in"), b"1\n2\n");
}

/// A program that reads a pipe which stays open.
struct Running {
    child: Child,
    input: ChildStdin,
}

impl Running {
    fn start(sandbox: &Sandbox, line: &str) -> Running {
        let mut command = clean(program());
        command.args(line.split_whitespace()).current_dir(sandbox.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        Running { child, input }
    }

    fn write(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for exactly these bytes. The test hangs if they don't come.
    fn reads(&mut self, text: &str) {
        let mut bytes = vec![0; text.len()];
        self.child.stdout.as_mut().unwrap().read_exact(&mut bytes).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), text);
    }

    /// Closes the pipe, and returns what is still written.
    fn end(mut self) -> String {
        drop(self.input);
        let mut rest = String::new();
        self.child.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success());
        rest
    }
}

#[test]
fn lines_and_rows_leave_while_the_pipe_pauses() {
    let sandbox = Sandbox::new();
    let mut run = Running::start(&sandbox, "lines -k1,1n --within 10s");
    run.write("100 a\n95 b\n11");
    run.write("0 c\n");
    run.reads("95 b\n");
    run.write("120 d\n");
    run.reads("100 a\n");
    assert_eq!(run.end(), "110 c\n120 d\n");
    let mut run = Running::start(&sandbox, "lines --within 1");
    run.write("b\nd\nc\n");
    run.reads("b\n");
    run.write("e\n");
    run.reads("c\nd\n");
    assert_eq!(run.end(), "e\n");
    let mut run = Running::start(&sandbox, "lines -k1,1 --sorted-by 1,1");
    run.write("a z\na y\nb x\n");
    run.reads("a y\na z\n");
    assert_eq!(run.end(), "b x\n");
    let mut run = Running::start(&sandbox, "table -f csv --by t:int,n --within 5s");
    run.write("t,n\n10,a\n8,b\n15,c\n");
    run.reads("t,n\n8,b\n");
    run.write("\"2");
    run.write("1\",d\n");
    run.reads("10,a\n15,c\n");
    assert_eq!(run.end(), "\"21\",d\n");
    let mut run = Running::start(&sandbox, "table -f ndjson --by .t:int,.n:str --sorted-by .t:int");
    run.write("{\"t\":1,\"n\":\"b\"}\n{\"t\":1,\"n\":\"a\"}\n{\"t\":2}\n");
    run.reads("{\"t\":1,\"n\":\"a\"}\n{\"t\":1,\"n\":\"b\"}\n");
    assert_eq!(run.end(), "{\"t\":2}\n");
}

#[test]
fn a_program_that_is_stopped_leaves_nothing() {
    let sandbox = Sandbox::new();
    for line in [
        "lines -k1,1n --within 10s -o out --late late",
        "lines -k1,1 --sorted-by 1,1 -o out",
        "table -f csv --by t:int --within 10s -o out.csv --late late.csv",
    ] {
        // SIGINT may be ignored where tests run: in the background of a shell.
        let signals = [Signal::TERM, Signal::INT].into_iter().filter(|signal| !is_ignored(*signal));
        for signal in signals {
            let mut run = Running::start(&sandbox, line);
            run.write(if line.starts_with("table") { "t\n1\n2\n" } else { "1\n2\n" });
            let pid = Pid::from_child(&run.child);
            while !Path::new(&format!("/proc/{}/fd/3", pid.as_raw_nonzero())).exists() {
                assert!(run.child.try_wait().unwrap().is_none(), "{line}: it has ended");
                std::thread::sleep(Duration::from_millis(1));
            }
            kill_process(pid, signal).unwrap();
            assert!(!run.child.wait().unwrap().success());
            assert_eq!(sandbox.names(), [""; 0], "{line}");
        }
    }
}

#[test]
fn a_full_drive_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("log", log(30_000, 3, ','));
    for line in ["lines -t, -k1,1n --within 9s log", "lines -t, -k1,1n --within 9s log --late late"]
    {
        let error = fails(&sandbox, &format!("$xsort {line} >/dev/full"), 2);
        assert!(error.contains("No space left on device"), "{error}");
        let error = fails(&sandbox, "$xsort lines -t, -k1,1n --within 0s log --late /dev/full", 2);
        assert!(error.contains("/dev/full") && error.contains("No space left"), "{error}");
    }
    let table = "$xsort table -f csv --no-header --by '#1:int' log";
    let error = fails(&sandbox, &format!("{table} --within 9s >/dev/full"), 4);
    assert!(error.contains("No space left on device"), "{error}");
    let error = fails(&sandbox, &format!("{table} --within 0s --late /dev/full >out"), 4);
    assert!(error.contains("/dev/full") && error.contains("No space left"), "{error}");
}

#[test]
fn rows_come_out_as_from_a_sort_of_all() {
    let sandbox = Sandbox::new();
    let rows = log(30_000, 20, ',');
    sandbox.write("log.csv", format!("t,name,\"a\nnumber\"\n{rows}"));
    sandbox.ok("table log.csv -q --by t:int,name,#3:int:desc -o sorted.csv");
    let keys = "--by t:int,name,#3:int:desc";
    for how in [
        "--within 20s",
        "--within 200",
        "--within 200 -m 3M -j 2",
        "--within 100k --file-size 100K",
        "--within 200 --top 500",
    ] {
        let cut = if how.contains("--top") { "head -n 502 sorted.csv" } else { "cat sorted.csv" };
        if how.contains("--file-size") {
            sandbox.script_ok(&format!("$xsort table -q log.csv {keys} {how} -o p.csv"));
            sandbox.script_ok(
                "(head -n 2 sorted.csv; tail -q -n +3 p-*.csv) | cmp - sorted.csv; rm p-*",
            );
            continue;
        }
        sandbox.script_ok(&format!("$xsort table -q log.csv {keys} {how} | cmp - <({cut})"));
        sandbox.script_ok(&format!("cat log.csv | $xsort table -q -f csv {keys} {how} -o out.csv"));
        sandbox.script_ok(&format!("cmp out.csv <({cut})"));
    }
    for how in ["--unique", "--unique=last", "--unique --count"] {
        sandbox.ok(&format!("table log.csv -q --by t:int {how} -o expected.csv"));
        for within in ["--within 20s", "--within 200"] {
            sandbox.ok(&format!("table log.csv -q --by t:int {how} {within} -o out.csv.gz"));
            sandbox.script_ok("zcat out.csv.gz | cmp - expected.csv; rm out.csv.gz");
        }
    }
    for keys in ["t:int,name", "t:int", keys.trim_start_matches("--by ")] {
        let line = format!("table sorted.csv -q --by t:int,name,#3:int:desc --sorted-by {keys}");
        sandbox.ok(&format!("{line} -o out.csv"));
        assert_eq!(sandbox.sha256("out.csv"), sandbox.sha256("sorted.csv"));
    }
}

#[test]
fn late_rows_are_errors_or_go_to_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.csv",
        "t,n\n2026-11-28T10:00:00Z,a\n2026-11-28T10:10:00Z,b\n2026-11-28T10:01:00Z,\"c\n\"\n,d\n",
    );
    let error = sandbox.fails("table a.csv --by t:datetime --within 5m -o out.csv", 3);
    assert!(error.contains("a.csv: row 4 comes too late") && error.contains("240 s"), "{error}");
    let report = sandbox.json("table a.csv --by t:datetime --within 5m -o out.csv --late late.csv");
    assert_eq!((&report["rows"], &report["late_rows"]), (&4.into(), &1.into()), "{report}");
    assert_eq!(sandbox.read("late.csv"), b"t,n\n2026-11-28T10:01:00Z,\"c\n\"\n");
    let sorted = b"t,n\n2026-11-28T10:00:00Z,a\n2026-11-28T10:10:00Z,b\n,d\n";
    assert_eq!(sandbox.read("out.csv"), sorted);
    let error = sandbox.fails("table a.csv --by t:datetime --sorted-by t:datetime -o out.csv", 3);
    assert!(error.contains("row 4 belongs before the row before it"), "{error}");
    assert!(error.contains("--sorted-by"), "{error}");
    for (line, what) in [
        ("--by n --within 5m", "datetime, date"),
        ("--by n,t --sorted-by t", "first keys"),
        ("--by n --late late", "--within"),
        ("--by n --within 5 --merge", "--merge"),
        ("--by n --within 5 --sorted-by n", "--sorted-by"),
        ("--by n --within 5 --checkpoint", "--checkpoint"),
    ] {
        let ended = sandbox.run(&format!("table a.csv {line} -o out2.csv"));
        assert!(ended.code == Some(2) && ended.stderr.contains(what), "{line}: {}", ended.stderr);
    }
    assert_eq!(sandbox.names(), ["a.csv", "late.csv", "out.csv"]);
}
