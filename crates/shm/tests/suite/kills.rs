//! Killed and stopped at any moment: nothing is torn, nobody waits, and what is left is what
//! README.md says.

use crate::{in_memory, names, roles, stamp};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::Duration;
use xsort_shm::{Reader, Writer};

/// How many processes are killed: a few, or `XSORT_SHM_KILLS`.
fn kills() -> u64 {
    std::env::var("XSORT_SHM_KILLS")
        .map_or(60, |text| text.parse().expect("XSORT_SHM_KILLS is a number"))
}

/// A number of no meaning: where in the others' work a kill falls.
fn chance(round: u64, bound: u64) -> u64 {
    (round.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % bound
}

/// Kills a child, which must have been content until then.
fn kill(mut child: Child) {
    roles::signal(&child, libc::SIGKILL);
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(libc::SIGKILL), "it had ended before: {status}");
}

fn buffers(folder: &tempfile::TempDir) -> usize {
    names(folder).iter().filter(|name| name.contains(".buffer-")).count()
}

#[test]
fn readers_and_writers_are_killed_at_any_moment() {
    let (folder, prefix) = in_memory();
    drop(Writer::open(&prefix).unwrap());
    let reader = Reader::open(&prefix).unwrap();
    let mut writer = roles::start("writer", &prefix);
    let mut readers = ["reader", "local", "copier", "holder"]
        .map(|role| (role, roles_after_a_version(role, &reader, &prefix)));
    let mut last = 0;
    for round in 0..kills() {
        thread::sleep(Duration::from_micros(chance(round, 4000)));
        if round % 3 == 0 {
            kill(std::mem::replace(&mut writer, roles::start("writer", &prefix)));
        } else {
            let (role, victim) = &mut readers[chance(round * 7, 4) as usize];
            kill(std::mem::replace(victim, roles::start(role, &prefix)));
        }
        let version = reader.read().unwrap();
        assert!(version.sequence() >= last, "numbers only grow, whoever writes");
        last = version.sequence();
        stamp::check(last, &version);
    }
    for (_, survivor) in readers {
        assert!(roles::dismiss(survivor), "a reader found something wrong");
    }
    assert!(roles::dismiss(writer), "the writer found something wrong");

    // What all the dead held is free: the last version, which this reader holds, and one to write.
    let mut writer = Writer::open(&prefix).unwrap();
    for _ in 0..100 {
        stamp::write(&mut writer).unwrap();
        stamp::check(reader.read().unwrap().sequence(), &reader.read().unwrap());
    }
    writer.trim().unwrap();
    assert!(buffers(&folder) <= 2, "{:?}", names(&folder));
    writer.remove().unwrap();
    assert_eq!(names(&folder), [""; 0]);
}

/// Starts a reader when there is something to read.
fn roles_after_a_version(role: &str, reader: &Reader, prefix: &Path) -> Child {
    while reader.wait_newer(Duration::from_secs(1)).unwrap().is_none() {}
    roles::start(role, prefix)
}

#[test]
fn a_dead_reader_costs_one_buffer_until_it_is_needed() {
    let (folder, prefix) = in_memory();
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    for _ in 0..10 {
        let holder = roles::start("holder", &prefix);
        while writer.readers().unwrap() == 0 {
            thread::yield_now();
        }
        kill(holder);
        for _ in 0..10 {
            stamp::write(&mut writer).unwrap();
        }
        // Two that the writer goes back and forth between, and one for the time until it noticed.
        assert!(buffers(&folder) <= 3, "{:?}", names(&folder));
    }
    assert_eq!(writer.readers().unwrap(), 0);
}

/// With a reader stopped anywhere, also between its announcement and its pin, the writer goes on;
/// and the reader does when it may.
#[test]
fn a_stopped_reader_stops_nobody() {
    ["reader", "local"].into_iter().for_each(one_is_stopped);
}

fn one_is_stopped(role: &str) {
    let (_folder, prefix) = in_memory();
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let mut reader = roles::start(role, &prefix);
    while writer.readers().unwrap() == 0 {
        thread::yield_now();
    }
    for round in 0..50 {
        for _ in 0..chance(round, 300) {
            stamp::write(&mut writer).unwrap();
        }
        roles::signal(&reader, libc::SIGSTOP);
        for _ in 0..300 {
            stamp::write(&mut writer).unwrap();
        }
        roles::signal(&reader, libc::SIGCONT);
        assert!(reader.try_wait().unwrap().is_none(), "the reader found something wrong");
    }
    assert!(roles::dismiss(reader), "the reader found something wrong");
}

/// A reader that was killed in its sleep costs one needless wake-up, and the others are still
/// woken.
#[test]
fn a_killed_sleeper_is_forgotten() {
    let (_folder, prefix) = in_memory();
    let mut writer = Writer::open(&prefix).unwrap();
    let sleepers = [0; 4].map(|_| roles::start("sleeper", &prefix));
    while writer.readers().unwrap() < 4 {
        thread::yield_now();
    }
    let [one, two, three, four] = sleepers;
    kill(one);
    kill(two);
    for _ in 0..1000 {
        stamp::write(&mut writer).unwrap();
    }
    kill(three);
    stamp::write(&mut writer).unwrap();
    assert!(roles::dismiss(four));
}
