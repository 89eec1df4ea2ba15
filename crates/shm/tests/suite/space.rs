//! No space: an error, not a signal; and what was there goes on.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use xsort_shm::{Error, Reader, Writer};

/// A reader of a few bytes looks at no more of a buffer than those. Once it had all of its pages, which
/// took time, and in a tmpfs filled the holes of a sparse file with memory.
#[test]
fn a_reader_has_the_pages_that_it_looks_at() {
    let (_folder, prefix) = crate::in_memory();
    Writer::open(&prefix).unwrap().write(b"four").unwrap();
    let path = prefix.with_extension("buffer-0");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(64 << 20).unwrap();
    assert_eq!(&*Reader::open(&prefix).unwrap().read().unwrap(), b"four");
    assert!(file.metadata().unwrap().blocks() * 512 < 1 << 20, "the reader has filled the holes");
}

#[test]
fn a_full_file_system_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let target = CString::new(folder.path().as_os_str().as_bytes()).unwrap();
    // SAFETY: the texts live as long as the call.
    #[allow(unsafe_code, reason = "a small file system to fill")]
    let mounted = unsafe {
        libc::mount(c"none".as_ptr(), target.as_ptr(), c"tmpfs".as_ptr(), 0, c"size=1m".as_ptr().cast())
    };
    if mounted != 0 {
        eprintln!("NOTICE: no right to mount a small file system: a full one is not tested");
        return;
    }
    let outcome = std::panic::catch_unwind(|| fills(&folder.path().join("p")));
    // SAFETY: the text lives as long as the call.
    #[allow(unsafe_code, reason = "a small file system to fill")]
    let unmounted = unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
    assert_eq!(unmounted, 0);
    outcome.unwrap();
}

fn fills(prefix: &std::path::Path) {
    let mut writer = Writer::open(prefix).unwrap();
    writer.write(&[1; 1000]).unwrap();
    let reader = Reader::open(prefix).unwrap();
    for _ in 0..3 {
        let refused = writer.write(&[2; 2 << 20]);
        assert!(
            matches!(&refused, Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::StorageFull),
            "{refused:?}"
        );
        assert_eq!(&*reader.read().unwrap(), &[1; 1000]);
    }
    assert_eq!(writer.write(&[3; 500_000]).unwrap(), 2);
    assert_eq!(&*reader.read().unwrap(), &[3; 500_000][..]);
    let used = std::fs::read_dir(prefix.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len());
    assert!(used.sum::<u64>() < 1 << 20);
    // A second file system, too full for even the first buffer.
    assert!(Writer::open(prefix).is_err());
    drop(writer);
    Writer::open(prefix).unwrap().remove().unwrap();
}
