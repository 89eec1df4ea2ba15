//! Messages that name an amount of memory: each must be true. What was refused runs again with the
//! named memory, and must succeed.

use crate::sandbox::{Sandbox, clean, program};
use std::fs;
use xsort_testing::quick_or_long;

const MIB: usize = 1 << 20;
/// The maximum memory that a message may name, so that a remedy is within reach.
const NAMED_BYTES_MAX: u64 = 2 << 30;

/// Runs a script with `$xsort` and `$memory`; returns the status and standard error.
fn run(sandbox: &Sandbox, script: &str, memory: &str) -> (Option<i32>, String) {
    let mut shell = clean("bash");
    shell.args(["-c", script]).env("xsort", program()).env("memory", memory).env("LC_ALL", "C");
    let ended = shell.env("XSORT_STATUS", "off").current_dir(sandbox.path()).output().unwrap();
    (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

/// The last size in a message that is an argument of -m or -S.
fn named(message: &str) -> Option<&str> {
    let at = ["-m ", "-S "].iter().filter_map(|option| message.rfind(option)).max()?;
    let rest = &message[at + 3..];
    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|size| size.starts_with(|letter: char| letter.is_ascii_digit()))
}

fn bytes(size: &str) -> u64 {
    size.parse::<xsort::size::Memory>().map_or(0, |memory| match memory {
        xsort::size::Memory::Bytes(bytes) => bytes,
        xsort::size::Memory::Percent(_) => 0,
    })
}

/// Runs the script with too little memory, then with the named amount. Returns whether it was
/// refused.
fn try_remedy(sandbox: &Sandbox, script: &str, memory: &str) -> bool {
    let (code, said) = run(sandbox, script, memory);
    if code == Some(0) {
        return false;
    }
    let enough = named(&said).unwrap_or_else(|| panic!("{script} {memory} ({code:?}): {said}"));
    assert!(bytes(enough) <= NAMED_BYTES_MAX, "{script} {memory}: {said}");
    let (code, again) = run(sandbox, script, enough);
    assert_eq!(code, Some(0), "{script} {memory}: {said}with {enough}: {again}");
    true
}

/// The share of all trials that an ordinary run makes. No loop has a multiple of 4 rounds, so each
/// value of each loop is tried.
fn tried<T>(trials: Vec<T>) -> impl Iterator<Item = T> {
    trials.into_iter().step_by(quick_or_long(4, 1))
}

/// Lines that key words don't decide, so that keys are stored with them, and one long line.
fn ties(long_bytes: usize) -> Vec<u8> {
    let line = |at: usize| format!("{},what all of them begin with {}\n", at % 10, at % 977);
    let mut text: Vec<u8> = (0..3000).flat_map(|at| line(at).into_bytes()).collect();
    text.resize(text.len() + long_bytes, b'x');
    text.extend(b"\na\n");
    text
}

/// A long line after several kinds of input, read in each way. The named budget was once that of
/// another kind of sort.
#[test]
fn a_long_line_is_sorted_with_the_memory_that_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("ties", ties(8_500_000));
    sandbox.write("long", [b"b\n", &[b'x'; 8_500_000][..], b"\na\n"].concat());
    let (code, said) = run(&sandbox, "gzip -k1 ties; $xsort lines ties -r -o ties.zst", "");
    assert_eq!(code, Some(0), "{said}");
    let mut trials = Vec::new();
    for options in ["-t, -k2,2", "-t, -k1,1n -u", "-n", "", "-t, -k2,2 --compress=zstd"] {
        for script in [
            "cat ties | $xsort lines -S $memory OPTIONS -T . -o out",
            "$xsort lines -S $memory OPTIONS -T . - <long >out",
            "$xsort lines -S $memory OPTIONS -T . ties -o out",
            "$xsort lines -S $memory OPTIONS -T . ties.gz -o out",
            "$xsort lines -S $memory OPTIONS --parallel=16 -T . ties.zst -o out",
        ] {
            for memory in ["2M", "17M", "40M"] {
                trials.push((script.replace("OPTIONS", options), memory));
            }
        }
    }
    let is_refused = |(script, memory): &(String, &str)| try_remedy(&sandbox, script, memory);
    let refused = tried(trials).filter(is_refused).count();
    assert!(refused > quick_or_long(10, 40), "{refused}");
}

/// The memory that is named is enough for what was met first, and the message says no more: it once
/// seemed to be enough for the file, and the next trial, after hours, was refused by a longer line.
#[test]
fn a_message_says_that_what_is_longer_needs_more_memory_than_it_names() {
    let sandbox = Sandbox::new();
    let lengths = [2 * MIB / 3, 3 * MIB, 14 * MIB];
    let lines = lengths.map(|bytes| "x".repeat(bytes));
    sandbox.write("text", format!("b\n{}\na\n", lines.join("\n")));
    let rows = lines.map(|line| format!("1,{line}\n")).concat();
    sandbox.write("rows.csv", format!("a,b\n2,x\n{rows}"));
    let record = |bytes: usize| [&(bytes as u32).to_le_bytes()[..], &vec![7; bytes]].concat();
    sandbox.write("prefixed", lengths.map(record).concat());
    for command in [
        "lines text -T . -o out -S",
        "table -q rows.csv --by a:int -o out -m",
        "sort -q --record prefixed:u32le prefixed -o out -m",
        "verify -q --record prefixed:u32le prefixed -m",
    ] {
        let mut memory = "2M".to_owned();
        let mut refusals = 0;
        loop {
            let (code, said) = run(&sandbox, &format!("$xsort {command} $memory"), &memory);
            if code == Some(0) || code == Some(1) && command.starts_with("verify") {
                break;
            }
            assert!(said.contains("a longer one needs more"), "{command} {memory}: {said}");
            let enough = named(&said).unwrap().to_owned();
            assert!(bytes(&enough) > bytes(&memory), "{command} {memory}: {said}");
            (memory, refusals) = (enough, refusals + 1);
        }
        // What was named is enough at least for the line for which it was named.
        assert!((2..=lengths.len()).contains(&refusals), "{command}: {refusals}");
    }
}

/// A window of Zstandard also takes its share of the larger budget. That share once doubled at 128
/// MiB, so that a larger budget had less room.
#[test]
fn a_long_line_in_zstandard_is_sorted_with_the_memory_that_is_named() {
    let sandbox = Sandbox::new();
    for (name, bytes) in [("a", 30 * MIB), ("b", 34 * MIB)] {
        sandbox.write(name, "1 ".repeat(bytes / 2));
        let (code, said) = run(&sandbox, &format!("$xsort lines {name} -o {name}.zst"), "");
        assert_eq!(code, Some(0), "{said}");
        fs::remove_file(sandbox.path().join(name)).unwrap();
    }
    for (file, threads, memory) in [("b", 2, "3M"), ("a", 3, "3M"), ("a", 3, "100M")] {
        let line = format!("$xsort lines -S $memory -j {threads} -T . {file}.zst -o out");
        assert!(try_remedy(&sandbox, &line, memory), "{line} {memory}");
    }
    let line = "$xsort lines -S $memory -j 3 -T . a.zst -o out";
    let codes = ["122M", "127M", "128M", "136M"].map(|memory| run(&sandbox, line, memory).0);
    let is_worse = codes.windows(2).any(|pair| pair[0] == Some(0) && pair[1] != Some(0));
    assert!(!is_worse, "{codes:?}");
}

/// If no end of a line is found within gigabytes, no memory is named: the delimiter may be another.
/// In a merge, all inputs may have long lines at once, and small ones have none.
#[test]
fn long_lines_are_merged_with_the_memory_that_is_named() {
    let sandbox = Sandbox::new();
    let line = |letter: u8| [&[letter][..], b"\n", &vec![letter + 1; 5_000_000], b"\nz\n"].concat();
    sandbox.write("one", line(b'b'));
    sandbox.write("two", line(b'd'));
    sandbox.write("small", "a\nc\n");
    let (code, said) = run(&sandbox, "gzip -k1 one two", "");
    assert_eq!(code, Some(0), "{said}");
    let mut trials = Vec::new();
    for inputs in [
        "one small",
        "one two",
        "one two one two one small",
        "$(yes small | head -300) one",
        "one.gz two.gz small",
        "<(cat one) <(cat two)",
        "one - <two",
    ] {
        for options in ["", "-u", "--compress-output=zstd"] {
            for memory in ["2M", "8M", "12M"] {
                let script = format!("$xsort lines -m -S $memory {options} -T . -o out {inputs}");
                trials.push((script, memory));
            }
        }
    }
    let is_refused = |(script, memory): &(String, &str)| try_remedy(&sandbox, script, memory);
    let refused = tried(trials).filter(is_refused).count();
    assert!(refused > quick_or_long(5, 20), "{refused}");
}

/// Records of one size, prefixed records, and rows; sorted, generated and verified.
#[test]
fn records_and_rows_are_taken_with_the_memory_that_is_named() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1MB in");
    sandbox.ok("gen -q -f block4k 2MB blocks");
    sandbox.write("giants", vec![b'x'; 24 * MIB]);
    let record = |bytes: usize| [&(bytes as u32).to_le_bytes()[..], &vec![7; bytes]].concat();
    // The longest first: memory that is enough for it is enough for all.
    sandbox.write("prefixed", [record(3 * MIB), record(20), record(0), record(50)].concat());
    sandbox.write("rows.csv", format!("a,b\n1,\"{}\"\n2,x\n", "y\n".repeat(MIB)));
    let long = format!("{{\"a\":1,\"b\":\"{}\"}}\n", "z".repeat(MIB));
    sandbox.write("rows.ndjson", long + "{\"a\":2}\n");
    let prefixed = "--record prefixed:u32le";
    let mut trials = Vec::new();
    for command in [
        "sort -q in -o out",
        "sort -q -j 64 in -o out",
        "sort -q --method scatter blocks -f block4k -o out",
        "sort -q --record 8388608 --key 5:3 giants -o out",
        "sort -q --record 8388608 --key 0:8388608 giants -o out",
        &format!("sort -q {prefixed} prefixed -o out"),
        &format!("sort -q {prefixed} --key 0:8 -j 16 prefixed -o out"),
        &format!("sort -q {prefixed} --key 4:3000000:desc prefixed -o out"),
        &format!("verify -q {prefixed} prefixed --against prefixed"),
        "gen -q 1MB out",
        "gen -q -f block4k 1MB out",
        "verify -q in --against in",
        "verify -q --record 8388608 giants",
        "table -q rows.csv --by a:int -o out",
        "table -q rows.csv --by b,b,b -o out",
        "table -q rows.csv --by b:natural --unique -o out",
        "table -q rows.ndjson --by .b -o out",
    ] {
        // Also through a pipe, because a stream is planned differently.
        for script in [format!("$xsort {command} -m $memory"), piped(command)] {
            for memory in ["1", "300K", "2M"] {
                trials.push((command.to_owned(), script.clone(), memory));
            }
        }
    }
    let mut refused = 0;
    for (command, script, memory) in tried(trials) {
        let (code, said) = run(&sandbox, &script, memory);
        match code {
            Some(0) => {}
            // Not in order: it had enough memory to find that out.
            Some(1) if command.starts_with("verify") => {}
            Some(3 | 4) if named(&said).is_some() => {
                refused += 1;
                let enough = named(&said).unwrap();
                let (code, again) = run(&sandbox, &script, enough);
                let is_done = code == Some(0) || code == Some(1) && command.starts_with("verify");
                assert!(is_done, "{script} {memory}: {said}with {enough}: {again}");
            }
            code => panic!("{script} {memory}: {code:?} {said}"),
        }
    }
    assert!(refused > quick_or_long(8, 30), "{refused}");
}

/// The command with its input through a pipe, if it has one.
fn piped(command: &str) -> String {
    for input in ["in", "blocks", "giants", "prefixed", "rows.csv", "rows.ndjson"] {
        let word = format!(" {input} ");
        if command.contains(&word) && !command.starts_with("verify") {
            let format =
                input.split_once('.').map_or(String::new(), |(_, f)| format!("--format {f}"));
            let command = command.replacen(&word, " - ", 1);
            return format!("cat {input} | $xsort {command} {format} -m $memory");
        }
    }
    format!("$xsort {command} -m $memory")
}

/// The steps of a sort in parts, on slices with long lines.
#[test]
fn parts_are_done_with_the_memory_that_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("text", ties(3 * MIB));
    sandbox.write("rows.csv", format!("a,b\n2,x\n1,\"{}\"\n", "y\n".repeat(MIB)));
    for (input, words) in [("text", "lines -t, -k2,2"), ("rows.csv", "table --by a:int")] {
        sandbox.run(&format!("part plan {input} -o job-{input}.json -- {words}"));
        for step in ["map", "sample"] {
            let script = format!("$xsort part {step} job-{input}.json 0 -m $memory");
            let (code, said) = run(&sandbox, &script, "2M");
            if let Some(enough) = named(&said).filter(|_| code != Some(0)) {
                let (_, again) = run(&sandbox, &script, enough);
                assert!(named(&again).is_none(), "{script}: {said}with {enough}: {again}");
            }
        }
    }
}

/// A limit set outside leaves less than the named memory: the message says to raise that first.
#[test]
fn a_limit_from_outside_is_named_beside_the_memory() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1MB in");
    sandbox.write("ties", ties(8_500_000));
    for command in ["sort -q -m 8M in -o out", "lines -S 2M ties -o out"] {
        let script = format!("ulimit -v 200000; $xsort {command}");
        let (_, said) = run(&sandbox, &script, "");
        assert!(said.contains("(ulimit -v, 195 MiB) leaves 0 B: raise that first"), "{said}");
        let (code, said) = run(&sandbox, &format!("$xsort {command}"), "");
        assert!(code == Some(0) || !said.contains("raise that first"), "{said}");
    }
}
