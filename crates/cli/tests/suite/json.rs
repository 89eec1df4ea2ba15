//! `--json`: prints one object, for any names of files.

use crate::sandbox::{Sandbox, clean, program};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[test]
fn every_result_names_its_command() {
    let sandbox = Sandbox::new();
    for (line, command, key) in [
        ("gen 10r file", "gen", "checksum"),
        ("sort file -o sorted", "sort", "checksum"),
        ("sort file -o sorted --dry-run", "sort", "plan"),
        ("verify sorted", "verify", "checksum"),
    ] {
        let json = sandbox.json(line);
        assert_eq!(json["command"], command, "{line}");
        assert!(!json[key].is_null(), "{line}: {json}");
    }
}

#[test]
fn names_that_are_no_text_are_written_as_well_as_can_be() {
    let sandbox = Sandbox::new();
    let name = OsStr::from_bytes(b"d\xffta");
    for (line, key) in [("gen 10r", "file"), ("verify", "files"), ("verify --against", "files")] {
        let output = clean(program())
            .args(line.split_whitespace())
            .arg(name)
            .args(line.contains("--against").then_some(name))
            .arg("--json")
            .current_dir(sandbox.path())
            .output()
            .unwrap();
        let json: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{line}: {}", String::from_utf8_lossy(&output.stderr)));
        let written = if key == "file" { &json[key] } else { &json[key][0] };
        assert_eq!(written, "d\u{fffd}ta", "{line}");
    }
}

#[test]
fn scratch_may_have_such_a_name_too() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 5MB in");
    let scratch = sandbox.path().join(OsStr::from_bytes(b"d\xffr"));
    std::fs::create_dir(&scratch).unwrap();
    for line in ["sort in -o out -m 1M --json", "sort in -o out -m 1M --json --dry-run"] {
        let mut command = clean(program());
        command.args(line.split_whitespace()).arg("-T").arg(&scratch).current_dir(sandbox.path());
        let output = command.output().unwrap();
        let json: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{line}: {}", String::from_utf8_lossy(&output.stderr)));
        assert!(
            json["scratch"][0]["directory"].as_str().unwrap().ends_with("/d\u{fffd}r"),
            "{line}: {json}"
        );
    }
}

/// The names of all fields, in objects at any depth.
fn names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            found.insert(name.clone());
            names(value, found);
        }),
        Value::Array(values) => values.iter().for_each(|value| names(value, found)),
        _ => {}
    }
}

/// The examples in docs/json.md: a command line, and what it prints.
#[test]
fn the_documented_names_are_those_that_are_printed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let text = std::fs::read_to_string(path).unwrap();
    let sandbox = Sandbox::new();
    sandbox.write("orders.csv", "id,name\n10,a\n9,\"two\nlines\"\n");
    sandbox.write("messages", b"\x03abc\x02ab\x04\0\0\0\0");
    let (mut commands, mut of_runs) = (BTreeSet::new(), BTreeSet::new());
    for example in text.split("```json\n").skip(1) {
        let (line, rest) = example.split_once('\n').unwrap();
        let documented: Value = serde_json::from_str(rest.split("```").next().unwrap()).unwrap();
        let line = line.strip_prefix("// xsort ").unwrap();
        let output = clean(program())
            .args(line.split_whitespace())
            .env("XSORT_STATUS_DIR", sandbox.path().join("status"))
            .current_dir(sandbox.path())
            .output()
            .unwrap();
        let is_on_stderr = line.starts_with("lines") && !line.contains("--dry-run");
        let printed = if is_on_stderr { output.stderr } else { output.stdout };
        let mut printed: Value = serde_json::from_slice(&printed).unwrap();
        let run = printed.as_object_mut().unwrap().remove("run");
        let has_run = documented["dry_run"] == false && documented["command"] != "status";
        assert_eq!(run.is_some(), has_run, "{line}");
        run.iter().for_each(|run| names(run, &mut of_runs));
        let (mut expected, mut found) = (BTreeSet::new(), BTreeSet::new());
        names(&documented, &mut expected);
        names(&printed, &mut found);
        assert_eq!(expected, found, "{line}");
        for name in ["command", "version", "dry_run"] {
            assert_eq!(documented[name], printed[name], "{line}: {name}");
        }
        commands.insert(documented["command"].as_str().unwrap().to_owned());
    }
    let (_, table) = text.split_once("## The run").unwrap();
    let table = table.split("\n## ").next().unwrap();
    for name in of_runs {
        let is_there =
            ["`", "\""].iter().any(|quote| table.contains(&format!("{quote}{name}{quote}")));
        assert!(is_there, "{name} of a run is not in the table");
    }
    assert!(
        commands.iter().eq(["du", "gen", "lines", "sort", "status", "table", "verify"]),
        "{commands:?}"
    );
}

#[test]
fn a_job_shares_its_memory_as_its_dry_run_said() {
    let sandbox = Sandbox::new();
    sandbox.write("in", "2\n1\n");
    sandbox.write("in.csv", "id\n2\n1\n");
    sandbox.write("messages", b"\x03abc\x02ab");
    for command in [
        "lines -S 64M in -o out",
        "table --by id:int -m 64M in.csv -o out.csv",
        "sort --record prefixed:u8 -m 64M messages -o out",
    ] {
        let shares = |options: &str| {
            let ended = sandbox.run(&format!("{command} --json {options}"));
            let printed: Value = serde_json::from_str(&(ended.stdout + &ended.stderr)).unwrap();
            let shares = printed["memory_shares"].as_array().unwrap();
            let bytes: u64 = shares.iter().map(|share| share["bytes"].as_u64().unwrap()).sum();
            assert_eq!(printed["memory_bytes"], bytes, "{command} {options}");
            let name = |share: &Value| share["name"].as_str().unwrap().to_owned();
            shares.iter().map(name).collect::<BTreeSet<_>>()
        };
        // The size of a table is known only when it was read: there may be more shares.
        let (planned, taken) = (shares("--dry-run"), shares(""));
        assert!(planned.len() > 2 && planned.is_subset(&taken), "{planned:?}, {taken:?}");
        let ended = sandbox.run(&format!("{command} -v"));
        let report = ended.stdout + &ended.stderr;
        let is_shown = |name: &String| report.contains(&format!("\n  {name:<28} "));
        assert!(taken.iter().all(is_shown), "{command}: {report}");
    }
}

/// The figures once left out the header, and counted lines as written that `--top` had dropped.
#[test]
fn figures_of_lines_count_the_header_and_what_was_written() {
    let sandbox = Sandbox::new();
    sandbox.write("in", "head\nc\nb\na\n");
    for (options, written) in [("", 11), ("--top=2", 9), ("--top=1 --header=2", 9), ("-u", 11)] {
        let ended = sandbox.run(&format!("lines --json --header {options} in -o out"));
        let json: Value = serde_json::from_str(&ended.stderr).unwrap();
        assert_eq!((&json["lines"], &json["bytes"]), (&4.into(), &11.into()), "{options}");
        assert_eq!(json["written_bytes"], written, "{options}");
        assert_eq!(sandbox.read("out").len(), written, "{options}");
        assert!(json["checksum"].as_str().unwrap().bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
