//! Failures of the environment: full disks, missing permissions, no more descriptors, failing
//! drives. Each error names a remedy.

use crate::bench::{Bench, Flight, on_real_disks, pattern, real, real_in, simulated};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use xsort_disk::{
    DiskOptions, Error, Fault, FaultSite, InputFiles, IoChoice, Lease, Operation, OsDisk,
    SimOptions,
};

const EIO: i32 = 5;

/// A small file system of its own, unmounted on drop.
struct Mounted(tempfile::TempDir);

impl Mounted {
    /// Mounts a file system. Returns `None` and prints a line if mounting is not allowed.
    fn new(arguments: &[&str]) -> Option<Mounted> {
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let status = Command::new("mount").args(arguments).arg(place.path()).output();
        if status.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(Mounted(place));
        }
        eprintln!("SKIPPED: can't mount {arguments:?} (needs root): {status:?}");
        None
    }

    /// Creates a file system on a loop device, for direct I/O on a full disk.
    fn image(make: &str, bytes: u64) -> Option<(Mounted, tempfile::NamedTempFile)> {
        let image = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        image.as_file().set_len(bytes).unwrap();
        let made = Command::new(make).arg("-q").arg(image.path()).output();
        if !made.as_ref().is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: {make}: {made:?}");
            return None;
        }
        let mounted = Mounted::new(&["-o", "loop", image.path().to_str()?])?;
        Some((mounted, image))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Fills the disk through `bench` and checks the error, then checks that the space is freed.
fn fills(bench: &Bench, directory: &Path, bytes: usize) {
    let check = |error: Error, operation: Operation| {
        assert_eq!(error.operation, operation, "{error}");
        assert_eq!(error.source.kind(), io::ErrorKind::StorageFull, "{error}");
        assert!(error.to_string().contains("free some space"), "{error}");
    };
    for _ in 0..2 {
        let scratch = bench.disk.create_scratch(directory).unwrap();
        check(bench.write(scratch, &pattern(bytes, 1), 64 << 10).unwrap_err(), Operation::Write);
        bench.disk.close(scratch);
    }
    let scratch = bench.disk.create_scratch(directory).unwrap();
    check(bench.disk.reserve(scratch, bytes as u64).unwrap_err(), Operation::Reserve);
    bench.disk.close(scratch);
    // The refused space is free: a quarter of it fits, at once or after a moment (a journal frees
    // space when it commits).
    let path = directory.join("quarter");
    let since = Instant::now();
    let output = loop {
        let output = bench.disk.create_output(&path).unwrap();
        match bench.write(output, &pattern(bytes / 4, 1), 64 << 10) {
            Ok(()) => break output,
            Err(error) => assert!(since.elapsed() < Duration::from_secs(20), "{error}"),
        }
        bench.disk.close(output);
        thread::sleep(Duration::from_millis(100));
    };
    eprintln!("{}: free again after {:?}", bench.name, since.elapsed());
    bench.disk.publish(output, bytes as u64 / 4, true).unwrap();
    let input = bench.disk.open_input(&path).unwrap();
    bench.disk.remove_input(input).unwrap();
    bench.disk.close(input);
}

#[test]
fn a_full_disk_is_said_to_be_full() {
    let bench =
        simulated("small", SimOptions { capacity_bytes: Some(1 << 20), ..SimOptions::rough(5) });
    fills(&bench, &bench.directory, 2 << 20);
    if let Some(memory) = Mounted::new(&["-t", "tmpfs", "-o", "size=4m", "small"]) {
        on_real_disks(|bench| fills(bench, memory.0.path(), 8 << 20));
    }
    if let Some((drive, _image)) = Mounted::image("mkfs.ext4", 16 << 20) {
        on_real_disks(|bench| fills(bench, drive.0.path(), 24 << 20));
    }
}

#[test]
fn a_file_system_in_memory_works_and_says_once_that_it_is_not_direct() {
    on_real_disks(|bench| {
        let memory = Path::new("/dev/shm");
        if !bench.disk.drive(memory).is_ok_and(|drive| drive.is_memory) {
            eprintln!("SKIPPED: /dev/shm is not in memory");
            return;
        }
        for _ in 0..3 {
            let scratch = bench.disk.create_scratch(memory).unwrap();
            let bytes = pattern(1 << 20, 8);
            bench.write(scratch, &bytes, 64 << 10).unwrap();
            assert!(bench.read(scratch, 1 << 20, 64 << 10).unwrap() == bytes);
            bench.disk.close(scratch);
        }
        let notices = bench.disk.notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].contains("tmpfs"), "{notices:?}");
        assert_eq!(bench.disk.notices(), [] as [&str; 0]);
        assert!(bench.disk.describe().ends_with(", buffered"), "{}", bench.disk.describe());
    });
}

#[test]
fn a_read_only_file_system_is_said_to_be_one() {
    let Some(memory) = Mounted::new(&["-t", "tmpfs", "-o", "ro", "small"]) else { return };
    on_real_disks(|bench| {
        let (output, scratch) = (
            bench.disk.create_output(&memory.0.path().join("o")),
            bench.disk.create_scratch(memory.0.path()),
        );
        for error in [output.unwrap_err(), scratch.unwrap_err()] {
            assert_eq!(error.operation, Operation::Create);
            assert!(error.to_string().contains("mounted read-only"), "{error}");
        }
    });
}

#[test]
fn what_can_not_be_opened_says_why() {
    on_real_disks(|bench| {
        let missing = bench.disk.open_input(&bench.path("missing")).unwrap_err();
        assert!(missing.to_string().contains("there is no such file"), "{missing}");
        let pipe = bench.path("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [bench.directory.clone(), pipe, PathBuf::from("/dev/zero")] {
            let error = bench.disk.open_input(&path).unwrap_err();
            assert!(error.to_string().contains("it is not a regular file"), "{error}");
        }
        let error = bench.disk.create_scratch(&bench.path("missing")).unwrap_err();
        assert!(error.to_string().contains("its directory does not exist"), "{error}");
    });
}

#[test]
fn a_file_that_shrank_since_it_was_opened_is_an_error() {
    on_real_disks(|bench| {
        let path = bench.path("shrinks");
        fs::write(&path, pattern(100_000, 1)).unwrap();
        let input = bench.disk.open_input(&path).unwrap();
        let bytes = bench.disk.file_bytes(input).unwrap() as usize;
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(70_000).unwrap();
        let error = bench.read(input, bytes, 16 << 10).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::UnexpectedEof, "{error}");
        assert_eq!(error.path, path);
    });
}

#[test]
fn an_input_can_not_be_written() {
    on_real_disks(|bench| {
        let path = bench.path("input");
        fs::write(&path, pattern(8192, 1)).unwrap();
        let input = bench.disk.open_input(&path).unwrap();
        let mut flight = Flight::new();
        flight.write(&*bench.disk, input, 4096, Lease::map(4096).unwrap());
        let error = flight.one().unwrap_err();
        assert_eq!((error.operation, error.offset), (Operation::Write, Some(4096)));
        assert!(fs::read(&path).unwrap() == pattern(8192, 1));
    });
}

#[test]
fn a_failing_drive_names_file_and_offset() {
    let fault =
        Fault { operation: Operation::Read, role: None, site: FaultSite::Byte(70_000), errno: EIO };
    let bench = simulated("failing", SimOptions { faults: vec![fault], ..SimOptions::rough(2) });
    bench.put(&bench.path("in"), &pattern(100_000, 1));
    let input = bench.disk.open_input(&bench.path("in")).unwrap();
    bench.read(input, 65_536, 4096).unwrap();
    let error = bench.read(input, 100_000, 4096).unwrap_err();
    assert_eq!(
        error.to_string().split(": the drive").next().unwrap(),
        "reading /sim/in at byte 69632: Input/output error (os error 5)"
    );
}

// Tests that change their process run in one of their own: the test below it starts this binary
// again for the one named "child".

fn child(name: &str, change: impl FnOnce(&mut Command)) -> Option<()> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    change(&mut command);
    run_child(command, &format!("failure::{name}"))
}

fn run_child(mut command: Command, name: &str) -> Option<()> {
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"]);
    match command.output() {
        Ok(output) => {
            let text =
                String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && text.contains("1 passed"), "{text}");
            Some(())
        }
        Err(error) => {
            eprintln!("SKIPPED {name}: {error}");
            None
        }
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn no_more_descriptors() {
    child("no_more_descriptors_child", |_| ());
}

#[test]
#[ignore = "run by no_more_descriptors"]
fn no_more_descriptors_child() {
    // The benches are created before the limit is lowered.
    let bench = real(
        "sync",
        OsDisk::new(DiskOptions { io: IoChoice::Sync, ..DiskOptions::default() }).unwrap(),
    );
    fs::write(bench.path("in"), "bytes").unwrap();
    let limit = Rlimit { current: Some(40), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).unwrap();
    let mut files = Vec::new();
    let error = loop {
        match bench.disk.open_input(&bench.path("in")) {
            Ok(file) => files.push(file),
            Err(error) => break error,
        }
        assert!(files.len() < 50);
    };
    assert!(error.to_string().contains("ulimit -n"), "{error}");
    for error in [
        bench.disk.create_output(&bench.path("out")).unwrap_err(),
        bench.disk.create_scratch(&bench.directory).unwrap_err(),
    ] {
        assert!(error.to_string().contains("ulimit -n"), "{error}");
    }
    // This stands for every refusal of io_uring. If io_uring is required, it is an error; if
    // preferred, a notice, and threads do the I/O.
    let uring =
        OsDisk::new(DiskOptions { io: IoChoice::Uring, ..DiskOptions::default() }).unwrap_err();
    assert!(
        uring.to_string().starts_with("starting io_uring: ")
            && uring.to_string().contains(if cfg!(portable) { "--io=auto" } else { "ulimit -n" }),
        "{uring}"
    );
    let auto = real("auto", OsDisk::new(DiskOptions::default()).expect("falls back")).disk;
    let notices = auto.notices();
    assert!(notices.len() == 1 && notices[0].contains("io_uring is not available"), "{notices:?}");
    assert!(auto.describe().contains("threads"), "{}", auto.describe());
    // With descriptors available again, everything works.
    files.drain(..4).for_each(|file| bench.disk.close(file));
    let again = bench.disk.create_scratch(&bench.directory).unwrap();
    bench.write(again, &pattern(9000, 1), 4096).unwrap();
}

/// `gen` under a limit on processes once failed with "Operation canceled": io_uring could not start
/// the thread that it needs for a direct write beyond a file's end.
#[test]
fn no_more_processes() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    set_mode(place.path(), 0o777);
    child("no_more_processes_child", |command| {
        command.env("PLACE", place.path());
        // Root's processes have no limit.
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
    });
}

#[test]
#[ignore = "run by no_more_processes"]
fn no_more_processes_child() {
    let Ok(disk) = OsDisk::new(DiskOptions { io: IoChoice::Uring, ..DiskOptions::default() })
    else {
        return;
    };
    let bench = real_in(std::env::var_os("PLACE").unwrap().into(), "uring", disk);
    setrlimit(Resource::Nproc, Rlimit { current: Some(1), maximum: Some(1) }).unwrap();
    let expected = pattern(4 << 20, 1);
    let scratch = bench.disk.create_scratch(&bench.directory).unwrap();
    bench.write(scratch, &expected, 64 << 10).unwrap();
    assert!(bench.read(scratch, 4 << 20, 64 << 10).unwrap() == expected);
    // The file system decides whether the kernel needs threads.
    eprintln!("notices: {:?}", bench.disk.notices());
}

#[test]
fn no_permission() {
    if !rustix::process::geteuid().is_root() {
        return check_permissions();
    }
    child("no_permission_child", |command| {
        command.uid(65_534).gid(65_534);
    });
}

#[test]
#[ignore = "run by no_permission"]
fn no_permission_child() {
    check_permissions();
}

/// Root has all permissions, so this runs as another user.
fn check_permissions() {
    let place = tempfile::tempdir_in("/tmp").unwrap();
    for io in [IoChoice::Uring, IoChoice::Sync] {
        let Ok(disk) = OsDisk::new(DiskOptions { io, ..DiskOptions::default() }) else { continue };
        let secret = place.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        set_mode(&secret, 0o000);
        let error = disk.open_input(&secret).unwrap_err();
        assert!(error.to_string().contains("you have no permission to read it"), "{error}");
        set_mode(&secret, 0o444);
        // The open file can be read, though it can't be opened again for direct I/O.
        let bench = real_in(place.path().to_owned(), "secret", disk);
        let input = bench.disk.open_input(&secret).unwrap();
        set_mode(&secret, 0o000);
        assert!(bench.read(input, 6, 4096).unwrap() == b"secret");
        let disk = &bench.disk;
        set_mode(&secret, 0o444);
        let error = disk.create_output(&secret).unwrap_err();
        assert!(
            error.to_string().contains("you have no permission to write there"),
            "{error}: an old output that is read-only"
        );
        fs::remove_file(&secret).unwrap();
        set_mode(place.path(), 0o555);
        for error in [
            disk.create_output(&place.path().join("out")).unwrap_err(),
            disk.create_scratch(place.path()).unwrap_err(),
        ] {
            assert!(error.to_string().contains("you have no permission to write there"), "{error}");
        }
        // A directory with write permission but no read permission is enough, where a descriptor
        // can stand for a place.
        set_mode(place.path(), if cfg!(portable) { 0o755 } else { 0o333 });
        let output = disk.create_output(&place.path().join("out")).unwrap();
        disk.publish(output, 0, true).unwrap();
        set_mode(place.path(), 0o755);
        fs::remove_file(place.path().join("out")).unwrap();
    }
}

#[test]
fn a_limit_of_file_size() {
    let name = "failure::a_limit_of_file_size_child";
    // The signal that comes with the error would end the process. The shell ignores it, and so does
    // its child.
    let script = "trap '' XFSZ; ulimit -f 1000; exec \"$0\" \"$@\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(std::env::current_exe().unwrap());
    run_child(shell, name).expect("there is a shell");
}

#[test]
#[ignore = "run by a_limit_of_file_size"]
fn a_limit_of_file_size_child() {
    on_real_disks(|bench| {
        let scratch = bench.disk.create_scratch(&bench.directory).unwrap();
        let error = bench.write(scratch, &pattern(2 << 20, 1), 64 << 10).unwrap_err();
        assert!(error.to_string().contains("ulimit -f"), "{error}");
        let error = bench.disk.reserve(scratch, 4 << 20).unwrap_err();
        assert!(error.to_string().contains("ulimit -f"), "{error}");
    });
}

/// `sort --remove-input` once removed a file that had replaced the input, and one that had grown
/// since it was read.
#[test]
fn only_what_was_opened_and_is_unchanged_is_removed() {
    on_real_disks(|bench| {
        let path = bench.path("in");
        let reopened = || bench.disk.open_input(&path).unwrap();
        fs::write(&path, "read").unwrap();
        let input = reopened();
        fs::write(bench.path("newcomer"), "read").unwrap();
        fs::rename(bench.path("newcomer"), &path).unwrap();
        let error = bench.disk.remove_input(input).unwrap_err();
        assert!(error.to_string().contains("another file's"), "{error}");
        bench.disk.close(input);

        let input = reopened();
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b" and more").unwrap();
        let error = bench.disk.remove_input(input).unwrap_err();
        assert!(error.to_string().contains("was changed"), "{error}");
        bench.disk.close(input);
        assert_eq!(fs::read(&path).unwrap(), b"read and more");

        let link = bench.path("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let input = bench.disk.open_input(&link).unwrap();
        bench.disk.remove_input(input).unwrap();
        assert!(!path.exists() && fs::symlink_metadata(&link).is_err());
    });
}
