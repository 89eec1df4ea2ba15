//! Converts Python's values to keys: bytes that compare as the values do.

use crate::errors::Failure;
use crate::key_types::{Field, FieldType, KeyTypes};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyFloat, PyInt, PyString, PyTuple};
use xsort::SortKey;

/// A field of a key that falls: larger values come first.
#[pyclass(frozen, name = "desc", module = "xsort")]
pub(crate) struct Descending {
    /// The value.
    #[pyo3(get)]
    value: Py<PyAny>,
}

#[pymethods]
impl Descending {
    #[new]
    fn new(value: Py<PyAny>) -> Descending {
        Descending { value }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("desc({})", self.value.bind(py).repr()?))
    }
}

/// Makes the key of a record for a Sorter: bytes that compare as the fields do, one after the
/// other.
///
/// A field is text, bytes, a whole number of 64 bits with a sign, or a floating-point number, and
/// has the same type in all keys: keys that are bytes don't tell. desc(field) falls. -0.0 and 0.0
/// are equal, and so are all NaNs, which are larger than infinity.
///
/// Raises xsort.Unsuitable for other whole numbers, TypeError for other types.
#[pyfunction]
#[pyo3(signature = (*fields))]
pub(crate) fn key<'py>(fields: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyBytes>> {
    let mut key = SortKey::new();
    fields.iter().try_for_each(|field| push(&mut key, &field, false).map(drop))?;
    Ok(PyBytes::new(fields.py(), key.as_ref()))
}

/// The bytes and the types of a key. A key is bytes itself, or has fields.
pub(crate) fn key_bytes(value: &Bound<'_, PyAny>) -> PyResult<(Vec<u8>, KeyTypes)> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok((bytes.as_bytes().to_vec(), KeyTypes::Raw));
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok((bytes.to_vec(), KeyTypes::Raw));
    }
    let mut key = SortKey::new();
    let types = match value.cast::<PyTuple>() {
        Ok(fields) => {
            let types = fields.iter().map(|field| push(&mut key, &field, false));
            KeyTypes::Tuple(types.collect::<PyResult<_>>()?)
        }
        Err(_) => KeyTypes::One(push(&mut key, value, false)?),
    };
    Ok((key.as_ref().to_vec(), types))
}

/// Appends a field to a key. `falls` is true for descending. Returns the field's type and
/// direction.
fn push(key: &mut SortKey, field: &Bound<'_, PyAny>, falls: bool) -> PyResult<Field> {
    if let Ok(falling) = field.cast::<Descending>() {
        key.descending();
        return push(key, falling.get().value.bind(field.py()), true);
    }
    let own = if let Ok(text) = field.cast::<PyString>() {
        key.text(text.to_cow()?.as_bytes());
        FieldType::Text
    } else if let Ok(bytes) = field.cast::<PyBytes>() {
        key.text(bytes.as_bytes());
        FieldType::Bytes
    } else if let Ok(bytes) = field.cast::<PyByteArray>() {
        key.text(bytes.to_vec());
        FieldType::Bytes
    } else if field.is_instance_of::<PyInt>() {
        let number = field.extract().map_err(|_| {
            Failure::of_argument("a whole number in a key has 64 bits and a sign: make it a text")
        });
        key.i64(number?);
        FieldType::Whole
    } else if field.is_instance_of::<PyFloat>() {
        key.f64(comparable(field.extract()?));
        FieldType::Float
    } else {
        let kind = field.get_type().name()?;
        let text = format!("a field of a key is text, bytes or a number, not {kind}");
        return Err(PyTypeError::new_err(text));
    };
    Ok((own, falls))
}

/// A number with only one zero and one NaN, as `sort_array` and `sorted_batches` compare them.
fn comparable(number: f64) -> f64 {
    match number {
        number if number.is_nan() => f64::NAN.copysign(1.0),
        // Also matches -0.0.
        0.0 => 0.0,
        number => number,
    }
}
