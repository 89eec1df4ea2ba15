//! Sets up a ring, checks that it works, and explains why it doesn't. io_uring is preferred, never
//! required: whether it is allowed depends on the kernel's age, its settings, and the container
//! around the process.
//!
//! The transfers themselves are in `uring.rs`.
#![allow(unsafe_code)]

use io_uring::{IoUring, Probe, opcode};
use rustix::io::Errno;
use std::fs;
use std::io;

/// A system setting: 0 allows io_uring, 1 allows it only to privileged users and one group, 2
/// forbids it.
const DISABLED: &str = "/proc/sys/kernel/io_uring_disabled";

/// The operations that the engine needs; Linux 5.6 has them all.
const OPERATIONS: [u8; 3] = [opcode::Read::CODE, opcode::Write::CODE, opcode::Timeout::CODE];

/// Why io_uring is unavailable.
#[derive(Debug)]
pub(crate) struct Refusal {
    reason: String,
    cause: String,
    way_out: &'static str,
}

impl Refusal {
    pub(crate) fn new(errno: io::Error) -> Refusal {
        let setting = fs::read_to_string(DISABLED).unwrap_or_default();
        let (cause, way_out) = explain(Errno::from_io_error(&errno), setting.trim());
        Refusal { reason: errno.to_string(), cause, way_out }
    }

    /// Returns the error for the case that io_uring was demanded.
    pub(crate) fn required(self) -> io::Error {
        io::Error::other(format!(
            "{}: {}; {}, or let it fall back with --io=auto",
            self.reason, self.cause, self.way_out
        ))
    }

    /// Returns the notice for the case that io_uring was only preferred.
    pub(crate) fn preferred(self) -> Option<String> {
        let Refusal { reason, cause, .. } = self;
        Some(format!("io_uring is not available ({reason}: {cause}): using threads"))
    }
}

/// Returns the likely cause and the remedy. A pure function, so that tests need none of these
/// kernels.
fn explain(errno: Option<Errno>, setting: &str) -> (String, &'static str) {
    let (cause, way_out) = match (errno, setting) {
        (Some(Errno::PERM), "2") => {
            ("kernel.io_uring_disabled=2 forbids it to everyone", "set that to 0 (sysctl)")
        }
        (Some(Errno::PERM), "1") => (
            "kernel.io_uring_disabled=1 forbids it to users outside of kernel.io_uring_group",
            "join that group, or set it to 0",
        ),
        (Some(Errno::PERM), _) => (
            "a seccomp filter forbids it, as containers set one",
            "allow io_uring_setup and io_uring_enter in the container's profile",
        ),
        (Some(Errno::ACCESS), _) => {
            ("a security module (SELinux, AppArmor) forbids it", "allow it in the policy")
        }
        (Some(Errno::NOSYS), _) => (
            "this kernel has no io_uring, or a seccomp filter hides it",
            "use Linux 5.6 or newer, outside of such a sandbox",
        ),
        (Some(Errno::INVAL | Errno::OPNOTSUPP), _) => {
            ("this kernel's io_uring is too old", "use Linux 5.6 or newer")
        }
        (Some(Errno::NOMEM), _) => {
            ("too little memory may be locked for its queues", "raise the limit (ulimit -l)")
        }
        (Some(Errno::MFILE | Errno::NFILE), _) => {
            ("no more files may be opened", "raise the limit (ulimit -n)")
        }
        (Some(Errno::AGAIN), _) => {
            ("no more threads may be started", "raise the limit (ulimit -u)")
        }
        _ => ("the cause is unknown", "use --io=sync"),
    };
    (cause.to_owned(), way_out)
}

/// Sets up a ring of `entries` entries for the calling thread only and runs one operation through
/// it: a filter may allow the set-up and forbid the rest.
pub(crate) fn set_up(entries: u32) -> io::Result<IoUring> {
    let mut ring = build(entries)?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    if !OPERATIONS.iter().all(|&operation| probe.is_supported(operation)) {
        return Err(Errno::OPNOTSUPP.into());
    }
    // SAFETY: a nop refers to no memory.
    unsafe { ring.submission().push(&opcode::Nop::new().build()) }.expect("a new queue has room");
    while let Err(error) = ring.submit_and_wait(1) {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let answer = ring.completion().next().map(|completion| completion.result());
    if answer == Some(0) { Ok(ring) } else { Err(Errno::OPNOTSUPP.into()) }
}

/// Builds a ring with the best flags that this kernel knows.
fn build(entries: u32) -> io::Result<IoUring> {
    // Since 6.1: the kernel processes completions only when the ring's thread asks for them, in
    // that thread's time slice.
    let deferred =
        IoUring::builder().setup_single_issuer().setup_defer_taskrun().dontfork().build(entries);
    let is_unknown = |result: &io::Result<IoUring>| {
        result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput)
    };
    if !is_unknown(&deferred) {
        return deferred;
    }
    // Since 5.19: completions at least don't interrupt the ring's thread.
    let cooperative = IoUring::builder().setup_coop_taskrun().dontfork().build(entries);
    if !is_unknown(&cooperative) {
        return cooperative;
    }
    IoUring::builder().dontfork().build(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_cause_and_way_out() {
        let text = |errno, setting| explain(Some(errno), setting).0;
        assert!(text(Errno::PERM, "2").contains("io_uring_disabled=2"));
        assert!(text(Errno::PERM, "0").contains("seccomp"));
        assert!(text(Errno::PERM, "").contains("seccomp"));
        assert!(text(Errno::NOSYS, "").contains("kernel"));
        let refusal = Refusal::new(Errno::NOMEM.into());
        assert!(refusal.preferred().unwrap().ends_with("using threads"));
        let error = Refusal::new(Errno::NOMEM.into()).required().to_string();
        assert!(error.contains("ulimit -l") && error.contains("--io=auto"), "{error}");
    }
}
