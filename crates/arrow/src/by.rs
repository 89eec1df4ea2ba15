//! The sort order of batches: columns, each with a direction.
//!
//! ```text
//!  ts     ts:desc     name:nulls-first     #3:desc:nulls-first
//! ```

use crate::Error;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{Schema, SortOptions};

/// A column of the sort order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SortColumn {
    /// Its index in the schema.
    pub(crate) index: usize,
    pub(crate) options: SortOptions,
}

impl SortColumn {
    /// Parses the column that a text names. A column whose name equals all of the text comes first,
    /// so names may contain colons.
    pub(crate) fn parse(text: &str, schema: &Schema) -> Result<SortColumn, Error> {
        let mut options = SortOptions { descending: false, nulls_first: false };
        let mut name = text;
        loop {
            if let Some(index) = column(name, schema)? {
                let column = SortColumn { index, options };
                return column.check(schema);
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
        let names = schema.fields().iter().map(|field| format!("'{}'", field.name()));
        let names = names.take(20).collect::<Vec<_>>().join(", ");
        Err(Error::Column(format!(
            "there is no column '{name}' to sort by: the columns are {names}, and behind a name \
             come :desc, :nulls-first and :nulls-last"
        )))
    }

    /// Fails if the column's type has no order.
    fn check(self, schema: &Schema) -> Result<SortColumn, Error> {
        let field = schema.field(self.index);
        if RowConverter::supports_fields(&[self.field(schema)]) {
            return Ok(self);
        }
        Err(Error::Column(format!(
            "column '{}' can't be sorted by: {} has no order",
            field.name(),
            field.data_type()
        )))
    }

    pub(crate) fn field(&self, schema: &Schema) -> SortField {
        SortField::new_with_options(schema.field(self.index).data_type().clone(), self.options)
    }
}

/// Returns the index of the column with a name, or with a number from 1.
fn column(name: &str, schema: &Schema) -> Result<Option<usize>, Error> {
    let mut named = (0..schema.fields().len()).filter(|&at| schema.field(at).name() == name);
    let number = || name.strip_prefix('#')?.parse::<usize>().ok()?.checked_sub(1);
    match (named.next(), named.next()) {
        (Some(_), Some(_)) => Err(Error::Column(format!(
            "there are several columns '{name}': say which by its number, as in #1"
        ))),
        (Some(index), None) => Ok(Some(index)),
        (None, _) => Ok(number().filter(|&index| index < schema.fields().len())),
    }
}
