//! The files' bytes as types: nothing but atomics, so that any bit pattern is a value and other
//! processes may write at any time.
//!
//! ```text
//!  P.state     | magic layout lineage flags hasher ... | 128: current ticket |                 4,096 bytes
//!  P.readers   | magic layout lineage capacity         | 128: groups waiters reaps | 256: taken
//!              | 768: slot | slot | ...                                                128 bytes each
//!  P.buffer-n  | lineage version length checksum ...   | 64: the bytes
//! ```
//!
//! What several processes write has cache lines of its own, two each, because processors fetch them
//! in pairs. docs/formats.md draws the same.
#![allow(unsafe_code, reason = "a promise about the types drawn here")]

use crate::protocol::{BUFFERS_MAX, GROUP};
use std::mem::{offset_of, size_of};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// "xsortshm" in memory order: the first word of `P.state`, written last.
pub(crate) const STATE_MAGIC: u64 = u64::from_ne_bytes(*b"xsortshm");

/// The first word of `P.readers`.
pub(crate) const ROLL_MAGIC: u64 = u64::from_ne_bytes(*b"xshmroll");

/// Changes with every change of what is drawn here.
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
    /// Random, the same in all files that belong together.
    pub lineage: AtomicU64,
    pub flags: AtomicU64,
    /// What the writer's checksum makes of a known text: readers with another hasher are told so.
    pub hasher: AtomicU64,
    /// Versions are counted from here on.
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

/// `P.readers` before its slots: the slot_table of readers.
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

/// Words that say which slots are taken: for as many slots as there can be.
pub(crate) const GROUPS: usize = 64;

/// What readers write beside their slots, and the writer reads with every version.
#[repr(C, align(128))]
pub(crate) struct Shared {
    /// Bit g: some of the slots 64 g to 64 g + 63 may be taken. Readers set it, the writer clears
    /// it when it finds that none is.
    pub groups: AtomicU64,
    /// Not zero: somebody sleeps, or is about to.
    pub waiters: AtomicU64,
    /// Odd while the writer looks for slots of the dead, and so has the locks of free ones for a
    /// moment; counts those times by two.
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
pub(crate) fn roll_bytes(capacity: usize) -> usize {
    size_of::<SlotTable>() + capacity * size_of::<Slot>()
}

/// Where slot `index` begins.
pub(crate) fn slot_offset(index: usize) -> usize {
    roll_bytes(index)
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
