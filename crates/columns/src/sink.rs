//! The file that sorted batches become: Parquet, Arrow's file or stream, or rows of text.

use crate::arrow_inputs::has_dictionary;
use crate::copied::CopiedGroup;
use crate::options::{Codec, OutputFormat};
use crate::properties::OutputForm;
use crate::text_sink::{TextOutput, TextSink};
use crate::writing::Writing;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;
use std::io::{self, Write};
use std::sync::Arc;
use xsort_extsort::Error;

/// How an output in Arrow's format is written.
#[derive(Clone)]
pub(crate) struct ArrowForm {
    pub(crate) format: OutputFormat,
    pub(crate) schema: SchemaRef,
    pub(crate) codec: Option<Codec>,
}

/// What an output is.
#[derive(Clone)]
pub(crate) enum Form {
    Parquet(OutputForm),
    Arrow(ArrowForm),
    Text(TextOutput),
}

/// A file that is being written.
pub(crate) enum Sink<W: Write + Send> {
    Parquet(Box<Writing<W>>),
    File(FileWriter<W>, SchemaRef, u64),
    Stream(StreamWriter<W>, u64),
    Text(TextSink<W>),
}

impl<W: Write + Send> Sink<W> {
    /// Begins a file.
    pub(crate) fn begin(to: W, form: Form) -> Result<Sink<W>, Error> {
        let ArrowForm { format, schema, codec } = match form {
            Form::Parquet(form) => return Ok(Sink::Parquet(Box::new(Writing::begin(to, form)?))),
            Form::Text(output) => return Ok(Sink::Text(TextSink::begin(to, output)?)),
            Form::Arrow(form) => form,
        };
        let options = options(codec)?;
        Ok(match format {
            OutputFormat::ArrowStream => {
                let writer = StreamWriter::try_new_with_options(to, &schema, options);
                Sink::Stream(writer.map_err(of_arrow_writing)?, 0)
            }
            _ => {
                let schema = plain_schema(&schema)?;
                let writer = FileWriter::try_new_with_options(to, &schema, options);
                Sink::File(writer.map_err(of_arrow_writing)?, schema, 0)
            }
        })
    }

    /// Returns whether a file of `bytes` bytes so far should end.
    pub(crate) fn is_full(&self, bytes: u64, bytes_max: Option<u64>) -> bool {
        match self {
            Sink::Parquet(writing) => writing.is_full(),
            Sink::File(..) | Sink::Stream(..) | Sink::Text(_) => {
                bytes_max.is_some_and(|most| bytes >= most)
            }
        }
    }

    /// Adds rows, until the file is full. Returns how many.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<usize, Error> {
        match self {
            Sink::Parquet(writing) => return writing.push(batch),
            Sink::Text(sink) => sink.push(batch)?,
            Sink::File(writer, schema, rows) => {
                let batch = plain(batch, schema).map_err(of_arrow_writing)?;
                writer.write(&batch).map_err(of_arrow_writing)?;
                *rows += batch.num_rows() as u64;
            }
            Sink::Stream(writer, rows) => {
                writer.write(batch).map_err(of_arrow_writing)?;
                *rows += batch.num_rows() as u64;
            }
        }
        Ok(batch.num_rows())
    }

    /// Returns whether a copied row group of `bytes` bytes belongs to this file, not to the next.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        match self {
            Sink::Parquet(writing) => writing.has_room(bytes),
            Sink::File(..) | Sink::Stream(..) | Sink::Text(_) => true,
        }
    }

    /// Copies a row group, which only Parquet has.
    pub(crate) fn copy(&mut self, copied: &CopiedGroup) -> Result<(), Error> {
        match self {
            Sink::Parquet(writing) => writing.copy(copied),
            Sink::File(..) | Sink::Stream(..) | Sink::Text(_) => {
                unreachable!("row groups are copied to Parquet only")
            }
        }
    }

    /// Ends the file. Returns the number of rows in it.
    pub(crate) fn end(self) -> Result<u64, Error> {
        match self {
            Sink::Parquet(writing) => writing.end(),
            Sink::Text(sink) => sink.end(),
            Sink::File(mut writer, _, rows) => {
                let ended = writer.finish().and_then(|()| writer.flush());
                ended.map(|()| rows).map_err(of_arrow_writing)
            }
            Sink::Stream(mut writer, rows) => {
                let ended = writer.finish().and_then(|()| writer.flush());
                ended.map(|()| rows).map_err(of_arrow_writing)
            }
        }
    }
}

fn options(codec: Option<Codec>) -> Result<IpcWriteOptions, Error> {
    let compression = match codec {
        None | Some(Codec::Plain) => None,
        Some(Codec::Lz4) => Some(CompressionType::LZ4_FRAME),
        Some(Codec::Zstd) => Some(CompressionType::ZSTD),
        Some(Codec::Snappy | Codec::Gzip) => {
            let what = "files of Arrow are compressed with lz4 or zstd: give one of them";
            return Err(Error::Settings(what.into()));
        }
    };
    IpcWriteOptions::default().try_with_compression(compression).map_err(of_arrow_writing)
}

/// Returns the schema of a file: it has one dictionary for all batches, so columns of dictionaries
/// become columns of their values.
fn plain_schema(schema: &Schema) -> Result<SchemaRef, Error> {
    let field = |field: &Arc<Field>| match field.data_type() {
        DataType::Dictionary(_, values) if !has_dictionary(values) => {
            Ok(Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone())))
        }
        other if has_dictionary(other) => Err(Error::Settings(format!(
            "column '{}' has dictionaries inside of another type, which files of Arrow hold only \
             once: write a stream (.arrows) or Parquet",
            field.name()
        ))),
        _ => Ok(Arc::clone(field)),
    };
    let fields = schema.fields().iter().map(field).collect::<Result<Vec<_>, Error>>()?;
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// Returns a batch without dictionaries.
fn plain(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let column = |column: &ArrayRef| match column.as_any_dictionary_opt() {
        Some(dictionary) => take(dictionary.values(), dictionary.keys(), None),
        None => Ok(Arc::clone(column)),
    };
    let columns = batch.columns().iter().map(column).collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

fn of_arrow_writing(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, source) => Error::Output(source),
        other => Error::Output(io::Error::other(other.to_string())),
    }
}
