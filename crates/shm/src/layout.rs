//! The files' bytes as types. They consist of atomics only, so any bit pattern is a valid value and
//! other processes may write at any time.
//!
//! ```text
//!  P.state     | magic layout lineage flags hasher ... | 128: current ticket |       4,096 bytes
//!  P.readers   | magic layout lineage capacity   | 128: groups waiters reaps | 256: taken
//!              | 768: slot | slot | ...                                         128 bytes each
//!  P.buffer-n  | lineage version length checksum ...   | 64: the bytes
//! ```
//!
//! Words that several processes write have two cache lines of their own, because processors fetch
//! lines in pairs. docs/formats.md draws the same.
#![allow(unsafe_code, reason = "a promise about the types of this file")]

use crate::protocol::{BUFFERS_MAX, GROUP};
use std::mem::{offset_of, size_of};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// "xsortshm" in memory order: the first word of `P.state`, written last.
pub(crate) const STATE_MAGIC: u64 = u64::from_ne_bytes(*b"xsortshm");

/// The first word of `P.readers`.
pub(crate) const SLOT_TABLE_MAGIC: u64 = u64::from_ne_bytes(*b"xshmroll");

/// Changes with every change of this layout.
pub(crate) const LAYOUT: u64 = 2;

/// Length of `P.state`.
pub(crate) const STATE_BYTES: usize = 4096;

/// Bytes before the first of a version in its buffer, and its alignment.
pub(crate) const HEADER_BYTES: usize = size_of::<Header>();

/// In [`State::flags`]: a buffer's file is never written again, each version has a new one.
pub(crate) const FRESH_FILES: u64 = 1;

/// `P.state`: the writer's, and only read by others.
#[repr(C, align(128))]
pub(crate) struct State {
    pub magic: AtomicU64,
    pub layout: AtomicU64,
    /// A random number, the same in all files that belong together.
    pub lineage: AtomicU64,
    pub flags: AtomicU64,
    /// The writer's checksum of a known text, by which readers notice that they have another
    /// hasher.
    pub hasher: AtomicU64,
    /// Numbers of versions are greater than this.
    pub floor: AtomicU64,
    pub live: Live,
}

/// What changes with every version.
#[repr(C, align(128))]
pub(crate) struct Live {
    /// The current version's word.
    pub current: AtomicU64,
    /// The low half of the current version's sequence number, which waiting readers sleep on.
    pub ticket: AtomicU32,
}

/// `P.readers` before its slots.
#[repr(C, align(128))]
pub(crate) struct SlotTable {
    pub magic: AtomicU64,
    pub layout: AtomicU64,
    pub lineage: AtomicU64,
    /// How many slots there are.
    pub capacity: AtomicU64,
    pub shared: Shared,
    /// Bit i of word g: slot 64 g + i is taken, or its owner died. Set and cleared by who has the
    /// slot's lock.
    pub taken: [AtomicU64; GROUPS],
}

/// How many words of [`SlotTable::taken`] there are: enough for the most slots there can be.
pub(crate) const GROUPS: usize = 64;

/// What all readers write, and the writer reads for every version.
#[repr(C, align(128))]
pub(crate) struct Shared {
    /// Bit g: some of the slots 64 g to 64 g + 63 may be taken. Readers set it, the writer clears
    /// it when it finds that none is.
    pub groups: AtomicU64,
    /// Not zero: somebody sleeps, or is about to.
    pub waiters: AtomicU64,
    /// Odd while the writer searches for slots of dead readers, and so holds the locks of free ones
    /// for a moment; grows by two each time.
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
    /// The word of the version that is in here, `NONE` while it is filled.
    pub version: AtomicU64,
    pub length: AtomicU64,
    pub checksum: AtomicU64,
}

const _: () = assert!(offset_of!(State, live) == 128 && size_of::<State>() <= STATE_BYTES);
const _: () = assert!(offset_of!(SlotTable, shared) == 128 && size_of::<SlotTable>() == 768);
const _: () = assert!(offset_of!(SlotTable, taken) == 256 && BUFFERS_MAX <= GROUPS * GROUP);
const _: () = assert!(size_of::<Slot>() == 128 && HEADER_BYTES == 64);

/// Length of `P.readers` with `capacity` slots.
pub(crate) fn slot_table_bytes(capacity: usize) -> usize {
    size_of::<SlotTable>() + capacity * size_of::<Slot>()
}

/// Where slot `index` begins.
pub(crate) fn slot_offset(index: usize) -> usize {
    slot_table_bytes(index)
}

/// Types that may be seen in shared memory.
///
/// # Safety
/// Any bit pattern is a value, all fields are atomics, and the type has no destructor: that other
/// processes write to it makes no promise false.
pub(crate) unsafe trait Plain {}

// SAFETY: only atomics (and padding).
unsafe impl Plain for State {}
// SAFETY: only atomics (and padding).
unsafe impl Plain for SlotTable {}
// SAFETY: only atomics (and padding).
unsafe impl Plain for Slot {}
// SAFETY: only atomics (and padding).
unsafe impl Plain for Header {}
