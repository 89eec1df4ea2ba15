//! The order of rows, beside a sort of indices by arrow-ord.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int8Array,
    Int32Array, Int64Array, RecordBatch, RunArray, StringArray,
};
use arrow_ord::sort::{SortColumn, lexsort_to_indices};
use arrow_schema::SortOptions;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use std::sync::Arc;
use xsort_arrow::{BatchReport, BatchSorter, Error};
use xsort_testing::{Random, for_each_seed, quick_or_long};

/// Sorts batches by `by`, in so many bytes.
pub(crate) fn sorted(
    batches: &[RecordBatch],
    by: &[String],
    memory: u64,
    batch_rows: usize,
) -> Result<(RecordBatch, BatchReport), Error> {
    let schema = batches[0].schema();
    let scratch = tempfile::tempdir().unwrap();
    let sorter = BatchSorter::new(schema.clone()).by(by)?.memory(memory).threads(2);
    let mut sorting = sorter.scratch([scratch.path()]).batch_rows(batch_rows).start()?;
    for batch in batches {
        sorting.push(batch.clone())?;
    }
    let mut out = sorting.finish()?;
    let found = out.by_ref().collect::<Result<Vec<_>, _>>()?;
    assert!(found.iter().all(|batch| (1..=batch_rows).contains(&batch.num_rows())));
    assert!(found.iter().all(|batch| batch.schema() == schema));
    let report = out.report().unwrap().clone();
    assert_eq!(report.batches, found.len() as u64);
    drop(out);
    assert!(scratch.path().read_dir().unwrap().next().is_none());
    Ok((concat_batches(&schema, &found)?, report))
}

/// A batch with a column of each of several types, and the number of each row.
fn random_batch(random: &mut Random, rows: usize, first: i64, distinct: u64) -> RecordBatch {
    let mut column = |make: &dyn Fn(u64) -> ArrayRef| make(random.word());
    let values = |seed: u64| {
        let mut random = Random::new(seed);
        (0..rows).map(move |_| {
            let value = random.word() % distinct;
            (!random.one_in(11)).then_some(value)
        })
    };
    let signed = |value: u64| value as i64 - distinct as i64 / 2;
    let names = ["a", "b", "ab", "", "a\0", "abcdefghijklmnopqrstuvwxyz0123456789"];
    let text = |value: u64| names[value as usize % 6].repeat(value as usize % 5);
    let number = |value| signed(value) as f64 / 3.0;
    let columns = [
        ("i8", column(&|s| Arc::new(values(s).map(|v| v.map(|v| v as i8)).collect::<Int8Array>()))),
        ("i64", column(&|s| Arc::new(values(s).map(|v| v.map(signed)).collect::<Int64Array>()))),
        ("f:64", column(&|s| Arc::new(values(s).map(|v| v.map(number)).collect::<Float64Array>()))),
        ("text", column(&|s| Arc::new(values(s).map(|v| v.map(text)).collect::<StringArray>()))),
        (
            "bool",
            column(&|s| {
                Arc::new(values(s).map(|v| v.map(|v| v % 2 == 0)).collect::<BooleanArray>())
            }),
        ),
        (
            "date",
            column(&|s| {
                Arc::new(values(s).map(|v| v.map(|v| signed(v) as i32)).collect::<Date32Array>())
            }),
        ),
        (
            "money",
            column(&|s| {
                let values = values(s).map(|v| v.map(|v| i128::from(signed(v)) << 40));
                Arc::new(values.collect::<Decimal128Array>())
            }),
        ),
        ("n", Arc::new((first..first + rows as i64).collect::<Int64Array>()) as ArrayRef),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

#[test]
fn rows_come_in_the_order_that_arrow_has() {
    for_each_seed("order of batches", quick_or_long(12, 200), |seed| {
        let mut random = Random::new(seed);
        let distinct = [2, 300, 1 << 40][random.word() as usize % 3];
        let (mut batches, mut rows) = (Vec::new(), 0);
        for _ in 0..1 + random.word() % 12 {
            let own = [0, 1, 70, 3000, 20_000][random.word() as usize % 5];
            let batch = random_batch(&mut random, own + 5, rows, distinct).slice(3, own);
            batches.push(batch);
            rows += 30_000;
        }
        let all = concat_batches(&batches[0].schema(), &batches).unwrap();
        let (mut by, mut columns) = (Vec::new(), Vec::new());
        for _ in 0..1 + random.word() % 3 {
            let index = random.word() as usize % 7;
            let (descending, nulls_first) = (random.one_in(2), random.one_in(2));
            let mut name = all.schema().field(index).name().clone();
            name += if descending { ":desc" } else { "" };
            name += if nulls_first { ":nulls-first" } else { "" };
            by.push(name);
            let options = Some(SortOptions { descending, nulls_first });
            columns.push(SortColumn { values: Arc::clone(all.column(index)), options });
        }
        // What is equal stays in its order.
        columns.push(SortColumn { values: Arc::clone(all.column(7)), options: None });
        let expected =
            take_record_batch(&all, &lexsort_to_indices(&columns, None).unwrap()).unwrap();
        // One spills, one passes through the engine, one gathers.
        for memory in [1, 64 << 20, 1 << 30] {
            let (found, report) = sorted(&batches, &by, memory, 10_000).unwrap();
            assert!(found == expected, "{by:?} {memory} {report:?}");
            assert_eq!(report.rows, all.num_rows() as u64);
        }
        Ok(())
    });
}

#[test]
fn more_than_the_memory_is_spilled() {
    let mut random = Random::new(7);
    let batches: Vec<_> =
        (0..10).map(|at| random_batch(&mut random, 30_000, at * 30_000, 1 << 40)).collect();
    let by = ["text:desc".to_owned(), "i64".to_owned()];
    let (large, kept) = sorted(&batches, &by, 1 << 30, 7000).unwrap();
    let (small, spilled) = sorted(&batches, &by, 8 << 20, 7000).unwrap();
    assert!(large == small);
    assert!(kept.checksum.is_none() && kept.scratch_bytes == 0, "{kept:?}");
    assert!(spilled.runs > 1 && spilled.scratch_bytes > 0, "{spilled:?}");
}

#[test]
fn zeros_are_equal_and_nans_come_behind_infinity() {
    let numbers = [f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY, -1.0, f64::NEG_INFINITY];
    let columns = [
        ("f", Arc::new(Float64Array::from(numbers.to_vec())) as ArrayRef),
        ("n", Arc::new(Int64Array::from_iter(0..7)) as ArrayRef),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    // Values of dictionaries and runs compare as what they stand for.
    let values = Arc::clone(batch.column(0));
    let dictionary = DictionaryArray::new(Int32Array::from_iter(0..7), Arc::clone(&values));
    let ends = Int32Array::from_iter(1..=7);
    let runs = RunArray::<Int32Type>::try_new(&ends, &values).unwrap();
    let of_dictionary = Arc::new(dictionary) as ArrayRef;
    for column in [of_dictionary, Arc::new(runs) as ArrayRef] {
        let columns = [("f", column), ("n", Arc::clone(batch.column(1)))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        for memory in [1, 1 << 30] {
            let by = ["f".into()];
            let (found, _) = sorted(std::slice::from_ref(&batch), &by, memory, 9).unwrap();
            let order = found.column(1).as_primitive::<Int64Type>();
            assert_eq!(order.values()[..], [6, 5, 2, 3, 4, 0, 1], "{:?}", batch.schema());
        }
    }
    for memory in [1, 1 << 30] {
        let (found, _) = sorted(std::slice::from_ref(&batch), &["f".into()], memory, 9).unwrap();
        assert_eq!(found.column(1).as_primitive::<Int64Type>().values()[..], [6, 5, 2, 3, 4, 0, 1]);
        // The bits are those that were pushed.
        let signs = found.column(0).as_primitive::<Float64Type>().values().iter();
        let signs: Vec<_> = signs.map(|number| number.is_sign_negative()).collect();
        assert_eq!(signs[2..4], [false, true]);
    }
}

#[test]
fn columns_are_named_or_refused_by_words() {
    let column = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let schema = |names: [&'static str; 2]| {
        RecordBatch::try_from_iter(names.map(|name| (name, column()))).unwrap().schema()
    };
    let by = |names, by: &str| BatchSorter::new(schema(names)).by([by]).map(drop);
    for text in ["a", "a:desc", "a:asc:nulls-first", "b:x", "b:x:desc:nulls-last", "#1", "#2:desc"]
    {
        by(["a", "b:x"], text).unwrap();
    }
    for (names, text, reason) in [
        (["a", "b"], "c", "there is no column 'c'"),
        (["a", "b"], "a:up", "there is no column 'a:up'"),
        (["a", "b"], "#0", "there is no column '#0'"),
        (["a", "a"], "a", "several columns 'a'"),
    ] {
        let error = by(names, text).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    let error = BatchSorter::new(schema(["a", "b"])).start().unwrap_err();
    assert!(error.to_string().contains("at least one column"));
    let mut sorting = BatchSorter::new(schema(["a", "b"])).by(["a"]).unwrap().start().unwrap();
    let other = RecordBatch::try_from_iter([("a", column())]).unwrap();
    assert!(matches!(sorting.push(other), Err(Error::Schema(_))));
    // Nor may columns of the same types have other names, or come in another order.
    for names in [["b", "a"], ["a", "c"]] {
        let other = RecordBatch::try_from_iter(names.map(|name| (name, column()))).unwrap();
        assert!(matches!(sorting.push(other), Err(Error::Schema(_))), "{names:?}");
    }
    assert_eq!(sorting.finish().unwrap().count(), 0);
}

#[test]
fn a_row_beyond_the_memory_is_refused_and_a_stopped_sort_ends() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(3 << 20)]));
    let batch = RecordBatch::try_from_iter([("text", text)]).unwrap();
    let error = sorted(std::slice::from_ref(&batch), &["text".into()], 1, 1).unwrap_err();
    assert!(matches!(error, Error::Sort(xsort::Error::LongRecord { .. })), "{error}");
    let flag = xsort::Cancel::new();
    let sorter = BatchSorter::new(batch.schema()).by(["text"]).unwrap().cancel(&flag);
    let mut sorting = sorter.start().unwrap();
    flag.cancel();
    assert!(matches!(sorting.push(batch), Err(Error::Sort(xsort::Error::Cancelled))));
}
