//! Converts Python's numbers for the library: sizes, threads, rows. A number that is out of range
//! is an error that names the argument, the range and the number.

use crate::errors::Failure;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};
use std::num::NonZeroU64;
use xsort::{Memory, size};

/// The maximum number of threads of a job, as in the program.
const THREADS_MAX: u64 = 1024;

/// A whole number that may be out of range. Only the argument that takes it knows its range.
#[derive(Clone)]
pub(crate) enum Whole {
    Number(u64),
    /// A negative number, or one of more than 64 bits, as Python prints it.
    Outside(String),
}

impl Whole {
    /// The number, if it is within `range`. `argument` and `wanted` are for the error.
    fn within(
        &self,
        range: std::ops::RangeInclusive<u64>,
        argument: &str,
        wanted: &str,
    ) -> Result<u64, Failure> {
        let given = match self {
            Whole::Number(number) if range.contains(number) => return Ok(*number),
            Whole::Number(number) => number.to_string(),
            Whole::Outside(text) => text.clone(),
        };
        Err(Failure::of_argument(format!("{argument} is {wanted}, not {given}")))
    }
}

impl<'py> FromPyObject<'_, 'py> for Whole {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Whole> {
        // NumPy's whole numbers aren't Python's, but they have `__index__`.
        let is_whole = object.is_instance_of::<PyInt>() || object.hasattr("__index__")?;
        if !is_whole || object.is_instance_of::<PyBool>() {
            let kind = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a whole number is wanted, not {kind}")));
        }
        Ok(match object.extract() {
            Ok(number) => Whole::Number(number),
            Err(_) => Whole::Outside(object.str()?.to_string()),
        })
    }
}

/// The number of threads of a job; `None` for as many as there are processors.
pub(crate) fn threads(threads: Option<Whole>) -> Result<Option<usize>, Failure> {
    let wanted = "0 to 1024, 0 or None for one a processor";
    let number = |threads: Whole| threads.within(0..=THREADS_MAX, "threads", wanted);
    let threads = threads.map(number).transpose()?;
    Ok(threads.filter(|&threads| threads > 0).map(|threads| threads as usize))
}

/// The maximum number of rows of a batch.
pub(crate) fn batch_rows(rows: &Whole) -> Result<usize, Failure> {
    let wanted = "the most rows of a batch, 1 or more";
    Ok(rows.within(1..=u64::MAX, "batch_rows", wanted)? as usize)
}

/// A number of bytes, or text such as `"1G"`.
pub(crate) enum Size {
    Bytes(Whole),
    Text(String),
}

impl<'py> FromPyObject<'_, 'py> for Size {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Size> {
        if object.is_instance_of::<PyString>() {
            return Ok(Size::Text(object.extract()?));
        }
        object.extract().map(Size::Bytes).map_err(|error: PyErr| {
            if !error.is_instance_of::<PyTypeError>(object.py()) {
                return error;
            }
            let kind = object.get_type().name().map(|name| name.to_string()).unwrap_or_default();
            PyTypeError::new_err(format!(
                "a whole number of bytes is wanted, or text such as '1G', not {kind}"
            ))
        })
    }
}

impl Size {
    /// The size as an amount of memory. Text may also be a percentage.
    pub(crate) fn memory(&self) -> Result<Memory, Failure> {
        let wanted = "a number of bytes from 1 on, or text such as '1G' or '50%' (of what is \
                      available, which None takes)";
        let memory = match self {
            Size::Bytes(bytes) => return Ok(bytes.within(1..=u64::MAX, "memory", wanted)?.into()),
            Size::Text(text) => {
                text.parse().map_err(|error| Failure::of_argument(format!("memory: {error}")))?
            }
        };
        match memory {
            Memory::Bytes(0) => Err(Failure::of_argument(format!("memory is {wanted}, not 0"))),
            memory => Ok(memory),
        }
    }

    /// The size as a rate in bytes per second.
    pub(crate) fn rate(&self) -> Result<NonZeroU64, Failure> {
        let wanted = "a number of bytes a second from 1 on, or text such as '200MB'";
        let bytes = match self {
            Size::Bytes(bytes) => bytes.within(1..=u64::MAX, "bandwidth_limit", wanted)?,
            Size::Text(text) => size::bytes(text)
                .map_err(|error| Failure::of_argument(format!("bandwidth_limit: {error}")))?,
        };
        NonZeroU64::new(bytes)
            .ok_or_else(|| Failure::of_argument(format!("bandwidth_limit is {wanted}, not 0")))
    }
}
