//! Converts the library's errors to exceptions. `xsort/_errors.py` defines them, because there
//! Python's own classes can be bases. The texts are the program's.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::io;
use std::path::{Path, PathBuf};
use xsort::Error;

/// An error that becomes an exception once a thread is attached to the interpreter.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An argument or an input is unsuitable.
    Unsuitable { text: String, path: Option<PathBuf> },
    /// An error of the library.
    Job(Box<Error>),
    /// An error of shared memory.
    Shared(Box<xsort_shm::Error>),
    /// An exception from Python code that the library called.
    Python(PyErr),
    /// A thread panicked: a bug of xsort.
    Panicked(String),
}

impl Failure {
    /// The failure for an unsuitable argument.
    pub(crate) fn of_argument(reason: impl ToString) -> Failure {
        Failure::Unsuitable { text: reason.to_string(), path: None }
    }

    /// The failure of a thread that ended without a result.
    pub(crate) fn lost_thread() -> Failure {
        Failure::Panicked("a thread ended without a result".into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Job(Box::new(error))
    }
}

impl From<xsort_shm::Error> for Failure {
    fn from(error: xsort_shm::Error) -> Failure {
        Failure::Shared(Box::new(error))
    }
}

impl From<xsort_arrow::Error> for Failure {
    fn from(error: xsort_arrow::Error) -> Failure {
        use xsort_arrow::Error;
        match error {
            Error::Sort(error) => error.into(),
            Error::Panicked => Failure::Panicked("a thread failed".into()),
            error => Failure::of_argument(error),
        }
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Failure {
        Failure::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        Python::attach(|py| {
            let made = match failure {
                Failure::Unsuitable { text, path } => {
                    class(py, "Unsuitable").and_then(|class| class.call1((text, path)))
                }
                Failure::Job(error) => of_job(py, &error),
                Failure::Shared(error) => of_shared(py, &error),
                Failure::Python(error) => return error,
                Failure::Panicked(reason) => {
                    let text = format!("{reason}: this is a fault of xsort, please report it");
                    class(py, "Error").and_then(|class| class.call1((text,)))
                }
            };
            made.map_or_else(|error| error, PyErr::from_value)
        })
    }
}

/// A class of `xsort/_errors.py`.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || {
        py.import("xsort._errors").map(|module| module.into_any().into())
    })?;
    let class = module.bind(py).getattr(name)?;
    Ok(class.cast_into::<PyType>()?.into_any())
}

/// The exception for an error. The text includes the errors that wrap its cause.
fn of_job<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let text = error.to_string();
    match cause(error) {
        Error::Disk(disk) => of_file(py, text, &disk.source, &disk.path),
        Error::Output(source) | Error::Codec(source) => of_file(py, text, source, Path::new("")),
        Error::Input { path, .. }
        | Error::Unordered { path, .. }
        | Error::LongLine { path, .. } => class(py, "Unsuitable")?.call1((text, path)),
        Error::Settings(_) => class(py, "Unsuitable")?.call1((text,)),
        Error::Memory { needed_bytes, .. } => {
            class(py, "BudgetTooSmall")?.call1((text, *needed_bytes))
        }
        Error::LongRecord { needed_bytes, .. } => {
            class(py, "BudgetTooSmall")?.call1((text, *needed_bytes))
        }
        Error::Space { directory, .. } => {
            class(py, "NoSpace")?.call1((text, STORAGE_FULL, directory))
        }
        Error::Corrupt { path, offset, .. } => class(py, "Corrupt")?.call1((text, path, *offset)),
        _ => class(py, "Error")?.call1((text,)),
    }
}

/// The exception for an error of shared memory.
fn of_shared<'py>(py: Python<'py>, error: &xsort_shm::Error) -> PyResult<Bound<'py, PyAny>> {
    use xsort_shm::Error;
    let text = error.to_string();
    match error {
        Error::Io { source, path, .. } => of_file(py, text, source, path),
        Error::NotReady { .. } => class(py, "NotReady")?.call1((text,)),
        Error::Corrupt { path, .. } => class(py, "Corrupt")?.call1((text, path, None::<u64>)),
        Error::Foreign { path, .. } | Error::WrongOwner { path, .. } => {
            class(py, "Unsuitable")?.call1((text, path))
        }
        _ => class(py, "Error")?.call1((text,)),
    }
}

/// `ENOSPC`.
const STORAGE_FULL: i32 = 28;

/// The innermost cause of an error that wraps another one.
fn cause(error: &Error) -> &Error {
    match error {
        Error::InputsRemoved { cause: inner }
        | Error::Resumable { cause: inner }
        | Error::Streamed { cause: inner }
        | Error::InPlace { cause: inner } => cause(inner),
        error => error,
    }
}

/// The exception for a system error, of one of Python's classes.
fn of_file<'py>(
    py: Python<'py>,
    text: String,
    source: &io::Error,
    path: &Path,
) -> PyResult<Bound<'py, PyAny>> {
    use io::ErrorKind::{NotFound, PermissionDenied, QuotaExceeded, StorageFull};
    let name = match source.kind() {
        NotFound => "NotFound",
        PermissionDenied => "NoPermission",
        StorageFull | QuotaExceeded => "NoSpace",
        _ => "FileError",
    };
    let path = Some(path).filter(|path| !path.as_os_str().is_empty());
    class(py, name)?.call1((text, source.raw_os_error(), path))
}
