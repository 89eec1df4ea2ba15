//! One vocabulary: options with the same meaning in every command, and the hints where the short
//! options of GNU's programs mean something else.

use crate::sandbox::{Sandbox, clean, program};
use std::os::unix::process::CommandExt;
use std::process::Stdio;

#[test]
fn shared_options_are_understood_by_every_command() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1000r in");
    for progress in ["--progress", "--progress=never", "--progress=auto", "--color=never -q"] {
        for command in ["gen 1000r", "sort in -o", "verify -o", "lines in -o", "du in -s"] {
            let words = if command.starts_with("du") { "" } else { "out" };
            let files = if command.starts_with("verify") { "in" } else { "" };
            let line = format!("{command} {words} {files} -j 2 {progress}");
            let ended = sandbox.run(&line);
            let is_sorted = ended.code == Some(0) || command.starts_with("verify");
            assert!(is_sorted, "{line}: {:?} {}", ended.code, ended.stderr);
        }
    }
    for memory in ["64M", "64MB", "64MiB", "1%"] {
        for command in ["sort -T . in -o out -m", "sort in -o out --memory"] {
            sandbox.ok(&format!("{command} {memory}"));
        }
        sandbox.ok(&format!("lines --scratch=. in -o out --memory {memory}"));
        sandbox.ok(&format!("sort --temporary-directory=. in -o out --memory {memory}"));
    }
}

/// `--progress always` was the only form once; `always` still isn't taken for a file.
#[test]
fn the_value_of_progress_may_be_apart_where_it_was() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1000r in");
    let ended = sandbox.run("sort --progress always in -o out");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    sandbox.ok("sort --progress never in -o out");
}

#[test]
fn letters_that_mean_something_else_have_a_hint() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "b\na\n");
    for (line, code, hint) in [
        ("sort -S 1G file -o out", 2, "-m or --memory"),
        ("sort --parallel=2 file -o out", 2, "-j or --threads"),
        ("sort -n file -o out", 2, "'xsort lines' sorts text, and has -n"),
        ("sort -k2,2 file -o out", 2, "'xsort lines' sorts text, and has -k"),
        ("sort -t, file -o out", 2, "'xsort lines' sorts text, and has -t"),
        ("sort --uniq file -o out", 2, "'xsort lines' sorts text, and has --unique"),
        ("sort --top=3 file -o out", 2, "'xsort lines' sorts text, and has --top"),
        ("sort --shuffle file -o out", 2, "'xsort lines' sorts text, and has --shuffle"),
        ("sort --progr file -o out", 2, "'--progress'"),
        ("sort --compress lz4 --method scatter file -o out", 2, "leave out --method scatter"),
        ("sort --header file -o out", 2, "'xsort lines' sorts text, and has --header"),
        ("sort --memry 1G file -o out", 2, "'--memory'"),
        ("sort -c file -o out", 2, "'xsort verify FILE'"),
        ("sotr file", 2, "'sort'"),
        ("lines -m 1G file", 2, "hint: -m merges, as in GNU sort; for the memory say --memory 1G"),
        ("lines -S 1GB file", 2, "hint: --memory takes sizes"),
        ("sort --version", 2, "'xsort --version' prints the version"),
        ("lines .", 2, "hint: --recursive reads all files below a directory"),
        (r"lines -t \t file", 2, r"hint: a tab is written -t $'\t'"),
        ("lines --unike file", 2, "hint: --unique is an option"),
        ("du --tre file", 1, "hint: --tree is an option"),
        ("lines -S 1M --memory 1M file", 2, "leave one out"),
    ] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        let last = ended.stderr.lines().last().unwrap_or_default();
        assert!(last.contains(hint), "{line}: {}", ended.stderr);
    }
    // The missing option is not the output.
    let missing = sandbox.fails("sort --key 0:4 file -o out", 2);
    assert!(missing.contains("--record") && !missing.contains("-o -"), "{missing}");
    // A file of that name is merged.
    sandbox.write("1G", "a\n");
    assert_eq!(sandbox.ok("lines -m 1G"), "a\n");
}

/// Under GNU's names, the program prints no hints and has no short options of its own.
#[test]
fn called_by_gnus_names_it_says_what_they_say() {
    let sandbox = Sandbox::new();
    for (name, words, message) in [
        ("sort", &["--unike"][..], "sort: unrecognized option '--unike'\n"),
        ("sort", &["-j1"], "sort: invalid option -- 'j'\n"),
        ("sort", &["-q"], "sort: invalid option -- 'q'\n"),
        ("du", &["-q"], "du: invalid option -- 'q'\n"),
    ] {
        let output = clean(program())
            .arg0(name)
            .args(words)
            .current_dir(sandbox.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let expected = format!("{message}Try '{name} --help' for more information.\n");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
    }
    let missing = clean(program()).arg0("sort").args(["-m", "1G"]).output().unwrap();
    assert_eq!(missing.stderr, b"sort: cannot read: 1G: No such file or directory\n");
}

#[test]
fn a_dry_run_of_lines_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("in", "line of text\n".repeat(1_000_000));
    let text = sandbox.ok("lines --dry-run --memory 4M -T . in -o out");
    assert!(text.contains("13.0 MB in 1 file") && text.contains("at most 13.0 MB in ."), "{text}");
    assert_eq!(sandbox.names(), ["in"]);
    let text = sandbox.ok("lines --dry-run --memory 4M --compress=auto -T . in -o out");
    assert!(text.ends_with("at most 13.0 MB in ., compressed: auto\n"), "{text}");
    let json = sandbox.json("lines --dry-run -m in in");
    assert_eq!((&json["dry_run"], &json["inputs"]), (&true.into(), &2.into()));
    assert_eq!(json["scratch_bytes"], 0);
    let refused = sandbox.run("lines --dry-run -c in");
    assert!(refused.stderr.contains("'--dry-run' does nothing beside -c"), "{}", refused.stderr);
}

#[test]
fn a_dry_run_of_gen_changes_nothing() {
    let sandbox = Sandbox::new();
    let text = sandbox.ok("gen --dry-run 1234567r out");
    assert!(text.starts_with("1,234,567 records (gensort), 123 MB, in out, where "), "{text}");
    assert_eq!(
        sandbox.ok("gen --dry-run -f kv128 1r -"),
        "1 record (kv128), 128 B, in /dev/stdout\n"
    );
    assert!(sandbox.names().is_empty());
}

/// The output on a terminal as wide as the bar, with standard output elsewhere.
fn on_a_terminal(sandbox: &Sandbox, line: &str) -> Option<String> {
    let line = format!("stty cols 100; {}", line.replace("xsort", program().to_str()?));
    let output = clean("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(sandbox.path())
        .stdin(Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn lines_show_a_bar_on_a_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write("in", "line of text\n".repeat(100_000));
    let slowly = "xsort lines --bandwidth-limit=2M in";
    for (line, has_bar) in [
        (format!("{slowly} -o out"), true),
        (format!("{slowly} -o out --color=never"), true),
        (format!("{slowly} -q -o out"), false),
        (format!("{slowly} --progress=never -o out"), false),
        (format!("exec -a sort {slowly} -o out").replace("xsort lines", "xsort"), false),
        (slowly.to_owned(), false),
    ] {
        let Some(text) = on_a_terminal(&sandbox, &format!("bash -c '{line}'")) else {
            eprintln!("skipped: no script(1) here");
            return;
        };
        assert_eq!(text.contains('░'), has_bar, "{line}: {text}");
        let is_coloured = has_bar && !line.contains("--color=never");
        assert_eq!(text.contains("\x1b[36m"), is_coloured, "{line}: {text}");
    }
}

#[test]
fn colours_are_a_choice() {
    let sandbox = Sandbox::new();
    sandbox.write("file", [1; 100_000]);
    let coloured = |line: &str| sandbox.ok(line).contains("\x1b[36m");
    assert!(coloured("du --tree --color=always"));
    assert!(coloured("du --tree --color"));
    assert!(!coloured("du --tree"));
    assert!(!coloured("du --tree --color=never"));
    let mut command = clean(program());
    command.args(["du", "--tree", "--color=always"]).env("NO_COLOR", "1");
    let output = command.current_dir(sandbox.path()).output().unwrap();
    assert!(output.stdout.contains(&0x1b), "what is asked for now counts");
    for line in ["status --color=never", "gen -q --color=always 1r out"] {
        assert_eq!(sandbox.run(line).code, Some(0), "{line}");
    }
}

#[test]
fn lines_report_only_if_they_are_asked() {
    let sandbox = Sandbox::new();
    sandbox.write("in", "b\na\n");
    assert_eq!(sandbox.ok("lines in"), "a\nb\n");
    for line in ["lines -v in", "lines --verbose in"] {
        let ended = sandbox.run(line);
        assert_eq!((ended.code, &*ended.stdout), (Some(0), "a\nb\n"));
        assert!(ended.stderr.starts_with("sorted   2 lines, 4 B, in 0."), "{}", ended.stderr);
        assert!(ended.stderr.contains("\nmemory   "), "{}", ended.stderr);
    }
    assert!(sandbox.run("du -v").stderr.starts_with("xsort du: invalid option -- 'v'\n"));
}
