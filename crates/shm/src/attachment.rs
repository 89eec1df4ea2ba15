//! What a reader process has mapped: the state, the slot_table if it may write there, and the
//! buffers that it has seen.
//!
//! Everything that is read from the files is checked before it is believed, against the length that
//! was mapped: whatever they hold, no access goes beyond it.
#![allow(unsafe_code, reason = "remembers where a slot is")]

use crate::checksum::hasher_name;
use crate::error::{Error, Result};
use crate::files::{self, Names, Owner};
use crate::layout::{FRESH_FILES, HEADER_BYTES, Header, LAYOUT, STATE_BYTES, STATE_MAGIC, State};
use crate::protocol::{BUFFERS_MAX, NONE, Word, buffer_of, is_stamped, sequence_of, unpin};
use crate::reader::ReaderOptions;
use crate::slot_table::{MappedSlotTable, length_of};
use crate::sys::{self, Access, ForkMark, Mapping};
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
    /// `None` for a reader that has no slots, and copies or maps by name instead.
    slot_table: Option<MappedSlotTable>,
    lineage: u64,
    believed: Owner,
    pub mark: ForkMark,
    /// Buffers that a thread has mapped, for the others, as long as one of them keeps it. Looked at
    /// only by a thread that has not seen a buffer yet.
    mapped: Mutex<Vec<Weak<Mapping>>>,
}

/// Attempts to find a state and a slot_table that go together while a writer makes them anew.
const TRIES: usize = 100;

/// The longest time between two looks for a writer's files.
const NAP_MAX: Duration = Duration::from_millis(20);

impl Attachment {
    /// Opens, once a writer has made its files, or the options' patience is over.
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
        // Other people's code, which may fork: before anything is marked.
        let hasher = hasher_name::<H>();
        let mark = ForkMark::new().map_err(Error::io("marking the process for", names.prefix()))?;
        let path = names.state();
        let mut mismatch = None;
        for _ in 0..TRIES {
            let (state_file, metadata) = match files::open(&path, false) {
                // A writer lets others read its state while it is still empty.
                Err(error) if error.is_denial() => match fs::metadata(&path) {
                    Ok(metadata) if metadata.len() == 0 => {
                        options.owner.check_user(&path, &metadata)?;
                        return Err(Error::NotReady { path });
                    }
                    _ => files::open(&path, false)?,
                },
                Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                    return Err(Error::NotReady { path });
                }
                opened => opened?,
            };
            options.owner.check_user(&path, &metadata)?;
            match length_of(&metadata) {
                0 => return Err(Error::NotReady { path }),
                STATE_BYTES => {}
                _ => {
                    return Err(Error::Foreign { path, what: "its length is not that of a state" });
                }
            }
            let state = Mapping::new(&state_file, STATE_BYTES, Access::Read)
                .map_err(Error::io("mapping", &path))?;
            let head: &State = state.at(0);
            match head.magic.get() {
                0 => return Err(Error::NotReady { path }),
                STATE_MAGIC if head.layout.peek() == LAYOUT => {}
                _ => {
                    return Err(Error::Foreign {
                        path,
                        what: "not a state of this version of the crate",
                    });
                }
            }
            options.owner.check_mode(&path, &metadata)?;
            if head.hasher.peek() != hasher {
                return Err(Error::Foreign { path, what: "it was written with another checksum" });
            }
            let (lineage, believed) = (head.lineage.peek(), options.owner);
            let slot_table = match MappedSlotTable::open(&names.readers(), lineage, believed, None)
            {
                _ if options.copy => None,
                Ok(slot_table) => Some(slot_table),
                Err(error) if is_refusal(&error) => None,
                Err(error @ Error::Foreign { .. }) => {
                    // A writer puts a new slot_table in place, and then the state that goes with
                    // it.
                    mismatch = Some(error);
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
                believed,
                mark,
                mapped,
            });
        }
        Err(mismatch.unwrap_or(Error::NotReady { path }))
    }

    #[inline]
    pub(crate) fn state(&self) -> &State {
        self.state.at(0)
    }

    pub(crate) fn slot_table(&self) -> Option<&MappedSlotTable> {
        self.slot_table.as_ref()
    }

    /// Whether the buffers' files are never written again. Asked after `current` was read by
    /// [`copy_of`](crate::protocol::copy_of), it holds for that version.
    pub(crate) fn has_fresh_files(&self) -> bool {
        self.state().flags.peek() & FRESH_FILES != 0
    }

    /// The number of the current version, if there is one.
    pub(crate) fn version(&self) -> Option<u64> {
        let word = self.state().live.current.get();
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

    /// The random number that all files of this prefix have.
    pub(crate) fn lineage(&self) -> u64 {
        self.lineage
    }

    /// Where the bytes of version `word` are, if `mapping` is of the buffer that holds it, whole.
    #[inline]
    pub(crate) fn contents(&self, mapping: &Mapping, word: u64) -> Option<Contents> {
        contents(mapping, self.lineage, word)
    }

    /// Maps the buffer that holds version `word`: the mapping of another thread, or its file.
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
        let (mapping, contents) = map_buffer(&path, self.lineage, self.believed, word)?;
        let mapping = Arc::new(mapping);
        mapped[index] = Arc::downgrade(&mapping);
        Ok((mapping, contents))
    }

    /// The buffer that a version word names, if it can name one.
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

    /// The error of a version whose bytes are not those that were written.
    #[cold]
    pub(crate) fn damaged(&self, word: u64) -> Error {
        Error::Corrupt { path: self.names.buffer(buffer_of(word)), what: "its checksum is wrong" }
    }
}

/// Where the bytes of version `word` are, if `mapping` is of the buffer that holds it, whole.
#[inline]
fn contents(mapping: &Mapping, lineage: u64, word: u64) -> Option<Contents> {
    let header: &Header = mapping.at(0);
    if !is_stamped(&header.version, word) || header.lineage.peek() != lineage {
        return None;
    }
    // Read once, so that it stays what it is when it is compared.
    let length = header.length.peek();
    if length > (mapping.length() - HEADER_BYTES) as u64 {
        return None;
    }
    Some(Contents {
        bytes: mapping.bytes(HEADER_BYTES, length as usize),
        checksum: header.checksum.peek(),
    })
}

/// Maps the buffer at `path`, if who made it is believed, and version `word` of this `lineage` is
/// in it.
pub(crate) fn map_buffer(
    path: &Path,
    lineage: u64,
    believed: Owner,
    word: u64,
) -> Result<(Mapping, Contents)> {
    let corrupt = |what| Error::Corrupt { path: path.to_owned(), what };
    let (file, metadata) = files::open(path, false)?;
    believed.check_user(path, &metadata)?;
    believed.check_mode(path, &metadata)?;
    // Whole words, so that the last one of a copy is within.
    let length = length_of(&metadata) & !7;
    if length < HEADER_BYTES {
        return Err(corrupt("shorter than a buffer's header"));
    }
    let mapping = Mapping::new(&file, length, Access::Read).map_err(Error::io("mapping", path))?;
    let contents = contents(&mapping, lineage, word)
        .ok_or_else(|| corrupt("it is not the buffer of the current version"))?;
    Ok((mapping, contents))
}

/// Why a slot_table is done without: it may not be written to, it is not there, its name is a link,
/// or somebody else's file has its name.
pub(crate) fn is_refusal(error: &Error) -> bool {
    match error {
        Error::Stranger { .. } => true,
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

/// Where a version's bytes are, and their checksum.
pub(crate) struct Contents {
    pub bytes: NonNull<[u8]>,
    pub checksum: u64,
}

/// A slot of the slot_table, taken by this process.
pub(crate) struct TakenSlot {
    attachment: Arc<Attachment>,
    index: usize,
    /// The slot's word, in the mapping that `attachment` keeps.
    pinned: NonNull<AtomicU64>,
}

impl TakenSlot {
    /// Takes a slot, or `None` if this reader has no slot_table.
    pub(crate) fn new(attachment: &Arc<Attachment>) -> Result<Option<TakenSlot>> {
        let Some(slot_table) = attachment.slot_table() else { return Ok(None) };
        let index = slot_table.enlist(&attachment.names.readers())?;
        let pinned = NonNull::from(&slot_table.slot(index).pinned);
        Ok(Some(TakenSlot { attachment: Arc::clone(attachment), index, pinned }))
    }

    #[inline]
    pub(crate) fn pinned(&self) -> &AtomicU64 {
        // SAFETY: it is in the slot_table's mapping, which a reader never replaces, and which
        // `attachment` keeps.
        unsafe { self.pinned.as_ref() }
    }

    /// Ends the protection, unless the slot is the parent's.
    pub(crate) fn unpin(&self) {
        if self.attachment.mark.is_here() {
            unpin(self.pinned());
        }
    }
}

impl Drop for TakenSlot {
    fn drop(&mut self) {
        if self.attachment.mark.is_here()
            && let Some(slot_table) = self.attachment.slot_table()
        {
            slot_table.discharge(self.index);
        }
    }
}
