//! Sorting records by (key, index), without moving them: from the records to the stable order of
//! their indexes by the whole ten-byte key.
//!
//! The rivals sort numbers, so the rest of the job is done around them, in the same way for all:
//!
//! - *words*: the first key bits and the index in a `u64`, as xsort does it; afterwards records
//!   with equal key bits are put in order by (key, index);
//! - *pairs*: eight key bytes and the index in 16 bytes, sorted by the bytes; afterwards the same;
//! - *ranks*: the whole key and the index in a `u128`, whose order is complete;
//! - *indexes*: sorted by a function that looks into the records.

use crate::contest::Contest;
use crate::input::{IN_CACHE, Input, KEY, KEY_BYTES, OUT_OF_CACHE, RECORD_BYTES, prefix, rank};
use rayon::slice::ParallelSliceMut;
use rayon::{ThreadPool, ThreadPoolBuilder};
use rdst::{RadixKey, RadixSort as _};
use std::cell::RefCell;
use std::rc::Rc;
use voracious_radix_sort::{RadixSort as _, Radixable};
use xsort_kernels::{Caches, sort};
use xsort_records::{Format, Pattern};

/// Eight key bytes and an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    prefix: u64,
    index: u64,
}

impl RadixKey for Pair {
    const LEVELS: usize = 8;

    #[inline]
    fn get_level(&self, level: usize) -> u8 {
        (self.prefix >> (8 * level)) as u8
    }
}

impl Radixable<u64> for Pair {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.prefix
    }
}

/// Memory that a sort may use, made once; rivals may allocate more.
struct Buffers {
    /// The result.
    order: Vec<u64>,
    words: Vec<u64>,
    pairs: Vec<Pair>,
    ranks: Vec<u128>,
    #[cfg(feature = "vqsort")]
    vq_pairs: Vec<vqsort_rs::Key64Value64>,
}

impl Buffers {
    /// Buffers for `count` records.
    fn new(count: usize) -> Buffers {
        Buffers {
            order: vec![0; count],
            words: vec![0; count],
            pairs: Vec::with_capacity(count),
            ranks: Vec::with_capacity(count),
            #[cfg(feature = "vqsort")]
            vq_pairs: Vec::with_capacity(count),
        }
    }

    /// From records to words, sorted by `sort`, to the order.
    fn by_words(&mut self, input: &Input, sort: impl FnOnce(&mut [u64])) {
        let low = input.count().next_power_of_two() as u64 - 1;
        for ((word, record), index) in self.words.iter_mut().zip(input.iter()).zip(0..) {
            *word = prefix(record) & !low | index;
        }
        sort(&mut self.words);
        write_order(
            input,
            self.words.iter().map(|word| (word & !low, word & low)),
            &mut self.order,
        );
    }

    /// From records to pairs, sorted by `sort`, to the order.
    fn by_pairs(&mut self, input: &Input, sort: impl FnOnce(&mut [Pair])) {
        self.pairs.clear();
        self.pairs.extend(
            input.iter().zip(0..).map(|(record, index)| Pair { prefix: prefix(record), index }),
        );
        sort(&mut self.pairs);
        let pairs = self.pairs.iter().map(|pair| (pair.prefix, pair.index));
        write_order(input, pairs, &mut self.order);
    }

    /// From records to ranks, sorted by `sort`, to the order.
    fn by_ranks(&mut self, input: &Input, sort: impl FnOnce(&mut [u128])) {
        self.ranks.clear();
        self.ranks.extend(input.iter().zip(0..).map(|(record, index)| rank(record, index)));
        sort(&mut self.ranks);
        for (element, &rank) in self.order.iter_mut().zip(&self.ranks) {
            *element = u64::from(rank as u32);
        }
    }
}

/// Takes the indexes from sorted (key bits, index), and sorts groups with equal bits by (key,
/// index).
fn write_order(input: &Input, sorted: impl Iterator<Item = (u64, u64)>, order: &mut [u64]) {
    let order_group = |group: &mut [u64]| {
        if group.len() > 1 {
            group.sort_unstable_by_key(|&index| rank(input.record(index), index as u32));
        }
    };
    let (mut start, mut last) = (0, 0);
    for (place, (bits, index)) in sorted.enumerate() {
        order[place] = index;
        if bits != last {
            order_group(&mut order[start..place]);
            (start, last) = (place, bits);
        }
    }
    order_group(&mut order[start..]);
}

/// A way to sort; by the threads of the pool, if by more than one.
struct Sorter {
    name: &'static str,
    sort: fn(&Input, &mut Buffers, &ThreadPool),
}

/// Sorts by one thread.
const ALONE: &[Sorter] = &[
    Sorter {
        name: "xsort",
        sort: |input, buffers, _| {
            sort(
                KEY,
                &input.records,
                RECORD_BYTES,
                &mut buffers.order,
                &mut buffers.words,
                Caches::default(),
            );
        },
    },
    #[cfg(feature = "vqsort")]
    Sorter {
        name: "vqsort of words",
        sort: |input, buffers, _| buffers.by_words(input, vqsort_rs::sort),
    },
    #[cfg(feature = "vqsort")]
    Sorter {
        name: "vqsort of pairs",
        sort: |input, buffers, _| {
            let pairs = input.iter().zip(0..);
            let pairs =
                pairs.map(|(record, value)| vqsort_rs::Key64Value64 { value, key: prefix(record) });
            buffers.vq_pairs.clear();
            buffers.vq_pairs.extend(pairs);
            vqsort_rs::sort(&mut buffers.vq_pairs);
            write_order(
                input,
                buffers.vq_pairs.iter().map(|pair| (pair.key, pair.value)),
                &mut buffers.order,
            );
        },
    },
    #[cfg(feature = "vqsort")]
    Sorter {
        name: "vqsort of ranks",
        sort: |input, buffers, _| buffers.by_ranks(input, vqsort_rs::sort),
    },
    Sorter {
        name: "voracious of words",
        sort: |input, buffers, _| buffers.by_words(input, |words| words.voracious_sort()),
    },
    Sorter {
        name: "voracious of pairs",
        sort: |input, buffers, _| buffers.by_pairs(input, |pairs| pairs.voracious_sort()),
    },
    Sorter {
        name: "rdst of words",
        sort: |input, buffers, _| {
            buffers.by_words(input, |words| words.radix_sort_builder().with_parallel(false).sort())
        },
    },
    Sorter {
        name: "rdst of pairs",
        sort: |input, buffers, _| {
            buffers.by_pairs(input, |pairs| pairs.radix_sort_builder().with_parallel(false).sort())
        },
    },
    Sorter {
        name: "radsort of words",
        sort: |input, buffers, _| buffers.by_words(input, radsort::sort),
    },
    Sorter {
        name: "radsort of pairs",
        sort: |input, buffers, _| {
            buffers.by_pairs(input, |pairs| radsort::sort_by_key(pairs, |pair| pair.prefix))
        },
    },
    Sorter {
        name: "std sort_unstable of words",
        sort: |input, buffers, _| buffers.by_words(input, <[u64]>::sort_unstable),
    },
    Sorter {
        name: "std sort_unstable of pairs",
        sort: |input, buffers, _| buffers.by_pairs(input, <[Pair]>::sort_unstable),
    },
    Sorter {
        name: "std sort_unstable of ranks",
        sort: |input, buffers, _| buffers.by_ranks(input, <[u128]>::sort_unstable),
    },
    Sorter {
        name: "std sort of pairs",
        sort: |input, buffers, _| {
            buffers.by_pairs(input, |pairs| pairs.sort_by_key(|pair| pair.prefix))
        },
    },
    Sorter {
        name: "std sort of indexes",
        sort: |input, buffers, _| {
            buffers.order.iter_mut().zip(0..).for_each(|(element, index)| *element = index);
            buffers.order.sort_by_key(|&index| input.record(index).first_chunk::<KEY_BYTES>());
        },
    },
];

/// Sorts by all threads of the pool.
const TOGETHER: &[Sorter] = &[
    Sorter {
        name: "rayon of words",
        sort: |input, buffers, pool| {
            buffers.by_words(input, |words| pool.install(|| words.par_sort_unstable()))
        },
    },
    Sorter {
        name: "rayon of pairs",
        sort: |input, buffers, pool| {
            buffers.by_pairs(input, |pairs| pool.install(|| pairs.par_sort_unstable()))
        },
    },
    Sorter {
        name: "rdst of words, parallel",
        sort: |input, buffers, pool| {
            buffers.by_words(input, |words| pool.install(|| words.radix_sort_unstable()))
        },
    },
    Sorter {
        name: "voracious of words, parallel",
        sort: |input, buffers, pool| {
            buffers.by_words(input, |words| words.voracious_mt_sort(pool.current_num_threads()));
        },
    },
];

/// All contests, one after the other; `tiny` ones for a test.
pub(crate) fn contests(tiny: bool, visit: &mut dyn FnMut(Contest<'_>)) {
    let (in_cache, out_of_cache) = if tiny { (100, 1_000) } else { (IN_CACHE, OUT_OF_CACHE) };
    for (name, format, pattern, count) in [
        ("8k records", Format::Gensort, Pattern::Uniform, in_cache),
        ("1.3M records", Format::Gensort, Pattern::Uniform, out_of_cache),
        ("1.3M printable", Format::GensortAscii, Pattern::Uniform, out_of_cache),
        ("1.3M of 16 keys", Format::Gensort, Pattern::Few, out_of_cache),
        ("1.3M equal", Format::Gensort, Pattern::Equal, out_of_cache),
        ("1.3M sorted", Format::Gensort, Pattern::Sorted, out_of_cache),
    ] {
        visit(by_one(name, &Input::new(format, pattern, count)));
    }
    let input = Input::new(Format::Gensort, Pattern::Uniform, 2 * out_of_cache);
    visit(by_two(&input));
}

/// One thread sorts all.
fn by_one<'a>(name: &str, input: &'a Input) -> Contest<'a> {
    let pool = pool(1);
    let buffers = Rc::new(RefCell::new(Buffers::new(input.count())));
    let mut contest = Contest::new(format!("sort {name}, one thread"), input.count());
    for Sorter { name, sort } in ALONE.iter().chain(TOGETHER) {
        let (buffers, checked, pool) = (Rc::clone(&buffers), Rc::clone(&buffers), Rc::clone(&pool));
        let work = move || sort(input, &mut buffers.borrow_mut(), &pool);
        contest.add(*name, work, move || check(input, &mut checked.borrow_mut().order));
    }
    contest
}

/// Two threads: those who sort alone do so side by side, each one half, and leave two orders. The
/// others sort all of it together.
fn by_two<'a>(input: &'a Input) -> Contest<'a> {
    let pool = pool(2);
    let half = input.count() / 2;
    let halves = Rc::new([input.part(0, half), input.part(half, half)]);
    let rooms = Rc::new(RefCell::new([Buffers::new(half), Buffers::new(half)]));
    let buffers = Rc::new(RefCell::new(Buffers::new(input.count())));
    let mut contest = Contest::new("sort 2.7M records, two threads", input.count());
    for Sorter { name, sort } in ALONE {
        let (sorted, checked) = ((halves.clone(), rooms.clone()), (halves.clone(), rooms.clone()));
        let pool = Rc::clone(&pool);
        let work = move || {
            let (pool, mut rooms) = (&*pool, sorted.1.borrow_mut());
            std::thread::scope(|scope| {
                for (input, buffers) in sorted.0.iter().zip(rooms.iter_mut()) {
                    scope.spawn(move || sort(input, buffers, pool));
                }
            });
        };
        contest.add(format!("{name}, two orders"), work, move || {
            let mut rooms = checked.1.borrow_mut();
            checked
                .0
                .iter()
                .zip(rooms.iter_mut())
                .for_each(|(input, buffers)| check(input, &mut buffers.order));
        });
    }
    for Sorter { name, sort } in TOGETHER {
        let (buffers, checked, pool) = (Rc::clone(&buffers), Rc::clone(&buffers), Rc::clone(&pool));
        let work = move || sort(input, &mut buffers.borrow_mut(), &pool);
        contest.add(*name, work, move || check(input, &mut checked.borrow_mut().order));
    }
    contest
}

fn pool(threads: usize) -> Rc<ThreadPool> {
    Rc::new(ThreadPoolBuilder::new().num_threads(threads).build().expect("threads"))
}

/// (Key, index) strictly increases over as many indexes as there are records: that is the one
/// stable order.
fn check(input: &Input, order: &mut [u64]) {
    assert_eq!(order.len(), input.count());
    let ranks = order.iter().map(|&index| rank(input.record(index), index as u32));
    assert!(ranks.is_sorted_by(|a, b| a < b), "not the stable order");
    order.fill(0);
}
