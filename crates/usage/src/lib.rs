//! How much space trees of files take: a parallel walk at the speed of the kernel's stat calls,
//! with the exact numbers of GNU du.
//!
//! ```text
//!  arguments --> Open --> Read --> Look --> sums of a directory --> its parent's --> ... --> Visitor
//!                 ^      (a batch   |  \
//!                 |     of entries) |   `--> files of several links: counted once
//!                 `--- directories -'
//! ```
//!
//! Each arrow within the walk is a task. A thread pushes what it finds on a deque of its own and
//! takes the newest first, so that the walk goes depth first and few directories are open; a thread
//! that has nothing steals the oldest of another's, which is the most work.
//!
//! | file | idea |
//! |---|---|
//! | `options` | what is counted, and what is shown |
//! | `usage` | the figures of a file or a tree |
//! | `visitor` | who is told what was found |
//! | `walk` | the walk: what each task does |
//! | `worker_pool` | the threads: tasks pushed, stolen, waited for; more threads while these wait for a drive |
//! | `directory` | a directory under way: its place in the tree, what is known of its sums |
//! | `handle` | open directories, of which there are only so many |
//! | `batch` | entries of a directory, as the kernel lists them |
//! | `status` | one stat call |
//! | `seen` | which inodes were counted, in a few bits each |
//! | `links` | which of a file's names is the one that counts |
//! | `mounts` | where something is mounted |
//! | `medium` | what kind of device holds a tree, and how many threads that bears |
//!
//! What it is not: it formats nothing and prints nothing.
//!
//! The number of system calls is at its floor: one `statx` for each file, and `openat`, `statx`,
//! two `getdents64` (the second says that there is no more) and `close` for each directory. None of
//! them sees a path, but for those of arguments.
#![forbid(unsafe_code)]

mod batch;
mod directory;
mod handle;
mod links;
mod medium;
mod mounts;
mod options;
mod seen;
mod status;
mod usage;
mod visitor;
mod walk;
mod worker_pool;

pub use options::{Detail, Follow, Links, Options, Time};
pub use status::{Identity, Kind};
pub use usage::{Timestamp, Usage};
pub use visitor::{Failure, Found, Operation, Visitor};
pub use walk::walk;
