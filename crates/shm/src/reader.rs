//! The reader: one load if nothing is new, else a pin and a look at the buffer's header. No lock, no loop, no system call, but for the first look at a buffer.
//!
//! ```text
//!  Reader (cheap to clone, any thread) ── Local, one a thread ──┬── active Pin: the newest version that this thread has read
//!                                                               └── older Pins, as long as a Version of them is held
//!  Version ──> Pin ──> slot in P.readers, and the mapping
//! ```
//!
//! A thread's newest version stays pinned between reads ("sticky"): that is what makes a read one load. A `Version` counts in its Pin with plain
//! numbers, because it can't leave its thread. A Pin that is held when a newer version is read stays behind with its slot, and the thread takes another.
#![allow(unsafe_code, reason = "lends pinned bytes for as long as they are pinned")]

use crate::attachment::{Attachment, TakenSlot, contents};
use crate::checksum::{Xxh3, checksum};
use crate::error::{Error, Result};
use crate::files::Names;
use crate::layout::{HEADER_BYTES, Header};
use crate::protocol::{self, All, NONE, Word, copy_stable, may_sleep, sequence_of};
use crate::sys::{self, Mapping};
use std::any::TypeId;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::fmt;
use std::hash::Hasher;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::Path;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use thread_local::ThreadLocal;

/// How a [`Reader`] reads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReaderOptions {
    /// Compares the checksum of each version, once, when a thread first reads it. On by default.
    pub verify: bool,
    /// Takes no slot, and copies each version to memory of its own instead: against a writer that is not trusted to leave alone what it has published.
    /// Off by default; what a reader does anyway that may not write `P.readers`.
    pub copy: bool,
}

impl Default for ReaderOptions {
    fn default() -> ReaderOptions {
        ReaderOptions { verify: true, copy: false }
    }
}

/// Reads the versions under a prefix. A clone is the same reader; so is a reference in another thread.
///
/// Each thread that reads takes a slot, and keeps the newest version that it has read pinned until it reads a newer one or calls [`Reader::release`].
/// Slots are given back when the last clone is dropped; the kernel does it if the process dies. The slot of a thread that ended, with what is pinned in it, goes to
/// the next thread that reads: let threads that end call [`Reader::release`].
pub struct Reader<H = Xxh3> {
    inner: Arc<Inner>,
    hasher: PhantomData<fn() -> H>,
}

impl<H> fmt::Debug for Reader<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("prefix", &self.inner.attachment.names.prefix())
            .finish_non_exhaustive()
    }
}

struct Inner {
    attachment: Arc<Attachment>,
    options: ReaderOptions,
    locals: ThreadLocal<Local>,
}

impl<H> Clone for Reader<H> {
    fn clone(&self) -> Reader<H> {
        Reader { inner: Arc::clone(&self.inner), hasher: PhantomData }
    }
}

impl Reader {
    /// Attaches to what a writer makes under `path`, with the default options and checksum. See [`Reader::with_options`].
    ///
    /// # Errors
    /// As [`Reader::with_options`].
    pub fn open(path: impl AsRef<Path>) -> Result<Reader> {
        Reader::with_options(path, ReaderOptions::default())
    }
}

impl<H: Hasher + Default> Reader<H> {
    /// Attaches to what a writer makes, or made, under `path`, the beginning of the names of all files. Creates and changes none of them, but for its slots in `P.readers`.
    ///
    /// If this user may not write `P.readers`, versions are copied to memory of the reader, or mapped by name if the writer makes
    /// [fresh files](crate::WriterOptions::fresh_files). Everything else is the same.
    ///
    /// # Errors
    /// [`Error::Io`] with kind `NotFound` if there never was a writer; [`Error::NotReady`] if it has not got far enough; [`Error::Foreign`] if the files are something
    /// else, or were written with another checksum; [`Error::TooManyReaders`] if no slot is free.
    pub fn with_options(path: impl AsRef<Path>, options: ReaderOptions) -> Result<Reader<H>> {
        let names = Names::new(path.as_ref())?;
        let attachment = Arc::new(Attachment::open::<H>(&names, &options)?);
        let reader = Reader {
            inner: Arc::new(Inner { attachment, options, locals: ThreadLocal::new() }),
            hasher: PhantomData,
        };
        let local = reader.local()?;
        local.prepare()?;
        Ok(reader)
    }

    /// The current version. It can't change as long as the guard lives, however long that is, and the writer does not wait for it.
    ///
    /// # Errors
    /// [`Error::NotReady`] before the first version; [`Error::Corrupt`] if the current version's header or checksum can't be true;
    /// [`Error::TooManyReaders`] if this thread or an older version that it still holds needs a slot and none is free; [`Error::Io`] if a
    /// buffer's file can't be opened or mapped; [`Error::Overtaken`] only without a slot.
    #[inline]
    pub fn read(&self) -> Result<Version<'_>> {
        if let Some(local) = self.inner.locals.get()
            && let Some(version) = local.unchanged()
        {
            return Ok(version);
        }
        self.adopt()
    }

    /// Sleeps until there is a version newer than the one that this thread read last, and returns it; `None` after `timeout`.
    ///
    /// Nobody wakes it when the files are removed or made anew, or the writer ends: who waits for ever waits in turns, and asks [`Reader::is_orphaned`] and
    /// [`Reader::has_writer`] in between. Without a slot it looks once a millisecond, unless the writer makes [fresh files](crate::WriterOptions::fresh_files).
    ///
    /// # Errors
    /// As [`Reader::read`], but for [`Error::NotReady`]: it waits for the first version. An error is returned at once, and again by the next call as long as the
    /// version that causes it is current: pause before trying again.
    pub fn wait_newer(&self, timeout: Duration) -> Result<Option<Version<'_>>> {
        let local = self.local()?;
        local.stay()?;
        let seen = local.last.get();
        let started = Instant::now();
        loop {
            let attachment = local.attachment();
            let live = &attachment.state().live;
            let ticket = live.ticket.load(Relaxed);
            let word = live.current.get();
            if word != NONE && word != seen {
                return self.adopt().map(Some);
            }
            let Some(left) = timeout.checked_sub(started.elapsed()).filter(|left| !left.is_zero()) else {
                return Ok(None);
            };
            let nap = match attachment.roll() {
                Some(roll) if may_sleep(&live.current, &roll.head().shared.waiters, word) => left,
                Some(_) => continue,
                // The writer can't know of this one. It wakes everybody when it makes fresh files, if that is what it still does.
                None if attachment.has_fresh_files() => left.min(Duration::from_millis(100)),
                None => left.min(Duration::from_millis(1)),
            };
            sys::sleep_on(&live.ticket, ticket, nap)
                .map_err(Error::io("waiting for", attachment.names.state()))?;
        }
    }

    /// The number of the current version, without reading it; `None` before the first. Numbers only grow, also from one writer to the next.
    pub fn version(&self) -> Option<u64> {
        let word = self.inner.attachment.state().live.current.get();
        (word != NONE).then(|| sequence_of(word))
    }

    /// Lets go of the version that this thread read last, if no guard holds it: for a thread that will not read for long, so that it costs no buffer.
    pub fn release(&self) {
        if let Some(local) = self.inner.locals.get() {
            local.release();
        }
    }

    /// Whether this reader has slots, and so reads without copying; see [`Reader::with_options`].
    pub fn has_slots(&self) -> bool {
        self.inner.attachment.roll().is_some()
    }

    /// Whether a writer lives. A system call.
    ///
    /// # Errors
    /// [`Error::Io`] if the system can't tell.
    pub fn has_writer(&self) -> Result<bool> {
        self.inner.attachment.has_writer()
    }

    /// Whether the files were removed, or made anew, since this reader attached: it will see no new version then. A system call or two.
    ///
    /// # Errors
    /// [`Error::Io`] if the system can't tell.
    pub fn is_orphaned(&self) -> Result<bool> {
        self.inner.attachment.is_orphaned()
    }

    fn local(&self) -> Result<&Local> {
        let inner = &self.inner;
        let local = inner.locals.get_or(|| {
            Local::new(Arc::clone(&inner.attachment), inner.options.clone(), Attachment::open::<H>)
        });
        local.welcome();
        Ok(local)
    }

    /// The long way of `read`: there is a newer version, or this thread's first. Kept out of `read`, whose short way would else save registers for it: 3.9 ns
    /// instead of 2 (EPYC, 2026-11-21).
    #[inline(never)]
    fn adopt(&self) -> Result<Version<'_>> {
        self.local()?.adopt::<H>()
    }
}

/// A version that is held: dereferences to its bytes, which stay as they are for as long as it lives.
pub struct Version<'a> {
    pin: &'a Pin,
    is_new: bool,
}

impl<'a> Version<'a> {
    #[inline]
    fn new(pin: &'a Pin, is_new: bool) -> Version<'a> {
        pin.holds.set(pin.holds.get() + 1);
        Version { pin, is_new }
    }

    /// Its number. Numbers only grow.
    #[inline]
    pub fn sequence(&self) -> u64 {
        sequence_of(self.pin.word.get())
    }

    /// Whether this is another version than the one that this thread read before.
    #[inline]
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Whether [`Version::set_checked`] was called for this type since the version was adopted.
    #[cfg(feature = "rkyv")]
    #[inline]
    pub(crate) fn is_checked(&self, archived: TypeId) -> bool {
        self.pin.checked.get() == Some(archived)
    }

    /// Notes that the bytes are a sound archive of this type.
    #[cfg(feature = "rkyv")]
    pub(crate) fn set_checked(&self, archived: TypeId) {
        self.pin.checked.set(Some(archived));
    }
}

impl fmt::Debug for Version<'_> {
    /// Which one and how long: its bytes may be a gigabyte.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Version")
            .field("sequence", &self.sequence())
            .field("bytes", &self.len())
            .finish_non_exhaustive()
    }
}

impl Deref for Version<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are in the Pin's mapping or copy, which stay as they are while the Pin counts this Version (`Pin::is_held`); no writer changes
        // them while the Pin's slot names them. In the child of a fork that protection is the parent's; the crate's documentation says so.
        unsafe { self.pin.bytes.get().as_ref() }
    }
}

impl Drop for Version<'_> {
    #[inline]
    fn drop(&mut self) {
        let holds = self.pin.holds.get() - 1;
        self.pin.holds.set(holds);
        if holds == 0 {
            self.pin.let_go();
        }
    }
}

/// A mapping, shared by the threads (Arc), counted among the Pins of one without atomics (Rc).
type Shown = Rc<Arc<Mapping>>;

/// One pinned version, and what it is read from.
struct Pin {
    slot: Option<TakenSlot>,
    word: Cell<u64>,
    bytes: Cell<NonNull<[u8]>>,
    checksum: Cell<u64>,
    /// Versions that hold it, and one if it is active.
    holds: Cell<usize>,
    /// The archived type that the bytes were found to be.
    checked: Cell<Option<TypeId>>,
    mapping: RefCell<Option<Shown>>,
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
            holds: Cell::new(0),
            checked: Cell::new(None),
            mapping: RefCell::new(None),
            copy: UnsafeCell::new(Vec::new()),
        }
    }

    /// Shows version `word`, in a mapping that fits it. Only for a Pin that nobody holds.
    #[inline]
    fn show(&self, word: u64, mapping: &Shown) {
        let (bytes, checksum) = contents(mapping);
        self.word.set(word);
        self.bytes.set(bytes);
        self.checksum.set(checksum);
        let mut shown = self.mapping.borrow_mut();
        if !shown.as_ref().is_some_and(|shown| Rc::ptr_eq(shown, mapping)) {
            *shown = Some(Rc::clone(mapping));
        }
    }

    #[cold]
    fn let_go(&self) {
        if let Some(slot) = &self.slot {
            slot.unpin();
        }
    }

    /// Whether its bytes must stay as they are.
    fn is_held(&self) -> bool {
        self.holds.get() > 0
    }
}

fn nothing() -> NonNull<[u8]> {
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
struct Local {
    /// The thread whose it is.
    owner: Cell<u64>,
    /// The Pin of the newest version; one of `pins`.
    active: Cell<Option<NonNull<Pin>>>,
    /// The word of the version that was read last.
    last: Cell<u64>,
    /// Where the attachment's `current` and fork mark are: a read of an unchanged version looks at nothing else.
    current: Cell<NonNull<AtomicU64>>,
    mark: Cell<NonNull<AtomicU64>>,
    /// The last of `attachments`.
    attachment: Cell<NonNull<Attachment>>,
    /// The reader's, and those that the child of a fork made instead; none is dropped before the Local.
    attachments: RefCell<Vec<Arc<Attachment>>>,
    options: ReaderOptions,
    reattach: fn(&Names, &ReaderOptions) -> Result<Attachment>,
    /// None is dropped before the Local: a Version has a reference to its Pin.
    pins: RefCell<Vec<Rc<Pin>>>,
    /// Pins of the parent's, after a fork.
    inherited: RefCell<Vec<Rc<Pin>>>,
    /// Buffers that this thread has read from.
    mapped: RefCell<Vec<Option<Shown>>>,
}

// SAFETY: a Local has no ties to its thread. Its Pins and what they show are counted in its own fields only, so all counts go along, and so do what `active`,
// `attachment` and the Pins' `bytes` point to. Versions don't go along: they can't leave their thread, and end before it does.
unsafe impl Send for Local {}

/// Attempts to get hold of a version, without a slot, before it is replaced.
const TRIES: u32 = 1000;

impl Local {
    fn new(
        attachment: Arc<Attachment>,
        options: ReaderOptions,
        reattach: fn(&Names, &ReaderOptions) -> Result<Attachment>,
    ) -> Local {
        Local {
            owner: Cell::new(thread_number()),
            current: Cell::new(NonNull::from(&attachment.state().live.current)),
            mark: Cell::new(NonNull::from(attachment.mark.word())),
            attachment: Cell::new(NonNull::from(&*attachment)),
            attachments: RefCell::new(vec![attachment]),
            options,
            reattach,
            active: Cell::new(None),
            last: Cell::new(NONE),
            pins: RefCell::default(),
            inherited: RefCell::default(),
            mapped: RefCell::default(),
        }
    }

    #[inline]
    fn attachment(&self) -> &Attachment {
        // SAFETY: it is in one of `attachments`, which are neither dropped nor moved (Arc) before `self`.
        unsafe { self.attachment.get().as_ref() }
    }

    /// The version that this thread read last, if it is still the current one.
    #[inline]
    fn unchanged(&self) -> Option<Version<'_>> {
        // SAFETY: it is one of `pins`, which are neither dropped nor moved (Rc) before `self`.
        let pin: &Pin = unsafe { self.active.get()?.as_ref() };
        // SAFETY: they are in the mapping and the page of one of `attachments`, which are neither dropped nor moved (Arc) before `self`.
        let (current, mark) = unsafe { (self.current.get().as_ref(), self.mark.get().as_ref()) };
        let is_own = mark.peek() != 0 && self.owner.get() == THREAD.get();
        (is_own && current.get() == self.last.get()).then(|| Version::new(pin, false))
    }

    /// A thread that comes after another has slots and mappings from it, but has read nothing.
    fn welcome(&self) {
        let here = thread_number();
        if self.owner.replace(here) != here {
            self.last.set(NONE);
        }
    }

    /// Pins the current version.
    fn adopt<H: Hasher + Default>(&self) -> Result<Version<'_>> {
        self.stay()?;
        let attachment = self.attachment();
        let seen = attachment.state().live.current.get();
        attachment.index(seen)?;
        let pin = self.free_pin()?;
        let loaded = match &pin.slot {
            Some(slot) => self.load_pinned::<H>(pin, slot, seen),
            None => self.load_unpinned::<H>(pin),
        };
        if let Err(error) = loaded {
            pin.holds.set(0);
            pin.let_go();
            return Err(error);
        }
        pin.checked.set(None);
        if self.active.get().is_some() {
            self.retire();
        }
        self.active.set(Some(NonNull::from(pin)));
        let is_new = self.last.replace(pin.word.get()) != pin.word.get();
        Ok(Version::new(pin, is_new))
    }

    /// Pins it in the slot: from then on it can't change.
    fn load_pinned<H: Hasher + Default>(&self, pin: &Pin, slot: &TakenSlot, seen: u64) -> Result<()> {
        let attachment = self.attachment();
        let word = protocol::pin::<_, All>(&attachment.state().live.current, slot.pinned(), seen);
        let index = attachment.index(word)?;
        self.show(pin, word, index)?;
        // SAFETY: the bytes are pinned, and the mapping is in `pin.mapping`.
        self.verify::<H>(pin, unsafe { pin.bytes.get().as_ref() }, index)
    }

    /// Without a slot: maps it, if its file is never written again, or copies it, and looks whether it was whole all the while.
    fn load_unpinned<H: Hasher + Default>(&self, pin: &Pin) -> Result<()> {
        let attachment = self.attachment();
        let mut refused = None;
        for _ in 0..TRIES {
            let word = attachment.state().live.current.get();
            let index = attachment.index(word)?;
            match self.show(pin, word, index) {
                Ok(()) => {}
                Err(error) => {
                    // Replaced meanwhile, most likely: then there is a newer version.
                    if attachment.state().live.current.get() == word {
                        return Err(error);
                    }
                    refused = Some(error);
                    continue;
                }
            }
            if attachment.has_fresh_files() && !self.options.copy {
                // SAFETY: the file is never written again, and the mapping is in `pin.mapping`.
                return self.verify::<H>(pin, unsafe { pin.bytes.get().as_ref() }, index);
            }
            let mapping = pin.mapping.borrow().clone().expect("just shown");
            // SAFETY: the Pin is free, so nobody has a reference into its copy, and it belongs to this thread.
            let copy = unsafe { &mut *pin.copy.get() };
            let length = pin.bytes.get().len();
            let header: &Header = mapping.at(0);
            if copy_stable(&header.version, word, || copy_to(copy, &mapping, length)) {
                pin.bytes.set(NonNull::slice_from_raw_parts(NonNull::from(&mut copy[..]).cast(), length));
                // SAFETY: `copy_to` has made the copy at least `length` bytes long, and nobody changes it before the Pin is free again.
                return self.verify::<H>(pin, unsafe { pin.bytes.get().as_ref() }, index);
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
    fn show(&self, pin: &Pin, word: u64, index: usize) -> Result<()> {
        let attachment = self.attachment();
        let mapped = self.mapped.borrow();
        match mapped.get(index) {
            Some(Some(mapping)) if attachment.fits(mapping, word) => pin.show(word, mapping),
            _ => {
                drop(mapped);
                pin.show(word, &self.map(word, index)?);
            }
        }
        Ok(())
    }

    /// A buffer that this thread has not seen, or not since its file was replaced.
    #[cold]
    fn map(&self, word: u64, index: usize) -> Result<Shown> {
        let mapping = Rc::new(self.attachment().map(word)?);
        let mut mapped = self.mapped.borrow_mut();
        if mapped.len() <= index {
            mapped.resize(index + 1, None);
        }
        mapped[index] = Some(Rc::clone(&mapping));
        Ok(mapping)
    }

    /// Compares the checksum of `bytes`, those of the version that `pin` shows, with what the writer has noted.
    #[inline]
    fn verify<H: Hasher + Default>(&self, pin: &Pin, bytes: &[u8], index: usize) -> Result<()> {
        if self.options.verify && checksum::<H>(bytes) != pin.checksum.get() {
            return Err(self.attachment().damaged(index));
        }
        Ok(())
    }

    /// A Pin that nobody holds: the active one if no Version holds it, so that its slot moves on. None is active afterwards.
    ///
    /// It counts as held from now on, so that a hasher that reads while its version is hashed finds another.
    #[inline]
    fn free_pin(&self) -> Result<&Pin> {
        // SAFETY: it is one of `pins`, as in `unchanged`.
        if let Some(last) = self.active.take().map(|last| unsafe { last.as_ref() }) {
            // One hold less for having been active, and if that was the last, one more for being taken.
            if last.holds.get() == 1 {
                return Ok(last);
            }
            last.holds.set(last.holds.get() - 1);
        }
        self.other_pin()
    }

    /// A Pin that nobody holds, from among those that were active before, or a new one with a slot of its own.
    #[cold]
    fn other_pin(&self) -> Result<&Pin> {
        let mut pins = self.pins.borrow_mut();
        let free = pins.iter().position(|pin| !pin.is_held());
        let index = match free {
            Some(index) => index,
            None => {
                let attachments = self.attachments.borrow();
                let attachment = attachments.last().expect("there is one from the beginning");
                pins.push(Rc::new(Pin::new(TakenSlot::new(attachment)?)));
                pins.len() - 1
            }
        };
        pins[index].holds.set(1);
        // SAFETY: Pins are neither moved (Rc) nor dropped before `self`, so the reference outlives the borrow of the vector.
        Ok(unsafe { NonNull::from(&*pins[index]).as_ref() })
    }

    /// Lets go of the active Pin, unless a Version holds it.
    fn release(&self) {
        // SAFETY: it is one of `pins`, as in `unchanged`.
        if let Some(pin) = self.active.get().map(|pin| unsafe { pin.as_ref() })
            && pin.holds.get() == 1
        {
            self.active.set(None);
            pin.holds.set(0);
            pin.let_go();
        }
    }

    /// A hasher that has read meanwhile has made its Pin the active one: it is not any more.
    #[cold]
    fn retire(&self) {
        self.release();
        // SAFETY: it is one of `pins`, as in `unchanged`.
        if let Some(other) = self.active.take().map(|other| unsafe { other.as_ref() }) {
            other.holds.set(other.holds.get() - 1);
        }
    }

    /// Takes a slot before the first read needs one.
    fn prepare(&self) -> Result<()> {
        self.free_pin().map(|pin| pin.holds.set(0))
    }

    /// In the child of a fork: attaches anew, so that it has slots of its own. What the parent's slots protect is the parent's.
    fn stay(&self) -> Result<()> {
        let attachment = self.attachment();
        if attachment.mark.is_here() {
            return Ok(());
        }
        let own = Arc::new((self.reattach)(&attachment.names, &self.options)?);
        self.active.set(None);
        self.inherited.borrow_mut().append(&mut self.pins.borrow_mut());
        self.mapped.borrow_mut().clear();
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
