//! Finds the schema of rows of text: reads all of them, and takes for each column the first of a
//! few types that all of its values are of, exactly.

use crate::errors::of_arrow;
use crate::nested::with_leaves;
use crate::source::Source;
use crate::text_reading::{TextForm, TextInputs, TextReading};
use crate::text_values::{has_zone, values};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_json::reader::infer_json_schema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;
use xsort_arrow::Ordered;
use xsort_extsort::lines::LinesInput;
use xsort_extsort::{Error, Observer};
use xsort_table::{PieceBytes, RowFormat, RowPieces};

/// The types in the order in which they are tried. Bit `n` of a mask stands for type `n`.
fn types() -> [DataType; 7] {
    use DataType::{Boolean, Date32, Float64, Int64, Timestamp};
    let (us, ns) = (TimeUnit::Microsecond, TimeUnit::Nanosecond);
    let utc = Timestamp(us, Some("UTC".into()));
    [Int64, Float64, Boolean, Date32, Timestamp(us, None), Timestamp(ns, None), utc]
}

/// What is known of a column: the types that fit so far, and whether it has any value.
#[derive(Clone, Copy)]
struct Fitting {
    mask: u8,
    has_values: bool,
}

/// Returns the schema of rows of fields. `open` opens the inputs, each time anew.
pub(crate) fn infer_fields(
    open: &mut dyn FnMut() -> Result<Vec<LinesInput>, Error>,
    (paths, format, has_header): (&[PathBuf], RowFormat, bool),
    (sizes, threads): (PieceBytes, usize),
    observer: &dyn Observer,
) -> Result<SchemaRef, Error> {
    let names = names(open()?, format, has_header, sizes, observer)?;
    let field = |name: &String| Field::new(name, DataType::Utf8, true);
    let schema: SchemaRef = Arc::new(Schema::new(names.iter().map(field).collect::<Vec<_>>()));
    let form = TextForm { format, has_header, schema };
    let inputs = TextInputs::new(open()?, paths, form);
    observer.phase("infer", inputs.bytes);
    let mut reading = TextReading::start(&inputs, threads, sizes)?;
    let fit =
        |batch: RecordBatch| Ok(batch.columns().iter().map(|c| fitting(c.as_string())).collect());
    let mut pool: Ordered<RecordBatch, Vec<Fitting>> =
        Ordered::new(threads, fit).map_err(of_arrow)?;
    let mut all = vec![Fitting { mask: u8::MAX, has_values: false }; names.len()];
    let mut take = |pool: &mut Ordered<RecordBatch, Vec<Fitting>>, most: usize| {
        while pool.waiting() > most
            && let Some(found) = pool.wait()
        {
            for (all, found) in all.iter_mut().zip(found.map_err(of_arrow)?) {
                all.mask &= found.mask;
                all.has_values |= found.has_values;
            }
        }
        Ok::<(), Error>(())
    };
    while let Some(batch) = reading.next()? {
        if observer.is_cancelled() {
            return Err(Error::Cancelled);
        }
        observer.advance(batch.bytes);
        pool.send(batch.rows);
        take(&mut pool, threads)?;
    }
    take(&mut pool, 0)?;
    let types = types();
    let field = |(name, fitting): (&String, &Fitting)| {
        let first = fitting.mask.trailing_zeros() as usize;
        let data_type = types.get(first).filter(|_| fitting.has_values);
        Field::new(name, data_type.cloned().unwrap_or(DataType::Utf8), true)
    };
    let fields: Vec<Field> = names.iter().zip(&all).map(field).collect();
    Ok(Arc::new(Schema::new(fields)))
}

/// Returns the names of the columns: of the first header, or `column1` and so on.
fn names(
    inputs: Vec<LinesInput>,
    format: RowFormat,
    has_header: bool,
    sizes: PieceBytes,
    observer: &dyn Observer,
) -> Result<Vec<String>, Error> {
    for input in inputs {
        let path = input.path.clone();
        let mut pieces = RowPieces::begin(input, format, has_header, sizes, observer)?;
        if let Some(names) = pieces.names() {
            let name = |name: &Vec<u8>| String::from_utf8(name.clone());
            let names = names.iter().map(name).collect::<Result<_, _>>();
            let reason = "a name in its header is no UTF-8: convert it (iconv)";
            return names.map_err(|_| Error::Input { path, reason: reason.into() });
        }
        let Some(piece) = pieces.next(observer)? else { continue };
        let mut first = 0;
        // The first row ends the walk.
        let _ = piece.for_each_row(|_, fields| {
            first = fields.len();
            Err(())
        });
        if first > 0 {
            return Ok((1..=first).map(|number| format!("column{number}")).collect());
        }
    }
    Err(Error::Settings("the inputs have no rows, so no types can be found: give a schema".into()))
}

/// Returns the types of which all texts are values.
fn fitting(texts: &StringArray) -> Fitting {
    let Some(first) = texts.iter().flatten().next() else {
        return Fitting { mask: u8::MAX, has_values: false };
    };
    let (mut mask, trimmed, types) = (0_u8, trimmed(texts), types());
    for (at, data_type) in types.iter().enumerate() {
        let is_tried = mask & 1 << at == 0
            && may_be(first, data_type)
            && trimmed.iter().flatten().all(|text| may_be(text, data_type));
        if let Some(values) = is_tried.then(|| values(&trimmed, data_type).ok()).flatten() {
            mask |= 1 << at | also_fitting(&values, at);
        }
    }
    Fitting { mask, has_values: true }
}

/// Returns the later types of which values of type `at` are values, too, for most of them: so these
/// needn't be tried.
fn also_fitting(values: &ArrayRef, at: usize) -> u8 {
    let all = |most: u64| match values.data_type() {
        DataType::Int64 => {
            values.as_primitive::<Int64Type>().iter().flatten().all(|v| v.unsigned_abs() <= most)
        }
        DataType::Date32 => {
            let days = values.as_primitive::<Date32Type>();
            days.iter().flatten().all(|v| u64::from(v.unsigned_abs()) <= most)
        }
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            let times = values.as_primitive::<TimestampMicrosecondType>();
            times.iter().flatten().all(|v| v.unsigned_abs() <= most)
        }
        _ => false,
    };
    // Whole numbers that floats hold, and days and microseconds of which nanoseconds have 64 bits.
    let (days, microseconds) = (i64::MAX as u64 / 86_400_000_000_000, i64::MAX as u64 / 1000);
    match values.data_type() {
        DataType::Int64 if all(1 << 53) => 1 << (at + 1),
        DataType::Date32 if all(days) => 1 << (at + 1) | 1 << (at + 2),
        DataType::Timestamp(..) if all(microseconds) => 1 << (at + 1),
        _ => 0,
    }
}

fn trimmed(texts: &StringArray) -> StringArray {
    texts.iter().map(|text| text.map(trim).filter(|text| !text.is_empty())).collect()
}

/// Returns a text without the blanks around it that a conversion takes away.
fn trim(text: &str) -> &str {
    text.trim_matches(|blank: char| blank.is_ascii_whitespace())
}

/// Returns whether a text may be taken for a value of a type. A number with zeros before it is
/// none, because these would be lost.
fn may_be(text: &str, data_type: &DataType) -> bool {
    let text = trim(text);
    if text.is_empty() {
        return true;
    }
    let has_date = || text.as_bytes().get(4) == Some(&b'-');
    match data_type {
        DataType::Int64 | DataType::Float64 => {
            let is_whole = || !text.contains(['.', 'e', 'E']);
            let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
            digits.first().is_some_and(u8::is_ascii_digit)
                && !(digits[0] == b'0' && digits.get(1).is_some_and(u8::is_ascii_digit))
                && (*data_type == DataType::Float64 || is_whole())
        }
        DataType::Boolean => {
            text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
        }
        DataType::Date32 => has_date() && text.len() == 10,
        DataType::Timestamp(_, zone) => has_date() && zone.is_some() == has_zone(text),
        _ => false,
    }
}

/// Returns the schema of rows of JSON.
pub(crate) fn infer_json(inputs: Vec<LinesInput>) -> Result<SchemaRef, Error> {
    let of_input = |input: LinesInput| {
        let path = input.path.clone();
        let failed = |error: ArrowError| Error::Input {
            path: path.clone(),
            reason: error.to_string().lines().next().unwrap_or_default().to_owned(),
        };
        let mut read = BufReader::new(input.into_bytes());
        let (schema, _) = infer_json_schema(&mut read, None).map_err(failed)?;
        // A type that no value tells is a text.
        let text = |found: &DataType| found.is_null().then_some(DataType::Utf8);
        Ok(Schema::new(with_leaves(schema.fields(), &text)))
    };
    let all = inputs.into_iter().map(of_input).collect::<Result<Vec<Schema>, Error>>()?;
    let merged = Schema::try_merge(all).map_err(|error| Error::Settings(error.to_string()))?;
    Ok(Arc::new(merged))
}
