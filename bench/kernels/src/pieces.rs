//! The pieces of xsort's sort by themselves: taking the words out, the partition, and a bucket's
//! sort.
//!
//! They are private to their crate, so their source is compiled here once more, as it is.

use crate::caches::Caches;
use crate::contest::Contest;
use crate::input::{Input, KEY, OUT_OF_CACHE, RECORD_BYTES, prefix, rank};
use crate::{extract, partition, words};
use std::cell::RefCell;
use std::rc::Rc;
use xsort_records::{Format, Pattern};

/// Bits of an index below the key bits in a word.
const INDEX_BITS: u32 = 21;
/// Bits of the partition's digit.
const DIGIT_BITS: u32 = 10;

/// All contests, one after the other; `tiny` ones for a test.
pub(crate) fn contests(tiny: bool, visit: &mut dyn FnMut(Contest<'_>)) {
    let count = if tiny { 10_000 } else { OUT_OF_CACHE };
    let input = Input::new(Format::Gensort, Pattern::Uniform, count);
    visit(extracts(&input));
    let words: Vec<u64> = input.iter().map(prefix).collect();
    visit(partitions(&words));
    for bucket in [80, 160, 320, 640, 1_280, 2_560, 10_240, 20_480, 81_920] {
        visit(sorts(&words, bucket));
    }
}

/// From records to eight bytes of each key.
fn extracts(input: &Input) -> Contest<'_> {
    let words = Rc::new(RefCell::new(vec![0; input.count()]));
    let ranks = Rc::new(RefCell::new(Vec::with_capacity(input.count())));
    let mut contest = Contest::new("extract 1.3M words", input.count());
    let check_words = || {
        let words = Rc::clone(&words);
        move || {
            let words = &mut *words.borrow_mut();
            assert!(input.iter().map(prefix).eq(words.iter().copied()), "not the words");
            words.fill(0);
        }
    };
    let out = Rc::clone(&words);
    contest.add(
        "xsort, with a look at their order",
        move || {
            let stats = extract::words(KEY, &input.records, RECORD_BYTES, 0, &mut out.borrow_mut());
            assert!(!stats.expect("nothing has to be shared").ascending);
        },
        check_words(),
    );
    let out = Rc::clone(&words);
    contest.add(
        "loop",
        move || {
            out.borrow_mut()
                .iter_mut()
                .zip(input.iter())
                .for_each(|(to, record)| *to = prefix(record))
        },
        check_words(),
    );
    let (out, checked) = (Rc::clone(&ranks), ranks);
    contest.add(
        "loop that makes ranks",
        move || {
            let ranks = &mut *out.borrow_mut();
            ranks.clear();
            ranks.extend(input.iter().zip(0..).map(|(record, index)| rank(record, index)));
        },
        move || {
            let ranks = &mut *checked.borrow_mut();
            assert!(
                input
                    .iter()
                    .zip(0..)
                    .map(|(record, index)| rank(record, index))
                    .eq(ranks.drain(..))
            );
        },
    );
    contest
}

/// From words to (key bits, index) pairs in buckets.
fn partitions(words: &[u64]) -> Contest<'_> {
    let pairs = Rc::new(RefCell::new(vec![0; words.len()]));
    let mut contest = Contest::new("partition 1.3M words to 1,024 buckets", words.len());
    let check = || {
        let pairs = Rc::clone(&pairs);
        move || {
            let pairs = &mut *pairs.borrow_mut();
            let low = (1 << INDEX_BITS) - 1;
            let bucket = |pair: &u64| words[(pair & low) as usize] >> (64 - DIGIT_BITS);
            assert!(
                pairs.is_sorted_by_key(|pair| (bucket(pair), pair & low)),
                "not in stable buckets"
            );
            assert_eq!(
                pairs.iter().map(|pair| pair & low).sum::<u64>(),
                (0..words.len() as u64).sum()
            );
            pairs.fill(0);
        }
    };
    let out = Rc::clone(&pairs);
    contest.add(
        "xsort",
        move || {
            partition::partition(words, 0, DIGIT_BITS, INDEX_BITS, &mut out.borrow_mut());
        },
        check(),
    );
    let out = Rc::clone(&pairs);
    contest.add(
        "plain counting and scatter",
        move || scatter(words, &mut out.borrow_mut()),
        check(),
    );
    contest
}

fn scatter(words: &[u64], pairs: &mut [u64]) {
    let bucket = |word: u64| (word >> (64 - DIGIT_BITS)) as usize;
    let mut places = [0; 1 << DIGIT_BITS];
    for &word in words {
        places[bucket(word)] += 1;
    }
    let mut start = 0;
    for place in &mut places {
        start += std::mem::replace(place, start);
    }
    let low = (1 << INDEX_BITS) - 1;
    for (index, &word) in words.iter().enumerate() {
        let place = &mut places[bucket(word)];
        pairs[*place] = word << DIGIT_BITS & !low | index as u64;
        *place += 1;
    }
}

/// Sorting words in buckets of `bucket`, all of which are copied from the same place first.
fn sorts(words: &[u64], bucket: usize) -> Contest<'_> {
    let low = (1_u64 << INDEX_BITS) - 1;
    let pairs: Rc<Vec<u64>> =
        Rc::new(words.iter().zip(0..).map(|(word, index)| word & !low | index).collect());
    let mut expected = pairs.to_vec();
    expected.chunks_mut(bucket).for_each(<[u64]>::sort_unstable);
    let expected = Rc::new(expected);
    let buffers = Rc::new(RefCell::new((vec![0; pairs.len()], vec![0; bucket])));
    let mut contest = Contest::new(format!("sort words in buckets of {bucket}"), pairs.len());
    for (name, sort) in WORD_SORTS {
        let (pairs, expected) = (Rc::clone(&pairs), Rc::clone(&expected));
        let (buffers, checked) = (Rc::clone(&buffers), Rc::clone(&buffers));
        let work = move || {
            let (words, scratch) = &mut *buffers.borrow_mut();
            for (to, from) in words.chunks_mut(bucket).zip(pairs.chunks(bucket)) {
                to.copy_from_slice(from);
                sort(to, &mut scratch[..from.len()]);
            }
        };
        contest.add(*name, work, move || {
            let (words, _) = &mut *checked.borrow_mut();
            assert!(words == &*expected, "not in order");
            words.fill(0);
        });
    }
    contest
}

/// Sorts a bucket, with as much scratch.
type WordSort = fn(&mut [u64], &mut [u64]);

const WORD_SORTS: &[(&str, WordSort)] = &[
    ("xsort", |words, scratch| words::sort(words, scratch, Caches::default())),
    #[cfg(feature = "vqsort")]
    ("vqsort", |words, _| vqsort_rs::sort(words)),
    ("voracious", |words, _| voracious_radix_sort::RadixSort::voracious_sort(words)),
    ("rdst", |words, _| rdst::RadixSort::radix_sort_builder(words).with_parallel(false).sort()),
    ("radsort", |words, _| radsort::sort(words)),
    ("std sort_unstable", |words, _| words.sort_unstable()),
];
