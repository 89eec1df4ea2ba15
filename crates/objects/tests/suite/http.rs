//! Objects over HTTP, with a real server in this process: requests, signatures, answers, errors.

use crate::server::{Asked, BUCKET, KEY_ID, PUBLIC, SECRET, Server, Wrong};
use crate::simulation::merge_sort;
use crate::transfers::{PAGE, go_on, leave_behind, read_all, write_all};
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use xsort_disk::{Disk, Error, Found, InputFiles, ListedFile, OutputFiles, SimDisk, SimOptions};
use xsort_extsort::{SortOptions, Unobserved, sort};
use xsort_objects::{
    Environment, Location, ObjectDisk, ObjectSettings, Payload, Reason, RetryPolicy, SimStore,
    Stop, StoreOptions, connect,
};
use xsort_records::Layout;
use xsort_testing::Random;

const MIB: usize = 1 << 20;

pub(crate) fn store() -> Arc<SimStore> {
    Arc::new(SimStore::new(StoreOptions::default()))
}

/// Returns a store and a server that answers for it without faults.
pub(crate) fn serving() -> (Arc<SimStore>, Server) {
    let store = store();
    let server = Server::start(&store, |_| Wrong::Nothing);
    (store, server)
}

/// Returns the objects whose URLs begin with `prefix`, in the order of the list.
pub(crate) fn listed(disk: &ObjectDisk, prefix: &Path) -> Vec<ListedFile> {
    let mut listed = Vec::new();
    let mut add = |file: ListedFile| {
        listed.push(file);
        ControlFlow::Continue(())
    };
    disk.list(prefix, &mut add).unwrap();
    listed
}

/// A name in the environment, and its value.
pub(crate) type Variable<'a> = (&'a str, &'a str);

/// Returns the environment of the server's only user, with some variables changed.
pub(crate) fn environment(server: &Server, changed: &[Variable<'_>]) -> Environment {
    let mut variables = vec![
        ("AWS_ACCESS_KEY_ID".to_owned(), KEY_ID.to_owned()),
        ("AWS_SECRET_ACCESS_KEY".to_owned(), SECRET.to_owned()),
        ("AWS_ENDPOINT_URL".to_owned(), format!("http://{}", server.address)),
        ("AWS_EC2_METADATA_DISABLED".to_owned(), "true".to_owned()),
    ];
    let changed = changed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    variables.extend(changed);
    // The last value counts; an empty value counts as not set.
    Arc::new(move |name| {
        let found = variables.iter().rev().find(|(variable, _)| variable == name);
        found.map(|(_, value)| value.clone())
    })
}

/// Returns a disk with this environment, which repeats requests quickly.
pub(crate) fn disk_of(environment: Environment) -> ObjectDisk {
    disk_that(environment, false)
}

/// Returns a disk with this environment. With `no_clobber`, it replaces no objects.
pub(crate) fn disk_that(environment: Environment, no_clobber: bool) -> ObjectDisk {
    let settings = ObjectSettings {
        part_bytes: 5 << 20,
        connections: 4,
        writers: 2,
        no_clobber,
        retry: RetryPolicy {
            first_pause: Duration::from_millis(1),
            longest_pause: Duration::from_millis(10),
            ..RetryPolicy::default()
        },
        ..ObjectSettings::default()
    };
    let local = Arc::new(SimDisk::new(SimOptions::default()));
    ObjectDisk::with_environment(local, settings, environment)
}

fn disk(server: &Server, changed: &[Variable<'_>]) -> ObjectDisk {
    disk_of(environment(server, changed))
}

fn url(key: &str) -> String {
    format!("s3://{BUCKET}/{key}")
}

#[test]
fn an_object_comes_back_byte_for_byte_under_a_key_of_any_letters() {
    let (store, server) = serving();
    let disk = disk(&server, &[]);
    let keys = ["a b+c%20d/ü中//x?y=1&z#f'(~)*!", "/a//b"];
    for (key, length) in keys.into_iter().zip([12 * MIB + 123, 100]) {
        let (url, bytes) = (url(key), Random::new(1).bytes(length));
        store.put_object(&url, "old");
        let pages = length.div_ceil(PAGE);
        write_all(&disk, Path::new(&url), &bytes, 0..pages).unwrap();
        assert!(store.object(&url).as_deref() == Some(&bytes[..]), "{key}");
        assert!(read_all(&disk, Path::new(&url), 300).unwrap() == bytes, "{key}");
        let input = disk.open_input(Path::new(&url)).unwrap();
        assert!(disk.identity(input).unwrap().modified.0 > 1_600_000_000);
        disk.remove_input(input).unwrap();
        disk.close(input);
        assert_eq!((store.object(&url), store.upload_bytes()), (None, 0));
    }
    let sent = server.seen();
    let encoded = "/bucket/a%20b%2Bc%2520d/%C3%BC%E4%B8%AD//x%3Fy%3D1%26z%23f%27%28~%29%2A%21";
    assert!(sent[0].starts_with(&format!("HEAD {encoded}")), "{}", sent[0]);
    let parts = sent.iter().filter(|line| line.contains("partNumber=")).count();
    assert_eq!(parts, 3);
}

#[test]
fn a_bad_network_changes_nothing() {
    let store = store();
    let server = Server::start(&store, |asked| match asked.number % 5 {
        1 => Wrong::Refuse(503, "SlowDown"),
        2 => Wrong::NoAnswer,
        3 if asked.method == "GET" => Wrong::CutAfter(10_000),
        4 if asked.method == "PUT" => Wrong::Refuse(429, "TooManyRequests"),
        _ => Wrong::Nothing,
    });
    let disk = disk(&server, &[]);
    let (url, bytes) = (url("k"), Random::new(2).bytes(11 * MIB));
    write_all(&disk, Path::new(&url), &bytes, 0..bytes.len() / PAGE).unwrap();
    assert!(store.object(&url).as_deref() == Some(&bytes[..]));
    assert!(read_all(&disk, Path::new(&url), 256).unwrap() == bytes);
    assert_eq!(store.upload_bytes(), 0);
}

/// Returns the error of opening an object.
fn refusal(server: &Server, url: &str, changed: &[Variable<'_>]) -> Error {
    disk(server, changed).open_input(Path::new(url)).expect_err("it must fail")
}

#[test]
fn every_error_says_what_to_do() {
    let (store, server) = serving();
    store.put_object(&url("k"), "x");
    let key = url("k");
    let no_keys =
        [("AWS_ACCESS_KEY_ID", ""), ("AWS_SECRET_ACCESS_KEY", ""), ("HOME", "/nonexistent")];
    let cases: [(&str, &[Variable<'_>], ErrorKind, &str); 8] = [
        (&key, &no_keys, ErrorKind::PermissionDenied, "a profile has any: set AWS_ACCESS_KEY_ID"),
        (&key, &no_keys[1..], ErrorKind::PermissionDenied, "has only one of the two"),
        (
            &key,
            &[("AWS_PROFILE", "nobody"), ("HOME", "/nonexistent")],
            ErrorKind::PermissionDenied,
            "there is no profile nobody",
        ),
        (
            &key,
            &[("AWS_SECRET_ACCESS_KEY", "wrong")],
            ErrorKind::PermissionDenied,
            "403 SignatureDoesNotMatch: The message of SignatureDoesNotMatch (credentials from the \
             environment)",
        ),
        (&key, &[("AWS_SESSION_TOKEN", "expired")], ErrorKind::PermissionDenied, "have expired"),
        ("s3://other/k", &[], ErrorKind::NotFound, "there is no such bucket"),
        ("s3://bucket/other", &[], ErrorKind::NotFound, "there is no such object"),
        (&key, &[("AWS_ENDPOINT_URL_S3", "localhost:9")], ErrorKind::Unsupported, "is no URL"),
    ];
    for (url, changed, kind, text) in cases {
        let error = refusal(&server, url, changed);
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!((error.source.kind(), error.path.to_str()), (kind, Some(url)), "{error}");
        assert!(!error.to_string().contains(SECRET), "{error}");
        let error = disk(&server, changed).create_output(Path::new(url));
        assert_eq!(error.is_ok(), text == "there is no such object", "{error:?}");
    }
}

#[test]
fn a_store_that_is_not_there_is_named_with_what_was_tried() {
    let (_store, server) = serving();
    // No program listens there after the listener is dropped.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = format!("http://{address}");
    let local = Arc::new(SimDisk::new(SimOptions::default()));
    let retry = RetryPolicy {
        first_pause: Duration::from_millis(1),
        give_up_unreached_after: Duration::from_secs(1),
        ..RetryPolicy::default()
    };
    let settings = ObjectSettings { retry, ..ObjectSettings::default() };
    let environment = environment(&server, &[("AWS_ENDPOINT_URL", &endpoint)]);
    let disk = ObjectDisk::with_environment(local, settings, environment);
    let error = disk.open_input(Path::new(&url("k"))).unwrap_err().to_string();
    assert!(error.contains("the store can't be reached") && error.contains("asked "), "{error}");
}

/// The server has no TLS.
#[test]
fn without_tls_nothing_is_read_over_https() {
    let (_store, server) = serving();
    let local = Arc::new(SimDisk::new(SimOptions::default()));
    let retry = RetryPolicy { give_up_unreached_after: Duration::ZERO, ..RetryPolicy::default() };
    let settings = ObjectSettings { retry, ..ObjectSettings::default() };
    let disk = ObjectDisk::with_environment(local, settings, environment(&server, &[]));
    let url = format!("https://{}/{PUBLIC}/k", server.address);
    let error = disk.open_input(Path::new(&url)).unwrap_err().to_string();
    assert!(error.contains("the store can't be reached"), "{error}");
}

#[test]
fn a_bucket_of_another_region_is_asked_there() {
    let store = store();
    store.put_object(&url("k"), "here");
    for (status, header, value) in [
        (301, "x-amz-bucket-region", "eu-north-1"),
        (400, "x-amz-bucket-region", "eu-north-1"),
        // The request is repeated at an address derived from the region, not at this one.
        (307, "location", "https://bucket.s3.eu-north-1.amazonaws.com/k"),
    ] {
        let server = Server::start(&store, move |asked: &Asked| {
            if asked.headers["authorization"].contains("/eu-north-1/s3/") {
                Wrong::Nothing
            } else {
                Wrong::RefuseWith(status, header, value.to_owned())
            }
        });
        let disk = disk(&server, &[("AWS_REGION", "us-west-2")]);
        assert_eq!(read_all(&disk, Path::new(&url("k")), 1).unwrap(), b"here");
        // The region is then known.
        assert_eq!(server.seen().len(), 3);
    }
}

#[test]
fn credentials_region_and_endpoint_come_from_a_profile() {
    let store = store();
    store.put_object(&url("k"), "here");
    let server = Server::start(&store, |asked: &Asked| {
        assert!(asked.headers["authorization"].contains("/sa-east-1/s3/"));
        Wrong::Nothing
    });
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".aws")).unwrap();
    let keys = format!("[work]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n");
    fs::write(home.path().join(".aws/credentials"), keys).unwrap();
    let config = format!(
        "[profile work]\nregion = sa-east-1\nendpoint_url = http://{}/\n\
         [profile program]\nregion = sa-east-1\nendpoint_url = http://{}\n\
         credential_process = echo '{{\"Version\":1,\"AccessKeyId\":\"{KEY_ID}\",\
         \"SecretAccessKey\":\"{SECRET}\"}}'\n[profile role]\nrole_arn = arn:x\n",
        server.address, server.address
    );
    fs::write(home.path().join(".aws/config"), config).unwrap();
    let home = home.path().to_str().unwrap();
    let of = |profile| {
        let cleared = [("AWS_ACCESS_KEY_ID", ""), ("AWS_ENDPOINT_URL", "")];
        let chosen = [("HOME", home), ("AWS_PROFILE", profile)];
        disk(&server, &[cleared, chosen].concat())
    };
    for profile in ["work", "program"] {
        assert_eq!(read_all(&of(profile), Path::new(&url("k")), 1).unwrap(), b"here");
    }
    let error = of("role").open_input(Path::new(&url("k"))).unwrap_err().to_string();
    assert!(error.contains("aws configure export-credentials"), "{error}");
}

#[test]
fn what_is_replaced_meanwhile_is_noticed_and_what_is_there_is_kept() {
    let (store, server) = serving();
    let key = url("k");
    store.put_object(&key, vec![1; 10_000]);
    let disk = disk(&server, &[]);
    let input = disk.open_input(Path::new(&key)).unwrap();
    disk.check_unchanged(input).unwrap();
    store.put_object(&key, vec![2; 10_000]);
    assert!(disk.check_unchanged(input).is_err() && disk.remove_input(input).is_err());
    assert!(store.object(&key).is_some());
    let transfers = crate::transfers::Transfers::new(&disk);
    transfers.read(input, 0, PAGE, PAGE);
    let error = transfers.wait().result.unwrap_err().to_string();
    assert!(error.contains("it was written to since it was opened"), "{error}");
}

/// A store that takes a part after it has dropped the upload may keep the part.
#[test]
fn a_part_on_its_way_is_waited_for() {
    let (store, stop) = (store(), Stop::default());
    let server = Server::start(&store, {
        let stop = stop.clone();
        move |asked| {
            if asked.has("partNumber") {
                stop.set();
                thread::sleep(Duration::from_millis(100));
            }
            Wrong::Nothing
        }
    });
    let client = connect(environment(&server, &[])).unwrap();
    let object = Location::parse(url("out").as_ref()).unwrap();
    let upload = client.create_multipart(&object, "mark").unwrap();
    client.put_part(&object, &upload, 1, &Payload::new("part".into()), &stop).unwrap();
    assert_eq!(client.list_parts(&object, &upload).unwrap().len(), 1);
    assert_eq!(client.head(&object, &stop).unwrap_err().reason, Reason::Stopped);
}

#[test]
fn objects_and_uploads_are_listed_page_by_page() {
    let (store, server) = serving();
    let client = connect(environment(&server, &[])).unwrap();
    let keys = ["p/a", "p/b & <c>", "p/c+d%20", "p/d ü", "p/e"];
    for key in keys {
        store.put_object(&url(key), key);
    }
    store.put_object(&url("q"), "other");
    let prefix = Location::parse(Path::new(&url("p/"))).unwrap();
    let settings = ObjectSettings::default();
    let local = Arc::new(SimDisk::new(SimOptions::default()));
    let disk = ObjectDisk::with_environment(local, settings, environment(&server, &[]));
    let listed = listed(&disk, &prefix.url());
    let expected = keys.map(|key| ListedFile { path: url(key).into(), bytes: key.len() as u64 });
    assert_eq!(listed, expected);
    for (key, expected) in [
        ("p/a", Found::File { bytes: 3 }),
        ("p/", Found::Directory),
        ("p", Found::Directory),
        ("p/d", Found::Missing),
        ("none/", Found::Directory),
    ] {
        assert_eq!(disk.find(url(key).as_ref()).unwrap(), expected, "{key}");
    }
    for key in ["p/x", "p/y", "z"] {
        client.create_multipart(&prefix.with_key(key), "mark").unwrap();
    }
    let uploads = client.list_multipart(&prefix, &Stop::default()).unwrap();
    assert_eq!(uploads.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(), ["p/x", "p/y"]);
    for one in &uploads {
        client.abort(&prefix.with_key(&one.key), &one.upload).unwrap();
        // Aborting twice is no error.
        client.abort(&prefix.with_key(&one.key), &one.upload).unwrap();
    }
    assert_eq!(client.list_multipart(&prefix, &Stop::default()).unwrap(), []);
}

#[test]
fn web_servers_are_read_without_credentials() {
    let store = store();
    let bytes = Random::new(3).bytes(3 * MIB + 5);
    store.put_object("s3://public/a b/x.dat", bytes.clone());
    store.put_object("s3://public/empty", "");
    let at = |server: &Server, path: &str| format!("http://{}/{PUBLIC}/{path}", server.address);
    // Some servers don't support HEAD.
    for head in [Wrong::Nothing, Wrong::Refuse(405, "MethodNotAllowed")] {
        let server = Server::start(&store, move |asked: &Asked| {
            assert!(!asked.headers.contains_key("authorization"));
            if asked.method == "HEAD" { head.clone() } else { Wrong::Nothing }
        });
        let disk = disk(&server, &[("AWS_ACCESS_KEY_ID", "")]);
        let read = |path| read_all(&disk, Path::new(&at(&server, path)), 100);
        assert!(read("a%20b/x.dat").unwrap() == bytes);
        assert!(read("a b/x.dat?version=1").unwrap() == bytes);
        let error = read("none").unwrap_err().to_string();
        assert!(error.contains("there is no such object"), "{error}");
    }
    let server = Server::start(&store, |_| Wrong::NoRanges);
    let disk = disk(&server, &[]);
    assert_eq!(read_all(&disk, Path::new(&at(&server, "empty")), 1).unwrap(), b"");
    let error = read_all(&disk, Path::new(&at(&server, "a%20b/x.dat")), 100).unwrap_err();
    assert!(error.to_string().contains("doesn't send the ranges"), "{error}");
}

#[test]
fn an_upload_is_gone_on_with_by_its_list_of_parts() {
    let store = store();
    let server = Server::start(&store, |asked| match asked.number % 4 {
        1 => Wrong::Refuse(503, "SlowDown"),
        _ => Wrong::Nothing,
    });
    let (key, bytes) = (url("k ü+"), Random::new(6).bytes(33 * MIB));
    let left = leave_behind(&disk(&server, &[]), Path::new(&key), &bytes, 6);
    let disk = disk(&server, &[]);
    go_on(&disk, Path::new(&key), &left, &bytes, 27 * MIB);
    assert!(store.object(&key).as_deref() == Some(&bytes[..]));
    let error = disk.open_persistent_output(Path::new(&key), &left.0, &left.1).unwrap_err();
    assert_eq!(error.source.kind(), ErrorKind::NotFound, "{error}");
}

/// As in AWS: the identifier in place of the content depends on the object, not only on its bytes.
#[test]
fn an_input_is_known_again_by_its_tag() {
    let (store, server) = serving();
    let disk = disk(&server, &[]);
    let content = |bytes: &str| {
        store.put_object(&url("k"), bytes);
        let input = disk.open_input(Path::new(&url("k"))).unwrap();
        let identity = disk.identity(input).unwrap();
        disk.close(input);
        identity.content
    };
    let first = content("one");
    assert_ne!(first, content("two"));
    assert_eq!(first, content("one"));
}

#[test]
fn a_whole_sort_goes_from_objects_to_an_object() {
    let store = store();
    let server = Server::start(&store, |asked: &Asked| {
        if asked.number % 11 == 7 { Wrong::NoAnswer } else { Wrong::Nothing }
    });
    let records = Random::new(4).bytes(120_000 * 100);
    let (first, second) = records.split_at(50_000 * 100);
    store.put_object(&url("in/1"), first);
    store.put_object(&url("in/2"), second);
    let disk = disk(&server, &[]);
    let inputs = vec![url("in/1").into(), url("in/2").into()];
    let layout = Layout::new(100, vec!["0:10".parse().unwrap()]).unwrap();
    let options = SortOptions {
        budget_bytes: 6 << 20,
        threads: 2,
        ..merge_sort(inputs, url("out").into(), layout)
    };
    sort(&options, &disk, &Unobserved).unwrap();
    let mut expected: Vec<&[u8]> = records.chunks(100).collect();
    expected.sort_by(|one, other| one[..10].cmp(&other[..10]));
    assert!(store.object(&url("out")).as_deref() == Some(&expected.concat()[..]));
    assert_eq!(store.upload_bytes(), 0);
}

/// Information about each object is requested once, however often the object is opened. It is
/// requested again for an object that was written since.
#[test]
fn announced_objects_are_opened_without_another_request() {
    let (store, server) = serving();
    let disk = disk(&server, &[]);
    let paths: Vec<PathBuf> = (0..40).map(|number| url(&number.to_string()).into()).collect();
    paths.iter().for_each(|path| store.put_object(path.to_str().unwrap(), "some bytes"));
    disk.announce(&mut paths.iter().map(|path| &**path));
    for path in paths.iter().chain(&paths) {
        let file = disk.open_input(path).unwrap();
        assert_eq!(disk.file_bytes(file).unwrap(), 10);
        disk.close(file);
    }
    let heads = server.seen().iter().filter(|line| line.starts_with("HEAD ")).count();
    assert_eq!(heads, 40);
    let missing = PathBuf::from(url("missing"));
    disk.announce(&mut [&*missing].into_iter());
    assert_eq!(disk.open_input(&missing).unwrap_err().source.kind(), ErrorKind::NotFound);
    // The object was replaced since.
    store.put_object(&url("7"), "other bytes");
    let error = read_all(&disk, &paths[7], 1).unwrap_err();
    assert!(error.to_string().contains("written to since"), "{error}");
    write_all(&disk, &paths[8], b"written", [0]).unwrap();
    assert_eq!(read_all(&disk, &paths[8], 1).unwrap(), b"written");
}
