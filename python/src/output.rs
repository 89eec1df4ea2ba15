//! Outputs for sorted text: a path or a file object.

use crate::arguments::{descriptor, path};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// An output.
pub(crate) enum Output {
    Path(PathBuf),
    Object(ObjectWriter),
}

impl Output {
    /// An output from a path, or from an object with a `write` method that takes bytes.
    pub(crate) fn new(value: &Bound<'_, PyAny>) -> PyResult<Output> {
        if value.hasattr("write")? {
            // Bytes in the file object's buffer must be written first.
            if descriptor(value)?.is_some() {
                value.call_method0("flush")?;
            }
            return Ok(Output::Object(ObjectWriter(value.clone().unbind())));
        }
        path(value).map(Output::Path)
    }

    /// The path; that of an object is empty.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Output::Path(path) => path,
            Output::Object(_) => Path::new(""),
        }
    }
}

/// Writes to a file object, from any thread.
pub(crate) struct ObjectWriter(Py<PyAny>);

impl Write for ObjectWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let written = self.0.call_method1(py, "write", (PyBytes::new(py, bytes),))?;
            // The `write` of text files and of some libraries returns nothing.
            let count = written.extract::<Option<usize>>(py)?.unwrap_or(bytes.len());
            Ok(count)
        })
        .map_err(|error: PyErr| io::Error::other(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flush = |py: Python<'_>| self.0.call_method0(py, "flush").map(drop);
        Python::attach(flush).map_err(io::Error::other)
    }
}
