//! Converts Python's values for the library: paths, words, keys.

use crate::errors::Failure;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use xsort::{Format, KeyField, KeyKind, Layout, Within};

/// A path from text, bytes or an `os.PathLike`. For a file object, the path of its descriptor.
pub(crate) fn path(value: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    if !is_path(value)? {
        if let Some(number) = descriptor(value)? {
            return Ok(format!("/proc/self/fd/{number}").into());
        }
        let kind = value.get_type().name()?;
        let text = format!("a path or an open file is wanted, not {kind}");
        return Err(PyTypeError::new_err(text));
    }
    let bytes = value.py().import("os")?.call_method1("fsencode", (value,))?;
    let bytes = bytes.cast_into::<PyBytes>()?;
    Ok(OsString::from_vec(bytes.as_bytes().to_vec()).into())
}

/// True if the value itself is a path.
fn is_path(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.hasattr("__fspath__")?)
}

/// The descriptor of a file object, if it has one.
pub(crate) fn descriptor(value: &Bound<'_, PyAny>) -> PyResult<Option<i32>> {
    if is_path(value)? || !value.hasattr("fileno")? {
        return Ok(None);
    }
    match value.call_method0("fileno") {
        Ok(number) => number.extract().map(Some),
        // Objects of the io module that exist only in memory.
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyOSError>(value.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// One path, or the paths of an iterable.
pub(crate) fn paths(value: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    if is_path(value)? || value.hasattr("fileno")? {
        return Ok(vec![path(value)?]);
    }
    value.try_iter()?.map(|item| path(&item?)).collect()
}

/// Paths; empty for `None`.
pub(crate) fn optional_paths(value: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<PathBuf>> {
    value.map_or_else(|| Ok(Vec::new()), paths)
}

/// How late a line or row may come: a number, or a text with a unit.
pub(crate) fn within_of(value: &Bound<'_, PyAny>) -> PyResult<Within> {
    let within = value.str()?.to_string_lossy().parse::<Within>();
    Ok(within.map_err(|error| Failure::of_argument(format!("within: {error}")))?)
}

/// One text, or the texts of an iterable.
pub(crate) fn texts(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if value.is_instance_of::<PyString>() {
        return Ok(vec![value.extract()?]);
    }
    value.try_iter()?.map(|item| item?.extract()).collect()
}

/// Splits a text into words as a shell does, or returns the words of an iterable.
pub(crate) fn words(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if value.is_instance_of::<PyString>() {
        return value.py().import("shlex")?.call_method1("split", (value,))?.extract();
    }
    texts(value)
}

/// Parses a value of a type whose values have names.
pub(crate) fn named<T: std::str::FromStr<Err: ToString>>(name: &str) -> Result<T, Failure> {
    name.parse().map_err(Failure::of_argument)
}

/// How records are divided: all of one size in bytes, or by a prefix (`"prefixed:u32le"`).
#[derive(FromPyObject)]
pub(crate) enum Record {
    #[pyo3(transparent)]
    Bytes(usize),
    #[pyo3(transparent)]
    Prefixed(String),
}

/// Whether inputs that are in order are merged: `True`, `False`, or `"any"` to sort them if one
/// isn't.
#[derive(FromPyObject)]
pub(crate) enum Merge {
    #[pyo3(transparent)]
    Flag(bool),
    #[pyo3(transparent)]
    Word(String),
}

impl Merge {
    /// True if all inputs must be in order; false if one that isn't in order is sorted. `None` to
    /// sort.
    pub(crate) fn must_be_in_order(merge: Option<&Merge>) -> Result<Option<bool>, Failure> {
        match merge {
            None | Some(Merge::Flag(false)) => Ok(None),
            Some(Merge::Flag(true)) => Ok(Some(true)),
            Some(Merge::Word(word)) if word == "any" => Ok(Some(false)),
            Some(Merge::Word(word)) => Err(Failure::of_argument(format!(
                "merge is True, False or \"any\", not \"{word}\""
            ))),
        }
    }
}

/// The fields of a key, from a text or an iterable of texts.
pub(crate) fn key_fields(key: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<KeyField>> {
    let keys = key.map_or_else(|| Ok(Vec::new()), texts)?;
    Ok(keys.iter().map(|key| named(key)).collect::<Result<_, _>>()?)
}

/// The layout of records, if any of the three arguments describes it. Without keys, whole records
/// are compared.
pub(crate) fn layout(
    format: Option<&str>,
    record: Option<usize>,
    key: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Layout>> {
    let keys = key_fields(key)?;
    match (format, record) {
        (Some(_), Some(_)) => {
            Err(Failure::of_argument("format and record exclude each other").into())
        }
        (_, None) if !keys.is_empty() => {
            let text = "keys need record, the number of bytes of a record";
            Err(Failure::of_argument(text).into())
        }
        (None, None) => Ok(None),
        (Some(name), None) => Ok(Some(named::<Format>(name)?.layout())),
        (None, Some(bytes)) => {
            let whole =
                KeyField { offset: 0, length: bytes, kind: KeyKind::Bytes, descending: false };
            let keys = if keys.is_empty() { vec![whole] } else { keys };
            Ok(Some(Layout::new(bytes, keys).map_err(Failure::of_argument)?))
        }
    }
}
