//! Texts as values of a type. A value that the type can't hold exactly is refused, never rounded:
//! digits after a decimal's scale, parts of a second that the unit doesn't have, a time in a date.

use crate::nested::{inner_types, with_leaves};
use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use arrow_array::{Array, ArrayRef, StringArray, make_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Schema, TimeUnit};

/// The index of a text that is no value of the type.
pub(crate) struct NoValue(pub(crate) usize);

/// Returns texts as values of a type.
///
/// # Errors
/// The first text that is no value of it.
pub(crate) fn values(texts: &StringArray, to: &DataType) -> Result<ArrayRef, NoValue> {
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let first = texts.iter().position(|text| text.is_some()).unwrap_or(0);
    let values = cast_with_options(texts, &parsed(to), &options).map_err(|_| NoValue(first))?;
    let is_value = |at: usize| values.is_valid(at) && is_exact(texts.value(at), to, &values, at);
    match (0..texts.len()).find(|&at| texts.is_valid(at) && !is_value(at)) {
        Some(at) => Err(NoValue(at)),
        None if values.data_type() == to => Ok(values),
        // In another zone the same points in time.
        None => {
            let values = values.to_data().into_builder().data_type(to.clone()).build();
            values.map(make_array).map_err(|_| NoValue(first))
        }
    }
}

/// Returns the type by which texts are parsed: in UTC if the zone is no offset.
fn parsed(to: &DataType) -> DataType {
    match to {
        DataType::Timestamp(unit, Some(zone)) if !zone.starts_with(['+', '-']) => {
            DataType::Timestamp(*unit, Some("+00:00".into()))
        }
        other => other.clone(),
    }
}

/// Returns whether a text of a time says its zone.
pub(crate) fn has_zone(text: &str) -> bool {
    let time = text.get(10..).unwrap_or_default();
    time.ends_with(['Z', 'z']) || time.contains(['+', '-'])
}

/// Returns whether a text says nothing that its value doesn't have.
fn is_exact(text: &str, to: &DataType, values: &ArrayRef, at: usize) -> bool {
    match to {
        DataType::Decimal128(_, scale) => {
            let exponent = text.contains(['e', 'E']);
            !exponent && fraction_digits(text) <= *scale as usize
        }
        DataType::Date32 => !text.contains(':'),
        // Which time of UTC it is in a place isn't known here.
        DataType::Timestamp(_, Some(zone))
            if !zone.starts_with(['+', '-']) && **zone != *"UTC" && !has_zone(text) =>
        {
            false
        }
        DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) => {
            // A second 60 would become the next minute.
            fraction_digits(text) <= digits_of(*unit) && !text.contains(":60")
        }
        DataType::Float64 => {
            let value = values.as_primitive::<arrow_array::types::Float64Type>().value(at);
            is_float(text, value)
                && (text.len() <= 15 || is_whole_exact(text, &format!("{value:.0}")))
        }
        DataType::Float32 => {
            let value = values.as_primitive::<Float32Type>().value(at);
            is_float(text, value.into())
                && (text.len() <= 7 || is_whole_exact(text, &format!("{value:.0}")))
        }
        _ => true,
    }
}

fn digits_of(unit: TimeUnit) -> usize {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Returns the number of digits after the point, without zeros at the end.
fn fraction_digits(text: &str) -> usize {
    let Some((_, fraction)) = text.split_once('.') else { return 0 };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    fraction[..digits].trim_end_matches('0').len()
}

/// Only a text that says so is infinite, and only one without other digits is zero.
fn is_float(text: &str, value: f64) -> bool {
    let has_digits = || {
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        mantissa.contains(|digit: char| matches!(digit, '1'..='9'))
    };
    match value {
        0.0 => !has_digits(),
        value => !value.is_infinite() || text.contains(['i', 'I']),
    }
}

/// Returns whether a whole number is the one that was read. With an exponent a number is taken for
/// one that was measured.
fn is_whole_exact(text: &str, read: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = match digits.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => digits,
    };
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    let digits = digits.trim_start_matches('0');
    !is_whole || digits.is_empty() || digits == read.trim_start_matches('-')
}

/// Returns the schema with texts in place of all single values.
pub(crate) fn schema_of_texts(schema: &Schema) -> Schema {
    Schema::new(with_leaves(schema.fields(), &|_| Some(DataType::Utf8)))
}

/// Returns texts inside of lists and structs as values of a type.
///
/// # Errors
/// If one is no value of it.
pub(crate) fn nested_values(texts: &ArrayRef, to: &DataType) -> Result<ArrayRef, NoValue> {
    if !to.is_nested() {
        return values(texts.as_string::<i32>(), to);
    }
    let data = texts.to_data();
    let children = data.child_data().iter().zip(inner_types(to)).map(|(child, to)| {
        nested_values(&make_array(child.clone()), to).map(|values| values.to_data())
    });
    let children = children.collect::<Result<Vec<_>, NoValue>>()?;
    let data = data.into_builder().data_type(to.clone()).child_data(children).build();
    data.map(make_array).map_err(|_| NoValue(0))
}

/// Returns whether blanks around a value of a type mean nothing.
pub(crate) fn is_trimmed(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Utf8 | DataType::LargeUtf8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_schema::parse_schema;

    fn is_value(text: &str, name: &str) -> bool {
        let schema = parse_schema(&format!("a:{name}")).unwrap();
        let found = values(&StringArray::from(vec![None, Some(text)]), schema.field(0).data_type());
        found.inspect(|values| assert!(values.is_null(0) && values.is_valid(1))).is_ok()
    }

    #[test]
    fn values_are_exact_or_refused() {
        for (name, good, bad) in [
            ("int64", &["-9223372036854775808", "007"][..], &["1.0", "9223372036854775808"][..]),
            ("uint8", &["255"], &["256", "-1"]),
            ("double", &["0.1", "1e300", "-inf", "9007199254740992"], &["1e400", "x"]),
            ("double", &["NaN", "0e5", "1e-300"], &["9007199254740993", "9007199254740993.0"]),
            ("double", &["-0.0", "123456789012345678.5"], &["1e-400"]),
            ("float", &["0.1", "16777216"], &["16777217", "16777217.0", "1e39", "1e-50"]),
            ("bool", &["true", "FALSE"], &["maybe"]),
            ("decimal(5,2)", &["123.45", "1.500", "-7"], &["1.234", "1234.5", "1e2"]),
            ("date", &["2026-11-22", "1600-02-29"], &["2026-02-30", "2026-11-22T10:00:00"]),
            ("timestamp[s]", &["2026-11-22 10:00:00", "2026-11-22"], &["2026-11-22T10:00:00.5"]),
            ("timestamp[us]", &["2026-11-22T10:00:00.123456000"], &["2026-11-22T10:00:00.1234567"]),
            ("timestamp[ns]", &["2262-01-01T00:00:00"], &["2300-01-01T00:00:00", "noon"]),
            ("timestamp[us,UTC]", &["2026-11-22T10:00:00+02:00", "2026-11-22T10:00:00Z"], &["x"]),
            ("timestamp[us]", &["2016-12-31T23:59:59"], &["2016-12-31T23:59:60"]),
            ("timestamp[s,Europe/Berlin]", &["2026-11-22T10:00:00+01:00"], &["2026-11-22"]),
            ("time64[us]", &["10:00:00.5"], &["25:00:00", "23:59:60"]),
        ] {
            good.iter().for_each(|text| assert!(is_value(text, name), "{text} is {name}"));
            bad.iter().for_each(|text| assert!(!is_value(text, name), "{text} is no {name}"));
        }
    }
}
