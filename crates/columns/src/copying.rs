//! Copies a row group to the output without decoding it.
//!
//! Its statistics, Bloom filters and the indexes of its pages are copied, too. The bytes are read
//! in order, and the pages are checked as they pass.

use crate::copied::CopiedGroup;
use crate::errors::of_writing;
use crate::file::{OpenInput, ReadAt};
use crate::inputs::read_error;
use crate::page_check::{CheckedPages, ChunkError};
use bytes::Bytes;
use parquet::bloom_filter::Sbbf;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::SerializedRowGroupWriter;
use std::io::{self, BufReader, Write};
use xsort_extsort::Error;

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

/// Appends all columns of a row group to an empty one.
///
/// # Errors
/// [`Error::Input`] if a column is damaged; those of writing.
pub(crate) fn copy_columns<W: Write + Send>(
    to: &mut SerializedRowGroupWriter<'_, W>,
    copied: &CopiedGroup,
) -> Result<(), Error> {
    let group = copied.group;
    let indexes = copied.footer.page_index_for_row_group(group.index);
    let input = copied.file.open()?;
    for (leaf, metadata) in copied.footer.row_group(group.index).columns().iter().enumerate() {
        // A Bloom filter that can't be read is left out: no row depends on it.
        let bloom_filter = Sbbf::read_from_column_chunk(metadata, &input).ok().flatten();
        let result = ColumnCloseResult {
            bytes_written: metadata.compressed_size() as u64,
            rows_written: group.rows as u64,
            metadata: metadata.clone(),
            bloom_filter,
            column_index: indexes.column_index(leaf).cloned(),
            offset_index: indexes.offset_index(leaf).cloned(),
        };
        let chunk = Chunk { input: &input, metadata };
        to.append_column(&chunk, result).map_err(|error| {
            let column = metadata.column_path().string();
            of_copying(error, copied, &format!("column '{column}' of row group {}", group.index))
        })?;
    }
    Ok(())
}

/// Returns an error of copying `what`: of reading it, or of writing.
fn of_copying(error: ParquetError, copied: &CopiedGroup, what: &str) -> Error {
    let error = match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => match source.downcast::<ChunkError>() {
                Ok(ChunkError::Damaged(reason)) => {
                    let error = ParquetError::General(reason.to_owned());
                    return read_error(&copied.file, error, what);
                }
                Ok(ChunkError::Read(error)) => {
                    return read_error(&copied.file, error.into(), what);
                }
                Err(source) => source.into(),
            },
            Err(other) => ParquetError::External(other),
        },
        other => other,
    };
    of_writing(error)
}

/// A column chunk of an open file.
struct Chunk<'c> {
    input: &'c OpenInput,
    metadata: &'c ColumnChunkMetaData,
}

impl Length for Chunk<'_> {
    fn len(&self) -> u64 {
        self.input.len()
    }
}

impl ChunkReader for Chunk<'_> {
    type T = CheckedPages<BufReader<ReadAt>>;

    /// Begins to read the chunk, which the footer says begins at `start`.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let bytes = self.metadata.compressed_size() as u64;
        self.input.read_ahead(start, bytes);
        let from = BufReader::with_capacity(READ_BYTES, self.input.read_from(start));
        Ok(CheckedPages::new(from, bytes, self.metadata.num_values() as u64))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.input.get_bytes(start, length)
    }
}
