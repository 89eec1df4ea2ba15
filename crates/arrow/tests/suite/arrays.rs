//! Random columns of every type.

use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, Int16Array, Int32Array, Int64Array, NullArray, RunArray,
    StringArray, StringViewArray, make_array,
};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};
use std::sync::Arc;
use xsort_testing::Random;

fn field(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, true))
}

/// One of each type, and some in each other.
pub(crate) fn all_types() -> Vec<DataType> {
    use DataType as T;
    let dictionary = |key, value| T::Dictionary(Box::new(key), Box::new(value));
    let run = |ends| {
        let ends = Arc::new(Field::new("run_ends", ends, false));
        T::RunEndEncoded(ends, Arc::new(Field::new("values", T::Utf8, true)))
    };
    let entries = Fields::from(vec![
        Field::new("key", T::Utf8, false),
        Field::new("value", dictionary(T::Int32, T::Utf8), true),
    ]);
    let union = UnionFields::try_new(
        [0, 5],
        [Field::new("a", T::Int32, true), Field::new("b", T::Utf8, true)],
    )
    .unwrap();
    let mut types = vec![
        T::Null,
        T::Boolean,
        T::Int8,
        T::Int16,
        T::Int32,
        T::Int64,
        T::UInt8,
        T::UInt16,
        T::UInt32,
        T::UInt64,
        T::Float16,
        T::Float32,
        T::Float64,
        T::Date32,
        T::Date64,
        T::Binary,
        T::LargeBinary,
        T::BinaryView,
        T::Utf8,
        T::LargeUtf8,
        T::Utf8View,
        T::FixedSizeBinary(5),
        T::Time32(TimeUnit::Second),
        T::Time64(TimeUnit::Nanosecond),
        T::Duration(TimeUnit::Second),
        T::Timestamp(TimeUnit::Nanosecond, None),
        T::Timestamp(TimeUnit::Microsecond, Some("Europe/Oslo".into())),
        T::Interval(IntervalUnit::YearMonth),
        T::Interval(IntervalUnit::DayTime),
        T::Interval(IntervalUnit::MonthDayNano),
        T::Decimal32(9, 2),
        T::Decimal64(18, 2),
        T::Decimal128(38, 2),
        T::Decimal256(76, 2),
    ];
    types.extend(
        [T::List, T::LargeList, T::ListView, T::LargeListView].map(|list| list(field(T::Utf8))),
    );
    types.extend([
        T::FixedSizeList(field(T::Int16), 3),
        T::Struct(vec![Field::new("x", T::Int32, true), Field::new("y", T::Utf8View, true)].into()),
        T::Map(Arc::new(Field::new("entries", T::Struct(entries), false)), false),
        T::List(field(T::List(field(dictionary(T::UInt8, T::Utf8))))),
        dictionary(T::Int8, T::Utf8),
        dictionary(T::UInt32, T::Timestamp(TimeUnit::Second, Some("+02:00".into()))),
        run(T::Int16),
        run(T::Int32),
        run(T::Int64),
        T::Union(union.clone(), UnionMode::Dense),
        T::Union(union, UnionMode::Sparse),
    ]);
    types
}

fn nulls(random: &mut Random, rows: usize) -> Option<NullBuffer> {
    Some(NullBuffer::from_iter((0..rows).map(|_| !random.one_in(5))))
}

/// Ends of lists of 0 to 2 values.
fn ends(random: &mut Random, rows: usize) -> Vec<usize> {
    let mut end = 0;
    std::iter::once(0)
        .chain((0..rows).map(|_| {
            end += random.word() as usize % 3;
            end
        }))
        .collect()
}

fn text(random: &mut Random, rows: usize) -> StringArray {
    let text = |random: &mut Random| match random.word() % 6 {
        0 => None,
        1 => Some("x".repeat(random.word() as usize % 700)),
        _ => Some(format!("{}", random.word() % 100)),
    };
    (0..rows).map(|_| text(random)).collect()
}

pub(crate) fn random_array(data_type: &DataType, rows: usize, random: &mut Random) -> ArrayRef {
    use DataType as T;
    let data = ArrayData::builder(data_type.clone()).len(rows);
    match data_type {
        T::Null => Arc::new(NullArray::new(rows)),
        T::Boolean => {
            let bits = random.bytes(rows.div_ceil(8));
            built(data.add_buffer(bits.into()).nulls(nulls(random, rows)))
        }
        T::Utf8 => Arc::new(text(random, rows)),
        T::LargeUtf8 | T::LargeBinary => {
            let (_, bytes, nulls) = text(random, rows).into_parts();
            built(data.add_buffer(text_of(random, rows, &bytes)).add_buffer(bytes).nulls(nulls))
        }
        T::Binary => {
            let (offsets, bytes, nulls) = text(random, rows).into_parts();
            built(data.add_buffer(offsets.into_inner().into_inner()).add_buffer(bytes).nulls(nulls))
        }
        T::Utf8View => Arc::new(StringViewArray::from_iter(text(random, rows).iter())),
        T::BinaryView => {
            let text = text(random, rows);
            Arc::new(BinaryViewArray::from_iter(text.iter().map(|text| text.map(str::as_bytes))))
        }
        T::List(item) | T::Map(item, _) => lists(data, item, rows, random, i32::usize_as, false),
        T::LargeList(item) => lists(data, item, rows, random, i64::usize_as, false),
        T::ListView(item) => lists(data, item, rows, random, i32::usize_as, true),
        T::LargeListView(item) => lists(data, item, rows, random, i64::usize_as, true),
        T::FixedSizeList(item, times) => {
            let values = random_array(item.data_type(), rows * *times as usize, random);
            built(data.add_child_data(values.to_data()).nulls(nulls(random, rows)))
        }
        T::Struct(fields) => structs(data, fields, rows, random),
        T::Dictionary(key, values) => {
            let values = random_array(values, 60, random);
            let width = key.primitive_width().unwrap();
            let keys = (0..rows).flat_map(|_| (random.word() % 60).to_le_bytes()[..width].to_vec());
            let keys = Buffer::from_vec(keys.collect::<Vec<u8>>());
            let data = data.add_buffer(keys).add_child_data(values.to_data());
            built(data.nulls(nulls(random, rows)))
        }
        T::RunEndEncoded(ends, _) => runs(ends.data_type(), rows, random),
        T::Union(fields, mode) => unions(data, fields, *mode, rows, random),
        data_type => {
            let width = match data_type {
                T::FixedSizeBinary(width) => *width as usize,
                data_type => data_type.primitive_width().unwrap(),
            };
            built(data.add_buffer(words(width, rows, random)).nulls(nulls(random, rows)))
        }
    }
}

fn built(data: ArrayDataBuilder) -> ArrayRef {
    make_array(data.align_buffers(true).build().unwrap())
}

/// Small values and large ones.
fn words(width: usize, rows: usize, random: &mut Random) -> Buffer {
    let bytes = (0..rows).flat_map(|_| {
        let (large, small) = (random.word().to_le_bytes(), random.word() % 3);
        let byte = move |at: usize| if small > 0 && at > 0 { 0 } else { large[at % 8] };
        (0..width).map(byte).collect::<Vec<u8>>()
    });
    Buffer::from_vec(bytes.collect::<Vec<u8>>())
}

fn lists<O: ArrowNativeType>(
    data: ArrayDataBuilder,
    item: &Field,
    rows: usize,
    random: &mut Random,
    offset: fn(usize) -> O,
    is_view: bool,
) -> ArrayRef {
    let ends = ends(random, rows);
    let values = random_array(item.data_type(), ends[rows], random);
    let data = data.add_child_data(values.to_data()).nulls(nulls(random, rows));
    let offsets = |ends: &[usize]| Buffer::from_vec(ends.iter().map(|&end| offset(end)).collect());
    if !is_view {
        return built(data.add_buffer(offsets(&ends)));
    }
    let sizes: Vec<usize> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    built(data.add_buffer(offsets(&ends[..rows])).add_buffer(offsets(&sizes)))
}

fn structs(data: ArrayDataBuilder, fields: &Fields, rows: usize, random: &mut Random) -> ArrayRef {
    let child = |field: &Arc<Field>| {
        let child = random_array(field.data_type(), rows, random).to_data().into_builder();
        let child = if field.is_nullable() { child } else { child.nulls(None) };
        child.build().unwrap()
    };
    let data = data.child_data(fields.iter().map(child).collect());
    // Entries of maps are never null.
    let is_entry = fields[0].name() == "key";
    built(if is_entry { data } else { data.nulls(nulls(random, rows)) })
}

fn runs(ends_type: &DataType, rows: usize, random: &mut Random) -> ArrayRef {
    let (mut ends, mut end) = (Vec::new(), 0);
    while end < rows {
        end = (end + 1 + random.below(9)).min(rows);
        ends.push(end as i64);
    }
    let values = text(random, ends.len());
    match ends_type {
        DataType::Int16 => {
            let ends: Int16Array = ends.iter().map(|&end| end as i16).collect();
            Arc::new(RunArray::<Int16Type>::try_new(&ends, &values).unwrap())
        }
        DataType::Int32 => {
            let ends: Int32Array = ends.iter().map(|&end| end as i32).collect();
            Arc::new(RunArray::<Int32Type>::try_new(&ends, &values).unwrap())
        }
        _ => Arc::new(RunArray::<Int64Type>::try_new(&Int64Array::from(ends), &values).unwrap()),
    }
}

fn unions(
    data: ArrayDataBuilder,
    fields: &UnionFields,
    mode: UnionMode,
    rows: usize,
    random: &mut Random,
) -> ArrayRef {
    let ids: Vec<i8> = (0..rows).map(|_| random.one_of(&[0, 5])).collect();
    let mut counts = [0, 0];
    let offsets = ids.iter().map(|&id| {
        let count = &mut counts[usize::from(id != 0)];
        *count += 1;
        *count - 1
    });
    let offsets = Buffer::from_vec(offsets.collect::<Vec<i32>>());
    let child =
        |(_, field): (i8, &Arc<Field>)| random_array(field.data_type(), rows, random).to_data();
    let data =
        data.add_buffer(Buffer::from_vec(ids)).child_data(fields.iter().map(child).collect());
    built(if mode == UnionMode::Dense { data.add_buffer(offsets) } else { data })
}

/// Ends as 64-bit numbers of texts that share `bytes`.
fn text_of(random: &mut Random, rows: usize, bytes: &Buffer) -> Buffer {
    let mut ends: Vec<i64> =
        (0..rows).map(|_| (random.word() as usize % (bytes.len() + 1)) as i64).collect();
    ends.push(0);
    ends.sort_unstable();
    Buffer::from_vec(ends)
}
