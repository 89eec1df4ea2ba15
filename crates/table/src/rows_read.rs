//! What was read of a sort's rows, and how many values were of their types.

use crate::value::Pushed;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What was read, by all threads.
#[derive(Debug)]
pub(crate) struct RowsRead {
    /// Rows that were read.
    pub(crate) rows: AtomicU64,
    /// Their bytes, with the line ends that were missing.
    pub(crate) bytes: AtomicU64,
    /// Rows with a value that isn't of its column's type.
    pub(crate) bad_rows: AtomicU64,
    keys: Box<[KeyValues]>,
}

/// How many values of a key are of its type, and how many aren't. Missing ones are neither.
#[derive(Debug, Default)]
struct KeyValues {
    good: AtomicU64,
    bad: AtomicU64,
}

/// The values of some rows, which one thread reads.
pub(crate) struct Values {
    bad_rows: u64,
    is_row_bad: bool,
    /// Of each key: values of its type, and others.
    keys: Vec<(u64, u64)>,
}

impl RowsRead {
    /// Nothing yet, of rows with so many keys.
    pub(crate) fn new(keys: usize) -> RowsRead {
        let zero = || AtomicU64::new(0);
        let keys = (0..keys).map(|_| KeyValues::default()).collect();
        RowsRead { rows: zero(), bytes: zero(), bad_rows: zero(), keys }
    }

    /// Counts the rows of a piece that have their keys. The last one gets `line_end` if it lacks
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

    /// The keys, by their places, of which no value was of the type, and how many there were.
    pub(crate) fn all_bad(&self) -> impl Iterator<Item = (usize, u64)> {
        let values = |key: &KeyValues| (key.good.load(Relaxed), key.bad.load(Relaxed));
        let keys = self.keys.iter().map(values).enumerate();
        keys.filter_map(|(at, (good, bad))| (good == 0 && bad > 0).then_some((at, bad)))
    }
}

impl Values {
    /// None yet, of so many keys.
    pub(crate) fn new(keys: usize) -> Values {
        Values { bad_rows: 0, is_row_bad: false, keys: vec![(0, 0); keys] }
    }

    /// Begins with a row.
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
