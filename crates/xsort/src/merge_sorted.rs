//! Merges sorted iterators lazily, record by record.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fmt;
use std::iter::FusedIterator;

/// Merges iterators of keys and records into one. Each iterator must be sorted by its keys. Keeps
/// one record of each in memory. Records with equal keys come in the order of the iterators.
///
/// If an iterator is not sorted, all records still come, in some order.
///
/// ```
/// let days = [vec![("07:30", "up"), ("22:00", "down")], vec![("07:30", "coffee")]];
/// let merged: Vec<_> = xsort::merge_sorted(days).map(|(_, what)| what).collect();
/// assert_eq!(merged, ["up", "coffee", "down"]);
/// ```
pub fn merge_sorted<I, K, R>(inputs: impl IntoIterator<Item = I>) -> MergeSorted<I::IntoIter, K, R>
where
    I: IntoIterator<Item = (K, R)>,
    K: Ord,
{
    let heads = inputs.into_iter().enumerate().filter_map(|(number, input)| {
        let mut rest = input.into_iter();
        let (key, record) = rest.next()?;
        Some(Head { key, record, number, rest })
    });
    MergeSorted { heads: heads.collect() }
}

/// An iterator over the merged records, returned by [`merge_sorted`].
pub struct MergeSorted<I, K, R> {
    heads: BinaryHeap<Head<I, K, R>>,
}

/// The next record of an iterator.
struct Head<I, K, R> {
    key: K,
    record: R,
    number: usize,
    rest: I,
}

impl<I: Iterator<Item = (K, R)>, K: Ord, R> Iterator for MergeSorted<I, K, R> {
    type Item = (K, R);

    fn next(&mut self) -> Option<(K, R)> {
        let mut first = self.heads.peek_mut()?;
        match first.rest.next() {
            Some((key, record)) => Some((
                std::mem::replace(&mut first.key, key),
                std::mem::replace(&mut first.record, record),
            )),
            None => {
                let Head { key, record, .. } = PeekMut::pop(first);
                Some((key, record))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.heads.iter().fold((0, Some(0)), |(least, most), head| {
            let (low, high) = head.rest.size_hint();
            let most =
                most.zip(high).and_then(|(most, high)| most.checked_add(high)?.checked_add(1));
            (least.saturating_add(low).saturating_add(1), most)
        })
    }
}

impl<I: Iterator<Item = (K, R)>, K: Ord, R> FusedIterator for MergeSorted<I, K, R> {}

impl<I, K, R> fmt::Debug for MergeSorted<I, K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeSorted").field("inputs", &self.heads.len()).finish()
    }
}

impl<I, K: Ord, R> Ord for Head<I, K, R> {
    /// Reversed, because the heap returns the greatest: the smallest key of the earliest iterator.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key).then(other.number.cmp(&self.number))
    }
}

impl<I, K: Ord, R> PartialOrd for Head<I, K, R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<I, K: Ord, R> PartialEq for Head<I, K, R> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<I, K: Ord, R> Eq for Head<I, K, R> {}
