//! The protocol: which word is exchanged when, so that the writer never waits and a reader never
//! sees a buffer change. PROTOCOL.md has the proof.
//!
//! ```text
//!  reader: slot <- current     ; current again, the same?  yes: pinned
//!                                no:  slot <- ANNOUNCE, v = current, slot ANNOUNCE -> v or take what the writer put there
//!  writer: fill a buffer that neither current nor any slot names (an ANNOUNCE becomes a pin of current) ; current <- the new version
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

/// One access of the protocol to a shared word, or a fence: what it is called, and its ordering.
///
/// What ships and what the model checker runs take their orderings from here and nowhere else, and
/// `model.rs` shows that no single one can be weaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// As in PROTOCOL.md.
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
        /// All of them, for the table of what is weakened.
        #[cfg(all(test, not(miri)))]
        pub(crate) const ACCESSES: &[Access] = &[$($name),*];
    };
}

accesses! {
    /// Reader: swaps the version that it saw into its slot ("write mine ...").
    PIN: SeqCst,
    /// Reader: loads `current` again ("... then look at yours").
    PIN_LOOK: SeqCst,
    /// Reader: swaps an announcement into its slot.
    ANNOUNCED: SeqCst,
    /// Reader: loads `current` after it has announced itself.
    ANNOUNCED_LOOK: SeqCst,
    /// Reader: turns its announcement into a pin. The swap before it was the release.
    SETTLE: Relaxed,
    /// Reader: finds that the writer has done so; partner of `HELP`.
    SETTLE_HELPED: Acquire,
    /// Reader: gives up its pin. What it read before is over; partner of `LOOK`.
    UNPIN: Release,
    /// Reader: notes that a slot of its group is taken, and that before its first pin. Which one it
    /// has noted before that.
    COUNT: SeqCst,
    /// Reader: notes that its slot is free; partner of `TAKEN_LOOK` and `TAKEN_RELOOK`.
    LEAVE: Release,
    /// Writer: loads which groups have slots that are taken.
    GROUPS_LOOK: SeqCst,
    /// Writer: loads which slots of a group are taken.
    TAKEN_LOOK: Acquire,
    /// Writer: forgets a group of which no slot is taken; partner of `COUNT`.
    FORGET: Acquire,
    /// Writer: looks again at a group that it has forgotten; partner of `LEAVE`.
    TAKEN_RELOOK: Acquire,
    /// Writer: loads a slot.
    LOOK: SeqCst,
    /// Writer: turns a reader's announcement into a pin of the current version. It may be a later
    /// one than `LOOK` has seen, and what was read before it is over.
    HELP: AcqRel,
    /// Writer: finds that the reader was quicker.
    HELP_LATE: Acquire,
    /// Writer: swaps `current`; partner of all looks at it.
    PUBLISH: SeqCst,
    /// Reader without a slot: loads `current` before it copies.
    COPY_LOOK: Acquire,
    /// Writer: takes a stamp back, long after another version was published; partner of
    /// `STAMP_LOOK`.
    TAKE_BACK: Release,
    /// Reader: looks whether a buffer has the version that it wants. If not, the version is no
    /// longer current, and the reader sees that.
    STAMP_LOOK: Acquire,
    /// Writer: fence between taking a stamp back and changing the buffer.
    REFILL: Release,
    /// Reader without a slot: fence between the copy and the last look at the stamp.
    COPIED: Acquire,
    /// Writer: stores the ticket that sleepers sleep on.
    TICKET: Release,
    /// Reader: loads the ticket before it decides to sleep.
    TICKET_LOOK: Acquire,
    /// Reader: says that it is about to sleep.
    WAIT: SeqCst,
    /// Reader: looks whether there is still something to wait for.
    WAIT_LOOK: SeqCst,
    /// Writer: looks whether somebody sleeps, or is about to.
    WAKE_LOOK: SeqCst,
    /// Writer: says that a header's other words are complete, or releases a flag.
    SET: Release,
    /// Looks whether they are.
    SEEN: Acquire,
}

/// Of accesses that order nothing: another access does, or the kernel.
const PLAIN: Access = Access { name: "PLAIN", ordering: Ordering::Relaxed };

/// An atomic word that several processes share.
pub(crate) trait Word {
    fn load(&self, access: Access) -> u64;
    fn store(&self, value: u64, access: Access);
    fn swap(&self, value: u64, access: Access) -> u64;
    /// Compare-and-exchange; `Err` is what was there instead.
    fn replace(&self, old: u64, new: u64, success: Access, failure: Access) -> Result<u64, u64>;
    fn set_bits(&self, bits: u64, access: Access);
    fn clear_bits(&self, bits: u64, access: Access);
    /// A fence. It is of all words; the model checker asks this one whether to leave it out.
    fn fence(&self, access: Access);

    /// Sees all that went before the [`put`](Word::put) that wrote the value.
    #[inline(always)]
    fn get(&self) -> u64 {
        self.load(SEEN)
    }

    /// All that went before is seen by whoever [gets](Word::get) the value.
    #[inline(always)]
    fn put(&self, value: u64) {
        self.store(value, SET);
    }

    /// A load that orders nothing.
    #[inline(always)]
    fn peek(&self) -> u64 {
        self.load(PLAIN)
    }

    /// A store that orders nothing.
    #[inline(always)]
    fn poke(&self, value: u64) {
        self.store(value, PLAIN);
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

/// The steps that the model checker leaves out to show that they are needed. What ships is [`All`].
pub(crate) trait Steps {
    /// The reader looks at `current` again after it has written its slot.
    const RECHECK: bool = true;
    /// The writer turns an announcement into a pin.
    const HELP: bool = true;
    /// The writer looks again at a group of slots that it has just forgotten.
    const RELOOK: bool = true;
    /// A writer that takes over leaves a number out.
    const LEAVE_OUT: bool = true;
}

/// Every step.
pub(crate) struct All;

impl Steps for All {}

/// Bits of a version word that count versions; the 12 above them name the buffer.
///
/// A writer that does nothing but write, at 30 ns a version, gets to the end of 52 bits after four
/// years.
const SEQUENCE_BITS: u32 = 52;

/// The largest sequence number. After it the writer refuses to write.
pub(crate) const SEQUENCE_MAX: u64 = (1 << SEQUENCE_BITS) - 1;

/// Names of buffers are smaller. The last of the 4,096 is taken by [`ANNOUNCE`].
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
/// of an unchanged version asks. Nothing new is seen by it, so it orders nothing.
#[inline(always)]
pub(crate) fn is_current<W: Word>(current: &W, pinned: u64) -> bool {
    current.peek() == pinned
}

/// Pins the current version in the reader's own slot and returns its word. At most five accesses,
/// no loop.
///
/// `seen` is what the reader has just [peeked](Word::peek) at in `current`. What the slot held
/// before is no longer protected.
#[inline]
pub(crate) fn pin<W: Word, S: Steps>(current: &W, slot: &W, seen: u64) -> u64 {
    slot.swap(seen, PIN);
    if !S::RECHECK || current.load(PIN_LOOK) == seen {
        return seen;
    }
    slot.swap(ANNOUNCE, ANNOUNCED);
    let newer = current.load(ANNOUNCED_LOOK);
    match slot.replace(ANNOUNCE, newer, SETTLE, SETTLE_HELPED) {
        Ok(_) => newer,
        Err(helped) => helped,
    }
}

/// Ends the protection that a slot gives: by its owner, whose reads are over, or for a dead one.
#[inline]
pub(crate) fn unpin<W: Word>(slot: &W) {
    slot.store(NONE, UNPIN);
}

/// What the writer must leave alone for the sake of this slot: a version word, or [`NONE`].
/// `current` is the version that it published last.
#[inline]
pub(crate) fn protected<W: Word, S: Steps>(current: u64, slot: &W) -> u64 {
    match slot.load(LOOK) {
        ANNOUNCE if S::HELP => {
            slot.replace(ANNOUNCE, current, HELP, HELP_LATE).err().unwrap_or(current)
        }
        ANNOUNCE => NONE,
        held => held,
    }
}

/// Slots are counted in groups of as many as a word has bits.
pub(crate) const GROUP: usize = 64;

/// Makes a slot known to the writer: bit `index % GROUP` of its group's word, and the group's bit.
///
/// Before the first pin in it, and by who has its lock. Whoever had it before is gone, so what it
/// holds is nobody's.
pub(crate) fn join<W: Word>(groups: &W, taken: &W, slot: &W, index: usize) {
    unpin(slot);
    taken.set_bits(1 << (index % GROUP), PLAIN);
    groups.set_bits(1 << (index / GROUP), COUNT);
}

/// Gives a slot up, for its owner or a dead one's; by who has its lock.
pub(crate) fn leave<W: Word>(taken: &W, slot: &W, index: usize) {
    unpin(slot);
    taken.clear_bits(1 << (index % GROUP), LEAVE);
}

/// The groups that the writer must look at.
#[inline]
pub(crate) fn groups_taken<W: Word>(groups: &W) -> u64 {
    groups.load(GROUPS_LOOK)
}

/// The slots of `group` that the writer must look at. A group of which none is taken is forgotten.
#[inline]
pub(crate) fn slots_taken<W: Word, S: Steps>(groups: &W, taken: &W, group: usize) -> u64 {
    match taken.load(TAKEN_LOOK) {
        0 => forget::<W, S>(groups, taken, group),
        slots => slots,
    }
}

#[cold]
fn forget<W: Word, S: Steps>(groups: &W, taken: &W, group: usize) -> u64 {
    groups.clear_bits(1 << group, FORGET);
    if !S::RELOOK {
        return 0;
    }
    // Whoever counted its group before that had joined it.
    let late = taken.load(TAKEN_RELOOK);
    if late != 0 {
        groups.set_bits(1 << group, PLAIN);
    }
    late
}

/// Makes `word` the current version: all that was written to its buffer is seen by whoever pins it.
#[inline]
pub(crate) fn publish<W: Word, T: Word>(current: &W, ticket: &T, word: u64) {
    current.swap(word, PUBLISH);
    set_ticket(ticket, word);
}

/// Whoever finds this ticket finds the version, or a newer one.
#[inline]
pub(crate) fn set_ticket<T: Word>(ticket: &T, word: u64) {
    ticket.store(u64::from(sequence_of(word) as u32), TICKET);
}

/// What a reader loads before it looks whether there is something to wait for, and sleeps on.
pub(crate) fn draw_ticket<T: Word>(ticket: &T) -> u64 {
    ticket.load(TICKET_LOOK)
}

/// Asks for a wake-up, then looks whether there is still something to wait for: `true` if `current`
/// is still `seen`.
pub(crate) fn may_sleep<W: Word>(current: &W, waiters: &W, seen: u64) -> bool {
    waiters.swap(1, WAIT);
    current.load(WAIT_LOOK) == seen
}

/// After [`publish`]: `true` if somebody asked to be woken since this last said so.
///
/// A flag and no count: a reader that was killed while it waited costs one needless wake-up, and is
/// forgotten.
#[inline]
pub(crate) fn must_wake<W: Word>(waiters: &W) -> bool {
    waiters.load(WAKE_LOOK) != 0 && waiters.swap(0, PLAIN) != 0
}

/// Before the writer changes a buffer: whoever copies from it unpinned will notice.
#[inline]
pub(crate) fn begin_fill<W: Word>(stamp: &W) {
    stamp.store(NONE, TAKE_BACK);
    stamp.fence(REFILL);
}

/// After the writer has filled a buffer, before it publishes it, which is the release.
#[inline]
pub(crate) fn end_fill<W: Word>(stamp: &W, word: u64) {
    stamp.poke(word);
}

/// The version that a reader without a slot tries to copy.
pub(crate) fn copy_of<W: Word>(current: &W) -> u64 {
    current.load(COPY_LOOK)
}

/// Whether the buffer has version `word`. If not, and a reader without a slot then still finds that
/// version current, the buffer is damaged.
#[inline]
pub(crate) fn is_stamped<W: Word>(stamp: &W, word: u64) -> bool {
    stamp.load(STAMP_LOOK) == word
}

/// Whether the buffer held version `word`, unchanged, since the reader found that stamp in it: what
/// it has read there meanwhile is of that version (a sequence lock).
#[inline]
pub(crate) fn is_unchanged<W: Word>(stamp: &W, word: u64) -> bool {
    stamp.fence(COPIED);
    stamp.peek() == word
}

/// The number after which a writer counts on that takes over from one whose last version was
/// `current`. That one may have filled a buffer with the next, and stamped it, before it died, and
/// a reader may have that buffer mapped: its number is never given again.
pub(crate) fn last_number<S: Steps>(current: u64, floor: u64) -> u64 {
    (sequence_of(current).max(sequence_of(floor)) + u64::from(S::LEAVE_OUT)).min(SEQUENCE_MAX)
}
