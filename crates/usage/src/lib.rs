//! A parallel walk of file trees that adds up how much space they take, with the exact numbers of
//! GNU du.
//!
//! ```text
//!              .-- subdirectories --.
//!              v                    |
//!  name ---> Open ---> List ---> Stat ---> sums of a directory ---> of its parent ---> Visitor
//!                                   |
//!                                   `----> files with hard links: counted once
//! ```
//!
//! Open, List and Stat are tasks. A thread pushes the tasks it creates on its own deque and takes
//! the newest first, so the walk goes depth first and few directories are open at a time. An idle
//! thread steals the oldest task of another thread, which stands for the most work.
//!
//! | file | idea |
//! |---|---|
//! | `options` | what is counted, and what is reported |
//! | `usage` | the figures of a file or a tree |
//! | `visitor` | the trait through which the caller gets the results |
//! | `walk` | the walk: what each task does |
//! | `worker_pool` | the threads: tasks pushed and stolen; more while these wait for a drive |
//! | `directory` | a directory during the walk: its ancestors, and its sums so far |
//! | `directory_entries` | entries of a directory, as the kernel lists them |
//! | `gnu_order` | the order in which GNU du visits entries |
//! | `open_directories` | open directories, whose number is limited for each process |
//! | `stat`, `stat_request` | one stat call, and what it tells |
//! | `system` | the calls that differ between systems |
//! | `inode_set` | the counted inodes, at a few bits each |
//! | `hard_links` | which of a file's names counts |
//! | `mounts` | mount points |
//! | `medium` | the kind of device that holds a tree, and how many threads it can serve |
//!
//! The crate neither formats nor prints.
//!
//! On Linux the number of system calls is minimal: one `statx` per file; `openat`, `statx`, two
//! `getdents64` (the second says that there is no more) and `close` per directory. Only arguments
//! are given to the kernel as paths; everything below is a single name in an open directory.
#![forbid(unsafe_code)]

mod directory;
mod directory_entries;
mod gnu_order;
mod hard_links;
mod inode_set;
mod medium;
mod mounts;
mod open_directories;
mod options;
mod stat;
mod stat_request;
mod system;
mod usage;
mod visitor;
mod walk;
mod worker_pool;

pub use options::{Detail, Follow, Links, Options, Time};
pub use stat::{Identity, Kind};
pub use usage::{Timestamp, Usage};
pub use visitor::{FoundFile, Operation, Visitor, WalkError};
pub use walk::walk;
