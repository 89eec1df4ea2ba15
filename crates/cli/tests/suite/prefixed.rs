//! `--record prefixed:TYPE` of sort and verify as users meet it. Its crate tests the sorting of
//! records.

use crate::limits::peak_bytes;
use crate::sandbox::{Sandbox, clean, program};
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;
use xsort_testing::{Random, quick_or_long};

const MIB: u64 = 1 << 20;
/// Memory that a job may need besides its budget.
const OVERHEAD_BYTES: u64 = 64 * MIB;

/// Records with a prefix of one byte.
fn short(bodies: &[&[u8]]) -> Vec<u8> {
    bodies.iter().flat_map(|body| [&[body.len() as u8], *body].concat()).collect()
}

/// Random records of 8 to 107 bytes that begin with a number, after a prefix of four bytes.
fn messages(count: u64) -> (Vec<u8>, Vec<u64>) {
    let mut bytes = Vec::new();
    let numbers: Vec<u64> =
        (1..=count).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24).collect();
    for number in &numbers {
        let more = number % 100;
        bytes.extend((8 + more as u32).to_le_bytes());
        bytes.extend(number.to_le_bytes());
        bytes.extend((0..more).map(|at| (number >> (at % 32)) as u8));
    }
    (bytes, numbers)
}

fn shell(sandbox: &Sandbox, script: &str) -> (Option<i32>, Vec<u8>, String) {
    let output = sandbox.script(script);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), output.stdout, said)
}

#[test]
fn files_pipes_and_directories_are_the_same_records() {
    let sandbox = Sandbox::new();
    sandbox.write("in", short(&[b"b2", b"", b"a\0\n", b"b1"]));
    std::fs::create_dir(sandbox.path().join("dir")).unwrap();
    sandbox.write("dir/1", short(&[b"b2", b""]));
    sandbox.write("dir/2", short(&[b"a\0\n", b"b1"]));
    let sorted = short(&[b"", b"a\0\n", b"b2", b"b1"]);
    for script in [
        "$xsort sort $r in -o out -q && cat out",
        "$xsort sort $r <in -o -",
        "cat in | $xsort sort $r - -o -",
        "$xsort sort $r dir -o -",
        "cat dir/2 | $xsort sort $r dir/1 - -o -",
        "cp in same && $xsort sort $r same -o same -q && cat same",
        "$xsort sort $r in -o - --cache-size 1M --stable --method merge --io sync -j 1 -m 2M",
        "$xsort sort $r in -o - | $xsort verify $r - --against in -q >/dev/null && cat out",
    ] {
        let script = format!("r='--record prefixed:u8 --key 0:1'; {script}");
        let (code, printed, said) = shell(&sandbox, &script);
        assert_eq!((code, &*printed, &*said), (Some(0), &*sorted, ""), "{script}");
    }
    // A varint that is longer than necessary keeps its bytes.
    sandbox.write("varints", b"\x01b\x81\x80\x00a\x80\x00");
    sandbox.ok("sort --record prefixed:varint varints -q -o out");
    assert_eq!(sandbox.read("out"), b"\x80\x00\x81\x80\x00a\x01b");
}

#[test]
fn sort_and_verify_report_the_same_checksum() {
    let sandbox = Sandbox::new();
    sandbox.write("in", messages(1000).0);
    let record = "--record prefixed:u32le --key 0:8:u64le:desc";
    let sorted = sandbox.json(&format!("sort {record} in -o out"));
    let verdict = sandbox.json(&format!("verify {record} out --against in"));
    for name in ["records", "checksum"] {
        assert_eq!(sorted[name], verdict[name], "{name}");
        assert_eq!(verdict["against"][name], verdict[name], "{name}");
    }
    assert_eq!((&verdict["ok"], &sorted["bytes"]), (&true.into(), &sorted["written_bytes"]));
    let sum = sorted["checksum"].as_str().unwrap();
    sandbox.ok(&format!("verify {record} out --expect {sum}"));
    let ended = sandbox.run(&format!("verify {record} in --expect {sum}"));
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    assert!(ended.stdout.contains("First unordered record is record "), "{}", ended.stdout);
    let text = sandbox.ok(&format!("sort {record} in -o out -v"));
    assert!(text.contains("sorted   1,000 records") && text.contains("spilled"), "{text}");
    let (code, _, said) = shell(&sandbox, &format!("$xsort sort {record} in -o - --json"));
    assert_eq!(code, Some(0), "{said}");
    let json: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&json["command"], &json["checksum"]), (&"sort".into(), &sorted["checksum"]));
}

#[test]
fn files_in_order_are_merged() {
    let sandbox = Sandbox::new();
    let (all, _) = messages(3000);
    sandbox.write("all", &all);
    let record = "--record prefixed:u32le --key 0:8:u64le";
    sandbox.write("b", messages(1000).0);
    for name in ["all", "b"] {
        sandbox.ok(&format!("sort {record} {name} -q -o {name}"));
    }
    sandbox.ok(&format!("sort {record} all b all -q -o expected"));
    for options in ["-m 4M", "-j 1", ""] {
        sandbox.ok(&format!("sort {record} --merge {options} all b all -q -o out"));
        assert!(sandbox.read("out") == sandbox.read("expected"), "{options}");
    }
    sandbox.ok(&format!("sort {record} --merge all b --dry-run -o out"));
    sandbox.write("wrong", &all);
    let said = sandbox.fails(&format!("sort {record} --merge b wrong -q -o out"), 3);
    assert!(said.contains("wrong: record ") && said.contains("--merge=any"), "{said}");
    assert!(sandbox.read("out") == sandbox.read("expected"));
    sandbox.ok(&format!("sort {record} b wrong -q -o expected"));
    sandbox.ok(&format!("sort {record} --merge=any b wrong -q -o out"));
    assert!(sandbox.read("out") == sandbox.read("expected"));
    let merge = format!("$xsort sort {record} --merge=any <(cat b) - -q -o out <wrong");
    sandbox.script_ok(&merge);
    assert!(sandbox.read("out") == sandbox.read("expected"));
}

#[test]
fn refusals_name_the_way_out_and_leave_the_old_output() {
    let sandbox = Sandbox::new();
    sandbox.write("in", short(&[b"b", b"a"]));
    sandbox.write("cut", b"\x01b\x05ab");
    sandbox.write("out", "old");
    for (options, code, said) in [
        ("u8 cut", 3, "cut: it ends in record 2, from byte 2 on: of the 5 bytes"),
        ("u32le in", 3, "in: record 1, from byte 0 on, has 1627480577 bytes by its prefix"),
        ("u8 in --key 0:2:u16", 3, "in: record 1, from byte 0 on, has 1 bytes behind its prefix"),
        ("u8 in missing", 3, "missing: No such file"),
        ("u8 - -", 2, "named twice"),
        ("u16 in", 2, "there is no prefix 'u16': write prefixed: and u8, u16le"),
        ("u8 in --key 0:3:u16", 2, "u16 is 2 bytes long"),
        ("u8 - --resume", 2, "reads files only"),
        ("u8 in --remove-input", 2, "remove the inputs once the sort is done"),
        ("u8 in --method scatter", 2, "runs are merged"),
        ("u8 in --probe", 2, "--probe"),
        ("u8 in -f kv128", 2, "cannot be used with"),
    ] {
        let line = format!("sort --record prefixed:{options} -o out");
        let stderr = sandbox.fails(&line, code);
        assert!(stderr.contains(said), "{line}: {stderr}");
        assert_eq!(sandbox.read("out"), b"old", "{line}");
        assert_eq!(sandbox.names(), ["cut", "in", "out"], "{line}");
    }
    for (options, code, said) in [
        ("u8 cut", 3, "cut: record 2, from byte 2 on, is cut off"),
        ("u8 in -o sum", 2, "--summary: only for records of one size"),
        ("u8 -s in", 2, "--summaries: only"),
        ("u8 in --io sync", 2, "one thread reads"),
        ("u8 in -", 2, "can be checked alone"),
    ] {
        let stderr = sandbox.fails(&format!("verify --record prefixed:{options}"), code);
        assert!(stderr.contains(said), "{options}: {stderr}");
    }
}

#[test]
fn a_plan_reads_nothing_and_a_checkpoint_leaves_nothing() {
    let sandbox = Sandbox::new();
    let in_order: Vec<Vec<u8>> = (0..200_u8).map(|byte| vec![byte; 1 + byte as usize]).collect();
    let sorted = short(&in_order.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let reversed = short(&in_order.iter().rev().map(Vec::as_slice).collect::<Vec<_>>());
    sandbox.write("in", &reversed);
    sandbox.write("no-records", b"\xff");
    let plan = sandbox.ok("sort --record prefixed:u8 in no-records --dry-run --json -o out");
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!((&plan["dry_run"], &plan["bytes"]), (&true.into(), &(reversed.len() + 1).into()));
    assert_eq!(sandbox.names(), ["in", "no-records"]);
    for option in ["--checkpoint", "--restart", "--no-sync"] {
        let line = format!("sort --record prefixed:u8 in {option} --json -o out");
        let report: Value = serde_json::from_str(&sandbox.ok(&line)).unwrap();
        assert_eq!((&report["records"], &report["bytes"]), (&200.into(), &sorted.len().into()));
        assert!(report["checksum"].is_string(), "{report}");
        assert_eq!(sandbox.read("out"), sorted, "{line}");
        assert_eq!(sandbox.names(), ["in", "no-records", "out"], "{line}");
    }
}

#[test]
fn records_beyond_the_budget_are_sorted_within_it() {
    let sandbox = Sandbox::new();
    let (bytes, mut numbers) = messages(quick_or_long(400_000, 3_000_000));
    sandbox.write("in", &bytes);
    let keys = [("0:8:u64le", 8), ("0:2000", 16), ("8:4 --key 0:8:u64le:desc", 16)];
    for (key, memory) in &keys[..quick_or_long(2, 3)] {
        let record = format!("--record prefixed:u32le --key {key}");
        let line = format!("sort {record} in --compress auto -m {memory}M -j 3 -T . -q -o out");
        let mut command = clean(program());
        command.args(line.split_whitespace()).current_dir(sandbox.path());
        let peak = peak_bytes(command);
        assert!(peak <= memory * MIB + OVERHEAD_BYTES, "{line}: {} MiB", peak / MIB);
        sandbox.ok(&format!("verify {record} out --against in -m {memory}M"));
    }
    sandbox.ok("sort --record prefixed:u32le --key 0:8:u64le in --compress zstd -m 8M -q -o out");
    numbers.sort_unstable();
    let (out, mut at, mut found) = (sandbox.read("out"), 0, Vec::new());
    while at < out.len() {
        let number = |from: usize, bytes: usize| -> u64 {
            let digits = out[from..from + bytes].iter().rev();
            digits.fold(0, |number, &byte| number << 8 | u64::from(byte))
        };
        found.push(number(at + 4, 8));
        at += 4 + number(at, 4) as usize;
    }
    assert!(found == numbers);
}

/// The longest possible records, with keys of the same length.
#[test]
fn long_records_are_sorted_within_the_budget() {
    let sandbox = Sandbox::new();
    let mut bytes = Vec::new();
    for seed in 0..12 {
        bytes.extend((16 * MIB as u32 - 4).to_le_bytes());
        bytes.extend(Random::new(seed).bytes(16 * MIB as usize - 4));
    }
    sandbox.write("in", &bytes);
    for key in &["", "--key 0:8"][..quick_or_long(1, 2)] {
        let record = format!("--record prefixed:u32le {key}");
        let line = format!("sort {record} in -m 256M -j 2 -T . -q -o out");
        let mut command = clean(program());
        command.args(line.split_whitespace()).current_dir(sandbox.path());
        let peak = peak_bytes(command);
        assert!(peak <= 256 * MIB + OVERHEAD_BYTES, "{line}: {} MiB", peak / MIB);
        sandbox.ok(&format!("verify {record} out --against in -m 256M"));
    }
}

/// A file that another process writes to could end within a record.
#[test]
fn an_input_that_changes_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("in", messages(50_000).0);
    sandbox.write("out", "old");
    let mut child = clean(program())
        .args("sort --record prefixed:u32le in -q --bandwidth-limit 4M -o out".split_whitespace())
        .current_dir(sandbox.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let mut file = std::fs::File::options().append(true).open(sandbox.path().join("in")).unwrap();
    std::io::Write::write_all(&mut file, &[0; 4]).unwrap();
    drop(file);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{said}");
    assert!(said.contains("in: it was changed while it was read"), "{said}");
    assert_eq!(sandbox.read("out"), b"old");
}
