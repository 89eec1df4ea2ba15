//! Objects of Azure's Blob Storage: blocks, signatures, and no uploads.

use crate::http::{disk_of, disk_that, environment, listed, serving, store};
use crate::server::azure::{ACCOUNT, ACCOUNT_KEY, IDENTITY, SIGNED};
use crate::server::{Asked, BUCKET, Server, TOKEN, Wrong};
use crate::transfers::{PAGE, go_on, leave_behind, read_all, write_all, write_pages};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xsort_disk::{Disk, Found, InputFiles, OutputFiles};
use xsort_objects::{
    Bucket, Client, Environment, Location, ObjectDisk, Payload, Reason, Stop, connect,
    uploads_under_way,
};
use xsort_testing::Random;

const MIB: usize = 1 << 20;

/// Returns the environment of a user with the account's key, with some variables changed.
pub(crate) fn with(server: &Server, changed: &[(&str, &str)]) -> Environment {
    let endpoint = format!("http://{}/{ACCOUNT}/", server.address);
    let mut variables = vec![
        ("AWS_ACCESS_KEY_ID", ""),
        ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT),
        ("AZURE_STORAGE_ENDPOINT", &endpoint),
        ("AZURE_STORAGE_KEY", ACCOUNT_KEY),
    ];
    variables.extend(changed);
    environment(server, &variables)
}

fn disk(server: &Server) -> ObjectDisk {
    disk_of(with(server, &[]))
}

fn client(server: &Server) -> Arc<dyn Client> {
    connect(with(server, &[])).unwrap()
}

/// Returns an object's URL, and its URL in the simulated store.
fn urls(key: &str) -> (String, String) {
    (format!("az://{BUCKET}/{key}"), format!("s3://{BUCKET}/{key}"))
}

fn location(key: &str) -> Location {
    Location::parse(Path::new(&urls(key).0)).unwrap()
}

#[test]
fn an_object_is_written_read_listed_and_removed() {
    let (store, server) = serving();
    let disk = disk(&server);
    let keys = [
        ("a b+c%20d/ü中//x?y=1&z#f'(~)*!", 12 * MIB + 123),
        ("whole", 10 * MIB),
        ("small", 4097),
        ("empty", 0),
    ];
    for (key, length) in keys {
        let (url, there) = urls(key);
        let bytes = Random::new(1).bytes(length);
        write_all(&disk, Path::new(&url), &bytes, 0..length.div_ceil(PAGE)).unwrap();
        assert!(store.object(&there).as_deref() == Some(&bytes[..]), "{key}");
        assert!(read_all(&disk, Path::new(&url), 300).unwrap() == bytes, "{key}");
    }
    let listed = listed(&disk, Path::new("az://bucket/"));
    let listed: Vec<&str> = listed.iter().map(|file| file.path.to_str().unwrap()).collect();
    let mut expected = keys.map(|(key, _)| urls(key).0);
    expected.sort();
    assert_eq!(listed, expected);
    assert_eq!(disk.find(Path::new("az://bucket/a b+c%20d")).unwrap(), Found::Directory);
    assert_eq!(disk.find(Path::new("az://bucket/a b")).unwrap(), Found::Missing);
    let page = client(&server).list(&location("small"), None, &Stop::default()).unwrap();
    assert!(page.objects[0].modified.unwrap() > 1_600_000_000 && page.objects[0].bytes == 4097);
    let input = disk.open_input(Path::new("az://bucket/small")).unwrap();
    assert!(disk.identity(input).unwrap().modified.0 > 1_600_000_000);
    disk.remove_input(input).unwrap();
    disk.close(input);
    assert_eq!((store.object("s3://bucket/small"), store.upload_bytes()), (None, 0));
    let parts = server.seen().iter().filter(|line| line.contains("comp=block&")).count();
    assert_eq!(parts, 3 + 2);
}

/// This includes creating the object when the answer is lost.
#[test]
fn a_bad_network_changes_nothing() {
    for (no_clobber, length) in [(false, 11 * MIB + 1), (true, 11 * MIB), (true, 5000)] {
        let store = store();
        let is_lost = AtomicBool::new(false);
        let server = Server::start(&store, move |asked| match asked.number % 5 {
            _ if asked.method == "PUT" && asked.value("comp") != "block" => {
                match is_lost.swap(true, Ordering::Relaxed) {
                    false => Wrong::NoAnswer,
                    true => Wrong::Nothing,
                }
            }
            1 => Wrong::Refuse(503, "ServerBusy"),
            2 => Wrong::NoAnswer,
            3 if asked.method == "GET" => Wrong::CutAfter(10_000),
            4 if asked.method == "PUT" => Wrong::Refuse(500, "OperationTimedOut"),
            _ => Wrong::Nothing,
        });
        let disk = disk_that(with(&server, &[]), no_clobber);
        let ((url, there), bytes) = (urls("k"), Random::new(2).bytes(length));
        write_all(&disk, Path::new(&url), &bytes, 0..length.div_ceil(PAGE)).unwrap();
        assert!(store.object(&there).as_deref() == Some(&bytes[..]));
        assert!(read_all(&disk, Path::new(&url), 256).unwrap() == bytes);
        let made = server.seen().iter().filter(|line| line.starts_with("PUT")).count();
        let again = write_all(&disk, Path::new(&url), &bytes, 0..length.div_ceil(PAGE));
        assert_eq!(again.is_err(), no_clobber);
        let now = server.seen().iter().filter(|line| line.starts_with("PUT")).count();
        assert_eq!(now == made, no_clobber, "nothing was sent");
    }
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
    let (client, object) = (client(&server), location("k"));
    let stop = Stop::default();
    let version = client.head(&object, &Stop::default()).unwrap().version;
    store.put_object(&there, "newer");
    let failure = client.get_range(&object, &version, 0..3, &stop).err().unwrap();
    assert_eq!(failure.reason, Reason::Changed);
    let payload = Payload::new("other".into());
    let failure = client.put(&object, &payload, "m", true, &stop).unwrap_err();
    assert_eq!(failure.reason, Reason::Exists);
    let upload = client.create_multipart(&object, &"m".repeat(32)).unwrap();
    assert_eq!(client.complete(&object, &upload, &[], true).unwrap_err().reason, Reason::Exists);
    assert_eq!(store.object(&there).as_deref(), Some(&b"newer"[..]));
}

/// Blocks belong to a name, not to a writer. The first writer that completes discards the other's
/// blocks, and no object ever has blocks of both.
#[test]
fn two_writers_of_a_name_never_mix_their_parts() {
    let (store, server) = serving();
    let bytes: Vec<Vec<u8>> = (0..2).map(|n| Random::new(n).bytes(11 * MIB)).collect();
    let (url, there) = urls("k");
    let disks = [disk(&server), disk(&server)];
    let pages = bytes[0].len() / PAGE;
    let outputs = disks.each_ref().map(|disk| disk.create_output(Path::new(&url)).unwrap());
    for number in [0, 1] {
        let half = [0..pages / 2, pages / 2..pages][number].clone();
        for writer in [0, 1] {
            write_pages(&disks[writer], outputs[writer], &bytes[writer], half.clone()).unwrap();
        }
    }
    let length = bytes[0].len() as u64;
    // Waits until the other writer's blocks are there, which this completion discards.
    let mut blocks = 0;
    while blocks < 4 {
        server.change_blocks(&there, |name| blocks = name.uncommitted.len());
        std::thread::yield_now();
    }
    disks[1].publish(outputs[1], length, true).unwrap();
    assert!(store.object(&there).as_deref() == Some(&bytes[1][..]));
    let error = disks[0].publish(outputs[0], length, true).unwrap_err();
    assert!(error.to_string().contains("another program may have written"), "{error}");
    assert!(store.object(&there).as_deref() == Some(&bytes[1][..]));
}

#[test]
fn what_is_given_up_is_seen_by_nobody_and_listed_nowhere() {
    let (store, server) = serving();
    let ((url, there), bytes) = (urls("k"), Random::new(3).bytes(16 * MIB));
    let disk = disk(&server);
    let output = disk.create_output(Path::new(&url)).unwrap();
    write_pages(&disk, output, &bytes, 0..bytes.len() / PAGE).unwrap();
    assert!(uploads_under_way().iter().all(|upload| upload.object.to_string() != url));
    disk.close(output);
    assert_eq!((store.object(&there), store.uploads()), (None, 0));
    assert_eq!(disk.find(Path::new(&url)).unwrap(), Found::Missing);
    assert!(server.seen().iter().all(|line| !line.starts_with("DELETE")));
    let bucket = Bucket::open(Path::new("az://bucket/"), with(&server, &[])).unwrap();
    let error = bucket.uploads().unwrap_err();
    assert_eq!(error.source.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("vanishes after a week"), "{error}");
}

/// Blocks of another program, whose IDs have another length.
#[test]
fn blocks_of_others_that_are_in_the_way_are_named() {
    let (_store, server) = serving();
    let (url, there) = urls("k");
    server.change_blocks(&there, |name| drop(name.uncommitted.insert("YQ==".into(), vec![1])));
    let bytes = Random::new(3).bytes(11 * MIB);
    let error = write_all(&disk(&server), Path::new(&url), &bytes, 0..bytes.len() / PAGE);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("InvalidBlobOrBlock") && error.contains("another key"), "{error}");
}

/// Includes an output that a process completed before it died.
#[test]
fn an_output_is_gone_on_with() {
    let (store, server) = serving();
    let ((url, there), bytes) = (urls("k"), Random::new(6).bytes(17 * MIB));
    let left = leave_behind(&disk(&server), Path::new(&url), &bytes, 3);
    let sent =
        |server: &Server| server.seen().iter().filter(|line| line.contains("comp=block&")).count();
    let from = 11 * MIB;
    let finish = |parts_sent: usize| {
        let before = sent(&server);
        go_on(&disk(&server), Path::new(&url), &left, &bytes, from);
        assert!(store.object(&there).as_deref() == Some(&bytes[..]));
        assert_eq!(sent(&server) - before, parts_sent);
    };
    finish(1);
    finish(1);
    // Lost blocks are written again.
    server.change_blocks(&there, |name| *name = crate::server::azure::Blocks::default());
    let disk = disk(&server);
    let output = disk.open_persistent_output(Path::new(&url), &left.0, &left.1).unwrap();
    let begins = disk.begins_with(output, from as u64, crc32fast::hash(&bytes[..from]));
    assert_eq!(begins, Some(false));
    write_pages(&disk, output, &bytes, 0..bytes.len() / PAGE).unwrap();
    disk.publish(output, bytes.len() as u64, true).unwrap();
    assert!(store.object(&there).as_deref() == Some(&bytes[..]));
}

#[test]
fn every_kind_of_credentials_opens_an_object() {
    let (store, server) = serving();
    store.put_object("s3://bucket/k", "here");
    store.put_object("s3://public/k", "here");
    let no_key = ("AZURE_STORAGE_KEY", "");
    let endpoint = format!("http://{}/{ACCOUNT}", server.address);
    let string = format!("AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};BlobEndpoint={endpoint};");
    let signed_string =
        format!("BlobEndpoint={endpoint};AccountName=x;SharedAccessSignature={SIGNED}");
    let identity = format!("http://{}{IDENTITY}", server.address);
    let cases: [(&str, &[(&str, &str)]); 7] = [
        ("bucket", &[no_key, ("AZURE_STORAGE_ACCESS_KEY", ACCOUNT_KEY)]),
        ("bucket", &[no_key, ("AZURE_STORAGE_SAS_TOKEN", SIGNED)]),
        ("bucket", &[no_key, ("AZURE_STORAGE_TOKEN", TOKEN)]),
        ("bucket", &[no_key, ("IDENTITY_ENDPOINT", &identity), ("AZURE_CLIENT_ID", "me")]),
        ("bucket", &[no_key, ("AZURE_STORAGE_CONNECTION_STRING", &string)]),
        ("bucket", &[no_key, ("AZURE_STORAGE_CONNECTION_STRING", &signed_string)]),
        ("public", &[no_key, ("AZURE_SKIP_SIGNATURE", "true")]),
    ];
    for (container, changed) in cases {
        let disk = disk_of(with(&server, changed));
        let url = format!("az://{container}/k");
        assert_eq!(read_all(&disk, Path::new(&url), 1).unwrap(), b"here", "{changed:?}");
    }
}

#[test]
fn errors_say_what_azures_tools_can_do_about_them() {
    let store = store();
    let server = Server::start(&store, |asked: &Asked| match asked.path.ends_with("/archived") {
        true => Wrong::Refuse(409, "BlobArchived"),
        false => Wrong::Nothing,
    });
    let denied = |text| (ErrorKind::PermissionDenied, text);
    let missing = |text| (ErrorKind::NotFound, text);
    let cases: [(&str, &[(&str, &str)], _); 8] = [
        ("az://bucket/k", &[("AZURE_STORAGE_ACCOUNT_NAME", "")], denied("AZURE_STORAGE_KEY")),
        ("az://bucket/k", &[("AZURE_STORAGE_KEY", "?")], denied("AZURE_STORAGE_KEY")),
        (
            "az://bucket/k",
            &[("AZURE_STORAGE_KEY", "d3Jvbmc=")],
            denied(
                "403 AuthenticationFailed: The message of AuthenticationFailed (credentials \
                    from AZURE_STORAGE_KEY)",
            ),
        ),
        (
            "az://bucket/k",
            &[("AZURE_STORAGE_KEY", ""), ("AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=x")],
            denied("credentials from AZURE_STORAGE_SAS_TOKEN"),
        ),
        ("az://bucket/k", &[], missing("there is no such object")),
        ("az://other/k", &[], missing("check the container's name")),
        (
            "az://bucket/k",
            &[("AZURE_STORAGE_ENDPOINT", "host")],
            (ErrorKind::Unsupported, "is no URL"),
        ),
        ("az://bucket/archived", &[], (ErrorKind::Other, "from its archive")),
    ];
    for (url, changed, (kind, text)) in cases {
        let error = disk_of(with(&server, changed)).open_input(Path::new(url)).unwrap_err();
        assert_eq!(error.source.kind(), kind, "{error}");
        assert!(error.to_string().contains(text), "{error}");
        assert!(!error.to_string().contains("AWS_"), "{error}");
    }
    let error = disk(&server).create_output(Path::new("az://other/k")).unwrap_err();
    assert!(error.to_string().contains("404 ContainerNotFound"), "{error}");
}
