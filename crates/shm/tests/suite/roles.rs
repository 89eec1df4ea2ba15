//! Other processes: this test program again, where the one test below plays the part that the
//! environment names.

use crate::stamp;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use xsort_shm::{LocalReader, Reader, ReaderOptions, Writer, Xxh3};

const ROLE: &str = "XSORT_SHM_ROLE";
const PREFIX: &str = "XSORT_SHM_PREFIX";

/// The command that plays `role` on the files of `prefix`; `wrapper` is a program that runs it,
/// with its arguments.
pub(crate) fn command(wrapper: &[&str], role: &str, prefix: &Path) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match wrapper {
        [] => Command::new(program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
    };
    command.args(["--exact", "roles::plays_its_role", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(PREFIX, prefix).stdin(Stdio::piped()).stdout(Stdio::null());
    command
}

/// Starts `role`. It ends when its standard input does, which is also when this process dies.
pub(crate) fn start(role: &str, prefix: &Path) -> Child {
    command(&[], role, prefix).spawn().unwrap()
}

/// Sends a signal.
pub(crate) fn signal(child: &Child, signal: i32) {
    // SAFETY: a plain system call on a process of ours that nobody has waited for.
    #[allow(unsafe_code, reason = "the standard library sends nothing but SIGKILL")]
    let sent = unsafe { libc::kill(child.id() as i32, signal) };
    assert_eq!(sent, 0);
}

/// Whether the process that gave us our standard input has closed it.
pub(crate) fn is_dismissed() -> bool {
    let mut poll =
        libc::pollfd { fd: std::io::stdin().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure that lives as long as the call.
    #[allow(unsafe_code, reason = "the standard library does not poll")]
    let ready = unsafe { libc::poll(&raw mut poll, 1, 0) };
    ready > 0
}

/// Not a test but a part, unless nobody gave one.
#[test]
fn plays_its_role() {
    let (Ok(role), Some(prefix)) = (std::env::var(ROLE), std::env::var_os(PREFIX)) else { return };
    let prefix = Path::new(&prefix);
    match role.as_str() {
        "reader" => read(&Reader::open(prefix).unwrap()),
        "local" => read_alone(&mut LocalReader::open(prefix).unwrap()),
        "copier" => {
            let mut options = ReaderOptions::default();
            options.copy = true;
            read(&Reader::<Xxh3>::with_options(prefix, options).unwrap());
        }
        "holder" => hold(&Reader::open(prefix).unwrap()),
        "sleeper" => {
            let reader = Reader::open(prefix).unwrap();
            while !is_dismissed() {
                if let Some(version) = reader.wait_newer(Duration::from_millis(100)).unwrap() {
                    stamp::check(version.sequence(), &version);
                }
            }
        }
        "writer" => write(prefix),
        "opens" => crate::faults::opens_and_writes(prefix),
        "fork-in-fill" => crate::fork::forks_in_a_fill(prefix),
        "fork-in-hash" => crate::fork::forks_in_a_hasher(prefix),
        "fork-and-take" => crate::fork::forks_and_takes_slots(prefix),
        "fork" => crate::fork::parent_and_child(prefix),
        "local-fork" => crate::local::parent_and_child(prefix),
        "wanderer" => crate::lifetime::opens_and_goes_elsewhere(prefix),
        "crowd" => crate::syscalls::one_more_of_many(prefix),
        "quiet" => crate::syscalls::reads_and_writes(prefix),
        other => panic!("no such role: {other}"),
    }
}

/// Checks a version that was read after version `last`. Returns its number.
fn checked(last: u64, sequence: u64, bytes: &[u8]) -> u64 {
    assert!(sequence >= last, "version {sequence} after {last}");
    stamp::check(sequence, bytes);
    sequence
}

/// Reads as fast as it can and checks everything.
fn read(reader: &Reader) {
    let mut last = 0;
    while !is_dismissed() {
        for _ in 0..64 {
            match reader.read() {
                Ok(version) => last = checked(last, version.sequence(), &version),
                Err(xsort_shm::Error::NotReady { .. } | xsort_shm::Error::Overtaken { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// The same through a reader of one owner.
fn read_alone(reader: &mut LocalReader) {
    let mut last = 0;
    while !is_dismissed() {
        for _ in 0..64 {
            match reader.read() {
                Ok(version) => last = checked(last, version.sequence(), &version),
                Err(xsort_shm::Error::NotReady { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Holds one version for ever, and checks it again and again.
fn hold(reader: &Reader) {
    let version = reader.read().unwrap();
    while !is_dismissed() {
        stamp::check(version.sequence(), &version);
    }
}

/// Writes as fast as it can, once it is the writer: the one before may still be dying.
fn write(prefix: &Path) {
    let mut writer = loop {
        match Writer::open(prefix) {
            Ok(writer) => break writer,
            Err(xsort_shm::Error::Busy { .. }) if !is_dismissed() => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    };
    while !is_dismissed() {
        for _ in 0..64 {
            stamp::write(&mut writer).unwrap();
        }
    }
}

/// Ends a child in peace, and says whether it was content.
pub(crate) fn dismiss(mut child: Child) -> bool {
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.flush();
    }
    child.wait().unwrap().success()
}
