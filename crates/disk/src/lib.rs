//! Bytes to and from devices: memory that is leased by value, and direct I/O that takes the lease along.
//!
//! Knows nothing of keys or order, and imports none of the other rooms.

mod drive;
mod error;
mod file;
mod lease;
mod notice;
mod options;
mod os;
mod output;
mod progress;
mod region;
mod request;
mod ring;
mod shelf;
mod sim;
mod store;
mod threads;
mod transfer;
mod uring;

pub use error::{Error, Operation};
pub use lease::Lease;
pub use options::{DiskOptions, IoChoice, UnknownIoChoice};
pub use os::OsDisk;
pub use request::{Completion, Direction, Request};
pub use shelf::Shelf;
pub use sim::{Corruption, Damage, Fault, FileRole, Place, SimDisk, SimOptions};
pub use store::{Disk, Drive, FileId};

/// Alignment in bytes of offsets, lengths and memory in direct I/O. Every drive's logical block divides it.
pub const ALIGNMENT: usize = 4096;

/// `bytes` rounded up to a multiple of [`ALIGNMENT`].
pub const fn align_up(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT as u64)
}

/// `bytes` rounded down to a multiple of [`ALIGNMENT`].
pub const fn align_down(bytes: u64) -> u64 {
    bytes - bytes % ALIGNMENT as u64
}
