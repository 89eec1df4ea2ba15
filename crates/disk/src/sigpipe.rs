//! Threads that write to sockets. If the peer has closed the connection, the call fails, and the
//! process continues.
//!
//! A program used in pipes lets SIGPIPE kill it: that is how `xsort lines FILE | head` ends. The
//! kernel sends the same signal for a socket whose peer is gone, but a broken connection is no
//! reason to end: the request is repeated. The signal goes to the writing thread, so such a thread
//! blocks it, and the write fails with EPIPE. Writes of other threads to a closed pipe still end
//! the process.

// Signal masks, which rustix doesn't support.
#![allow(unsafe_code)]

use crate::system::take_pending;
use std::marker::PhantomData;
use std::mem::zeroed;
use std::ptr::from_ref;

/// Blocks SIGPIPE on this thread, until the thread ends.
pub fn block_sigpipe() {
    change_mask(libc::SIG_BLOCK);
}

/// Calls `work`, which may write to sockets, with SIGPIPE blocked on this thread.
pub fn without_sigpipe<T>(work: impl FnOnce() -> T) -> T {
    let _blocked = Blocked::begin();
    work()
}

/// Blocks SIGPIPE on this thread until it is dropped.
struct Blocked {
    was_blocked: bool,
    /// A mask belongs to its thread.
    _stays: PhantomData<*const ()>,
}

impl Blocked {
    fn begin() -> Blocked {
        Blocked { was_blocked: change_mask(libc::SIG_BLOCK), _stays: PhantomData }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        if !self.was_blocked {
            take_pending(&sigpipe());
            change_mask(libc::SIG_UNBLOCK);
        }
    }
}

/// Returns whether a signal is ignored now, as `nohup` makes its child ignore SIGHUP.
pub fn is_signal_ignored(signal: i32) -> bool {
    // SAFETY: all zeros are a valid value of this C structure, and the system only writes to it.
    unsafe {
        let mut now: libc::sigaction = zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Returns a signal set that contains only SIGPIPE.
fn sigpipe() -> libc::sigset_t {
    // SAFETY: all zeros are a valid value of this C structure, and both functions only write to it.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGPIPE);
        set
    }
}

/// Blocks or unblocks SIGPIPE on this thread. Returns whether it was blocked.
fn change_mask(how: libc::c_int) -> bool {
    let set = sigpipe();
    // SAFETY: the functions read the first set and write the second; with these arguments they
    // can't fail.
    unsafe {
        let mut before: libc::sigset_t = zeroed();
        libc::pthread_sigmask(how, from_ref(&set), &raw mut before);
        libc::sigismember(&raw const before, libc::SIGPIPE) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, IoSlice, Write};
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::{env, thread};

    /// Marks the second process of this test, which may be killed.
    const CHILD: &str = "XSORT_TEST_OF_SIGPIPE";

    /// Writes to a socket that has no reader, as the HTTP client does.
    fn write_to_closed() -> ErrorKind {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        ours.write_vectored(&[IoSlice::new(b"some"), IoSlice::new(b"bytes")]).unwrap_err().kind()
    }

    /// Lets SIGPIPE kill this process.
    fn let_it_kill() {
        // SAFETY: the default disposition runs no code.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    }

    #[test]
    fn a_closed_socket_is_an_error_and_a_closed_pipe_still_kills() {
        if env::var_os(CHILD).is_some() {
            let_it_kill();
            assert_eq!(without_sigpipe(write_to_closed), ErrorKind::BrokenPipe);
            // Inside another call it stays blocked.
            without_sigpipe(|| {
                without_sigpipe(write_to_closed);
                assert_eq!(write_to_closed(), ErrorKind::BrokenPipe);
            });
            let blocked = thread::spawn(|| {
                block_sigpipe();
                write_to_closed()
            });
            assert_eq!(blocked.join().unwrap(), ErrorKind::BrokenPipe);
            eprintln!("still there");
            write_to_closed();
            panic!("it must not come here");
        }
        let name = "sigpipe::tests::a_closed_socket_is_an_error_and_a_closed_pipe_still_kills";
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(said.contains("still there"), "{child:?}");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.status), Some(13));
    }
}
