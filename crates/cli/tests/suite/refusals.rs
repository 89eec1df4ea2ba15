//! Sorts that can't be done: one line with the reason, the documented status, and everything left as it was.

use crate::sandbox::{Sandbox, names};
use std::path::Path;
use std::process::Command;

/// A sandbox with an input, an old output and a file that ends within a record.
fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 5MB in");
    sandbox.write("out", "old");
    sandbox.write("partial", [0; 250]);
    sandbox.write("directory-is-not", "");
    sandbox
}

#[test]
fn each_has_its_reason_and_status_and_changes_nothing() {
    let sandbox = prepared();
    let before = sandbox.names();
    for (line, code, reason) in [
        ("sort partial -o out", 3, "partial"),
        ("sort in partial -o out", 3, "250"),
        ("sort missing -o out", 3, "missing"),
        ("sort in . -o out", 2, "./out is the output"),
        (
            "sort in -o missing/out",
            2,
            "missing/out: No such file or directory (os error 2): its directory does not exist; create it",
        ),
        ("sort in -o .", 2, ""),
        ("sort in -o directory-is-not/out", 2, "directory-is-not"),
        ("sort in -o out -m 1M -T missing", 2, "missing"),
        ("sort in -o out -m 1M -T directory-is-not", 2, "directory-is-not"),
        ("sort in -o out -m 10K", 4, "-m "),
        ("sort in -o out --record 300", 3, "300"),
    ] {
        let error = sandbox.fails(line, code);
        assert!(error.contains(reason), "{line}: {error}");
        assert_eq!(sandbox.names(), before, "{line}");
        assert_eq!(sandbox.read("out"), b"old", "{line}");
    }
}

/// A small file system in memory; gone at the end.
pub(crate) struct SmallDisk<'a> {
    directory: &'a Path,
}

impl SmallDisk<'_> {
    /// `None` where mounting is not allowed.
    pub(crate) fn mount(directory: &Path, megabytes: u32) -> Option<SmallDisk<'_>> {
        let options = format!("size={megabytes}m");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "xsort-test"]).arg(directory).output();
        mount.ok()?.status.success().then_some(SmallDisk { directory })
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.directory).status();
    }
}

#[test]
fn a_full_disk_is_said_before_the_work_and_nothing_is_left() {
    let sandbox = prepared();
    let small = Sandbox::new();
    let Some(_mounted) = SmallDisk::mount(small.path(), 2) else {
        eprintln!("skipped: mounting is not allowed here");
        return;
    };
    let directory = small.path().display();
    for line in [
        format!("gen 5MB {directory}/file"),
        format!("sort in -o {directory}/out"),
        format!("sort in -o out -m 1M -T {directory} -q"),
    ] {
        let ended = sandbox.run(&line);
        assert_eq!(ended.code, Some(4), "{line}: {}", ended.stderr);
        let error = ended.stderr.lines().last().unwrap();
        assert!(error.starts_with("xsort: error: ") && error.contains("free"), "{line}: {error}");
        assert!(names(small.path()).is_empty(), "{line} left {:?}", names(small.path()));
    }
    assert_eq!(sandbox.read("out"), b"old");
}

#[test]
fn scratch_in_memory_is_warned_of_and_works() {
    let sandbox = prepared();
    let small = Sandbox::new();
    let Some(_mounted) = SmallDisk::mount(small.path(), 30) else {
        eprintln!("skipped: mounting is not allowed here");
        return;
    };
    let ended = sandbox.run(&format!("sort in -o out -m 1M -T {}", small.path().display()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("xsort: note: ") && ended.stderr.contains("memory"), "{}", ended.stderr);
    sandbox.ok("verify -q out --against in");
    let tmpfs = small.path().display();
    sandbox.ok(&format!("gen -q 1MB {tmpfs}/in"));
    let ended = sandbox.run(&format!("sort -m 512K {tmpfs}/in -o {tmpfs}/out"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(names(small.path()), ["in", "out"]);
}

#[test]
fn a_broken_standard_error_changes_nothing() {
    let sandbox = prepared();
    for (line, code) in [("gen 99 file", 2), ("sort missing -o out", 3), ("verify in --progress always", 1)] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(crate::sandbox::program());
        command.args(line.split_whitespace()).current_dir(sandbox.path()).stderr(full);
        assert_eq!(command.output().unwrap().status.code(), Some(code), "{line}");
    }
}

#[test]
fn a_reader_that_is_gone_ends_the_program_as_everywhere_else() {
    let sandbox = Sandbox::new();
    let xsort = crate::sandbox::program();
    let line = format!("{} man | true; echo ${{PIPESTATUS[0]}}", xsort.display());
    let output = Command::new("bash").args(["-c", &line]).current_dir(sandbox.path()).output().unwrap();
    let status = String::from_utf8(output.stdout).unwrap();
    assert!(["0\n", "141\n"].contains(&status.as_str()), "{status}");
    assert!(output.stderr.is_empty());
}
