//! Which inodes were counted, in a few bits each.
//!
//! File systems number inodes densely, those of one directory next to each other. So the set is
//! made of blocks of 64 numbers: sixteen bytes of key and eight of bits for anything between one
//! inode and 64, and what is counted in one directory falls into few blocks.
//!
//! Threads mostly look at different directories. A shard of the set is found by the inode's number
//! without its low eight bits, so that a directory's inodes share a shard, and two directories
//! under way have different ones: a shard is locked once for a run of inodes, and rarely twice at
//! once (the way of dumac, by Hisato Nagao; measured in docs/experiments).

use crate::status::Identity;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A power of two, far above the threads.
const SHARDS: usize = 128;
/// Bits of an inode's number that don't matter for its shard.
const SHARD_SHIFT: u32 = 8;

/// Inodes; each is inserted once.
#[derive(Debug)]
pub(crate) struct Seen {
    shards: Box<[Mutex<Shard>]>,
}

/// By device and number over 64: which of the 64.
type Shard = HashMap<(u64, u64), u64, FixedState>;

impl Seen {
    pub(crate) fn new() -> Seen {
        Seen { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    /// Returns whether it wasn't there.
    pub(crate) fn insert(&self, identity: Identity) -> bool {
        let mut is_new = false;
        self.insert_all(&[identity], |identity| *identity, |_| is_new = true);
        is_new
    }

    /// Inserts many, and tells which of them weren't there. Neighbours share a lock.
    pub(crate) fn insert_all<T>(
        &self,
        items: &[T],
        identity: impl Fn(&T) -> Identity,
        mut is_new: impl FnMut(&T),
    ) {
        for run in items.chunk_by(|a, b| shard_of(identity(a)) == shard_of(identity(b))) {
            let shard = &self.shards[shard_of(identity(&run[0]))];
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            for item in run {
                let Identity { device, inode } = identity(item);
                let bits = shard.entry((device, inode / 64)).or_default();
                let bit = 1 << (inode % 64);
                if *bits & bit == 0 {
                    *bits |= bit;
                    is_new(item);
                }
            }
        }
    }
}

fn shard_of(identity: Identity) -> usize {
    (identity.inode >> SHARD_SHIFT) as usize % SHARDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn it_is_a_set(numbers in prop::collection::vec((0u64..3, prop_oneof![0u64..200, any::<u64>()]), 0..300)) {
            let items: Vec<Identity> =
                numbers.iter().map(|&(device, inode)| Identity { device, inode }).collect();
            let (seen, mut model) = (Seen::new(), HashSet::new());
            let (first, second) = items.split_at(items.len() / 2);
            for identity in first {
                prop_assert_eq!(seen.insert(*identity), model.insert(*identity));
            }
            let mut new = Vec::new();
            seen.insert_all(second, |identity| *identity, |identity| new.push(*identity));
            let expected: Vec<_> = second.iter().copied().filter(|identity| model.insert(*identity)).collect();
            prop_assert_eq!(new, expected);
        }
    }
}
