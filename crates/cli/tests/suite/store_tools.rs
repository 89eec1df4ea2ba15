//! Commands about a store: `xsort status` for uploads under way, and `xsort du` for objects.

use crate::objects::{sandbox, server, store, uploads};
use crate::sandbox::{Sandbox, clean, program};
use serde_json::json;
use server::{Server, Wrong};
use std::collections::HashMap;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use xsort_objects::{Client, Location, SimStore};

fn pause() {
    thread::sleep(Duration::from_millis(5));
}

/// A job that has published its upload and waits for the store, which accepts no part until it is
/// released.
struct Uploading {
    store: Arc<SimStore>,
    server: Server,
    sandbox: Sandbox,
    takes_parts: Arc<AtomicBool>,
    job: Child,
}

impl Uploading {
    fn start() -> Uploading {
        Uploading::start_with(&[])
    }

    fn start_with(options: &[&str]) -> Uploading {
        let (store, takes_parts) = (store(), Arc::new(AtomicBool::new(false)));
        let goes_on = Arc::clone(&takes_parts);
        let server = Server::start(&store, move |asked| {
            while asked.has("partNumber") && !goes_on.load(Relaxed) {
                pause();
            }
            Wrong::Nothing
        });
        let mut sandbox = sandbox(&server);
        let status = sandbox.path().join("status").to_str().unwrap().to_owned();
        sandbox.variables.push(("XSORT_STATUS_DIR".into(), status));
        sandbox.ok("gen -q 40MB in");
        let mut command = clean(program());
        command.args(["sort", "-q", "in", "-o", "s3://bucket/dir/out"]).args(options);
        command.current_dir(sandbox.path()).envs(sandbox.variables.iter().cloned());
        let job = command.spawn().unwrap();
        while sandbox.json("status")["jobs"][0]["snapshot"]["uploads"][0].is_null() {
            pause();
        }
        Uploading { store, server, sandbox, takes_parts, job }
    }

    /// Kills the job by SIGKILL.
    fn kill(&mut self) {
        self.job.kill().unwrap();
        self.job.wait().unwrap();
        self.takes_parts.store(true, Relaxed);
    }

    /// Begins an upload as another program would.
    fn begin_other(&self, key: &str) {
        let object = Location::parse(Path::new(&format!("s3://bucket/{key}"))).unwrap();
        self.store.create_multipart(&object, "another program's").unwrap();
    }
}

#[test]
fn an_upload_of_a_running_job_is_kept_whatever_its_age() {
    let mut uploading = Uploading::start();
    let sandbox = &uploading.sandbox;
    let json = sandbox.json("status s3://bucket/dir/out");
    let upload = &json["uploads"][0];
    assert_eq!((&upload["writer"], &upload["removed"]), (&"running".into(), &false.into()));
    assert_eq!(upload["job"], uploading.job.id().to_string());
    let said = sandbox.ok("status --clear --older-than 0s s3://bucket/");
    assert!(
        said.starts_with("s3://bucket/dir/out: begun ") && said.ends_with(": kept\n"),
        "{said}"
    );
    sandbox.ok("status --clear");
    assert_eq!(uploads(&uploading.store), 1);
    uploading.takes_parts.store(true, Relaxed);
    assert!(uploading.job.wait().unwrap().success());
    assert_eq!(uploading.store.object("s3://bucket/dir/out").unwrap().len(), 40_000_000);
    let said = sandbox.ok("status --clear s3://bucket/dir");
    assert_eq!(said, "no upload is under way at s3://bucket/dir\n");
}

#[test]
fn what_a_killed_job_left_is_removed_and_what_others_left_by_its_age() {
    let mut uploading = Uploading::start();
    uploading.kill();
    for key in ["dir/other", "dir-other"] {
        uploading.begin_other(key);
    }
    let sandbox = &uploading.sandbox;
    let killed = format!("by job {}, which was killed", uploading.job.id());
    let said = sandbox.ok("status s3://bucket/dir/");
    assert!(said.contains(&killed) && said.lines().count() == 2, "{said}");
    let ended = sandbox.run("status --clear s3://bucket/dir");
    assert!(ended.stdout.contains(&format!("{killed}: removed")), "{}", ended.stdout);
    let other = ended.stdout.lines().next().unwrap();
    assert!(other.starts_with("s3://bucket/dir/other: begun "), "{other}");
    assert!(other.ends_with("not known here: kept"), "{other}");
    assert!(ended.stderr.contains("--older-than"), "{}", ended.stderr);
    assert_eq!((ended.code, uploads(&uploading.store)), (Some(0), 2));
    sandbox.ok("status --clear --older-than 10000d s3://bucket/");
    assert_eq!(uploads(&uploading.store), 2);
    let json = sandbox.json("status --clear --older-than 10d s3://bucket/dir/");
    assert_eq!((&json["uploads"][0]["removed"], &json["failed"]), (&json!(true), &json!([])));
    assert!(json["uploads"][0]["job"].is_null());
    assert_eq!(uploads(&uploading.store), 1);
}

/// An upload that its sort can continue is kept, and distinguished from those of others.
#[test]
fn an_upload_that_can_be_resumed_is_no_leftover() {
    let mut uploading = Uploading::start_with(&["--checkpoint", "-m", "60M", "-j", "2", "-T", "."]);
    let running = uploading.sandbox.json("status s3://bucket/");
    assert_eq!(running["uploads"][0]["writer"], "running");
    uploading.kill();
    let sandbox = &uploading.sandbox;
    let ended = sandbox.run("status --clear s3://bucket/");
    let told = "which was killed: --resume goes on with it, --restart removes it: kept\n";
    assert!(ended.stdout.ends_with(told), "{}", ended.stdout);
    assert!(ended.stderr.contains("--older-than"), "{}", ended.stderr);
    assert_eq!(sandbox.json("status s3://bucket/")["uploads"][0]["writer"], "resumable");
    sandbox.ok("status --clear");
    assert_eq!(uploads(&uploading.store), 1);
    // The job's status is gone, as if a signal had ended it; its journal still names the upload.
    assert_eq!(sandbox.json("status s3://bucket/")["uploads"][0]["writer"], "unknown");
    let ended = sandbox.run("status --clear s3://bucket/ -T .");
    let told = "by a sort that was interrupted: --resume goes on with it, --restart removes it";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
    assert!(ended.stdout.ends_with(".journal): kept\n"), "{}", ended.stdout);
    assert!(ended.code == Some(0) && ended.stderr.contains("--older-than"), "{}", ended.stderr);
    assert_eq!(sandbox.json("status s3://bucket/ -T .")["uploads"][0]["writer"], "resumable");
    sandbox.ok("sort -q in -o s3://bucket/dir/out --resume -m 60M -j 2 -T .");
    assert_eq!(uploads(&uploading.store), 0);
    assert_eq!(uploading.store.object("s3://bucket/dir/out").unwrap().len(), 40_000_000);
    // An upload that won't be continued is cleared by its age.
    let mut uploading = Uploading::start_with(&["--checkpoint", "-m", "60M", "-j", "2", "-T", "."]);
    uploading.kill();
    uploading.sandbox.ok("status --clear --older-than 10000d s3://bucket/");
    assert_eq!(uploads(&uploading.store), 1);
    uploading.sandbox.ok("status --clear --older-than 10d s3://bucket/");
    assert_eq!(uploads(&uploading.store), 0);
}

/// The ID of the upload is in the job's status, which must not be removed first.
#[test]
fn clearing_a_killed_job_clears_its_upload_first() {
    let mut uploading = Uploading::start();
    uploading.kill();
    let mut sandbox = uploading.sandbox;
    let job = sandbox.json("status")["jobs"][0].clone();
    assert_eq!(job["leftovers"]["uploads"], json!(["s3://bucket/dir/out"]));
    let right = std::mem::replace(&mut sandbox.variables[1].1, "wrong".into());
    let error = sandbox.fails("status --clear", 2);
    assert!(error.contains("removing s3://bucket/dir/out: the store denies access"), "{error}");
    assert_eq!(uploads(&uploading.store), 1);
    sandbox.variables[1].1 = right;
    let said = sandbox.ok("status --clear");
    assert!(said.contains("an upload to s3://bucket/dir/out"), "{said}");
    assert_eq!(uploads(&uploading.store), 0);
    assert_eq!(sandbox.ok("status --clear"), "no killed job left anything\n");
    drop(uploading.server);
}

/// Another process may clear at the same time, and answers may be lost.
#[test]
fn clearing_twice_at_once_and_over_a_bad_network_is_no_error() {
    let store = store();
    let seen: Mutex<HashMap<String, u32>> = Mutex::default();
    let server = Server::start(&store, move |asked| {
        let mut seen = seen.lock().unwrap();
        let times = seen.entry(format!("{} {}", asked.method, asked.target)).or_default();
        *times += 1;
        match times {
            1 => Wrong::NoAnswer,
            2 => Wrong::Refuse(503, "SlowDown"),
            _ => Wrong::Nothing,
        }
    });
    let sandbox = sandbox(&server);
    let bucket = Location::parse(Path::new("s3://bucket/")).unwrap();
    for number in 0..5 {
        store.create_multipart(&bucket.with_key(number.to_string()), "").unwrap();
    }
    let clear = || sandbox.ok("status --clear --older-than 1d s3://bucket/");
    thread::scope(|scope| {
        scope.spawn(clear);
        clear();
    });
    assert_eq!(uploads(&store), 0);
}

#[test]
fn what_is_no_bucket_or_no_age_is_refused() {
    let store = store();
    let server = Server::start(&store, |_| Wrong::Nothing);
    let sandbox = sandbox(&server);
    for (line, reason) in [
        ("status s3://nowhere/", "there is no such bucket"),
        ("status https://host/", "a web server doesn't list"),
        ("status --clear gs://b/", "GOOGLE_APPLICATION_CREDENTIALS"),
        ("status --clear az://bucket/", "vanishes after a week"),
        ("status --clear s3://bucket/ --older-than 12", "s, m, h or d, such as 12h"),
        ("status --clear s3://bucket/ --older-than dd", "a whole number"),
        ("status --clear --older-than 1d", "name where they are"),
        ("status s3://bucket/ --older-than 1d", "--clear"),
    ] {
        let error = sandbox.fails(line, 2);
        assert!(error.contains(reason), "{line}: {error}");
    }
}

/// Objects in place of the files of `du`. `a/` is a directory as some programs mark one.
fn tree() -> (Arc<SimStore>, Server) {
    let store = store();
    for (key, bytes) in
        [("a/", 0), ("a/1", 1000), ("a/b/2", 3000), ("a/b//3", 10), ("a-b", 7), ("ab/x", 5)]
    {
        store.put_object(&format!("s3://bucket/{key}"), vec![0; bytes]);
    }
    let server = Server::start(&store, |_| Wrong::Nothing);
    (store, server)
}

#[test]
fn objects_are_counted_as_files_are() {
    let (_store, server) = tree();
    let sandbox = sandbox(&server);
    for (line, expected) in [
        ("du -b s3://bucket/a", "10 a/b/|3010 a/b|4010 a"),
        ("du -b s3://bucket/a/", "10 a/b/|3010 a/b|4010 a/"),
        ("du -ab s3://bucket/a", "1000 a/1|10 a/b//3|10 a/b/|3000 a/b/2|3010 a/b|4010 a"),
        ("du -sb s3://bucket/", "4022 "),
        ("du -b -d1 s3://bucket/", "4010 a|5 ab|4022 "),
        ("du -abS -t 5 --exclude=b s3://bucket/", "7 a-b|1000 a/1|1000 a|5 ab/x|5 ab|7 "),
        ("du --inodes s3://bucket/", "1 a/b/|2 a/b|4 a|1 ab|6 "),
        ("du s3://bucket/a/b", "1 a/b/|3 a/b"),
        ("du -h s3://bucket/a/b/2", "3.0K a/b/2"),
        ("du -ab --top 2 s3://bucket/", "4022 |4010 a"),
        ("du -b --sort=name s3://bucket/a", "4010 a|3010 a/b|10 a/b/"),
        ("du -cb s3://bucket/a/b s3://bucket/ab", "10 a/b/|3010 a/b|5 ab|3015 total"),
    ] {
        let printed = sandbox.ok(line).replace('\t', " ").replace("s3://bucket/", "");
        let printed = printed.trim_end_matches('\n').replace('\n', "|");
        assert_eq!(printed, expected, "{line}");
    }
    let timed = sandbox.ok("du -s --time --time-style=+%s s3://bucket/a");
    assert!(timed.contains("\t17000000"), "{timed}");
    let json = sandbox.json("du -s s3://bucket/a");
    assert_eq!(json["entries"][0]["apparent_bytes"], 4010);
    assert_eq!((&json["total"]["inodes"], &json["errors"]), (&json!(4), &json!([])));
    let tree = sandbox.ok("du --tree -ab s3://bucket/ --color=never");
    assert!(tree.contains("a-b") && tree.contains("4.0K") || tree.contains("4022"), "{tree}");
}

#[test]
fn files_and_objects_are_counted_together_and_failures_leave_the_rest() {
    let (_store, server) = tree();
    let sandbox = sandbox(&server);
    sandbox.write("file", "123");
    assert!(sandbox.ok("du -bc file s3://bucket/ab").ends_with("8\ttotal\n"));
    for (line, reason) in [
        ("du -b s3://bucket/none file", "there is no such object, and none below it"),
        ("du -b s3://bucket/none/ file", "s3://bucket/none/: there is no object below it"),
        ("du -b s3://nowhere/ file", "there is no such bucket"),
        ("du -b https://host/x file", "a web server doesn't list"),
        ("du -bx s3://bucket/ file", "-x: a store has no file systems"),
        ("du -bl s3://bucket/ file", "hard links"),
        ("du -bL s3://bucket/ file", "symbolic links"),
        ("du -b --time=atime --time-style=+ s3://bucket/ file", "no such time"),
    ] {
        let ended = sandbox.run(line);
        assert!(ended.stderr.contains(reason), "{line}: {}", ended.stderr);
        assert!(ended.stdout.starts_with("3\t") && ended.stdout.lines().count() == 1, "{line}");
        assert_eq!((ended.code, ended.stderr.lines().count()), (Some(1), 1), "{line}");
    }
    let json = sandbox.json("du s3://bucket/none");
    assert_eq!(json["errors"][0]["path"], "s3://bucket/none");
}
