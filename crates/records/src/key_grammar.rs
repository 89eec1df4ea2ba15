//! Parsing and printing a key field: `OFFSET:LENGTH[:TYPE][:desc]`.
//!
//! There is one form without alternatives. The length is always written, even if the type implies
//! it, so that users can compare a field with the record. An integer or float type without `le` or
//! `be` is little-endian, like the machine's own.

use std::fmt;
use std::str::FromStr;

use crate::key_field::{Endian, KeyField, KeyKind};
use crate::layout::lengths;

/// The error for a text that isn't a key field; says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("key field '{text}': {reason}")]
pub struct KeyFieldError {
    text: String,
    reason: String,
}

impl FromStr for KeyField {
    type Err = KeyFieldError;

    /// Parses `OFFSET:LENGTH[:TYPE][:desc]`.
    ///
    /// OFFSET and LENGTH are decimal numbers of bytes. TYPE is `bytes` (the default), `u` or `i`
    /// with 8, 16, 32, 64 or 128 bits, `f32` or `f64`, `n16`, `n32` or `n64` (floats by value), or
    /// `t64` (times). `le` or `be` follows, except for 8 bits; the default is little-endian. `asc`
    /// is accepted for the default direction.
    fn from_str(text: &str) -> Result<KeyField, KeyFieldError> {
        parse(text).map_err(|reason| KeyFieldError { text: text.to_owned(), reason })
    }
}

fn parse(text: &str) -> Result<KeyField, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let (offset, length, rest) = match parts[..] {
        [offset, length, ref rest @ ..] => (offset, length, rest),
        _ => {
            return Err(
                "write OFFSET:LENGTH[:TYPE][:desc], for instance 0:10 or 8:8:u64le:desc".to_owned()
            );
        }
    };
    let offset = number(offset, "OFFSET")?;
    let length = number(length, "LENGTH")?;
    if length == 0 {
        return Err("a LENGTH of 0 orders nothing: write the number of bytes".to_owned());
    }
    let (kind, descending) = match *rest {
        [] => (None, None),
        [one] if direction(one).is_some() => (None, direction(one)),
        [kind] => (Some(kind), None),
        [kind, way] => {
            let known = direction(way);
            if known.is_none() {
                return Err(format!("'{way}' is no direction: write asc or desc after the TYPE"));
            }
            (Some(kind), known)
        }
        _ => return Err("too many parts: write OFFSET:LENGTH[:TYPE][:desc]".to_owned()),
    };
    let kind = kind.map_or(Ok(KeyKind::Bytes), |name| parse_kind(name, offset, length))?;
    Ok(KeyField { offset, length, kind, descending: descending.unwrap_or(false) })
}

/// Parses a decimal number without sign. Errors call it `what`.
fn number(text: &str, what: &str) -> Result<usize, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits {
        return Err(format!(
            "{what} '{text}' is no number: write {what} as decimal bytes, for instance 8"
        ));
    }
    text.parse().map_err(|_| format!("{what} {text} is larger than any record"))
}

/// True for `desc`, false for `asc`, `None` for any other text.
fn direction(text: &str) -> Option<bool> {
    match text {
        "asc" => Some(false),
        "desc" => Some(true),
        _ => None,
    }
}

fn parse_kind(name: &str, offset: usize, length: usize) -> Result<KeyKind, String> {
    if name == "bytes" {
        return Ok(KeyKind::Bytes);
    }
    let unknown = || {
        format!(
            "'{name}' is no type: write bytes, u8, u16le, u16be .. u128be, i8, i16le .. i128be, \
             f32le .. f64be, n16le .. n64be, t64le or t64be"
        )
    };
    let (stem, endian) = match (name.strip_suffix("le"), name.strip_suffix("be")) {
        (Some(stem), _) => (stem, Some(Endian::Little)),
        (_, Some(stem)) => (stem, Some(Endian::Big)),
        _ => (name, None),
    };
    let of = endian.unwrap_or(Endian::Little);
    let (kind, type_bytes) = match stem {
        "u8" => (KeyKind::Unsigned(of), 1),
        "u16" => (KeyKind::Unsigned(of), 2),
        "u32" => (KeyKind::Unsigned(of), 4),
        "u64" => (KeyKind::Unsigned(of), 8),
        "u128" => (KeyKind::Unsigned(of), 16),
        "i8" => (KeyKind::Signed(of), 1),
        "i16" => (KeyKind::Signed(of), 2),
        "i32" => (KeyKind::Signed(of), 4),
        "i64" => (KeyKind::Signed(of), 8),
        "i128" => (KeyKind::Signed(of), 16),
        "f32" => (KeyKind::Float(of), 4),
        "f64" => (KeyKind::Float(of), 8),
        "n16" => (KeyKind::Number(of), 2),
        "n32" => (KeyKind::Number(of), 4),
        "n64" => (KeyKind::Number(of), 8),
        "t64" => (KeyKind::Time(of), 8),
        _ => return Err(unknown()),
    };
    if type_bytes == 1 && endian.is_some() {
        return Err(format!("a single byte has no byte order: write {offset}:{length}:{stem}"));
    }
    if type_bytes != length {
        return Err(format!(
            "{stem} is {type_bytes} bytes long: write {offset}:{type_bytes}:{name}"
        ));
    }
    Ok(kind)
}

impl fmt::Display for KeyField {
    /// The shortest text that parses to this field, including its byte order.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyField { offset, length, kind, descending } = *self;
        write!(out, "{offset}:{length}")?;
        let (letter, endian) = match kind {
            KeyKind::Bytes => ("", Endian::Big),
            KeyKind::Unsigned(endian) => ("u", endian),
            KeyKind::Signed(endian) => ("i", endian),
            KeyKind::Float(endian) => ("f", endian),
            KeyKind::Number(endian) => ("n", endian),
            KeyKind::Time(endian) => ("t", endian),
        };
        if kind != KeyKind::Bytes {
            write!(out, ":{letter}{}", 8 * length)?;
            if length != 1 {
                out.write_str(if endian == Endian::Little { "le" } else { "be" })?;
            }
        }
        if descending { out.write_str(":desc") } else { Ok(()) }
    }
}

impl fmt::Display for KeyKind {
    /// The type and its possible lengths, in words.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            KeyKind::Bytes => "bytes",
            KeyKind::Unsigned(_) => "unsigned integer",
            KeyKind::Signed(_) => "signed integer",
            KeyKind::Float(_) => "float",
            KeyKind::Number(_) => "float by its value",
            KeyKind::Time(_) => "time",
        };
        write!(out, "{name} of {}", lengths(*self))
    }
}
