//! Objects of a store as inputs and outputs of the program. The store is a server in this process.

#[path = "../../../objects/tests/suite/server.rs"]
#[expect(dead_code, reason = "the tests of the crate need all of it")]
pub(crate) mod server;

use crate::sandbox::{Sandbox, clean, program};
use crate::signals::is_ignored;
use rustix::process::Signal;
use server::azure::{ACCOUNT, ACCOUNT_KEY};
use server::{BUCKET, KEY_ID, SECRET, Server, Wrong};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use xsort_objects::{Client, Location, SimStore, Stop, StoreOptions};
use xsort_testing::quick_or_long;

pub(crate) fn store() -> Arc<SimStore> {
    Arc::new(SimStore::new(StoreOptions::default()))
}

/// A sandbox whose programs reach the server as its user.
pub(crate) fn sandbox(server: &Server) -> Sandbox {
    let endpoint = format!("http://{}", server.address);
    Sandbox::with_variables(&[
        ("AWS_ACCESS_KEY_ID", KEY_ID),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_ENDPOINT_URL", &endpoint),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ])
}

pub(crate) fn uploads(store: &SimStore) -> usize {
    let bucket = Location::parse(Path::new(&format!("s3://{BUCKET}/"))).unwrap();
    store.list_multipart(&bucket, &Stop::default()).unwrap().len()
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

/// A sandbox whose programs reach the server as Azure's, with its account.
fn sandbox_of_azure(server: &Server) -> Sandbox {
    let endpoint = format!("http://{}/{ACCOUNT}", server.address);
    Sandbox::with_variables(&[
        ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT),
        ("AZURE_STORAGE_KEY", ACCOUNT_KEY),
        ("AZURE_STORAGE_ENDPOINT", &endpoint),
    ])
}

#[test]
fn objects_of_azure_are_sorted_as_others() {
    let store = store();
    let server = Server::start(&store, |_| Wrong::Nothing);
    let sandbox = sandbox_of_azure(&server);
    sandbox.ok("gen -q 12MB az://bucket/in/a");
    sandbox.ok("gen -q 1000000 --seed 1 az://bucket/in/b+c%20ü");
    sandbox.ok("sort -q az://bucket/in/ -o az://bucket/out -m 80M");
    let verdict = sandbox.json("verify az://bucket/out --against az://bucket/in/");
    assert!(verdict["ok"] == true && verdict["records"] == 130_000, "{verdict}");
    sandbox.ok("gen -q 0 az://bucket/empty");
    sandbox.ok("sort -q az://bucket/empty -o az://bucket/still-empty");
    store.put_object("s3://bucket/text", "b\na\n");
    assert_eq!(sandbox.ok("lines az://bucket/te?t"), "a\nb\n");
    store.put_object("s3://bucket/t.csv", "k\n2\n1\n");
    sandbox.ok("table az://bucket/t.csv --by k:int -o az://bucket/u.csv");
    assert_eq!(store.object("s3://bucket/u.csv").as_deref(), Some(&b"k\n1\n2\n"[..]));
    assert!(sandbox.ok("du -b az://bucket/in").starts_with("13000000\t"));
    sandbox.ok("sort -q az://bucket/in/a -o az://bucket/sorted --remove-input");
    assert_eq!(store.object("s3://bucket/in/a"), None);
}

/// The sort reuses the blocks that were sent.
#[test]
fn a_sort_to_azure_is_resumed() {
    let store = store();
    let (is_broken, sent) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (breaks, counts) = (Arc::clone(&is_broken), Arc::clone(&sent));
    let server = Server::start(&store, move |asked| {
        let is_block = asked.value("comp") == "block";
        match is_block && counts.fetch_add(1, Relaxed) >= 3 && breaks.load(Relaxed) {
            true => Wrong::Refuse(403, "AuthorizationFailure"),
            false => Wrong::Nothing,
        }
    });
    let sandbox = sandbox_of_azure(&server);
    sandbox.ok("gen -q 60MB in");
    let options = "-m 60M -j 2 -T .";
    let error = sandbox.fails(&format!("sort -q in -o az://bucket/out --checkpoint {options}"), 5);
    assert!(error.contains("AuthorizationFailure"), "{error}");
    is_broken.store(false, Relaxed);
    sandbox.ok(&format!("sort -q in -o az://bucket/out --resume {options}"));
    sandbox.ok("verify -q az://bucket/out --against in");
    assert_eq!(sandbox.names(), ["in"]);
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

#[test]
fn lines_take_the_size_of_parts_too() {
    let store = store();
    let server = Server::start(&store, |_| Wrong::Nothing);
    let sandbox = sandbox(&server);
    sandbox.ok("gen -q 20MB in");
    sandbox.ok("lines in -o s3://bucket/out --s3-part-size=6M --s3-connections=3 -S 200M");
    let parts = server.seen().iter().filter(|line| line.contains("partNumber=")).count();
    assert_eq!(parts, 4);
    for (line, reason) in [
        ("lines in -o out --s3-part-size=4M", "a part has at least 5 MiB"),
        ("lines in -o out --s3-part-size=x", "invalid --s3-part-size argument"),
        ("lines in -o out --s3-connections=0", "from 1 to 1024 are possible"),
    ] {
        let ended = sandbox.run(line);
        assert!(ended.code == Some(2) && ended.stderr.contains(reason), "{line}: {}", ended.stderr);
    }
}

#[test]
fn an_object_that_exists_is_kept_if_asked_for() {
    let store = store();
    let server = Server::start(&store, |_| Wrong::Nothing);
    let sandbox = sandbox(&server);
    sandbox.ok("gen -q 12MB in");
    for line in ["gen -q 12MB", "sort -q in -m 60M -o", "lines in -S 60M -o"] {
        sandbox.ok(&format!("{line} s3://bucket/out --no-clobber"));
        let first = store.object("s3://bucket/out");
        let ended = sandbox.run(&format!("{line} s3://bucket/out --no-clobber"));
        let is_said = ended.stderr.contains("--no-clobber keeps it");
        assert!(ended.code == Some(2) && is_said, "{line}: {}", ended.stderr);
        assert!(store.object("s3://bucket/out") == first && uploads(&store) == 0);
        store.remove_object("s3://bucket/out");
    }
}

#[test]
fn a_dry_run_counts_the_requests_that_there_will_be() {
    let store = store();
    let server = Server::start(&store, |_| Wrong::Nothing);
    let sandbox = sandbox(&server);
    sandbox.ok("gen -q 20000000 s3://bucket/in");
    let line = "sort s3://bucket/in -o s3://bucket/out -m 200M -j 2 --s3-part-size 6M";
    let requests = sandbox.json(&format!("{line} --dry-run"))["requests"].clone();
    assert_eq!((&requests["puts"], &requests["gets"]), (&6.into(), &(20 + 5).into()));
    let before = server.seen().len();
    sandbox.ok(&format!("{line} -q"));
    let seen = server.seen().split_off(before);
    let count = |names: [&str; 2]| {
        seen.iter().filter(|line| names.iter().any(|name| line.starts_with(name))).count() as u64
    };
    assert_eq!(count(["PUT", "POST"]), 6);
    // Where chunks meet, some ranges are shorter.
    let gets = count(["GET", "HEAD"]);
    assert!((25..40).contains(&gets), "{gets}");
    // The list is one request more.
    store.remove_object("s3://bucket/out");
    let prefix = line.replace("bucket/in ", "bucket/ ");
    let listing = sandbox.json(&format!("{prefix} --dry-run"))["requests"].clone();
    assert_eq!(listing["puts"], 7, "{listing}");
    // Sampling the keys for bins reads a range for each place.
    let scatter = line.replace("-m 200M", "-m 60M --method scatter -T .");
    let requests = sandbox.json(&format!("{scatter} --dry-run"))["requests"].clone();
    let before = server.seen().len();
    sandbox.ok(&format!("{scatter} -q"));
    let gets = server.seen().split_off(before);
    let gets = gets.iter().filter(|line| line.starts_with("GET") || line.starts_with("HEAD"));
    let (said, gets) = (requests["gets"].as_u64().unwrap(), gets.count() as u64);
    assert!(said > 1_000 && (said..said + 40).contains(&gets), "{said} {gets}");
    let text = sandbox.ok("gen 12MB s3://bucket/out --s3-part-size 5M --dry-run");
    assert!(
        text.contains("\nrequests         about 2 GET and HEAD, 5 PUT, POST and LIST: 0.0000"),
        "{text}"
    );
}

#[test]
fn inputs_are_removed_once_the_output_is_there_and_only_then() {
    let store = store();
    let server = Server::start(&store, |asked| {
        // The store has no space for it.
        let is_refused = asked.method == "PUT" && asked.path == "/bucket/full";
        if is_refused { Wrong::Refuse(400, "QuotaExceeded") } else { Wrong::Nothing }
    });
    let sandbox = sandbox(&server);
    let there = |key: &str| store.object(&format!("s3://bucket/{key}")).is_some();
    sandbox.ok("gen -q 1000000 s3://bucket/in/a");
    sandbox.ok("gen -q 1000000 --seed 1 s3://bucket/in/b");
    sandbox.ok("gen -q 1000000 --seed 2 c");
    let error = sandbox.fails("sort --remove-input s3://bucket/in/ c -o s3://bucket/full", 5);
    assert!(error.contains("QuotaExceeded"), "{error}");
    assert!(there("in/a") && there("in/b") && sandbox.path().join("c").exists());
    // The output may be an input, and stays.
    sandbox.ok("sort -q --remove-input s3://bucket/in/a s3://bucket/in/b c -o s3://bucket/in/b");
    assert!(!there("in/a") && there("in/b") && !sandbox.path().join("c").exists());
    let verdict = sandbox.json("verify s3://bucket/in/b");
    assert!(verdict["ok"] == true && verdict["records"] == 30_000, "{verdict}");
    sandbox.ok("sort -q --remove-input s3://bucket/in/b -o out");
    assert!(!there("in/b"));
    sandbox.ok("verify -q out");
}

/// The signal may come at any time.
#[test]
fn a_signal_leaves_no_upload() {
    for line in ["sort in -o s3://bucket/out", "lines in -o s3://bucket/out"] {
        let store = store();
        let (server, hold) = holding_server(&store, 1);
        let sandbox = sandbox(&server);
        sandbox.ok("gen -q 40MB in");
        signalled(&sandbox, line, &hold, Signal::TERM);
        assert_eq!((store.object("s3://bucket/out"), uploads(&store)), (None, 0), "{line}");
    }
}

/// Holds requests back until it is released. So a sort continues up to them, and no further.
#[derive(Default)]
struct Hold {
    holds: AtomicBool,
    is_over: AtomicBool,
}

/// A server that holds the n-th part, and the parts that arrive after that.
fn holding_server(store: &Arc<SimStore>, part: usize) -> (Server, Arc<Hold>) {
    let seen = AtomicUsize::new(0);
    holding(store, move |asked| asked.method == "PUT" && seen.fetch_add(1, Relaxed) + 1 >= part)
}

/// A server that holds some of the requests.
fn holding(
    store: &Arc<SimStore>,
    is_held: impl Fn(&server::Asked) -> bool + Send + Sync + 'static,
) -> (Server, Arc<Hold>) {
    let hold = Arc::new(Hold::default());
    let shared = Arc::clone(&hold);
    let decide = move |asked: &server::Asked| {
        if is_held(asked) {
            shared.holds.store(true, Relaxed);
            while !shared.is_over.load(Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
        }
        Wrong::Nothing
    };
    (Server::start(store, decide), hold)
}

/// Runs a command, and sends it a signal while its requests are held. Releases them once it has
/// ended. Returns its exit status.
fn signalled(sandbox: &Sandbox, line: &str, hold: &Hold, signal: Signal) -> Option<i32> {
    let mut command = clean(program());
    command.args(line.split_whitespace());
    command.current_dir(sandbox.path()).envs(sandbox.variables.iter().cloned());
    let mut child = command.spawn().unwrap();
    while !hold.holds.load(Relaxed) {
        assert_eq!(child.try_wait().unwrap(), None, "{line}");
        thread::sleep(Duration::from_millis(5));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
    let ended = child.wait().unwrap();
    assert!(!ended.success(), "{line}");
    hold.is_over.store(true, Relaxed);
    ended.code()
}

/// After a signal, the program doesn't wait for a store that doesn't answer.
#[test]
fn a_signal_ends_a_look_at_a_store_that_is_silent() {
    for line in [
        "sort s3://bucket/in -o out",
        "sort s3://bucket/ -o out",
        "gen 1MB s3://bucket/out",
        "verify s3://bucket/in",
        "table s3://bucket/in --by 1:int -o out",
        "status s3://bucket/",
        "status --clear s3://bucket/out",
    ] {
        let (server, hold) = holding(&store(), |_| true);
        let sandbox = sandbox(&server);
        assert_eq!(signalled(&sandbox, line, &hold, Signal::TERM), Some(128 + 15), "{line}");
        assert!(sandbox.names().is_empty(), "{line}");
    }
}

/// Credentials may expire while parts are sent. Then the store doesn't drop the parts.
#[test]
fn parts_that_stay_in_the_store_are_said() {
    let store = store();
    let is_expired = Arc::new(AtomicBool::new(true));
    let refuses = Arc::clone(&is_expired);
    let server = Server::start(&store, move |asked| {
        let is_late = asked.method == "DELETE" || asked.value("partNumber") == "2";
        match is_late && refuses.load(Relaxed) {
            true => Wrong::Refuse(400, "ExpiredToken"),
            false => Wrong::Nothing,
        }
    });
    let sandbox = sandbox(&server);
    sandbox.ok("gen -q 40MB in");
    for (line, code) in
        [("sort -q in -o s3://bucket/out", 5), ("lines in -S 200M -o s3://bucket/out", 2)]
    {
        is_expired.store(true, Relaxed);
        let ended = sandbox.run(line);
        assert_eq!((ended.code, uploads(&store)), (Some(code), 1), "{line}: {}", ended.stderr);
        let way_out = "status --clear --older-than 0s s3://bucket/out";
        let says = |text: &str| ended.stderr.contains(text);
        assert!(says("have expired") && says(&format!("'xsort {way_out}'")), "{}", ended.stderr);
        is_expired.store(false, Relaxed);
        sandbox.ok(way_out);
        assert_eq!(uploads(&store), 0, "{line}");
    }
}

/// The requests that name an upload, or begin one.
fn asked_of_uploads(server: &Server) -> Vec<String> {
    let of_upload = |asked: &String| asked.contains("uploadId=") || asked.contains("?uploads=");
    server.seen().into_iter().filter(of_upload).collect()
}

const KILLED: [&str; 3] = [
    "sort -q in -o s3://bucket/out -m 60M -j 2 -T . --s3-part-size 5M",
    "sort -q in -o s3://bucket/out -m 60M -j 2 -T . --s3-part-size 5M --method scatter",
    "lines in -o s3://bucket/out -S 70M -T . --parallel=2",
];

#[test]
fn a_sort_to_an_object_that_is_killed_goes_on() {
    // SIGINT may be ignored where tests run: in the background of a shell.
    let stopped = if is_ignored(Signal::INT) { Signal::TERM } else { Signal::INT };
    let all = [
        (KILLED[0], Signal::KILL),
        (KILLED[0], Signal::TERM),
        (KILLED[1], Signal::KILL),
        (KILLED[2], Signal::KILL),
        (KILLED[2], stopped),
    ];
    for (line, signal) in all.into_iter().step_by(quick_or_long(3, 1)) {
        let store = store();
        let (server, hold) = holding_server(&store, 6);
        let sandbox = sandbox(&server);
        sandbox.ok("gen -q 100MB -f gensort-ascii in");
        signalled(&sandbox, &format!("{line} --checkpoint"), &hold, signal);
        assert_eq!((store.object("s3://bucket/out"), uploads(&store)), (None, 1), "{line}");
        while store.upload_bytes() < 5 * (5 << 20) {
            thread::sleep(Duration::from_millis(5));
        }
        sandbox.ok(&format!("{line} --resume"));
        assert_eq!(uploads(&store), 0, "{line}");
        sandbox.ok("verify -q s3://bucket/out --against in");
        let asked = asked_of_uploads(&server);
        let begun =
            asked.iter().filter(|asked| asked.starts_with("POST") && !asked.contains("Id="));
        assert_eq!(begun.count(), 1, "{line}: {asked:#?}");
        assert!(asked.iter().any(|asked| asked.starts_with("GET")), "{line}: {asked:#?}");
        assert!(!crate::sandbox::names(sandbox.path()).iter().any(|name| name.starts_with('.')));
    }
}

#[test]
fn what_is_kept_of_a_killed_sort_to_an_object_is_refused_cleared_and_checked() {
    let line = KILLED[0];
    let store = store();
    let (server, hold) = holding_server(&store, 4);
    let sandbox = sandbox(&server);
    sandbox.ok("gen -q 100MB -f gensort-ascii in");
    store.put_object("s3://bucket/in", sandbox.read("in"));
    let line = line.replace(" in ", " s3://bucket/in ");
    signalled(&sandbox, &format!("{line} --checkpoint"), &hold, Signal::KILL);
    let error = sandbox.fails(&format!("{line} --checkpoint"), 2);
    assert!(error.contains("--resume") && error.contains("--restart"), "{error}");
    // The same bytes at the same time, but another object.
    store.put_object("s3://bucket/in", sandbox.read("in"));
    let error = sandbox.fails(&format!("{line} --resume"), 3);
    assert!(error.contains("s3://bucket/in") && error.contains("--restart"), "{error}");
    assert_eq!(uploads(&store), 1);
    sandbox.ok(&format!("{line} --restart"));
    assert_eq!(uploads(&store), 0);
    sandbox.ok("verify -q s3://bucket/out --against in");
}

/// A rule of the bucket has aborted the upload.
#[test]
fn an_upload_that_is_gone_begins_anew_and_says_so() {
    let store = store();
    let (server, hold) = holding_server(&store, 4);
    let sandbox = sandbox(&server);
    sandbox.ok("gen -q 100MB -f gensort-ascii in");
    let line = KILLED[0].replace("-q ", "");
    signalled(&sandbox, &format!("{line} --checkpoint"), &hold, Signal::KILL);
    store.abort_uploads("s3://bucket/out");
    sandbox.ok(&format!("{line} --resume"));
    sandbox.ok("verify -q s3://bucket/out --against in");
    assert_eq!(uploads(&store), 0);
}
