//! Sorts that are refused: one line with the reason, the documented status, and unchanged files.

use crate::sandbox::{Sandbox, clean, names, program};
use std::fs;
use std::path::Path;

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
            "missing/out: No such file or directory (os error 2): its directory does not exist; \
                create it",
        ),
        ("sort in -o .", 2, ""),
        ("sort in -o directory-is-not/out", 2, "directory-is-not"),
        ("sort in -o out -m 1M -T missing", 2, "missing"),
        ("sort in -o out -m 1M -T directory-is-not", 2, "directory-is-not"),
        ("sort in -o out -m 10K", 4, "-m "),
        ("sort in -o out --record 300", 3, "300"),
        ("sort in -o directory-is-not/out", 2, "a part of this path is a file"),
        ("sort in -o out --checkpoint-every 2", 2, "--checkpoint|--resume|--restart"),
        ("verify partial", 3, "250 bytes is 2 records of 100 bytes and 50 bytes more"),
    ] {
        let error = sandbox.fails(line, code);
        assert!(error.contains(reason), "{line}: {error}");
        assert_eq!(sandbox.names(), before, "{line}");
        assert_eq!(sandbox.read("out"), b"old", "{line}");
    }
}

/// Files of other kinds whose sizes are multiples of 100, each with the remedy that the error
/// names.
fn others(sandbox: &Sandbox) -> Vec<(&'static str, &'static str)> {
    let text: String = (0..20_000).map(|n| format!("line {}\n", n * 7919 % 20_011)).collect();
    let padded = |head: &[u8]| [head, &[7; 1000]].concat()[..1000].to_vec();
    sandbox.write("text", &text[..100_000]);
    sandbox.write("names", "/bin\0/etc/passwd\0".repeat(100));
    sandbox.write("gz", padded(b"\x1f\x8b\x08\0\0\0\0\0\0\x03"));
    sandbox.write("xz", padded(b"\xfd7zXZ\0\0\x04"));
    sandbox.write("parquet", padded(b"PAR1\x15\x04"));
    sandbox.write("sqlite", padded(b"SQLite format 3\0"));
    sandbox.write("elf", padded(b"\x7fELF\x02\x01\x01"));
    sandbox.ok("gen -q -f kv128 10000r pairs");
    sandbox.ok("gen -q -f block4k 25r blocks");
    vec![
        ("text", "'xsort lines'"),
        ("names", "'xsort lines -z'"),
        ("gz", "gzip -dc"),
        ("xz", "xz -dc"),
        ("parquet", "a Parquet file"),
        ("sqlite", "an SQLite database"),
        ("elf", "a program (ELF)"),
        ("pairs", "-f kv128"),
        ("blocks", "-f block4k"),
    ]
}

/// Such files were once cut into records of 100 bytes and sorted, in place, with status 0.
#[test]
fn what_holds_no_records_is_refused_before_anything_is_touched() {
    let sandbox = prepared();
    fs::create_dir(sandbox.path().join("tree")).unwrap();
    for (name, way_out) in others(&sandbox) {
        let before = sandbox.read(name);
        fs::hard_link(sandbox.path().join(name), sandbox.path().join("tree/file")).unwrap();
        let names = sandbox.names();
        let mut errors = Vec::new();
        for line in [
            "sort NAME -o NAME",
            "sort NAME -o out",
            "sort in NAME -o out --method scatter",
            "sort --remove-input NAME -o out",
            "sort --checkpoint NAME -o out",
            "sort -q --resume NAME -o out",
            "sort --dry-run NAME -o out",
            "sort tree -o out",
            "verify NAME",
            "verify in --against NAME",
            "verify -m 8K -j 1 NAME",
        ] {
            errors.push(sandbox.fails(&line.replace("NAME", name), 3));
        }
        for script in ["cat NAME | $xsort sort -o out", "$xsort sort -o out < NAME"] {
            let mut command = clean("sh");
            command.args(["-c", &script.replace("NAME", name)]).env("xsort", program());
            let output = command.current_dir(sandbox.path()).output().unwrap();
            assert_eq!(output.status.code(), Some(3), "{script}");
            errors.push(String::from_utf8(output.stderr).unwrap());
        }
        for error in errors {
            assert!(
                error.contains(way_out) && error.contains("say so with -f gensort"),
                "{name}: {error}"
            );
        }
        assert_eq!(sandbox.names(), names, "{name}");
        assert!(sandbox.read(name) == before && sandbox.read("out") == b"old", "{name}");
        // With an option that names the format, any bytes are accepted.
        for format in ["-f gensort", "--record 100"] {
            sandbox.ok(&format!("sort -q {format} {name} -o believed"));
            sandbox.ok(&format!("verify -q {format} believed --against {name}"));
            fs::remove_file(sandbox.path().join("believed")).unwrap();
        }
        fs::remove_file(sandbox.path().join("tree/file")).unwrap();
    }
}

/// The kind of a file is a better message than a size that is no multiple of the record's.
#[test]
fn a_file_of_any_size_is_told_for_what_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write("text", "line\n".repeat(33));
    sandbox.write("gz", [&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..], &[7; 55]].concat());
    for (name, looks) in [("text", "it looks like text"), ("gz", "compressed by gzip")] {
        for line in ["sort NAME -o out", "verify NAME"] {
            let error = sandbox.fails(&line.replace("NAME", name), 3);
            assert!(error.contains(looks), "{line}: {error}");
        }
        let error = sandbox.fails(&format!("verify -f gensort {name}"), 3);
        assert!(error.contains("partial record"), "{error}");
    }
}

/// The beginnings of many files are read at once. The error names the first file without records.
#[test]
fn one_of_many_files_that_holds_no_records_is_found() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path().join("tree")).unwrap();
    sandbox.ok("gen -q 1r record");
    for file in 0..200 {
        sandbox.write(&format!("tree/{file:03}"), sandbox.read("record"));
    }
    sandbox.write("tree/empty", "");
    sandbox.ok("sort -q tree -o out");
    for file in ["tree/177", "tree/130"] {
        sandbox.write(file, format!("{:99}\n", "text"));
        let error = sandbox.fails("sort tree -o out", 3);
        assert!(error.starts_with(&format!("xsort: error: {file}: it looks like text")), "{error}");
    }
}

/// Everything that `gen` generates with 100 bytes per record, gensort's output, and random bytes.
#[test]
fn records_of_the_benchmark_are_no_others() {
    let sandbox = Sandbox::new();
    let patterns = ["uniform", "sorted", "reversed", "equal", "few", "zipf", "heavy"];
    for pattern in patterns {
        for options in ["", "-f gensort-ascii", "--seed 7 --start 99999"] {
            sandbox.ok(&format!("gen -q --pattern {pattern} {options} 1000r in"));
            sandbox.ok("sort -q in -o out");
            sandbox.ok("verify -q out --against in");
            sandbox.ok("sort -q out -o out");
        }
    }
    for options in ["--skewed", "--skewed -f gensort-ascii"] {
        sandbox.ok(&format!("gen -q {options} 1000r in"));
        sandbox.ok("sort -q in -o out");
    }
    let noise = (0..250_000u64).flat_map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    sandbox.write("in", noise.collect::<Vec<u8>>());
    sandbox.ok("sort -q in -o out");
    sandbox.write("in", "");
    sandbox.ok("sort -q in -o out");
}

/// A small file system in memory, unmounted when dropped.
pub(crate) struct SmallDisk<'a> {
    directory: &'a Path,
}

impl SmallDisk<'_> {
    /// `None` if mounting is not allowed.
    pub(crate) fn mount(directory: &Path, megabytes: u32) -> Option<SmallDisk<'_>> {
        let options = format!("size={megabytes}m");
        let mount = clean("mount")
            .args(["-t", "tmpfs", "-o", &options, "xsort-test"])
            .arg(directory)
            .output();
        mount.ok()?.status.success().then_some(SmallDisk { directory })
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = clean("umount").arg(self.directory).status();
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
    assert!(
        ended.stderr.contains("xsort: note: ") && ended.stderr.contains("memory"),
        "{}",
        ended.stderr
    );
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
    for (line, code) in
        [("gen 99 file", 2), ("sort missing -o out", 3), ("verify in --progress always", 1)]
    {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = clean(program());
        command.args(line.split_whitespace()).current_dir(sandbox.path()).stderr(full);
        assert_eq!(command.output().unwrap().status.code(), Some(code), "{line}");
    }
}

#[test]
fn a_reader_that_is_gone_ends_the_program_as_everywhere_else() {
    let sandbox = Sandbox::new();
    let xsort = program();
    let line = format!("{} man | true; echo ${{PIPESTATUS[0]}}", xsort.display());
    let output = clean("bash").args(["-c", &line]).current_dir(sandbox.path()).output().unwrap();
    let status = String::from_utf8(output.stdout).unwrap();
    assert!(["0\n", "141\n"].contains(&status.as_str()), "{status}");
    assert!(output.stderr.is_empty());
}

#[test]
fn an_output_that_exists_is_kept_if_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 2000r in");
    sandbox.write("rows.csv", b"a,b\n2,x\n1,y\n");
    for line in [
        "gen -q 1000r OUT",
        "sort -q in -o OUT",
        "sort -q in -o OUT -m 1M --checkpoint -T .",
        "lines rows.csv -o OUT",
        "lines rows.csv -o OUT --checkpoint -T .",
        "table rows.csv --by b -o OUT",
    ] {
        let [new, old] = ["new.csv", "old.csv"].map(|name| line.replace("OUT", name));
        sandbox.write("old.csv", b"old");
        let before = sandbox.names();
        let ended = sandbox.run(&format!("{old} --no-clobber"));
        let is_said = ended.stderr.contains("--no-clobber keeps it");
        assert!(ended.code == Some(2) && is_said, "{line}: {}", ended.stderr);
        assert_eq!((sandbox.read("old.csv"), sandbox.names()), (b"old".to_vec(), before), "{line}");
        let ended = sandbox.run(&format!("{new} --no-clobber"));
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
        assert!(sandbox.read("new.csv").len() > 3, "{line}");
        fs::remove_file(sandbox.path().join("new.csv")).unwrap();
    }
}

#[test]
fn a_cluster_is_python_s_matter_and_without_it_refused_with_the_way_out() {
    let mut sandbox = Sandbox::new();
    let mut run = |python: &str| {
        sandbox.variables = vec![("XSORT_PYTHON".into(), python.into())];
        sandbox.run("cluster sort in -o out")
    };
    let missing = run("/missing/python");
    assert!(
        missing.code != Some(0) && missing.stderr.contains("XSORT_PYTHON"),
        "{}",
        missing.stderr
    );
    assert_eq!(run("false").code, Some(1));
    let words = run("echo");
    assert!(
        words.code == Some(0) && words.stdout.ends_with(" sort in -o out\n"),
        "{}",
        words.stdout
    );
}

#[test]
fn the_help_of_a_cluster_needs_no_python() {
    let sandbox = Sandbox::with_variables(&[("XSORT_PYTHON", "/missing/python")]);
    for flag in ["-h", "--help"] {
        let help = sandbox.ok(&format!("cluster {flag}"));
        assert!(help.contains("pip install 'xsort[ray]'") && help.contains("validate"), "{help}");
    }
}

#[test]
fn what_other_programs_call_it_leads_to_the_right_option() {
    let sandbox = Sandbox::new();
    sandbox.write("t.csv", "date,n\n02/01/2026,5\n");
    sandbox.write("s.csv", "a;b\n1;2\n");
    for (line, code, hint) in [
        ("table t.csv --reverse --by n", 2, "'--by COLUMN:desc'"),
        ("table t.csv --by n --desc", 2, "'--by COLUMN:desc'"),
        ("table t.csv --sort n", 2, "by --by"),
        ("table t.csv -k n", 2, "by --by"),
        ("table t.csv --by -n", 2, "'--by COLUMN:num'"),
        ("table t.csv --by -date", 2, "'--by date:desc'"),
        ("table t.csv --by 2", 2, "'#2' is the column 'n'"),
        ("table t.csv --by DATE", 2, "there is 'date'"),
        ("table s.csv --by b", 2, "--delimiter ';'"),
        ("table t.csv --by date:date", 3, "'datetime(%d/%m/%Y)' or 'datetime(%m/%d/%Y)'"),
    ] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(hint), "{line}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{line}: {}", ended.stderr);
    }
    // A name of any bytes among the words of a refused line.
    let output = sandbox.script("$xsort table $'\\xff' --sort n");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("by --by"), "{said}");
    // The remedies work.
    sandbox.ok("table t.csv --by date:datetime(%d/%m/%Y)");
    sandbox.ok("table t.csv --by date:desc");
    sandbox.ok("table s.csv --by b --delimiter ;");
}
