//! Finds the column whose pages can't be read.
//!
//! A reader of several columns doesn't tell which of them is damaged. So after an error each column
//! is read by itself, until one fails.

use crate::inputs::{Decoder, read_error};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::{ParquetError, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use xsort_extsort::Error;

/// Rows that are read at once.
const ROWS: usize = 256;

/// Returns the error of a row group in which one of the columns `roots` can't be read, for the
/// reason `error`.
pub(crate) fn find_damage(
    decoder: &Decoder,
    group: usize,
    roots: &[usize],
    error: &ParquetError,
) -> Error {
    let schema = decoder.metadata.parquet_schema();
    let leaves =
        (0..schema.num_columns()).filter(|&leaf| roots.contains(&schema.get_column_root_idx(leaf)));
    for leaf in leaves {
        // Unwind safety: everything that has been used is gone.
        let result = catch_unwind(AssertUnwindSafe(|| read_all(decoder, group, leaf)));
        let error = match result {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error,
            Err(_) => ParquetError::General("its pages contradict each other".into()),
        };
        let path = schema.column(leaf).path().string();
        return read_error(&decoder.file, error, &format!("column '{path}' of row group {group}"));
    }
    let error = ParquetError::General(crate::inputs::words(error));
    read_error(&decoder.file, error, &format!("row group {group}"))
}

fn read_all(decoder: &Decoder, group: usize, leaf: usize) -> Result<()> {
    let metadata = decoder.metadata.clone();
    let mask = ProjectionMask::leaves(metadata.parquet_schema(), [leaf]);
    let file = decoder.file.open().map_err(|error| ParquetError::General(error.to_string()))?;
    let rows = metadata.metadata().row_group(group).num_rows();
    let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
        .with_row_groups(vec![group])
        .with_projection(mask)
        .with_batch_size(ROWS)
        .build()?;
    let mut found = 0;
    for batch in batches {
        found += batch?.num_rows() as i64;
    }
    match found == rows {
        true => Ok(()),
        false => Err(ParquetError::General(format!("it has {found} of {rows} rows"))),
    }
}
