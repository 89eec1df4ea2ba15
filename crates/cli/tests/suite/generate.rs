//! `xsort gen`: writes the bytes of the public generator, for any memory and number of threads.

use crate::sandbox::Sandbox;

/// Arguments, checksum, SHA-256: figures of the Sort Benchmark's own gensort 1.5.
const GOLDEN: [(&str, &str, &str); 8] = [
    ("1000r", "1ea6370b955", "f524474116510d1debac6d38152e793a7e3cb71b1dd2bb45b6610e3c17698177"),
    (
        "-f gensort-ascii 1000r",
        "1f5dfb3631a",
        "6c26b26a61464dd78038f9c60907c851ac043c07584b12835fe065cbca31aad2",
    ),
    (
        "--skewed 1000r",
        "1e96301166b",
        "e29ce5d551d332a974d978a4a4b3535efcd5df559328fe4ee11bf7f481269444",
    ),
    (
        "-f gensort-ascii --skewed 1000r",
        "1eef17d1cac",
        "33dc462ab1da5ddedecf127d65c8856b59baec45a15b91f79aafd116514ac65e",
    ),
    (
        "--start 1000000 1000r",
        "1f912af9809",
        "445c54e9352d97e7f7ba3b045f655ffaad3726c1d7b55536aef4c858caf1b17e",
    ),
    (
        "-f gensort-ascii --start 1000000 1000r",
        "1fab8313123",
        "9f8d41a62fd57883a9a019833393132f801f40b2b2d41a429ba64a55de95d662",
    ),
    ("100MB", "7a0e0d4868cd4", "515ea89a091c2a746500f46edd54dc5626878b4e9308d00ecf91656e8e3c3028"),
    (
        "-f gensort-ascii 1000000r",
        "7a19cff467438",
        "f0521447a8c0928e6591308bbb3198e1d844a105f31ebe823f6ed80c743aef68",
    ),
];

#[test]
fn gensort_byte_for_byte() {
    let sandbox = Sandbox::new();
    for (arguments, checksum, sha256) in GOLDEN {
        let text = sandbox.ok(&format!("gen {arguments} file"));
        let records = if arguments.contains("1000r") { 1000 } else { 1_000_000 };
        assert!(
            text.starts_with(&format!("Records: {records}\nChecksum: {checksum}\n")),
            "{arguments}: {text}"
        );
        assert_eq!(sandbox.sha256("file"), sha256, "{arguments}");
    }
    assert_eq!(sandbox.names(), ["file"]);
}

#[test]
fn same_arguments_same_bytes() {
    let sandbox = Sandbox::new();
    for arguments in [
        "-f gensort --pattern zipf 8000r",
        "-f gensort-ascii --seed 9 --start 340282366920938463463374607431768203455 8000r",
        "-f kv128 --pattern sorted 8000r",
        "-f block4k --pattern few 200r",
    ] {
        sandbox.ok(&format!("gen {arguments} one"));
        for resources in
            ["-m 4KiB -j 1", "-m 4K -j 64", "-m 100kB -j 3", "-m 1% -j 2 --io sync", "--no-sync"]
        {
            sandbox.ok(&format!("gen {resources} {arguments} other"));
            assert!(sandbox.read("one") == sandbox.read("other"), "{arguments} {resources}");
        }
    }
}

#[test]
fn sizes_are_rounded_down_to_whole_records_and_it_says_so() {
    let sandbox = Sandbox::new();
    let text = sandbox.ok("gen 1K file");
    assert!(
        text.contains("Records: 10\n") && text.contains("Whole records only: 1000 bytes, 24 less"),
        "{text}"
    );
    assert_eq!(sandbox.read("file").len(), 1000);
    let json = sandbox.json("gen 1K file");
    assert_eq!((&json["bytes"], &json["left_over_bytes"]), (&1000.into(), &24.into()));
    assert_eq!(sandbox.ok("gen 0r empty -q"), "");
    assert_eq!(sandbox.read("empty").len(), 0);
}

#[test]
fn an_old_file_is_replaced_whole() {
    let sandbox = Sandbox::new();
    sandbox.write("file", vec![7; 1_000_000]);
    sandbox.ok("gen 10r file");
    assert_eq!(sandbox.read("file").len(), 1000);
    assert_eq!(sandbox.names(), ["file"]);
}

#[test]
fn what_cant_be_generated_is_refused() {
    let sandbox = Sandbox::new();
    for (line, code, reason) in [
        ("gen 99 file", 2, "less than one record of 100"),
        ("gen -m 50 1000r file", 4, "at least 4.00 KiB (-m 4K)"),
        ("gen -m 4095 1000r file", 4, "at least 4.00 KiB (-m 4K)"),
        ("gen -f kv128 --skewed 1000r file", 2, "no skewed keys"),
        ("gen --skewed --pattern zipf 1000r file", 2, "both set the key"),
        ("gen --pattern odd 1000r file", 2, "'odd'"),
        ("gen -f csv 1000r file", 2, "'csv'"),
        ("gen 12X file", 2, "unknown unit 'X'"),
        ("gen 1.5r file", 2, "whole number and an r"),
        ("gen -m 0% 1r file", 2, "1% to 100%"),
        ("gen --start 340282366920938463463374607431768211455 2r file", 2, "2^128"),
        ("gen --start -1 2r file", 2, "'-1'"),
        ("gen 1000r missing/file", 2, "create it first"),
        ("gen 900P file", 4, "free space"),
        ("gen 99999999999999999r file", 2, "more than any file can hold"),
    ] {
        let error = sandbox.fails(line, code);
        assert!(error.contains(reason), "{line}: {error}");
        assert!(sandbox.names().is_empty(), "{line} left {:?}", sandbox.names());
    }
}
