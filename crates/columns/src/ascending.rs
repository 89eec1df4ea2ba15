//! Whether the rows of a batch are in order, by a look at their values.
//!
//! The keys of rows are bytes that cost many times as much to build as to compare. Values of simple
//! types are compared as they are.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, SortOptions};
use std::cmp::Ordering;

/// Returns whether rows are in the order of `keys`. `None` if a column has nulls, or isn't of a
/// simple type.
pub(crate) fn are_in_order(keys: &[(ArrayRef, SortOptions)]) -> Option<bool> {
    // Rows that are equal to the next one in the columns so far. `None` stands for all.
    let mut ties: Option<Vec<u32>> = None;
    let mut is_in_order = true;
    for (at, (values, options)) in keys.iter().enumerate() {
        if values.null_count() > 0 {
            return None;
        }
        let is_last = at + 1 == keys.len();
        let mut column = Column { ties: &mut ties, options: *options, is_last };
        is_in_order &= match values.data_type() {
            DataType::Int32 => column.pass(values.as_primitive::<Int32Type>().values()),
            DataType::Int64 => column.pass(values.as_primitive::<Int64Type>().values()),
            DataType::UInt32 => column.pass(values.as_primitive::<UInt32Type>().values()),
            DataType::UInt64 => column.pass(values.as_primitive::<UInt64Type>().values()),
            DataType::Binary => {
                let values = values.as_binary::<i32>();
                column.compare(values.len(), |row| values.value(row).cmp(values.value(row + 1)))
            }
            _ => return None,
        };
        if !is_in_order {
            return Some(false);
        }
    }
    Some(true)
}

/// A column of the keys.
struct Column<'t> {
    ties: &'t mut Option<Vec<u32>>,
    options: SortOptions,
    is_last: bool,
}

impl Column<'_> {
    fn pass<T: Ord>(&mut self, values: &[T]) -> bool {
        if self.ties.is_none() && self.is_last {
            return match self.options.descending {
                true => values.windows(2).all(|pair| pair[0] >= pair[1]),
                false => values.windows(2).all(|pair| pair[0] <= pair[1]),
            };
        }
        self.compare(values.len(), |row| values[row].cmp(&values[row + 1]))
    }

    /// Returns whether all rows are in order that were equal so far. `order` compares a row with
    /// the next one.
    fn compare(&mut self, rows: usize, order: impl Fn(usize) -> Ordering) -> bool {
        let disorder = match self.options.descending {
            true => Ordering::Less,
            false => Ordering::Greater,
        };
        let mut ties = Vec::new();
        let mut visit = |row: usize| {
            let found = order(row);
            if found == Ordering::Equal && !self.is_last {
                ties.push(row as u32);
            }
            found != disorder
        };
        let is_in_order = match &*self.ties {
            None => (0..rows.saturating_sub(1)).all(visit),
            Some(rows) => rows.iter().all(|&row| visit(row as usize)),
        };
        *self.ties = Some(ties);
        is_in_order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BinaryArray, Int64Array, UInt32Array};
    use std::sync::Arc;
    use xsort_testing::{Random, for_each_seed};

    #[test]
    fn rows_are_compared_by_all_columns() {
        for_each_seed("rows in order", 500, |seed| {
            let random = &mut Random::new(seed);
            let descending = [0; 3].map(|_| random.one_in(2));
            let mut rows: Vec<(i64, Vec<u8>, u32)> = (0..random.below(12))
                .map(|_| {
                    let text = vec![b'a'; random.below(3)];
                    (random.below(3) as i64 - 1, text, random.below(3) as u32)
                })
                .collect();
            let directed = |at: usize, order: Ordering| match descending[at] {
                true => order.reverse(),
                false => order,
            };
            let compare = |a: &(i64, Vec<u8>, u32), b: &(i64, Vec<u8>, u32)| {
                let first = directed(0, a.0.cmp(&b.0)).then(directed(1, a.1.cmp(&b.1)));
                first.then(directed(2, a.2.cmp(&b.2)))
            };
            if !random.one_in(3) {
                rows.sort_by(compare);
            }
            if random.one_in(2) && rows.len() > 1 {
                let at = random.below(rows.len() - 1);
                rows.swap(at, at + 1);
            }
            let columns: [ArrayRef; 3] = [
                Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
                Arc::new(BinaryArray::from_iter_values(rows.iter().map(|row| &row.1))),
                Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.2))),
            ];
            let options =
                descending.map(|descending| SortOptions { descending, nulls_first: true });
            let keys: Vec<_> = columns.into_iter().zip(options).collect();
            let expected = rows.windows(2).all(|pair| compare(&pair[0], &pair[1]).is_le());
            match are_in_order(&keys) == Some(expected) {
                true => Ok(()),
                false => Err(format!("{rows:?} {descending:?}")),
            }
        });
        let nulls: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        assert_eq!(are_in_order(&[(nulls, SortOptions::default())]), None);
    }
}
