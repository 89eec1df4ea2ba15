//! Reads objects: always of one version, byte for byte, whatever the store answers.

use crate::transfers::{PAGE, Transfers, disk, read_all, settings, smooth};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{Disk, Error, InputFiles, Operation, OutputFiles, ScratchFiles};
use xsort_objects::{Reason, SimStore, StoreCall, StoreFault, StoreOptions};
use xsort_testing::{Random, for_each_seed};

#[test]
fn objects_of_any_length_are_read_to_the_byte_whatever_the_store_answers() {
    for_each_seed("reading", 40, |seed| {
        let random = &mut Random::new(seed);
        let store = Arc::new(SimStore::new(StoreOptions::rough(seed)));
        let disk = disk(&store, settings(4));
        let length = random.one_of(&[0, 1, 4095, 4096, 4097, 100_000]);
        let bytes = random.bytes(length);
        let url = "s3://b/folder/an object";
        store.put_object(url, bytes.clone());
        match read_all(&disk, Path::new(url), random.between(1, 9) as usize) {
            Ok(read) if read == bytes => Ok(()),
            Ok(_) => Err("other bytes".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    });
}

#[test]
fn the_end_is_where_the_object_ends() {
    let (store, disk) = smooth();
    store.put_object("s3://b/k", vec![7; PAGE + 10]);
    let file = disk.open_input(Path::new("s3://b/k")).unwrap();
    assert_eq!(disk.file_bytes(file).unwrap(), PAGE as u64 + 10);
    assert_eq!(disk.path(file), Path::new("s3://b/k"));
    let transfers = Transfers::new(&disk);
    transfers.read(file, 0, 4 * PAGE, PAGE + 10);
    let completion = transfers.wait();
    completion.result.unwrap();
    assert!(completion.lease[..PAGE + 10].iter().all(|&byte| byte == 7));
    transfers.read(file, PAGE as u64, PAGE, 11);
    let error = transfers.wait().result.unwrap_err();
    assert_eq!((error.operation, error.source.kind()), (Operation::Read, ErrorKind::UnexpectedEof));
    transfers.read(file, 8 * PAGE as u64, PAGE, 0);
    transfers.wait().result.unwrap();
    disk.close(file);
}

fn fails(result: Result<impl Sized, Error>, operation: Operation, text: &str) -> ErrorKind {
    let error = result.map(drop).expect_err("it must fail");
    assert_eq!(error.operation, operation, "{error}");
    assert!(error.to_string().contains(text), "{error}");
    error.source.kind()
}

#[test]
fn what_was_replaced_meanwhile_is_not_mixed_with_the_old() {
    let (store, disk) = smooth();
    let url = Path::new("s3://b/k");
    store.put_object("s3://b/k", vec![1; 2 * PAGE]);
    let file = disk.open_input(url).unwrap();
    disk.check_unchanged(file).unwrap();
    let identity = disk.identity(file).unwrap();
    store.put_object("s3://b/k", vec![2; 2 * PAGE]);
    let transfers = Transfers::new(&disk);
    transfers.read(file, 0, PAGE, PAGE);
    fails(transfers.wait().result, Operation::Read, "it was written to since it was opened");
    fails(disk.check_unchanged(file), Operation::Read, "it was written to since it was opened");
    fails(disk.remove_input(file), Operation::Read, "it was written to since it was opened");
    let again = disk.open_input(url).unwrap();
    assert_ne!(disk.identity(again).unwrap(), identity);
    disk.remove_input(again).unwrap();
    assert!(store.urls().is_empty());
    let gone = fails(disk.check_unchanged(again), Operation::Inspect, "there is no such object");
    assert_eq!(gone, ErrorKind::NotFound);
}

#[test]
fn a_store_that_never_answers_is_asked_for_a_while_and_the_error_says_how_long() {
    let fault = |call, reason| {
        let faults = vec![StoreFault { call, reason, chance: 1.0 }];
        let store = Arc::new(SimStore::new(StoreOptions { faults, ..StoreOptions::default() }));
        store.put_object("s3://b/k", vec![1; PAGE]);
        let disk = disk(&store, settings(4));
        read_all(&disk, Path::new("s3://b/k"), 1).unwrap_err().to_string()
    };
    let text = fault(StoreCall::GetRange, Reason::Unavailable);
    assert!(
        text.starts_with("reading s3://b/k at byte 0: the store can't answer for now"),
        "{text}"
    );
    let seconds: u64 =
        text.split(" seconds)").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    // The whole time limit is used, and the last attempt may exceed it.
    assert!((100..=105).contains(&seconds) && text.contains("(asked "), "{text}");
    // The store never answered: most likely the name is wrong.
    let text = fault(StoreCall::Head, Reason::Unreachable);
    let seconds: u64 =
        text.split(" seconds)").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!((15..=20).contains(&seconds) && text.contains("AWS_ENDPOINT_URL"), "{text}");
    // A permanent failure isn't repeated.
    let text = fault(StoreCall::Head, Reason::NoCredentials);
    assert!(text.contains("AWS_PROFILE") && !text.contains("asked"), "{text}");
}

#[test]
fn what_a_store_cannot_do_is_refused_and_paths_are_files() {
    let (_, disk) = smooth();
    let url = Path::new("s3://b/k");
    fails(disk.open_in_place(url), Operation::Open, "in place");
    fails(disk.create_scratch(url), Operation::Create, "-T");
    fails(disk.create_persistent(url), Operation::Persist, "-T");
    fails(disk.open_input(Path::new("s3://b")), Operation::Open, "no object");
    fails(disk.open_input(url), Operation::Open, "there is no such object");
    fails(disk.create_output(Path::new("https://h/k")), Operation::Create, "reading only");
    assert_eq!(disk.describe().split(';').count(), 2, "{}", disk.describe());
    let drive = disk.drive(url).unwrap();
    assert_eq!((drive.kind.as_str(), drive.is_memory), ("s3", false));
    assert_eq!(disk.drive(Path::new("s3://b/other")).unwrap().id, drive.id);
    assert_ne!(disk.drive(Path::new("/local")).unwrap().id, drive.id);
    let scratch = disk.create_scratch(Path::new("/scratch")).unwrap();
    let transfers = Transfers::new(&disk);
    transfers.write(scratch, 0, &[5; PAGE]);
    transfers.wait().result.unwrap();
    transfers.read(scratch, 0, PAGE, PAGE);
    assert!(transfers.wait().lease.iter().all(|&byte| byte == 5));
    disk.close(scratch);
}
