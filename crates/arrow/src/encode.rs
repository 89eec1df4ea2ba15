//! Encodes columns as the bytes of rows: each column's value is appended to the previous one.
//! Values of dictionaries and runs are stored in every row, so a row needs no other data.

use crate::value::{
    EMPTY, NULL, push_bytes, push_framed, push_large_number, push_length, push_number,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryType, BinaryViewType, ByteArrayType, ByteViewType, Int16Type, Int32Type, Int64Type,
    LargeBinaryType, LargeUtf8Type, RunEndIndexType, StringViewType, Utf8Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, GenericByteArray, GenericByteViewArray,
    RunArray, StructArray, UnionArray,
};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, IntervalUnit, UnionMode};

/// Appends the values of a column.
pub(crate) trait Encode {
    /// Appends the value of row `row` to `out`.
    fn push(&self, row: usize, out: &mut Vec<u8>);
}

/// Returns an encoder for an array.
pub(crate) fn encoder(array: &ArrayRef) -> Result<Box<dyn Encode>, ArrowError> {
    use DataType as T;
    let data_type = array.data_type();
    if let Some(sign) = sign(data_type) {
        return Ok(numbers(array, data_type.primitive_width().unwrap_or(0), sign));
    }
    Ok(match data_type {
        T::Null => Box::new(Nothing),
        T::Boolean => Box::new(array.as_boolean().clone()),
        T::Utf8 => Box::new(array.as_bytes::<Utf8Type>().clone()),
        T::LargeUtf8 => Box::new(array.as_bytes::<LargeUtf8Type>().clone()),
        T::Binary => Box::new(array.as_bytes::<BinaryType>().clone()),
        T::LargeBinary => Box::new(array.as_bytes::<LargeBinaryType>().clone()),
        T::Utf8View => Box::new(array.as_byte_view::<StringViewType>().clone()),
        T::BinaryView => Box::new(array.as_byte_view::<BinaryViewType>().clone()),
        T::List(_) => {
            lists(array, array.as_list::<i32>().offsets(), array.as_list::<i32>().values())?
        }
        T::LargeList(_) => {
            lists(array, array.as_list::<i64>().offsets(), array.as_list::<i64>().values())?
        }
        T::Map(..) => {
            let map = array.as_map();
            lists(array, map.offsets(), &(std::sync::Arc::new(map.entries().clone()) as ArrayRef))?
        }
        T::ListView(_) => {
            let list = array.as_list_view::<i32>();
            list_views(array, list.offsets(), list.sizes(), list.values())?
        }
        T::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            list_views(array, list.offsets(), list.sizes(), list.values())?
        }
        T::FixedSizeList(..) => Box::new(fixed_lists(array.as_fixed_size_list())?),
        T::Struct(_) => Box::new(structs(array.as_struct())?),
        T::Union(_, mode) => Box::new(unions(array.as_union(), *mode)?),
        T::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let keys = match dictionary.values().len() {
                0 => vec![0; array.len()],
                _ => dictionary.normalized_keys(),
            };
            Box::new(Dictionary {
                nulls: array.nulls().cloned(),
                keys,
                values: encoder(dictionary.values())?,
            })
        }
        T::RunEndEncoded(ends, _) => match ends.data_type() {
            T::Int16 => runs(array.as_run::<Int16Type>())?,
            T::Int32 => runs(array.as_run::<Int32Type>())?,
            _ => runs(array.as_run::<Int64Type>())?,
        },
        // The remaining types have a fixed width.
        _ => Box::new(fixed(&array.to_data())),
    })
}

/// How a number's bits are transformed, so that it takes few bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sign {
    None,
    /// Zigzag.
    Signed,
    /// Bytes swapped, because the last bytes of floating-point numbers are often zeros.
    Float,
}

/// Returns the transformation of a type of numbers of up to 16 bytes; `None` for other types.
pub(crate) fn sign(data_type: &DataType) -> Option<Sign> {
    use DataType as T;
    match data_type {
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => Some(Sign::None),
        T::Float16 | T::Float32 | T::Float64 => Some(Sign::Float),
        T::Int8
        | T::Int16
        | T::Int32
        | T::Int64
        | T::Date32
        | T::Date64
        | T::Time32(_)
        | T::Time64(_)
        | T::Timestamp(..)
        | T::Duration(_)
        | T::Decimal32(..)
        | T::Decimal64(..)
        | T::Decimal128(..)
        | T::Interval(IntervalUnit::YearMonth) => Some(Sign::Signed),
        _ => None,
    }
}

#[inline]
fn is_null(nulls: Option<&NullBuffer>, row: usize) -> bool {
    nulls.is_some_and(|nulls| nulls.is_null(row))
}

struct Nothing;

impl Encode for Nothing {
    fn push(&self, _: usize, _: &mut Vec<u8>) {}
}

/// A machine word that holds a number.
pub(crate) trait Word: ArrowNativeType {
    /// Appends the number, transformed by `sign`.
    fn push(self, sign: Sign, out: &mut Vec<u8>);
    /// Reads a number that `push` appended, and whether it is valid. A null is read as zero.
    fn read(sign: Sign, bytes: &[u8], at: &mut usize) -> (Self, bool);
}

macro_rules! words {
    ($($word:ty, $signed:ty, $wide:ty, $push:ident, $read:path;)+) => {$(
        impl Word for $word {
            #[inline]
            fn push(self, sign: Sign, out: &mut Vec<u8>) {
                let number = match sign {
                    Sign::None => self as $word,
                    Sign::Signed => {
                        ((self << 1) ^ (self >> (<$word>::BITS - 1))) as $word
                    }
                    Sign::Float => self.swap_bytes(),
                };
                $push(out, <$wide>::from(number as $signed));
            }

            #[inline]
            fn read(sign: Sign, bytes: &[u8], at: &mut usize) -> ($word, bool) {
                let Some(number) = $read(bytes, at) else {
                    *at += 1;
                    return (0, false);
                };
                let number = number as $signed;
                let value = match sign {
                    Sign::None => number as $word,
                    Sign::Signed => (number >> 1) as $word ^ -((number & 1) as $word),
                    Sign::Float => (number as $word).swap_bytes(),
                };
                (value, true)
            }
        }
    )+};
}
words! {
    i8, u8, u64, push_number, crate::value::number;
    i16, u16, u64, push_number, crate::value::number;
    i32, u32, u64, push_number, crate::value::number;
    i64, u64, u64, push_number, crate::value::number;
    i128, u128, u128, push_large_number, crate::value::large_number;
}

struct Numbers<W: ArrowNativeType> {
    values: ScalarBuffer<W>,
    nulls: Option<NullBuffer>,
    sign: Sign,
}

fn numbers(array: &ArrayRef, width: usize, sign: Sign) -> Box<dyn Encode> {
    let data = array.to_data();
    match width {
        1 => Box::new(Numbers::<i8>::new(&data, sign)),
        2 => Box::new(Numbers::<i16>::new(&data, sign)),
        4 => Box::new(Numbers::<i32>::new(&data, sign)),
        8 => Box::new(Numbers::<i64>::new(&data, sign)),
        _ => Box::new(Numbers::<i128>::new(&data, sign)),
    }
}

impl<W: ArrowNativeType> Numbers<W> {
    fn new(data: &ArrayData, sign: Sign) -> Numbers<W> {
        let values = ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len());
        Numbers { values, nulls: data.nulls().cloned(), sign }
    }
}

impl<W: Word> Encode for Numbers<W> {
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        if is_null(self.nulls.as_ref(), row) {
            return out.push(NULL);
        }
        self.values[row].push(self.sign, out);
    }
}

impl Encode for BooleanArray {
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        let byte = if self.is_null(row) { NULL } else { EMPTY + u8::from(self.value(row)) };
        out.push(byte);
    }
}

impl<T: ByteArrayType> Encode for GenericByteArray<T> {
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return out.push(NULL);
        }
        let begin = self.value_offsets()[row].as_usize();
        let length = self.value_offsets()[row + 1].as_usize() - begin;
        push_length(out, length);
        push_bytes(out, &self.value_data()[begin..], length);
    }
}

impl<T: ByteViewType> Encode for GenericByteViewArray<T> {
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return out.push(NULL);
        }
        let value: &[u8] = self.value(row).as_ref();
        push_length(out, value.len());
        out.extend_from_slice(value);
    }
}

/// Returns a value of up to `N` bytes as a number's bytes, the most significant one first. It is a
/// small number if its first bytes are only its sign, as those of most decimal numbers are.
fn extended<const N: usize>(value: &[u8]) -> [u8; N] {
    let is_negative = value.first().is_some_and(|first| *first >= 0x80);
    let mut word = [if is_negative { 0xff } else { 0 }; N];
    word[N - value.len()..].copy_from_slice(value);
    word
}

/// Values of any type with a fixed width.
struct Fixed {
    values: Buffer,
    width: usize,
    nulls: Option<NullBuffer>,
}

fn fixed(data: &ArrayData) -> Fixed {
    let width = fixed_width(data.data_type());
    let values = data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width);
    Fixed { values, width, nulls: data.nulls().cloned() }
}

/// Returns the number of bytes of a value of a fixed-width type.
pub(crate) fn fixed_width(data_type: &DataType) -> usize {
    match data_type {
        DataType::FixedSizeBinary(width) => *width as usize,
        data_type => data_type.primitive_width().unwrap_or(0),
    }
}

impl Encode for Fixed {
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        if is_null(self.nulls.as_ref(), row) {
            return out.push(NULL);
        }
        let value = &self.values[row * self.width..(row + 1) * self.width];
        match self.width {
            0..=8 => i64::from_be_bytes(extended(value)).push(Sign::Signed, out),
            9..=16 => i128::from_be_bytes(extended(value)).push(Sign::Signed, out),
            _ => {
                out.push(EMPTY);
                out.extend_from_slice(value);
            }
        }
    }
}

/// Lists of any kind: where each begins, and its number of values.
struct Lists {
    places: Vec<(usize, usize)>,
    nulls: Option<NullBuffer>,
    values: Box<dyn Encode>,
}

fn lists<O: ArrowNativeType>(
    array: &ArrayRef,
    offsets: &[O],
    values: &ArrayRef,
) -> Result<Box<dyn Encode>, ArrowError> {
    let places = offsets.windows(2).map(|pair| {
        let begin = pair[0].as_usize();
        (begin, pair[1].as_usize() - begin)
    });
    let (places, nulls) = (places.collect(), array.nulls().cloned());
    Ok(Box::new(Lists { places, nulls, values: encoder(values)? }))
}

fn list_views<O: ArrowNativeType>(
    array: &ArrayRef,
    offsets: &[O],
    sizes: &[O],
    values: &ArrayRef,
) -> Result<Box<dyn Encode>, ArrowError> {
    let places =
        offsets.iter().zip(sizes).map(|(offset, size)| (offset.as_usize(), size.as_usize()));
    let (places, nulls) = (places.collect(), array.nulls().cloned());
    Ok(Box::new(Lists { places, nulls, values: encoder(values)? }))
}

impl Encode for Lists {
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        if is_null(self.nulls.as_ref(), row) {
            return out.push(NULL);
        }
        let (begin, length) = self.places[row];
        push_length(out, length);
        (begin..begin + length).for_each(|at| self.values.push(at, out));
    }
}

/// Structs and fixed-size lists. A null has values, too.
struct Fields {
    columns: Vec<Box<dyn Encode>>,
    /// Number of values of each column in a row.
    times: usize,
    nulls: Option<NullBuffer>,
}

fn fixed_lists(array: &FixedSizeListArray) -> Result<Fields, ArrowError> {
    let columns = vec![encoder(array.values())?];
    let times = array.value_length() as usize;
    Ok(Fields { columns, times, nulls: array.nulls().cloned() })
}

fn structs(array: &StructArray) -> Result<Fields, ArrowError> {
    let columns = array.columns().iter().map(encoder).collect::<Result<_, _>>()?;
    Ok(Fields { columns, times: 1, nulls: array.nulls().cloned() })
}

impl Encode for Fields {
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        out.push(if is_null(self.nulls.as_ref(), row) { NULL } else { EMPTY });
        for column in &self.columns {
            (row * self.times..(row + 1) * self.times).for_each(|at| column.push(at, out));
        }
    }
}

/// Sparse unions have a value in each column, dense ones in one column.
struct Unions {
    array: UnionArray,
    columns: Vec<(i8, Box<dyn Encode>)>,
    mode: UnionMode,
}

fn unions(array: &UnionArray, mode: UnionMode) -> Result<Unions, ArrowError> {
    let columns = array.fields().iter().map(|(id, _)| Ok((id, encoder(array.child(id))?)));
    let columns = columns.collect::<Result<_, ArrowError>>()?;
    Ok(Unions { array: array.clone(), columns, mode })
}

impl Encode for Unions {
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        let own = self.array.type_id(row);
        out.push(own as u8);
        for (id, column) in &self.columns {
            if self.mode == UnionMode::Sparse || *id == own {
                column.push(self.array.value_offset(row), out);
            }
        }
    }
}

struct Dictionary {
    keys: Vec<usize>,
    nulls: Option<NullBuffer>,
    values: Box<dyn Encode>,
}

impl Encode for Dictionary {
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        if is_null(self.nulls.as_ref(), row) {
            return out.push(NULL);
        }
        push_framed(out, |out| self.values.push(self.keys[row], out));
    }
}

struct Runs<R: RunEndIndexType> {
    array: RunArray<R>,
    values: Box<dyn Encode>,
}

fn runs<R: RunEndIndexType>(array: &RunArray<R>) -> Result<Box<dyn Encode>, ArrowError> {
    Ok(Box::new(Runs { array: array.clone(), values: encoder(array.values())? }))
}

impl<R: RunEndIndexType> Encode for Runs<R> {
    fn push(&self, row: usize, out: &mut Vec<u8>) {
        push_framed(out, |out| self.values.push(self.array.get_physical_index(row), out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::decoder;
    use crate::value::PADDING;
    use arrow_array::FixedSizeBinaryArray;
    use std::sync::Arc;

    #[test]
    fn values_of_a_fixed_width_come_back() {
        for width in 1..=17_usize {
            for first in [0, 1, 0x7f, 0x80, 0xff] {
                for rest in [0, 0x80, 0xff, 0x5a] {
                    let value: Vec<u8> =
                        (0..width).map(|at| if at == 0 { first } else { rest }).collect();
                    let values = std::iter::once(value);
                    let array = FixedSizeBinaryArray::try_from_iter(values).unwrap();
                    let array: ArrayRef = Arc::new(array);
                    let mut row = Vec::new();
                    encoder(&array).unwrap().push(0, &mut row);
                    row.extend([0; PADDING]);
                    let mut decoder = decoder(array.data_type(), 1);
                    let mut at = 0;
                    decoder.read(&row, &mut at);
                    assert_eq!(at, row.len() - PADDING);
                    assert_eq!(&decoder.finish().unwrap(), &array);
                }
            }
        }
    }

    #[test]
    fn small_numbers_of_either_sign_are_short() {
        assert_eq!(i64::from_be_bytes(extended(&[0, 0, 0, 5])), 5);
        assert_eq!(i128::from_be_bytes(extended(&[0xff, 0xff, 0xfe])), -2);
    }
}
