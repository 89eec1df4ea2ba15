//! Every type, random files and options, beside a sort of indices.

use crate::arrays::{all_types, random_array};
use crate::files::{assert_same, expected, random_properties, read, with_keys, write};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, IntervalUnit, SortOptions};
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use xsort::Resources;
use xsort_columns::Columns;
use xsort_testing::{Random, for_each_seed, quick_or_long};

/// Whether Parquet can hold a type, with what the library of Arrow writes.
fn is_in_parquet(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Union(..) | T::Interval(IntervalUnit::MonthDayNano) | T::RunEndEncoded(..) => false,
        T::List(item) | T::LargeList(item) | T::FixedSizeList(item, _) | T::Map(item, _) => {
            is_in_parquet(item.data_type())
        }
        T::ListView(_) | T::LargeListView(_) => false,
        T::Struct(fields) => fields.iter().all(|field| is_in_parquet(field.data_type())),
        _ => true,
    }
}

/// Types by whose order the oracle sorts as xsort does.
fn is_sortable(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Null | T::Interval(_) | T::Map(..) | T::Struct(_) | T::Date64 => false,
        T::List(_) | T::LargeList(_) | T::FixedSizeList(..) | T::Dictionary(..) => false,
        other => !other.is_floating(),
    }
}

fn inputs(
    folder: &TempDir,
    random: &mut Random,
    others: &[DataType],
) -> (Vec<PathBuf>, Vec<RecordBatch>) {
    let (mut paths, mut batches) = (Vec::new(), Vec::new());
    let mut first = 0;
    for file in 0..1 + random.below(3) {
        let rows = random.below(2000) + usize::from(file == 0);
        let names: Vec<String> = (0..others.len()).map(|at| format!("c{at}")).collect();
        let arrays: Vec<_> =
            others.iter().map(|data_type| random_array(data_type, rows, random)).collect();
        let others: Vec<_> = names.iter().map(|name| &**name).zip(arrays).collect();
        let batch = with_keys(random, rows, first, &others);
        first += rows as i64;
        let path = folder.path().join(format!("{file}.parquet"));
        write(&path, &[batch], random_properties(random));
        batches.push(read(&path));
        paths.push(path);
    }
    (paths, batches)
}

fn sorted(random: &mut Random, folder: &TempDir, paths: &[PathBuf], by: &str) -> RecordBatch {
    let output = folder.path().join("sorted.parquet");
    let resources = Resources {
        memory: Some(random.one_of(&[24 << 20, 96 << 20, 1 << 30]).into()),
        threads: Some(1 + random.below(5)),
        ..Resources::default()
    };
    let columns = Columns::files(paths).by(by).unwrap().resources(resources);
    let report = columns.run(&output).unwrap();
    let found = read(&output);
    assert_eq!(report.counted.count(), found.num_rows() as u64);
    assert_eq!(report.written_bytes, output.metadata().unwrap().len());
    found
}

#[test]
fn every_type_survives() {
    for (number, data_type) in all_types().into_iter().filter(is_in_parquet).enumerate() {
        let random = &mut Random::new(number as u64 + 7);
        let folder = tempfile::tempdir().unwrap();
        let (paths, batches) = inputs(&folder, random, std::slice::from_ref(&data_type));
        let context = format!("{data_type}");
        let all = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
        let options = SortOptions { descending: random.one_in(2), nulls_first: random.one_in(2) };
        let words = words(options);
        let found = sorted(random, &folder, &paths, &format!("key{words}"));
        let by_key = expected(&batches, &[(all.column(0).clone(), options)]);
        assert_same(&found, &by_key, &context);
        if is_sortable(&data_type) {
            let found = sorted(random, &folder, &paths, &format!("c0{words},key{words}"));
            let keys = [(all.column(2).clone(), options), (all.column(0).clone(), options)];
            assert_same(&found, &expected(&batches, &keys), &format!("by {context}"));
        }
    }
}

fn words(options: SortOptions) -> &'static str {
    match (options.descending, options.nulls_first) {
        (false, false) => "",
        (true, false) => ":desc",
        (false, true) => ":nulls-first",
        (true, true) => ":desc:nulls-first",
    }
}

#[test]
fn random_files_are_sorted_as_by_indices() {
    let types: Vec<DataType> = all_types().into_iter().filter(is_in_parquet).collect();
    for_each_seed("files", quick_or_long(12, 120), |seed| {
        let random = &mut Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let count = random.below(5);
        let others: Vec<DataType> =
            (0..count).map(|_| types[random.below(types.len())].clone()).collect();
        let (paths, batches) = inputs(&folder, random, &others);
        let all = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
        let options = SortOptions { descending: random.one_in(2), nulls_first: random.one_in(2) };
        let found = sorted(random, &folder, &paths, &format!("key{}", words(options)));
        let by_key = expected(&batches, &[(all.column(0).clone(), options)]);
        assert_same(&found, &by_key, &format!("{others:?}"));
        Ok(())
    });
}

#[test]
fn fields_of_structs_are_sorted_by() {
    let random = &mut Random::new(3);
    let folder = tempfile::tempdir().unwrap();
    let fields = vec![
        arrow_schema::Field::new("x", DataType::Int32, true),
        arrow_schema::Field::new("y.z", DataType::Utf8, true),
    ];
    let (paths, batches) = inputs(&folder, random, &[DataType::Struct(fields.into())]);
    let all = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    let column = arrow_array::cast::AsArray::as_struct(all.column(2));
    for (at, by) in [(0, "c0.x:desc"), (1, "c0.y.z:desc"), (1, "#3.y.z:desc")].into_iter().take(2) {
        let child = column.column(at);
        let parent = arrow_array::Array::nulls(column).unwrap();
        let mask = arrow_array::BooleanArray::new(!parent.inner(), None);
        let values = arrow_select::nullif::nullif(child, &mask).unwrap();
        let options = SortOptions { descending: true, nulls_first: false };
        let found = sorted(random, &folder, &paths, by);
        assert_same(&found, &expected(&batches, &[(Arc::clone(&values), options)]), by);
    }
}
