//! Wait-free sharing of versions between one writer process and many reader processes over mapped
//! files.
//!
//! The writer publishes versions, readers read the newest one where it lies. Neither ever waits for
//! the other:
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
//! What it is: `protocol` (which word is exchanged when) over `layout` (the files' bytes) through
//! `sys` (the door to the kernel); `files` (names, and who may be the writer) and `slot_table` (the
//! readers' slots); on these the two sides, `opening` with `writer`, and `attachment` and `state`
//! with `reader` and `local`; `archived` and `synchronizer` put types on top. PROTOCOL.md has
//! states, orderings and the proof, README.md what is promised and what is not, MOVING.md the way
//! from mmap-sync.
//!
//! What it is not: a queue (versions that nobody read are gone), a map of keys, or a way to share
//! memory that both sides change.
//!
//! # What is trusted
//! Readers that keep to the protocol are safe from each other; one that may write the slots can
//! overwrite those of others, whose versions the writer then takes for free. A reader believes the
//! writer that it leaves a published version alone. [`ReaderOptions::copy`] does without both. Both
//! believe that nobody shortens the files while they are mapped, which ends a process with SIGBUS,
//! and which the system can't forbid for files that have names: who may do so is what
//! [`WriterOptions::mode`] and [`WriterOptions::readers_mode`] say, and who made them, whom
//! [`ReaderOptions::owner`] names. Everything else that the files can hold gives an error.
//!
//! # Fork
//! In the child of a fork a [`Reader`] takes slots of its own by itself, and a [`Writer`] refuses
//! to write. A [`Version`] that was held at the fork is protected by the parent's slot: the child
//! must not use it, or anything borrowed from it. (Calling `fork` is unsafe in Rust; this is one of
//! the caller's duties.) In the child of a fork inside [`Writer::write_with`]'s closure the place
//! to write to is not there, and the write is refused. What the child inherited counts as the
//! parent's until the child drops it, executes another program, or ends.

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!(
    "xsort-shm needs Linux (open file description locks, futexes, MADV_WIPEONFORK) and 64-bit addresses"
);

#[cfg(feature = "rkyv")]
mod archived;
mod attachment;
mod checksum;
mod error;
mod fast_path;
mod files;
mod layout;
mod local;
mod opening;
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
pub use error::{Error, Result};
pub use files::{Owner, Vacancy, has_writer, remove};
pub use local::{LocalReader, View};
pub use reader::{Reader, ReaderOptions, Version};
#[cfg(feature = "rkyv")]
pub use synchronizer::{ReadResult, Synchronizer};
pub use writer::{Writer, WriterOptions};

/// Their example in MOVING.md, compiled and run.
#[cfg(all(doctest, feature = "rkyv"))]
#[doc = include_str!("../MOVING.md")]
struct Moving;

/// The README's example, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
