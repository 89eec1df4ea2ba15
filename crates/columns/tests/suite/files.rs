//! Parquet files for tests, and what is in them.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_ord::sort::{SortColumn, lexsort_to_indices};
use arrow_schema::{Schema, SchemaRef, SortOptions};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use xsort_testing::Random;

/// Writes batches, with row groups of `group_rows` rows.
pub(crate) fn write(path: &Path, batches: &[RecordBatch], properties: WriterProperties) {
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(properties)).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.close().unwrap();
}

/// Random properties that any reader understands.
pub(crate) fn random_properties(random: &mut Random) -> WriterProperties {
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
        Compression::GZIP(parquet::basic::GzipLevel::default()),
    ];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    WriterProperties::builder()
        .set_compression(random.one_of(&compressions))
        .set_dictionary_enabled(random.one_in(2))
        .set_writer_version(random.one_of(&versions))
        .set_max_row_group_row_count(Some(1 + random.below(900)))
        .set_data_page_row_count_limit(1 + random.below(300))
        .set_write_batch_size(1 + random.below(64))
        .build()
}

/// Returns all rows of a file.
pub(crate) fn read(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = Arc::clone(reader.schema());
    let batches = reader.with_batch_size(8192).build().unwrap();
    let batches = batches.collect::<Result<Vec<_>, _>>().unwrap();
    concat_batches(&schema, &batches).unwrap()
}

/// Returns the footer of a file.
pub(crate) fn footer(path: &Path) -> Arc<ParquetMetaData> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    Arc::clone(reader.metadata())
}

/// Returns the rows of several files in the order of `keys`: columns with options.
pub(crate) fn expected(inputs: &[RecordBatch], keys: &[(ArrayRef, SortOptions)]) -> RecordBatch {
    let all = concat_batches(&inputs[0].schema(), inputs).unwrap();
    let rows = all.num_rows() as i64;
    let mut columns: Vec<SortColumn> = keys
        .iter()
        .map(|(values, options)| SortColumn { values: values.clone(), options: Some(*options) })
        .collect();
    // The sort of indices isn't stable.
    columns.push(SortColumn { values: Arc::new(Int64Array::from_iter(0..rows)), options: None });
    let order = lexsort_to_indices(&columns, None).unwrap();
    take_record_batch(&all, &order).unwrap()
}

/// Fails with the first row that differs.
pub(crate) fn assert_same(found: &RecordBatch, expected: &RecordBatch, context: &str) {
    assert_eq!(found.schema().fields(), expected.schema().fields(), "{context}");
    assert_eq!(found.num_rows(), expected.num_rows(), "{context}");
    for (at, (a, b)) in found.columns().iter().zip(expected.columns()).enumerate() {
        let name = found.schema().field(at).name().clone();
        if a.to_data() != b.to_data() {
            let row =
                (0..a.len()).find(|&row| a.slice(row, 1).to_data() != b.slice(row, 1).to_data());
            panic!("{context}: column {name} differs first in row {row:?}");
        }
    }
}

/// A batch with a key of few values, the number of each row, and other columns.
pub(crate) fn with_keys(
    random: &mut Random,
    rows: usize,
    first: i64,
    others: &[(&str, ArrayRef)],
) -> RecordBatch {
    let distinct = 1 + random.below(200) as i64;
    let key = |random: &mut Random| {
        (!random.one_in(9)).then(|| random.below(distinct as usize) as i64 - distinct / 2)
    };
    let key: Int64Array = (0..rows).map(|_| key(random)).collect();
    let number = Int64Array::from_iter(first..first + rows as i64);
    let mut columns: Vec<(String, ArrayRef)> =
        vec![("key".into(), Arc::new(key)), ("number".into(), Arc::new(number))];
    columns.extend(others.iter().map(|(name, array)| ((*name).to_owned(), array.clone())));
    let fields: Vec<_> = columns
        .iter()
        .map(|(name, array)| arrow_schema::Field::new(name, array.data_type().clone(), true))
        .collect();
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    RecordBatch::try_new(schema, columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

/// The numbers of the rows in a file, in their order.
pub(crate) fn numbers(batch: &RecordBatch) -> Vec<i64> {
    let at = batch.schema().index_of("number").unwrap();
    batch.column(at).as_primitive::<Int64Type>().values().to_vec()
}
