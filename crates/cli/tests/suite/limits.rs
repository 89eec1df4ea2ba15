//! Memory: the budget plus 64 MiB is never exceeded, for any thread count and data; limits set
//! outside are respected; and a refusal names a budget that is enough.

use crate::sandbox::{Sandbox, clean, program};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use xsort_testing::quick_or_long;

const MIB: u64 = 1 << 20;

/// Memory that the program may need besides the budget.
const OVERHEAD_BYTES: u64 = 64 * MIB;

/// Runs a command to its end. Returns the largest resident set seen from outside, in bytes, without
/// the pages of the program file, which differ from build to build.
pub(crate) fn peak_bytes(mut command: Command) -> u64 {
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let own_name = fs::read_to_string("/proc/thread-self/comm").unwrap();
    let mut peak = 0;
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let kibibytes = |name: &str| -> u64 {
            value(name).map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap())
        };
        // Until it has its own name, a child can have the memory of this process.
        let is_own = value("Name:").is_some_and(|name| name.trim() == own_name.trim());
        if !is_own {
            let resident = kibibytes("VmHWM:").saturating_sub(kibibytes("RssFile:")) * 1024;
            peak = peak.max(resident);
        }
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{command:?}: {status}");
            return peak;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn xsort(sandbox: &Sandbox, line: &str) -> Command {
    let mut command = clean(program());
    command.args(line.split_whitespace()).current_dir(sandbox.path());
    command
}

#[test]
fn a_merge_of_many_files_stays_within_its_budget() {
    let sandbox = Sandbox::new();
    let files = quick_or_long(40, 200);
    let names: Vec<String> = (0..files).map(|file| format!("in{file}")).collect();
    for name in &names {
        sandbox.ok(&format!("gen -q --pattern sorted 3MB {name}"));
    }
    let budget = 16;
    let line = format!("sort -q --merge -m {budget}M {} -o out", names.join(" "));
    let peak = peak_bytes(xsort(&sandbox, &line));
    assert!(peak <= budget * MIB + OVERHEAD_BYTES, "{line}: {} MiB", peak / MIB);
    let report = sandbox.json("verify out");
    assert_eq!(report["records"], files * 30_000);
}

#[test]
fn a_sort_stays_within_its_budget() {
    let sandbox = Sandbox::new();
    for pattern in ["uniform", "equal", "reversed", "heavy"] {
        let megabytes = quick_or_long(60, 150);
        sandbox.ok(&format!("gen -q --pattern {pattern} {megabytes}MB in"));
        for (budget, threads) in [(8, 2), (32, 1), (32, 16)] {
            let line = format!("sort -q -m {budget}M -j {threads} in -o out");
            let peak = peak_bytes(xsort(&sandbox, &line));
            assert!(peak > 2 * MIB, "the measurement works");
            assert!(peak <= budget * MIB + OVERHEAD_BYTES, "{pattern} {line}: {} MiB", peak / MIB);
        }
        sandbox.ok("verify -q out --against in");
    }
}

#[test]
fn what_is_nearly_in_order_is_sorted_within_its_budget() {
    let sandbox = Sandbox::new();
    let lines: String = (0..quick_or_long(300_000, 2_000_000))
        .map(|at: u64| format!("{:07},{:04},{:020}\n", at - at % 9, at * 7919 % 9973, at))
        .collect();
    sandbox.write("in.csv", lines);
    for line in [
        "lines -t, -k1,1n --within 50 in.csv",
        "lines -t, -k1,1n --within 9s in.csv",
        "lines -t, -k1,1 -k2,2n --sorted-by 1,1 in.csv",
        // One group, which is larger than the memory.
        "lines -t, -k4,4 -k2,2n --sorted-by 4,4 in.csv",
        "table -q --no-header --by #1:int --within 50 in.csv",
        "table -q --no-header --by #1:int,#2 --sorted-by #1:int in.csv",
    ] {
        for (budget, threads) in [(8, 2), (32, 16)] {
            let memory = if line.starts_with("lines") { "--memory" } else { "-m" };
            let line = format!("{line} {memory} {budget}M --threads {threads} -o out");
            let peak = peak_bytes(xsort(&sandbox, &line));
            assert!(peak <= budget * MIB + OVERHEAD_BYTES, "{line}: {} MiB", peak / MIB);
        }
    }
}

#[test]
fn generating_and_verifying_stay_within_their_budgets() {
    let sandbox = Sandbox::new();
    for (budget, threads) in [("4K", 8), ("1M", 64), ("4G", 64)] {
        let line = format!("gen -q -m {budget} -j {threads} 20MB file");
        let peak = peak_bytes(xsort(&sandbox, &line));
        let most = if budget == "4G" { 80 * MIB } else { MIB };
        assert!(peak <= most + OVERHEAD_BYTES, "{line}: {} MiB", peak / MIB);
    }
    sandbox.ok(&format!("gen -q --pattern sorted {}MB file", quick_or_long(40, 100)));
    for (budget, threads) in [(1, 8), (16, 64)] {
        let line = format!("verify -q -m {budget}M -j {threads} file");
        let peak = peak_bytes(xsort(&sandbox, &line));
        assert!(peak <= budget * MIB + OVERHEAD_BYTES, "{line}: {} MiB", peak / MIB);
    }
}

/// A control group with a memory limit, removed when dropped.
struct Group {
    directory: PathBuf,
}

impl Group {
    /// `None` if groups can't be created.
    fn new(bytes: u64) -> Option<Group> {
        let name = format!("xsort-test-{}", std::process::id());
        let root = Path::new("/sys/fs/cgroup");
        let (directory, limit, swap) = if root.join("cgroup.controllers").exists() {
            (root.join(name), "memory.max", "memory.swap.max")
        } else {
            (root.join("memory").join(name), "memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
        };
        fs::create_dir(&directory).ok()?;
        let group = Group { directory };
        fs::write(group.directory.join(limit), bytes.to_string()).ok()?;
        let swap_bytes = if swap.contains("memsw") { bytes } else { 0 };
        let _ = fs::write(group.directory.join(swap), swap_bytes.to_string());
        Some(group)
    }

    /// Runs the program in the group.
    fn run(&self, sandbox: &Sandbox, line: &str) -> std::process::Output {
        let procs = self.directory.join("cgroup.procs");
        let script = format!("echo $$ > {}; exec {} {line}", procs.display(), program().display());
        clean("sh").args(["-c", &script]).current_dir(sandbox.path()).output().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}

#[test]
fn a_control_groups_limit_is_survived() {
    let Some(group) = Group::new(128 * MIB) else {
        eprintln!("skipped: control groups can't be made here");
        return;
    };
    let sandbox = Sandbox::new();
    // More than the group may have.
    let megabytes = quick_or_long(140, 300);
    sandbox.ok(&format!("gen -q {megabytes}MB in"));
    let all = [("-m 1G", true), ("", false), ("-m 64M", false), ("-m 100%", false)];
    for (memory, is_capped) in &all[..quick_or_long(2, all.len())] {
        for command in ["sort in -o out", &format!("gen {megabytes}MB made"), "verify out"] {
            let line = format!("{command} {memory}");
            let output = group.run(&sandbox, &line);
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(0), "{line}: {:?} {stderr}", output.status);
            assert_eq!(
                stderr.contains("note: -m asks for 1.00 GiB"),
                *is_capped,
                "{line}: {stderr}"
            );
        }
        sandbox.ok("verify -q out --against in");
    }
    sandbox.ok(&format!("gen -q -f gensort-ascii {megabytes}MB text"));
    let all = ["-S 64M --parallel=64", "", "-S 64M", "-S 64M --parallel=8", "-S 1G"];
    for memory in &all[..quick_or_long(2, all.len())] {
        let line = format!("lines text -o out {memory}");
        let output = group.run(&sandbox, &line);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), &stderr[..]),
            (Some(0), ""),
            "{line}: {:?}",
            output.status
        );
        sandbox.ok("lines -c out");
    }
}

#[test]
fn many_threads_leave_address_space_for_all_else() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q -f gensort-ascii 100MB records");
    // Two MiB may be reserved for them.
    sandbox.ok("gen -q -f gensort-ascii 20MB text");
    for limit_kib in [300_000, 400_000] {
        for command in ["sort -q -j 200 -m 256M records", "lines --parallel=200 -S 256M text"] {
            let script =
                format!("ulimit -v {limit_kib}; exec {} {command} -o out", program().display());
            let output =
                clean("sh").args(["-c", &script]).current_dir(sandbox.path()).output().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            // The records' pool may be too small for the number of threads; then the error says so.
            let is_refused = stderr.contains("is too small") || stderr.contains("at least");
            assert!(
                output.status.success() || is_refused,
                "{script}: {:?} {stderr}",
                output.status
            );
        }
        sandbox.ok("lines -c out");
    }
}

#[test]
fn a_limit_on_the_address_space_is_survived() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 100MB in");
    let script = format!("ulimit -v 600000; exec {} sort -m 1G in -o out", program().display());
    let output = clean("sh").args(["-c", &script]).current_dir(sandbox.path()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("ulimit -v"), "{stderr}");
    sandbox.ok("verify -q out --against in");
}

/// Every limit from the smallest at which the program starts. A signal stack that can't be mapped,
/// an allocation that fails, and a stack that can't grow once ended it by a signal, without a
/// message.
#[test]
fn too_few_addresses_are_an_error_with_a_line() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 3MB in");
    sandbox.ok("gen -q -f gensort-ascii 3MB text");
    sandbox.ok("lines text -o sorted");
    sandbox.write("rows.csv", "a,b\n2,x\n1,y\n".repeat(5000));
    fs::create_dir(sandbox.path().join("tree")).unwrap();
    (0..200).for_each(|at| fs::create_dir(sandbox.path().join(format!("tree/{at}"))).unwrap());
    let run = |kibibytes: u64, line: &str| {
        let script = format!("ulimit -v {kibibytes}; exec $xsort {line}");
        let (code, said) = shell(&sandbox, &script);
        (code, String::from_utf8_lossy(&said).into_owned())
    };
    let first = addresses_to_start(&sandbox);
    let commands = [
        ("sort -q -m 1M -j 4 in -o out", 4),
        ("sort -q --io sync -m 1M -j 2 --method scatter in -o out", 4),
        ("gen -q -j 4 3MB out", 4),
        ("verify -q -j 4 in", 4),
        ("table -q -j 4 rows.csv --by a:int -o out", 4),
        ("lines -S 4M --parallel=4 -T . text -o out", 2),
        ("lines -k1.3,1.5 -S 20M --parallel=2 --compress-output=zstd text -o out.zst", 2),
        ("lines -c sorted", 2),
        ("du -a tree", 1),
        ("du --threads=16 -s tree", 1),
    ];
    let mut refused = [0; 10];
    for (number, (line, status)) in commands.into_iter().enumerate() {
        let step = quick_or_long(1_150, 50);
        // A different offset for each command.
        for kibibytes in (first + 40 * number as u64..first + 22_000).step_by(step) {
            let (code, said) = run(kibibytes, line);
            let is_expected = match code {
                Some(0) => true,
                Some(1) if line.starts_with("verify") => true,
                // The error names the memory that a row needs.
                Some(3) if line.starts_with("table") => said.contains("raise that first"),
                code => code == Some(status) && said.starts_with("xsort") && said.contains(": "),
            };
            assert!(is_expected, "ulimit -v {kibibytes}, {line}: {code:?} {said}");
            refused[number] += usize::from(code == Some(status));
        }
    }
    assert!(refused.iter().all(|&times| times > 0), "{refused:?}");
}

/// Limits that the allocator's arenas of threads would exhaust except for a few bytes: 64 MiB each.
#[test]
fn lines_are_sorted_within_any_address_space() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q -f gensort-ascii 100KB part");
    let parts = vec!["part"; 120].join(" ");
    let first = addresses_to_start(&sandbox) + 8_000;
    for kilobytes in (first..first + 240_000).step_by(quick_or_long(30_000, 4_000)) {
        let line = format!("lines -S 10M --parallel=2 -T . {parts} -o out");
        let script = format!("ulimit -v {kilobytes}; exec {} {line}", program().display());
        let mut shell = clean("sh");
        shell.args(["-c", &script]).current_dir(sandbox.path()).env("XSORT_STATUS", "off");
        let ended = shell.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "ulimit -v {kilobytes}: {said}");
        assert_eq!(fs::metadata(sandbox.path().join("out")).unwrap().len(), 12_000_000);
    }
}

/// Half of the data that is sorted must go to scratch; a check holds two lines.
#[test]
fn sorting_lines_stays_within_its_budget() {
    let sandbox = Sandbox::new();
    let megabytes = quick_or_long(70, 200);
    sandbox.ok(&format!("gen -q -f gensort-ascii {megabytes}MB in"));
    for (options, budget) in
        [("--parallel=2", 64), ("-k1,1f --parallel=4", 16), ("-r --parallel=1", 8)]
    {
        let line = format!("lines -S {budget}M -T . {options} in -o out");
        let peak = peak_bytes(xsort(&sandbox, &line));
        assert!(peak <= budget * MIB + OVERHEAD_BYTES, "{line}: {} MiB", peak / MIB);
        assert_eq!(sandbox.ok(&format!("lines {options} -C out")), "");
        assert_eq!(fs::metadata(sandbox.path().join("out")).unwrap().len(), megabytes * 1_000_000);
    }
    let few = sandbox.read("out")[..10_000_000].to_vec();
    sandbox.write("few", few);
    // The program's own memory differs from build to build.
    let [own, peak] =
        ["few", "out"].map(|file| peak_bytes(xsort(&sandbox, &format!("lines -c -r {file}"))));
    assert!(own > 2 * MIB, "the measurement works");
    assert!(peak <= own + 8 * MIB, "{} MiB beside {}", peak / MIB, own / MIB);
}

/// Entries take many times the bytes of empty lines, and threads share the budget; long lines and
/// many inputs need memory of their own.
#[test]
fn sorting_odd_lines_stays_within_its_budget() {
    let sandbox = Sandbox::new();
    sandbox.write("empty", "\n".repeat(quick_or_long(1_000_000, 6_000_000)));
    sandbox.write("equal", "the same line of text\n".repeat(quick_or_long(400_000, 2_000_000)));
    sandbox.write(
        "short",
        (0..quick_or_long(600_000, 3_000_000u64))
            .map(|n| format!("{}\n", n * 7_919 % 999_983))
            .collect::<String>(),
    );
    sandbox.write("long", format!("{}\nb\n", "x".repeat(40_000_000)));
    let names: Vec<String> = (0..3000).map(|number| format!("many{number}")).collect();
    names.iter().for_each(|name| sandbox.write(name, name));
    sandbox.write("names", names.join("\0"));
    for (input, options) in [
        ("empty", "-S 16M --parallel=64"),
        ("empty", "-S 64M --parallel=2 -k1,1n"),
        ("equal", "-S 16M --parallel=8"),
        ("equal", "-S 32M --parallel=1 -u --compress=zstd"),
        ("short", "-S 16M --parallel=64 --compress=zstd"),
        ("short", "-S 16M --parallel=2 --compress=auto --bandwidth-limit=200M"),
        ("short", "-S 64M --parallel=64"),
        ("short", "-S 16M --parallel=64 --compress-output=zstd"),
        ("short", "-S 256M --parallel=64 --compress-output=lz4"),
        ("equal", "-S 16M --parallel=8 -u --count"),
        ("long", "-S 256M --parallel=8"),
        ("--files0-from=names", "-S 16M --parallel=2"),
        ("--files0-from=names", "-S 16M --parallel=2 -m"),
    ] {
        let line = format!("lines {options} -T . {input} -o out");
        let peak = peak_bytes(xsort(&sandbox, &line));
        let budget: u64 = options[3..].split('M').next().unwrap().parse().unwrap();
        assert!(peak <= budget * MIB + OVERHEAD_BYTES, "{line}: {} MiB", peak / MIB);
    }
}

/// Threads that inflate and compress blocks, and an index with a row in every window.
#[test]
fn blocks_and_their_index_stay_within_the_budget() {
    let sandbox = Sandbox::new();
    let rows = (0..quick_or_long(200_000, 2_000_000u64)).map(|row| {
        let begin = row * 7_919 % 31_000 * 16_384 + row % 9;
        format!("chr{}\t{begin}\t{}\trow {row}\n", row % 5, begin + 1)
    });
    sandbox.write("rows", rows.collect::<String>());
    sandbox.ok("lines --shuffle --seed=1 rows -o in.bed.gz");
    for (budget, threads) in [(2, 2), (16, 64), (64, 8), (256, 64)] {
        let options = format!("-S {budget}M --parallel={threads} -T . -k1,1 -k2,2n");
        let line = format!("lines {options} in.bed.gz -o out.bed.gz --write-index");
        let peak = peak_bytes(xsort(&sandbox, &line));
        assert!(peak <= budget * MIB + OVERHEAD_BYTES, "{line}: {} MiB", peak / MIB);
    }
    assert_eq!(sandbox.ok("lines -k1,1 -k2,2n -C out.bed.gz"), "");
}

/// Runs a shell script in the sandbox; `$xsort` is the program. Returns status and standard error.
fn shell(sandbox: &Sandbox, script: &str) -> (Option<i32>, Vec<u8>) {
    let mut command = clean("bash");
    command.args(["-c", script]).env("xsort", program()).env("LC_ALL", "C");
    let output = command.current_dir(sandbox.path()).output().unwrap();
    (output.status.code(), output.stderr)
}

/// The kibibytes of addresses (`ulimit -v`) with which the program starts. With less, the kernel or
/// the loader ends the process before it runs. The size of the program decides it.
fn addresses_to_start(sandbox: &Sandbox) -> u64 {
    let starts = |kibibytes: &u64| {
        let (status, _) = shell(sandbox, &format!("ulimit -v {kibibytes}; exec $xsort --version"));
        status.is_some_and(|code| code != 127)
    };
    let limits: Vec<u64> = (10_000..400_000).step_by(100).collect();
    let first = limits.partition_point(|limit| !starts(limit));
    *limits.get(first).expect("it starts at some limit")
}

/// The address space has room for the program, for two lines of 40 MB and for 32 MiB. A window that
/// doubles, a copy of a line, or a message with such a copy doesn't fit.
#[test]
fn a_check_holds_two_lines_and_no_third() {
    const LINE_BYTES: usize = 40_000_000;
    let sandbox = Sandbox::new();
    let line = |letter: &str| letter.repeat(LINE_BYTES) + "\n";
    let last = "c".repeat(LINE_BYTES);
    sandbox.write("ordered", [line("a"), line("b"), "bc\n".into(), last].concat());
    sandbox.write("equal", [line("a"), line("a")].concat());
    sandbox.write("disordered", ["b\n".into(), line("a")].concat());
    let program = addresses_to_start(&sandbox);
    let limit = |lines: u64| {
        let kibibytes = program + lines * LINE_BYTES as u64 / 1024 + 32 * 1024;
        format!("ulimit -v {kibibytes}; exec $xsort lines")
    };
    for (script, code, said_bytes) in [
        (format!("{} -c ordered", limit(2)), 0, 0),
        (format!("{} -C ordered", limit(2)), 0, 0),
        (format!("cat ordered | ({} -c)", limit(2)), 0, 0),
        (format!("cat equal | ({} -c)", limit(2)), 0, 0),
        (format!("{} -cu equal", limit(2)), 1, LINE_BYTES),
        (format!("{} -Cu equal", limit(2)), 1, 0),
        (format!("{} -c disordered", limit(1)), 1, LINE_BYTES),
        (format!("cat disordered | ({} -c)", limit(1)), 1, LINE_BYTES),
        (format!("{} -c ordered", limit(1)), 2, 0),
    ] {
        let (ended, said) = shell(&sandbox, &script);
        let text = String::from_utf8_lossy(&said[..said.len().min(300)]).into_owned();
        assert_eq!(ended, Some(code), "{script}: {text}");
        assert!(
            (said_bytes..said_bytes + 300).contains(&said.len()),
            "{script}: {} bytes",
            said.len()
        );
        assert!(
            code != 2 || text.contains("read failed: ordered: two neighbouring lines"),
            "{text}"
        );
    }
}

/// The first thread's stack has the shell's limit: parsing a command line once overflowed it.
#[test]
fn a_small_stack_is_enough() {
    let sandbox = Sandbox::new();
    sandbox.write("text", "b\na\n");
    for kibibytes in [64, 32] {
        for line in [
            "--help",
            "sort --help",
            "gen -q 1MB in",
            "sort -q -m 1M in -o out",
            "sort -q --method scatter --checkpoint in -o out",
            "verify -q out --against in",
            "status",
            "status --json",
            "man",
            "completions bash",
            "lines --help",
            "lines -k1,1n -k2f text -o sorted",
            "lines -m sorted",
            "lines -c sorted",
            "du --tree .",
        ] {
            let script = format!("ulimit -s {kibibytes}; $xsort {line} > answer");
            let (code, said) = shell(&sandbox, &script);
            assert_eq!(code, Some(0), "{script}: {}", String::from_utf8_lossy(&said));
        }
        let (code, said) = shell(&sandbox, &format!("ulimit -s {kibibytes}; exec $xsort sort"));
        assert_eq!(code, Some(2), "a wrong command line: {}", String::from_utf8_lossy(&said));
    }
}

/// A directory of `files` files, each with the same line and a long name: the names take more
/// memory than the data.
fn crowd(sandbox: &Sandbox, files: usize) {
    let tree = sandbox.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for file in 0..files {
        let (group, name) = (file / 10_000, format!("{}-{file:06}", "name".repeat(30)));
        let path = tree.join(format!("{group}"));
        if file % 10_000 == 0 {
            fs::create_dir(&path).unwrap();
            fs::write(path.join("first"), format!("{:98}\r\n", 9 - group)).unwrap();
        }
        fs::hard_link(path.join("first"), path.join(name)).unwrap();
    }
}

/// The size after the last `-m ` or `-S ` of a refusal, as an argument.
fn enough(refusal: &str) -> String {
    let (_, rest) =
        refusal.rsplit_once("-m ").or_else(|| refusal.rsplit_once("-S ")).expect(refusal);
    rest.chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// Names aren't data, but a million of them would exceed any budget by hundreds of megabytes.
#[test]
fn the_names_of_a_large_tree_are_counted() {
    let sandbox = Sandbox::new();
    crowd(&sandbox, 60_000);
    let all = [
        ("sort -q -j 64 --method scatter --count-links tree -o out -m", 4),
        ("lines --recursive --count-links tree -T . -o lines -S", 2),
        ("verify -q --count-links tree -m", 4),
        ("lines --recursive --count-links tree -T . -m -o lines -S", 2),
        ("sort -q -j 2 --count-links tree -o out -m", 4),
    ];
    for (command, code) in all.into_iter().take(quick_or_long(2, all.len())) {
        let refused = sandbox.run(&format!("{command} 20M"));
        assert_eq!(refused.code, Some(code), "{command}: {}", refused.stderr);
        let peak = enough(&refused.stderr);
        let budget = if let Some(mebibytes) = peak.strip_suffix('M') {
            mebibytes.parse::<u64>().unwrap() * MIB
        } else {
            peak.parse().unwrap()
        };
        assert!(budget > 30 * MIB && budget < 64 * MIB, "{command}: {}", refused.stderr);
        let line = format!("{command} {peak}");
        let peak = peak_bytes(xsort(&sandbox, &line));
        assert!(peak <= budget + OVERHEAD_BYTES, "{line}: {} MiB", peak / MIB);
    }
    sandbox.ok("verify -q out --against tree --count-links");
    assert_eq!(fs::metadata(sandbox.path().join("lines")).unwrap().len(), 60_006 * 100);
}

/// Commands on small inputs: if a budget is too small, the budget that the error names is enough.
#[test]
fn a_refused_budget_names_one_that_is_enough() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1MB in");
    sandbox.ok("gen -q -f block4k 1MB blocks");
    sandbox.write("giants", vec![b'x'; 48 << 20]);
    sandbox.write(
        "bytes",
        (0..50_000u32).map(|n| (n.wrapping_mul(7919) >> 3) as u8).collect::<Vec<u8>>(),
    );
    let mut refused = 0;
    for (command, input) in [
        ("sort -q", "in -o out"),
        ("sort -q --method scatter", "in -o out"),
        ("sort -q -f block4k", "blocks -o out"),
        ("sort -q --record 4096 --key 0:4096", "blocks -o out"),
        ("sort -q --record 4096 --key 0:4096 --method scatter", "blocks -o out"),
        ("sort -q --record 16777216 --key 5:3", "giants -o out"),
        ("sort -q --record 1 --key 0:1", "bytes -o out"),
        ("sort -q --record 1 --key 0:1 --method scatter", "bytes -o out"),
        ("gen -q", "1MB out"),
        ("gen -q -f block4k", "1MB out"),
        ("verify -q", "in --against in"),
    ] {
        for budget in quick_or_long(&["1", "1M"][..], &["1", "100K", "1M"]) {
            let threads = if *budget == "1" { &[64][..] } else { &[1] };
            for threads in quick_or_long(threads, &[1, 64]) {
                let line = |budget: &str| format!("{command} -j {threads} -m {budget} {input}");
                let ended = sandbox.run(&line(budget));
                if ended.code == Some(4) {
                    refused += 1;
                    let budget = enough(&ended.stderr);
                    assert!(ended.stderr.contains("at least"), "{}", ended.stderr);
                    let ended = sandbox.run(&line(&budget));
                    assert!(
                        matches!(ended.code, Some(0 | 1)),
                        "{}: {}",
                        line(&budget),
                        ended.stderr
                    );
                } else {
                    assert!(
                        matches!(ended.code, Some(0 | 1)),
                        "{}: {}",
                        line(budget),
                        ended.stderr
                    );
                }
            }
        }
    }
    assert!(refused > quick_or_long(8, 20), "{refused}");
}

/// There are more inputs than the memory has buffers for, some with long lines, in order or not.
/// The output has the same bytes as that of one merge.
#[test]
fn a_merge_of_many_inputs_takes_them_in_turns() {
    let sandbox = Sandbox::new();
    let mut names = Vec::new();
    for number in 0..1500usize {
        let name = format!("many{number}");
        let lines: Vec<String> =
            (0..4).map(|line| format!("{:03}\n", number * 31 % 977 + line * 100 % 350)).collect();
        sandbox.write(&name, lines.concat());
        names.push(name);
    }
    sandbox.write("names", names.join("\0"));
    for options in ["", "-u", "-r", "-s -k1.2,1.2n"] {
        sandbox.ok(&format!("lines -m {options} -S 64M -T . --files0-from=names -o at-once"));
        let line = format!("lines -m {options} -S 2M -T . --files0-from=names -o in-turns");
        let peak = peak_bytes(xsort(&sandbox, &line));
        assert!(peak <= 2 * MIB + 16 * MIB, "{line}: {} MiB", peak / MIB);
        assert!(sandbox.read("at-once") == sandbox.read("in-turns"), "{line}");
    }
    sandbox.write("long", format!("{}\nz\n", "y".repeat(20_000_000)));
    sandbox.write("short", "a\nb\n");
    for options in ["", "-u"] {
        let line =
            |budget: &str| format!("lines -m {options} -S {budget} -T . short long short -o out");
        let refused = sandbox.run(&line("8M"));
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        let (budget, _) = refused.stderr.rsplit_once(" is enough").expect(&refused.stderr);
        let budget = budget.rsplit_once("-S ").unwrap().1.to_owned();
        let peak = peak_bytes(xsort(&sandbox, &line(&budget)));
        let bytes = budget.trim_end_matches('M').parse::<u64>().unwrap() * MIB;
        assert!(peak <= bytes + 16 * MIB, "{options} {budget}: {} MiB", peak / MIB);
    }
}
