//! The columns to sort by: what the user wrote, found in the schema of the inputs.
//!
//! The type of a column comes from the schema. A type in the key may only say the same.

use crate::curves::{CurvePart, FoundCurve};
use crate::errors::of_arrow;
use crate::leaves;
use crate::shapes::may_be_shape;
use crate::text_columns::{KEY_TYPE, TextColumn};
use arrow_schema::{DataType, Schema, SortOptions};
use parquet::basic::{ConvertedType, LogicalType};
use parquet::schema::types::SchemaDescriptor;
use std::ops::Range;
use xsort_arrow::SortColumn;
use xsort_extsort::Error;
use xsort_table::{Column, KeyColumn, KeyKind, Keys, NameList, Place};

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
    Text(TextColumn),
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
            FoundKey::Text(text) => vec![leaves(&text.path)],
            FoundKey::Curve(curve) => curve.parts.iter().map(|part| leaves(&part.path)).collect(),
        });
        Ok(FoundKeys { leaves: leaves.collect(), keys })
    }

    /// Returns the curves among the keys.
    pub(crate) fn curves(&self) -> impl Iterator<Item = &FoundCurve> {
        self.keys.iter().filter_map(|key| match key {
            FoundKey::Curve(curve) => Some(curve),
            FoundKey::Column(_) | FoundKey::Text(_) => None,
        })
    }

    /// Returns the types of the columns that keys need beside those of the inputs.
    pub(crate) fn derived_types(&self) -> impl Iterator<Item = DataType> {
        self.keys.iter().filter_map(|key| match key {
            FoundKey::Column(_) => None,
            FoundKey::Text(_) => Some(KEY_TYPE),
            FoundKey::Curve(curve) => Some(curve.data_type()),
        })
    }

    /// Returns the same keys in the schema of the batches: columns of it, and of derived ones those
    /// that follow its `fields` columns.
    pub(crate) fn of_batches(
        &self,
        schema: &Schema,
        fields: usize,
    ) -> Result<Vec<SortColumn>, Error> {
        let mut derived = fields..;
        let mut derived = |options| {
            let index = derived.next().unwrap_or(fields);
            SortColumn::at(schema, &[index], options)
        };
        let column = |key: &FoundKey| match key {
            FoundKey::Column(column) => SortColumn::at(schema, &column.path(), column.options()),
            FoundKey::Text(text) => derived(text.options),
            FoundKey::Curve(curve) => {
                derived(SortOptions { descending: curve.is_descending, nulls_first: false })
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
                let has_shapes = may_be_shape(data_type);
                if has_shapes
                    || matches!(find_column(key, schema, descriptor)?, FoundKey::Column(_))
                {
                    return Ok(CurvePart { path, has_shapes });
                }
                Err(Error::Settings(format!(
                    "'{}': a curve takes texts of columns by their bytes: leave :{} out",
                    name_of(key),
                    key.kind.name()
                )))
            };
            FoundCurve::new((curve, key.is_descending), part).map(FoundKey::Curve)
        }
        _ => find_column(key, schema, descriptor),
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
) -> Result<FoundKey, Error> {
    let name = name_of(key);
    let in_header = matches!(&key.kind, KeyKind::Listed(listed) if listed.list == NameList::Header);
    if key.is_required || in_header {
        return Err(Error::Settings(format!(
            "column '{name}': required and order(header) are for rows of text: leave :required \
             out, or give a list, order(FILE)"
        )));
    }
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
    let data_type = column.leaf(schema).data_type();
    if is_other_order(&key.kind) && TextColumn::has_texts(data_type) && is_text(data_type) {
        let (path, kind) = (column.path(), key.kind.clone());
        return Ok(FoundKey::Text(TextColumn { name, path, options, kind }));
    }
    check_type(&name, key, data_type)?;
    Ok(FoundKey::Column(column))
}

/// Returns whether texts of a type are in another order than that of their bytes.
fn is_other_order(kind: &KeyKind) -> bool {
    !matches!(kind, KeyKind::Text | KeyKind::Json)
}

fn is_text(data_type: &DataType) -> bool {
    use DataType as T;
    if let T::Dictionary(_, values) = data_type {
        return is_text(values);
    }
    matches!(
        data_type,
        T::Utf8
            | T::LargeUtf8
            | T::Utf8View
            | T::Binary
            | T::LargeBinary
            | T::BinaryView
            | T::FixedSizeBinary(_)
    )
}

/// Refuses a type in a key that isn't the column's.
fn check_type(name: &str, key: &KeyColumn, found: &DataType) -> Result<(), Error> {
    use DataType as T;
    if !key.is_typed {
        return Ok(());
    }
    let is_same = match key.kind {
        KeyKind::Text => is_text(found),
        KeyKind::Integer => found.is_integer(),
        KeyKind::Number => found.is_numeric(),
        KeyKind::Float => found.is_floating(),
        KeyKind::Bool => matches!(found, T::Boolean),
        KeyKind::Date => matches!(found, T::Date32 | T::Date64),
        KeyKind::DateTime(None) => matches!(found, T::Timestamp(..)),
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
