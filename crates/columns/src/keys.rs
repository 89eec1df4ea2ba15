//! The columns to sort by: what the user wrote, found in the schema of the inputs.
//!
//! The type of a column comes from the schema. A type in the key may only say the same.

use crate::curves::{CurvePart, FoundCurve};
use crate::errors::of_arrow;
use crate::leaves;
use arrow_schema::{DataType, Schema, SortOptions};
use parquet::basic::{ConvertedType, LogicalType};
use parquet::schema::types::SchemaDescriptor;
use std::ops::Range;
use xsort_arrow::SortColumn;
use xsort_extsort::Error;
use xsort_table::{Column, KeyColumn, KeyKind, Keys, Place};

/// The keys to sort by, and the leaves of their columns in the files.
#[derive(Debug)]
pub(crate) struct FoundKeys {
    pub(crate) keys: Vec<FoundKey>,
    pub(crate) leaves: Vec<Range<usize>>,
}

/// A key.
#[derive(Clone, Debug)]
pub(crate) enum FoundKey {
    Column(SortColumn),
    Curve(FoundCurve),
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
        let keys = found.collect::<Result<Vec<FoundKey>, Error>>()?;
        let leaves = |path: &[usize]| leaves::range(schema.fields(), path);
        let leaves = keys.iter().flat_map(|key| match key {
            FoundKey::Column(column) => vec![leaves(&column.path())],
            FoundKey::Curve(curve) => curve.parts.iter().map(|part| leaves(part.path())).collect(),
        });
        Ok(FoundKeys { leaves: leaves.collect(), keys })
    }

    /// Returns the curves among the keys.
    pub(crate) fn curves(&self) -> impl Iterator<Item = &FoundCurve> {
        self.keys.iter().filter_map(|key| match key {
            FoundKey::Curve(curve) => Some(curve),
            FoundKey::Column(_) => None,
        })
    }

    /// Returns the same keys in the schema of the batches: columns of it, and of curves those that
    /// follow its `fields` columns.
    pub(crate) fn of_batches(
        &self,
        schema: &Schema,
        fields: usize,
    ) -> Result<Vec<SortColumn>, Error> {
        let mut derived = fields..;
        let column = |key: &FoundKey| match key {
            FoundKey::Column(column) => SortColumn::at(schema, &column.path(), column.options()),
            FoundKey::Curve(curve) => {
                let options = SortOptions { descending: curve.is_descending, nulls_first: false };
                SortColumn::at(schema, &[derived.next().unwrap_or(fields)], options)
            }
        };
        let columns = self.keys.iter().map(column).collect::<Result<_, _>>();
        columns.map_err(of_arrow)
    }
}

fn find(
    key: &KeyColumn,
    schema: &Schema,
    descriptor: Option<&SchemaDescriptor>,
) -> Result<FoundKey, Error> {
    match &key.column {
        Column::Curve(curve) => {
            let part = |key: &KeyColumn| {
                let path = SortColumn::path_of(schema, &name_of(key)).map_err(of_arrow)?;
                let data_type = leaf_type(schema, &path);
                let part = CurvePart::of_type(path, data_type);
                if let CurvePart::Column(_) = part {
                    find_column(key, schema, descriptor)?;
                }
                Ok(part)
            };
            FoundCurve::new((curve, key.is_descending), part).map(FoundKey::Curve)
        }
        _ => find_column(key, schema, descriptor).map(FoundKey::Column),
    }
}

/// Returns the name by which a column is looked for.
fn name_of(key: &KeyColumn) -> String {
    match &key.column {
        Column::Name(name) => name.clone(),
        Column::Number(number) => format!("#{number}"),
        // In files of JSON a path begins with a dot.
        Column::Path(path) => path.to_string().trim_start_matches('.').to_owned(),
        Column::Curve(curve) => curve.to_string(),
    }
}

/// Returns the type of the column at a path.
fn leaf_type<'s>(schema: &'s Schema, path: &[usize]) -> &'s DataType {
    path[1..].iter().fold(schema.field(path[0]).data_type(), |found, &at| match found {
        DataType::Struct(fields) => fields[at].data_type(),
        other => other,
    })
}

fn find_column(
    key: &KeyColumn,
    schema: &Schema,
    descriptor: Option<&SchemaDescriptor>,
) -> Result<SortColumn, Error> {
    let name = name_of(key);
    let options =
        SortOptions { descending: key.is_descending, nulls_first: key.nulls == Some(Place::First) };
    let column = SortColumn::named(schema, &name, options).map_err(of_arrow)?;
    let leaves = leaves::range(schema.fields(), &column.path());
    for leaf in leaves {
        let Some(leaf) = descriptor.map(|all| all.column(leaf)) else { break };
        let is_interval = leaf.converted_type() == ConvertedType::INTERVAL;
        let is_shape = matches!(
            leaf.logical_type_ref(),
            Some(LogicalType::Geometry { .. } | LogicalType::Geography { .. })
        );
        if is_shape {
            return Err(Error::Settings(format!(
                "column '{name}' can't be sorted by: shapes have no order; sort by \
                 'hilbert({name})', a curve through their centres"
            )));
        }
        if is_interval {
            return Err(Error::Settings(format!(
                "column '{name}' can't be sorted by: intervals have no order"
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
