//! The columns to sort by: what the user wrote, found in the schema of the inputs.
//!
//! The type of a column comes from the schema. A type in the key may only say the same.

use crate::leaves;
use arrow_schema::{DataType, Schema, SortOptions};
use parquet::basic::{ConvertedType, LogicalType};
use parquet::schema::types::SchemaDescriptor;
use std::ops::Range;
use xsort_arrow::SortColumn;
use xsort_extsort::Error;
use xsort_table::{Column, KeyColumn, KeyKind, Keys, Place};

/// The columns to sort by, and their leaves in the files.
#[derive(Debug)]
pub(crate) struct FoundKeys {
    pub(crate) columns: Vec<SortColumn>,
    pub(crate) leaves: Vec<Range<usize>>,
}

impl FoundKeys {
    /// Finds the columns that `keys` name in a schema. Files of Parquet have a `descriptor`, too.
    ///
    /// # Errors
    /// [`Error::Settings`] if there is no such column, or its values can't be sorted by.
    pub(crate) fn find(
        keys: &Keys,
        schema: &Schema,
        descriptor: Option<&SchemaDescriptor>,
    ) -> Result<FoundKeys, Error> {
        let found = keys.0.iter().map(|key| find(key, schema, descriptor));
        let columns = found.collect::<Result<Vec<SortColumn>, Error>>()?;
        let fields = schema.fields();
        let leaves = columns.iter().map(|column| leaves::range(fields, &column.path())).collect();
        Ok(FoundKeys { columns, leaves })
    }

    /// Returns the same columns in the schema of the batches.
    pub(crate) fn of_batches(&self, schema: &Schema) -> Result<Vec<SortColumn>, Error> {
        let column = |column: &SortColumn| SortColumn::at(schema, &column.path(), column.options());
        self.columns.iter().map(|found| column(found).map_err(crate::errors::of_arrow)).collect()
    }
}

fn find(
    key: &KeyColumn,
    schema: &Schema,
    descriptor: Option<&SchemaDescriptor>,
) -> Result<SortColumn, Error> {
    let name = match &key.column {
        Column::Name(name) => name.clone(),
        Column::Number(number) => format!("#{number}"),
        // In files of JSON a path begins with a dot.
        Column::Path(path) => path.to_string().trim_start_matches('.').to_owned(),
    };
    let options =
        SortOptions { descending: key.is_descending, nulls_first: key.nulls == Some(Place::First) };
    let column = SortColumn::named(schema, &name, options).map_err(crate::errors::of_arrow)?;
    let leaves = leaves::range(schema.fields(), &column.path());
    for leaf in leaves {
        let Some(leaf) = descriptor.map(|all| all.column(leaf)) else { break };
        let is_interval = leaf.converted_type() == ConvertedType::INTERVAL;
        let is_shape = matches!(
            leaf.logical_type_ref(),
            Some(LogicalType::Geometry { .. } | LogicalType::Geography { .. })
        );
        if is_interval || is_shape {
            return Err(Error::Settings(format!(
                "column '{name}' can't be sorted by: intervals and shapes have no order"
            )));
        }
    }
    check_type(&name, key, column.leaf(schema).data_type())?;
    Ok(column)
}

/// Refuses a type in a key that isn't the column's.
fn check_type(name: &str, key: &KeyColumn, found: &DataType) -> Result<(), Error> {
    use DataType as T;
    if !key.is_typed {
        return Ok(());
    }
    let is_text = matches!(
        found,
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Binary | T::LargeBinary | T::BinaryView
    ) || matches!(found, T::FixedSizeBinary(_));
    let is_same = match key.kind {
        KeyKind::Text => is_text,
        KeyKind::Integer => found.is_integer(),
        KeyKind::Number => found.is_numeric(),
        KeyKind::Float => found.is_floating(),
        KeyKind::Bool => matches!(found, T::Boolean),
        KeyKind::Date => matches!(found, T::Date32 | T::Date64),
        KeyKind::DateTime(None) => matches!(found, T::Timestamp(..)),
        _ if is_text => {
            return Err(Error::Settings(format!(
                "column '{name}' can't be sorted as {} yet: texts of columns are sorted by their \
                 bytes; leave :{0} out, or sort the rows as CSV or NDJSON",
                key.kind.name()
            )));
        }
        _ => false,
    };
    if is_same {
        return Ok(());
    }
    Err(Error::Settings(format!(
        "column '{name}' is of type {found}, not {}: leave :{1} out, since files of columns say \
         which type a column has",
        key.kind.name(),
        key.kind.name()
    )))
}
