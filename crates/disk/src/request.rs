//! One transfer between a lease and a file, and its completion.
//!
//! The lease travels with the request and comes back with the completion, so that memory in flight
//! can't be touched: the type system has no name for it in between.

use crate::{Error, FileId, Lease};
use crossbeam_channel::Sender;

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the file into the lease.
    Read,
    /// From the lease into the file.
    Write,
}

/// A transfer of the first `bytes` bytes of `lease` from or to `offset` in `file`.
///
/// `offset` and `bytes` are multiples of [`ALIGNMENT`](crate::ALIGNMENT) and `bytes` is at most the
/// lease's length. The disk deals with short transfers, EINTR and EAGAIN; a completion is final.
#[derive(Debug)]
pub struct Request {
    /// Which way.
    pub direction: Direction,
    /// The file, from the same disk.
    pub file: FileId,
    /// Place in the file, in bytes.
    pub offset: u64,
    /// Length of the transfer, in bytes.
    pub bytes: usize,
    /// A read succeeds once this many bytes have arrived (the end of the file may come before
    /// `bytes`); the file's end before that is an error. For writes equal to `bytes`.
    pub bytes_needed: usize,
    /// The memory.
    pub lease: Lease,
    /// The caller's own number, handed back.
    pub tag: u64,
    /// Where the completion goes. A receiver that is gone is not an error: the lease is dropped,
    /// which returns it.
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
    /// The memory, handed back.
    pub lease: Lease,
    /// The caller's number.
    pub tag: u64,
    /// Whether all needed bytes went through.
    pub result: Result<(), Error>,
}
