//! Columns of every type come out as they went in.

use crate::arrays::{all_types, random_array};
use crate::order::sorted;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray,
    new_empty_array,
};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Field, Schema};
use std::collections::HashMap;
use std::sync::Arc;
use xsort_arrow::BatchSorter;
use xsort_testing::Random;

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
        let keys = Int8Array::from_iter_values(0..120);
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
