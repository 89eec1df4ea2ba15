//! Bytes to and from devices: memory that is leased by value, and direct I/O that takes the lease
//! along.
//!
//! ```text
//!  Lease::map ── BlockPool ── take ──> Lease ──┐
//!                  ^                       │ Request { direction, file, offset, bytes, lease, reply }
//!                  │ drop                  v
//!                Lease <── Completion ── Disk::submit: OsDisk (io_uring lanes, or threads) or SimDisk
//! ```
//!
//! Memory is `region`, `lease`, `block_pool`; the face of a disk is `store` and `request`. The
//! operating system's disk is `os`, with `file` (O_DIRECT), `output` (how a file appears), `drive`
//! (what holds it), and two engines, `uring` (with `ring`) and `threads`, that share one idea of a
//! transfer: `transfer` and the state machine in `progress`, which the simulated disk, `sim`, uses
//! as well. What the page cache holds of an input may come from there: `cache`. `lazy` puts the
//! engine's start off until a file is opened; `gate` holds transfers back while drives are too hot,
//! `rate` to a number of bytes a second. What the process was given to write and read is
//! `inherited`; `allocator` saves address space where that is limited. Files that a later process
//! goes on with are `kept`. `shown` is how paths look in messages.
//!
//! Knows nothing of keys or order, and imports none of the other rooms. Measures no drive and plans
//! nothing.

mod allocator;
mod block_pool;
mod cache;
mod drive;
mod error;
mod file;
mod gate;
mod inherited;
mod kept;
mod lazy;
mod lease;
mod notice;
mod options;
mod os;
mod output;
mod progress;
mod rate;
mod region;
mod request;
mod ring;
mod shown;
mod sim;
mod store;
mod threads;
mod transfer;
mod uring;

pub use allocator::share_one_arena_if_limited;
pub use block_pool::BlockPool;
pub use drive::device_name;
pub use error::{Error, Operation};
pub use gate::Gate;
pub use inherited::{Inherited, inherited};
pub use lazy::LazyDisk;
pub use lease::Lease;
pub use options::{DiskOptions, IoChoice, UnknownIoChoice};
pub use os::OsDisk;
pub use output::{abandon_outputs, hidden_name};
pub use rate::RateLimit;
pub use request::{Completion, Direction, Request};
pub use shown::Shown;
pub use sim::{
    Corruption, Damage, Fault, FileRole, Place, SimDisk, SimDrive, SimOptions, Throttle,
};
pub use store::{Disk, Drive, FileId, Identity};

/// Alignment in bytes of offsets, lengths and memory in direct I/O. Every drive's logical block
/// divides it.
pub const ALIGNMENT: usize = 4096;

/// `bytes` rounded up to a multiple of [`ALIGNMENT`].
pub const fn align_up(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT as u64)
}

/// `bytes` rounded down to a multiple of [`ALIGNMENT`].
pub const fn align_down(bytes: u64) -> u64 {
    bytes - bytes % ALIGNMENT as u64
}
