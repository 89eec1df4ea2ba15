//! Writes batches as row groups of a Parquet file.

use crate::column_orders::HeldBack;
use crate::copied::CopiedGroup;
use crate::copying::copy_columns;
use crate::dictionaries::Dictionaries;
use crate::encoding::Encoding;
use crate::errors::{of_thread, of_writing};
use crate::properties::OutputForm;
use arrow_array::RecordBatch;
use parquet::file::writer::SerializedFileWriter;
use std::io::Write;
use std::sync::Arc;
use xsort_extsort::Error;

/// Rows that are encoded before the memory of a row group is looked at.
const ROWS: usize = 8 << 10;

/// A Parquet file that is being written.
pub(crate) struct Writing<W: Write + Send> {
    file: SerializedFileWriter<HeldBack<W>>,
    dictionaries: Dictionaries,
    encoding: Encoding,
    form: OutputForm,
    /// Rows of the current row group, and its bytes when they were last looked at.
    group_rows: usize,
    groups: usize,
    rows: u64,
    /// Whether the next rows belong to another file.
    is_full: bool,
}

impl<W: Write + Send> Writing<W> {
    /// Begins a file.
    pub(crate) fn begin(to: W, form: OutputForm) -> Result<Writing<W>, Error> {
        let properties = Arc::clone(&form.properties);
        let written = Arc::clone(&form.written);
        let to = HeldBack::new(to);
        let file = SerializedFileWriter::new(to, written, properties).map_err(of_writing)?;
        let dictionaries = Dictionaries::new(form.clone()).map_err(of_writing)?;
        // An eighth for arrays that wait; what is encoded has the rest.
        let waiting_max = (form.group_bytes / 8).min(form.file_bytes.unwrap_or(u64::MAX) / 16);
        let encoding =
            Encoding::start(Arc::clone(&form.schema), form.threads, waiting_max as usize);
        let encoding = encoding.map_err(of_thread)?;
        let (group_rows, groups, rows, is_full) = (0, 0, 0, false);
        Ok(Writing { file, dictionaries, encoding, form, group_rows, groups, rows, is_full })
    }

    /// Returns whether the file has the size that it should have.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Adds rows, until the file is full. Returns how many.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<usize, Error> {
        let mut from = 0;
        while from < batch.num_rows() && !self.is_full {
            if self.group_rows == 0 {
                let encoders = self.dictionaries.encoders(self.groups);
                self.encoding.begin(encoders.map_err(of_writing)?);
            }
            let room = self.form.group_rows - self.group_rows;
            let rows = room.min(ROWS).min(batch.num_rows() - from);
            self.encoding.push(&batch.slice(from, rows));
            from += rows;
            self.group_rows += rows;
            let is_full = self.encoding.bytes() as u64 >= self.form.group_bytes / 2;
            let written = self.file.bytes_written() + self.encoding.written_bytes();
            self.is_full = self.form.file_bytes.is_some_and(|most| written as u64 >= most);
            if self.group_rows == self.form.group_rows || is_full || self.is_full {
                self.end_group()?;
            }
        }
        Ok(from)
    }

    /// Returns whether `bytes` more bytes leave the file nearer to the size that it should have
    /// than it is. An empty file has room for any.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        let written = (self.file.bytes_written() + self.encoding.written_bytes()) as u64;
        let is_empty = self.rows == 0 && self.group_rows == 0;
        is_empty || self.form.file_bytes.is_none_or(|most| written + bytes / 2 <= most)
    }

    /// Ends the row group, and copies one.
    pub(crate) fn copy(&mut self, copied: &CopiedGroup) -> Result<(), Error> {
        if self.group_rows > 0 {
            self.end_group()?;
        }
        let mut group = self.file.next_row_group().map_err(of_writing)?;
        copy_columns(&mut group, copied)?;
        group.close().map_err(of_writing)?;
        self.rows += copied.group.rows as u64;
        self.groups += 1;
        let written = self.file.bytes_written() as u64;
        self.is_full = self.form.file_bytes.is_some_and(|most| written >= most);
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), Error> {
        let chunks = self.encoding.finish().map_err(of_writing)?;
        self.dictionaries.learn(&chunks).map_err(of_writing)?;
        let mut group = self.file.next_row_group().map_err(of_writing)?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group).map_err(of_writing)?;
        }
        group.close().map_err(of_writing)?;
        self.rows += self.group_rows as u64;
        self.groups += 1;
        self.group_rows = 0;
        Ok(())
    }

    /// Writes the last row group and the footer. Returns the number of rows that the footer
    /// states.
    pub(crate) fn end(mut self) -> Result<u64, Error> {
        if self.group_rows > 0 {
            self.end_group()?;
        }
        let leaves = self.file.schema_descr().num_columns();
        self.file.inner_mut().hold(leaves);
        let footer = self.file.finish().map_err(of_writing)?;
        self.file.inner_mut().release(&footer).map_err(Error::Output)?;
        let rows = footer.row_groups().iter().map(|group| group.num_rows() as u64).sum();
        debug_assert_eq!(rows, self.rows);
        Ok(rows)
    }
}
