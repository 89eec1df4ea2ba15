//! `xsort sort` from standard input: files, pipes, standard input together with files, and unusable
//! input.

use crate::sandbox::{Sandbox, clean, program};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use xsort_testing::quick_or_long;

const MIB: u64 = 1 << 20;

fn ok(sandbox: &Sandbox, script: &str) -> String {
    let output = sandbox.script(script);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{script}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// The line with which the script fails.
fn fails(sandbox: &Sandbox, script: &str, code: i32) -> String {
    let output = sandbox.script(script);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{script}: {stderr}");
    let line = stderr.lines().last().unwrap_or_default();
    assert!(line.starts_with("xsort: error: "), "{script}: {stderr}");
    line.to_owned()
}

fn spool(sandbox: &Sandbox, script: &str) -> serde_json::Value {
    let report: serde_json::Value = serde_json::from_str(&ok(sandbox, script)).unwrap();
    report["spool"].clone()
}

#[test]
fn from_anywhere_it_is_the_same_sort() {
    let sandbox = Sandbox::new();
    sandbox.ok(&format!("gen -q {}MB a", quick_or_long(4, 20)));
    sandbox.ok("gen -q --seed 1 --pattern few 5MB b");
    sandbox.ok("gen -q --seed 2 3MB c");
    let all = [
        "-m 1M",
        "-m 2M --method scatter",
        "-m 200M",
        "-m 8M -j 3 --io sync",
        "-m 200M --method scatter",
    ];
    for how in all.into_iter().take(quick_or_long(3, all.len())) {
        sandbox.ok(&format!("sort -q {how} a -o expected"));
        let expected = sandbox.read("expected");
        for script in [
            "cat a | $xsort sort -f gensort HOW -o out",
            "cat a | $xsort sort HOW - -o out",
            "$xsort sort HOW -o out <a",
            "mkfifo pipe; cat a >pipe & $xsort sort HOW - -o out <pipe; status=$?; rm pipe; exit \
                $status",
            "cat c a | (head -c 3000000 >/dev/null; $xsort sort HOW -o out)",
            "cat c a >ca; (head -c 3000000 >/dev/null; $xsort sort HOW -o out) <ca; rm ca",
            "cp a out; $xsort sort HOW - -o out <out",
            "cp a out; cat out | $xsort sort HOW - -o out",
        ] {
            let script = script.replace("HOW", &format!("-q {how}"));
            assert_eq!(ok(&sandbox, &script), "");
            assert!(sandbox.read("out") == expected, "{script}");
        }
        sandbox.ok(&format!("sort -q {how} b a c -o expected"));
        ok(&sandbox, &format!("cat a | $xsort sort -q {how} b - c -o out"));
        assert!(
            sandbox.read("out") == sandbox.read("expected"),
            "{how}: equal keys keep the order of the inputs"
        );
        sandbox.ok("verify -q out --against a --against b --against c");
        assert_eq!(sandbox.names(), ["a", "b", "c", "expected", "out"]);
    }
}

#[test]
fn a_file_is_left_as_if_it_had_been_read() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1MB in");
    assert_eq!(ok(&sandbox, "($xsort sort -q -o out; wc -c) <in").trim(), "0");
    assert_eq!(
        ok(&sandbox, "($xsort sort --dry-run -o out >/dev/null; wc -c) <in").trim(),
        "1000000"
    );
}

#[test]
fn what_can_be_sorted_in_memory_stays_there() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 20MB in");
    let kept = spool(&sandbox, "cat in | $xsort sort --json -m 100M -o out");
    assert_eq!(
        (&kept["bytes"], &kept["directory"]),
        (&20_000_000.into(), &serde_json::Value::Null)
    );
    let report = ok(&sandbox, "cat in | $xsort sort -v -m 100M -o out");
    assert!(report.contains("kept in memory"), "{report}");
    fs::create_dir(sandbox.path().join("scratch")).unwrap();
    let spilled = spool(&sandbox, "cat in | $xsort sort --json -m 10M -T scratch -o out");
    assert_eq!((&spilled["bytes"], &spilled["directory"]), (&20_000_000.into(), &"scratch".into()));
    assert!(
        spool(&sandbox, "$xsort sort --json -m 10M -o out <in").is_null(),
        "a file is read where it lies"
    );
    // Around the planner's own limit: if a file of this size fits by the plan, the stream isn't
    // written to scratch.
    for records in (60_000..100_000).step_by(8_000) {
        sandbox.ok(&format!("gen -q {records}r part"));
        let plan = sandbox.json("sort --dry-run -m 8M part -o out");
        let spills = plan["plan"]["spilled_chunks"] != 0;
        let spool = spool(&sandbox, "cat part | $xsort sort --json -m 8M -o out");
        assert_eq!(spool["directory"].is_string(), spills, "{records}: {plan}");
    }
}

#[test]
fn what_is_no_input_is_said_and_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 5MB in");
    sandbox.write("out", "old");
    for (script, code, reason) in [
        (
            "head -c 4999950 in | $xsort sort -q -o out",
            3,
            "4999950 bytes are no multiple of the record's 100: 50 bytes",
        ),
        ("head -c 4999950 in | $xsort sort -q -m 1M -o out", 3, "50 bytes are left over"),
        ("head -c 30 in | $xsort sort -q -o out --record 7", 3, "2 bytes are left over"),
        (
            "(head -c 2000050 in; kill -9 $BASHPID) | $xsort sort -q -m 1M -o out",
            3,
            "did who wrote them come to the end",
        ),
        (
            "head -c 50 in >part; $xsort sort -q -o out <part; status=$?; rm part; exit $status",
            3,
            "50 bytes are left over",
        ),
        ("$xsort sort -o out <&-", 3, "closed"),
        ("$xsort sort -o out <.", 3, "directory"),
        ("cat in | $xsort sort - in - -o out", 2, "twice"),
        ("cat in | $xsort sort - --remove-input -o out", 2, "--remove-input"),
        ("$xsort sort - --remove-input -o out <in", 2, "--remove-input"),
        ("cat in | $xsort sort --dry-run -o out", 2, "--dry-run"),
        ("cat in | $xsort sort -m 10K -o out", 4, "-m "),
        ("cat in | $xsort sort -o missing/out", 2, "missing"),
        ("cat in | $xsort sort -T missing -o out", 2, "missing"),
        ("cat in | $xsort sort - missing -o out", 3, "missing"),
    ] {
        let script = format!("({script})");
        // A program that writes to a closed pipe ends by a signal, which is none of xsort's
        // statuses.
        let line =
            fails(&sandbox, &script.replace("cat in |", "(cat in || true) 2>/dev/null |"), code);
        assert!(line.contains(reason), "{script}: {line}");
        assert_eq!(sandbox.names(), ["in", "out"], "{script}");
        assert_eq!(sandbox.read("out"), b"old", "{script}");
    }
    for script in ["$xsort sort -q -o out </dev/null", "true | $xsort sort -q -o out"] {
        sandbox.write("out", "old");
        ok(&sandbox, script);
        assert_eq!(sandbox.read("out"), b"", "{script}");
    }
}

#[test]
fn a_terminal_is_no_input() {
    let sandbox = Sandbox::new();
    let line = format!("{} sort -o out", program().display());
    let Ok(output) =
        clean("script").args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).output()
    else {
        eprintln!("skipped: no script(1) here");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("is a terminal: name the files"), "{text}");
    assert!(sandbox.names().is_empty());
}

#[test]
fn progress_tells_of_a_stream_that_nobody_knows_the_size_of() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 2MB in");
    // The end of the stream comes once its progress was printed.
    let script = "(cat in; until grep -q 'spool: 2.00 MB' told; do sleep 0.05; done) | \
        $xsort sort -q --progress always -o out 2>told";
    ok(&sandbox, script);
    assert_eq!(sandbox.read("out").len(), 2_000_000);
}

#[test]
fn a_wait_for_more_ends_with_a_signal() {
    let sandbox = Sandbox::new();
    sandbox.write("out", "old");
    // Others may be ignored where tests run: SIGHUP under nohup, SIGINT in the background.
    let signal = Signal::TERM;
    let mut command = clean(program());
    command.args(["sort", "-o", "out"]).current_dir(sandbox.path());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // The file in memory shows that it waits for the first byte.
    while !fs::read_dir(format!("/proc/{}/fd", child.id())).is_ok_and(|files| {
        files.flatten().any(|file| {
            fs::read_link(file.path()).is_ok_and(|to| to.to_string_lossy().contains("memfd"))
        })
    }) {
        assert!(child.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_child(&child), signal).unwrap();
    let _held_open = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(128 + signal.as_raw()), "{stderr}");
    assert_eq!((sandbox.names(), sandbox.read("out")), (vec!["out".to_owned()], b"old".to_vec()));
}

/// A small file system in memory, unmounted when dropped.
struct Small<'a>(&'a Sandbox);

impl Small<'_> {
    /// `None` if mounting is not allowed.
    fn mount(place: &Sandbox, megabytes: u32) -> Option<Small<'_>> {
        let options = format!("size={megabytes}m");
        let mount = clean("mount")
            .args(["-t", "tmpfs", "-o", &options, "xsort-test"])
            .arg(place.path())
            .output();
        mount.ok()?.status.success().then_some(Small(place))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = clean("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_scratch_is_said_and_space_is_given_back() {
    let (sandbox, place) = (Sandbox::new(), Sandbox::new());
    sandbox.ok("gen -q 200MB in");
    sandbox.write("out", "old");
    {
        let Some(_small) = Small::mount(&place, 30) else {
            eprintln!("skipped: mounting is not allowed here");
            return;
        };
        let scratch = place.path().display();
        let line = fails(
            &sandbox,
            &format!("(cat in || true) 2>/dev/null | $xsort sort -q -m 16M -T {scratch} -o out"),
            4,
        );
        assert!(line.contains("free") && line.contains("-T"), "{line}");
        assert!(place.names().is_empty());
        assert_eq!(sandbox.read("out"), b"old");
        ok(&sandbox, &format!("cat in | $xsort sort -q -m 1G -T {scratch} -o out"));
    }
    // 200 MB of stream and 200 MB of runs, but never both completely.
    for method in ["merge -m 16M", "scatter -m 64M"] {
        let _small = Small::mount(&place, 340);
        let scratch = place.path().display();
        ok(&sandbox, &format!("cat in | $xsort sort -q --method {method} -T {scratch} -o out"));
        sandbox.ok("verify -q out --against in");
    }
}

/// Files in memory are not resident memory of the process, so this counts them, too.
#[test]
fn a_stream_stays_within_the_budget() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 200MB in");
    for budget in [16, 64, 300] {
        let mut command = clean("bash");
        let line = format!("cat in | exec {} sort -q -m {budget}M -o out", program().display());
        command.args(["-c", &line]).current_dir(sandbox.path());
        let mut child = command.spawn().unwrap();
        let (mut peak, mut seen) = (0, 0);
        while child.try_wait().unwrap().is_none() {
            let bytes = memory_of_children(child.id());
            seen += u32::from(bytes > 2 * MIB);
            peak = peak.max(bytes);
            thread::sleep(Duration::from_millis(2));
        }
        assert!(child.wait().unwrap().success() && seen > 0);
        assert!(peak <= (budget + 64) * MIB, "-m {budget}M: {} MiB", peak / MIB);
        sandbox.ok("verify -q out --against in");
    }
}

/// The resident memory of a child process that sorts, and of its files in memory.
fn memory_of_children(parent: u32) -> u64 {
    let children =
        fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    children
        .split_whitespace()
        .map(|process| {
            let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
            if !status.starts_with("Name:\txsort") {
                return 0;
            }
            let line =
                status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
            let resident = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024;
            let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return 0 };
            let in_memory = files.flatten().filter(|file| {
                fs::read_link(file.path()).is_ok_and(|to| to.to_string_lossy().contains("memfd"))
            });
            let blocks = in_memory.filter_map(|file| fs::metadata(file.path()).ok());
            resident
                + blocks
                    .map(|file| std::os::unix::fs::MetadataExt::blocks(&file) * 512)
                    .sum::<u64>()
        })
        .sum()
}
