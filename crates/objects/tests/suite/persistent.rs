//! An output that outlives the process, and the parts of it that a later process accepts.

use crate::mortal::{Mortal, inverted};
use crate::transfers::{PAGE, is_alone, settings, write_pages};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use xsort_disk::{Disk, Error, FileId, OutputFiles, ScratchFiles, SimDisk, SimOptions, StoredPart};
use xsort_objects::{
    ObjectDisk, ObjectSettings, Reason, SimStore, StoreCall, StoreFault, StoreOptions,
    abandon_uploads,
};
use xsort_testing::Random;

const URL: &str = "s3://b/out";
/// Number of pages of a part.
const PART: usize = 4;
/// Number of pages of the output. The last page isn't full.
const PAGES: usize = 10 * PART + 1;

fn output_bytes() -> Vec<u8> {
    Random::new(5).bytes(PAGES * PAGE - 100)
}

/// A process that writes.
struct Process {
    client: Arc<Mortal>,
    disk: ObjectDisk,
}

impl Process {
    fn new(store: &Arc<SimStore>, settings: ObjectSettings) -> Process {
        Process::with_client(Mortal::new(store, u64::MAX), settings)
    }

    fn with_client(client: Mortal, settings: ObjectSettings) -> Process {
        let client = Arc::new(client);
        let local = Arc::new(SimDisk::new(SimOptions::default()));
        let disk = ObjectDisk::with_client(local, settings, Arc::clone(&client) as _);
        Process { client, disk }
    }

    fn open(&self, tag: &str, parts: &[StoredPart]) -> Result<FileId, Error> {
        self.disk.open_persistent_output(Path::new(URL), tag, parts)
    }

    fn parts_sent(&self) -> usize {
        self.client.parts_sent.load(Ordering::Relaxed)
    }
}

/// Returns the traces of a process that was stopped after it wrote four and a half parts.
fn interrupted(options: StoreOptions) -> (Arc<SimStore>, String, Vec<StoredPart>) {
    let store = Arc::new(SimStore::new(options));
    store.put_object(URL, "old");
    let process = Process::new(&store, settings(PART));
    let (output, tag) = process.disk.create_persistent_output(Path::new(URL), "tag").unwrap();
    write_pages(&process.disk, output, &output_bytes(), 0..4 * PART + 2).unwrap();
    let parts = loop {
        let parts = process.disk.stored_parts(output, 0).unwrap();
        if parts.len() == 4 {
            break parts;
        }
        thread::yield_now();
    };
    assert_eq!(process.disk.stored_parts(output, 3).unwrap(), parts[3..]);
    process.disk.close(output);
    drop(process);
    (store, tag, parts)
}

/// Returns the CRC-32 of the first `pages` pages of the output.
fn crc_of_pages(pages: usize) -> u32 {
    crc32fast::hash(&output_bytes()[..pages * PAGE])
}

/// Continues after `pages` pages and publishes the output. Returns the number of parts sent.
fn go_on(
    store: &Arc<SimStore>,
    tag: &str,
    parts: &[StoredPart],
    pages: usize,
    expected: bool,
) -> usize {
    let process = Process::new(store, settings(PART));
    let output = process.open(tag, parts).unwrap();
    let begins = process.disk.begins_with(output, (pages * PAGE) as u64, crc_of_pages(pages));
    assert_eq!(begins, Some(expected), "{pages} pages");
    let bytes = output_bytes();
    let from = if expected { pages } else { 0 };
    write_pages(&process.disk, output, &bytes, from..PAGES).unwrap();
    process.disk.publish(output, bytes.len() as u64, true).unwrap();
    assert!(store.object(URL).as_deref() == Some(&bytes[..]), "from page {from}");
    assert_eq!(store.upload_bytes(), 0);
    process.parts_sent()
}

#[test]
fn what_is_in_the_store_is_not_sent_again() {
    for has_opaque_tags in [false, true] {
        for pages in 0..=4 * PART {
            let options = StoreOptions { has_opaque_tags, ..StoreOptions::default() };
            let (store, tag, parts) = interrupted(options);
            assert_eq!(store.object(URL).as_deref(), Some(&b"old"[..]));
            // The number of parts after the first four, including the last.
            assert_eq!(go_on(&store, &tag, &parts, pages, true), 7, "{pages} pages");
        }
    }
}

#[test]
fn what_is_not_as_it_was_sent_is_sent_again() {
    type Change = fn(&mut BTreeMap<u32, Bytes>);
    let changes: [Change; 5] = [
        |parts| drop(parts.remove(&2)),
        |parts| parts.get_mut(&2).unwrap().truncate(PAGE),
        |parts| {
            let other = inverted(&parts[&2]);
            parts.insert(2, other);
        },
        |parts| {
            let other = parts[&3].clone();
            parts.insert(2, other);
        },
        |parts| drop(parts.insert(2, Bytes::new())),
    ];
    for change in changes {
        for seed in 0..4 {
            let options = StoreOptions { seed, ..StoreOptions::default() };
            let (store, tag, parts) = interrupted(options);
            store.change_parts(URL, change);
            assert_eq!(go_on(&store, &tag, &parts, 3 * PART, false), 8);
            // Earlier parts are unchanged.
            let (store, tag, parts) = interrupted(StoreOptions { seed, ..StoreOptions::default() });
            store.change_parts(URL, change);
            assert_eq!(go_on(&store, &tag, &parts, PART, true), 8);
        }
    }
}

/// Unrecorded parts may be another program's.
#[test]
fn only_what_was_recorded_is_believed() {
    let (store, tag, parts) = interrupted(StoreOptions::default());
    assert_eq!(go_on(&store, &tag, &parts[..2], 3 * PART, false), 9);
    let (store, tag, mut parts) = interrupted(StoreOptions::default());
    parts[1].crc ^= 1;
    parts[2].tag = parts[3].tag.clone();
    assert_eq!(go_on(&store, &tag, &parts, 4 * PART, false), 9);
}

#[test]
fn a_beginning_of_another_checksum_is_none() {
    let (store, tag, parts) = interrupted(StoreOptions::default());
    let process = Process::new(&store, settings(PART));
    let output = process.open(&tag, &parts).unwrap();
    let begins = |pages: usize, crc| process.disk.begins_with(output, (pages * PAGE) as u64, crc);
    assert_eq!(begins(2 * PART, crc_of_pages(2 * PART) ^ 1), Some(false));
    assert_eq!(begins(4 * PART + 1, crc_of_pages(4 * PART + 1)), Some(false));
    assert_eq!(begins(2 * PART, crc_of_pages(2 * PART)), Some(true));
}

/// A difference inside a part shows only when its end is written.
#[test]
fn what_does_not_go_on_where_the_store_ends_is_no_success() {
    for wrong_crc in [true, false] {
        let (store, tag, parts) = interrupted(StoreOptions::default());
        let process = Process::new(&store, settings(PART));
        let output = process.open(&tag, &parts).unwrap();
        let pages = 2 * PART + 1;
        let crc = crc_of_pages(pages) ^ u32::from(wrong_crc);
        assert_eq!(process.disk.begins_with(output, (pages * PAGE) as u64, crc), Some(true));
        let mut bytes = output_bytes();
        if !wrong_crc {
            bytes[pages * PAGE] ^= 1;
        }
        let written = write_pages(&process.disk, output, &bytes, pages..PAGES);
        let published = process.disk.publish(output, bytes.len() as u64, true);
        let error = written.and(published).unwrap_err().to_string();
        assert!(error.contains("begin anew with --restart"), "{error}");
        assert_eq!(store.object(URL).as_deref(), Some(&b"old"[..]));
    }
}

/// A user who may write may not be allowed to list. The parts can then be replaced and removed.
#[test]
fn without_a_list_nothing_is_believed() {
    let fault = StoreFault { call: StoreCall::ListParts, reason: Reason::Denied, chance: 1.0 };
    let options = StoreOptions { faults: vec![fault], ..StoreOptions::default() };
    let (store, tag, parts) = interrupted(options.clone());
    assert_eq!(go_on(&store, &tag, &parts, 4 * PART, false), 11);
    let (store, tag, _) = interrupted(options);
    let process = Process::new(&store, settings(PART));
    let output = process.open(&tag, &[]).unwrap();
    process.disk.remove_persistent(output).unwrap();
    process.disk.close(output);
    assert_eq!(store.upload_bytes(), 0);
}

#[test]
fn parts_of_another_size_are_sent_again() {
    let (store, tag, parts) = interrupted(StoreOptions::default());
    let process = Process::new(&store, settings(2 * PART));
    let output = process.open(&tag, &parts).unwrap();
    assert_eq!(process.disk.begins_with(output, PAGE as u64, crc_of_pages(1)), Some(false));
    let bytes = output_bytes();
    write_pages(&process.disk, output, &bytes, 0..PAGES).unwrap();
    process.disk.publish(output, bytes.len() as u64, true).unwrap();
    assert!(store.object(URL).as_deref() == Some(&bytes[..]));
    assert_eq!((process.parts_sent(), store.upload_bytes()), (6, 0));
}

#[test]
fn an_upload_that_is_over_is_not_found_and_one_that_is_removed_is_over() {
    let (store, tag, parts) = interrupted(StoreOptions::default());
    let process = Process::new(&store, settings(PART));
    let output = process.open(&tag, &parts).unwrap();
    process.disk.remove_persistent(output).unwrap();
    process.disk.close(output);
    assert_eq!(store.upload_bytes(), 0);
    let error = process.open(&tag, &parts).unwrap_err();
    assert_eq!(error.source.kind(), ErrorKind::NotFound, "{error}");
    assert!(process.open("not a tag", &parts).is_err());
    assert!(process.open(&tag[..32], &parts).is_err());
}

/// The process that completed the upload has died, and its request arrives late: the upload is
/// gone, and the object exists.
#[test]
fn what_another_process_has_completed_is_in_place() {
    let (store, tag, parts) = interrupted(StoreOptions::default());
    let bytes = output_bytes();
    let overtaken = Mortal::new(&store, u64::MAX).overtaken();
    let process = Process::with_client(overtaken, settings(PART));
    let output = process.open(&tag, &parts).unwrap();
    write_pages(&process.disk, output, &bytes, 0..PAGES).unwrap();
    process.disk.publish(output, bytes.len() as u64, true).unwrap();
    assert!(store.object(URL).as_deref() == Some(&bytes[..]));
    // Without an object, it isn't accepted.
    let (store, tag, parts) = interrupted(StoreOptions::default());
    let process = Process::new(&store, settings(PART));
    let output = process.open(&tag, &parts).unwrap();
    write_pages(&process.disk, output, &bytes, 0..PAGES - 1).unwrap();
    store.abort_uploads(URL);
    let last = write_pages(&process.disk, output, &bytes, PAGES - 1..PAGES);
    let error = last.and(process.disk.publish(output, bytes.len() as u64, true)).unwrap_err();
    assert!(error.to_string().contains("the upload under way is gone"), "{error}");
}

/// A signal ends the process. The test uses its own process, because all outputs of the process
/// stop.
#[test]
fn a_process_that_ends_at_once_leaves_what_is_persistent() {
    if !is_alone("persistent::a_process_that_ends_at_once_leaves_what_is_persistent") {
        return;
    }
    let (store, tag, parts) = interrupted(StoreOptions::default());
    let process = Process::new(&store, settings(PART));
    let output = process.open(&tag, &parts).unwrap();
    abandon_uploads();
    let error = process.disk.publish(output, 1, true).unwrap_err();
    assert!(error.to_string().contains("stopped on request"), "{error}");
    assert_eq!(go_on(&store, &tag, &parts, 4 * PART, true), 7);
}

#[test]
fn an_empty_output_and_a_small_one_leave_no_upload() {
    for length in [0, 1, PAGE, PART * PAGE] {
        let store = Arc::new(SimStore::new(StoreOptions::default()));
        let process = Process::new(&store, settings(PART));
        let bytes = Random::new(1).bytes(length);
        let (output, _) = process.disk.create_persistent_output(Path::new(URL), "tag").unwrap();
        let pages = length.div_ceil(PAGE);
        write_pages(&process.disk, output, &bytes, 0..pages).unwrap();
        process.disk.publish(output, length as u64, true).unwrap();
        assert!(store.object(URL).as_deref() == Some(&bytes[..]), "{length}");
        assert_eq!(store.uploads(), 0);
    }
}
