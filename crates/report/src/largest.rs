//! The largest files and directories of a tree, read from a list that may be longer than memory.

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

/// Entries kept.
const ENTRIES_MAX: usize = 500;

/// A file or directory of a tree. The order is that of size; parents come first among equals.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
pub(crate) struct Entry {
    pub(crate) allocated_bytes: u64,
    #[serde(default)]
    pub(crate) apparent_bytes: u64,
    #[serde(default)]
    pub(crate) inodes: u64,
    #[serde(deserialize_with = "reversed")]
    pub(crate) depth: Reverse<usize>,
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) is_directory: bool,
}

fn reversed<'d, D: Deserializer<'d>>(from: D) -> Result<Reverse<usize>, D::Error> {
    usize::deserialize(from).map(Reverse)
}

/// The largest entries, the largest first, and how many there were.
#[derive(Debug, Default)]
pub(crate) struct Largest {
    pub(crate) entries: Vec<Entry>,
    pub(crate) count: u64,
}

impl<'d> Deserialize<'d> for Largest {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Largest, D::Error> {
        from.deserialize_seq(LargestVisitor)
    }
}

struct LargestVisitor;

impl<'d> Visitor<'d> for LargestVisitor {
    type Value = Largest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut list: A) -> Result<Largest, A::Error> {
        let (mut heap, mut count) = (BinaryHeap::new(), 0);
        while let Some(entry) = list.next_element::<Entry>()? {
            count += 1;
            heap.push(Reverse(entry));
            if heap.len() > ENTRIES_MAX {
                heap.pop();
            }
        }
        let entries = heap.into_sorted_vec().into_iter().map(|Reverse(entry)| entry).collect();
        Ok(Largest { entries, count })
    }
}
