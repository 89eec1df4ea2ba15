//! Arrow's files and streams: in, out, and converted.

use crate::arrays::{all_types, random_array};
use crate::files::{assert_same, expected, read, with_keys};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, SchemaRef, SortOptions};
use arrow_select::concat::concat_batches;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_columns::{Codec, Columns, ColumnsOptions, InputFormat, OutputFormat};
use xsort_extsort::Error;
use xsort_testing::{Random, for_each_seed, quick_or_long};

fn write_file(
    path: &Path,
    batches: &[RecordBatch],
    compression: Option<arrow_ipc::CompressionType>,
) {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let schema = batches[0].schema();
    let mut writer =
        FileWriter::try_new_with_options(File::create(path).unwrap(), &schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

fn write_stream(path: &Path, batches: &[RecordBatch]) {
    let schema = batches[0].schema();
    let mut writer = StreamWriter::try_new(File::create(path).unwrap(), &schema).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

fn read_arrow(path: &Path) -> RecordBatch {
    let (schema, batches): (SchemaRef, Vec<RecordBatch>) =
        if path.extension().is_some_and(|end| end == "arrows") {
            let reader = StreamReader::try_new(File::open(path).unwrap(), None).unwrap();
            (reader.schema(), reader.map(Result::unwrap).collect())
        } else {
            let reader = FileReader::try_new(File::open(path).unwrap(), None).unwrap();
            (reader.schema(), reader.map(Result::unwrap).collect())
        };
    concat_batches(&schema, &batches).unwrap()
}

/// Types whose rows the oracle can take from arrays.
fn is_taken(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Union(..) | DataType::RunEndEncoded(..))
}

fn options(by: &str, output_format: OutputFormat) -> ColumnsOptions {
    let input_format = InputFormat::Arrow;
    ColumnsOptions { input_format, output_format, ..ColumnsOptions::new(by.parse().unwrap()) }
}

const BY_KEY: SortOptions = SortOptions { descending: true, nulls_first: false };

#[test]
fn every_type_survives() {
    for (number, data_type) in all_types().into_iter().filter(is_taken).enumerate() {
        let random = &mut Random::new(number as u64);
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("sorted.arrows");
        let rows = 100 + random.below(900);
        let values = random_array(&data_type, rows, random);
        let batch = with_keys(random, rows, 0, &[("value", values)]);
        let by_key = expected(std::slice::from_ref(&batch), &[(batch.column(0).clone(), BY_KEY)]);
        let file = folder.path().join("in.arrow");
        let lz4 = Some(arrow_ipc::CompressionType::LZ4_FRAME).filter(|_| random.one_in(2));
        write_file(&file, std::slice::from_ref(&batch), lz4);
        let stream = folder.path().join("in.arrows");
        let middle = rows / 3;
        write_stream(&stream, &[batch.slice(0, middle), batch.slice(middle, rows - middle)]);
        for input in [file, stream] {
            let memory = random.one_of(&[16 << 20, 256 << 20]);
            let options = options("key:desc", OutputFormat::ArrowStream);
            let columns = Columns::with_options(options, [&input]).memory(memory);
            let report = columns.run(&output).unwrap();
            assert_eq!(report.counted.count(), rows as u64);
            assert_same(&read_arrow(&output), &by_key, &format!("{data_type}"));
        }
    }
}

#[test]
fn formats_are_converted() {
    let folder = tempfile::tempdir().unwrap();
    let random = &mut Random::new(3);
    let types = [DataType::Utf8, DataType::LargeUtf8, DataType::Date32, DataType::Float64];
    let arrays = types.map(|data_type| random_array(&data_type, 5000, random));
    let names = ["a", "b", "c", "d"];
    let others: Vec<_> = names.into_iter().zip(arrays).collect();
    let batch = with_keys(random, 5000, 0, &others);
    let by_key = expected(std::slice::from_ref(&batch), &[(batch.column(0).clone(), BY_KEY)]);
    let input = folder.path().join("in.arrow");
    write_file(&input, &[batch.slice(0, 1234), batch.slice(1234, 5000 - 1234)], None);
    let sort = |name: &str, options: ColumnsOptions, input: &PathBuf| {
        let output = folder.path().join(name);
        Columns::with_options(options, [input]).memory(64 << 20).run(&output).unwrap();
        output
    };
    let parquet = sort("sorted.parquet", options("key:desc", OutputFormat::Parquet), &input);
    assert_same(&read(&parquet), &by_key, "to Parquet");
    let file = sort("sorted.arrow", options("key:desc", OutputFormat::ArrowFile), &input);
    assert_same(&read_arrow(&file), &by_key, "to a file");
    let packed = ColumnsOptions {
        codec: Some(Codec::Zstd),
        input_format: InputFormat::Parquet,
        ..options("key:desc", OutputFormat::ArrowFile)
    };
    let again = sort("again.arrow", packed, &parquet);
    assert_same(&read_arrow(&again), &by_key, "from Parquet");
}

#[test]
fn a_stream_is_read_from_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let batch = with_keys(&mut Random::new(3), 500, 0, &[]);
    let (path, output) = (folder.path().join("a"), folder.path().join("sorted.arrows"));
    write_stream(&path, std::slice::from_ref(&batch));
    let options = options("key", OutputFormat::ArrowStream);
    let columns = Columns::with_options(options, ["-"]).memory(64 << 20);
    columns.stdin(Box::new(File::open(&path).unwrap())).run(&output).unwrap();
    let by_key = [(batch.column(0).clone(), SortOptions { nulls_first: false, descending: false })];
    assert_same(&read_arrow(&output), &expected(&[batch], &by_key), "a pipe");
}

#[test]
fn changed_bytes_give_errors_and_no_panics() {
    let strings = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    for_each_seed("arrow damage", quick_or_long(6, 100), |seed| {
        let random = &mut Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let arrays = [&DataType::Utf8, &strings].map(|kind| random_array(kind, 300, random));
        let others: Vec<_> = ["a", "b"].into_iter().zip(arrays).collect();
        let batch = with_keys(random, 300, 0, &others);
        let (path, output) = (folder.path().join("a.arrow"), folder.path().join("sorted.arrows"));
        if random.one_in(2) {
            write_stream(&path, &[batch]);
        } else {
            let lz4 = Some(arrow_ipc::CompressionType::LZ4_FRAME).filter(|_| random.one_in(2));
            write_file(&path, &[batch], lz4);
        }
        let whole = fs::read(&path).unwrap();
        for _ in 0..40 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            if random.one_in(6) {
                bytes.truncate(random.below(bytes.len()));
            }
            fs::write(&path, &bytes).unwrap();
            let options = options("#1", OutputFormat::ArrowStream);
            match Columns::with_options(options, [&path]).memory(64 << 20).run(&output) {
                Ok(_) => fs::remove_file(&output).unwrap(),
                Err(Error::Panicked) => return Err("a thread panicked".into()),
                Err(_) if output.exists() => return Err("an error with an output".into()),
                Err(_) => {}
            }
        }
        Ok(())
    });
}

/// Zeros are compressed to a thousandth and less, so the size of a batch in the file says nothing.
#[test]
fn a_batch_that_becomes_large_is_refused_with_memory_that_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let zeros: ArrayRef = Arc::new(Int64Array::from(vec![0; 1 << 19]));
    let batch = with_keys(&mut Random::new(9), 1 << 19, 0, &[("zeros", zeros)]);
    let (path, output) = (folder.path().join("a.arrow"), folder.path().join("sorted.arrows"));
    write_file(&path, &[batch], Some(arrow_ipc::CompressionType::ZSTD));
    let sort = |memory: u64| {
        let options = options("zeros,number:desc", OutputFormat::ArrowStream);
        Columns::with_options(options, [&path]).memory(memory).run(&output)
    };
    let refused = sort(24 << 20).unwrap_err().to_string();
    let enough = refused.rsplit_once("-m ").and_then(|(_, size)| size.strip_suffix('M'));
    let enough: u64 = enough.unwrap_or_else(|| panic!("{refused}")).parse().unwrap();
    assert!(refused.contains("once it is decompressed") && !output.exists(), "{refused}");
    assert_eq!(sort(enough << 20).unwrap().counted.count(), 1 << 19);
}
