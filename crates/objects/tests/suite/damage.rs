//! Bytes that are damaged on the way to a store or from it, where neither end compares the checksum
//! that was sent. The store's own checksums reveal the damage.

use crate::http::{environment, store};
use crate::lengths::everywhere;
use crate::server::azure::to_base64;
use crate::server::{Asked, BUCKET, Server, Wrong, crc32c};
use crate::transfers::{PAGE, Transfers, read_all, write_all};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use xsort_disk::{InputFiles, SimDisk, SimOptions};
use xsort_objects::{ObjectDisk, ObjectSettings, RetryPolicy, SimStore, StoreOptions};
use xsort_testing::Random;

const MIB: usize = 1 << 20;

/// Returns a disk that gives up soon, and that reads outputs back if requested.
pub(crate) fn impatient(server: &Server, verify_output: bool, no_clobber: bool) -> ObjectDisk {
    let settings = ObjectSettings {
        part_bytes: 5 << 20,
        connections: 4,
        writers: 2,
        no_clobber,
        verify_output,
        retry: RetryPolicy {
            first_pause: Duration::from_millis(1),
            longest_pause: Duration::from_millis(1),
            give_up_after: Duration::from_millis(400),
            ..RetryPolicy::default()
        },
        ..ObjectSettings::default()
    };
    let local = Arc::new(SimDisk::new(SimOptions::default()));
    ObjectDisk::with_environment(local, settings, environment(server, &[]))
}

fn is_bytes(asked: &Asked) -> bool {
    asked.method == "PUT" && asked.value("comp") != "blocklist"
}

fn is_completion(asked: &Asked) -> bool {
    asked.method == "POST" && asked.has("uploadId")
}

fn write(disk: &ObjectDisk, url: &str, bytes: &[u8]) -> Result<(), String> {
    let pages = bytes.len().div_ceil(PAGE);
    write_all(disk, Path::new(url), bytes, 0..pages).map_err(|error| error.to_string())
}

#[test]
fn what_arrives_damaged_is_sent_again() {
    for length in [MIB, 11 * MIB] {
        for at in 0..4 {
            let (store, sent) = (store(), AtomicUsize::new(0));
            let server = Server::start(&store, move |asked| {
                let is_damaged = is_bytes(asked) && sent.fetch_add(1, Relaxed) == 0;
                if is_damaged { Wrong::FlipSent } else { Wrong::Nothing }
            });
            let bytes = Random::new(1).bytes(length);
            let (url, disk) = &everywhere(&server)[at];
            if url.starts_with("http") {
                continue;
            }
            write(disk, url, &bytes).unwrap();
            let there = store.object(&format!("s3://{BUCKET}/k"));
            assert!(there.as_deref() == Some(&bytes[..]), "{url}, {length} bytes");
        }
    }
}

#[test]
fn what_always_arrives_damaged_is_an_error() {
    let url = format!("s3://{BUCKET}/k");
    let store = store();
    let server = Server::start(&store, |asked| match is_bytes(asked) || is_completion(asked) {
        true => Wrong::FlipSent,
        false => Wrong::Nothing,
    });
    for no_clobber in [false, true] {
        let disk = impatient(&server, false, no_clobber);
        let error = write(&disk, &url, &Random::new(1).bytes(MIB)).unwrap_err();
        assert!(error.contains("is not what was written: the MD5 of what it has"), "{error}");
        assert!(error.contains("don't use it"), "{error}");
        store.remove_object(&url);
        let error = write(&disk, &url, &Random::new(1).bytes(11 * MIB)).unwrap_err();
        assert!(error.contains("what arrived at the store is not what was sent"), "{error}");
        assert_eq!((store.object(&url), store.uploads()), (None, 0));
    }
}

/// Tags don't depend on the content, and there is no checksum, so only reading back reveals the
/// damage.
#[test]
fn what_no_answer_tells_is_noticed_where_it_is_read_back() {
    let url = format!("s3://{BUCKET}/k");
    let store =
        Arc::new(SimStore::new(StoreOptions { has_opaque_tags: true, ..StoreOptions::default() }));
    let server = Server::start(&store, |asked| match is_bytes(asked) || is_completion(asked) {
        true => Wrong::FlipSent,
        false => Wrong::Nothing,
    });
    let whole = Server::start(&store, |_| Wrong::Nothing);
    for length in [0, 1, MIB, 11 * MIB + 5] {
        let bytes = Random::new(1).bytes(length);
        if length > 0 {
            write(&impatient(&server, false, false), &url, &bytes).expect("nobody can know");
            let error = write(&impatient(&server, true, false), &url, &bytes).unwrap_err();
            let expected = "is not what was written: read back, its bytes ";
            assert!(error.contains(expected) && error.contains("don't use it"), "{error}");
        }
        write(&impatient(&whole, true, false), &url, &bytes).unwrap();
        assert!(store.object(&url).as_deref() == Some(&bytes[..]));
    }
    let reads = whole.seen().iter().filter(|line| line.starts_with("GET ")).count();
    // Each part once, one request for the reason why HEAD failed, and one to check that the object
    // without bytes is empty.
    assert_eq!(reads, 5 + 1 + 1);
}

/// A store whose tags look like MD5s but aren't. The remedy that the error names works.
#[test]
fn tags_that_only_look_like_md5s_are_outweighed_by_reading_back() {
    let url = format!("s3://{BUCKET}/k");
    let store = store();
    let server = Server::start(&store, |asked| match asked.method.as_str() {
        "PUT" => Wrong::Says(&[("etag", "\"00000000000000000000000000000000\"")]),
        _ => Wrong::Nothing,
    });
    let error = write(&impatient(&server, false, false), &url, b"bytes").unwrap_err();
    assert!(error.contains("is not what was written"), "{error}");
    write(&impatient(&server, true, false), &url, b"bytes").unwrap();
    // A header says that the tags are no MD5s.
    let server = Server::start(&store, |asked| match asked.method.as_str() {
        "PUT" => Wrong::Says(&[
            ("etag", "\"00000000000000000000000000000000\""),
            ("x-amz-server-side-encryption", "aws:kms"),
        ]),
        _ => Wrong::Nothing,
    });
    write(&impatient(&server, false, false), &url, b"bytes").unwrap();
}

/// If the store has a checksum of the whole object, the bytes read are compared with it.
#[test]
fn what_is_read_damaged_is_an_error() {
    let bytes = Random::new(7).bytes(50_000);
    let crc32 = to_base64(&crc32fast::hash(&bytes).to_be_bytes());
    let castagnoli = to_base64(&crc32c(&bytes).to_be_bytes());
    // Computed bit by bit, by an independent implementation.
    let crc64 = to_base64(&slow_crc64(&bytes).to_be_bytes());
    let store = store();
    store.put_object(&format!("s3://{BUCKET}/k"), bytes.clone());
    let headers: [(usize, &'static str, String); 4] = [
        (0, "x-amz-checksum-crc32", crc32),
        (0, "x-amz-checksum-crc32c", castagnoli.clone()),
        (0, "x-amz-checksum-crc64nvme", crc64),
        (1, "x-goog-hash", format!("crc32c={castagnoli}")),
    ];
    for (scheme, name, value) in headers {
        let said: &'static [(&'static str, &'static str)] = vec![(name, &*value.leak())].leak();
        for damaged in [None, Some("bytes=0-"), Some("bytes=32768-")] {
            let server = Server::start(&store, move |asked: &Asked| {
                let range = asked.header("range").unwrap_or_default();
                let is_damaged = damaged.is_some_and(|damaged| range.starts_with(damaged));
                assert!(
                    asked.method != "HEAD"
                        || scheme == 1
                        || asked.header("x-amz-checksum-mode") == Some("ENABLED")
                );
                match asked.method.as_str() {
                    "HEAD" => Wrong::Says(said),
                    _ if is_damaged => Wrong::FlipAnswer,
                    _ => Wrong::Nothing,
                }
            });
            let (url, disk) = &everywhere(&server)[scheme];
            let read = read_all(disk, Path::new(url), 2);
            match damaged {
                None => assert!(read.unwrap() == bytes, "{name}"),
                Some(_) => {
                    let error = read.expect_err(name).to_string();
                    assert!(error.contains("what was read is not what the store has"), "{error}");
                }
            }
        }
    }
}

/// Two reads share the page in which their ranges meet. Either copy of it may be damaged.
#[test]
fn a_page_that_two_reads_share_is_checked_in_both() {
    let bytes = Random::new(7).bytes(4 * PAGE);
    let crc = to_base64(&crc32fast::hash(&bytes).to_be_bytes());
    let said: &'static [(&str, &str)] = vec![("x-amz-checksum-crc32", &*crc.leak())].leak();
    let store = store();
    store.put_object(&format!("s3://{BUCKET}/k"), bytes);
    for damaged in ["", "bytes=0-", "bytes=4096-"] {
        let server = Server::start(&store, move |asked: &Asked| {
            let range = asked.header("range").unwrap_or_default();
            match asked.method.as_str() {
                "HEAD" => Wrong::Says(said),
                _ if !damaged.is_empty() && range.starts_with(damaged) => Wrong::FlipAnswer,
                _ => Wrong::Nothing,
            }
        });
        let (url, disk) = &everywhere(&server)[0];
        let input = disk.open_input(Path::new(url)).unwrap();
        let transfers = Transfers::new(disk);
        let mut results = Vec::new();
        for (offset, bytes) in [(0, 2 * PAGE), (PAGE, 3 * PAGE)] {
            transfers.read(input, offset as u64, bytes, bytes);
            results.push(transfers.wait().result);
        }
        let is_good = results.iter().all(Result::is_ok);
        assert_eq!(is_good, damaged.is_empty(), "{damaged}: {results:?}");
    }
}

/// Computes CRC-64/NVME from its polynomial.
fn slow_crc64(bytes: &[u8]) -> u64 {
    let next = |crc: u64, byte: &u8| {
        let mut crc = crc ^ u64::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ ((crc & 1) * 0x9a6c_9329_ac4b_c9b5);
        }
        crc
    };
    !bytes.iter().fold(!0, next)
}
