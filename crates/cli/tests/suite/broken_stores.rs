//! Stores that break connections, list wrongly or give wrong answers. None of this leads to an
//! output with status 0, and nothing ends the program without a message.

use crate::objects::{sandbox, server, store, uploads};
use crate::sandbox::Sandbox;
use server::{Asked, Server, Wrong};
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// A proxy for a server. It breaks a set number of connections in the middle of a part.
struct BrittleWay {
    address: SocketAddr,
    breaks_left: Arc<AtomicUsize>,
}

/// The bytes of requests after which a connection breaks.
const BREAK_BYTES: usize = 300_000;

impl BrittleWay {
    fn to(server: SocketAddr, breaks: usize) -> BrittleWay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let breaks_left = Arc::new(AtomicUsize::new(breaks));
        let left = Arc::clone(&breaks_left);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
                let left = Arc::clone(&left);
                thread::spawn(move || carry(&client, &server, &left));
            }
        });
        BrittleWay { address, breaks_left }
    }
}

/// Carries bytes both ways until one side ends, or the connection breaks.
fn carry(client: &TcpStream, server: &TcpStream, breaks_left: &AtomicUsize) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::copy(&mut &*server, &mut &*client);
            let _ = client.shutdown(Shutdown::Write);
        });
        let (mut buffer, mut carried) = (vec![0; 64 << 10], 0);
        while let Ok(bytes @ 1..) = (&*client).read(&mut buffer) {
            carried += bytes;
            let breaks = |left: usize| left.checked_sub(1);
            if carried > BREAK_BYTES && breaks_left.fetch_update(Relaxed, Relaxed, breaks).is_ok() {
                // The client sees the end of the stream, and what it still writes meets a reset:
                // some of its bytes are unread.
                let _ = client.shutdown(Shutdown::Write);
                thread::sleep(Duration::from_millis(20));
                break;
            }
            if (&*server).write_all(&buffer[..bytes]).is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Both);
    });
}

/// The request is sent again, because SIGPIPE only concerns standard output.
#[test]
fn a_store_that_breaks_connections_is_asked_again() {
    let store = store();
    let server = Server::start(&store, |_| Wrong::Nothing);
    let mut sandbox = sandbox(&server);
    sandbox.ok("gen -q 60MB -f gensort-ascii in");
    let way = BrittleWay::to(server.address, 0);
    let endpoint = format!("http://{}", way.address);
    sandbox.variables.push(("AWS_ENDPOINT_URL".to_owned(), endpoint));
    for line in [
        "sort -q in -o s3://bucket/out",
        "lines in -o s3://bucket/out",
        "gen -q 60MB s3://bucket/out",
    ] {
        store.remove_object("s3://bucket/out");
        way.breaks_left.store(12, Relaxed);
        sandbox.ok(line);
        assert_eq!(way.breaks_left.load(Relaxed), 0, "{line}");
        let there = store.object("s3://bucket/out").unwrap();
        assert_eq!((there.len(), uploads(&store)), (60_000_000, 0), "{line}");
    }
    // A closed pipe still ends the program.
    store.put_object("s3://bucket/text", "some text\n".repeat(1_000_000));
    let mut command = std::process::Command::new(crate::sandbox::program());
    command.args(["lines", "s3://bucket/text"]).envs(sandbox.variables.iter().cloned());
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(13), "{ended}");
}

/// A sandbox with an old output, in which programs reach a store of three objects below `in/`.
fn with_old_output(server: &Server) -> Sandbox {
    let sandbox = sandbox(server);
    sandbox.write("old", "old");
    sandbox
}

fn three_objects() -> Arc<xsort_objects::SimStore> {
    let store = store();
    for (key, seed) in [("in/a", 1_u8), ("in/b", 2), ("in/c", 3)] {
        store.put_object(&format!("s3://bucket/{key}"), vec![seed; 1000]);
    }
    store
}

/// A page of a list, as S3 writes it.
fn page(keys: &[&str], end: &str) -> String {
    let mut text = "<?xml version=\"1.0\"?><ListBucketResult><Name>bucket</Name>".to_owned();
    for key in keys {
        let _ = write!(text, "<Contents><Key>{key}</Key><Size>1000</Size></Contents>");
    }
    text + end + "</ListBucketResult>"
}

/// The text after the keys of a page that isn't the last one.
const MORE: &str =
    "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>";
const LAST: &str = "<IsTruncated>false</IsTruncated>";

/// Wrong lists, each with the message that it causes: the first page, and all following ones.
fn wrong_lists() -> Vec<(&'static str, String, String)> {
    let html = "<!DOCTYPE html>\n<html><body>Sign in to the network</body></html>".to_owned();
    let as_version_1 = page(&["in/a"], "<Marker></Marker><IsTruncated>true</IsTruncated>");
    let twice = (page(&["in/a", "in/b"], MORE), page(&["in/b", "in/c"], LAST));
    let again = (page(&["in/a"], MORE), page(&["in/a"], MORE));
    let circle = (page(&["in/a"], MORE), page(&[], MORE));
    vec![
        ("there is more of it (IsTruncated)", as_version_1, String::new()),
        ("it has in/a twice", page(&["in/a"], ""), String::new()),
        ("names a page to come", page(&["in/a"], &MORE.replace("true", "false")), String::new()),
        ("Sign in to the network", html.clone(), String::new()),
        ("Sign in to the network", page(&["in/a"], MORE), html),
        ("200 with no ListBucketResult, but nothing", String::new(), String::new()),
        ("no ListBucketResult", page(&["in/a"], LAST)[..90].to_owned(), String::new()),
        ("it has in/b twice", twice.0, twice.1),
        ("it has in/a twice", again.0, again.1),
        ("its page t names itself", circle.0, circle.1),
        ("it has other/a, which doesn't begin with in/", page(&["other/a"], LAST), String::new()),
        ("its keys don't rise: in/a follows in/b", page(&["in/b", "in/a"], LAST), String::new()),
    ]
}

/// No list is taken for complete, and an old output stays.
#[test]
fn a_list_that_can_not_be_trusted_is_an_error() {
    let store = three_objects();
    for (reason, first, others) in wrong_lists() {
        let server = Server::start(&store, move |asked: &Asked| {
            match (asked.has("list-type"), asked.value("continuation-token")) {
                (true, "") => Wrong::Say(first.clone()),
                (true, _) => Wrong::Say(others.clone()),
                _ => Wrong::Nothing,
            }
        });
        let sandbox = with_old_output(&server);
        for (line, code) in [
            ("sort s3://bucket/in/ -o old", 5),
            ("verify s3://bucket/in/", 5),
            ("table s3://bucket/in/ --by 1 --format csv -o old", 5),
            ("part plan s3://bucket/in/ -o old -- sort", 5),
        ] {
            let error = sandbox.fails(line, code);
            assert!(error.contains(reason), "{line}: {error}");
            assert!(error.contains("s3://bucket/in/"), "{line}: {error}");
        }
        for (line, code) in [
            ("lines --recursive s3://bucket/in/ -o old", 2),
            ("lines s3://bucket/in/* -o old", 2),
            ("du s3://bucket/in/", 1),
        ] {
            let ended = sandbox.run(line);
            assert!(ended.stderr.contains(reason), "{line}: {}", ended.stderr);
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{line}");
        }
        assert_eq!(sandbox.read("old"), b"old", "{reason}");
    }
}

/// A step's server keeps running when a reader goes away in the middle of a slice.
#[test]
fn a_server_of_slices_outlives_its_readers() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 40MB in");
    let job = crate::part::Job::mapped(sandbox, "in", "100M", 1, "sort");
    let server = crate::part::Server::of(&job.sandbox, "a");
    let (address, path) = server.url["http://".len()..].split_once('/').unwrap();
    for _ in 0..20 {
        let mut reader = TcpStream::connect(address).unwrap();
        write!(reader, "GET /{path}/slice-0.data HTTP/1.1\r\n\r\n").unwrap();
        reader.read_exact(&mut [0; 1000]).unwrap();
        // Unread bytes make this a reset.
        drop(reader);
    }
    let mut reader = TcpStream::connect(address).unwrap();
    write!(reader, "HEAD /{path}/slice-0.data HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    match reader.read_to_string(&mut answer) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
        _ => {}
    }
    assert!(answer.contains("content-length: 40000000"), "{answer}");
    server.end();
}

/// A typo in a prefix is not an empty input: the old output stays.
#[test]
fn a_prefix_without_objects_is_an_error_unless_it_is_meant() {
    let store = three_objects();
    // Some programs mark a directory like this.
    store.put_object("s3://bucket/marked/", "");
    let server = Server::start(&store, |_| Wrong::Nothing);
    let sandbox = with_old_output(&server);
    for prefix in ["s3://bucket/typo/", "s3://bucket/marked/", "s3://bucket/marked"] {
        for (line, code) in [
            (format!("sort {prefix} -o old"), 3),
            (format!("sort s3://bucket/in/ {prefix} -o old"), 3),
            (format!("sort --record prefixed:u8 {prefix} -o old"), 3),
            (format!("table --format csv --by 1 {prefix} -o old"), 3),
            (format!("verify {prefix}"), 3),
            (format!("verify s3://bucket/in/ --against {prefix}"), 3),
            (format!("part plan {prefix} -o old -- sort"), 3),
        ] {
            let error = sandbox.fails(&line, code);
            assert!(error.contains("there is no object below it: check its name"), "{error}");
        }
        let ended = sandbox.run(&format!("lines --recursive {prefix} -o old"));
        assert!(ended.stderr.contains("there is no object below it"), "{}", ended.stderr);
        assert_eq!(ended.code, Some(2));
        assert_eq!(sandbox.read("old"), b"old");
        sandbox.ok(&format!("sort -q --allow-empty {prefix} -o new"));
        assert_eq!(sandbox.read("new"), b"");
        sandbox.ok(&format!("sort -q --allow-empty s3://bucket/in/ {prefix} -o new"));
        assert_eq!(sandbox.read("new").len(), 3000);
        sandbox.run(&format!("lines --recursive --allow-empty {prefix} -o new"));
        assert_eq!(sandbox.read("new"), b"");
    }
}
