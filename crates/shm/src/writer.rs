//! The writer: takes a buffer without holders, fills it, and makes it current. It never waits for a
//! reader.
//!
//! It never writes to an earlier writer's buffers: those that readers still hold stay, the others
//! are removed. So it has created every buffer that it writes to, and knows its length.
#![allow(unsafe_code, reason = "lends the bytes of a buffer to be filled")]

use crate::buffers::{Buffer, BufferSet, buffer_bytes};
use crate::checksum::{Xxh3, checksum};
use crate::claim::{self, Claim};
use crate::error::{Error, Result};
use crate::files::{self, Names};
use crate::layout::{FRESH_FILES, HEADER_BYTES, Header, State};
use crate::opening::{self, Opened};
use crate::options::WriterOptions;
use crate::owner;
use crate::protocol::{
    BUFFERS_MAX, NONE, SEQUENCE_MAX, Word, begin_fill, buffer_of, end_fill, must_wake, publish,
    sequence_of, set_ticket, version_word,
};
use crate::slot_table::{CAPACITY_MAX, MappedSlotTable};
use crate::sys::{self, Mapping, Protection};
use std::fmt;
use std::hash::Hasher;
use std::marker::PhantomData;
use std::path::Path;

/// The only writer under a prefix, as long as it lives.
///
/// Dropping it leaves the files, so that readers continue to read the last version, and the next
/// writer continues the numbers. [`Writer::remove`] and [`remove`](crate::remove) remove the files.
pub struct Writer<H = Xxh3> {
    names: Names,
    options: WriterOptions,
    claim: Claim,
    state: Mapping,
    slot_table: MappedSlotTable,
    buffers: Vec<Option<Buffer>>,
    busy: BufferSet,
    probe: LivenessProbe,
    /// Buffers whose names are unavailable.
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
    /// The errors of [`Writer::with_options`].
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
    /// Becomes the writer under `path`. Creates the files, or continues where another writer ended,
    /// however it ended. It then skips a number, because that version may have been written but not
    /// published.
    ///
    /// # Errors
    /// [`Error::Busy`] while another writer lives, in any process or container; [`Error::Foreign`]
    /// if `P.state` is something else, or was written with another checksum; [`Error::WrongOwner`]
    /// if it belongs to another user; [`Error::Io`] if the system refuses a file, a lock or space.
    ///
    /// # Panics
    /// If `readers_max` is not 1 to 4,093.
    pub fn with_options(path: impl AsRef<Path>, options: WriterOptions) -> Result<Writer<H>> {
        assert!(
            (1..=CAPACITY_MAX).contains(&options.readers_max),
            "readers_max is 1 to {CAPACITY_MAX}"
        );
        let mut options = options;
        options.mode &= !owner::WRITE_BY_OTHERS;
        let names = Names::new(path.as_ref())?;
        let Opened { claim, state, slot_table, sequence } = opening::open::<H>(&names, &options)?;
        let head: &State = state.at(0);
        let (lineage, current) = (head.lineage.load_relaxed(), head.live.current.load_relaxed());
        head.flags.store_release(if options.fresh_files { FRESH_FILES } else { 0 });
        let mut writer = Writer {
            names,
            options,
            claim,
            state,
            slot_table,
            buffers: Vec::new(),
            busy: BufferSet::default(),
            probe: LivenessProbe::default(),
            avoided: Vec::new(),
            lineage,
            current,
            sequence,
            #[cfg(feature = "rkyv")]
            scratch: rkyv::util::AlignedVec::new(),
            hasher: PhantomData,
        };
        writer.trim()?;
        // The last writer may have died between publishing and changing the ticket or waking the
        // sleepers: do both.
        set_ticket(&writer.head().live.ticket, current);
        writer.wake();
        Ok(writer)
    }

    /// Publishes a copy of `bytes` as the next version, and returns its number.
    ///
    /// # Errors
    /// The errors of [`Writer::write_with`].
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Result<u64> {
        self.write_with(bytes.len(), |place| place.copy_from_slice(bytes))
    }

    /// Publishes the `length` bytes that `fill` writes as the next version, and returns its number.
    /// They are written to the memory that readers read; nothing is copied.
    ///
    /// The memory's initial content is not specified (an older version, or zeros). If `fill`
    /// panics, nothing is published. If it forks, the child does not have that memory: an access
    /// ends it with a signal.
    ///
    /// # Errors
    /// [`Error::Io`] if a buffer can't be created because there is no space; [`Error::Forked`] in a
    /// child of the process that opened the writer; [`Error::TooManyReaders`] if all buffers are
    /// held, which takes more readers than slots; [`Error::Exhausted`] after 2^52 versions.
    #[inline]
    pub fn write_with(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> Result<u64> {
        self.check_process()?;
        if self.sequence >= SEQUENCE_MAX {
            return Err(Error::Exhausted { path: self.names.prefix().to_owned() });
        }
        let index = self.take_buffer(length)?;
        let word = version_word(index, self.sequence + 1);
        let buffer = self.buffers[index].as_ref().expect("a taken buffer is there");
        let header = buffer.header();
        begin_fill(&header.version);
        // SAFETY: this process doesn't read or write these bytes in any other way. Readers in it
        // read only pinned buffers; `take_buffer` found that this buffer is not pinned, and it
        // can't be pinned before it is current; `&mut self` excludes other writes. Copies that
        // readers make unpinned (copy_stable) are atomic, and thrown away.
        let bytes = unsafe { buffer.mapping.bytes_mut(HEADER_BYTES, length) };
        fill(&mut *bytes);
        // Checked after each call of the caller's code, which may have forked: the version belongs
        // to the parent, and a child does not have the buffer (`create_buffer`).
        self.check_process()?;
        let checksum = checksum::<H>(bytes);
        self.check_process()?;
        header.length.store_relaxed(length as u64);
        header.checksum.store_relaxed(checksum);
        end_fill(&header.version, word);
        self.publish(word);
        if self.probe.slots > PROBE_SLOTS_MIN {
            self.probe();
        }
        Ok(self.sequence)
    }

    /// Returns the number of the version written last, by this writer or an earlier one; `None` if
    /// there is none.
    pub fn version(&self) -> Option<u64> {
        (self.current != NONE).then(|| sequence_of(self.current))
    }

    /// Returns the number that the next version will have.
    pub fn next_version(&self) -> u64 {
        self.sequence + 1
    }

    /// Returns the number of living readers: one for each thread that reads through a slot, in all
    /// processes, and one for each older version that it still holds. Makes a system call for each.
    ///
    /// # Errors
    /// [`Error::Io`] if the system can't tell.
    pub fn readers(&self) -> Result<usize> {
        self.slot_table.count_living(&self.names.readers())
    }

    /// Removes all buffers that are neither current nor held by a living reader. A writer does this
    /// once when it opens.
    ///
    /// Afterwards it keeps all buffers that it ever needed: at most one for each slot and two more.
    /// This call removes unneeded ones again.
    ///
    /// # Errors
    /// [`Error::Io`] if the directory can't be listed or a file can't be removed.
    pub fn trim(&mut self) -> Result<()> {
        self.check_process()?;
        self.slot_table.reap(&self.names.readers())?;
        self.avoided.clear();
        self.mark_busy(BUFFERS_MAX);
        for index in self.names.buffers()? {
            if !self.busy.contains(index) {
                self.buffers.get_mut(index).map(Option::take);
                files::remove_if_possible(&self.names.buffer(index))?;
            }
        }
        Ok(())
    }

    /// Ends the writer and removes all files. Readers keep what they have mapped, and see nothing
    /// new.
    ///
    /// # Errors
    /// [`Error::Io`] if a file can't be removed; [`Error::Forked`] in a child of the process that
    /// opened the writer.
    pub fn remove(self) -> Result<()> {
        self.check_process()?;
        claim::remove_claimed(&self.names, &self.claim).map(drop)
    }

    /// Fails in the child of a fork.
    #[inline]
    fn check_process(&self) -> Result<()> {
        if self.claim.is_original_process() {
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

    /// Marks the buffers below `limit` that are current or held.
    #[inline]
    fn mark_busy(&mut self, limit: usize) {
        self.busy.clear(limit);
        if self.current != NONE {
            self.busy.insert(buffer_of(self.current));
        }
        let (busy, slot_table) = (&mut self.busy, &self.slot_table);
        self.probe.slots = slot_table.for_each_held(self.current, |index| busy.insert(index));
        self.avoided.iter().for_each(|index| self.busy.insert(*index));
    }

    /// Checks from time to time whether one owner of a slot lives, if many slots are taken. If it
    /// is dead, the next write checks another. Every write checks every taken slot, and slots of
    /// dead readers would otherwise stay taken.
    #[cold]
    fn probe(&mut self) {
        self.probe.writes += 1;
        if self.probe.writes < PROBE_INTERVAL {
            return;
        }
        self.probe.writes = 0;
        // If the system can't tell now, a later write tries again.
        if let Ok((slot, was_dead)) = self.slot_table.probe(self.probe.last, &self.names.readers())
        {
            self.probe.last = slot;
            self.probe.writes = if was_dead { PROBE_INTERVAL } else { 0 };
        }
    }

    /// Returns a buffer without holders that has room for `length` bytes.
    #[inline]
    fn take_buffer(&mut self, length: usize) -> Result<usize> {
        loop {
            self.mark_busy(self.buffers.len());
            let after = buffer_of(self.current) + 1;
            let index = match self.next_free(after) {
                Some(index) => index,
                None => self.find_or_add_free()?,
            };
            if !self.options.fresh_files
                && self.buffers[index].as_ref().is_some_and(|buffer| buffer.capacity() >= length)
            {
                return Ok(index);
            }
            match self.create_buffer(index, length) {
                // Each time there is one name less, until `find_or_add_free` finds none.
                Err(error) if files::is_name_unavailable(&error) => self.avoided.push(index),
                created => return created.map(|()| index),
            }
        }
    }

    /// Returns one of this writer's free buffers, in rotation, which gives a reader that copies
    /// more time.
    #[inline]
    fn next_free(&self, after: usize) -> Option<usize> {
        let count = self.buffers.len();
        let is_free = |index: &usize| !self.busy.contains(*index) && self.buffers[*index].is_some();
        (after.min(count)..count).find(is_free).or_else(|| (0..after.min(count)).find(is_free))
    }

    /// Frees the buffers that dead readers hold, because no buffer is free. Returns one of them, or
    /// the smallest index without holders.
    #[cold]
    fn find_or_add_free(&mut self) -> Result<usize> {
        self.slot_table.reap(&self.names.readers())?;
        self.mark_busy(BUFFERS_MAX);
        if let Some(index) = self.next_free(0) {
            return Ok(index);
        }
        let index = (0..BUFFERS_MAX).find(|index| !self.busy.contains(*index));
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

    /// Creates a buffer, or replaces one that is too short.
    #[cold]
    fn create_buffer(&mut self, index: usize, length: usize) -> Result<()> {
        let path = self.names.buffer(index);
        let too_long =
            || Error::io("reserving space for", &path)(std::io::ErrorKind::FileTooLarge.into());
        let old = self.buffers[index].take();
        // Some extra length, so that steadily growing versions don't need a new file each time.
        let extra = old
            .as_ref()
            .map_or(0, |buffer| if buffer.capacity() < length { buffer.capacity() / 4 } else { 0 });
        let bytes = buffer_bytes(length, extra).ok_or_else(too_long)?;
        drop(old);
        let file = files::create(&path, bytes)?;
        let mapping =
            Mapping::new(&file, bytes, Protection::Write).map_err(Error::io("mapping", &path))?;
        // SAFETY: a child uses no buffer (`check_process`), and drops none (`Writer::drop`).
        unsafe { mapping.keep_from_children() }.map_err(Error::io("mapping", &path))?;
        mapping.at::<Header>(0).lineage.store_relaxed(self.lineage);
        files::allow(&file, &path, self.options.mode)?;
        self.buffers[index] = Some(Buffer { mapping });
        Ok(())
    }
}

impl<H> Drop for Writer<H> {
    fn drop(&mut self) {
        if !self.claim.is_original_process() {
            // A child does not have the buffers, and may have other memory at their addresses.
            self.buffers.drain(..).for_each(std::mem::forget);
        }
    }
}

/// Checking up to this many slots takes next to no time, whether their owners live or not.
const PROBE_SLOTS_MIN: usize = 16;

/// Number of writes from one probe to the next. With a thousand readers a probe costs a few
/// microseconds, and a write about one.
const PROBE_INTERVAL: u32 = 64;

/// The state of probing slot owners.
#[derive(Default)]
struct LivenessProbe {
    /// Number of slots that the last write checked.
    slots: usize,
    /// Number of writes since the last probe.
    writes: u32,
    /// The slot that the last probe checked.
    last: usize,
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::owner::Owner;

    /// Killed readers leave slots that name versions. A writer with many of them frees them by
    /// itself, within a few writes each; with few slots taken it probes none.
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
            reader.take_slot(&path).unwrap();
        }
        // As many buffers as needed: creating one later would probe all slots.
        for _ in 0..3 {
            writer.write(b"seen by all").unwrap();
        }
        assert_eq!(writer.probe.slots, 200);
        // Only their locks end with them.
        drop(readers);
        for _ in 0..500 {
            writer.write(b"seen by nobody").unwrap();
        }
        assert_eq!(writer.probe.slots, PROBE_SLOTS_MIN);
    }
}
