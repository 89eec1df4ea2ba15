//! `xsort.sort_array`.
#![allow(unsafe_code, reason = "borrows the bytes of objects that it has just made")]

use crate::amounts::{self, Whole};
use crate::array_layout::{self, ArrayLayout, array_layout, check_output};
use crate::complex_field::{ComplexField, check_complex};
use crate::errors::Failure;
use crate::exported::{Exported, WritableBytes, room};
use crate::job::Job;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyTuple};
use std::thread::available_parallelism;
use xsort::{Cancel, Error, SortSlice};

/// Fewer bytes are sorted on the calling thread: starting another would take longer.
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
/// Complex numbers compare by their real part first; one of which only the imaginary part is NaN
/// is refused.
///
/// Returns `out` if it is given: another array as long, or `a` itself, which is then sorted where
/// it is. Otherwise returns a new array: of NumPy, of the array module, or a bytearray of others.
/// With `argsort=True` it has the numbers of the elements in order, 8 bytes each.
///
/// What other threads write to the array meanwhile comes out or doesn't. Memory: a copy of the
/// array, two of them with `out`, and 8 bytes an element.
///
/// Raises xsort.Unsuitable for arrays with gaps, of several dimensions or of Python objects, and
/// for outputs of another length or type.
#[pyfunction]
#[pyo3(signature = (a, key=None, *, record=None, out=None, argsort=false, threads=None))]
pub(crate) fn sort_array<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    key: Option<&Bound<'py, PyAny>>,
    record: Option<usize>,
    out: Option<Bound<'py, PyAny>>,
    argsort: bool,
    threads: Option<Whole>,
) -> PyResult<Bound<'py, PyAny>> {
    let is_numpy = array_layout::is_numpy(a)?;
    let exported = exported(a, "the array")?;
    let buffer = exported.buffer();
    let is_whole = record.is_none();
    if buffer.dimensions() != 1 && is_whole {
        let text = format!("an array of one dimension is sorted, not of {}", buffer.dimensions());
        return Err(Failure::of_argument(text).into());
    }
    let format = buffer.format().to_string_lossy();
    let ArrayLayout { layout, complex } =
        array_layout(a, is_numpy, (&format, buffer.item_size()), (record, key))?;
    let element_bytes = layout.record_bytes();
    let count = buffer.len_bytes() / element_bytes;
    let is_new = out.is_none();
    let out = match out {
        Some(out) => out,
        None if argsort => new_order(py, is_numpy, count)?,
        None => new_like(a, is_numpy, buffer.len_bytes())?,
    };
    let to = self::exported(&out, "the output")?;
    check_output((a, &exported), (&out, &to), is_whole, argsort)?;
    let job = Job::new(None)?;
    let mut sort = SortSlice::new(layout).cancel(job.cancel());
    let threads = amounts::threads(threads)?;
    if let Some(threads) = threads {
        sort = sort.threads(threads);
    }
    let threads = threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let copying = Copying { threads, cancel: job.cancel().clone() };
    let complex = (element_bytes, complex);
    let bytes = exported.len();
    let mut work = Work::new(exported, to, (is_new, argsort), complex)?;
    if bytes <= SMALL_BYTES {
        work.run(&sort, &copying)?;
    } else {
        job.run(py, move || work.run(&sort, &copying))?;
    }
    Ok(out)
}

/// How to copy bytes to which other threads may write meanwhile.
struct Copying {
    threads: usize,
    cancel: Cancel,
}

/// The bytes to sort, and the place for the result.
struct Work {
    from: Exported,
    to: WritableBytes,
    /// True if this call created the output, so that no other code has it yet.
    is_new: bool,
    argsort: bool,
    /// Bytes of an element, and its complex numbers.
    complex: (usize, Vec<ComplexField>),
}

impl Work {
    fn new(
        from: Exported,
        to: Exported,
        (is_new, argsort): (bool, bool),
        complex: (usize, Vec<ComplexField>),
    ) -> PyResult<Work> {
        if from.overlaps(&to) && (argsort || !from.is_same(&to)) {
            let text = "the output is a part of the array: it is another one, or all of it";
            return Err(Failure::of_argument(text).into());
        }
        Ok(Work { from, to: to.writable()?, is_new, argsort, complex })
    }

    fn run(&mut self, sort: &SortSlice, copying: &Copying) -> Result<(), Failure> {
        let Copying { threads, ref cancel } = *copying;
        let copy = match self.from.constant() {
            Some(_) => None,
            None => Some(self.from.copied(threads, cancel)?),
        };
        let bytes = copy.as_deref().or(self.from.constant()).unwrap_or_default();
        check_complex(bytes, self.complex.0, &self.complex.1)?;
        if self.argsort {
            order(&mut self.to, self.is_new, sort, bytes, threads)?;
        } else if self.is_new {
            // SAFETY: `sort_array` created the output, and returns it only after this.
            sort.to(bytes, unsafe { self.to.exclusive() })?;
        } else {
            if bytes.len() != self.to.len() {
                return Err(unfit(self.to.len(), bytes.len()));
            }
            let mut sorted = match copy {
                Some(copy) => copy,
                None => self.from.copied(threads, cancel)?,
            };
            sort.in_place(&mut sorted)?;
            // From here on the write isn't interrupted: otherwise some elements would occur twice.
            if cancel.is_cancelled() {
                return Err(Error::Cancelled.into());
            }
            self.to.write(&sorted, threads);
        }
        Ok(())
    }
}

/// Writes the numbers of the elements in order to an output. `is_new`: this call created it.
fn order(
    to: &mut WritableBytes,
    is_new: bool,
    sort: &SortSlice,
    bytes: &[u8],
    threads: usize,
) -> Result<(), Failure> {
    if is_new {
        // SAFETY: as in `Work::run`.
        let order = unsafe { to.exclusive_numbers() };
        return sort.order(bytes, order).map(drop).map_err(Failure::from);
    }
    let count = to.len() / size_of::<u64>();
    let mut order = room(count)?;
    order.resize(count, 0);
    sort.order(bytes, &mut order)?;
    to.write_numbers(&order, threads);
    Ok(())
}

fn unfit(room: usize, bytes: usize) -> Failure {
    let text = format!("the output has room for {room} bytes of records, and {bytes} are sorted");
    Failure::of_argument(text)
}

/// Borrows the bytes of an array through the buffer protocol. NumPy lends those of dates only as
/// bytes.
fn exported(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Exported> {
    if !array_layout::is_numpy(array)? {
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
    let lent = match plain.call_method1("view", (format!("V{item_bytes}"),)) {
        Ok(viewed) => viewed,
        // NumPy's code for views is Python's, in which handlers of signals run.
        Err(error) if !error.is_instance_of::<PyException>(array.py()) => return Err(error),
        Err(_) => plain,
    };
    Exported::new(&lent, what)
}

/// A new array with the type and length of `array`, and any content.
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

/// A new array of `count` numbers.
fn new_order<'py>(py: Python<'py>, is_numpy: bool, count: usize) -> PyResult<Bound<'py, PyAny>> {
    if is_numpy {
        return py.import("numpy")?.call_method1("empty", (count, "int64"));
    }
    let zeros = PyByteArray::new_with(py, 8 * count, |_| Ok(()))?;
    let numbers = py.import("array")?.getattr("array")?;
    numbers.call1(PyTuple::new(py, ["q".into_pyobject(py)?.into_any(), zeros.into_any()])?)
}
