//! What a thread, or a [`LocalReader`](crate::LocalReader), has of a prefix: slots with what is
//! pinned in them, and the buffers that it has mapped.
//!
//! ```text
//!  ReaderState ──┬── active Pin: the newest version that was read here
//!         └── older Pins, as long as a Version of them is held
//!  Pin ──> slot in P.readers, and the mapping
//! ```
//!
//! The newest version stays pinned between reads ("sticky"): that is what makes a read one load. A
//! Pin that is held when a newer version is read stays behind with its slot, and the ReaderState
//! takes another.
#![allow(unsafe_code, reason = "reads bytes that are pinned")]

use crate::attachment::{Attachment, Contents, TakenSlot};
use crate::checksum::checksum;
use crate::error::{Error, Result};
use crate::files::Names;
use crate::layout::{HEADER_BYTES, Header};
use crate::protocol::{
    self, All, NONE, Word, copy_of, draw_ticket, is_current, is_unchanged, may_sleep,
};
use crate::reader::ReaderOptions;
use crate::sys::{self, Mapping};
use std::any::TypeId;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::hash::Hasher;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// One pinned version, and what it is read from.
pub(crate) struct Pin {
    slot: Option<TakenSlot>,
    pub word: Cell<u64>,
    pub bytes: Cell<NonNull<[u8]>>,
    checksum: Cell<u64>,
    /// The thread that counts in `holds`.
    owner: AtomicU64,
    /// Versions that hold it, and one if it is active. Written by one thread at a time with plain
    /// stores; atomic for the sake of the thread that comes after it.
    holds: AtomicUsize,
    /// Holds among them that other threads have given up.
    returned: AtomicUsize,
    /// The archived type that the bytes were found to be.
    pub checked: Cell<Option<TypeId>>,
    /// One of the ReaderState's mappings.
    mapping: Cell<Option<NonNull<Mapping>>>,
    copy: UnsafeCell<Vec<Line>>,
}

/// Copies are aligned as buffers are.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

const _: () = assert!(size_of::<Line>() == HEADER_BYTES && align_of::<Line>() == HEADER_BYTES);

impl Pin {
    fn new(slot: Option<TakenSlot>) -> Pin {
        Pin {
            slot,
            word: Cell::new(NONE),
            bytes: Cell::new(nothing()),
            checksum: Cell::new(0),
            owner: AtomicU64::new(thread_number()),
            holds: AtomicUsize::new(0),
            returned: AtomicUsize::new(0),
            checked: Cell::new(None),
            mapping: Cell::new(None),
            copy: UnsafeCell::new(Vec::new()),
        }
    }

    /// Shows version `word`. Only for a Pin that nobody holds.
    #[inline]
    pub(crate) fn show(&self, word: u64, mapping: NonNull<Mapping>, contents: Contents) {
        self.word.set(word);
        self.bytes.set(contents.bytes);
        self.checksum.set(contents.checksum);
        self.mapping.set(Some(mapping));
    }

    /// Its slot, if the reader has slots.
    pub(crate) fn slot(&self) -> Option<&TakenSlot> {
        self.slot.as_ref()
    }

    /// The mapping that it shows.
    pub(crate) fn mapping(&self) -> Option<NonNull<Mapping>> {
        self.mapping.get()
    }

    /// By the owner.
    #[inline]
    pub(crate) fn hold(&self) {
        self.holds.store(self.holds.load(Relaxed) + 1, Relaxed);
    }

    /// Gives up a Version's hold, in whatever thread the Version is by now. After the last one the
    /// version may change.
    #[inline]
    pub(crate) fn give_back(&self) {
        // Only the owner finds its own number.
        if self.owner.load(Relaxed) == THREAD.get() { self.give_up() } else { self.send_back() }
    }

    /// The slot moves on when the owner finds it ([`settle`](Pin::settle)).
    #[cold]
    fn send_back(&self) {
        // Release: all that was done with the version is over.
        self.returned.fetch_add(1, Release);
    }

    /// By the owner: gives up one hold.
    #[inline]
    fn give_up(&self) {
        let holds = self.holds.load(Relaxed) - 1;
        if holds == self.returned.load(Acquire) {
            self.let_go();
        }
        // Release: a thread that comes after this one takes the Pin only after all that was done
        // with it.
        self.holds.store(holds, Release);
    }

    #[cold]
    fn let_go(&self) {
        if let Some(slot) = &self.slot {
            slot.unpin();
        }
    }

    /// By how many it is held; no fewer than there are.
    #[inline]
    fn holds(&self) -> usize {
        let holds = self.holds.load(Acquire);
        holds - self.returned.load(Acquire)
    }

    /// Settles accounts with other threads, for the thread that has the ReaderState: `here`. What
    /// they held last is let go of. A Pin of the thread before is this one's when nobody holds it
    /// any more.
    #[inline]
    fn settle(&self, here: u64) {
        if self.returned.load(Relaxed) != 0 || self.owner.load(Relaxed) != here {
            self.settle_accounts(here);
        }
    }

    #[cold]
    fn settle_accounts(&self, here: u64) {
        if self.owner.load(Relaxed) != here {
            if self.holds() > 0 {
                return;
            }
            // Nobody is left who would look at these.
            self.holds.store(0, Relaxed);
            self.returned.store(0, Relaxed);
            self.owner.store(here, Relaxed);
            return self.let_go();
        }
        let holds = self.holds.load(Relaxed) - self.returned.swap(0, Acquire);
        self.holds.store(holds, Release);
        if holds == 0 {
            self.let_go();
        }
    }
}

/// No bytes, aligned.
pub(crate) fn nothing() -> NonNull<[u8]> {
    NonNull::slice_from_raw_parts(NonNull::<Line>::dangling().cast(), 0)
}

thread_local! {
    /// A number that no other thread has had; 0 until a reader asks for it.
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// The calling thread's number.
fn thread_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    if THREAD.get() == 0 {
        THREAD.set(LAST.fetch_add(1, Relaxed) + 1);
    }
    THREAD.get()
}

/// What one thread has of a reader, and after its end the next that comes.
pub(crate) struct ReaderState {
    /// The thread whose it is.
    owner: Cell<u64>,
    /// The Pin of the newest version; one of `pins`.
    active: Cell<Option<NonNull<Pin>>>,
    /// The word of the version that was read last.
    last: Cell<u64>,
    /// The word of the version that the last wait ended with, whether or not it could then be read.
    awaited: Cell<u64>,
    /// Where the attachment's `current` and fork mark are: a read of an unchanged version looks at
    /// nothing else.
    current: Cell<NonNull<AtomicU64>>,
    mark: Cell<NonNull<AtomicU64>>,
    /// The last of `attachments`.
    attachment: Cell<NonNull<Attachment>>,
    /// The reader's, and those that the child of a fork made instead; none is dropped before the
    /// ReaderState.
    attachments: RefCell<Vec<Arc<Attachment>>>,
    options: ReaderOptions,
    reattach: fn(&Names, &ReaderOptions) -> Result<Attachment>,
    /// None is dropped before the ReaderState: a Version has a reference to its Pin.
    pins: RefCell<Vec<Rc<Pin>>>,
    /// Pins of the parent's, after a fork.
    inherited: RefCell<Vec<Rc<Pin>>>,
    /// Buffers that were read here, by their index.
    mapped: RefCell<Vec<Option<Arc<Mapping>>>>,
    /// Mappings that others have taken the place of; those that a held Pin shows are among them.
    replaced: RefCell<Vec<Arc<Mapping>>>,
}

// SAFETY: a ReaderState has no ties to its thread. Its Pins are counted in its own fields only, so
// all counts go along, and so do what `active`, `attachment` and the Pins' `bytes` and `mapping`
// point to. Versions that are still there when the next thread comes (in other threads, or in a
// thread-local variable of the one before, of a reader that lives for ever) have Pins that the
// ReaderState leaves to their owner as long as they are held (`welcome`, `settle`).
unsafe impl Send for ReaderState {}

/// Attempts to get hold of a version, without a slot, before it is replaced.
const TRIES: u32 = 1000;

/// A free Pin that is about to show a version. Free again when dropped, also by a hasher that
/// panics.
struct Taken<'a>(&'a Pin);

impl<'a> Taken<'a> {
    /// The Pin, held.
    #[inline]
    fn keep(self) -> &'a Pin {
        let pin = self.0;
        std::mem::forget(self);
        pin
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

impl ReaderState {
    pub(crate) fn new<H: Hasher + Default>(
        attachment: &Arc<Attachment>,
        options: &ReaderOptions,
    ) -> ReaderState {
        ReaderState {
            owner: Cell::new(thread_number()),
            current: Cell::new(NonNull::from(&attachment.state().live.current)),
            mark: Cell::new(NonNull::from(attachment.mark.word())),
            attachment: Cell::new(NonNull::from(&**attachment)),
            attachments: RefCell::new(vec![Arc::clone(attachment)]),
            // Who attaches anew after a fork does so at once.
            options: ReaderOptions { wait: Duration::ZERO, ..options.clone() },
            reattach: Attachment::open::<H>,
            active: Cell::new(None),
            last: Cell::new(NONE),
            awaited: Cell::new(NONE),
            pins: RefCell::default(),
            inherited: RefCell::default(),
            mapped: RefCell::default(),
            replaced: RefCell::default(),
        }
    }

    #[inline]
    pub(crate) fn attachment(&self) -> &Attachment {
        // SAFETY: it is in one of `attachments`, which are neither dropped nor moved (Arc) before
        // `self`.
        unsafe { self.attachment.get().as_ref() }
    }

    /// The version that was read here last, if this is the thread that read it and it is still the
    /// current one.
    #[inline]
    pub(crate) fn unchanged(&self) -> Option<&Pin> {
        // SAFETY: it is one of `pins`, which are neither dropped nor moved (Rc) before `self`.
        let pin: &Pin = unsafe { self.active.get()?.as_ref() };
        // SAFETY: they are in the mapping and the page of one of `attachments`, which are neither
        // dropped nor moved (Arc) before `self`.
        let (current, mark) = unsafe { (self.current.get().as_ref(), self.mark.get().as_ref()) };
        let is_own = mark.peek() != 0 && self.owner.get() == THREAD.get();
        (is_own && is_current(current, self.last.get())).then_some(pin)
    }

    /// A thread that comes after another has slots and mappings from it, but has read nothing.
    pub(crate) fn welcome(&self) {
        let here = thread_number();
        if self.owner.replace(here) != here {
            self.last.set(NONE);
            self.awaited.set(NONE);
            // What Versions hold stays with their owner until they are given up.
            // SAFETY: it is one of `pins`, as in `unchanged`.
            if let Some(pin) = self.active.take().map(|pin| unsafe { pin.as_ref() }) {
                pin.send_back();
            }
            self.settle_all(&self.pins.borrow());
        }
    }

    /// Finds what other threads have given up. Where there is one Pin only, it is looked at anyway.
    #[inline]
    fn settle_others(&self) {
        let pins = self.pins.borrow();
        if pins.len() > 1 {
            self.settle_all(&pins);
        }
    }

    #[cold]
    fn settle_all(&self, pins: &[Rc<Pin>]) {
        pins.iter().for_each(|pin| pin.settle(self.owner.get()));
    }

    /// Pins the current version. The Pin is the active one, and
    /// [`unchanged`](ReaderState::unchanged) as long as the version is; the flag says whether it is
    /// another than before.
    pub(crate) fn adopt<H: Hasher + Default>(&self) -> Result<(&Pin, bool)> {
        self.stay()?;
        self.settle_others();
        let seen = self.attachment().state().live.current.peek();
        self.attachment().index(seen)?;
        let taken = self.free_pin()?;
        match &taken.0.slot {
            Some(slot) => self.load_pinned::<H>(taken.0, slot, seen)?,
            None => self.load_unpinned::<H>(taken.0)?,
        }
        if !self.attachment().mark.is_here() {
            // The hasher has forked, and this is the child: what is pinned is pinned by the parent.
            drop(taken);
            return self.adopt::<H>();
        }
        let pin = taken.keep();
        pin.checked.set(None);
        if self.active.get().is_some() {
            self.retire();
        }
        self.active.set(Some(NonNull::from(pin)));
        Ok((pin, self.read_last(pin.word.get())))
    }

    /// Notes that `word` was read last. Returns whether it is another version than before.
    #[inline]
    pub(crate) fn read_last(&self, word: u64) -> bool {
        self.last.replace(word) != word
    }

    /// Where the current version and the fork mark are.
    pub(crate) fn watched(&self) -> (NonNull<AtomicU64>, NonNull<AtomicU64>) {
        (self.current.get(), self.mark.get())
    }

    /// Whether checksums are compared.
    pub(crate) fn verifies(&self) -> bool {
        self.options.verify
    }

    /// Pins it in the slot: from then on it can't change.
    #[inline]
    fn load_pinned<H: Hasher + Default>(
        &self,
        pin: &Pin,
        slot: &TakenSlot,
        seen: u64,
    ) -> Result<()> {
        let current = &self.attachment().state().live.current;
        // The header is looked at after the exchange. A look before it, to have its cache line the
        // sooner, makes this 12 ns longer when one core has all of them, and no shorter, as far as
        // could be seen, when another core has (EPYC, 2026-11-21).
        self.show(pin, protocol::pin::<_, All>(current, slot.pinned(), seen))?;
        // SAFETY: the bytes are pinned, and the mapping is one of `mapped`.
        self.verify::<H>(pin, unsafe { pin.bytes.get().as_ref() })
    }

    /// Without a slot: maps it, if its file is never written again, or copies it, and looks whether
    /// it was whole all the while.
    fn load_unpinned<H: Hasher + Default>(&self, pin: &Pin) -> Result<()> {
        let attachment = self.attachment();
        let mut refused = None;
        for _ in 0..TRIES {
            let word = copy_of(&attachment.state().live.current);
            if let Err(error) = self.show(pin, word) {
                // Replaced meanwhile, most likely: then there is a newer version.
                if is_current(&attachment.state().live.current, word) {
                    return Err(error);
                }
                refused = Some(error);
                continue;
            }
            if attachment.has_fresh_files() && !self.options.copy {
                // SAFETY: the file is never written again, and the mapping is one of `mapped`.
                return self.verify::<H>(pin, unsafe { pin.bytes.get().as_ref() });
            }
            // SAFETY: it is one of `mapped`, of which none is dropped before the next look at a new
            // buffer.
            let mapping = unsafe { pin.mapping.get().expect("just shown").as_ref() };
            // SAFETY: the Pin is free, so nobody has a reference into its copy, and it belongs to
            // this thread.
            let copy = unsafe { &mut *pin.copy.get() };
            let length = pin.bytes.get().len();
            let header: &Header = mapping.at(0);
            copy_to(copy, mapping, length);
            // `show` has found the stamp.
            if is_unchanged(&header.version, word) {
                pin.bytes.set(NonNull::slice_from_raw_parts(
                    NonNull::from(&mut copy[..]).cast(),
                    length,
                ));
                // SAFETY: `copy_to` has made the copy at least `length` bytes long, and nobody
                // changes it before the Pin is free again.
                return self.verify::<H>(pin, unsafe { pin.bytes.get().as_ref() });
            }
        }
        Err(refused.unwrap_or_else(|| Error::Overtaken {
            path: attachment.names.prefix().to_owned(),
            readers: attachment.names.readers(),
            tries: TRIES,
        }))
    }

    /// Lets `pin` show the buffer of version `word`.
    #[inline]
    fn show(&self, pin: &Pin, word: u64) -> Result<()> {
        match self.look(word) {
            Some((mapping, contents)) => pin.show(word, mapping, contents),
            None => self.show_new(pin, word)?,
        }
        Ok(())
    }

    /// The mapping that has version `word`, if it was mapped here.
    #[inline]
    fn look(&self, word: u64) -> Option<(NonNull<Mapping>, Contents)> {
        let mapped = self.mapped.borrow();
        let mapping = mapped.get(self.attachment().index(word).ok()?)?.as_deref()?;
        Some((NonNull::from(mapping), self.attachment().contents(mapping, word)?))
    }

    /// Lets `pin` show a buffer that was not read here, or not since its file was replaced.
    #[cold]
    fn show_new(&self, pin: &Pin, word: u64) -> Result<()> {
        let index = self.attachment().index(word)?;
        let (mapping, contents) = self.attachment().map(word)?;
        pin.show(word, NonNull::from(&*mapping), contents);
        let mut mapped = self.mapped.borrow_mut();
        if mapped.len() <= index {
            mapped.resize(index + 1, None);
        }
        let replaced = mapped[index].replace(mapping);
        self.replaced.borrow_mut().extend(replaced);
        self.drop_replaced();
        Ok(())
    }

    /// Compares the checksum of `bytes`, those of the version that `pin` shows, with what the
    /// writer has noted.
    #[inline]
    fn verify<H: Hasher + Default>(&self, pin: &Pin, bytes: &[u8]) -> Result<()> {
        if self.options.verify && checksum::<H>(bytes) != pin.checksum.get() {
            return Err(self.attachment().damaged(pin.word.get()));
        }
        Ok(())
    }

    /// A Pin that nobody holds: the active one if no Version holds it, so that its slot moves on.
    /// None is active afterwards.
    ///
    /// It counts as held from now on, so that a hasher that reads while its version is hashed finds
    /// another.
    #[inline]
    fn free_pin(&self) -> Result<Taken<'_>> {
        // SAFETY: it is one of `pins`, as in `unchanged`.
        if let Some(last) = self.active.take().map(|last| unsafe { last.as_ref() }) {
            // One hold less for having been active, and if that was the last, one more for being
            // taken.
            if last.holds() == 1 {
                return Ok(Taken(last));
            }
            last.give_up();
        }
        self.other_pin()
    }

    /// A Pin that nobody holds, from among those that were active before, or a new one with a slot
    /// of its own.
    #[cold]
    fn other_pin(&self) -> Result<Taken<'_>> {
        let mut pins = self.pins.borrow_mut();
        self.settle_all(&pins);
        let free = pins.iter().position(|pin| pin.holds() == 0);
        let index = match free {
            Some(index) => index,
            None => {
                let attachments = self.attachments.borrow();
                let attachment = attachments.last().expect("there is one from the beginning");
                pins.push(Rc::new(Pin::new(TakenSlot::new(attachment)?)));
                pins.len() - 1
            }
        };
        pins[index].hold();
        // SAFETY: Pins are neither moved (Rc) nor dropped before `self`, so the reference outlives
        // the borrow of the vector.
        Ok(Taken(unsafe { NonNull::from(&*pins[index]).as_ref() }))
    }

    /// Lets go of all that no Version holds: the active Pin, the slots of the others but one, the
    /// mappings and the copies.
    pub(crate) fn release(&self) {
        self.settle_all(&self.pins.borrow());
        // SAFETY: it is one of `pins`, as in `unchanged`.
        if let Some(pin) = self.active.get().map(|pin| unsafe { pin.as_ref() })
            && pin.holds() == 1
        {
            self.active.set(None);
            pin.give_up();
        }
        let mut pins = self.pins.borrow_mut();
        let mut keeps_one = true;
        // One of them keeps its slot, so that the next read needs none. Nobody has a reference to a
        // Pin that nobody holds.
        pins.retain(|pin| pin.holds() > 0 || std::mem::take(&mut keeps_one));
        for pin in pins.iter().filter(|pin| pin.holds() == 0) {
            // SAFETY: the Pin is free, so nobody has a reference into its copy, and it belongs to
            // this thread.
            unsafe { *pin.copy.get() = Vec::new() };
        }
        drop(pins);
        self.mapped.borrow_mut().iter_mut().for_each(|mapping| {
            self.replaced.borrow_mut().extend(mapping.take());
        });
        self.drop_replaced();
    }

    /// Unmaps what others have taken the place of, but for what a held Pin shows.
    fn drop_replaced(&self) {
        let (pins, inherited) = (self.pins.borrow(), self.inherited.borrow());
        let held = || pins.iter().chain(inherited.iter()).filter(|pin| pin.holds() > 0);
        let is_shown = |mapping: &Arc<Mapping>| {
            held().any(|pin| pin.mapping.get() == Some(NonNull::from(&**mapping)))
        };
        self.replaced.borrow_mut().retain(is_shown);
    }

    /// A hasher that has read meanwhile has made its Pin the active one: it is not any more.
    #[cold]
    fn retire(&self) {
        // SAFETY: it is one of `pins`, as in `unchanged`.
        if let Some(other) = self.active.take().map(|other| unsafe { other.as_ref() }) {
            other.give_up();
        }
    }

    /// Takes a slot before the first read needs one.
    pub(crate) fn prepare(&self) -> Result<()> {
        // A slot that the child of a fork takes through what it has inherited may be the parent's.
        self.stay()?;
        self.free_pin().map(drop)
    }

    /// Sleeps until there is a version that was not read here, nor waited for before; `false` after
    /// `timeout`.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<bool> {
        self.stay()?;
        let seen = self.last.get();
        let started = Instant::now();
        loop {
            let attachment = self.attachment();
            let live = &attachment.state().live;
            let ticket = draw_ticket(&live.ticket) as u32;
            let word = live.current.peek();
            if word != NONE && word != seen && word != self.awaited.get() {
                self.awaited.set(word);
                return Ok(true);
            }
            let Some(left) = timeout.checked_sub(started.elapsed()).filter(|left| !left.is_zero())
            else {
                return Ok(false);
            };
            let nap = match attachment.slot_table() {
                Some(slot_table)
                    if may_sleep(&live.current, &slot_table.head().shared.waiters, word) =>
                {
                    left
                }
                Some(_) => continue,
                // The writer can't know of this one. It wakes everybody when it makes fresh files,
                // if that is what it still does.
                None if attachment.has_fresh_files() => left.min(Duration::from_millis(100)),
                None => left.min(Duration::from_millis(1)),
            };
            sys::sleep_on(&live.ticket, ticket, nap)
                .map_err(Error::io("waiting for", attachment.names.state()))?;
        }
    }

    /// In the child of a fork: attaches anew, so that it has slots of its own. What the parent's
    /// slots protect is the parent's.
    #[inline]
    fn stay(&self) -> Result<()> {
        if self.attachment().mark.is_here() { Ok(()) } else { self.reattach() }
    }

    #[cold]
    fn reattach(&self) -> Result<()> {
        let attachment = self.attachment();
        let own = Arc::new((self.reattach)(&attachment.names, &self.options)?);
        self.active.set(None);
        self.inherited.borrow_mut().append(&mut self.pins.borrow_mut());
        self.replaced.borrow_mut().extend(self.mapped.borrow_mut().drain(..).flatten());
        self.current.set(NonNull::from(&own.state().live.current));
        self.mark.set(NonNull::from(own.mark.word()));
        self.attachment.set(NonNull::from(&*own));
        self.attachments.borrow_mut().push(own);
        Ok(())
    }
}

/// Copies the `length` bytes of a version, word by word, for they may change meanwhile.
fn copy_to(copy: &mut Vec<Line>, mapping: &Mapping, length: usize) {
    copy.resize(length.div_ceil(HEADER_BYTES), Line([0; 8]));
    let words = mapping.words(HEADER_BYTES, length.div_ceil(8));
    for (line, words) in copy.iter_mut().zip(words.chunks(8)) {
        for (to, from) in line.0.iter_mut().zip(words) {
            *to = from.peek();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// A Pin between a thread that ends and the one that comes after it.
    struct Between(Pin);

    // SAFETY: what the test shows (to Miri): the one takes the Pin only after the other has given
    // it up.
    unsafe impl Sync for Between {}

    /// A Version in a thread-local variable may be given up when the next thread has the
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
                    pin.0.give_up();
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
