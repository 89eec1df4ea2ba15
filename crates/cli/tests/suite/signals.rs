//! Signals in the middle of a job: only the old output stays, and the status says which signal it
//! was.

use crate::sandbox::{Sandbox, clean, names, program};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use xsort_testing::{Random, seeds};

/// Bytes that a job must have written before it counts as being in the middle.
const MIDDLE_BYTES: u64 = 8 << 20;

/// Starts a job, waits until it is in the middle, and sends the signal. Returns its status and its
/// messages.
fn interrupt(sandbox: &Sandbox, line: &str, signal: Signal) -> (ExitStatus, String) {
    let mut child = clean(program())
        .args(line.split_whitespace())
        .current_dir(sandbox.path())
        .env("XSORT_STATUS", "off") // What is killed would leave it.
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_the_middle(&mut child);
    kill_process(Pid::from_child(&child), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status, String::from_utf8(output.stderr).unwrap())
}

fn wait_for_the_middle(child: &mut Child) {
    let begin = Instant::now();
    loop {
        let io = fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap_or_default();
        let written = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
        if written
            .and_then(|bytes| bytes.parse::<u64>().ok())
            .is_some_and(|bytes| bytes >= MIDDLE_BYTES)
        {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "the job was over before its middle");
        if begin.elapsed() > Duration::from_millis(500) {
            return; // A file system in memory, whose writes are not counted.
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// True if the tests run with this signal ignored, which children inherit and xsort respects.
pub(crate) fn is_ignored(signal: Signal) -> bool {
    has_signal(std::process::id(), "SigIgn:", signal)
}

/// True if this set of the process's signals has this one.
fn has_signal(process: u32, set: &str, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix(set)).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (signal.as_raw() - 1)) != 0
}

#[test]
fn a_sort_that_is_told_to_stop_cleans_up() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 200MB in");
    sandbox.write("out", "old");
    for signal in
        [Signal::TERM, Signal::INT, Signal::HUP].into_iter().filter(|signal| !is_ignored(*signal))
    {
        let (status, stderr) = interrupt(&sandbox, "sort -m 8M in -o out", signal);
        assert_eq!(status.code(), Some(128 + signal.as_raw()), "{signal:?}: {stderr}");
        let last = stderr.lines().last().unwrap();
        assert!(last.starts_with("xsort: error: stopped on request"), "{signal:?}: {stderr}");
        assert_eq!(sandbox.names(), ["in", "out"], "{signal:?}");
        assert_eq!(sandbox.read("out"), b"old", "{signal:?}");
    }
}

/// `timeout` signals the process and then its group, which includes the process: that is one
/// request, and the clean-up is not skipped.
#[test]
fn a_signal_and_its_echo_are_one_request() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 200MB in");
    for _ in 0..3 {
        let mut child = clean(program())
            .args(["sort", "-m", "8M", "in", "-o", "out"])
            .current_dir(sandbox.path())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_for_the_middle(&mut child);
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        thread::sleep(Duration::from_millis(1)); // Two of the same that wait together are one.
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(143), "{stderr}");
        assert!(
            stderr.lines().last().unwrap().starts_with("xsort: error: stopped on request"),
            "{stderr}"
        );
        assert_eq!(sandbox.names(), ["in"]);
    }
}

#[test]
fn one_who_insists_ends_even_a_job_that_hangs() {
    let sandbox = Sandbox::new();
    // No process writes to the pipe, so opening it never ends.
    let pipe = sandbox.path().join("pipe");
    assert!(clean("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = clean(program()).args(["verify", "-s"]).arg(&pipe).spawn().unwrap();
    // A signal would kill the process before its handlers are installed.
    while fs::read_to_string(format!("/proc/{}/comm", child.id())).unwrap() != "xsort\n"
        || !has_signal(child.id(), "SigCgt:", Signal::XFSZ)
    {
        thread::sleep(Duration::from_millis(1));
    }
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it still hangs");
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(begin.elapsed() >= Duration::from_millis(100), "echoes don't count");
}

#[test]
fn a_limit_on_the_size_of_files_has_its_line() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 5MB in");
    for line in [
        "gen -q 5MB out",
        "sort -q in -o out",
        "sort -q in -o out -m 1M",
        "gen -q --io sync 5MB out",
    ] {
        let script = format!("ulimit -f 1000; exec {} {line}", program().display());
        let output =
            clean("sh").args(["-c", &script]).current_dir(sandbox.path()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{line}: {:?} {stderr}", output.status);
        assert!(
            stderr.starts_with("xsort: error: ") && stderr.contains("ulimit -f"),
            "{line}: {stderr}"
        );
        assert_eq!(sandbox.names(), ["in"], "{line}");
    }
}

/// The signal once killed a sort of lines without a message, except where it rewrote a file.
#[test]
fn a_limit_on_the_size_of_files_is_an_error_of_lines() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q -f gensort-ascii 5MB in");
    fs::create_dir(sandbox.path().join("scratch")).unwrap();
    for line in ["in -o out", "-m in -o out", "-u in > out", "-S 2M -T scratch in"] {
        let script = format!("ulimit -f 1000; exec {} lines {line}", program().display());
        let mut shell = clean("sh");
        shell.args(["-c", &script]).current_dir(sandbox.path()).stdout(Stdio::piped());
        let output = shell.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {:?} {stderr}", output.status);
        let is_said = stderr.contains("File too large") && stderr.contains("ulimit -f");
        assert!(is_said, "{line}: {stderr}");
        let _ = fs::remove_file(sandbox.path().join("out")).map(|()| assert!(line.contains('>')));
        assert_eq!(sandbox.names(), ["in", "scratch"], "{line}");
        assert_eq!(names(&sandbox.path().join("scratch")), [""; 0], "{line}");
    }
}

#[test]
fn a_sort_that_is_killed_leaves_nothing() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 200MB in");
    sandbox.write("out", "old");
    let (status, _) = interrupt(&sandbox, "sort -m 8M in -o out", Signal::KILL);
    assert_eq!(status.signal(), Some(9));
    assert_eq!(sandbox.names(), ["in", "out"]);
    assert_eq!(sandbox.read("out"), b"old");
}

/// Lines have no handlers for a clean-up: neither scratch nor a new output has a name. An output
/// that is written in place is an ordinary file.
#[test]
fn a_sort_of_lines_that_is_killed_leaves_no_scratch() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q -f gensort-ascii 50MB in");
    fs::create_dir(sandbox.path().join("scratch")).unwrap();
    for signal in
        [Signal::TERM, Signal::INT, Signal::KILL].into_iter().filter(|signal| !is_ignored(*signal))
    {
        for is_writing in [false, true] {
            // A machine that is busy may wake this thread after the job's end: then again.
            let mut tries = 0;
            while !is_killed_in_its_middle(&sandbox, signal, is_writing) {
                tries += 1;
                assert!(tries < 5, "the job was over before its middle");
            }
            let is_there = |name: &&str| is_writing || *name != "out";
            let expected: Vec<_> = ["in", "out", "scratch"].into_iter().filter(is_there).collect();
            assert_eq!(sandbox.names(), expected, "{signal:?}");
            assert_eq!(names(&sandbox.path().join("scratch")), [""; 0], "{signal:?}");
        }
    }
}

/// Sorts lines slowly and sends the signal while they lie on scratch, or while the output is
/// written in place. False if the job had ended before it came.
fn is_killed_in_its_middle(sandbox: &Sandbox, signal: Signal, is_writing: bool) -> bool {
    let output = sandbox.path().join("out");
    let _ = fs::remove_file(&output);
    let mut child = clean(program())
        .args("lines -S 8M -T scratch --bandwidth-limit 60MB in -o out".split_whitespace())
        .args(is_writing.then_some("--in-place"))
        .current_dir(sandbox.path())
        .env("XSORT_STATUS", "off") // What is killed would leave it.
        .spawn()
        .unwrap();
    if is_writing {
        while fs::metadata(&output).map_or(0, |metadata| metadata.len()) == 0 {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success());
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
    } else {
        wait_for_the_middle(&mut child);
    }
    kill_process(Pid::from_child(&child), signal).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success() || status.signal() == Some(signal.as_raw()), "{status}");
    !status.success()
}

#[test]
fn a_generation_that_is_stopped_or_killed_leaves_the_old_file() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "old");
    for signal in [Signal::TERM, Signal::KILL] {
        let (status, _) = interrupt(&sandbox, "gen -m 64K -j 1 1GB file", signal);
        let expected = if signal == Signal::KILL { (None, Some(9)) } else { (Some(143), None) };
        assert_eq!((status.code(), status.signal()), expected);
        assert_eq!(sandbox.names(), ["file"]);
        assert_eq!(sandbox.read("file"), b"old");
    }
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let sandbox = Sandbox::new();
    // As with nohup. The shell `$$` becomes the job by exec, so the signal goes to the job.
    let line = format!(
        "trap '' HUP; (sleep 0.05; kill -HUP $$) & exec {} gen -q -m 64K 100MB file",
        program().display()
    );
    let status = clean("sh").args(["-c", &line]).current_dir(sandbox.path()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(sandbox.read("file").len(), 100_000_000);
}

/// A user who presses Ctrl-C twice wants to leave, whatever the job waits for: here, a drive that
/// doesn't answer when the output gets its name. The leaving process removes what would remain.
#[test]
fn one_who_insists_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1MB in");
    sandbox.write("out", "old");
    fs::create_dir(sandbox.path().join("status")).unwrap();
    let log = Sandbox::new();
    let spawned = clean("strace")
        .args(["-f", "-o"])
        .arg(log.path().join("log"))
        .args(["-e", "trace=renameat", "-e", "inject=renameat:delay_enter=1000000000"])
        .arg(program())
        .args(["sort", "in", "-o", "out"])
        .current_dir(sandbox.path())
        .env("XSORT_STATUS_DIR", sandbox.path().join("status"))
        .env_remove("XSORT_STATUS")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut tracer) = spawned else {
        eprintln!("SKIPPED: there is no strace");
        return;
    };
    let is_hidden = |name: &String| name.starts_with(".out.xsort-");
    while !sandbox.names().iter().any(is_hidden) || names(&sandbox.path().join("status")).is_empty()
    {
        if tracer.try_wait().unwrap().is_some() {
            eprintln!("SKIPPED: nobody may be traced here");
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    let hidden = sandbox.names().into_iter().find(is_hidden).unwrap();
    let pid: i32 = hidden.split('-').nth(1).unwrap().parse().unwrap();
    // Held up in the rename, not earlier: otherwise the signal would wait with the thread.
    let mut looks = 0;
    while looks < 50 {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_held =
            state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('t'));
        looks = if is_held { looks + 1 } else { 0 };
        assert!(tracer.try_wait().unwrap().is_none(), "it is over");
        thread::sleep(Duration::from_millis(5));
    }
    let signal = if is_ignored(Signal::INT) { Signal::TERM } else { Signal::INT };
    let ended = format!("+++ exited with {} +++", 128 + signal.as_raw());
    // The second signal must not be taken for an echo of the first, and a third not be needed: so
    // they come slowly.
    for _ in 0..2 {
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        thread::sleep(Duration::from_millis(1500));
    }
    let begun = Instant::now();
    while !String::from_utf8(log.read("log")).unwrap().contains(&ended) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is still there");
        thread::sleep(Duration::from_millis(10));
    }
    // It would wait for the end of the delay.
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    assert_eq!(sandbox.names(), ["in", "out", "status"]);
    assert_eq!(sandbox.read("out"), b"old");
    assert_eq!(names(&sandbox.path().join("status")), [""; 0]);
}

/// Records, lines and rows, their sorted outputs, and directories for leftovers.
fn with_inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q -f gensort-ascii 8MB in");
    sandbox.ok("sort -q in -o sorted");
    let rows = (0..100_000_u64).map(|number| format!("{},\"row\n\"\n", number * 7_919 % 100_003));
    sandbox.write("rows", rows.collect::<String>());
    sandbox.ok("table -q --format csv --no-header --by #1:int rows -o sorted-rows");
    for place in ["status", "scratch"] {
        fs::create_dir(sandbox.path().join(place)).unwrap();
    }
    sandbox
}

/// At any moment of a job, a signal leaves everything unchanged, or the complete result.
#[test]
fn at_any_moment_nothing_is_left_but_the_old_output_or_the_new() {
    let sandbox = with_inputs();
    let jobs = [
        ("sort -q -m 2M -T scratch --method merge in -o out", "sorted"),
        ("sort -q -m 2M -T scratch --method scatter in -o out", "sorted"),
        ("sort -q -m 64M in -o out", "sorted"),
        ("gen -q -m 256K -f gensort-ascii 8MB out", "in"),
        ("verify -q -m 1M sorted --against in", ""),
        ("lines -S 2M -T scratch in -o out", "sorted"),
        ("lines in -o out", "sorted"),
        (
            "table -q -m 4M -T scratch --format csv --no-header --by #1:int rows -o out",
            "sorted-rows",
        ),
        ("du -a /usr", ""),
    ];
    let signals =
        [Signal::INT, Signal::TERM, Signal::HUP].into_iter().filter(|signal| !is_ignored(*signal));
    let signals: Vec<Signal> = signals.collect();
    let start = |line: &str| {
        let mut command = clean(program());
        command.args(line.split_whitespace()).current_dir(sandbox.path());
        command.env("XSORT_STATUS_DIR", sandbox.path().join("status")).env_remove("XSORT_STATUS");
        command.env("LC_ALL", "C").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let spans = jobs.map(|(line, _)| {
        let begun = Instant::now();
        assert!(start(line).wait().unwrap().success(), "{line}");
        begun.elapsed()
    });
    for seed in seeds(4) {
        let mut random = Random::new(seed);
        for ((line, expected), span) in jobs.iter().zip(spans) {
            sandbox.write("out", "old");
            let signal = random.one_of(&signals);
            let mut child = start(line);
            thread::sleep(span.mul_f64(random.below(1100) as f64 / 1000.0));
            let is_over = child.try_wait().unwrap().is_some();
            if !is_over {
                kill_process(Pid::from_child(&child), signal).unwrap();
            }
            let output = child.wait_with_output().unwrap();
            let said = format!("seed {seed}: {line}: {}", String::from_utf8_lossy(&output.stderr));
            let status = output.status;
            if status.success() {
                if !expected.is_empty() {
                    assert!(sandbox.read("out") == sandbox.read(expected), "{said}");
                }
            } else {
                // Before there are handlers, and for lines and du always, the signal itself ends
                // the process; shells report both alike.
                let code = status.code().or(status.signal().map(|signal| 128 + signal));
                assert_eq!(code, Some(128 + signal.as_raw()), "{said}");
                // A signal may kill lines after the new output is in place.
                let out = sandbox.read("out");
                let is_new = line.starts_with("lines") && out == sandbox.read(expected);
                assert!(out == b"old" || is_new, "{said}");
            }
            let left = ["in", "out", "rows", "scratch", "sorted", "sorted-rows", "status"];
            assert_eq!(sandbox.names(), left, "{said}");
            for place in ["status", "scratch"] {
                assert_eq!(names(&sandbox.path().join(place)), [""; 0], "{place}, {said}");
            }
        }
    }
}

/// An output that may not replace a file has a hidden name, and the job a status. When a signal
/// came, a thread of its own removed each, and the first one to finish ended the process. Here the
/// removal of the status is delayed, so that it would be the last.
#[test]
fn a_killed_sort_of_lines_removes_its_output_and_its_status() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q -f gensort-ascii 20MB in");
    let status = sandbox.path().join("status");
    fs::create_dir(&status).unwrap();
    for signal in
        [Signal::TERM, Signal::INT, Signal::HUP].into_iter().filter(|signal| !is_ignored(*signal))
    {
        let spawned = clean("strace")
            .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=unlink,unlinkat"])
            .args(["-e", "inject=unlink,unlinkat:delay_enter=300000"])
            .arg(program())
            .args(["lines", "--no-clobber", "--bandwidth-limit=1M", "in", "-o", "out"])
            .current_dir(sandbox.path())
            .env("XSORT_STATUS_DIR", "status")
            .env_remove("XSORT_STATUS")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut tracer) = spawned else {
            eprintln!("SKIPPED: there is no strace");
            return;
        };
        // The buffers are created last.
        let buffer = loop {
            let published = names(&status);
            if let Some(buffer) = published.iter().find(|name| name.ends_with(".buffer-0")) {
                break buffer.clone();
            }
            if tracer.try_wait().unwrap().is_some() {
                eprintln!("SKIPPED: nobody may be traced here");
                return;
            }
            thread::sleep(Duration::from_millis(5));
        };
        let pid = buffer.trim_end_matches(".buffer-0").parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        tracer.wait().unwrap();
        assert_eq!(names(&status), Vec::<String>::new(), "{signal:?}");
        assert_eq!(sandbox.names(), ["in", "status"], "{signal:?}");
    }
}
