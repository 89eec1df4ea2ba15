//! The sort order of batches: columns or fields of structs, each with a direction.
//!
//! ```text
//!  ts     ts:desc     name:nulls-first     #3:desc:nulls-first     user.id
//! ```

use crate::Error;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SortOptions};
use arrow_select::nullif::nullif;
use std::sync::Arc;

/// A column to sort by, or a field of a column of structs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortColumn {
    /// The column's index in the schema.
    pub(crate) index: usize,
    /// Indices of the fields below the column, from the outermost to the innermost.
    pub(crate) inner: Vec<usize>,
    pub(crate) options: SortOptions,
}

impl SortColumn {
    /// Finds a column by its name, a field of structs by its names with dots (`user.id`), or a
    /// column by its number from 1 (`#3`).
    ///
    /// # Errors
    /// [`Error::Column`] if there is no such column, or several, or its type has no order.
    pub fn named(schema: &Schema, name: &str, options: SortOptions) -> Result<SortColumn, Error> {
        SortColumn::at(schema, &SortColumn::path_of(schema, name)?, options)
    }

    /// Returns the [path](SortColumn::path) of a column with this name, as in
    /// [`named`](SortColumn::named), whether or not its type has an order.
    ///
    /// # Errors
    /// [`Error::Column`] if there is no such column, or several.
    pub fn path_of(schema: &Schema, name: &str) -> Result<Vec<usize>, Error> {
        find(name, schema)?.ok_or_else(|| unknown(name, schema))
    }

    /// Returns the index of the column, followed by the indices of the fields below it.
    pub fn path(&self) -> Vec<usize> {
        [&[self.index], &*self.inner].concat()
    }

    /// Returns the direction, and the place of nulls.
    pub fn options(&self) -> SortOptions {
        self.options
    }

    /// Returns the field that is sorted by.
    pub fn leaf<'s>(&self, schema: &'s Schema) -> &'s FieldRef {
        let mut field = &schema.fields()[self.index];
        for &at in &self.inner {
            let DataType::Struct(fields) = field.data_type() else {
                unreachable!("only structs have fields");
            };
            field = &fields[at];
        }
        field
    }

    /// Creates a column from its [path](SortColumn::path) in the schema.
    ///
    /// # Errors
    /// [`Error::Column`] if its type has no order.
    pub fn at(schema: &Schema, path: &[usize], options: SortOptions) -> Result<SortColumn, Error> {
        SortColumn::from_path(path, options).check(schema)
    }

    fn from_path(path: &[usize], options: SortOptions) -> SortColumn {
        SortColumn { index: path[0], inner: path[1..].to_vec(), options }
    }

    /// Parses the column that a text names. A column whose name equals all of the text comes first,
    /// so names may contain colons.
    pub(crate) fn parse(text: &str, schema: &Schema) -> Result<SortColumn, Error> {
        let mut options = SortOptions { descending: false, nulls_first: false };
        let mut name = text;
        loop {
            if let Some(path) = find(name, schema)? {
                return SortColumn::from_path(&path, options).check(schema);
            }
            let Some((before, word)) = name.rsplit_once(':') else { break };
            match word {
                "asc" => options.descending = false,
                "desc" => options.descending = true,
                "nulls-first" => options.nulls_first = true,
                "nulls-last" => options.nulls_first = false,
                _ => break,
            }
            name = before;
        }
        Err(unknown(name, schema))
    }

    /// Fails if the column's type has no order.
    fn check(self, schema: &Schema) -> Result<SortColumn, Error> {
        if RowConverter::supports_fields(&[self.field(schema)]) {
            return Ok(self);
        }
        let field = self.leaf(schema);
        Err(Error::Column(format!(
            "column '{}' can't be sorted by: {} has no order",
            field.name(),
            field.data_type()
        )))
    }

    pub(crate) fn field(&self, schema: &Schema) -> SortField {
        SortField::new_with_options(self.leaf(schema).data_type().clone(), self.options)
    }

    /// Returns the values to sort by. A field of a null struct is null.
    ///
    /// # Errors
    /// No error is expected.
    pub fn values(&self, batch: &RecordBatch) -> Result<ArrayRef, ArrowError> {
        SortColumn::values_at(&self.path(), batch)
    }

    /// Returns the values at a [path](SortColumn::path). A field of a null struct is null.
    ///
    /// # Errors
    /// No error is expected.
    pub fn values_at(path: &[usize], batch: &RecordBatch) -> Result<ArrayRef, ArrowError> {
        let mut values = Arc::clone(batch.column(path[0]));
        for &at in &path[1..] {
            let parent = values.as_struct();
            let child = Arc::clone(parent.column(at));
            values = match parent.nulls() {
                Some(nulls) => nullif(&child, &BooleanArray::new(!nulls.inner(), None))?,
                None => child,
            };
        }
        Ok(values)
    }
}

fn unknown(name: &str, schema: &Schema) -> Error {
    let names = schema.fields().iter().map(|field| format!("'{}'", field.name()));
    let names = names.take(20).collect::<Vec<_>>().join(", ");
    Error::Column(format!(
        "there is no column '{name}' to sort by: the columns are {names}; after a name you may \
         write :desc, :nulls-first or :nulls-last"
    ))
}

/// Returns the path of the column with a name, of a field with names and dots, or of the column
/// with a number from 1.
fn find(name: &str, schema: &Schema) -> Result<Option<Vec<usize>>, Error> {
    let mut named = (0..schema.fields().len()).filter(|&at| schema.field(at).name() == name);
    let number = || name.strip_prefix('#')?.parse::<usize>().ok()?.checked_sub(1);
    match (named.next(), named.next()) {
        (Some(_), Some(_)) => Err(Error::Column(format!(
            "there are several columns '{name}': say which by its number, as in #1"
        ))),
        (Some(index), None) => Ok(Some(vec![index])),
        (None, _) => Ok(match number().filter(|&index| index < schema.fields().len()) {
            Some(index) => Some(vec![index]),
            None => nested(name, schema.fields()),
        }),
    }
}

/// Returns the path of a field of structs. Names may contain dots themselves.
fn nested(name: &str, fields: &Fields) -> Option<Vec<usize>> {
    fields.iter().enumerate().find_map(|(at, field)| {
        let rest = name.strip_prefix(Field::name(field).as_str())?;
        if rest.is_empty() {
            return Some(vec![at]);
        }
        let DataType::Struct(inner) = field.data_type() else { return None };
        let below = nested(rest.strip_prefix('.')?, inner)?;
        Some([vec![at], below].concat())
    })
}
