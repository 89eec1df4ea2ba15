//! Objects of Google's stores through the XML API: names and conditions that differ from S3's, and
//! a token.

use crate::http::{disk_of, environment, listed, serving, store};
use crate::server::{Asked, BUCKET, Server, TOKEN, Wrong, crc32c};
use crate::transfers::{PAGE, go_on, leave_behind, read_all, write_all};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use xsort_disk::{Disk, Found, InputFiles};
use xsort_objects::{Environment, Location, ObjectDisk, Payload, Reason, Stop, connect};
use xsort_testing::Random;

const MIB: usize = 1 << 20;

/// Returns the environment of a user with a token.
pub(crate) fn with_token(server: &Server, token: &str) -> Environment {
    let endpoint = format!("http://{}/storage/v1/", server.address);
    environment(
        server,
        &[
            ("AWS_ACCESS_KEY_ID", ""),
            ("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", &endpoint),
            ("CLOUDSDK_AUTH_ACCESS_TOKEN", token),
        ],
    )
}

fn disk(server: &Server) -> ObjectDisk {
    disk_of(with_token(server, TOKEN))
}

/// Returns an object's URL, and its URL in the simulated store.
fn urls(key: &str) -> (String, String) {
    (format!("gs://{BUCKET}/{key}"), format!("s3://{BUCKET}/{key}"))
}

#[test]
fn an_object_is_written_read_listed_and_removed() {
    let store = store();
    let server = Server::start(&store, |asked| match asked.number % 5 {
        1 => Wrong::Refuse(503, "SlowDown"),
        2 => Wrong::NoAnswer,
        _ => Wrong::Nothing,
    });
    let disk = disk(&server);
    for (key, length) in [("a b+c%20d/ü", 12 * MIB + 123), ("small", 100), ("empty", 0)] {
        let (url, there) = urls(key);
        let bytes = Random::new(1).bytes(length);
        write_all(&disk, Path::new(&url), &bytes, 0..length.div_ceil(PAGE)).unwrap();
        assert!(store.object(&there).as_deref() == Some(&bytes[..]), "{key}");
        assert!(read_all(&disk, Path::new(&url), 300).unwrap() == bytes, "{key}");
    }
    let listed = listed(&disk, Path::new("gs://bucket/"));
    let listed: Vec<&str> = listed.iter().map(|file| file.path.to_str().unwrap()).collect();
    assert_eq!(listed, ["gs://bucket/a b+c%20d/ü", "gs://bucket/empty", "gs://bucket/small"]);
    assert_eq!(disk.find(Path::new("gs://bucket/a b+c%20d")).unwrap(), Found::Directory);
    let input = disk.open_input(Path::new("gs://bucket/small")).unwrap();
    disk.remove_input(input).unwrap();
    disk.close(input);
    assert_eq!((store.object("s3://bucket/small"), store.upload_bytes()), (None, 0));
}

#[test]
fn what_is_replaced_is_noticed_and_what_is_there_is_kept() {
    let (store, server) = serving();
    let (url, there) = urls("k");
    store.put_object(&there, "old");
    let disk = disk(&server);
    let input = disk.open_input(Path::new(&url)).unwrap();
    store.put_object(&there, "new");
    assert!(disk.check_unchanged(input).is_err() && disk.remove_input(input).is_err());
    let client = connect(with_token(&server, TOKEN)).unwrap();
    let object = Location::parse(Path::new(&url)).unwrap();
    let payload = Payload::new("other".into());
    let failure = client.put(&object, &payload, "m", true, &Stop::default()).unwrap_err();
    assert_eq!(failure.reason, Reason::Exists);
    let upload = client.create_multipart(&object, "m").unwrap();
    assert_eq!(client.complete(&object, &upload, &[], true).unwrap_err().reason, Reason::Exists);
    let prefix = object.with_key("");
    assert_eq!(client.list_multipart(&prefix, &Stop::default()).unwrap().len(), 1);
    client.abort(&object, &upload).unwrap();
    assert_eq!(client.list_multipart(&prefix, &Stop::default()).unwrap().len(), 0);
    assert_eq!(store.object(&there).as_deref(), Some(&b"new"[..]));
}

#[test]
fn an_upload_is_gone_on_with() {
    let (store, server) = serving();
    let ((url, there), bytes) = (urls("k"), Random::new(6).bytes(17 * MIB));
    let left = leave_behind(&disk(&server), Path::new(&url), &bytes, 3);
    go_on(&disk(&server), Path::new(&url), &left, &bytes, 11 * MIB);
    assert!(store.object(&there).as_deref() == Some(&bytes[..]));
}

#[test]
fn errors_say_what_googles_tools_can_do_about_them() {
    let (_store, server) = serving();
    let home = tempfile::tempdir().unwrap();
    let broken = home.path().join("credentials.json");
    fs::write(&broken, "{\"type\": \"external_account\"}").unwrap();
    let file = ("GOOGLE_APPLICATION_CREDENTIALS", broken.to_str().unwrap());
    let no_token = ("CLOUDSDK_AUTH_ACCESS_TOKEN", "");
    let denied = (ErrorKind::PermissionDenied, "gcloud auth application-default");
    let cases = [
        (with_token(&server, "other"), "gs://bucket/k", denied),
        (environment(&server, &[file, no_token]), "gs://bucket/k", denied),
        (
            with_token(&server, TOKEN),
            "gs://bucket/k",
            (ErrorKind::NotFound, "there is no such object"),
        ),
        (
            with_token(&server, TOKEN),
            "gs://other/k",
            (ErrorKind::NotFound, "there is no such bucket"),
        ),
        (
            environment(&server, &[("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", "host")]),
            "gs://bucket/k",
            (ErrorKind::Unsupported, "is no URL"),
        ),
    ];
    for (environment, url, (kind, text)) in cases {
        let error = disk_of(environment).open_input(Path::new(url)).unwrap_err();
        assert_eq!(error.source.kind(), kind, "{error}");
        assert!(error.to_string().contains(text), "{error}");
        assert!(!error.to_string().contains("AWS_"), "{error}");
    }
}

/// The server compares checksums, so its implementation must be the standard one.
#[test]
fn the_servers_checksum_is_right() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
}

/// Like the client libraries, without credentials.
#[test]
fn an_emulator_is_asked_without_credentials() {
    let store = store();
    store.put_object("s3://public/k", "here");
    let server = Server::start(&store, |asked: &Asked| {
        assert!(!asked.headers.contains_key("authorization"));
        Wrong::Nothing
    });
    let host = server.address.to_string();
    for host in [host.clone(), format!("http://{host}/")] {
        let environment = environment(
            &server,
            &[("STORAGE_EMULATOR_HOST", &host), ("CLOUDSDK_AUTH_ACCESS_TOKEN", TOKEN)],
        );
        let read = read_all(&disk_of(environment), Path::new("gs://public/k"), 1).unwrap();
        assert_eq!(read, b"here");
    }
}
