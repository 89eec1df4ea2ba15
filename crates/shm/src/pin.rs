//! A pin: one version that a reader holds, and its holders.
//!
//! The thread that read the version counts its `Version`s with plain stores. Those dropped in other
//! threads are counted separately, and the owner collects them later.
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

/// One pinned version, and the memory it is read from.
pub(crate) struct Pin {
    pub slot: Option<ReaderSlot>,
    pub word: Cell<u64>,
    pub bytes: Cell<NonNull<[u8]>>,
    pub checksum: Cell<u64>,
    /// The number of the thread that read the version and counts in `holds`.
    owner: AtomicU64,
    /// Number of Versions that hold it, plus one if it is active. Only the owner writes it, with
    /// plain stores. It is atomic because another thread may own it later.
    holds: AtomicUsize,
    /// Number of these holds that other threads have released.
    returned: AtomicUsize,
    /// The type for which the bytes were checked to be an archive.
    pub checked: Cell<Option<TypeId>>,
    /// One of the ReaderState's mappings.
    pub mapping: Cell<Option<NonNull<Mapping>>>,
    pub copy: UnsafeCell<Vec<Line>>,
}

/// Copies have the same alignment as buffers.
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

    /// Makes this the pin of version `word`. Call it only while the pin has no holders.
    #[inline]
    pub(crate) fn set_version(&self, word: u64, mapping: NonNull<Mapping>, contents: Contents) {
        self.word.set(word);
        self.bytes.set(contents.bytes);
        self.checksum.set(contents.checksum);
        self.mapping.set(Some(mapping));
    }

    /// Returns its slot, if the reader has slots.
    pub(crate) fn slot(&self) -> Option<&ReaderSlot> {
        self.slot.as_ref()
    }

    /// Returns the mapping of its version's buffer.
    pub(crate) fn mapping(&self) -> Option<NonNull<Mapping>> {
        self.mapping.get()
    }

    /// Adds a hold. Called by the owner only.
    #[inline]
    pub(crate) fn hold(&self) {
        self.holds.store(self.holds.load(Relaxed) + 1, Relaxed);
    }

    /// Releases a Version's hold, in any thread. After the last release the version may change.
    #[inline]
    pub(crate) fn release_hold(&self) {
        // No other thread has the owner's number.
        if self.owner.load(Relaxed) == THREAD.get() {
            self.release_local();
        } else {
            self.release_remote();
        }
    }

    /// Releases a hold in a thread other than the owner. The slot stays pinned until the owner
    /// notices ([`collect_released`](Pin::collect_released)).
    #[cold]
    pub(crate) fn release_remote(&self) {
        // Release: all uses of the version come before this.
        self.returned.fetch_add(1, Release);
    }

    /// Releases a hold. Called by the owner only.
    #[inline]
    pub(crate) fn release_local(&self) {
        let holds = self.holds.load(Relaxed) - 1;
        if holds == self.returned.load(Acquire) {
            self.unpin_slot();
        }
        // Release: a later owner of the pin sees everything done with it.
        self.holds.store(holds, Release);
    }

    #[cold]
    fn unpin_slot(&self) {
        if let Some(slot) = &self.slot {
            slot.unpin();
        }
    }

    /// Returns the number of holds; perhaps too many, never too few.
    #[inline]
    pub(crate) fn holds(&self) -> usize {
        let holds = self.holds.load(Acquire);
        holds - self.returned.load(Acquire)
    }

    /// Subtracts the holds that other threads have released, and unpins if none is left. `here` is
    /// the thread that has the ReaderState. It becomes the owner of an earlier thread's pin once
    /// that pin has no holders.
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
            // No holder that would read these is left.
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

/// Returns an empty, aligned slice.
pub(crate) fn no_bytes() -> NonNull<[u8]> {
    NonNull::slice_from_raw_parts(NonNull::<Line>::dangling().cast(), 0)
}

thread_local! {
    /// A number that no other thread has had; 0 until a reader asks for it.
    pub(crate) static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// Returns the calling thread's number.
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

    /// A pin that passes from a thread that ends to the next thread.
    struct Between(Pin);

    // SAFETY: this is what the test shows (to Miri): the second thread uses the pin only after the
    // first has released it.
    unsafe impl Sync for Between {}

    /// A Version in a thread-local variable may be dropped after the next thread already has the
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
