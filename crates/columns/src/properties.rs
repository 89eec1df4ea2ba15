//! How the output is written: as the first input is, with its compression, dictionaries, encodings,
//! Bloom filters and metadata.

use crate::groups::counted;
use crate::inputs::Inputs;
use crate::keys::FoundKey;
use crate::leaves;
use crate::options::Codec;
use crate::physical::is_decimal;
use crate::sort_plan::SortPlan;
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::{
    ARROW_SCHEMA_META_KEY, add_encoded_arrow_schema_to_metadata, parquet_to_arrow_schema,
};
use parquet::basic::{Compression, Encoding, LogicalType, PageType, Type as PhysicalType};
use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData, RowGroupMetaData, SortingColumn};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::schema::types::{ColumnDescriptor, TypePtr};
use std::sync::Arc;

/// The schema of an output, by both kinds of types, and how it is written.
#[derive(Clone, Debug)]
pub(crate) struct OutputForm {
    /// The schema in the file.
    pub(crate) written: TypePtr,
    /// The schema of the batches.
    pub(crate) schema: SchemaRef,
    pub(crate) properties: Arc<WriterProperties>,
    /// Limits of a row group: of its rows, and of its bytes in memory.
    pub(crate) group_rows: usize,
    pub(crate) group_bytes: u64,
    /// About how many bytes a file has at most, if there may be several.
    pub(crate) file_bytes: Option<u64>,
    pub(crate) threads: usize,
}

/// Returns how the output of a sort is written.
pub(crate) fn properties(plan: &SortPlan, inputs: &Inputs) -> WriterProperties {
    let (first, codec) = (inputs.first(), plan.options.codec);
    let page_bytes = plan.memory.written_page_bytes;
    let metadata = first.footer.file_metadata().key_value_metadata().cloned();
    let columns = first.footer.row_groups().first().map(RowGroupMetaData::columns);
    let has_new_pages = columns.is_some_and(|all| all.iter().any(has_new_pages));
    let version = match has_new_pages {
        true => WriterVersion::PARQUET_2_0,
        false => WriterVersion::PARQUET_1_0,
    };
    let mut builder = WriterProperties::builder()
        .set_writer_version(version)
        .set_created_by(created_by())
        .set_key_value_metadata(metadata)
        .set_data_page_size_limit(page_bytes)
        .set_dictionary_page_size_limit(page_bytes)
        .set_max_row_group_row_count(None)
        .set_sorting_columns(sorting_columns(plan, inputs));
    builder = builder.set_compression(match codec {
        Some(codec) => codec.compression(),
        None => Codec::Zstd.compression(),
    });
    for column in columns.into_iter().flatten() {
        builder = as_column(builder, column, codec);
    }
    let mut properties = builder.build();
    if plan.options.counts
        && let Some(schema) = arrow_schema_of(first.footer.file_metadata())
    {
        add_encoded_arrow_schema_to_metadata(&counted(&schema), &mut properties);
    }
    properties
}

/// Returns the Arrow schema in a file's metadata, if it has one.
fn arrow_schema_of(file: &FileMetaData) -> Option<Schema> {
    let metadata = file.key_value_metadata()?;
    let has_schema = metadata.iter().any(|entry| entry.key == ARROW_SCHEMA_META_KEY);
    let schema = has_schema.then(|| parquet_to_arrow_schema(file.schema_descr(), Some(metadata)));
    schema?.ok()
}

/// Returns how an output with this schema is written, if the inputs were in Arrow's format.
pub(crate) fn properties_of_arrow(plan: &SortPlan, schema: &Schema) -> WriterProperties {
    let page_bytes = plan.memory.written_page_bytes;
    let mut properties = WriterProperties::builder()
        .set_created_by(created_by())
        .set_data_page_size_limit(page_bytes)
        .set_dictionary_page_size_limit(page_bytes)
        .set_max_row_group_row_count(None)
        .set_compression(plan.options.codec.unwrap_or(Codec::Zstd).compression())
        .build();
    add_encoded_arrow_schema_to_metadata(schema, &mut properties);
    properties
}

fn created_by() -> String {
    format!("xsort version {}", env!("CARGO_PKG_VERSION"))
}

/// Writes a column as it was.
fn as_column(
    builder: WriterPropertiesBuilder,
    column: &ColumnChunkMetaData,
    codec: Option<Codec>,
) -> WriterPropertiesBuilder {
    let path = || column.column_path().clone();
    let has_dictionary = column.dictionary_page_offset().is_some()
        || column.encodings().any(|encoding| {
            matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
        });
    let mut builder = builder.set_column_dictionary_enabled(path(), has_dictionary);
    if codec.is_none() {
        builder = builder.set_column_compression(path(), compression(column));
    }
    if column.bloom_filter_offset().is_some() {
        builder = builder.set_column_bloom_filter_enabled(path(), true);
    }
    // What isn't in a dictionary.
    let encoding = column.encodings().find(|encoding| {
        matches!(
            encoding,
            Encoding::DELTA_BINARY_PACKED
                | Encoding::DELTA_LENGTH_BYTE_ARRAY
                | Encoding::DELTA_BYTE_ARRAY
                | Encoding::BYTE_STREAM_SPLIT
        )
    });
    builder.set_column_encoding(path(), encoding.unwrap_or(Encoding::PLAIN))
}

/// Returns the compression of the output, if the first input's column is this one.
pub(crate) fn compression(column: &ColumnChunkMetaData) -> Compression {
    match column.compression() {
        // The old framing, which no writer should use any more.
        Compression::LZ4 => Compression::LZ4_RAW,
        other => other,
    }
}

fn has_new_pages(column: &ColumnChunkMetaData) -> bool {
    let stats = column.page_encoding_stats();
    stats.is_some_and(|all| all.iter().any(|pages| pages.page_type == PageType::DATA_PAGE_V2))
}

/// Returns the order of the rows in the words of the format: of the first keys, as long as their
/// order is the format's own.
fn sorting_columns(plan: &SortPlan, inputs: &Inputs) -> Option<Vec<SortingColumn>> {
    let (first, schema) = (inputs.first(), &*inputs.schema);
    if plan.options.shuffle.is_some() {
        return None;
    }
    let before = i32::from(plan.options.counts);
    let mut columns = Vec::new();
    for key in &plan.keys.keys {
        let FoundKey::Column(key) = key else { break };
        let range = leaves::range(schema.fields(), &key.path());
        let leaf = first.descriptor().column(range.start);
        if key.leaf(schema).data_type().is_nested() || !has_our_order(&leaf) {
            break;
        }
        columns.push(SortingColumn {
            column_idx: range.start as i32 + before,
            descending: key.options().descending,
            nulls_first: key.options().nulls_first,
        });
    }
    (!columns.is_empty()).then_some(columns)
}

/// Returns whether the format orders the values of a column as xsort does. The format leaves open
/// where NaNs are.
fn has_our_order(leaf: &ColumnDescriptor) -> bool {
    match leaf.physical_type() {
        PhysicalType::FLOAT | PhysicalType::DOUBLE | PhysicalType::INT96 => false,
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            leaf.logical_type_ref() != Some(&LogicalType::Float16)
        }
        PhysicalType::BYTE_ARRAY => {
            let logical = leaf.logical_type_ref();
            is_decimal(leaf.get_basic_info())
                || matches!(
                    logical,
                    None | Some(
                        LogicalType::String
                            | LogicalType::Enum
                            | LogicalType::Json
                            | LogicalType::Bson
                    )
                )
        }
        _ => true,
    }
}
