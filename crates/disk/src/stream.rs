//! Standard output as a job's output: bytes are written in order and can't be read again.
//!
//! A job submits its writes by ascending offsets, without gaps. One thread carries them out, so
//! that only this thread waits for a reader of the pipe. Bytes after the end, which fill the last
//! page, are left out.

use crate::threads::ThreadPool;
use crate::transfer::Transfer;
use crate::{Error, Operation, inherited};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat, fsync};
use rustix::io::Errno;
use std::io;
use std::mem;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The path of standard output.
pub const STANDARD_OUTPUT: &str = "/dev/stdout";

/// Returns whether a path leads to standard output, whatever that is.
pub fn is_standard_output(path: &Path) -> bool {
    [STANDARD_OUTPUT, "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Standard output while a job writes to it.
#[derive(Debug)]
pub(crate) struct StreamOutput {
    written: Arc<Written>,
    /// One thread.
    pool: Option<ThreadPool>,
}

/// Progress of the output. Only the writing thread changes it while transfers are under way.
#[derive(Debug, Default)]
struct Written {
    bytes: AtomicU64,
    /// Total number of bytes of the output.
    end: AtomicU64,
}

impl StreamOutput {
    /// Starts the writing thread.
    pub(crate) fn start() -> Result<StreamOutput, Error> {
        let written = Arc::new(Written::default());
        let shared = Arc::clone(&written);
        let pool = ThreadPool::new(1, move |transfer: Transfer| {
            let result = shared.write(&transfer);
            transfer.finish(result);
        })?;
        Ok(StreamOutput { written, pool: Some(pool) })
    }

    /// Returns a new descriptor of standard output, and whether it is a file on a drive.
    ///
    /// # Errors
    /// If it was closed when the process was started.
    pub(crate) fn descriptor() -> Result<(OwnedFd, bool), Error> {
        let fail = |source: io::Error| Error::new(Operation::Create, STANDARD_OUTPUT, source);
        if !inherited().is_open[1] {
            return Err(fail(io::Error::new(io::ErrorKind::InvalidInput, "it is closed")));
        }
        let fd = io::stdout().as_fd().try_clone_to_owned().map_err(fail)?;
        let status = fstat(&fd).map_err(|errno| fail(errno.into()))?;
        let is_regular = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        Ok((fd, is_regular))
    }

    /// Sets the total number of bytes.
    pub(crate) fn set_end(&self, bytes: u64) {
        self.written.end.store(bytes, Relaxed);
    }

    pub(crate) fn submit(&self, transfer: Transfer) {
        self.pool.as_ref().expect("it is there until this is dropped").start(transfer);
    }

    /// Ends an output of `bytes` bytes, all of whose writes have completed.
    pub(crate) fn finish(&self, fd: impl AsFd, bytes: u64, sync: bool) -> Result<(), Error> {
        let fail = |operation, errno: Errno| Error::new(operation, STANDARD_OUTPUT, errno);
        if self.written.bytes.load(Relaxed) != bytes {
            return Err(fail(Operation::Write, Errno::IO));
        }
        match fsync(fd) {
            _ if !sync => Ok(()),
            // Pipes and many devices can't be synced.
            Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::ROFS) => Ok(()),
            Err(errno) => Err(fail(Operation::Sync, errno)),
        }
    }
}

impl Drop for StreamOutput {
    fn drop(&mut self) {
        if self.written.bytes.load(Relaxed) < self.written.end.load(Relaxed) {
            // The job has failed, and the thread may wait for a reader that never comes.
            mem::forget(self.pool.take());
        }
    }
}

impl Written {
    fn write(&self, transfer: &Transfer) -> Result<(), Error> {
        let request = &transfer.request;
        let (begin, end) = (self.bytes.load(Relaxed), self.end.load(Relaxed));
        let fail = |errno| Error::at(Operation::Write, STANDARD_OUTPUT, request.offset, errno);
        if request.offset != begin {
            // Happens only after a failed write.
            return Err(fail(Errno::CANCELED));
        }
        let bytes = (request.bytes as u64).min(end.saturating_sub(begin)) as usize;
        write_all(&transfer.file, &request.lease[..bytes]).map_err(fail)?;
        self.bytes.store(begin + bytes as u64, Relaxed);
        Ok(())
    }
}

fn write_all(to: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(&to, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            // The process at the other end may have made it non-blocking.
            Err(Errno::AGAIN) => match poll(&mut [PollFd::new(&to, PollFlags::OUT)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            },
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
