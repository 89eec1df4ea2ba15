//! Types of Arrow's that Parquet has no word for, as others of the same values.

use crate::nested::with_leaves;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use std::sync::Arc;

/// Returns a schema with the nearest types that Parquet has: seconds as milliseconds, and dates of
/// 64 bits as those of 32.
pub(crate) fn schema_in_parquet(schema: &Schema) -> Schema {
    use DataType as T;
    let milliseconds = TimeUnit::Millisecond;
    let fields = with_leaves(schema.fields(), &|leaf| match leaf {
        T::Timestamp(TimeUnit::Second, zone) => Some(T::Timestamp(milliseconds, zone.clone())),
        T::Time32(TimeUnit::Second) => Some(T::Time32(milliseconds)),
        T::Date64 => Some(T::Date32),
        _ => None,
    });
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// Returns a batch as one of such a schema.
///
/// # Errors
/// If a value has no place in its type.
pub(crate) fn batch_in_parquet(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> Result<RecordBatch, String> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let column = |(column, field): (&ArrayRef, &FieldRef)| {
        let (from, to) = (column.data_type(), field.data_type());
        if from == to {
            return Ok(Arc::clone(column));
        }
        let cast = cast_with_options(column, to, &options);
        let back = cast.and_then(|cast| Ok((cast_with_options(&cast, from, &options)?, cast)));
        match back {
            Ok((back, cast)) if back.as_ref() == column.as_ref() => Ok(cast),
            Ok(_) => Err(format!("column '{}' has a value that no {to} holds", field.name())),
            Err(error) => Err(format!("column '{}': {error}", field.name())),
        }
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column);
    let columns = columns.collect::<Result<Vec<_>, String>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options);
    batch.map_err(|error| error.to_string())
}
