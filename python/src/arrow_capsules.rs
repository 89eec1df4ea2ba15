//! Arrow's C interfaces, as Python passes them: capsules with a stream, an array or a schema in
//! them, whose content moves to whoever takes it.
#![allow(unsafe_code, reason = "what is in a capsule of Arrow's is known by its name")]

use crate::errors::Failure;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch, RecordBatchOptions, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, DataType, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

const STREAM: &CStr = c"arrow_array_stream";
const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";

/// What the library says of data that isn't as Arrow has it.
pub(crate) fn unsuitable(error: &ArrowError) -> Failure {
    Failure::of_argument(format!("Arrow data that can't be read: {error}"))
}

/// The stream of an object that has one.
pub(crate) fn stream_of(object: &Bound<'_, PyAny>) -> PyResult<Option<RecordBatchStreamReader>> {
    if !object.hasattr("__arrow_c_stream__")? {
        return Ok(None);
    }
    let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let pointer: NonNull<FFI_ArrowArrayStream> = capsule.pointer_checked(Some(STREAM))?.cast();
    // SAFETY: a capsule of this name has such a stream in it, which it owns; the stream moves out,
    // and leaves one behind that is marked as released.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    let reader = RecordBatchStreamReader::try_new(stream).map_err(|error| unsuitable(&error))?;
    Ok(Some(reader))
}

/// The batch of an object that has one.
pub(crate) fn batch_of(object: &Bound<'_, PyAny>) -> PyResult<Option<RecordBatch>> {
    if !object.hasattr("__arrow_c_array__")? {
        return Ok(None);
    }
    let pair = object.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
    let schema = pair.get_item(0)?.cast_into::<PyCapsule>()?;
    let array = pair.get_item(1)?.cast_into::<PyCapsule>()?;
    let schema: NonNull<FFI_ArrowSchema> = schema.pointer_checked(Some(SCHEMA))?.cast();
    let array: NonNull<FFI_ArrowArray> = array.pointer_checked(Some(ARRAY))?.cast();
    // SAFETY: capsules of these names have a schema and an array in them, which they own; both move
    // out, and leave ones behind that are marked as released.
    let (schema, array) = unsafe {
        (FFI_ArrowSchema::from_raw(schema.as_ptr()), FFI_ArrowArray::from_raw(array.as_ptr()))
    };
    Ok(Some(import(&schema, array).map_err(|error| unsuitable(&error))?))
}

fn import(schema: &FFI_ArrowSchema, array: FFI_ArrowArray) -> Result<RecordBatch, ArrowError> {
    let data_type = DataType::try_from(schema)?;
    if !matches!(data_type, DataType::Struct(_)) {
        let text = format!("an array of {data_type} where a batch with columns was expected");
        return Err(ArrowError::InvalidArgumentError(text));
    }
    let schema = Arc::new(Schema::try_from(schema)?);
    // SAFETY: an array is what its schema says, by the interface.
    let data = unsafe { from_ffi_and_data_type(array, data_type) }?;
    let rows = StructArray::from(data);
    if rows.null_count() > 0 {
        let text = "a batch with rows that are null as a whole";
        return Err(ArrowError::InvalidArgumentError(text.into()));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema, rows.columns().to_vec(), &options)
}

/// A schema in a capsule.
pub(crate) fn schema_capsule<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| unsuitable(&error))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// A batch in capsules of its schema and its columns.
pub(crate) fn batch_capsules<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let array = FFI_ArrowArray::new(&StructArray::from(batch.clone()).to_data());
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    Ok((schema_capsule(py, &batch.schema())?, array))
}

/// A stream in a capsule.
pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}
