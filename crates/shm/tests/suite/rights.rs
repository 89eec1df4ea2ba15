//! Rights: a reader that may only read, namespaces, and one writer whatever happens to the files.

use crate::{in_memory, names, on_disk, roles, stamp};
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;
use xsort_shm::{Error, Reader, Writer, WriterOptions, Xxh3};

/// Runs `body` in a thread that may do no more than what others may: as nobody, if this is root
/// (which may do everything).
pub(crate) fn as_other(body: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: system calls with plain numbers. They change this thread alone, unlike the C
            // library's functions.
            #[allow(unsafe_code, reason = "the standard library changes no thread's user")]
            unsafe {
                if libc::geteuid() == 0 {
                    assert_eq!(libc::syscall(libc::SYS_setresgid, 65534, 65534, 65534), 0);
                    assert_eq!(libc::syscall(libc::SYS_setgroups, 0, 0), 0);
                    assert_eq!(libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534), 0);
                }
            }
            body();
        });
    });
}

/// Files that others may read only. (Their owner, too, so that a test without root sees the same.)
fn read_only(fresh_files: bool) -> WriterOptions {
    let mut options = WriterOptions::default();
    options.readers_mode = 0o400;
    options.fresh_files = fresh_files;
    options
}

#[test]
fn who_may_only_read_does() {
    for fresh_files in [false, true] {
        let (folder, prefix) = on_disk();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let mut writer = Writer::<Xxh3>::with_options(&prefix, read_only(fresh_files)).unwrap();
        stamp::write(&mut writer).unwrap();
        // One writes, then the other reads, by turns.
        let (turn, (written, next)) = (Barrier::new(2), mpsc::channel());
        thread::scope(|scope| {
            let (prefix, turn) = (&prefix, &turn);
            scope.spawn(move || {
                as_other(move || {
                    let reader = Reader::open(prefix).unwrap();
                    assert!(!reader.has_slots());
                    assert!(Writer::open(prefix).is_err());
                    let held = reader.read().unwrap();
                    turn.wait();
                    for sequence in next.iter().take(300) {
                        let version = reader.read().unwrap();
                        assert!(version.sequence() == sequence && version.is_new());
                        stamp::check(sequence, &version);
                        assert!(!reader.read().unwrap().is_new());
                        // Long gone from its buffer, but not from here.
                        stamp::check(1, &held);
                        turn.wait();
                    }
                    assert!(reader.wait_newer(Duration::from_millis(5)).unwrap().is_none());
                    turn.wait();
                    let newer =
                        reader.wait_newer(Duration::from_secs(60)).unwrap().expect("a newer one");
                    stamp::check(302, &newer);
                });
            });
            turn.wait();
            for _ in 0..300 {
                written.send(stamp::write(&mut writer).unwrap()).unwrap();
                turn.wait();
            }
            turn.wait();
            stamp::write(&mut writer).unwrap();
        });
        assert_eq!(writer.readers().unwrap(), 0);
        assert_eq!(names(&folder).len(), 4, "a reader makes no files: {:?}", names(&folder));
    }
}

#[test]
fn who_copies_from_a_fast_writer_copies_whole_versions() {
    let (_folder, prefix) = in_memory();
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let copiers = [0; 2].map(|_| roles::start("copier", &prefix));
    for _ in 0..100_000 {
        stamp::write(&mut writer).unwrap();
    }
    for copier in copiers {
        assert!(roles::dismiss(copier), "a copier found something wrong");
    }
}

/// The modes are those that README.md states, whatever the umask.
#[test]
fn modes_are_as_stated() {
    let (folder, prefix) = on_disk();
    Writer::open(&prefix).unwrap().write(b"x").unwrap();
    let mode =
        |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(["p.state", "p.readers", "p.buffer-0"].map(mode), [0o644, 0o660, 0o644]);
}

/// Process ids mean nothing to it: a reader in a process namespace of its own is seen, and its
/// death, too.
#[test]
fn a_reader_in_another_namespace() {
    let (_folder, prefix) = in_memory();
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let wrapper =
        ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--uts", "--ipc", "--net"];
    let Ok(mut reader) = roles::command(&wrapper, "holder", &prefix).stderr(Stdio::null()).spawn()
    else {
        eprintln!("NOTICE: unshare is missing: namespaces are not tested");
        return;
    };
    while writer.readers().unwrap() == 0 {
        if let Some(status) = reader.try_wait().unwrap() {
            eprintln!("NOTICE: no right to make namespaces ({status}): they are not tested");
            return;
        }
        thread::yield_now();
    }
    for _ in 0..10_000 {
        stamp::write(&mut writer).unwrap();
    }
    assert!(reader.try_wait().unwrap().is_none(), "the reader found something wrong");
    roles::signal(&reader, libc::SIGKILL);
    reader.wait().unwrap();
    while writer.readers().unwrap() != 0 {
        thread::yield_now();
    }
}

fn remove_all(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
}

/// Two writers hold "the" lock of mmap-sync when its state file is removed in between. Here the
/// second is refused, by all roads.
#[test]
fn there_is_one_writer() {
    for (folder, prefix) in [in_memory(), on_disk()] {
        let mut writer = Writer::open(&prefix).unwrap();
        writer.write(b"mine").unwrap();
        let is_busy = || matches!(Writer::open(&prefix), Err(Error::Busy { .. }));
        assert!(is_busy());
        fs::remove_file(prefix.with_extension("state")).unwrap();
        assert!(is_busy());
        remove_all(folder.path());
        assert!(is_busy());
        // Files that somebody has made anew, by whatever means.
        fs::write(prefix.with_extension("state"), b"").unwrap();
        assert!(is_busy());
        assert!(matches!(xsort_shm::remove(&prefix), Err(Error::Busy { .. })));
        drop(writer);
        Writer::open(&prefix).unwrap().write(b"yours").unwrap();
        // Another name in the same folder is another matter.
        let _other = Writer::open(prefix.with_file_name("q")).unwrap();
        assert!(Writer::open(&prefix).is_ok());
    }
}

/// A file that is no longer in the slot_table's or the state's family is never written through: who
/// still reads it reads on.
#[test]
fn files_made_anew_leave_old_readers_alone() {
    for removed in ["state", "readers"] {
        let (_folder, prefix) = in_memory();
        let mut writer = Writer::open(&prefix).unwrap();
        stamp::write(&mut writer).unwrap();
        let old = Reader::open(&prefix).unwrap();
        let held = old.read().unwrap();
        drop(writer);
        assert!(!old.has_writer().unwrap() && !old.is_orphaned().unwrap());
        fs::remove_file(prefix.with_extension(removed)).unwrap();
        let mut writer = Writer::open(&prefix).unwrap();
        for _ in 0..100 {
            stamp::write(&mut writer).unwrap();
        }
        stamp::check(1, &held);
        assert!(old.is_orphaned().unwrap());
        let new = Reader::open(&prefix).unwrap();
        assert!(new.has_slots() && new.has_writer().unwrap());
        let version = new.read().unwrap();
        stamp::check(version.sequence(), &version);
        // Counting goes on where the state is known.
        assert_eq!(version.sequence(), if removed == "state" { 100 } else { 101 });
    }
}

/// A writer makes its state readable while it is empty. Once it did so at the end, and a reader of
/// another user that came in between heard that it may not read.
#[test]
fn who_comes_while_the_files_are_made_is_told_to_wait() {
    let (folder, prefix) = on_disk();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let state = prefix.with_extension("state");
    fs::write(&state, b"").unwrap();
    fs::set_permissions(&state, Permissions::from_mode(0o600)).unwrap();
    as_other(|| assert!(matches!(Reader::open(&prefix), Err(Error::NotReady { .. }))));
    // What is not meant for others is not.
    let mut options = WriterOptions::default();
    options.mode = 0;
    let mut writer = Writer::<Xxh3>::with_options(&prefix, options).unwrap();
    stamp::write(&mut writer).unwrap();
    as_other(|| {
        let Err(Error::Io { source, .. }) = Reader::open(&prefix) else { panic!("no I/O error") };
        assert_eq!(source.kind(), ErrorKind::PermissionDenied);
    });
}

/// A folder of links to the files: what is written is not reached through a link, so a reader there
/// copies.
#[test]
fn a_view_made_of_links_is_read() {
    let (folder, prefix) = on_disk();
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let (_view, view_prefix) = on_disk();
    for name in names(&folder) {
        symlink(folder.path().join(&name), view_prefix.with_file_name(&name)).unwrap();
    }
    let reader = Reader::open(&view_prefix).unwrap();
    assert!(!reader.has_slots());
    let version = reader.read().unwrap();
    stamp::check(version.sequence(), &version);
}
