//! Wait-free sharing of versions between one writer process and many reader processes over mapped
//! files.
//!
//! The writer publishes versions; readers read the newest one in place. Neither ever waits for the
//! other:
//!
//! ```
//! # fn main() -> xsort_shm::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("weather");
//! use xsort_shm::{Reader, Writer};
//!
//! let mut writer = Writer::open(&path)?; // in one process
//! writer.write(b"sunny")?;
//!
//! let reader = Reader::open(&path)?; // in any number of others
//! let version = reader.read()?;
//! assert_eq!(&*version, b"sunny");
//!
//! writer.write(b"rain")?; // does not wait for `version`
//! assert_eq!(&*version, b"sunny"); // which stays as it is
//! assert_eq!(&*reader.read()?, b"rain");
//! # Ok(()) }
//! ```
//!
//! | files | idea |
//! |---|---|
//! | `protocol`, `layout`, `sys` | the protocol's steps, the files' bytes, system calls |
//! | `files`, `owner`, `claim` | names and files, whose files are trusted, who may be the writer |
//! | `slot_table` | the readers' slots |
//! | `opening`, `writer`, `buffers` | the writer's side |
//! | `attachment`, `pin`, `reader_state` | a reader's mappings, holds and state of a thread |
//! | `reader`, `local`, `fast_path` | the two kinds of readers |
//! | `held` | a version that keeps its reader |
//! | `archived`, `synchronizer`, `checksum` | typed values, mmap-sync's operations, hashers |
//! | `options`, `error` | options and errors |
//!
//! PROTOCOL.md has states, orderings and the proof. README.md says what is guaranteed and what is
//! not. MOVING.md is for users of mmap-sync.
//!
//! This is not a queue (versions that no reader read are gone), not a map of keys, and not a way to
//! share memory that both sides change.
//!
//! # What is trusted
//! Readers that follow the protocol are safe from each other. A malicious reader that may write the
//! slots can overwrite the slots of others, and the writer then overwrites their versions. A reader
//! trusts the writer not to change a published version. [`ReaderOptions::copy`] removes both
//! dependencies. Both sides trust that no process shortens the files while they are mapped: that
//! ends a process with SIGBUS, and the system can't forbid it for files with names.
//! [`WriterOptions::mode`] and [`WriterOptions::readers_mode`] define who may do that; so may the
//! files' owner, whom [`ReaderOptions::owner`] names. Any other content of the files gives an
//! error.
//!
//! # Fork
//! In the child of a fork a [`Reader`] automatically takes its own slots, and a [`Writer`] refuses
//! to write. A [`Version`] held at the fork is protected by the parent's slot: the child must not
//! use it, or anything borrowed from it. (Calling `fork` is unsafe in Rust; this is one of the
//! caller's duties.) If [`Writer::write_with`]'s closure forks, the child does not have the memory
//! to be written, and its write is refused. Inherited holds count as the parent's until the child
//! drops them, executes another program, or ends.

#[cfg(not(all(any(target_os = "linux", target_vendor = "apple"), target_pointer_width = "64")))]
compile_error!("xsort-shm needs Linux or macOS (open file description locks) and 64-bit addresses");

#[cfg(feature = "rkyv")]
mod archived;
mod attachment;
mod buffers;
mod checksum;
mod claim;
mod error;
mod fast_path;
mod files;
mod held;
mod layout;
mod local;
mod opening;
mod options;
mod owner;
mod pin;
mod protocol;
mod reader;
mod reader_state;
mod slot_table;
#[cfg(feature = "rkyv")]
mod synchronizer;
mod sys;
mod writer;

#[cfg(feature = "rkyv")]
pub use archived::{Archivable, Archived, Checkable};
pub use checksum::{NoChecksum, Xxh3};
pub use claim::{WriterLock, has_writer, remove};
pub use error::{Error, Result};
pub use held::HeldVersion;
pub use local::{LocalReader, View};
pub use options::{ReaderOptions, WriterOptions};
pub use owner::Owner;
pub use reader::{Reader, Version};
#[cfg(feature = "rkyv")]
pub use synchronizer::{ReadResult, Synchronizer};
pub use writer::Writer;

/// The example in MOVING.md, compiled and run.
#[cfg(all(doctest, feature = "rkyv"))]
#[doc = include_str!("../MOVING.md")]
struct MovingExample;

/// The README's example, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
