//! `P.readers` as it is mapped: the slots, and what goes with them. Both sides check it before they
//! believe it.

use crate::error::{Error, Result};
use crate::files::{self, Owner};
use crate::layout::{GROUPS, LAYOUT, ROLL_MAGIC, Slot, SlotTable, roll_bytes, slot_offset};
use crate::protocol::{
    All, BUFFERS_MAX, GROUP, NONE, Word, buffer_of, groups_taken, join, leave, protected,
    slots_taken,
};
use crate::sys::{self, Access, Lock, Mapping};
use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// As many slots as there can be: each may hold a buffer, the current version has one, and the next
/// needs one.
pub(crate) const CAPACITY_MAX: usize = BUFFERS_MAX - 2;

/// Attempts to find a free slot while the writer looks for those of the dead. It may have been
/// stopped or killed at that, so the attempts end, after some 10 ms.
const TRIES: usize = 100;

/// The mapped slot_table.
pub(crate) struct MappedSlotTable {
    file: File,
    mapping: Mapping,
    capacity: usize,
    /// Slots taken through this file. To the kernel all its locks are one owner's, who may take
    /// each again.
    own: Mutex<BTreeSet<usize>>,
}

impl MappedSlotTable {
    /// A new slot_table with free slots, in a new `file` of [`roll_bytes`]; nobody can open it
    /// before `allow`.
    pub(crate) fn create(
        file: File,
        path: &Path,
        lineage: u64,
        capacity: usize,
    ) -> Result<MappedSlotTable> {
        let mapping = Mapping::new(&file, roll_bytes(capacity), Access::Write)
            .map_err(Error::io("mapping", path))?;
        let slot_table: &SlotTable = mapping.at(0);
        slot_table.layout.poke(LAYOUT);
        slot_table.lineage.poke(lineage);
        slot_table.capacity.poke(capacity as u64);
        slot_table.magic.put(ROLL_MAGIC);
        Ok(MappedSlotTable { file, mapping, capacity, own: Mutex::default() })
    }

    /// Maps the slot_table at `path`, if it goes with the state of this `lineage` and of somebody
    /// who is believed; for a writer, if also nobody else can write to it than who may by this
    /// `mode`.
    pub(crate) fn open(
        path: &Path,
        lineage: u64,
        believed: Owner,
        mode: Option<u32>,
    ) -> Result<MappedSlotTable> {
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
            return Err(foreign("too short for a slot_table of readers"));
        }
        let length = length.min(roll_bytes(CAPACITY_MAX));
        let mapping =
            Mapping::new(&file, length, Access::Write).map_err(Error::io("mapping", path))?;
        let slot_table: &SlotTable = mapping.at(0);
        if slot_table.magic.get() != ROLL_MAGIC || slot_table.layout.peek() != LAYOUT {
            return Err(foreign("not a slot_table of readers of this version of the crate"));
        }
        if slot_table.lineage.peek() != lineage {
            return Err(foreign("it belongs to another state"));
        }
        // The file may have grown since the number was read, or shrunk; the mapping's length is
        // what counts.
        let capacity = usize::try_from(slot_table.capacity.peek()).unwrap_or(usize::MAX);
        if capacity == 0 || capacity > CAPACITY_MAX || roll_bytes(capacity) > length {
            return Err(foreign("its number of slots is not that of its length"));
        }
        Ok(MappedSlotTable { file, mapping, capacity, own: Mutex::default() })
    }

    /// Makes the slot_table longer, for the writer that finds an old one, and fills its holes. Who
    /// has mapped it sees no difference.
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
    pub(crate) fn head(&self) -> &SlotTable {
        self.mapping.at(0)
    }

    #[inline]
    pub(crate) fn slot(&self, index: usize) -> &Slot {
        self.mapping.at(slot_offset(index))
    }

    /// The slots that the writer must look at, whatever readers have written there.
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

    /// Calls `each` for the buffers that readers hold, and returns how many slots are taken;
    /// `current` is the version published last.
    #[inline]
    pub(crate) fn held(&self, current: u64, mut each: impl FnMut(usize)) -> usize {
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

    /// Takes a free slot for the calling reader: its lock can be had, because nobody lives who has
    /// it. Those that look free are tried first, so that one system call is mostly enough, and then
    /// those of the dead.
    pub(crate) fn enlist(&self, path: &Path) -> Result<usize> {
        let mut own = self.own();
        let reaps = &self.head().shared.reaps;
        for _ in 0..TRIES {
            // The locks order these: who meets the writer's lock sees that it is at work.
            let before = reaps.peek();
            for is_taken in [false, true] {
                for index in self.slots_that_look(is_taken).filter(|index| !own.contains(index)) {
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
            // None was free, unless it was the writer who had the lock of one.
            if before.is_multiple_of(2) && reaps.peek() == before {
                break;
            }
            thread::sleep(Duration::from_micros(100));
        }
        Err(Error::TooManyReaders { path: path.to_owned(), capacity: self.capacity })
    }

    /// The slots whose bits say that they are taken, or that they are not.
    fn slots_that_look(&self, is_taken: bool) -> impl Iterator<Item = usize> {
        let of_group = move |group: usize| {
            let taken = self.head().taken[group].peek();
            bits(if is_taken { taken } else { !taken }).map(move |slot| group * GROUP + slot)
        };
        (0..GROUPS).flat_map(of_group).take_while(|index| *index < self.capacity)
    }

    /// Gives a slot back.
    pub(crate) fn discharge(&self, index: usize) {
        let mut own = self.own();
        leave(&self.head().taken[index / GROUP], &self.slot(index).pinned, index);
        own.remove(&index);
        // A lock that can't be given back goes with the file; until then the slot is taken, and
        // holds nothing.
        let _ = sys::unlock(&self.file, index as u64);
    }

    fn own(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees what the dead hold.
    pub(crate) fn reap(&self, path: &Path) -> Result<()> {
        self.taken().try_for_each(|index| self.reap_slot(index, path).map(drop))
    }

    /// Asks about one of the slots that are taken, the next after slot `after`, by turns. Returns
    /// it if its owner was dead: then it is free.
    pub(crate) fn patrol(&self, after: usize, path: &Path) -> Result<(usize, bool)> {
        let next = self.taken().find(|index| *index > after).or_else(|| self.taken().next());
        next.map_or(Ok((0, false)), |index| Ok((index, self.reap_slot(index, path)?)))
    }

    /// Frees a slot if its owner is dead: nobody has its lock then, and while the writer has it,
    /// nobody becomes its owner.
    fn reap_slot(&self, index: usize, path: &Path) -> Result<bool> {
        let locking = || Error::io("locking", path);
        // Asked first, so that the locks of the living are left alone.
        if sys::is_locked(&self.file, index as u64).map_err(locking())? {
            return Ok(false);
        }
        let reaps = &self.head().shared.reaps;
        let begun = reaps.peek() | 1;
        reaps.poke(begun);
        let reaped = sys::lock(&self.file, index as u64, Lock::Exclusive).and_then(|is_dead| {
            if is_dead {
                leave(&self.head().taken[index / GROUP], &self.slot(index).pinned, index);
                sys::unlock(&self.file, index as u64)?;
            }
            Ok(is_dead)
        });
        reaps.poke(begun.wrapping_add(1));
        reaped.map_err(locking())
    }

    /// How many readers live: threads that read, and versions that they still hold beside their
    /// newest.
    pub(crate) fn living(&self, path: &Path) -> Result<usize> {
        let mut count = 0;
        for index in self.taken() {
            count += usize::from(
                sys::is_locked(&self.file, index as u64).map_err(Error::io("locking", path))?,
            );
        }
        Ok(count)
    }
}

/// The places of the bits that are set.
#[inline]
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (place < 64).then_some(place)
    })
}

/// A file's length as an index of memory.
pub(crate) fn length_of(metadata: &Metadata) -> usize {
    usize::try_from(metadata.len()).unwrap_or(usize::MAX)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::protocol::version_word;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    fn create(path: &Path, capacity: usize) -> MappedSlotTable {
        let file = files::create(path, roll_bytes(capacity)).unwrap();
        MappedSlotTable::create(file, path, 7, capacity).unwrap()
    }

    fn open(path: &Path) -> Result<MappedSlotTable> {
        MappedSlotTable::open(path, 7, Owner::Own, None)
    }

    /// The writer has the lock of a free slot for a moment when it looks whether its owner lives. A
    /// reader that came at that moment once heard that all were taken.
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
                reader.enlist(&path).map(|index| reader.discharge(index))
            });
            is_over.store(true, Relaxed);
            enlisted.unwrap();
        });
        let reader = open(&path).unwrap();
        reader.enlist(&path).unwrap();
        assert!(matches!(
            open(&path).unwrap().enlist(&path),
            Err(Error::TooManyReaders { capacity: 1, .. })
        ));
    }

    /// Once the writer looked at as many slots as there had ever been, until somebody trimmed.
    #[test]
    fn a_crowd_that_left_costs_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slot_table");
        let writer = create(&path, 1000);
        let readers: Vec<_> = (0..1000).map(|_| open(&path).unwrap()).collect();
        let slots: Vec<_> = readers.iter().map(|reader| reader.enlist(&path).unwrap()).collect();
        assert_eq!(slots, (0..1000).collect::<Vec<_>>());
        assert_eq!(writer.held(1, |_| ()), 1000);
        // In the order of their slots, so that the last one is taken the longest.
        for (reader, slot) in readers.iter().zip(slots).take(999) {
            reader.discharge(slot);
        }
        assert_eq!(writer.held(1, |_| ()), 1);
        assert_eq!(writer.head().shared.groups.peek(), 1 << (999 / GROUP));
    }

    /// Those that die leave their bits; each is asked for now and then, and its slot is free again.
    #[test]
    fn a_crowd_that_died_is_found_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slot_table");
        let writer = create(&path, 100);
        let readers: Vec<_> = (0..100).map(|_| open(&path).unwrap()).collect();
        for (number, reader) in readers.iter().enumerate() {
            let slot = reader.enlist(&path).unwrap();
            reader.slot(slot).pinned.poke(version_word(number, 1));
        }
        let living = readers.into_iter().nth(70);
        let mut buffers = 0;
        assert_eq!((writer.held(1, |_| buffers += 1), buffers), (100, 100));
        let (mut last, mut dead) = (0, 0);
        for _ in 0..100 {
            let (slot, was_dead) = writer.patrol(last, &path).unwrap();
            (last, dead) = (slot, dead + usize::from(was_dead));
            assert_eq!(was_dead, slot != 70);
        }
        let mut buffers = Vec::new();
        assert_eq!((writer.held(1, |buffer| buffers.push(buffer)), dead), (1, 99));
        assert_eq!(buffers, [70]);
        drop(living);
        let come = open(&path).unwrap();
        assert_eq!(come.enlist(&path).unwrap(), 0);
    }

    #[test]
    fn hostile_words_in_the_roll_stay_within_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slot_table");
        let slot_table = create(&path, 4);
        slot_table.head().shared.groups.store(u64::MAX, Relaxed);
        slot_table.head().taken.iter().for_each(|taken| taken.store(u64::MAX, Relaxed));
        for (index, word) in [u64::MAX - 1, u64::MAX, 1, 0].into_iter().enumerate() {
            slot_table.slot(index).pinned.store(word, Relaxed);
        }
        let mut held = Vec::new();
        assert_eq!(slot_table.held(5, |buffer| held.push(buffer)), 4);
        assert_eq!(held, [BUFFERS_MAX, 0, 0]);
    }
}
