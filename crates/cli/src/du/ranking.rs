//! Rows that are printed in order: all of them, or only the largest.

use super::row::{Row, by_path, by_size};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use xsort_gnu::du::{Command, SortBy};

/// A row in reversed order, so that a heap returns the smallest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reversed(Row);

impl Ord for Reversed {
    fn cmp(&self, other: &Self) -> Ordering {
        by_size(&self.0, &other.0)
    }
}

impl PartialOrd for Reversed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Rows that are sorted once all are known.
#[derive(Debug)]
pub(super) enum Ranking {
    /// `--top`: the number of rows to keep, and the largest rows so far.
    Top(usize, BinaryHeap<Reversed>),
    All(SortBy, Vec<Row>),
}

impl Default for Ranking {
    fn default() -> Ranking {
        Ranking::All(SortBy::Size, Vec::new())
    }
}

impl Ranking {
    /// The ranking that the options choose, if any. A tree needs all rows, because it also shows
    /// how much is left out.
    pub(super) fn of(command: &Command) -> Option<Ranking> {
        match (command.extras.top_lines, command.extras.sort) {
            _ if command.extras.tree => Some(Ranking::default()),
            (Some(top), _) => Some(Ranking::largest(top.get())),
            (None, Some(by)) => Some(Ranking::All(by, Vec::new())),
            (None, None) => None,
        }
    }

    /// The `most` largest rows.
    pub(super) fn largest(most: usize) -> Ranking {
        Ranking::Top(most, BinaryHeap::new())
    }

    /// True if a row with this figure would be kept. Otherwise the caller needn't build its path.
    pub(super) fn has_place_for(&self, figure: u64) -> bool {
        match self {
            Ranking::All(..) => true,
            Ranking::Top(most, heap) => {
                heap.len() < *most
                    || heap.peek().is_none_or(|Reversed(least)| figure >= least.figure)
            }
        }
    }

    pub(super) fn add(&mut self, row: Row) {
        match self {
            Ranking::All(_, rows) => rows.push(row),
            Ranking::Top(most, heap) => {
                heap.push(Reversed(row));
                if heap.len() > *most {
                    heap.pop();
                }
            }
        }
    }

    /// The rows in order.
    pub(super) fn into_sorted(self) -> Vec<Row> {
        match self {
            Ranking::Top(_, heap) => {
                heap.into_sorted_vec().into_iter().map(|Reversed(row)| row).collect()
            }
            Ranking::All(by, mut rows) => {
                match by {
                    SortBy::Size => rows.sort_unstable_by(by_size),
                    SortBy::Name => rows.sort_by(|one, other| by_path(&one.path, &other.path)),
                }
                rows
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xsort_usage::Usage;

    fn row(path: &str, figure: u64) -> Row {
        let usage = Usage::default();
        Row { path: path.into(), depth: 0, is_directory: true, files: 0, usage, figure }
    }

    fn ranked(mut ranking: Ranking, rows: &[(&str, u64)]) -> Vec<String> {
        for &(path, figure) in rows {
            if ranking.has_place_for(figure) {
                ranking.add(row(path, figure));
            }
        }
        let path = |row: Row| String::from_utf8(row.path).unwrap();
        ranking.into_sorted().into_iter().map(path).collect()
    }

    #[test]
    fn the_largest_come_first_and_no_more_than_asked_for() {
        let rows = [("c", 1), ("b", 7), ("a/x", 7), ("a", 9), ("d", 0)];
        assert_eq!(ranked(Ranking::Top(3, BinaryHeap::new()), &rows), ["a", "a/x", "b"]);
        assert_eq!(ranked(Ranking::Top(9, BinaryHeap::new()), &rows), ["a", "a/x", "b", "c", "d"]);
        assert_eq!(
            ranked(Ranking::All(SortBy::Size, Vec::new()), &rows),
            ["a", "a/x", "b", "c", "d"]
        );
    }

    #[test]
    fn what_is_in_a_directory_follows_it() {
        let rows = [("a-b", 1), ("a/z", 1), ("a", 1), ("a b", 1), ("b", 9)];
        let expected = ["a", "a/z", "a b", "a-b", "b"];
        assert_eq!(ranked(Ranking::All(SortBy::Name, Vec::new()), &rows), expected);
    }
}
