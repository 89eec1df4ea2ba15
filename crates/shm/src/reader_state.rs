//! The reading state of one thread, or of one [`LocalReader`](crate::LocalReader): its slots, the
//! versions pinned in them, and the buffers that it has mapped.
//!
//! ```text
//!  ReaderState ──┬── active Pin: the newest version that was read here
//!                └── older Pins, as long as a Version of them is held
//!  Pin ──> slot in P.readers, and the mapping
//! ```
//!
//! The newest version stays pinned between reads ("sticky"), which is why a read is one load. If a
//! Pin is held when a newer version is read, it keeps its slot, and the ReaderState takes another
//! slot.
#![allow(unsafe_code, reason = "reads bytes that are pinned")]

use crate::attachment::{Attachment, Contents, ReaderSlot};
use crate::checksum::checksum;
use crate::error::{Error, Result};
use crate::files::Names;
use crate::layout::{HEADER_BYTES, Header};
use crate::options::ReaderOptions;
use crate::pin::{Line, Pin, THREAD, thread_number};
use crate::protocol::{
    self, All, NONE, Word, is_current, is_unchanged, load_for_copy, load_ticket, may_sleep,
};
use crate::sys::{self, Mapping};
use std::cell::{Cell, RefCell};
use std::hash::Hasher;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

/// The reading state of one thread. When the thread ends, the next thread that needs one takes it
/// over.
pub(crate) struct ReaderState {
    /// The number of the thread that has it.
    owner: Cell<u64>,
    /// The Pin of the newest version read here; one of `pins`.
    active: Cell<Option<NonNull<Pin>>>,
    /// The word of the version that was read last.
    last: Cell<u64>,
    /// The word of the version that ended the last wait, whether or not it could then be read.
    awaited: Cell<u64>,
    /// The attachment's `current` and fork mark. A read of an unchanged version accesses nothing
    /// else.
    current: Cell<NonNull<AtomicU64>>,
    mark: Cell<NonNull<AtomicU64>>,
    /// The last of `attachments`.
    attachment: Cell<NonNull<Attachment>>,
    /// The reader's attachment, then those that replaced it in children of forks. None is dropped
    /// before the ReaderState.
    attachments: RefCell<Vec<Arc<Attachment>>>,
    options: ReaderOptions,
    reattach: fn(&Names, &ReaderOptions) -> Result<Attachment>,
    /// None is dropped before the ReaderState: a Version has a reference to its Pin.
    pins: RefCell<Vec<Rc<Pin>>>,
    /// After a fork: the parent's Pins.
    inherited: RefCell<Vec<Rc<Pin>>>,
    /// Buffers read here, by index.
    mapped: RefCell<Vec<Option<Arc<Mapping>>>>,
    /// Mappings that newer ones have replaced, and to which a held Pin may still refer.
    replaced: RefCell<Vec<Arc<Mapping>>>,
}

// SAFETY: a ReaderState is not tied to its thread. Its Pins are counted only in its own fields, so
// all counts move with it, and so do the targets of `active`, `attachment` and the Pins' `bytes`
// and `mapping`. Versions may still exist when the next thread takes over: in other threads, or in
// a thread-local variable of the previous one if its reader lives for ever. The ReaderState leaves
// their Pins to their owner while they are held (`take_over`, `collect_released`).
unsafe impl Send for ReaderState {}

/// Maximum number of attempts to read a version without a slot before it is replaced.
const TRIES: u32 = 1000;

/// A free Pin that is about to get a version. Dropping it frees it again, even if a hasher panics.
struct ClaimedPin<'a>(&'a Pin);

impl<'a> ClaimedPin<'a> {
    /// Returns the Pin, still held.
    #[inline]
    fn into_pin(self) -> &'a Pin {
        let pin = self.0;
        std::mem::forget(self);
        pin
    }
}

impl Drop for ClaimedPin<'_> {
    fn drop(&mut self) {
        self.0.release_local();
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
            // Reattaching after a fork doesn't wait.
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
        // SAFETY: it is one of `attachments`, which are neither dropped nor moved (Arc) before
        // `self`.
        unsafe { self.attachment.get().as_ref() }
    }

    /// Returns the Pin of the version read here last, if this thread read it and it is still
    /// current.
    #[inline]
    pub(crate) fn unchanged(&self) -> Option<&Pin> {
        // SAFETY: it is one of `pins`, which are neither dropped nor moved (Rc) before `self`.
        let pin: &Pin = unsafe { self.active.get()?.as_ref() };
        // SAFETY: they are in the mapping and the page of one of `attachments`, which are neither
        // dropped nor moved (Arc) before `self`.
        let (current, mark) = unsafe { (self.current.get().as_ref(), self.mark.get().as_ref()) };
        let is_own = mark.load_relaxed() != 0 && self.owner.get() == THREAD.get();
        (is_own && is_current(current, self.last.get())).then_some(pin)
    }

    /// Makes the calling thread the owner. It inherits slots and mappings from the previous thread,
    /// but has read nothing.
    pub(crate) fn take_over(&self) {
        let here = thread_number();
        if self.owner.replace(here) != here {
            self.last.set(NONE);
            self.awaited.set(NONE);
            // Pins held by Versions stay with their owner until the Versions are dropped.
            // SAFETY: it is one of `pins`, as in `unchanged`.
            if let Some(pin) = self.active.take().map(|pin| unsafe { pin.as_ref() }) {
                pin.release_remote();
            }
            self.collect_all(&self.pins.borrow());
        }
    }

    /// Collects the holds that other threads have released. A single Pin is checked anyway.
    #[inline]
    fn collect_others(&self) {
        let pins = self.pins.borrow();
        if pins.len() > 1 {
            self.collect_all(&pins);
        }
    }

    #[cold]
    fn collect_all(&self, pins: &[Rc<Pin>]) {
        pins.iter().for_each(|pin| pin.collect_released(self.owner.get()));
    }

    /// Pins the current version and makes its Pin the active one.
    /// [`unchanged`](ReaderState::unchanged) returns it as long as the version is current. The flag
    /// says whether the version differs from the last one read.
    pub(crate) fn pin_current<H: Hasher + Default>(&self) -> Result<(&Pin, bool)> {
        self.reattach_after_fork()?;
        self.collect_others();
        let seen = self.attachment().state().live.current.load_relaxed();
        self.attachment().index(seen)?;
        let claimed = self.free_pin()?;
        match &claimed.0.slot {
            Some(slot) => self.load_pinned::<H>(claimed.0, slot, seen)?,
            None => self.load_unpinned::<H>(claimed.0)?,
        }
        if !self.attachment().mark.is_original_process() {
            // The hasher has forked, and this is the child: the slot belongs to the parent.
            drop(claimed);
            return self.pin_current::<H>();
        }
        let pin = claimed.into_pin();
        pin.checked.set(None);
        if self.active.get().is_some() {
            self.deactivate();
        }
        self.active.set(Some(NonNull::from(pin)));
        Ok((pin, self.set_last(pin.word.get())))
    }

    /// Records `word` as the version read last. Returns whether it differs from the previous one.
    #[inline]
    pub(crate) fn set_last(&self, word: u64) -> bool {
        self.last.replace(word) != word
    }

    /// Returns pointers to the state's `current` and to the fork mark's word.
    pub(crate) fn watched(&self) -> (NonNull<AtomicU64>, NonNull<AtomicU64>) {
        (self.current.get(), self.mark.get())
    }

    /// Returns whether checksums are verified.
    pub(crate) fn verifies(&self) -> bool {
        self.options.verify
    }

    /// Pins the current version in the slot, so that it can't change any more.
    #[inline]
    fn load_pinned<H: Hasher + Default>(
        &self,
        pin: &Pin,
        slot: &ReaderSlot,
        seen: u64,
    ) -> Result<()> {
        let current = &self.attachment().state().live.current;
        // The header is read after the exchange. Reading it first, to get its cache line earlier,
        // takes 12 ns longer when one core has all lines, and saves nothing measurable when another
        // core has them (EPYC, 2026-11-21).
        self.show_version(pin, protocol::pin::<_, All>(current, slot.pinned(), seen))?;
        // SAFETY: the bytes are pinned, and the mapping is one of `mapped`.
        self.verify::<H>(pin, unsafe { pin.bytes.get().as_ref() })
    }

    /// Reads the current version without a slot: maps it if its file is never written again,
    /// otherwise copies it and checks that it did not change during the copy.
    fn load_unpinned<H: Hasher + Default>(&self, pin: &Pin) -> Result<()> {
        let attachment = self.attachment();
        let mut refused = None;
        for _ in 0..TRIES {
            let word = load_for_copy(&attachment.state().live.current);
            if let Err(error) = self.show_version(pin, word) {
                // Most likely it was replaced in the meantime: then there is a newer version.
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
            // SAFETY: it is one of `mapped`, none of which is dropped before the next new buffer is
            // mapped.
            let mapping = unsafe { pin.mapping.get().expect("just shown").as_ref() };
            // SAFETY: the Pin is free, so there is no reference into its copy, and it belongs to
            // this thread.
            let copy = unsafe { &mut *pin.copy.get() };
            let length = pin.bytes.get().len();
            let header: &Header = mapping.at(0);
            copy_to(copy, mapping, length);
            // `show_version` has found the stamp.
            if is_unchanged(&header.version, word) {
                pin.bytes.set(NonNull::slice_from_raw_parts(
                    NonNull::from(&mut copy[..]).cast(),
                    length,
                ));
                // SAFETY: `copy_to` has made the copy at least `length` bytes long, and it isn't
                // changed before the Pin is free again.
                return self.verify::<H>(pin, unsafe { pin.bytes.get().as_ref() });
            }
        }
        Err(refused.unwrap_or_else(|| Error::Overtaken {
            path: attachment.names.prefix().to_owned(),
            readers: attachment.names.readers(),
            tries: TRIES,
        }))
    }

    /// Makes `pin` the pin of version `word`.
    #[inline]
    fn show_version(&self, pin: &Pin, word: u64) -> Result<()> {
        match self.find_mapped(word) {
            Some((mapping, contents)) => pin.set_version(word, mapping, contents),
            None => self.map_version(pin, word)?,
        }
        Ok(())
    }

    /// Returns the mapping of version `word`'s buffer, if it was mapped here.
    #[inline]
    fn find_mapped(&self, word: u64) -> Option<(NonNull<Mapping>, Contents)> {
        let mapped = self.mapped.borrow();
        let mapping = mapped.get(self.attachment().index(word).ok()?)?.as_deref()?;
        Some((NonNull::from(mapping), self.attachment().contents(mapping, word)?))
    }

    /// Makes `pin` the pin of version `word`, mapping its buffer: it was not mapped here yet, or
    /// its file was replaced.
    #[cold]
    fn map_version(&self, pin: &Pin, word: u64) -> Result<()> {
        let index = self.attachment().index(word)?;
        let (mapping, contents) = self.attachment().map(word)?;
        pin.set_version(word, NonNull::from(&*mapping), contents);
        let mut mapped = self.mapped.borrow_mut();
        if mapped.len() <= index {
            mapped.resize(index + 1, None);
        }
        let replaced = mapped[index].replace(mapping);
        self.replaced.borrow_mut().extend(replaced);
        self.drop_replaced();
        Ok(())
    }

    /// Checks `bytes`, the content of `pin`'s version, against the checksum in the header.
    #[inline]
    fn verify<H: Hasher + Default>(&self, pin: &Pin, bytes: &[u8]) -> Result<()> {
        if self.options.verify && checksum::<H>(bytes) != pin.checksum.get() {
            return Err(self.attachment().damaged(pin.word.get()));
        }
        Ok(())
    }

    /// Returns a Pin without holders: the active one if no Version holds it, so that its slot is
    /// reused. Afterwards no Pin is active.
    ///
    /// The returned Pin counts as held, so a hasher that reads while its version is hashed gets
    /// another Pin.
    #[inline]
    fn free_pin(&self) -> Result<ClaimedPin<'_>> {
        // SAFETY: it is one of `pins`, as in `unchanged`.
        if let Some(last) = self.active.take().map(|last| unsafe { last.as_ref() }) {
            // The active Pin's hold becomes the claimed Pin's hold.
            if last.holds() == 1 {
                return Ok(ClaimedPin(last));
            }
            last.release_local();
        }
        self.other_pin()
    }

    /// Returns an older Pin without holders, or a new one with its own slot.
    #[cold]
    fn other_pin(&self) -> Result<ClaimedPin<'_>> {
        let mut pins = self.pins.borrow_mut();
        self.collect_all(&pins);
        let free = pins.iter().position(|pin| pin.holds() == 0);
        let index = match free {
            Some(index) => index,
            None => {
                let attachments = self.attachments.borrow();
                let attachment = attachments.last().expect("there is at least one");
                pins.push(Rc::new(Pin::new(ReaderSlot::new(attachment)?)));
                pins.len() - 1
            }
        };
        pins[index].hold();
        // SAFETY: Pins are neither moved (Rc) nor dropped before `self`, so the reference outlives
        // the borrow of the vector.
        Ok(ClaimedPin(unsafe { NonNull::from(&*pins[index]).as_ref() }))
    }

    /// Releases what no Version holds: the active Pin, all slots except one, mappings and copies.
    pub(crate) fn release(&self) {
        self.collect_all(&self.pins.borrow());
        // SAFETY: it is one of `pins`, as in `unchanged`.
        if let Some(pin) = self.active.get().map(|pin| unsafe { pin.as_ref() })
            && pin.holds() == 1
        {
            self.active.set(None);
            pin.release_local();
        }
        let mut pins = self.pins.borrow_mut();
        let mut keeps_one = true;
        // One free Pin keeps its slot for the next read. There is no reference to a Pin without
        // holders.
        pins.retain(|pin| pin.holds() > 0 || std::mem::take(&mut keeps_one));
        for pin in pins.iter().filter(|pin| pin.holds() == 0) {
            // SAFETY: the Pin is free, so there is no reference into its copy, and it belongs to
            // this thread.
            unsafe { *pin.copy.get() = Vec::new() };
        }
        drop(pins);
        self.mapped.borrow_mut().iter_mut().for_each(|mapping| {
            self.replaced.borrow_mut().extend(mapping.take());
        });
        self.drop_replaced();
    }

    /// Unmaps replaced mappings that no held Pin refers to.
    fn drop_replaced(&self) {
        let (pins, inherited) = (self.pins.borrow(), self.inherited.borrow());
        let held = || pins.iter().chain(inherited.iter()).filter(|pin| pin.holds() > 0);
        let is_in_use = |mapping: &Arc<Mapping>| {
            held().any(|pin| pin.mapping.get() == Some(NonNull::from(&**mapping)))
        };
        self.replaced.borrow_mut().retain(is_in_use);
    }

    /// Releases the Pin that a hasher has made active by a read of its own.
    #[cold]
    fn deactivate(&self) {
        // SAFETY: it is one of `pins`, as in `unchanged`.
        if let Some(other) = self.active.take().map(|other| unsafe { other.as_ref() }) {
            other.release_local();
        }
    }

    /// Takes a slot before the first read needs one.
    pub(crate) fn prepare(&self) -> Result<()> {
        // In the child of a fork, the inherited slot table could give it the parent's slots.
        self.reattach_after_fork()?;
        self.free_pin().map(drop)
    }

    /// Sleeps until there is a version that was not read here and did not end an earlier wait.
    /// Returns `false` after `timeout`.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<bool> {
        self.reattach_after_fork()?;
        let seen = self.last.get();
        let started = Instant::now();
        loop {
            let attachment = self.attachment();
            let live = &attachment.state().live;
            let ticket = load_ticket(&live.ticket) as u32;
            let word = live.current.load_relaxed();
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
                // Without a slot table it can't ask to be woken. A writer that creates fresh files
                // wakes all readers, unless its successor doesn't create them.
                None if attachment.has_fresh_files() => left.min(Duration::from_millis(100)),
                None => left.min(Duration::from_millis(1)),
            };
            sys::sleep_on(&live.ticket, ticket, nap)
                .map_err(Error::io("waiting for", attachment.names.state()))?;
        }
    }

    /// Attaches again in the child of a fork, for its own slots. The parent's slots protect only
    /// the parent's versions.
    #[inline]
    fn reattach_after_fork(&self) -> Result<()> {
        if self.attachment().mark.is_original_process() { Ok(()) } else { self.reattach() }
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

/// Copies the `length` bytes of a version by atomic words, since they may change during the copy.
fn copy_to(copy: &mut Vec<Line>, mapping: &Mapping, length: usize) {
    copy.resize(length.div_ceil(HEADER_BYTES), Line([0; 8]));
    let words = mapping.words(HEADER_BYTES, length.div_ceil(8));
    for (line, words) in copy.iter_mut().zip(words.chunks(8)) {
        for (to, from) in line.0.iter_mut().zip(words) {
            *to = from.load_relaxed();
        }
    }
}
