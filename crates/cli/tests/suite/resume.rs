//! Sorts that are killed at any moment, again and again, and go on each time: in the end the output is the one that an undisturbed sort makes, and nothing else
//! is left. `XSORT_KILLS=500` kills more often; `XSORT_SEED` is the first seed.

use crate::chance::{Chance, seeds};
use crate::sandbox::{Sandbox, program};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

fn start(sandbox: &Sandbox, line: &str) -> Child {
    Command::new(program())
        .args(line.split_whitespace())
        .current_dir(sandbox.path())
        .env("XSORT_STATUS", "off") // What is killed would leave it.
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs a job until it is done, and kills it on the way until it was killed so often. Returns how often that was.
fn kill_until_done(sandbox: &Sandbox, line: &str, chance: &mut Chance, kills_max: u32) -> u32 {
    let mut kills = 0;
    loop {
        let mut child = start(sandbox, line);
        if kills < kills_max {
            // Later each time, so that it ends on the slowest machine.
            thread::sleep(Duration::from_micros(chance.below(40_000 + 4_000 * kills as usize) as u64));
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        match output.status.code() {
            Some(0) => return kills,
            None => kills += 1,
            // Nothing is lost with the last answer: the inputs go when the output is there.
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
    std::env::var("XSORT_KILLS").map_or(30, |kills| kills.parse().unwrap())
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
        let chance = &mut Chance::of(seed);
        let method = chance.one_of(&["merge", "scatter"]);
        let memory = chance.one_of(&["2M", "8M", "40M"]);
        let every = chance.one_of(&["0", "0.02", "1"]);
        let remove = chance.one_of(&["", "--remove-input"]);
        sandbox.write("in", &input);
        sandbox.write("out", "old");
        let line = format!(
            "sort -q --resume --checkpoint-every {every} --method {method} -m {memory} {remove} in -o out"
        );
        kills += kill_until_done(&sandbox, &line, chance, 12);
        assert_eq!(sandbox.sha256("out"), whole, "seed {seed}: {line}");
        let left: Vec<String> = sandbox.names().into_iter().filter(|name| name.starts_with('.')).collect();
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
    sandbox.ok("gen -q -f gensort-ascii 60MB in");
    let whole = |arguments: &str| {
        sandbox.ok(&format!("lines {arguments} in -o whole"));
        sandbox.sha256("whole")
    };
    let orders = ["", "-r -k2", "-u -k1.1,1.2", "--compress=lz4"];
    let wholes = orders.map(whole);
    let mut kills = 0;
    for seed in seeds(u64::MAX / 2) {
        let chance = &mut Chance::of(seed);
        let order = chance.below(orders.len());
        let memory = chance.one_of(&["2M", "8M", "40M"]);
        let every = chance.one_of(&["0", "0.02", "1"]);
        sandbox.write("out", "old");
        let line =
            format!("lines --resume --checkpoint-every={every} {} -S {memory} -T . in -o out", orders[order]);
        kills += kill_until_done(&sandbox, &line, chance, 12);
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
    // A file may have no more than 20 MB: as good as a full disk in the middle.
    let limited = format!("ulimit -f 20000; {} sort -q --checkpoint -m 8M in -o out", program().display());
    let limited = Command::new("bash").args(["-c", &limited]).current_dir(sandbox.path()).output().unwrap();
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
fn what_can_not_be_gone_on_with_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1MB in");
    let line = sandbox.fails("sort -q --checkpoint --resume in -o out", 2);
    assert!(line.contains("--resume"), "{line}");
    let line = sandbox.run("lines --resume --top=3 in -o out").stderr;
    assert!(line.contains("--top"), "{line}");
    let piped = format!("cat in | {} sort -q --checkpoint -o out", program().display());
    let piped = Command::new("bash").args(["-c", &piped]).current_dir(sandbox.path()).output().unwrap();
    let said = String::from_utf8(piped.stderr).unwrap();
    assert_eq!(piped.status.code(), Some(2), "{said}");
    assert!(said.contains("write it to a file"), "{said}");
    assert_eq!(sandbox.names(), ["in"]);
    // There is nothing to go on with: it begins, and says so.
    let ended = sandbox.run("sort --resume in -o out");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("so the sort begins"), "{}", ended.stderr);
    assert_eq!(sandbox.names(), ["in", "out"]);
}
