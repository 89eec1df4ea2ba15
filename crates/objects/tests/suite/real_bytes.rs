//! The examples' server: real objects over HTTP, used by the crate's own client and by requests in
//! the form of other programs.

use crate::s3_server::{Store, serve};
use crate::transfers::{PAGE, read_all, write_all};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use xsort_disk::{Error, InputFiles, SimDisk, SimOptions};
use xsort_objects::{Client, Location, ObjectDisk, ObjectSettings, Part, Payload, Stop, connect};
use xsort_testing::Random;

const MIB: usize = 1 << 20;

/// Starts a server with a bucket, which runs until the process ends.
fn start() -> SocketAddr {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::new(directory.path()).unwrap());
    store.create_bucket("b");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || serve(&listener, &store, Duration::ZERO));
    address
}

fn variable(address: SocketAddr, name: &str) -> Option<String> {
    match name {
        "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("anybody".into()),
        "AWS_ENDPOINT_URL" => Some(format!("http://{address}")),
        "AWS_EC2_METADATA_DISABLED" => Some("true".into()),
        _ => None,
    }
}

fn client(address: SocketAddr) -> Arc<dyn Client> {
    connect(Arc::new(move |name| variable(address, name))).unwrap()
}

fn disk(address: SocketAddr, no_clobber: bool) -> ObjectDisk {
    let settings =
        ObjectSettings { part_bytes: 5 << 20, writers: 2, no_clobber, ..Default::default() };
    let local = Arc::new(SimDisk::new(SimOptions::default()));
    let environment = Arc::new(move |name: &str| variable(address, name));
    ObjectDisk::with_environment(local, settings, environment)
}

fn at(key: &str) -> Location {
    Location::parse(Path::new(&format!("s3://b/{key}"))).unwrap()
}

/// Sends a request unchanged. Returns the answer, up to the end of the connection.
fn ask(address: SocketAddr, head: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!("{head}content-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn what_is_written_is_read_whatever_its_length_and_key() {
    let address = start();
    let disk = disk(address, false);
    for (key, length) in
        [("a b+c%20d/ü中//x?y=1&z#f", 12 * MIB + 123), ("/a//b", 100), ("a", 0), ("a", 10 * MIB)]
    {
        let (url, bytes) = (at(key).url(), Random::new(length as u64).bytes(length));
        write_all(&disk, &url, &bytes, 0..length.div_ceil(PAGE)).unwrap();
        assert!(read_all(&disk, &url, 300).unwrap() == bytes, "{key}");
    }
    let listed = client(address).list(&at(""), None, &Stop::default()).unwrap().objects;
    let bytes: Vec<u64> = listed.iter().map(|one| one.bytes).collect();
    assert_eq!(bytes, [100, 10 << 20, (12 << 20) + 123]);
    assert_eq!(client(address).list_multipart(&at(""), &Stop::default()).unwrap(), []);
}

#[test]
fn conditions_hold() {
    let address = start();
    let text = |result: Result<_, Error>| result.unwrap_err().to_string();
    for length in [100, 6 * MIB] {
        let (disk, url) = (disk(address, true), at("k").url());
        let bytes = Random::new(1).bytes(length);
        write_all(&disk, &url, &bytes, 0..length.div_ceil(PAGE)).unwrap();
        let again = text(write_all(&disk, &url, &bytes, 0..1));
        assert!(again.contains("there is an object already"), "{again}");
        let input = disk.open_input(&url).unwrap();
        let client = client(address);
        let payload = Payload::new("other".into());
        client.put(&at("k"), &payload, "mark", false, &Stop::default()).unwrap();
        assert!(text(disk.check_unchanged(input)).contains("written to"));
        assert!(text(disk.remove_input(input)).contains("written to"));
        let version = client.head(&at("k"), &Stop::default()).unwrap().version;
        client.remove(&at("k"), &version).unwrap();
        assert!(client.head(&at("k"), &Stop::default()).is_err());
    }
}

#[test]
fn what_is_wrong_with_parts_is_refused() {
    let (address, stop) = (start(), Stop::default());
    let client = client(address);
    let key = at("k");
    let upload = client.create_multipart(&key, "mark").unwrap();
    let put = |number, payload: &Payload| client.put_part(&key, &upload, number, payload, &stop);
    let payload = Payload::new("short".into());
    let parts = [1, 2].map(|number| {
        let etag = put(number, &payload).unwrap().etag.unwrap();
        Part { number, bytes: 5, etag, crc: payload.crc }
    });
    let other = Payload { crc: payload.crc ^ 1, ..payload };
    assert!(put(3, &other).unwrap_err().detail.contains("BadDigest"));
    let complete = |parts: &[Part]| client.complete(&key, &upload, parts, false);
    let refused = |parts: &[Part]| complete(parts).unwrap_err().detail;
    assert!(refused(&parts).contains("EntityTooSmall"));
    assert!(refused(&[]).contains("InvalidPartOrder"));
    let lost = Part { etag: "\"0\"".into(), ..parts[1].clone() };
    assert!(refused(&[lost]).contains("InvalidPart:"));
    assert_eq!(client.list_multipart(&key, &Stop::default()).unwrap().len(), 1);
    complete(&parts[1..]).unwrap();
    assert!(refused(&parts).contains("NoSuchUpload"));
    assert_eq!(client.head(&key, &Stop::default()).unwrap().bytes, 5);
}

#[test]
fn other_programs_find_what_they_ask_for() {
    let address = start();
    let ask = |head: &str, body: &str| ask(address, head, body.as_bytes());
    assert!(ask("PUT /new HTTP/1.1\r\n", "").starts_with("HTTP/1.1 200"));
    for key in ["a/1", "a/2", "b", "c/%C3%BC/1", "d"] {
        ask(&format!("PUT /new/{key} HTTP/1.1\r\nExpect: 100-continue\r\n"), key);
    }
    // Requests in the form of `aws s3 ls`, with two entries on each page.
    let (mut found, mut token) = (String::new(), String::new());
    loop {
        let page = ask(
            &format!(
                "GET /new?list-type=2&delimiter=%2F&max-keys=2&encoding-type=url{token} X\r\n"
            ),
            "",
        );
        for line in page.split("<Key>").skip(1).chain(page.split("s><Prefix>").skip(1)) {
            let _ = write!(found, "{} ", line.split('<').next().unwrap());
        }
        let Some((_, next)) = page.split_once("<NextContinuationToken>") else { break };
        token = format!("&continuation-token={}", next.split('<').next().unwrap());
    }
    // On each page of this server objects come first.
    assert_eq!(found, "b a/ d c/ ");
    let ranged = |range| ask(&format!("GET /new/c/%C3%BC/1 HTTP/1.1\r\nRange: {range}\r\n"), "");
    for (range, expected) in [("bytes=2-7", "%C3%BC"), ("bytes=-3", "C/1"), ("bytes=8-", "/1")] {
        let answer = ranged(range);
        assert!(answer.starts_with("HTTP/1.1 206") && answer.ends_with(expected), "{answer}");
    }
    assert!(ranged("bytes=10-").starts_with("HTTP/1.1 416"));
    for head in ["PUT /new/x X\r\nx-amz-copy-source: /new/b\r\n", "POST /new?delete X\r\n"] {
        assert!(ask(head, "").contains("NotImplemented"));
    }
    assert!(ask("DELETE /new X\r\n", "").contains("BucketNotEmpty"));
    assert!(ask("GET /none?list-type=2 X\r\n", "").contains("NoSuchBucket"));
    assert!(ask("GET / X\r\n", "").contains("<Name>b</Name></Bucket><Bucket><Name>new</Name>"));
}
