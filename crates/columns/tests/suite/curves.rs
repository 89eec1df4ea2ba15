//! Rows along space-filling curves.

use crate::files::{assert_same, read, write};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Float64Array, Int64Array, RecordBatch, StringArray, StructArray,
    UInt32Array,
};
use arrow_schema::{DataType, Field};
use arrow_select::take::take_record_batch;
use parquet::file::properties::WriterProperties;
use std::path::Path;
use std::sync::Arc;
use xsort_columns::{Columns, ColumnsOptions, InputFormat, OutputFormat};
use xsort_testing::Random;

/// A point in WKB.
fn wkb(x: f64, y: f64) -> Vec<u8> {
    [&[1_u8][..], &1_u32.to_le_bytes(), &x.to_le_bytes(), &y.to_le_bytes()].concat()
}

/// Numbers with far outliers, some of them null; the same as texts, shapes and bounds.
fn points(random: &mut Random, rows: usize) -> RecordBatch {
    let number = |random: &mut Random| {
        let far = if random.one_in(50) { 1e12 } else { 1.0 };
        (random.below(1 << 20) as f64 - 5e5) * far
    };
    let x: Vec<f64> = (0..rows).map(|_| number(random)).collect();
    let y: Vec<Option<f64>> =
        (0..rows).map(|_| (!random.one_in(30)).then(|| number(random))).collect();
    let shape = |(x, y): (&f64, &Option<f64>)| y.map(|y| wkb(*x, y));
    let shapes: BinaryArray = x.iter().zip(&y).map(shape).collect();
    let (x, y): (ArrayRef, ArrayRef) =
        (Arc::new(Float64Array::from(x)), Arc::new(Float64Array::from(y)));
    let field = |name: &str| Arc::new(Field::new(name, DataType::Float64, true));
    let bounds = StructArray::from(vec![
        (field("xmin"), Arc::clone(&x)),
        (field("ymin"), Arc::clone(&y)),
        (field("xmax"), Arc::clone(&x)),
        (field("ymax"), Arc::clone(&y)),
    ]);
    let names = (0..rows).map(|row| format!("https://example.org/{}", row * 7_919 % 613));
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(Int64Array::from_iter(0..rows as i64)) as ArrayRef, false),
        ("x", x, true),
        ("y", y, true),
        ("name", Arc::new(StringArray::from_iter_values(names)), false),
        ("shape", Arc::new(shapes), true),
        ("bounds", Arc::new(bounds), true),
    ])
    .unwrap()
}

fn sorted(inputs: &[&Path], by: &str, format: OutputFormat, output: &Path) -> RecordBatch {
    let input = match inputs[0].extension().unwrap() == "parquet" {
        true => InputFormat::Parquet,
        false => InputFormat::Arrow,
    };
    let options = ColumnsOptions {
        input_format: input,
        output_format: format,
        ..ColumnsOptions::new(by.parse().unwrap())
    };
    let columns = Columns::with_options(options, inputs.iter().copied());
    columns.memory(64 << 20).threads(2).run(output).unwrap();
    read(output)
}

/// How many values are less than each one, of 65,535; nulls are the largest.
fn ranks(values: &[Option<f64>]) -> Vec<u64> {
    let less = |value: Option<f64>, than: Option<f64>| match (value, than) {
        (Some(value), Some(than)) => value < than,
        (Some(_), None) => true,
        (None, _) => false,
    };
    let rank = |&than: &Option<f64>| {
        let count = values.iter().filter(|&&value| less(value, than)).count();
        (count * 65_535 / values.len()) as u64
    };
    values.iter().map(rank).collect()
}

#[test]
fn rows_are_in_the_order_of_their_ranks_bits() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.parquet"), directory.path().join("out"));
    let batch = points(&mut Random::new(1), 3000);
    write(&input, std::slice::from_ref(&batch), WriterProperties::builder().build());
    let column = |name: &str| -> Vec<Option<f64>> {
        batch.column_by_name(name).unwrap().as_primitive::<Float64Type>().iter().collect()
    };
    let (x, y) = (ranks(&column("x")), ranks(&column("y")));
    let place = |row: usize| {
        (0..16)
            .rev()
            .fold(0_u64, |place, bit| place << 2 | (x[row] >> bit & 1) << 1 | y[row] >> bit & 1)
    };
    let mut order: Vec<usize> = (0..batch.num_rows()).collect();
    order.sort_by_key(|&row| place(row));
    let order: UInt32Array = order.into_iter().map(|row| row as u32).collect();
    let expected = take_record_batch(&batch, &order).unwrap();
    let by = |by: &str| sorted(&[&input], by, OutputFormat::Parquet, &output);
    assert_same(&by("zorder(x,y)"), &expected, "numbers");
    assert_same(&by("zorder(#2,#3:float)"), &expected, "numbers of columns");
    assert_same(&by("zorder(bounds.xmin,bounds.ymax)"), &expected, "fields");
    assert!(batch.column_by_name("y").unwrap().null_count() > 0);
}

/// The distances between neighbours, in ranks, are those of a walk through squares: about the root
/// of the number of rows.
fn mean_step(found: &RecordBatch) -> f64 {
    let column = |name: &str| -> Vec<Option<f64>> {
        found.column_by_name(name).unwrap().as_primitive::<Float64Type>().iter().collect()
    };
    let (x, y) = (ranks(&column("x")), ranks(&column("y")));
    let step = |row: usize| x[row].abs_diff(x[row - 1]) + y[row].abs_diff(y[row - 1]);
    let rows = found.num_rows();
    (1..rows).map(step).sum::<u64>() as f64 / rows as f64 * rows as f64 / 65_535.0
}

#[test]
fn every_kind_of_input_comes_near_its_neighbours() {
    let mut random = Random::new(2);
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let batch = points(&mut random, 6000);
    let parquet: Vec<_> = (0..2).map(|at| path(&format!("{at}.parquet"))).collect();
    for (at, path) in parquet.iter().enumerate() {
        let groups = WriterProperties::builder().set_max_row_group_row_count(Some(700)).build();
        write(path, &[batch.slice(at * 3000, 3000)], groups);
    }
    let parquet: Vec<&Path> = parquet.iter().map(AsRef::as_ref).collect();
    let (file, stream) = (path("all.arrow"), path("all.arrows"));
    let by_id = |format, to: &Path| {
        let options =
            ColumnsOptions { output_format: format, ..ColumnsOptions::new("id".parse().unwrap()) };
        Columns::with_options(options, parquet.iter().copied()).run(to).unwrap();
    };
    by_id(OutputFormat::ArrowFile, &file);
    by_id(OutputFormat::ArrowStream, &stream);
    let to = path("out.parquet");
    let all = |inputs: &[&Path], by: &str| sorted(inputs, by, OutputFormat::Parquet, &to);
    let mut sorted_rows = batch.clone();
    for (inputs, by) in [
        (&parquet[..], "hilbert(x,y)"),
        (&parquet[..], "hilbert(x,y):desc"),
        (&parquet[..], "hilbert(bounds)"),
        (&parquet[..], "hilbert(shape)"),
        (&[&*file], "hilbert(x,y)"),
        (&[&*stream], "zorder(x,y)"),
    ] {
        sorted_rows = all(inputs, by);
        let step = mean_step(&sorted_rows);
        assert!(step < 3.0 * (6000_f64).sqrt(), "{by}: {step}, of 6000");
        let mut ids: Vec<i64> = sorted_rows.column(0).as_primitive::<Int64Type>().values().to_vec();
        ids.sort_unstable();
        assert_eq!(ids, (0..6000).collect::<Vec<i64>>(), "{by}");
    }
    assert_eq!(sorted_rows.num_columns(), batch.num_columns());
    // The others decide first, and five axes have places of ten bytes.
    let found = all(&parquet, "name,hilbert(x,y,id,shape)");
    let names = found.column_by_name("name").unwrap().as_string::<i32>();
    assert!((1..6000).all(|row| names.value(row - 1) <= names.value(row)));
}

#[test]
fn what_has_no_place_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.parquet");
    let values: BinaryArray = [Some(&wkb(1.0, 2.0)[..]), Some(b"no shape")].into_iter().collect();
    let text = StringArray::from_iter_values(["a", "b"]);
    let batch = RecordBatch::try_from_iter([
        ("shape", Arc::new(values) as ArrayRef),
        ("text", Arc::new(text) as ArrayRef),
    ]);
    let batch = batch.unwrap();
    write(&input, &[batch], Default::default());
    let error = |columns: Columns| {
        let error = columns.run(directory.path().join("out.parquet")).unwrap_err();
        error.to_string()
    };
    let by = |by: &str| Columns::files([&input]).by(by).unwrap();
    let found = error(by("hilbert(shape)"));
    assert!(found.contains("in.parquet") && found.contains("no shape in WKB"), "{found}");
    for (columns, why) in [
        (by("hilbert(text,nope)"), "no column 'nope'"),
        (by("hilbert(text:int,shape)"), "leave :int out"),
        (by("hilbert(shape,shape,shape,shape,text)"), "8 axes at most"),
        (by("zorder(text)").unique(xsort_table::Keep::First), "is for sorts"),
        (by("zorder(text)").merge(), "is for sorts"),
    ] {
        let found = error(columns);
        assert!(found.contains(why), "{why}: {found}");
    }
    assert!(!directory.path().join("out.parquet").exists());
}
