//! Comparing further key bytes within groups of records whose words so far are equal, until the key
//! ends.
//!
//! The groups nest (a key of 4,096 bytes may need 800 rounds), but there is no recursion and no
//! stack of groups. An element of the order has 32 unused bits, which say whether it is tied with
//! the preceding element and from which key byte on.
//!
//! ```text
//!   63      62 .......... 32  31 .......... 0
//!   tied?   next key byte     index of record
//! ```
//!
//! A sweep resolves the leftmost group until its first two elements differ, then moves on. Each
//! round of a group reads at least four further key bytes of its records, so the total work is
//! linear in the bytes of the keys.

use crate::caches::Caches;
use crate::{extract, prefetch, words};
use xsort_records::Key;

/// Set if the element equals the preceding one, as far as is known.
const TIED: u64 = 1 << 63;
/// Position of the bits for the next key byte.
const AT_SHIFT: u32 = 32;
/// Mask of the record's index.
const INDEX: u64 = (1 << AT_SHIFT) - 1;
/// Maximum length of a key in bytes.
pub(crate) const KEY_BYTES_MAX: usize = (1 << (63 - AT_SHIFT)) - 1;
/// Groups up to this size are sorted by comparing whole keys.
const COMPARE_MAX: usize = 4;
/// Number of elements by which the sweep prefetches the records of groups ahead.
const AHEAD: usize = 16;

/// The records being sorted, and constants of the sort.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TieBreaker<'a, K> {
    pub(crate) key: K,
    pub(crate) records: &'a [u8],
    pub(crate) record_bytes: usize,
    /// Number of low bits of a pair that hold the index.
    pub(crate) index_bits: u32,
    /// The caches that buckets are made for.
    pub(crate) caches: Caches,
}

/// Turns sorted pairs into elements: indexes, with a tie where the key bits are equal and the key
/// continues at byte `at`. Returns true if there are ties.
pub(crate) fn mark_ties(pairs: &mut [u64], index_bits: u32, at: usize, key_bytes: usize) -> bool {
    let low = (1_u64 << index_bits) - 1;
    if at >= key_bytes {
        for pair in pairs {
            *pair &= low;
        }
        return false;
    }
    let tie = TIED | (at as u64) << AT_SHIFT;
    let mut any = false;
    let mut last = pairs.first().map_or(0, |&pair| !pair);
    for pair in pairs {
        let tied = (*pair ^ last) & !low == 0;
        any |= tied;
        last = *pair;
        *pair = *pair & low | if tied { tie } else { 0 };
    }
    any
}

impl<K: Key> TieBreaker<'_, K> {
    fn record(&self, index: u64) -> &[u8] {
        let start = index as usize * self.record_bytes;
        &self.records[start..start + self.record_bytes]
    }

    /// Resolves all ties marked in `order` (whose first element is never tied), leaving plain
    /// indexes.
    pub(crate) fn resolve(&self, order: &mut [u64], scratch: &mut [u64]) {
        let mut place = 0;
        while place + 1 < order.len() {
            if let Some(&later) = order.get(place + AHEAD)
                && later & TIED != 0
            {
                for element in [later, order[place + AHEAD - 1]] {
                    let start = (element & INDEX) as usize * self.record_bytes;
                    prefetch::line(self.records.as_ptr().wrapping_add(start));
                }
            }
            let next = order[place + 1];
            if next & TIED == 0 {
                place += 1;
                continue;
            }
            let at = ((next & !TIED) >> AT_SHIFT) as usize;
            let tied =
                order[place + 1..].iter().take_while(|&&element| element & TIED != 0).count();
            let end = place + 1 + tied;
            for element in &mut order[place..end] {
                *element &= INDEX;
            }
            self.refine(&mut order[place..end], &mut scratch[..end - place], at);
        }
    }

    /// Runs one round for a group of plain, ascending indexes that are tied up to byte `at`. Sorts
    /// them by the next key bits, and marks the remaining ties, from a later byte on.
    fn refine(&self, group: &mut [u64], scratch: &mut [u64], mut at: usize) {
        if group.len() <= COMPARE_MAX {
            self.insertion(group);
            return;
        }
        let key_bytes = self.key.bytes();
        let stats = loop {
            if at >= key_bytes {
                return;
            }
            let stats = extract::words_by_index(
                self.key,
                self.records,
                self.record_bytes,
                group,
                at,
                scratch,
            );
            let skip = stats.differ.leading_zeros() as usize / 8;
            if stats.differ == 0 {
                let others = group[1..].iter().map(|&index| self.record(index));
                at = extract::shared(self.key, self.record(group[0]), others, at + 8);
            } else if skip > 2 && at + 8 < key_bytes {
                at += skip;
            } else {
                break stats;
            }
        };
        let skip = stats.differ.leading_zeros();
        let low = (1_u64 << self.index_bits) - 1;
        for (element, &word) in group.iter_mut().zip(&*scratch) {
            *element |= (word << skip) & !low;
        }
        if !stats.ascending {
            words::sort(group, scratch, self.caches);
        }
        let next = at + (skip + 64 - self.index_bits).min(64) as usize / 8;
        mark_ties(group, self.index_bits, next, key_bytes);
    }

    /// Sorts a few plain indexes by whole keys, stably.
    fn insertion(&self, group: &mut [u64]) {
        for place in 1..group.len() {
            let index = group[place];
            let mut hole = place;
            while hole > 0
                && self.key.compare(self.record(group[hole - 1]), self.record(index)).is_gt()
            {
                group[hole] = group[hole - 1];
                hole -= 1;
            }
            group[hole] = index;
        }
    }
}
