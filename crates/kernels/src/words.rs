//! Sorting a piece of u64s that fits the cache, no two of them equal.
//!
//! One counting pass on the top bits in which they differ leaves two or three a digit; an insertion sort on the way back
//! does the rest. What does not spread (skew) goes to the standard library's sort (ipnsort), so that the worst case is its O(n log n).

/// Digit of the counting pass at most.
const DIGIT_BITS_MAX: u32 = 8;
/// Up to this many the standard library's sort is as fast.
const COUNTING_MIN: usize = 64;
/// A digit with more goes to the standard library's sort.
const INSERTION_MAX: usize = 16;

/// Sorts `words`. `scratch` is as long; what it holds before and after means nothing.
pub(crate) fn sort(words: &mut [u64], scratch: &mut [u64]) {
    if words.len() < COUNTING_MIN {
        words.sort_unstable();
        return;
    }
    let first = words[0];
    let (mut differ, mut rising, mut last) = (0, true, first);
    for &word in &*words {
        differ |= word ^ first;
        rising &= last <= word;
        last = word;
    }
    if rising {
        return;
    }
    let width = 64 - differ.leading_zeros();
    let digit_bits = (words.len().ilog2() - 1).min(DIGIT_BITS_MAX).min(width);
    let shift = width - digit_bits;
    let mask = (1_usize << digit_bits) - 1;
    let mut counts = [0_usize; 1 << DIGIT_BITS_MAX];
    let digit = |word: u64| (word >> shift) as usize & mask;
    for &word in &*words {
        counts[digit(word)] += 1;
    }
    let mut place = 0;
    for count in &mut counts {
        place += std::mem::replace(count, place);
    }
    for &word in &*words {
        let digit = digit(word);
        scratch[counts[digit]] = word;
        counts[digit] += 1;
    }
    let mut start = 0;
    for &end in &counts[..=mask] {
        if end - start > INSERTION_MAX {
            scratch[start..end].sort_unstable();
        }
        start = end;
    }
    insert_all(&scratch[..words.len()], words);
}

/// Copies `from` to `to` in order, by insertion: linear if nothing is far from its place.
fn insert_all(from: &[u64], to: &mut [u64]) {
    for (place, &word) in from.iter().enumerate() {
        let mut hole = place;
        while hole > 0 && to[hole - 1] > word {
            to[hole] = to[hole - 1];
            hole -= 1;
        }
        to[hole] = word;
    }
}
