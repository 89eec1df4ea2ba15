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

#[test]
fn reads_and_writes_make_no_system_call() {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        eprintln!("NOTICE: strace is missing: system calls are not counted");
        return;
    }
    let (folder, prefix) = in_memory();
    let trace = folder.path().join("trace");
    let wrapper = ["strace", "-f", "-o", trace.to_str().unwrap()];
    let output = roles::command(&wrapper, "quiet", &prefix).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("Operation not permitted") {
        eprintln!("NOTICE: strace may not trace here: system calls are not counted");
        return;
    }
    assert!(output.status.success(), "{said}");
    let trace = std::fs::read_to_string(trace).unwrap();
    let of_thread = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let thread = trace.lines().find(|line| line.contains("getpgrp(")).and_then(of_thread).expect("a mark");
    let mut own = trace.lines().filter(|line| of_thread(line).as_ref() == Some(&thread));
    assert!(own.any(|line| line.contains("getpgrp(")));
    let between: Vec<&str> = own.by_ref().take_while(|line| !line.contains("getpgrp(")).collect();
    assert_eq!(between, [""; 0]);
}
