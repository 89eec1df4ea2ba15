//! Counts of a sort's rows, and of values that are of their types.

use crate::value::Pushed;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of the rows read by all threads.
#[derive(Debug)]
pub(crate) struct RowsRead {
    /// Rows that were read.
    pub(crate) rows: AtomicU64,
    /// Bytes of the rows, with the line ends that were missing.
    pub(crate) bytes: AtomicU64,
    /// Rows with a value that isn't of its column's type.
    pub(crate) bad_rows: AtomicU64,
    keys: Box<[KeyValues]>,
}

/// Number of a key's values that are of its type, and of those that aren't. Missing values are in
/// neither.
#[derive(Debug, Default)]
struct KeyValues {
    good: AtomicU64,
    bad: AtomicU64,
}

/// Counts of the values of some rows, for one thread.
pub(crate) struct Values {
    bad_rows: u64,
    is_row_bad: bool,
    /// For each key: the number of values of its type, and of others.
    keys: Vec<(u64, u64)>,
}

impl RowsRead {
    /// Zero counts, for rows with `keys` keys.
    pub(crate) fn new(keys: usize) -> RowsRead {
        let zero = || AtomicU64::new(0);
        let keys = (0..keys).map(|_| KeyValues::default()).collect();
        RowsRead { rows: zero(), bytes: zero(), bad_rows: zero(), keys }
    }

    /// Sets all counts to zero.
    pub(crate) fn forget(&self) {
        let keys = self.keys.iter().flat_map(|key| [&key.good, &key.bad]);
        let all = [&self.rows, &self.bytes, &self.bad_rows].into_iter().chain(keys);
        all.for_each(|count| count.store(0, Relaxed));
    }

    /// Adds the rows of a piece that have their keys. The last row counts `line_end` if it lacks
    /// its own.
    pub(crate) fn add(&self, rows: u64, bytes: &[u8], line_end: &str, values: &Values) {
        let missing = if bytes.ends_with(b"\n") { 0 } else { line_end.len() };
        self.rows.fetch_add(rows, Relaxed);
        self.bytes.fetch_add((bytes.len() + missing) as u64, Relaxed);
        self.bad_rows.fetch_add(values.bad_rows, Relaxed);
        for (key, (good, bad)) in self.keys.iter().zip(&values.keys) {
            key.good.fetch_add(*good, Relaxed);
            key.bad.fetch_add(*bad, Relaxed);
        }
    }

    /// Returns the keys that have no value of their type: their index, and their number of other
    /// values.
    pub(crate) fn all_bad(&self) -> impl Iterator<Item = (usize, u64)> {
        let values = |key: &KeyValues| (key.good.load(Relaxed), key.bad.load(Relaxed));
        let keys = self.keys.iter().map(values).enumerate();
        keys.filter_map(|(at, (good, bad))| (good == 0 && bad > 0).then_some((at, bad)))
    }
}

impl Values {
    /// Zero counts, for rows with `keys` keys.
    pub(crate) fn new(keys: usize) -> Values {
        Values { bad_rows: 0, is_row_bad: false, keys: vec![(0, 0); keys] }
    }

    /// Begins a row.
    pub(crate) fn begin_row(&mut self) {
        self.is_row_bad = false;
    }

    /// Counts the row's value of a key.
    pub(crate) fn count(&mut self, key: usize, value: Pushed) {
        let (good, bad) = &mut self.keys[key];
        match value {
            Pushed::Value => *good += 1,
            Pushed::Nothing => {}
            Pushed::Bad => {
                *bad += 1;
                self.bad_rows += u64::from(!self.is_row_bad);
                self.is_row_bad = true;
            }
        }
    }
}
