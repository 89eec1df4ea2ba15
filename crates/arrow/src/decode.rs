//! Decodes the bytes of rows to columns. One column follows the other: each starts in every row
//! where the previous one ended.

use crate::encode::{Sign, Word, fixed_width, sign};
use crate::value::{self, EMPTY, NULL};
use arrow_array::types::{
    ArrowDictionaryKeyType, BinaryType, ByteArrayType, Int16Type, Int32Type, Int64Type,
    LargeBinaryType, LargeUtf8Type, RunEndIndexType, Utf8Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, DictionaryArray, GenericByteArray, NullArray,
    PrimitiveArray, RunArray, StringViewArray, downcast_integer, make_array,
};
use arrow_buffer::{
    ArrowNativeType, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, UnionMode};
use std::collections::HashMap;
use std::sync::Arc;

/// Builds a column.
pub(crate) trait Decode {
    /// Reads the value at offset `at`, and advances `at` to the end of the value.
    fn read(&mut self, bytes: &[u8], at: &mut usize);

    /// Reads the values at all offsets in `places`, and advances each to the end of its value.
    fn read_all(&mut self, bytes: &[u8], places: &mut [usize]) {
        places.iter_mut().for_each(|at| self.read(bytes, at));
    }

    /// Returns the column. Fails if its type can't hold that number of distinct values.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError>;
}

/// Returns a decoder for columns of a type.
pub(crate) fn decoder(data_type: &DataType, rows: usize) -> Box<dyn Decode> {
    use DataType as T;
    if let Some(sign) = sign(data_type) {
        return match data_type.primitive_width() {
            Some(1) => Numbers::<i8>::boxed(data_type, sign, rows),
            Some(2) => Numbers::<i16>::boxed(data_type, sign, rows),
            Some(4) => Numbers::<i32>::boxed(data_type, sign, rows),
            Some(8) => Numbers::<i64>::boxed(data_type, sign, rows),
            _ => Numbers::<i128>::boxed(data_type, sign, rows),
        };
    }
    match data_type {
        T::Null => Box::new(Nothing(0)),
        T::Boolean => Box::new(Booleans(BooleanBufferBuilder::new(rows), Nulls::default())),
        T::Utf8 => Texts::<Utf8Type>::boxed(rows, |array| Arc::new(array)),
        T::LargeUtf8 => Texts::<LargeUtf8Type>::boxed(rows, |array| Arc::new(array)),
        T::Binary => Texts::<BinaryType>::boxed(rows, |array| Arc::new(array)),
        T::LargeBinary => Texts::<LargeBinaryType>::boxed(rows, |array| Arc::new(array)),
        T::Utf8View => {
            Texts::<Utf8Type>::boxed(rows, |array| Arc::new(StringViewArray::from(&array)))
        }
        T::BinaryView => {
            Texts::<BinaryType>::boxed(rows, |array| Arc::new(BinaryViewArray::from(&array)))
        }
        T::List(field) | T::Map(field, _) | T::ListView(field) => {
            Lists::<i32>::boxed(data_type, field.data_type())
        }
        T::LargeList(field) | T::LargeListView(field) => {
            Lists::<i64>::boxed(data_type, field.data_type())
        }
        T::FixedSizeList(field, times) => {
            let columns = vec![decoder(field.data_type(), rows * *times as usize)];
            Fields::boxed(data_type, columns, *times as usize)
        }
        T::Struct(fields) => {
            let columns = fields.iter().map(|field| decoder(field.data_type(), rows)).collect();
            Fields::boxed(data_type, columns, 1)
        }
        T::Union(fields, mode) => {
            let columns = fields.iter().map(|(id, field)| (id, decoder(field.data_type(), 0), 0));
            let columns = columns.collect();
            let (ids, offsets) = (Vec::with_capacity(rows), Vec::new());
            Box::new(Unions { data_type: data_type.clone(), mode: *mode, columns, ids, offsets })
        }
        T::Dictionary(_, values) => Box::new(Dictionary {
            data_type: data_type.clone(),
            distinct: Distinct::new(values),
            keys: Vec::with_capacity(rows),
            nulls: Nulls::default(),
        }),
        T::RunEndEncoded(ends, values) => Box::new(Runs {
            data_type: data_type.clone(),
            ends_type: ends.data_type().clone(),
            values: decoder(values.data_type(), 0),
            last: Vec::new(),
            ends: Vec::new(),
            rows: 0,
        }),
        _ => {
            let width = fixed_width(data_type);
            let bytes = Vec::with_capacity(width * rows);
            Box::new(Fixed { data_type: data_type.clone(), width, bytes, nulls: Nulls::default() })
        }
    }
}

/// The validity of each value; `None` while all are valid.
#[derive(Default)]
struct Nulls {
    valid: Option<BooleanBufferBuilder>,
    rows: usize,
}

impl Nulls {
    #[inline]
    fn push(&mut self, is_valid: bool) {
        if let Some(valid) = &mut self.valid {
            valid.append(is_valid);
        } else if !is_valid {
            self.first_null();
        }
        self.rows += 1;
    }

    #[cold]
    fn first_null(&mut self) {
        let mut valid = BooleanBufferBuilder::new(self.rows + 1);
        valid.append_n(self.rows, true);
        valid.append(false);
        self.valid = Some(valid);
    }

    fn finish(&mut self) -> Option<NullBuffer> {
        self.valid.take().map(|mut valid| NullBuffer::new(valid.finish()))
    }
}

struct Nothing(usize);

impl Decode for Nothing {
    fn read(&mut self, _: &[u8], _: &mut usize) {
        self.0 += 1;
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(NullArray::new(self.0)))
    }
}

struct Numbers<W> {
    data_type: DataType,
    sign: Sign,
    values: Vec<W>,
    nulls: Nulls,
}

impl<W: Word> Numbers<W> {
    fn boxed(data_type: &DataType, sign: Sign, rows: usize) -> Box<dyn Decode> {
        let (data_type, values) = (data_type.clone(), Vec::with_capacity(rows));
        Box::new(Numbers::<W> { data_type, sign, values, nulls: Nulls::default() })
    }
}

impl<W: Word> Decode for Numbers<W> {
    #[inline]
    fn read(&mut self, bytes: &[u8], at: &mut usize) {
        let (value, is_valid) = W::read(self.sign, bytes, at);
        self.values.push(value);
        self.nulls.push(is_valid);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let values = std::mem::take(&mut self.values);
        let rows = values.len();
        fixed_width_array(&self.data_type, rows, Buffer::from_vec(values), self.nulls.finish())
    }
}

fn fixed_width_array(
    data_type: &DataType,
    rows: usize,
    values: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let data = ArrayData::builder(data_type.clone()).len(rows).add_buffer(values).nulls(nulls);
    Ok(make_array(data.align_buffers(true).build()?))
}

struct Booleans(BooleanBufferBuilder, Nulls);

impl Decode for Booleans {
    fn read(&mut self, bytes: &[u8], at: &mut usize) {
        let byte = bytes[*at];
        *at += 1;
        self.0.append(byte > EMPTY);
        self.1.push(byte != NULL);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(BooleanArray::new(self.0.finish(), self.1.finish())))
    }
}

struct Texts<T: ByteArrayType> {
    bytes: Vec<u8>,
    ends: Vec<T::Offset>,
    nulls: Nulls,
    as_array: fn(GenericByteArray<T>) -> ArrayRef,
}

impl<T: ByteArrayType> Texts<T> {
    fn boxed(rows: usize, as_array: fn(GenericByteArray<T>) -> ArrayRef) -> Box<dyn Decode> {
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(T::Offset::usize_as(0));
        Box::new(Texts::<T> { bytes: Vec::new(), ends, nulls: Nulls::default(), as_array })
    }
}

impl<T: ByteArrayType> Decode for Texts<T> {
    #[inline]
    fn read(&mut self, bytes: &[u8], at: &mut usize) {
        let length = value::length(bytes, at);
        if let Some(length) = length {
            value::push_bytes(&mut self.bytes, &bytes[*at..], length);
            *at += length;
        }
        self.ends.push(T::Offset::usize_as(self.bytes.len()));
        self.nulls.push(length.is_some());
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let ends = OffsetBuffer::new(ScalarBuffer::from(std::mem::take(&mut self.ends)));
        let bytes = Buffer::from_vec(std::mem::take(&mut self.bytes));
        let array = GenericByteArray::<T>::try_new(ends, bytes, self.nulls.finish())?;
        Ok((self.as_array)(array))
    }
}

struct Fixed {
    data_type: DataType,
    width: usize,
    bytes: Vec<u8>,
    nulls: Nulls,
}

impl Decode for Fixed {
    fn read(&mut self, bytes: &[u8], at: &mut usize) {
        let is_valid = match self.width {
            0..=8 => {
                let (number, is_valid) = i64::read(Sign::Signed, bytes, at);
                self.bytes.extend_from_slice(&number.to_be_bytes()[8 - self.width..]);
                is_valid
            }
            9..=16 => {
                let (number, is_valid) = i128::read(Sign::Signed, bytes, at);
                self.bytes.extend_from_slice(&number.to_be_bytes()[16 - self.width..]);
                is_valid
            }
            width => {
                let is_valid = bytes[*at] != NULL;
                *at += 1;
                if is_valid {
                    self.bytes.extend_from_slice(&bytes[*at..*at + width]);
                    *at += width;
                } else {
                    self.bytes.resize(self.bytes.len() + width, 0);
                }
                is_valid
            }
        };
        self.nulls.push(is_valid);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let values = Buffer::from_vec(std::mem::take(&mut self.bytes));
        fixed_width_array(&self.data_type, self.nulls.rows, values, self.nulls.finish())
    }
}

/// Lists with offsets, lists with offsets and sizes, and maps.
struct Lists<O> {
    data_type: DataType,
    values: Box<dyn Decode>,
    /// Where each list begins, and where the last one ends.
    offsets: Vec<O>,
    end: usize,
    nulls: Nulls,
}

impl<O: ArrowNativeType> Lists<O> {
    fn boxed(data_type: &DataType, values: &DataType) -> Box<dyn Decode> {
        Box::new(Lists::<O> {
            data_type: data_type.clone(),
            values: decoder(values, 0),
            offsets: vec![O::usize_as(0)],
            end: 0,
            nulls: Nulls::default(),
        })
    }
}

impl<O: ArrowNativeType> Decode for Lists<O> {
    fn read(&mut self, bytes: &[u8], at: &mut usize) {
        let length = value::length(bytes, at);
        for _ in 0..length.unwrap_or(0) {
            self.values.read(bytes, at);
        }
        self.end += length.unwrap_or(0);
        self.offsets.push(O::usize_as(self.end));
        self.nulls.push(length.is_some());
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let (mut offsets, values) = (std::mem::take(&mut self.offsets), self.values.finish()?);
        let rows = self.nulls.rows;
        let mut data = ArrayData::builder(self.data_type.clone())
            .len(rows)
            .nulls(self.nulls.finish())
            .add_child_data(values.to_data());
        if matches!(self.data_type, DataType::ListView(_) | DataType::LargeListView(_)) {
            let size = |pair: &[O]| O::usize_as(pair[1].as_usize() - pair[0].as_usize());
            let sizes: Vec<O> = offsets.windows(2).map(size).collect();
            offsets.truncate(rows);
            data = data.add_buffer(Buffer::from_vec(offsets)).add_buffer(Buffer::from_vec(sizes));
        } else {
            data = data.add_buffer(Buffer::from_vec(offsets));
        }
        Ok(make_array(data.build()?))
    }
}

/// Structs and fixed-size lists.
struct Fields {
    data_type: DataType,
    columns: Vec<Box<dyn Decode>>,
    times: usize,
    nulls: Nulls,
}

impl Fields {
    fn boxed(data_type: &DataType, columns: Vec<Box<dyn Decode>>, times: usize) -> Box<dyn Decode> {
        Box::new(Fields { data_type: data_type.clone(), columns, times, nulls: Nulls::default() })
    }
}

impl Decode for Fields {
    fn read(&mut self, bytes: &[u8], at: &mut usize) {
        self.nulls.push(bytes[*at] != NULL);
        *at += 1;
        for column in &mut self.columns {
            (0..self.times).for_each(|_| column.read(bytes, at));
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let rows = self.nulls.rows;
        let mut data =
            ArrayData::builder(self.data_type.clone()).len(rows).nulls(self.nulls.finish());
        for column in &mut self.columns {
            data = data.add_child_data(column.finish()?.to_data());
        }
        Ok(make_array(data.build()?))
    }
}

struct Unions {
    data_type: DataType,
    mode: UnionMode,
    /// Type ID, column, and its number of values.
    columns: Vec<(i8, Box<dyn Decode>, i32)>,
    ids: Vec<i8>,
    offsets: Vec<i32>,
}

impl Decode for Unions {
    fn read(&mut self, bytes: &[u8], at: &mut usize) {
        let own = bytes[*at] as i8;
        *at += 1;
        self.ids.push(own);
        for (id, column, values) in &mut self.columns {
            if *id == own {
                self.offsets.push(*values);
            }
            if self.mode == UnionMode::Sparse || *id == own {
                column.read(bytes, at);
                *values += 1;
            }
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let ids = std::mem::take(&mut self.ids);
        let mut data = ArrayData::builder(self.data_type.clone())
            .len(ids.len())
            .add_buffer(Buffer::from_vec(ids));
        if self.mode == UnionMode::Dense {
            data = data.add_buffer(Buffer::from_vec(std::mem::take(&mut self.offsets)));
        }
        for (_, column, _) in &mut self.columns {
            data = data.add_child_data(column.finish()?.to_data());
        }
        Ok(make_array(data.build()?))
    }
}

/// Distinct values and their positions.
struct Distinct {
    values: Box<dyn Decode>,
    places: HashMap<Vec<u8>, usize>,
}

impl Distinct {
    fn new(data_type: &DataType) -> Distinct {
        Distinct { values: decoder(data_type, 0), places: HashMap::new() }
    }

    /// Returns the position of the value of `length` bytes at `at`. Adds it if it is new.
    fn place(&mut self, bytes: &[u8], at: &mut usize, length: usize) -> usize {
        let own = &bytes[*at..*at + length];
        if let Some(&place) = self.places.get(own) {
            *at += length;
            return place;
        }
        let place = self.places.len();
        self.places.insert(own.to_vec(), place);
        self.values.read(bytes, at);
        place
    }
}

struct Dictionary {
    data_type: DataType,
    distinct: Distinct,
    keys: Vec<usize>,
    nulls: Nulls,
}

impl Decode for Dictionary {
    fn read(&mut self, bytes: &[u8], at: &mut usize) {
        let length = value::length(bytes, at);
        let place = length.map_or(0, |length| self.distinct.place(bytes, at, length));
        self.keys.push(place);
        self.nulls.push(length.is_some());
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let values = self.distinct.values.finish()?;
        let (keys, nulls) = (std::mem::take(&mut self.keys), self.nulls.finish());
        let DataType::Dictionary(key_type, _) = &self.data_type else {
            unreachable!("the type of a dictionary");
        };
        macro_rules! dictionary {
            ($type:ty) => {
                dictionary::<$type>(&keys, nulls, values)
            };
        }
        downcast_integer! {
            &**key_type => (dictionary),
            other => unreachable!("keys of dictionaries are whole numbers, not {other}")
        }
    }
}

fn dictionary<K: ArrowDictionaryKeyType>(
    keys: &[usize],
    nulls: Option<NullBuffer>,
    values: ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    let keys: Option<Vec<K::Native>> = keys.iter().map(|&key| K::Native::from_usize(key)).collect();
    let keys = keys.ok_or(ArrowError::DictionaryKeyOverflowError)?;
    let keys = PrimitiveArray::<K>::new(keys.into(), nulls);
    Ok(Arc::new(DictionaryArray::<K>::try_new(keys, values)?))
}

struct Runs {
    data_type: DataType,
    ends_type: DataType,
    values: Box<dyn Decode>,
    /// The bytes of the last run's value.
    last: Vec<u8>,
    ends: Vec<usize>,
    rows: usize,
}

impl Decode for Runs {
    fn read(&mut self, bytes: &[u8], at: &mut usize) {
        let length = value::length(bytes, at).unwrap_or(0);
        let own = &bytes[*at..*at + length];
        self.rows += 1;
        match self.ends.last_mut() {
            Some(end) if self.last == own => {
                *end = self.rows;
                *at += length;
            }
            _ => {
                self.ends.push(self.rows);
                self.last.clear();
                self.last.extend_from_slice(own);
                self.values.read(bytes, at);
            }
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let values = self.values.finish()?;
        let runs = match self.ends_type {
            DataType::Int16 => runs::<Int16Type>(&self.ends, &values)?,
            DataType::Int32 => runs::<Int32Type>(&self.ends, &values)?,
            _ => runs::<Int64Type>(&self.ends, &values)?,
        };
        // With the field names of the schema.
        let data = runs.to_data().into_builder().data_type(self.data_type.clone());
        Ok(make_array(data.build()?))
    }
}

fn runs<R: RunEndIndexType>(ends: &[usize], values: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let overflow = || ArrowError::InvalidArgumentError("too many rows for these run ends".into());
    let ends: Option<Vec<R::Native>> = ends.iter().map(|&end| R::Native::from_usize(end)).collect();
    let ends = PrimitiveArray::<R>::new(ends.ok_or_else(overflow)?.into(), None);
    Ok(Arc::new(RunArray::<R>::try_new(&ends, values)?))
}
