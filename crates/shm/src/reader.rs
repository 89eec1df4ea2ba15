//! The reader: one load if nothing is new, otherwise a pin and a check of the buffer's header. No
//! lock, no loop, and no system call except in the first read from a buffer.
//!
//! ```text
//!  Reader (cheap to clone, any thread) ── ReaderState, one a thread ── Pin <── Version
//!  LocalReader (local.rs)              ── ReaderState of its own ───── Pin <── View
//! ```
//!
//! A `Version` is counted in its Pin with plain stores if it is dropped in the thread that read it.
#![allow(unsafe_code, reason = "lends pinned bytes for as long as they are pinned")]

use crate::attachment::Attachment;
use crate::checksum::Xxh3;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::files::Names;
use crate::local::LocalReader;
use crate::options::ReaderOptions;
use crate::pin::Pin;
use crate::protocol::sequence_of;
use crate::reader_state::ReaderState;
#[cfg(feature = "rkyv")]
use std::any::TypeId;
use std::fmt;
use std::hash::Hasher;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use thread_local::ThreadLocal;

/// Reads the versions under a prefix. A clone is the same reader; so is a reference in another
/// thread.
///
/// Each thread that reads takes a slot, and keeps the newest version that it has read pinned until
/// it reads a newer one or calls [`Reader::release`]. Slots are returned when the last clone is
/// dropped, or by the kernel if the process dies. When a thread ends, its slot, with the version
/// pinned in it, passes to the next thread that reads: let threads call [`Reader::release`] before
/// they end.
///
/// A thread that reads often should use a [`LocalReader`].
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
    states: ThreadLocal<ReaderState>,
}

impl<H> Clone for Reader<H> {
    fn clone(&self) -> Reader<H> {
        Reader { inner: Arc::clone(&self.inner), hasher: PhantomData }
    }
}

impl Reader {
    /// Attaches to a writer's files under `path`, with the default options and checksum. See
    /// [`Reader::with_options`].
    ///
    /// # Errors
    /// The errors of [`Reader::with_options`].
    pub fn open(path: impl AsRef<Path>) -> Result<Reader> {
        Reader::with_options(path, ReaderOptions::default())
    }

    /// Attaches to a writer's files under `path`, waiting up to `timeout` for a writer that has not
    /// created them yet. Use [`Reader::wait_newer`] to wait for its first version.
    ///
    /// # Errors
    /// The errors of [`Reader::with_options`]; [`Error::NotReady`] when the time is over.
    pub fn open_wait(path: impl AsRef<Path>, timeout: Duration) -> Result<Reader> {
        let options = ReaderOptions { wait: timeout, ..ReaderOptions::default() };
        Reader::with_options(path, options)
    }
}

impl<H: Hasher + Default> Reader<H> {
    /// Attaches to the files that a writer creates, or has created, under `path`, the beginning of
    /// their names. Creates and changes no file, except its slots in `P.readers`.
    ///
    /// If this user may not write `P.readers`, versions are copied to the reader's memory, or
    /// mapped by name if the writer creates [fresh files](crate::WriterOptions::fresh_files).
    /// Nothing else differs.
    ///
    /// # Errors
    /// [`Error::NotReady`] if there never was a writer, or it has not created the files yet;
    /// [`Error::Foreign`] if the files are something else, were written with another checksum, or
    /// are writable for others; [`Error::WrongOwner`] if they belong to another user than
    /// [`ReaderOptions::owner`] allows; [`Error::TooManyReaders`] if no slot is free.
    pub fn with_options(path: impl AsRef<Path>, options: ReaderOptions) -> Result<Reader<H>> {
        let names = Names::new(path.as_ref())?;
        let attachment = Arc::new(Attachment::open_in_time::<H>(&names, &options)?);
        let reader = Reader {
            inner: Arc::new(Inner { attachment, options, states: ThreadLocal::new() }),
            hasher: PhantomData,
        };
        reader.thread_state().prepare()?;
        Ok(reader)
    }

    /// Returns the current version. It doesn't change while the guard lives, however long, and the
    /// writer does not wait for it.
    ///
    /// # Errors
    /// [`Error::NotReady`] before the first version; [`Error::Corrupt`] if the current version's
    /// header or checksum is wrong; [`Error::TooManyReaders`] if this thread, or an older version
    /// that it still holds, needs a slot and none is free; [`Error::Io`] if a buffer's file can't
    /// be opened or mapped; [`Error::Overtaken`] only without a slot.
    #[inline]
    pub fn read(&self) -> Result<Version<'_>> {
        if let Some(state) = self.inner.states.get()
            && let Some(pin) = state.unchanged()
        {
            return Ok(Version::new(pin, false));
        }
        self.pin_current()
    }

    /// Sleeps until there is a version newer than the one that this thread read last, and returns
    /// it. Returns `None` after `timeout`.
    ///
    /// It doesn't wake when the files are removed or replaced, or when the writer ends. To wait
    /// indefinitely, wait repeatedly, and check [`Reader::is_orphaned`] and [`Reader::has_writer`]
    /// in between. Without a slot it polls once a millisecond, unless the writer creates [fresh
    /// files](crate::WriterOptions::fresh_files).
    ///
    /// # Errors
    /// The errors of [`Reader::read`], except [`Error::NotReady`]: it waits for the first version.
    /// A version that can't be read ends one wait with its error; the next wait is for another
    /// version. [`Reader::read`] tries the same version again.
    pub fn wait_newer(&self, timeout: Duration) -> Result<Option<Version<'_>>> {
        if self.thread_state().wait(timeout)? { self.pin_current().map(Some) } else { Ok(None) }
    }

    /// Returns the number of the current version without reading it; `None` before the first.
    /// Numbers only grow, also from one writer to the next.
    pub fn version(&self) -> Option<u64> {
        self.inner.attachment.version()
    }

    /// Releases the version that this thread read last, if no guard holds it, and unmaps the
    /// buffers of older versions. For a thread that will not read for a while, so that it occupies
    /// no buffer.
    pub fn release(&self) {
        if let Some(state) = self.inner.states.get() {
            state.release();
        }
    }

    /// Returns whether this reader has slots, and so reads without copying; see
    /// [`Reader::with_options`].
    pub fn has_slots(&self) -> bool {
        self.inner.attachment.slot_table().is_some()
    }

    /// Returns whether a writer lives. Makes a system call.
    ///
    /// # Errors
    /// [`Error::Io`] if the system can't tell.
    pub fn has_writer(&self) -> Result<bool> {
        self.inner.attachment.has_writer()
    }

    /// Returns whether the files were removed or replaced since this reader attached. Then it will
    /// see no new version. Makes one or two system calls.
    ///
    /// # Errors
    /// [`Error::Io`] if the system can't tell.
    pub fn is_orphaned(&self) -> Result<bool> {
        self.inner.attachment.is_orphaned()
    }

    /// Returns a reader for one owner, with its own slot: an unchanged version costs it one load
    /// and one comparison. See [`LocalReader`].
    ///
    /// # Errors
    /// [`Error::TooManyReaders`] if no slot is free; in the child of a fork also the errors of
    /// opening.
    pub fn local(&self) -> Result<LocalReader<H>> {
        LocalReader::new(&self.inner.attachment, &self.inner.options)
    }

    fn thread_state(&self) -> &ReaderState {
        let inner = &self.inner;
        let state =
            inner.states.get_or(|| ReaderState::new::<H>(&inner.attachment, &inner.options));
        state.take_over();
        state
    }

    /// The slow path of `read`: there is a newer version, or this is the thread's first. It is not
    /// inlined, because then the fast path would save registers for it: 3.9 ns instead of 2 (EPYC,
    /// 2026-11-21).
    #[inline(never)]
    fn pin_current(&self) -> Result<Version<'_>> {
        self.thread_state().pin_current::<H>().map(|(pin, is_new)| Version::new(pin, is_new))
    }
}

/// A held version. It dereferences to its bytes, which don't change while it lives.
///
/// It may move to another thread. If it is dropped there, it occupies a buffer until the thread
/// that read it reads a newer version, or releases.
pub struct Version<'a> {
    pin: &'a Pin,
    is_new: bool,
}

// SAFETY: other threads only read its Pin's word and bytes, which don't change while it is held,
// and release it, which the Pin counts separately. The rest of a Pin is used only by the thread
// that has the ReaderState.
unsafe impl Send for Version<'_> {}
// SAFETY: as above; a shared reference allows less.
unsafe impl Sync for Version<'_> {}

impl<'a> Version<'a> {
    #[inline]
    fn new(pin: &'a Pin, is_new: bool) -> Version<'a> {
        pin.hold();
        Version { pin, is_new }
    }

    /// Returns the version's number. Numbers only grow.
    #[inline]
    pub fn sequence(&self) -> u64 {
        sequence_of(self.pin.word.get())
    }

    /// Returns whether this version differs from the one that this thread read before.
    #[inline]
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Returns whether [`Version::set_checked`] was called for this type since the version was
    /// pinned.
    #[cfg(feature = "rkyv")]
    #[inline]
    pub(crate) fn is_checked(&self, archived: TypeId) -> bool {
        self.pin.checked.get() == Some(archived)
    }

    /// Records that the bytes are a valid archive of this type.
    #[cfg(feature = "rkyv")]
    pub(crate) fn set_checked(&self, archived: TypeId) {
        self.pin.checked.set(Some(archived));
    }
}

impl fmt::Debug for Version<'_> {
    /// Writes number and length only: the bytes may be a gigabyte.
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
        // SAFETY: the bytes are in the Pin's mapping or copy, which don't change while the Pin
        // counts this Version: no writer changes them while the Pin's slot names them. In the child
        // of a fork this protection belongs to the parent, as the crate's documentation says.
        unsafe { self.pin.bytes.get().as_ref() }
    }
}

impl Drop for Version<'_> {
    #[inline]
    fn drop(&mut self) {
        self.pin.release_hold();
    }
}
