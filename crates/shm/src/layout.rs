//! The bytes of the files as types. They consist of atomics only, so any bit pattern is a valid
//! value and other processes may write at any time.
//!
//! ```text
//!  P.state     | magic layout lineage flags hasher ... | 128: current ticket |       4,096 bytes
//!  P.readers   | magic layout lineage capacity   | 128: groups waiters reaps | 256: taken
//!              | 768: slot | slot | ...                                         128 bytes each
//!  P.buffer-n  | lineage version length checksum ...   | 64: the bytes
//! ```
//!
//! Words that several processes write have two cache lines of their own, because processors fetch
//! lines in pairs. docs/formats.md has the same drawing.
#![allow(unsafe_code, reason = "a promise about the types of this file")]

use crate::protocol::{BUFFERS_MAX, GROUP};
use std::mem::{offset_of, size_of};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// "xsortshm" in memory order: the first word of `P.state`, written last.
pub(crate) const STATE_MAGIC: u64 = u64::from_ne_bytes(*b"xsortshm");

/// The first word of `P.readers`.
pub(crate) const SLOT_TABLE_MAGIC: u64 = u64::from_ne_bytes(*b"xshmroll");

/// Version of this layout; incremented with every change.
pub(crate) const LAYOUT: u64 = 2;

/// Length of `P.state` in bytes.
pub(crate) const STATE_BYTES: usize = 4096;

/// Number of bytes in a buffer that precede the version's bytes, and their alignment.
pub(crate) const HEADER_BYTES: usize = size_of::<Header>();

/// Bit of [`State::flags`]: each version has a new file, and a buffer's file is never written
/// again.
pub(crate) const FRESH_FILES: u64 = 1;

/// `P.state`: written by the writer, only read by others.
#[repr(C, align(128))]
pub(crate) struct State {
    pub magic: AtomicU64,
    pub layout: AtomicU64,
    /// A random number, equal in all files that belong together.
    pub lineage: AtomicU64,
    pub flags: AtomicU64,
    /// The writer's checksum of a fixed text. It shows readers whether they use the same hasher.
    pub hasher: AtomicU64,
    /// Numbers of versions are greater than this.
    pub floor: AtomicU64,
    pub live: Live,
}

/// The words that change with every version.
#[repr(C, align(128))]
pub(crate) struct Live {
    /// The current version's word.
    pub current: AtomicU64,
    /// The low half of the current version's number. Waiting readers sleep on it.
    pub ticket: AtomicU32,
}

/// `P.readers` without its slots.
#[repr(C, align(128))]
pub(crate) struct SlotTable {
    pub magic: AtomicU64,
    pub layout: AtomicU64,
    pub lineage: AtomicU64,
    /// Number of slots.
    pub capacity: AtomicU64,
    pub shared: Shared,
    /// Bit i of word g: slot 64 g + i is taken, or its owner died. Set and cleared by the holder of
    /// the slot's lock.
    pub taken: [AtomicU64; GROUPS],
}

/// Number of words of [`SlotTable::taken`]: enough for the maximum number of slots.
pub(crate) const GROUPS: usize = 64;

/// Words that all readers write, and that the writer reads for every version.
#[repr(C, align(128))]
pub(crate) struct Shared {
    /// Bit g: some of the slots 64 g to 64 g + 63 may be taken. Readers set it; the writer clears
    /// it when it finds that none is.
    pub groups: AtomicU64,
    /// Not zero: a reader sleeps, or is about to.
    pub waiters: AtomicU64,
    /// Odd while the writer searches for slots of dead readers, when it briefly holds the locks of
    /// free slots. Grows by two each time.
    pub reaps: AtomicU64,
}

/// What one reader holds.
#[repr(C, align(128))]
pub(crate) struct Slot {
    /// A version word, `NONE` or `ANNOUNCE`.
    pub pinned: AtomicU64,
}

/// The beginning of a buffer.
#[repr(C, align(64))]
pub(crate) struct Header {
    pub lineage: AtomicU64,
    /// The word of the version in this buffer; `NONE` while it is being filled.
    pub version: AtomicU64,
    pub length: AtomicU64,
    pub checksum: AtomicU64,
}

const _: () = assert!(offset_of!(State, live) == 128 && size_of::<State>() <= STATE_BYTES);
const _: () = assert!(offset_of!(SlotTable, shared) == 128 && size_of::<SlotTable>() == 768);
const _: () = assert!(offset_of!(SlotTable, taken) == 256 && BUFFERS_MAX <= GROUPS * GROUP);
const _: () = assert!(size_of::<Slot>() == 128 && HEADER_BYTES == 64);

/// Returns the length of `P.readers` with `capacity` slots, in bytes.
pub(crate) fn slot_table_bytes(capacity: usize) -> usize {
    size_of::<SlotTable>() + capacity * size_of::<Slot>()
}

/// Returns the offset of slot `index`, in bytes.
pub(crate) fn slot_offset(index: usize) -> usize {
    slot_table_bytes(index)
}

/// Types that may be accessed in shared memory.
///
/// # Safety
/// Any bit pattern is a value, all fields are atomics, and the type has no destructor. So writes of
/// other processes can't break its guarantees.
pub(crate) unsafe trait Plain {}

// SAFETY: only atomics (and padding).
unsafe impl Plain for State {}
// SAFETY: only atomics (and padding).
unsafe impl Plain for SlotTable {}
// SAFETY: only atomics (and padding).
unsafe impl Plain for Slot {}
// SAFETY: only atomics (and padding).
unsafe impl Plain for Header {}
