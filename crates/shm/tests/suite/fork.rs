//! Forks: a child of a reader takes slots of its own, a child of a writer writes nothing.

use crate::{in_memory, roles, stamp};
use std::cell::Cell;
use std::fs;
use std::hash::Hasher;
use std::path::Path;
use std::process::Stdio;
use xsort_shm::{Error, LocalReader, Reader, Writer, WriterOptions, Xxh3};

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
    // SAFETY: the child uses nothing of other threads, none of its parent's versions, and ends
    // without unwinding.
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

/// In a process of its own, as above.
fn plays(role: &str) {
    let (_folder, prefix) = in_memory();
    let mut child = roles::command(&[], role, &prefix).stderr(Stdio::inherit()).spawn().unwrap();
    assert!(child.wait().unwrap().success());
}

/// Forks. The child runs `body`, and ends with whether it was content.
fn fork(body: impl FnOnce()) -> i32 {
    // SAFETY: the child uses nothing of other threads, and ends without unwinding.
    #[allow(unsafe_code, reason = "the subject of the test")]
    let child = unsafe { libc::fork() };
    if child == 0 {
        end(std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_ok());
    }
    child
}

fn end(is_content: bool) -> ! {
    // SAFETY: ends the process at once.
    #[allow(unsafe_code, reason = "a forked child must not return into its parent's frames")]
    unsafe {
        libc::_exit(i32::from(!is_content))
    }
}

/// The status that a child ended with.
fn wait_for(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: a plain system call on a child of ours.
    #[allow(unsafe_code, reason = "the subject of the test")]
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(waited, child);
    status
}

/// The child of a fork in the closure went on, and published: versions went back, and one that was
/// held changed.
#[test]
fn a_child_of_a_fill_publishes_nothing() {
    plays("fork-in-fill");
}

/// The part that forks.
pub(crate) fn forks_in_a_fill(prefix: &Path) {
    let mut writer = Writer::open(prefix).unwrap();
    let reader = Reader::open(prefix).unwrap();
    for _ in 0..7 {
        stamp::write(&mut writer).unwrap();
    }
    let held = reader.read().unwrap();

    // It returns from the closure, and from the write; it can't do more with its writer than drop
    // it.
    let mut child = -1;
    let written = writer.write_with(64, |place| {
        child = fork_here();
        if child == 0 {
            return;
        }
        place.fill(8);
    });
    if child == 0 {
        let is_forked = matches!(written, Err(Error::Forked { .. }));
        let again = matches!(stamp::write(&mut writer), Err(Error::Forked { .. }));
        let others = vec![7u8; 1 << 20];
        drop(writer);
        end(is_forked && again && others.iter().all(|byte| *byte == 7));
    }
    assert_eq!(written.unwrap(), 8);
    assert_eq!(wait_for(child), 0, "the child found something wrong");
    assert_eq!(&*reader.read().unwrap(), &[8; 64]);
    stamp::check(7, &held);

    // It writes on when its parent has published: there is nothing for it to write to.
    let mut child = -1;
    let written = writer.write_with(4096, |place| {
        place.fill(9);
        let begun = std::time::Instant::now();
        child = fork(|| {
            while Reader::open(prefix).unwrap().version() < Some(9) {
                assert!(begun.elapsed().as_secs() < 600, "the parent does not publish");
            }
            place.fill(1);
        });
    });
    assert_eq!(written.unwrap(), 9);
    let version = reader.read().unwrap();
    assert_eq!(wait_for(child), libc::SIGSEGV, "the child could write");
    assert_eq!(&*version, &[9; 4096]);
    stamp::check(7, &held);
}

/// A fork whose child goes on where the parent does.
fn fork_here() -> i32 {
    // SAFETY: the child uses nothing of other threads, and ends without unwinding into the harness.
    #[allow(unsafe_code, reason = "the subject of the test")]
    unsafe {
        libc::fork()
    }
}

thread_local! {
    static CHILD: Cell<Option<i32>> = const { Cell::new(None) };
    /// Forks at the checksum of this number, counted from now on; 0: at none.
    static FORKS: Cell<u32> = const { Cell::new(0) };
}

/// A hasher that forks when it is told to.
#[derive(Default)]
struct Forking(Xxh3);

impl Hasher for Forking {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn finish(&self) -> u64 {
        let left = FORKS.take();
        FORKS.set(left.saturating_sub(1));
        if left == 1 {
            CHILD.set(Some(fork_here()));
        }
        self.0.finish()
    }
}

/// A fork in the middle of a read, of a write, of an attachment, of a writer's beginning: a hasher
/// is other people's code. What the child then reads is protected by slots of its own.
#[test]
fn a_hasher_may_fork() {
    plays("fork-in-hash");
}

/// The part that forks: while a writer opens, while it writes, while readers read and attach.
pub(crate) fn forks_in_a_hasher(prefix: &Path) {
    let attach = || Reader::<Forking>::with_options(prefix, Default::default()).unwrap();
    let mut writer = forks_while_opening(prefix);
    let mut children = Vec::new();

    FORKS.set(1);
    let written = writer.write(&[2; 4096]);
    match CHILD.take().unwrap() {
        0 => end(matches!(written, Err(Error::Forked { .. }))),
        child => children.push(child),
    }

    // Each child has a version of its own, in a buffer that nobody else holds.
    let reader = attach();
    let mut local = reader.local().unwrap();
    FORKS.set(1);
    let version = reader.read().unwrap();
    match CHILD.take().unwrap() {
        0 => check_until_thousand(&version, &attach()),
        child => children.push(child),
    }
    drop(version);

    writer.write(&[3; 4096]).unwrap();
    FORKS.set(1);
    let version = local.read().unwrap();
    match CHILD.take().unwrap() {
        0 => check_until_thousand(&version, &attach()),
        child => children.push(child),
    }

    writer.write(&[4; 4096]).unwrap();
    FORKS.set(1);
    let attached = attach();
    match CHILD.take().unwrap() {
        0 => check_until_thousand(&attached.read().unwrap(), &attach()),
        child => children.push(child),
    }
    drop(attached);

    // Two slots of this process, and at least one of each child that reads.
    reader.release();
    local.release();
    while writer.readers().unwrap() < 2 + 3 {
        std::thread::yield_now();
    }
    for number in 0..2000 {
        writer.write(&[number as u8; 4096]).unwrap();
    }
    for child in children {
        assert_eq!(wait_for(child), 0, "a child found something wrong");
    }
}

/// Forks in the hasher of a writer that opens new files, and of one that opens files without a slot
/// table. Returns the parent's second writer.
fn forks_while_opening(prefix: &Path) -> Writer<Forking> {
    let open = || Writer::<Forking>::with_options(prefix, WriterOptions::default());
    FORKS.set(1);
    let opened = open();
    // Two that open: each is the writer, unless the other is.
    let is_content = matches!(opened, Ok(_) | Err(Error::Busy { .. }));
    drop(opened);
    match CHILD.take().unwrap() {
        0 => end(is_content),
        child => assert!(is_content && wait_for(child) == 0),
    }
    let mut writer = open().unwrap();
    writer.write(&[1; 4096]).unwrap();

    // The second checksum of a beginning is that of the last version, if the slot table is lost.
    let last = writer.version();
    drop(writer);
    fs::remove_file(prefix.with_extension("readers")).unwrap();
    FORKS.set(2);
    let opened = open();
    match CHILD.take().unwrap() {
        0 => end(matches!(opened, Err(Error::Forked { .. }))),
        child => assert_eq!(wait_for(child), 0, "the child is the writer, too"),
    }
    let writer = opened.unwrap();
    assert_eq!(writer.version(), last);
    writer
}

/// Ends the process: content if the version stays as it is while a thousand others are written.
fn check_until_thousand(version: &[u8], other: &Reader<Forking>) -> ! {
    let first = version.to_vec();
    let mut is_same = true;
    while other.version() < Some(1000) {
        is_same &= version == first;
    }
    end(is_same && version == first)
}

/// A child took a slot for a reader of one owner through the descriptor that it had inherited: to
/// the kernel the parent's slots were its own, and it emptied one.
#[test]
fn a_child_takes_no_slot_of_its_parents() {
    plays("fork-and-take");
}

/// The part that forks.
pub(crate) fn forks_and_takes_slots(prefix: &Path) {
    let mut writer = Writer::open(prefix).unwrap();
    // All of one length, so that a buffer that is free is written again where it is.
    writer.write(&[1; 4096]).unwrap();
    let reader = Reader::open(prefix).unwrap();
    reader.read().unwrap();
    let child = fork(|| {
        let other = Reader::open(prefix).unwrap();
        while other.version() < Some(2) {
            std::thread::yield_now();
        }
        let mut locals: Vec<LocalReader> = (0..3).map(|_| reader.local().unwrap()).collect();
        locals.iter_mut().for_each(|local| assert_eq!(local.read().unwrap().sequence(), 2));
        // One slot more says that they have read.
        let _done = Reader::open(prefix).unwrap();
        while other.version() < Some(100) {
            std::thread::yield_now();
        }
    });
    // In slots that were taken after the fork, and no other.
    let mut late = [reader.local().unwrap(), reader.local().unwrap()];
    let held = late.each_mut().map(|local| local.read().unwrap());
    reader.release();
    writer.write(&[2; 4096]).unwrap();
    while writer.readers().unwrap() < 8 {
        std::thread::yield_now();
    }
    for number in 3..200 {
        writer.write(&[number; 4096]).unwrap();
    }
    held.iter().for_each(|version| assert_eq!(&**version, &[1; 4096]));
    assert_eq!(wait_for(child), 0, "the child found something wrong");
}
