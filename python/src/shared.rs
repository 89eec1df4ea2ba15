//! `xsort.shm`: versions in shared memory. A reader gets a memoryview of the version itself,
//! through an object that holds the version.
#![allow(unsafe_code, reason = "lends the bytes of versions by the buffer protocol")]

use crate::arguments::path;
use crate::channel::SIGNAL_INTERVAL;
use crate::errors::Failure;
use crate::exported::Exported;
use parking_lot::Mutex;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyTuple};
use std::ffi::c_int;
use std::time::{Duration, Instant};
use xsort_shm::{Error, HeldVersion, WriterOptions};

/// Copies of at least this number of bytes release the interpreter.
const LONG_BYTES: usize = 64 << 10;

/// The only writer of versions under a path, the beginning of the names of its files (best in
/// /dev/shm). It never waits for readers.
///
/// `readers_max` threads can read at once, and `mode` are the permissions of its files. Used as a
/// context, it ends at the end; the files stay, so that readers have the last version.
///
/// Raises xsort.Error if there is another writer.
#[pyclass(frozen, name = "Writer", module = "xsort.shm")]
pub(crate) struct Writer {
    /// `None` once the writer has ended.
    writer: Mutex<Option<xsort_shm::Writer>>,
}

#[pymethods]
impl Writer {
    #[new]
    #[pyo3(signature = (path, *, readers_max=None, mode=None))]
    fn new(
        path: &Bound<'_, PyAny>,
        readers_max: Option<usize>,
        mode: Option<u32>,
    ) -> PyResult<Writer> {
        let mut options = WriterOptions::default();
        if let Some(readers_max) = readers_max {
            if !(1..=4093).contains(&readers_max) {
                return Err(Failure::of_argument("readers_max is 1 to 4093").into());
            }
            options.readers_max = readers_max;
        }
        options.mode = mode.unwrap_or(options.mode);
        let writer = xsort_shm::Writer::with_options(self::path(path)?, options);
        Ok(Writer { writer: Mutex::new(Some(writer.map_err(Failure::from)?)) })
    }

    /// Publishes a copy of `data`, which is bytes or anything with a buffer in one piece. Returns
    /// the version's number; numbers only grow.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<u64> {
        let data = Exported::new(data, "the data")?;
        let length = data.len();
        let write = |writer: &mut Option<xsort_shm::Writer>| match writer {
            Some(writer) => {
                let fill = |place: &mut [u8]| data.copy_to(place);
                writer.write_with(length, fill).map_err(Failure::from)
            }
            None => Err(Failure::of_argument("this Writer has ended: begin another one")),
        };
        if length < LONG_BYTES
            && let Some(mut writer) = self.writer.try_lock()
        {
            return Ok(write(&mut writer)?);
        }
        Ok(py.detach(|| write(&mut self.writer.lock()))?)
    }

    /// The number of the last version, or None.
    #[getter]
    fn version(&self, py: Python<'_>) -> Option<u64> {
        py.detach(|| self.writer.lock().as_ref()?.version())
    }

    /// Ends the writer. The files stay.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.writer.lock().take()));
    }

    /// Ends the writer and removes its files. Readers keep what they have.
    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        let removed = py.detach(|| self.writer.lock().take().map(xsort_shm::Writer::remove));
        Ok(removed.unwrap_or(Ok(())).map_err(Failure::from)?)
    }

    fn __enter__(slf: Py<Writer>) -> Py<Writer> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

/// Reads the versions that a writer publishes under a path, in any thread, without waiting for it.
///
/// Raises xsort.NotReady if there is no writer yet and none comes in `timeout` seconds.
#[pyclass(frozen, name = "Reader", module = "xsort.shm")]
pub(crate) struct Reader {
    reader: xsort_shm::Reader,
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (path, *, timeout=0.0))]
    fn new(py: Python<'_>, path: &Bound<'_, PyAny>, timeout: f64) -> PyResult<Reader> {
        let path = self::path(path)?;
        let until = deadline(timeout)?;
        loop {
            let wait = left(until);
            match py.detach(|| xsort_shm::Reader::open_wait(&path, wait)) {
                Ok(reader) => return Ok(Reader { reader }),
                Err(Error::NotReady { .. }) if Instant::now() < until => py.check_signals()?,
                Err(error) => return Err(Failure::from(error).into()),
            }
        }
    }

    /// The newest version: a memoryview on the shared memory itself, for reading only. The version
    /// stays as it is for as long as the view or anything made of it lives, and the writer doesn't
    /// wait for that.
    ///
    /// Raises xsort.NotReady before the first version.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMemoryView>> {
        let version = self.reader.read_held().map_err(Failure::from)?;
        PyMemoryView::from(Bound::new(py, Version { version })?.as_any())
    }

    /// Waits for a version newer than the one that this thread read last, and returns it; None
    /// after `timeout` seconds.
    #[pyo3(signature = (timeout))]
    fn wait_newer<'py>(
        &self,
        py: Python<'py>,
        timeout: f64,
    ) -> PyResult<Option<Bound<'py, PyMemoryView>>> {
        let until = deadline(timeout)?;
        loop {
            let wait = left(until);
            let is_newer = py.detach(|| Ok(self.reader.wait_newer(wait)?.is_some()));
            if is_newer.map_err(|error: Error| Failure::from(error))? {
                return self.read(py).map(Some);
            }
            py.check_signals()?;
            if Instant::now() >= until {
                return Ok(None);
            }
        }
    }

    /// The number of the newest version, without reading it; None before the first.
    #[getter]
    fn version(&self) -> Option<u64> {
        self.reader.version()
    }

    /// Whether a writer lives.
    #[getter]
    fn has_writer(&self) -> PyResult<bool> {
        Ok(self.reader.has_writer().map_err(Failure::from)?)
    }

    /// Lets go of the version that this thread read last, if no view holds it: for a thread that
    /// won't read for a while.
    fn release(&self) {
        self.reader.release();
    }
}

/// The time at which `seconds` seconds will have passed.
fn deadline(seconds: f64) -> PyResult<Instant> {
    let length = Duration::try_from_secs_f64(seconds).ok();
    let until = length.and_then(|length| Instant::now().checked_add(length));
    until.ok_or_else(|| Failure::of_argument("a timeout is a number of seconds").into())
}

/// The time to wait before signals are checked again.
fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now()).min(SIGNAL_INTERVAL)
}

/// A version that is held for as long as a view of it lives.
#[pyclass(frozen, module = "xsort.shm")]
pub(crate) struct Version {
    version: HeldVersion,
}

#[pymethods]
impl Version {
    /// # Safety
    /// `view` is one that the interpreter wants to be filled.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let bytes: &[u8] = &slf.get().version;
        let (begin, length) = (bytes.as_ptr().cast_mut().cast(), bytes.len() as ffi::Py_ssize_t);
        // SAFETY: the view keeps the object alive, and the object its bytes, which don't change
        // meanwhile. The view is filled as read-only.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), begin, length, 1, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
