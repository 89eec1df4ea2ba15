//! Which row groups might be copied, by the footers alone.
//!
//! The statistics of the first key say which row groups seem not to overlap. They may be wrong or
//! missing, so that what they say only decides whether a look at the keys is worth it.

use crate::inputs::{Group, Input, Inputs};
use crate::options::{ColumnsOptions, OutputFormat};
use crate::overlaps::disjoint;
use crate::physical::{is_decimal, is_unsigned};
use crate::properties::compression;
use crate::sort_plan::SortPlan;
use crate::write_sorted::full_group_rows;
use parquet::basic::{Compression, Type as PhysicalType};
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, ParquetStatisticsPolicy,
    RowGroupMetaData,
};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use xsort_extsort::Error;

/// A row group of fewer than one in `ROWS_SHARE` rows of a full one is copied only if it has
/// `BYTES_MIN` bytes.
const ROWS_SHARE: usize = 4;
const BYTES_MIN: u64 = 16 << 20;
/// One in `COPIED_SHARE` bytes of the inputs must be copied at least.
const COPIED_SHARE: u64 = 4;

/// Returns whether the result has all rows of the inputs in the form that these have.
pub(crate) fn keeps_all_rows(options: &ColumnsOptions) -> bool {
    options.output_format == OutputFormat::Parquet
        && options.codec.is_none()
        && options.unique.is_none()
        && options.rows_max.is_none()
        && options.shuffle.is_none()
        && !options.counts
}

/// Returns how many bytes of these row groups must be copied at least, to be worth a look at all
/// keys.
pub(crate) fn enough_bytes(groups: &[Group]) -> u64 {
    (groups.iter().map(|group| group.bytes).sum::<u64>() / COPIED_SHARE).max(1)
}

/// Returns, for each of `groups`, whether its bytes may be a part of the output.
pub(crate) fn copyable(
    plan: &SortPlan,
    inputs: &Inputs,
    groups: &[Group],
    file_bytes: Option<u64>,
) -> Result<Vec<bool>, Error> {
    let written = SchemaDescriptor::new(inputs.written_schema(&plan.keys.leaves)?);
    let full_rows = full_group_rows(&plan.options, inputs);
    let first = inputs.first().footer.row_groups().first();
    let is_input_copyable = |input: &Input| {
        !input.file.is_object()
            && input.descriptor().columns() == written.columns()
            && input.footer.file_metadata().column_orders().is_some()
    };
    let inputs_copyable: Vec<bool> = inputs.all.iter().map(is_input_copyable).collect();
    let is_copyable = |group: &Group| {
        let input = &inputs.all[group.input];
        let columns = input.footer.row_group(group.index).columns();
        let has_size =
            group.rows.saturating_mul(ROWS_SHARE) >= full_rows || group.bytes >= BYTES_MIN;
        let fits = plan.options.group_rows.is_none_or(|most| group.rows <= most)
            && file_bytes.is_none_or(|most| group.bytes <= most);
        // A first input without row groups doesn't say how columns are written.
        let firsts = first.map(RowGroupMetaData::columns).unwrap_or_default();
        has_size
            && fits
            && firsts.len() == columns.len()
            && inputs_copyable[group.input]
            && columns.iter().zip(firsts).all(|(column, first)| {
                is_written_alike(column, first) && is_whole(column, group, input.file.bytes)
            })
    };
    Ok(groups.iter().map(is_copyable).collect())
}

/// Returns whether a column is compressed as in the output, and has a Bloom filter where that has.
fn is_written_alike(column: &ColumnChunkMetaData, first: &ColumnChunkMetaData) -> bool {
    column.compression() != Compression::LZ4
        && column.compression() == compression(first)
        && (column.bloom_filter_offset().is_some() || first.bloom_filter_offset().is_none())
}

/// Returns whether the footer says where a column is, and that it has all rows.
fn is_whole(column: &ColumnChunkMetaData, group: &Group, file_bytes: u64) -> bool {
    let data = column.data_page_offset();
    let begin = column.dictionary_page_offset().unwrap_or(data);
    let is_flat = column.column_descr().max_rep_level() == 0;
    begin >= 4
        && begin <= data
        && begin.checked_add(column.compressed_size()).is_some_and(|end| end as u64 <= file_bytes)
        && column.num_values() >= 0
        && (!is_flat || column.num_values() == group.rows as i64)
}

/// Returns which of the `copyable` ones of `groups` are a largest number that don't seem to overlap
/// each other, by the statistics of the first key. Row groups without statistics are among them.
pub(crate) fn seem_disjoint(
    plan: &SortPlan,
    inputs: &Inputs,
    groups: &[Group],
    copyable: &[bool],
) -> Result<Vec<bool>, Error> {
    let Some(leaf) = plan.keys.leaves.first().map(|leaves| leaves.start) else {
        return Ok(vec![false; groups.len()]);
    };
    let options = plan.by[0].options();
    let nulls_are_least = options.nulls_first != options.descending;
    let mut ranges = Vec::with_capacity(groups.len());
    for (number, input) in inputs.all.iter().enumerate() {
        let options = ParquetMetaDataOptions::new()
            .with_column_stats_policy(ParquetStatisticsPolicy::skip_except(&[leaf]))
            .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
        let reader = ParquetMetaDataReader::new().with_metadata_options(Some(options));
        let footer = input.footer_with(reader)?;
        for group in groups.iter().filter(|group| group.input == number) {
            ranges.push(bounds(footer.row_group(group.index).column(leaf), nulls_are_least));
        }
    }
    let mut seem_disjoint = copyable.to_vec();
    let (mut at, mut known) = (Vec::new(), Vec::new());
    for (number, range) in ranges.into_iter().enumerate().filter(|&(number, _)| copyable[number]) {
        if let Some(range) = range {
            at.push(number);
            known.push(range);
        }
    }
    at.into_iter().zip(disjoint(&known)).for_each(|(at, is_chosen)| seem_disjoint[at] = is_chosen);
    Ok(seem_disjoint)
}

/// A value of a column, or what is less or greater than all values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Bound {
    Least,
    Number(u64),
    Bytes(Vec<u8>),
    Greatest,
}

/// Returns the least and the greatest value of a column in ascending order, if its statistics say
/// them.
fn bounds(column: &ColumnChunkMetaData, nulls_are_least: bool) -> Option<[Bound; 2]> {
    let statistics = column.statistics()?;
    let null = || if nulls_are_least { Bound::Least } else { Bound::Greatest };
    let nulls = statistics.null_count_opt().unwrap_or(0);
    if nulls > 0 && nulls == column.num_values() as u64 {
        return Some([null(), null()]);
    }
    let least = bound(statistics.min_bytes_opt()?, column.column_descr())?;
    let greatest = bound(statistics.max_bytes_opt()?, column.column_descr())?;
    Some(match (nulls, nulls_are_least) {
        (0, _) => [least, greatest],
        (_, true) => [null(), greatest],
        (_, false) => [least, null()],
    })
}

/// Returns a value that statistics have as bytes.
fn bound(bytes: &[u8], leaf: &ColumnDescriptor) -> Option<Bound> {
    const SIGN: u64 = 1 << 63;
    let info = leaf.get_basic_info();
    // Unsigned numbers of 32 bits keep their order if they are extended as signed ones.
    let whole = |value: i64| if is_unsigned(info) { value as u64 } else { value as u64 ^ SIGN };
    let float = |value: f64| match value.to_bits() {
        bits if bits & SIGN != 0 => !bits,
        bits => bits | SIGN,
    };
    Some(match leaf.physical_type() {
        PhysicalType::BOOLEAN => Bound::Number(u64::from(*bytes.first()?)),
        PhysicalType::INT32 => {
            Bound::Number(whole(i64::from(i32::from_le_bytes(bytes.try_into().ok()?))))
        }
        PhysicalType::INT64 => Bound::Number(whole(i64::from_le_bytes(bytes.try_into().ok()?))),
        PhysicalType::FLOAT => {
            Bound::Number(float(f64::from(f32::from_le_bytes(bytes.try_into().ok()?))))
        }
        PhysicalType::DOUBLE => Bound::Number(float(f64::from_le_bytes(bytes.try_into().ok()?))),
        PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            let mut bytes = bytes.to_vec();
            if is_decimal(info) {
                *bytes.first_mut()? ^= 0x80;
            }
            Bound::Bytes(bytes)
        }
        PhysicalType::INT96 => return None,
    })
}
