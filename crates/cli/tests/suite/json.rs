//! `--json`: one object, whatever the names of the files.

use crate::sandbox::{Sandbox, program};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

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
        let output = Command::new(program())
            .args(line.split_whitespace())
            .arg(name)
            .args(line.contains("--against").then_some(name))
            .arg("--json")
            .current_dir(sandbox.path())
            .output()
            .unwrap();
        let json: serde_json::Value = serde_json::from_slice(&output.stdout)
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
        let mut command = Command::new(program());
        command.args(line.split_whitespace()).arg("-T").arg(&scratch).current_dir(sandbox.path());
        let output = command.output().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{line}: {}", String::from_utf8_lossy(&output.stderr)));
        assert!(json["scratch"][0][0].as_str().unwrap().ends_with("/d\u{fffd}r"), "{line}: {json}");
    }
}
