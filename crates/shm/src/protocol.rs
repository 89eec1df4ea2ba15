//! The protocol: which word is exchanged when, so that the writer never waits and a reader never sees a buffer change. PROTOCOL.md has the proof.
//!
//! ```text
//!  reader: slot <- current     ; current again, the same?  yes: pinned
//!                                no:  slot <- ANNOUNCE, v = current, slot ANNOUNCE -> v or take what the writer put there
//!  writer: fill a buffer that neither current nor any slot names (an ANNOUNCE becomes a pin of current) ; current <- the new version
//! ```
//!
//! Everything is generic over [`Word`], the atomic word, so that the model checker runs the very functions that ship: `model.rs` does, and shows
//! that each step is needed by leaving it out ([`Steps`]). Nothing here knows of files, lengths or system calls.

use std::sync::atomic::{AtomicU64, Ordering, fence};

#[cfg(all(test, not(miri)))]
mod model;
#[cfg(test)]
mod threads;

/// An atomic 64-bit word that several processes share. The methods are named for what the protocol does with them; each says its ordering, and
/// PROTOCOL.md its partner.
pub(crate) trait Word {
    /// Acquire: sees all that went before the [`put`](Word::put) or [`exchange`](Word::exchange) that wrote the value.
    fn get(&self) -> u64;
    /// Sequentially consistent: the second half of "write mine, then look at yours".
    fn observe(&self) -> u64;
    /// Sequentially consistent swap: the first half of "write mine, then look at yours".
    fn exchange(&self, value: u64) -> u64;
    /// Sequentially consistent compare-and-exchange; `Err` is what was there instead.
    fn replace(&self, old: u64, new: u64) -> Result<u64, u64>;
    /// Sequentially consistent maximum.
    fn raise(&self, value: u64);
    /// Release: all that went before is seen by whoever gets the value.
    fn put(&self, value: u64);
    /// Relaxed load, for use after [`Word::fence_acquire`].
    fn peek(&self) -> u64;
    /// Relaxed store, for use before [`Word::fence_release`].
    fn poke(&self, value: u64);
    /// What was loaded before stays before what is loaded after.
    fn fence_acquire();
    /// What was stored before stays before what is stored after.
    fn fence_release();
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn get(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn observe(&self) -> u64 {
        self.load(Ordering::SeqCst)
    }

    #[inline(always)]
    fn exchange(&self, value: u64) -> u64 {
        self.swap(value, Ordering::SeqCst)
    }

    #[inline(always)]
    fn replace(&self, old: u64, new: u64) -> Result<u64, u64> {
        self.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst)
    }

    #[inline(always)]
    fn raise(&self, value: u64) {
        self.fetch_max(value, Ordering::SeqCst);
    }

    #[inline(always)]
    fn put(&self, value: u64) {
        self.store(value, Ordering::Release);
    }

    #[inline(always)]
    fn peek(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn poke(&self, value: u64) {
        self.store(value, Ordering::Relaxed);
    }

    #[inline(always)]
    fn fence_acquire() {
        fence(Ordering::Acquire);
    }

    #[inline(always)]
    fn fence_release() {
        fence(Ordering::Release);
    }
}

/// The steps that the model checker leaves out to show that they are needed. What ships is [`All`].
pub(crate) trait Steps {
    /// The reader looks at `current` again after it has written its slot.
    const RECHECK: bool = true;
    /// The writer turns an announcement into a pin.
    const HELP: bool = true;
}

/// Every step.
pub(crate) struct All;

impl Steps for All {}

/// Bits of a version word that count versions; the 12 above them name the buffer.
///
/// A writer that does nothing but write, at 30 ns a version, gets to the end of 52 bits after four years.
const SEQUENCE_BITS: u32 = 52;

/// The largest sequence number. After it the writer refuses to write.
pub(crate) const SEQUENCE_MAX: u64 = (1 << SEQUENCE_BITS) - 1;

/// Names of buffers are smaller. The last of the 4,096 is taken by [`ANNOUNCE`].
pub(crate) const BUFFERS_MAX: usize = (1 << (64 - SEQUENCE_BITS)) - 1;

/// In `current`: no version yet. In a slot: nothing pinned.
pub(crate) const NONE: u64 = 0;

/// In a slot: the reader is about to pin whatever is current. No version word has this value, for its buffer would be [`BUFFERS_MAX`].
pub(crate) const ANNOUNCE: u64 = u64::MAX;

/// The word of version `sequence` in buffer `buffer`.
pub(crate) fn version_word(buffer: usize, sequence: u64) -> u64 {
    assert!(buffer < BUFFERS_MAX && (1..=SEQUENCE_MAX).contains(&sequence));
    (buffer as u64) << SEQUENCE_BITS | sequence
}

/// The buffer that a version word names: at most [`BUFFERS_MAX`], whatever the word is.
#[inline]
pub(crate) fn buffer_of(word: u64) -> usize {
    (word >> SEQUENCE_BITS) as usize
}

/// The sequence number in a version word: at most [`SEQUENCE_MAX`], whatever the word is.
#[inline]
pub(crate) fn sequence_of(word: u64) -> u64 {
    word & SEQUENCE_MAX
}

/// Whether the version that the reader's own slot names is still the current one: all that a read of an unchanged version asks.
#[inline(always)]
pub(crate) fn is_current<W: Word>(current: &W, pinned: u64) -> bool {
    current.get() == pinned
}

/// Pins the current version in the reader's own slot and returns its word. At most five accesses, no loop.
///
/// `seen` is what the reader has just [got](Word::get) from `current`. What the slot held before is no longer protected.
#[inline]
pub(crate) fn pin<W: Word, S: Steps>(current: &W, slot: &W, seen: u64) -> u64 {
    slot.exchange(seen);
    if !S::RECHECK || current.observe() == seen {
        return seen;
    }
    slot.exchange(ANNOUNCE);
    let newer = current.observe();
    match slot.replace(ANNOUNCE, newer) {
        Ok(_) => newer,
        Err(helped) => helped,
    }
}

/// Ends the protection that the reader's own slot gives. All reads through it are over before the writer sees that.
#[inline]
pub(crate) fn unpin<W: Word>(slot: &W) {
    slot.put(NONE);
}

/// What the writer must leave alone for the sake of this slot: a version word, or [`NONE`]. `current` is the version that it published last.
#[inline]
pub(crate) fn protected<W: Word, S: Steps>(current: u64, slot: &W) -> u64 {
    match slot.observe() {
        ANNOUNCE if S::HELP => slot.replace(ANNOUNCE, current).err().unwrap_or(current),
        ANNOUNCE => NONE,
        held => held,
    }
}

/// Makes `word` the current version: all that was written to its buffer is seen by whoever pins it.
#[inline]
pub(crate) fn publish<W: Word>(current: &W, word: u64) {
    current.exchange(word);
}

/// Asks for a wake-up, then looks whether there is still something to wait for: `true` if `current` is still `seen`.
pub(crate) fn may_sleep<W: Word>(current: &W, waiters: &W, seen: u64) -> bool {
    waiters.exchange(1);
    current.observe() == seen
}

/// After [`publish`]: `true` if somebody asked to be woken since this last said so.
///
/// A flag and no count: a reader that was killed while it waited costs one needless wake-up, and is forgotten.
#[inline]
pub(crate) fn must_wake<W: Word>(waiters: &W) -> bool {
    waiters.observe() != 0 && waiters.exchange(0) != 0
}

/// Before the writer changes a buffer: whoever copies from it unpinned will notice.
#[inline]
pub(crate) fn begin_fill<W: Word>(stamp: &W) {
    stamp.poke(NONE);
    W::fence_release();
}

/// After the writer has filled a buffer, before it publishes it.
#[inline]
pub(crate) fn end_fill<W: Word>(stamp: &W, word: u64) {
    stamp.put(word);
}

/// Runs `copy` and says whether the buffer held version `word`, unchanged, all the while (a sequence lock).
#[inline]
pub(crate) fn copy_stable<W: Word>(stamp: &W, word: u64, copy: impl FnOnce()) -> bool {
    if stamp.get() != word {
        return false;
    }
    copy();
    W::fence_acquire();
    stamp.peek() == word
}
