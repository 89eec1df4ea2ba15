//! `P.readers`, mapped: the readers' slots, and which of them are taken. Both sides check the file
//! before they trust it.

use crate::error::{Error, Result};
use crate::files::{self, length_of};
use crate::layout::{
    GROUPS, LAYOUT, SLOT_TABLE_MAGIC, Slot, SlotTable, slot_offset, slot_table_bytes,
};
use crate::owner::{self, Owner};
use crate::protocol::{
    All, BUFFERS_MAX, GROUP, NONE, Word, buffer_of, groups_taken, join, leave, protected,
    slots_taken,
};
use crate::sys::{self, Lock, Mapping, Protection};
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Maximum number of slots: each may hold a buffer, the current version has one, and the next
/// version needs one.
pub(crate) const CAPACITY_MAX: usize = BUFFERS_MAX - 2;

/// Maximum number of attempts to find a free slot while the writer searches for slots of dead
/// readers. They end after about 10 ms, because the writer may have been stopped or killed in
/// between.
const TRIES: usize = 100;

/// The mapped slot table.
pub(crate) struct MappedSlotTable {
    file: File,
    mapping: Mapping,
    capacity: usize,
    /// Slots taken through this file. For the kernel, all locks of one open file have the same
    /// owner, which may lock each of them again.
    own: Mutex<BTreeSet<usize>>,
}

impl MappedSlotTable {
    /// Creates a slot table with free slots in a new `file` of [`slot_table_bytes`]. No other user
    /// can open it before `allow`.
    pub(crate) fn create(
        file: File,
        path: &Path,
        lineage: u64,
        capacity: usize,
    ) -> Result<MappedSlotTable> {
        let mapping = Mapping::new(&file, slot_table_bytes(capacity), Protection::Write)
            .map_err(Error::io("mapping", path))?;
        let slot_table: &SlotTable = mapping.at(0);
        slot_table.layout.store_relaxed(LAYOUT);
        slot_table.lineage.store_relaxed(lineage);
        slot_table.capacity.store_relaxed(capacity as u64);
        slot_table.magic.store_release(SLOT_TABLE_MAGIC);
        Ok(MappedSlotTable { file, mapping, capacity, own: Mutex::default() })
    }

    /// Maps the slot table at `path`. Fails unless it belongs to the state of this `lineage` and
    /// its owner is trusted. A writer passes `mode`: then it also fails if users may write to it
    /// whom that mode doesn't allow.
    pub(crate) fn open(
        path: &Path,
        lineage: u64,
        trusted: Owner,
        mode: Option<u32>,
    ) -> Result<MappedSlotTable> {
        let foreign = |what| Error::Foreign { path: path.to_owned(), what };
        let (file, metadata) = files::open(path, true)?;
        trusted.check_user(path, &metadata)?;
        // Checked before it is mapped, because a user who can write to it may shorten it at any
        // time.
        if mode.is_some_and(|mode| owner::others_write(&metadata) & !mode != 0) {
            return Err(foreign("more users may write to it than the writer's options say"));
        }
        if mode.is_some() && metadata.nlink() > 1 {
            return Err(foreign("it has another name, too (a hard link)"));
        }
        let length = length_of(&metadata);
        if length < slot_table_bytes(1) {
            return Err(foreign("too short for a slot_table of readers"));
        }
        let length = length.min(slot_table_bytes(CAPACITY_MAX));
        let mapping =
            Mapping::new(&file, length, Protection::Write).map_err(Error::io("mapping", path))?;
        let slot_table: &SlotTable = mapping.at(0);
        if slot_table.magic.load_acquire() != SLOT_TABLE_MAGIC
            || slot_table.layout.load_relaxed() != LAYOUT
        {
            return Err(foreign("not a slot_table of readers of this version of the crate"));
        }
        if slot_table.lineage.load_relaxed() != lineage {
            return Err(foreign("it belongs to another state"));
        }
        // The file's length may have changed since; the mapping's length counts.
        let capacity = usize::try_from(slot_table.capacity.load_relaxed()).unwrap_or(usize::MAX);
        if capacity == 0 || capacity > CAPACITY_MAX || slot_table_bytes(capacity) > length {
            return Err(foreign("its number of slots is not that of its length"));
        }
        Ok(MappedSlotTable { file, mapping, capacity, own: Mutex::default() })
    }

    /// Extends an old slot table for a new writer, and fills its holes. Nothing changes for
    /// processes that have mapped it.
    pub(crate) fn grow(&mut self, path: &Path, capacity: usize) -> Result<()> {
        let bytes = slot_table_bytes(capacity.max(self.capacity));
        sys::reserve(&self.file, bytes).map_err(Error::io("reserving space for", path))?;
        if capacity > self.capacity {
            self.mapping = Mapping::new(&self.file, slot_table_bytes(capacity), Protection::Write)
                .map_err(Error::io("mapping", path))?;
            self.capacity = capacity;
            self.head().capacity.store_release(capacity as u64);
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
    pub(crate) fn head(&self) -> &SlotTable {
        self.mapping.at(0)
    }

    #[inline]
    pub(crate) fn slot(&self, index: usize) -> &Slot {
        self.mapping.at(slot_offset(index))
    }

    /// Returns the slots that the writer must check. All are in range, whatever readers have
    /// written.
    #[inline]
    fn taken(&self) -> impl Iterator<Item = usize> {
        let slot_table = self.head();
        let groups = bits(groups_taken(&slot_table.shared.groups));
        groups
            .flat_map(|group| {
                let slots = slots_taken::<_, All>(
                    &slot_table.shared.groups,
                    &slot_table.taken[group],
                    group,
                );
                bits(slots).map(move |slot| group * GROUP + slot)
            })
            .filter(|index| *index < self.capacity)
    }

    /// Calls `each` for the buffers that readers hold, and returns the number of taken slots.
    /// `current` is the version published last.
    #[inline]
    pub(crate) fn for_each_held(&self, current: u64, mut each: impl FnMut(usize)) -> usize {
        let mut slots = 0;
        self.taken().for_each(|index| {
            slots += 1;
            match protected::<_, All>(current, &self.slot(index).pinned) {
                NONE => {}
                held => each(buffer_of(held)),
            }
        });
        slots
    }

    /// Takes a free slot for the calling reader: one whose lock no living process holds. It first
    /// tries slots marked as free, so that one system call is usually enough, then slots of dead
    /// readers.
    pub(crate) fn take_slot(&self, path: &Path) -> Result<usize> {
        let mut own = self.own();
        let reaps = &self.head().shared.reaps;
        for _ in 0..TRIES {
            // The locks order this load: a reader that is stopped by the writer's lock sees an odd
            // number.
            let before = reaps.load_relaxed();
            for is_taken in [false, true] {
                for index in self.slots_marked(is_taken).filter(|index| !own.contains(index)) {
                    if !sys::lock(&self.file, index as u64, Lock::Exclusive)
                        .map_err(Error::io("locking", path))?
                    {
                        continue;
                    }
                    let slot_table = self.head();
                    let taken = &slot_table.taken[index / GROUP];
                    join(&slot_table.shared.groups, taken, &self.slot(index).pinned, index);
                    own.insert(index);
                    return Ok(index);
                }
            }
            // None was free, unless the writer had locked one in the meantime.
            if before.is_multiple_of(2) && reaps.load_relaxed() == before {
                break;
            }
            thread::sleep(Duration::from_micros(100));
        }
        Err(Error::TooManyReaders { path: path.to_owned(), capacity: self.capacity })
    }

    /// Returns the slots that are marked as taken, or as free.
    fn slots_marked(&self, is_taken: bool) -> impl Iterator<Item = usize> {
        let of_group = move |group: usize| {
            let taken = self.head().taken[group].load_relaxed();
            bits(if is_taken { taken } else { !taken }).map(move |slot| group * GROUP + slot)
        };
        (0..GROUPS).flat_map(of_group).take_while(|index| *index < self.capacity)
    }

    /// Returns a slot to the table.
    pub(crate) fn give_slot_back(&self, index: usize) {
        let mut own = self.own();
        leave(&self.head().taken[index / GROUP], &self.slot(index).pinned, index);
        own.remove(&index);
        // A lock that can't be released here ends with the file. Until then the slot is taken, but
        // holds nothing.
        let _ = sys::unlock(&self.file, index as u64);
    }

    fn own(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees the slots of all dead readers.
    pub(crate) fn reap(&self, path: &Path) -> Result<()> {
        self.taken().try_for_each(|index| self.reap_slot(index, path).map(drop))
    }

    /// Checks the owner of the next taken slot after slot `after`, cyclically. Returns the slot,
    /// and whether its owner was dead: then the slot is free now.
    pub(crate) fn probe(&self, after: usize, path: &Path) -> Result<(usize, bool)> {
        let next = self.taken().find(|index| *index > after).or_else(|| self.taken().next());
        next.map_or(Ok((0, false)), |index| Ok((index, self.reap_slot(index, path)?)))
    }

    /// Frees a slot if its owner is dead. Then its lock is free, and while the writer holds the
    /// lock, the slot can't get a new owner.
    fn reap_slot(&self, index: usize, path: &Path) -> Result<bool> {
        let locking = || Error::io("locking", path);
        // Checked first, so that the locks of living readers are left alone.
        if sys::is_locked(&self.file, index as u64).map_err(locking())? {
            return Ok(false);
        }
        let reaps = &self.head().shared.reaps;
        let begun = reaps.load_relaxed() | 1;
        reaps.store_relaxed(begun);
        let reaped = sys::lock(&self.file, index as u64, Lock::Exclusive).and_then(|is_dead| {
            if is_dead {
                leave(&self.head().taken[index / GROUP], &self.slot(index).pinned, index);
                sys::unlock(&self.file, index as u64)?;
            }
            Ok(is_dead)
        });
        reaps.store_relaxed(begun.wrapping_add(1));
        reaped.map_err(locking())
    }

    /// Returns the number of taken slots with a living owner: one for each thread that reads, and
    /// one for each older version that it still holds.
    pub(crate) fn count_living(&self, path: &Path) -> Result<usize> {
        let mut count = 0;
        for index in self.taken() {
            count += usize::from(
                sys::is_locked(&self.file, index as u64).map_err(Error::io("locking", path))?,
            );
        }
        Ok(count)
    }
}

/// Returns the positions of the set bits.
#[inline]
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (place < 64).then_some(place)
    })
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::protocol::version_word;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    fn create(path: &Path, capacity: usize) -> MappedSlotTable {
        let file = files::create(path, slot_table_bytes(capacity)).unwrap();
        MappedSlotTable::create(file, path, 7, capacity).unwrap()
    }

    fn open(path: &Path) -> Result<MappedSlotTable> {
        MappedSlotTable::open(path, 7, Owner::Own, None)
    }

    /// The writer briefly holds the lock of a free slot when it checks whether its owner lives. A
    /// reader that came at that moment once failed because all slots seemed to be taken.
    #[test]
    fn the_last_free_slot_is_found_while_the_writer_looks_for_the_dead() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slot_table");
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
                reader.take_slot(&path).map(|index| reader.give_slot_back(index))
            });
            is_over.store(true, Relaxed);
            enlisted.unwrap();
        });
        let reader = open(&path).unwrap();
        reader.take_slot(&path).unwrap();
        assert!(matches!(
            open(&path).unwrap().take_slot(&path),
            Err(Error::TooManyReaders { capacity: 1, .. })
        ));
    }

    /// The writer once checked as many slots as had ever been taken, until a trim.
    #[test]
    fn a_crowd_that_left_costs_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slot_table");
        let writer = create(&path, 1000);
        let readers: Vec<_> = (0..1000).map(|_| open(&path).unwrap()).collect();
        let slots: Vec<_> = readers.iter().map(|reader| reader.take_slot(&path).unwrap()).collect();
        assert_eq!(slots, (0..1000).collect::<Vec<_>>());
        assert_eq!(writer.for_each_held(1, |_| ()), 1000);
        // In the order of their slots, so that the last one is taken longest.
        for (reader, slot) in readers.iter().zip(slots).take(999) {
            reader.give_slot_back(slot);
        }
        assert_eq!(writer.for_each_held(1, |_| ()), 1);
        assert_eq!(writer.head().shared.groups.load_relaxed(), 1 << (999 / GROUP));
    }

    /// Readers that die leave their bits; the writer probes them one by one and frees their slots.
    #[test]
    fn a_crowd_that_died_is_found_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slot_table");
        let writer = create(&path, 100);
        let readers: Vec<_> = (0..100).map(|_| open(&path).unwrap()).collect();
        for (number, reader) in readers.iter().enumerate() {
            let slot = reader.take_slot(&path).unwrap();
            reader.slot(slot).pinned.store_relaxed(version_word(number, 1));
        }
        let living = readers.into_iter().nth(70);
        let mut buffers = 0;
        assert_eq!((writer.for_each_held(1, |_| buffers += 1), buffers), (100, 100));
        let (mut last, mut dead) = (0, 0);
        for _ in 0..100 {
            let (slot, was_dead) = writer.probe(last, &path).unwrap();
            (last, dead) = (slot, dead + usize::from(was_dead));
            assert_eq!(was_dead, slot != 70);
        }
        let mut buffers = Vec::new();
        assert_eq!((writer.for_each_held(1, |buffer| buffers.push(buffer)), dead), (1, 99));
        assert_eq!(buffers, [70]);
        drop(living);
        let come = open(&path).unwrap();
        assert_eq!(come.take_slot(&path).unwrap(), 0);
    }

    #[test]
    fn hostile_words_in_the_slot_table_stay_within_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slot_table");
        let slot_table = create(&path, 4);
        slot_table.head().shared.groups.store(u64::MAX, Relaxed);
        slot_table.head().taken.iter().for_each(|taken| taken.store(u64::MAX, Relaxed));
        for (index, word) in [u64::MAX - 1, u64::MAX, 1, 0].into_iter().enumerate() {
            slot_table.slot(index).pinned.store(word, Relaxed);
        }
        let mut held = Vec::new();
        assert_eq!(slot_table.for_each_held(5, |buffer| held.push(buffer)), 4);
        assert_eq!(held, [BUFFERS_MAX, 0, 0]);
    }
}
