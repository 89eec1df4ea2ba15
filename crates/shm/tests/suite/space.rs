//! No space: an error, not a signal; and what was there goes on.

use crate::stamp;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use xsort_shm::{Error, Reader, ReaderOptions, Writer, Xxh3};

/// A reader of a few bytes looks at no more of a buffer than those. Once it had all of its pages,
/// which took time, and in a tmpfs filled the holes of a sparse file with memory.
#[test]
fn a_reader_has_the_pages_that_it_looks_at() {
    let (_folder, prefix) = crate::in_memory();
    Writer::open(&prefix).unwrap().write(b"four").unwrap();
    let path = prefix.with_extension("buffer-0");
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(64 << 20).unwrap();
    assert_eq!(&*Reader::open(&prefix).unwrap().read().unwrap(), b"four");
    assert!(file.metadata().unwrap().blocks() * 512 < 1 << 20, "the reader has filled the holes");
}

/// Runs `body` with a file system of a megabyte, and a prefix in it.
fn on_a_small_file_system(body: fn(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let target = CString::new(folder.path().as_os_str().as_bytes()).unwrap();
    // SAFETY: the texts live as long as the call.
    #[allow(unsafe_code, reason = "a small file system to fill")]
    let mounted = unsafe {
        libc::mount(
            c"none".as_ptr(),
            target.as_ptr(),
            c"tmpfs".as_ptr(),
            0,
            c"size=1m".as_ptr().cast(),
        )
    };
    if mounted != 0 {
        eprintln!("NOTICE: no right to mount a small file system: a full one is not tested");
        return;
    }
    let outcome = std::panic::catch_unwind(|| body(&folder.path().join("p")));
    // SAFETY: the text lives as long as the call.
    #[allow(unsafe_code, reason = "a small file system to fill")]
    let unmounted = unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
    assert_eq!(unmounted, 0);
    outcome.unwrap();
}

#[test]
fn a_full_file_system_is_an_error() {
    on_a_small_file_system(fills);
}

/// The slot_table is lost, and there is no space for another. Once the state was emptied before
/// that was known: the last version was gone, and numbers began again.
#[test]
fn a_lost_roll_and_no_space_cost_no_version() {
    on_a_small_file_system(loses_the_roll);
}

fn is_full<T>(result: xsort_shm::Result<T>) -> bool {
    matches!(
        result,
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::StorageFull
    )
}

/// Takes all space that is left but `spare` bytes.
fn fill_up(prefix: &Path, spare: u64) -> PathBuf {
    let path = prefix.with_file_name("filler");
    let mut file = File::create(&path).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    file.set_len(file.metadata().unwrap().len() - spare).unwrap();
    path
}

/// Gives it back at once: a process that another test is starting may have the file open still.
fn give_back(filler: &Path) {
    fs::write(filler, b"").unwrap();
    fs::remove_file(filler).unwrap();
}

fn loses_the_roll(prefix: &Path) {
    let slot_table = prefix.with_extension("readers");
    let emptied: fn(&Path) = |path| fs::write(path, b"").unwrap();
    let removed: fn(&Path) = |path| fs::remove_file(path).unwrap();
    for lose in [emptied, removed] {
        let mut writer = Writer::open(prefix).unwrap();
        while writer.version() < Some(1000) {
            stamp::write(&mut writer).unwrap();
        }
        let last = writer.version().unwrap();
        drop(writer);
        lose(&slot_table);
        // No space for the slot_table; for the slot_table, but not for the copy of the version, or
        // for the state.
        for pages in [0, 33, 34] {
            let filler = fill_up(prefix, pages * 4096);
            let before = fs::read_dir(prefix.parent().unwrap()).unwrap().count();
            assert!(is_full(Writer::open(prefix)), "{pages} pages");
            assert_eq!(fs::read_dir(prefix.parent().unwrap()).unwrap().count(), before);
            let mut options = ReaderOptions::default();
            options.copy = true;
            let reader = Reader::<Xxh3>::with_options(prefix, options).unwrap();
            stamp::check(last, &reader.read().unwrap());
            give_back(&filler);
        }
        let mut writer = Writer::open(prefix).unwrap();
        assert_eq!(writer.version(), Some(last));
        stamp::check(last, &Reader::open(prefix).unwrap().read().unwrap());
        // Also twice in a row, with no version in between.
        drop(writer);
        lose(&slot_table);
        writer = Writer::open(prefix).unwrap();
        assert_eq!(stamp::write(&mut writer).unwrap(), last + 1);
    }
}

/// A writer that finds no space for its first files leaves none.
#[test]
fn a_writer_that_can_not_begin_leaves_nothing() {
    on_a_small_file_system(|prefix| {
        for pages in [0, 1, 33] {
            let filler = fill_up(prefix, pages * 4096);
            assert!(is_full(Writer::open(prefix)), "{pages} pages");
            give_back(&filler);
            assert_eq!(fs::read_dir(prefix.parent().unwrap()).unwrap().count(), 0);
        }
        Writer::open(prefix).unwrap();
    });
}

/// Files with holes: a store there, with no space left, is a signal. A writer fills them first.
#[test]
#[cfg_attr(portable, ignore = "only Linux fills holes without touching other bytes")]
fn holes_on_a_full_file_system_are_an_error() {
    on_a_small_file_system(|prefix| {
        stamp::write(&mut Writer::open(prefix).unwrap()).unwrap();
        let slot_table =
            OpenOptions::new().write(true).open(prefix.with_extension("readers")).unwrap();
        let length = slot_table.metadata().unwrap().len();
        slot_table.set_len(4096).unwrap();
        slot_table.set_len(length).unwrap();
        let filler = fill_up(prefix, 0);
        assert!(is_full(Writer::open(prefix)));
        give_back(&filler);
        let writer = Writer::open(prefix).unwrap();
        assert_eq!(slot_table.metadata().unwrap().blocks() * 512, length.next_multiple_of(4096));
        assert_eq!(writer.version(), Some(1));
    });
}

fn fills(prefix: &Path) {
    let mut writer = Writer::open(prefix).unwrap();
    writer.write(&[1; 1000]).unwrap();
    let reader = Reader::open(prefix).unwrap();
    for _ in 0..3 {
        let refused = writer.write(&[2; 2 << 20]);
        assert!(
            matches!(
                &refused,
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::StorageFull
            ),
            "{refused:?}"
        );
        assert_eq!(&*reader.read().unwrap(), &[1; 1000]);
    }
    assert_eq!(writer.write(&[3; 500_000]).unwrap(), 2);
    assert_eq!(&*reader.read().unwrap(), &[3; 500_000][..]);
    let used = fs::read_dir(prefix.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len());
    assert!(used.sum::<u64>() < 1 << 20);
    // A second file system, too full for even the first buffer.
    assert!(Writer::open(prefix).is_err());
    drop(writer);
    Writer::open(prefix).unwrap().remove().unwrap();
}
