//! `xsort.merge`: merges iterables that are in order.

use crate::key_types::SharedTypes;
use crate::sort_key::key_bytes;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use std::sync::Arc;
use xsort::MergeSorted;

/// The exception that an iterator, a key or the key function has raised.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// The items of several iterables in order: what `merge` returns.
#[pyclass(frozen, module = "xsort")]
pub(crate) struct Merged {
    items: Mutex<MergeSorted<Input, Vec<u8>, Py<PyAny>>>,
    raised: Raised,
}

/// An input of a merge.
struct Input {
    iterator: Py<PyIterator>,
    key: Option<Arc<Py<PyAny>>>,
    types: Arc<Mutex<SharedTypes>>,
    raised: Raised,
}

impl Input {
    fn next_item(&self, py: Python<'_>) -> PyResult<Option<(Vec<u8>, Py<PyAny>)>> {
        let Some(item) = self.iterator.bind(py).clone().next() else { return Ok(None) };
        let item = item?;
        let (key, types) = match &self.key {
            Some(function) => key_bytes(&function.bind(py).call1((&item,))?)?,
            None => key_bytes(&item)?,
        };
        self.types.lock().check(&types)?;
        Ok(Some((key, item.unbind())))
    }
}

impl Iterator for Input {
    type Item = (Vec<u8>, Py<PyAny>);

    /// The next item. Stores an exception in `raised` and ends; the caller raises it.
    fn next(&mut self) -> Option<(Vec<u8>, Py<PyAny>)> {
        let next = Python::attach(|py| self.next_item(py));
        next.unwrap_or_else(|error| {
            *self.raised.lock() = Some(error);
            None
        })
    }
}

/// Merges iterables, each of which is in order, into one, lazily: of each, one item is in memory.
///
/// Items compare by `key(item)`, or by themselves: text, bytes, a number, or a tuple of fields as
/// `xsort.key` takes them. All have the same types: otherwise it raises TypeError. Equal ones come
/// in the order of the iterables. If one isn't in order, all items still come, in some order.
#[pyfunction]
#[pyo3(signature = (iterables, *, key=None))]
pub(crate) fn merge(iterables: &Bound<'_, PyAny>, key: Option<Py<PyAny>>) -> PyResult<Merged> {
    let (raised, key) = (Raised::default(), key.map(Arc::new));
    let types = Arc::<Mutex<SharedTypes>>::default();
    let input = |iterable: PyResult<Bound<'_, PyAny>>| {
        let iterator = iterable?.try_iter()?.unbind();
        let (types, raised) = (Arc::clone(&types), Arc::clone(&raised));
        Ok(Input { iterator, key: key.clone(), types, raised })
    };
    let inputs: PyResult<Vec<Input>> = iterables.try_iter()?.map(input).collect();
    let items = xsort::merge_sorted(inputs?);
    match raised.lock().take() {
        Some(error) => Err(error),
        None => Ok(Merged { items: Mutex::new(items), raised: Arc::clone(&raised) }),
    }
}

#[pymethods]
impl Merged {
    fn __iter__(slf: Py<Merged>) -> Py<Merged> {
        slf
    }

    fn __next__(&self) -> PyResult<Option<Py<PyAny>>> {
        let Some(mut items) = self.items.try_lock() else {
            let text = "the iterator is being used already";
            return Err(pyo3::exceptions::PyValueError::new_err(text));
        };
        let next = items.next();
        drop(items);
        match self.raised.lock().take() {
            Some(error) => Err(error),
            None => Ok(next.map(|(_, item)| item)),
        }
    }
}
