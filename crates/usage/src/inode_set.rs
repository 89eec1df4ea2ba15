//! A set of the counted inodes, at a few bits each.
//!
//! File systems number inodes densely, and those of one directory next to each other. So the set
//! consists of groups of 64 numbers: sixteen bytes of key and eight bytes of bits, for one to 64
//! inodes. The files of one directory fall into few groups.
//!
//! The set has shards, each with a lock. An inode's shard depends on its number without the low
//! eight bits, so that a directory's inodes share a shard, and directories that are walked at the
//! same time have different shards. A shard is locked once for many inodes, and threads rarely wait
//! for each other (after dumac by Hisato Nagao; measured in docs/experiments).

use crate::stat::Identity;
use foldhash::fast::FixedState;
use parking_lot::Mutex;
use std::collections::HashMap;

/// A power of two, far above the number of threads.
const SHARDS: usize = 128;
/// Low bits of an inode's number that don't choose its shard.
const SHARD_SHIFT: u32 = 8;

/// A set of inodes, shared by threads.
#[derive(Debug)]
pub(crate) struct InodeSet {
    shards: Box<[Mutex<Shard>]>,
}

/// Maps a device and an inode number divided by 64 to the bits of the 64 inodes.
type Shard = HashMap<(u64, u64), u64, FixedState>;

impl InodeSet {
    pub(crate) fn new() -> InodeSet {
        InodeSet { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    /// Inserts an inode. Returns whether it is new.
    pub(crate) fn insert(&self, identity: Identity) -> bool {
        let mut is_new = false;
        self.insert_all(&[identity], |identity| *identity, |_| is_new = true);
        is_new
    }

    /// Inserts many inodes, and calls `is_new` for the new ones. Neighbours in a shard share one
    /// locking of it.
    pub(crate) fn insert_all<T>(
        &self,
        items: &[T],
        identity: impl Fn(&T) -> Identity,
        mut is_new: impl FnMut(&T),
    ) {
        for neighbours in items.chunk_by(|a, b| shard_of(identity(a)) == shard_of(identity(b))) {
            let mut shard = self.shards[shard_of(identity(&neighbours[0]))].lock();
            for item in neighbours {
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

    fn identities() -> impl Strategy<Value = Vec<Identity>> {
        let inode = prop_oneof![0u64..200, any::<u64>()];
        let identity = (0u64..3, inode).prop_map(|(device, inode)| Identity { device, inode });
        prop::collection::vec(identity, 0..300)
    }

    proptest! {
        #[test]
        fn it_is_a_set(items in identities()) {
            let (set, mut model) = (InodeSet::new(), HashSet::new());
            let (first, second) = items.split_at(items.len() / 2);
            for identity in first {
                prop_assert_eq!(set.insert(*identity), model.insert(*identity));
            }
            let mut new = Vec::new();
            set.insert_all(second, |identity| *identity, |identity| new.push(*identity));
            let is_new = |identity: &Identity| model.insert(*identity);
            let expected: Vec<_> = second.iter().copied().filter(is_new).collect();
            prop_assert_eq!(new, expected);
        }
    }
}
