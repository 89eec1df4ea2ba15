//! The writer: takes a buffer that nobody holds, fills it, makes it current. It never waits for a
//! reader.
//!
//! Buffers that it finds when it starts are never written again: what readers still hold stays, the
//! rest is removed. So every buffer that it writes is a file that it made, of a length that it
//! knows.
#![allow(unsafe_code, reason = "lends the bytes of a buffer to be filled")]

use crate::checksum::{Xxh3, checksum};
use crate::error::{Error, Result};
use crate::files::{self, Claim, Names};
use crate::layout::{FRESH_FILES, HEADER_BYTES, Header, State};
use crate::opening::{self, Opened};
use crate::protocol::{
    BUFFERS_MAX, NONE, SEQUENCE_MAX, Word, begin_fill, buffer_of, end_fill, must_wake, publish,
    sequence_of, set_ticket, version_word,
};
use crate::slot_table::{CAPACITY_MAX, MappedSlotTable};
use crate::sys::{self, Access, Mapping};
use std::fmt;
use std::hash::Hasher;
use std::marker::PhantomData;
use std::path::Path;

/// How a [`Writer`] makes its files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Slots for readers: one for each thread that reads, and one for each older version that it
    /// still holds. Each takes 128 bytes. 1 to 4,093.
    pub readers_max: usize,
    /// Permissions of `P.state` and the buffers: who may read. 0644 by default, whatever the umask.
    /// Group and others may never write to them, whatever this says.
    pub mode: u32,
    /// Permissions of `P.readers`: who may read without copying, and can be woken. 0660 by default,
    /// whatever the umask.
    ///
    /// Who may write this file is trusted not to shorten it: that would end the writer and the
    /// readers with a signal. Who could by an earlier writer's leave, and can't any more, may still
    /// have it open: the next writer makes the files anew.
    pub readers_mode: u32,
    /// Each version in a new file that is never written again.
    ///
    /// Readers that may not write `P.readers` then map it instead of copying it, however large it
    /// is, and are woken. A write takes tens of microseconds.
    pub fresh_files: bool,
}

impl Default for WriterOptions {
    fn default() -> WriterOptions {
        WriterOptions { readers_max: 1024, mode: 0o644, readers_mode: 0o660, fresh_files: false }
    }
}

/// The only writer under a prefix, as long as it lives.
///
/// Dropping it leaves the files, so that readers go on reading the last version, and the next
/// writer goes on counting; [`Writer::remove`] and [`remove`](crate::remove) take them away.
pub struct Writer<H = Xxh3> {
    names: Names,
    options: WriterOptions,
    claim: Claim,
    state: Mapping,
    slot_table: MappedSlotTable,
    buffers: Vec<Option<Buffer>>,
    busy: Busy,
    patrol: Patrol,
    /// Buffers whose names can't be had.
    avoided: Vec<usize>,
    lineage: u64,
    /// The word of the version published last.
    current: u64,
    sequence: u64,
    #[cfg(feature = "rkyv")]
    pub(crate) scratch: rkyv::util::AlignedVec,
    hasher: PhantomData<fn() -> H>,
}

impl Writer {
    /// Becomes the writer under `path`, the beginning of the names of all files, with the default
    /// options and checksum. See [`Writer::with_options`].
    ///
    /// # Errors
    /// As [`Writer::with_options`].
    pub fn open(path: impl AsRef<Path>) -> Result<Writer> {
        Writer::with_options(path, WriterOptions::default())
    }
}

impl<H> fmt::Debug for Writer<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("prefix", &self.names.prefix()).finish_non_exhaustive()
    }
}

impl<H: Hasher + Default> Writer<H> {
    /// Becomes the writer under `path`. Makes the files, or goes on where another writer ended,
    /// whatever ended it: at the number after the next, because the next may have been written but
    /// not published.
    ///
    /// # Errors
    /// [`Error::Busy`] while another writer lives, in whatever process or container;
    /// [`Error::Foreign`] if `P.state` is something else, or was written with another checksum;
    /// [`Error::Stranger`] if it is another user's; [`Error::Io`] if the system refuses a file, a
    /// lock or space.
    ///
    /// # Panics
    /// If `readers_max` is not 1 to 4,093.
    pub fn with_options(path: impl AsRef<Path>, options: WriterOptions) -> Result<Writer<H>> {
        assert!(
            (1..=CAPACITY_MAX).contains(&options.readers_max),
            "readers_max is 1 to {CAPACITY_MAX}"
        );
        let mut options = options;
        options.mode &= !files::WRITE_BY_OTHERS;
        let names = Names::new(path.as_ref())?;
        let Opened { claim, state, slot_table, sequence } = opening::open::<H>(&names, &options)?;
        let head: &State = state.at(0);
        let (lineage, current) = (head.lineage.peek(), head.live.current.peek());
        head.flags.put(if options.fresh_files { FRESH_FILES } else { 0 });
        let mut writer = Writer {
            names,
            options,
            claim,
            state,
            slot_table,
            buffers: Vec::new(),
            busy: Busy::default(),
            patrol: Patrol::default(),
            avoided: Vec::new(),
            lineage,
            current,
            sequence,
            #[cfg(feature = "rkyv")]
            scratch: rkyv::util::AlignedVec::new(),
            hasher: PhantomData,
        };
        writer.trim()?;
        // Whoever sleeps, or is about to, though the last writer has published: it died before it
        // changed the ticket, or before it woke anybody.
        set_ticket(&writer.head().live.ticket, current);
        writer.wake();
        Ok(writer)
    }

    /// Publishes a copy of `bytes` as the next version, and returns its number.
    ///
    /// # Errors
    /// As [`Writer::write_with`].
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Result<u64> {
        self.write_with(bytes.len(), |place| place.copy_from_slice(bytes))
    }

    /// Publishes the `length` bytes that `fill` writes as the next version, and returns its number.
    /// They are written where readers read them, nothing is copied.
    ///
    /// What `fill` finds there is not specified (an older version, or zeros). If it panics nothing
    /// is published. In a child that it forks the place is not there: an access ends the child with
    /// a signal.
    ///
    /// # Errors
    /// [`Error::Io`] if a buffer can't be made: no space; [`Error::Forked`] in a child of the
    /// process that opened the writer; [`Error::TooManyReaders`] if all buffers are held, which
    /// takes more readers than slots; [`Error::Exhausted`] after 2^52 versions.
    #[inline]
    pub fn write_with(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> Result<u64> {
        self.stay()?;
        if self.sequence >= SEQUENCE_MAX {
            return Err(Error::Exhausted { path: self.names.prefix().to_owned() });
        }
        let index = self.take(length)?;
        let word = version_word(index, self.sequence + 1);
        let buffer = self.buffers[index].as_ref().expect("a taken buffer is there");
        let header = buffer.header();
        begin_fill(&header.version);
        // SAFETY: nobody in this process reads or writes these bytes: readers in it read only what
        // they have pinned, `take` found that nobody has pinned this buffer and nobody can pin it
        // before it is current, and `&mut self` keeps other writes away. Copies that readers make
        // unpinned (copy_stable) are atomic, and thrown away.
        let bytes = unsafe { buffer.mapping.bytes_mut(HEADER_BYTES, length) };
        fill(&mut *bytes);
        // Asked again after all that is other people's code, and may have forked: the version is
        // the parent's, and a child does not have the buffer (`renew`).
        self.stay()?;
        let checksum = checksum::<H>(bytes);
        self.stay()?;
        header.length.poke(length as u64);
        header.checksum.poke(checksum);
        end_fill(&header.version, word);
        self.publish(word);
        if self.patrol.slots > PATROL_SLOTS {
            self.patrol();
        }
        Ok(self.sequence)
    }

    /// The number of the version written last, by this writer or one before; `None` if there is
    /// none.
    pub fn version(&self) -> Option<u64> {
        (self.current != NONE).then(|| sequence_of(self.current))
    }

    /// The number that the next version will have.
    pub fn next_version(&self) -> u64 {
        self.sequence + 1
    }

    /// How many readers live: threads that read through a slot, in all processes, and versions that
    /// they hold beside their newest. A system call for each.
    ///
    /// # Errors
    /// [`Error::Io`] if the system can't tell.
    pub fn readers(&self) -> Result<usize> {
        self.slot_table.living(&self.names.readers())
    }

    /// Removes all buffers that nobody needs: neither current, nor held by a reader that lives.
    /// Done once when a writer opens.
    ///
    /// A writer keeps the buffers that it once needed, at most one for each reader and two: this is
    /// for afterwards.
    ///
    /// # Errors
    /// [`Error::Io`] if the directory can't be listed or a file not removed.
    pub fn trim(&mut self) -> Result<()> {
        self.stay()?;
        self.slot_table.reap(&self.names.readers())?;
        self.avoided.clear();
        self.look(BUFFERS_MAX);
        for index in self.names.buffers()? {
            if !self.busy.has(index) {
                self.buffers.get_mut(index).map(Option::take);
                files::remove_unless_taken(&self.names.buffer(index))?;
            }
        }
        Ok(())
    }

    /// Ends the writer and removes all files. Readers keep what they have, and see nothing new.
    ///
    /// # Errors
    /// [`Error::Io`] if a file can't be removed; [`Error::Forked`] in a child of the process that
    /// opened the writer.
    pub fn remove(self) -> Result<()> {
        self.stay()?;
        files::remove_claimed(&self.names, &self.claim).map(drop)
    }

    /// Refuses to do the parent's work in the child of a fork.
    #[inline]
    fn stay(&self) -> Result<()> {
        if self.claim.is_here() {
            return Ok(());
        }
        Err(Error::Forked { path: self.names.prefix().to_owned() })
    }

    fn head(&self) -> &State {
        self.state.at(0)
    }

    #[inline]
    fn publish(&mut self, word: u64) {
        publish(&self.head().live.current, &self.head().live.ticket, word);
        self.current = word;
        self.sequence = sequence_of(word);
        if must_wake(&self.slot_table.head().shared.waiters) || self.options.fresh_files {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        sys::wake_all(&self.head().live.ticket);
    }

    /// Notes which buffers below `bound` are current or held.
    #[inline]
    fn look(&mut self, bound: usize) {
        self.busy.clear(bound);
        if self.current != NONE {
            self.busy.note(buffer_of(self.current));
        }
        let (busy, slot_table) = (&mut self.busy, &self.slot_table);
        self.patrol.slots = slot_table.held(self.current, |index| busy.note(index));
        self.avoided.iter().for_each(|index| self.busy.note(*index));
    }

    /// Where many slots are taken, some may be those of the dead, and each is looked at with every
    /// version: now and then one owner is asked whether he lives, and the next at once if not.
    #[cold]
    fn patrol(&mut self) {
        self.patrol.writes += 1;
        if self.patrol.writes < PATROL_WRITES {
            return;
        }
        self.patrol.writes = 0;
        // Who can't be asked now is asked later.
        if let Ok((slot, was_dead)) =
            self.slot_table.patrol(self.patrol.last, &self.names.readers())
        {
            self.patrol.last = slot;
            self.patrol.writes = if was_dead { PATROL_WRITES } else { 0 };
        }
    }

    /// A buffer that nobody holds, with room for `length` bytes.
    #[inline]
    fn take(&mut self, length: usize) -> Result<usize> {
        loop {
            self.look(self.buffers.len());
            let after = buffer_of(self.current) + 1;
            let index = match self.free(after) {
                Some(index) => index,
                None => self.make_free()?,
            };
            if !self.options.fresh_files
                && self.buffers[index].as_ref().is_some_and(|buffer| buffer.capacity() >= length)
            {
                return Ok(index);
            }
            match self.renew(index, length) {
                // Each time one name less, until `make_free` finds none.
                Err(error) if files::is_taken(&error) => self.avoided.push(index),
                renewed => return renewed.map(|()| index),
            }
        }
    }

    /// A free one of the buffers that this writer has, by turns: a reader that copies has the more
    /// time.
    #[inline]
    fn free(&self, after: usize) -> Option<usize> {
        let count = self.buffers.len();
        let is_free = |index: &usize| !self.busy.has(*index) && self.buffers[*index].is_some();
        (after.min(count)..count).find(is_free).or_else(|| (0..after.min(count)).find(is_free))
    }

    /// None of the buffers is free: takes from the dead what they hold, or else the smallest index
    /// that nobody holds.
    #[cold]
    fn make_free(&mut self) -> Result<usize> {
        self.slot_table.reap(&self.names.readers())?;
        self.look(BUFFERS_MAX);
        if let Some(index) = self.free(0) {
            return Ok(index);
        }
        let index = (0..BUFFERS_MAX).find(|index| !self.busy.has(*index));
        let index = index.ok_or_else(|| match self.avoided.last() {
            Some(taken) => Error::Foreign {
                path: self.names.buffer(*taken),
                what: "all names of buffers are taken, this one by no buffer",
            },
            None => Error::TooManyReaders {
                path: self.names.readers(),
                capacity: self.slot_table.capacity(),
            },
        })?;
        if self.buffers.len() <= index {
            self.buffers.resize_with(index + 1, || None);
        }
        Ok(index)
    }

    /// Makes a buffer large enough, or makes it at all.
    #[cold]
    fn renew(&mut self, index: usize, length: usize) -> Result<()> {
        let path = self.names.buffer(index);
        let too_long =
            || Error::io("reserving space for", &path)(std::io::ErrorKind::FileTooLarge.into());
        let old = self.buffers[index].take();
        // A version that grows from one to the next does not make a buffer longer every time.
        let spare = old
            .as_ref()
            .map_or(0, |buffer| if buffer.capacity() < length { buffer.capacity() / 4 } else { 0 });
        let bytes = buffer_bytes(length, spare).ok_or_else(too_long)?;
        drop(old);
        let file = files::create(&path, bytes)?;
        let mapping =
            Mapping::new(&file, bytes, Access::Write).map_err(Error::io("mapping", &path))?;
        // SAFETY: a child uses no buffer (`stay`), and drops none (`Writer::drop`).
        unsafe { mapping.keep_from_children() }.map_err(Error::io("mapping", &path))?;
        mapping.at::<Header>(0).lineage.poke(self.lineage);
        files::allow(&file, &path, self.options.mode)?;
        self.buffers[index] = Some(Buffer { mapping });
        Ok(())
    }
}

impl<H> Drop for Writer<H> {
    fn drop(&mut self) {
        if !self.claim.is_here() {
            // A child does not have the buffers, and may have something else in their place.
            self.buffers.drain(..).for_each(std::mem::forget);
        }
    }
}

/// As few slots are looked at in no time, whosever they are.
const PATROL_SLOTS: usize = 16;

/// Writes from one question to the next. With a thousand readers a question costs a few
/// microseconds, and a write about one.
const PATROL_WRITES: u32 = 64;

/// Who was asked last whether he lives.
#[derive(Default)]
struct Patrol {
    /// Slots that the last write looked at.
    slots: usize,
    /// Writes since the last question.
    writes: u32,
    /// The slot that it was about.
    last: usize,
}

/// Buffers are whole pages.
const PAGE_BYTES: usize = 4096;

/// How long a buffer is that has `length` bytes and `spare` ones; `None` if no file is that long.
pub(crate) fn buffer_bytes(length: usize, spare: usize) -> Option<usize> {
    (HEADER_BYTES + spare)
        .checked_add(length)
        .and_then(|bytes| bytes.checked_next_multiple_of(PAGE_BYTES))
        .filter(|bytes| isize::try_from(*bytes).is_ok())
}

/// A buffer's file, mapped. Its length never changes: a larger one is a new file.
struct Buffer {
    mapping: Mapping,
}

impl Buffer {
    #[inline]
    fn header(&self) -> &Header {
        self.mapping.at(0)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.mapping.length() - HEADER_BYTES
    }
}

/// A set of buffers' indexes; those at the bound and above are taken for members.
struct Busy {
    words: [u64; BUFFERS_MAX.div_ceil(64)],
    bound: usize,
}

impl Default for Busy {
    fn default() -> Busy {
        Busy { words: [0; BUFFERS_MAX.div_ceil(64)], bound: 0 }
    }
}

impl Busy {
    #[inline]
    fn clear(&mut self, bound: usize) {
        match bound.div_ceil(64) {
            // Few buffers as a rule. A call of memset with so little may store by a mask, which the
            // load in `note` then waits for.
            1 => self.words[0] = 0,
            words => self.words[..words].fill(0),
        }
        self.bound = bound;
    }

    #[inline]
    fn note(&mut self, index: usize) {
        if index < self.bound {
            self.words[index / 64] |= 1 << (index % 64);
        }
    }

    #[inline]
    fn has(&self, index: usize) -> bool {
        index >= self.bound || self.words[index / 64] & 1 << (index % 64) != 0
    }
}
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::files::Owner;

    /// Readers that were killed leave slots that name versions. A writer with many of them finds
    /// out by itself, in a few writes for each, and asks nobody where there are few.
    #[test]
    fn a_crowd_that_was_killed_is_forgotten_by_and_by() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p");
        let mut writer = Writer::open(&path).unwrap();
        let slot_table = || {
            let path = writer.names.readers();
            MappedSlotTable::open(&path, writer.lineage, Owner::Own, None).unwrap()
        };
        let readers: Vec<_> = (0..200).map(|_| slot_table()).collect();
        for reader in &readers {
            reader.enlist(&path).unwrap();
        }
        // As many buffers as will be needed, so that none is made later, at which all are asked.
        for _ in 0..3 {
            writer.write(b"seen by all").unwrap();
        }
        assert_eq!(writer.patrol.slots, 200);
        // Their locks go with them, and nothing else.
        drop(readers);
        for _ in 0..500 {
            writer.write(b"seen by nobody").unwrap();
        }
        assert_eq!(writer.patrol.slots, PATROL_SLOTS);
    }
}
