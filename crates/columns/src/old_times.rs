//! Times of the old type INT96: a day and nanoseconds of the day.
//!
//! They are decoded as nanoseconds since 1970, which reach from 1677 to 2262. Others would come out
//! as wrong times, so they are found and refused.

use crate::inputs::{Decoder, read_error};
use parquet::basic::Type;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{Int96, Int96Type};
use parquet::errors::Result;
use parquet::file::reader::SerializedPageReader;
use std::sync::Arc;
use xsort_extsort::Error;

/// The day 1970-01-01, as Julian days count.
const EPOCH: i128 = 2_440_588;
const NANOSECONDS_OF_DAY: i128 = 86_400_000_000_000;
/// Values that are read at once.
const VALUES: usize = 4096;

/// Fails if a row group has times in the columns `roots` that nanoseconds can't hold.
///
/// # Errors
/// [`Error::Input`] with the column.
pub(crate) fn check_old_times(
    decoder: &Decoder,
    group: usize,
    roots: &[usize],
) -> Result<(), Error> {
    let schema = decoder.metadata.parquet_schema();
    for leaf in 0..schema.num_columns() {
        let column = schema.column(leaf);
        let is_old = column.physical_type() == Type::INT96;
        if !is_old || !roots.contains(&schema.get_column_root_idx(leaf)) {
            continue;
        }
        let name = format!("column '{}' of row group {group}", column.path().string());
        match has_far_times(decoder, group, leaf) {
            Ok(false) => {}
            Ok(true) => {
                return Err(decoder.file.error(format!(
                    "{name} has times before 1677 or after 2262 in the old type INT96, which \
                     aren't sorted: write the file with the type TIMESTAMP first"
                )));
            }
            Err(error) => return Err(read_error(&decoder.file, error, &name)),
        }
    }
    Ok(())
}

fn has_far_times(decoder: &Decoder, group: usize, leaf: usize) -> Result<bool> {
    let metadata = decoder.metadata.metadata();
    let group = metadata.row_group(group);
    let open = decoder.file.open();
    let open = open.map_err(|error| parquet::errors::ParquetError::External(Box::new(error)))?;
    let rows = group.num_rows() as usize;
    let pages = SerializedPageReader::new(Arc::new(open), group.column(leaf), rows, None)?;
    let column = metadata.file_metadata().schema_descr().column(leaf);
    let mut reader = ColumnReaderImpl::<Int96Type>::new(column, Box::new(pages));
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        values.clear();
        definitions.clear();
        repetitions.clear();
        let read = reader.read_records(
            VALUES,
            Some(&mut definitions),
            Some(&mut repetitions),
            &mut values,
        )?;
        if values.iter().any(is_far) {
            return Ok(true);
        }
        if read.0 == 0 {
            return Ok(false);
        }
    }
}

fn is_far(time: &Int96) -> bool {
    let words = time.data();
    let nanoseconds = (i128::from(words[1]) << 32) + i128::from(words[0]);
    let days = i128::from(words[2] as i32) - EPOCH;
    i64::try_from(days * NANOSECONDS_OF_DAY + nanoseconds).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_nanoseconds_cannot_hold_are_far() {
        let time = |days: i32| {
            let mut time = Int96::new();
            time.set_data(0, 0, (days + 2_440_588) as u32);
            time
        };
        // 1677-09-21 and 2262-04-11 are the ends.
        for (days, expected) in
            [(0, false), (-106_751, false), (-106_753, true), (106_751, false), (106_752, true)]
        {
            assert_eq!(is_far(&time(days)), expected, "{days}");
        }
    }
}
