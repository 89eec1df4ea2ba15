//! What `-o` of lines does to an existing file: it is replaced by a new one once that is complete,
//! or rewritten in place if an option asks for it or it can't be replaced.

use crate::refusals::SmallDisk;
use crate::sandbox::{Sandbox, clean, names, program};
use crate::signals::is_ignored;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// Lines of about 8 bytes each in random order, and the same lines sorted.
fn unsorted(lines: u64) -> (String, String) {
    let all = (0..lines).map(|number| format!("{:07}\n", number * 7_919 % 9_999_991));
    let mut all: Vec<String> = all.collect();
    let text = all.concat();
    all.sort_unstable();
    (text, all.concat())
}

/// A command with these words, under the name of GNU sort or as `xsort lines`.
fn lines(sandbox: &Sandbox, is_gnu: bool, words: &str) -> Command {
    let mut command = Command::new(program());
    if is_gnu {
        command.arg0("sort");
    } else {
        command.arg("lines");
    }
    command.args(words.split_whitespace()).current_dir(sandbox.path());
    command.env("XSORT_STATUS_DIR", sandbox.path().join("status")).env_remove("XSORT_STATUS");
    command.env("LC_ALL", "C").stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A sandbox with the file `F` and a directory for the status.
fn with_file(content: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("F", content);
    fs::create_dir(sandbox.path().join("status")).unwrap();
    sandbox
}

/// Waits until a process has begun to rewrite `F`, which held `bytes` bytes.
fn wait_for_the_rewriting(sandbox: &Sandbox, child: &mut Child, bytes: usize) {
    while fs::metadata(sandbox.path().join("F")).unwrap().len() == bytes as u64 {
        assert!(child.try_wait().unwrap().is_none(), "it was over before it was seen to write");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Runs a shell script with `$xsort` in a sandbox.
fn script(sandbox: &Sandbox, script: &str) -> Output {
    let mut shell = clean("bash");
    shell.args(["-c", script]).env("xsort", program()).env("LC_ALL", "C");
    shell.env("XSORT_STATUS", "off").current_dir(sandbox.path()).output().unwrap()
}

/// The names of the copies of an old content in a sandbox.
fn copies(sandbox: &Sandbox) -> Vec<String> {
    sandbox.names().into_iter().filter(|name| name.contains("xsort-old")).collect()
}

#[test]
fn a_file_is_replaced_by_a_new_one_that_has_what_it_had() {
    let sandbox = with_file("b\na\n");
    let at = |name: &str| sandbox.path().join(name);
    symlink("F", at("link")).unwrap();
    fs::set_permissions(at("F"), Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(at("F")).unwrap();
    for words in ["F -o link", "-m F -o F", "-r F --count -u -o link", "--header F -o F"] {
        sandbox.write("F", "b\na\n");
        fs::set_permissions(at("F"), Permissions::from_mode(0o640)).unwrap();
        let inode = fs::metadata(at("F")).unwrap().ino();
        let output = lines(&sandbox, false, words).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));
        let after = fs::metadata(at("F")).unwrap();
        assert_ne!(after.ino(), inode, "{words}");
        assert_eq!((after.mode(), after.uid()), (before.mode(), before.uid()), "{words}");
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(sandbox.names(), ["F", "link", "status"]);
    }
}

/// A script may rely on the inode, so GNU sort's way is kept under its name.
#[test]
fn called_sort_it_rewrites_the_file_and_so_does_in_place() {
    for (is_gnu, words) in [(true, "F -o F"), (false, "-q --in-place F -o F")] {
        let sandbox = with_file("b\na\n");
        let inode = || fs::metadata(sandbox.path().join("F")).unwrap().ino();
        let before = inode();
        let output = lines(&sandbox, is_gnu, words).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));
        assert_eq!((inode(), sandbox.read("F")), (before, b"a\nb\n".to_vec()));
        assert_eq!(sandbox.names(), ["F", "status"]);
    }
}

/// If the file were replaced, its other names would keep the old content. The note comes before
/// anything is read, and says where the old content is meanwhile.
#[test]
fn a_file_that_has_other_names_is_rewritten_with_a_copy_beside_it() {
    let sandbox = with_file("b\na\n");
    let other = sandbox.path().join("other");
    fs::hard_link(sandbox.path().join("F"), &other).unwrap();
    let output = lines(&sandbox, false, "F -o F").output().unwrap();
    assert!(output.status.success());
    let said = said(&output);
    let expected = "xsort lines: note: F: it will be rewritten in place, because it has 2 names \
                    (hard links)\nxsort lines: note: F: its old content is in ";
    assert!(said.starts_with(expected) && said.lines().count() == 2, "{said}");
    assert_eq!(fs::read(&other).unwrap(), b"a\nb\n");
    assert_eq!(sandbox.names(), ["F", "other", "status"]);
}

#[test]
fn a_directory_that_takes_no_new_file_is_no_hindrance() {
    let sandbox = with_file("b\na\n");
    // Root may write everywhere, except here.
    let mut mount = Command::new("mount");
    mount.args(["--bind", "F", "F"]).current_dir(sandbox.path());
    if !mount.output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: mounting is not allowed here");
        return;
    }
    let output = lines(&sandbox, false, "F -o F").output().unwrap();
    let sort = Command::new(program())
        .args(["sort", "--record", "2", "F", "-o", "F"])
        .current_dir(sandbox.path())
        .output();
    let umount = Command::new("umount").arg("F").current_dir(sandbox.path()).status();
    assert!(umount.unwrap().success());
    let text = said(&output);
    assert!(output.status.success() && text.contains("a file system is mounted on it"), "{text}");
    assert_eq!(sandbox.read("F"), b"a\nb\n");
    // Sorts of records refuse such outputs before they read.
    let text = said(&sort.unwrap());
    assert!(text.contains("a file system is mounted on it"), "{text}");
}

/// A sort onto its input that was killed while it wrote once left only a part of the lines, without
/// a message.
#[test]
fn a_sort_onto_its_input_that_is_killed_leaves_all_lines() {
    let (text, sorted) = unsorted(300_000);
    let sandbox = with_file(&text);
    let mut killed = 0;
    for signal in [Signal::TERM, Signal::KILL, Signal::HUP] {
        if signal != Signal::KILL && is_ignored(signal) {
            continue;
        }
        for tenths in 1..9 {
            sandbox.write("F", &text);
            // A fifth of a second to read, and the same to write.
            let mut child = lines(&sandbox, false, "F -o F --bandwidth-limit 12M").spawn().unwrap();
            thread::sleep(Duration::from_millis(50 * tenths));
            let _ = kill_process(Pid::from_child(&child), signal);
            let is_killed = child.wait().unwrap().signal() == Some(signal.as_raw());
            killed += u32::from(is_killed);
            let left = sandbox.read("F");
            assert!(
                left == text.as_bytes() || left == sorted.as_bytes(),
                "{signal:?} after {tenths}"
            );
            assert_eq!(sandbox.names(), ["F", "status"]);
            if signal != Signal::KILL {
                assert_eq!(names(&sandbox.path().join("status")), [""; 0], "{signal:?}");
            }
            let _ = fs::remove_dir_all(sandbox.path().join("status"));
            fs::create_dir(sandbox.path().join("status")).unwrap();
        }
    }
    assert!(killed > 0, "every sort was over before it was killed");
}

#[test]
fn the_first_signal_lets_the_rewriting_end() {
    let (text, sorted) = unsorted(300_000);
    let signals = [Signal::TERM, Signal::INT].into_iter().filter(|signal| !is_ignored(*signal));
    for signal in signals {
        for (is_gnu, words) in [
            (true, "F -o F --bandwidth-limit 4M"),
            (false, "--in-place F -o F --bandwidth-limit 4M"),
        ] {
            let sandbox = with_file(&text);
            let mut child = lines(&sandbox, is_gnu, words).spawn().unwrap();
            wait_for_the_rewriting(&sandbox, &mut child, text.len());
            kill_process(Pid::from_child(&child), signal).unwrap();
            let output = child.wait_with_output().unwrap();
            let said = said(&output);
            assert_eq!(output.status.signal(), Some(signal.as_raw()), "{said}");
            assert!(said.contains("to end the rewriting of F"), "{said}");
            assert!(sandbox.read("F") == sorted.as_bytes(), "{said}");
            assert_eq!(sandbox.names(), ["F", "status"]);
            assert_eq!(names(&sandbox.path().join("status")), [""; 0]);
        }
    }
}

/// After SIGKILL or a second signal, the old content is under the name that was printed.
#[test]
fn whoever_kills_the_rewriting_finds_the_old_content() {
    let (text, _) = unsorted(300_000);
    let signal = if is_ignored(Signal::INT) { Signal::TERM } else { Signal::INT };
    for signals in [vec![Signal::KILL], vec![signal, signal]] {
        let sandbox = with_file(&text);
        let words = "--in-place F -o F --bandwidth-limit 4M";
        let mut child = lines(&sandbox, false, words).spawn().unwrap();
        wait_for_the_rewriting(&sandbox, &mut child, text.len());
        for signal in &signals {
            kill_process(Pid::from_child(&child), *signal).unwrap();
            // The second signal must not be taken for an echo of the first.
            thread::sleep(Duration::from_millis(200));
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), signals.last().map(|signal| signal.as_raw()));
        let said = said(&output);
        let copies = copies(&sandbox);
        assert!(copies.len() == 1 && said.contains(&copies[0]), "{copies:?}: {said}");
        assert!(sandbox.read(&copies[0]) == text.as_bytes());
        // The copy is no leftover of a job, so it isn't cleared.
        let cleared = sandbox.run("status --clear --older-than 0s .");
        assert!(sandbox.path().join(&copies[0]).exists(), "{}", cleared.stderr);
    }
}

#[test]
fn a_full_drive_leaves_the_old_output() {
    let (text, _) = unsorted(300_000);
    let small = Sandbox::new();
    let Some(_mounted) = SmallDisk::mount(small.path(), 4) else {
        eprintln!("skipped: mounting is not allowed here");
        return;
    };
    let elsewhere = Sandbox::new();
    let run = |words: &str| {
        let mut command = lines(&small, false, words);
        command.arg("-T").arg(elsewhere.path()).env("XSORT_STATUS", "off").output().unwrap()
    };
    small.write("F", &text);
    small.write("old", "old\n");
    for (words, expected) in [
        ("F -o F", "--in-place"),
        ("F F -o old", "--in-place"),
        ("F F -S 2M -o old", "--in-place"),
        ("F F --in-place -o old", "its old content was put back"),
    ] {
        let output = run(words);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(said.contains("No space left on device") && said.contains(expected), "{said}");
        assert!(small.read("F") == text.as_bytes(), "{words}");
        assert_eq!(small.read("old"), b"old\n", "{words}");
        assert_eq!(small.names(), ["F", "old"], "{words}");
        assert!(elsewhere.names().is_empty(), "{words}");
    }
    // There is space for one file, so the old one can be overwritten.
    let output = run("--in-place F -o F");
    assert!(output.status.success(), "{}", said(&output));
    small.ok("lines -c F");
    assert_eq!(small.read("F").len(), text.len());
    assert!(elsewhere.names().is_empty());
}

/// A limit on the size of files. Its signal kills GNU sort.
#[test]
fn a_rewriting_that_fails_puts_the_old_content_back() {
    let (text, _) = unsorted(100_000);
    let sandbox = with_file("old\n");
    sandbox.write("in", &text);
    let script = format!("ulimit -f 100; exec {} lines --in-place in -o F", program().display());
    let output = Command::new("bash").args(["-c", &script]).current_dir(sandbox.path()).output();
    let output = output.unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("File too large") && said.contains("was put back"), "{said}");
    assert_eq!(sandbox.read("F"), b"old\n");
    assert_eq!(sandbox.names(), ["F", "in", "status"]);
}

/// An output with other names was once written through another user's link, and so was every output
/// with `--in-place`. A privileged sort to `/tmp` must not do that, nor through a link to a
/// directory.
#[test]
fn what_another_user_planted_is_written_by_no_way() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can make files of another user");
        return;
    }
    let sandbox = Sandbox::new();
    let at = |name: &str| sandbox.path().join(name);
    for directory in ["shared", "private"] {
        fs::create_dir(at(directory)).unwrap();
    }
    fs::set_permissions(at("shared"), Permissions::from_mode(0o1777)).unwrap();
    sandbox.write("in", "b\na\n");
    for name in ["private/victim", "shared/file"] {
        sandbox.write(name, "old\n");
        fs::hard_link(at(name), at(&format!("{name}-2"))).unwrap();
    }
    symlink(at("private/victim"), at("shared/link")).unwrap();
    symlink("/dev/null", at("shared/device")).unwrap();
    symlink(at("private"), at("shared/way")).unwrap();
    for name in ["link", "device", "way", "file", "file-2"] {
        lchown(at("shared").join(name), Some(12_345), None).unwrap();
    }
    let table = "table -q --format csv --no-header --by '#1' in";
    for name in ["link", "device", "file", "way/out", "way/victim"] {
        for words in ["lines in", "lines --in-place in", "lines --checkpoint in", table] {
            let line = format!("$xsort {words} -o shared/{name}");
            let output = script(&sandbox, &line);
            let said = said(&output);
            let is_refused = said.contains("belongs to user 12345");
            assert!(is_refused && output.status.code() == Some(2), "{line}: {said}");
        }
        let line = format!("exec -a sort $xsort in -o shared/{name}");
        let said = said(&script(&sandbox, &line));
        assert!(said.contains("belongs to user 12345"), "{line}: {said}");
    }
    assert_eq!(sandbox.read("private/victim"), b"old\n");
    assert_eq!(sandbox.read("shared/file"), b"old\n");
    assert_eq!(names(&at("private")), ["victim", "victim-2"]);
    assert_eq!(names(&at("shared")), ["device", "file", "file-2", "link", "way"]);
}

/// Lines that were appended meanwhile stood behind the sorted ones, or were overwritten by them.
#[test]
fn what_is_appended_while_a_file_is_rewritten_is_no_success() {
    let (text, sorted) = unsorted(300_000);
    let append = |sandbox: &Sandbox| {
        let mut file = OpenOptions::new().append(true).open(sandbox.path().join("F")).unwrap();
        file.write_all(b"appended\n").unwrap();
    };
    for words in ["--in-place F -o F", "F --in-place --header -o F", "-m --in-place F -o F"] {
        let sandbox = with_file(if words.contains("-m") { &sorted } else { &text });
        let old = sandbox.read("F");
        let words = format!("{words} --bandwidth-limit 4M");
        let mut child = lines(&sandbox, false, &words).spawn().unwrap();
        wait_for_the_rewriting(&sandbox, &mut child, text.len());
        append(&sandbox);
        let output = child.wait_with_output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(said.contains("F: another process wrote to it while it was rewritten"), "{said}");
        let copies = copies(&sandbox);
        assert!(
            copies.len() == 1 && said.contains(&format!("{}: sort it again", copies[0])),
            "{said}"
        );
        assert!(sandbox.read(&copies[0]) == old, "{words}");
        // Nothing of it was overwritten.
        let found = String::from_utf8(sandbox.read("F")).unwrap();
        assert_eq!(found.len(), text.len() + "appended\n".len(), "{words}");
        assert_eq!(found.matches("appended\n").count(), 1, "{words}");
    }
}

/// The lines that were appended between the reading and the writing were in none of both.
#[test]
fn what_is_appended_after_a_file_was_read_is_not_lost() {
    let (text, _) = unsorted(300_000);
    for words in ["--in-place F -o F", "F -o F", "F other -o F"] {
        let sandbox = with_file(&text);
        sandbox.write("other", "");
        // The end of the input is read from a pipe, so that nothing is written before that.
        let mut child = lines(&sandbox, false, &format!("{words} -"));
        let mut child = child.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // More than a pipe holds: some of it was read, and the file before it.
        stdin.write_all(&b"last\n".repeat(100_000)).unwrap();
        let mut file = OpenOptions::new().append(true).open(sandbox.path().join("F")).unwrap();
        file.write_all(b"appended\n").unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(said.contains("F: another process wrote to it since it was read"), "{said}");
        assert!(sandbox.read("F") == [text.as_bytes(), b"appended\n"].concat(), "{words}");
        assert_eq!(sandbox.names(), ["F", "other", "status"]);
        // The way out.
        let output = lines(&sandbox, false, words).output().unwrap();
        assert!(output.status.success(), "{words}: {output:?}");
        assert!(sandbox.read("F").ends_with(b"appended\n"), "{words}");
    }
}

/// Such a file was refused after all the work, which left the hidden file of a checkpoint behind.
#[test]
fn what_may_only_be_appended_to_is_refused_before_the_work() {
    let sandbox = with_file("b\na\n");
    sandbox.ok("gen -q 1000 in");
    let directory = sandbox.path().join("D");
    fs::create_dir(&directory).unwrap();
    sandbox.write("D/F", "old\n");
    if !script(&sandbox, "chattr +a F D").status.success() {
        eprintln!("SKIPPED: no file can be made one that may only be appended to");
        return;
    }
    for words in [
        "lines F -o",
        "lines --in-place F -o",
        "lines F --checkpoint -o",
        "table F --format csv --no-header --by #1 -o",
        "table F --format csv --no-header --by #1 --checkpoint -o",
        "gen 1000",
        "sort in -o",
        "sort in --checkpoint -o",
    ] {
        for (output, named) in [("F", "'chattr -a F'"), ("D/F", "'chattr -a D'")] {
            if words.contains("--in-place") && output == "D/F" {
                continue;
            }
            let ended = sandbox.run(&format!("{words} {output}"));
            assert!(![Some(0), Some(1)].contains(&ended.code), "{words} {output}");
            assert!(ended.stderr.contains(named), "{words} {output}: {}", ended.stderr);
            assert_eq!(names(&directory), ["F"], "{words} {output}");
            assert_eq!(sandbox.names(), ["D", "F", "in", "status"], "{words} {output}");
        }
    }
    // A file of a new name is no trouble, and in place the directory is none.
    sandbox.ok("lines F -o D/new");
    assert!(script(&sandbox, "$xsort lines F --in-place -o D/F").status.success());
    assert_eq!(names(&directory), ["F", "new"]);
    assert_eq!((sandbox.read("D/new"), sandbox.read("D/F")), (b"a\nb\n".into(), b"a\nb\n".into()));
    assert!(script(&sandbox, "chattr -a F D").status.success());
    sandbox.ok("lines F -o F");
    sandbox.ok("lines F -o D/F");
}

/// The new file silently belonged to whoever ran the sort.
#[test]
fn an_owner_that_cant_be_kept_is_named() {
    let sandbox = Sandbox::new();
    let path = sandbox.path().join("F");
    sandbox.ok("gen -q 1MB in");
    sandbox.write("in.csv", "a\n2\n1\n");
    sandbox.write("prefixed", b"\x01b\x01a");
    sandbox.write("F", "old\n");
    let without_rights = "setpriv --inh-caps=-chown --bounding-set=-chown";
    let can_try = format!("chown 12345:54321 F && {without_rights} true");
    if !script(&sandbox, &can_try).status.success() {
        eprintln!("SKIPPED: only root can give files away, and give up that right");
        return;
    }
    for words in [
        "gen 1MB",
        "sort in",
        "sort in --checkpoint",
        "sort --record prefixed:u8 prefixed",
        "table in.csv --by a:int",
        "table in.csv --by a:int --checkpoint",
    ] {
        for (quiet, times) in [("", 1), ("-q", 0)] {
            sandbox.write("F", "old\n");
            lchown(&path, Some(12_345), Some(54_321)).unwrap();
            let (command, rest) = words.split_once(' ').unwrap();
            let output = if command == "gen" { "F" } else { "-o F" };
            let line = format!("{without_rights} $xsort {command} {quiet} {rest} {output}");
            let output = script(&sandbox, &line);
            let said = said(&output);
            assert!(output.status.success() && sandbox.read("F") != b"old\n", "{line}: {said}");
            let notes = said.lines().filter(|line| line.contains("note: F: ")).collect::<Vec<_>>();
            assert_eq!(notes.len(), times, "{line}: {said}");
            let is_named = |note: &&str| note.contains("user 12345 and group 54321");
            assert!(notes.iter().all(is_named), "{line}: {said}");
        }
    }
    // It can be kept.
    lchown(&path, Some(12_345), Some(54_321)).unwrap();
    sandbox.ok("sort -q in -o F");
    let kept = fs::metadata(&path).unwrap();
    assert_eq!((kept.uid(), kept.gid()), (12_345, 54_321));
    // Lines are written into the old file.
    let line = format!("{without_rights} $xsort lines in.csv -o F");
    let said = said(&script(&sandbox, &line));
    assert!(said.contains("rewritten in place") && said.contains("user 12345"), "{said}");
    assert_eq!(fs::metadata(&path).unwrap().uid(), 12_345);
}

/// The copy was once made of what had the file's name by then: a rotation of logs put another
/// file's content into the old one.
#[test]
fn a_file_that_is_renamed_meanwhile_gets_no_other_content() {
    let (text, sorted) = unsorted(300_000);
    for is_limited in [true, false] {
        let sandbox = with_file("old\n");
        let at = |name: &str| sandbox.path().join(name);
        sandbox.write("in", &text);
        let limit = if is_limited { "ulimit -f 1000;" } else { "" };
        let line = format!("{limit} exec $xsort lines --in-place in -o F --bandwidth-limit 4M");
        let mut shell = clean("bash");
        shell.args(["-c", &line]).env("xsort", program()).env("LC_ALL", "C");
        shell.env("XSORT_STATUS", "off").current_dir(sandbox.path()).stderr(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        let has_opened = |child: &Child| {
            let opened = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
            let mut paths = opened.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
            paths.any(|path| path.file_name() == at("F").file_name())
        };
        // Twice: it inspects the file before it opens it.
        let mut looks = 0;
        while looks < 2 {
            looks = if has_opened(&child) { looks + 1 } else { 0 };
            assert!(child.try_wait().unwrap().is_none(), "it was over before it was seen to read");
            thread::sleep(Duration::from_millis(20));
        }
        fs::rename(at("F"), at("F.1")).unwrap();
        sandbox.write("F", "another\n");
        let output = child.wait_with_output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(sandbox.read("F"), b"another\n");
        if is_limited {
            assert!(said.contains("File too large") && said.contains("was put back"), "{said}");
            assert_eq!(sandbox.read("F.1"), b"old\n");
        } else {
            assert!(said.contains("F: it was renamed or removed"), "{said}");
            assert!(sandbox.read("F.1") == sorted.as_bytes());
        }
        assert_eq!(sandbox.names(), ["F", "F.1", "in", "status"]);
    }
}

/// Without a copy it once continued, and lost the old content at the first error.
#[test]
fn without_a_copy_nothing_is_written() {
    let (text, _) = unsorted(300_000);
    let small = Sandbox::new();
    let Some(_mounted) = SmallDisk::mount(small.path(), 4) else {
        eprintln!("SKIPPED: mounting is not allowed here");
        return;
    };
    small.write("F", &text);
    let output = script(&small, "TMPDIR=$PWD $xsort lines --in-place F -o F");
    let text_said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{text_said}");
    let expected = ["F: it is as it was", "No space left on device", "(-T)"];
    assert!(expected.iter().all(|words| text_said.contains(words)), "{text_said}");
    assert!(small.read("F") == text.as_bytes());
    assert_eq!(small.names(), ["F"]);
    // Nor if the copy would exceed the limit on the size of files.
    let sandbox = with_file(&text);
    sandbox.write("in", "b\na\n");
    let output = script(&sandbox, "ulimit -f 100; exec $xsort lines --in-place in -o F");
    assert!(output.status.code() == Some(2) && said(&output).contains("File too large"));
    assert!(sandbox.read("F") == text.as_bytes());
    assert_eq!(sandbox.names(), ["F", "in", "status"]);
}

/// `-q` once hid the only line that says where the old content is.
#[test]
fn an_error_says_where_the_old_content_is_even_if_quiet() {
    let sandbox = with_file("old\n");
    sandbox.write("in", "b\na\n");
    // The failing sync is that of the file, not of its copy.
    let line = "strace -qq -o /dev/null -P $PWD/F -e trace=fsync -e inject=fsync:error=EIO \
                $xsort lines -q --in-place in -o F";
    let output = script(&sandbox, line);
    if !said(&output).contains("fsync failed") {
        eprintln!("SKIPPED: there is no strace, or nobody may be traced here");
        return;
    }
    let (said, copies) = (said(&output), copies(&sandbox));
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(copies.len() == 1 && said.contains(&copies[0]), "{copies:?}: {said}");
    assert!(said.contains("F: its old content can't be put back"), "{said}");
    assert_eq!(sandbox.read(&copies[0]), b"old\n");
}

/// A signal during the copying once left the copy.
#[test]
fn a_signal_while_the_copy_is_made_leaves_none() {
    let (text, _) = unsorted(300_000);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::KILL] {
        if signal != Signal::KILL && is_ignored(signal) {
            continue;
        }
        let sandbox = with_file(&text);
        sandbox.write("in", "b\na\n");
        // Several seconds to read the old content and to write the copy.
        let words = "--in-place in -o F --bandwidth-limit 1M";
        let child = lines(&sandbox, false, words).env("XSORT_STATUS", "off").spawn().unwrap();
        thread::sleep(Duration::from_millis(700));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(signal.as_raw()), "{}", said(&output));
        assert!(sandbox.read("F") == text.as_bytes());
        assert_eq!(sandbox.names(), ["F", "in", "status"], "{signal:?}");
    }
}

/// An empty file has no copy, and an interruption once left it with a part of the lines.
#[test]
fn an_empty_file_is_whole_or_empty_after_an_interruption() {
    let (text, sorted) = unsorted(300_000);
    let sandbox = with_file("");
    sandbox.write("in", &text);
    let line = "ulimit -f 1000; exec $xsort lines -q --in-place in -o F";
    let text_said = said(&script(&sandbox, line));
    let is_said = ["File too large", "ulimit -f", "F: it is empty again"];
    assert!(is_said.iter().all(|words| text_said.contains(words)), "{text_said}");
    assert_eq!(sandbox.read("F"), b"");
    let signal = if is_ignored(Signal::INT) { Signal::TERM } else { Signal::INT };
    let words = "--in-place in -o F --bandwidth-limit 4M";
    let mut child = lines(&sandbox, false, words).spawn().unwrap();
    wait_for_the_rewriting(&sandbox, &mut child, 0);
    kill_process(Pid::from_child(&child), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(signal.as_raw()), "{}", said(&output));
    assert!(sandbox.read("F") == sorted.as_bytes(), "{}", said(&output));
    assert_eq!(sandbox.names(), ["F", "in", "status"]);
}

/// Such a sort once replaced these files without a message.
#[test]
fn a_sort_that_can_be_resumed_refuses_what_it_would_not_keep() {
    let sandbox = with_file("old\n");
    sandbox.write("in", "b\na\n");
    let refused = |words: &str, reason: &str| {
        let said = said(&script(&sandbox, &format!("$xsort lines {words} in -o F")));
        assert!(said.contains(reason), "{words}: {said}");
        assert_eq!(sandbox.read("F"), b"old\n");
    };
    refused("--checkpoint --in-place", "has no --in-place");
    fs::hard_link(sandbox.path().join("F"), sandbox.path().join("other")).unwrap();
    for words in ["--checkpoint", "--resume", "--restart"] {
        refused(words, "it has 2 names (hard links): choose another output");
    }
    fs::remove_file(sandbox.path().join("other")).unwrap();
    sandbox.ok("lines -q --checkpoint in -o F");
    assert_eq!(sandbox.read("F"), b"a\nb\n");
}

/// The copy was once written next to the file first, where it took the space that the hint
/// promised.
#[test]
fn the_way_out_of_a_full_drive_is_one() {
    let (text, sorted) = unsorted(400_000);
    let small = Sandbox::new();
    let Some(_mounted) = SmallDisk::mount(small.path(), 4) else {
        eprintln!("SKIPPED: mounting is not allowed here");
        return;
    };
    let elsewhere = Sandbox::new();
    elsewhere.write("in", &text);
    small.write("F", &text[..1_200_000]);
    let line = format!("$xsort lines -q {0}/in -o F -T {0}", elsewhere.path().display());
    let text_said = said(&script(&small, &line));
    assert!(text_said.contains("--in-place -T DIRECTORY"), "{text_said}");
    let output = script(&small, &format!("{line} --in-place"));
    assert!(output.status.success(), "{}", said(&output));
    assert!(small.read("F") == sorted.as_bytes());
    assert_eq!((small.names(), elsewhere.names()), (vec!["F".into()], vec!["in".into()]));
}

/// The output was complete and new, but the status was that of an error.
#[test]
fn a_copy_that_was_removed_meanwhile_is_no_error() {
    let (text, sorted) = unsorted(300_000);
    let sandbox = with_file(&text);
    let words = "--in-place F -o F --bandwidth-limit 4M";
    let mut child = lines(&sandbox, false, words).spawn().unwrap();
    wait_for_the_rewriting(&sandbox, &mut child, text.len());
    let copies = copies(&sandbox);
    fs::remove_file(sandbox.path().join(&copies[0])).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(sandbox.read("F") == sorted.as_bytes());
}

/// Two processes that rewrite one file would mix their lines, and both would end with status 0.
#[test]
fn a_file_that_another_process_rewrites_is_refused() {
    let sandbox = with_file("old\n");
    sandbox.write("in", "b\na\n");
    let other = File::open(sandbox.path().join("F")).unwrap();
    other.lock().unwrap();
    let refused = lines(&sandbox, false, "in -o F --in-place").output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("another process rewrites it"), "{}", said(&refused));
    assert_eq!(sandbox.read("F"), b"old\n");
    drop(other);
    let done = lines(&sandbox, false, "in -o F --in-place").output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(sandbox.read("F"), b"a\nb\n");
}
