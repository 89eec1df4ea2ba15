//! The form of the output: schema, metadata, compression, encodings, row groups, order.

use crate::files::{footer, numbers, read, with_keys, write};
use arrow_array::{ArrayRef, Float32Array, Float64Array, StringArray};
use arrow_schema::DataType;
use parquet::basic::{ColumnOrder, Compression, Encoding, PageType, ZstdLevel};
use parquet::file::metadata::{
    KeyValue, ParquetMetaDataOptions, ParquetMetaDataReader, RowGroupMetaData, SortingColumn,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use xsort_columns::{Codec, Columns, ColumnsOptions};
use xsort_testing::Random;

/// A file with texts and floats, written with `properties`.
fn input(folder: &TempDir, rows: usize, properties: WriterProperties) -> PathBuf {
    let text: StringArray = (0..rows).map(|row| Some(format!("text {}", row * 7 % 1000))).collect();
    let float: Float64Array = (0..rows).map(|row| Some(row as f64 / 3.0)).collect();
    let others: [(&str, ArrayRef); 2] = [("text", Arc::new(text)), ("float", Arc::new(float))];
    let batch = with_keys(&mut Random::new(1), rows, 0, &others);
    let path = folder.path().join("input.parquet");
    write(&path, &[batch], properties);
    path
}

fn sort(path: &Path, options: &str) -> PathBuf {
    let output = path.with_file_name("sorted.parquet");
    Columns::files([path]).by(options).unwrap().memory(64 << 20).run(&output).unwrap();
    output
}

#[test]
fn the_form_of_the_input_stays() {
    let folder = tempfile::tempdir().unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_column_compression("text".into(), Compression::ZSTD(ZstdLevel::default()))
        .set_column_dictionary_enabled("key".into(), false)
        .set_column_dictionary_enabled("float".into(), false)
        .set_column_encoding("key".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("float".into(), Encoding::BYTE_STREAM_SPLIT)
        .set_column_bloom_filter_enabled("text".into(), true)
        .set_key_value_metadata(Some(vec![KeyValue::new("who".to_owned(), "a test".to_owned())]))
        .build();
    let path = input(&folder, 5000, properties);
    let (before, after) = (footer(&path), footer(&sort(&path, "text,key")));
    let (from, to) = (before.file_metadata(), after.file_metadata());
    assert_eq!(from.schema(), to.schema());
    assert_eq!(from.key_value_metadata(), to.key_value_metadata());
    assert!(to.created_by().unwrap().starts_with("xsort version "));
    for (a, b) in before.row_group(0).columns().iter().zip(after.row_group(0).columns()) {
        let name = a.column_path().string();
        assert_eq!(a.compression(), b.compression(), "{name}");
        let data = |encoding: &Encoding| !matches!(encoding, Encoding::RLE);
        let encodings = |all: &mut dyn Iterator<Item = Encoding>| {
            let mut all: Vec<_> = all.filter(data).map(|each| format!("{each}")).collect();
            all.sort();
            all
        };
        assert_eq!(encodings(&mut a.encodings()), encodings(&mut b.encodings()), "{name}");
        assert_eq!(a.bloom_filter_offset().is_some(), b.bloom_filter_offset().is_some(), "{name}");
        assert!(b.column_index_offset().is_some() && b.offset_index_offset().is_some());
        assert!(b.statistics().is_some());
    }
    let text = after
        .row_group(0)
        .columns()
        .iter()
        .position(|column| *column.column_path() == ColumnPath::from("text"));
    assert!(after.row_group(0).column(text.unwrap()).bloom_filter_offset().is_some());
}

#[test]
fn the_order_is_told_where_it_is_the_formats() {
    let folder = tempfile::tempdir().unwrap();
    let path = input(&folder, 100, WriterProperties::builder().build());
    let column =
        |column_idx, descending, nulls_first| SortingColumn { column_idx, descending, nulls_first };
    for (by, told) in [
        ("text:desc,key:nulls-first", Some(vec![column(2, true, false), column(0, false, true)])),
        ("key,float,text", Some(vec![column(0, false, false)])),
        ("float,key", None),
    ] {
        let footer = footer(&sort(&path, by));
        assert_eq!(footer.row_group(0).sorting_columns(), told.as_ref(), "{by}");
    }
}

#[test]
fn pages_stay_of_their_version() {
    let folder = tempfile::tempdir().unwrap();
    for (version, page) in [
        (WriterVersion::PARQUET_1_0, PageType::DATA_PAGE),
        (WriterVersion::PARQUET_2_0, PageType::DATA_PAGE_V2),
    ] {
        let properties = WriterProperties::builder().set_writer_version(version).build();
        let output = sort(&input(&folder, 500, properties), "key");
        let options = ParquetMetaDataOptions::new().with_encoding_stats_as_mask(false);
        let reader = ParquetMetaDataReader::new().with_metadata_options(Some(options));
        let footer = reader.parse_and_finish(&File::open(output).unwrap()).unwrap();
        let pages = footer.row_group(0).column(0).page_encoding_stats().unwrap();
        assert!(pages.iter().any(|found| found.page_type == page), "{pages:?}");
    }
}

/// Readers that don't know the total order of floats ignore statistics that are said to be in it.
#[test]
fn floats_without_nans_are_in_the_order_by_type() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input.parquet");
    let numbers = |nan: f64| -> ArrayRef {
        let number = |row: i64| if row == 77 { nan } else { 0.5 - row as f64 };
        Arc::new((0..1000).map(|row| Some(number(row))).collect::<Float64Array>())
    };
    let floats: Float32Array = (0..1000).map(|row| Some(row as f32)).collect();
    let halves = arrow_cast::cast(&floats, &DataType::Float16).unwrap();
    let others: [(&str, ArrayRef); 5] = [
        ("plain", numbers(0.0)),
        ("nan", numbers(f64::NAN)),
        ("negative", numbers(-f64::NAN)),
        ("only", Arc::new(Float32Array::from(vec![f32::NAN; 1000]))),
        ("half", halves),
    ];
    let batch = with_keys(&mut Random::new(1), 1000, 0, &others);
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(300)).build();
    write(&path, &[batch], properties);
    let footer = footer(&sort(&path, "key"));
    let by_type = |leaf| {
        let order = footer.file_metadata().column_order(leaf);
        assert!(footer.row_group(0).column(leaf).statistics().is_some());
        matches!(order, ColumnOrder::TYPE_DEFINED_ORDER(_))
    };
    assert_eq!(
        (0..7).map(by_type).collect::<Vec<_>>(),
        [true, true, true, false, false, false, true]
    );
}

#[test]
fn row_groups_and_compression_are_as_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = input(&folder, 5000, WriterProperties::builder().build());
    let output = folder.path().join("sorted.parquet");
    let options = ColumnsOptions {
        codec: Some(Codec::Lz4),
        group_rows: Some(777),
        ..ColumnsOptions::new("key".parse().unwrap())
    };
    Columns::with_options(options, [&path]).memory(64 << 20).run(&output).unwrap();
    let footer = footer(&output);
    let rows: Vec<i64> = footer.row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    assert_eq!(rows, [777, 777, 777, 777, 777, 777, 338]);
    let columns = footer.row_groups().iter().flat_map(RowGroupMetaData::columns);
    assert!(columns.into_iter().all(|column| column.compression() == Compression::LZ4_RAW));
}

/// Floats are all different here, and texts are not.
#[test]
fn a_dictionary_that_was_given_up_is_tried_again_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = input(&folder, 9 * 80_000, WriterProperties::builder().build());
    let output = folder.path().join("sorted.parquet");
    let options =
        ColumnsOptions { group_rows: Some(80_000), ..ColumnsOptions::new("key".parse().unwrap()) };
    Columns::with_options(options, [&path]).memory(64 << 20).run(&output).unwrap();
    let footer = footer(&output);
    let dictionaries = |name: &str| -> Vec<bool> {
        let columns = footer.row_groups().iter().flat_map(RowGroupMetaData::columns);
        let own = columns.filter(|column| *column.column_path() == ColumnPath::from(name));
        own.map(|column| column.dictionary_page_offset().is_some()).collect()
    };
    let again = [true, false, false, false, false, false, false, false, true];
    assert_eq!((dictionaries("float"), dictionaries("text")), (again.to_vec(), vec![true; 9]));
}

#[test]
fn a_file_is_sorted_onto_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = input(&folder, 3000, WriterProperties::builder().build());
    let before = numbers(&read(&path));
    Columns::files([&path]).by("number:desc").unwrap().memory(64 << 20).run(&path).unwrap();
    let after = numbers(&read(&path));
    assert!(after.iter().rev().eq(&before) && after.len() == 3000);
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
}

#[test]
fn no_rows_are_a_file_without_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = input(&folder, 0, WriterProperties::builder().build());
    let output = sort(&path, "key");
    assert_eq!(read(&output).num_rows(), 0);
    assert_eq!(footer(&output).file_metadata().schema(), footer(&path).file_metadata().schema());
}
