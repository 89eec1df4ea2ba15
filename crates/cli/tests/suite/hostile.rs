//! Unusual names, and files that are not regular: each is handled or refused with a reason, nothing
//! is harmed, and no control characters reach the terminal.

use crate::sandbox::{self, Ended, Sandbox, clean, program};
use crate::trees::run_as_nobody;
use rustix::fs::{CWD, Mode, RenameFlags, mkfifoat, renameat_with};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Possible but unusual names of a file.
fn names() -> Vec<OsString> {
    let longest = vec![b'n'; 255];
    let names: [&[u8]; 9] = [
        b"two\nxsort: error: lines",
        b"\x1b[31mred\x1b]0;title\x07",
        b"not \xff\xfe text",
        "\u{9b}2J \u{202e}backwards".as_bytes(),
        b"-rf",
        b"--help",
        b" '\"$(date)\\ ",
        b"\r",
        &longest,
    ];
    names.map(|name| OsStr::from_bytes(name).to_owned()).to_vec()
}

/// Runs these words, and waits at most a minute.
fn run(sandbox: &Sandbox, words: &[&OsStr]) -> Ended {
    let mut child = clean(program())
        .args(words)
        .current_dir(sandbox.path())
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipes have room for the whole output.
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(300), "{words:?} hangs");
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// The words of a line, with `name` in place of each `%`.
fn words<'a>(line: &'a str, name: &'a OsStr) -> Vec<&'a OsStr> {
    line.split_whitespace().map(|word| if word == "%" { name } else { OsStr::new(word) }).collect()
}

/// True if a text has no control characters except line ends, and none that change the direction of
/// writing.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || !(c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)))
}

#[test]
fn any_name_is_a_name() {
    for name in names() {
        let sandbox = Sandbox::new();
        let path = sandbox.path().join(&name);
        sandbox.ok("gen -q 100r -f gensort-ascii same");
        sandbox.ok("sort -q same -o expected");
        for line in [
            "gen 100r -f gensort-ascii -- %",
            "gen --json 100r -f gensort-ascii -- %",
            "verify --json -- expected --against",
            "sort --dry-run --json -o expected -- %",
            "sort --json -o expected -- %",
            "lines --json -o expected -- %",
            "du --json -- %",
            "du -a -- .",
            "sort -m 8M -v -o out -- % same %",
        ] {
            let mut words = words(line, &name);
            let word = [OsStr::new("--against="), &name].join(OsStr::new(""));
            if line.ends_with("--against") {
                words.truncate(2);
                words.extend([&word[..], OsStr::new("expected")]);
            }
            let ended = run(&sandbox, &words);
            assert_eq!(ended.code, Some(0), "{words:?}: {}{}", ended.stdout, ended.stderr);
            assert!(is_plain(&ended.stderr), "{words:?}: {:?}", ended.stderr);
            if line.contains("--json") {
                let told = if line.starts_with("lines") { &ended.stderr } else { &ended.stdout };
                let _: serde_json::Value = serde_json::from_str(told)
                    .unwrap_or_else(|error| panic!("{words:?}: {error}: {told}"));
            } else if line.starts_with("sort") {
                assert!(is_plain(&ended.stdout), "{words:?}: {:?}", ended.stdout);
            }
            assert!(fs::read(&path).unwrap() == sandbox.read("same"), "{words:?}");
        }
        // Onto itself, with each of the sorts.
        for line in ["sort -q -o % -- %", "lines -o % -- %"] {
            let line = line.replacen("-o %", "--output=%", 1);
            let output = [OsStr::new("--output="), &name].join(OsStr::new(""));
            let mut words = words(&line, &name);
            let place = words.iter().position(|word| *word == "--output=%").unwrap();
            words[place] = &output;
            let ended = run(&sandbox, &words);
            assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""), "{words:?}");
            assert!(fs::read(&path).unwrap() == sandbox.read("expected"), "{words:?}");
        }
        assert_eq!(fs::read_dir(sandbox.path()).unwrap().count(), 4, "{name:?}");
    }
}

#[test]
fn messages_hold_any_name_on_one_line() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 10r in");
    for name in names().into_iter().filter(|name| name.len() < 200) {
        for (line, code) in [
            ("sort -o out -- %", 3),
            ("sort -q --record 7 -o out -- in/%", 3),
            ("verify -- %", 3),
            ("verify -s -- %", 3),
            ("gen 10r -- missing/%", 2),
            ("gen 10r -- in/%", 2),
            ("gen -- % out", 2),
            ("sort in -o out -m 10K -T in -- %", 2),
            ("lines -o out -- %", 2),
            ("du -- %", 1),
        ] {
            let place = line.split_whitespace().find(|word| word.contains('%')).unwrap();
            let (before, _) = place.split_once('%').unwrap();
            let whole = [OsStr::new(before), &name].join(OsStr::new(""));
            let line = line.replace(place, "%");
            let words = words(&line, &whole);
            let ended = run(&sandbox, &words);
            let code = if line.contains("-T in") { ended.code } else { Some(code) };
            assert_eq!(ended.code, code, "{words:?}: {}", ended.stderr);
            assert_ne!(ended.code, Some(0), "{words:?}");
            let text =
                ended.stderr.strip_suffix('\n').unwrap_or_else(|| panic!("{words:?} says nothing"));
            assert!(is_plain(text) && !text.contains('\n'), "{words:?}: {text:?}");
        }
    }
    assert_eq!(sandbox.names(), ["in"]);
}

fn fifo(path: &Path) {
    assert!(clean("mkfifo").arg(path).status().unwrap().success());
}

/// An output that is not a regular file can't be replaced by one: it is refused at once, and left
/// unchanged. (`xsort lines` writes into it, as GNU sort does.)
#[test]
fn outputs_that_are_no_files_are_refused_and_stay() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1MB in");
    fifo(&sandbox.path().join("pipe"));
    fs::create_dir(sandbox.path().join("directory")).unwrap();
    symlink("directory", sandbox.path().join("to-directory")).unwrap();
    symlink("pipe", sandbox.path().join("to-pipe")).unwrap();
    symlink("circle", sandbox.path().join("circle")).unwrap();
    symlink("/dev/null", sandbox.path().join("to-device")).unwrap();
    let before = sandbox.names();
    for (output, reason) in [
        ("pipe", "it is a device or a pipe"),
        ("to-pipe", "it is a device or a pipe"),
        ("/dev/null", "it is a device or a pipe"),
        ("/dev/full", "it is a device or a pipe"),
        ("to-device", "it is a device or a pipe"),
        ("directory", "it is a directory"),
        ("to-directory", "it is a directory"),
        ("directory/", "a name that ends in a slash"),
        ("new/", "a name that ends in a slash"),
        ("in/out", "Not a directory"),
        ("circle", "its symbolic links lead in a circle"),
        ("", ""),
    ] {
        for line in ["sort in -o %", "sort --remove-input in -o %", "gen 1MB %"] {
            let ended = run(&sandbox, &words(line, OsStr::new(output)));
            assert_eq!(ended.code, Some(2), "{line} {output}: {}", ended.stderr);
            assert!(ended.stderr.contains(reason), "{line} {output}: {}", ended.stderr);
            assert_eq!(sandbox.names(), before, "{line} {output}");
        }
    }
    assert_eq!(fs::read_dir(sandbox.path().join("directory")).unwrap().count(), 0);
    for (output, code, said) in [
        ("/dev/null", 0, ""),
        ("to-device", 0, ""),
        ("/dev/full", 2, "write failed: /dev/full: No space left on device"),
        ("directory", 2, "open failed: directory: Is a directory"),
        ("circle", 2, "open failed: circle: Too many levels of symbolic links"),
        ("in/out", 2, "open failed: in/out: Not a directory"),
    ] {
        let ended = run(&sandbox, &words("lines in -o %", OsStr::new(output)));
        assert_eq!(ended.code, Some(code), "{output}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(said) && ended.stderr.is_empty() == said.is_empty(),
            "{}",
            ended.stderr
        );
        assert_eq!(sandbox.names(), before, "{output}");
    }
}

/// `sort -o` writes through a link. So xsort replaces the target, and the link stays.
#[test]
fn a_link_as_output_is_followed() {
    for line in ["sort -q in -o link", "gen -q -f gensort-ascii 1MB link", "lines in -o link"] {
        let sandbox = Sandbox::new();
        sandbox.ok("gen -q -f gensort-ascii 1MB in");
        fs::create_dir(sandbox.path().join("elsewhere")).unwrap();
        let (link, target) = (sandbox.path().join("link"), sandbox.path().join("elsewhere/target"));
        symlink("hop", &link).unwrap();
        symlink("elsewhere/target", sandbox.path().join("hop")).unwrap();
        for round in ["it dangles", "it leads to a file"] {
            sandbox.ok(line);
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{line}: {round}");
            let metadata = fs::symlink_metadata(&target).unwrap();
            assert!(metadata.is_file() && metadata.len() == 1_000_000, "{line}: {round}");
            assert_eq!(sandbox.names(), ["elsewhere", "hop", "in", "link"]);
            fs::write(&target, "old").unwrap();
            fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
        }
        sandbox.ok(line);
        assert_eq!(fs::metadata(&target).unwrap().mode() & 0o7777, 0o640, "{line}");
    }
}

#[test]
fn a_new_output_has_the_mode_that_the_umask_leaves_and_an_old_one_keeps_its_own() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1MB in");
    let mode = |name: &str| fs::metadata(sandbox.path().join(name)).unwrap().mode() & 0o7777;
    for (umask, expected) in [("022", 0o644), ("077", 0o600), ("000", 0o666)] {
        for line in ["sort -q in -o out", "gen -q 1MB out", "lines in -o out"] {
            let script = format!("umask {umask}; rm -f out; exec {} {line}", program().display());
            let status = clean("sh").args(["-c", &script]).current_dir(sandbox.path()).status();
            assert!(status.unwrap().success());
            assert_eq!(mode("out"), expected, "{line}");
            for old in [0o600, 0o604] {
                fs::set_permissions(sandbox.path().join("out"), Permissions::from_mode(old))
                    .unwrap();
                let script = format!("umask {umask}; exec {} {line}", program().display());
                let status = clean("sh").args(["-c", &script]).current_dir(sandbox.path()).status();
                assert!(status.unwrap().success());
                assert_eq!(mode("out"), old, "{line}");
            }
        }
    }
    // A user who may write a file need not be able to run it as its owner.
    fs::set_permissions(sandbox.path().join("out"), Permissions::from_mode(0o4755)).unwrap();
    sandbox.ok("sort -q in -o out");
    assert_eq!(mode("out"), 0o755);
}

#[test]
fn inputs_that_are_no_files_are_refused_without_waiting_for_them() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 10r in");
    sandbox.write("out", "old");
    fifo(&sandbox.path().join("pipe"));
    symlink("pipe", sandbox.path().join("to-pipe")).unwrap();
    symlink("circle", sandbox.path().join("circle")).unwrap();
    symlink("nothing", sandbox.path().join("dangling")).unwrap();
    let before = sandbox.names();
    for (input, reason) in [
        ("pipe", "it is not a regular file"),
        ("to-pipe", "it is not a regular file"),
        ("/dev/null", "it is not a regular file"),
        ("/dev/zero", "it is not a regular file"),
        ("in/", "Not a directory"),
        ("circle", "its symbolic links lead in a circle"),
        ("dangling", "there is no such file"),
        ("/proc/self/status", "the system doesn't say how long it is"),
    ] {
        for line in ["sort in % -o out", "verify in %", "verify in --against %"] {
            let ended = run(&sandbox, &words(line, OsStr::new(input)));
            assert_eq!(ended.code, Some(3), "{line} {input}: {}", ended.stderr);
            assert!(ended.stderr.contains(reason), "{line} {input}: {}", ended.stderr);
            assert_eq!((sandbox.names(), sandbox.read("out")), (before.clone(), b"old".to_vec()));
        }
    }
    // Lines are read from any kind of file that can be read.
    for (input, code) in
        [("/dev/null", 0), ("/proc/self/status", 0), ("circle", 2), ("dangling", 2), ("", 2)]
    {
        let ended = run(&sandbox, &words("lines % -o lines", OsStr::new(input)));
        assert_eq!(ended.code, Some(code), "{input}: {}", ended.stderr);
    }
    assert_eq!(sandbox.read("lines").iter().filter(|&&byte| byte == b'\n').count(), {
        fs::read_to_string("/proc/self/status").unwrap().lines().count()
    });
}

#[test]
fn one_file_by_several_names_counts_as_often_as_it_is_named() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q -f gensort-ascii 1MB in");
    symlink("in", sandbox.path().join("link")).unwrap();
    fs::hard_link(sandbox.path().join("in"), sandbox.path().join("hard")).unwrap();
    for names in ["in in", "in link", "in hard", "./in link", "hard ../%/link"] {
        let names = names.replace('%', sandbox.path().file_name().unwrap().to_str().unwrap());
        let input = [sandbox.read("in"), sandbox.read("in")].concat();
        let mut expected: Vec<&[u8]> = input.chunks(100).collect();
        expected.sort_by_key(|record| &record[..10]);
        let expected = expected.concat();
        for line in [
            "sort -q",
            "sort -q -m 512K",
            "sort -q -m 512K --method scatter",
            "lines",
            "lines -S 2M",
        ] {
            sandbox.ok(&format!("{line} {names} -o out"));
            assert!(sandbox.read("out") == expected, "{line} {names}");
        }
        sandbox.ok(&format!("verify -q out --against {}", names.replace(' ', " --against ")));
    }
    // One of the names is the output: it is replaced, and the other name keeps its content.
    let old = sandbox.read("in");
    sandbox.ok("sort -q in -o hard");
    assert!(sandbox.read("in") == old && sandbox.read("hard") != old);
}

#[test]
fn where_nobody_may_write_nothing_is_begun() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1MB in");
    sandbox.write("kept", "old");
    fs::create_dir(sandbox.path().join("own")).unwrap();
    let set = |name: &str, mode| {
        fs::set_permissions(sandbox.path().join(name), Permissions::from_mode(mode)).unwrap();
    };
    set(".", 0o755);
    set("own", 0o777);
    set("in", 0o644);
    set("kept", 0o644);
    symlink("../kept", sandbox.path().join("own/link")).unwrap();
    fs::write(sandbox.path().join("own/secret"), [0; 100]).unwrap();
    set("own/secret", 0o600);
    let before = sandbox.names();
    for (line, code, reason) in [
        (
            "sort in -o new",
            2,
            "new: Permission denied (os error 13): you have no permission to write there",
        ),
        ("sort in -o kept", 2, "kept: Permission denied"),
        // A link in the user's own directory gives no access to a file that the user may not write.
        ("sort in -o own/link", 2, "own/link: Permission denied"),
        ("gen 1MB own/link", 2, "own/link: Permission denied"),
        ("sort in -m 512K -T . -o own/out", 2, "Permission denied"),
        ("sort own/secret -o own/out", 3, "own/secret: Permission denied"),
        ("verify own/secret", 3, "own/secret: Permission denied"),
        ("verify in -o new", 2, "new: Permission denied"),
        ("lines in -o new", 2, "open failed: new: Permission denied"),
        ("lines in -o own/link", 2, "open failed: own/link: Permission denied"),
    ] {
        let Some(ended) = run_as_nobody(&sandbox, line) else {
            eprintln!("SKIPPED: no other user to be");
            return;
        };
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(reason), "{line}: {}", ended.stderr);
        assert_eq!(sandbox.names(), before, "{line}");
        assert_eq!(sandbox.read("kept"), b"old", "{line}");
    }
    // A replaced file keeps its mode, and its owner if the system allows it. Here it doesn't, so
    // the new file belongs to the user who sorts.
    let ended = run_as_nobody(&sandbox, "sort -q in -o own/out").unwrap();
    assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""));
    assert_eq!(fs::metadata(sandbox.path().join("own/out")).unwrap().uid(), 65534);
}

/// The output appears in the directory that was named at the beginning, even if another directory
/// has its name by then.
#[test]
fn a_directory_that_is_swapped_meanwhile_misleads_nobody() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 4MB in");
    for place in ["place", "trap"] {
        fs::create_dir(sandbox.path().join(place)).unwrap();
    }
    for line in ["sort -q -m 1M in -o place/out", "gen -q 4MB place/out"] {
        let mut job = clean(program())
            .args(line.split_whitespace())
            .arg("--bandwidth-limit=10MB")
            .current_dir(sandbox.path())
            .spawn()
            .unwrap();
        let files = format!("/proc/{}/fd", job.id());
        let place = sandbox.path().join("place");
        let has_begun = || {
            let open = fs::read_dir(&files).into_iter().flatten().flatten();
            open.filter_map(|file| fs::read_link(file.path()).ok()).any(|path| path == place)
        };
        while !has_begun() {
            assert!(job.try_wait().unwrap().is_none(), "{line} was over before it was seen");
            std::thread::sleep(Duration::from_millis(1));
        }
        // Exchanged in one step: a job that looks for the name at a moment when it is missing would
        // fail.
        let moved = sandbox.path().join("moved");
        symlink("trap", &moved).unwrap();
        renameat_with(CWD, &place, CWD, &moved, RenameFlags::EXCHANGE).unwrap();
        assert!(job.wait().unwrap().success(), "{line}");
        assert_eq!(
            fs::metadata(sandbox.path().join("moved/out")).unwrap().len(),
            4_000_000,
            "{line}"
        );
        assert_eq!(fs::read_dir(sandbox.path().join("trap")).unwrap().count(), 0, "{line}");
        fs::remove_file(&place).unwrap();
        fs::rename(sandbox.path().join("moved"), &place).unwrap();
        fs::remove_file(place.join("out")).unwrap();
    }
}

#[test]
fn scratch_may_be_on_another_file_system_than_the_output() {
    let (sandbox, other) = (Sandbox::new(), tempfile::tempdir_in("/dev/shm"));
    let Ok(other) = other else {
        eprintln!("SKIPPED: there is no /dev/shm");
        return;
    };
    sandbox.ok("gen -q -f gensort-ascii 4MB in");
    sandbox.ok("sort -q in -o expected");
    let other = other.path();
    for line in ["sort -q -m 1M", "sort -q -m 1M --method scatter", "lines -S 2M"] {
        for (scratch, output) in [(other, sandbox.path()), (sandbox.path(), other)] {
            let output = output.join("out");
            let ended =
                sandbox.run(&format!("{line} in -T {} -o {}", scratch.display(), output.display()));
            assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
            assert!(fs::read(&output).unwrap() == sandbox.read("expected"), "{line}");
            fs::remove_file(output).unwrap();
        }
    }
    assert_eq!(fs::read_dir(other).unwrap().count(), 0);
    assert_eq!(sandbox.names(), ["expected", "in"]);
}

/// The hidden files of all interrupted sorts, and of one more to `output`, which a limit on file
/// sizes interrupts.
fn interrupted(sandbox: &Sandbox, command: &str, output: &OsStr) -> Vec<PathBuf> {
    let script = format!("ulimit -f 600; exec {} {command} --output=\"$0\"", program().display());
    let mut child = clean("bash");
    child
        .args(["-c", &script])
        .arg(output)
        .current_dir(sandbox.path())
        .envs([("XSORT_STATUS", "off"), ("LC_ALL", "C")]);
    let ended = child.output().unwrap();
    assert!(!ended.status.success(), "{command}");
    let hidden = |directory: &Path| {
        let mut files: Vec<PathBuf> =
            fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).collect();
        files.retain(|path| path.file_name().unwrap().as_bytes().starts_with(b"."));
        files.sort();
        files
    };
    [hidden(sandbox.path()), hidden(&sandbox.path().join("scratch"))].concat()
}

/// The names of the outputs are as long as possible, and mostly alike. The files that are kept for
/// each have names of their own that fit, and are found again.
#[test]
fn what_is_kept_for_long_names_is_found_again() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q -f gensort-ascii 3MB in");
    sandbox.ok("sort -q in -o expected");
    fs::create_dir(sandbox.path().join("scratch")).unwrap();
    let long = |end: &[u8]| OsString::from_vec([&vec![b'n'; 255 - end.len()], end].concat());
    let outputs =
        [long(b""), long(b"2"), long("\u{fc}".repeat(100).as_bytes()), long(&[0xff; 200])];
    for command in
        ["sort -q -m 1M --checkpoint in -T scratch", "lines -S 1M --checkpoint in -T scratch"]
    {
        let mut kept = Vec::new();
        for output in &outputs {
            kept = interrupted(&sandbox, command, output);
            assert!(kept.iter().all(|path| path.file_name().unwrap().len() <= 143), "{kept:?}");
        }
        assert_eq!(kept.len(), 3 * outputs.len(), "{kept:?}");
        for output in &outputs {
            let path = [OsStr::new("--output="), output].join(OsStr::new(""));
            let mut words: Vec<&OsStr> = command.split_whitespace().map(OsStr::new).collect();
            words.extend([OsStr::new("--resume"), &path]);
            words.retain(|word| *word != "--checkpoint");
            let ended = run(&sandbox, &words);
            assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""), "{words:?}");
            assert!(fs::read(sandbox.path().join(output)).unwrap() == sandbox.read("expected"));
            fs::remove_file(sandbox.path().join(output)).unwrap();
        }
        assert_eq!(sandbox.names(), ["expected", "in", "scratch"]);
        assert!(sandbox::names(&sandbox.path().join("scratch")).is_empty());
    }
}

/// Another file has the hidden name: the error names it and the remedy, and leaves it alone. Once
/// it is moved away, the sort succeeds.
#[test]
fn a_hidden_name_that_something_else_has_is_named() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q -f gensort-ascii 3MB in");
    fs::create_dir(sandbox.path().join("scratch")).unwrap();
    fs::write(sandbox.path().join("theirs"), "theirs").unwrap();
    for command in ["sort -q -m 1M --restart in -T scratch", "lines -S 1M --restart in -T scratch"]
    {
        let kept = interrupted(&sandbox, command, OsStr::new("out"));
        assert_eq!(kept.len(), 3, "{kept:?}");
        sandbox.ok(&format!("{command} -o out"));
        for (path, kind) in kept.iter().flat_map(|path| (0..4).map(move |kind| (path, kind))) {
            match kind {
                0 => fs::create_dir(path).unwrap(),
                1 => symlink("theirs", path).unwrap(),
                2 => fs::hard_link(sandbox.path().join("theirs"), path).unwrap(),
                _ => mkfifoat(CWD, path, Mode::RWXU).unwrap(),
            }
            let ended = sandbox.run(&format!("{command} -o out"));
            let what = format!("{command}, {kind} as {path:?}: {}", ended.stderr);
            assert_eq!(sandbox.read("theirs"), b"theirs", "{what}");
            // A file with a name of scratch is taken for a leftover and removed; the content of a
            // directory never is.
            if ended.code != Some(0) {
                let name = path.file_name().unwrap().to_str().unwrap();
                assert_eq!(ended.code, Some(2), "{what}");
                assert!(ended.stderr.contains(name) && ended.stderr.contains("move"), "{what}");
                if kind == 0 {
                    fs::remove_dir(path).unwrap();
                } else {
                    fs::remove_file(path).unwrap();
                }
                sandbox.ok(&format!("{command} -o out"));
            } else {
                assert!(path.to_str().unwrap().contains("scratch-"), "{what}");
            }
            assert_eq!(sandbox.names(), ["in", "out", "scratch", "theirs"], "{what}");
            assert!(sandbox::names(&sandbox.path().join("scratch")).is_empty(), "{what}");
        }
    }
}
