//! Writing and reading versions in one process.

use crate::{in_memory, on_disk, stamp};
use std::process::Command;
use std::thread;
use std::time::Duration;
use xsort_shm::{Reader, Version, Writer, WriterOptions, Xxh3};

#[test]
fn a_held_version_stays_and_the_next_is_read() {
    for (_folder, path) in [on_disk(), in_memory()] {
        let mut writer = Writer::open(&path).unwrap();
        assert_eq!(writer.write(b"one").unwrap(), 1);
        let reader = Reader::open(&path).unwrap();
        let one = reader.read().unwrap();
        assert!(one.is_new() && one.sequence() == 1);
        writer.write(b"two").unwrap();
        writer.write(b"three").unwrap();
        writer.write(&[7; 100_000]).unwrap();
        assert_eq!(&*one, b"one");
        let four = reader.read().unwrap();
        assert_eq!((four.sequence(), &*four), (4, &[7; 100_000][..]));
        assert!(!reader.read().unwrap().is_new());
        assert_eq!(reader.version(), Some(4));
        writer.write(b"").unwrap();
        assert_eq!(&*reader.read().unwrap(), b"");
    }
}

#[test]
fn all_say_what_they_are() {
    let (_folder, path) = in_memory();
    let mut writer = Writer::open(&path).unwrap();
    writer.write(b"twelve bytes").unwrap();
    let reader = Reader::open(&path).unwrap();
    let prefix = path.to_str().unwrap();
    assert!(format!("{writer:?}").contains(prefix) && format!("{reader:?}").contains(prefix));
    assert_eq!(format!("{:?}", reader.read().unwrap()), "Version { sequence: 1, bytes: 12, .. }");
}

/// Guards of many versions, dropped in any order, each whole until its end.
#[test]
fn versions_are_held_and_dropped_in_any_order() {
    let (_folder, path) = in_memory();
    let mut writer = Writer::open(&path).unwrap();
    stamp::write(&mut writer).unwrap();
    let reader = Reader::open(&path).unwrap();
    let mut held = Vec::new();
    for round in 0..3000usize {
        stamp::write(&mut writer).unwrap();
        held.push(reader.read().unwrap());
        if round % 5 == 0 {
            held.push(reader.read().unwrap());
        }
        if held.len() > 20 {
            held.swap_remove(round * 7 % 20);
            held.swap_remove(round * 11 % 20);
        }
        for version in &held {
            stamp::check(version.sequence(), version);
        }
        if round % 100 == 0 {
            reader.release();
        }
    }
}

#[test]
fn a_fill_that_panics_publishes_nothing() {
    let (_folder, path) = in_memory();
    let mut writer = Writer::open(&path).unwrap();
    writer.write(b"sound").unwrap();
    let reader = Reader::open(&path).unwrap();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        writer.write_with(8, |bytes| {
            bytes.fill(1);
            panic!("on purpose");
        })
    }));
    assert!(outcome.is_err());
    assert_eq!(&*reader.read().unwrap(), b"sound");
    assert_eq!(writer.write(b"the next").unwrap(), 2);
    assert_eq!(&*reader.read().unwrap(), b"the next");
}

#[test]
fn a_reader_waits_for_the_next_version() {
    for fresh_files in [false, true] {
        let (_folder, path) = in_memory();
        let mut options = WriterOptions::default();
        options.fresh_files = fresh_files;
        let mut writer = Writer::<Xxh3>::with_options(&path, options).unwrap();
        let reader = Reader::open(&path).unwrap();
        assert!(reader.wait_newer(Duration::from_millis(1)).unwrap().is_none());
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut last = 0;
                while last < 500 {
                    let version = reader
                        .wait_newer(Duration::from_secs(600))
                        .unwrap()
                        .expect("the writer writes");
                    assert!(version.sequence() > last);
                    last = version.sequence();
                    stamp::check(last, &version);
                }
            });
            for _ in 0..500 {
                stamp::write(&mut writer).unwrap();
                thread::yield_now();
            }
        });
        // This thread has not read any.
        assert_eq!(reader.wait_newer(Duration::ZERO).unwrap().expect("the newest").sequence(), 500);
        assert!(reader.wait_newer(Duration::ZERO).unwrap().is_none());
    }
}

/// Versions are read and dropped in other threads, also when the one that read them is gone; what
/// they held is free again as soon as the one that has its place reads, or releases.
#[test]
fn versions_go_to_other_threads() {
    fn goes<T: Send + Sync>() {}
    goes::<Version<'_>>();
    // A new thread comes into the place of one that is gone, of whatever test in this process: so
    // that slots can be counted, this test has a process of its own.
    if std::env::var_os("XSORT_TEST_ALONE").is_none() {
        let mut alone = Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "versions::versions_go_to_other_threads"]);
        let output = alone.env("XSORT_TEST_ALONE", "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let (_folder, path) = in_memory();
    let mut writer = Writer::open(&path).unwrap();
    let reader = Reader::open(&path).unwrap();
    for round in 0..200 {
        let mut held = Vec::new();
        thread::scope(|scope| {
            let read = scope.spawn(|| {
                (0..4)
                    .map(|_| {
                        stamp::write(&mut writer).unwrap();
                        reader.read().unwrap()
                    })
                    .collect()
            });
            held = read.join().unwrap();
        });
        for _ in 0..8 {
            stamp::write(&mut writer).unwrap();
        }
        // One that comes into the place of the one that is gone, while they are held and given up.
        // They are joined, for a scope doesn't wait until its threads have given up their places.
        thread::scope(|scope| {
            let mut threads = vec![scope.spawn(|| {
                for _ in 0..20 {
                    let version = reader.read().unwrap();
                    assert_eq!(version.sequence(), 12 * (round + 1));
                    stamp::check(version.sequence(), &version);
                }
            })];
            while let Some(version) = held.pop() {
                threads.push(scope.spawn(move || stamp::check(version.sequence(), &version)));
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
    // Threads that were there at once, and a version each that is held beside: not one for each
    // round.
    assert!(writer.readers().unwrap() <= 20, "{} slots", writer.readers().unwrap());
}

#[test]
fn handles_go_to_other_threads() {
    fn goes<T: Send + Sync>() {}
    goes::<Reader>();
    fn moves<T: Send>() {}
    moves::<Writer>();
}
