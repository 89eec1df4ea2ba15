//! Ranks of keys among those of a sample.

/// Bytes of a key that decide its rank, after what all keys begin with.
const KEY_BYTES: usize = 32;
/// Keys of a sample that are kept.
const KEYS_MAX: usize = 16 << 10;

/// Keys of a sample, in order.
#[derive(Clone, Debug, Default)]
pub struct Ranks {
    /// Bytes that all keys begin with.
    common: Box<[u8]>,
    /// The eight bytes after these of each key, and all of them.
    words: Vec<u64>,
    keys: Vec<Box<[u8]>>,
}

impl Ranks {
    /// Most memory that a sample takes, in bytes.
    pub const MEMORY_BYTES: u64 = (KEYS_MAX * (8 + 16 + KEY_BYTES + 16)) as u64;

    /// Sorts keys, which compare as bytes.
    #[must_use]
    pub fn of(mut keys: Vec<Vec<u8>>) -> Ranks {
        keys.sort_unstable();
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
            return Ranks::default();
        };
        let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let common: Box<[u8]> = first[..common].into();
        let step = keys.len().div_ceil(KEYS_MAX).max(1);
        let rest = |key: &Vec<u8>| {
            let rest = &key[common.len()..];
            rest[..rest.len().min(KEY_BYTES)].into()
        };
        let keys: Vec<Box<[u8]>> = keys.iter().step_by(step).map(rest).collect();
        let words = keys.iter().map(|key| word(key)).collect();
        Ranks { common, words, keys }
    }

    /// Returns the rank of a key: how many keys of the sample are less, of 65,535.
    #[must_use]
    pub fn rank(&self, key: &[u8]) -> u16 {
        let all = self.keys.len();
        if all == 0 {
            return 0;
        }
        let less = match key.strip_prefix(&*self.common) {
            None if *key < *self.common => 0,
            None => all,
            Some(rest) => self.less_than(&rest[..rest.len().min(KEY_BYTES)]),
        };
        (less * usize::from(u16::MAX) / all) as u16
    }

    fn less_than(&self, key: &[u8]) -> usize {
        let own = word(key);
        let begin = self.words.partition_point(|&word| word < own);
        if self.words.get(begin) != Some(&own) {
            return begin;
        }
        let end = begin + self.words[begin..].partition_point(|&word| word == own);
        begin + self.keys[begin..end].partition_point(|other| **other < *key)
    }
}

/// The first eight bytes of a key, zeros after its end.
fn word(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let count = key.len().min(8);
    bytes[..count].copy_from_slice(&key[..count]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranks_are_in_the_order_of_the_keys(
            sample in proptest::collection::vec("(https://)?[ab]{0,12}", 0..60),
            keys in proptest::collection::vec("(https://)?[ab]{0,12}", 2..60),
        ) {
            let sample: Vec<Vec<u8>> = sample.into_iter().map(String::into_bytes).collect();
            let ranks = Ranks::of(sample.clone());
            let mut keys: Vec<Vec<u8>> = keys.into_iter().map(String::into_bytes).collect();
            keys.sort_unstable();
            for key in &keys {
                let less = sample.iter().filter(|other| *other < key).count();
                let expected = (less * 65_535).checked_div(sample.len()).unwrap_or(0);
                prop_assert_eq!(usize::from(ranks.rank(key)), expected);
            }
        }
    }

    #[test]
    fn a_sample_has_a_size() {
        let keys = (0..100_000_u32).map(|key| key.to_be_bytes().to_vec()).collect();
        let ranks = Ranks::of(keys);
        assert!(ranks.keys.len() <= KEYS_MAX);
        let middle = ranks.rank(&50_000_u32.to_be_bytes());
        assert!(middle.abs_diff(1 << 15) < 16, "{middle}");
        assert_eq!((ranks.rank(&[]), ranks.rank(&[255])), (0, u16::MAX));
    }
}
