//! The scenarios of the model checker: readers and a writer on the functions of `protocol`, and the
//! conditions that must hold in every execution.

#![allow(unsafe_code, reason = "accesses cells that the model checker watches")]

use super::words::{Model, ModelWord, Weakening};
use crate::protocol::*;
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Mutex, MutexGuard};
use loom::thread;
use std::sync::atomic::AtomicU64;

/// One access with less than its production ordering, or none.
pub(super) type Weakened = Option<(Access, Weakening)>;

pub(super) struct WithoutRecheck;
impl Steps for WithoutRecheck {
    const RECHECK: bool = false;
}

pub(super) struct WithoutHelping;
impl Steps for WithoutHelping {
    const HELP: bool = false;
}

pub(super) struct WithoutGroupRecheck;
impl Steps for WithoutGroupRecheck {
    const RECHECK_GROUP: bool = false;
}

pub(super) struct WithoutSkippedNumber;
impl Steps for WithoutSkippedNumber {
    const SKIP_NUMBER: bool = false;
}

/// Explores with at most two preemptions, or with `LOOM_MAX_PREEMPTIONS` if that is set.
pub(super) fn explore(weakened: Weakened, body: impl Fn(&Model) + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(2);
    builder.check(move || body(&Model::new(weakened)));
}

/// The shared state of the processes: `READERS` slots and `READERS + 2` buffers. A buffer's bytes
/// are the number of its version. (Stamp and ticket are left out: the stamp is visible whenever the
/// bytes are, for the same reason.)
struct Shared<const READERS: usize> {
    current: ModelWord,
    /// Whether the writer checks only slots marked as taken; otherwise it checks all.
    has_marks: bool,
    groups: ModelWord,
    taken: ModelWord,
    slots: Vec<ModelWord>,
    /// The kernel's locks of the slots. The holder of a lock owns the slot until it dies.
    locks: Vec<Mutex<()>>,
    buffers: Vec<UnsafeCell<u64>>,
}

impl<const READERS: usize> Shared<READERS> {
    /// Version 1 in buffer 0, and readers whose slots the writer checks without marks.
    fn new(model: &Model) -> Arc<Self> {
        Arc::new(Shared { has_marks: false, ..Shared::parts(model, 0, 0) })
    }

    /// Version 1 in buffer 0, and readers that come and go, with these marks at the beginning.
    fn with_arrivals(model: &Model, groups: u64, taken: u64) -> Arc<Self> {
        Arc::new(Shared::parts(model, groups, taken))
    }

    fn parts(model: &Model, groups: u64, taken: u64) -> Self {
        Shared {
            current: model.word(version_word(0, 1)),
            has_marks: true,
            groups: model.word(groups),
            taken: model.word(taken),
            slots: (0..READERS).map(|_| model.word(NONE)).collect(),
            locks: (0..READERS).map(|_| Mutex::new(())).collect(),
            buffers: (0..READERS + 2)
                .map(|buffer| UnsafeCell::new(u64::from(buffer == 0)))
                .collect(),
        }
    }

    /// Returns the slots that the writer checks.
    fn slots_to_check<S: Steps>(&self) -> Vec<usize> {
        if !self.has_marks {
            return (0..READERS).collect();
        }
        if groups_taken(&self.groups) == 0 {
            return Vec::new();
        }
        let taken = slots_taken::<_, S>(&self.groups, &self.taken, 0);
        (0..READERS).filter(|slot| taken >> slot & 1 == 1).collect()
    }

    /// Publishes version `sequence` after `current`. There is always a buffer without holders.
    fn write<S: Steps>(&self, current: u64, sequence: u64) -> u64 {
        let mut is_busy = vec![false; self.buffers.len()];
        is_busy[buffer_of(current)] = true;
        for slot in self.slots_to_check::<S>() {
            let held = protected::<_, S>(current, &self.slots[slot]);
            if held != NONE {
                is_busy[buffer_of(held)] = true;
            }
        }
        let buffer = is_busy.iter().position(|is_busy| !is_busy).expect("readers + 2 are enough");
        // SAFETY: loom checks that no other thread accesses the cell.
        self.buffers[buffer].with_mut(|bytes| unsafe { *bytes = sequence });
        let word = version_word(buffer, sequence);
        publish(&self.current, &AtomicU64::new(0), word);
        word
    }

    /// Publishes versions 2 to `last`.
    fn write_all<S: Steps>(&self, last: u64) {
        (2..=last).fold(version_word(0, 1), |current, sequence| self.write::<S>(current, sequence));
    }

    /// Reads the version pinned in `slot`, or a newer one, twice. A held version must not change,
    /// and no version may be older than the previous one.
    fn read<S: Steps>(&self, slot: usize, held: u64) -> u64 {
        let mut word = held;
        if !is_current(&self.current, held) {
            word = pin::<_, S>(&self.current, &self.slots[slot], self.current.load_relaxed());
            assert!(sequence_of(word) >= sequence_of(held), "an older version");
        }
        for _ in 0..2 {
            // SAFETY: loom checks that no thread writes to the cell.
            let bytes = self.buffers[buffer_of(word)].with(|bytes| unsafe { *bytes });
            assert_eq!(bytes, sequence_of(word));
        }
        word
    }

    fn read_times<S: Steps>(&self, slot: usize, times: usize) {
        (0..times).fold(NONE, |held, _| self.read::<S>(slot, held));
        unpin(&self.slots[slot]);
    }

    /// Takes `slot` if it is free, and marks it.
    fn take_slot(&self, slot: usize) -> Option<MutexGuard<'_, ()>> {
        let lock = self.locks[slot].try_lock().ok()?;
        join(&self.groups, &self.taken, &self.slots[slot], slot);
        Some(lock)
    }

    /// Frees the slots of dead owners.
    fn reap(&self) {
        for slot in self.slots_to_check::<All>() {
            if let Ok(_lock) = self.locks[slot].try_lock() {
                leave(&self.taken, &self.slots[slot], slot);
            }
        }
    }
}

/// Runs `body` in another thread of the model.
pub(super) fn with<T: 'static>(
    shared: &Arc<T>,
    body: impl FnOnce(&T) + 'static,
) -> thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || body(&shared))
}

pub(super) fn one_reader<S: Steps + 'static>(weakened: Weakened) {
    explore(weakened, |model| {
        let shared = Shared::<1>::new(model);
        let reader = with(&shared, |shared| shared.read_times::<S>(0, 2));
        shared.write_all::<S>(4);
        reader.join().unwrap();
    });
}

/// A reader unpins, and later pins in the same slot again, while the writer may have reused the
/// buffer.
pub(super) fn reader_that_unpins(weakened: Weakened) {
    explore(weakened, |model| {
        let shared = Shared::<1>::new(model);
        let reader = with(&shared, |shared| (0..2).for_each(|_| shared.read_times::<All>(0, 1)));
        shared.write_all::<All>(4);
        reader.join().unwrap();
    });
}

pub(super) fn two_readers(weakened: Weakened) {
    explore(weakened, |model| {
        let shared = Shared::<2>::new(model);
        let readers =
            [0, 1].map(|slot| with(&shared, move |shared| shared.read_times::<All>(slot, 1)));
        shared.write_all::<All>(3);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

/// A reader whose slot is not marked yet, the first of its group or not, marks it before it pins,
/// and leaves again.
pub(super) fn arriving_reader<S: Steps + 'static, const READERS: usize>(
    weakened: Weakened,
    groups: u64,
    taken: u64,
) {
    explore(weakened, move |model| {
        let shared = Shared::<READERS>::with_arrivals(model, groups, taken);
        let reader = with(&shared, |shared| {
            let _lock = shared.take_slot(0).expect("no other reader takes it");
            shared.read::<S>(0, NONE);
            leave(&shared.taken, &shared.slots[0], 0);
        });
        shared.write_all::<S>(3);
        reader.join().unwrap();
    });
}

pub(super) fn first_of_its_group(weakened: Weakened) {
    arriving_reader::<All, 1>(weakened, 0, 0);
}

pub(super) fn second_of_its_group(weakened: Weakened) {
    arriving_reader::<All, 2>(weakened, 1, 0b10);
}

/// A reader takes a slot while the writer clears its group's bit, because the last reader left.
pub(super) fn reader_of_a_cleared_group<S: Steps + 'static>(weakened: Weakened) {
    arriving_reader::<S, 1>(weakened, 1, 0);
}

/// A reader dies with a pin in its slot. The writer frees the slot, and another reader takes it,
/// before or after that.
pub(super) fn reader_that_dies(weakened: Weakened) {
    explore(weakened, |model| {
        let shared = Shared::<1>::with_arrivals(model, 0, 0);
        let readers = [false, true].map(|dies| {
            with(&shared, move |shared| {
                let Some(_lock) = shared.take_slot(0) else { return };
                shared.read::<All>(0, NONE);
                if !dies {
                    leave(&shared.taken, &shared.slots[0], 0);
                }
            })
        });
        let word = shared.write::<All>(version_word(0, 1), 2);
        shared.reap();
        shared.write::<All>(word, 3);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

/// No reader sleeps through the publication of the version that it waits for. The kernel checks the
/// ticket and puts the reader to sleep, or wakes it, under one lock.
pub(super) fn one_sleeper(weakened: Weakened) {
    explore(weakened, |model| {
        let (current, ticket, waiters) =
            (model.word(version_word(0, 1)), model.word(1), model.word(0));
        let shared = Arc::new((current, ticket, waiters, Mutex::new(false)));
        let reader = with(&shared, |(current, ticket, waiters, is_asleep)| {
            let drawn = load_ticket(ticket);
            if current.load_relaxed() == version_word(0, 1)
                && may_sleep(current, waiters, version_word(0, 1))
            {
                let mut is_asleep = is_asleep.lock().unwrap();
                *is_asleep = ticket.load_relaxed() == drawn;
            }
        });
        let (current, ticket, waiters, is_asleep) = &*shared;
        publish(current, ticket, version_word(1, 2));
        if must_wake(waiters) {
            *is_asleep.lock().unwrap() = false;
        }
        reader.join().unwrap();
        assert!(!*is_asleep.lock().unwrap(), "nobody wakes the reader");
    });
}

/// The writer dies right after it has published, and the next writer completes its work.
pub(super) fn one_sleeper_at_a_takeover(renews_ticket: bool) {
    explore(None, move |model| {
        let (current, ticket, waiters) =
            (model.word(version_word(0, 1)), model.word(1), model.word(0));
        let shared = Arc::new((current, ticket, waiters, Mutex::new(false)));
        let reader = with(&shared, |(current, ticket, waiters, is_asleep)| {
            let drawn = load_ticket(ticket);
            if may_sleep(current, waiters, version_word(0, 1)) {
                let mut is_asleep = is_asleep.lock().unwrap();
                *is_asleep = ticket.load_relaxed() == drawn;
            }
        });
        let (current, ticket, _, is_asleep) = &*shared;
        current.swap(version_word(1, 2), PUBLISH);
        if renews_ticket {
            set_ticket(ticket, version_word(1, 2));
        }
        *is_asleep.lock().unwrap() = false;
        reader.join().unwrap();
        assert!(!*is_asleep.lock().unwrap(), "nobody wakes the reader");
    });
}

/// A copy that counts as unchanged is of one version: both words of the buffer have the version's
/// number.
pub(super) fn one_copy(weakened: Weakened) {
    explore(weakened, |model| {
        let buffers = [[version_word(0, 1), 1, 1], [NONE; 3]];
        let buffers = buffers.map(|buffer| buffer.map(|word| model.word(word)));
        let shared = Arc::new((model.word(version_word(0, 1)), model.word(1), buffers));
        let reader = with(&shared, |(current, _, buffers)| {
            let word = load_for_copy(current);
            let [stamp, one, two] = &buffers[buffer_of(word)];
            if !is_stamped(stamp, word) {
                // The buffer was written again. If the version were still current, that would be
                // damage.
                assert!(!is_current(current, word), "another version's buffer");
                return;
            }
            let copy = [one.load_relaxed(), two.load_relaxed()];
            if is_unchanged(stamp, word) {
                assert_eq!(copy, [sequence_of(word); 2], "a copy of two versions");
            }
        });
        let (current, ticket, buffers) = &*shared;
        for sequence in 2..=3 {
            let buffer = (sequence as usize + 1) % 2;
            let [stamp, one, two] = &buffers[buffer];
            begin_fill(stamp);
            one.store_relaxed(sequence);
            two.store_relaxed(sequence);
            end_fill(stamp, version_word(buffer, sequence));
            publish(current, ticket, version_word(buffer, sequence));
        }
        reader.join().unwrap();
    });
}

/// A reader that sees a header's last word sees all of it.
pub(super) fn one_header(weakened: Weakened) {
    explore(weakened, |model| {
        let shared = Arc::new([0; 2].map(|word| model.word(word)));
        let reader = with(&shared, |[magic, lineage]| {
            assert!(magic.load_acquire() == 0 || lineage.load_relaxed() == 7, "half a header");
        });
        shared[1].store_relaxed(7);
        shared[0].store_release(1);
        reader.join().unwrap();
    });
}

/// A writer fills and stamps version 2, and dies before it publishes it. The next writer creates
/// its own files, one of them under the same name. A reader that has mapped the dead writer's file
/// checks the stamp.
pub(super) fn one_takeover<S: Steps + 'static>() {
    explore(None, |model| {
        let new = || [NONE, 0].map(|word| model.word(word));
        let shared = Arc::new((model.word(version_word(0, 1)), model.word(1), [new(), new()]));
        let reader = with(&shared, |(current, _, [old_file, _])| {
            let word = load_for_copy(current);
            let [stamp, bytes] = old_file;
            if buffer_of(word) == 1 && is_stamped(stamp, word) {
                assert_eq!(bytes.load_relaxed(), 200, "a version that was never published");
            }
        });
        let (current, ticket, [[old_stamp, old_bytes], [stamp, bytes]]) = &*shared;
        old_bytes.store_relaxed(100);
        end_fill(old_stamp, version_word(1, 2));
        let word = version_word(1, last_number::<S>(current.load_relaxed(), 0) + 1);
        bytes.store_relaxed(200);
        end_fill(stamp, word);
        publish(current, ticket, word);
        reader.join().unwrap();
    });
}
