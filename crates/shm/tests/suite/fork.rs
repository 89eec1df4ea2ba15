//! Forks: a child of a reader takes slots of its own, a child of a writer writes nothing.

use crate::{in_memory, roles, stamp};
use std::path::Path;
use std::process::Stdio;
use xsort_shm::{Error, Reader, Writer};

/// In a process of its own, because a fork of a test harness's thread would take its locks along.
#[test]
fn a_child_takes_slots_of_its_own() {
    let (_folder, prefix) = in_memory();
    let mut child = roles::command(&[], "fork", &prefix).stderr(Stdio::inherit()).spawn().unwrap();
    assert!(child.wait().unwrap().success());
}

/// The part that forks.
pub(crate) fn parent_and_child(prefix: &Path) {
    let mut writer = Writer::open(prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let reader = Reader::open(prefix).unwrap();
    let held = reader.read().unwrap();
    assert_eq!(writer.readers().unwrap(), 1);
    // SAFETY: the child uses nothing of other threads, none of its parent's versions, and ends without unwinding.
    #[allow(unsafe_code, reason = "the subject of the test")]
    let child = unsafe { libc::fork() };
    if child == 0 {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            assert!(matches!(stamp::write(&mut writer), Err(Error::Forked { .. })));
            assert!(matches!(writer.trim(), Err(Error::Forked { .. })));
            while reader.read().unwrap().sequence() < 20_000 {
                let (older, newer) = (reader.read().unwrap(), reader.read().unwrap());
                stamp::check(older.sequence(), &older);
                stamp::check(newer.sequence(), &newer);
            }
            drop(reader.clone());
        }));
        // SAFETY: ends the process at once.
        #[allow(unsafe_code, reason = "a forked child must not return into its parent's frames")]
        unsafe {
            libc::_exit(i32::from(result.is_err()))
        };
    }
    while writer.readers().unwrap() < 2 {
        stamp::write(&mut writer).unwrap();
    }
    // The child has read and moved on in slots of its own; this one's is where it was.
    for _ in writer.version().unwrap()..20_000 {
        stamp::write(&mut writer).unwrap();
    }
    stamp::check(1, &held);
    let mut status = 0;
    // SAFETY: a plain system call on a child of ours.
    #[allow(unsafe_code, reason = "the subject of the test")]
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0), "the child found something wrong");
    assert_eq!(writer.readers().unwrap(), 1);
    assert_eq!(reader.read().unwrap().sequence(), 20_000);
}
