//! Attempts to create an object whose answers are lost. The object at its place decides the result,
//! and the error describes it.

use crate::azure;
use crate::damage::impatient;
use crate::google::with_token;
use crate::http::{disk_that, environment, store};
use crate::server::{Asked, BUCKET, Server, TOKEN, Wrong};
use crate::transfers::{PAGE, write_all};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use xsort_disk::{Disk, Error};
use xsort_objects::ObjectDisk;
use xsort_testing::Random;

const URL: &str = "s3://bucket/k";
/// The length of an object that is sent in one request, and of one that is sent in parts.
const LENGTHS: [usize; 2] = [5000, 11 << 20];

/// Returns whether a request creates an object, from bytes or from parts.
pub(crate) fn makes_object(asked: &Asked) -> bool {
    let sends_all = !asked.has("partNumber") && asked.value("comp") != "block";
    asked.method == "PUT" && sends_all || asked.method == "POST" && asked.has("uploadId")
}

/// Returns a disk for each kind of store, with the URL of an object. The disks replace no objects.
fn careful_disks(server: &Server) -> [(ObjectDisk, String); 3] {
    let url = |scheme: &str| format!("{scheme}://{BUCKET}/k");
    [
        (disk_that(environment(server, &[]), true), url("s3")),
        (disk_that(with_token(server, TOKEN), true), url("gs")),
        (disk_that(azure::with(server, &[]), true), url("az")),
    ]
}

fn write(disk: &dyn Disk, url: &str, bytes: &[u8]) -> Result<(), Error> {
    write_all(disk, Path::new(url), bytes, 0..bytes.len().div_ceil(PAGE))
}

/// Another program writes the object between a first attempt, for which the store was too busy, and
/// the next one, which is refused. The object isn't taken for the output.
#[test]
fn an_object_that_came_between_two_attempts_is_kept() {
    for length in LENGTHS {
        for theirs in [b"theirs".to_vec(), vec![7; length]] {
            for number in 0..3 {
                let (store, attempts) = (store(), AtomicUsize::new(0));
                let (there, bytes) = (Arc::clone(&store), theirs.clone());
                let server = Server::start(&store, move |asked: &Asked| {
                    if makes_object(asked) && attempts.fetch_add(1, Relaxed) == 0 {
                        there.put_object(URL, bytes.clone());
                        return Wrong::Refuse(503, "SlowDown");
                    }
                    Wrong::Nothing
                });
                let (disk, url) = &careful_disks(&server)[number];
                let error = write(disk, url, &Random::new(1).bytes(length)).unwrap_err();
                assert_eq!(error.source.kind(), ErrorKind::AlreadyExists, "{error}");
                let text = error.to_string();
                assert!(text.contains("--no-clobber keeps it"), "{text}");
                let now = format!("another object is there now, with {} bytes", theirs.len());
                assert!(text.contains(&now), "{text}");
                assert_eq!(store.object(URL).as_deref(), Some(&theirs[..]));
                assert_eq!((store.uploads(), store.upload_bytes()), (0, 0), "{url} {length}");
            }
        }
    }
}

/// The first attempt has created the object, so the next one is refused.
#[test]
fn an_object_that_the_first_attempt_made_is_ours() {
    for length in LENGTHS {
        for number in 0..3 {
            let (store, attempts) = (store(), AtomicUsize::new(0));
            let server = Server::start(&store, move |asked: &Asked| {
                match makes_object(asked) && attempts.fetch_add(1, Relaxed) == 0 {
                    true => Wrong::NoAnswer,
                    false => Wrong::Nothing,
                }
            });
            let bytes = Random::new(1).bytes(length);
            let (disk, url) = &careful_disks(&server)[number];
            write(disk, url, &bytes).unwrap();
            assert!(store.object(URL).as_deref() == Some(&bytes[..]), "{url} {length}");
            assert_eq!(store.uploads(), 0);
        }
    }
}

/// An intermediary loses every answer, but the store carries out the requests.
#[test]
fn an_object_of_which_no_answer_came_is_looked_at() {
    for length in LENGTHS {
        let store = store();
        store.put_object(URL, "old");
        let server = Server::start(&store, |asked: &Asked| match makes_object(asked) {
            true => Wrong::NoAnswer,
            false => Wrong::Nothing,
        });
        let bytes = Random::new(1).bytes(length);
        write(&impatient(&server, false, false), URL, &bytes).unwrap();
        assert!(store.object(URL).as_deref() == Some(&bytes[..]), "{length}");
        assert_eq!(store.uploads(), 0);
    }
}

#[test]
fn an_error_says_what_is_there_after_attempts_that_say_nothing() {
    for length in LENGTHS {
        for (before, meanwhile, expected) in [
            (Some("old"), None, "what was there before is still there"),
            (None, None, "there is no object now"),
            (Some("old"), Some("theirs"), "another object is there now, with 6 bytes"),
            (None, Some("theirs"), "another object is there now, with 6 bytes"),
        ] {
            let (store, is_first) = (store(), AtomicBool::new(true));
            if let Some(before) = before {
                store.put_object(URL, before);
            }
            let there = Arc::clone(&store);
            let server = Server::start(&store, move |asked: &Asked| {
                let makes = makes_object(asked);
                if let (true, Some(theirs)) = (makes && is_first.swap(false, Relaxed), meanwhile) {
                    there.put_object(URL, theirs);
                }
                if makes { Wrong::Refuse(500, "InternalError") } else { Wrong::Nothing }
            });
            let disk = impatient(&server, false, false);
            let error = write(&disk, URL, &Random::new(1).bytes(length)).unwrap_err().to_string();
            assert!(error.contains("500 InternalError") && error.contains(expected), "{error}");
            let now = meanwhile.or(before).map(str::as_bytes);
            assert_eq!(store.object(URL).as_deref(), now, "{error}");
            assert_eq!(store.uploads(), 0);
        }
        let (store, has_begun) = (store(), AtomicBool::new(false));
        let server = Server::start(&store, move |asked: &Asked| {
            has_begun.fetch_or(makes_object(asked), Relaxed);
            match has_begun.load(Relaxed) {
                true if makes_object(asked) => Wrong::NoAnswer,
                true if asked.method == "HEAD" || asked.method == "GET" => {
                    Wrong::Refuse(403, "AccessDenied")
                }
                _ => Wrong::Nothing,
            }
        });
        let disk = impatient(&server, false, false);
        let error = write(&disk, URL, &Random::new(1).bytes(length)).unwrap_err().to_string();
        assert!(error.contains("what is there now is unknown (403"), "{error}");
    }
}

/// Only the length is known to match. The error says so, and its remedy works.
#[test]
fn an_object_that_nothing_tells_from_others_is_read_back_or_not_called_another() {
    let store = store();
    let server =
        Server::start(&store, |_| Wrong::Says(&[("etag", ""), ("x-amz-meta-xsort-upload", "")]));
    let bytes = Random::new(1).bytes(LENGTHS[0]);
    let error = write(&impatient(&server, false, false), URL, &bytes).unwrap_err().to_string();
    assert!(error.contains("says no tag (ETag) by which it is known"), "{error}");
    assert!(!error.contains("it should have") && !error.contains("don't use it"), "{error}");
    write(&impatient(&server, true, false), URL, &bytes).unwrap();
    // The tag shows that the object is another writer's, with the same length.
    store.remove_object(URL);
    let server = Server::start(&store, |asked: &Asked| match asked.method.as_str() {
        "PUT" => Wrong::Says(&[("etag", "\"one\"")]),
        _ => Wrong::Says(&[("etag", "\"another\""), ("x-amz-meta-xsort-upload", "")]),
    });
    let error = write(&impatient(&server, false, false), URL, &bytes).unwrap_err().to_string();
    assert!(error.contains("its tag should be \"one\", and is \"another\""), "{error}");
}
