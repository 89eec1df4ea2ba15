//! Sorts that are killed at random moments, many times, and resumed each time: in the end the
//! output is that of an undisturbed sort, and nothing else is left. `XSORT_KILLS=500` kills more
//! often; `XSORT_SEED` runs one seed alone.

use crate::sandbox::{Sandbox, clean, program};
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::Duration;
use xsort_testing::{Random, number, quick_or_long, seeds};

fn start(sandbox: &Sandbox, line: &str) -> Child {
    clean(program())
        .args(line.split_whitespace())
        .current_dir(sandbox.path())
        .env("XSORT_STATUS", "off") // What is killed would leave it.
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Loses, truncates, zeroes or replaces what is kept of the output.
fn tamper(sandbox: &Sandbox, random: &mut Random) {
    let is_output = |name: &String| name.starts_with(".out.xsort-") && name.ends_with(".output");
    for name in sandbox.names().into_iter().filter(is_output) {
        let path = sandbox.path().join(&name);
        let bytes = fs::metadata(&path).unwrap().len();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        match random.below(6) {
            0 => fs::remove_file(path).unwrap(),
            1 => file.set_len(4096.min(bytes)).unwrap(),
            2 => file.set_len(random.below(bytes as usize + 1) as u64).unwrap(),
            3 => {
                file.set_len(0).unwrap();
                file.set_len(bytes).unwrap();
            }
            4 => {
                let offset = random.below(bytes as usize + 1) as u64;
                file.write_all_at(&[0xff; 100], offset).unwrap();
            }
            _ => {}
        }
    }
}

/// Runs a job until it is done. Kills it up to `kills_max` times, and tampers with what it has
/// kept. Returns the number of kills.
fn kill_until_done(sandbox: &Sandbox, line: &str, random: &mut Random, kills_max: u32) -> u32 {
    let mut kills = 0;
    loop {
        let mut child = start(sandbox, line);
        if kills < kills_max {
            // Later each time, so that it ends on the slowest machine.
            thread::sleep(Duration::from_micros(
                random.below(40_000 + 4_000 * kills as usize) as u64
            ));
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        match output.status.code() {
            Some(0) => return kills,
            None => {
                kills += 1;
                tamper(sandbox, random);
            }
            // Nothing is lost with the final message: the inputs are removed once the output is in
            // place.
            Some(3) if kills > 0 && said.contains("No such file") => {
                assert!(line.contains("--remove-input"), "{said}");
                return kills;
            }
            code => panic!("{line}: {code:?} after {kills} kills: {said}"),
        }
        let names = sandbox.names();
        let is_known = |name: &String| {
            ["in", "out", "whole"].contains(&name.as_str()) || name.starts_with(".out.xsort-")
        };
        assert!(names.iter().all(is_known), "{names:?}");
    }
}

fn kills_wanted() -> u32 {
    number("XSORT_KILLS").unwrap_or(quick_or_long(15, 30)) as u32
}

#[test]
fn a_sort_that_is_killed_at_any_moment_goes_on() {
    let kills_wanted = kills_wanted();
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 60MB --pattern zipf in");
    let input = sandbox.read("in");
    sandbox.ok("sort -q -m 8M in -o whole");
    let whole = sandbox.sha256("whole");
    let mut kills = 0;
    for seed in seeds(u64::MAX / 2) {
        let random = &mut Random::new(seed);
        let method = random.one_of(&["merge", "scatter"]);
        let memory = random.one_of(&["2M", "8M", "40M"]);
        let every = random.one_of(&["0", "0.02", "1"]);
        let remove = random.one_of(&["", "--remove-input"]);
        sandbox.write("in", &input);
        sandbox.write("out", "old");
        let line = format!(
            "sort -q --resume --checkpoint-every {every} --method {method} -m {memory} {remove} \
                in -o out"
        );
        kills += kill_until_done(&sandbox, &line, random, 12);
        assert_eq!(sandbox.sha256("out"), whole, "seed {seed}: {line}");
        let left: Vec<String> =
            sandbox.names().into_iter().filter(|name| name.starts_with('.')).collect();
        assert_eq!(left, [""; 0], "seed {seed}: {line}");
        if kills >= kills_wanted {
            break;
        }
    }
}

#[test]
fn a_sort_of_lines_that_is_killed_at_any_moment_goes_on() {
    let kills_wanted = kills_wanted();
    let sandbox = Sandbox::new();
    sandbox.ok(&format!("gen -q -f gensort-ascii {}MB in", quick_or_long(25, 60)));
    let whole = |arguments: &str| {
        sandbox.ok(&format!("lines {arguments} in -o whole"));
        sandbox.sha256("whole")
    };
    let orders = ["", "-r -k2", "-u -k1.1,1.2", "--compress=auto"];
    let wholes = orders.map(whole);
    let mut kills = 0;
    for seed in seeds(u64::MAX / 2) {
        let random = &mut Random::new(seed);
        let order = random.below(orders.len());
        let memory = random.one_of(&["2M", "8M", "40M"]);
        let every = random.one_of(&["0", "0.02", "1"]);
        sandbox.write("out", "old");
        let line = format!(
            "lines --resume --checkpoint-every={every} {} -S {memory} -T . in -o out",
            orders[order]
        );
        kills += kill_until_done(&sandbox, &line, random, 12);
        assert_eq!(sandbox.sha256("out"), wholes[order], "seed {seed}: {line}");
        assert_eq!(sandbox.names(), ["in", "out", "whole"], "seed {seed}: {line}");
        if kills >= kills_wanted {
            break;
        }
    }
}

#[test]
fn a_full_disk_and_a_stop_are_gone_on_from() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 40MB in");
    sandbox.ok("sort -q -m 8M in -o whole");
    sandbox.write("out", "old");
    // A file may have at most 20 MB, which acts like a full disk in the middle.
    let limited =
        format!("ulimit -f 20000; {} sort -q --checkpoint -m 8M in -o out", program().display());
    let limited =
        clean("bash").args(["-c", &limited]).current_dir(sandbox.path()).output().unwrap();
    let said = String::from_utf8(limited.stderr).unwrap();
    assert_eq!(limited.status.code(), Some(4), "{said}");
    assert!(said.contains("--resume"), "{said}");
    assert_eq!(sandbox.read("out"), b"old");
    let line = sandbox.fails("sort -q --checkpoint -m 8M in -o out", 2);
    assert!(line.contains("--resume") && line.contains("--restart"), "{line}");
    sandbox.ok("sort -q --resume -m 8M in -o out");
    assert_eq!(sandbox.sha256("out"), sandbox.sha256("whole"));
    assert_eq!(sandbox.names(), ["in", "out", "whole"]);
}

#[test]
fn a_sort_of_tables_that_is_killed_at_any_moment_goes_on() {
    let sandbox = Sandbox::new();
    let mut text = "id,note\n".to_owned();
    for row in 0..600_000_u64 {
        let number = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let note = if number.is_multiple_of(7) { "\"two\nlines\"" } else { "a note of words" };
        writeln!(text, "{number},{note}").unwrap();
    }
    sandbox.write("in", &text);
    let orders = ["--by id:int", "--by note:desc,id:int", "--by id:num -u", "--shuffle --seed 5"];
    killed_in_every_order(&sandbox, "table -q -f csv", &orders);
}

#[test]
fn a_sort_of_prefixed_records_that_is_killed_at_any_moment_goes_on() {
    let sandbox = Sandbox::new();
    let mut records = Vec::new();
    for record in 0..400_000_u64 {
        let number = record.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        records.push(8 + (number % 50) as u8);
        records.extend_from_slice(&number.to_le_bytes());
        records.resize(records.len() + (number % 50) as usize, b'\n');
    }
    sandbox.write("in", &records);
    let orders = ["--key 0:8:u64le", "--key 0:1:u8:desc --key 8:40", ""];
    killed_in_every_order(&sandbox, "sort -q --record prefixed:u8", &orders);
}

/// Sorts the file `in` repeatedly, in any of these orders, and kills the sorts until there were
/// enough kills.
fn killed_in_every_order(sandbox: &Sandbox, command: &str, orders: &[&str]) {
    let kills_wanted = kills_wanted();
    let whole = |order: &&str| {
        sandbox.ok(&format!("{command} {order} in -o whole"));
        sandbox.sha256("whole")
    };
    let wholes: Vec<_> = orders.iter().map(whole).collect();
    let mut kills = 0;
    for seed in seeds(u64::MAX / 2) {
        let random = &mut Random::new(seed);
        let order = random.below(orders.len());
        let memory = random.one_of(&["6M", "16M", "64M"]);
        let every = random.one_of(&["0", "0.02", "1"]);
        sandbox.write("out", "old");
        let line = format!(
            "{command} {} --resume --checkpoint-every {every} -m {memory} in -o out",
            orders[order]
        );
        kills += kill_until_done(sandbox, &line, random, 12);
        assert_eq!(sandbox.sha256("out"), wholes[order], "seed {seed}: {line}");
        assert_eq!(sandbox.names(), ["in", "out", "whole"], "seed {seed}: {line}");
        if kills >= kills_wanted {
            break;
        }
    }
}

#[test]
fn what_can_not_be_gone_on_with_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1MB in");
    let line = sandbox.fails("sort -q --checkpoint --resume in -o out", 2);
    assert!(line.contains("--resume"), "{line}");
    let line = sandbox.run("lines --resume --top=3 in -o out").stderr;
    assert!(line.contains("--top"), "{line}");
    let piped = format!("cat in | {} sort -q --checkpoint -o out", program().display());
    let piped = clean("bash").args(["-c", &piped]).current_dir(sandbox.path()).output().unwrap();
    let said = String::from_utf8(piped.stderr).unwrap();
    assert_eq!(piped.status.code(), Some(2), "{said}");
    assert!(said.contains("write it to a file"), "{said}");
    assert_eq!(sandbox.names(), ["in"]);
    // There is no checkpoint to resume: it begins anew, and says so.
    let ended = sandbox.run("sort --resume in -o out");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("the sort begins from the start"), "{}", ended.stderr);
    assert_eq!(sandbox.names(), ["in", "out"]);
}

/// Runs a job that is killed when a thread makes its system call number `when` of this name.
/// Returns whether it was killed: a job with fewer calls succeeds. `None` if tracing is not
/// allowed.
fn killed_at(sandbox: &Sandbox, call: &str, when: u32, line: &str) -> Option<bool> {
    let ended = clean("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")])
        .args(["-e", &format!("inject={call}:error=EIO:signal=KILL:when={when}")])
        .arg(program())
        .args(line.split_whitespace())
        .current_dir(sandbox.path())
        .env("XSORT_STATUS", "off")
        .output();
    let Some(Output { status, stderr, .. }) =
        ended.ok().filter(|ended| !ended.stderr.starts_with(b"strace"))
    else {
        eprintln!("SKIPPED: there is no strace, or nobody may be traced here");
        return None;
    };
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success() || status.signal() == Some(9), "{line}: {status}, {said}");
    Some(!status.success())
}

/// Runs a job that is killed at this checkpoint, or, if a slow drive leads to fewer, at one in its
/// last quarter. `None` if tracing is not allowed.
fn killed_at_checkpoint(sandbox: &Sandbox, checkpoint: u32, line: &str) -> Option<()> {
    let mut checkpoint = checkpoint;
    while !killed_at(sandbox, "fdatasync", checkpoint, line)? {
        fs::remove_file(sandbox.path().join("out")).unwrap();
        checkpoint = checkpoint * 3 / 4;
    }
    Some(())
}

/// After a reboot a file system was empty or truncated: the output lacked what the journal says.
/// The resumed sort trusted the journal, ended with status 0 and zeros in the output, and had
/// removed inputs and scratch.
#[test]
fn an_output_that_is_lost_between_two_processes_is_written_again() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 8MB in");
    sandbox.ok("gen -q -f gensort-ascii 8MB text");
    let records = "sort -q --checkpoint-every 0 -m 1M in -o out";
    let lines = "lines --checkpoint-every=0 -S 2M -T . text -o out";
    for (plain, line) in [("sort -q in -o whole", records), ("lines text -o whole", lines)] {
        sandbox.ok(plain);
        let whole = sandbox.sha256("whole");
        let mut lost = 0;
        for checkpoint in [40, 160] {
            for cut in [None, Some(4096)] {
                if killed_at_checkpoint(&sandbox, checkpoint, &format!("{line} --resume")).is_none()
                {
                    return;
                }
                let names = sandbox.names();
                let Some(hidden) = names.iter().find(|name| name.ends_with(".output")) else {
                    continue;
                };
                lost += 1;
                match cut {
                    None => fs::remove_file(sandbox.path().join(hidden)).unwrap(),
                    Some(bytes) => {
                        let file =
                            fs::OpenOptions::new().write(true).open(sandbox.path().join(hidden));
                        file.unwrap().set_len(bytes).unwrap();
                    }
                }
                let ended = sandbox.run(&format!("{line} --resume"));
                assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
                assert_eq!(sandbox.sha256("out"), whole, "{line}: {checkpoint} {cut:?}");
                assert_eq!(sandbox.names(), ["in", "out", "text", "whole"], "{line}");
            }
        }
        assert!(lost > 0, "{line}: no output was there to lose");
        fs::remove_file(sandbox.path().join("out")).unwrap();
    }
}

/// "The output was complete and in place already" was once printed without a check of inputs and
/// output.
#[test]
fn what_is_in_place_already_is_looked_at() {
    type Change = (&'static str, fn(&Sandbox), i32);
    let changes: [Change; 7] = [
        ("nothing", |_| {}, 0),
        (
            "the output is another file with the same content",
            |sandbox| {
                let content = sandbox.read("out");
                fs::remove_file(sandbox.path().join("out")).unwrap();
                sandbox.write("out", content);
            },
            0,
        ),
        ("the output was emptied", |sandbox| sandbox.write("out", ""), 2),
        ("the output is gone", |sandbox| fs::remove_file(sandbox.path().join("out")).unwrap(), 2),
        (
            "something was appended to it",
            |sandbox| {
                let content = sandbox.read("out");
                sandbox.write("out", [&content[..], &content[..100]].concat());
            },
            2,
        ),
        (
            "a byte of it was changed",
            |sandbox| {
                let mut content = sandbox.read("out");
                content[123_456] ^= 1;
                sandbox.write("out", content);
            },
            2,
        ),
        (
            "the input is another",
            |sandbox| {
                let content = sandbox.read("in");
                sandbox.write("in", &content[..content.len() / 2 / 100 * 100]);
            },
            3,
        ),
    ];
    for (name, change, code) in changes {
        let sandbox = Sandbox::new();
        sandbox.ok("gen -q 2MB in");
        sandbox.ok("sort -q in -o whole");
        let line = "sort -q --checkpoint-every 0 -m 1M in -o out --resume";
        // The first file whose name is removed is the scratch's: the output is in place.
        match killed_at(&sandbox, "unlinkat,unlink", 2, line) {
            Some(killed) => assert!(killed, "{name}"),
            None => return,
        }
        assert_eq!(sandbox.sha256("out"), sandbox.sha256("whole"), "{name}");
        change(&sandbox);
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(code), "{name}: {}", ended.stderr);
        if code != 0 {
            assert!(ended.stderr.contains("--restart"), "{name}: {}", ended.stderr);
            sandbox.ok("sort -q in -o whole");
            sandbox.ok(&line.replace("--resume", "--restart"));
        }
        assert_eq!(sandbox.sha256("out"), sandbox.sha256("whole"), "{name}");
        assert_eq!(sandbox.names(), ["in", "out", "whole"], "{name}");
    }
}

/// Two sorts to one output that began at nearly the same time once wrote into each other's files,
/// and both ended with status 0.
#[test]
fn of_two_sorts_to_one_output_one_is_refused_or_comes_after() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 3MB a");
    sandbox.ok("gen -q 3MB b --seed 7");
    let wholes = ["a", "b"].map(|input| {
        sandbox.ok(&format!("sort -q {input} -o whole"));
        sandbox.sha256("whole")
    });
    for seed in seeds(12) {
        let random = &mut Random::new(seed);
        let mut children = Vec::new();
        for input in ["a", "b"] {
            let begin = random.one_of(&["--checkpoint", "--resume", "--restart"]);
            let line = format!("sort -q {begin} --checkpoint-every 0 -m 1M {input} -o out");
            children.push(start(&sandbox, &line));
            thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        }
        let ended =
            children.into_iter().map(|child| child.wait_with_output().unwrap()).collect::<Vec<_>>();
        let output = sandbox.sha256("out");
        let said =
            ended.iter().map(|ended| String::from_utf8_lossy(&ended.stderr)).collect::<Vec<_>>();
        let has_won = |number: usize| ended[number].status.success() && output == wholes[number];
        assert!(has_won(0) || has_won(1), "seed {seed}: {said:?}");
        for (ended, said) in ended.iter().zip(&said).filter(|(ended, _)| !ended.status.success()) {
            assert_eq!(ended.status.code(), Some(2), "seed {seed}: {said}");
            assert!(said.contains("under way"), "seed {seed}: {said}");
        }
        assert_eq!(sandbox.names(), ["a", "b", "out", "whole"], "seed {seed}: {said:?}");
    }
}
