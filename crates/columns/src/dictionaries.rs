//! Decides which columns of a row group get a dictionary.
//!
//! A dictionary that becomes too large is given up within its row group. By then each value has
//! been looked up in vain, which takes longer than all else that an encoder does. The same holds
//! for one that has nearly as many values as there are rows, and is small enough to be kept. So
//! after such a dictionary a column gets none in the row groups that follow, and a new one after
//! some: rows in order have other values at other places.

use crate::properties::OutputForm;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory,
};
use parquet::basic::{Encoding, PageType, Type as PhysicalType};
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescriptor;
use std::io;
use std::sync::Arc;

/// Row groups without a dictionary, after one in which it was no use.
const GROUPS_WITHOUT: u8 = 7;

/// Makes the encoders of row groups.
pub(crate) struct Dictionaries {
    form: OutputForm,
    /// For each leaf, how many of the next row groups have no dictionary.
    without: Vec<u8>,
    factory: ArrowRowGroupWriterFactory,
}

impl Dictionaries {
    pub(crate) fn new(form: OutputForm) -> Result<Dictionaries> {
        let factory = factory(&form, &[])?;
        Ok(Dictionaries { form, without: Vec::new(), factory })
    }

    /// Returns the encoders of a row group, one for each leaf.
    pub(crate) fn encoders(&self, group: usize) -> Result<Vec<ArrowColumnWriter>> {
        self.factory.create_column_writers(group)
    }

    /// Learns from a row group that was encoded.
    pub(crate) fn learn(&mut self, chunks: &[ArrowColumnChunk]) -> Result<()> {
        self.without.resize(chunks.len(), 0);
        let had_none: Vec<bool> = self.without.iter().map(|&groups| groups > 0).collect();
        for (groups, chunk) in self.without.iter_mut().zip(chunks) {
            *groups = match *groups {
                0 if is_dear(&chunk.close().metadata) => GROUPS_WITHOUT,
                groups => groups.saturating_sub(1),
            };
        }
        let has_none: Vec<bool> = self.without.iter().map(|&groups| groups > 0).collect();
        if has_none != had_none {
            self.factory = factory(&self.form, &has_none)?;
        }
        Ok(())
    }
}

/// Returns what makes encoders, without dictionaries for the leaves of which `has_none` is true.
fn factory(form: &OutputForm, has_none: &[bool]) -> Result<ArrowRowGroupWriterFactory> {
    let mut builder = form.properties.as_ref().clone().into_builder();
    let schema = SchemaDescriptor::new(Arc::clone(&form.written));
    for (leaf, _) in schema.columns().iter().zip(has_none).filter(|(_, none)| **none) {
        builder = builder.set_column_dictionary_enabled(leaf.path().clone(), false);
    }
    let properties = Arc::new(builder.build());
    // Only a file's writer makes such a factory. Nothing is written to this file.
    let file = SerializedFileWriter::new(io::sink(), Arc::clone(&form.written), properties)?;
    Ok(ArrowRowGroupWriterFactory::new(&file, Arc::clone(&form.schema)))
}

/// Returns whether a column was better written without its dictionary: a third of the pages don't
/// use it, or it saves less than a tenth of the bytes. Places in a dictionary compress worse than
/// values.
fn is_dear(column: &ColumnChunkMetaData) -> bool {
    gave_up(column)
        || plain_bytes(column).is_some_and(|plain| column.uncompressed_size() * 10 >= plain * 9)
}

/// Returns the bytes that the values of a column with a dictionary take without it.
fn plain_bytes(column: &ColumnChunkMetaData) -> Option<i64> {
    column.dictionary_page_offset()?;
    let leaf = column.column_descr();
    let nulls = column.statistics().and_then(Statistics::null_count_opt).unwrap_or(0);
    let values = column.num_values() - nulls as i64;
    Some(match leaf.physical_type() {
        PhysicalType::INT32 | PhysicalType::FLOAT => 4 * values,
        PhysicalType::INT64 | PhysicalType::DOUBLE => 8 * values,
        PhysicalType::FIXED_LEN_BYTE_ARRAY => i64::from(leaf.type_length()) * values,
        PhysicalType::BYTE_ARRAY => column.unencoded_byte_array_data_bytes()? + 4 * values,
        PhysicalType::BOOLEAN | PhysicalType::INT96 => return None,
    })
}

/// Returns whether a third of the pages of a column with a dictionary don't use it.
fn gave_up(column: &ColumnChunkMetaData) -> bool {
    let (mut with, mut without) = (0, 0);
    for pages in column.page_encoding_stats().into_iter().flatten() {
        match (pages.page_type, pages.encoding) {
            (PageType::DICTIONARY_PAGE | PageType::INDEX_PAGE, _) => {}
            (_, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY) => with += pages.count,
            _ => without += pages.count,
        }
    }
    with > 0 && 2 * without >= with
}
