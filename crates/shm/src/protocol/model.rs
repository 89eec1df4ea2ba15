//! The protocol under every interleaving and every stale value that the memory model allows, by
//! loom; and the proof that the proof can fail: each step left out is found out, and each ordering
//! that is weaker than it ships.
//!
//! What runs here are the functions of `protocol`, with their orderings, on the words of
//! `words.rs`. A buffer is a cell whose every access loom checks, so that a writer that touches
//! what a reader may still read is caught in the act, not by a torn value.
//!
//! `cargo test` explores up to two preemptions; `make loom` lifts the bound
//! (`LOOM_MAX_PREEMPTIONS`).
#![allow(unsafe_code, reason = "looks into cells whose use the model checker judges")]

mod words;

use super::*;
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Mutex, MutexGuard};
use loom::thread;
use words::{Loss, Model, Modelled, losses};

/// One access weaker than it ships, or none.
type Weakened = Option<(Access, Loss)>;

struct NoRecheck;
impl Steps for NoRecheck {
    const RECHECK: bool = false;
}

struct NoHelp;
impl Steps for NoHelp {
    const HELP: bool = false;
}

struct NoRelook;
impl Steps for NoRelook {
    const RELOOK: bool = false;
}

struct NoneLeftOut;
impl Steps for NoneLeftOut {
    const LEAVE_OUT: bool = false;
}

/// Explores with at most two preemptions, or as many as `LOOM_MAX_PREEMPTIONS` says.
fn explore(weakened: Weakened, body: impl Fn(&Model) + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(2);
    builder.check(move || body(&Model::new(weakened)));
}

/// What processes share: `READERS` slots, and two buffers more than that. A buffer's bytes are the
/// number of its version. (Its stamp is left out: it is seen where the bytes are, and for the same
/// reason. So is the ticket.)
struct Shared<const READERS: usize> {
    current: Modelled,
    /// Who takes a slot says so, and the writer asks; else it looks at all.
    asks: bool,
    groups: Modelled,
    taken: Modelled,
    slots: Vec<Modelled>,
    /// The kernel's locks of the slots: whoever has one has the slot, until he dies.
    locks: Vec<Mutex<()>>,
    buffers: Vec<UnsafeCell<u64>>,
}

impl<const READERS: usize> Shared<READERS> {
    /// Version 1 in buffer 0, and readers that the writer knows of.
    fn new(model: &Model) -> Arc<Self> {
        Arc::new(Shared { asks: false, ..Shared::parts(model, 0, 0) })
    }

    /// The same, where readers come and go; with what the writer has been told.
    fn with_arrivals(model: &Model, groups: u64, taken: u64) -> Arc<Self> {
        Arc::new(Shared::parts(model, groups, taken))
    }

    fn parts(model: &Model, groups: u64, taken: u64) -> Self {
        Shared {
            current: model.word(version_word(0, 1)),
            asks: true,
            groups: model.word(groups),
            taken: model.word(taken),
            slots: (0..READERS).map(|_| model.word(NONE)).collect(),
            locks: (0..READERS).map(|_| Mutex::new(())).collect(),
            buffers: (0..READERS + 2)
                .map(|buffer| UnsafeCell::new(u64::from(buffer == 0)))
                .collect(),
        }
    }

    /// The slots that the writer looks at.
    fn look<S: Steps>(&self) -> Vec<usize> {
        if !self.asks {
            return (0..READERS).collect();
        }
        if groups_taken(&self.groups) == 0 {
            return Vec::new();
        }
        let taken = slots_taken::<_, S>(&self.groups, &self.taken, 0);
        (0..READERS).filter(|slot| taken >> slot & 1 == 1).collect()
    }

    /// Publishes version `sequence` after `current`. There is always a buffer that nobody holds.
    fn write<S: Steps>(&self, current: u64, sequence: u64) -> u64 {
        let mut is_busy = vec![false; self.buffers.len()];
        is_busy[buffer_of(current)] = true;
        for slot in self.look::<S>() {
            let held = protected::<_, S>(current, &self.slots[slot]);
            if held != NONE {
                is_busy[buffer_of(held)] = true;
            }
        }
        let buffer = is_busy.iter().position(|is_busy| !is_busy).expect("readers + 2 are enough");
        // SAFETY: loom checks that nobody else is in the cell.
        self.buffers[buffer].with_mut(|bytes| unsafe { *bytes = sequence });
        let word = version_word(buffer, sequence);
        publish(&self.current, &AtomicU64::new(0), word);
        word
    }

    /// Publishes versions 2 to `last`.
    fn write_all<S: Steps>(&self, last: u64) {
        (2..=last).fold(version_word(0, 1), |current, sequence| self.write::<S>(current, sequence));
    }

    /// Reads the version that is pinned in `slot`, or a newer one, twice: a version that is held
    /// does not change, and none is older than the one before.
    fn read<S: Steps>(&self, slot: usize, held: u64) -> u64 {
        let mut word = held;
        if !is_current(&self.current, held) {
            word = pin::<_, S>(&self.current, &self.slots[slot], self.current.peek());
            assert!(sequence_of(word) >= sequence_of(held), "an older version");
        }
        for _ in 0..2 {
            // SAFETY: loom checks that nobody writes to the cell.
            let bytes = self.buffers[buffer_of(word)].with(|bytes| unsafe { *bytes });
            assert_eq!(bytes, sequence_of(word));
        }
        word
    }

    fn read_times<S: Steps>(&self, slot: usize, times: usize) {
        (0..times).fold(NONE, |held, _| self.read::<S>(slot, held));
        unpin(&self.slots[slot]);
    }

    /// Takes `slot`, if nobody has it, and then is known to the writer.
    fn enlist(&self, slot: usize) -> Option<MutexGuard<'_, ()>> {
        let lock = self.locks[slot].try_lock().ok()?;
        join(&self.groups, &self.taken, &self.slots[slot], slot);
        Some(lock)
    }

    /// Frees the slots whose owners are dead.
    fn reap(&self) {
        for slot in self.look::<All>() {
            if let Ok(_lock) = self.locks[slot].try_lock() {
                leave(&self.taken, &self.slots[slot], slot);
            }
        }
    }
}

/// Runs `body` in another thread of the model.
fn with<T: 'static>(shared: &Arc<T>, body: impl FnOnce(&T) + 'static) -> thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || body(&shared))
}

fn one_reader<S: Steps + 'static>(weakened: Weakened) {
    explore(weakened, |model| {
        let shared = Shared::<1>::new(model);
        let reader = with(&shared, |shared| shared.read_times::<S>(0, 2));
        shared.write_all::<S>(4);
        reader.join().unwrap();
    });
}

/// A reader that lets go of what it was lent, and later pins in the same slot again, while the
/// writer may have taken the buffer.
fn one_that_lets_go(weakened: Weakened) {
    explore(weakened, |model| {
        let shared = Shared::<1>::new(model);
        let reader = with(&shared, |shared| (0..2).for_each(|_| shared.read_times::<All>(0, 1)));
        shared.write_all::<All>(4);
        reader.join().unwrap();
    });
}

fn two_readers(weakened: Weakened) {
    explore(weakened, |model| {
        let shared = Shared::<2>::new(model);
        let readers =
            [0, 1].map(|slot| with(&shared, move |shared| shared.read_times::<All>(slot, 1)));
        shared.write_all::<All>(3);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

/// A reader that the writer does not know of yet, the first of its group or not, makes itself known
/// before it pins, and leaves again.
fn one_that_comes<S: Steps + 'static, const READERS: usize>(
    weakened: Weakened,
    groups: u64,
    taken: u64,
) {
    explore(weakened, move |model| {
        let shared = Shared::<READERS>::with_arrivals(model, groups, taken);
        let reader = with(&shared, |shared| {
            let _lock = shared.enlist(0).expect("nobody else wants it");
            shared.read::<S>(0, NONE);
            leave(&shared.taken, &shared.slots[0], 0);
        });
        shared.write_all::<S>(3);
        reader.join().unwrap();
    });
}

fn the_first_that_comes(weakened: Weakened) {
    one_that_comes::<All, 1>(weakened, 0, 0);
}

fn one_more_that_comes(weakened: Weakened) {
    one_that_comes::<All, 2>(weakened, 1, 0b10);
}

/// A group that the writer forgets, because its last reader is gone, when the next comes.
fn one_that_comes_when_its_group_is_forgotten<S: Steps + 'static>(weakened: Weakened) {
    one_that_comes::<S, 1>(weakened, 1, 0);
}

/// A reader dies with a pin in its slot; the writer frees the slot, and another reader takes it,
/// before or after.
fn one_that_dies(weakened: Weakened) {
    explore(weakened, |model| {
        let shared = Shared::<1>::with_arrivals(model, 0, 0);
        let readers = [false, true].map(|dies| {
            with(&shared, move |shared| {
                let Some(_lock) = shared.enlist(0) else { return };
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

/// Nobody sleeps through the publication of the version that he waits for. The kernel looks at the
/// ticket and puts to sleep, or wakes, under one lock.
fn one_sleeper(weakened: Weakened) {
    explore(weakened, |model| {
        let (current, ticket, waiters) =
            (model.word(version_word(0, 1)), model.word(1), model.word(0));
        let shared = Arc::new((current, ticket, waiters, Mutex::new(false)));
        let reader = with(&shared, |(current, ticket, waiters, is_asleep)| {
            let drawn = draw_ticket(ticket);
            if current.peek() == version_word(0, 1)
                && may_sleep(current, waiters, version_word(0, 1))
            {
                let mut is_asleep = is_asleep.lock().unwrap();
                *is_asleep = ticket.peek() == drawn;
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

/// The writer dies between publishing and all else, and the next one makes it good.
fn one_sleeper_at_a_takeover(renews_ticket: bool) {
    explore(None, move |model| {
        let (current, ticket, waiters) =
            (model.word(version_word(0, 1)), model.word(1), model.word(0));
        let shared = Arc::new((current, ticket, waiters, Mutex::new(false)));
        let reader = with(&shared, |(current, ticket, waiters, is_asleep)| {
            let drawn = draw_ticket(ticket);
            if may_sleep(current, waiters, version_word(0, 1)) {
                let mut is_asleep = is_asleep.lock().unwrap();
                *is_asleep = ticket.peek() == drawn;
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

/// A copy that is taken for unchanged is of one version: the two words of the buffer, each of which
/// has the version's number.
fn one_copy(weakened: Weakened) {
    explore(weakened, |model| {
        let buffers = [[version_word(0, 1), 1, 1], [NONE; 3]];
        let buffers = buffers.map(|buffer| buffer.map(|word| model.word(word)));
        let shared = Arc::new((model.word(version_word(0, 1)), model.word(1), buffers));
        let reader = with(&shared, |(current, _, buffers)| {
            let word = copy_of(current);
            let [stamp, one, two] = &buffers[buffer_of(word)];
            if !is_stamped(stamp, word) {
                // As when it was written again; while it is current, that would be damage.
                assert!(!is_current(current, word), "another version's buffer");
                return;
            }
            let copy = [one.peek(), two.peek()];
            if is_unchanged(stamp, word) {
                assert_eq!(copy, [sequence_of(word); 2], "a copy of two versions");
            }
        });
        let (current, ticket, buffers) = &*shared;
        for sequence in 2..=3 {
            let buffer = (sequence as usize + 1) % 2;
            let [stamp, one, two] = &buffers[buffer];
            begin_fill(stamp);
            one.poke(sequence);
            two.poke(sequence);
            end_fill(stamp, version_word(buffer, sequence));
            publish(current, ticket, version_word(buffer, sequence));
        }
        reader.join().unwrap();
    });
}

/// A header whose last word is there is there.
fn one_header(weakened: Weakened) {
    explore(weakened, |model| {
        let shared = Arc::new([0; 2].map(|word| model.word(word)));
        let reader = with(&shared, |[magic, lineage]| {
            assert!(magic.get() == 0 || lineage.peek() == 7, "half a header");
        });
        shared[1].poke(7);
        shared[0].put(1);
        reader.join().unwrap();
    });
}

/// A writer fills and stamps version 2, and dies before it publishes it; the next one has files of
/// its own, of which one has the same name. A reader that has the dead one's mapped looks at the
/// stamp.
fn one_takeover<S: Steps + 'static>() {
    explore(None, |model| {
        let new = || [NONE, 0].map(|word| model.word(word));
        let shared = Arc::new((model.word(version_word(0, 1)), model.word(1), [new(), new()]));
        let reader = with(&shared, |(current, _, [old_file, _])| {
            let word = copy_of(current);
            let [stamp, bytes] = old_file;
            if buffer_of(word) == 1 && is_stamped(stamp, word) {
                assert_eq!(bytes.peek(), 200, "a version that was never published");
            }
        });
        let (current, ticket, [[old_stamp, old_bytes], [stamp, bytes]]) = &*shared;
        old_bytes.poke(100);
        end_fill(old_stamp, version_word(1, 2));
        let word = version_word(1, last_number::<S>(current.peek(), 0) + 1);
        bytes.poke(200);
        end_fill(stamp, word);
        publish(current, ticket, word);
        reader.join().unwrap();
    });
}

#[test]
fn a_held_version_is_never_written() {
    one_reader::<All>(None);
}

#[test]
fn a_reader_that_let_go_pins_again() {
    one_that_lets_go(None);
}

#[test]
fn two_readers_hold_two_versions() {
    two_readers(None);
}

#[test]
fn a_reader_that_comes_is_seen_in_time() {
    the_first_that_comes(None);
}

#[test]
fn a_reader_that_comes_to_others_is_seen_in_time() {
    one_more_that_comes(None);
}

#[test]
fn a_reader_of_a_group_that_is_being_forgotten_is_seen_in_time() {
    one_that_comes_when_its_group_is_forgotten::<All>(None);
}

#[test]
fn a_dead_readers_slot_has_a_new_owner() {
    one_that_dies(None);
}

#[test]
fn a_sleeper_is_woken() {
    one_sleeper(None);
}

#[test]
fn a_sleeper_is_woken_by_the_next_writer() {
    one_sleeper_at_a_takeover(true);
}

#[test]
fn an_unchanged_copy_is_of_one_version() {
    one_copy(None);
}

#[test]
fn a_header_is_seen_whole() {
    one_header(None);
}

#[test]
fn a_version_that_was_not_published_is_not_taken_for_one() {
    one_takeover::<All>();
}

#[test]
#[should_panic]
fn without_looking_again_a_pin_comes_too_late() {
    one_reader::<NoRecheck>(None);
}

#[test]
#[should_panic]
fn without_help_an_announced_reader_pins_too_late() {
    one_reader::<NoHelp>(None);
}

#[test]
#[should_panic]
fn without_looking_again_a_group_is_forgotten_for_good() {
    one_that_comes_when_its_group_is_forgotten::<NoRelook>(None);
}

#[test]
#[should_panic(expected = "nobody wakes the reader")]
fn without_a_ticket_from_the_next_writer_a_sleeper_is_forgotten() {
    one_sleeper_at_a_takeover(false);
}

#[test]
#[should_panic(expected = "a version that was never published")]
fn without_a_number_left_out_a_dead_writers_version_is_read() {
    one_takeover::<NoneLeftOut>();
}

/// What finds a weaker ordering.
type Scenario = fn(Weakened);

/// Every access that orders anything, and what finds out that it is weaker.
const FOUND_BY: &[(Access, Scenario)] = &[
    (PIN, one_reader::<All>),
    (PIN_LOOK, one_reader::<All>),
    (ANNOUNCED, one_reader::<All>),
    (ANNOUNCED_LOOK, one_reader::<All>),
    (SETTLE_HELPED, one_reader::<All>),
    (UNPIN, one_that_lets_go),
    (COUNT, the_first_that_comes),
    (LEAVE, one_more_that_comes),
    (GROUPS_LOOK, the_first_that_comes),
    (TAKEN_LOOK, one_more_that_comes),
    (FORGET, one_that_comes_when_its_group_is_forgotten::<All>),
    (TAKEN_RELOOK, one_that_comes_when_its_group_is_forgotten::<All>),
    (LOOK, one_reader::<All>),
    (HELP, one_reader::<All>),
    (HELP, one_that_lets_go),
    (HELP_LATE, one_reader::<All>),
    (PUBLISH, one_reader::<All>),
    (COPY_LOOK, one_copy),
    (TAKE_BACK, one_copy),
    (STAMP_LOOK, one_copy),
    (REFILL, one_copy),
    (COPIED, one_copy),
    (TICKET, one_sleeper),
    (TICKET_LOOK, one_sleeper),
    (WAIT, one_sleeper),
    (WAIT_LOOK, one_sleeper),
    (WAKE_LOOK, one_sleeper),
    (SET, one_header),
    (SEEN, one_header),
];

/// No access can be weaker than it ships: each loss is found. The outcomes are printed as a table.
#[test]
#[allow(clippy::print_stdout, reason = "the table, for who asks for it")]
fn every_ordering_is_needed() {
    let mut missed = Vec::new();
    for access in ACCESSES {
        for loss in losses(access.ordering) {
            let scenarios = FOUND_BY.iter().filter(|(listed, _)| listed == access);
            let is_found = scenarios.map(|(_, scenario)| *scenario).any(|scenario| {
                let weakened = Some((*access, *loss));
                std::thread::spawn(move || scenario(weakened)).join().is_err()
            });
            println!(
                "{:<14} without {loss:?}: {}",
                access.name,
                if is_found { "found" } else { "MISSED" }
            );
            if !is_found {
                missed.push((access.name, loss));
            }
        }
    }
    assert!(missed.is_empty(), "nothing finds the loss of {missed:?}");
}
