//! `P.readers` as it is mapped: the slots, and what goes with them. Both sides check it before they believe it.

use crate::error::{Error, Result};
use crate::files::{self, Owner};
use crate::layout::{LAYOUT, ROLL_MAGIC, Roll, Slot, roll_bytes, slot_offset};
use crate::protocol::{All, BUFFERS_MAX, Word, buffer_of, protected, unpin};
use crate::sys::{self, Access, Lock, Mapping};
use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// As many slots as there can be: each may hold a buffer, the current version has one, and the next needs one.
pub(crate) const CAPACITY_MAX: usize = BUFFERS_MAX - 2;

/// Attempts to find a free slot while the writer looks for those of the dead. It may have been stopped or killed at that, so the attempts end, after some 10 ms.
const TRIES: usize = 100;

/// The mapped roll.
pub(crate) struct MappedRoll {
    file: File,
    mapping: Mapping,
    capacity: usize,
    /// Slots taken through this file. To the kernel all its locks are one owner's, who may take each again.
    own: Mutex<BTreeSet<usize>>,
}

impl MappedRoll {
    /// A new roll with free slots, in a new `file` of [`roll_bytes`]; nobody can open it before `allow`.
    pub(crate) fn create(file: File, path: &Path, lineage: u64, capacity: usize) -> Result<MappedRoll> {
        let mapping =
            Mapping::new(&file, roll_bytes(capacity), Access::Write).map_err(Error::io("mapping", path))?;
        let roll: &Roll = mapping.at(0);
        roll.layout.poke(LAYOUT);
        roll.lineage.poke(lineage);
        roll.capacity.poke(capacity as u64);
        roll.magic.put(ROLL_MAGIC);
        Ok(MappedRoll { file, mapping, capacity, own: Mutex::default() })
    }

    /// Maps the roll at `path`, if it goes with the state of this `lineage` and of somebody who
    /// is believed; for a writer, if also nobody else can write to it than who may by this `mode`.
    pub(crate) fn open(path: &Path, lineage: u64, believed: Owner, mode: Option<u32>) -> Result<MappedRoll> {
        let foreign = |what| Error::Foreign { path: path.to_owned(), what };
        let (file, metadata) = files::open(path, true)?;
        believed.check_user(path, &metadata)?;
        // Before it is mapped: who can write to it may cut it at any time.
        if mode.is_some_and(|mode| files::others_write(&metadata) & !mode != 0) {
            return Err(foreign("more users may write to it than the writer's options say"));
        }
        if mode.is_some() && metadata.nlink() > 1 {
            return Err(foreign("it has another name, too (a hard link)"));
        }
        let length = length_of(&metadata);
        if length < roll_bytes(1) {
            return Err(foreign("too short for a roll of readers"));
        }
        let length = length.min(roll_bytes(CAPACITY_MAX));
        let mapping = Mapping::new(&file, length, Access::Write).map_err(Error::io("mapping", path))?;
        let roll: &Roll = mapping.at(0);
        if roll.magic.get() != ROLL_MAGIC || roll.layout.peek() != LAYOUT {
            return Err(foreign("not a roll of readers of this version of the crate"));
        }
        if roll.lineage.peek() != lineage {
            return Err(foreign("it belongs to another state"));
        }
        // The file may have grown since the number was read, or shrunk; the mapping's length is what counts.
        let capacity = usize::try_from(roll.capacity.peek()).unwrap_or(usize::MAX);
        if capacity == 0 || capacity > CAPACITY_MAX || roll_bytes(capacity) > length {
            return Err(foreign("its number of slots is not that of its length"));
        }
        Ok(MappedRoll { file, mapping, capacity, own: Mutex::default() })
    }

    /// Makes the roll longer, for the writer that finds an old one, and fills its holes. Who has mapped it sees no difference.
    pub(crate) fn grow(&mut self, path: &Path, capacity: usize) -> Result<()> {
        let bytes = roll_bytes(capacity.max(self.capacity));
        sys::reserve(&self.file, bytes).map_err(Error::io("reserving space for", path))?;
        if capacity > self.capacity {
            self.mapping = Mapping::new(&self.file, roll_bytes(capacity), Access::Write)
                .map_err(Error::io("mapping", path))?;
            self.capacity = capacity;
            self.head().capacity.put(capacity as u64);
        }
        Ok(())
    }

    pub(crate) fn allow(&self, path: &Path, mode: u32) -> Result<()> {
        files::allow(&self.file, path, mode)
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    #[inline]
    pub(crate) fn head(&self) -> &Roll {
        self.mapping.at(0)
    }

    #[inline]
    pub(crate) fn slot(&self, index: usize) -> &Slot {
        self.mapping.at(slot_offset(index))
    }

    /// How many slots the writer must look at, whatever a reader has written there.
    #[inline]
    fn used(&self) -> usize {
        usize::try_from(self.head().shared.used.observe()).unwrap_or(usize::MAX).min(self.capacity)
    }

    /// The buffers that readers hold; `current` is the version published last.
    #[inline]
    pub(crate) fn held(&self, current: u64) -> impl Iterator<Item = usize> {
        let slots = (0..self.used()).map(|index| self.slot(index));
        slots
            .map(move |slot| protected::<_, All>(current, &slot.pinned))
            .filter(|word| *word != 0)
            .map(buffer_of)
    }

    /// Takes a free slot for the calling reader: its lock can be had, because nobody lives who has it.
    pub(crate) fn enlist(&self, path: &Path) -> Result<usize> {
        let mut own = self.own();
        let reaps = &self.head().shared.reaps;
        for _ in 0..TRIES {
            let before = reaps.observe();
            for index in 0..self.capacity {
                if !own.contains(&index)
                    && sys::lock(&self.file, index as u64, Lock::Exclusive)
                        .map_err(Error::io("locking", path))?
                {
                    unpin(&self.slot(index).pinned);
                    // Before the first pin, so that a writer that does not look at this slot has published before that pin is re-checked.
                    self.head().shared.used.raise(index as u64 + 1);
                    own.insert(index);
                    return Ok(index);
                }
            }
            // None was free, unless it was the writer who had the lock of one.
            if before.is_multiple_of(2) && reaps.observe() == before {
                break;
            }
            thread::sleep(Duration::from_micros(100));
        }
        Err(Error::TooManyReaders { path: path.to_owned(), capacity: self.capacity })
    }

    /// Gives a slot back.
    pub(crate) fn discharge(&self, index: usize) {
        let mut own = self.own();
        unpin(&self.slot(index).pinned);
        own.remove(&index);
        // A lock that can't be given back goes with the file; until then the slot is taken, and holds nothing.
        let _ = sys::unlock(&self.file, index as u64);
    }

    fn own(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees what the dead hold, and forgets the last slots if nobody has them.
    ///
    /// A slot whose lock can be had has no living owner; while the writer has the lock, nobody becomes its owner.
    pub(crate) fn reap(&self, path: &Path) -> Result<()> {
        let reaps = &self.head().shared.reaps;
        let begun = reaps.peek() | 1;
        reaps.exchange(begun);
        let reaped = self.reap_slots(path);
        reaps.exchange(begun.wrapping_add(1));
        reaped
    }

    fn reap_slots(&self, path: &Path) -> Result<()> {
        let locking = || Error::io("locking", path);
        for index in (0..self.used()).rev() {
            if sys::lock(&self.file, index as u64, Lock::Exclusive).map_err(locking())? {
                unpin(&self.slot(index).pinned);
                // Only if this is the last: then no living reader has a slot behind it.
                let _ = self.head().shared.used.replace(index as u64 + 1, index as u64);
                sys::unlock(&self.file, index as u64).map_err(locking())?;
            }
        }
        Ok(())
    }

    /// How many readers live: threads that read, and versions that they still hold beside their newest.
    pub(crate) fn living(&self, path: &Path) -> Result<usize> {
        let mut count = 0;
        for index in 0..self.used() {
            count +=
                usize::from(sys::is_locked(&self.file, index as u64).map_err(Error::io("locking", path))?);
        }
        Ok(count)
    }
}

/// A file's length as an index of memory.
pub(crate) fn length_of(metadata: &Metadata) -> usize {
    usize::try_from(metadata.len()).unwrap_or(usize::MAX)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    fn create(path: &Path, capacity: usize) -> MappedRoll {
        let file = files::create(path, roll_bytes(capacity)).unwrap();
        MappedRoll::create(file, path, 7, capacity).unwrap()
    }

    fn open(path: &Path) -> Result<MappedRoll> {
        MappedRoll::open(path, 7, Owner::Own, None)
    }

    /// The writer has the lock of a free slot for a moment when it looks whether its owner lives. A reader that came at that moment once heard that all were taken.
    #[test]
    fn the_last_free_slot_is_found_while_the_writer_looks_for_the_dead() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("roll");
        let writer = create(&path, 1);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    writer.reap(&path).unwrap();
                    thread::yield_now();
                }
            });
            let enlisted = (0..20_000).try_for_each(|_| {
                let reader = open(&path)?;
                reader.enlist(&path).map(|index| reader.discharge(index))
            });
            is_over.store(true, Relaxed);
            enlisted.unwrap();
        });
        let reader = open(&path).unwrap();
        reader.enlist(&path).unwrap();
        assert!(matches!(open(&path).unwrap().enlist(&path), Err(Error::TooManyReaders { capacity: 1, .. })));
    }

    #[test]
    fn hostile_words_in_the_roll_stay_within_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("roll");
        let roll = create(&path, 4);
        roll.head().shared.used.store(u64::MAX, Relaxed);
        for (index, word) in [u64::MAX - 1, u64::MAX, 1, 0].into_iter().enumerate() {
            roll.slot(index).pinned.store(word, Relaxed);
        }
        assert_eq!(roll.held(5).collect::<Vec<_>>(), [BUFFERS_MAX, 0, 0]);
    }
}
