//! Whole trees as input of sorts of records, of sorts of lines and of verify.

use crate::sandbox::{Ended, Sandbox, clean, program};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A sandbox with a directory `tree` of files with these names. Each has a few records of eight
/// bytes: the file's number, and other bytes.
fn tree(names: &[&[u8]]) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path().join("tree")).unwrap();
    for (file, name) in names.iter().enumerate() {
        let path = sandbox.path().join("tree").join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text: String = (0..file % 4).map(|record| format!("{file:03}{record:04}\n")).collect();
        fs::write(path, text).unwrap();
    }
    sandbox
}

/// All regular files below a directory, by their paths as bytes: a plain walk.
fn files(directory: &Path) -> Vec<PathBuf> {
    let (mut files, mut directories) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort_by(|one, other| one.as_os_str().as_bytes().cmp(other.as_os_str().as_bytes()));
    files
}

/// The contents of the files, one after the other.
fn cat(files: &[PathBuf]) -> Vec<u8> {
    files.iter().flat_map(|file| fs::read(file).unwrap()).collect()
}

/// A sort by a key that is the same in all records: they keep their order.
const AS_THEY_ARE: &str = "sort -q --record 8 --key 7:1";

/// Runs `xsort lines` in the C locale.
fn lines(sandbox: &Sandbox, words: &str) -> Output {
    let mut command = clean(program());
    command.arg("lines").args(words.split_whitespace()).current_dir(sandbox.path());
    command.env("LC_ALL", "C").stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const NAMES: [&[u8]; 12] = [
    b"a/x",
    b"a.b/x",
    b"a",
    b"b/c/d/e",
    b"-",
    b"-n",
    b"b/with space",
    b"b/line\nend",
    b"\xff\xfe",
    b"z/\xc3\xa9",
    b".hidden",
    b"b/-",
];

fn names() -> Vec<&'static [u8]> {
    // `a` is a directory.
    NAMES.iter().copied().filter(|name| *name != b"a").collect()
}

#[test]
fn a_tree_is_its_files_in_the_order_of_their_paths() {
    let sandbox = tree(&names());
    let expected = cat(&files(&sandbox.path().join("tree")));
    assert!(expected.len() >= 8 * names().len(), "records to tell the files apart by");
    for name in ["tree", "tree/", "tree//", "./tree"] {
        sandbox.ok(&format!("{AS_THEY_ARE} {name} -o out"));
        assert_eq!(text(&sandbox.read("out")), text(&expected), "{name}");
    }
    // A link to it is followed, because it was named.
    symlink("tree", sandbox.path().join("link")).unwrap();
    sandbox.ok(&format!("{AS_THEY_ARE} link -o out"));
    assert_eq!(sandbox.read("out"), expected);
    let sorted = lines(&sandbox, "-s -k1.8,1.8 --recursive tree");
    assert_eq!((text(&sorted.stdout), text(&sorted.stderr)), (text(&expected), String::new()));
    sandbox.write("list", "tree\0");
    let listed = lines(&sandbox, "-s -k1.8,1.8 --recursive --files0-from=list");
    assert_eq!(text(&listed.stdout), text(&expected));
    let verdict = sandbox.json("verify --record 8 --key 7:1 out --against tree");
    assert_eq!((&verdict["ok"], &verdict["against"]["source"]), (&true.into(), &"tree".into()));
}

#[test]
fn files_and_directories_keep_the_order_of_the_arguments() {
    let sandbox = tree(&names());
    sandbox.write("zero", "zero-a \n");
    sandbox.write("one", "one-b  \n");
    let tree = cat(&files(&sandbox.path().join("tree")));
    let [zero, one] = ["zero", "one"].map(|name| sandbox.read(name));
    let expected = [&zero[..], &tree, &one, &tree, &zero].concat();
    sandbox.ok(&format!("{AS_THEY_ARE} zero tree one tree zero -o out"));
    assert_eq!(text(&sandbox.read("out")), text(&expected), "what is named twice is taken twice");
    let sorted = lines(&sandbox, "-s -k1.8,1.8 --recursive zero tree one tree zero");
    assert_eq!(text(&sorted.stdout), text(&expected));
    let mut piped = clean(program())
        .args(AS_THEY_ARE.split(' ').chain(["zero", "tree", "-", "tree", "-o", "piped"]))
        .current_dir(sandbox.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    piped.stdin.take().unwrap().write_all(&one).unwrap();
    assert_eq!(text(&piped.wait_with_output().unwrap().stderr), "");
    assert_eq!(sandbox.read("piped"), [&zero[..], &tree, &one, &tree].concat());
}

#[test]
fn a_file_of_several_names_counts_once_in_a_tree_unless_asked() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path().join("tree/b")).unwrap();
    sandbox.write("tree/b/first", "1111111\n");
    sandbox.write("tree/own", "2222222\n");
    for name in ["tree/zz", "tree/c", "outside"] {
        fs::hard_link(sandbox.path().join("tree/b/first"), sandbox.path().join(name)).unwrap();
    }
    let check = |words: &str, expected: &str| {
        sandbox.ok(&format!("{AS_THEY_ARE} {words} -o out"));
        assert_eq!(text(&sandbox.read("out")), expected, "{words}");
        let sorted = lines(&sandbox, &format!("-s -k1.8,1.8 --recursive {words}"));
        assert_eq!(text(&sorted.stdout), expected, "{words}");
    };
    check("tree", "1111111\n2222222\n");
    check("tree outside", "1111111\n2222222\n1111111\n");
    check("--count-links tree", "1111111\n1111111\n2222222\n1111111\n");
    let count =
        |words: &str| sandbox.json(&format!("verify --record 8 {words}"))["records"].clone();
    assert_eq!((count("tree"), count("tree --count-links")), (2.into(), 4.into()));
}

#[test]
fn what_is_no_regular_file_is_left_out_with_a_word() {
    let sandbox = tree(&[b"none", b"some", b"more"]);
    let expected = cat(&files(&sandbox.path().join("tree")));
    symlink("some", sandbox.path().join("tree/soft")).unwrap();
    symlink("nowhere", sandbox.path().join("tree/dangling")).unwrap();
    symlink("..", sandbox.path().join("tree/up")).unwrap();
    mknodat(CWD, sandbox.path().join("tree/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let told = "tree: 3 symbolic links and 1 special file left out, tree/dangling first: only \
        regular files are sorted\n";
    let ended = sandbox.run("sort --record 8 --key 7:1 tree -o out");
    assert_eq!((ended.code, ended.stderr), (Some(0), format!("xsort: note: {told}")));
    assert_eq!(sandbox.read("out"), expected);
    let sorted = lines(&sandbox, "--recursive tree -s -k1.8,1.8");
    assert_eq!((text(&sorted.stderr), sorted.stdout), (format!("xsort lines: {told}"), expected));
    assert_eq!(sorted.status.code(), Some(0));
}

/// Commands that read a tree, each with the status for an empty tree. Those that write would
/// replace the old output.
const READERS: [(&str, i32); 13] = [
    ("sort -q tree -o out", 3),
    ("sort -q more tree -o out", 3),
    ("sort -q --dry-run tree -o out", 3),
    ("sort -q --record prefixed:u8 tree -o out", 3),
    ("verify -q tree", 3),
    ("verify -q more --against tree", 3),
    ("verify -q --record prefixed:u8 tree", 3),
    ("table -q --format csv --by 1 tree -o out", 3),
    ("part plan tree -o out -q -- sort", 3),
    ("part plan tree -o out -q -- lines", 3),
    ("lines --recursive tree -o out", 2),
    ("lines -m --recursive tree -o out", 2),
    ("lines --recursive --dry-run tree", 2),
];

/// A wrong name is more often the reason than a tree that is intentionally empty.
#[test]
fn an_empty_tree_is_an_error_unless_it_is_meant() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path().join("tree/only/directories")).unwrap();
    sandbox.write("more", [7; 200]);
    sandbox.write("out", "old");
    for (line, code) in READERS {
        let ended = sandbox.run(line);
        assert_eq!((ended.code, &*ended.stdout), (Some(code), ""), "{line}: {}", ended.stderr);
        let told = "tree: there is no file below it: check its name, or give --allow-empty";
        assert!(ended.stderr.contains(told), "{line}: {}", ended.stderr);
        assert_eq!(sandbox.read("out"), b"old", "{line}");
    }
    symlink("more", sandbox.path().join("tree/soft")).unwrap();
    let error = sandbox.fails("sort -q tree -o out", 3);
    assert!(error.contains("no regular file below it (1 symbolic link left out"), "{error}");
    fs::remove_file(sandbox.path().join("tree/soft")).unwrap();

    sandbox.ok("sort -q --allow-empty tree -o out");
    assert_eq!(sandbox.read("out"), b"");
    sandbox.ok("sort -q --allow-empty more tree -o sorted");
    assert_eq!(sandbox.read("sorted").len(), 200);
    sandbox.ok("sort -q --allow-empty --dry-run tree -o out");
    sandbox.ok("sort -q --allow-empty --record prefixed:u8 tree -o out");
    sandbox.ok("verify -q --allow-empty out --against tree");
    sandbox.ok("verify -q --allow-empty tree");
    for words in ["--recursive tree", "-m --recursive tree", "--recursive --header tree"] {
        let sorted = lines(&sandbox, &format!("--allow-empty {words}"));
        let notice = "xsort lines: tree: there is no file below it\n";
        assert_eq!(
            (sorted.status.code(), text(&sorted.stderr), sorted.stdout),
            (Some(0), notice.to_owned(), vec![])
        );
    }
    let refused = lines(&sandbox, "-c --allow-empty more");
    assert!(text(&refused.stderr).contains("'--allow-empty' does nothing beside -c"));
}

#[test]
fn an_output_in_the_tree_is_no_input_of_its_own() {
    let sandbox = tree(&names());
    let expected = cat(&files(&sandbox.path().join("tree")));
    let line = format!("{AS_THEY_ARE} tree -T tree -o tree/b/out");
    // The output doesn't exist yet: only the old files are sorted. Also with scratch in the tree.
    sandbox.ok(&line);
    assert_eq!(sandbox.read("tree/b/out"), expected);
    // Now it would be sorted with the rest.
    let error = sandbox.fails(&line, 2);
    assert!(error.contains("tree/b/out is the output"), "{error}");
    assert_eq!(sandbox.read("tree/b/out"), expected, "as it was");
    let refused = lines(&sandbox, "--recursive tree -o tree/b/out");
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("tree/b/out is the output"),
        "{}",
        text(&refused.stderr)
    );
    assert_eq!(sandbox.read("tree/b/out"), expected, "as it was");
    // An empty output adds nothing, even if a shell has just created it.
    sandbox.write("tree/b/out", "");
    sandbox.ok(&line);
    assert_eq!(sandbox.read("tree/b/out"), expected);
    for words in ["-s -k1.8,1.8", "-m -s -k1.8,1.8"] {
        sandbox.write("tree/b/out", "");
        let mut command = clean(program());
        command
            .arg("lines")
            .args(words.split(' '))
            .args(["--recursive", "tree"])
            .current_dir(sandbox.path());
        let output =
            OpenOptions::new().write(true).open(sandbox.path().join("tree/b/out")).unwrap();
        assert!(command.env("LC_ALL", "C").stdout(output).status().unwrap().success());
        assert_eq!(text(&sandbox.read("tree/b/out")), text(&expected), "{words}");
    }
    // A file that is appended to has content.
    let mut output =
        OpenOptions::new().append(true).open(sandbox.path().join("tree/b/out")).unwrap();
    output.write_all(b"more\n").unwrap();
    let mut command = clean(program());
    command.args(["lines", "--recursive", "tree"]).current_dir(sandbox.path()).stdout(output);
    assert_eq!(command.output().unwrap().status.code(), Some(2));
}

#[test]
fn a_size_that_is_no_whole_number_of_records_names_the_file() {
    let sandbox = tree(&names());
    sandbox.write("tree/b/c/odd", "123456789");
    for line in [
        "sort --record 8 tree -o out",
        "sort --record 8 --dry-run tree -o out",
        "verify --record 8 tree",
    ] {
        let error = sandbox.fails(line, 3);
        assert!(error.contains("tree/b/c/odd: "), "{error}");
    }
}

#[test]
fn what_cant_be_listed_or_read_is_an_error() {
    let sandbox = tree(&names());
    let closed = sandbox.path().join("tree/b/c");
    let close = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(sandbox.path(), Permissions::from_mode(0o777)).unwrap();
    close(&closed);
    let Some(ended) = run_as_nobody(&sandbox, "sort -q --record 8 tree -o out") else {
        eprintln!("SKIPPED: no other user to be");
        fs::set_permissions(&closed, Permissions::from_mode(0o777)).unwrap();
        return;
    };
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("tree/b/c: Permission denied"), "{}", ended.stderr);
    let ended = run_as_nobody(&sandbox, "lines --recursive tree -o out").unwrap();
    assert_eq!((ended.code, ended.stdout), (Some(2), String::new()));
    assert_eq!(ended.stderr, "xsort lines: cannot read: tree/b/c: Permission denied\n");
    fs::set_permissions(&closed, Permissions::from_mode(0o777)).unwrap();
    close(&sandbox.path().join("tree/b/c/d/e"));
    let ended = run_as_nobody(&sandbox, "sort -q --record 8 tree -o out").unwrap();
    assert!(
        ended.code == Some(3) && ended.stderr.contains("tree/b/c/d/e: Permission denied"),
        "{}",
        ended.stderr
    );
    let ended = run_as_nobody(&sandbox, "lines --recursive tree").unwrap();
    assert_eq!(ended.stderr, "xsort lines: cannot read: tree/b/c/d/e: Permission denied\n");
    assert!(!sandbox.path().join("out").exists());
}

/// Runs the program as a user whom permissions bind; `None` if that isn't possible.
pub(crate) fn run_as_nobody(sandbox: &Sandbox, line: &str) -> Option<Ended> {
    let mut command = clean("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let words = |command: &mut Command, words: &[&str]| {
        command.args(words).current_dir(sandbox.path()).env("LC_ALL", "C").output().ok()
    };
    let mut trial = clean("setpriv");
    trial.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program());
    words(&mut trial, &["--version"]).filter(|output| output.status.success())?;
    command.arg(program());
    let output = words(&mut command, &line.split_whitespace().collect::<Vec<_>>())?;
    Some(Ended {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    })
}

#[test]
fn more_files_than_may_be_open() {
    let sandbox = Sandbox::new();
    for directory in 0..20 {
        let directory = sandbox.path().join(format!("tree/{directory}"));
        fs::create_dir_all(&directory).unwrap();
        for file in 0..100 {
            fs::write(directory.join(file.to_string()), format!("{:06}\n", (file * 7919) % 1000))
                .unwrap();
        }
    }
    let input = cat(&files(&sandbox.path().join("tree")));
    let mut sorted: Vec<&[u8]> = input.chunks(7).collect();
    sorted.sort_unstable();
    let sorted = sorted.concat();
    let run = |words: &str| {
        let line = format!("ulimit -n 100; exec {} {words}", program().display());
        let output = clean("sh").args(["-c", &line]).current_dir(sandbox.path()).output().unwrap();
        assert_eq!(
            (text(&output.stderr), output.status.code()),
            (String::new(), Some(0)),
            "{words}"
        );
    };
    for method in ["merge", "scatter"] {
        run(&format!("sort -q --io sync -j 2 --method {method} --record 7 tree -o out"));
        assert!(sandbox.read("out") == sorted, "{method}");
    }
    run("verify -q --io sync --record 7 out --against tree");
    for words in ["--recursive", "-m --recursive"] {
        run(&format!("lines {words} tree -o out"));
        assert!(sandbox.read("out") == sorted, "{words}");
    }
    run("sort -q --io sync --record 7 --remove-input tree -o out");
    assert!(sandbox.read("out") == sorted && files(&sandbox.path().join("tree")).is_empty());
}

#[test]
fn without_the_option_lines_speaks_of_directories_as_gnu_sort_does() {
    let sandbox = tree(&names());
    let refused = "xsort lines: read failed: tree: Is a directory\n\
                   xsort lines: hint: --recursive reads all files below a directory\n";
    for (words, status, said) in [
        ("tree", 2, refused),
        ("--count-links tree", 2, refused),
        ("-c --recursive tree", 2, "xsort lines: option '--recursive' does nothing beside -c\n"),
    ] {
        let output = lines(&sandbox, words);
        assert_eq!(
            (output.status.code(), text(&output.stderr)),
            (Some(status), said.into()),
            "{words}"
        );
    }
    // GNU's abbreviations keep their meaning.
    sandbox.write("two", "a\nb\n");
    assert_eq!(text(&lines(&sandbox, "--re two").stdout), "b\na\n");
    let ambiguous = text(&lines(&sandbox, "--r two").stderr);
    assert!(ambiguous.contains("'--random-sort' '--random-source' '--reverse'"), "{ambiguous}");
    assert!(text(&lines(&sandbox, "--recur two").stderr).contains("unrecognized option '--recur'"));
}
