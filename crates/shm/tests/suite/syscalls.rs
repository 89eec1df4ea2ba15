//! Neither reads nor writes make a system call, once the buffers are there: counted by strace.

use crate::{in_memory, roles, stamp};
use std::path::Path;
use std::process::{Command, Stdio};
use xsort_shm::{Reader, Writer};

/// A system call that nobody else makes: where the counting begins and ends.
fn mark() {
    // SAFETY: it has no arguments.
    #[allow(unsafe_code, reason = "a system call to be seen in a trace")]
    unsafe {
        libc::getpgrp()
    };
}

/// The part that is traced.
pub(crate) fn reads_and_writes(prefix: &Path) {
    let mut writer = Writer::open(prefix).unwrap();
    let reader = Reader::open(prefix).unwrap();
    let mut local = reader.local().unwrap();
    let mut read = |count: u64| {
        for _ in 0..count {
            stamp::write(&mut writer).unwrap();
            for _ in 0..3 {
                let version = reader.read().unwrap();
                stamp::check(version.sequence(), &version);
                let version = local.read().unwrap();
                stamp::check(version.sequence(), &version);
            }
        }
    };
    // All lengths come by until every buffer is as long as the longest.
    read(20_000);
    mark();
    read(2_000);
    mark();
}

/// One more slot when many are taken: once each of them was asked for.
pub(crate) fn one_more_of_many(prefix: &Path) {
    let mut writer = Writer::open(prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let readers: Vec<Reader> = (0..200).map(|_| Reader::open(prefix).unwrap()).collect();
    let held = readers[0].read().unwrap();
    stamp::write(&mut writer).unwrap();
    // Maps the buffer, so that the read that is counted needs nothing but a slot.
    readers[0].clone().local().unwrap().read().unwrap();
    let held_too = readers[0].read().unwrap();
    stamp::write(&mut writer).unwrap();
    stamp::write(&mut writer).unwrap();
    mark();
    drop(readers[1].local().unwrap());
    mark();
    stamp::check(held.sequence(), &held);
    stamp::check(held_too.sequence(), &held_too);
}

#[test]
fn reads_and_writes_make_no_system_call() {
    let Some(between) = calls_between_marks("quiet") else { return };
    assert_eq!(between, [""; 0]);
}

#[test]
fn a_slot_among_many_is_one_system_call() {
    let Some(between) = calls_between_marks("crowd") else { return };
    let locks = between.iter().filter(|line| line.contains("fcntl(")).count();
    assert_eq!(locks, 2, "one to take it, one to give it back: {between:?}");
}

/// The system calls of a role between its two marks, or `None` where they can't be traced.
fn calls_between_marks(role: &str) -> Option<Vec<String>> {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        eprintln!("NOTICE: strace is missing: system calls are not counted");
        return None;
    }
    let (folder, prefix) = in_memory();
    let trace = folder.path().join("trace");
    let wrapper = ["strace", "-f", "-o", trace.to_str().unwrap()];
    let output = roles::command(&wrapper, role, &prefix).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("Operation not permitted") {
        eprintln!("NOTICE: strace may not trace here: system calls are not counted");
        return None;
    }
    assert!(output.status.success(), "{said}");
    let trace = std::fs::read_to_string(trace).unwrap();
    let of_thread = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let thread =
        trace.lines().find(|line| line.contains("getpgrp(")).and_then(of_thread).expect("a mark");
    let mut own = trace.lines().filter(|line| of_thread(line).as_ref() == Some(&thread));
    assert!(own.any(|line| line.contains("getpgrp(")));
    Some(own.take_while(|line| !line.contains("getpgrp(")).map(str::to_owned).collect())
}
