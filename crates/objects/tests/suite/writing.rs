//! Writes objects: complete or not at all, from pages in any order.

use crate::transfers::{PAGE, Transfers, disk, is_alone, settings, smooth, write_all, write_pages};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use xsort_disk::{Disk, Operation, OutputFiles, ScratchFiles, align_up};
use xsort_objects::{
    ObjectSettings, Reason, SimStore, StoreCall, StoreFault, StoreOptions, StoreTrouble,
    abandon_uploads,
};
use xsort_testing::{Random, for_each_seed};

const URL: &str = "s3://b/a key with + and %20 and ü";

/// Returns pages in an order that concurrent writers might have: random, but no page is so far from
/// the first missing one that there is no memory for its part.
fn nearly_in_order(random: &mut Random, pages: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pages).collect();
    for page in 0..pages {
        let other = (page + random.below(8)).min(pages - 1);
        order.swap(page, other);
    }
    order
}

#[test]
fn outputs_of_any_length_are_in_the_store_to_the_byte_whatever_it_answers() {
    for_each_seed("writing", 30, |seed| {
        let random = &mut Random::new(seed);
        let store = Arc::new(SimStore::new(StoreOptions::rough(seed)));
        let part_pages = random.between(1, 8) as usize;
        let no_clobber = random.one_in(3);
        let settings = ObjectSettings { no_clobber, ..settings(part_pages) };
        let disk = disk(&store, settings);
        let lengths = [0, 1, PAGE - 1, PAGE, PAGE + 1, 8 * PAGE, 100_000, 200_000];
        let length = random.one_of(&lengths);
        let bytes = random.bytes(length);
        if !no_clobber {
            store.put_object(URL, "old");
        }
        let pages = bytes.len().div_ceil(PAGE);
        let order = nearly_in_order(random, pages);
        write_all(&disk, Path::new(URL), &bytes, order).map_err(|error| error.to_string())?;
        if store.object(URL).as_deref() != Some(&bytes[..]) {
            return Err("other bytes".to_owned());
        }
        match store.upload_bytes() {
            0 => Ok(()),
            left => Err(format!("{left} bytes of parts are left")),
        }
    });
}

/// The most adverse callers that the bound covers. Each fills ranges of any length by ascending
/// offsets. A page that two ranges share comes last. All share the memory of their writes.
#[test]
fn no_writer_waits_for_ever() {
    for_each_seed("writers", 30, |seed| {
        let random = &mut Random::new(seed);
        let writers = random.between(1, 5) as usize;
        let store = Arc::new(SimStore::new(StoreOptions {
            delay_max: Duration::from_micros(100),
            seed,
            ..StoreOptions::default()
        }));
        let part_pages = random.between(1, 9) as usize;
        let settings =
            ObjectSettings { writers, connections: 1 + random.below(4), ..settings(part_pages) };
        let disk = disk(&store, settings);
        let pages = random.between(1, 600) as usize;
        let bytes = random.bytes(pages * PAGE);
        let output = disk.create_output(Path::new(URL)).unwrap();
        disk.reserve(output, align_up(bytes.len() as u64)).unwrap();
        write_side_by_side(random, &disk, output, &bytes, writers)?;
        disk.publish(output, bytes.len() as u64, true).map_err(|error| error.to_string())?;
        if store.object(URL).as_deref() == Some(&bytes[..]) {
            Ok(())
        } else {
            Err("other bytes".to_owned())
        }
    });
}

/// Simulates writers that take ranges in order and share a few leases. Returns `Err` if all of them
/// wait.
fn write_side_by_side(
    random: &mut Random,
    disk: &dyn Disk,
    output: xsort_disk::FileId,
    bytes: &[u8],
    writers: usize,
) -> Result<(), String> {
    let pages = bytes.len() / PAGE;
    let leases = random.between(1, 20) as usize;
    let transfers = Transfers::new(disk);
    let (mut next, mut under_way, mut ended) = (0, 0, vec![false; pages + 1]);
    // For each writer: the first page of its range, the next page, and the end.
    let mut ranges: Vec<Option<(usize, usize, usize)>> = vec![None; writers];
    let mut seams = Vec::new();
    let write = |page: usize, under_way: &mut usize| {
        while *under_way >= leases {
            transfers.wait().result.map_err(|error| error.to_string())?;
            *under_way -= 1;
        }
        while let Some(completion) = transfers.poll() {
            completion.result.map_err(|error| error.to_string())?;
            *under_way -= 1;
        }
        transfers.write(output, (page * PAGE) as u64, &bytes[page * PAGE..][..PAGE]);
        *under_way += 1;
        Ok::<(), String>(())
    };
    loop {
        let writer = random.below(writers);
        match &mut ranges[writer] {
            None if next == pages => {
                if ranges.iter().all(Option::is_none) {
                    break;
                }
            }
            range @ None => {
                let longest = random.one_of(&[1, 3, 30, 100]);
                let end = pages.min(next + 1 + random.below(longest));
                // The first page is shared with the previous range.
                *range = Some((next, next + 1, end));
                next = end;
            }
            Some((start, at, end)) if at == end => {
                ended[*end] = true;
                seams.push(*start);
                ranges[writer] = None;
            }
            Some((_, at, _)) => {
                write(*at, &mut under_way)?;
                *at += 1;
            }
        }
        let (ready, others) =
            seams.iter().partition::<Vec<_>, _>(|&&start| start == 0 || ended[start]);
        seams = others;
        for page in ready {
            write(page, &mut under_way)?;
        }
    }
    while under_way > 0 {
        transfers.wait().result.map_err(|error| error.to_string())?;
        under_way -= 1;
    }
    Ok(())
}

#[test]
fn nothing_is_left_of_an_output_that_is_given_up() {
    let begin = || {
        let (store, disk) = smooth();
        store.put_object(URL, "old");
        let output = disk.create_output(Path::new(URL)).unwrap();
        write_pages(&disk, output, &[1; 32 * PAGE], 0..32).unwrap();
        (store, disk, output)
    };
    let only_the_old_is_there = |store: &SimStore, how| {
        assert_eq!(store.object(URL).as_deref(), Some(&b"old"[..]), "{how}");
        assert_eq!(store.upload_bytes(), 0, "{how}");
    };
    let (store, disk, output) = begin();
    disk.close(output);
    only_the_old_is_there(&store, "closed");
    let (store, disk, output) = begin();
    let error = disk.publish(output, 33 * PAGE as u64, true).unwrap_err().to_string();
    assert!(error.contains("at byte 131072: the output was never written here"), "{error}");
    only_the_old_is_there(&store, "published with more than was written");
    let (store, disk, output) = begin();
    let error = disk.publish(output, 5 * PAGE as u64, true).unwrap_err().to_string();
    assert!(error.contains("the output was never written"), "{error}");
    only_the_old_is_there(&store, "published with less");
    let (store, disk, _) = begin();
    drop(disk);
    only_the_old_is_there(&store, "dropped");
}

/// A signal ends the process: nothing waits for the pipeline, whatever its state. The test uses its
/// own process, because all outputs of the process are abandoned.
#[test]
fn a_process_that_ends_at_once_leaves_nothing_and_publishes_nothing() {
    if !is_alone("writing::a_process_that_ends_at_once_leaves_nothing_and_publishes_nothing") {
        return;
    }
    let (store, disk) = smooth();
    let output = disk.create_output(Path::new(URL)).unwrap();
    write_pages(&disk, output, &vec![1; 32 * PAGE], 0..32).unwrap();
    thread::scope(|scope| scope.spawn(abandon_uploads).join().unwrap());
    assert_eq!((store.upload_bytes(), store.object(URL)), (0, None));
    let error = disk.publish(output, 32 * PAGE as u64, true).unwrap_err();
    assert!(error.to_string().contains("stopped on request"), "{error}");
    assert_eq!(store.object(URL), None);
}

#[test]
fn what_is_there_stays_where_it_must() {
    let (store, _) = smooth();
    store.put_object(URL, "old");
    let careful = ObjectSettings { no_clobber: true, ..settings(4) };
    let disk = disk(&store, careful);
    let error = disk.create_output(Path::new(URL)).unwrap_err();
    assert_eq!(
        (error.operation, error.source.kind()),
        (Operation::Create, ErrorKind::AlreadyExists)
    );
    // The signal comes while the output is written.
    for pages in [1, 30] {
        let new = format!("s3://b/new{pages}");
        let output = disk.create_output(Path::new(&new)).unwrap();
        write_pages(&disk, output, &vec![1; pages * PAGE], 0..pages).unwrap();
        store.put_object(&new, "theirs");
        let error = disk.publish(output, (pages * PAGE) as u64, true).unwrap_err();
        assert_eq!(error.source.kind(), ErrorKind::AlreadyExists, "{error}");
        assert_eq!(store.object(&new).as_deref(), Some(&b"theirs"[..]));
        assert_eq!(store.upload_bytes(), 0);
    }
}

fn troubled(trouble: StoreTrouble, has_opaque_tags: bool) -> (String, bool) {
    let (pages, trouble) = (100, Some(trouble));
    let options = StoreOptions { trouble, has_opaque_tags, ..StoreOptions::default() };
    let store = Arc::new(SimStore::new(options));
    store.put_object(URL, "old");
    let disk = disk(&store, settings(4));
    let bytes = vec![1; pages * PAGE];
    let error = write_all(&disk, Path::new(URL), &bytes, 0..pages).unwrap_err();
    assert_eq!(store.upload_bytes(), 0);
    (error.to_string(), store.object(URL).as_deref() == Some(b"old"))
}

#[test]
fn a_store_that_loses_a_part_does_not_go_unnoticed() {
    let (text, is_old) = troubled(StoreTrouble::LosePart, false);
    assert!(is_old && text.contains("the store has lost a part"), "{text}");
    let (text, _) = troubled(StoreTrouble::CompleteWithoutPart, false);
    assert!(text.contains("is not what was written: the MD5 of what it has"), "{text}");
    let (text, _) = troubled(StoreTrouble::CompleteWithoutPart, true);
    assert!(text.contains("is not what was written: it should have 409600 bytes"), "{text}");
}

#[test]
fn a_part_that_fails_fails_what_comes_later() {
    let fault = StoreFault { call: StoreCall::PutPart, reason: Reason::Denied, chance: 0.2 };
    let store =
        Arc::new(SimStore::new(StoreOptions { faults: vec![fault], ..StoreOptions::default() }));
    store.put_object(URL, "old");
    let disk = disk(&store, settings(4));
    let error = write_all(&disk, Path::new(URL), &vec![1; 400 * PAGE], 0..400).unwrap_err();
    assert_eq!(error.operation, Operation::Write, "{error}");
    assert!(error.offset.unwrap().is_multiple_of(4 * PAGE as u64), "{error}");
    assert_eq!((store.upload_bytes(), store.object(URL).as_deref()), (0, Some(&b"old"[..])));
}

/// A user who may write an object may not be allowed to look for it.
#[test]
fn who_may_only_write_can_write() {
    for (pages, has_opaque_tags) in [(1, false), (100, false), (100, true)] {
        let fault = StoreFault { call: StoreCall::Head, reason: Reason::Denied, chance: 1.0 };
        let store = Arc::new(SimStore::new(StoreOptions {
            faults: vec![fault],
            has_opaque_tags,
            // With this seed, the store returns a checksum of the whole object.
            seed: 1,
            ..StoreOptions::default()
        }));
        let disk = disk(&store, settings(4));
        let bytes = vec![1; pages * PAGE];
        let written = write_all(&disk, Path::new(URL), &bytes, 0..pages);
        let is_there = store.object(URL).as_deref() == Some(&bytes[..]);
        assert!(written.is_err() || is_there, "{written:?}");
        if !has_opaque_tags {
            written.unwrap();
        }
        assert_eq!(store.upload_bytes(), 0);
    }
}

#[test]
fn what_has_too_many_parts_is_refused_before_it_is_written() {
    let (store, disk) = smooth();
    let output = disk.create_output(Path::new(URL)).unwrap();
    let most = 10_000 * 4 * PAGE as u64;
    disk.reserve(output, most).unwrap();
    let error = disk.reserve(output, most + PAGE as u64).unwrap_err();
    assert!(error.to_string().contains("choose parts of 1 MiB or more"), "{error}");
    let transfers = Transfers::new(&disk);
    transfers.write(output, most, &[1; PAGE]);
    assert!(transfers.wait().result.is_err());
    disk.close(output);
    assert_eq!(store.urls().len(), 0);
}

#[test]
fn a_byte_cannot_be_written_again_once_it_was_sent() {
    let (store, disk) = smooth();
    let output = disk.create_output(Path::new(URL)).unwrap();
    // Before that it works.
    write_pages(&disk, output, &vec![1; 8 * PAGE], [0, 1, 1, 2, 0]).unwrap();
    write_pages(&disk, output, &vec![1; 8 * PAGE], [3, 4]).unwrap();
    let error = write_pages(&disk, output, &vec![2; 8 * PAGE], [1])
        .map(|()| write_pages(&disk, output, &vec![2; 8 * PAGE], [5]).unwrap_err());
    let error = error.unwrap_or_else(|error| error);
    assert!(error.to_string().contains("an object can't be written twice"), "{error}");
    disk.close(output);
    assert_eq!((store.urls().len(), store.upload_bytes()), (0, 0));
}
