//! The protocol: the order of accesses to shared words by which the writer never waits and a reader
//! never sees a buffer change. PROTOCOL.md has the proof.
//!
//! ```text
//!  reader:  slot <- current; is current still the same?
//!             yes: pinned
//!             no:  slot <- ANNOUNCE; v = current;
//!                  slot: ANNOUNCE -> v, or take what the writer put there
//!  writer:  turn each ANNOUNCE into a pin of current;
//!           fill a buffer that neither current nor any slot names; current <- the new version
//! ```
//!
//! Everything is generic over [`Word`], the atomic word, so that the model checker runs the very
//! functions that ship: `model.rs` does, and shows that each step is needed by leaving it out
//! ([`Steps`]). Nothing here knows of files, lengths or system calls.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(all(test, not(miri)))]
mod model;
#[cfg(test)]
mod threads;

/// One access of the protocol to a shared word, or a fence: its name and its ordering.
///
/// Production code and the model checker take their orderings from here and nowhere else;
/// `model.rs` shows that none of them can be weaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// The name in PROTOCOL.md.
    pub name: &'static str,
    pub ordering: Ordering,
}

macro_rules! accesses {
    ($($(#[$doc:meta])* $name:ident: $ordering:ident,)*) => {
        $(
            $(#[$doc])*
            pub(crate) const $name: Access =
                Access { name: stringify!($name), ordering: Ordering::$ordering };
        )*
        /// All of them, for the test that weakens each.
        #[cfg(all(test, not(miri)))]
        pub(crate) const ACCESSES: &[Access] = &[$($name),*];
    };
}

accesses! {
    /// Reader: swaps the version that it saw into its slot ("write mine ...").
    PIN: SeqCst,
    /// Reader: loads `current` again ("... then read yours").
    PIN_RECHECK: SeqCst,
    /// Reader: swaps an announcement into its slot.
    ANNOUNCE_SWAP: SeqCst,
    /// Reader: loads `current` after its announcement.
    ANNOUNCE_LOAD: SeqCst,
    /// Reader: turns its announcement into a pin. The swap before it was the release.
    CONFIRM: Relaxed,
    /// Reader: finds that the writer has done that; partner of `HELP`.
    CONFIRM_HELPED: Acquire,
    /// Reader: releases its pin after its last read; partner of `SLOT_LOAD`.
    UNPIN: Release,
    /// Reader: sets its group's bit, after its own bit and before its first pin.
    JOIN_GROUP: SeqCst,
    /// Reader: clears its slot's bit; partner of `TAKEN_LOAD` and `TAKEN_RELOAD`.
    LEAVE: Release,
    /// Writer: loads which groups have slots that are taken.
    GROUPS_LOAD: SeqCst,
    /// Writer: loads which slots of a group are taken.
    TAKEN_LOAD: Acquire,
    /// Writer: clears the bit of a group without taken slots; partner of `JOIN_GROUP`.
    CLEAR_GROUP: Acquire,
    /// Writer: loads the slots of that group again; partner of `LEAVE`.
    TAKEN_RELOAD: Acquire,
    /// Writer: loads a slot.
    SLOT_LOAD: SeqCst,
    /// Writer: turns a reader's announcement into a pin of the current version. The announcement
    /// may be a later one than `SLOT_LOAD` has seen, and the reads before it must be over.
    HELP: AcqRel,
    /// Writer: finds that the reader was faster.
    HELP_FAILED: Acquire,
    /// Writer: swaps `current`; partner of all loads of it.
    PUBLISH: SeqCst,
    /// Reader without a slot: loads `current` before it copies.
    COPY_LOAD: Acquire,
    /// Writer: clears a stamp, long after another version was published; partner of `STAMP_LOAD`.
    STAMP_CLEAR: Release,
    /// Reader: checks that a buffer has the version that it wants. If not, the version is no longer
    /// current, and the reader sees that, too.
    STAMP_LOAD: Acquire,
    /// Writer: fence between clearing a stamp and changing the buffer.
    FILL_FENCE: Release,
    /// Reader without a slot: fence between the copy and the last load of the stamp.
    COPY_FENCE: Acquire,
    /// Writer: stores the ticket that sleepers sleep on.
    TICKET_STORE: Release,
    /// Reader: loads the ticket before it decides to sleep.
    TICKET_LOAD: Acquire,
    /// Reader: announces that it is about to sleep.
    WAITERS_SET: SeqCst,
    /// Reader: checks that there is still something to wait for.
    WAIT_RECHECK: SeqCst,
    /// Writer: checks whether a reader sleeps, or is about to.
    WAITERS_LOAD: SeqCst,
    /// Writer: stores a header's last word, or flags.
    RELEASE_STORE: Release,
    /// Loads such a word.
    ACQUIRE_LOAD: Acquire,
}

/// For accesses that order nothing: another access does, or the kernel.
const RELAXED: Access = Access { name: "RELAXED", ordering: Ordering::Relaxed };

/// An atomic word that several processes share.
pub(crate) trait Word {
    fn load(&self, access: Access) -> u64;
    fn store(&self, value: u64, access: Access);
    fn swap(&self, value: u64, access: Access) -> u64;
    /// Compare-and-exchange; `Err` is what was there instead.
    fn replace(&self, old: u64, new: u64, success: Access, failure: Access) -> Result<u64, u64>;
    fn set_bits(&self, bits: u64, access: Access);
    fn clear_bits(&self, bits: u64, access: Access);
    /// A fence. It orders all words; it is a method so that the model checker can leave it out.
    fn fence(&self, access: Access);

    /// Sees all that came before the [`store_release`](Word::store_release) of the value.
    #[inline(always)]
    fn load_acquire(&self) -> u64 {
        self.load(ACQUIRE_LOAD)
    }

    /// Shows all that came before to whoever [loads](Word::load_acquire) the value.
    #[inline(always)]
    fn store_release(&self, value: u64) {
        self.store(value, RELEASE_STORE);
    }

    /// A load that orders nothing.
    #[inline(always)]
    fn load_relaxed(&self) -> u64 {
        self.load(RELAXED)
    }

    /// A store that orders nothing.
    #[inline(always)]
    fn store_relaxed(&self, value: u64) {
        self.store(value, RELAXED);
    }
}

macro_rules! words {
    ($($atomic:ident of $value:ident),*) => {$(
        impl Word for $atomic {
            #[inline(always)]
            fn load(&self, access: Access) -> u64 {
                self.load(access.ordering).into()
            }

            #[inline(always)]
            fn store(&self, value: u64, access: Access) {
                self.store(value as $value, access.ordering);
            }

            #[inline(always)]
            fn swap(&self, value: u64, access: Access) -> u64 {
                self.swap(value as $value, access.ordering).into()
            }

            #[inline(always)]
            fn replace(
                &self,
                old: u64,
                new: u64,
                success: Access,
                failure: Access,
            ) -> Result<u64, u64> {
                let (old, new) = (old as $value, new as $value);
                self.compare_exchange(old, new, success.ordering, failure.ordering)
                    .map(Into::into)
                    .map_err(Into::into)
            }

            #[inline(always)]
            fn set_bits(&self, bits: u64, access: Access) {
                self.fetch_or(bits as $value, access.ordering);
            }

            #[inline(always)]
            fn clear_bits(&self, bits: u64, access: Access) {
                self.fetch_and(!bits as $value, access.ordering);
            }

            #[inline(always)]
            fn fence(&self, access: Access) {
                fence(access.ordering);
            }
        }
    )*};
}

words!(AtomicU32 of u32, AtomicU64 of u64);

/// The steps that the model checker leaves out to show that they are needed. Production code uses
/// [`All`].
pub(crate) trait Steps {
    /// The reader loads `current` again after it has written its slot.
    const RECHECK: bool = true;
    /// The writer turns an announcement into a pin.
    const HELP: bool = true;
    /// The writer loads the slots of a group again after it has cleared the group's bit.
    const RECHECK_GROUP: bool = true;
    /// A writer that takes over skips a number.
    const SKIP_NUMBER: bool = true;
}

/// Every step.
pub(crate) struct All;

impl Steps for All {}

/// Bits of a version word that count versions; the 12 above them name the buffer.
///
/// A writer that does nothing but write, at 30 ns a version, exhausts 52 bits after four years.
const SEQUENCE_BITS: u32 = 52;

/// The largest sequence number. After it the writer refuses to write.
pub(crate) const SEQUENCE_MAX: u64 = (1 << SEQUENCE_BITS) - 1;

/// Indexes of buffers are smaller: the last of the 4,096 is part of [`ANNOUNCE`].
pub(crate) const BUFFERS_MAX: usize = (1 << (64 - SEQUENCE_BITS)) - 1;

/// In `current`: no version yet. In a slot: nothing pinned.
pub(crate) const NONE: u64 = 0;

/// In a slot: the reader is about to pin whatever is current. No version word has this value, for
/// its buffer would be [`BUFFERS_MAX`].
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

/// Whether the version that the reader's own slot names is still the current one: all that a read
/// of an unchanged version checks. It shows the reader nothing new, so it orders nothing.
#[inline(always)]
pub(crate) fn is_current<W: Word>(current: &W, pinned: u64) -> bool {
    current.load_relaxed() == pinned
}

/// Pins the current version in the reader's own slot and returns its word. At most five accesses,
/// no loop.
///
/// `seen` is what a [relaxed load](Word::load_relaxed) of `current` has just returned. What the
/// slot held before is no longer protected.
#[inline]
pub(crate) fn pin<W: Word, S: Steps>(current: &W, slot: &W, seen: u64) -> u64 {
    slot.swap(seen, PIN);
    if !S::RECHECK || current.load(PIN_RECHECK) == seen {
        return seen;
    }
    slot.swap(ANNOUNCE, ANNOUNCE_SWAP);
    let newer = current.load(ANNOUNCE_LOAD);
    match slot.replace(ANNOUNCE, newer, CONFIRM, CONFIRM_HELPED) {
        Ok(_) => newer,
        Err(helped) => helped,
    }
}

/// Ends the protection that a slot gives: called by its owner after its reads, or by the writer for
/// a dead owner.
#[inline]
pub(crate) fn unpin<W: Word>(slot: &W) {
    slot.store(NONE, UNPIN);
}

/// What the writer must leave alone for the sake of this slot: a version word, or [`NONE`].
/// `current` is the version that it published last.
#[inline]
pub(crate) fn protected<W: Word, S: Steps>(current: u64, slot: &W) -> u64 {
    match slot.load(SLOT_LOAD) {
        ANNOUNCE if S::HELP => {
            slot.replace(ANNOUNCE, current, HELP, HELP_FAILED).err().unwrap_or(current)
        }
        ANNOUNCE => NONE,
        held => held,
    }
}

/// Slots are grouped by as many as a word has bits.
pub(crate) const GROUP: usize = 64;

/// Makes a slot known to the writer: bit `index % GROUP` of its group's word, and the group's bit.
///
/// Called before the first pin in it, by the holder of its lock. The owner before is gone, so
/// nobody needs what the slot holds.
pub(crate) fn join<W: Word>(groups: &W, taken: &W, slot: &W, index: usize) {
    unpin(slot);
    taken.set_bits(1 << (index % GROUP), RELAXED);
    groups.set_bits(1 << (index / GROUP), JOIN_GROUP);
}

/// Frees a slot: called by the holder of its lock, the owner, or the writer after the owner's
/// death.
pub(crate) fn leave<W: Word>(taken: &W, slot: &W, index: usize) {
    unpin(slot);
    taken.clear_bits(1 << (index % GROUP), LEAVE);
}

/// The groups that the writer must check.
#[inline]
pub(crate) fn groups_taken<W: Word>(groups: &W) -> u64 {
    groups.load(GROUPS_LOAD)
}

/// The slots of `group` that the writer must check. If none is taken, clears the group's bit.
#[inline]
pub(crate) fn slots_taken<W: Word, S: Steps>(groups: &W, taken: &W, group: usize) -> u64 {
    match taken.load(TAKEN_LOAD) {
        0 => clear_group::<W, S>(groups, taken, group),
        slots => slots,
    }
}

#[cold]
fn clear_group<W: Word, S: Steps>(groups: &W, taken: &W, group: usize) -> u64 {
    groups.clear_bits(1 << group, CLEAR_GROUP);
    if !S::RECHECK_GROUP {
        return 0;
    }
    // Readers that set the group's bit before this had set their own bits.
    let late = taken.load(TAKEN_RELOAD);
    if late != 0 {
        groups.set_bits(1 << group, RELAXED);
    }
    late
}

/// Makes `word` the current version: whoever pins it sees all that was written to its buffer.
#[inline]
pub(crate) fn publish<W: Word, T: Word>(current: &W, ticket: &T, word: u64) {
    current.swap(word, PUBLISH);
    set_ticket(ticket, word);
}

/// Whoever loads this ticket then loads the version, or a newer one.
#[inline]
pub(crate) fn set_ticket<T: Word>(ticket: &T, word: u64) {
    ticket.store(u64::from(sequence_of(word) as u32), TICKET_STORE);
}

/// The ticket that a reader will sleep on: loaded before it checks whether there is something to
/// wait for.
pub(crate) fn load_ticket<T: Word>(ticket: &T) -> u64 {
    ticket.load(TICKET_LOAD)
}

/// Asks for a wake-up, then checks that there is still something to wait for: `true` if `current`
/// is still `seen`.
pub(crate) fn may_sleep<W: Word>(current: &W, waiters: &W, seen: u64) -> bool {
    waiters.swap(1, WAITERS_SET);
    current.load(WAIT_RECHECK) == seen
}

/// Called after [`publish`]: `true` if a reader asked to be woken since it last returned `true`.
///
/// A flag, not a count: a reader that was killed while it waited costs one needless wake-up, and no
/// more.
#[inline]
pub(crate) fn must_wake<W: Word>(waiters: &W) -> bool {
    waiters.load(WAITERS_LOAD) != 0 && waiters.swap(0, RELAXED) != 0
}

/// Called before the writer changes a buffer: a reader that copies from it unpinned will notice.
#[inline]
pub(crate) fn begin_fill<W: Word>(stamp: &W) {
    stamp.store(NONE, STAMP_CLEAR);
    stamp.fence(FILL_FENCE);
}

/// Called after the writer has filled a buffer, before `publish`, which is the release.
#[inline]
pub(crate) fn end_fill<W: Word>(stamp: &W, word: u64) {
    stamp.store_relaxed(word);
}

/// The version that a reader without a slot tries to copy.
pub(crate) fn load_for_copy<W: Word>(current: &W) -> u64 {
    current.load(COPY_LOAD)
}

/// Whether the buffer has version `word`. If not, and a reader without a slot then still finds that
/// version current, the buffer is damaged.
#[inline]
pub(crate) fn is_stamped<W: Word>(stamp: &W, word: u64) -> bool {
    stamp.load(STAMP_LOAD) == word
}

/// Whether the buffer has held version `word`, unchanged, since the reader found that stamp in it:
/// then all that it has read meanwhile is of that version (a sequence lock).
#[inline]
pub(crate) fn is_unchanged<W: Word>(stamp: &W, word: u64) -> bool {
    stamp.fence(COPY_FENCE);
    stamp.load_relaxed() == word
}

/// The number after which a writer continues that takes over from one whose last version was
/// `current`. The dead one may have filled and stamped a buffer with the next number, and a reader
/// may have that buffer mapped: so that number is never used again.
pub(crate) fn last_number<S: Steps>(current: u64, floor: u64) -> u64 {
    (sequence_of(current).max(sequence_of(floor)) + u64::from(S::SKIP_NUMBER)).min(SEQUENCE_MAX)
}
