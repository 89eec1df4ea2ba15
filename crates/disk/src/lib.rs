//! Moves bytes to and from drives: memory leased by value, and direct I/O that owns the lease while
//! it is in flight.
//!
//! ```text
//!  Lease::map ── BlockPool ── take ──> Lease ──┐
//!                    ^                         │ Request { file, offset, lease, reply, .. }
//!                    │ drop                    v
//!                  Lease <── Completion ── Disk::submit: OsDisk (io_uring, or threads) or SimDisk
//! ```
//!
//! | files | idea |
//! |---|---|
//! | `region`, `free_list`, `lease`, `block_pool` | memory: ranges of a mapping, block pools |
//! | `store`, `request`, `alignment`, `error` | the interface of a disk |
//! | `os`, `options` | the operating system's disk, which may start with its first file |
//! | `place` | what is at a path, and which paths are URLs |
//! | `ranges` | a disk on which names stand for ranges of files |
//! | `file`, `file_table`, `snapshot`, `drive` | open files (O_DIRECT) and the table of them |
//! | `output`, `hidden_name`, `nameless` | how an output appears, whole or not at all |
//! | `output_place`, `attributes` | where it appears, and what it takes over from the old file |
//! | `new_file` | an output without a disk, which the caller writes |
//! | `stream` | standard output as an output |
//! | `persistent` | files that a later process continues |
//! | `uring`, `ring`, `threads` | the two engines |
//! | `no_uring`, `system` | what differs between systems |
//! | `transfer`, `progress` | a request under way: one state machine for all engines and `sim` |
//! | `cache` | reads of what the page cache already holds |
//! | `allocator` | less address space for the allocator, if that is limited; failed allocations |
//! | `gate`, `rate` | what holds transfers back: hot drives, a limit on bytes a second |
//! | `sim` | a simulated disk on which everything can fail |
//! | `notices`, `display_path`, `url` | messages, paths and URLs in them |
//! | `inherited` | inherited streams |
//! | `sigpipe` | threads on which a closed connection is an error and doesn't end the process |
//!
//! The crate knows nothing of keys or order, and imports no other crate of the workspace. It
//! neither measures drives nor plans.

mod alignment;
mod allocator;
mod attributes;
mod block_pool;
mod cache;
mod display_path;
mod drive;
mod error;
mod file;
mod file_table;
mod free_list;
mod gate;
mod hidden_name;
mod inherited;
mod lease;
mod nameless;
mod new_file;
mod notices;
mod options;
mod os;
mod output;
mod output_place;
mod persistent;
mod place;
mod progress;
mod ranges;
mod rate;
mod region;
mod request;
#[cfg(all(target_os = "linux", not(portable)))]
mod ring;
mod sigpipe;
mod sim;
mod snapshot;
mod store;
mod stream;
mod system;
mod threads;
mod transfer;
#[cfg(all(target_os = "linux", not(portable)))]
mod uring;
#[cfg(not(all(target_os = "linux", not(portable))))]
#[path = "no_uring.rs"]
mod uring;
mod url;

pub use alignment::{ALIGNMENT, align_down, align_up};
pub use allocator::{
    is_refusal_an_error, machine_memory_bytes, refusals_as_errors, share_one_arena_if_limited,
};
pub use block_pool::BlockPool;
pub use cache::{is_cached, read_ahead, read_in_order};
pub use display_path::DisplayPath;
pub use drive::{device_name, parent_directory};
pub use error::{Error, Operation};
pub use gate::Gate;
pub use hidden_name::{abandon_outputs, hidden_name, try_to_abandon_outputs};
pub use inherited::{Inherited, inherited};
pub use lease::Lease;
pub use new_file::{Creation, NewFile, Obstacle, open_in_place};
pub use notices::Notices;
pub use options::{DiskOptions, IoChoice, UnknownIoChoice};
pub use os::OsDisk;
pub use place::{Found, ListedFile};
pub use ranges::{FileRange, RangeDisk};
pub use rate::RateLimit;
pub use region::Prefault;
pub use request::{Completion, Direction, FileId, Request};
pub use sigpipe::{block_sigpipe, is_signal_ignored, without_sigpipe};
pub use sim::{
    Corruption, Damage, Fault, FaultSite, FileRole, SimDisk, SimDrive, SimOptions, Throttle,
};
pub use store::{Disk, Drive, FileIdentity, InputFiles, OutputFiles, ScratchFiles, StoredPart};
pub use stream::{STANDARD_OUTPUT, is_standard_output};
pub use url::{is_url, public_bytes, public_path, public_text};
