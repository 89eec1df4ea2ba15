//! Places of equal size in a file. Each is taken once: the first free place at or after an offset.
//!
//! This is linear probing, as in a hash table: if a block's own place is taken, it goes to the next
//! free place. So every block lies near its own place, and never before it. Words of 64 places form
//! a forest: a word without a free place points to a later word that may have some, and searches
//! halve these paths (Tarjan and van Leeuwen, JACM 1984). So a long stretch without a free place is
//! not searched repeatedly.

/// Places in one word.
const WORD_PLACES: usize = u64::BITS as usize;

/// The free places of a file.
#[derive(Debug)]
pub(crate) struct Places {
    file_bytes: u64,
    place_bytes: u64,
    /// One bit for each place, set if the place is free.
    free: Vec<u64>,
    /// For each word, its own index while it has a free place, otherwise the index of a later word.
    /// The last word has no free place.
    next: Vec<u32>,
    taken: u64,
}

impl Places {
    /// All places of a file of `file_bytes` bytes, `place_bytes` bytes each. All are free.
    pub(crate) fn new(file_bytes: u64, place_bytes: u64) -> Places {
        let places = (file_bytes / place_bytes) as usize;
        let words = places / WORD_PLACES;
        let mut free = vec![u64::MAX; words];
        free.push((1 << (places % WORD_PLACES)) - 1);
        // The last word also stands for the end of the file.
        free.push(0);
        let next = (0..free.len() as u32).collect();
        Places { file_bytes, place_bytes, free, next, taken: 0 }
    }

    /// Heap bytes that the places of a file use.
    pub(crate) fn heap_bytes(file_bytes: u64, place_bytes: u64) -> u64 {
        (file_bytes / place_bytes / WORD_PLACES as u64 + 2) * (8 + 4)
    }

    /// Takes the first free place at or after `offset`, and returns its offset. `None` if there is
    /// none.
    pub(crate) fn take(&mut self, offset: u64) -> Option<u64> {
        let first = offset.div_ceil(self.place_bytes);
        let last_word = self.free.len() - 1;
        let word = usize::try_from(first).ok()? / WORD_PLACES;
        if word >= last_word {
            return None;
        }
        let here = self.free[word] & (u64::MAX << (first as usize % WORD_PLACES));
        let (word, places) = if here != 0 {
            (word, here)
        } else {
            let word = self.word_with_a_place(word + 1);
            (word, self.free[word])
        };
        if places == 0 {
            return None;
        }
        let bit = places.trailing_zeros();
        self.free[word] &= !(1 << bit);
        if self.free[word] == 0 {
            self.next[word] = word as u32 + 1;
        }
        self.taken += 1;
        Some((word * WORD_PLACES) as u64 * self.place_bytes + u64::from(bit) * self.place_bytes)
    }

    /// The first word with a free place, from `word` on; the last word if there is none.
    fn word_with_a_place(&mut self, mut word: usize) -> usize {
        let last_word = self.free.len() - 1;
        while word < last_word && self.free[word] == 0 {
            let after = (self.next[word] as usize).max(word + 1);
            self.next[word] = self.next[after].max(after as u32);
            word = after;
        }
        word
    }

    /// Size of the file in bytes.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Total size of the taken places in bytes.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.taken * self.place_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use xsort_testing::Random;

    #[test]
    fn the_next_free_place_is_taken() {
        let mut random = Random::new(1);
        for places in [0, 1, 63, 64, 65, 1_000, 5_000] {
            let file_bytes = places * 4096 + random.below(4096) as u64;
            let mut free: BTreeSet<u64> = (0..places).map(|place| place * 4096).collect();
            let mut tried = Places::new(file_bytes, 4096);
            for step in 0..3 * places + 3 {
                // Often starts at the same place, as for bins that turn out too large.
                let from = if step % 3 == 0 { 0 } else { random.between(0, file_bytes + 9_999) };
                let expected = free.range(from..).next().copied();
                assert_eq!(tried.take(from), expected, "{places} places, from {from}");
                expected.inspect(|offset| assert!(free.remove(offset)));
                assert_eq!(tried.taken_bytes(), (places - free.len() as u64) * 4096);
            }
            while let Some(offset) = tried.take(0) {
                assert!(free.remove(&offset));
            }
            assert!(free.is_empty(), "{places} places");
        }
    }
}
