//! Secrets in URLs: users and passwords, signatures, tokens. The program doesn't print, publish or
//! keep them.

use crate::objects::{sandbox, server, store};
use crate::sandbox::{Sandbox, program};
use server::{Asked, PUBLIC, Server, Wrong};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use xsort_testing::quick_or_long;

/// The texts that must not appear anywhere.
const SECRETS: [&str; 4] = ["PASSWORD", "SIGNATURE", "SESSION", "AKIASECRET"];

const QUERY: &str = "X-Amz-Credential=AKIASECRET%2Fx&X-Amz-Security-Token=SESSION&\
                     X-Amz-Signature=SIGNATURE&sig=SIGNATURE";

/// A URL of the server, with all secrets.
fn url(server: &Server, key: &str) -> String {
    format!("http://me:PASSWORD@{}/{PUBLIC}/{key}?{QUERY}", server.address)
}

fn assert_hidden(text: &str, what: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{what}: {text}");
    }
}

/// Runs a command. Returns its messages, after asserting that they have no secrets.
fn said(sandbox: &Sandbox, line: &str) -> String {
    let output = Command::new(program())
        .args(line.split_whitespace())
        .current_dir(sandbox.path())
        .envs(sandbox.variables.iter().cloned())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_hidden(&said, line);
    said
}

/// Commands of every kind that are given this URL.
fn commands(url: &str) -> Vec<String> {
    vec![
        format!("sort {url} -o out --verbose"),
        format!("sort {url} -o out --json"),
        format!("sort {url} -o out --dry-run"),
        format!("sort {url} -o out --dry-run --json"),
        format!("sort {url} -o {url}"),
        format!("sort {url} -o out --remove-input"),
        format!("sort {url} -o out --checkpoint -T ."),
        format!("sort {url} -o out -T {url}"),
        format!("sort --record prefixed:u8 {url} -o out"),
        format!("lines {url} -o out --verbose"),
        format!("lines {url} --json -o out"),
        format!("lines -c {url}"),
        format!("lines -c {url} {url}"),
        format!("lines -o {url} in"),
        format!("lines --dry-run --json {url} -o {url}"),
        format!("table {url} --by k:int -o out"),
        format!("table {url} --by k:int -o out --json --dry-run"),
        format!("table {url} --by none -o {url}"),
        format!("verify {url} --json"),
        format!("verify {url} --against {url}"),
        format!("verify {url} --summary {url}"),
        format!("verify --summaries {url}"),
        format!("gen 1000 {url}"),
        format!("gen 1000 out {url}"),
        format!("du {url}"),
        format!("du --files0-from={url}"),
        format!("du --files0-from={url} in"),
        format!("du -X {url} in"),
        format!("lines --files0-from={url} in"),
        format!("status {url}"),
        format!("status --clear {url}"),
    ]
}

#[test]
fn no_message_and_no_report_has_them() {
    let store = store();
    let server = Server::start(&store, |asked: &Asked| match asked.path.rsplit('/').next() {
        Some("denied") => Wrong::Refuse(403, "AccessDenied"),
        Some("short") => Wrong::HeadSays(100),
        Some("nameless") => Wrong::Says(&[("etag", ""), ("last-modified", "")]),
        _ => Wrong::Nothing,
    });
    let sandbox = sandbox(&server);
    sandbox.ok("gen -q 3000 in");
    let records = sandbox.read("in");
    for key in ["records", "short", "nameless"] {
        store.put_object(&format!("s3://{PUBLIC}/{key}"), records.clone());
    }
    store.put_object(&format!("s3://{PUBLIC}/t.csv"), "k\n2\nx\n");
    let mut lines = Vec::new();
    for key in ["records", "denied", "missing", "short", "nameless", "t.csv", "a/../b"] {
        let url = url(&server, key);
        lines.extend(commands(&url));
    }
    // Neither list has a multiple of 5 entries, so each key and each command is tried.
    for line in lines.iter().step_by(quick_or_long(5, 1)) {
        said(&sandbox, line);
    }
    let records = url(&server, "records");
    let missing = said(&sandbox, &format!("sort {} -o out", url(&server, "missing")));
    let shown =
        format!("opening http://***@{}/{PUBLIC}/missing?X-Amz-Credential=***&", server.address);
    let shown_of_find = shown.replace("opening", "inspecting");
    assert!(
        missing.contains(&shown) || missing.contains(&shown_of_find) || missing.contains("***")
    );
    let files = "--report page.html --trace trace.json";
    assert!(sandbox.run(&format!("sort -q {records} -o out {files}")).code == Some(0));
    for file in ["page.html", "trace.json"] {
        assert_hidden(&String::from_utf8(sandbox.read(file)).unwrap(), file);
    }
    assert!(String::from_utf8(sandbox.read("page.html")).unwrap().contains("***"));
    // Also in URLs of stores, where a user may paste them.
    for line in [
        &*format!("du --files0-from={records}"),
        &format!("du --files0-from=in {records}"),
        &format!("du -X {records} in"),
        "du --files0-from=ftp://AKIASECRET:PASSWORD@host/k",
        "sort s3://AKIASECRET:PASSWORD@bucket/k -o out",
        "lines az://bucket/k?sv=1&sig=SIGNATURE",
        "sort in -o gs://bucket/k?X-Goog-Signature=SIGNATURE",
        "du s3://AKIASECRET:PASSWORD@bucket/k",
    ] {
        let said = said(&sandbox, line);
        assert!(said.contains("***") || line.contains("az://"), "{line}: {said}");
    }
}

/// Every byte of every file below a directory.
fn bytes_below(directory: &Path, all: &mut Vec<u8>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => bytes_below(&path, all),
            false => all.extend(fs::read(&path).unwrap_or_default()),
        }
    }
}

/// Checked during a resumable sort: its status, its journal, its scratch.
#[test]
fn shared_memory_and_journals_have_none() {
    let store = store();
    let goes_on = Arc::new(AtomicBool::new(false));
    let may_go_on = Arc::clone(&goes_on);
    let server = Server::start(&store, move |asked| {
        let is_late = asked.method == "GET" && asked.header("range") > Some("bytes=8");
        while is_late && !may_go_on.load(Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
        Wrong::Nothing
    });
    let mut sandbox = sandbox(&server);
    let status = sandbox.path().join("status");
    sandbox.variables.push(("XSORT_STATUS_DIR".into(), status.to_str().unwrap().to_owned()));
    sandbox.ok("gen -q 40MB in");
    store.put_object(&format!("s3://{PUBLIC}/in"), sandbox.read("in"));
    fs::remove_file(sandbox.path().join("in")).unwrap();
    let mut command = Command::new(program());
    let url = url(&server, "in");
    command.args([
        "sort",
        "-q",
        &url,
        "-o",
        "out",
        "--checkpoint",
        "-m",
        "64M",
        "-j",
        "2",
        "-T",
        ".",
    ]);
    command.current_dir(sandbox.path()).envs(sandbox.variables.iter().cloned());
    let mut job = command.spawn().unwrap();
    while sandbox.json("status")["jobs"][0]["snapshot"]["job"]["arguments"].is_null() {
        thread::sleep(Duration::from_millis(5));
        assert!(job.try_wait().unwrap().is_none(), "it waits for the server");
    }
    let arguments = sandbox.json("status")["jobs"][0]["snapshot"]["job"]["arguments"].to_string();
    assert!(arguments.contains("***@") && arguments.contains("X-Amz-Signature=***"), "{arguments}");
    for line in ["status", "status --json"] {
        said(&sandbox, line);
    }
    said(&sandbox, &format!("status {}", job.id()));
    let mut all = Vec::new();
    bytes_below(sandbox.path(), &mut all);
    assert!(all.len() > 4096, "there is a status and a journal");
    for secret in SECRETS {
        let found = all.windows(secret.len()).any(|bytes| bytes == secret.as_bytes());
        assert!(!found, "{secret} is in a file");
    }
    goes_on.store(true, Relaxed);
    assert!(job.wait().unwrap().success());
}
