//! What stays, what goes on, and how it goes away.

use crate::{in_memory, names, on_disk, roles, stamp};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use xsort_shm::{Error, NoChecksum, Reader, Writer, WriterLock, WriterOptions, Xxh3, has_writer};

#[test]
fn the_next_writer_goes_on() {
    let (folder, prefix) = on_disk();
    let reader = {
        let mut writer = Writer::open(&prefix).unwrap();
        assert_eq!(writer.version(), None);
        assert!(matches!(Reader::open(&prefix).unwrap().read(), Err(Error::NotReady { .. })));
        stamp::write(&mut writer).unwrap();
        Reader::open(&prefix).unwrap()
    };
    assert_eq!(names(&folder), ["p.buffer-0", "p.readers", "p.state"]);
    stamp::check(1, &reader.read().unwrap());
    let mut writer = Writer::open(&prefix).unwrap();
    assert_eq!(writer.version(), Some(1));
    let held = reader.read().unwrap();
    for sequence in 3..50 {
        assert_eq!(stamp::write(&mut writer).unwrap(), sequence);
        stamp::check(sequence, &reader.read().unwrap());
    }
    stamp::check(1, &held);
}

/// For owners that can't borrow: the reader that it came from is gone for everybody else.
#[test]
fn a_held_version_keeps_its_reader() {
    let (_folder, prefix) = on_disk();
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let held = Reader::open(&prefix).unwrap().read_held().unwrap();
    for _ in 0..50 {
        stamp::write(&mut writer).unwrap();
    }
    assert_eq!((held.sequence(), writer.readers().unwrap()), (1, 1));
    std::thread::spawn(move || stamp::check(1, &held)).join().unwrap();
    assert_eq!(writer.readers().unwrap(), 0);
}

/// A writer died after it had filled and stamped a buffer, before it made it current. The next
/// writer's version would have had the same number, and could have been in a buffer of the same
/// name: a reader that had the dead one's mapped took that for it.
#[test]
fn a_version_that_was_not_published_is_never_read() {
    let (_folder, prefix) = on_disk();
    let mut writer = Writer::open(&prefix).unwrap();
    let reader = Reader::open(&prefix).unwrap();
    for _ in 0..3 {
        stamp::write(&mut writer).unwrap();
        reader.read().unwrap();
    }
    let current = fs::read(prefix.with_extension("state")).unwrap()[135] >> 4;
    assert_eq!(current, 0, "versions alternate between two buffers");
    drop(writer);
    let file = fs::OpenOptions::new().write(true).open(prefix.with_extension("buffer-1")).unwrap();
    file.write_all_at(&(1u64 << 52 | 4).to_ne_bytes(), 8).unwrap();
    let mut writer = Writer::open(&prefix).unwrap();
    for _ in 0..3 {
        let sequence = stamp::write(&mut writer).unwrap();
        let version = reader.read().unwrap();
        assert_eq!(version.sequence(), sequence);
        stamp::check(sequence, &version);
    }
}

#[test]
fn what_stays_is_removed() {
    let (folder, prefix) = on_disk();
    assert!(!xsort_shm::remove(&prefix).unwrap(), "there is nothing yet");
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let reader = Reader::open(&prefix).unwrap();
    let held = reader.read().unwrap();
    stamp::write(&mut writer).unwrap();
    fs::write(folder.path().join("p.buffer-x"), b"not ours").unwrap();
    fs::write(folder.path().join("p.1"), b"not ours").unwrap();
    drop(writer);
    assert!(xsort_shm::remove(&prefix).unwrap());
    assert_eq!(names(&folder), ["p.1", "p.buffer-x"]);
    stamp::check(1, &held);
    assert!(reader.is_orphaned().unwrap());
    assert!(matches!(Reader::open(&prefix), Err(Error::NotReady { .. })));
}

/// Files that aren't there, not complete, or without a version are one error: there is nothing yet.
/// Who wants to wait says how long.
#[test]
fn what_is_not_there_yet_is_waited_for() {
    let (_folder, prefix) = on_disk();
    let no_time = std::time::Duration::ZERO;
    for opened in [Reader::open(&prefix), Reader::open_wait(&prefix, no_time)] {
        assert!(matches!(opened, Err(Error::NotReady { .. })), "{opened:?}");
    }
    let long = std::time::Duration::from_secs(600);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let reader = Reader::open_wait(&prefix, long).unwrap();
            assert_eq!(&*reader.wait_newer(long).unwrap().expect("it is written"), b"at last");
        });
        let mut writer = Writer::open(&prefix).unwrap();
        assert!(matches!(Reader::open(&prefix).unwrap().read(), Err(Error::NotReady { .. })));
        writer.write(b"at last").unwrap();
        reader.join().unwrap();
    });
}

/// What a reader has mapped of the files: the writer's own mappings may be written to.
fn mapped_by_readers(prefix: &Path) -> usize {
    let buffers = format!("{}.buffer-", prefix.display());
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.contains(" r--s ") && line.contains(&buffers)).count()
}

/// Once a reader that had held many versions kept all of them mapped, though no name was left of
/// their files, and a slot for each, until it was dropped.
#[test]
fn what_is_released_is_unmapped_and_its_slots_are_free() {
    let (_folder, prefix) = in_memory();
    let mut writer = Writer::open(&prefix).unwrap();
    let reader = Reader::open(&prefix).unwrap();
    let mut local = reader.local().unwrap();
    let mut held = Vec::new();
    for _ in 0..30 {
        stamp::write(&mut writer).unwrap();
        held.push(reader.read().unwrap());
        local.read().unwrap();
    }
    assert!(mapped_by_readers(&prefix) >= 30);
    assert_eq!(writer.readers().unwrap(), 31);
    held.drain(1..);
    reader.release();
    local.release();
    assert_eq!((mapped_by_readers(&prefix), writer.readers().unwrap()), (1, 3));
    stamp::check(1, &held[0]);
    drop(held);
    reader.release();
    assert_eq!((mapped_by_readers(&prefix), writer.readers().unwrap()), (0, 2));
    stamp::check(30, &reader.read().unwrap());
    stamp::check(30, &local.read().unwrap());
}

/// Who clears a folder of many prefixes lists it once, and keeps writers away from each while its
/// files go.
#[test]
fn a_vacancy_keeps_writers_away_and_a_writer_is_seen_whatever_its_files_hold() {
    let (folder, prefix) = on_disk();
    assert!(!has_writer(&prefix).unwrap());
    let writer = Writer::open(&prefix).unwrap();
    fs::write(folder.path().join("p.state"), b"no state any more").unwrap();
    assert!(has_writer(&prefix).unwrap());
    assert!(matches!(WriterLock::acquire(&prefix), Err(Error::Busy { .. })));
    drop(writer);
    assert!(!has_writer(&prefix).unwrap());
    let vacancy = WriterLock::acquire(&prefix).unwrap();
    assert!(matches!(Writer::open(&prefix), Err(Error::Busy { .. })));
    fs::remove_file(folder.path().join("p.state")).unwrap();
    assert!(
        matches!(Writer::open(&prefix), Err(Error::Busy { .. })),
        "the lock of the folder stays"
    );
    drop(vacancy);
    Writer::open(&prefix).unwrap();
}

/// Buffers for many held versions go away when nobody holds them.
#[test]
fn buffers_are_as_many_as_are_held_and_two() {
    let (folder, prefix) = in_memory();
    let mut writer = Writer::open(&prefix).unwrap();
    let reader = Reader::open(&prefix);
    let reader = reader.unwrap();
    let mut held = Vec::new();
    for _ in 0..30 {
        stamp::write(&mut writer).unwrap();
        held.push(reader.read().unwrap());
    }
    for version in &held {
        stamp::check(version.sequence(), version);
    }
    stamp::write(&mut writer).unwrap();
    let buffers = || names(&folder).iter().filter(|name| name.contains("buffer")).count();
    assert_eq!(buffers(), 31);
    held.drain(5..);
    writer.trim().unwrap();
    // Five that are held, the reader's newest, and the current one.
    assert_eq!(buffers(), 7);
    for version in &held {
        stamp::check(version.sequence(), version);
    }
    drop(held);
    reader.release();
    writer.trim().unwrap();
    assert_eq!(buffers(), 1);
    stamp::write(&mut writer).unwrap();
    stamp::check(32, &reader.read().unwrap());
}

/// A state without its slot_table and without its last version has nothing but the number to go on
/// from.
#[test]
fn numbers_go_on_without_a_version() {
    let (folder, prefix) = on_disk();
    let mut writer = Writer::open(&prefix).unwrap();
    while stamp::write(&mut writer).unwrap() < 1000 {}
    drop(writer);
    for _ in 0..3 {
        for name in names(&folder).iter().filter(|name| *name != "p.state") {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        let writer = Writer::open(&prefix).unwrap();
        assert_eq!((writer.version(), writer.next_version()), (None, 1001));
    }
    assert_eq!(stamp::write(&mut Writer::open(&prefix).unwrap()).unwrap(), 1002);
}

/// A writer that was killed while it made its files left a state without its magic, or an empty
/// one.
#[test]
fn half_made_files_are_made_whole() {
    for length in [0, 4096] {
        let (_folder, prefix) = on_disk();
        fs::write(prefix.with_extension("state"), vec![0; length]).unwrap();
        assert!(matches!(Reader::open(&prefix), Err(Error::NotReady { .. })));
        let mut writer = Writer::open(&prefix).unwrap();
        stamp::write(&mut writer).unwrap();
        stamp::check(1, &Reader::open(&prefix).unwrap().read().unwrap());
    }
}

#[test]
fn another_checksum_is_told() {
    let (_folder, prefix) = on_disk();
    let mut writer = Writer::<NoChecksum>::with_options(&prefix, WriterOptions::default()).unwrap();
    writer.write(b"x").unwrap();
    assert!(matches!(Reader::open(&prefix), Err(Error::Foreign { .. })));
    assert_eq!(
        &*Reader::<NoChecksum>::with_options(&prefix, Default::default()).unwrap().read().unwrap(),
        b"x"
    );
    drop(writer);
    assert!(matches!(
        Writer::<Xxh3>::with_options(&prefix, Default::default()),
        Err(Error::Foreign { .. })
    ));
}

/// Once the lock and the list of buffers went by the folder above, so that buffers were never
/// removed.
#[test]
fn a_prefix_may_end_in_a_slash() {
    let (folder, prefix) = in_memory();
    drop(prefix);
    let prefix = folder.path().join("");
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let reader = Reader::open(&prefix).unwrap();
    let held = reader.read().unwrap();
    stamp::write(&mut writer).unwrap();
    assert_eq!(names(&folder), [".buffer-0", ".buffer-1", ".readers", ".state"]);
    drop(held);
    reader.release();
    writer.trim().unwrap();
    assert_eq!(names(&folder), [".buffer-1", ".readers", ".state"]);
    writer.remove().unwrap();
    assert!(names(&folder).is_empty());
}

/// A daemon changes its directory after it has opened its files, and opens more of them later.
#[test]
fn a_prefix_is_of_the_directory_where_it_was_opened() {
    let (folder, prefix) = in_memory();
    assert!(roles::dismiss(roles::start("wanderer", &prefix)));
    assert_eq!(names(&folder), ["p.buffer-0", "p.buffer-1", "p.readers", "p.state"]);
}

/// The part that goes elsewhere, in a process of its own.
pub(crate) fn opens_and_goes_elsewhere(prefix: &Path) {
    let name = prefix.file_name().unwrap();
    std::env::set_current_dir(prefix.parent().unwrap()).unwrap();
    let mut writer = Writer::open(name).unwrap();
    let reader = Reader::open(name).unwrap();
    std::env::set_current_dir("/").unwrap();
    stamp::write(&mut writer).unwrap();
    let held = reader.read().unwrap();
    stamp::write(&mut writer).unwrap();
    assert_eq!(reader.read().unwrap().sequence(), held.sequence() + 1);
    assert!(!reader.is_orphaned().unwrap());
}
