//! Keys of rows: bytes that compare as the columns do. Numbers take as few bytes as possible; all
//! other types use arrow-row's keys.
//!
//! ```text
//!  null      02 if nulls come first, fe if last
//!  n >= 0    80 + its bytes, those bytes (most first)
//!  n < 0     7f - the bytes of -n - 1, the lowest bytes of n
//! ```
//!
//! For descending columns all bytes except a null's are inverted. No key of a column is a prefix of
//! another, so the keys of several columns can simply be concatenated.

use crate::by::SortColumn;
use crate::encode::{Sign, sign};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::{ArrowNativeType, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_row::{RowConverter, Rows};
use arrow_schema::{ArrowError, DataType, Schema};
use std::sync::Arc;

/// The first byte of the number 0, which has no other bytes.
const ZERO: u8 = 0x80;

/// Builds keys.
#[derive(Debug)]
pub(crate) struct KeyMaker(Vec<KeyColumn>);

#[derive(Debug)]
struct KeyColumn {
    column: SortColumn,
    /// `None` for numbers.
    converter: Option<RowConverter>,
}

impl KeyMaker {
    pub(crate) fn new(by: &[SortColumn], schema: &Schema) -> Result<KeyMaker, ArrowError> {
        let column = |column: &SortColumn| {
            let sign = sign(column.leaf(schema).data_type());
            let is_number = matches!(sign, Some(Sign::None | Sign::Signed));
            let field = column.field(schema);
            let converter = (!is_number).then(|| RowConverter::new(vec![field])).transpose()?;
            Ok(KeyColumn { column: column.clone(), converter })
        };
        Ok(KeyMaker(by.iter().map(column).collect::<Result<_, ArrowError>>()?))
    }

    /// Returns the keys of all rows of a batch.
    pub(crate) fn keys(&self, batch: &RecordBatch) -> Result<Keys, ArrowError> {
        let parts = self.0.iter().map(|key| key.part(&key.column.values(batch)?));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let mut keys = Keys { bytes: Vec::new(), ends: Vec::with_capacity(batch.num_rows()) };
        for row in 0..batch.num_rows() {
            parts.iter().for_each(|part| part.push(row, &mut keys.bytes));
            keys.ends.push(keys.bytes.len());
        }
        Ok(keys)
    }
}

/// Keys of rows.
#[derive(Debug)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    pub(crate) fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Returns the memory used, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    #[inline]
    pub(crate) fn key(&self, row: usize) -> &[u8] {
        let begin = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[begin..self.ends[row]]
    }
}

/// One column's part of the keys of a batch.
trait Part {
    fn push(&self, row: usize, out: &mut Vec<u8>);
}

impl KeyColumn {
    fn part(&self, column: &ArrayRef) -> Result<Box<dyn Part>, ArrowError> {
        if let Some(converter) = &self.converter {
            return Ok(Box::new(converter.convert_columns(&[comparable(column)?])?));
        }
        let signed = sign(column.data_type()) == Some(Sign::Signed);
        Ok(match (column.data_type().primitive_width(), signed) {
            (Some(1), true) => self.numbers::<i8>(column),
            (Some(2), true) => self.numbers::<i16>(column),
            (Some(4), true) => self.numbers::<i32>(column),
            (Some(8), true) => self.numbers::<i64>(column),
            (Some(1), false) => self.numbers::<u8>(column),
            (Some(2), false) => self.numbers::<u16>(column),
            (Some(4), false) => self.numbers::<u32>(column),
            (Some(8), false) => self.numbers::<u64>(column),
            _ => self.numbers::<i128>(column),
        })
    }

    fn numbers<W: ArrowNativeType + Ordered>(&self, column: &ArrayRef) -> Box<dyn Part> {
        let data = column.to_data();
        Box::new(Numbers::<W> {
            values: ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len()),
            nulls: data.nulls().cloned(),
            null: if self.column.options.nulls_first { 0x02 } else { 0xfe },
            turn: if self.column.options.descending { 0xff } else { 0 },
        })
    }
}

impl Part for Rows {
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.row(row).data());
    }
}

struct Numbers<W: ArrowNativeType> {
    values: ScalarBuffer<W>,
    nulls: Option<NullBuffer>,
    null: u8,
    turn: u8,
}

impl<W: ArrowNativeType + Ordered> Part for Numbers<W> {
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return out.push(self.null);
        }
        self.values[row].push(self.turn, out);
    }
}

/// A number that can be encoded as bytes that compare like it.
trait Ordered: Copy {
    /// Appends the bytes, each XORed with `turn`.
    fn push(self, turn: u8, out: &mut Vec<u8>);
}

macro_rules! ordered {
    ($($word:ty => $wide:ty, $bits:ty;)+) => {$(
        impl Ordered for $word {
            #[inline]
            #[allow(unused_comparisons, reason = "numbers without sign")]
            fn push(self, turn: u8, out: &mut Vec<u8>) {
                const BYTES: usize = size_of::<$bits>();
                let (value, is_negative) = (<$wide>::from(self), self < 0);
                let magnitude = if is_negative { !value } else { value } as $bits;
                let own = BYTES - magnitude.leading_zeros() as usize / 8;
                let mut bytes = [0; BYTES + 1];
                bytes[0] = if is_negative { ZERO - 1 - own as u8 } else { ZERO + own as u8 };
                let unused = 8 * (BYTES - own) as u32;
                let word = (value as $bits).checked_shl(unused).unwrap_or(0);
                bytes[1..].copy_from_slice(&word.to_be_bytes());
                bytes.iter_mut().for_each(|byte| *byte ^= turn);
                let end = out.len() + 1 + own;
                out.extend_from_slice(&bytes);
                out.truncate(end);
            }
        }
    )+};
}
ordered! {
    i8 => i64, u64;
    i16 => i64, u64;
    i32 => i64, u64;
    i64 => i64, u64;
    u8 => u64, u64;
    u16 => u64, u64;
    u32 => u64, u64;
    u64 => u64, u64;
    i128 => i128, u128;
}

/// Returns the column with one zero and one NaN, which comes after infinity, also in the values of
/// dictionaries, runs and nested columns. Other programs order numbers this way, while the total
/// order of IEEE 754 puts NaNs with a sign before all other numbers.
fn comparable(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    fn one<T: ArrowPrimitiveType>(
        column: &ArrayRef,
        is_nan: fn(T::Native) -> bool,
        nan: T::Native,
    ) -> ArrayRef {
        let zero = T::default_value();
        let value = |value| match value {
            value if is_nan(value) => nan,
            // Includes the negative zero.
            value if value == zero => zero,
            value => value,
        };
        Arc::new(column.as_primitive::<T>().unary::<_, T>(value))
    }
    Ok(match column.data_type() {
        DataType::Float16 => {
            type Half = <Float16Type as ArrowPrimitiveType>::Native;
            one::<Float16Type>(column, Half::is_nan, Half::NAN)
        }
        DataType::Float32 => one::<Float32Type>(column, f32::is_nan, f32::NAN),
        DataType::Float64 => one::<Float64Type>(column, f64::is_nan, f64::NAN),
        other if has_floats(other) => {
            let data = column.to_data();
            let child = |child: &ArrayData| comparable(&make_array(child.clone()));
            let children = data.child_data().iter().map(child).collect::<Result<Vec<_>, _>>()?;
            let children = children.iter().map(Array::to_data).collect();
            make_array(data.into_builder().child_data(children).build()?)
        }
        _ => Arc::clone(column),
    })
}

/// Returns whether a type is a float, or contains floats.
fn has_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_floats(values),
        DataType::RunEndEncoded(_, values) => has_floats(values.data_type()),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_floats(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        other => other.is_floating(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_as_their_keys() {
        let near = |bit: u32| [(1_i128 << bit) - 1, 1 << bit, (1 << bit) + 1];
        let mut numbers: Vec<i128> = (0..126).flat_map(near).flat_map(|n| [n, -n]).collect();
        numbers.extend([0, i128::MIN, i128::MAX]);
        numbers.sort_unstable();
        numbers.dedup();
        let key = |number: i128, turn| {
            let mut key = Vec::new();
            number.push(turn, &mut key);
            key
        };
        assert!(numbers.is_sorted_by(|a, b| key(*a, 0) < key(*b, 0)));
        assert!(numbers.is_sorted_by(|a, b| key(*a, 0xff) > key(*b, 0xff)));
        let narrow: Vec<i64> = numbers.iter().filter_map(|&n| i64::try_from(n).ok()).collect();
        for pair in narrow.windows(2) {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            pair[0].push(0, &mut a);
            pair[1].push(0, &mut b);
            assert!(a < b && a == key(pair[0].into(), 0), "{pair:?}");
        }
    }
}
