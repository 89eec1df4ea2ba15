//! Random trees and options, from fixed seeds: GNU du and xsort must have the same output, messages
//! and statuses. With one thread, also in the same order.
//!
//! `XSORT_SEEDS=5000 cargo test -p xsort-cli du_generated` runs more seeds, `XSORT_SEED=7` runs one
//! seed alone.

use crate::du::has_old_apparent_sizes;
use crate::sandbox::{Sandbox, clean, program};
use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, mknodat, openat};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use xsort_testing::{Random, gnu, quick_or_long, seeds};

/// The number of trees, and of command lines for each, by default. The whole takes some seconds.
const TREES: u64 = 30;
const LINES: usize = 10;

/// Options, of which a few are combined. If some exclude each other, both programs must refuse
/// alike.
const OPTIONS: &[&str] = &[
    "-a",
    "-a",
    "-a",
    "-s",
    "-S",
    "-c",
    "-l",
    "-x",
    "-0",
    "-h",
    "--si",
    "-k",
    "-m",
    "-b",
    "--apparent-size",
    "-B1",
    "-BK",
    "-BMB",
    "-B7",
    "-B'1",
    "--inodes",
    "-d0",
    "-d1",
    "-d2",
    "--max-depth=3",
    "-P",
    "-D",
    "-H",
    "-L",
    "-t5K",
    "-t-4K",
    "-t1",
    "-t-0x2000",
    "--time",
    "--time=atime",
    "--time=ctime",
    "--time-style=full-iso",
    "--time-style=iso",
    "--time-style=+%s.%N",
    "--time-style=+%a %_d %^B %+5Y %Z",
    "--exclude=a*",
    "--exclude=b",
    "--exclude=*/?",
    "--exclude=[!a]",
    "-Xpatterns",
    "-Xmissing",
    "-q",
];

/// The parts of names. No apostrophes: GNU du 9.1 prints too many quotation marks around names with
/// apostrophes that end with unprintable bytes.
const PIECES: &[&[u8]] = &[
    b"a",
    b"b",
    b"c",
    b"A",
    b" ",
    b"\n",
    b"\"",
    b"\\",
    b"*",
    b"[",
    b"-",
    b".",
    b"\xff",
    b"\xc3\xa4",
    b"\xe2\x82\xac",
    b"\x07",
    b"$",
    b"long name of many letters",
];

/// Builds a tree.
struct Grower<'a> {
    random: &'a mut Random,
    files: Vec<PathBuf>,
    directories: Vec<PathBuf>,
}

impl Grower<'_> {
    fn grow(&mut self, directory: &Path, depth: usize) {
        self.directories.push(directory.to_owned());
        for _ in 0..self.random.below(if depth == 0 { 12 } else { 7 }) {
            let path = directory.join(self.name());
            if path.symlink_metadata().is_ok() {
                continue;
            }
            match self.random.below(12) {
                0..4 if depth < 5 => {
                    fs::create_dir(&path).unwrap();
                    self.grow(&path, depth + 1);
                }
                4 | 5 if !self.files.is_empty() => {
                    let at = self.random.below(self.files.len());
                    fs::hard_link(&self.files[at], &path).unwrap();
                }
                6 => self.link(&path),
                7 => {
                    let mode = Mode::from_raw_mode(0o600);
                    mknodat(CWD, &path, FileType::Fifo, mode, 0).unwrap();
                    self.files.push(path);
                }
                8 => {
                    // A hole, and perhaps data before it.
                    let bytes = self.random.below(9000);
                    fs::write(&path, vec![1; bytes]).unwrap();
                    let end = 1 << (10 + self.random.below(24));
                    File::options().write(true).open(&path).unwrap().set_len(end).unwrap();
                    self.files.push(path);
                }
                _ => {
                    fs::write(&path, vec![1; self.random.below(20_000)]).unwrap();
                    self.files.push(path);
                }
            }
        }
    }

    /// A symbolic link: to an existing file, to nothing, to itself, or to a directory above it.
    fn link(&mut self, path: &Path) {
        let target = match self.random.below(4) {
            0 => PathBuf::from("nowhere"),
            1 => path.file_name().unwrap().into(),
            2 => ".".into(),
            _ => {
                let directories = &self.directories;
                fs::canonicalize(&directories[self.random.below(directories.len())]).unwrap()
            }
        };
        symlink(target, path).unwrap();
    }

    fn name(&mut self) -> OsString {
        let pieces = 1 + self.random.below(3);
        let name: Vec<u8> = (0..pieces).flat_map(|_| self.random.one_of(PIECES).to_vec()).collect();
        match &name[..] {
            b"." | b".." => OsString::from("dots"),
            _ => OsString::from_vec(name),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Ended {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    /// Asserts that both are the same. There are many lines, so it prints the first difference.
    fn must_be(&self, other: &Ended, story: &str) {
        let parted = |one: &str, other: &str| {
            let place =
                one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
            [one, other].map(|text| {
                text.get(place.saturating_sub(100)..)
                    .unwrap_or(text)
                    .chars()
                    .take(300)
                    .collect::<String>()
            })
        };
        assert!(
            self.stdout == other.stdout,
            "{story}: stdout {:#?}",
            parted(&self.stdout, &other.stdout)
        );
        assert!(
            self.stderr == other.stderr,
            "{story}: stderr {:#?}",
            parted(&self.stderr, &other.stderr)
        );
        assert_eq!(self.status, other.status, "{story}");
    }

    /// The outcome with its lines sorted.
    fn sorted(self) -> Ended {
        let sorted = |text: &str| {
            let mut lines: Vec<&str> = text.split(['\n', '\0']).collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        Ended { stdout: sorted(&self.stdout), stderr: sorted(&self.stderr), ..self }
    }
}

/// Which du to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Du {
    Gnus,
    Ours,
    /// xsort with one thread.
    OursInOrder,
}

fn run(du: Du, directory: &Path, variables: &[(&str, &str)], words: &[&OsStr]) -> Ended {
    let mut command = match du {
        Du::Gnus => clean(gnu::path("du")),
        Du::Ours | Du::OursInOrder => clean(program()),
    };
    command.arg0("du");
    if du == Du::OursInOrder {
        command.arg("--threads=1");
    }
    let output = command
        .args(words)
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text =
        |bytes: &[u8]| bytes.escape_ascii().to_string().replace("\\n", "\n").replace("\\x00", "\0");
    Ended {
        status: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// Compares GNU du with xsort, with one thread and with several.
fn compare(directory: &Path, variables: &[(&str, &str)], words: &[&OsStr], story: &str) {
    let [gnus, in_order, ours] =
        [Du::Gnus, Du::OursInOrder, Du::Ours].map(|du| run(du, directory, variables, words));
    let line = format!("{story}: {variables:?} du {words:?}");
    in_order.must_be(&gnus, &format!("{line}, with one thread"));
    ours.sorted().must_be(&gnus.sorted(), &line);
}

#[test]
fn generated_trees_count_as_gnu_dus() {
    if !gnu::has("du") {
        return;
    }
    for seed in seeds(TREES) {
        let mut random = Random::new(seed);
        let sandbox = Sandbox::new();
        fs::write(sandbox.path().join("patterns"), "a?b\n*.\nlong*   \n\\[\n").unwrap();
        let root = sandbox.path().join("tree");
        fs::create_dir(&root).unwrap();
        let mut grower = Grower { random: &mut random, files: Vec::new(), directories: Vec::new() };
        grower.grow(&root, 0);
        let Grower { files, directories, .. } = grower;
        let below =
            |path: &PathBuf| path.strip_prefix(sandbox.path()).unwrap().as_os_str().to_owned();
        let mut arguments: Vec<OsString> = files.iter().chain(&directories).map(below).collect();
        arguments
            .extend(["tree", "tree/", "tree//", "./tree", ".", "nowhere", ""].map(OsString::from));
        // If times of access change at all, they change at the first access.
        run(Du::Gnus, sandbox.path(), &[], &["-L".as_ref()]);
        for _ in 0..LINES {
            let mut words: Vec<&OsStr> = (0..random.below(6))
                .map(|_| random.one_of(OPTIONS))
                .filter(|word| {
                    has_old_apparent_sizes() || !matches!(*word, "-b" | "--apparent-size")
                })
                .map(OsStr::new)
                .collect();
            if random.below(4) > 0 {
                words.push("tree".as_ref());
            }
            words.extend((0..random.below(3)).map(|_| &*arguments[random.below(arguments.len())]));
            let variables = [
                ("LC_ALL", random.one_of(&["C", "C.UTF-8"])),
                ("TZ", random.one_of(&["", "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT"])),
                random.one_of(&[
                    ("BLOCK_SIZE", "1"),
                    ("DU_BLOCK_SIZE", "K"),
                    ("X", ""),
                    ("X", ""),
                    ("X", ""),
                ]),
            ];
            compare(sandbox.path(), &variables, &words, &format!("seed {seed}"));
        }
    }
}

/// Directories of 10,001 entries or more are walked by inode.
#[test]
fn large_directories_are_walked_in_gnu_dus_order() {
    if !gnu::has("du") {
        return;
    }
    let sandbox = Sandbox::new();
    for number in 0..10_050 {
        let path = sandbox.path().join(format!("{}", number * 7919 % 10_050));
        match number % 100 {
            0 => fs::create_dir(&path).unwrap(),
            // Links to files, with other inodes between them.
            1 => fs::hard_link(
                sandbox.path().join(format!("{}", (number + 9_000) * 7919 % 10_050)),
                &path,
            )
            .or_else(|_| fs::write(&path, "x"))
            .unwrap(),
            _ => fs::write(&path, vec![1; number % 3]).unwrap(),
        }
    }
    for options in [&["-a"][..], &["-ab", "-S"], &["--inodes", "-a"], &["-s", "-l"], &["-L", "-a"]]
    {
        if !has_old_apparent_sizes() && options[0] == "-ab" {
            continue;
        }
        let words: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
        compare(sandbox.path(), &[], &words, "10,050 entries");
    }
}

/// Paths become longer than the kernel accepts, and the tree is deeper than the limit on open
/// files.
#[test]
fn deep_trees_count_as_gnu_dus() {
    if !gnu::has("du") {
        return;
    }
    let sandbox = Sandbox::new();
    let (read, mode) = (OFlags::DIRECTORY | OFlags::RDONLY, Mode::from_raw_mode(0o755));
    let mut directory = openat(CWD, sandbox.path(), read, Mode::empty()).unwrap();
    // More than the default limit on open files.
    for level in 0..1_500 {
        let name = format!("level{level}");
        mkdirat(&directory, &name, mode).unwrap();
        directory = openat(&directory, &name, read, Mode::empty()).unwrap();
        if level % 100 == 0 {
            openat(&directory, "file", OFlags::CREATE | OFlags::WRONLY, Mode::from_raw_mode(0o644))
                .unwrap();
        }
    }
    drop(directory);
    let all = [&["-a"][..], &["-S", "-c"], &["-s"], &["-d2"]];
    for options in all.into_iter().take(quick_or_long(2, all.len())) {
        let words: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
        compare(sandbox.path(), &[], &words, "1,500 levels");
    }
    // The standard library's removal would open all levels at once.
    assert!(clean("rm").arg("-rf").arg(sandbox.path().join("level0")).status().unwrap().success());
}

/// An unreadable directory is reported, and counted as far as possible.
#[test]
fn unreadable_directories_are_told_of_as_by_gnu_du() {
    if !gnu::has("du") {
        return;
    }
    let sandbox = Sandbox::new();
    fs::set_permissions(sandbox.path(), Permissions::from_mode(0o755)).unwrap();
    for (directory, mode) in
        [("closed", 0o000), ("listed", 0o444), ("passed", 0o111), ("open", 0o755)]
    {
        let path = sandbox.path().join(directory);
        fs::create_dir_all(path.join("inner")).unwrap();
        fs::write(path.join("file"), "12345").unwrap();
        fs::write(path.join("inner/file"), "12345").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
    for options in [
        &["-a"][..],
        &["-s"],
        &["closed", "listed", "passed/inner"],
        &["-L"],
        &["-ac", "closed/file"],
    ] {
        let compare_as = |user: &[&str]| {
            let run = |is_ours: bool| {
                let mut words: Vec<OsString> = user.iter().map(OsString::from).collect();
                words.push(if is_ours { program().into() } else { "du".into() });
                words.extend(if is_ours {
                    vec!["du".into(), "--threads=1".into()]
                } else {
                    vec![]
                });
                words.extend(options.iter().map(OsString::from));
                let output = clean(&words[0])
                    .args(&words[1..])
                    .current_dir(sandbox.path())
                    .output()
                    .unwrap();
                let said = String::from_utf8(output.stderr).unwrap();
                let stdout = String::from_utf8(output.stdout).unwrap();
                (
                    output.status.code(),
                    stdout,
                    said.replace(&format!("{}:", if is_ours { "xsort du" } else { "du" }), "du:"),
                )
            };
            assert_eq!(run(true), run(false), "{options:?}");
        };
        if !rustix::process::geteuid().is_root() {
            compare_as(&["env"]);
            continue;
        }
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let can_run = clean(nobody[0]).args(&nobody[1..]).arg(program()).arg("--version").output();
        if can_run.is_ok_and(|output| output.status.success()) {
            compare_as(&nobody);
        } else {
            eprintln!("SKIPPED: nobody can't run the program where it is, or there is no setpriv");
        }
    }
    for directory in ["closed", "listed", "passed"] {
        fs::set_permissions(sandbox.path().join(directory), Permissions::from_mode(0o755)).unwrap();
    }
}

/// A name that isn't UTF-8 keeps its bytes.
#[test]
fn any_name_is_printed_as_it_is() {
    let sandbox = Sandbox::new();
    let name = OsStr::from_bytes(b"\xff\xfe\n\x01");
    fs::create_dir(sandbox.path().join(name)).unwrap();
    let output = clean(program())
        .args(["du", "-0", "--inodes"])
        .arg(name)
        .current_dir(sandbox.path())
        .output();
    assert_eq!(output.unwrap().stdout, b"1\t\xff\xfe\n\x01\0");
}
