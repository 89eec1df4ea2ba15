//! The mappings of a reader process: the state, the slot table if it may write that, and the
//! buffers that it has read.
//!
//! All values from the files are checked against the mapped length before use: whatever the files
//! contain, no access goes beyond the mapping.
#![allow(unsafe_code, reason = "remembers where a slot is")]

use crate::checksum::hasher_name;
use crate::error::{Error, Result};
use crate::files::{self, Names, length_of};
use crate::layout::{FRESH_FILES, HEADER_BYTES, Header, LAYOUT, STATE_BYTES, STATE_MAGIC, State};
use crate::options::ReaderOptions;
use crate::owner::Owner;
use crate::protocol::{BUFFERS_MAX, NONE, Word, buffer_of, is_stamped, sequence_of, unpin};
use crate::slot_table::MappedSlotTable;
use crate::sys::{self, ForkMark, Mapping, Protection};
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// A reader process's view of the files of one prefix.
pub(crate) struct Attachment {
    pub names: Names,
    state_file: File,
    state: Mapping,
    /// `None` for a reader without slots, which copies, or maps fresh files instead.
    slot_table: Option<MappedSlotTable>,
    lineage: u64,
    trusted: Owner,
    pub mark: ForkMark,
    /// Buffers that threads have mapped. Threads share a mapping while one of them keeps it. A
    /// thread accesses this only when it reads from a buffer for the first time.
    mapped: Mutex<Vec<Weak<Mapping>>>,
}

/// Maximum number of attempts to find a matching state and slot table while a writer replaces them.
const TRIES: usize = 100;

/// The longest pause between two attempts to open a writer's files.
const NAP_MAX: Duration = Duration::from_millis(20);

impl Attachment {
    /// Opens the files. Waits for a writer to create them for as long as the options say.
    pub(crate) fn open_in_time<H: Hasher + Default>(
        names: &Names,
        options: &ReaderOptions,
    ) -> Result<Attachment> {
        let started = Instant::now();
        let mut nap = Duration::from_millis(1);
        loop {
            match Attachment::open::<H>(names, options) {
                Err(Error::NotReady { .. }) if started.elapsed() < options.wait => {
                    thread::sleep(nap.min(options.wait.saturating_sub(started.elapsed())));
                    nap = (2 * nap).min(NAP_MAX);
                }
                opened => return opened,
            }
        }
    }

    pub(crate) fn open<H: Hasher + Default>(
        names: &Names,
        options: &ReaderOptions,
    ) -> Result<Attachment> {
        // The hasher is the caller's code, which may fork, so call it before the process is marked.
        let hasher = hasher_name::<H>();
        let mark = ForkMark::new().map_err(Error::io("marking the process for", names.prefix()))?;
        let mut mismatch = Error::NotReady { path: names.state() };
        for _ in 0..TRIES {
            let (state_file, state) = open_state(&names.state(), hasher, options.owner)?;
            let (lineage, trusted) = (state.at::<State>(0).lineage.load_relaxed(), options.owner);
            let opened = MappedSlotTable::open(&names.readers(), lineage, trusted, None);
            let slot_table = match opened {
                _ if options.copy => None,
                Ok(slot_table) => Some(slot_table),
                Err(error) if is_refusal(&error) => None,
                Err(error @ Error::Foreign { .. }) => {
                    // A writer replaces the slot table first, and then the matching state.
                    mismatch = error;
                    thread::sleep(Duration::from_micros(100));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let (names, mapped) = (names.clone(), Mutex::default());
            return Ok(Attachment {
                names,
                state_file,
                state,
                slot_table,
                lineage,
                trusted,
                mark,
                mapped,
            });
        }
        Err(mismatch)
    }

    #[inline]
    pub(crate) fn state(&self) -> &State {
        self.state.at(0)
    }

    pub(crate) fn slot_table(&self) -> Option<&MappedSlotTable> {
        self.slot_table.as_ref()
    }

    /// Returns whether the buffers' files are never written again. If called after
    /// [`load_for_copy`](crate::protocol::load_for_copy), the answer holds for that version.
    pub(crate) fn has_fresh_files(&self) -> bool {
        self.state().flags.load_relaxed() & FRESH_FILES != 0
    }

    /// Returns the number of the current version, if there is one.
    pub(crate) fn version(&self) -> Option<u64> {
        let word = self.state().live.current.load_acquire();
        (word != NONE).then(|| sequence_of(word))
    }

    pub(crate) fn has_writer(&self) -> Result<bool> {
        sys::is_locked(&self.state_file, 0)
            .map_err(Error::io("asking for the lock of", self.names.state()))
    }

    pub(crate) fn is_orphaned(&self) -> Result<bool> {
        let path = self.names.state();
        let mine = self.state_file.metadata().map_err(Error::io("inspecting", &path))?;
        match fs::metadata(&path) {
            Ok(named) => Ok((named.dev(), named.ino()) != (mine.dev(), mine.ino())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(error) => Err(Error::io("inspecting", &path)(error)),
        }
    }

    /// Returns the random number that all files of this prefix share.
    pub(crate) fn lineage(&self) -> u64 {
        self.lineage
    }

    /// Returns the bytes of version `word` if the mapped buffer holds it completely.
    #[inline]
    pub(crate) fn contents(&self, mapping: &Mapping, word: u64) -> Option<Contents> {
        contents(mapping, self.lineage, word)
    }

    /// Returns a mapping of the buffer that holds version `word`, shared with another thread or
    /// new.
    pub(crate) fn map(&self, word: u64) -> Result<(Arc<Mapping>, Contents)> {
        let index = self.index(word)?;
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        if mapped.len() <= index {
            mapped.resize(index + 1, Weak::new());
        }
        if let Some(mapping) = mapped[index].upgrade()
            && let Some(contents) = self.contents(&mapping, word)
        {
            return Ok((mapping, contents));
        }
        let path = self.names.buffer(index);
        let (mapping, contents) = map_buffer(&path, self.lineage, self.trusted, word)?;
        let mapping = Arc::new(mapping);
        mapped[index] = Arc::downgrade(&mapping);
        Ok((mapping, contents))
    }

    /// Returns the index of the buffer that a version word names.
    #[inline]
    pub(crate) fn index(&self, word: u64) -> Result<usize> {
        let index = buffer_of(word);
        if word == NONE {
            return Err(Error::NotReady { path: self.names.state() });
        }
        if index >= BUFFERS_MAX {
            return Err(Error::Corrupt {
                path: self.names.state(),
                what: "the current version is in no buffer",
            });
        }
        Ok(index)
    }

    /// Returns the error for a version whose bytes don't match its checksum.
    #[cold]
    pub(crate) fn damaged(&self, word: u64) -> Error {
        Error::Corrupt { path: self.names.buffer(buffer_of(word)), what: "its checksum is wrong" }
    }
}

/// Opens and maps the state at `path`. Fails unless it is complete, its owner is trusted, and it
/// was written with this hasher.
fn open_state(path: &Path, hasher: u64, trusted: Owner) -> Result<(File, Mapping)> {
    let foreign = |what| Error::Foreign { path: path.to_owned(), what };
    let not_ready = || Error::NotReady { path: path.to_owned() };
    let (file, metadata) = match files::open(path, false) {
        Err(error) if error.is_missing() => return Err(not_ready()),
        // Other users can't read a state until the writer allows it, which it does while the state
        // is empty.
        Err(error) if error.is_denial() => match fs::metadata(path) {
            Ok(metadata) if metadata.len() == 0 => {
                trusted.check_user(path, &metadata)?;
                return Err(not_ready());
            }
            _ => files::open(path, false)?,
        },
        opened => opened?,
    };
    trusted.check_user(path, &metadata)?;
    match length_of(&metadata) {
        0 => return Err(not_ready()),
        STATE_BYTES => {}
        _ => return Err(foreign("its length is not that of a state")),
    }
    let mapping =
        Mapping::new(&file, STATE_BYTES, Protection::Read).map_err(Error::io("mapping", path))?;
    let state: &State = mapping.at(0);
    match state.magic.load_acquire() {
        0 => return Err(not_ready()),
        STATE_MAGIC if state.layout.load_relaxed() == LAYOUT => {}
        _ => return Err(foreign("not a state of this version of the crate")),
    }
    trusted.check_mode(path, &metadata)?;
    if state.hasher.load_relaxed() != hasher {
        return Err(foreign("it was written with another checksum"));
    }
    Ok((file, mapping))
}

/// Returns the bytes of version `word` if the mapped buffer holds it completely.
#[inline]
fn contents(mapping: &Mapping, lineage: u64, word: u64) -> Option<Contents> {
    let header: &Header = mapping.at(0);
    if !is_stamped(&header.version, word) || header.lineage.load_relaxed() != lineage {
        return None;
    }
    // Loaded once, so that the checked value is the one used.
    let length = header.length.load_relaxed();
    if length > (mapping.length() - HEADER_BYTES) as u64 {
        return None;
    }
    Some(Contents {
        bytes: mapping.bytes(HEADER_BYTES, length as usize),
        checksum: header.checksum.load_relaxed(),
    })
}

/// Maps the buffer at `path`. Fails unless its owner is trusted and it holds version `word` of this
/// `lineage`.
pub(crate) fn map_buffer(
    path: &Path,
    lineage: u64,
    trusted: Owner,
    word: u64,
) -> Result<(Mapping, Contents)> {
    let corrupt = |what| Error::Corrupt { path: path.to_owned(), what };
    let (file, metadata) = files::open(path, false)?;
    trusted.check_user(path, &metadata)?;
    trusted.check_mode(path, &metadata)?;
    // Whole words, so that the last word of a copy is within the mapping.
    let length = length_of(&metadata) & !7;
    if length < HEADER_BYTES {
        return Err(corrupt("shorter than a buffer's header"));
    }
    let mapping =
        Mapping::new(&file, length, Protection::Read).map_err(Error::io("mapping", path))?;
    let contents = contents(&mapping, lineage, word)
        .ok_or_else(|| corrupt("it is not the buffer of the current version"))?;
    Ok((mapping, contents))
}

/// Returns whether a reader continues without the slot table after this error: it may not write to
/// it, it doesn't exist, its name is a symbolic link, or it is another user's file.
pub(crate) fn is_refusal(error: &Error) -> bool {
    match error {
        Error::WrongOwner { .. } => true,
        Error::Io { source, .. } => {
            let is_link = source.raw_os_error() == Some(libc::ELOOP);
            is_link
                || matches!(
                    source.kind(),
                    ErrorKind::PermissionDenied
                        | ErrorKind::ReadOnlyFilesystem
                        | ErrorKind::NotFound
                )
        }
        _ => false,
    }
}

/// A version's bytes, and their checksum in the header.
pub(crate) struct Contents {
    pub bytes: NonNull<[u8]>,
    pub checksum: u64,
}

/// A slot of the slot table, taken by this process.
pub(crate) struct ReaderSlot {
    attachment: Arc<Attachment>,
    index: usize,
    /// The slot's word, in the mapping that `attachment` keeps.
    pinned: NonNull<AtomicU64>,
}

impl ReaderSlot {
    /// Takes a slot. Returns `None` if this reader has no slot table.
    pub(crate) fn new(attachment: &Arc<Attachment>) -> Result<Option<ReaderSlot>> {
        let Some(slot_table) = attachment.slot_table() else { return Ok(None) };
        let index = slot_table.take_slot(&attachment.names.readers())?;
        let pinned = NonNull::from(&slot_table.slot(index).pinned);
        Ok(Some(ReaderSlot { attachment: Arc::clone(attachment), index, pinned }))
    }

    #[inline]
    pub(crate) fn pinned(&self) -> &AtomicU64 {
        // SAFETY: the word is in the slot table's mapping, which a reader never replaces and which
        // `attachment` keeps.
        unsafe { self.pinned.as_ref() }
    }

    /// Ends the protection of the pinned version, unless the slot belongs to the parent process.
    pub(crate) fn unpin(&self) {
        if self.attachment.mark.is_original_process() {
            unpin(self.pinned());
        }
    }
}

impl Drop for ReaderSlot {
    fn drop(&mut self) {
        if self.attachment.mark.is_original_process()
            && let Some(slot_table) = self.attachment.slot_table()
        {
            slot_table.give_slot_back(self.index);
        }
    }
}
