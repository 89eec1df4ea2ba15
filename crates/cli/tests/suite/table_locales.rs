//! The type `locale` of `xsort table`, compared with GNU sort in the installed locales.

use crate::limits::peak_bytes;
use crate::lines_locales::words;
use crate::sandbox::{Sandbox, clean, program};
use serde_json::json;
use std::fmt::Write;
use xsort_gnu::Locale;
use xsort_testing::gnu;

const MIB: u64 = 1 << 20;
/// Memory that a job may need besides its budget.
const OVERHEAD_BYTES: u64 = 64 * MIB;

/// The locales of two languages, if they are installed.
fn locales() -> impl Iterator<Item = &'static str> {
    ["en_US.UTF-8", "sv_SE.UTF-8"].into_iter().filter(|locale| {
        let is_there = Locale::named(locale).is_some();
        if !is_there {
            eprintln!("SKIPPED: there is no locale {locale}");
        }
        is_there
    })
}

/// Runs a script in a locale, and returns its status, output and messages.
fn shell(sandbox: &Sandbox, locale: &str, script: &str) -> (Option<i32>, Vec<u8>, String) {
    let mut command = clean("bash");
    let output = command
        .args(["-c", &format!("set -o pipefail; {script}")])
        .env("xsort", program())
        .env("LC_ALL", locale)
        .current_dir(sandbox.path())
        .output()
        .unwrap();
    (output.status.code(), output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn answer(sandbox: &Sandbox, locale: &str, script: &str) -> Vec<u8> {
    let (code, stdout, stderr) = shell(sandbox, locale, script);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{locale}: {script}");
    stdout
}

/// Each line as a row of JSON.
fn as_rows(text: &str) -> String {
    text.lines().fold(String::new(), |rows, line| rows + &json!({ "t": line }).to_string() + "\n")
}

#[test]
fn rows_come_in_the_order_of_strcoll_as_gnu_sort_has_them() {
    if !gnu::has("sort") {
        return;
    }
    let sandbox = Sandbox::new();
    // Any bytes, including invalid UTF-8, except those with a meaning in tables.
    let mut text = words();
    text.retain(|byte| !b"\t\r".contains(byte));
    sandbox.write("text", &text);
    let text = String::from_utf8_lossy(&text).into_owned();
    sandbox.write("valid", &text);
    sandbox.write("valid.ndjson", as_rows(&text));
    let tsv = "table -f tsv --no-header";
    for locale in locales() {
        for (flags, direction, words) in
            [("", "", ""), ("-r", "-r", ":desc"), ("-ru", "-r", ":desc")]
        {
            let unique = if flags == "-ru" { "-u" } else { "" };
            // GNU sort keeps the order of texts that strcoll calls equal: here that of their bytes.
            let sort = |file| format!("LC_ALL=C sort {flags} {file} | sort -s {direction}");
            let expected = answer(&sandbox, locale, &sort("text"));
            for memory in ["8M", "64M"] {
                let by = format!("--by '#1:locale{words}'");
                let script = format!("$xsort {tsv} -m {memory} {unique} {by} text");
                let found = answer(&sandbox, locale, &script);
                assert!(found == expected, "{locale}: {script}");
            }
            let expected = answer(&sandbox, locale, &sort("valid"));
            let script = format!("$xsort table {unique} --by .t:locale{words} valid.ndjson");
            let found = answer(&sandbox, locale, &script);
            let expected = as_rows(&String::from_utf8(expected).unwrap());
            assert!(found == expected.into_bytes(), "{locale}: {script}");
        }
    }
}

#[test]
fn each_language_has_its_order_and_nulls_their_place() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", "n,t\n1,\u{f6}\n2,z\n3,\n4,\"O\"\n5,o\n");
    sandbox.write(
        "a.ndjson",
        "{\"n\":1,\"t\":\"\\u00f6\"}\n{\"n\":2,\"t\":\"z\"}\n{\"n\":3,\"t\":null}\n{\"n\":4}\n",
    );
    for locale in locales().chain(["C"]) {
        let [umlaut, rest, behind] = match locale {
            "en_US.UTF-8" => ["5412", "12", "2145"],
            "sv_SE.UTF-8" => ["5421", "21", "1245"],
            _ => ["4521", "21", "1254"],
        };
        for (script, expected) in [
            ("a.csv --by t:locale", format!("3{umlaut}")),
            ("a.csv --by t:locale:nulls-last", format!("{umlaut}3")),
            ("a.csv --by t:locale:desc:nulls-first", format!("3{behind}")),
            ("a.ndjson --by .t:locale", format!("{rest}43")),
            ("a.ndjson --by .t:locale:nulls-first", format!("43{rest}")),
        ] {
            let script = format!("$xsort table {script} | tr -cd 1-5");
            let found = String::from_utf8(answer(&sandbox, locale, &script)).unwrap();
            assert_eq!(found, expected, "{locale}: {script}");
        }
        let check = "$xsort table a.csv --by t:locale -o b.csv -q && $xsort table -c b.csv --by t";
        let (code, ..) = shell(&sandbox, locale, &format!("{check}:locale"));
        assert_eq!(code, Some(0), "{locale}");
    }
}

#[test]
fn a_locale_that_is_not_there_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", "t\nb\na\n");
    sandbox.write("out.csv", "old");
    for more in ["", "--dry-run", "--checkpoint", "--check"] {
        let output = if more == "--check" { "" } else { "-o out.csv" };
        let script = format!("$xsort table a.csv --by t:locale {more} {output}");
        let (code, _, stderr) = shell(&sandbox, "xx_YY.UTF-8", &script);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("(LC_ALL=xx_YY.UTF-8)"), "{stderr}");
        assert!(stderr.contains("locale -a"), "{stderr}");
        assert_eq!(sandbox.names(), ["a.csv", "out.csv"]);
        assert_eq!(sandbox.read("out.csv"), b"old");
    }
    // The other types don't need a locale.
    assert_eq!(answer(&sandbox, "C", "LC_ALL=xx_YY.UTF-8 $xsort table a.csv --by t"), b"t\na\nb\n");
}

#[test]
fn a_text_that_is_too_long_for_a_language_is_refused() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(64 << 10);
    sandbox.write("a.csv", format!("t\n{long}\na\n"));
    sandbox.write("b.csv", format!("t\na\n{long}x\n"));
    sandbox.write("b.ndjson", format!("{{\"t\":\"{long}\"}}\n"));
    for locale in locales() {
        answer(&sandbox, locale, "$xsort table a.csv --by t:locale");
        for (script, at) in [
            ("b.csv --by t:locale", "row 3: the value at 't'"),
            ("b.ndjson --by .t:locale", "row 1: the value at .t"),
        ] {
            let (code, _, stderr) = shell(&sandbox, locale, &format!("$xsort table {script}"));
            assert_eq!(code, Some(3), "{stderr}");
            assert!(stderr.contains(at) && stderr.contains("65536"), "{stderr}");
        }
    }
}

/// A table of names, with many words in one column.
fn names(rows: u64) -> String {
    let mut text = "name\n".to_owned();
    for row in 0..rows {
        let number = row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        writeln!(text, "\u{c5}sa \u{d6}berg {:x} {:x}", number >> 40, number & 0xffff).unwrap();
    }
    text
}

#[test]
fn a_sort_goes_on_in_its_locale_only() {
    let locales: Vec<_> = locales().collect();
    let [first, other] = locales[..] else { return };
    let sandbox = Sandbox::new();
    sandbox.write("in.csv", names(250_000));
    let line = "$xsort table -q in.csv --by name:locale -m 8M -o out.csv";
    answer(&sandbox, first, &format!("{line} && mv out.csv whole.csv"));
    // A file may have at most 8 MB, which acts like a full disk in the middle.
    let (code, _, stderr) = shell(&sandbox, first, &format!("ulimit -f 8000; {line} --checkpoint"));
    assert_eq!(code, Some(4), "{stderr}");
    let (code, _, stderr) = shell(&sandbox, other, &format!("{line} --resume"));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("--restart"), "{stderr}");
    answer(&sandbox, first, &format!("{line} --resume"));
    assert_eq!(sandbox.sha256("out.csv"), sandbox.sha256("whole.csv"));
    assert_eq!(sandbox.names(), ["in.csv", "out.csv", "whole.csv"]);
}

#[test]
fn keys_of_a_language_stay_within_the_budget() {
    let sandbox = Sandbox::new();
    sandbox.write("in.csv", names(300_000));
    for locale in locales().take(1) {
        for memory in [8, 32] {
            let mut command = clean(program());
            let line = format!("table -q in.csv --by name:locale -m {memory}M -o out.csv");
            command.args(line.split(' ')).current_dir(sandbox.path()).env("LC_ALL", locale);
            let peak = peak_bytes(command);
            assert!(peak <= memory * MIB + OVERHEAD_BYTES, "{locale}, {memory} MiB: {peak}");
        }
    }
}
