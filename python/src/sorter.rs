//! `xsort.Sorter`: records that are pushed, and come out in order.

use crate::amounts::{Size, Whole};
use crate::arguments::optional_paths;
use crate::batch::{Batch, BatchReader};
use crate::errors::Failure;
use crate::key_types::{KeyTypes, SharedTypes};
use crate::pump::Pump;
use crate::reports::SorterReport;
use crate::resources::resources;
use crate::sort_key::key_bytes;
use parking_lot::Mutex;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::Arc;
use xsort::Cancel;

/// Sorts records that are pushed to it, and gives them out in order: any number of them, within
/// `memory`.
///
/// A record is bytes of any length. Its key is bytes too, or what `xsort.key` takes: a text, a
/// number, or a tuple of fields, of the same types in all keys. Records with equal keys come out in
/// the order in which they were pushed. Of floating-point numbers -0.0 and 0.0 are equal, and so
/// are all NaNs, which are larger than infinity. A record with its key may take about an eighth of
/// the memory. The arguments are those of `sort`; scratch is the system's temporary directory,
/// unless given.
///
/// Used as a context, it leaves nothing in memory and on scratch at the end.
#[pyclass(frozen, module = "xsort")]
pub(crate) struct Sorter {
    state: Arc<Mutex<State>>,
}

/// The state that both halves of a sort share. With the interpreter attached, it is locked only for
/// moments, or by the only thread that pushes or takes.
struct State {
    pump: Pump,
    /// Records that are not sent yet.
    batch: Batch,
    /// The types of all keys.
    types: SharedTypes,
    /// True once `finish` was called.
    is_finished: bool,
}

impl State {
    fn push(
        &mut self,
        py: Python<'_>,
        (key, types): (&[u8], &KeyTypes),
        record: &[u8],
    ) -> PyResult<()> {
        self.pump.check_process()?;
        if self.is_finished {
            let text = "all was pushed to this Sorter: begin another one";
            return Err(Failure::of_argument(text).into());
        }
        self.types.check(types)?;
        if Batch::is_long(key, record) {
            self.flush(py)?;
            let mut long = Batch::default();
            long.push(key, record);
            return self.pump.send_long(py, long);
        }
        self.batch.push(key, record);
        if self.batch.is_full() { self.flush(py) } else { Ok(()) }
    }

    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() { Ok(()) } else { self.pump.send(py, batch) }
    }
}

/// Locks the state. If another thread has it, this one waits with the interpreter released, because
/// the other may need the interpreter.
fn locked<'s>(py: Python<'_>, state: &'s Mutex<State>) -> parking_lot::MutexGuard<'s, State> {
    loop {
        if let Some(guard) = state.try_lock() {
            return guard;
        }
        py.detach(|| drop(state.lock()));
    }
}

#[pymethods]
impl Sorter {
    #[new]
    #[pyo3(signature = (*, memory=None, threads=None, scratch=None, bandwidth_limit=None))]
    fn new(
        memory: Option<Size>,
        threads: Option<Whole>,
        scratch: Option<&Bound<'_, PyAny>>,
        bandwidth_limit: Option<Size>,
    ) -> PyResult<Sorter> {
        let resources = resources(memory, threads, bandwidth_limit)?;
        let cancel = Cancel::new();
        let mut sorter = xsort::Sorter::new().resources(resources).cancel(&cancel);
        if scratch.is_some() {
            sorter = sorter.scratch(optional_paths(scratch)?);
        }
        let pump = Pump::start(sorter, cancel)?;
        let (batch, types) = Default::default();
        let state = State { pump, batch, types, is_finished: false };
        Ok(Sorter { state: Arc::new(Mutex::new(state)) })
    }

    /// Pushes a record.
    ///
    /// Raises TypeError for a key of other types than the first one's, and xsort.BudgetTooSmall for
    /// a record that the memory can't carry, behind which others may be pushed; xsort.Error if the
    /// sort has failed.
    fn push(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        record: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let mut state = locked(py, &self.state);
        push_objects(&mut state, py, key, record)
    }

    /// Pushes pairs of a key and a record.
    fn push_batch(&self, py: Python<'_>, records: &Bound<'_, PyAny>) -> PyResult<()> {
        for pair in records.try_iter()? {
            // The iterator may push to the same Sorter, so nothing is locked while it runs.
            let (key, record): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract()?;
            self.push(py, &key, &record)?;
        }
        Ok(())
    }

    /// Ends pushing. Returns an iterator of pairs of a key and a record, both bytes, in order. Its
    /// end means that exactly those records came out that were pushed.
    fn finish(&self, py: Python<'_>) -> PyResult<SortedRecords> {
        let mut state = locked(py, &self.state);
        state.pump.check_process()?;
        if state.is_finished {
            return Err(Failure::of_argument("this Sorter is finished already").into());
        }
        state.flush(py)?;
        state.pump.finish(py)?;
        state.is_finished = true;
        drop(state);
        let state = Arc::clone(&self.state);
        Ok(SortedRecords { taking: Mutex::new(Taking::default()), state })
    }

    /// Gives the sort up, if it isn't done.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = locked(py, &self.state);
        state.pump.check_process()?;
        state.is_finished = true;
        state.batch = Batch::default();
        state.pump.give_up(py);
        Ok(())
    }

    fn __enter__(slf: Py<Sorter>) -> Py<Sorter> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }
}

fn push_objects(
    state: &mut State,
    py: Python<'_>,
    key: &Bound<'_, PyAny>,
    record: &Bound<'_, PyAny>,
) -> PyResult<()> {
    if let (Ok(key), Ok(record)) = (key.cast::<PyBytes>(), record.cast::<PyBytes>()) {
        return state.push(py, (key.as_bytes(), &KeyTypes::Raw), record.as_bytes());
    }
    let (key, types) = key_bytes(key)?;
    match record.cast::<PyBytes>() {
        Ok(record) => state.push(py, (&key, &types), record.as_bytes()),
        Err(_) => {
            let record = PyBuffer::<u8>::get(record)?.to_vec(py)?;
            state.push(py, (&key, &types), &record)
        }
    }
}

/// The records of a Sorter, in order: pairs of a key and a record, both bytes.
#[pyclass(frozen, module = "xsort")]
pub(crate) struct SortedRecords {
    taking: Mutex<Taking>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct Taking {
    reader: BatchReader,
    report: Option<SorterReport>,
}

#[pymethods]
impl SortedRecords {
    fn __iter__(slf: Py<SortedRecords>) -> Py<SortedRecords> {
        slf
    }

    fn __next__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
        let Some(mut taking) = self.taking.try_lock() else {
            let text = "another thread takes records of this sort: only one can";
            return Err(Failure::of_argument(text).into());
        };
        loop {
            if let Some((key, record)) = taking.reader.next_record() {
                return Ok(Some((PyBytes::new(py, key), PyBytes::new(py, record))));
            }
            if taking.report.is_some() {
                return Ok(None);
            }
            match locked(py, &self.state).pump.next(py)? {
                Ok(batch) => taking.reader = BatchReader::new(batch),
                Err(report) => taking.report = Some(SorterReport::new(&report)),
            }
        }
    }

    /// What the sort did, behind the last record; None before.
    #[getter]
    fn report(&self) -> Option<SorterReport> {
        self.taking.try_lock()?.report.clone()
    }
}
