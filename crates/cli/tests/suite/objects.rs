//! Objects of a store as inputs and outputs of the program, from and to a server in this process.

#[path = "../../../objects/tests/suite/server.rs"]
#[expect(dead_code, reason = "the tests of the crate need all of it")]
mod server;

use crate::sandbox::{Sandbox, program};
use server::{BUCKET, KEY_ID, SECRET, Server, Wrong};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use xsort_objects::{Client, Location, SimStore, StoreOptions};

fn store() -> Arc<SimStore> {
    Arc::new(SimStore::new(StoreOptions::default()))
}

/// A sandbox whose programs reach the server as its user.
fn sandbox(server: &Server) -> Sandbox {
    let endpoint = format!("http://{}", server.address);
    Sandbox::with_variables(&[
        ("AWS_ACCESS_KEY_ID", KEY_ID),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_ENDPOINT_URL", &endpoint),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ])
}

fn uploads(store: &SimStore) -> usize {
    let bucket = Location::parse(Path::new(&format!("s3://{BUCKET}/"))).unwrap();
    store.list_multipart(&bucket).unwrap().len()
}

#[test]
fn records_come_from_objects_and_go_to_them() {
    let store = store();
    let server = Server::start(&store, |_| Wrong::Nothing);
    let sandbox = sandbox(&server);
    sandbox.ok("gen -q 12MB s3://bucket/in/a");
    sandbox.ok("gen -q 1000000 --seed 1 s3://bucket/in/b+c%20ü");
    sandbox.ok("gen -q 12MB a");
    sandbox.ok("gen -q 1000000 --seed 1 b");
    sandbox.ok("sort -q a b -o sorted");
    for (line, from) in [
        ("sort -q s3://bucket/in/ -o s3://bucket/out -m 80M", "--against s3://bucket/in/"),
        ("sort -q s3://bucket/in/* -o s3://bucket/out -m 54M -j 2 -T .", "--against a --against b"),
        (
            "sort -q a s3://bucket/in/b* -o s3://bucket/out --bandwidth-limit 1G",
            "--against a --against b",
        ),
    ] {
        sandbox.ok(line);
        let verdict = sandbox.json(&format!("verify s3://bucket/out {from}"));
        assert!(verdict["ok"] == true && verdict["records"] == 130_000, "{line}: {verdict}");
        sandbox.ok("sort -q s3://bucket/out -o again");
        assert_eq!(sandbox.read("again"), sandbox.read("sorted"), "{line}");
    }
    sandbox.ok("gen -q 0 s3://bucket/empty");
    sandbox.ok("sort -q s3://bucket/empty -o s3://bucket/still-empty");
    sandbox.ok("verify -q s3://bucket/still-empty");
    assert_eq!(uploads(&store), 0);
}

#[test]
fn lines_and_tables_come_from_objects_and_go_to_them() {
    let store = store();
    let server = Server::start(&store, |_| Wrong::Nothing);
    let sandbox = sandbox(&server);
    let text: String = (0..200_000_u64).map(|n| format!("{}\n", n * 7919 % 1_000_003)).collect();
    store.put_object("s3://bucket/text", text.clone());
    sandbox.write("text", text);
    sandbox.ok("lines -n text -o sorted");
    for line in [
        "lines -n s3://bucket/text -o s3://bucket/lines",
        "lines -n -S 60M text -o s3://bucket/lines",
    ] {
        sandbox.ok(line);
        assert_eq!(
            sandbox.ok("lines -m -n s3://bucket/lines").into_bytes(),
            sandbox.read("sorted")
        );
        sandbox.ok("lines -c -n s3://bucket/lines");
    }
    store.put_object("s3://bucket/t/a.csv", "id,name\n2,b\n10,\"c\nd\"\n");
    store.put_object("s3://bucket/t/b.csv", "id,name\n1,a\n");
    sandbox.ok("table -q s3://bucket/t/ --by id:int -o s3://bucket/t.csv.zst");
    let expected = "id,name\n1,a\n2,b\n10,\"c\nd\"\n";
    assert_eq!(sandbox.ok("table -q s3://bucket/t.csv.zst --by id:int -o -"), expected);
    assert_eq!(uploads(&store), 0);
}

#[test]
fn what_is_wrong_is_said_and_the_old_object_stays() {
    let store = store();
    let server = Server::start(&store, |_| Wrong::Nothing);
    let sandbox = sandbox(&server);
    sandbox.ok("gen -q 100000 in");
    store.put_object("s3://bucket/old", "old");
    store.put_object("s3://bucket/short", vec![0; 150]);
    for (line, code, reason) in [
        ("sort s3://bucket/none -o out", 3, "there is no such object"),
        ("sort s3://nowhere/in -o out", 2, "there is no such bucket"),
        ("sort in -o s3://nowhere/out", 2, "there is no such bucket"),
        ("sort s3://bucket/short -o s3://bucket/old", 3, "no multiple of the record's"),
        ("sort in -o s3://bucket/old -m 40M -j 2", 4, "of 40.0 MiB is too small"),
        ("sort in -o s3://bucket/old -m 48M -j 2", 4, "(-m 51M)"),
    ] {
        let error = sandbox.fails(line, code);
        assert!(error.contains(reason), "{line}: {error}");
    }
    let stranger = Sandbox::with_variables(&[
        ("AWS_ACCESS_KEY_ID", "someone"),
        ("AWS_SECRET_ACCESS_KEY", "else"),
        ("AWS_ENDPOINT_URL", &format!("http://{}", server.address)),
    ]);
    let error = stranger.fails("sort s3://bucket/old -o out", 2);
    assert!(error.contains("credentials") && !error.contains("else"), "{error}");
    assert_eq!((store.object("s3://bucket/old"), uploads(&store)), (Some("old".into()), 0));
}

/// Wherever the signal comes, nothing is left.
#[test]
fn a_signal_leaves_no_upload() {
    for line in ["sort in -o s3://bucket/out", "lines in -o s3://bucket/out"] {
        let store = store();
        let has_part = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&has_part);
        let decide = move |asked: &server::Asked| {
            if asked.method == "PUT" {
                seen.store(true, Relaxed);
                thread::sleep(Duration::from_secs(2));
            }
            Wrong::Nothing
        };
        let server = Server::start(&store, decide);
        let sandbox = sandbox(&server);
        sandbox.ok("gen -q 40MB in");
        let mut command = Command::new(program());
        command.args(line.split_whitespace());
        command.current_dir(sandbox.path()).envs(sandbox.variables.iter().cloned());
        let mut child = command.spawn().unwrap();
        while !has_part.load(Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(!child.wait().unwrap().success(), "{line}");
        assert_eq!((store.object("s3://bucket/out"), uploads(&store)), (None, 0), "{line}");
    }
}
