//! `xsort du` beyond GNU du: orders, trees, JSON, file systems that are skipped, and its status.

use crate::sandbox::{Sandbox, clean, program};
use crate::terminal::Terminal;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// Files of 1 to 4 blocks, in directories.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, kibibytes) in
        [("t/small/one", 4), ("t/large/two", 40), ("t/large/deep/three", 20), ("t/four", 8)]
    {
        let path = sandbox.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![1; kibibytes << 10]).unwrap();
    }
    sandbox
}

/// The last words of lines.
fn names(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.rsplit('\t').next().unwrap()).collect()
}

#[test]
fn lines_come_in_the_order_that_is_asked_for() {
    let sandbox = sandbox();
    let by_size = ["t", "t/large", "t/large/two", "t/large/deep", "t/large/deep/three"];
    assert_eq!(names(&sandbox.ok("du -ab --sort=size t"))[..3], by_size[..3]);
    assert_eq!(names(&sandbox.ok("du -ab --top=3 t")), by_size[..3]);
    assert_eq!(names(&sandbox.ok("du -ab --top 2 -c t")), ["t", "t/large", "total"]);
    let by_name = [
        "t",
        "t/four",
        "t/large",
        "t/large/deep",
        "t/large/deep/three",
        "t/large/two",
        "t/small",
        "t/small/one",
    ];
    assert_eq!(names(&sandbox.ok("du -a --sort=name t")), by_name);
    assert_eq!(names(&sandbox.ok("du -a --sort=n --threads=2 t")), by_name);
    assert_eq!(names(&sandbox.ok("du -d1 --sort=name t")), ["t", "t/large", "t/small"]);
}

#[test]
fn what_does_nothing_is_refused() {
    let sandbox = sandbox();
    for (line, reason) in [
        ("du --top=0 t", "invalid --top argument '0'"),
        ("du --top=x t", "invalid --top argument 'x'"),
        ("du --threads=x t", "invalid --threads argument "),
        ("du --sort=x t", "invalid argument "),
        ("du --json --tree t", "option '--json' cannot be combined with '--tree'"),
        ("du --tree -0 t", "option '--null' cannot be combined with '--tree'"),
        ("du --tree --time t", "option '--time' cannot be combined with '--tree'"),
        ("du --top=3 --sort=name t", "option '--top' cannot be combined with '--sort=name'"),
        ("du --jso t", "unrecognized option '--jso'"),
    ] {
        let ended = sandbox.run(line);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{line}");
        assert!(
            ended.stderr.starts_with(&format!("xsort du: {reason}")),
            "{line}: {}",
            ended.stderr
        );
    }
}

fn tree(sandbox: &Sandbox, locale: &str, words: &[&str]) -> String {
    let output = clean(program())
        .args(["du", "--tree"])
        .args(words)
        .current_dir(sandbox.path())
        .env("LC_ALL", locale)
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_tree_shows_shares_in_eighty_columns() {
    let sandbox = sandbox();
    let drawn = tree(&sandbox, "C.UTF-8", &["-a", "--inodes", "-d3", "t"]);
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!(lines.len(), 12, "{drawn}");
    assert!(lines.iter().all(|line| line.chars().count() == 80), "{drawn}");
    let full = "█".repeat(20);
    assert!(
        lines[0].starts_with("8 t ") && lines[0].ends_with(&format!(" {full} 100%")),
        "{drawn}"
    );
    // Four of eight. The largest comes first; equal ones by name, and the directory itself last.
    assert!(lines[1].starts_with("4 ├─ large "), "{drawn}");
    assert!(lines[1].ends_with(" 50%") && lines[2].starts_with("2 │  ├─ deep "), "{drawn}");
    assert!(lines[3].starts_with("1 │  │  ├─ three ") && lines[3].contains("██▌ "), "{drawn}");
    assert!(lines[4].starts_with("1 │  │  └─ (itself) "), "{drawn}");
    assert!(lines[5].starts_with("1 │  ├─ two ") && lines[10].starts_with("1 ├─ four "), "{drawn}");
    assert!(lines[11].starts_with("1 └─ (itself) "), "{drawn}");
    let typed = tree(&sandbox, "C", &["--inodes", "-d1", "t"]);
    let lines: Vec<&str> = typed.lines().collect();
    assert!(
        lines[1].starts_with("4 |- large ")
            && lines[1].contains(" ##########           ")
            && lines.len() == 4,
        "{typed}"
    );
    assert!(typed.is_ascii() && lines[2].starts_with("2 |- small "), "{typed}");
    assert!(lines[3].starts_with("2 `- (itself and 1 file) "), "{typed}");
}

#[test]
fn a_tree_of_the_largest_has_what_they_are_in_and_says_what_is_left_out() {
    let sandbox = sandbox();
    let drawn = tree(&sandbox, "C", &["-a", "--inodes", "--top=3", "-d9", "t"]);
    let names: Vec<String> = drawn
        .lines()
        .map(|line| {
            line.split("   ").next().unwrap().trim_start_matches([' ', '|', '`']).to_owned()
        })
        .collect();
    let expected = ["8 t", "4 |- large", "2 |  |- deep", "2 |  `- (2 more)", "4 `- (3 more)"];
    assert_eq!(names, expected, "{drawn}");
}

#[test]
fn a_tree_is_no_longer_than_its_terminal() {
    let sandbox = Sandbox::new();
    for directory in 0..30 {
        for file in 0..directory {
            let path = sandbox.path().join(format!("t/{directory}/{file}/x"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
    }
    let on_terminal = |words: &[&str], rows| {
        let mut command = clean(program());
        command.args(["du", "--inodes", "--tree"]).args(words).current_dir(sandbox.path());
        Terminal::of_size(60, rows).run(command)
    };
    for rows in [4, 10, 25, 100] {
        let text = on_terminal(&["t"], rows);
        let lines = text.lines().count();
        assert!((usize::from(rows) - 2..usize::from(rows)).contains(&lines), "{rows}: {text}");
    }
    assert!(on_terminal(&["t"], 10).contains(" more)"));
    assert_eq!(
        on_terminal(&["-c", "t/28", "t/29"], 11).lines().count(),
        9,
        "four and four and the sum"
    );
    assert!(on_terminal(&["--top=99", "t"], 10).lines().count() > 99);
    // To other outputs, the whole tree is printed.
    assert_eq!(tree(&sandbox, "C", &["t"]).lines().count(), 1 + 29 + 29 * 30 / 2 + 29 + 1);
}

#[test]
fn names_in_a_tree_cannot_command_the_terminal() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(200);
    for name in [&b"\x1b[31mred\n"[..], b"\xff", long.as_bytes(), "中".repeat(60).as_bytes()] {
        fs::create_dir(sandbox.path().join(OsStr::from_bytes(name))).unwrap();
    }
    let drawn = tree(&sandbox, "C.UTF-8", &["."]);
    assert!(
        drawn.lines().count() == 6 && !drawn.contains('\x1b') && drawn.contains("�[31mred�"),
        "{drawn}"
    );
    assert_eq!(drawn.matches('…').count(), 2, "{drawn}");
}

#[test]
fn json_has_all_figures_labelled_and_every_byte_of_names() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.path().join(OsStr::from_bytes(b"t/\xff\"\n"))).unwrap();
    let text = sandbox.run("du -a --json --sort=name --time t nowhere");
    assert_eq!(text.code, Some(1));
    assert_eq!(text.stderr, "xsort du: cannot access 'nowhere': No such file or directory\n");
    let document: serde_json::Value = serde_json::from_str(&text.stdout).unwrap();
    assert_eq!((&document["command"], &document["version"]), (&"du".into(), &1.into()));
    let entries = document["entries"].as_array().unwrap();
    let paths: Vec<&str> = entries.iter().map(|entry| entry["path"].as_str().unwrap()).collect();
    assert_eq!(paths[..3], ["t", "t/four", "t/large"]);
    let last = entries.last().unwrap();
    assert_eq!(
        (&last["path"], &last["path_bytes"]),
        (&"t/\u{fffd}\"\n".into(), &"742fff220a".into())
    );
    let four = &entries[1];
    assert_eq!(
        (&four["apparent_bytes"], &four["inodes"], &four["depth"]),
        (&8192.into(), &1.into(), &1.into())
    );
    assert!(four["allocated_bytes"].as_u64().unwrap() >= 8192 && four["path_bytes"].is_null());
    assert!(
        four["newest"]["unix_seconds"].as_i64().unwrap() > 1_600_000_000
            && four["is_directory"] == false
    );
    let error = &document["errors"][0];
    let expected = ("nowhere", "access", "No such file or directory");
    assert_eq!(
        (error["path"].as_str(), error["operation"].as_str(), error["reason"].as_str()),
        (Some(expected.0), Some(expected.1), Some(expected.2))
    );
    assert_eq!(document["total"]["inodes"], 9);
    let empty: serde_json::Value =
        serde_json::from_str(&sandbox.run("du --json nowhere").stdout).unwrap();
    assert_eq!((&empty["entries"], &empty["total"]["inodes"]), (&serde_json::json!([]), &0.into()));
}

/// /proc is mounted where tests run.
#[test]
fn windows_on_the_kernel_are_not_entered() {
    let sandbox = Sandbox::new();
    let lines = sandbox.run("du -d1 --inodes --skip-pseudo --exclude=/[^ps]* /").stdout;
    let names = names(&lines);
    assert!(names.contains(&"/") && !names.contains(&"/proc"), "{lines}");
    // As an argument it is counted.
    assert_ne!(sandbox.ok("du -s --inodes --skip-pseudo /proc/self/attr"), "0\t/proc/self/attr\n");
}

#[test]
fn help_has_examples_first_and_extras_apart() {
    let sandbox = Sandbox::new();
    let help = sandbox.ok("du --help");
    let place = |text: &str| help.find(text).unwrap_or_else(|| panic!("no {text}\n{help}"));
    assert!(
        place("Usage: xsort du") < place("Examples:\n  xsort du -sh")
            && place("Examples:") < place("--all")
    );
    assert!(place("What GNU du doesn't have:") < place("--tree  "));
    assert!(sandbox.ok("du --version").starts_with("xsort du (xsort) "));
}

/// Progress is not printed without a terminal.
#[test]
fn progress_is_quiet_without_a_terminal() {
    let sandbox = sandbox();
    assert_eq!(sandbox.ok("du --progress --threads=1 -s t"), sandbox.ok("du -s t"));
}
