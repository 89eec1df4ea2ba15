//! The protocol: an order of accesses to shared words with which the writer never waits and a
//! reader never sees a buffer change. PROTOCOL.md has the proof.
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
//! Everything is generic over [`Word`], the atomic word, so that the model checker runs the same
//! functions as production code: `model.rs` does, and shows that each step is needed by leaving it
//! out ([`Steps`]). Files, lengths and system calls don't occur here.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(all(test, not(miri)))]
mod model;
#[cfg(test)]
mod threads;

/// An access of the protocol to a shared word, or a fence: its name and its ordering.
///
/// Production code and the model checker take their orderings only from here; `model.rs` shows that
/// none of them can be weaker.
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
        /// All accesses, for the test that weakens each.
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
    /// Reader: turns its announcement into a pin. The preceding swap was the release.
    CONFIRM: Relaxed,
    /// Reader: finds that the writer has turned it into a pin; partner of `HELP`.
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
    /// may be newer than the one `SLOT_LOAD` saw, and the reader's earlier reads must be over.
    HELP: AcqRel,
    /// Writer: finds that the reader was faster.
    HELP_FAILED: Acquire,
    /// Writer: swaps `current`; partner of all loads of `current`.
    PUBLISH: SeqCst,
    /// Reader without a slot: loads `current` before it copies.
    COPY_LOAD: Acquire,
    /// Writer: clears a stamp, long after another version was published; partner of `STAMP_LOAD`.
    STAMP_CLEAR: Release,
    /// Reader: checks that a buffer holds the wanted version. If not, that version is no longer
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
    /// Loads a word stored with `RELEASE_STORE`.
    ACQUIRE_LOAD: Acquire,
}

/// For accesses that order nothing, because another access or the kernel does.
const RELAXED: Access = Access { name: "RELAXED", ordering: Ordering::Relaxed };

/// An atomic word that several processes share.
pub(crate) trait Word {
    fn load(&self, access: Access) -> u64;
    fn store(&self, value: u64, access: Access);
    fn swap(&self, value: u64, access: Access) -> u64;
    /// Compare-and-exchange. `Err` is the value found instead of `old`.
    fn replace(&self, old: u64, new: u64, success: Access, failure: Access) -> Result<u64, u64>;
    fn set_bits(&self, bits: u64, access: Access);
    fn clear_bits(&self, bits: u64, access: Access);
    /// A fence. It orders all words; it is a method so that the model checker can leave it out.
    fn fence(&self, access: Access);

    /// Loads a value. If [`store_release`](Word::store_release) stored it, sees everything before
    /// that store.
    #[inline(always)]
    fn load_acquire(&self) -> u64 {
        self.load(ACQUIRE_LOAD)
    }

    /// Stores a value. A thread that [loads](Word::load_acquire) it sees everything before this
    /// store.
    #[inline(always)]
    fn store_release(&self, value: u64) {
        self.store(value, RELEASE_STORE);
    }

    /// Loads a value without ordering anything.
    #[inline(always)]
    fn load_relaxed(&self) -> u64 {
        self.load(RELAXED)
    }

    /// Stores a value without ordering anything.
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

/// Steps that the model checker leaves out to show that they are needed. Production code uses
/// [`All`].
pub(crate) trait Steps {
    /// The reader loads `current` again after it has written its slot.
    const RECHECK: bool = true;
    /// The writer turns an announcement into a pin.
    const HELP: bool = true;
    /// The writer loads the slots of a group again after it has cleared the group's bit.
    const RECHECK_GROUP: bool = true;
    /// A writer that takes over after another writer skips a number.
    const SKIP_NUMBER: bool = true;
}

/// All steps: the protocol of production code.
pub(crate) struct All;

impl Steps for All {}

/// Number of bits of a version word that count versions; the upper 12 bits name the buffer.
///
/// A writer that only writes, at 30 ns per version, exhausts 52 bits after four years.
const SEQUENCE_BITS: u32 = 52;

/// The largest sequence number. After it the writer refuses to write.
pub(crate) const SEQUENCE_MAX: u64 = (1 << SEQUENCE_BITS) - 1;

/// Exclusive upper limit of buffer indexes: the last of the 4,096 is part of [`ANNOUNCE`].
pub(crate) const BUFFERS_MAX: usize = (1 << (64 - SEQUENCE_BITS)) - 1;

/// In `current`: no version yet. In a slot: nothing pinned.
pub(crate) const NONE: u64 = 0;

/// In a slot: the reader is about to pin the current version, whichever that is. No version word
/// has this value, because its buffer would be [`BUFFERS_MAX`].
pub(crate) const ANNOUNCE: u64 = u64::MAX;

/// Returns the word of version `sequence` in buffer `buffer`.
pub(crate) fn version_word(buffer: usize, sequence: u64) -> u64 {
    assert!(buffer < BUFFERS_MAX && (1..=SEQUENCE_MAX).contains(&sequence));
    (buffer as u64) << SEQUENCE_BITS | sequence
}

/// Returns the buffer that a version word names: at most [`BUFFERS_MAX`], for any word.
#[inline]
pub(crate) fn buffer_of(word: u64) -> usize {
    (word >> SEQUENCE_BITS) as usize
}

/// Returns the sequence number in a version word: at most [`SEQUENCE_MAX`], for any word.
#[inline]
pub(crate) fn sequence_of(word: u64) -> u64 {
    word & SEQUENCE_MAX
}

/// Returns whether the version that the reader's own slot names is still current. A read of an
/// unchanged version checks nothing else. It shows the reader nothing new, so it orders nothing.
#[inline(always)]
pub(crate) fn is_current<W: Word>(current: &W, pinned: u64) -> bool {
    current.load_relaxed() == pinned
}

/// Pins the current version in the reader's own slot and returns its word. At most five accesses,
/// no loop.
///
/// `seen` is the result of a preceding [relaxed load](Word::load_relaxed) of `current`. The version
/// that the slot held before is no longer protected.
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

/// Ends the protection that a slot gives. Called by its owner after its reads, or by the writer for
/// a dead owner.
#[inline]
pub(crate) fn unpin<W: Word>(slot: &W) {
    slot.store(NONE, UNPIN);
}

/// Returns the version word that this slot protects from the writer, or [`NONE`]. `current` is the
/// version that the writer published last.
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

/// Number of slots in a group: the number of bits in a word.
pub(crate) const GROUP: usize = 64;

/// Makes a slot known to the writer: sets bit `index % GROUP` of its group's word, and the group's
/// bit.
///
/// Called before the first pin in the slot, by the holder of its lock. The previous owner is gone,
/// so the slot's content isn't needed any more.
pub(crate) fn join<W: Word>(groups: &W, taken: &W, slot: &W, index: usize) {
    unpin(slot);
    taken.set_bits(1 << (index % GROUP), RELAXED);
    groups.set_bits(1 << (index / GROUP), JOIN_GROUP);
}

/// Frees a slot. Called by the holder of its lock: the owner, or the writer after the owner's
/// death.
pub(crate) fn leave<W: Word>(taken: &W, slot: &W, index: usize) {
    unpin(slot);
    taken.clear_bits(1 << (index % GROUP), LEAVE);
}

/// Returns the groups that the writer must check.
#[inline]
pub(crate) fn groups_taken<W: Word>(groups: &W) -> u64 {
    groups.load(GROUPS_LOAD)
}

/// Returns the slots of `group` that the writer must check. If none is taken, clears the group's
/// bit.
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
    // Readers that set the group's bit before this had already set their own bits.
    let late = taken.load(TAKEN_RELOAD);
    if late != 0 {
        groups.set_bits(1 << group, RELAXED);
    }
    late
}

/// Makes `word` the current version: a reader that pins it sees everything written to its buffer.
#[inline]
pub(crate) fn publish<W: Word, T: Word>(current: &W, ticket: &T, word: u64) {
    current.swap(word, PUBLISH);
    set_ticket(ticket, word);
}

/// Stores the ticket. A reader that loads it then loads this version or a newer one.
#[inline]
pub(crate) fn set_ticket<T: Word>(ticket: &T, word: u64) {
    ticket.store(u64::from(sequence_of(word) as u32), TICKET_STORE);
}

/// Loads the ticket that a reader will sleep on, before it checks whether there is something to
/// wait for.
pub(crate) fn load_ticket<T: Word>(ticket: &T) -> u64 {
    ticket.load(TICKET_LOAD)
}

/// Asks for a wake-up, then checks that there is still something to wait for. Returns `true` if
/// `current` is still `seen`.
pub(crate) fn may_sleep<W: Word>(current: &W, waiters: &W, seen: u64) -> bool {
    waiters.swap(1, WAITERS_SET);
    current.load(WAIT_RECHECK) == seen
}

/// Returns `true` if a reader has asked to be woken since it last returned `true`. Called after
/// [`publish`].
///
/// It is a flag, not a count: a reader that was killed while waiting costs only one needless
/// wake-up.
#[inline]
pub(crate) fn must_wake<W: Word>(waiters: &W) -> bool {
    waiters.load(WAITERS_LOAD) != 0 && waiters.swap(0, RELAXED) != 0
}

/// Called before the writer changes a buffer: readers that copy from it unpinned will notice.
#[inline]
pub(crate) fn begin_fill<W: Word>(stamp: &W) {
    stamp.store(NONE, STAMP_CLEAR);
    stamp.fence(FILL_FENCE);
}

/// Called after the writer has filled a buffer and before `publish`, which is the release.
#[inline]
pub(crate) fn end_fill<W: Word>(stamp: &W, word: u64) {
    stamp.store_relaxed(word);
}

/// Loads the word of the version that a reader without a slot tries to copy.
pub(crate) fn load_for_copy<W: Word>(current: &W) -> u64 {
    current.load(COPY_LOAD)
}

/// Returns whether the buffer holds version `word`. If it doesn't, and a reader without a slot
/// still finds that version current afterwards, the buffer is damaged.
#[inline]
pub(crate) fn is_stamped<W: Word>(stamp: &W, word: u64) -> bool {
    stamp.load(STAMP_LOAD) == word
}

/// Returns whether the buffer has held version `word` unchanged since the reader found that stamp
/// in it. Then everything that it has read in between is of that version (a sequence lock).
#[inline]
pub(crate) fn is_unchanged<W: Word>(stamp: &W, word: u64) -> bool {
    stamp.fence(COPY_FENCE);
    stamp.load_relaxed() == word
}

/// Returns the last used number for a writer that takes over from one whose last version was
/// `current`. The dead writer may have filled and stamped a buffer with the next number, and a
/// reader may have mapped that buffer, so that number is never used again.
pub(crate) fn last_number<S: Steps>(current: u64, floor: u64) -> u64 {
    (sequence_of(current).max(sequence_of(floor)) + u64::from(S::SKIP_NUMBER)).min(SEQUENCE_MAX)
}
