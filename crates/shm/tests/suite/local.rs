//! Readers of one owner: what they lend stays, whatever is written meanwhile, and they cost one
//! slot and one buffer.

use crate::{in_memory, names, on_disk, roles, stamp};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use xsort_shm::{Error, LocalReader, Reader, ReaderOptions, View, Writer, Xxh3};

#[test]
fn what_is_lent_stays_and_the_next_is_read() {
    for (_folder, path) in [on_disk(), in_memory()] {
        let mut writer = Writer::open(&path).unwrap();
        let mut reader = LocalReader::open(&path).unwrap();
        assert!(
            reader.has_slots() && reader.has_writer().unwrap() && !reader.is_orphaned().unwrap()
        );
        for _ in 0..2 {
            assert!(matches!(reader.read(), Err(Error::NotReady { .. })));
        }
        assert_eq!((reader.version(), writer.readers().unwrap()), (None, 1));
        for sequence in 1..200 {
            stamp::write(&mut writer).unwrap();
            let version = reader.read().unwrap();
            assert!(version.is_new() && version.sequence() == sequence);
            let lent: &[u8] = version.get();
            stamp::check(sequence, lent);
            let again = reader.read().unwrap();
            assert!(!again.is_new() && again.sequence() == sequence);
            stamp::check(sequence, &again);
        }
        assert!(format!("{reader:?}").contains(path.to_str().unwrap()));
        assert!(
            format!("{:?}", reader.read().unwrap()).starts_with("View { sequence: 199, bytes: ")
        );
    }
}

/// The slot moves on in place: one buffer that it names, the current one, and one to fill.
#[test]
fn it_costs_one_slot_and_one_buffer() {
    let (folder, path) = in_memory();
    let mut writer = Writer::open(&path).unwrap();
    stamp::write(&mut writer).unwrap();
    let shared = Reader::open(&path).unwrap();
    let mut readers = [(); 4].map(|()| shared.local().unwrap());
    drop(shared);
    assert_eq!(writer.readers().unwrap(), 4);
    let buffers = || names(&folder).iter().filter(|name| name.contains("buffer")).count();
    let held = readers.each_mut().map(|reader| {
        stamp::write(&mut writer).unwrap();
        reader.read().unwrap()
    });
    for _ in 0..3000 {
        stamp::write(&mut writer).unwrap();
        held.iter().for_each(|version| stamp::check(version.sequence(), version));
    }
    assert_eq!(buffers(), 6);
    readers.iter_mut().for_each(LocalReader::release);
    writer.trim().unwrap();
    assert_eq!((buffers(), writer.readers().unwrap()), (1, 4));
    for reader in &mut readers {
        let version = reader.read().unwrap();
        assert_eq!(version.sequence(), 3005);
        stamp::check(3005, &version);
    }
    // What it let go it pins again, though nothing is new.
    for reader in &mut readers {
        reader.read().unwrap();
        reader.release();
        let version = reader.read().unwrap();
        assert!(!version.is_new());
        for _ in 0..10 {
            stamp::write(&mut writer).unwrap();
        }
        stamp::check(version.sequence(), &version);
    }
    drop(readers);
    assert_eq!(writer.readers().unwrap(), 0);
}

/// What is lent may go to other threads, and the reader, too.
#[test]
fn it_goes_from_thread_to_thread() {
    fn goes<T: Send>() {}
    goes::<LocalReader>();
    goes::<View<'_>>();
    let (_folder, path) = in_memory();
    let mut writer = Writer::open(&path).unwrap();
    let mut reader = LocalReader::open(&path).unwrap();
    for sequence in 1..100 {
        stamp::write(&mut writer).unwrap();
        reader = thread::scope(|scope| {
            let moved = scope.spawn(move || {
                let version = reader.read().unwrap();
                assert!(version.is_new());
                thread::scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(move || stamp::check(sequence, &version));
                    }
                });
                reader
            });
            moved.join().unwrap()
        });
        assert!(!reader.read().unwrap().is_new());
    }
}

/// Full speed on both sides; every version is looked at twice, the second time when many newer ones
/// are there.
#[test]
fn no_version_is_torn() {
    let (_folder, path) = in_memory();
    let mut writer = Writer::open(&path).unwrap();
    stamp::write(&mut writer).unwrap();
    let shared = Reader::open(&path).unwrap();
    thread::scope(|scope| {
        let readers = [(); 3].map(|()| {
            let mut reader = shared.local().unwrap();
            scope.spawn(move || {
                let (mut last, mut round) = (0, 0);
                while last < 30_000 {
                    let version = reader.read().unwrap();
                    assert!(version.sequence() >= last);
                    assert_eq!(version.is_new(), version.sequence() > last);
                    last = version.sequence();
                    stamp::check(last, &version);
                    round += 1;
                    if round % 64 == 0 {
                        thread::yield_now();
                        stamp::check(last, &version);
                    }
                    if round % 1000 == 0 {
                        reader.release();
                    }
                }
            })
        });
        for _ in 1..30_000 {
            stamp::write(&mut writer).unwrap();
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn it_waits_for_the_next_version() {
    let (_folder, path) = in_memory();
    let mut writer = Writer::open(&path).unwrap();
    let mut reader = LocalReader::open(&path).unwrap();
    assert!(reader.wait_newer(Duration::from_millis(1)).unwrap().is_none());
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut last = 0;
            while last < 500 {
                let version = reader
                    .wait_newer(Duration::from_secs(600))
                    .unwrap()
                    .expect("the writer writes");
                assert!(version.is_new() && version.sequence() > last);
                last = version.sequence();
                stamp::check(last, &version);
            }
            assert!(reader.wait_newer(Duration::ZERO).unwrap().is_none());
            stamp::check(500, &reader.read().unwrap());
        });
        for _ in 0..500 {
            stamp::write(&mut writer).unwrap();
            thread::yield_now();
        }
    });
}

#[test]
fn who_copies_reads_the_same() {
    let (_folder, path) = in_memory();
    let mut writer = Writer::open(&path).unwrap();
    let mut options = ReaderOptions::default();
    options.copy = true;
    stamp::write(&mut writer).unwrap();
    let mut reader = LocalReader::<Xxh3>::with_options(&path, options).unwrap();
    assert!(!reader.has_slots());
    for sequence in 1..100 {
        let lent = reader.read().unwrap();
        // Long gone from its buffer, but not from here.
        for _ in 0..3 {
            stamp::write(&mut writer).unwrap();
        }
        assert_eq!(lent.sequence(), 3 * sequence - 2);
        stamp::check(lent.sequence(), &lent);
    }
}

/// Once a version can't be read, nothing is lent until one can, also not the one before, whose pin
/// is gone.
#[test]
fn after_an_error_nothing_is_left_of_the_version_before() {
    let (_folder, path) = on_disk();
    let mut writer = Writer::open(&path).unwrap();
    let mut reader = LocalReader::open(&path).unwrap();
    stamp::write(&mut writer).unwrap();
    stamp::check(1, &reader.read().unwrap());
    let state =
        fs::OpenOptions::new().read(true).write(true).open(path.with_extension("state")).unwrap();
    let mut sound = [0; 8];
    state.read_exact_at(&mut sound, 128).unwrap();
    for word in [0, 2, u64::MAX, 7 << 52 | 9] {
        state.write_all_at(&u64::to_ne_bytes(word), 128).unwrap();
        assert!(reader.read().is_err() && reader.read().is_err(), "{word:#x}");
    }
    state.write_all_at(&sound, 128).unwrap();
    stamp::check(1, &reader.read().unwrap());
    writer.remove().unwrap();
    assert!(reader.is_orphaned().unwrap() && !reader.has_writer().unwrap());
    stamp::check(1, &reader.read().unwrap());
}

/// In a process of its own, because a fork of a test harness's thread would take its locks along.
#[test]
fn a_child_takes_a_slot_of_its_own() {
    let (_folder, prefix) = in_memory();
    let mut child =
        roles::command(&[], "local-fork", &prefix).stderr(Stdio::inherit()).spawn().unwrap();
    assert!(child.wait().unwrap().success());
}

/// The part that forks: nothing is new to the child but the process, and still it takes a slot, for
/// the parent may move on.
pub(crate) fn parent_and_child(prefix: &Path) {
    let mut writer = Writer::open(prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let mut reader = LocalReader::open(prefix).unwrap();
    stamp::check(1, &reader.read().unwrap());
    assert_eq!(writer.readers().unwrap(), 1);
    // SAFETY: the child uses nothing of other threads, none of its parent's versions, and ends
    // without unwinding.
    #[allow(unsafe_code, reason = "the subject of the test")]
    let child = unsafe { libc::fork() };
    if child == 0 {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let held = reader.read().unwrap();
            while Reader::open(prefix).unwrap().version().unwrap() < 2000 {
                stamp::check(1, &held);
            }
            stamp::check(1, &held);
            while reader.read().unwrap().sequence() < 4000 {
                let version = reader.read().unwrap();
                stamp::check(version.sequence(), &version);
            }
        }));
        // SAFETY: ends the process at once.
        #[allow(unsafe_code, reason = "a forked child must not return into its parent's frames")]
        unsafe {
            libc::_exit(i32::from(result.is_err()))
        };
    }
    // The child reads what has not changed, and takes a slot for it: the parent's moves on.
    while writer.readers().unwrap() < 2 {
        thread::yield_now();
    }
    for sequence in 2..=4000 {
        stamp::write(&mut writer).unwrap();
        stamp::check(sequence, &reader.read().unwrap());
    }
    let mut status = 0;
    // SAFETY: a plain system call on a child of ours.
    #[allow(unsafe_code, reason = "the subject of the test")]
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0), "the child found something wrong");
    assert_eq!(writer.readers().unwrap(), 1);
}
