//! The protocol under every interleaving and every stale value that the memory model allows, by loom; and the proof that the proof can fail: each step
//! left out is found out.
//!
//! What runs here are the functions of `protocol`, on loom's atomics. A buffer is a cell whose every access loom checks, so that a writer that
//! touches what a reader may still read is caught in the act, not by a torn value.
//!
//! loom knows no sequentially consistent accesses (it takes them for acquire and release), only fences. So here an `exchange` is followed by such a fence, and
//! the `observe` after it is a plain acquire. What ships has sequentially consistent accesses instead, which promise the same of this pattern
//! (PROTOCOL.md, "Orderings").
//!
//! `cargo test` explores up to two preemptions; `make loom` lifts the bound (`LOOM_MAX_PREEMPTIONS`).
#![allow(unsafe_code, reason = "looks into cells whose use the model checker judges")]

use super::{
    All, NONE, Steps, Word, begin_fill, buffer_of, copy_stable, end_fill, is_current, may_sleep, must_wake,
    pin, protected, publish, sequence_of, unpin, version_word,
};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use loom::thread;
use std::marker::PhantomData;

/// Which orderings loom's words keep. What ships is [`Ordered`].
trait Orderings: 'static {
    /// A reader's and the writer's "write mine, then look at yours" are fenced.
    const FENCES: bool = true;
    /// Giving up a pin is a release.
    const UNPIN: Ordering = Ordering::AcqRel;
    /// Making a version current is a release.
    const PUBLISH: Ordering = Ordering::AcqRel;
    /// A buffer's stamp is taken back before its bytes are changed.
    const STAMP_FENCE: bool = true;
}

struct Ordered;
impl Orderings for Ordered {}

struct Unfenced;
impl Orderings for Unfenced {
    const FENCES: bool = false;
}

struct RelaxedUnpin;
impl Orderings for RelaxedUnpin {
    const UNPIN: Ordering = Ordering::Relaxed;
}

struct RelaxedPublish;
impl Orderings for RelaxedPublish {
    const PUBLISH: Ordering = Ordering::Relaxed;
}

struct UnfencedStamp;
impl Orderings for UnfencedStamp {
    const STAMP_FENCE: bool = false;
}

struct NoRecheck;
impl Steps for NoRecheck {
    const RECHECK: bool = false;
}

struct NoHelp;
impl Steps for NoHelp {
    const HELP: bool = false;
}

/// loom's word.
struct Modelled<O> {
    value: AtomicU64,
    exchange: Ordering,
    orderings: PhantomData<fn() -> O>,
}

impl<O: Orderings> Modelled<O> {
    fn slot() -> Modelled<O> {
        Modelled { value: AtomicU64::new(NONE), exchange: O::UNPIN, orderings: PhantomData }
    }

    fn current(word: u64) -> Modelled<O> {
        Modelled { value: AtomicU64::new(word), exchange: O::PUBLISH, orderings: PhantomData }
    }
}

impl<O: Orderings> Word for Modelled<O> {
    fn get(&self) -> u64 {
        self.value.load(Ordering::Acquire)
    }

    fn observe(&self) -> u64 {
        self.value.load(Ordering::Acquire)
    }

    fn exchange(&self, value: u64) -> u64 {
        let old = self.value.swap(value, self.exchange);
        if O::FENCES {
            fence(Ordering::SeqCst);
        }
        old
    }

    fn replace(&self, old: u64, new: u64) -> Result<u64, u64> {
        self.value.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
    }

    fn raise(&self, value: u64) {
        self.value.fetch_max(value, Ordering::AcqRel);
        if O::FENCES {
            fence(Ordering::SeqCst);
        }
    }

    fn put(&self, value: u64) {
        let is_release = self.exchange != Ordering::Relaxed;
        self.value.store(value, if is_release { Ordering::Release } else { Ordering::Relaxed });
    }

    fn peek(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }

    fn poke(&self, value: u64) {
        self.value.store(value, Ordering::Relaxed);
    }

    fn fence_acquire() {
        fence(Ordering::Acquire);
    }

    fn fence_release() {
        if O::STAMP_FENCE {
            fence(Ordering::Release);
        }
    }
}

/// Explores with at most two preemptions, or as many as `LOOM_MAX_PREEMPTIONS` says.
fn explore(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(2);
    builder.check(body);
}

/// What processes share: `READERS` slots, and two buffers more than that. A buffer's bytes are the number of its version.
struct Shared<O, const READERS: usize> {
    current: Modelled<O>,
    used: Modelled<O>,
    slots: Vec<Modelled<O>>,
    buffers: Vec<UnsafeCell<u64>>,
}

impl<O: Orderings, const READERS: usize> Shared<O, READERS> {
    /// Version 1 in buffer 0; `used` slots are known to the writer.
    fn new(used: u64) -> Arc<Self> {
        Arc::new(Shared {
            current: Modelled::current(version_word(0, 1)),
            used: Modelled::current(used),
            slots: (0..READERS).map(|_| Modelled::slot()).collect(),
            buffers: (0..READERS + 2).map(|buffer| UnsafeCell::new(u64::from(buffer == 0))).collect(),
        })
    }

    /// Publishes versions 2 to `last`. There is always a buffer that nobody holds.
    fn write<S: Steps>(&self, last: u64) {
        let mut current = version_word(0, 1);
        for sequence in 2..=last {
            let mut is_busy = vec![false; self.buffers.len()];
            is_busy[buffer_of(current)] = true;
            for slot in &self.slots[..self.used.observe() as usize] {
                let held = protected::<_, S>(current, slot);
                if held != NONE {
                    is_busy[buffer_of(held)] = true;
                }
            }
            let buffer = is_busy.iter().position(|is_busy| !is_busy).expect("readers + 2 buffers are enough");
            // SAFETY: loom checks that nobody else is in the cell.
            self.buffers[buffer].with_mut(|bytes| unsafe { *bytes = sequence });
            current = version_word(buffer, sequence);
            publish(&self.current, current);
        }
    }

    /// Reads `times` versions, each twice: a version that is held does not change, and none is older than the one before.
    fn read<S: Steps>(&self, slot: usize, times: usize) {
        let mut held = NONE;
        for _ in 0..times {
            if !is_current(&self.current, held) {
                let word = pin::<_, S>(&self.current, &self.slots[slot], self.current.get());
                assert!(sequence_of(word) >= sequence_of(held));
                held = word;
            }
            for _ in 0..2 {
                // SAFETY: loom checks that nobody writes to the cell.
                let bytes = self.buffers[buffer_of(held)].with(|bytes| unsafe { *bytes });
                assert_eq!(bytes, sequence_of(held));
            }
        }
        unpin(&self.slots[slot]);
    }
}

/// A reader that lets go of what it was lent, and later pins in the same slot again, while the writer may have taken the buffer.
fn one_that_lets_go<O: Orderings>() {
    explore(|| {
        let shared = Shared::<O, 1>::new(1);
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || (0..2).for_each(|_| shared.read::<All>(0, 1)))
        };
        shared.write::<All>(3);
        reader.join().unwrap();
    });
}

#[test]
fn a_reader_that_let_go_pins_again() {
    one_that_lets_go::<Ordered>();
}

#[test]
#[should_panic]
fn with_a_relaxed_unpin_letting_go_comes_too_early() {
    one_that_lets_go::<RelaxedUnpin>();
}

fn one_reader<O: Orderings, S: Steps + 'static>() {
    explore(|| {
        let shared = Shared::<O, 1>::new(1);
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.read::<S>(0, 2))
        };
        shared.write::<S>(4);
        reader.join().unwrap();
    });
}

#[test]
fn a_held_version_is_never_written() {
    one_reader::<Ordered, All>();
}

#[test]
fn two_readers_hold_two_versions() {
    explore(|| {
        let shared = Shared::<Ordered, 2>::new(2);
        let readers = [0, 1].map(|slot| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.read::<All>(slot, 1))
        });
        shared.write::<All>(3);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

/// A reader whose slot the writer does not know of yet makes it known before it pins.
#[test]
fn a_reader_that_comes_is_seen_in_time() {
    explore(|| {
        let shared = Shared::<Ordered, 1>::new(0);
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.used.raise(1);
                shared.read::<All>(0, 1);
            })
        };
        shared.write::<All>(4);
        reader.join().unwrap();
    });
}

#[test]
#[should_panic]
fn without_the_fence_a_pin_is_missed() {
    one_reader::<Unfenced, All>();
}

#[test]
#[should_panic]
fn without_looking_again_a_pin_comes_too_late() {
    one_reader::<Ordered, NoRecheck>();
}

#[test]
#[should_panic]
fn without_help_an_announced_reader_pins_too_late() {
    one_reader::<Ordered, NoHelp>();
}

#[test]
#[should_panic]
fn with_a_relaxed_unpin_reads_leak_past_it() {
    one_reader::<RelaxedUnpin, All>();
}

#[test]
#[should_panic]
fn with_a_relaxed_publication_bytes_come_after_it() {
    one_reader::<RelaxedPublish, All>();
}

/// Nobody sleeps through the publication of the version that he waits for.
fn one_sleeper<O: Orderings>() {
    explore(|| {
        let words = Arc::new((Modelled::<O>::current(version_word(0, 1)), Modelled::<O>::current(0)));
        let is_asleep = Arc::new(AtomicBool::new(false));
        let reader = {
            let (words, is_asleep) = (Arc::clone(&words), Arc::clone(&is_asleep));
            thread::spawn(move || {
                let sleeps = may_sleep(&words.0, &words.1, version_word(0, 1));
                is_asleep.store(sleeps, Ordering::Relaxed);
            })
        };
        publish(&words.0, version_word(1, 2));
        let wakes = must_wake(&words.1);
        reader.join().unwrap();
        assert!(wakes || !is_asleep.load(Ordering::Relaxed), "nobody wakes the reader");
    });
}

#[test]
fn a_sleeper_is_woken() {
    one_sleeper::<Ordered>();
}

#[test]
#[should_panic(expected = "nobody wakes the reader")]
fn without_the_fence_a_sleeper_is_forgotten() {
    one_sleeper::<Unfenced>();
}

/// A copy that is taken for stable is of one version: the two words of the buffer, each of which has the version's number.
fn one_copy<O: Orderings>() {
    explore(|| {
        let words = Arc::new([version_word(0, 1), 1, 1].map(Modelled::<O>::current));
        let reader = {
            let words = Arc::clone(&words);
            thread::spawn(move || {
                let mut copy = [0; 2];
                for sequence in 1..=2 {
                    let is_stable = copy_stable(&words[0], version_word(0, sequence), || {
                        copy = [words[1].peek(), words[2].peek()];
                    });
                    assert!(!is_stable || copy == [sequence; 2], "a copy of two versions");
                }
            })
        };
        begin_fill(&words[0]);
        words[1].poke(2);
        words[2].poke(2);
        end_fill(&words[0], version_word(0, 2));
        reader.join().unwrap();
    });
}

#[test]
fn a_stable_copy_is_of_one_version() {
    one_copy::<Ordered>();
}

#[test]
#[should_panic(expected = "a copy of two versions")]
fn without_the_fence_a_copy_is_of_two_versions() {
    one_copy::<UnfencedStamp>();
}
