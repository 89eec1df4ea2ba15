//! Where rows belong beside row groups in order.
//!
//! ```text
//!  row groups:        |=====|      |===|   |=======|
//!  rows:         . .            .            x         x: this row group can't be copied
//! ```

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A row's key and the number of its row group: rows with equal keys are in the order of these.
pub(crate) type Element<'k> = (&'k [u8], usize);

/// Counts the rows before each of several row groups, and finds row groups that others overlap.
#[derive(Debug)]
pub(crate) struct Places {
    groups: Vec<Placed>,
    /// Bytes of the row groups that no row was found in, and the least number that is enough.
    left_bytes: AtomicU64,
    enough_bytes: u64,
}

/// A row group that is in order.
#[derive(Debug)]
pub(crate) struct Placed {
    /// Its number.
    pub(crate) at: usize,
    first: Box<[u8]>,
    last: Box<[u8]>,
    bytes: u64,
    /// Rows of others that belong between the row group before and this one, or into it.
    rows: AtomicU64,
    is_overlapped: AtomicBool,
}

impl Placed {
    pub(crate) fn new(at: usize, [first, last]: [Box<[u8]>; 2], bytes: u64) -> Placed {
        let (rows, is_overlapped) = (AtomicU64::new(0), AtomicBool::new(false));
        Placed { at, first, last, bytes, rows, is_overlapped }
    }

    /// Returns the rows of others that belong between the row group before and this one, or into
    /// it.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Relaxed)
    }

    pub(crate) fn is_overlapped(&self) -> bool {
        self.is_overlapped.load(Relaxed)
    }
}

impl Places {
    /// Begins with row groups that don't overlap each other. `enough_bytes` of them are worth the
    /// search.
    pub(crate) fn new(mut groups: Vec<Placed>, enough_bytes: u64) -> Places {
        groups.sort_by(|a, b| (&a.first, a.at).cmp(&(&b.first, b.at)));
        let left_bytes = AtomicU64::new(groups.iter().map(|group| group.bytes).sum());
        Places { groups, left_bytes, enough_bytes }
    }

    /// Returns the row groups in their order.
    pub(crate) fn groups(&self) -> &[Placed] {
        &self.groups
    }

    /// Returns whether there are too few row groups left that no row was found in.
    pub(crate) fn are_too_few(&self) -> bool {
        let left = self.left_bytes.load(Relaxed);
        left == 0 || left < self.enough_bytes
    }

    /// Counts rows that are in order, by the first and the last one. Returns whether that was
    /// enough: not if there is a row group between them.
    pub(crate) fn add_all(&self, first: Element<'_>, last: Element<'_>, rows: u64) -> bool {
        let (at, is_inside) = self.find(first);
        let is_enough = !is_inside && self.find(last) == (at, false);
        if let Some(group) = self.groups.get(at)
            && is_enough
        {
            group.rows.fetch_add(rows, Relaxed);
        }
        is_enough
    }

    /// Counts a row.
    pub(crate) fn add(&self, row: Element<'_>) {
        let (at, is_inside) = self.find(row);
        let Some(group) = self.groups.get(at) else { return };
        group.rows.fetch_add(1, Relaxed);
        if is_inside && !group.is_overlapped.swap(true, Relaxed) {
            self.left_bytes.fetch_sub(group.bytes, Relaxed);
        }
    }

    /// Returns the place of the first row group that ends after a row, and whether the row belongs
    /// into it.
    fn find(&self, row: Element<'_>) -> (usize, bool) {
        let at = self.groups.partition_point(|group| (&*group.last, group.at) < row);
        let group = self.groups.get(at);
        (at, group.is_some_and(|group| (&*group.first, group.at) < row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_before_the_row_group_that_they_belong_before() {
        let placed =
            |at: usize, ends: [&str; 2]| Placed::new(at, ends.map(|end| end.as_bytes().into()), 10);
        let places = Places::new(vec![placed(5, ["m", "p"]), placed(3, ["d", "f"])], 10);
        let add = |row: &str, group: usize| places.add((row.as_bytes(), group));
        // An equal key of a later row group comes after a row group, that of an earlier one into
        // it.
        for (row, group) in [("a", 9), ("d", 1), ("f", 4), ("m", 2), ("z", 0)] {
            add(row, group);
        }
        assert!(places.add_all((b"f", 4), (b"g", 4), 7));
        assert!(!places.add_all((b"a", 4), (b"g", 4), 7));
        let found = |at: usize| (places.groups()[at].rows(), places.groups()[at].is_overlapped());
        assert_eq!([found(0), found(1)], [(2, false), (9, false)]);
        add("f", 2);
        assert_eq!(found(0), (3, true));
        assert!(!places.are_too_few());
        add("m", 6);
        assert!(places.are_too_few());
    }
}
