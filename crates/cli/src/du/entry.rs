//! What a line tells of, and which of them are the largest.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use xsort_gnu::du::{Command, Measure, SortBy};
use xsort_usage::Usage;

/// Something that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: Vec<u8>,
    pub(super) depth: usize,
    pub(super) is_directory: bool,
    pub(super) usage: Usage,
    /// That of its usage which is asked for.
    pub(super) figure: u64,
}

/// That of a usage which is asked for.
pub(super) fn figure(usage: &Usage, measure: Measure) -> u64 {
    match measure {
        Measure::Allocated => usage.allocated_bytes,
        Measure::Apparent => usage.apparent_bytes,
        Measure::Inodes => usage.inodes,
    }
}

/// The order of paths: by bytes, but a directory is followed by what is in it.
pub(super) fn by_path(one: &[u8], other: &[u8]) -> Ordering {
    let rank = |byte: &u8| if *byte == b'/' { 0 } else { u16::from(*byte) + 1 };
    one.iter().map(rank).cmp(other.iter().map(rank))
}

/// The largest first, and by path where they are equal.
pub(super) fn by_size(one: &Entry, other: &Entry) -> Ordering {
    other.figure.cmp(&one.figure).then_with(|| by_path(&one.path, &other.path))
}

/// Entries of which the smallest is the greatest, for a heap that gives that away.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BySize(Entry);

impl Ord for BySize {
    fn cmp(&self, other: &Self) -> Ordering {
        by_size(&self.0, &other.0)
    }
}

impl PartialOrd for BySize {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Entries that are put in order when all are there.
#[derive(Debug)]
pub(super) enum Ranking {
    /// `--top`: only so many are kept.
    Top(usize, BinaryHeap<BySize>),
    All(SortBy, Vec<Entry>),
}

impl Default for Ranking {
    fn default() -> Ranking {
        Ranking::All(SortBy::Size, Vec::new())
    }
}

impl Ranking {
    /// As the command asks for, if it does. A tree can be drawn only when all of it is known.
    pub(super) fn of(command: &Command) -> Option<Ranking> {
        match (command.extras.top_lines, command.extras.sort) {
            (Some(top), _) => Some(Ranking::Top(top.get(), BinaryHeap::new())),
            (None, Some(by)) => Some(Ranking::All(by, Vec::new())),
            (None, None) if command.extras.tree => Some(Ranking::default()),
            (None, None) => None,
        }
    }

    /// Whether an entry of this figure has a chance: if not, its path needn't be known.
    pub(super) fn wants(&self, figure: u64) -> bool {
        match self {
            Ranking::All(..) => true,
            Ranking::Top(most, heap) => {
                heap.len() < *most || heap.peek().is_none_or(|BySize(least)| figure >= least.figure)
            }
        }
    }

    pub(super) fn add(&mut self, entry: Entry) {
        match self {
            Ranking::All(_, entries) => entries.push(entry),
            Ranking::Top(most, heap) => {
                heap.push(BySize(entry));
                if heap.len() > *most {
                    heap.pop();
                }
            }
        }
    }

    /// All of them in order.
    pub(super) fn into_sorted(self) -> Vec<Entry> {
        match self {
            Ranking::Top(_, heap) => {
                heap.into_sorted_vec().into_iter().map(|BySize(entry)| entry).collect()
            }
            Ranking::All(by, mut entries) => {
                match by {
                    SortBy::Size => entries.sort_unstable_by(by_size),
                    SortBy::Name => entries.sort_by(|one, other| by_path(&one.path, &other.path)),
                }
                entries
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, figure: u64) -> Entry {
        Entry { path: path.into(), depth: 0, is_directory: true, usage: Usage::default(), figure }
    }

    fn ranked(mut ranking: Ranking, entries: &[(&str, u64)]) -> Vec<String> {
        for &(path, figure) in entries {
            if ranking.wants(figure) {
                ranking.add(entry(path, figure));
            }
        }
        let path = |entry: Entry| String::from_utf8(entry.path).unwrap();
        ranking.into_sorted().into_iter().map(path).collect()
    }

    #[test]
    fn the_largest_come_first_and_no_more_than_asked_for() {
        let entries = [("c", 1), ("b", 7), ("a/x", 7), ("a", 9), ("d", 0)];
        assert_eq!(ranked(Ranking::Top(3, BinaryHeap::new()), &entries), ["a", "a/x", "b"]);
        assert_eq!(
            ranked(Ranking::Top(9, BinaryHeap::new()), &entries),
            ["a", "a/x", "b", "c", "d"]
        );
        assert_eq!(
            ranked(Ranking::All(SortBy::Size, Vec::new()), &entries),
            ["a", "a/x", "b", "c", "d"]
        );
    }

    #[test]
    fn what_is_in_a_directory_follows_it() {
        let entries = [("a-b", 1), ("a/z", 1), ("a", 1), ("a b", 1), ("b", 9)];
        let expected = ["a", "a/z", "a b", "a-b", "b"];
        assert_eq!(ranked(Ranking::All(SortBy::Name, Vec::new()), &entries), expected);
    }
}
