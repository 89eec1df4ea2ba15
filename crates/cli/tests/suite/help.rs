//! The program's texts about itself: help, version, manual pages.

use crate::completions::long_options;
use crate::sandbox::{Sandbox, clean};

#[test]
fn examples_come_before_usage_and_options() {
    let sandbox = Sandbox::new();
    for command in ["", "gen ", "sort ", "table ", "verify ", "status ", "report "] {
        for flag in ["-h", "--help"] {
            let help = sandbox.ok(&format!("{command}{flag}"));
            let place = |text: &str| {
                help.find(text).unwrap_or_else(|| panic!("{command}{flag}: no {text}\n{help}"))
            };
            assert!(place("Examples:\n  xsort") < place("Usage: xsort"), "{help}");
            assert!(place("Usage: xsort") < place("  -h, --help"), "{help}");
        }
    }
}

#[test]
fn short_help_is_short_and_long_help_documents_the_exit_status() {
    let sandbox = Sandbox::new();
    for command in ["gen", "sort", "table", "verify", "status", "report"] {
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
fn version_and_manual() {
    let sandbox = Sandbox::new();
    let version = format!("xsort {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(sandbox.ok("-V"), version);
    let long = sandbox.ok("--version");
    assert!(long.starts_with(&version) && long.contains("\nfeatures ") && long.contains("in use"));
    assert!(sandbox.ok("man").starts_with(".ie"), "roff");
    assert_eq!(sandbox.ok("man pages"), "");
    let pages = crate::sandbox::names(&sandbox.path().join("pages"));
    assert_eq!(
        pages,
        [
            "xsort-bam.1",
            "xsort-bio.1",
            "xsort-cluster.1",
            "xsort-completions.1",
            "xsort-du.1",
            "xsort-gen.1",
            "xsort-lines.1",
            "xsort-man.1",
            "xsort-part-map.1",
            "xsort-part-merge.1",
            "xsort-part-plan.1",
            "xsort-part-sample.1",
            "xsort-part-serve.1",
            "xsort-part-split.1",
            "xsort-part-validate.1",
            "xsort-part.1",
            "xsort-report.1",
            "xsort-sort.1",
            "xsort-status.1",
            "xsort-table.1",
            "xsort-verify.1",
            "xsort.1"
        ]
    );
}

#[test]
fn a_manual_page_has_everything_in_its_section() {
    let sandbox = Sandbox::new();
    sandbox.ok("man pages");
    for command in ["gen", "sort", "lines", "verify", "du", "status"] {
        let page = String::from_utf8(sandbox.read(&format!("pages/xsort-{command}.1"))).unwrap();
        let sections: Vec<&str> =
            page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
        let expected = [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "\"EXIT STATUS\"",
            "ENVIRONMENT",
            "EXAMPLES",
            "\"SEE ALSO\"",
        ];
        assert_eq!(sections, expected, "{command}");
        for option in long_options(&sandbox.ok(&format!("{command} --help"))) {
            let option = option.replace('-', "\\-");
            assert!(page.contains(&format!("\\fB{option}\\fR")), "{command}: {option}");
        }
        for section in page.split("\n.SH ").skip(1) {
            assert!(section.lines().count() > 1, "{command}: nothing in {section}");
        }
    }
}

/// Programs that show pages print no warnings.
#[test]
fn manual_pages_are_without_fault() {
    let sandbox = Sandbox::new();
    sandbox.ok("man pages");
    for checker in [&["groff", "-ww", "-man", "-Tutf8"][..], &["mandoc", "-Tlint", "-Wwarning"]] {
        for name in crate::sandbox::names(&sandbox.path().join("pages")) {
            let page = sandbox.path().join("pages").join(name);
            let Ok(output) = clean(checker[0]).args(&checker[1..]).arg(&page).output() else {
                eprintln!("SKIPPED: there is no {}", checker[0]);
                break;
            };
            let said = if checker[0] == "groff" { output.stderr } else { output.stdout };
            assert_eq!(String::from_utf8_lossy(&said), "", "{checker:?} {}", page.display());
        }
    }
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

#[test]
fn options_stand_in_groups_and_operands_above_them() {
    let sandbox = Sandbox::new();
    let groups = ["Order:", "Input:", "Output:", "Resources:", "Interruptions:", "Report:"];
    for command in ["sort", "table"] {
        let help = sandbox.ok(&format!("{command} -h"));
        let places = ["Arguments:\n  [INPUT]"].iter().chain(&groups);
        let places: Vec<_> = places.map(|title| help.find(title)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {help}");
    }
}

#[test]
fn all_commands_and_options_are_told_as_json() {
    let sandbox = Sandbox::new();
    let all = sandbox.json("help");
    let named = |list: &serde_json::Value, name: &str, key: &str| {
        let found = list.as_array().unwrap().iter().find(|item| item[key] == name);
        found.unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let table = named(&all["commands"], "xsort-table", "name");
    let memory = named(&table["options"], "memory", "long");
    assert_eq!((&memory["group"], &memory["value"]), (&"Resources".into(), &"MEMORY".into()));
    assert_eq!(named(&table["options"], "io", "long")["default"], "auto");
    assert!(table["examples"].as_array().unwrap().len() > 5);
    // Those of another parser, too.
    let lines = named(&all["commands"], "xsort-lines", "name");
    assert_eq!(named(&lines["options"], "numeric-sort", "long")["short"][0], "n");
    let merge = sandbox.json("help part merge");
    assert_eq!(merge["name"], "xsort-part-merge");
    assert_eq!(sandbox.ok("help sort"), sandbox.ok("sort --help"));
    assert!(sandbox.fails("help nothing", 2).contains("'nothing'"));
}
