//! Reads input batches from a stream, a batch, or an iterable of streams and batches.

use crate::arrow_capsules::{StreamReader, batch_of, stream_of};
use crate::errors::Failure;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

/// Input batches of one schema.
pub(crate) struct ArrowInput {
    pub(crate) schema: SchemaRef,
    /// The item to read before the rest of the iterable.
    next: Option<Item>,
    rest: Option<Py<PyIterator>>,
}

enum Item {
    Stream(StreamReader),
    Batch(RecordBatch),
}

impl Item {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Option<Item>> {
        if let Some(batch) = batch_of(object)? {
            return Ok(Some(Item::Batch(batch)));
        }
        Ok(stream_of(object)?.map(Item::Stream))
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Item::Stream(stream) => stream.schema(),
            Item::Batch(batch) => batch.schema(),
        }
    }
}

impl ArrowInput {
    /// Opens the batches of an object. Of an iterable, this takes the first item.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<ArrowInput> {
        // A table is both a stream and an iterable of columns. The stream is wanted.
        if let Some(item) = Item::new(object)? {
            return Ok(ArrowInput { schema: item.schema(), next: Some(item), rest: None });
        }
        let Ok(mut rest) = object.try_iter() else { return Err(no_arrow(object)) };
        let Some(first) = rest.next().transpose()? else {
            let text = "an iterable without batches has no schema: pass a stream, which has one";
            return Err(Failure::of_argument(text).into());
        };
        let item = Item::new(&first)?.ok_or_else(|| no_arrow(&first))?;
        Ok(ArrowInput { schema: item.schema(), next: Some(item), rest: Some(rest.unbind()) })
    }

    /// The next batch. Attaches to the interpreter only for an iterable's next item; streams attach
    /// themselves.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, Failure> {
        loop {
            match &mut self.next {
                Some(Item::Stream(stream)) => match stream.next_batch()? {
                    Some(batch) => return Ok(Some(batch)),
                    None => self.next = None,
                },
                Some(Item::Batch(_)) => {
                    let Some(Item::Batch(batch)) = self.next.take() else { unreachable!() };
                    return Ok(Some(batch));
                }
                None => {
                    let Some(rest) = &self.rest else { return Ok(None) };
                    let next = Python::attach(|py| {
                        let Some(object) = rest.bind(py).clone().next().transpose()? else {
                            return Ok(None);
                        };
                        Item::new(&object)?.ok_or_else(|| no_arrow(&object)).map(Some)
                    })?;
                    if next.is_none() {
                        return Ok(None);
                    }
                    self.next = next;
                }
            }
        }
    }
}

fn no_arrow(object: &Bound<'_, PyAny>) -> PyErr {
    let kind = object.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!(
        "Arrow data is wanted (with __arrow_c_stream__ or __arrow_c_array__, or an iterable of \
         such), not {kind}"
    ))
}
