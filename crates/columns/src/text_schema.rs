//! The schema of rows of text, as a user writes it.
//!
//! ```text
//!  id:int64,ts:timestamp[us],price:decimal(12,2),tags:list<string>,"odd, name":double
//! ```
//!
//! The names of types are those that pyarrow prints, and shorter ones.

use crate::nested::inner_types;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use std::fmt::Write;
use std::sync::Arc;
use thiserror::Error as ThisError;
use xsort_extsort::Error;

/// Most lists and structs inside of each other. The messages of Arrow's can't hold many more.
const DEPTH_MAX: usize = 50;

/// A text is no schema.
#[derive(Clone, Debug, ThisError, PartialEq, Eq)]
#[error(
    "{0}; a schema is NAME:TYPE,..., and types are bool, int8 to int64, uint8 to uint64, float, \
     double, string, date, time, timestamp[UNIT] and timestamp[UNIT,UTC] with s, ms, us or ns, \
     decimal(DIGITS,SCALE), list<TYPE> and struct<NAME:TYPE,...>"
)]
pub struct BadSchema(String);

/// Reads the schema of rows of text.
///
/// # Errors
/// [`BadSchema`] if a name or a type is none, or a name comes twice.
pub fn parse_schema(text: &str) -> Result<SchemaRef, BadSchema> {
    let mut rest = text.trim();
    let mut depth = 0_usize;
    for byte in text.bytes() {
        depth = match byte {
            b'<' => depth + 1,
            b'>' => depth.saturating_sub(1),
            _ => depth,
        };
        if depth > DEPTH_MAX {
            return Err(BadSchema(format!("lists and structs are nested deeper than {DEPTH_MAX}")));
        }
    }
    let fields = fields(&mut rest)?;
    match rest.is_empty() {
        true => Ok(Arc::new(Schema::new(fields))),
        false => Err(BadSchema(format!("'{rest}' is left after the last type"))),
    }
}

/// Refuses a schema that is nested deeper than readers of its files follow.
///
/// # Errors
/// [`Error::Settings`] with the column.
pub(crate) fn refuse_deep(schema: &Schema) -> Result<(), Error> {
    fn depth(data_type: &DataType) -> usize {
        let inner = inner_types(data_type).into_iter().map(depth).max();
        usize::from(data_type.is_nested()) + inner.unwrap_or(0)
    }
    match schema.fields().iter().find(|field| depth(field.data_type()) > DEPTH_MAX) {
        None => Ok(()),
        Some(field) => Err(Error::Settings(format!(
            "column '{}' is nested deeper than {DEPTH_MAX}, which programs can't read: make it a \
             string",
            field.name()
        ))),
    }
}

/// Returns the text of a schema, which [`parse_schema`] reads again.
pub fn schema_text(schema: &Schema) -> String {
    let mut text = String::new();
    write_fields(&mut text, schema.fields());
    text
}

fn fields(rest: &mut &str) -> Result<Fields, BadSchema> {
    let mut fields: Vec<Field> = Vec::new();
    loop {
        let name = name(rest)?;
        if fields.iter().any(|field| *field.name() == name) {
            return Err(BadSchema(format!("'{name}' comes twice")));
        }
        let data_type = data_type(rest)?;
        fields.push(Field::new(name, data_type, true));
        *rest = rest.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => *rest = after.trim_start(),
            None => return Ok(fields.into()),
        }
    }
}

/// Takes a name and its colon.
fn name(rest: &mut &str) -> Result<String, BadSchema> {
    let text = rest.trim_start();
    let (name, after) = match text.strip_prefix('"') {
        None => {
            let end = text.find([':', ',', '<', '>']).unwrap_or(text.len());
            (text[..end].trim().to_owned(), &text[end..])
        }
        Some(quoted) => {
            let mut ends = quoted.match_indices('"').map(|(at, _)| at);
            let end = loop {
                match ends.next() {
                    None => return Err(BadSchema(format!("a quote is open: {text}"))),
                    Some(at) if quoted[at + 1..].starts_with('"') => drop(ends.next()),
                    Some(at) => break at,
                }
            };
            (quoted[..end].replace("\"\"", "\""), quoted[end + 1..].trim_start())
        }
    };
    match after.strip_prefix(':') {
        Some(after) if !name.is_empty() || text.starts_with('"') => {
            *rest = after.trim_start();
            Ok(name)
        }
        _ => Err(BadSchema(format!("'{name}' has no type after it"))),
    }
}

fn data_type(rest: &mut &str) -> Result<DataType, BadSchema> {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after;
    Ok(match word {
        "bool" | "boolean" => DataType::Boolean,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int" | "int64" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float" | "float32" => DataType::Float32,
        "double" | "float64" => DataType::Float64,
        "string" | "str" | "utf8" => DataType::Utf8,
        "large_string" => DataType::LargeUtf8,
        "date" | "date32" => {
            // As pyarrow writes it.
            brackets(rest, "[", "]");
            DataType::Date32
        }
        "time" => DataType::Time64(TimeUnit::Microsecond),
        "time32" | "time64" | "timestamp" => time(word, rest)?,
        "decimal" | "decimal128" => decimal(rest)?,
        "list" => {
            let inner = rest.trim_start().strip_prefix('<').unwrap_or_default();
            // As pyarrow writes it: list<item: int64>.
            *rest = inner.strip_prefix("item:").unwrap_or(inner).trim_start();
            let item = data_type(rest)?;
            close(rest, word)?;
            DataType::List(Arc::new(Field::new_list_field(item, true)))
        }
        "struct" => {
            *rest = rest.trim_start().strip_prefix('<').unwrap_or_default();
            let inner = fields(rest)?;
            close(rest, word)?;
            DataType::Struct(inner)
        }
        "" => return Err(BadSchema("a type is missing".into())),
        other => return Err(BadSchema(format!("'{other}' is no type"))),
    })
}

fn close(rest: &mut &str, word: &str) -> Result<(), BadSchema> {
    match rest.trim_start().strip_prefix('>') {
        Some(after) => {
            *rest = after;
            Ok(())
        }
        None => Err(BadSchema(format!("{word}< has no >"))),
    }
}

/// Takes what stands in brackets, if anything does.
fn brackets<'t>(rest: &mut &'t str, open: &str, end: &str) -> Option<&'t str> {
    let (inner, after) = rest.strip_prefix(open)?.split_once(end)?;
    *rest = after;
    Some(inner.trim())
}

fn time(word: &str, rest: &mut &str) -> Result<DataType, BadSchema> {
    let inner = brackets(rest, "[", "]").unwrap_or("us");
    let (unit, zone) = match inner.split_once(',') {
        Some((unit, zone)) => (unit.trim(), Some(zone.trim().trim_start_matches("tz="))),
        None => (inner, None),
    };
    let unit = match unit {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        other => return Err(BadSchema(format!("'{other}' is no unit of time"))),
    };
    match (word, unit, zone) {
        ("timestamp", unit, zone) => Ok(DataType::Timestamp(unit, zone.map(Into::into))),
        ("time32", TimeUnit::Second | TimeUnit::Millisecond, None) => Ok(DataType::Time32(unit)),
        ("time64", TimeUnit::Microsecond | TimeUnit::Nanosecond, None) => {
            Ok(DataType::Time64(unit))
        }
        _ => Err(BadSchema(format!("'{word}[{inner}]' is no type"))),
    }
}

fn decimal(rest: &mut &str) -> Result<DataType, BadSchema> {
    let inner = brackets(rest, "(", ")").unwrap_or_default();
    let parsed = inner.split_once(',').and_then(|(digits, scale)| {
        Some((digits.trim().parse::<u8>().ok()?, scale.trim().parse::<i8>().ok()?))
    });
    match parsed {
        Some((digits @ 1..=38, scale)) if (0..=digits as i8).contains(&scale) => {
            Ok(DataType::Decimal128(digits, scale))
        }
        _ => Err(BadSchema(format!(
            "decimal({inner}) is no type: 1 to 38 digits, of which some are after the point"
        ))),
    }
}

fn write_fields(text: &mut String, fields: &Fields) {
    for (at, field) in fields.iter().enumerate() {
        let name = field.name();
        let separator = if at == 0 { "" } else { "," };
        let is_plain = !name.is_empty()
            && name.trim() == name
            && !name.contains(['"', ':', ',', '<', '>', '\n']);
        match is_plain {
            true => text.extend([separator, name, ":"]),
            false => text.extend([separator, "\"", &name.replace('"', "\"\""), "\":"]),
        }
        write_type(text, field.data_type());
    }
}

fn write_type(text: &mut String, data_type: &DataType) {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    let written = match data_type {
        DataType::Boolean => write!(text, "bool"),
        DataType::Float32 => write!(text, "float"),
        DataType::Float64 => write!(text, "double"),
        DataType::Utf8 | DataType::Null => write!(text, "string"),
        DataType::LargeUtf8 => write!(text, "large_string"),
        DataType::Date32 => write!(text, "date"),
        DataType::Time32(of) => write!(text, "time32[{}]", unit(of)),
        DataType::Time64(of) => write!(text, "time64[{}]", unit(of)),
        DataType::Timestamp(of, None) => write!(text, "timestamp[{}]", unit(of)),
        DataType::Timestamp(of, Some(zone)) => write!(text, "timestamp[{},{zone}]", unit(of)),
        DataType::Decimal128(digits, scale) => write!(text, "decimal({digits},{scale})"),
        DataType::List(item) => {
            text.push_str("list<");
            write_type(text, item.data_type());
            text.push('>');
            Ok(())
        }
        DataType::Struct(fields) => {
            text.push_str("struct<");
            write_fields(text, fields);
            text.push('>');
            Ok(())
        }
        // The whole numbers.
        other => write!(text, "{}", other.to_string().to_lowercase()),
    };
    written.expect("a text can be written to");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_read_as_it_is_written() {
        let text = "id:int64,ts:timestamp[us],tz:timestamp[ms,UTC],price:decimal(12,2),\
                    tags:list<string>,\"odd, \"\"name\":double,inner:struct<a:bool,b:list<int8>>,\
                    d:date,t:time64[us],f:float";
        assert_eq!(schema_text(&parse_schema(text).unwrap()), text);
        let own = "id: int, d: date32[day], l: list<item: double>, z: timestamp[ns, tz=+01:00]";
        let plain = "id:int64,d:date,l:list<double>,z:timestamp[ns,+01:00]";
        assert_eq!(schema_text(&parse_schema(own).unwrap()), plain);
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        for (text, reason) in [
            ("", "'' has no type after it"),
            ("id", "'id' has no type after it"),
            ("id:", "a type is missing"),
            ("id:integer", "'integer' is no type"),
            ("a:int8,a:int8", "'a' comes twice"),
            ("a:int8 b:int8", "'b:int8' is left after the last type"),
            ("a:list<int8", "list< has no >"),
            ("a:list", "a type is missing"),
            ("a:timestamp[h]", "'h' is no unit of time"),
            ("a:time32[ns]", "'time32[ns]' is no type"),
            ("a:decimal(39,2)", "decimal(39,2) is no type"),
            ("\"a:int8", "a quote is open"),
        ] {
            let found = parse_schema(text).unwrap_err().0;
            assert!(found.starts_with(reason), "{text}: {found}");
        }
    }
}
