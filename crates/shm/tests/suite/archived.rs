//! Values of Rust types, and the operations of mmap-sync.

use crate::on_disk;
use rkyv::{Archive, Deserialize, Serialize};
use std::collections::HashMap;
use xsort_shm::{
    Error, LocalReader, NoChecksum, Reader, ReaderOptions, Synchronizer, Writer, WriterOptions,
    Xxh3,
};

#[derive(Archive, Deserialize, Serialize, Debug, PartialEq)]
struct Weather {
    day: u32,
    stations: HashMap<String, Vec<f32>>,
}

fn weather(day: u32) -> Weather {
    let readings = |name: u32| (0..name % 5).map(|hour| hour as f32 + day as f32).collect();
    Weather {
        day,
        stations: (0..20).map(|name| (format!("station {name}"), readings(name))).collect(),
    }
}

#[test]
fn values_are_read_where_they_lie() {
    let (_folder, prefix) = on_disk();
    let mut writer = Writer::open(&prefix).unwrap();
    writer.write_archived(&weather(1)).unwrap();
    let reader = Reader::open(&prefix).unwrap();
    let one = reader.read_archived::<Weather>().unwrap();
    for day in 2..30 {
        assert_eq!(writer.write_archived(&weather(day)).unwrap(), u64::from(day));
        let value = reader.read_archived::<Weather>().unwrap();
        assert!(value.is_new() && value.sequence() == u64::from(day));
        assert_eq!(
            rkyv::deserialize::<Weather, rkyv::rancor::Error>(&*value).unwrap(),
            weather(day)
        );
        let again = reader.read_archived::<Weather>().unwrap();
        assert!(!again.is_new() && std::ptr::eq(&*again, &*value));
        // SAFETY: all versions are of this type.
        #[allow(unsafe_code, reason = "the subject of the test")]
        let unchecked = unsafe { reader.read_archived_unchecked::<Weather>() }.unwrap();
        assert!(std::ptr::eq(&*unchecked, &*value));
    }
    assert_eq!(one.stations["station 4"].as_slice(), [1., 2., 3., 4.]);
}

/// The same through a reader of one owner; what one type's check has found is nothing for
/// another's, nor for another version.
#[test]
fn values_are_lent() {
    let (_folder, prefix) = on_disk();
    let mut writer = Writer::open(&prefix).unwrap();
    let mut reader = LocalReader::open(&prefix).unwrap();
    for day in 1..30 {
        writer.write_archived(&weather(day)).unwrap();
        let value = reader.read_archived::<Weather>().unwrap();
        assert!(value.is_new() && value.sequence() == 2 * u64::from(day) - 1);
        assert_eq!(
            rkyv::deserialize::<Weather, rkyv::rancor::Error>(value.get()).unwrap(),
            weather(day)
        );
        let place = &raw const *value;
        assert!(matches!(
            reader.read_archived::<[Weather; 1000]>(),
            Err(Error::NotThatType { .. })
        ));
        let again = reader.read_archived::<Weather>().unwrap();
        assert!(!again.is_new() && std::ptr::eq(&*again, place));
        // SAFETY: this version is of this type.
        #[allow(unsafe_code, reason = "the subject of the test")]
        let unchecked = unsafe { reader.read_archived_unchecked::<Weather>() }.unwrap();
        assert!(std::ptr::eq(&*unchecked, place));
        writer.write(&[0xff; 64]).unwrap();
        for _ in 0..2 {
            assert!(matches!(reader.read_archived::<Weather>(), Err(Error::NotThatType { .. })));
        }
        assert_eq!(&*reader.read().unwrap(), &[0xff; 64]);
    }
}

/// Bytes that are no archive of the type give an error, each time; and what one type's check has
/// found is nothing for another's.
#[test]
fn other_bytes_are_not_that_type() {
    let (_folder, prefix) = on_disk();
    let mut writer = Writer::open(&prefix).unwrap();
    let reader_of = Reader::open(&prefix).unwrap();
    for bytes in [&b""[..], b"x", &[0xff; 64], &[0x7f; 4096]] {
        writer.write(bytes).unwrap();
        for _ in 0..2 {
            assert!(matches!(reader_of.read_archived::<Weather>(), Err(Error::NotThatType { .. })));
            assert_eq!(&*reader_of.read().unwrap(), bytes);
        }
    }
    writer.write_archived(&vec![0xffff_ffffu32; 9]).unwrap();
    assert_eq!(reader_of.read_archived::<Vec<u32>>().unwrap().len(), 9);
    assert!(matches!(reader_of.read_archived::<String>(), Err(Error::NotThatType { .. })));
    assert!(matches!(reader_of.read_archived::<Weather>(), Err(Error::NotThatType { .. })));
    assert_eq!(reader_of.read_archived::<Vec<u32>>().unwrap().len(), 9);
}

/// mmap-sync's own test, in its terms.
#[test]
fn a_synchronizer_does_what_mmap_syncs_does() {
    let (_folder, prefix) = on_disk();
    let (mut writer, mut reader) =
        (Synchronizer::new(prefix.as_os_str()), Synchronizer::new(prefix.as_os_str()));
    assert!(
        matches!(reader.read::<Weather>(), Err(Error::NotReady { .. })),
        "the writer didn't write yet"
    );
    assert!(!prefix.with_extension("state").exists(), "a reader makes no files");
    for day in 1..5 {
        assert!(writer.write(&weather(day)).unwrap() > 100);
        assert_eq!(reader.version().unwrap(), u64::from(day));
        assert!(reader.read::<Weather>().unwrap().is_new());
        let value = reader.read::<Weather>().unwrap();
        assert!(!value.is_new());
        assert_eq!(value.day, day);
    }
    let bytes = rkyv::to_bytes::<rkyv::rancor::Error>(&weather(9)).unwrap();
    assert_eq!(writer.write_raw::<Weather>(&bytes).unwrap(), bytes.len());
    // SAFETY: a Weather was written.
    #[allow(unsafe_code, reason = "the subject of the test")]
    let value = unsafe { reader.read_unchecked::<Weather>() }.unwrap();
    assert_eq!(value.day, 9);
    assert_eq!(&*reader.read_raw().unwrap(), &bytes[..]);
    assert!(matches!(
        Synchronizer::new(prefix.as_os_str()).write(&weather(1)),
        Err(Error::Busy { .. })
    ));
}

/// Files that were removed, or made anew, are left for those that have the names now.
#[test]
fn a_synchronizer_reads_from_new_files_when_told() {
    let (_folder, prefix) = on_disk();
    let mut reader = Synchronizer::new(prefix.as_os_str());
    let mut writer = Writer::open(&prefix).unwrap();
    writer.write_archived(&weather(1)).unwrap();
    assert_eq!(reader.read::<Weather>().unwrap().day, 1);
    assert!(!reader.is_orphaned().unwrap());
    writer.remove().unwrap();
    assert!(reader.is_orphaned().unwrap());
    assert!(matches!(reader.reopen(), Err(Error::NotReady { .. })));
    assert_eq!(reader.read::<Weather>().unwrap().day, 1);
    Writer::open(&prefix).unwrap().write_archived(&weather(2)).unwrap();
    assert_eq!(reader.read::<Weather>().unwrap().day, 1);
    reader.reopen().unwrap();
    assert!(!reader.is_orphaned().unwrap());
    assert_eq!(reader.read::<Weather>().unwrap().day, 2);
}

/// mmap-sync's modes, for those whose readers are a group.
#[test]
fn a_synchronizer_has_options() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, prefix) = on_disk();
    let (mut writing, mut reading) = (WriterOptions::default(), ReaderOptions::default());
    writing.mode = 0o640;
    reading.copy = true;
    let mut synchronizer = Synchronizer::<Xxh3>::with_options(prefix.as_os_str(), writing, reading);
    synchronizer.write(&weather(1)).unwrap();
    assert_eq!(synchronizer.read::<Weather>().unwrap().day, 1);
    for (file, mode) in [("state", 0o640), ("readers", 0o660), ("buffer-0", 0o640)] {
        let metadata = std::fs::metadata(prefix.with_extension(file)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, mode, "{file}");
    }
}

#[test]
fn the_checksum_is_a_parameter() {
    let (_folder, prefix) = on_disk();
    let mut writer = Synchronizer::<NoChecksum>::with_params(prefix.as_os_str());
    writer.write(&weather(1)).unwrap();
    assert!(matches!(
        Synchronizer::new(prefix.as_os_str()).read::<Weather>(),
        Err(Error::Foreign { .. })
    ));
    let mut reader = Synchronizer::<NoChecksum>::with_params(prefix.as_os_str());
    assert_eq!(reader.read::<Weather>().unwrap().day, 1);
}
