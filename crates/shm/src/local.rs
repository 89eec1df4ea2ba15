//! A reader with one owner. Its versions borrow from it mutably, so nothing is counted and no
//! thread's state is looked up: reading an unchanged version is one load and one comparison.
//!
//! It has its own [`ReaderState`]. The borrow ends before the next read, so one Pin is enough, and
//! its slot is reused in place: a `LocalReader` never holds more than one version.
#![allow(unsafe_code, reason = "lends pinned bytes for as long as they are pinned")]

use crate::attachment::Attachment;
use crate::checksum::Xxh3;
use crate::error::{Error, Result};
use crate::fast_path::FastPath;
use crate::files::Names;
use crate::options::ReaderOptions;
use crate::pin::no_bytes;
use crate::protocol::{NONE, Word, is_current, sequence_of};
use crate::reader_state::ReaderState;
use crate::sys::ForkMark;
#[cfg(feature = "rkyv")]
use std::any::TypeId;
use std::fmt;
use std::hash::Hasher;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Reads the versions under a prefix, for one owner: the borrow of a version ends before the next
/// read. The reader may move between threads.
///
/// It takes one slot. It keeps the newest version that it has read pinned until it reads a newer
/// one or [releases](LocalReader::release) it, and returns the slot when it is dropped. To hold a
/// version while newer ones are read, use a [`Reader`](crate::Reader) or a second `LocalReader`.
pub struct LocalReader<H = Xxh3> {
    /// `current` in the mapped state, which equals `word` as long as the pinned version is current;
    /// otherwise `NOWHERE`.
    current: NonNull<AtomicU64>,
    /// The word of the pinned version, or `NONE`. It is in a page that the kernel clears in the
    /// child of a fork, so that the child never uses the parent's pin.
    word: ForkMark,
    /// The bytes of the pinned version.
    bytes: NonNull<[u8]>,
    /// The type for which the bytes were checked to be an archive, or `Unchecked`.
    #[cfg(feature = "rkyv")]
    checked: TypeId,
    /// The fast path to the next version, once a version was read.
    fast_path: Option<FastPath>,
    reader: ReaderState,
    hasher: PhantomData<fn() -> H>,
}

// SAFETY: the pointers point to what `reader` keeps, which is Send, or to a static.
unsafe impl<H> Send for LocalReader<H> {}

/// `current` of a reader without a pin: never equal to its `word`, which is then `NONE`.
static NOWHERE: AtomicU64 = AtomicU64::new(NONE + 1);

/// A type of which no version is an archive.
#[cfg(feature = "rkyv")]
struct Unchecked;

impl<H> fmt::Debug for LocalReader<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalReader")
            .field("prefix", &self.reader.attachment().names.prefix())
            .finish_non_exhaustive()
    }
}

impl LocalReader {
    /// Opens the versions under a prefix with default options, like
    /// [`Reader::open`](crate::Reader::open).
    ///
    /// # Errors
    /// The errors of [`Reader::with_options`](crate::Reader::with_options).
    pub fn open(path: impl AsRef<Path>) -> Result<LocalReader> {
        LocalReader::with_options(path, ReaderOptions::default())
    }
}

impl<H: Hasher + Default> LocalReader<H> {
    /// Opens the versions under a prefix, like
    /// [`Reader::with_options`](crate::Reader::with_options).
    ///
    /// # Errors
    /// The errors of [`Reader::with_options`](crate::Reader::with_options).
    pub fn with_options(path: impl AsRef<Path>, options: ReaderOptions) -> Result<LocalReader<H>> {
        let names = Names::new(path.as_ref())?;
        LocalReader::new(&Arc::new(Attachment::open_in_time::<H>(&names, &options)?), &options)
    }

    pub(crate) fn new(
        attachment: &Arc<Attachment>,
        options: &ReaderOptions,
    ) -> Result<LocalReader<H>> {
        let reader = ReaderState::new::<H>(attachment, options);
        reader.prepare()?;
        let page = ForkMark::new()
            .map_err(Error::io("marking the process for", attachment.names.prefix()))?;
        page.word().store_relaxed(NONE);
        Ok(LocalReader {
            current: NonNull::from(&NOWHERE),
            word: page,
            bytes: no_bytes(),
            #[cfg(feature = "rkyv")]
            checked: TypeId::of::<Unchecked>(),
            fast_path: None,
            reader,
            hasher: PhantomData,
        })
    }

    /// Returns the current version. It doesn't change while it is borrowed, for however long, and
    /// the writer does not wait for it.
    ///
    /// # Errors
    /// The errors of [`Reader::read`](crate::Reader::read).
    #[inline]
    pub fn read(&mut self) -> Result<View<'_>> {
        let read = self.refresh()?;
        Ok(self.lend(read))
    }

    /// Sleeps until there is a version newer than the one read last, and returns it. Returns `None`
    /// after `timeout`.
    ///
    /// # Errors
    /// The errors of [`Reader::wait_newer`](crate::Reader::wait_newer).
    pub fn wait_newer(&mut self, timeout: Duration) -> Result<Option<View<'_>>> {
        if !self.reader.wait(timeout)? {
            return Ok(None);
        }
        let read = self.pin_current()?;
        Ok(Some(self.lend(read)))
    }

    /// Returns the number of the current version, if there is one.
    pub fn version(&self) -> Option<u64> {
        self.reader.attachment().version()
    }

    /// Releases the version read last, so that it occupies no buffer. For a reader that will not
    /// read for a while.
    pub fn release(&mut self) {
        self.forget();
        self.fast_path = None;
        self.reader.release();
    }

    /// Returns whether this reader has slots, like [`Reader::has_slots`](crate::Reader::has_slots).
    pub fn has_slots(&self) -> bool {
        self.reader.attachment().slot_table().is_some()
    }

    /// Returns whether the prefix has a living writer.
    ///
    /// # Errors
    /// The errors of [`Reader::has_writer`](crate::Reader::has_writer).
    pub fn has_writer(&self) -> Result<bool> {
        self.reader.attachment().has_writer()
    }

    /// Returns whether the files were removed or replaced, like
    /// [`Reader::is_orphaned`](crate::Reader::is_orphaned).
    ///
    /// # Errors
    /// The errors of [`Reader::is_orphaned`](crate::Reader::is_orphaned).
    pub fn is_orphaned(&self) -> Result<bool> {
        self.reader.attachment().is_orphaned()
    }

    /// Ensures that the pinned version is the current one.
    #[inline]
    pub(crate) fn refresh(&mut self) -> Result<Refreshed> {
        // SAFETY: it is in the mapping of an attachment that `reader` keeps, or it is NOWHERE.
        let current = unsafe { self.current.as_ref() };
        let word = self.word.word().load_relaxed();
        if is_current(current, word) {
            Ok(Refreshed { word, is_new: false })
        } else {
            self.pin_current()
        }
    }

    /// Pins the current version, which is newer than the pinned one or the first.
    #[inline(never)]
    fn pin_current(&mut self) -> Result<Refreshed> {
        self.forget();
        let Some(pin) = self.fast_path.as_ref().and_then(FastPath::pin_current::<H>) else {
            return self.pin_slowly();
        };
        let (word, bytes) = (pin.word.get(), pin.bytes.get());
        let is_new = self.reader.set_last(word);
        Ok(self.set_pinned(word, bytes, is_new))
    }

    /// Pins the current version on the slow path: for a buffer's first version, after a fork, and
    /// for errors.
    #[cold]
    fn pin_slowly(&mut self) -> Result<Refreshed> {
        let known = self.fast_path.take();
        let (pin, is_new) = self.reader.pin_current::<H>()?;
        let (word, bytes) = (pin.word.get(), pin.bytes.get());
        self.fast_path = FastPath::extend(known, &self.reader, pin);
        Ok(self.set_pinned(word, bytes, is_new))
    }

    #[inline]
    fn set_pinned(&mut self, word: u64, bytes: NonNull<[u8]>, is_new: bool) -> Refreshed {
        self.word.word().store_relaxed(word);
        self.bytes = bytes;
        self.current = self.reader.watched().0;
        Refreshed { word, is_new }
    }

    fn forget(&mut self) {
        (self.current, self.bytes) = (NonNull::from(&NOWHERE), no_bytes());
        self.word.word().store_relaxed(NONE);
        #[cfg(feature = "rkyv")]
        {
            self.checked = TypeId::of::<Unchecked>();
        }
    }

    /// Returns whether [`set_checked`](LocalReader::set_checked) was called for this type since the
    /// version was pinned.
    #[cfg(feature = "rkyv")]
    #[inline]
    pub(crate) fn is_checked(&self, archived: TypeId) -> bool {
        self.checked == archived
    }

    /// Records that the bytes are a valid archive of this type.
    #[cfg(feature = "rkyv")]
    pub(crate) fn set_checked(&mut self, archived: TypeId) {
        self.checked = archived;
    }

    /// Returns the pinned version after a `refresh`.
    #[inline]
    pub(crate) fn lend(&self, Refreshed { word, is_new }: Refreshed) -> View<'_> {
        // SAFETY: the Pin is held as the active one of `reader` until the next `pin_current` or
        // `release`. These need `&mut self`, and thus the end of this borrow.
        View { value: unsafe { self.bytes.as_ref() }, word, is_new }
    }
}

/// The word of the pinned version, and whether it differs from the previous one.
#[derive(Clone, Copy)]
pub(crate) struct Refreshed {
    word: u64,
    is_new: bool,
}

/// A version lent by a [`LocalReader`], as bytes or as a value. It doesn't change while it is
/// borrowed.
pub struct View<'a, T: ?Sized = [u8]> {
    value: &'a T,
    word: u64,
    is_new: bool,
}

impl<'a, T: ?Sized> View<'a, T> {
    /// Returns the version's number. Numbers only grow.
    #[inline]
    pub fn sequence(&self) -> u64 {
        sequence_of(self.word)
    }

    /// Returns whether this version differs from the one read before.
    #[inline]
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    #[cfg(feature = "rkyv")]
    #[inline]
    pub(crate) fn map<U: ?Sized>(self, look: impl FnOnce(&'a T) -> &'a U) -> View<'a, U> {
        View { value: look(self.value), word: self.word, is_new: self.is_new }
    }

    /// Returns a reference to the version itself, for as long as it is lent.
    #[inline]
    pub fn get(self) -> &'a T {
        self.value
    }
}

impl<T: ?Sized> Clone for View<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for View<'_, T> {}

impl<T: ?Sized> Deref for View<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T: ?Sized> fmt::Debug for View<'_, T> {
    /// Writes number and length only: the bytes may be a gigabyte.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("sequence", &self.sequence())
            .field("bytes", &size_of_val(self.value))
            .finish_non_exhaustive()
    }
}
