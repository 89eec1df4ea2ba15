//! What the program says of itself: help, version, completions, manual pages.

use crate::sandbox::Sandbox;

#[test]
fn examples_come_before_usage_and_options() {
    let sandbox = Sandbox::new();
    for command in ["", "gen ", "sort ", "verify ", "status "] {
        for flag in ["-h", "--help"] {
            let help = sandbox.ok(&format!("{command}{flag}"));
            let place = |text: &str| {
                help.find(text).unwrap_or_else(|| panic!("{command}{flag}: no {text}\n{help}"))
            };
            assert!(place("Examples:\n  xsort") < place("Usage: xsort"), "{help}");
            assert!(place("Usage: xsort") < place("Options:"), "{help}");
        }
    }
}

#[test]
fn short_help_is_short_and_long_help_documents_the_exit_status() {
    let sandbox = Sandbox::new();
    for command in ["gen", "sort", "verify", "status"] {
        let (short, long) =
            (sandbox.ok(&format!("{command} -h")), sandbox.ok(&format!("{command} --help")));
        assert!(short.lines().count() < 60, "{} lines", short.lines().count());
        assert!(long.contains("Exit status:\n  0 ") && !short.contains("Exit status"), "{long}");
    }
    let help = sandbox.ok("--help");
    assert!(help.contains("Exit status:") && help.contains("141  stopped by SIGPIPE"), "{help}");
}

#[test]
fn the_risk_of_removing_the_input_is_told() {
    let help = Sandbox::new().ok("sort --help");
    let flat = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("LOSES THE DATA"), "{help}");
}

#[test]
fn version_completions_and_manual() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok("--version"), format!("xsort {}\n", env!("CARGO_PKG_VERSION")));
    for shell in ["bash", "zsh", "fish"] {
        assert!(sandbox.ok(&format!("completions {shell}")).contains("gensort-ascii"), "{shell}");
    }
    assert!(sandbox.ok("man").starts_with(".ie"), "roff");
    assert_eq!(sandbox.ok("man pages"), "");
    let pages = crate::sandbox::names(&sandbox.path().join("pages"));
    assert_eq!(
        pages,
        [
            "xsort-completions.1",
            "xsort-du.1",
            "xsort-gen.1",
            "xsort-lines.1",
            "xsort-man.1",
            "xsort-sort.1",
            "xsort-status.1",
            "xsort-verify.1",
            "xsort.1"
        ]
    );
    let page = String::from_utf8(sandbox.read("pages/xsort-sort.1")).unwrap();
    assert!(page.contains(".SH EXAMPLES") && page.contains("remove\\-input"), "{page}");
}

#[test]
fn without_words_the_help_is_short() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run("");
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
    assert!(ended.stderr.contains("Usage: xsort <COMMAND>"), "{}", ended.stderr);
    assert!(ended.stderr.lines().count() < 30, "{}", ended.stderr);
}

#[test]
fn wrong_usage_is_one_line() {
    let sandbox = Sandbox::new();
    for (line, reason) in [
        ("sort", "--output <FILE>"),
        ("sort -", "--output <FILE>"),
        ("sort in -o out --frobnicate", "--frobnicate"),
        ("sort in -o out --key 0:4", "--record <BYTES>"),
        ("sort in -o out -f kv128 --record 128", "cannot be used with"),
        ("sort in -o out --record 8 --key 7:4", "record of 8 bytes"),
        ("sort in -o out --record 8 --key abc", "--key"),
        ("sort in -o out --record 0", "1 to"),
        ("sort in -o out -m lots", "lots"),
        ("verify", "<FILE>"),
        ("verify file --expect xyz", "xyz"),
        ("frob", "frob"),
        ("sort in -o out --record 1e3", "a whole number in digits is wanted"),
        ("sort in -o out --record 99999999999999999999", "at most 18446744073709551615"),
        ("sort in -o out -j x", "a whole number in digits is wanted"),
        ("sort in -o out -j 70000", "to 1024"),
        ("gen 1r file --seed 0x10", "a whole number in digits is wanted"),
    ] {
        let error = sandbox.fails(line, 2);
        assert!(error.contains(reason), "{line}: {error}");
    }
}
