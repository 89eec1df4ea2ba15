//! Columns of every type come out as they went in.

use crate::order::sorted;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, Decimal256Array, DictionaryArray, Int16Array, Int32Array,
    Int64Array, NullArray, RecordBatch, RunArray, StringArray, StringViewArray, make_array,
    new_empty_array,
};
use arrow_buffer::{Buffer, NullBuffer, i256};
use arrow_data::ArrayData;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{
    DataType, Field, Fields, IntervalUnit, Schema, TimeUnit, UnionFields, UnionMode,
};
use std::collections::HashMap;
use std::sync::Arc;
use xsort_arrow::BatchSorter;
use xsort_testing::Random;

fn field(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, true))
}

/// One of each type, and some in each other.
fn all_types() -> Vec<DataType> {
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
    Some(NullBuffer::from_iter((0..rows).map(|_| random.word() % 5 != 0)))
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

fn random_array(data_type: &DataType, rows: usize, random: &mut Random) -> ArrayRef {
    use DataType as T;
    let data = ArrayData::builder(data_type.clone()).len(rows);
    let built =
        |data: arrow_data::ArrayDataBuilder| make_array(data.align_buffers(true).build().unwrap());
    match data_type {
        T::Null => Arc::new(NullArray::new(rows)),
        T::Boolean => {
            let bytes: Vec<u8> = (0..rows.div_ceil(8)).map(|_| random.word() as u8).collect();
            built(data.add_buffer(bytes.into()).nulls(nulls(random, rows)))
        }
        T::Utf8 => Arc::new(text(random, rows)),
        T::LargeUtf8 | T::LargeBinary => {
            let (_, bytes, nulls) = text(random, rows).into_parts();
            let text = text_of(random, rows, &bytes);
            built(data.add_buffer(text).add_buffer(bytes).nulls(nulls))
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
        T::Decimal256(..) => {
            let values = (0..rows).map(|_| i256::from_i128(i128::from(random.word()) << 50));
            let values = Decimal256Array::from_iter_values(values);
            built(data.buffers(values.to_data().buffers().to_vec()).nulls(nulls(random, rows)))
        }
        T::List(item) | T::Map(item, _) => {
            let ends = ends(random, rows);
            let values = random_array(item.data_type(), ends[rows], random);
            let ends: Vec<i32> = ends.into_iter().map(|end| end as i32).collect();
            built(
                data.add_buffer(Buffer::from_vec(ends))
                    .add_child_data(values.to_data())
                    .nulls(nulls(random, rows)),
            )
        }
        T::LargeList(item) => {
            let ends = ends(random, rows);
            let values = random_array(item.data_type(), ends[rows], random);
            let ends: Vec<i64> = ends.into_iter().map(|end| end as i64).collect();
            built(
                data.add_buffer(Buffer::from_vec(ends))
                    .add_child_data(values.to_data())
                    .nulls(nulls(random, rows)),
            )
        }
        T::ListView(item) => {
            let ends = ends(random, rows);
            let values = random_array(item.data_type(), ends[rows], random);
            let sizes: Vec<i32> = ends.windows(2).map(|pair| (pair[1] - pair[0]) as i32).collect();
            let begins: Vec<i32> = ends[..rows].iter().map(|&end| end as i32).collect();
            built(
                data.add_buffer(Buffer::from_vec(begins))
                    .add_buffer(Buffer::from_vec(sizes))
                    .add_child_data(values.to_data()),
            )
        }
        T::LargeListView(item) => {
            let ends = ends(random, rows);
            let values = random_array(item.data_type(), ends[rows], random);
            let sizes: Vec<i64> = ends.windows(2).map(|pair| (pair[1] - pair[0]) as i64).collect();
            let begins: Vec<i64> = ends[..rows].iter().map(|&end| end as i64).collect();
            built(
                data.add_buffer(Buffer::from_vec(begins))
                    .add_buffer(Buffer::from_vec(sizes))
                    .add_child_data(values.to_data()),
            )
        }
        T::FixedSizeList(item, times) => {
            let values = random_array(item.data_type(), rows * *times as usize, random);
            built(data.add_child_data(values.to_data()).nulls(nulls(random, rows)))
        }
        T::Struct(fields) => {
            let is_entry = fields[0].name() == "key";
            let children = fields.iter().map(|field| {
                let child = random_array(field.data_type(), rows, random).to_data();
                if field.is_nullable() {
                    child
                } else {
                    child.into_builder().nulls(None).build().unwrap()
                }
            });
            let data = data.child_data(children.collect());
            built(if is_entry { data } else { data.nulls(nulls(random, rows)) })
        }
        T::Dictionary(key, values) => {
            let values = random_array(values, 60, random);
            let nulls = nulls(random, rows);
            if **key == T::Int8 {
                let keys = (0..rows).map(|_| (random.word() % 60) as i8).collect::<Vec<_>>();
                let keys = arrow_array::PrimitiveArray::<Int8Type>::new(keys.into(), nulls);
                return Arc::new(DictionaryArray::new(keys, values));
            }
            let width = key.primitive_width().unwrap();
            let keys = (0..rows).flat_map(|_| (random.word() % 60).to_le_bytes()[..width].to_vec());
            let keys = Buffer::from_vec(keys.collect::<Vec<u8>>());
            built(data.add_buffer(keys).add_child_data(values.to_data()).nulls(nulls))
        }
        T::RunEndEncoded(ends_field, _) => {
            let (mut ends, mut end) = (Vec::new(), 0);
            while end < rows {
                end = (end + 1 + random.word() as usize % 9).min(rows);
                ends.push(end as i64);
            }
            let values = text(random, ends.len());
            match ends_field.data_type() {
                T::Int16 => {
                    let ends: Int16Array = ends.iter().map(|&end| end as i16).collect();
                    Arc::new(RunArray::<Int16Type>::try_new(&ends, &values).unwrap())
                }
                T::Int32 => {
                    let ends: Int32Array = ends.iter().map(|&end| end as i32).collect();
                    Arc::new(RunArray::try_new(&ends, &values).unwrap())
                }
                _ => Arc::new(RunArray::try_new(&Int64Array::from(ends), &values).unwrap()),
            }
        }
        T::Union(fields, mode) => {
            let ids: Vec<i8> = (0..rows).map(|_| [0, 5][random.word() as usize % 2]).collect();
            let mut counts = [0, 0];
            let offsets = ids.iter().map(|&id| {
                let count = &mut counts[usize::from(id != 0)];
                *count += 1;
                *count - 1
            });
            let offsets: Vec<i32> = offsets.collect();
            let children = fields
                .iter()
                .map(|(_, field)| random_array(field.data_type(), rows, random).to_data());
            let data = data.add_buffer(Buffer::from_vec(ids)).child_data(children.collect());
            built(if *mode == UnionMode::Dense {
                data.add_buffer(Buffer::from_vec(offsets))
            } else {
                data
            })
        }
        data_type => {
            let width = match data_type {
                T::FixedSizeBinary(width) => *width as usize,
                data_type => data_type.primitive_width().unwrap(),
            };
            // Small values and large ones.
            let bytes = (0..rows).flat_map(|_| {
                let (large, small) = (random.word().to_le_bytes(), random.word() % 3);
                let byte = move |at: usize| if small > 0 && at > 0 { 0 } else { large[at % 8] };
                (0..width).map(byte).collect::<Vec<u8>>()
            });
            let bytes = Buffer::from_vec(bytes.collect::<Vec<u8>>());
            built(data.add_buffer(bytes).nulls(nulls(random, rows)))
        }
    }
}

/// Ends as 64-bit numbers of texts that share `bytes`.
fn text_of(random: &mut Random, rows: usize, bytes: &Buffer) -> Buffer {
    let mut ends: Vec<i64> =
        (0..rows).map(|_| (random.word() as usize % (bytes.len() + 1)) as i64).collect();
    ends.push(0);
    ends.sort_unstable();
    Buffer::from_vec(ends)
}

/// Values as bytes that compare, whatever dictionaries and runs they are in.
fn rows_of(array: &ArrayRef) -> Vec<Vec<u8>> {
    let converter = RowConverter::new(vec![SortField::new(array.data_type().clone())]).unwrap();
    let rows = converter.convert_columns(std::slice::from_ref(array)).unwrap();
    rows.iter().map(|row| row.data().to_vec()).collect()
}

fn batches_of(data_type: &DataType, random: &mut Random) -> Vec<RecordBatch> {
    let mut value = Field::new("value", data_type.clone(), true);
    value.set_metadata(HashMap::from([("ARROW:extension:name".to_owned(), "house".to_owned())]));
    let note = HashMap::from([("made".to_owned(), "by hand".to_owned())]);
    let fields = vec![
        value,
        Field::new("n", DataType::Int64, false),
        Field::new("key", DataType::Int32, true),
    ];
    let schema = Arc::new(Schema::new_with_metadata(fields, note));
    let batch = |rows: usize, first: i64, random: &mut Random| {
        let value = random_array(data_type, rows + 7, random);
        let n: ArrayRef = Arc::new(Int64Array::from_iter(first..first + rows as i64 + 7));
        let key: Int32Array = (0..rows + 7).map(|_| Some(random.word() as i32 % 50)).collect();
        RecordBatch::try_new(schema.clone(), vec![value, n, Arc::new(key)]).unwrap()
    };
    let (a, b) = (batch(400, 0, random).slice(5, 393), batch(300, 400, random).slice(0, 300));
    vec![a, b.slice(0, 0), b]
}

#[test]
fn every_type_comes_out_as_it_went_in() {
    let mut random = Random::new(11);
    for data_type in all_types() {
        let batches = batches_of(&data_type, &mut random);
        let expected: Vec<_> = batches.iter().flat_map(|batch| rows_of(batch.column(0))).collect();
        let numbers: Vec<i64> = batches
            .iter()
            .flat_map(|batch| batch.column(1).as_primitive::<Int64Type>().values().to_vec())
            .collect();
        for by in ["key:desc", "value"] {
            let mut orders = Vec::new();
            for memory in [1, 1 << 30] {
                let (found, report) = sorted(&batches, &[by.into()], memory, 450)
                    .unwrap_or_else(|error| panic!("{data_type} by {by} in {memory}: {error}"));
                assert_eq!(report.rows, 693, "{data_type}");
                let order = found.column(1).as_primitive::<Int64Type>().values().to_vec();
                let found = rows_of(found.column(0));
                for (row, number) in found.iter().zip(&order) {
                    let place = numbers.iter().position(|own| own == number).unwrap();
                    assert!(
                        *row == expected[place],
                        "{data_type} by {by} in {memory}: row {number}"
                    );
                }
                let is_float =
                    matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64);
                if by == "value" && !is_float {
                    let key = |row: &Vec<u8>| (row[0] == 0, row.clone());
                    let is_simple =
                        !data_type.is_nested() && !matches!(data_type, DataType::RunEndEncoded(..));
                    assert!(!is_simple || found.is_sorted_by_key(key), "{data_type}");
                }
                orders.push(order);
            }
            assert!(orders[0] == orders[1], "{data_type} by {by}");
        }
    }
}

#[test]
fn dictionaries_may_grow_beyond_their_keys() {
    let dictionary = |first: i64| {
        let values = StringArray::from_iter_values((first..first + 120).map(|n| format!("{n:05}")));
        let keys = arrow_array::Int8Array::from_iter_values(0..120);
        let array: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(keys, Arc::new(values)));
        RecordBatch::try_from_iter([("value", array)]).unwrap()
    };
    let batches: Vec<_> = (0..40).rev().map(|at| dictionary(at * 120)).collect();
    for memory in [1, 1 << 30] {
        let schema = batches[0].schema();
        let sorter = BatchSorter::new(schema).by(["value"]).unwrap().memory(memory);
        let mut sorting = sorter.start().unwrap();
        batches.iter().for_each(|batch| sorting.push(batch.clone()).unwrap());
        let mut texts = Vec::new();
        for batch in sorting.finish().unwrap() {
            let batch = batch.unwrap();
            let array = batch.column(0).as_dictionary::<Int8Type>().clone();
            let array = array.downcast_dict::<StringArray>().unwrap();
            texts.extend(array.into_iter().map(|text| text.unwrap().to_owned()));
        }
        assert!(texts.iter().enumerate().all(|(at, text)| *text == format!("{at:05}")));
        assert_eq!(texts.len(), 4800);
    }
}

#[test]
fn there_may_be_nothing() {
    for data_type in all_types() {
        let column = new_empty_array(&data_type);
        let field = Field::new("value", data_type, true);
        let schema = Arc::new(Schema::new(vec![field]));
        let batch = RecordBatch::try_new(schema, vec![column]).unwrap();
        let (found, report) = sorted(&[batch.clone(), batch], &["value".into()], 1, 9).unwrap();
        assert_eq!((found.num_rows(), report.batches), (0, 0));
    }
}
