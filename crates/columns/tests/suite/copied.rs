//! Row groups that are copied without being decoded, beside a sort of all rows.

use crate::files::{assert_same, expected, footer, numbers, read, write};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SortOptions};
use parquet::basic::{Compression, Encoding};
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::{
    PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use xsort::{Job, Resources};
use xsort_columns::{Columns, ColumnsOptions};
use xsort_extsort::keyed::KeyedReport;
use xsort_extsort::{Error, Unobserved};
use xsort_table::TableOutput;
use xsort_testing::{Random, for_each_seed, quick_or_long};

/// Rows of a row group.
const ROWS: usize = 400;

/// A batch with these keys, a second key, the number of each row from `first` on, and a text.
fn batch(keys: &[Option<i64>], seconds: &[i64], first: i64) -> RecordBatch {
    let number = Int64Array::from_iter(first..first + keys.len() as i64);
    let text = (0..keys.len()).map(|row| (row % 7 > 0).then(|| format!("text {}", row % 50)));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("key", Arc::new(Int64Array::from(keys.to_vec()))),
        ("second", Arc::new(Int64Array::from(seconds.to_vec()))),
        ("number", Arc::new(number)),
        ("text", Arc::new(text.collect::<StringArray>())),
    ];
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let columns = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROWS))
        .set_data_page_row_count_limit(70)
        .set_write_batch_size(10)
}

/// Files in a folder, and their rows.
struct Files {
    folder: TempDir,
    paths: Vec<PathBuf>,
    batches: Vec<RecordBatch>,
}

impl Files {
    fn new() -> Files {
        Files { folder: tempfile::tempdir().unwrap(), paths: Vec::new(), batches: Vec::new() }
    }

    fn rows(&self) -> i64 {
        self.batches.iter().map(|batch| batch.num_rows() as i64).sum()
    }

    /// Adds a file of rows with these keys, whose second keys are the numbers of the rows.
    fn add(&mut self, keys: impl IntoIterator<Item = i64>, properties: WriterPropertiesBuilder) {
        let keys: Vec<Option<i64>> = keys.into_iter().map(Some).collect();
        let seconds: Vec<i64> = (0..keys.len() as i64).collect();
        self.add_rows(batch(&keys, &seconds, self.rows()), properties);
    }

    fn add_rows(&mut self, rows: RecordBatch, properties: WriterPropertiesBuilder) {
        let path = self.folder.path().join(format!("{}.parquet", self.paths.len()));
        write(&path, std::slice::from_ref(&rows), properties.build());
        self.paths.push(path);
        self.batches.push(rows);
    }

    fn output(&self) -> PathBuf {
        self.folder.path().join("sorted.parquet")
    }

    fn sorting(&self, by: &str) -> Columns {
        let options =
            ColumnsOptions { group_rows: Some(ROWS), ..ColumnsOptions::new(by.parse().unwrap()) };
        Columns::with_options(options, &self.paths)
    }

    /// Sorts, and compares with a sort of all rows. Returns the number of copied row groups.
    fn sort(&self, by: &str) -> u64 {
        let report = self.sorting(by).run(self.output()).unwrap();
        self.check(by, &report);
        report.copied_row_groups.unwrap_or(0)
    }

    fn check(&self, by: &str, report: &KeyedReport) {
        assert_eq!(report.counted.count(), self.rows() as u64);
        assert_eq!(report.written_bytes, self.output().metadata().unwrap().len());
        let all = arrow_select::concat::concat_batches(&self.batches[0].schema(), &self.batches);
        let all = all.unwrap();
        let key = |key: &str| {
            let mut words = key.split(':');
            let column = all.column_by_name(words.next().unwrap()).unwrap().clone();
            let words: Vec<&str> = words.collect();
            let (descending, nulls_first) =
                (words.contains(&"desc"), words.contains(&"nulls-first"));
            (column, SortOptions { descending, nulls_first })
        };
        let keys: Vec<_> = by.split(',').map(key).collect();
        assert_same(&read(&self.output()), &expected(&self.batches, &keys), by);
    }
}

fn full_footer(path: &Path) -> ParquetMetaData {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    reader.parse_and_finish(&File::open(path).unwrap()).unwrap()
}

/// The bytes of a column of a row group.
fn chunk(path: &Path, group: usize, leaf: usize) -> Vec<u8> {
    let (from, bytes) = footer(path).row_group(group).column(leaf).byte_range();
    fs::read(path).unwrap()[from as usize..(from + bytes) as usize].to_vec()
}

#[test]
fn files_in_order_are_copied_with_all_their_pages() {
    let mut files = Files::new();
    files.add(2000..3600, properties().set_bloom_filter_enabled(true));
    files.add(0..1200, properties().set_bloom_filter_enabled(true));
    assert_eq!(files.sort("key"), 7);
    let output = files.output();
    let (first, second, found) =
        (full_footer(&files.paths[1]), full_footer(&files.paths[0]), full_footer(&output));
    let origins = (0..3).map(|group| (&files.paths[1], &first, group));
    let origins = origins.chain((0..4).map(|group| (&files.paths[0], &second, group)));
    assert_eq!(found.num_row_groups(), 7);
    for (at, (path, footer, group)) in origins.enumerate() {
        let (old, new) = (footer.row_group(group), found.row_group(at));
        let sorting = new.sorting_columns().unwrap();
        assert_eq!((sorting[0].column_idx, sorting[0].descending), (0, false));
        for leaf in 0..4 {
            assert_eq!(chunk(path, group, leaf), chunk(&output, at, leaf));
            let (old, new) = (old.column(leaf), new.column(leaf));
            assert_eq!(old.statistics(), new.statistics());
            assert_eq!(old.page_encoding_stats_mask(), new.page_encoding_stats_mask());
            assert_eq!(old.definition_level_histogram(), new.definition_level_histogram());
            let filter = |path: &Path, column| {
                let file = File::open(path).unwrap();
                Sbbf::read_from_column_chunk(column, &file).unwrap().unwrap()
            };
            let (old, new) = (filter(path, old), filter(&output, new));
            assert!((0..5000_i64).all(|value| old.check(&value) == new.check(&value)));
        }
        let indexes = [footer.page_index_for_row_group(group), found.page_index_for_row_group(at)];
        for leaf in 0..4 {
            let [old, new] = [0, 1].map(|at| indexes[at].column_index(leaf).unwrap());
            assert_eq!(old, new);
            let [old, new] =
                [0, 1].map(|at| &indexes[at].offset_index(leaf).unwrap().page_locations);
            let begin = |footer: &ParquetMetaData, group| {
                footer.row_group(group).column(leaf).byte_range().0 as i64
            };
            for (page, (old, new)) in old.iter().zip(new).enumerate() {
                let from = (old.offset - begin(footer, group), new.offset - begin(&found, at));
                assert_eq!(from.0, from.1, "page {page}");
                assert_eq!(old.first_row_index, new.first_row_index);
            }
        }
    }
}

#[test]
fn rows_out_of_order_are_sorted_between_copied_row_groups() {
    let mut files = Files::new();
    let middle = (1200..1600).rev();
    files.add((0..1200).chain(middle).chain(1600..3000), properties());
    assert_eq!(files.sort("key"), 7);
    let found = footer(&files.output());
    assert_eq!(found.row_group(3).num_rows(), 400);
    // Rows of another file fall into two of the row groups.
    files.add([500, 501, 2100, 5000, -5], properties());
    assert_eq!(files.sort("key"), 5);
    assert_eq!(files.sort("key:desc"), 0);
}

#[test]
fn rows_in_descending_order_are_copied() {
    let mut files = Files::new();
    files.add((0..1200).rev(), properties());
    files.add((1200..2000).rev(), properties());
    assert_eq!(files.sort("key:desc"), 5);
    assert_eq!(files.sort("key"), 0);
    assert_eq!(files.sort("second:desc,key"), 0);
}

#[test]
fn rows_with_equal_keys_keep_the_order_of_the_inputs() {
    // 7 is the last key of one file, and the first one of the other.
    let (low, high) = (|| (0..400).map(|row| row / 50), || (0..400).map(|row| 7 + row / 50));
    let mut files = Files::new();
    files.add(low(), properties());
    files.add(high(), properties());
    assert_eq!(files.sort("key"), 2);
    let mut files = Files::new();
    files.add(high(), properties());
    files.add(low(), properties());
    assert_eq!(files.sort("key"), 0);
    // Also if all rows are equal.
    let mut files = Files::new();
    (0..3).for_each(|_| files.add((0..800).map(|_| 5), properties()));
    assert_eq!(files.sort("key"), 6);
    assert_eq!(numbers(&read(&files.output())), (0..2400).collect::<Vec<_>>());
}

#[test]
fn later_keys_decide_where_the_first_one_is_equal() {
    let mut files = Files::new();
    let rows = |from: i64, first: i64| {
        let keys: Vec<_> = (from..from + 800).map(|row| Some(row / 600)).collect();
        let seconds: Vec<_> = (from..from + 800).map(|row| row % 600).collect();
        batch(&keys, &seconds, first)
    };
    files.add_rows(rows(800, 0), properties());
    files.add_rows(rows(0, 800), properties());
    assert_eq!(files.sort("key,second"), 4);
    // By the first key alone, a row group in the middle has a row too many for its neighbours.
    assert!(files.sort("key") < 4);
    assert_eq!(files.sort("key,second:desc"), 0);
}

#[test]
fn nulls_are_at_the_end_that_is_asked_for() {
    let keys = |nulls_first: bool| {
        let nulls = std::iter::repeat_n(None, 900);
        let values = (0..1500).map(Some);
        let keys: Vec<Option<i64>> = match nulls_first {
            true => nulls.chain(values).collect(),
            false => values.chain(nulls).collect(),
        };
        keys
    };
    for (nulls_first, by) in [(true, "key:nulls-first"), (false, "key")] {
        let mut files = Files::new();
        let keys = keys(nulls_first);
        files.add_rows(batch(&keys, &vec![0; keys.len()], 0), properties());
        assert_eq!(files.sort(by), 6, "{by}");
    }
}

/// Some readers take the bounds of a file from those row groups that have statistics.
#[test]
fn row_groups_without_statistics_get_some() {
    let mut files = Files::new();
    files.add(0..1200, properties().set_statistics_enabled(EnabledStatistics::None));
    files.add(1200..2400, properties());
    assert_eq!(files.sort("key"), 3);
    let footer = footer(&files.output());
    let columns = footer.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let mut bounds = columns.map(|column| column.statistics().unwrap().min_bytes_opt());
    assert!(bounds.all(|bound| bound.is_some()));
}

#[test]
fn keys_that_are_long_are_sorted_within_the_memory() {
    let files = Files::new();
    let texts = |at: usize| format!("{at:05}{}", "x".repeat(40_000));
    let text: StringArray = (0..60).map(|at| Some(texts(at))).collect();
    let rows = RecordBatch::try_from_iter([("key", Arc::new(text) as ArrayRef)]).unwrap();
    let path = files.folder.path().join("long.parquet");
    let groups = properties().set_max_row_group_row_count(Some(2));
    write(&path, &[rows], groups.build());
    let options =
        ColumnsOptions { group_rows: Some(4), ..ColumnsOptions::new("key".parse().unwrap()) };
    let report = Columns::with_options(options, [&path]).memory(24 << 20).run(files.output());
    assert_eq!(report.unwrap().copied_row_groups, None);
    assert_eq!(read(&files.output()).num_rows(), 60);
}

/// Replaces the statistics that say `from` by such that say `to`.
fn lie(path: &Path, from: i64, to: i64) {
    let mut bytes = fs::read(path).unwrap();
    let footer = {
        let length: [u8; 4] = bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap();
        bytes.len() - 8 - u32::from_le_bytes(length) as usize
    };
    let mut count = 0;
    for at in footer..bytes.len() - 8 {
        if bytes[at..at + 8] == from.to_le_bytes() {
            bytes[at..at + 8].copy_from_slice(&to.to_le_bytes());
            count += 1;
        }
    }
    assert!(count > 0, "{from}");
    fs::write(path, bytes).unwrap();
}

#[test]
fn statistics_that_lie_have_no_consequence() {
    // The second file says that it has rows up to 2000000 only.
    let mut files = Files::new();
    files.add((0..800).map(|row| 1_000_000 + row), properties());
    files.add((0..400).map(|row| 3_000_000 + row), properties());
    files.add((0..399).map(|row| 900_000 + row).chain([3_000_100]), properties());
    assert_eq!(files.sort("key"), 2);
    lie(&files.paths[2], 3_000_100, 950_000);
    assert_eq!(files.sort("key"), 2);
    // A row group that isn't in order, and says so neither.
    let mut files = Files::new();
    files.add((0..1200).map(|row| (1_000_000 + row) ^ 1), properties());
    assert_eq!(files.sort("key"), 0);
}

#[test]
fn other_options_need_all_rows() {
    let mut files = Files::new();
    files.add(0..1200, properties());
    let mut options = ColumnsOptions::new("key".parse().unwrap());
    options.group_rows = Some(ROWS);
    let copied = |options: &ColumnsOptions| {
        let columns = Columns::with_options(options.clone(), &files.paths);
        columns.run(files.output()).unwrap().copied_row_groups.unwrap_or(0)
    };
    assert_eq!(copied(&options), 3);
    assert_eq!(copied(&ColumnsOptions { merges: true, ..options.clone() }), 3);
    assert_eq!(copied(&ColumnsOptions { rows_max: Some(5000), ..options.clone() }), 0);
    assert_eq!(copied(&ColumnsOptions { shuffle: Some(5), ..options.clone() }), 0);
    let keep = Some(xsort_table::Keep::First);
    assert_eq!(copied(&ColumnsOptions { unique: keep, ..options.clone() }), 0);
    let codec = Some(xsort_columns::Codec::Zstd);
    assert_eq!(copied(&ColumnsOptions { codec, ..options.clone() }), 0);
    // A row group has at most as many rows as is asked for, and at least a quarter of it.
    assert_eq!(copied(&ColumnsOptions { group_rows: Some(399), ..options.clone() }), 0);
    assert_eq!(copied(&ColumnsOptions { group_rows: Some(1600), ..options.clone() }), 3);
    assert_eq!(copied(&ColumnsOptions { group_rows: Some(1601), ..options.clone() }), 0);
}

#[test]
fn a_merge_refuses_a_file_out_of_order() {
    let mut files = Files::new();
    files.add((400..1200).chain(0..400), properties());
    let error = files.sorting("key").merge().run(files.output()).unwrap_err();
    assert!(matches!(error, Error::Unordered { .. }), "{error}");
}

#[test]
fn files_that_differ_in_form_are_sorted() {
    let mut files = Files::new();
    files.add(0..800, properties());
    files.add(800..1600, properties().set_compression(Compression::LZ4_RAW));
    assert_eq!(files.sort("key"), 2);
    assert_eq!(footer(&files.output()).row_group(3).column(0).compression(), Compression::SNAPPY);
}

#[test]
fn a_damaged_page_is_an_error() {
    let mut files = Files::new();
    files.add(0..1200, properties().set_write_page_header_statistics(true));
    let (from, bytes) = footer(&files.paths[0]).row_group(1).column(3).byte_range();
    let whole = fs::read(&files.paths[0]).unwrap();
    let mut errors = 0;
    for at in (from..from + bytes).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at as usize] ^= 0x55;
        fs::write(&files.paths[0], damaged).unwrap();
        match files.sorting("key").run(files.output()) {
            Ok(_) => fs::remove_file(files.output()).unwrap(),
            Err(error) => {
                let (error, what) = (error.to_string(), "column 'text' of row group 1 is damaged");
                assert!(error.contains(what), "{error}");
                assert!(!files.output().exists());
                errors += 1;
            }
        }
    }
    assert!(errors > 0);
}

#[test]
fn changed_bytes_give_errors_and_no_panics() {
    for_each_seed("damage of copies", quick_or_long(6, 100), |seed| {
        let random = &mut Random::new(seed);
        let mut files = Files::new();
        files.add(0..1200, properties().set_bloom_filter_enabled(random.one_in(2)));
        let whole = fs::read(&files.paths[0]).unwrap();
        for _ in 0..80 {
            let mut bytes = whole.clone();
            // Page indexes and the footer are at the end.
            let from = whole.len() - random.one_of(&[700, 3000, 8000]).min(whole.len());
            for _ in 0..1 + random.below(3) {
                let at = from + random.below(bytes.len() - from);
                bytes[at] ^= 1 << random.below(8);
            }
            fs::write(&files.paths[0], &bytes).unwrap();
            match files.sorting("key").memory(64 << 20).run(files.output()) {
                Ok(_) => fs::remove_file(files.output()).unwrap(),
                Err(Error::Panicked) => return Err("a thread panicked".into()),
                Err(_) if files.output().exists() => return Err("an error with an output".into()),
                Err(_) => {}
            }
        }
        Ok(())
    });
}

#[test]
fn several_files_get_whole_row_groups() {
    let mut files = Files::new();
    files.add((0..4000).chain((4000..4400).rev()).chain(4400..8000), properties());
    let group_bytes = footer(&files.paths[0]).row_group(0).compressed_size() as u64;
    let resources = Resources { memory: Some((64 << 20).into()), ..Resources::default() };
    let columns = files.sorting("key").resources(resources);
    let path = files.output();
    let (mut job, _) = begin(&files.paths);
    let output = TableOutput::Parts { path: &path, part_bytes: group_bytes * 4, sync: false };
    let report = columns.run_in(&mut job, &Unobserved, &path, output).unwrap();
    assert_eq!(report.copied_row_groups, Some(19));
    let parts = (1..).map(|part| files.folder.path().join(format!("sorted-{part:05}.parquet")));
    let parts: Vec<PathBuf> = parts.take_while(|path| path.exists()).collect();
    assert!((4..7).contains(&parts.len()), "{}", parts.len());
    let found: Vec<i64> = parts.iter().flat_map(|part| numbers(&read(part))).collect();
    let mut expected: Vec<i64> = (0..8000).collect();
    expected[4000..4400].reverse();
    assert_eq!(found, expected);
    // A part that a row group alone exceeds is divided, so that row group can't be copied.
    let output = TableOutput::Parts { path: &path, part_bytes: group_bytes / 2, sync: false };
    let report = columns.run_in(&mut job, &Unobserved, &path, output).unwrap();
    assert_eq!(report.copied_row_groups, None);
}

fn begin(paths: &[PathBuf]) -> (Job, ()) {
    let setup = xsort::Setup::default();
    let (job, _observer) = setup.begin(paths, None).unwrap();
    (job, ())
}

#[test]
fn random_files_are_sorted_as_without_copies() {
    let mut copied = 0;
    for_each_seed("copied row groups", quick_or_long(40, 400), |seed| {
        let random = &mut Random::new(seed);
        let mut files = Files::new();
        let (step, nulls) = (1 + random.below(3) as i64, random.one_in(3));
        let descending = random.one_in(3);
        for _ in 0..1 + random.below(3) {
            let mut groups: Vec<RecordBatch> = Vec::new();
            for _ in 0..1 + random.below(5) {
                // Row groups of few values have equal ends often.
                let from = random.below(12) as i64 * 20 / step;
                let mut keys: Vec<Option<i64>> = (0..ROWS as i64)
                    .map(|row| (!nulls || row < 390).then_some(from + row / (21 * step)))
                    .collect();
                if descending {
                    keys.reverse();
                }
                if random.one_in(5) {
                    keys.swap(0, 399);
                }
                let seconds: Vec<i64> = (0..ROWS).map(|_| random.below(3) as i64).collect();
                let first = files.rows() + (groups.len() * ROWS) as i64;
                groups.push(batch(&keys, &seconds, first));
            }
            let all = arrow_select::concat::concat_batches(&groups[0].schema(), &groups).unwrap();
            let encoding = random.one_of(&[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED]);
            let number = "number".into();
            files.add_rows(all, properties().set_column_encoding(number, encoding));
        }
        let by = match (descending, random.one_in(4)) {
            (true, true) => "key:desc:nulls-first,second",
            (true, false) => "key:desc:nulls-first",
            (false, true) => "key,second",
            (false, false) => "key",
        };
        let resources = Resources {
            memory: Some(random.one_of(&[24 << 20, 96 << 20, 1 << 30]).into()),
            threads: Some(1 + random.below(5)),
            ..Resources::default()
        };
        let report = files.sorting(by).resources(resources).run(files.output()).unwrap();
        files.check(by, &report);
        copied += report.copied_row_groups.unwrap_or(0);
        Ok(())
    });
    assert!(copied > 10, "{copied}");
}

#[test]
fn texts_and_lists_are_keys_and_values() {
    let mut files = Files::new();
    let list = |row: i64| (row % 3 > 0).then(|| (0..row % 4).map(Some).collect::<Vec<_>>());
    let lists = arrow_array::ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(
        (0..1200).map(list),
    );
    let text: StringArray = (0..1200).map(|row| Some(format!("{row:06}"))).collect();
    let columns: [(&str, ArrayRef); 2] = [("key", Arc::new(text)), ("list", Arc::new(lists))];
    let rows = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    );
    let rows = rows.unwrap();
    assert_eq!(rows.schema().field(0).data_type(), &DataType::Utf8);
    files.add_rows(rows, properties());
    assert_eq!(files.sort("key"), 3);
}
