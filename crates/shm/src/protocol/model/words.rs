//! Words for the model checker, with the orderings of production code, or with one of them weaker.
//!
//! loom treats sequentially consistent accesses as acquire and release only. It supports
//! sequentially consistent fences, but these order more than such accesses do: a protocol that
//! holds with fences may fail with the accesses of production code. So this file keeps the single
//! order S of the sequentially consistent accesses, as the standard defines it. One such access
//! precedes another in S if it happens before it, or if it precedes it in the modification order of
//! their common word (a load precedes the stores newer than its value). A load rejects a value that
//! would create a cycle in S. Weaker accesses have no place in S, so weakening an access removes
//! exactly what its ordering provided.

use crate::protocol::{Access, Word};
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::thread::{self, ThreadId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The part of its ordering that an access or a fence loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weakening {
    /// Its place in the single order. Acquire and release stay.
    Order,
    /// Acquire: seeing what preceded the store that it reads.
    Acquire,
    /// Release: showing what preceded it.
    Release,
}

/// Returns the smallest steps down from an ordering: a scenario that fails without one of them also
/// fails without more.
pub(super) fn weakenings(ordering: Ordering) -> &'static [Weakening] {
    match ordering {
        Ordering::SeqCst => &[Weakening::Order],
        Ordering::AcqRel => &[Weakening::Acquire, Weakening::Release],
        Ordering::Acquire => &[Weakening::Acquire],
        Ordering::Release => &[Weakening::Release],
        _ => &[],
    }
}

/// State shared by the words of one run.
#[derive(Clone)]
pub(super) struct Model {
    weakened: Option<(Access, Weakening)>,
    order: Arc<Mutex<Order>>,
}

impl Model {
    pub(super) fn new(weakened: Option<(Access, Weakening)>) -> Model {
        Model { weakened, order: Arc::default() }
    }

    pub(super) fn word(&self, value: u64) -> ModelWord {
        let first = Store { serial: 0, value, released: 0 };
        let history = History { stores: vec![first], next: 1, placed: Vec::new() };
        ModelWord { model: self.clone(), serial: AtomicU64::new(0), history: Mutex::new(history) }
    }

    fn keeps(&self, access: Access, weakening: Weakening) -> bool {
        self.weakened != Some((access, weakening))
    }

    /// Returns the strength that an access has after the weakening.
    fn strength(&self, access: Access) -> Strength {
        let Access { ordering, .. } = access;
        let is_ordered = ordering == Ordering::SeqCst;
        let acquires = matches!(ordering, Ordering::Acquire | Ordering::AcqRel) || is_ordered;
        let releases = matches!(ordering, Ordering::Release | Ordering::AcqRel) || is_ordered;
        Strength {
            is_ordered: is_ordered && self.keeps(access, Weakening::Order),
            acquires: acquires && self.keeps(access, Weakening::Acquire),
            releases: releases && self.keeps(access, Weakening::Release),
        }
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap()
    }
}

#[derive(Clone, Copy)]
struct Strength {
    is_ordered: bool,
    acquires: bool,
    releases: bool,
}

impl Strength {
    /// Returns the ordering to give to loom for a load, a store, or both.
    fn of(self, reads: bool, writes: bool) -> Ordering {
        match (reads && self.acquires, writes && self.releases) {
            (true, true) => Ordering::AcqRel,
            (true, false) => Ordering::Acquire,
            (false, true) => Ordering::Release,
            (false, false) => Ordering::Relaxed,
        }
    }
}

/// A set of ordered accesses.
type Set = u64;

/// The single order, as far as it is known.
#[derive(Default)]
struct Order {
    /// For each access all accesses that precede it, directly or indirectly.
    before: Vec<Set>,
    /// For each thread the accesses that happen before its next access.
    threads: HashMap<ThreadId, Set>,
}

impl Order {
    fn here(&mut self) -> &mut Set {
        self.threads.entry(thread::current().id()).or_default()
    }

    /// Returns the set together with all predecessors of its members.
    fn closed(&self, set: Set) -> Set {
        members(set).fold(set, |closed, access| closed | self.before[access])
    }

    /// Adds an access after `earlier` and before `later`. Returns its number.
    fn add(&mut self, earlier: Set, later: Set) -> usize {
        let new = self.before.len();
        assert!(new < Set::BITS as usize, "more accesses than a set has room for");
        let before = self.closed(earlier);
        self.before.push(before);
        for other in 0..new {
            if (1 << other | self.before[other]) & later != 0 {
                self.before[other] |= before | 1 << new;
            }
        }
        new
    }
}

fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..Set::BITS as usize).filter(move |member| set >> member & 1 == 1)
}

/// A value that a word has had.
#[derive(Clone, Copy)]
struct Store {
    serial: u64,
    value: u64,
    /// The ordered accesses that happen before any access that acquires this value.
    released: Set,
}

/// The history of a word.
struct History {
    /// In modification order.
    stores: Vec<Store>,
    next: u64,
    /// Ordered accesses: the index in `stores` that they read or wrote, whether they wrote, and
    /// their number.
    placed: Vec<(usize, bool, usize)>,
}

impl History {
    fn place(&self, serial: u64) -> usize {
        self.stores
            .iter()
            .rposition(|store| store.serial == serial)
            .expect("loom's values are ours")
    }

    fn last(&self) -> Store {
        *self.stores.last().expect("there is a first one")
    }

    /// Returns the ordered accesses before and after a load of the value at `place`.
    fn around(&self, place: usize) -> (Set, Set) {
        let (mut earlier, mut later) = (0, 0);
        for (other, is_store, access) in &self.placed {
            match other.cmp(&place) {
                std::cmp::Ordering::Less => earlier |= 1 << access,
                std::cmp::Ordering::Equal if *is_store => earlier |= 1 << access,
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => later |= 1 << access,
            }
        }
        (earlier, later)
    }
}

/// A word. loom's atomic holds the serial number of the value.
pub(super) struct ModelWord {
    model: Model,
    serial: AtomicU64,
    history: Mutex<History>,
}

impl ModelWord {
    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap()
    }

    fn draw(&self) -> u64 {
        let mut history = self.history();
        history.next += 1;
        history.next - 1
    }

    /// Returns whether a sequentially consistent load may get the value at `place`.
    fn admits(&self, place: usize) -> bool {
        let (earlier, later) = self.history().around(place);
        let mut order = self.model.order();
        let here = *order.here();
        order.closed(earlier | here) & later == 0
    }

    /// Records a load, and returns its value.
    fn record_load(&self, serial: u64, strength: Strength) -> u64 {
        let mut history = self.history();
        let mut order = self.model.order();
        let place = history.place(serial);
        if strength.is_ordered {
            let (earlier, later) = history.around(place);
            let here = *order.here();
            let access = order.add(earlier | here, later);
            history.placed.push((place, false, access));
            *order.here() |= 1 << access;
        }
        if strength.acquires {
            *order.here() |= history.stores[place].released;
        }
        history.stores[place].value
    }

    /// Records a store. For a read-modify-write, `read` is the value that it read.
    fn record_store(&self, read: Option<u64>, serial: u64, value: u64, strength: Strength) {
        let mut history = self.history();
        let mut order = self.model.order();
        let read = read.map(|serial| history.stores[history.place(serial)]);
        let earlier = *order.here();
        let mut released = read.map_or(0, |read| read.released);
        if read.is_some() && strength.acquires {
            *order.here() |= released;
        }
        if strength.releases {
            released |= *order.here();
        }
        let place = history.stores.len();
        history.stores.push(Store { serial, value, released });
        if strength.is_ordered {
            let (others, _) = history.around(place);
            let access = order.add(earlier | others, 0);
            history.placed.push((place, true, access));
            *order.here() |= 1 << access;
        }
    }

    fn modify(&self, access: Access, change: impl FnOnce(u64) -> u64) -> u64 {
        let (strength, serial) = (self.model.strength(access), self.draw());
        let read = self.serial.swap(serial, strength.of(true, true));
        let old = {
            let history = self.history();
            history.stores[history.place(read)].value
        };
        self.record_store(Some(read), serial, change(old), strength);
        old
    }
}

impl Word for ModelWord {
    fn load(&self, access: Access) -> u64 {
        let strength = self.model.strength(access);
        let mut serial = self.serial.load(strength.of(true, false));
        let place = self.history().place(serial);
        if strength.is_ordered && !self.admits(place) {
            // No such execution exists. The newest value is always admitted, in another branch.
            loom::skip_branch();
            serial = self.serial.fetch_or(0, strength.of(true, false));
        }
        self.record_load(serial, strength)
    }

    fn store(&self, value: u64, access: Access) {
        let (strength, serial) = (self.model.strength(access), self.draw());
        self.serial.store(serial, strength.of(false, true));
        self.record_store(None, serial, value, strength);
    }

    fn swap(&self, value: u64, access: Access) -> u64 {
        self.modify(access, |_| value)
    }

    fn replace(&self, old: u64, new: u64, success: Access, failure: Access) -> Result<u64, u64> {
        let (success, failure) = (self.model.strength(success), self.model.strength(failure));
        loop {
            let last = self.history().last();
            let serial = self.draw();
            let expected = if last.value == old { last.serial } else { u64::MAX };
            let orderings = (success.of(true, true), failure.of(true, false));
            match self.serial.compare_exchange(expected, serial, orderings.0, orderings.1) {
                Ok(read) => {
                    self.record_store(Some(read), serial, new, success);
                    return Ok(old);
                }
                Err(found) => match self.record_load(found, failure) {
                    // It was stored between the load of the history and the exchange.
                    value if value == old => {}
                    value => return Err(value),
                },
            }
        }
    }

    fn set_bits(&self, bits: u64, access: Access) {
        self.modify(access, |old| old | bits);
    }

    fn clear_bits(&self, bits: u64, access: Access) {
        self.modify(access, |old| old & !bits);
    }

    fn fence(&self, access: Access) {
        if weakenings(access.ordering).iter().all(|weakening| self.model.keeps(access, *weakening))
        {
            fence(access.ordering);
        }
    }
}
