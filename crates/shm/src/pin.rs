//! A pin: one version that a reader holds, and who holds it.
//!
//! Versions of it are counted by the thread that read it, with plain stores. Those that are dropped
//! in other threads are counted apart, and the owner collects them later.
#![allow(unsafe_code, reason = "a test shares a pin between threads")]

use crate::attachment::{Contents, ReaderSlot};
use crate::layout::HEADER_BYTES;
use crate::protocol::NONE;
use crate::sys::Mapping;
use std::any::TypeId;
use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// One pinned version, and what it is read from.
pub(crate) struct Pin {
    pub slot: Option<ReaderSlot>,
    pub word: Cell<u64>,
    pub bytes: Cell<NonNull<[u8]>>,
    pub checksum: Cell<u64>,
    /// The thread that read the version, and that counts in `holds`.
    owner: AtomicU64,
    /// Versions that hold it, plus one if it is active. Only the owner writes it, with plain
    /// stores; atomic because another thread may own it later.
    holds: AtomicUsize,
    /// How many of these holds other threads have released.
    returned: AtomicUsize,
    /// The archived type that the bytes were checked to be.
    pub checked: Cell<Option<TypeId>>,
    /// One of the ReaderState's mappings.
    pub mapping: Cell<Option<NonNull<Mapping>>>,
    pub copy: UnsafeCell<Vec<Line>>,
}

/// Copies are aligned as buffers are.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line(pub [u64; 8]);

const _: () = assert!(size_of::<Line>() == HEADER_BYTES && align_of::<Line>() == HEADER_BYTES);

impl Pin {
    pub(crate) fn new(slot: Option<ReaderSlot>) -> Pin {
        Pin {
            slot,
            word: Cell::new(NONE),
            bytes: Cell::new(no_bytes()),
            checksum: Cell::new(0),
            owner: AtomicU64::new(thread_number()),
            holds: AtomicUsize::new(0),
            returned: AtomicUsize::new(0),
            checked: Cell::new(None),
            mapping: Cell::new(None),
            copy: UnsafeCell::new(Vec::new()),
        }
    }

    /// Makes this the pin of version `word`. Only while nobody holds it.
    #[inline]
    pub(crate) fn set_version(&self, word: u64, mapping: NonNull<Mapping>, contents: Contents) {
        self.word.set(word);
        self.bytes.set(contents.bytes);
        self.checksum.set(contents.checksum);
        self.mapping.set(Some(mapping));
    }

    /// Its slot, if the reader has slots.
    pub(crate) fn slot(&self) -> Option<&ReaderSlot> {
        self.slot.as_ref()
    }

    /// The mapping of its version's buffer.
    pub(crate) fn mapping(&self) -> Option<NonNull<Mapping>> {
        self.mapping.get()
    }

    /// Counts one hold more. Called by the owner only.
    #[inline]
    pub(crate) fn hold(&self) {
        self.holds.store(self.holds.load(Relaxed) + 1, Relaxed);
    }

    /// Releases a Version's hold, in whatever thread the Version is by now. After the last one the
    /// version may change.
    #[inline]
    pub(crate) fn release_hold(&self) {
        // No other thread has the owner's number.
        if self.owner.load(Relaxed) == THREAD.get() {
            self.release_local();
        } else {
            self.release_remote();
        }
    }

    /// The slot stays pinned until the owner notices
    /// ([`collect_released`](Pin::collect_released)).
    #[cold]
    pub(crate) fn release_remote(&self) {
        // Release: all uses of the version come before this.
        self.returned.fetch_add(1, Release);
    }

    /// Releases one hold. Called by the owner only.
    #[inline]
    pub(crate) fn release_local(&self) {
        let holds = self.holds.load(Relaxed) - 1;
        if holds == self.returned.load(Acquire) {
            self.unpin_slot();
        }
        // Release: a thread that owns the pin later sees all that was done with it.
        self.holds.store(holds, Release);
    }

    #[cold]
    fn unpin_slot(&self) {
        if let Some(slot) = &self.slot {
            slot.unpin();
        }
    }

    /// How many holds there are; perhaps too many, never too few.
    #[inline]
    pub(crate) fn holds(&self) -> usize {
        let holds = self.holds.load(Acquire);
        holds - self.returned.load(Acquire)
    }

    /// Subtracts what other threads have released, and unpins if nothing is left. `here` is the
    /// thread that has the ReaderState; it becomes the owner of a pin of the thread before once
    /// nobody holds that any more.
    #[inline]
    pub(crate) fn collect_released(&self, here: u64) {
        if self.returned.load(Relaxed) != 0 || self.owner.load(Relaxed) != here {
            self.collect_released_slow(here);
        }
    }

    #[cold]
    fn collect_released_slow(&self, here: u64) {
        if self.owner.load(Relaxed) != here {
            if self.holds() > 0 {
                return;
            }
            // No holder is left that would read these.
            self.holds.store(0, Relaxed);
            self.returned.store(0, Relaxed);
            self.owner.store(here, Relaxed);
            return self.unpin_slot();
        }
        let holds = self.holds.load(Relaxed) - self.returned.swap(0, Acquire);
        self.holds.store(holds, Release);
        if holds == 0 {
            self.unpin_slot();
        }
    }
}

/// An empty slice, aligned.
pub(crate) fn no_bytes() -> NonNull<[u8]> {
    NonNull::slice_from_raw_parts(NonNull::<Line>::dangling().cast(), 0)
}

thread_local! {
    /// A number that no other thread has had; 0 until a reader asks for it.
    pub(crate) static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// The calling thread's number.
pub(crate) fn thread_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    if THREAD.get() == 0 {
        THREAD.set(LAST.fetch_add(1, Relaxed) + 1);
    }
    THREAD.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// A pin that passes from a thread that ends to the next.
    struct Between(Pin);

    // SAFETY: what the test shows (to Miri): the second thread uses the pin only after the first
    // has released it.
    unsafe impl Sync for Between {}

    /// A Version in a thread-local variable may be dropped when the next thread already has the
    /// ReaderState.
    #[test]
    fn a_pin_is_taken_after_all_that_its_last_holder_did() {
        for _ in 0..20 {
            let pin = Between(Pin::new(None));
            pin.0.hold();
            thread::scope(|scope| {
                let pin = &pin;
                scope.spawn(move || {
                    pin.0.checked.set(Some(TypeId::of::<u64>()));
                    pin.0.release_local();
                });
                while pin.0.holds() > 0 {
                    std::hint::spin_loop();
                }
                pin.0.checked.set(None);
                pin.0.hold();
                assert_eq!(pin.0.holds(), 1);
            });
        }
    }
}
