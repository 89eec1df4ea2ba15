//! `xsort.sort_array`.

use crate::array_layout::array_layout;
use crate::errors::Failure;
use crate::exported::{Exported, WritableBytes};
use crate::job::Job;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict, PyTuple};
use xsort::{Error, SortSlice};

/// Fewer bytes are sorted at once; a thread would take longer to start.
const SMALL_BYTES: usize = 64 << 10;

/// Sorts the elements of a NumPy array of one dimension, or of anything with a buffer, stably and
/// by several threads.
///
/// `key` names fields of a structured array, "NAME[:desc]" each; "outer.inner" is a field of a
/// field. Without it elements compare by all of their fields, and ":desc" reverses that. With
/// `record`, the bytes of the buffer are records of so many bytes, and `key` is
/// "OFFSET:LENGTH[:TYPE][:desc]" as in `sort`.
///
/// Floats compare by their values; NaN comes last, and so does NaT, whichever way they sort.
///
/// Returns `out` if it is given: another array as long, or `a` itself, which is then sorted where
/// it is. Otherwise returns a new array: of NumPy, of the array module, or a bytearray of others.
/// With `argsort=True` it has the numbers of the elements in order, 8 bytes each.
///
/// The array must not be changed meanwhile. Memory: 8 bytes an element, and in place as much as it
/// has again.
///
/// Raises xsort.Unsuitable for arrays with gaps, of several dimensions or of Python objects, and
/// for outputs that don't fit.
#[pyfunction]
#[pyo3(signature = (a, key=None, *, record=None, out=None, argsort=false, threads=None))]
pub(crate) fn sort_array<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    key: Option<&Bound<'py, PyAny>>,
    record: Option<usize>,
    out: Option<Bound<'py, PyAny>>,
    argsort: bool,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let is_numpy = is_numpy(a)?;
    let exported = exported(a, "the array")?;
    let buffer = exported.buffer();
    let is_whole = record.is_none();
    if buffer.dimensions() != 1 && is_whole {
        let text = format!("an array of one dimension is sorted, not of {}", buffer.dimensions());
        return Err(Failure::of_argument(text).into());
    }
    let format = buffer.format().to_string_lossy();
    let layout = array_layout(a, is_numpy, (&format, buffer.item_size()), (record, key))?;
    let count = buffer.len_bytes() / layout.record_bytes();
    let out = match out {
        Some(out) => out,
        None if argsort => new_order(py, is_numpy, count)?,
        None => new_like(a, is_numpy, buffer.len_bytes())?,
    };
    if !argsort && is_numpy && self::is_numpy(&out)? {
        let [ours, theirs] = [a.getattr("dtype")?, out.getattr("dtype")?];
        if !ours.eq(&theirs)? {
            let text = format!("the output has elements of type {theirs}, and the array {ours}");
            return Err(Failure::of_argument(text).into());
        }
    }
    let job = Job::new(None)?;
    let mut sort = SortSlice::new(layout).cancel(job.cancel());
    if let Some(threads) = threads.filter(|&threads| threads > 0) {
        sort = sort.threads(threads);
    }
    let bytes = exported.bytes().len();
    let mut work = Work::new(exported, self::exported(&out, "the output")?, argsort)?;
    if bytes <= SMALL_BYTES {
        work.run(&sort).map_err(Failure::from)?;
    } else {
        job.run(py, move || work.run(&sort))?;
    }
    Ok(out)
}

/// Whose bytes are sorted, and where they go.
enum Work {
    InPlace(WritableBytes),
    To(Exported, WritableBytes),
    Order(Exported, WritableBytes),
}

impl Work {
    fn new(from: Exported, to: Exported, argsort: bool) -> PyResult<Work> {
        if from.is_same(&to) && !argsort {
            // One of them only, since it is written to.
            drop(from);
            return to.writable().map(Work::InPlace);
        }
        if from.overlaps(&to) {
            let text = "the output is a part of the array: it is another one, or all of it";
            return Err(Failure::of_argument(text).into());
        }
        let to = to.writable()?;
        Ok(if argsort { Work::Order(from, to) } else { Work::To(from, to) })
    }

    fn run(&mut self, sort: &SortSlice) -> Result<(), Error> {
        match self {
            Work::InPlace(bytes) => sort.in_place(bytes.bytes())?,
            Work::To(from, to) => sort.to(from.bytes(), to.bytes())?,
            Work::Order(from, to) => {
                let text = "the output of argsort has whole numbers of 8 bytes, aligned";
                let order = to.numbers().ok_or_else(|| Error::Settings(text.into()))?;
                sort.order(from.bytes(), order)?
            }
        };
        Ok(())
    }
}

/// Whether it is an array of NumPy, which is there if it was imported.
fn is_numpy(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let modules = array.py().import("sys")?.getattr("modules")?;
    let numpy = modules.cast::<PyDict>()?.get_item("numpy")?;
    numpy.map_or(Ok(false), |numpy| array.is_instance(&numpy.getattr("ndarray")?))
}

/// Lends the bytes of an array. NumPy lends those of dates as bytes only.
fn exported(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Exported> {
    if !is_numpy(array)? {
        return Exported::new(array, what);
    }
    let numpy = array.py().import("numpy")?;
    let has_mask = array.is_instance(&numpy.getattr("ma")?.getattr("MaskedArray")?)?;
    let dtype = array.getattr("dtype")?;
    let item_bytes: usize = dtype.getattr("itemsize")?.extract()?;
    if has_mask || item_bytes == 0 || dtype.getattr("hasobject")?.extract()? {
        let kind = if has_mask { "a mask".to_owned() } else { format!("elements of type {dtype}") };
        let text = format!("{what} has {kind}, which can't be sorted where they are");
        return Err(Failure::of_argument(text).into());
    }
    if array.getattr("ndim")?.extract::<usize>()? == 0 {
        return Err(Failure::of_argument(format!("{what} has no dimension")).into());
    }
    let plain = numpy.call_method1("asarray", (array,))?;
    let viewed = plain.call_method1("view", (format!("V{item_bytes}"),));
    Exported::new(&viewed.unwrap_or(plain), what)
}

/// An array like another one, with any content.
fn new_like<'py>(
    array: &Bound<'py, PyAny>,
    is_numpy: bool,
    bytes: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    if is_numpy {
        return py.import("numpy")?.call_method1("empty_like", (array,));
    }
    if array.is_instance(&py.import("array")?.getattr("array")?)? {
        return array.call_method1("__getitem__", (py.eval(c"slice(None)", None, None)?,));
    }
    PyByteArray::new_with(py, bytes, |_| Ok(())).map(Bound::into_any)
}

/// An array of so many numbers.
fn new_order<'py>(py: Python<'py>, is_numpy: bool, count: usize) -> PyResult<Bound<'py, PyAny>> {
    if is_numpy {
        return py.import("numpy")?.call_method1("empty", (count, "int64"));
    }
    let zeros = PyByteArray::new_with(py, 8 * count, |_| Ok(()))?;
    let numbers = py.import("array")?.getattr("array")?;
    numbers.call1(PyTuple::new(py, ["q".into_pyobject(py)?.into_any(), zeros.into_any()])?)
}
