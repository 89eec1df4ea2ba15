//! Arrow's C interfaces, as Python passes them: capsules with a stream, an array or a schema, whose
//! content moves to the reader.
#![allow(unsafe_code, reason = "what is in a capsule of Arrow's is known by its name")]

use crate::arrow_shape::{check_array, check_schema};
use crate::arrow_valid::Validator;
use crate::errors::Failure;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchOptions, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

const STREAM: &CStr = c"arrow_array_stream";
const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";

/// The failure for data that Arrow's library can't read.
pub(crate) fn unsuitable(error: &ArrowError) -> Failure {
    Failure::of_argument(format!("Arrow data that can't be read: {error}"))
}

/// A stream of batches from another library.
pub(crate) struct StreamReader {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
    validator: Validator,
    batches: u64,
}

impl StreamReader {
    fn new(mut stream: FFI_ArrowArrayStream) -> Result<StreamReader, Failure> {
        if stream.release().is_none() {
            let text = "the stream was read already, or taken by another reader: pass a new one";
            return Err(Failure::of_argument(text));
        }
        let mut schema = FFI_ArrowSchema::empty();
        let status = match stream.get_schema() {
            // SAFETY: it is the stream's own function, called with the stream and a place for a
            // schema.
            Some(get_schema) => unsafe { get_schema(&raw mut stream, &raw mut schema) },
            None => -1,
        };
        if status != 0 {
            return Err(failed(status, &mut stream));
        }
        let schema = import_schema(&schema).map_err(|error| unsuitable(&error))?;
        Ok(StreamReader { stream, schema, validator: Validator::default(), batches: 0 })
    }

    /// The schema of all batches.
    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The next batch, validated; `None` after the last one.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, Failure> {
        let mut array = FFI_ArrowArray::empty();
        let status = match self.stream.get_next() {
            // SAFETY: it is the stream's own function, called with the stream and a place for an
            // array.
            Some(get_next) => unsafe { get_next(&raw mut self.stream, &raw mut array) },
            None => -1,
        };
        if status != 0 {
            return Err(failed(status, &mut self.stream));
        }
        if array.is_released() {
            return Ok(None);
        }
        self.batches += 1;
        let batch = import(&self.schema, array, &mut self.validator);
        let number = self.batches;
        batch.map(Some).map_err(|error| invalid(&format!("batch {number} of the stream"), &error))
    }
}

/// The failure that a stream reports.
fn failed(status: i32, stream: &mut FFI_ArrowArrayStream) -> Failure {
    // SAFETY: it is the stream's own function, called with the stream. It returns null, or a text
    // that ends with a zero and stays valid until the next call.
    let said = stream.get_last_error().and_then(|get_last_error| unsafe {
        let text = get_last_error(stream);
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    });
    let said = said.unwrap_or_else(|| format!("error {status}, without a word"));
    Failure::of_argument(format!("the input stream has failed: {said}"))
}

fn invalid(what: &str, error: &ArrowError) -> Failure {
    let error = match error {
        ArrowError::InvalidArgumentError(text) => text.clone(),
        error => error.to_string(),
    };
    Failure::of_argument(format!(
        "{what} isn't valid Arrow data: {error}; the program that made it is at fault: pyarrow's \
         validate(full=True) finds the same there"
    ))
}

/// The stream of an object, if it has one.
pub(crate) fn stream_of(object: &Bound<'_, PyAny>) -> PyResult<Option<StreamReader>> {
    if !object.hasattr("__arrow_c_stream__")? {
        return Ok(None);
    }
    let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let pointer: NonNull<FFI_ArrowArrayStream> = capsule.pointer_checked(Some(STREAM))?.cast();
    // SAFETY: a capsule of this name owns such a stream. The stream moves out, and one that is
    // marked as released takes its place.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    Ok(Some(StreamReader::new(stream)?))
}

/// The batch of an object, validated, if it has one.
pub(crate) fn batch_of(object: &Bound<'_, PyAny>) -> PyResult<Option<RecordBatch>> {
    if !object.hasattr("__arrow_c_array__")? {
        return Ok(None);
    }
    let pair = object.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
    let schema = pair.get_item(0)?.cast_into::<PyCapsule>()?;
    let array = pair.get_item(1)?.cast_into::<PyCapsule>()?;
    let schema: NonNull<FFI_ArrowSchema> = schema.pointer_checked(Some(SCHEMA))?.cast();
    let array: NonNull<FFI_ArrowArray> = array.pointer_checked(Some(ARRAY))?.cast();
    // SAFETY: capsules of these names own a schema and an array. Both move out, and ones that are
    // marked as released take their places.
    let (schema, array) = unsafe {
        (FFI_ArrowSchema::from_raw(schema.as_ptr()), FFI_ArrowArray::from_raw(array.as_ptr()))
    };
    let schema = import_schema(&schema).map_err(|error| unsuitable(&error))?;
    let batch = import(&schema, array, &mut Validator::default());
    Ok(Some(batch.map_err(|error| invalid("a batch", &error))?))
}

fn import_schema(schema: &FFI_ArrowSchema) -> Result<SchemaRef, ArrowError> {
    check_schema(schema)?;
    let data_type = DataType::try_from(schema)?;
    if !matches!(data_type, DataType::Struct(_)) {
        let text = format!("an array of {data_type} where a batch with columns was expected");
        return Err(ArrowError::InvalidArgumentError(text));
    }
    Ok(Arc::new(Schema::try_from(schema)?))
}

fn import(
    schema: &SchemaRef,
    array: FFI_ArrowArray,
    validator: &mut Validator,
) -> Result<RecordBatch, ArrowError> {
    let data_type = DataType::Struct(schema.fields().clone());
    check_array(&array, &data_type)?;
    if array.is_empty() {
        // Buffers without values may have any address.
        return Ok(RecordBatch::new_empty(Arc::clone(schema)));
    }
    // SAFETY: by the interface, an array is what its schema says. All that can be checked in
    // advance was checked, and the content of the buffers is checked before it is used.
    let data = unsafe { from_ffi_and_data_type(array, data_type) }?;
    let fields = schema.fields().iter().map(|field| &**field);
    let rows = StructArray::from(validator.valid(data, fields)?);
    if rows.null_count() > 0 {
        let text = "a batch with rows that are null as a whole";
        return Err(ArrowError::InvalidArgumentError(text.into()));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::clone(schema), rows.columns().to_vec(), &options)
}

/// Puts a schema into a capsule.
pub(crate) fn schema_capsule<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| unsuitable(&error))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Puts the schema and the columns of a batch into two capsules.
pub(crate) fn batch_capsules<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let array = FFI_ArrowArray::new(&StructArray::from(batch.clone()).to_data());
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    Ok((schema_capsule(py, &batch.schema())?, array))
}

/// Puts a stream into a capsule.
pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}
