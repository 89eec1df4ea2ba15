//! Columns of Arrow as the leaves that Parquet makes of them.

use arrow_schema::{DataType, Fields};
use std::ops::Range;

/// Returns the number of leaves of a type.
pub(crate) fn count(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => count_all(fields),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => count(item.data_type()),
        DataType::Dictionary(_, values) => count(values),
        DataType::RunEndEncoded(_, values) => count(values.data_type()),
        _ => 1,
    }
}

fn count_all(fields: &Fields) -> usize {
    fields.iter().map(|field| count(field.data_type())).sum()
}

/// Returns the leaves of a column, or of a field of structs: `path` has the column's index and the
/// indices of the fields below it.
pub(crate) fn range(fields: &Fields, path: &[usize]) -> Range<usize> {
    let Some((&at, below)) = path.split_first() else { return 0..count_all(fields) };
    let before: usize = fields.iter().take(at).map(|field| count(field.data_type())).sum();
    let inner = match fields[at].data_type() {
        DataType::Struct(fields) => range(fields, below),
        other => 0..count(other),
    };
    before + inner.start..before + inner.end
}
