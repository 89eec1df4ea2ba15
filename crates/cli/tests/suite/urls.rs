//! URLs on the command line: they are objects, even if files have such names. The user here has no
//! credentials, and the errors say so.

use crate::sandbox::{Ended, Sandbox, clean, program};
use std::fs;
use std::os::unix::fs::symlink;

const REFUSAL: &str = "credentials";

/// A sandbox with records, lines, a table, and files in a directory named like the beginning of a
/// URL.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_variables(&[
        ("AWS_ACCESS_KEY_ID", ""),
        ("AWS_CONFIG_FILE", "/nowhere"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_PROFILE", ""),
        ("AWS_SHARED_CREDENTIALS_FILE", "/nowhere"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", ""),
        ("AZURE_STORAGE_ACCOUNT", ""),
        ("AZURE_STORAGE_ACCOUNT_NAME", ""),
        ("AZURE_STORAGE_CONNECTION_STRING", ""),
        ("CLOUDSDK_AUTH_ACCESS_TOKEN", ""),
        ("CLOUDSDK_CONFIG", "/nowhere"),
        ("GCE_METADATA_HOST", "127.0.0.1:1"),
        ("GCE_METADATA_IP", "127.0.0.1:1"),
        ("GOOGLE_APPLICATION_CREDENTIALS", ""),
        ("HOME", "/nowhere"),
        ("STORAGE_EMULATOR_HOST", ""),
    ]);
    fs::create_dir_all(sandbox.path().join("s3:/b")).unwrap();
    sandbox.ok("gen -q 10000 in");
    sandbox.ok("gen -q 10000 ./s3://b/records");
    sandbox.write("s3:/b/lines", "b\na\n");
    sandbox.write("s3:/b/t.csv", "k\n2\n1\n");
    sandbox.write("lines", "d\nc\n");
    sandbox.write("list", "s3://b/lines\0");
    sandbox.write("t.csv", "k\n4\n3\n");
    sandbox
}

#[test]
fn a_url_is_refused_whatever_files_there_are() {
    let sandbox = sandbox();
    let before = (sandbox.names(), names_in(&sandbox));
    for line in [
        "sort s3://b/records -o out",
        "sort s3://b/ -o out",
        "sort s3://b/rec* -o out",
        "sort in -o s3://b/out",
        "sort --dry-run s3://b/records -o out",
        "sort --record prefixed:u8 s3://b/records -o out",
        "sort --record prefixed:u8 in -o gs://b/out",
        "table s3://b/t.csv --by k -o out",
        "table s3://b/t.csv --by k --dry-run",
        "table t.csv --by k -o az://b/out.csv",
        "table t.csv --by k -o s3://b/out.csv --file-size 1M",
        "gen 1000 s3://b/out",
        "verify s3://b/records",
        "verify in --summary s3://b/sum",
        "verify --summaries s3://b/sum",
        "verify --record prefixed:u8 s3://b/records",
    ] {
        let error = sandbox.fails(line, 2);
        assert!(error.contains(REFUSAL), "{line}: {error}");
    }
    for line in [
        "lines s3://b/lines",
        "lines lines s3://b/lines -o out",
        "lines -m s3://b/lines lines",
        "lines -c s3://b/lines",
        "lines --files0-from=s3://b/list",
        "lines --files0-from=list",
        "lines --dry-run s3://b/lines",
        "lines --recursive s3://b/",
        "lines s3://b/l*",
        "lines lines -o s3://b/out",
        "lines -m lines -o s3://b/out",
    ] {
        let Ended { code, stdout, stderr } = sandbox.run(line);
        assert_eq!((code, &*stdout), (Some(2), ""), "{line}: {stderr}");
        assert!(stderr.contains(REFUSAL), "{line}: {stderr}");
        assert!(stderr.starts_with("xsort lines: ") && stderr.lines().count() == 1, "{stderr}");
    }
    assert_eq!((sandbox.names(), names_in(&sandbox)), before);
}

fn names_in(sandbox: &Sandbox) -> Vec<String> {
    crate::sandbox::names(&sandbox.path().join("s3:/b"))
}

#[test]
fn scratch_is_no_object() {
    let sandbox = sandbox();
    let error = sandbox.fails("sort in -o out -T s3://b/ -m 200K", 2);
    assert!(error.contains("scratch needs a directory of this machine"), "{error}");
    let ended = sandbox.run("du -b s3://b/lines lines");
    assert_eq!((ended.code, &*ended.stdout), (Some(1), "4\tlines\n"));
    assert!(ended.stderr.contains(REFUSAL), "{}", ended.stderr);
}

#[test]
fn a_file_that_is_called_like_a_url_has_a_name() {
    let sandbox = sandbox();
    assert_eq!(sandbox.ok("lines ./s3://b/lines lines"), "a\nb\nc\nd\n");
    assert_eq!(sandbox.ok("table ./s3://b/t.csv t.csv --by k:int -o -"), "k\n1\n2\n3\n4\n");
    sandbox.ok("sort -q ./s3://b/records -o ./s3://b/out");
    sandbox.ok("verify -q ./s3://b/out");
    assert_eq!(sandbox.ok("du -b ./s3://b/lines"), "4\t./s3://b/lines\n");
}

/// To GNU sort and du every name is a file's, even of a file that is large enough to be read by the
/// disk.
#[test]
fn a_program_that_is_called_sort_or_du_knows_no_urls() {
    let sandbox = sandbox();
    let mut large: Vec<String> =
        (0..1_000_000_u64).map(|n| format!("{:09}\n", n * 7 % 11)).collect();
    sandbox.write("s3:/b/large", large.concat());
    large.sort();
    let run = |name: &str, line: &str| {
        let link = sandbox.path().join(name);
        let _ = symlink(program(), &link);
        let mut command = clean(link);
        command.args(line.split_whitespace()).current_dir(sandbox.path()).env("LC_ALL", "C");
        command.output().unwrap()
    };
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    for (line, expected) in [
        ("s3://b/lines lines", "a\nb\nc\nd\n"),
        ("-m s3://b/lines", "b\na\n"),
        ("-S 8M s3://b/large", &*large.concat()),
    ] {
        let output = run("sort", line);
        assert!(
            output.status.success() && output.stdout == expected.as_bytes(),
            "{}",
            said(&output)
        );
    }
    assert!(run("sort", "s3://b/lines -o s3://b/sorted").status.success());
    assert_eq!(sandbox.read("s3:/b/sorted"), b"a\nb\n");
    let output = run("sort", "s3://b/none");
    let expected = "cannot read: 's3://b/none': No such file or directory";
    assert!(said(&output).contains(expected), "{}", said(&output));
    assert_eq!(run("du", "-b s3://b/lines").stdout, b"4\ts3://b/lines\n");
}
