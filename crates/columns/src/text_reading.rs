//! Reads rows of text as batches: cut on the caller's thread, and turned into columns on all
//! threads.

use crate::errors::of_arrow;
use crate::source::{InputBatch, Source};
use crate::text_values::{NoValue, is_trimmed, nested_values, schema_of_texts, values};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_json::ReaderBuilder;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io::Cursor;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_arrow::Ordered;
use xsort_extsort::lines::{Content, LinesInput};
use xsort_extsort::{Error, Unobserved};
use xsort_table::{PieceBytes, RowFormat, RowPiece, RowPieces, RowSample, sample_rows, shown};

/// Inputs whose rows are text.
pub(crate) struct TextInputs {
    /// `None` once they were taken.
    inputs: Mutex<Option<Vec<LinesInput>>>,
    pub(crate) paths: Vec<PathBuf>,
    /// Bytes of all inputs, of which compressed inputs and streams have none.
    pub(crate) bytes: u64,
    pub(crate) form: TextForm,
}

/// How rows are written as text.
#[derive(Clone, Debug)]
pub(crate) struct TextForm {
    pub(crate) format: RowFormat,
    pub(crate) has_header: bool,
    pub(crate) schema: SchemaRef,
}

impl TextInputs {
    pub(crate) fn new(inputs: Vec<LinesInput>, paths: &[PathBuf], form: TextForm) -> TextInputs {
        let bytes = inputs.iter().filter_map(|input| input.bytes).sum();
        TextInputs { inputs: Mutex::new(Some(inputs)), paths: paths.to_vec(), bytes, form }
    }

    /// Returns inputs with some of the rows. Call it before the inputs are read.
    ///
    /// # Errors
    /// If one can't be read.
    pub(crate) fn sample(&self) -> Result<TextInputs, Error> {
        let TextForm { format, has_header, .. } = self.form;
        let mut inputs = self.inputs.lock();
        let inputs = inputs.as_mut().map_or(&mut [][..], |inputs| &mut inputs[..]);
        let samples = sample_rows(inputs, format, has_header)?;
        let input = |(sample, path): (RowSample, &PathBuf)| {
            let bytes = [sample.header, sample.rows].concat();
            let content = Content::Stream(Box::new(Cursor::new(bytes)));
            LinesInput { path: path.clone(), bytes: None, content }
        };
        let inputs = samples.into_iter().zip(&self.paths).map(input).collect();
        Ok(TextInputs::new(inputs, &self.paths, self.form.clone()))
    }
}

/// Batches of all inputs, in order.
pub(crate) struct TextReading {
    form: TextForm,
    left: VecDeque<LinesInput>,
    current: Option<(RowPieces, Arc<Layout>)>,
    /// The number of the current input, from 1, or 0 before the first.
    begun: usize,
    sizes: PieceBytes,
    pool: Ordered<Work, RecordBatch>,
    /// The input and the bytes of each piece that the threads have.
    sent: VecDeque<(usize, u64)>,
    sent_max: usize,
}

/// A piece to turn into columns.
struct Work {
    piece: RowPiece,
    layout: Arc<Layout>,
}

/// Where the columns of the schema are in the rows of an input.
struct Layout {
    path: PathBuf,
    form: TextForm,
    /// For each column of the schema the field that it has.
    places: Vec<usize>,
}

impl TextReading {
    /// Starts the threads. The pieces that they have at once are of these sizes.
    pub(crate) fn start(
        inputs: &TextInputs,
        threads: usize,
        sizes: PieceBytes,
    ) -> Result<TextReading, Error> {
        let left = inputs.inputs.lock().take().unwrap_or_default().into();
        let work = |work: Work| Ok(batch(&work.piece, &work.layout)?);
        Ok(TextReading {
            form: inputs.form.clone(),
            left,
            current: None,
            begun: 0,
            sizes,
            pool: Ordered::new(threads, work).map_err(of_arrow)?,
            sent: VecDeque::new(),
            sent_max: threads + 1,
        })
    }

    /// Sends pieces to the threads to keep them busy.
    fn send(&mut self) -> Result<(), Error> {
        while self.sent.len() < self.sent_max {
            let Some((pieces, layout)) = &mut self.current else {
                let Some(input) = self.left.pop_front() else { return Ok(()) };
                self.begun += 1;
                self.current = Some(self.begin(input)?);
                continue;
            };
            match pieces.next(&Unobserved)? {
                None => self.current = None,
                Some(piece) => {
                    self.sent.push_back((self.begun - 1, piece.text().len() as u64));
                    self.pool.send(Work { piece, layout: Arc::clone(layout) });
                }
            }
        }
        Ok(())
    }

    fn begin(&self, input: LinesInput) -> Result<(RowPieces, Arc<Layout>), Error> {
        let TextForm { format, has_header, ref schema } = self.form;
        let path = input.path.clone();
        let pieces = RowPieces::begin(input, format, has_header, self.sizes, &Unobserved)?;
        let places = match pieces.names() {
            None => (0..schema.fields().len()).collect(),
            Some(names) => places(names, schema)
                .map_err(|reason| Error::Input { path: path.clone(), reason })?,
        };
        Ok((pieces, Arc::new(Layout { path, form: self.form.clone(), places })))
    }
}

impl Source for TextReading {
    fn next(&mut self) -> Result<Option<InputBatch>, Error> {
        self.send()?;
        let Some((input, bytes)) = self.sent.pop_front() else { return Ok(None) };
        let rows = self.pool.wait().unwrap_or(Err(xsort_arrow::Error::Panicked));
        Ok(Some(InputBatch { input, bytes, rows: rows.map_err(of_arrow)? }))
    }
}

/// Finds the columns of the schema in a header, which must have exactly these.
fn places(names: &[Vec<u8>], schema: &SchemaRef) -> Result<Vec<usize>, String> {
    let find = |name: &String| names.iter().position(|own| own == name.as_bytes());
    let place = |field: &Arc<arrow_schema::Field>| {
        find(field.name()).ok_or_else(|| {
            format!("its header has no column '{}', which the schema has", field.name())
        })
    };
    let places = schema.fields().iter().map(place).collect::<Result<Vec<_>, _>>()?;
    match (0..names.len()).find(|at| !places.contains(at)) {
        None => Ok(places),
        Some(other) => Err(format!(
            "its column '{}' is not in the schema, or there are two of it: each column needs a \
             type",
            String::from_utf8_lossy(&names[other])
        )),
    }
}

/// Turns a piece into columns.
fn batch(piece: &RowPiece, layout: &Layout) -> Result<RecordBatch, Error> {
    match layout.form.format {
        RowFormat::Delimited(_) => batch_of_fields(piece, layout),
        RowFormat::Ndjson => batch_of_json(piece, layout),
    }
}

/// The fields of a column, one after the other.
#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<i32>,
    valid: Vec<bool>,
}

impl Texts {
    fn push(&mut self, text: Option<&[u8]>) {
        self.bytes.extend_from_slice(text.unwrap_or_default());
        self.ends.push(self.bytes.len() as i32);
        self.valid.push(text.is_some());
    }

    fn array(self) -> Result<StringArray, ArrowError> {
        let offsets = OffsetBuffer::new([vec![0], self.ends].concat().into());
        let nulls = NullBuffer::new(BooleanBuffer::from(self.valid));
        StringArray::try_new(offsets, Buffer::from_vec(self.bytes), Some(nulls))
    }
}

/// Returns whether a row is an empty line, which has no values, where a row has several fields.
fn is_blank(fields: &[Range<usize>], columns: usize) -> bool {
    columns > 1 && matches!(fields, [only] if only.is_empty())
}

fn batch_of_fields(piece: &RowPiece, layout: &Layout) -> Result<RecordBatch, Error> {
    let Layout { path, form: TextForm { schema, .. }, places } = layout;
    let mut columns: Vec<Texts> = places.iter().map(|_| Texts::default()).collect();
    let types: Vec<&DataType> = schema.fields().iter().map(|field| field.data_type()).collect();
    let mut rows = 0;
    piece.for_each_row(|row, fields| {
        if is_blank(fields, places.len()) {
            return Ok(());
        }
        if fields.len() != places.len() {
            let (found, wanted) = (fields.len(), places.len());
            let offset = piece.offset + fields[0].start as u64;
            let reason = format!(
                "row {row}, from byte {offset} on, has {found} fields, and the schema has {wanted}"
            );
            return Err(Error::Input { path: path.clone(), reason });
        }
        rows += 1;
        for ((texts, &place), &data_type) in columns.iter_mut().zip(places).zip(&types) {
            let (value, is_quoted) = piece.value(fields[place].clone());
            let is_text = !is_trimmed(data_type);
            let value = if is_text { &*value } else { value.trim_ascii() };
            let is_null = value.is_empty() && !(is_text && is_quoted);
            texts.push((!is_null).then_some(value));
        }
        Ok(())
    })?;
    let column = |(at, texts): (usize, Texts)| {
        let is_no_text = |_, value: &[u8]| std::str::from_utf8(value).is_err();
        let texts = texts.array();
        let texts = texts.map_err(|_| bad_field(piece, layout, at, "text", is_no_text))?;
        values(&texts, types[at]).map_err(|NoValue(bad)| {
            bad_field(piece, layout, at, &types[at].to_string(), |row, _| row == bad)
        })
    };
    let columns = columns.into_iter().enumerate().map(column).collect::<Result<Vec<_>, Error>>()?;
    of_columns(schema, columns, rows, path)
}

fn of_columns(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
    path: &Path,
) -> Result<RecordBatch, Error> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options);
    batch.map_err(|error| Error::Input { path: path.to_owned(), reason: error.to_string() })
}

/// Returns the error of the first field of a column that `is_bad` finds, by the number of its row
/// among those that aren't blank, from 0, and its value.
fn bad_field(
    piece: &RowPiece,
    layout: &Layout,
    column: usize,
    what: &str,
    is_bad: impl Fn(usize, &[u8]) -> bool,
) -> Error {
    let (mut rows, place) = (0, layout.places[column]);
    let found = piece.for_each_row(|row, fields| {
        if is_blank(fields, layout.places.len()) {
            return Ok(());
        }
        rows += 1;
        let (value, _) = piece.value(fields[place].clone());
        if !is_bad(rows - 1, &value) {
            return Ok(());
        }
        let offset = piece.offset + fields[place].start as u64;
        let (name, value) = (layout.form.schema.field(column).name(), shown(&value));
        Err(format!(
            "row {row}, byte {offset}, column '{name}': '{value}' is no {what}: correct it, or \
             give the column another type"
        ))
    });
    Error::Input { path: layout.path.clone(), reason: found.err().unwrap_or_default() }
}

fn batch_of_json(piece: &RowPiece, layout: &Layout) -> Result<RecordBatch, Error> {
    let Layout { path, form: TextForm { schema, .. }, .. } = layout;
    // Arrow's reader takes what is no JSON, too.
    let lines = piece.check_json();
    let lines = lines.map_err(|reason| Error::Input { path: path.clone(), reason })?;
    let texts = json_texts(piece.text(), schema, lines).ok();
    let batch = texts.as_ref().and_then(|texts| json_values(texts, schema).ok());
    match batch {
        Some(columns) => of_columns(schema, columns, lines, path),
        // Each line by itself, to find the bad one.
        None => Err(piece
            .for_each_row(|row, fields| {
                let line = &piece.text()[fields[0].clone()];
                let lines = usize::from(!line.trim_ascii().is_empty());
                let texts = json_texts(line, schema, lines);
                let what = texts.and_then(|texts| json_values(&texts, schema)).err();
                let offset = piece.offset + fields[0].start as u64;
                match what {
                    None => Ok(()),
                    Some(what) => {
                        let reason = format!("row {row}, from byte {offset} on: {what}");
                        Err(Error::Input { path: path.clone(), reason })
                    }
                }
            })
            .err()
            .unwrap_or(Error::Panicked)),
    }
}

/// Returns lines of JSON as columns of texts.
fn json_texts(text: &[u8], schema: &SchemaRef, lines: usize) -> Result<RecordBatch, String> {
    let texts = Arc::new(schema_of_texts(schema));
    // Numbers keep their digits as texts.
    let reader = ReaderBuilder::new(texts.clone())
        .with_batch_size(lines + 1)
        .with_strict_mode(true)
        .with_coerce_primitive(true);
    let words = |error: ArrowError| {
        let text = match &error {
            ArrowError::JsonError(text) => text.clone(),
            other => other.to_string(),
        };
        text.lines().next().unwrap_or_default().to_owned()
    };
    let mut decoder = reader.build_decoder().map_err(words)?;
    let taken = decoder.decode(text).map_err(words)?;
    let batch = decoder.flush().map_err(words)?;
    let batch = batch.unwrap_or_else(|| RecordBatch::new_empty(texts));
    match taken == text.len() && batch.num_rows() == lines {
        true => Ok(batch),
        false => Err("a line has more or less than one value".into()),
    }
}

/// Returns columns of texts as columns of the schema's types.
fn json_values(texts: &RecordBatch, schema: &SchemaRef) -> Result<Vec<ArrayRef>, String> {
    let column = |(texts, field): (&ArrayRef, &Arc<arrow_schema::Field>)| {
        nested_values(texts, field.data_type())
            .map_err(|_| format!("the value of '{}' is no {}", field.name(), field.data_type()))
    };
    texts.columns().iter().zip(schema.fields()).map(column).collect()
}
