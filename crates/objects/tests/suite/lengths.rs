//! The length of an object, which HEAD and each answer to a read contain.

use crate::http::{disk_of, environment, store};
use crate::server::azure::{ACCOUNT, ACCOUNT_KEY};
use crate::server::{Asked, BUCKET, PUBLIC, Server, TOKEN, Wrong};
use crate::transfers::read_all;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xsort_disk::{Disk, InputFiles};
use xsort_objects::{ObjectDisk, SimStore};

/// Returns an object's URL in each scheme, with a disk that reaches it.
pub(crate) fn everywhere(server: &Server) -> [(String, ObjectDisk); 4] {
    let endpoint = format!("http://{}", server.address);
    let azures = format!("{endpoint}/{ACCOUNT}");
    let disk = |variables: &[(&str, &str)]| disk_of(environment(server, variables));
    let google = [
        ("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", &*endpoint),
        ("CLOUDSDK_AUTH_ACCESS_TOKEN", TOKEN),
    ];
    let azure = [
        ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT),
        ("AZURE_STORAGE_KEY", ACCOUNT_KEY),
        ("AZURE_STORAGE_ENDPOINT", &*azures),
    ];
    [
        (format!("s3://{BUCKET}/k"), disk(&[])),
        (format!("gs://{BUCKET}/k"), disk(&google)),
        (format!("az://{BUCKET}/k"), disk(&azure)),
        (format!("{endpoint}/{PUBLIC}/k"), disk(&[])),
    ]
}

fn put(store: &SimStore, bytes: &[u8]) {
    store.put_object(&format!("s3://{BUCKET}/k"), bytes);
    store.put_object(&format!("s3://{PUBLIC}/k"), bytes);
}

/// HEAD is wrong, or returns the length of another form of the object.
#[test]
fn a_length_that_reads_contradict_is_an_error() {
    let store = store();
    put(&store, &[7; 30_000]);
    for announced in [0, 1, 4096, 20_000, 29_999, 30_001, 40_000] {
        let server = Server::start(&store, move |_| Wrong::HeadSays(announced));
        for (url, disk) in everywhere(&server) {
            let error = read_all(&disk, Path::new(&url), 2).expect_err(&url).to_string();
            let expected = "the answer to a read says that it has 30000";
            assert!(error.contains(expected), "{url}, {announced}: {error}");
            assert!(error.contains(&url), "{error}");
        }
    }
    put(&store, b"");
    let server = Server::start(&store, |_| Wrong::Nothing);
    for (url, disk) in everywhere(&server) {
        assert_eq!(read_all(&disk, Path::new(&url), 2).unwrap(), b"", "{url}");
    }
}

#[test]
fn an_answer_that_does_not_say_the_whole_length_proves_nothing() {
    let store = store();
    put(&store, &[7; 30_000]);
    let unknown = |asked: &Asked| match asked.method.as_str() {
        "GET" => Wrong::Says(&[("content-range", "bytes 0-29999/*")]),
        _ => Wrong::Nothing,
    };
    let server = Server::start(&store, unknown);
    for (url, disk) in everywhere(&server) {
        let error = read_all(&disk, Path::new(&url), 10).expect_err(&url).to_string();
        assert!(error.contains("doesn't say how long the whole file is"), "{url}: {error}");
        assert!(error.contains("copy the file"), "{error}");
    }
}

/// The user gets one notice that versions can't be distinguished, and the length is compared at the
/// end.
#[test]
fn without_a_tag_and_a_time_the_length_is_compared_again() {
    let store = store();
    put(&store, &[7; 30_000]);
    let server = Server::start(&store, |_| Wrong::Says(&[("etag", ""), ("last-modified", "")]));
    for (url, disk) in everywhere(&server) {
        let path = Path::new(&url);
        assert_eq!(read_all(&disk, path, 2).unwrap(), [7; 30_000], "{url}");
        let input = disk.open_input(path).unwrap();
        let notices = disk.notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].contains("neither a tag nor a time of change"), "{notices:?}");
        assert_eq!(disk.notices(), [] as [&str; 0]);
        assert!(!disk.is_of_one_version(input));
        disk.check_unchanged(input).unwrap();
        put(&store, &[7; 30_001]);
        let error = disk.check_unchanged(input).unwrap_err().to_string();
        assert!(error.contains("written to since it was opened"), "{error}");
        put(&store, &[7; 30_000]);
    }
    let server = Server::start(&store, |_| Wrong::Says(&[("etag", "")]));
    for (url, disk) in everywhere(&server) {
        disk.open_input(Path::new(&url)).unwrap();
        assert_eq!(disk.notices(), [] as [&str; 0], "a time is enough");
    }
    // The object was written in the same second as the server's answer.
    const NOW: &str = "Tue, 14 Nov 2023 22:13:21 GMT";
    let server = Server::start(&store, |_| {
        Wrong::Says(&[("etag", ""), ("last-modified", NOW), ("date", NOW)])
    });
    // Several versions may have the same weak tag.
    let weak = Server::start(&store, |_| {
        Wrong::Says(&[("etag", "W/\"1\""), ("last-modified", NOW), ("date", NOW)])
    });
    for (url, disk) in everywhere(&server).into_iter().chain(everywhere(&weak)) {
        disk.open_input(Path::new(&url)).unwrap();
        assert_eq!(disk.notices().len(), 1, "{url}");
    }
}

/// An answer without the tag of the opened object may be of any version.
#[test]
fn an_object_that_loses_its_tag_or_its_time_is_another_one() {
    let store = store();
    put(&store, &[7; 30_000]);
    let of_reads = |said: &'static [(&'static str, &'static str)]| {
        Server::start(&store, move |asked| match asked.method.as_str() {
            "GET" => Wrong::Says(said),
            _ => Wrong::Nothing,
        })
    };
    for (said, text) in [
        (&[("etag", "")][..], "it had a tag (ETag) then"),
        (&[("etag", ""), ("last-modified", "")], "it had a tag (ETag) then"),
    ] {
        let server = of_reads(said);
        for (url, disk) in everywhere(&server) {
            let error = read_all(&disk, Path::new(&url), 2).expect_err(&url).to_string();
            assert!(error.contains("written to since it was opened") && error.contains(text));
        }
    }
    // The tag is enough.
    let server = of_reads(&[("last-modified", "")]);
    for (url, disk) in everywhere(&server) {
        assert_eq!(read_all(&disk, Path::new(&url), 2).unwrap(), [7; 30_000], "{url}");
    }
    // The object has only a time, which the last answer lacks.
    let is_lost = Arc::new(AtomicBool::new(false));
    let loses = Arc::clone(&is_lost);
    let server = Server::start(&store, move |_| match loses.load(Ordering::Relaxed) {
        true => Wrong::Says(&[("etag", ""), ("last-modified", "")]),
        false => Wrong::Says(&[("etag", "")]),
    });
    for (url, disk) in everywhere(&server) {
        let input = disk.open_input(Path::new(&url)).unwrap();
        disk.check_unchanged(input).unwrap();
        is_lost.store(true, Ordering::Relaxed);
        let error = disk.check_unchanged(input).unwrap_err().to_string();
        assert!(error.contains("it had a time of change (Last-Modified) then"), "{error}");
        is_lost.store(false, Ordering::Relaxed);
    }
}

/// A proxy's sign-in page is not an object of a store.
#[test]
fn a_page_in_place_of_an_object_is_an_error() {
    let store = store();
    put(&store, b"<html>sign in</html>");
    let server = Server::start(&store, |_| {
        Wrong::Says(&[("etag", ""), ("last-modified", ""), ("content-type", "text/html")])
    });
    for (url, disk) in everywhere(&server) {
        let opened = disk.open_input(Path::new(&url));
        // A web server may contain pages.
        if url.starts_with("http") {
            opened.unwrap();
        } else {
            let error = opened.expect_err(&url).to_string();
            assert!(error.contains("a page of HTML came in place of the object"), "{error}");
        }
    }
}
