//! Many readers: a hundred processes, and threads that share one reader.

use crate::{in_memory, names, roles, stamp};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use xsort_shm::{Error, Reader, Writer, WriterOptions, Xxh3};

/// A hundred processes that wait for versions, and some that do nothing but read: more than the
/// machine has processors, so that most are stopped somewhere on their way at any moment.
#[test]
fn a_hundred_readers() {
    let (folder, prefix) = in_memory();
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let role = |number: usize| if number.is_multiple_of(25) { "reader" } else { "sleeper" };
    let mut readers: Vec<_> = (0..100).map(|number| roles::start(role(number), &prefix)).collect();
    while writer.readers().unwrap() < 100 {
        thread::sleep(Duration::from_millis(1));
    }
    for _ in 0..300 {
        stamp::write(&mut writer).unwrap();
    }
    let buffers = names(&folder).iter().filter(|name| name.contains("buffer")).count();
    assert!(buffers <= 102, "{buffers} buffers");
    readers.iter_mut().for_each(|reader| drop(reader.stdin.take()));
    for reader in readers {
        assert!(roles::dismiss(reader), "a reader found something wrong");
    }
}

/// One reader and its clones in many threads: each has a slot of its own, and all give them back.
#[test]
fn threads_share_a_reader() {
    let (_folder, prefix) = in_memory();
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let reader = Reader::open(&prefix).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..6 {
            let (own, is_over) = (reader.clone(), &is_over);
            let reader = if number % 2 == 0 { None } else { Some(&reader) };
            scope.spawn(move || {
                let reader = reader.unwrap_or(&own);
                let mut last = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let held = reader.read().unwrap();
                    let newer = reader.read().unwrap();
                    assert!(last <= held.sequence() && held.sequence() <= newer.sequence());
                    stamp::check(held.sequence(), &held);
                    stamp::check(newer.sequence(), &newer);
                    last = newer.sequence();
                }
            });
        }
        for _ in 0..20_000 {
            stamp::write(&mut writer).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(writer.readers().unwrap() >= 6);
    drop(reader);
    assert_eq!(writer.readers().unwrap(), 0);
}

#[test]
fn there_are_as_many_slots_as_the_writer_says() {
    let (_folder, prefix) = in_memory();
    let mut options = WriterOptions::default();
    options.readers_max = 2;
    let mut writer = Writer::<Xxh3>::with_options(&prefix, options.clone()).unwrap();
    writer.write(b"one").unwrap();
    let (first, second) = (Reader::open(&prefix).unwrap(), Reader::open(&prefix).unwrap());
    assert!(matches!(Reader::open(&prefix), Err(Error::TooManyReaders { capacity: 2, .. })));
    let held = first.read().unwrap();
    writer.write(b"two").unwrap();
    // To hold two versions takes two slots, and there is none; what is held stays.
    assert!(matches!(first.read(), Err(Error::TooManyReaders { .. })));
    assert_eq!(&*held, b"one");
    drop(second);
    assert_eq!(&*first.read().unwrap(), b"two");
    assert_eq!(&*held, b"one");
    // The next writer may have more.
    drop(writer);
    options.readers_max = 3;
    let mut writer = Writer::<Xxh3>::with_options(&prefix, options).unwrap();
    writer.write(b"three").unwrap();
    assert_eq!(&*Reader::open(&prefix).unwrap().read().unwrap(), b"three");
    assert_eq!(&*held, b"one");
}

/// What a thread has read last ends with it. Once the thread that came after it took it for its
/// own: nothing was new, and it waited for the version after.
#[test]
fn a_thread_that_comes_after_another_has_read_nothing() {
    let (_folder, prefix) = in_memory();
    let mut writer = Writer::open(&prefix).unwrap();
    writer.write(b"one").unwrap();
    let reader = Reader::open(&prefix).unwrap();
    // One after the other, so that each gets the place of the one before.
    let in_a_thread =
        |body: &(dyn Fn() + Sync)| thread::scope(|scope| scope.spawn(body).join().unwrap());
    for _ in 0..3 {
        in_a_thread(&|| {
            assert!(reader.read().unwrap().is_new());
            assert!(!reader.read().unwrap().is_new());
        });
        in_a_thread(&|| {
            assert!(
                reader.wait_newer(Duration::ZERO).unwrap().is_some_and(|version| version.is_new())
            );
            assert!(reader.wait_newer(Duration::ZERO).unwrap().is_none());
        });
        in_a_thread(&|| reader.release());
    }
    assert!(reader.read().unwrap().is_new());
}
