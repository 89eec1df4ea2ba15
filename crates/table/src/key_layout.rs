//! Which values form the keys of a row: columns, and curves through several of them.

use crate::bad_row::BadRow;
use crate::key::{Column, KeyColumn, Keys};
use crate::{CurveShape, Ranks};
use std::ops::Range;
use xsort_extsort::keyed::KeyWriter;

/// The keys of rows, whose columns are numbered as in [`Keys::columns`].
#[derive(Debug)]
pub(crate) struct KeyLayout(Vec<KeyPart>);

#[derive(Debug)]
enum KeyPart {
    /// The value of a column.
    Column(usize),
    /// The place on a curve.
    Curve {
        shape: CurveShape,
        is_descending: bool,
        columns: Range<usize>,
        /// The ranks of the values of each column.
        ranks: Vec<Ranks>,
    },
}

impl KeyLayout {
    /// The layout of these keys. Those of a curve are ranks among a sample: `keys_of` returns the
    /// keys of a column in a sample.
    pub(crate) fn new(keys: &Keys, mut keys_of: impl FnMut(usize) -> Vec<Vec<u8>>) -> KeyLayout {
        let mut next = 0;
        let part = |key: &KeyColumn| {
            let begin = next;
            let Column::Curve(curve) = &key.column else {
                next += 1;
                return KeyPart::Column(begin);
            };
            next += curve.columns.len();
            let ranks = (begin..next).map(|column| Ranks::of(keys_of(column))).collect();
            let (shape, is_descending) = (curve.shape, key.is_descending);
            KeyPart::Curve { shape, is_descending, columns: begin..next, ranks }
        };
        KeyLayout(keys.0.iter().map(part).collect())
    }

    /// Appends the keys of a row. `push_column` appends the key of a column's value to memory, for
    /// which `work` is used, too.
    pub(crate) fn push(
        &self,
        keyed: &mut Vec<u8>,
        work: &mut Vec<u8>,
        mut push_column: impl FnMut(usize, &mut Vec<u8>) -> Result<(), BadRow>,
    ) -> Result<(), BadRow> {
        for part in &self.0 {
            match part {
                &KeyPart::Column(column) => push_column(column, keyed)?,
                KeyPart::Curve { shape, is_descending, columns, ranks } => {
                    let mut found = [0; 8];
                    for ((column, ranks), rank) in columns.clone().zip(ranks).zip(&mut found) {
                        work.clear();
                        push_column(column, work)?;
                        *rank = ranks.rank(work);
                    }
                    let place = shape.place(&mut found[..ranks.len()]).to_be_bytes();
                    let mut writer = KeyWriter { out: keyed, is_descending: *is_descending };
                    writer.fixed(&place[place.len() - 2 * ranks.len()..]);
                }
            }
        }
        Ok(())
    }
}

/// The keys of a sample's rows, for each column.
pub(crate) struct SampleKeys(Vec<Vec<Vec<u8>>>);

impl SampleKeys {
    pub(crate) fn of(keys: &Keys) -> SampleKeys {
        SampleKeys(vec![Vec::new(); keys.columns().count()])
    }

    /// Adds a row. `push_column` appends the key of a column's value. A row of which one isn't of
    /// its type is left out.
    pub(crate) fn add(
        &mut self,
        mut push_column: impl FnMut(usize, &mut Vec<u8>) -> Result<(), BadRow>,
    ) {
        let mut key = |column| {
            let mut key = Vec::new();
            push_column(column, &mut key).map(|()| key)
        };
        let row: Result<Vec<Vec<u8>>, BadRow> = (0..self.0.len()).map(&mut key).collect();
        for (keys, key) in self.0.iter_mut().zip(row.into_iter().flatten()) {
            keys.push(key);
        }
    }

    /// The layout of the keys whose curves have these ranks.
    pub(crate) fn layout(mut self, keys: &Keys) -> KeyLayout {
        KeyLayout::new(keys, |column| std::mem::take(&mut self.0[column]))
    }
}
