//! One transfer between a lease and a file, and its completion.
//!
//! The request owns its lease, and the completion returns it. In between no other code can access
//! the memory that the kernel may be writing.

use crate::{Error, Lease};
use crossbeam_channel::Sender;

/// The number of a file that a disk holds open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the file into the lease.
    Read,
    /// From the lease into the file.
    Write,
}

/// A transfer of the first `bytes` bytes of `lease` from or to `offset` in `file`.
///
/// `offset` and `bytes` are multiples of [`ALIGNMENT`](crate::ALIGNMENT), and `bytes` is at most
/// the lease's length. The disk handles short transfers, EINTR and EAGAIN; a completion is final.
#[derive(Debug)]
pub struct Request {
    /// Read or write.
    pub direction: Direction,
    /// The file, from the same disk.
    pub file: FileId,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Length of the transfer, in bytes.
    pub bytes: usize,
    /// Number of bytes after which a read succeeds, even if the file ends before `bytes`. If it
    /// ends before `bytes_needed`, that is an error. Equal to `bytes` for writes.
    pub bytes_needed: usize,
    /// The memory.
    pub lease: Lease,
    /// A number of the caller's choice, returned in the completion.
    pub tag: u64,
    /// Where the completion goes. A missing receiver is no error: the lease is dropped, which
    /// returns it.
    pub reply: Sender<Completion>,
}

/// The end of a transfer.
#[derive(Debug)]
pub struct Completion {
    /// The request's direction.
    pub direction: Direction,
    /// The request's file.
    pub file: FileId,
    /// The request's offset.
    pub offset: u64,
    /// The request's length in bytes.
    pub bytes: usize,
    /// The memory, returned.
    pub lease: Lease,
    /// The request's tag.
    pub tag: u64,
    /// Whether all needed bytes were transferred.
    pub result: Result<(), Error>,
}
