//! Writes batches as rows of text: CSV, TSV or NDJSON, made on all threads.

use crate::errors::of_arrow;
use crate::nested::{inner_types, with_leaves};
use crate::text_reading::TextForm;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_data::ArrayData;
use arrow_json::WriterBuilder;
use arrow_json::writer::LineDelimited;
use arrow_schema::{ArrowError, DataType, Fields, Schema};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;
use xsort_arrow::Ordered;
use xsort_extsort::Error;
use xsort_extsort::lines::{CompressedOutput, OutputCodec};
use xsort_table::{Dialect, RowFormat};

/// How rows are written, and with which compression and how many threads.
#[derive(Clone, Debug)]
pub(crate) struct TextOutput {
    pub(crate) form: TextForm,
    pub(crate) codec: Option<OutputCodec>,
    pub(crate) threads: usize,
    pub(crate) compression_threads: usize,
}

/// A file of text that is being written.
pub(crate) struct TextSink<W: Write + Send> {
    to: To<W>,
    pool: Ordered<RecordBatch, (Vec<u8>, u64)>,
    waiting_max: usize,
    /// Rows that were written.
    rows: u64,
}

enum To<W: Write> {
    Plain(W),
    Packed(CompressedOutput<'static, W>),
}

impl<W: Write + Send> TextSink<W> {
    /// Begins a file.
    pub(crate) fn begin(to: W, output: TextOutput) -> Result<TextSink<W>, Error> {
        let TextOutput { form, codec, threads, compression_threads } = output;
        let to = match codec {
            None => To::Plain(to),
            Some(codec) => {
                To::Packed(CompressedOutput::new(to, codec, compression_threads, Vec::new()))
            }
        };
        refuse_types(&form)?;
        let header = header(&form)?;
        let work = move |batch: RecordBatch| {
            let text = text(&batch, &form).map_err(Error::Settings)?;
            Ok((text, batch.num_rows() as u64))
        };
        let pool = Ordered::new(threads, work).map_err(of_arrow)?;
        let mut sink = TextSink { to, pool, waiting_max: threads + 1, rows: 0 };
        sink.write(&header).map_err(Error::Output)?;
        Ok(sink)
    }

    /// Adds rows.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.pool.send(batch.clone());
        self.write_ready(self.waiting_max)
    }

    /// Ends the file. Returns the number of rows in it.
    pub(crate) fn end(mut self) -> Result<u64, Error> {
        self.write_ready(0)?;
        let flushed = match &mut self.to {
            To::Plain(to) => to.flush(),
            To::Packed(to) => to.flush(),
        };
        flushed.map(|()| self.rows).map_err(Error::Output)
    }

    /// Writes texts in their order, until at most `most` batches wait.
    fn write_ready(&mut self, most: usize) -> Result<(), Error> {
        while self.pool.waiting() > most
            && let Some(made) = self.pool.wait()
        {
            let (text, rows) = made.map_err(of_arrow)?;
            self.write(&text).map_err(Error::Output)?;
            self.rows += rows;
        }
        Ok(())
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        match &mut self.to {
            To::Plain(to) => to.write_all(text),
            To::Packed(to) => to.write_all(text),
        }
    }
}

/// Refuses columns that the format can't hold.
fn refuse_types(form: &TextForm) -> Result<(), Error> {
    if form.format == RowFormat::Ndjson
        && let Some(name) = name_twice(form.schema.fields())
    {
        let what = format!("there are two columns '{name}', of which JSON can hold one: write csv");
        return Err(Error::Settings(what));
    }
    let nested = form.schema.fields().iter().find(|field| field.data_type().is_nested());
    match (form.format, nested) {
        (RowFormat::Delimited(_), Some(field)) => Err(Error::Settings(format!(
            "column '{}' is a {}, which has no form in csv and tsv: write ndjson",
            field.name(),
            field.data_type()
        ))),
        _ => Ok(()),
    }
}

/// Returns a name that two fields of the same struct have.
fn name_twice(fields: &Fields) -> Option<&str> {
    fields.iter().enumerate().find_map(|(at, field)| {
        let is_second = fields[..at].iter().any(|before| before.name() == field.name());
        let inner = || match field.data_type() {
            DataType::Struct(fields) => name_twice(fields),
            DataType::List(item) | DataType::LargeList(item) => match item.data_type() {
                DataType::Struct(fields) => name_twice(fields),
                _ => None,
            },
            _ => None,
        };
        if is_second { Some(field.name().as_str()) } else { inner() }
    })
}

fn header(form: &TextForm) -> Result<Vec<u8>, Error> {
    let RowFormat::Delimited(dialect) = form.format else { return Ok(Vec::new()) };
    let mut header = Vec::new();
    if form.has_header {
        for (at, field) in form.schema.fields().iter().enumerate() {
            let name = field.name();
            push_separator(&mut header, at, &dialect);
            push_text(&mut header, name.as_bytes(), &dialect)
                .map_err(|what| Error::Settings(format!("column '{name}': its name {what}")))?;
        }
        header.push(b'\n');
    }
    Ok(header)
}

/// Returns the text of rows.
fn text(batch: &RecordBatch, form: &TextForm) -> Result<Vec<u8>, String> {
    let batch = &in_utc(batch)?;
    match form.format {
        RowFormat::Ndjson => json(batch),
        RowFormat::Delimited(dialect) => fields(batch, &dialect),
    }
}

fn json(batch: &RecordBatch) -> Result<Vec<u8>, String> {
    for (column, field) in batch.columns().iter().zip(batch.schema().fields()) {
        if has_other_numbers(column) {
            return Err(format!(
                "column '{}' has a number that is infinite or none (NaN), which JSON can't hold: \
                 write csv, Parquet or Arrow",
                field.name()
            ));
        }
        if has_other_times(column) {
            return Err(format!("column '{}': a time can't be written as text", field.name()));
        }
    }
    let mut text = Vec::new();
    let builder = WriterBuilder::new().with_explicit_nulls(true);
    let mut writer = builder.build::<_, LineDelimited>(&mut text);
    writer.write(batch).and_then(|()| writer.finish()).map_err(|error| error.to_string())?;
    drop(writer);
    Ok(text)
}

/// Returns whether floats are infinite or not a number, in lists and structs, too.
fn has_other_numbers(column: &ArrayRef) -> bool {
    match column.data_type() {
        DataType::Float16 => {
            column.as_primitive::<Float16Type>().iter().flatten().any(|value| !value.is_finite())
        }
        DataType::Float32 => {
            column.as_primitive::<Float32Type>().iter().flatten().any(|value| !value.is_finite())
        }
        DataType::Float64 => {
            column.as_primitive::<Float64Type>().iter().flatten().any(|value| !value.is_finite())
        }
        _ => {
            let data = column.to_data();
            data.child_data().iter().any(|child| has_other_numbers(&make_array(child.clone())))
        }
    }
}

/// Returns whether a date or a time has no text, in lists and structs, too. Arrow's writer of JSON
/// would write the error instead.
fn has_other_times(column: &ArrayRef) -> bool {
    let data_type = column.data_type();
    if !data_type.is_temporal() {
        let data = column.to_data();
        return data.child_data().iter().any(|child| has_other_times(&make_array(child.clone())));
    }
    let options = FormatOptions::new().with_display_error(false);
    let Ok(formatter) = ArrayFormatter::try_new(column.as_ref(), &options) else { return true };
    let mut text = String::new();
    (0..column.len()).filter(|&row| column.is_valid(row)).any(|row| {
        text.clear();
        write!(text, "{}", formatter.value(row)).is_err()
    })
}

/// Returns times with a zone as times of UTC, since only their offsets can be written.
fn in_utc(batch: &RecordBatch) -> Result<RecordBatch, String> {
    let schema = batch.schema();
    let utc = with_leaves(schema.fields(), &|leaf| match leaf {
        DataType::Timestamp(unit, Some(_)) => {
            Some(DataType::Timestamp(*unit, Some("+00:00".into())))
        }
        _ => None,
    });
    let columns = batch.columns().iter().zip(&utc);
    let columns = columns.map(|(column, field)| retyped(column.to_data(), field.data_type()));
    let columns = columns.map(|data| data.map(make_array)).collect::<Result<Vec<_>, ArrowError>>();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let batch = columns.and_then(|columns| {
        RecordBatch::try_new_with_options(Arc::new(Schema::new(utc)), columns, &options)
    });
    batch.map_err(|error| error.to_string())
}

/// Returns values as values of a type that differs in the zones of times only.
fn retyped(data: ArrayData, to: &DataType) -> Result<ArrayData, ArrowError> {
    if data.data_type() == to {
        return Ok(data);
    }
    let children = data.child_data().iter().cloned().zip(inner_types(to));
    let children = children.map(|(child, to)| retyped(child, to)).collect::<Result<_, _>>()?;
    data.into_builder().data_type(to.clone()).child_data(children).build()
}

fn fields(batch: &RecordBatch, dialect: &Dialect) -> Result<Vec<u8>, String> {
    let options = FormatOptions::new().with_display_error(false);
    let formatter = |column| ArrayFormatter::try_new(column, &options);
    let formatters = batch.columns().iter().map(|column| formatter(column.as_ref()));
    let formatters =
        formatters.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    // Of dictionaries also those of their values.
    let nulls: Vec<_> = batch.columns().iter().map(Array::logical_nulls).collect();
    let (mut text, mut value) = (Vec::new(), String::new());
    let is_single = batch.num_columns() == 1;
    for row in 0..batch.num_rows() {
        for (at, (formatter, nulls)) in formatters.iter().zip(&nulls).enumerate() {
            push_separator(&mut text, at, dialect);
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                continue;
            }
            value.clear();
            let of_column = |what: &str| {
                format!("column '{}': a value {what}", batch.schema().field(at).name())
            };
            write!(value, "{}", formatter.value(row))
                .map_err(|_| of_column("can't be written as text"))?;
            match (value.is_empty(), dialect.quote) {
                // Not null.
                (true, Some(quote)) => text.extend([quote, quote]),
                (true, None) if is_single => {}
                _ => push_text(&mut text, value.as_bytes(), dialect)
                    .map_err(|what| of_column(&what))?,
            }
        }
        text.push(b'\n');
    }
    Ok(text)
}

fn push_separator(text: &mut Vec<u8>, at: usize, dialect: &Dialect) {
    if at > 0 {
        text.push(dialect.delimiter);
    }
}

/// Appends a field, in quotes if it needs them.
fn push_text(text: &mut Vec<u8>, field: &[u8], dialect: &Dialect) -> Result<(), String> {
    let special = |byte: &u8| {
        matches!(byte, b'\n' | b'\r') || *byte == dialect.delimiter || Some(*byte) == dialect.quote
    };
    // A quote after blanks is refused by readers.
    let is_comment = field.first().is_some_and(|first| dialect.comment == Some(*first));
    // At the beginning of a file it would be taken for a mark.
    let is_mark = field.starts_with(b"\xef\xbb\xbf");
    if !is_comment && !is_mark && !field.iter().any(special) {
        text.extend_from_slice(field);
        return Ok(());
    }
    let Some(quote) = dialect.quote else {
        return Err("has what tsv can't hold, such as a tab or a line end: write csv".into());
    };
    text.push(quote);
    for &byte in field {
        if byte == quote || Some(byte) == dialect.escape {
            text.push(byte);
        }
        text.push(byte);
    }
    text.push(quote);
    Ok(())
}
